//! Every row of the table, and what must hold whatever the row.

use proptest::prelude::*;

use super::*;
use crate::id::ConnectionId;
use crate::notification::{DoNotDisturb, QuietHours};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn facts(room: RoomId) -> Facts {
    Facts {
        kind: NotificationKind::DirectMessage,
        room,
        is_author: false,
        disabled: false,
        muted: false,
        read: false,
        withdrawn: false,
        left: false,
    }
}

fn on(kind: DeviceKind) -> LivePresence {
    LivePresence { connection: ConnectionId::new(), device: None, kind, idle: false, focus: None }
}

fn idle(kind: DeviceKind) -> LivePresence {
    LivePresence { idle: true, ..on(kind) }
}

#[test]
fn every_row_of_the_table() {
    use DeviceKind::{Desktop, Mobile, Web};
    let (here, elsewhere) = (RoomId::new(), RoomId::new());
    let looking = |connection: LivePresence, room| LivePresence { focus: Some(room), ..connection };
    let rows: [(&str, Vec<LivePresence>, Decision); 12] = [
        ("nowhere", vec![], Decision::Push(Reason::PushOffline)),
        ("a desktop in use", vec![on(Desktop)], Decision::Hint),
        ("a browser in use", vec![on(Web)], Decision::Hint),
        ("a desktop in use, the phone idle", vec![on(Desktop), idle(Mobile)], Decision::Hint),
        ("the desktop idle", vec![idle(Desktop)], Decision::Push(Reason::PushIdle)),
        ("everything idle", vec![idle(Desktop), idle(Mobile), idle(Web)], Decision::Push(Reason::PushIdle)),
        ("only a phone in use", vec![on(Mobile)], Decision::Wait),
        ("a phone in use, the desktop idle", vec![on(Mobile), idle(Desktop)], Decision::Wait),
        (
            "looking at the room",
            vec![looking(on(Desktop), here), idle(Mobile)],
            Decision::Nothing(Reason::Focused),
        ),
        ("looking at it on the phone", vec![looking(on(Mobile), here)], Decision::Nothing(Reason::Focused)),
        ("looking at another room", vec![looking(on(Desktop), elsewhere)], Decision::Hint),
        (
            "the room is on a screen that nobody looks at",
            vec![looking(idle(Desktop), here)],
            Decision::Push(Reason::PushIdle),
        ),
    ];
    for (who, live, expected) in rows {
        assert_eq!(decide(&facts(here), &Preferences::default(), &live, NOW), expected, "{who}");
    }
}

#[test]
fn what_makes_it_nothing() {
    let room = RoomId::new();
    let live = [on(DeviceKind::Desktop)];
    type Change = fn(&mut Facts, &mut Preferences);
    let rows: [(&str, Change, Option<Reason>); 12] = [
        ("as it is", |_, _| {}, None),
        ("muted", |facts, _| facts.muted = true, Some(Reason::Muted)),
        (
            "muted and mentioned",
            |facts, _| (facts.muted, facts.kind) = (true, NotificationKind::Mention),
            None,
        ),
        ("author", |facts, _| facts.is_author = true, Some(Reason::Author)),
        ("disabled", |facts, _| facts.disabled = true, Some(Reason::Disabled)),
        ("read", |facts, _| facts.read = true, Some(Reason::Read)),
        ("withdrawn", |facts, _| facts.withdrawn = true, Some(Reason::Withdrawn)),
        ("left", |facts, _| facts.left = true, Some(Reason::Left)),
        ("unwanted", |_, preferences| preferences.direct_messages = false, Some(Reason::Unwanted)),
        (
            "another kind is unwanted",
            |_, preferences| (preferences.mentions, preferences.runs) = (false, false),
            None,
        ),
        (
            "do not disturb until later",
            |_, preferences| preferences.dnd.until = Some(Timestamp::MAX),
            Some(Reason::Dnd),
        ),
        ("do not disturb until before", |_, preferences| preferences.dnd.until = Some(NOW), None),
    ];
    for (why, change, expected) in rows {
        let (mut facts, mut preferences) = (facts(room), Preferences::default());
        change(&mut facts, &mut preferences);
        let expected = expected.map_or(Decision::Hint, Decision::Nothing);
        assert_eq!(decide(&facts, &preferences, &live, NOW), expected, "{why}");
    }
}

#[test]
fn quiet_hours_are_the_persons() {
    let room = RoomId::new();
    let hours = QuietHours::new("22:00", "07:00", "Europe/Berlin", &[]).unwrap();
    let preferences =
        Preferences { dnd: DoNotDisturb { until: None, hours: Some(hours) }, ..Preferences::default() };
    let decided = |now: &str| decide(&facts(room), &preferences, &[], now.parse().unwrap());
    // Berlin is an hour ahead of UTC in winter, and two in summer.
    assert_eq!(decided("2026-01-10T20:59:59Z"), Decision::Push(Reason::PushOffline));
    assert_eq!(decided("2026-01-10T21:00:00Z"), Decision::Nothing(Reason::Dnd));
    assert_eq!(decided("2026-07-10T20:00:00Z"), Decision::Nothing(Reason::Dnd));
    assert_eq!(decided("2026-07-11T05:00:00Z"), Decision::Push(Reason::PushOffline));
}

fn any_live() -> impl Strategy<Value = Vec<LivePresence>> {
    let kind = prop_oneof![Just(DeviceKind::Desktop), Just(DeviceKind::Mobile), Just(DeviceKind::Web)];
    let connection = (kind, any::<bool>(), prop::option::of(0_u128..3)).prop_map(|(kind, idle, focus)| {
        LivePresence { idle, focus: focus.map(|room| RoomId(uuid::Uuid::from_u128(room))), ..on(kind) }
    });
    prop::collection::vec(connection, 0..6)
}

proptest! {
    #[test]
    fn somebody_who_looks_at_no_screen_is_pushed_to_and_nobody_is_forgotten(live in any_live()) {
        let room = RoomId(uuid::Uuid::from_u128(1));
        let decision = decide(&facts(room), &Preferences::default(), &live, NOW);
        let in_use: Vec<_> = live.iter().filter(|connection| !connection.idle).collect();
        let focused = in_use.iter().any(|connection| connection.focus == Some(room));
        prop_assert_eq!(matches!(decision, Decision::Push(_)), in_use.is_empty());
        prop_assert_eq!(decision == Decision::Nothing(Reason::Focused), focused);
        // The order of connections does not count.
        let mut turned = live.clone();
        turned.reverse();
        prop_assert_eq!(decide(&facts(room), &Preferences::default(), &turned, NOW), decision);
        // Once the delay is over nothing waits any more.
        prop_assert!(!matches!(decision.after_delay(), Decision::Hint | Decision::Wait));
    }
}

#[test]
fn the_guide_has_every_reason() {
    let guide = include_str!("../../../../../docs/notifications.md");
    for reason in Reason::ALL {
        assert!(guide.contains(&format!("| `{}` |", reason.as_str())), "{reason:?}");
    }
}
