//! Live boxes against a model: whatever is lost, repeated or late, what a connection shows was written.

use std::collections::HashMap;
use std::sync::Arc;

use domain::document::{Document, Op, ops_to_json, parse_ops};
use domain::run::RunStatus;
use domain::{AgentId, AuthSessionId, ConnectionId, RoomId, RunId, UserId};
use prometheus::IntGauge;
use proptest::prelude::*;
use protocol::ServerFrame;
use protocol::frame::{Run, RunChange};
use store::runs::{DocChange, RunUpdate, StoredDoc, StoredPatch};

use super::{Flushed, LiveBoxes};
use crate::connection::{Connection, ConnectionMeta, Hold};
use crate::encoded::Body;
use crate::outbox::{Limits, Next};

/// The run as the database has it.
struct Stored {
    epoch: u64,
    version: u64,
    doc: Document,
    snapshot: (u64, String),
    patches: Vec<StoredPatch>,
    status: RunStatus,
    /// The document at every version that was ever written.
    history: HashMap<(u64, u64), String>,
    /// Flushes that this node has not been told of.
    untold: Vec<(u64, u64, Vec<Op>)>,
    words: usize,
}

impl Stored {
    fn new() -> Self {
        let doc = Document::empty();
        let mut stored = Self {
            epoch: 1,
            version: 1,
            snapshot: (1, doc.to_json()),
            doc,
            patches: Vec::new(),
            status: RunStatus::Running,
            history: HashMap::new(),
            untold: Vec::new(),
            words: 0,
        };
        stored.note();
        stored
    }

    fn note(&mut self) {
        self.history.insert((self.epoch, self.version), self.doc.to_json());
    }

    fn write(&mut self, snapshot: bool) {
        self.words += 1;
        let item = serde_json::json!({ "id": format!("{}", self.words), "type": "text", "text": "word" });
        let ops = serde_json::json!([{ "op": "add", "path": "/items/-", "value": item }]).to_string();
        let ops = parse_ops(&ops).unwrap();
        self.doc.replay(&ops).unwrap();
        let base = self.version;
        self.version += 1;
        self.note();
        self.patches.push(StoredPatch { version: self.version, ops: ops_to_json(&ops).into() });
        if snapshot {
            self.snapshot = (self.version, self.doc.to_json());
        }
        self.untold.push((self.epoch, base, ops));
    }

    fn begin_anew(&mut self) {
        self.epoch += 1;
        self.version += 1;
        self.doc = Document::empty();
        self.snapshot = (self.version, self.doc.to_json());
        self.patches.clear();
        self.note();
    }

    fn update(&self, run: RunId, room: RoomId, agent: AgentId, known: (u64, u64)) -> RunUpdate {
        let follows = |after: u64| {
            let mut next = after;
            let mut patches = Vec::new();
            for patch in self.patches.iter().filter(|patch| patch.version > after) {
                if patch.version != next + 1 {
                    break;
                }
                next = patch.version;
                patches.push(patch.clone());
            }
            patches
        };
        let change = if known.0 == self.epoch && (known.1 == self.version || !follows(known.1).is_empty()) {
            DocChange::Patches(follows(known.1))
        } else {
            let (version, doc) = &self.snapshot;
            DocChange::Whole(StoredDoc {
                doc: doc.as_str().into(),
                version: *version,
                patches: follows(*version),
            })
        };
        RunUpdate {
            run,
            room,
            agent,
            epoch: self.epoch,
            version: self.version,
            status: self.status,
            reason: None,
            cancel_requested: false,
            change,
        }
    }
}

/// A connection, and what its client shows.
struct Watcher {
    connection: Arc<Connection>,
    shown: Option<(u64, u64, Document)>,
    status: String,
}

impl Watcher {
    fn new() -> Self {
        let meta = ConnectionMeta {
            id: ConnectionId::new(),
            principal: UserId::new().into(),
            session: AuthSessionId::new(),
        };
        let behind = IntGauge::new("behind", "Connections that are behind").unwrap();
        let limits = Limits { frames: 2, bytes: 1 << 20 };
        let connection = Arc::new(Connection::new(meta, Hold::Nothing, limits, behind));
        Self { connection, shown: None, status: String::new() }
    }

