//! A run between its handle and the connection.

use domain::document::{Op, ops_to_json};
use domain::run::FinishStatus;
use domain::{Document, RoomId, RunId, RunStatus};
use parking_lot::{Mutex, MutexGuard};
use protocol::ClientFrame;
use protocol::frame::{RawJson, Run, RunChange, RunFinish, RunPatch};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::RunError;
use super::difference::{Difference, Reach};

/// A run that was started here. It is known to its handle and to the driver, and locked only for a moment.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) id: RunId,
    pub(super) room: RoomId,
    pub(super) epoch: u64,
    pub(super) stop: CancellationToken,
    max_bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) doc: Document,
    /// What the server has once it has all that was sent; none while that is not known.
    server: Option<Document>,
    /// Whether there may be something to be sent.
    is_due: bool,
    /// Why the server takes no more changes.
    refused: Option<RunError>,
    ending: Option<Ending>,
    /// How it went.
    over: Option<RunError>,
}

/// The wish that a run ends.
#[derive(Debug)]
pub(super) struct Ending {
    status: FinishStatus,
    error: Option<String>,
    /// None when nobody waits for it.
    answer: Option<oneshot::Sender<Result<RunStatus, RunError>>>,
    is_sent: bool,
}

impl Ending {
    pub(super) fn new(
        status: FinishStatus,
        error: Option<&str>,
        answer: Option<oneshot::Sender<Result<RunStatus, RunError>>>,
    ) -> Self {
        Self { status, error: error.map(str::to_owned), answer, is_sent: false }
    }

    fn answer(self, outcome: Result<RunStatus, RunError>) {
        if let Some(answer) = self.answer {
            // Who asked may have gone.
            let _ = answer.send(outcome);
        }
    }
}

impl Held {
    /// A run as the server shows it; none for what is no run that is worked on.
    pub(super) fn of(frame: &Run, max_bytes: usize) -> Option<Self> {
        let doc = document(frame)?;
        let held = Self {
            id: RunId(frame.run_id),
            room: RoomId(frame.room_id),
            epoch: frame.epoch,
            stop: CancellationToken::new(),
            max_bytes,
            state: Mutex::new(State {
                server: Some(doc.clone()),
                doc,
                is_due: false,
                refused: None,
                ending: None,
                over: None,
            }),
        };
        held.stands(frame);
        Some(held)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(super) fn is_over(&self) -> bool {
        self.state().over.is_some()
    }

    /// Changes the document.
    pub(super) fn change(&self, ops: &[Op]) -> Result<(), RunError> {
        let mut state = self.state();
        if let Some(why) = state.over.as_ref().or(state.refused.as_ref()) {
            return Err(why.clone());
        }
        if state.ending.is_some() {
            return Err(RunError::Lost("it is being finished".to_owned()));
        }
        state.doc.apply(ops, self.max_bytes)?;
        state.is_due = true;
        Ok(())
    }

    /// Wishes for the end.
    pub(super) fn end(&self, ending: Ending) -> Result<(), RunError> {
        let mut state = self.state();
        if let Some(why) = &state.over {
            return Err(why.clone());
        }
        if state.ending.is_some() {
            return Err(RunError::Lost("it is being finished".to_owned()));
        }
        state.ending = Some(ending);
        state.is_due = true;
        Ok(())
    }

    /// The connection is gone, or a frame about the run was refused for now: what the server has must be asked for.
    pub(super) fn unsure(&self) {
        let mut state = self.state();
        state.server = None;
        if let Some(ending) = &mut state.ending {
            ending.is_sent = false;
        }
    }

    /// Whether the server must be asked what it has.
    pub(super) fn is_unsure(&self) -> bool {
        let state = self.state();
        state.over.is_none() && state.server.is_none()
    }

    /// The server says how the run stands.
    pub(super) fn stands(&self, frame: &Run) {
        let mut state = self.state();
        let status = frame.status.parse().unwrap_or(RunStatus::Running);
        if frame.epoch != self.epoch || status == RunStatus::Queued {
            drop(state);
            return self.lose("another one works on it");
        }
        if status.is_final() {
            return self.over(state, RunError::Over(status));
        }
        if frame.cancel_requested {
            self.stop.cancel();
        }
        if let Some(doc) = document(frame) {
            state.server = Some(doc);
            state.is_due = true;
        }
    }

    /// The run is no longer held here.
    pub(super) fn lose(&self, why: &str) {
        self.over(self.state(), RunError::Lost(why.to_owned()));
    }

    fn over(&self, mut state: MutexGuard<'_, State>, how: RunError) {
        if let Some(ending) = state.ending.take() {
            ending.answer(match &how {
                RunError::Over(status) => Ok(*status),
                other => Err(other.clone()),
            });
        }
        state.over.get_or_insert(how);
        drop(state);
        self.stop.cancel();
    }

    /// The server takes no more changes; it may still be finished.
    pub(super) fn refuse(&self, why: RunError) {
        let mut state = self.state();
        if let Some(ending) = state.ending.take() {
            if ending.answer.is_none() {
                // Nobody is there to do it: it ends with what the server has.
                state.ending = Some(Ending { is_sent: false, ..ending });
                state.is_due = state.refused.is_none();
            } else {
                ending.answer(Err(why.clone()));
            }
        }
        state.refused = Some(why);
    }

    /// The next frame to be sent, if there is one now. The server is taken to have it.
    pub(super) fn flush(&self, limit: usize) -> Option<ClientFrame> {
        let mut state = self.state();
        let State { doc, server, is_due, refused, ending, over } = &mut *state;
        let server = server.as_mut()?;
        if !std::mem::take(is_due) || over.is_some() {
            return None;
        }
        let mut difference = Difference::default();
        if refused.is_none() {
            difference = Difference::of(server, doc, limit);
        }
        match difference.reach {
            Reach::Whole => {}
            Reach::Part => *is_due = true,
            Reach::Stuck => {
                drop(state);
                self.refuse(RunError::Refused {
                    code: "too_large".to_owned(),
                    detail: format!("a value that is no text has more than {limit} bytes"),
                });
                return None;
            }
        }
        // They lead from one document to another: they fit.
        server.replay(&difference.ops).ok()?;
        let ops = (!difference.ops.is_empty()).then(|| RawJson::new(ops_to_json(&difference.ops)).ok());
        let ops = ops.flatten();
        match ending {
            Some(ending) if difference.reach == Reach::Whole && !ending.is_sent => {
                ending.is_sent = true;
                let (status, error) = (ending.status.as_str().to_owned(), ending.error.clone());
                let (run_id, epoch) = (self.id.0, self.epoch);
                Some(ClientFrame::RunFinish(RunFinish { run_id, epoch, status, ops, error }))
            }
            _ => Some(ClientFrame::RunPatch(RunPatch { run_id: self.id.0, epoch: self.epoch, ops: ops? })),
        }
    }
}

/// The document that a frame shows; none for a change of one.
fn document(frame: &Run) -> Option<Document> {
    match &frame.change {
        RunChange::Doc(doc) => Document::parse(doc.get()).ok(),
        RunChange::Patch { .. } => None,
    }
}
