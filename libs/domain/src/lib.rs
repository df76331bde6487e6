//! Ids, types and pure rules of Switchboard.
//!
//! Everything here is data and functions of data: what an event is, which handles are allowed,
//! whom a message mentions, which error kinds exist. No I/O, no async, no clock of its own:
//! a rule that needs the time takes `now` as an argument, whoever has the time asks a [`Clock`].
//!
//! What never lives here: SQL, HTTP, frames, configuration files, anything that can block.

pub mod agent;
pub mod clock;
pub mod document;
pub mod duration;
pub mod error;
pub mod event;
pub mod hidden;
pub mod id;
pub mod mention;
pub mod notification;
pub mod people;
pub mod presence;
pub mod principal;
pub mod room;
pub mod run;
pub mod schedule;
pub mod signing_key;
pub mod stream;
pub mod task;
pub mod text;

pub use agent::Agent;
pub use clock::{Clock, SystemClock};
pub use document::Document;
pub use error::{ErrorCode, ErrorKind, Invalid};
pub use event::{Event, EventKind, Sender};
pub use hidden::Hidden;
pub use id::{
    AgentId, AuthSessionId, ConnectionId, ConsumerId, DeviceId, EventId, LogEpoch, NodeId, NotificationId,
    RequestId, RoomId, RunId, SlotSessionId, TaskId, TaskRunId, ToolCallId, UserId, WorkerSessionId,
};
pub use notification::NotificationKind;
pub use people::{Device, DeviceKind, Role, User};
pub use presence::{LivePresence, PersonStatus};
pub use principal::Principal;
pub use room::{MemberRole, RoomKind};
pub use run::{FinishStatus, RunStatus};
pub use schedule::Schedule;
pub use signing_key::SigningKey;
pub use stream::{StreamKind, StreamRef};
