//! Live boxes: the documents of runs, followed by version.
//!
//! A run's document is no part of the log. The store keeps it as a snapshot and patches; this node keeps the document of each
//! run that is not over in a room that somebody follows here, and for each connection the version it was given.
//!
//! ```text
//!   run.created in a room    the run is tracked, and loaded
//!   run.updated (a hint)     a tracked run is loaded from the version known
//!   a flush of this node     is applied from memory when it follows on, else the run is loaded
//!   the sweep                loads every tracked run: a hint that was lost delays, no more
//! ```
//!
//! To a connection goes a patch when it was given exactly the version that the patch leads from, in the same
//! execution; in every other case the whole document. So whatever is lost, repeated or reordered, what a
//! connection shows is a document that was written. A frame that does not fit into a queue is dropped, and the document is sent whole once
//! the queue has drained.
//!
//! Patches live in a table that a crash of the database empties. Then the row names a version that can't be built; the node shows the older
//! one until the holder's node has written a snapshot.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::document::{Document, Op, parse_ops};
use domain::run::{Reason, RunStatus};
use domain::{AgentId, ConnectionId, RoomId, RunId};
use parking_lot::Mutex;
use protocol::ServerFrame;
use protocol::frame::{RawJson, Run, RunChange};
use store::runs::{DocChange, Known, RunUpdate, StoredDoc, StoredPatch};
use tokio::sync::Notify;

use crate::connection::Connection;
use crate::encoded::Encoded;

/// The live boxes of one node.
#[derive(Default)]
pub struct LiveBoxes {
    boxes: Mutex<HashMap<RunId, LiveBox>>,
    dirty: Mutex<HashSet<RunId>>,
    pub(crate) wake: Notify,
}

struct LiveBox {
    room: RoomId,
    /// None until it was loaded.
    shown: Option<Shown>,
    /// Epoch and version that each connection was given.
    given: HashMap<ConnectionId, (u64, u64)>,
    /// Connections that want nothing of it.
    unwatched: HashSet<ConnectionId>,
}

/// A run as it is shown.
struct Shown {
    run: RunId,
    room: RoomId,
    agent: AgentId,
    epoch: u64,
    version: u64,
    status: RunStatus,
    reason: Option<Reason>,
    cancel_requested: bool,
    doc: Document,
    /// The frame with the whole document, until something changes.
    whole: Option<Arc<Encoded>>,
}

/// A flush that was written by this node.
#[derive(Debug, Clone, Copy)]
pub struct Flushed<'a> {
    /// The run.
    pub run: RunId,
    /// Its execution.
    pub epoch: u64,
    /// The version that the operations were applied to.
    pub base: u64,
    /// The version that was written.
    pub version: u64,
    /// The operations.
    pub ops: &'a [Op],
    /// The same as JSON text.
    pub text: &'a str,
}

/// What happened to the shown document.
enum Moved {
    /// Nothing.
    Nowhere,
    /// It was led on from this version by these operations.
    On { from: u64, ops: String },
    /// It is another one.
    Elsewhere,
}

impl LiveBoxes {
    /// Follows a run from now on.
    pub fn track(&self, run: RunId, room: RoomId) {
        self.boxes.lock().entry(run).or_insert_with(|| LiveBox {
            room,
            shown: None,
            given: HashMap::new(),
            unwatched: HashSet::new(),
        });
        self.mark(run);
    }

    /// A connection wants nothing more of a run.
    pub(crate) fn unwatch(&self, run: RunId, connection: &Connection) {
        if let Some(live) = self.boxes.lock().get_mut(&run) {
            live.unwatched.insert(connection.meta.id);
        }
    }

    /// Something about a run changed: loads it again, if it is followed.
    pub fn touch(&self, run: RunId) {
        if self.boxes.lock().contains_key(&run) {
            self.mark(run);
        }
    }

    /// Loads every run that is followed again.
    pub(crate) fn touch_all(&self) {
        let all: Vec<RunId> = self.boxes.lock().keys().copied().collect();
        if !all.is_empty() {
            self.dirty.lock().extend(all);
            self.wake.notify_one();
        }
    }

    fn mark(&self, run: RunId) {
        self.dirty.lock().insert(run);
        self.wake.notify_one();
    }

    /// The room of a run that is followed.
    pub(crate) fn room_of(&self, run: RunId) -> Option<RoomId> {
        self.boxes.lock().get(&run).map(|live| live.room)
    }

