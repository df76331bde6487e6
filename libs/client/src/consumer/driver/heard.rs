//! What a consumer does with what the server says.

use std::sync::Arc;

use domain::{ErrorCode, ErrorKind, RunId};
use protocol::frame::{ErrorFrame, Event, Run};
use tokio::time::Instant;

use super::{Driver, PAUSE};
use crate::consumer::happening::AgentEvent;
use crate::consumer::held::Held;
use crate::consumer::receipts::Receipt;
use crate::consumer::{Happening, Received, RunError, RunHandle};
use crate::session::{State, Update};

impl Driver {
    pub(super) async fn update(&mut self, update: Update) {
        match update {
            Update::State(State::Connecting { .. } | State::Waiting { .. }) => self.disconnected(),
            Update::State(State::Live) => self.live().await,
            Update::Ready(ready) => {
                self.disconnected();
                self.connected = Some(ready.session_id);
                if self.log_epoch.replace(ready.log_epoch).is_some_and(|before| before != ready.log_epoch) {
                    // Numbers of another log say nothing about this one.
                    self.receipts.gap(0);
                }
                self.receipts.connected();
                self.wants_ack();
            }
            Update::Event(event) => {
                let is_own = event.stream.starts_with("agent:");
                if is_own {
                    self.event(event);
                    self.wants_ack();
                }
            }
            Update::Gap(gap) if gap.stream.starts_with("agent:") => {
                self.receipts.gap(gap.head);
                self.calls.gap();
            }
            Update::Run(run) => self.run_frame(&run).await,
            Update::ToolCalled(called) => self.calls.called(&called),
            Update::Autocomplete(question) => {
                let what = Happening::Autocomplete(question.into());
                self.backlog.push_back(Received { what, receipt: Receipt::none() });
            }
            Update::Acked(acked) => self.receipts.acked(acked.seq),
            Update::Error(error) => self.refused(&error),
            // Faults of the server are no fault of a consumer: what was lost comes again.
            _ => {}
        }
    }

    fn disconnected(&mut self) {
        if self.connected.take().is_some() {
            self.runs.values().for_each(|run| run.unsure());
        }
    }

    /// All that the server says of itself after a connection was said: the runs that are held were shown before.
    async fn live(&mut self) {
        for run in self.runs.values().filter(|run| run.is_unsure()) {
            run.lose("another connection took the consumer meanwhile, or the lease was over");
        }
        self.forget_ended();
        self.send_unsent().await;
    }

    fn event(&mut self, event: Event) {
        let seq = event.seq;
        let what = match AgentEvent::from(event) {
            AgentEvent::RunRequested(requested) => Happening::RunRequested(requested),
            AgentEvent::Mentioned(event) => Happening::Mentioned(event),
            AgentEvent::CancelRequested(run) => match self.runs.get(&run) {
                Some(held) => {
                    held.stop.cancel();
                    return self.receipts.passed(seq);
                }
                // The answer to the start says so too.
                None if self.starts.contains_key(&run) => return self.receipts.passed(seq),
                None => Happening::CancelRequested(run),
            },
            AgentEvent::ToolResolved(resolved) => match self.calls.resolved(resolved) {
                Some(resolved) => Happening::ToolResolved(resolved),
                None => return self.receipts.passed(seq),
            },
            AgentEvent::Other => return self.receipts.passed(seq),
        };
        let receipt = self.receipts.given(seq);
        self.backlog.push_back(Received { what, receipt });
    }

    async fn run_frame(&mut self, frame: &Run) {
        let id = RunId(frame.run_id);
        if let Some(run) = self.runs.get(&id) {
            run.stands(frame);
            self.next_flush = Some(Instant::now());
            self.forget_ended();
            // Calls wait until it is known that their run is held.
            return self.send_unsent().await;
        }
        let Some(start) = self.starts.remove(&id) else { return };
        let Some(run) = Held::of(frame, self.settings.document_bytes).map(Arc::new) else {
            let unreadable = RunError::Lost("its document can't be read".to_owned());
            let _ = start.answer.send(Err(unreadable));
            return;
        };
        self.runs.insert(id, Arc::clone(&run));
        self.turns.push_back(id);
        // One that nobody waits for any more is dropped, and so ended.
        let _ = start.answer.send(Ok(RunHandle { run, desk: Arc::clone(&self.desk) }));
    }

    fn refused(&mut self, error: &ErrorFrame) {
        let kind = ErrorCode::ALL.iter().find(|code| code.as_str() == error.code).map(|code| code.kind());
        let is_for_now = kind.is_some_and(is_for_now);
        let why = RunError::Refused { code: error.code.clone(), detail: error.detail.clone() };
        if is_for_now {
            self.again.get_or_insert(Instant::now() + PAUSE);
        }
        if let Some(nonce) = &error.nonce {
            if is_for_now {
                self.calls.postponed(nonce);
            } else {
                self.calls.refused(nonce, why);
            }
            return;
        }
        let Some(run) = error.run_id.map(RunId) else {
            return tracing::debug!(code = error.code, detail = error.detail, "a frame was refused");
        };
        if let Some(start) = self.starts.get_mut(&run) {
            if is_for_now {
                start.sent_on = None;
            } else if let Some(start) = self.starts.remove(&run) {
                let _ = start.answer.send(Err(why));
            }
        } else if let Some(held) = self.runs.get(&run) {
            match kind {
                _ if is_for_now => held.unsure(),
                Some(ErrorKind::Conflict | ErrorKind::NotFound) => held.lose(&error.detail),
                _ => held.refuse(why),
            }
            self.next_flush = Some(Instant::now());
            self.forget_ended();
        }
    }
}

/// Whether the same may be taken later.
fn is_for_now(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::RateLimited | ErrorKind::Unavailable | ErrorKind::Timeout)
}
