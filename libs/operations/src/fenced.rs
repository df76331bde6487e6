//! What a worker writes in the name of a run of a task: good only while it holds that run.
//!
//! Each of these may be asked for again, by another attempt on another worker: the message has a nonce and the run of the agent
//! a cause, made from the chain of attempts, so it is written once.

use std::sync::Arc;
use std::time::Duration;

use domain::{AgentId, RoomId, RunId, RunStatus, TaskId, TaskRunId, UserId};
use store::queue::Fence;
use store::runs::{NewRun, Run};
use tokio::time::{Instant, sleep};

use crate::Operations;
use crate::error::Error;
use crate::messages::SendMessage;

/// How long a run that is followed is not looked at again.
const LOOK_AT_MOST_EVERY: Duration = Duration::from_millis(200);

/// A message that a task says.
#[derive(Debug, Clone)]
pub struct TaskMessage {
    /// Which task.
    pub task: TaskId,
    /// The attempts that say the same.
    pub chain: TaskRunId,
    /// In whose name.
    pub owner: UserId,
    /// Where.
    pub room: RoomId,
    /// What.
    pub body: String,
}

/// What a task asks of an agent.
#[derive(Debug, Clone)]
pub struct TaskRequest {
    /// The attempts that ask the same.
    pub chain: TaskRunId,
    /// The number of this attempt.
    pub attempt: u32,
    /// In whose name.
    pub owner: UserId,
    /// Where.
    pub room: RoomId,
    /// Whom.
    pub agent: AgentId,
    /// What is asked, as JSON text.
    pub input: Arc<str>,
}

impl Operations {
    /// Says something in the name of a task's owner; the event's id as text.
    ///
    /// # Errors
    ///
    /// As [`Operations::send_message`]; `Conflict` when the run is no longer this worker's.
    pub async fn post_for_task(&self, fence: &Fence, message: TaskMessage) -> Result<String, Error> {
        let send = SendMessage {
            room: message.room,
            sender: message.owner.into(),
            body: message.body,
            nonce: Some(format!("task:{}", message.chain)),
            reply_to: None,
        };
        let (message, runs) = self.compose(send, Some(message.task)).await?;
        let requested = self.store.post_for_task(fence, &message, &runs).await?;
        Ok(self.requested(message.room, requested).event.id.to_string())
    }

    /// Asks an agent for a run in the name of a task's owner: the run that an earlier attempt has asked for and that is not over or went well,
    /// else a new one.
    ///
    /// # Errors
    ///
    /// As [`Operations::request_run`]; `Conflict` when the run is no longer this worker's.
    pub async fn request_run_for_task(&self, fence: &Fence, request: &TaskRequest) -> Result<RunId, Error> {
        let mut asked = 1;
        loop {
            let run = NewRun {
                id: RunId::new(),
                room: request.room,
                agent: request.agent,
                requester: request.owner.into(),
                cause: Some(format!("task:{}:{asked}", request.chain)),
                input: Arc::clone(&request.input),
                max_hops: self.runs.max_hops,
            };
            let created = self.store.create_run_for_task(fence, &run).await?;
            self.announcer.events(created.events);
            let failed = created.run.status.is_final() && created.run.status != RunStatus::Succeeded;
            if created.created || !failed || asked >= request.attempt {
                return Ok(created.run.id);
            }
            asked += 1;
        }
    }

    /// Waits until a run that somebody asked for is over.
    ///
    /// # Errors
    ///
    /// `NotFound` when they may no longer see it; the store's.
    pub async fn follow_run(&self, owner: UserId, run: RunId) -> Result<Run, Error> {
        let waiter = self.waiters.register(run.0);
        loop {
            let now = self.store.run(owner.into(), run).await?.ok_or(store::Refusal::NotFound("run"))?;
            if now.status.is_final() {
                return Ok(now);
            }
            // A run that is written to wakes those who wait many times a second; each look reads its document.
            sleep(LOOK_AT_MOST_EVERY).await;
            // Who waits has a deadline of its own.
            waiter.look_again(Instant::now() + Duration::from_secs(3600)).await;
        }
    }

    /// Asks the run of an agent that a task follows to stop.
    ///
    /// # Errors
    ///
    /// As [`Operations::cancel_run`]; `Conflict` when the run of the task is no longer this worker's.
    pub async fn cancel_run_for_task(&self, fence: &Fence, owner: UserId, run: RunId) -> Result<(), Error> {
        let (run, events) = self.store.cancel_run_for_task(fence, owner, run).await?;
        self.announce(events);
        self.run_stands(run.id, run.version);
        if run.status.is_final() {
            self.settle_presence(&[run.agent]).await;
        }
        Ok(())
    }
}