    /// Reads all that waits, and looks around when asked to, as a writer does.
    fn drain(&mut self, run: RunId, boxes: &LiveBoxes, stored: &Stored) {
        let mut batch = Vec::new();
        while let Some(next) = self.connection.outbox.take(&mut batch, 10) {
            if matches!(next, Next::CatchUp) {
                let mut stale = self.connection.take_stale_runs();
                while let Some(first) = stale.first() {
                    assert_eq!(first, run);
                    stale.settle();
                    batch.extend(boxes.first_look(run, &self.connection));
                }
            }
            for encoded in batch.drain(..) {
                match encoded.body() {
                    Body::Frame(ServerFrame::Run(frame)) => self.take(frame, stored),
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    fn take(&mut self, frame: &Run, stored: &Stored) {
        let document = match (&frame.change, self.shown.take()) {
            (RunChange::Doc(doc), _) => Document::parse(doc.get()).unwrap(),
            (RunChange::Patch { from, ops }, Some((epoch, version, mut document))) => {
                assert_eq!((epoch, version), (frame.epoch, *from), "a patch that does not follow on");
                document.replay(&parse_ops(ops.get()).unwrap()).unwrap();
                document
            }
            (change, None) => panic!("{change:?} before a document"),
        };
        let written = &stored.history[&(frame.epoch, frame.version)];
        assert_eq!(&document.to_json(), written, "version {} of epoch {}", frame.version, frame.epoch);
        self.shown = Some((frame.epoch, frame.version, document));
        self.status.clone_from(&frame.status);
    }
}

#[derive(Debug, Clone)]
enum Step {
    Write {
        snapshot: bool,
    },
    /// A flush is told from memory; or is not, when it was written by another node.
    Tell,
    Skip,
    Load,
    /// The database crashed.
    Empty,
    BeginAnew,
    Wait,
    Drain(usize),
    Join,
    Watch(usize),
    Unwatch(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => any::<bool>().prop_map(|snapshot| Step::Write { snapshot }),
        5 => Just(Step::Tell),
        2 => Just(Step::Skip),
        4 => Just(Step::Load),
        1 => Just(Step::Empty),
        1 => Just(Step::BeginAnew),
        1 => Just(Step::Wait),
        5 => (0_usize..5).prop_map(Step::Drain),
        1 => Just(Step::Join),
        2 => (0_usize..5).prop_map(Step::Watch),
        1 => (0_usize..5).prop_map(Step::Unwatch),
    ];
    proptest::collection::vec(step, 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn what_is_shown_was_written_and_in_the_end_is_all_of_it(steps in steps()) {
        let (run, room, agent) = (RunId::new(), RoomId::new(), AgentId::new());
        let boxes = LiveBoxes::default();
        boxes.track(run, room);
        let mut stored = Stored::new();
        let mut watchers = vec![Watcher::new()];
        let load = |stored: &Stored, watchers: &[Watcher]| {
            boxes.touch(run);
            for (known, _) in boxes.take_dirty(10) {
                let update = stored.update(run, room, agent, (known.epoch, known.version));
                boxes.loaded(&update, watchers.iter().map(|watcher| &watcher.connection));
            }
        };
        for step in steps {
            match step {
                Step::Write { snapshot } => stored.write(snapshot),
                Step::Tell => if !stored.untold.is_empty() {
                    let (epoch, base, ops) = stored.untold.remove(0);
                    let text = ops_to_json(&ops);
                    let flushed = Flushed { run, epoch, base, version: base + 1, ops: &ops, text: &text };
                    let connections = watchers.iter().map(|watcher| &watcher.connection);
                    if !boxes.flushed(&flushed, connections) {
                        load(&stored, &watchers);
                    }
                },
                Step::Skip => stored.untold.clear(),
                Step::Load => load(&stored, &watchers),
                Step::Empty => stored.patches.clear(),
                Step::BeginAnew => { stored.begin_anew(); stored.untold.clear(); }
                Step::Wait => {
                    let waiting = stored.status == RunStatus::Waiting;
                    stored.status = if waiting { RunStatus::Running } else { RunStatus::Waiting };
                }
                Step::Drain(who) => if let Some(watcher) = watchers.get_mut(who) {
                    watcher.drain(run, &boxes, &stored);
                },
                Step::Join => {
                    let watcher = Watcher::new();
                    if let Some(frame) = boxes.first_look(run, &watcher.connection) {
                        watcher.connection.outbox.push_ephemeral(&frame);
                    }
                    watchers.push(watcher);
                }
                Step::Watch(who) => if let Some(watcher) = watchers.get(who) {
                    boxes.watch(run, &watcher.connection);
                },
                Step::Unwatch(who) => if let Some(watcher) = watchers.get(who) {
                    boxes.unwatch(run, &watcher.connection);
                },
            }
        }
        // The holder's node writes a snapshot, and everything settles.
        stored.write(true);
        load(&stored, &watchers);
        for watcher in &mut watchers {
            watcher.drain(run, &boxes, &stored);
            boxes.watch(run, &watcher.connection);
            watcher.drain(run, &boxes, &stored);
            watcher.drain(run, &boxes, &stored);
            let (epoch, version, document) = watcher.shown.as_ref().expect("it shows something");
            prop_assert_eq!((*epoch, *version), (stored.epoch, stored.version));
            prop_assert_eq!(document.to_json(), stored.doc.to_json());
            prop_assert_eq!(&watcher.status, stored.status.as_str());
        }
    }
}
