//! Agents: made, changed and revoked by people.

use domain::{Agent, AgentId, Invalid, UserId, text};
use store::agents::{AgentSettings, AgentToken, NewAgent};
use store::devices::IdempotencyKey;

use crate::Operations;
use crate::error::Error;

/// Most runs that an agent may be given at one time.
pub const MAX_RUNS: u32 = 100;

/// An agent as it is asked for.
#[derive(Debug, Clone)]
pub struct CreateAgent {
    /// Who makes it.
    pub owner: UserId,
    /// The name that mentions use.
    pub handle: String,
    /// The name that people read; the handle when there is none.
    pub display_name: Option<String>,
    /// Runs it is given at one time; `agents.max_runs` when there is none.
    pub max_runs: Option<u32>,
    /// What is kept of its token.
    pub token: AgentToken,
    /// Makes the call safe to repeat.
    pub key: Option<IdempotencyKey>,
}

impl Operations {
    /// Makes an agent. Answers false beside the agent of the first call when the key was used before: its token is that of
    /// then.
    ///
    /// # Errors
    ///
    /// `Invalid` for handle, name, runs or key; `HandleTaken` by a person or an agent; `Forbidden`, `NonceReused`.
    pub async fn create_agent(&self, create: CreateAgent) -> Result<(Agent, bool), Error> {
        let CreateAgent { owner, handle, display_name, max_runs, token, key } = create;
        let display_name = display_name.unwrap_or_else(|| handle.clone());
        let max_runs = max_runs.unwrap_or(self.agents.max_runs);
        text::handle(&handle)?;
        text::name("display_name", &display_name)?;
        check_runs(max_runs)?;
        if let Some(key) = &key {
            text::nonce("Idempotency-Key", key)?;
        }
        let id = AgentId::new();
        let agent = NewAgent { id, owner, handle, display_name, max_runs, token, key };
        Ok(self.store.create_agent(&agent).await?)
    }

    /// Gives an agent another token. Connections that came by the former one close, on whatever node.
    ///
    /// # Errors
    ///
    /// `NotFound`; `Forbidden` unless by its owner or an admin; `Conflict` when it is revoked.
    pub async fn rotate_agent_token(
        &self,
        actor: UserId,
        agent: AgentId,
        token: &AgentToken,
    ) -> Result<(), Error> {
        let former = self.store.rotate_agent_token(actor, agent, token).await?;
        self.announcer.sign_in_ended(former);
        Ok(())
    }

    /// Changes an agent; answers it as it is then.
    ///
    /// # Errors
    ///
    /// `Invalid` for name or runs; `NotFound`; `Forbidden` unless by its owner or an admin.
    pub async fn set_agent_settings(
        &self,
        actor: UserId,
        agent: AgentId,
        settings: &AgentSettings,
    ) -> Result<Agent, Error> {
        if let Some(name) = &settings.display_name {
            text::name("display_name", name)?;
        }
        settings.max_runs.map_or(Ok(()), check_runs)?;
        let (agent, events) = self.store.set_agent_settings(actor, agent, settings).await?;
        self.announce(events);
        Ok(agent)
    }

    /// Revokes an agent for good: it signs in no more, its connections close on whatever node, and its runs end. Revoking it
    /// again changes nothing.
    ///
    /// # Errors
    ///
    /// `NotFound`; `Forbidden` unless by its owner or an admin.
    pub async fn revoke_agent(&self, actor: UserId, agent: AgentId) -> Result<(), Error> {
        let (token, events) = self.store.revoke_agent(actor, agent).await?;
        self.announcer.sign_in_ended(token);
        self.announce(events);
        Ok(())
    }
}

fn check_runs(max_runs: u32) -> Result<(), Error> {
    if (1..=MAX_RUNS).contains(&max_runs) {
        return Ok(());
    }
    Err(Invalid::new("max_runs", &max_runs.to_string(), format!("1 to {MAX_RUNS}")).into())
}
