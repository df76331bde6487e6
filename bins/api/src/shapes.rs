//! The shapes of answers: what `domain` and `store` give, as JSON.

mod notification;
mod push;
mod run;
mod task;

use std::sync::Arc;

use domain::{Agent, Device, Event, Principal, Sender, User};
use jiff::Timestamp;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use store::nodes::NodeRow;
use store::rooms::{Member, RoomView};
use utoipa::ToSchema;
use uuid::Uuid;

pub use notification::{NotificationShape, PreferencesShape, StepShape, TraceShape, UnreadShape};
pub use push::{PushKeyShape, SubscriptionShape};
pub use run::{PrincipalShape, RunShape, ToolCallShape};
pub use task::{ActionShape, HookShape, ShownSecrets, TaskRunShape, TaskShape};

/// A time as it is answered: RFC 3339 in UTC with microseconds.
#[must_use]
pub fn time(at: Timestamp) -> String {
    format!("{at:.6}")
}

/// A person.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = User)]
pub struct UserShape {
    /// Who.
    pub id: Uuid,
    /// The unique name that mentions use.
    pub handle: String,
    /// The name that people read.
    pub display_name: String,
    /// `user` or `admin`.
    #[schema(pattern = "^(user|admin)$")]
    pub role: &'static str,
}

impl From<User> for UserShape {
    fn from(user: User) -> Self {
        let User { id, handle, display_name, role } = user;
        Self { id: id.0, handle, display_name, role: role.as_str() }
    }
}

/// An agent.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Agent)]
pub struct AgentShape {
    /// Which.
    pub id: Uuid,
    /// The unique name that mentions use.
    pub handle: String,
    /// The name that people read.
    pub display_name: String,
    /// Who made it, and may change and revoke it.
    pub owner_id: Uuid,
    /// Runs it is given at one time.
    pub max_runs: u32,
    /// It was revoked: it signs in no more.
    pub revoked: bool,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
}

impl From<Agent> for AgentShape {
    fn from(agent: Agent) -> Self {
        let Agent { id, owner, handle, display_name, max_runs, revoked, created_at } = agent;
        Self {
            id: id.0,
            handle,
            display_name,
            owner_id: owner.0,
            max_runs,
            revoked,
            created_at: time(created_at),
        }
    }
}

/// A device.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Device)]
pub struct DeviceShape {
    /// Which.
    pub id: Uuid,
    /// `desktop`, `mobile` or `web`.
    pub kind: &'static str,
    /// What its owner calls it.
    pub name: String,
    /// When it was added.
    #[schema(format = DateTime)]
    pub created_at: String,
}

impl From<Device> for DeviceShape {
    fn from(device: Device) -> Self {
        let Device { id, kind, name, created_at } = device;
        Self { id: id.0, kind: kind.as_str(), name, created_at: time(created_at) }
    }
}

/// A member of a room.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Member)]
pub struct MemberShape {
    /// Who, a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<Uuid>,
    /// Who, an agent: either this or `user_id` is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Uuid>,
    /// `owner` or `member`; agents own nothing.
    pub role: &'static str,
}

impl From<Member> for MemberShape {
    fn from(Member { member, role }: Member) -> Self {
        let (user_id, agent_id) = match member {
            Principal::User(id) => (Some(id.0), None),
            Principal::Agent(id) => (None, Some(id.0)),
        };
        Self { user_id, agent_id, role: role.as_str() }
    }
}

/// A room as the caller sees it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Room)]
pub struct RoomShape {
    /// Which.
    pub id: Uuid,
    /// `group` or `dm`.
    pub kind: &'static str,
    /// Its name; dms have none.
    pub name: Option<String>,
    /// Who is in it, in the order of joining.
    pub members: Vec<MemberShape>,
    /// Seq of the newest event; 0 before the first.
    pub head: u64,
    /// Seq of the newest event that is no longer kept; 0 while all are.
    pub floor: u64,
    /// What the caller has read.
    pub last_read: u64,
    /// Whether the caller muted it.
    pub muted: bool,
}

impl From<RoomView> for RoomShape {
    fn from(room: RoomView) -> Self {
        let members = room.members.into_iter().map(MemberShape::from).collect();
        Self {
            id: room.id.0,
            kind: room.kind.as_str(),
            name: room.name,
            members,
            head: room.head,
            floor: room.floor,
            last_read: room.last_read,
            muted: room.muted,
        }
    }
}

/// In whose name an event happened.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Sender)]
pub struct SenderShape {
    /// `user`, `agent` or `system`.
    pub kind: &'static str,
    /// Who; null for the system.
    pub id: Option<Uuid>,
}

impl From<Sender> for SenderShape {
    fn from(sender: Sender) -> Self {
        Self { kind: sender.kind(), id: sender.id() }
    }
}

/// An event of a stream.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Event)]
pub struct EventShape {
    /// The stream: `room:<id>`, `user:<id>` or `agent:<id>`.
    pub stream: String,
    /// Its number in the stream, from 1, without holes.
    pub seq: u64,
    /// Its id, unique over all streams.
    pub id: Uuid,
    /// What happened.
    pub kind: String,
    /// When it was written.
    #[schema(format = DateTime)]
    pub at: String,
    /// In whose name.
    pub sender: SenderShape,
    /// The body; what is in it depends on the kind.
    #[schema(value_type = Object)]
    pub data: RawData,
}

impl From<Event> for EventShape {
    fn from(event: Event) -> Self {
        Self {
            stream: event.stream.to_string(),
            seq: event.seq,
            id: event.id.0,
            kind: event.kind.as_str().to_owned(),
            at: time(event.at),
            sender: event.sender.into(),
            data: RawData(event.data),
        }
    }
}

/// JSON text that is passed on as it is.
#[derive(Debug, Clone)]
pub struct RawData(Arc<str>);

impl Serialize for RawData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// A node of the cluster.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Node)]
pub struct NodeShape {
    /// One process, one start.
    pub id: Uuid,
    /// `api`, `gateway`, `worker` or `all`.
    pub role: String,
    /// What people call it.
    pub name: String,
    /// The release it runs.
    pub version: String,
    /// When it came.
    #[schema(format = DateTime)]
    pub started_at: String,
    /// Its last heartbeat.
    #[schema(format = DateTime)]
    pub seen_at: String,
    /// Seconds since then.
    pub silent_for: f64,
}

impl From<NodeRow> for NodeShape {
    fn from(node: NodeRow) -> Self {
        Self {
            id: node.info.id.0,
            role: node.info.role,
            name: node.info.name,
            version: node.info.version,
            started_at: time(node.started_at),
            seen_at: time(node.seen_at),
            silent_for: node.silent_for.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{EventId, EventKind, RoomId};

    use super::*;

    #[test]
    fn an_event_has_the_shape_of_the_contract() {
        let (room, id) = (RoomId::new(), EventId::new());
        let event = Event {
            stream: room.into(),
            seq: 7,
            id,
            kind: EventKind::MessageCreated,
            at: "2026-11-20T10:00:00.25Z".parse().expect("time"),
            sender: Sender::System,
            data: r#"{"body": "hi"}"#.into(),
            trace: None,
        };
        let json = serde_json::to_string(&EventShape::from(event)).expect("json");
        let expected = format!(
            r#"{{"stream":"room:{room}","seq":7,"id":"{id}","kind":"message.created","at":"2026-11-20T10:00:00.250000Z","sender":{{"kind":"system","id":null}},"data":{{"body": "hi"}}}}"#
        );
        assert_eq!(json, expected);
    }
}
