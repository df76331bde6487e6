//! Runs: the work of an agent in a room, with a live document that people watch.
//!
//! A run has two numbers. `epoch` is the fencing number of its execution: it grows each time that a
//! consumer starts it, and who writes under a lower one is refused. `version` grows with every change of
//! the document and never goes back, whoever works on it.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{RawJson, raw};

/// How a run stands, and what changed of its document. As JSON the change is either `doc`, or `from` and
/// `ops`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RunFields")]
pub struct Run {
    /// Which run.
    pub run_id: Uuid,
    /// The room that it belongs to.
    pub room_id: Uuid,
    /// Who works on it.
    pub agent_id: Uuid,
    /// The fencing number of its execution.
    pub epoch: u64,
    /// The version of its document after this frame.
    pub version: u64,
    /// `queued`, `running`, `waiting`, `succeeded`, `failed`, `cancelled` or `expired`.
    pub status: String,
    /// Why it stands there, when there is more to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether somebody asked for its end, which the agent has not answered yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cancel_requested: bool,
    /// The document, or what changed of it.
    #[serde(flatten)]
    pub change: RunChange,
}

/// How the document of a run comes: whole, or as what follows on a version that the reader has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunChange {
    /// All of it.
    Doc(RawJson),
    /// What makes it of an older version.
    #[serde(untagged)]
    Patch {
        /// The version that `ops` apply to. Who has another one waits for a snapshot.
        from: u64,
        /// An array of operations: RFC 6902, and `append` for text.
        ops: RawJson,
    },
}

#[derive(Deserialize)]
struct RunFields {
    run_id: Uuid,
    room_id: Uuid,
    agent_id: Uuid,
    epoch: u64,
    version: u64,
    status: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    cancel_requested: bool,
    #[serde(default, deserialize_with = "raw::given")]
    doc: Option<RawJson>,
    #[serde(default)]
    from: Option<u64>,
    #[serde(default, deserialize_with = "raw::given")]
    ops: Option<RawJson>,
}

impl TryFrom<RunFields> for Run {
    type Error = &'static str;

    fn try_from(fields: RunFields) -> Result<Self, Self::Error> {
        let change = match (fields.doc, fields.from, fields.ops) {
            (Some(doc), None, None) => RunChange::Doc(doc),
            (None, Some(from), Some(ops)) => RunChange::Patch { from, ops },
            _ => return Err("either doc, or from and ops must be given"),
        };
        Ok(Self {
            run_id: fields.run_id,
            room_id: fields.room_id,
            agent_id: fields.agent_id,
            epoch: fields.epoch,
            version: fields.version,
            status: fields.status,
            reason: fields.reason,
            cancel_requested: fields.cancel_requested,
            change,
        })
    }
}

/// Follows a run of a room that the connection does not follow by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// The run.
    pub run_id: Uuid,
}

/// Ends a `watch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unwatch {
    /// The run.
    pub run_id: Uuid,
}

/// A consumer begins a run that was offered to its agent; answered by `run` with the document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunStart {
    /// The run.
    pub run_id: Uuid,
}

/// The holder of a run changes its document. There is no answer but `error`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPatch {
    /// The run.
    pub run_id: Uuid,
    /// The epoch under which the holder started it.
    pub epoch: u64,
    /// An array of operations, taken in order and all or none.
    pub ops: RawJson,
}

/// The holder of a run is done with it; answered by `run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFinish {
    /// The run.
    pub run_id: Uuid,
    /// The epoch under which the holder started it.
    pub epoch: u64,
    /// `succeeded`, `failed` or `cancelled`.
    pub status: String,
    /// A last change of the document, together with the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<RawJson>,
    /// What went wrong, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
