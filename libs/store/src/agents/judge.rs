//! Who may do what to agents: decided here, from what each database finds.

use domain::{Agent, AuthSessionId};

use super::NewAgent;
use crate::error::Refusal;

pub(crate) const NO_AGENT: Refusal = Refusal::NotFound("agent");
const REVOKED: Refusal = Refusal::Conflict("this agent is revoked");

/// What is in the way of an agent that is to be made.
#[derive(Debug)]
pub(crate) struct Before {
    /// What the key of the call was used for.
    pub(crate) subject: Option<String>,
    /// The agent of the key, or without one that of the id.
    pub(crate) agent: Option<Agent>,
    /// Whether the owner may make agents.
    pub(crate) may: bool,
    /// Whether somebody has the handle.
    pub(crate) taken: bool,
}

impl Before {
    /// The agent that this call made before; none when nothing is in the way.
    pub(crate) fn made(self, new: &NewAgent) -> Result<Option<Agent>, Refusal> {
        if self.subject.as_ref().is_some_and(|subject| subject != "agent") {
            return Err(Refusal::NonceReused);
        }
        if let Some(there) = self.agent {
            // Without a key it must be this call, repeated after a lost answer.
            let same = self.subject.is_some() || (there.owner, &there.handle) == (new.owner, &new.handle);
            return if same { Ok(Some(there)) } else { Err(Refusal::Conflict("this agent id is in use")) };
        }
        if !self.may {
            return Err(Refusal::Forbidden);
        }
        if self.taken { Err(Refusal::HandleTaken) } else { Ok(None) }
    }
}

/// An agent that somebody wants to change.
#[derive(Debug)]
pub(crate) struct Judged {
    /// Its token.
    pub(crate) token: AuthSessionId,
    /// Whether they may.
    pub(crate) may: bool,
    /// Whether it is revoked.
    pub(crate) revoked: bool,
}

impl Judged {
    pub(crate) const fn allowed(self) -> Result<Self, Refusal> {
        if self.may { Ok(self) } else { Err(Refusal::Forbidden) }
    }

    pub(crate) const fn in_use(self) -> Result<Self, Refusal> {
        if self.revoked { Err(REVOKED) } else { Ok(self) }
    }
}

/// Runs at one time, as the column has them.
pub(crate) fn max_runs(max_runs: u32) -> Result<i32, Refusal> {
    i32::try_from(max_runs)
        .ok()
        .filter(|runs| *runs > 0)
        .ok_or(Refusal::Invalid("max_runs", "1 to 2147483647"))
}
