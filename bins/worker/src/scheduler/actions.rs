//! What runs do.

mod system;
mod webhook;

use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;
use std::time::Duration;

use domain::task::{Action, RunEnd};
use domain::{AgentId, ErrorKind, RoomId, RunId, RunStatus};
use futures_util::FutureExt as _;
use operations::{Error, Operations, TaskMessage, TaskRequest};
use outbound::Outbound;
use serde_json::{Value, json};
use store::queue::{ClaimedRun, Fence, OwnerStanding};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::outcome::Outcome;

pub use system::SystemJobs;

/// What stands for the body of the hook's call in the text of a message.
const INPUT: &str = "{{input}}";
/// How long stopping what a run has begun may take.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Does what tasks want done.
pub struct Actions {
    /// The product.
    pub operations: Operations,
    /// The way out; or why there is none.
    pub outbound: Result<Outbound, String>,
    /// How long the call of a webhook may take.
    pub webhook_timeout: Duration,
    /// What is kept of an output or an error, in bytes.
    pub max_output_bytes: usize,
    /// The longest text of a message, in bytes.
    pub max_body_bytes: usize,
    /// What is done for Switchboard itself.
    pub system: SystemJobs,
}

impl Actions {
    /// Does a run until it ends, takes too long, or is cancelled.
    pub(super) async fn perform(
        &self,
        run: &ClaimedRun,
        fence: &Fence,
        cancel: &CancellationToken,
    ) -> Outcome {
        let followed = OnceLock::new();
        if run.cancel_requested {
            self.stop_what_was_begun(run, fence).await;
            return Outcome::ended(RunEnd::Cancelled, "cancelled before it was begun");
        }
        let doing = AssertUnwindSafe(self.act(run, fence, &followed)).catch_unwind();
        let outcome = match cancel.run_until_cancelled(timeout(run.max_runtime, doing)).await {
            None => Outcome::ended(RunEnd::Cancelled, "cancelled"),
            Some(Err(_)) => {
                let longest = domain::duration::display(run.max_runtime);
                Outcome::ended(RunEnd::TimedOut, format!("took longer than max_runtime ({longest})"))
            }
            Some(Ok(Err(_))) => Outcome::ended(RunEnd::Failed, "a fault of the server"),
            Some(Ok(Ok(outcome))) => outcome,
        };
        if let (Some(agent_run), RunEnd::Cancelled | RunEnd::TimedOut) = (followed.get(), outcome.end) {
            self.stop(run, fence, *agent_run).await;
        }
        outcome.cut(self.max_output_bytes)
    }

    async fn act(&self, run: &ClaimedRun, fence: &Fence, followed: &OnceLock<RunId>) -> Outcome {
        match (run.standing, &run.action) {
            (OwnerStanding::Disabled, _) => {
                return Outcome::ended(RunEnd::Refused, "the task's owner is disabled");
            }
            (OwnerStanding::Person, Some(Action::System { .. })) => {
                return Outcome::ended(RunEnd::Refused, "the task's owner is no administrator any more");
            }
            _ => {}
        }
        let Some(action) = &run.action else {
            // Another attempt may be a newer worker's.
            return Outcome::ended(
                RunEnd::Failed,
                "this worker is of a release that does not know the action",
            );
        };
        match action {
            Action::Message { room_id, body } => self.message(run, fence, *room_id, body).await,
            Action::AgentRun { room_id, agent_id, input } => {
                self.agent_run(run, fence, (*room_id, *agent_id), input, followed).await
            }
            Action::Webhook { url, body } => self.webhook(run, fence, url, body.as_ref()).await,
            Action::System { name } => self.system.run(*name).await,
        }
    }

    async fn message(&self, run: &ClaimedRun, fence: &Fence, room: RoomId, body: &str) -> Outcome {
        let message = TaskMessage {
            task: run.task,
            chain: run.chain,
            owner: run.owner,
            room,
            body: self.filled_in(body, run),
        };
        match self.operations.post_for_task(fence, message).await {
            Ok(event) => Outcome::done(Some(json!({ "event_id": event }).to_string())),
            Err(error) => failed(&error),
        }
    }