    /// Takes what is dirty, at most `max`, with what is known of each and its room.
    pub(crate) fn take_dirty(&self, max: usize) -> Vec<(Known, RoomId)> {
        let taken: Vec<RunId> = {
            let mut dirty = self.dirty.lock();
            let taken: Vec<RunId> = dirty.iter().copied().take(max).collect();
            for run in &taken {
                dirty.remove(run);
            }
            taken
        };
        let boxes = self.boxes.lock();
        let known = |run: RunId| {
            let live = boxes.get(&run)?;
            let (epoch, version) = live.shown.as_ref().map_or((0, 0), |shown| (shown.epoch, shown.version));
            Some((Known { run, epoch, version }, live.room))
        };
        taken.into_iter().filter_map(known).collect()
    }

    /// Puts back what could not be loaded.
    pub(crate) fn put_back(&self, runs: impl Iterator<Item = RunId>) {
        self.dirty.lock().extend(runs);
        self.wake.notify_one();
    }

    /// No longer follows a run.
    pub(crate) fn forget(&self, run: RunId) {
        self.boxes.lock().remove(&run);
    }

    /// What was loaded, for these connections.
    pub(crate) fn loaded<'a>(
        &self,
        update: &RunUpdate,
        connections: impl Iterator<Item = &'a Arc<Connection>>,
    ) {
        let mut boxes = self.boxes.lock();
        let Some(live) = boxes.get_mut(&update.run) else { return };
        let moved = match &mut live.shown {
            Some(shown) => shown.load(update),
            None => match Shown::first(update) {
                Some(shown) => {
                    live.shown = Some(shown);
                    Moved::Elsewhere
                }
                None => return,
            },
        };
        live.push(&moved, connections);
        if update.status.is_final() {
            boxes.remove(&update.run);
        }
    }

    /// A flush of this node. False when it does not follow on: the run is to be loaded.
    pub(crate) fn flushed<'a>(
        &self,
        flushed: &Flushed<'_>,
        connections: impl Iterator<Item = &'a Arc<Connection>>,
    ) -> bool {
        let Flushed { run, epoch, base, version, ops, text } = *flushed;
        let mut boxes = self.boxes.lock();
        // Nobody follows it here.
        let Some(live) = boxes.get_mut(&run) else { return true };
        let Some(shown) = &mut live.shown else { return false };
        // Another version than the next is a whole document, which has more than these operations.
        let follows = shown.epoch == epoch && shown.version == base && version == base + 1;
        if !follows || shown.doc.replay(ops).is_err() {
            return false;
        }
        shown.version = version;
        shown.whole = None;
        live.push(&Moved::On { from: base, ops: text.to_owned() }, connections);
        true
    }

    /// Gives a connection that wants it the whole document of a run: at once, or when it is loaded. False when the run is not
    /// followed here. It is queued under the lock, so that it stands in order with what is pushed.
    pub(crate) fn watch(&self, run: RunId, connection: &Connection) -> bool {
        let mut boxes = self.boxes.lock();
        let Some(live) = boxes.get_mut(&run) else { return false };
        live.unwatched.remove(&connection.meta.id);
        if let Some(whole) = live.give(connection)
            && !connection.outbox.push_ephemeral(&whole)
        {
            live.given.remove(&connection.meta.id);
            connection.run_is_stale(run);
        }
        true
    }

    /// The whole document of a run for a connection that has nothing of it, to be written before all that is queued for it. None when it was
    /// given something, or will be once the run is loaded, or wants nothing of it.
    pub(crate) fn first_look(&self, run: RunId, connection: &Connection) -> Option<Arc<Encoded>> {
        let mut boxes = self.boxes.lock();
        let live = boxes.get_mut(&run)?;
        let id = &connection.meta.id;
        if live.given.contains_key(id) || live.unwatched.contains(id) { None } else { live.give(connection) }
    }
}

impl LiveBox {
    fn give(&mut self, connection: &Connection) -> Option<Arc<Encoded>> {
        let shown = self.shown.as_mut()?;
        let whole = shown.whole()?;
        self.given.insert(connection.meta.id, (shown.epoch, shown.version));
        Some(whole)
    }

    /// Gives each connection what it lacks now.
    fn push<'a>(&mut self, moved: &Moved, connections: impl Iterator<Item = &'a Arc<Connection>>) {
        let Some(shown) = &mut self.shown else { return };
        let mut patch = None;
        let now = (shown.epoch, shown.version);
        let mut count = 0;
        for connection in connections {
            count += 1;
            let id = connection.meta.id;
            if self.unwatched.contains(&id) {
                continue;
            }
            let frame = match (self.given.get(&id), moved) {
                (Some(given), Moved::Nowhere) if *given == now => {
                    shown.patch(&mut patch, shown.version, "[]")
                }
                (Some(given), Moved::On { from, ops }) if *given == (shown.epoch, *from) => {
                    shown.patch(&mut patch, *from, ops)
                }
                _ => None,
            };
            let Some(frame) = frame.or_else(|| shown.whole()) else { return };
            if connection.outbox.push_ephemeral(&frame) {
                self.given.insert(id, now);
            } else {
                self.given.remove(&id);
                connection.run_is_stale(shown.run);
            }
        }
        if self.given.len() > count * 2 {
            // Connections that are gone.
            self.given.retain(|_, given| *given == now);
        }
    }
}

