//! Calls of tools in somebody's browser.

use std::time::Duration;

use domain::{
    AgentId, Event, EventKind, Invalid, Principal, RunId, SlotSessionId, StreamKind, ToolCallId, UserId, text,
};
use protocol::frame::{RawJson, ToolOutcome};
use store::tools::{NewToolCall, Resolution, ToolCall, ToolStatus};
use tokio::time::Instant;

use crate::Operations;
use crate::error::Error;
use crate::runs::{check_json, check_text};

/// A call as an agent makes it.
#[derive(Debug, Clone)]
pub struct CallTool {
    /// For which run.
    pub run: RunId,
    /// Whose run.
    pub agent: AgentId,
    /// The consumer that works on it, and its execution; none by REST.
    pub holder: Option<(SlotSessionId, u64)>,
    /// Who is asked.
    pub user: UserId,
    /// Which tool.
    pub tool: String,
    /// What it is given.
    pub args: RawJson,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// Makes the call safe to repeat.
    pub nonce: Option<String>,
}

/// What came of calling a tool.
#[derive(Debug, Clone)]
pub struct ToolCalled {
    /// The call: the new one, or that of the repeated nonce.
    pub call: ToolCall,
    /// False when it was there before.
    pub created: bool,
}

impl Operations {
    /// Calls a tool in a person's browser.
    ///
    /// # Errors
    ///
    /// `Invalid`; `NotFound` for the run or the person; `Conflict` when the run is not worked on by this holder.
    pub async fn call_tool(&self, call: CallTool) -> Result<ToolCalled, Error> {
        self.check_call(&call)?;
        let new = NewToolCall {
            id: ToolCallId::new(),
            run: call.run,
            agent: call.agent,
            session: call.holder.map(|(session, _)| session),
            epoch: call.holder.map(|(_, epoch)| epoch),
            user: call.user,
            tool: call.tool,
            args: call.args.get().into(),
            timeout: call.timeout.unwrap_or(self.tools.default_timeout),
            nonce: call.nonce,
        };
        let (call, events) = self.store.call_tool(&new).await?;
        self.announcer.events(events);
        self.announcer.run_touched(call.run);
        Ok(ToolCalled { created: call.id == new.id, call })
    }

    /// One call, as the agent that made it and the person who is asked may see it.
    ///
    /// # Errors
    ///
    /// `NotFound`, for everybody else too.
    pub async fn tool_call(&self, reader: Principal, call: ToolCallId) -> Result<ToolCall, Error> {
        let found = self.store.tool_call(call).await?.filter(|call| match reader {
            Principal::User(user) => call.user == user,
            Principal::Agent(agent) => call.agent == agent,
        });
        let found = found.ok_or(store::Refusal::NotFound("tool call"))?;
        // What happens in a room is not for those who are no longer in it.
        self.store.room(reader, found.room).await?.ok_or(store::Refusal::NotFound("tool call"))?;
        Ok(found)
    }

    /// The calls that a person has not answered and still may.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub async fn pending_tools(&self, user: UserId) -> Result<Vec<ToolCall>, Error> {
        Ok(self.store.pending_tools(user).await?)
    }

    fn check_call(&self, call: &CallTool) -> Result<(), Invalid> {
        text::name("tool", &call.tool)?;
        check_json("args", &call.args, self.tools.max_args_bytes)?;
        if let Some(nonce) = &call.nonce {
            text::nonce("nonce", nonce)?;
        }
        let longest = self.tools.max_timeout;
        if let Some(timeout) = call.timeout
            && (timeout.is_zero() || timeout > longest)
        {
            let allowed = format!("more than 0 and at most {} seconds", longest.as_secs());
            return Err(Invalid::described("timeout", format!("{timeout:?}"), allowed));
        }
        Ok(())
    }

    /// Waits until a call is no longer pending, for at most so long; answers how it stands then.
    ///
    /// # Errors
    ///
    /// `NotFound`; when the store does not answer.
    pub async fn wait_for_tool(&self, call: ToolCallId, at_most: Duration) -> Result<ToolCall, Error> {
        let deadline = Instant::now() + at_most;
        let waiter = self.waiters.register(call.0);
        loop {
            let stands = self.store.tool_call(call).await?.ok_or(store::Refusal::NotFound("tool call"))?;
            if stands.status != ToolStatus::Pending || !waiter.look_again(deadline).await {
                return Ok(stands);
            }
        }
    }

    /// A person answers a call. The first answer counts.
    ///
    /// # Errors
    ///
    /// `Invalid` for the answer; `NotFound`; `Forbidden` for anybody else; `Conflict` when it is answered, cancelled or too late.
    pub async fn resolve_tool(
        &self,
        user: UserId,
        call: ToolCallId,
        outcome: ToolOutcome,
    ) -> Result<ToolCall, Error> {
        let outcome = match outcome {
            ToolOutcome::Result(result) => {
                check_json("result", &result, self.tools.max_result_bytes)?;
                Ok(result.get().into())
            }
            ToolOutcome::Error(error) => {
                check_text("error", &error, self.tools.max_result_bytes)?;
                Err(error)
            }
        };
        let (call, events) = self.store.resolve_tool(&Resolution { call, user, outcome }).await?;
        self.tools_resolved(std::slice::from_ref(&call), events);
        Ok(call)
    }

    /// Tells of calls that are no longer pending.
    pub(crate) fn tools_resolved(&self, calls: &[ToolCall], events: Vec<Event>) {
        self.announce(events);
        for call in calls {
            self.announcer.run_touched(call.run);
        }
    }

    /// Tells what was written. Whoever waits for a call that came to its end with it is woken, here and elsewhere.
    pub(crate) fn announce(&self, events: Vec<Event>) {
        let resolved: Vec<ToolCallId> = events.iter().filter_map(resolved).collect();
        self.announcer.events(events);
        for call in resolved {
            self.waiters.wake(call.0);
            self.announcer.tool_result(call);
        }
    }
}

/// The call that is no longer pending, as its agent is told.
fn resolved(event: &Event) -> Option<ToolCallId> {
    #[derive(serde::Deserialize)]
    struct Resolved {
        call_id: ToolCallId,
    }
    if event.kind != EventKind::ToolResolved || event.stream.kind != StreamKind::Agent {
        return None;
    }
    serde_json::from_str::<Resolved>(&event.data).ok().map(|resolved| resolved.call_id)
}
