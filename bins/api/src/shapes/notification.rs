//! Notifications, what became of them, and what people want of them.

use domain::notification::{Headline, Preferences, QuietHours};
use serde::Serialize;
use store::notifications::{Notification, Step, Unread};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{SenderShape, time};

/// Something that its person should know of.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Notification)]
pub struct NotificationShape {
    /// Which.
    pub id: Uuid,
    /// What it is about.
    #[schema(pattern = "^(mention|direct_message|run_finished|run_waiting|tool_call)$")]
    pub kind: &'static str,
    /// In which room.
    pub room_id: Uuid,
    /// Seq in the room of what it is about; 0 for a tool call, which is no event there.
    pub seq: u64,
    /// The message (its event), the run or the tool call.
    pub source_id: Uuid,
    /// Whose doing it is.
    pub sender: SenderShape,
    /// What they are called now.
    pub sender_name: Option<String>,
    /// From whom, and where.
    pub title: String,
    /// What, as it stands now. Empty when it was deleted, and for who has left the room.
    pub body: String,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Whether it was read, on whatever device.
    pub read: bool,
    /// By what it was first decided, once it was: the reasons are in the guide to notifications. What came later is in its trace.
    pub decision: Option<&'static str>,
}

impl From<Notification> for NotificationShape {
    fn from(notification: Notification) -> Self {
        let Headline { title, body } = notification.headline(true);
        Self {
            id: notification.id.0,
            kind: notification.facts.kind.as_str(),
            room_id: notification.facts.room.0,
            seq: notification.seq,
            source_id: notification.source,
            sender: notification.sender.into(),
            sender_name: notification.sender_name,
            title,
            body,
            created_at: time(notification.created_at),
            read: notification.facts.read,
            decision: notification.decision.map(domain::notification::Reason::as_str),
        }
    }
}

/// What a person has not read.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Unread)]
pub struct UnreadShape {
    /// In all rooms.
    pub total: u64,
    /// By room; rooms without are left out.
    pub rooms: Vec<UnreadOfRoomShape>,
}

/// What a person has not read of a room.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = UnreadOfRoom)]
pub struct UnreadOfRoomShape {
    /// Which.
    pub room_id: Uuid,
    /// How many.
    pub count: u64,
}

impl From<Unread> for UnreadShape {
    fn from(Unread { total, rooms }: Unread) -> Self {
        let of_room = |(room, count): (domain::RoomId, u64)| UnreadOfRoomShape { room_id: room.0, count };
        Self { total, rooms: rooms.into_iter().map(of_room).collect() }
    }
}

/// What became of a notification at one time.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = NotificationStep)]
pub struct StepShape {
    /// When, by the database's clock.
    #[schema(format = DateTime)]
    pub at: String,
    /// `decided`, `released`, `dropped`, `hinted`, `sent` or `retried`.
    pub step: String,
    /// Why.
    pub reason: Option<String>,
    /// By which node.
    pub node_id: Option<Uuid>,
    /// On which device; of a hint on a connection that named no device, which connection.
    pub device_id: Option<Uuid>,
    /// What else is to be said, such as the answer of a push service.
    pub detail: Option<String>,
}

impl From<Step> for StepShape {
    fn from(step: Step) -> Self {
        Self {
            at: time(step.at),
            step: step.step,
            reason: step.reason,
            node_id: step.node.map(|node| node.0),
            device_id: step.device.map(|device| device.0),
            detail: step.detail,
        }
    }
}

/// Why a notification was or was not hinted at and pushed, and when.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = NotificationTrace)]
pub struct TraceShape {
    /// The notification.
    pub notification: NotificationShape,
    /// What became of it, the first step first.
    pub steps: Vec<StepShape>,
}

/// What a person wants of notifications. What is not wanted stays in the list.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = NotificationPreferences)]
pub struct PreferencesShape {
    /// Hints and pushes of messages that name the person.
    pub mentions: bool,
    /// Of messages in rooms of two.
    pub direct_messages: bool,
    /// Of the end of runs that the person asked for.
    pub runs: bool,
    /// Of tool calls that wait for the person.
    pub tool_calls: bool,
    /// Whether a push says what was written; else only from whom and where.
    pub previews: bool,
    /// When the person is not to be disturbed.
    pub dnd: DndShape,
}

/// When a person is not to be disturbed: until a time, at certain hours, or both.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = DoNotDisturb)]
pub struct DndShape {
    /// Not before this time.
    #[schema(format = DateTime)]
    pub until: Option<String>,
    /// At these hours.
    #[schema(value_type = Option<HoursShape>)]
    pub hours: Option<QuietHours>,
}

/// Hours of the day, as the clock on the person's wall shows them: over midnight when `from` is the later one, the whole day when both are the
/// same.
#[derive(ToSchema)]
#[schema(as = QuietHours)]
#[expect(dead_code, reason = "only described: the hours write themselves")]
struct HoursShape {
    /// From then.
    #[schema(pattern = "^[0-2][0-9]:[0-5][0-9]$", example = "22:00")]
    from: String,
    /// Until before then.
    #[schema(pattern = "^[0-2][0-9]:[0-5][0-9]$", example = "07:00")]
    to: String,
    /// The zone of the clock, of the IANA database.
    #[schema(example = "Europe/Berlin")]
    timezone: String,
    /// The days on which they begin, `mon` to `sun`; not there: every day.
    days: Option<Vec<String>>,
}

impl From<Preferences> for PreferencesShape {
    fn from(preferences: Preferences) -> Self {
        let Preferences { mentions, direct_messages, runs, tool_calls, previews, dnd } = preferences;
        let dnd = DndShape { until: dnd.until.map(time), hours: dnd.hours };
        Self { mentions, direct_messages, runs, tool_calls, previews, dnd }
    }
}