impl Shown {
    fn first(update: &RunUpdate) -> Option<Self> {
        let DocChange::Whole(stored) = &update.change else { return None };
        let (doc, version) = build(update.run, stored)?;
        Some(Self {
            run: update.run,
            room: update.room,
            agent: update.agent,
            epoch: update.epoch,
            version,
            status: update.status,
            reason: update.reason,
            cancel_requested: update.cancel_requested,
            doc,
            whole: None,
        })
    }

    /// Takes over what was loaded, unless this node knows better by now.
    fn load(&mut self, update: &RunUpdate) -> Moved {
        if update.epoch < self.epoch {
            return Moved::Nowhere;
        }
        let moved = match &update.change {
            DocChange::Whole(stored) => self.replace(update.epoch, stored),
            DocChange::Patches(patches) if update.epoch == self.epoch => self.lead_on(patches),
            DocChange::Patches(_) => Moved::Nowhere,
        };
        self.epoch = update.epoch;
        self.status = update.status;
        self.reason = update.reason;
        self.cancel_requested = update.cancel_requested;
        self.whole = None;
        moved
    }

    fn replace(&mut self, epoch: u64, stored: &StoredDoc) -> Moved {
        let Some((doc, version)) = build(self.run, stored) else { return Moved::Nowhere };
        if epoch == self.epoch && version <= self.version {
            return Moved::Nowhere;
        }
        self.doc = doc;
        self.version = version;
        Moved::Elsewhere
    }

    fn lead_on(&mut self, patches: &[StoredPatch]) -> Moved {
        let from = self.version;
        let mut texts = Vec::new();
        for patch in patches.iter().filter(|patch| patch.version > from) {
            if patch.version != self.version + 1 {
                break;
            }
            let led = parse_ops(&patch.ops).and_then(|ops| self.doc.replay(&ops));
            if let Err(error) = led {
                tracing::error!(%error, run = %self.run, version = patch.version, "a stored patch does not fit its document");
                break;
            }
            self.version = patch.version;
            texts.push(inner(&patch.ops));
        }
        texts.retain(|text| !text.is_empty());
        if self.version == from {
            return Moved::Nowhere;
        }
        Moved::On { from, ops: format!("[{}]", texts.join(",")) }
    }

    fn frame(&self, change: RunChange) -> ServerFrame {
        ServerFrame::Run(Run {
            run_id: self.run.0,
            room_id: self.room.0,
            agent_id: self.agent.0,
            epoch: self.epoch,
            version: self.version,
            status: self.status.as_str().into(),
            reason: self.reason.map(|reason| reason.as_str().into()),
            cancel_requested: self.cancel_requested && !self.status.is_final(),
            change,
        })
    }

    /// The frame with the patch, made once for all connections. None for text that is no JSON, which is never stored.
    fn patch(&self, made: &mut Option<Arc<Encoded>>, from: u64, ops: &str) -> Option<Arc<Encoded>> {
        if made.is_none() {
            let raw = RawJson::new(ops).ok()?;
            let frame = self.frame(RunChange::Patch { from, ops: raw });
            *made = Some(Encoded::frame(frame));
        }
        made.clone()
    }

    /// The frame with the whole document, made once for all connections.
    fn whole(&mut self) -> Option<Arc<Encoded>> {
        if self.whole.is_none() {
            let doc = RawJson::new(self.doc.to_json()).ok()?;
            self.whole = Some(Encoded::frame(self.frame(RunChange::Doc(doc))));
        }
        self.whole.clone()
    }
}

/// The frame with the whole document of a run as the store has it, for one connection.
pub(crate) fn snapshot(update: &RunUpdate) -> Option<Arc<Encoded>> {
    Shown::first(update)?.whole()
}

/// The document that is stored, as far as its patches go, and its version.
#[must_use]
pub fn build(run: RunId, stored: &StoredDoc) -> Option<(Document, u64)> {
    let mut doc = Document::parse(&stored.doc)
        .inspect_err(|error| tracing::error!(%error, %run, "a stored document is none"))
        .ok()?;
    let mut version = stored.version;
    for patch in &stored.patches {
        let led = parse_ops(&patch.ops).and_then(|ops| doc.replay(&ops));
        if let Err(error) = led {
            tracing::error!(%error, %run, version = patch.version, "a stored patch does not fit its document");
            break;
        }
        version = patch.version;
    }
    Some((doc, version))
}

/// What lies between the brackets of a JSON array.
fn inner(array: &str) -> &str {
    let array = array.trim();
    array.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or_default().trim()
}

#[cfg(test)]
mod tests;
