//! Runs: the work of agents in rooms, with their tool calls, and completions of commands.

use std::time::Duration;

use domain::{AgentId, RoomId, RunId, ToolCallId, UserId};
use protocol::frame::ToolOutcome;
use reqwest::Method;
use serde_json::{Value, json};

use super::call::Call;
use super::shapes::Choices;
use super::{Api, ApiError, Choice, Page, Run, ToolCall};

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

    /// The runs of a room, the newest first, at most `limit` of them.
    ///
    /// # Errors
    ///
    /// Not in the room.
    pub async fn runs(
        &self,
        room: RoomId,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Page<Run>, ApiError> {
        let room = room.to_string();
        let path = ["v1", "rooms", &room, "runs"];
        self.ask(&Call::new(Method::GET, &path).query("cursor", cursor).query("limit", limit)).await
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

    /// Calls a tool in a person's browser for a run of the agent signed in, and waits at most so long for the answer; gives
    /// the call as it stands then.
    ///
    /// # Errors
    ///
    /// Not an agent, not its run, nobody works on it, or the person is not in its room.
    pub async fn call_tool(
        &self,
        run: RunId,
        user: UserId,
        tool: &str,
        args: &Value,
        wait: Duration,
    ) -> Result<ToolCall, ApiError> {
        let run = run.to_string();
        let body = json!({ "tool": tool, "args": args, "user_id": user });
        let path = ["v1", "runs", &run, "tool-calls"];
        self.ask(&Call::new(Method::POST, &path).query("wait", Some(wait.as_secs())).body(&body)).await
    }

    /// The tool calls that wait for the person signed in.
    ///
    /// # Errors
    ///
    /// Not a person, or no answer.
    pub async fn pending_tools(&self) -> Result<Page<ToolCall>, ApiError> {
        self.ask(&Call::new(Method::GET, &["v1", "tool-calls"]).query("status", Some("pending"))).await
    }

    /// One tool call.
    ///
    /// # Errors
    ///
    /// There is no such call, or one neither made it nor is asked.
    pub async fn tool_call(&self, call: ToolCallId) -> Result<ToolCall, ApiError> {
        let call = call.to_string();
        self.ask(&Call::new(Method::GET, &["v1", "tool-calls", &call])).await
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

    /// Asks an agent how a command could go on.
    ///
    /// # Errors
    ///
    /// Not in the room, or the agent is not, or it does not answer in time.
    pub async fn autocomplete(
        &self,
        agent: AgentId,
        room: RoomId,
        command: &str,
        input: &str,
    ) -> Result<Vec<Choice>, ApiError> {
        let agent = agent.to_string();
        let path = ["v1", "agents", &agent, "autocomplete"];
        let body = json!({ "room_id": room, "command": command, "input": input });
        let Choices { choices } = self.ask(&Call::new(Method::POST, &path).body(&body)).await?;
        Ok(choices)
    }
}
