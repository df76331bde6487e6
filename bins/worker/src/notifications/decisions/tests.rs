use domain::notification::{Facts, Preferences};
use domain::{ConnectionId, DeviceKind, NotificationId, NotificationKind, RoomId, RoomKind, Sender, UserId};
use jiff::{SignedDuration, Timestamp};
use store::notifications::Notification;

use super::*;

const DELAY: Duration = Duration::from_secs(30);
const WAIT: Duration = Duration::from_secs(7);

fn undecided(age: Duration) -> Undecided {
    let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1000);
    let sender = UserId::new();
    Undecided {
        notification: Notification {
            id: NotificationId::new(),
            user: UserId::new(),
            seq: 3,
            source: Uuid::now_v7(),
            sender: Sender::User(sender),
            sender_name: Some("Sam".into()),
            room_kind: RoomKind::Dm,
            room_name: None,
            body: Some("Soup?".into()),
            run_status: None,
            tool: None,
            created_at: now - SignedDuration::try_from(age).unwrap(),
            decision: None,
            facts: Facts {
                kind: NotificationKind::DirectMessage,
                room: RoomId::new(),
                is_author: false,
                disabled: false,
                muted: false,
                read: false,
                withdrawn: false,
                left: false,
            },
        },
        preferences: Preferences::default(),
        waited: false,
        delay_over: false,
        now,
    }
}

fn desktop(idle: bool) -> LivePresence {
    LivePresence {
        connection: ConnectionId::new(),
        device: None,
        kind: DeviceKind::Desktop,
        idle,
        focus: None,
    }
}

fn settings() -> PushSettings {
    PushSettings { delay: DELAY, ..PushSettings::default() }
}

#[test]
fn a_push_waits_while_a_desktop_is_in_use_and_goes_when_it_is_not() {
    let fresh = undecided(Duration::ZERO);
    let waited = Undecided { waited: true, ..fresh.clone() };
    let over = Undecided { delay_over: true, ..waited.clone() };
    let decided = |one: &Undecided, live: &[_]| outcome(one, live, None, &settings());
    assert_eq!(decided(&fresh, &[desktop(false)]), Outcome::Waits(Reason::Gateway, DELAY));
    assert_eq!(decided(&waited, &[desktop(false)]), Outcome::WaitsOn);
    assert_eq!(decided(&over, &[desktop(false)]), Outcome::Push(Reason::PushDelayed));
    for one in [&fresh, &waited, &over] {
        assert_eq!(decided(one, &[desktop(true)]), Outcome::Push(Reason::PushIdle));
        assert_eq!(decided(one, &[]), Outcome::Push(Reason::PushOffline));
    }
    let mut read = over;
    read.notification.facts.read = true;
    assert_eq!(decided(&read, &[]), Outcome::Over(Reason::Read));
}

#[test]
fn nobody_counts_as_away_before_that_is_known() {
    let fresh = undecided(Duration::ZERO);
    let unsettled = |one: &Undecided, live: &[_]| outcome(one, live, Some(WAIT), &settings());
    assert_eq!(unsettled(&fresh, &[]), Outcome::Later(WAIT));
    // Another device may be in use, of which nothing is known yet.
    assert_eq!(unsettled(&fresh, &[desktop(true)]), Outcome::Later(WAIT));
    assert_eq!(unsettled(&fresh, &[desktop(false)]), Outcome::Waits(Reason::Gateway, DELAY));
    let waited = Undecided { waited: true, ..fresh.clone() };
    assert_eq!(unsettled(&waited, &[]), Outcome::Later(WAIT));
    let over = Undecided { delay_over: true, ..waited };
    assert_eq!(unsettled(&over, &[]), Outcome::Push(Reason::PushOffline));
    let mut muted = fresh;
    muted.notification.facts.muted = true;
    assert_eq!(unsettled(&muted, &[]), Outcome::Over(Reason::Muted));
}

#[test]
fn what_is_too_old_disturbs_nobody() {
    let max_age = settings().max_age;
    let decided = |age| outcome(&undecided(age), &[], None, &settings());
    assert_eq!(decided(max_age), Outcome::Push(Reason::PushOffline));
    assert_eq!(decided(max_age + Duration::from_secs(1)), Outcome::Over(Reason::Expired));
}
