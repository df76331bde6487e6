//! Somebody who says something and somebody who is notified of it: what cases of notifications and pushes stand on.

use std::ops::Deref;
use std::time::Duration;

use domain::notification::Reason;
use domain::{
    AuthSessionId, DeviceId, Event, EventKind, NodeId, NotificationId, NotificationKind, Principal, RoomId,
    RoomKind, UserId,
};
use serde_json::{Value, json};
use store::messages::NewMessage;
use store::notifications::{Notification, ReadWhat, Recipient, Step, Unread};
use store::push::{
    ClaimedDevice, Decided, DeviceAfter, FinishedDevice, Outcome, PushAddress, PushStep, Undecided,
};
use store::rooms::NewRoom;
use uuid::Uuid;

use super::people::{HOUR, new_device};
use super::world::{World, data, group, message};

/// Those who are named in a message.
pub(crate) fn mentioning(message: NewMessage, people: &[UserId]) -> NewMessage {
    let named = people.iter().map(|user| Recipient { user: *user, kind: NotificationKind::Mention });
    NewMessage { recipients: named.collect(), ..message }
}

pub(crate) fn dm(one: UserId, other: UserId) -> NewRoom {
    NewRoom { kind: RoomKind::Dm, name: None, ..group(&[one, other]) }
}

impl World {
    /// A message that names people: what they are told.
    pub(crate) async fn mention(
        &self,
        room: RoomId,
        sender: impl Into<Principal>,
        people: &[UserId],
    ) -> Vec<NotificationId> {
        let appended = self.append(mentioning(message(room, sender, "look"), people)).await.expect("good");
        assert!(appended.fresh);
        appended.notified.iter().map(notification_of).collect()
    }

    /// Whatever a person's list has, the newest first.
    pub(crate) async fn notices(&self, user: UserId) -> Vec<Notification> {
        self.store.notifications(user, None, false, 10_000).await.expect("a list")
    }

    pub(crate) async fn unread(&self, user: UserId) -> Unread {
        self.store.unread(user).await.expect("counts")
    }

    /// A notification as its person sees it.
    pub(crate) async fn notice(&self, user: UserId, id: NotificationId) -> Notification {
        self.traced(user, id).await.0
    }

    pub(crate) async fn traced(&self, user: UserId, id: NotificationId) -> (Notification, Vec<Step>) {
        let traced = self.store.notification_trace(user, id).await.expect("an answer");
        traced.expect("a notification of theirs")
    }

    /// What became of a notification, in short.
    pub(crate) async fn steps(&self, user: UserId, id: NotificationId) -> Vec<(String, Option<String>)> {
        let steps = self.traced(user, id).await.1;
        steps.into_iter().map(|step| (step.step, step.reason)).collect()
    }

    pub(crate) async fn read(&self, user: UserId, what: &ReadWhat) -> Option<Event> {
        self.store.read_notifications(user, what).await.expect("an answer")
    }

    /// What a person was told of notifications, with the seqs of their stream.
    pub(crate) async fn told_of(&self, user: UserId) -> Vec<(u64, Value)> {
        let told = self.inbox(user).await;
        let told = told.iter().filter(|event| event.kind == EventKind::NotificationCreated);
        told.map(|event| (event.seq, data(event))).collect()
    }

    /// A device of somebody's without a subscription.
    pub(crate) async fn device(&self, user: UserId) -> DeviceId {
        self.store.create_device(user, &new_device("phone"), None).await.expect("a device").id
    }

    /// A device of somebody's with a subscription.
    pub(crate) async fn subscribed(&self, user: UserId) -> DeviceId {
        let device = self.device(user).await;
        self.store.subscribe(user, AuthSessionId::new(), device, &address()).await.expect("subscribed");
        device
    }
}

/// A notification that a person is told of.
pub(crate) fn notification_of(event: &Event) -> NotificationId {
    assert_eq!(event.kind, EventKind::NotificationCreated);
    data(event)["notification_id"].as_str().expect("an id").parse().expect("an id")
}

/// An address that nobody else has.
pub(crate) fn address() -> PushAddress {
    PushAddress::WebPush {
        endpoint: format!("https://push.example.com/{}", Uuid::now_v7()),
        p256dh: "BNcRdreALRFXTkOOUHK1".into(),
        auth: "BTBZMqHH6r4Tts7J".into(),
    }
}

pub(crate) fn token(text: &str) -> PushAddress {
    PushAddress::Webhook { token: text.into() }
}

/// What an event says of a notification.
pub(crate) fn says(notification: &Notification) -> Value {
    json!({
        "notification_id": notification.id, "kind": notification.facts.kind.as_str(), "room_id": notification.facts.room,
        "seq": notification.seq, "source_id": notification.source,
    })
}

