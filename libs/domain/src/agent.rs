//! Agents: programs that are members of rooms.

use jiff::Timestamp;

use crate::id::{AgentId, UserId};

/// An agent as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Which.
    pub id: AgentId,
    /// Who made it, and may rotate its token and revoke it.
    pub owner: UserId,
    /// The unique name that mentions use; no person has the same.
    pub handle: String,
    /// The name that people read.
    pub display_name: String,
    /// Runs that it is given at one time; more wait their turn.
    pub max_runs: u32,
    /// It was revoked: it signs in no more and is given no more runs.
    pub revoked: bool,
    /// When it was made.
    pub created_at: Timestamp,
}
