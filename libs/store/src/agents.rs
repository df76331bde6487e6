//! Agents: programs that people make members of rooms.
//!
//! A token signs an agent in; only its hash is kept, and each token has an id, so that connections that signed in with an
//! earlier one can be told.

use async_trait::async_trait;
use domain::{Agent, AgentId, AuthSessionId, Event, Principal, UserId};
use uuid::Uuid;

use crate::devices::IdempotencyKey;
use crate::error::StoreError;

pub(crate) mod judge;

/// An agent to be made.
#[derive(Debug, Clone)]
pub struct NewAgent {
    /// The id chosen by the caller.
    pub id: AgentId,
    /// Who makes it.
    pub owner: UserId,
    /// The name that mentions use; no person or agent may have it.
    pub handle: String,
    /// The name that people read.
    pub display_name: String,
    /// Runs it is given at one time.
    pub max_runs: u32,
    /// Its token.
    pub token: AgentToken,
    /// Makes the call safe to repeat.
    pub key: Option<IdempotencyKey>,
}

/// What is kept of a token.
#[derive(Debug, Clone, Copy)]
pub struct AgentToken {
    /// Names this token; new with each rotation. Stands for a sign-in in everything that asks whether one has ended.
    pub id: AuthSessionId,
    /// SHA-256 of the token.
    pub hash: [u8; 32],
}

/// An agent that signs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedInAgent {
    /// Who.
    pub agent: Agent,
    /// With which token.
    pub token: AuthSessionId,
}

/// What a token is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenStanding {
    /// It signs its agent in.
    Good(SignedInAgent),
    /// It signs nobody in any more: its agent is revoked, or the owner of the agent disabled.
    Ended(AuthSessionId),
    /// Nobody has it, or not any more: it was rotated.
    Unknown,
}

/// Changes of an agent; what is none stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentSettings {
    /// A new name for people to read.
    pub display_name: Option<String>,
    /// Runs it is given at one time. More places give the next queued runs to it at once.
    pub max_runs: Option<u32>,
}

/// Agents.
#[async_trait]
pub trait Agents {
    /// Makes an agent with its inbox. With a key that was used before: gives the agent of then, and false; its token
    /// stays what it was.
    ///
    /// # Errors
    ///
    /// `HandleTaken` by a person or an agent; `Forbidden` when the owner is disabled; `NonceReused`.
    async fn create_agent(&self, agent: &NewAgent) -> Result<(Agent, bool), StoreError>;

    /// One agent, revoked ones too.
    async fn agent(&self, id: AgentId) -> Result<Option<Agent>, StoreError>;

    /// The agents that are not revoked, by id after `after`, at most `limit`. Everybody may see them, as they may see people.
    async fn agents(&self, after: Option<AgentId>, limit: u32) -> Result<Vec<Agent>, StoreError>;

    /// Whom a token signs in.
    async fn agent_by_token(&self, hash: &[u8; 32]) -> Result<TokenStanding, StoreError>;

    /// Gives an agent another token; the former one is worth nothing from then on. Answers the id of the former. Each call
    /// needs a token of its own: of two at once one is told the token of the other.
    ///
    /// # Errors
    ///
    /// `NotFound`; `Forbidden` unless by its owner or an admin; `Conflict` when it is revoked.
    async fn rotate_agent_token(
        &self,
        actor: UserId,
        agent: AgentId,
        token: &AgentToken,
    ) -> Result<AuthSessionId, StoreError>;

    /// Changes an agent. Answers it with what was written (`run.requested` for runs that got a place).
    ///
    /// # Errors
    ///
    /// `NotFound`; `Forbidden` unless by its owner or an admin.
    async fn set_agent_settings(
        &self,
        actor: UserId,
        agent: AgentId,
        settings: &AgentSettings,
    ) -> Result<(Agent, Vec<Event>), StoreError>;

    /// Revokes an agent for good: it signs in no more, and its runs that are not over are cancelled (`agent_revoked`) with
    /// their tool calls. It stays a member, so that history keeps its name. Revoking again changes nothing. Answers the
    /// id of its token and what was written.
    ///
    /// # Errors
    ///
    /// `NotFound`; `Forbidden` unless by its owner or an admin.
    async fn revoke_agent(
        &self,
        actor: UserId,
        agent: AgentId,
    ) -> Result<(AuthSessionId, Vec<Event>), StoreError>;

    /// Of these tokens those that sign nobody in any more (rotated, revoked, owner disabled).
    async fn ended_agent_tokens(&self, tokens: &[AuthSessionId]) -> Result<Vec<AuthSessionId>, StoreError>;

    /// The tokens of a person's agents that are not revoked: what signs in no more while the person is disabled.
    async fn agent_tokens_of(&self, owner: UserId) -> Result<Vec<AuthSessionId>, StoreError>;

    /// Which of these ids are of people and which of agents, in no order; others are left out.
    async fn principals(&self, ids: &[Uuid]) -> Result<Vec<Principal>, StoreError>;
}
