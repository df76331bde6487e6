//! Tool calls on their way.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ToolCallId;
use protocol::frame::{CallTool, RawJson, ToolCalled, WireDuration};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::held::Held;
use super::{NewToolCall, RunError, ToolError, ToolResolved};

type Answer = oneshot::Sender<Result<RawJson, ToolError>>;

#[derive(Debug)]
struct Pending {
    run: Arc<Held>,
    frame: CallTool,
    answer: Answer,
    /// The session under which it was sent last.
    sent_on: Option<Uuid>,
    /// Known once the server has taken it.
    call: Option<ToolCallId>,
}

/// Calls that somebody waits for, by nonce.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pending: HashMap<String, Pending>,
    /// Results that came before the answer to the call. Forgotten when every call is known.
    early: HashMap<ToolCallId, ToolResolved>,
}

impl Calls {
    pub(super) fn add(&mut self, run: Arc<Held>, call: NewToolCall, answer: Answer) {
        let args = match RawJson::new(call.args.to_string()) {
            Ok(args) => args,
            Err(error) => {
                let refused = RunError::Refused { code: "malformed".to_owned(), detail: error.to_string() };
                // Who asked may have gone.
                let _ = answer.send(Err(refused.into()));
                return;
            }
        };
        let nonce = Uuid::now_v7().simple().to_string();
        let frame = CallTool {
            run_id: run.id.0,
            epoch: run.epoch,
            tool: call.tool,
            args,
            user_id: call.user.0,
            timeout: call.timeout.map(|timeout| WireDuration(format!("{}ms", timeout.as_millis()))),
            nonce: Some(nonce.clone()),
        };
        self.pending.insert(nonce, Pending { run, frame, answer, sent_on: None, call: None });
    }

    /// Calls that the server is to be sent on the connection of this session.
    pub(super) fn unsent(&mut self, session: Uuid) -> Vec<CallTool> {
        self.forget_ended();
        let unsent = self
            .pending
            .values_mut()
            .filter(|call| call.call.is_none() && call.sent_on != Some(session) && !call.run.is_unsure());
        unsent
            .map(|pending| {
                pending.sent_on = Some(session);
                pending.frame.clone()
            })
            .collect()
    }

    /// The server took a call.
    pub(super) fn called(&mut self, called: &ToolCalled) {
        let id = ToolCallId(called.call_id);
        let pending = called.nonce.as_ref().and_then(|nonce| self.pending.get_mut(nonce));
        if let Some(pending) = pending {
            pending.call = Some(id);
        }
        if let Some(resolved) = self.early.remove(&id) {
            self.resolve(&resolved);
        }
        self.forget_early();
    }

    /// The server refused a call; whether it was one.
    pub(super) fn refused(&mut self, nonce: &str, why: RunError) -> bool {
        let Some(pending) = self.pending.remove(nonce) else { return false };
        let _ = pending.answer.send(Err(why.into()));
        self.forget_early();
        true
    }

    /// The server refused a call for now; whether it was one.
    pub(super) fn postponed(&mut self, nonce: &str) -> bool {
        self.pending.get_mut(nonce).map(|pending| pending.sent_on = None).is_some()
    }

    /// The end of a call; gives it back when nobody waits for it here.
    pub(super) fn resolved(&mut self, resolved: ToolResolved) -> Option<ToolResolved> {
        if self.pending.values().any(|pending| pending.call == Some(resolved.call_id)) {
            self.resolve(&resolved);
            return None;
        }
        let may_be_ours = |pending: &Pending| pending.call.is_none() && pending.run.id == resolved.run_id;
        if self.pending.values().any(may_be_ours) {
            self.early.insert(resolved.call_id, resolved);
            return None;
        }
        Some(resolved)
    }

    fn resolve(&mut self, resolved: &ToolResolved) {
        let is_it = |_: &String, pending: &mut Pending| pending.call == Some(resolved.call_id);
        for (_, pending) in self.pending.extract_if(is_it) {
            let _ = pending.answer.send(outcome(resolved.clone()));
        }
    }

    /// Results may have been lost: nobody waits any longer for calls that were made before.
    pub(super) fn gap(&mut self) {
        for (_, pending) in self.pending.extract_if(|_, pending| pending.call.is_some()) {
            let lost = RunError::Lost("the result of the call is no longer kept".to_owned());
            let _ = pending.answer.send(Err(lost.into()));
        }
    }

    /// Forgets calls whose runs are over, or whose results nobody waits for.
    pub(super) fn forget_ended(&mut self) {
        for (_, pending) in
            self.pending.extract_if(|_, pending| pending.run.is_over() || pending.answer.is_closed())
        {
            let lost = RunError::Lost("the run is over".to_owned());
            let _ = pending.answer.send(Err(lost.into()));
        }
        self.forget_early();
    }

    fn forget_early(&mut self) {
        if self.pending.values().all(|pending| pending.call.is_some()) {
            self.early.clear();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

fn outcome(resolved: ToolResolved) -> Result<RawJson, ToolError> {
    match (resolved.status.as_str(), resolved.error) {
        ("answered", None) => match resolved.result {
            Some(result) => Ok(result),
            None => RawJson::new("null").map_err(|error| ToolError::Failed(error.to_string())),
        },
        ("expired", _) => Err(ToolError::Expired),
        ("cancelled", _) => Err(ToolError::Cancelled),
        (_, Some(error)) => Err(ToolError::Failed(error)),
        (other, None) => Err(ToolError::Failed(format!("the call is {other}"))),
    }
}
