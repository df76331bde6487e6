//! Agents: made by people, members of rooms.

use domain::{AgentId, RoomId};
use reqwest::Method;
use serde::Serialize;
use serde_json::json;

use super::call::Call;
use super::{Agent, AgentToken, Api, ApiError, MadeAgent, Page, Room};

/// An agent to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewAgent {
    /// The unique name that mentions use.
    pub handle: String,
    /// The name that people read; the handle when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// How many runs it is given at one time; as the server says when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u32>,
}

impl NewAgent {
    /// An agent with usual values for the rest.
    #[must_use]
    pub fn new(handle: impl Into<String>) -> Self {
        Self { handle: handle.into(), display_name: None, max_runs: None }
    }
}

/// Changes of an agent; what is none stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AgentSettings {
    /// A new name for people to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// How many runs it is given at one time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u32>,
}

impl Api {
    /// Makes an agent. Its token is told this once. The same key again gives the same agent, without the token.
    ///
    /// # Errors
    ///
    /// The handle is taken or not allowed, or an agent asks.
    pub async fn create_agent(
        &self,
        agent: &NewAgent,
        idempotency_key: Option<&str>,
    ) -> Result<MadeAgent, ApiError> {
        self.ask(&Call::new(Method::POST, &["v1", "agents"]).body(agent).idempotent(idempotency_key)).await
    }

    /// The agents that are not revoked, whoever made them.
    ///
    /// # Errors
    ///
    /// Not signed in, or no answer.
    pub async fn agents(&self, cursor: Option<&str>) -> Result<Page<Agent>, ApiError> {
        self.ask(&Call::new(Method::GET, &["v1", "agents"]).query("cursor", cursor)).await
    }

    /// One agent, revoked ones too.
    ///
    /// # Errors
    ///
    /// There is no such agent.
    pub async fn agent(&self, agent: AgentId) -> Result<Agent, ApiError> {
        let agent = agent.to_string();
        self.ask(&Call::new(Method::GET, &["v1", "agents", &agent])).await
    }

    /// The agent that is signed in.
    ///
    /// # Errors
    ///
    /// It is a person, or the token is not good.
    pub async fn own_agent(&self) -> Result<Agent, ApiError> {
        self.ask(&Call::new(Method::GET, &["v1", "agents", "me"])).await
    }

    /// Gives an agent another token; the one before is worth nothing from then on.
    ///
    /// # Errors
    ///
    /// Not one's own agent.
    pub async fn rotate_agent_token(&self, agent: AgentId) -> Result<AgentToken, ApiError> {
        let agent = agent.to_string();
        self.ask(&Call::new(Method::POST, &["v1", "agents", &agent, "token"])).await
    }

    /// Changes an agent. Answers it as it is then.
    ///
    /// # Errors
    ///
    /// Not one's own agent, or a value that is not allowed.
    pub async fn set_agent(&self, agent: AgentId, settings: &AgentSettings) -> Result<Agent, ApiError> {
        let agent = agent.to_string();
        self.ask(&Call::new(Method::PATCH, &["v1", "agents", &agent]).body(settings)).await
    }

    /// Revokes an agent for good; its connections close. Again it changes nothing.
    ///
    /// # Errors
    ///
    /// Not one's own agent.
    pub async fn revoke_agent(&self, agent: AgentId) -> Result<(), ApiError> {
        let agent = agent.to_string();
        self.call(&Call::new(Method::DELETE, &["v1", "agents", &agent])).await.map(|_| ())
    }

    /// Adds an agent to a group. Answers the room as it is then.
    ///
    /// # Errors
    ///
    /// Not an owner, a dm, or no such agent.
    pub async fn add_agent(&self, room: RoomId, agent: AgentId) -> Result<Room, ApiError> {
        let room = room.to_string();
        let path = ["v1", "rooms", &room, "members"];
        self.ask(&Call::new(Method::POST, &path).body(&json!({ "agent_id": agent }))).await
    }

    /// Removes an agent from a group.
    ///
    /// # Errors
    ///
    /// Not an owner.
    pub async fn remove_agent(&self, room: RoomId, agent: AgentId) -> Result<(), ApiError> {
        let (room, agent) = (room.to_string(), agent.to_string());
        self.call(&Call::new(Method::DELETE, &["v1", "rooms", &room, "members", &agent])).await.map(|_| ())
    }
}