    /// The text of a message, with what the hook's caller sent where it asks for that.
    fn filled_in(&self, body: &str, run: &ClaimedRun) -> String {
        if !body.contains(INPUT) {
            return body.to_owned();
        }
        let input = run.input.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        let room = self.max_body_bytes.saturating_sub(body.len());
        let places = body.matches(INPUT).count();
        let input = domain::task::cut(input.into_owned(), room / places);
        body.replace(INPUT, &input)
    }

    /// What is asked of the agent.
    fn request(run: &ClaimedRun, (room, agent): (RoomId, AgentId), input: &Value) -> TaskRequest {
        let input = match sent(run) {
            Some(hook) => json!({ "input": input, "hook": hook }),
            None => input.clone(),
        };
        TaskRequest {
            chain: run.chain,
            attempt: run.attempt,
            owner: run.owner,
            room,
            agent,
            input: input.to_string().into(),
        }
    }

    async fn agent_run(
        &self,
        run: &ClaimedRun,
        fence: &Fence,
        (room, agent): (RoomId, AgentId),
        input: &Value,
        followed: &OnceLock<RunId>,
    ) -> Outcome {
        let request = Self::request(run, (room, agent), input);
        let agent_run = match self.operations.request_run_for_task(fence, &request).await {
            Ok(agent_run) => agent_run,
            Err(error) => return failed(&error),
        };
        let agent_run = *followed.get_or_init(|| agent_run);
        match self.operations.follow_run(run.owner, agent_run).await {
            Ok(ended) => {
                let output = Some(json!({ "run_id": agent_run, "status": ended.status }).to_string());
                let why =
                    || ended.error.clone().or_else(|| ended.reason.map(|reason| reason.as_str().to_owned()));
                match ended.status {
                    RunStatus::Succeeded => Outcome::done(output),
                    RunStatus::Cancelled => {
                        Outcome { output, ..Outcome::ended(RunEnd::Refused, "the agent's run was cancelled") }
                    }
                    status => {
                        let why = why().unwrap_or_default();
                        let error = format!("the agent's run is {}: {why}", status.as_str());
                        Outcome { output, ..Outcome::ended(RunEnd::Failed, error) }
                    }
                }
            }
            Err(error) => failed(&error),
        }
    }

    /// An attempt before this one was to be cancelled, and its worker was lost: the agent may still be at it.
    async fn stop_what_was_begun(&self, run: &ClaimedRun, fence: &Fence) {
        let Some(Action::AgentRun { room_id, agent_id, input }) = &run.action else { return };
        if run.attempt == 1 {
            return;
        }
        let request = Self::request(run, (*room_id, *agent_id), input);
        if let Ok(agent_run) = self.operations.request_run_for_task(fence, &request).await {
            self.stop(run, fence, agent_run).await;
        }
    }

    /// Stops the run of an agent that nobody follows any more.
    async fn stop(&self, run: &ClaimedRun, fence: &Fence, agent_run: RunId) {
        let stopping = self.operations.cancel_run_for_task(fence, run.owner, agent_run);
        if !matches!(timeout(STOP_WITHIN, stopping).await, Ok(Ok(()))) {
            tracing::info!(run = %run.id, %agent_run, "the agent's run could not be stopped; it goes on to its own end");
        }
    }
}

/// What the caller of the hook sent: JSON as such, anything else as text.
fn sent(run: &ClaimedRun) -> Option<Value> {
    let input = run.input.as_deref().filter(|input| !input.is_empty())?;
    let text = || Value::String(String::from_utf8_lossy(input).replace('\0', "\u{fffd}"));
    let parsed = serde_json::from_slice::<Value>(input).ok();
    Some(parsed.filter(|value| !domain::document::has_nul(&value.to_string())).unwrap_or_else(text))
}

/// An operation that said no, or could not say anything.
fn failed(error: &Error) -> Outcome {
    let end = match error.kind() {
        ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::Internal | ErrorKind::RateLimited => {
            RunEnd::Failed
        }
        _ => RunEnd::Refused,
    };
    Outcome::ended(end, error.public_message())
}