/// A step in short.
pub(crate) fn step(step: &str, reason: Option<&str>) -> (String, Option<String>) {
    (step.to_owned(), reason.map(str::to_owned))
}

/// Alex, who says something in a room, and Sam, who is told.
#[derive(Clone)]
pub(crate) struct Told {
    world: World,
    pub(crate) alex: UserId,
    pub(crate) sam: UserId,
    pub(crate) room: RoomId,
    pub(crate) node: NodeId,
}

impl Deref for Told {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Told {
    pub(crate) async fn new(world: World) -> Self {
        let [alex, sam] = world.people().await;
        let room = world.group(&[alex, sam]).await;
        Self { world, alex, sam, room, node: NodeId::new() }
    }

    /// Sam is mentioned.
    pub(crate) async fn notified(&self) -> NotificationId {
        self.notified_in(self.room).await
    }

    pub(crate) async fn notified_in(&self, room: RoomId) -> NotificationId {
        let told = self.mention(room, self.alex, &[self.sam]).await;
        assert_eq!(told.len(), 1);
        told[0]
    }

    /// Takes all that is to be decided.
    pub(crate) async fn undecided(&self, claim: Uuid) -> Vec<Undecided> {
        self.store.claim_undecided(claim, HOUR, 1000).await.expect("a claim")
    }

    pub(crate) async fn decide(&self, claim: Uuid, decided: &[Decided]) -> Vec<NotificationId> {
        self.store.decide(claim, self.node, decided).await.expect("decided")
    }

    /// Claims all that is to be decided and decides it so.
    pub(crate) async fn settle(&self, outcome: Outcome) -> Vec<NotificationId> {
        let claim = Uuid::now_v7();
        let taken = self.undecided(claim).await;
        let decided: Vec<Decided> = taken.iter().map(|one| so(one, outcome)).collect();
        assert_eq!(self.decide(claim, &decided).await.len(), taken.len());
        taken.iter().map(|one| one.notification.id).collect()
    }

    /// A notification of Sam that is pushed.
    pub(crate) async fn pushed(&self) -> NotificationId {
        self.pushed_in(self.room).await
    }

    pub(crate) async fn pushed_in(&self, room: RoomId) -> NotificationId {
        let id = self.notified_in(room).await;
        assert_eq!(self.settle(Outcome::Push(Reason::PushOffline)).await, [id]);
        id
    }

    /// Takes the devices that a push waits for.
    pub(crate) async fn claim(&self, claim: Uuid) -> Vec<ClaimedDevice> {
        self.store.claim_pushes(claim, HOUR, 100, 100).await.expect("a claim")
    }

    /// Takes the only device that a push waits for.
    pub(crate) async fn claim_one(&self, claim: Uuid) -> ClaimedDevice {
        let mut claimed = self.claim(claim).await;
        assert_eq!(claimed.len(), 1, "{claimed:?}");
        claimed.remove(0)
    }

    pub(crate) async fn finish(&self, finished: &[FinishedDevice]) -> Vec<DeviceId> {
        self.store.finish_pushes(self.node, finished).await.expect("finished")
    }
}

/// A decision on what was claimed.
pub(crate) const fn so(taken: &Undecided, outcome: Outcome) -> Decided {
    Decided { notification: taken.notification.id, waited: taken.waited, outcome }
}

/// All that a claim gave was sent.
pub(crate) fn sent(claim: Uuid, device: &ClaimedDevice) -> FinishedDevice {
    let steps = waiting(device).into_iter().map(|id| became(id, "sent", true)).collect();
    let after = DeviceAfter::Free { result: Some("sent".into()) };
    FinishedDevice { claim, device: device.device, tested: device.is_test, steps, after }
}

/// Nothing of it was sent: the push service asks for time.
pub(crate) fn rests(claim: Uuid, device: &ClaimedDevice, pause: Duration) -> FinishedDevice {
    let steps = waiting(device).into_iter().map(|id| became(id, "retried", false)).collect();
    let after = DeviceAfter::Rests { pause, result: "503".into() };
    FinishedDevice { claim, device: device.device, tested: false, steps, after }
}

/// Nothing was sent, nothing happened.
pub(crate) const fn freed(claim: Uuid, device: DeviceId) -> FinishedDevice {
    let after = DeviceAfter::Free { result: None };
    FinishedDevice { claim, device, tested: false, steps: Vec::new(), after }
}

pub(crate) fn became(notification: NotificationId, step: &'static str, is_over: bool) -> PushStep {
    PushStep { notification, step, reason: None, detail: Some("201".into()), is_over }
}

/// What waits for a device.
pub(crate) fn waiting(device: &ClaimedDevice) -> Vec<NotificationId> {
    device.waiting.iter().map(|(notification, _)| notification.id).collect()
}
