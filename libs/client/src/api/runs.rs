//! Runs: the work of agents in rooms.

use domain::{AgentId, RoomId, RunId, ToolCallId};
use protocol::frame::ToolOutcome;
use reqwest::Method;
use serde_json::{Value, json};

use super::call::Call;
use super::{Api, ApiError, Run};

impl Api {
    /// Asks an agent of a room for a run. The same nonce again is the same run.
    ///
    /// # Errors
    ///
    /// Not in the room, or the agent is not.
    pub async fn request_run(
        &self,
        room: RoomId,
        agent: AgentId,
        input: &Value,
        nonce: Option<&str>,
    ) -> Result<Run, ApiError> {
        let room = room.to_string();
        let mut body = json!({ "agent_id": agent, "input": input });
        if let Some(nonce) = nonce {
            body["nonce"] = nonce.into();
        }
        self.ask(&Call::new(Method::POST, &["v1", "rooms", &room, "runs"]).body(&body)).await
    }

    /// A run with its document.
    ///
    /// # Errors
    ///
    /// There is no such run, or one is not in its room.
    pub async fn run(&self, run: RunId) -> Result<Run, ApiError> {
        let run = run.to_string();
        self.ask(&Call::new(Method::GET, &["v1", "runs", &run])).await
    }

    /// Asks for a run to be stopped.
    ///
    /// # Errors
    ///
    /// Not one's own to stop, or it is over.
    pub async fn cancel_run(&self, run: RunId) -> Result<Run, ApiError> {
        let run = run.to_string();
        self.ask(&Call::new(Method::POST, &["v1", "runs", &run, "cancel"])).await
    }

    /// Answers a tool call; the first answer counts.
    ///
    /// # Errors
    ///
    /// Another person is asked, or it was answered before.
    pub async fn answer_tool(&self, call: ToolCallId, outcome: &ToolOutcome) -> Result<(), ApiError> {
        let call = call.to_string();
        let path = ["v1", "tool-calls", &call, "result"];
        self.call(&Call::new(Method::POST, &path).body(outcome)).await.map(|_| ())
    }
}
