//! Telling what was written: this node from memory, the others by a notification.

use std::sync::Arc;

use domain::{
    AuthSessionId, DeviceId, Event, EventKind, NotificationId, RequestId, RoomId, RunId, TaskId, ToolCallId,
    UserId,
};
use protocol::notify::Kind;
use realtime::livebox::Flushed;
use realtime::{Announce, Hub, pass_on};
use store::consumers::AgentPresence;
use store::sessions::EndedSession;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::presence::PeopleHeard;

/// Tells this node's hub and the other nodes. Nothing here blocks, and nothing here decides whether an
/// event arrives: what is not told is found by the sweep.
#[derive(Clone)]
pub struct Announcer {
    hub: Arc<Hub>,
    others: Arc<dyn Announce>,
    tasks: Arc<Notify>,
    notifications: Arc<Notify>,
    people: Arc<PeopleHeard>,
}

impl Announcer {
    /// Tells `hub`, and `others`.
    #[must_use]
    pub fn new(hub: Arc<Hub>, others: Arc<dyn Announce>) -> Self {
        Self { hub, others, tasks: Arc::default(), notifications: Arc::default(), people: Arc::default() }
    }

    /// The hub of this node.
    #[must_use]
    pub const fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Events that were committed, in the order of commit.
    pub fn events(&self, events: impl IntoIterator<Item = Event>) {
        let mut notified = false;
        let events =
            events.into_iter().inspect(|event| notified |= event.kind == EventKind::NotificationCreated);
        pass_on(&self.hub, &*self.others, events);
        if notified {
            self.notification_due();
        }
    }

    /// Some notification is to be decided: workers that sleep look now, here and elsewhere.
    pub(crate) fn notification_due(&self) {
        self.notifications.notify_one();
        self.others.announce(Kind::NotificationDue, Uuid::nil().into(), None);
    }

    /// What a worker of this node waits on that decides on notifications.
    pub(crate) const fn notification_wake(&self) -> &Arc<Notify> {
        &self.notifications
    }

    /// A notification is to be hinted at, wherever its person is.
    pub(crate) fn notification_created(&self, notification: NotificationId) {
        self.hub.hints().touch(notification);
        self.others.announce(Kind::NotificationCreated, notification.0.into(), None);
    }

    /// A sign-in that was ended: its connections close everywhere.
    pub fn session_ended(&self, ended: &EndedSession) {
        self.sign_in_ended(ended.session);
        self.events(ended.event.clone());
    }

    /// A sign-in, or a token of an agent, is good for nothing any more: what came by it closes everywhere.
    pub fn sign_in_ended(&self, session: AuthSessionId) {
        self.hub.revoke(session.0);
        self.others.announce(Kind::SessionRevoked, session.0.into(), None);
    }

    /// The list of signing keys has changed in this one.
    pub(crate) fn key_rotated(&self, kid: &str) {
        // What is the id of a key is one on the channel, too; nodes that are not told read the keys by themselves.
        if let Ok(kid) = kid.parse() {
            self.others.announce(Kind::KeyRotated, kid, None);
        }
    }

    /// A device's slot stands at `epoch`: whoever holds a lower one loses it.
    pub fn device_fenced(&self, device: DeviceId, epoch: u64) {
        self.hub.fence(device.0, epoch);
        self.others.announce(Kind::DeviceSession, device.0.into(), Some(epoch));
    }

    /// A flush of a run that is worked on here.
    pub(crate) fn run_flushed(&self, flushed: &Flushed<'_>) {
        self.hub.run_flushed(flushed);
        self.others.announce(Kind::RunUpdated, flushed.run.0.into(), Some(flushed.version));
    }

    /// A run stands differently, its document at `version`.
    pub(crate) fn run_updated(&self, run: RunId, version: u64) {
        self.hub.boxes().touch(run);
        self.others.announce(Kind::RunUpdated, run.0.into(), Some(version));
    }

    /// A run stands differently, whatever its version.
    pub(crate) fn run_touched(&self, run: RunId) {
        self.hub.boxes().touch(run);
        self.others.announce(Kind::RunUpdated, run.0.into(), None);
    }

    /// A call is no longer pending.
    pub(crate) fn tool_result(&self, call: ToolCallId) {
        self.others.announce(Kind::ToolResult, call.0.into(), None);
    }

    /// An agent is asked for a completion.
    pub(crate) fn asked(&self, request: RequestId) {
        self.others.announce(Kind::AutocompleteRequested, request.0.into(), None);
    }

    /// An agent has completed.
    pub(crate) fn answered(&self, request: RequestId) {
        self.others.announce(Kind::AutocompleteAnswered, request.0.into(), None);
    }

    /// An agent is seen differently.
    pub(crate) fn agent_seen(&self, seen: &AgentPresence) {
        self.hub.agents().touch(seen.agent);
        self.others.announce(Kind::AgentPresence, seen.agent.0.into(), Some(seen.version));
    }

    /// A person is seen differently. Without a version whoever hears of it looks for themselves.
    pub(crate) fn person_seen(&self, user: UserId, version: Option<u64>) {
        if self.hub.has_people() {
            self.hub.people().touch(user);
        }
        self.people.hear(user);
        self.others.announce(Kind::UserPresence, user.0.into(), version);
    }

    /// People who are said to be seen differently.
    pub(crate) fn people(&self) -> &PeopleHeard {
        &self.people
    }

    /// A task may be due at another time than a worker thought: those that sleep look now, here and elsewhere.
    pub fn task_due(&self, task: TaskId) {
        self.tasks.notify_one();
        self.others.announce(Kind::TaskDue, task.0.into(), None);
    }

    /// Any task may be due.
    pub(crate) fn tasks_due(&self) {
        self.task_due(TaskId(Uuid::nil()));
    }

    /// What a scheduler of this node waits on.
    pub(crate) const fn task_wake(&self) -> &Arc<Notify> {
        &self.tasks
    }

    /// Somebody types in a room.
    pub fn typing(&self, room: RoomId, user: UserId) {
        self.hub.typing(room, user);
        self.others.announce(Kind::Typing, (room.0, user.0).into(), None);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use parking_lot::Mutex;
    use protocol::notify::Id;

    use super::*;

    #[derive(Default)]
    struct Told(Mutex<Vec<(Kind, Id)>>);

    impl Announce for Told {
        fn announce(&self, kind: Kind, id: Id, _version: Option<u64>) {
            self.0.lock().push((kind, id));
        }
    }

    #[tokio::test]
    async fn a_task_that_is_due_wakes_who_only_looked_yet_once() {
        let metrics = realtime::RealtimeMetrics::register(&prometheus::Registry::new()).expect("metrics");
        let told = Arc::new(Told::default());
        let announcer = Announcer::new(Hub::new(1, 0, metrics), Arc::clone(&told) as _);
        let task = TaskId::new();
        let scheduler = Arc::clone(announcer.clone().task_wake());
        assert!(scheduler.notified().now_or_never().is_none());
        // It looks at the store here; nobody waits.
        announcer.task_due(task);
        announcer.task_due(task);
        assert!(scheduler.notified().now_or_never().is_some(), "the wake was kept");
        assert!(scheduler.notified().now_or_never().is_none(), "one look is enough for both");
        assert_eq!(*told.0.lock(), [(Kind::TaskDue, task.0.into()), (Kind::TaskDue, task.0.into())]);
    }
}
