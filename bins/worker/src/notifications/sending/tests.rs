//! One device against a push service that answers as it is told.

use std::collections::VecDeque;

use async_trait::async_trait;
use domain::notification::{Facts, Preferences};
use domain::{ConnectionId, DeviceKind, NotificationId, RoomId, RoomKind, Sender as From, UserId};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use prometheus::Registry;
use serde_json::Value;

use super::*;

/// Answers in turn, then with `sent`.
#[derive(Default)]
struct Service {
    answers: Mutex<VecDeque<Outcome>>,
    got: Mutex<Vec<Message>>,
}

#[async_trait]
impl Driver for Service {
    async fn send(&self, _: &Target, message: &Message) -> Verdict {
        self.got.lock().push(message.clone());
        let outcome = self.answers.lock().pop_front().unwrap_or(Outcome::Sent);
        Verdict { outcome, status: None, reason: "answered".into() }
    }
}

struct Stage {
    service: Arc<Service>,
    sender: Sender,
    device: ClaimedDevice,
}

impl Stage {
    /// A device that this many messages of one room wait for.
    fn new(messages: usize) -> Self {
        let (user, room) = (UserId::new(), RoomId::new());
        let waiting = (0..messages).map(|n| (message(user, room, n), Reason::PushOffline)).collect();
        let device = ClaimedDevice {
            device: DeviceId::new(),
            address: PushAddress::Webhook { token: "t".into() },
            failures: 0,
            is_test: false,
            preferences: Preferences::default(),
            now: now(),
            unread: 9,
            trace: None,
            waiting,
        };
        let service = Arc::<Service>::default();
        let metrics = NotificationMetrics::register(&Registry::new()).unwrap();
        let sender = Sender::new(Arc::clone(&service) as _, PushSettings::default(), metrics);
        Self { service, sender, device }
    }

    async fn send(
        &self,
        answers: impl IntoIterator<Item = Outcome>,
        live: &[LivePresence],
    ) -> FinishedDevice {
        self.service.answers.lock().extend(answers);
        let deadline = Instant::now() + Duration::from_secs(20);
        self.sender.send(Uuid::nil(), self.device.clone(), live, deadline).await
    }

    fn payloads(&self) -> Vec<Value> {
        self.service.got.lock().iter().map(|got| serde_json::from_str(&got.payload).unwrap()).collect()
    }
}

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1000)
}

fn message(user: UserId, room: RoomId, n: usize) -> Notification {
    Notification {
        id: NotificationId::new(),
        user,
        seq: n as u64 + 1,
        source: Uuid::now_v7(),
        sender: From::User(UserId::new()),
        sender_name: Some("Sam".into()),
        room_kind: RoomKind::Dm,
        room_name: None,
        body: Some(format!("Soup {n}?")),
        run_status: None,
        tool: None,
        created_at: now(),
        decision: None,
        facts: Facts {
            kind: NotificationKind::DirectMessage,
            room,
            is_author: false,
            disabled: false,
            muted: false,
            read: false,
            withdrawn: false,
            left: false,
        },
    }
}

fn told(finished: &FinishedDevice) -> Vec<(&str, Option<&str>, bool)> {
    finished.steps.iter().map(|step| (step.step, step.reason.as_deref(), step.is_over)).collect()
}

#[tokio::test]
async fn what_waits_of_a_room_is_one_push_with_the_newest_on_top() {
    let stage = Stage::new(3);
    let finished = stage.send([], &[]).await;
    assert_eq!(told(&finished), [("sent", None, true); 3]);
    let [payload] = &stage.payloads()[..] else { panic!("one push") };
    let ids: Vec<_> = stage.device.waiting.iter().map(|(one, _)| one.id.to_string()).collect();
    assert_eq!(payload["notification_ids"], serde_json::json!(ids));
    assert_eq!((&payload["notification_id"], &payload["count"]), (&serde_json::json!(ids[2]), &3.into()));
    assert_eq!((&payload["title"], &payload["body"]), (&"Sam (3)".into(), &"Soup 2?".into()));
    assert_eq!(payload["unread"], 9);
    let got = stage.service.got.lock();
    assert_eq!(got[0].topic, Some(Topic::of_room(stage.device.waiting[0].0.facts.room)));
    assert_eq!(got[0].urgency, Urgency::High);
}

#[tokio::test]
async fn an_attempt_that_is_repeated_is_the_same_message() {
    let stage = Stage::new(1);
    stage.send([Outcome::Later { after: None }], &[]).await;
    stage.send([], &[]).await;
    let got = stage.service.got.lock();
    assert_eq!((got[0].id, got[0].topic, &got[0].payload), (got[1].id, got[1].topic, &got[1].payload));
    let other = ClaimedDevice { device: DeviceId::new(), ..stage.device.clone() };
    assert_ne!(id(&stage.device.waiting[0].0, other.device), got[0].id);
}

