//! Tasks as they are kept, and what is said of them: the same in every database.

use domain::task::Action;
use uuid::Uuid;

use super::{Hook, HookSignature, TaskSettings};
use crate::error::{Refusal, StoreError};

/// The task is not there.
pub(crate) const NO_TASK: Refusal = Refusal::NotFound("task");
/// Its hook is not listened to.
pub(crate) const PAUSED: Refusal = Refusal::Conflict("the task is paused, or its owner is disabled");
/// It takes no more runs.
pub(crate) const FULL: Refusal = Refusal::Conflict("as many runs of the task are queued as may be");
/// Its owner may have no more.
pub(crate) const TOO_MANY: Refusal =
    Refusal::Conflict("you have as many tasks as one person may have; delete some first");
/// The name of the switch of all workers.
pub(crate) const SCHEDULER: &str = "scheduler";

/// What is known of an owner where a task is made or edited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged {
    /// The owner is there, and not disabled.
    pub(crate) may: bool,
    /// The owner is in the room, if there is one.
    pub(crate) room_in: bool,
    /// The agent is in the room, if there is one.
    pub(crate) agent_in: bool,
}

impl Judged {
    /// Whether the task may be so.
    pub(crate) const fn verdict(self) -> Result<(), Refusal> {
        match self {
            Self { may: false, .. } => Err(Refusal::Forbidden),
            Self { room_in: false, .. } => Err(Refusal::NotFound("room")),
            Self { agent_in: false, .. } => Err(Refusal::NotFound("agent")),
            _ => Ok(()),
        }
    }
}

/// Settings as they are kept.
pub(crate) struct Stored {
    pub(crate) action: String,
    pub(crate) room: Option<Uuid>,
    pub(crate) agent: Option<Uuid>,
    pub(crate) cost: i64,
    pub(crate) max_runtime: i64,
    pub(crate) retries: i32,
}

impl Stored {
    pub(crate) fn of(settings: &TaskSettings) -> Result<Self, StoreError> {
        let agent = match settings.action {
            Action::AgentRun { agent_id, .. } => Some(agent_id.0),
            _ => None,
        };
        Ok(Self {
            action: serde_json::to_string(&settings.action)
                .map_err(|error| StoreError::Internal(format!("an action: {error}")))?,
            room: settings.action.room().map(Uuid::from),
            agent,
            cost: settings.priority.cost(),
            max_runtime: i64::try_from(settings.max_runtime.as_millis()).unwrap_or(i64::MAX),
            retries: i32::try_from(settings.retries).unwrap_or(i32::MAX),
        })
    }
}

/// A hook, or none, as it is kept.
pub(crate) struct StoredHook<'a> {
    pub(crate) hash: Option<&'a [u8]>,
    pub(crate) signature: Option<&'static str>,
    pub(crate) key: Option<&'a [u8]>,
}

impl<'a> StoredHook<'a> {
    pub(crate) fn of(hook: Option<&'a Hook>) -> Self {
        Self {
            hash: hook.map(|hook| hook.hash.as_slice()),
            signature: hook.map(|hook| match hook.signature {
                HookSignature::None => "none",
                HookSignature::Standard => "standard",
                HookSignature::Github => "github",
            }),
            key: hook.and_then(|hook| hook.key.as_ref()).map(|key| key.0.as_slice()),
        }
    }
}

/// How callers of a hook sign, from what is kept.
pub(crate) fn signature(text: Option<&str>) -> Result<Option<HookSignature>, StoreError> {
    match text {
        None => Ok(None),
        Some("none") => Ok(Some(HookSignature::None)),
        Some("standard") => Ok(Some(HookSignature::Standard)),
        Some("github") => Ok(Some(HookSignature::Github)),
        Some(other) => Err(StoreError::Internal(format!("a hook with signature {other:?}"))),
    }
}
