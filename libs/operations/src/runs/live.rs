//! Runs that consumers of this node work on: documents in memory, flushed by version.
//!
//! ```text
//!   run_patch --applied at once--> document + pending --flush--> one statement for all runs that are due
//! ```
//!
//! Terms. A *flush* writes what is pending of a run as one patch, `base -> base + 1`. The first operation after a pause is flushed at once, the
//! others at most every `runs.flush_interval`. Consecutive appends are one operation by then.
//!
//! | failure | then |
//! |---|---|
//! | a flush has no answer | the same flush is sent again: the store knows it by its base and operations |
//! | the run is no longer this session's | the store says so; what was pending is forgotten, and so is the run |
//! | a crash of the database emptied the patches | the store says so at the next flush, or to the heartbeat; the flush is sent with a snapshot |
//! | this node dies | what was not flushed is lost; the consumer resumes elsewhere and is given the document as it is stored |
//! | a consumer writes faster than the database takes | it waits, which stops reading from its socket |

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use domain::document::{Document, Op, Pending};
use domain::{Invalid, RunId, SlotSessionId};
use parking_lot::Mutex;
use realtime::livebox;
use store::Refusal;
use store::runs::{Holder, Patch, PatchOutcome, Run};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::error::Error;

/// Why a write to a run is refused that is not, or no longer, the session's.
pub(crate) const NOT_YOURS: Refusal =
    Refusal::Conflict("this run is not, or no longer, yours to write; start it, or let it be");

/// Runs that are worked on here.
#[derive(Debug, Default)]
pub(crate) struct LiveRuns {
    runs: Mutex<HashMap<RunId, Arc<LiveRun>>>,
    dirty: Mutex<HashSet<RunId>>,
    pub(crate) due: Notify,
}

/// A run that a session works on.
#[derive(Debug)]
pub(crate) struct LiveRun {
    pub(crate) holder: Holder,
    state: Mutex<State>,
    /// Held by whoever writes: a flush, or the end.
    pub(crate) writing: tokio::sync::Mutex<()>,
    settled: Notify,
}

#[derive(Debug)]
struct State {
    doc: Document,
    version: u64,
    pending: Pending,
    /// Sent, and not known to be written.
    unwritten: Option<Flush>,
    since_snapshot: u32,
    wants_snapshot: bool,
    next_flush: Instant,
    /// Of another session by now, or over.
    lost: bool,
    /// Its connection is gone: forgotten once all is flushed.
    released: bool,
}

/// A patch on its way.
#[derive(Debug, Clone)]
pub(crate) struct Flush {
    pub(crate) base: u64,
    pub(crate) ops: Arc<[Op]>,
    pub(crate) text: Arc<str>,
    pub(crate) snapshot: Option<Arc<str>>,
}

impl LiveRuns {
    /// A session works on a run from now on.
    pub(crate) fn adopt(&self, session: SlotSessionId, run: &Run) -> Result<(), Error> {
        let (doc, version) = livebox::build(run.id, &run.doc)
            .ok_or_else(|| store::StoreError::Internal("a stored document is none".into()))?;
        let live = LiveRun {
            holder: Holder { run: run.id, session, epoch: run.epoch },
            state: Mutex::new(State {
                doc,
                version: run.version,
                pending: Pending::default(),
                unwritten: None,
                since_snapshot: 0,
                // Patches that a crash emptied: what is shown begins anew with what is there.
                wants_snapshot: version < run.version,
                next_flush: Instant::now(),
                lost: false,
                released: false,
            }),
            writing: tokio::sync::Mutex::default(),
            settled: Notify::new(),
        };
        let replaced = self.runs.lock().insert(run.id, Arc::new(live));
        if let Some(replaced) = replaced {
            replaced.lose();
        }
        if version < run.version {
            self.mark(run.id);
        }
        Ok(())
    }

    /// The run, while this session works on this execution of it.
    pub(crate) fn held(&self, session: SlotSessionId, run: RunId, epoch: u64) -> Result<Arc<LiveRun>, Error> {
        let runs = self.runs.lock();
        let live = runs.get(&run).ok_or(NOT_YOURS)?;
        if live.holder.session != session || live.holder.epoch != epoch || live.state.lock().lost {
            return Err(NOT_YOURS.into());
        }
        Ok(Arc::clone(live))
    }

    pub(crate) fn mark(&self, run: RunId) {
        self.dirty.lock().insert(run);
        self.due.notify_one();
    }

    /// The patches of a run are gone: writes its document whole.
    pub(crate) fn rewrite(&self, run: RunId) {
        if let Some(live) = self.runs.lock().get(&run) {
            live.state.lock().wants_snapshot = true;
            self.mark(run);
        }
    }

    /// The connection of a session is gone.
    pub(crate) fn release(&self, session: SlotSessionId) {
        for live in self.runs.lock().values().filter(|live| live.holder.session == session) {
            live.state.lock().released = true;
            self.mark(live.holder.run);
        }
    }

    /// Forgets a run, unless another session works on it by now.
    pub(crate) fn forget(&self, live: &LiveRun) {
        let mut runs = self.runs.lock();
        if runs.get(&live.holder.run).is_some_and(|known| known.holder == live.holder) {
            runs.remove(&live.holder.run);
        }
        drop(runs);
        live.lose();
    }