#[tokio::test]
async fn what_is_no_longer_wanted_is_not_sent() {
    let mut stage = Stage::new(4);
    stage.device.waiting[0].0.facts.read = true;
    stage.device.waiting[1].0.facts.withdrawn = true;
    stage.device.waiting[2].0.created_at = Timestamp::UNIX_EPOCH;
    let finished = stage.send([], &[]).await;
    let over = |reason| ("dropped", Some(reason), true);
    assert_eq!(told(&finished), [over("read"), over("withdrawn"), over("expired"), ("sent", None, true)]);
    assert_eq!(stage.payloads()[0]["count"], 1);

    let stage = Stage::new(1);
    let looks = LivePresence {
        connection: ConnectionId::new(),
        device: None,
        kind: DeviceKind::Mobile,
        idle: false,
        focus: Some(stage.device.waiting[0].0.facts.room),
    };
    let finished = stage.send([], &[looks]).await;
    assert_eq!(told(&finished), [over("focused")]);
    assert_eq!(finished.after, DeviceAfter::Free { result: None });
    assert_eq!(stage.payloads(), [Value::Null; 0]);
}

#[tokio::test]
async fn each_answer_has_its_consequence() {
    let minute = Duration::from_secs(60);
    type Expected = (Option<(&'static str, Option<&'static str>, bool)>, fn(&DeviceAfter) -> bool);
    let rows: [(Outcome, Expected); 6] = [
        (Outcome::Sent, (Some(("sent", None, true)), |after| matches!(after, DeviceAfter::Free { .. }))),
        (Outcome::Gone, (None, |after| matches!(after, DeviceAfter::Gone))),
        (
            Outcome::Later { after: Some(minute) },
            (
                Some(("retried", Some("later"), false)),
                |after| matches!(after, DeviceAfter::Rests { pause, .. } if *pause == Duration::from_secs(60)),
            ),
        ),
        (
            Outcome::Later { after: None },
            (
                Some(("retried", Some("later"), false)),
                |after| matches!(after, DeviceAfter::Rests { pause, .. } if *pause <= FIRST_PAUSE),
            ),
        ),
        (
            Outcome::Denied,
            (
                Some(("retried", Some("denied"), false)),
                |after| matches!(after, DeviceAfter::Rests { pause, .. } if *pause >= DENIED_PAUSE),
            ),
        ),
        (
            Outcome::Refused,
            (Some(("dropped", Some("refused"), true)), |after| matches!(after, DeviceAfter::Free { .. })),
        ),
    ];
    for (answer, (step, is_right)) in rows {
        let finished = Stage::new(1).send([answer], &[]).await;
        assert_eq!(told(&finished), step.into_iter().collect::<Vec<_>>(), "{answer:?}");
        assert!(is_right(&finished.after), "{answer:?}: {:?}", finished.after);
    }
}

#[tokio::test]
async fn what_is_too_long_for_the_service_is_shortened_step_by_step() {
    let stage = Stage::new(1);
    let finished = stage.send([Outcome::TooLarge], &[]).await;
    assert_eq!(told(&finished), [("sent", None, true)]);
    let payloads = stage.payloads();
    assert_eq!(
        (&payloads[0]["body"], &payloads[1]["body"]),
        (&"Soup 0?".into(), &"Sent you a message".into())
    );

    let stage = Stage::new(1);
    let finished = stage.send([Outcome::TooLarge; 3], &[]).await;
    assert_eq!(told(&finished), [("dropped", Some("too_large"), true)]);
    assert_eq!(stage.payloads().len(), 3);
}

#[tokio::test]
async fn whoever_wants_no_previews_has_none() {
    let mut stage = Stage::new(1);
    stage.device.preferences.previews = false;
    stage.send([], &[]).await;
    assert!(!stage.service.got.lock()[0].payload.contains("Soup"));
}

#[tokio::test]
async fn a_push_to_try_it_leaves_the_others_waiting() {
    let mut stage = Stage::new(1);
    stage.device.is_test = true;
    let finished = stage.send([], &[]).await;
    assert!(finished.tested && finished.steps.is_empty());
    assert_eq!(stage.payloads()[0]["type"], "test");
}

#[test]
fn pauses_grow_and_end() {
    for failures in 0..40 {
        let longest = FIRST_PAUSE.saturating_mul(1 << failures.min(16)).min(LONGEST_PAUSE);
        let pause = backoff(failures);
        assert!((longest / 2..=longest).contains(&pause), "{failures}: {pause:?}");
    }
}

#[tokio::test]
async fn who_stood_still_for_longer_than_the_lease_sends_nothing() {
    let stage = Stage::new(1);
    let finished = stage.sender.send(Uuid::nil(), stage.device.clone(), &[], Instant::now()).await;
    assert_eq!(told(&finished), [("retried", Some("later"), false)]);
    assert_eq!(stage.payloads(), [Value::Null; 0]);
}