    /// The runs to be flushed now, and when the next is due.
    pub(crate) fn take_due(&self, now: Instant) -> (Vec<Arc<LiveRun>>, Option<Instant>) {
        let runs = self.runs.lock();
        let mut dirty = self.dirty.lock();
        let (mut due, mut next) = (Vec::new(), None::<Instant>);
        dirty.retain(|run| {
            let Some(live) = runs.get(run) else { return false };
            let at = live.state.lock().next_flush;
            if at <= now {
                due.push(Arc::clone(live));
                return false;
            }
            next = Some(next.map_or(at, |next| next.min(at)));
            true
        });
        (due, next)
    }

    /// The runs that have something to be flushed, due or not: what a node that stops still has to do.
    pub(crate) fn take_all(&self) -> Vec<Arc<LiveRun>> {
        let runs = self.runs.lock();
        let dirty = std::mem::take(&mut *self.dirty.lock());
        dirty.into_iter().filter_map(|run| runs.get(&run).map(Arc::clone)).collect()
    }
}

impl LiveRun {
    fn lose(&self) {
        self.state.lock().lost = true;
        self.settled.notify_waiters();
    }

    /// Applies operations, all or none, once there is room for them to wait.
    pub(crate) async fn apply(
        &self,
        ops: Vec<Op>,
        max_doc_bytes: usize,
        max_pending_bytes: usize,
    ) -> Result<(), Error> {
        loop {
            let settled = self.settled.notified();
            {
                let mut state = self.state.lock();
                if state.lost {
                    return Err(NOT_YOURS.into());
                }
                if state.pending.is_empty() || state.pending.bytes() <= max_pending_bytes {
                    state.doc.apply(&ops, max_doc_bytes)?;
                    for op in ops {
                        state.pending.push(op);
                    }
                    return Ok(());
                }
            }
            settled.await;
        }
    }

    /// The document after some last operations, and the version that it leads on from. Nothing is changed yet.
    pub(crate) fn finally(&self, ops: &[Op], max_doc_bytes: usize) -> Result<(Document, u64), Invalid> {
        let state = self.state.lock();
        let mut doc = state.doc.clone();
        doc.apply(ops, max_doc_bytes)?;
        Ok((doc, state.version))
    }

    /// What is to be flushed; none when there is nothing.
    pub(crate) fn flush(&self, snapshot_every: u32) -> Option<Flush> {
        let mut state = self.state.lock();
        if state.lost {
            return None;
        }
        if state.unwritten.is_none() {
            if state.pending.is_empty() && !state.wants_snapshot {
                return None;
            }
            let whole = state.wants_snapshot
                || state.since_snapshot >= snapshot_every
                || state.pending.bytes() > state.doc.bytes();
            let snapshot = whole.then(|| Arc::from(state.doc.to_json()));
            let pending = std::mem::take(&mut state.pending);
            let flush = Flush {
                base: state.version,
                text: pending.to_json().into(),
                ops: pending.ops().into(),
                snapshot,
            };
            state.wants_snapshot = false;
            state.unwritten = Some(flush);
        }
        state.unwritten.clone()
    }

    pub(crate) fn patch(&self, flush: &Flush) -> Patch {
        Patch {
            holder: self.holder,
            base: flush.base,
            ops: Arc::clone(&flush.text),
            snapshot: flush.snapshot.clone(),
        }
    }

    /// What came of a flush. True when there is more to be done.
    pub(crate) fn settle(&self, outcome: PatchOutcome, interval: Duration) -> bool {
        let mut state = self.state.lock();
        state.next_flush = Instant::now() + interval;
        let more = match outcome {
            PatchOutcome::Written(version) => {
                let whole = state.unwritten.take().is_some_and(|flush| flush.snapshot.is_some());
                state.since_snapshot = if whole { 0 } else { state.since_snapshot + 1 };
                state.version = version;
                !state.pending.is_empty()
            }
            PatchOutcome::Lost => {
                state.lost = true;
                false
            }
            PatchOutcome::Emptied => {
                // The document has what came since, too: the flush becomes all of it.
                let snapshot = Arc::from(state.doc.to_json());
                let State { unwritten, pending, .. } = &mut *state;
                if let Some(flush) = unwritten {
                    let later = std::mem::take(pending);
                    let ops: Vec<Op> = flush.ops.iter().chain(later.ops()).cloned().collect();
                    flush.text = domain::document::ops_to_json(&ops).into();
                    flush.ops = ops.into();
                    flush.snapshot = Some(snapshot);
                }
                state.next_flush = Instant::now();
                true
            }
        };
        drop(state);
        self.settled.notify_waiters();
        more
    }

    /// Whether it is only here to be flushed.
    pub(crate) fn is_done(&self) -> bool {
        let state = self.state.lock();
        state.lost || (state.released && state.unwritten.is_none() && state.pending.is_empty())
    }

    /// Tries again after a while.
    pub(crate) fn postpone(&self, pause: Duration) {
        self.state.lock().next_flush = Instant::now() + pause;
    }
}
