use proptest::prelude::*;

use super::*;

fn at(hours: &QuietHours, now: &str) -> bool {
    hours.hold_at(now.parse().unwrap())
}

#[test]
fn hours_over_midnight_belong_to_the_day_on_which_they_begin() {
    // Fridays and Saturdays, in UTC: 2026-01-09 is a Friday.
    let hours = QuietHours::new("22:00", "07:00", "UTC", &["fri", "sat"]).unwrap();
    for (now, expected) in [
        ("2026-01-08T23:00:00Z", false),
        ("2026-01-09T06:00:00Z", false),
        ("2026-01-09T21:59:59.999999Z", false),
        ("2026-01-09T22:00:00Z", true),
        ("2026-01-10T06:59:59.999999Z", true),
        ("2026-01-10T07:00:00Z", false),
        ("2026-01-11T06:00:00Z", true),
        ("2026-01-11T22:30:00Z", false),
    ] {
        assert_eq!(at(&hours, now), expected, "{now}");
    }
}

#[test]
fn the_clock_on_the_wall_counts_when_it_is_changed() {
    let hours = QuietHours::new("02:15", "02:45", "Europe/Berlin", &[]).unwrap();
    // 2026-03-29: from 02:00 to 03:00 in Berlin, at 01:00 UTC. Nobody sees half past two.
    for minute in 0..180 {
        let now = format!("2026-03-29T{:02}:{:02}:00Z", minute / 60, minute % 60);
        assert!(!at(&hours, &now), "{now}");
    }
    // 2026-10-25: half past two comes twice.
    assert!(at(&hours, "2026-10-25T00:30:00Z"));
    assert!(!at(&hours, "2026-10-25T00:50:00Z"));
    assert!(at(&hours, "2026-10-25T01:30:00Z"));
}

#[test]
fn what_is_not_good_is_named() {
    for (from, to, zone, days, place) in [
        ("22", "07:00", "UTC", &[][..], ".from"),
        ("22:00", "7:00", "UTC", &[], ".to"),
        ("22:00", "24:00", "UTC", &[], ".to"),
        ("+2:00", "-1:00", "UTC", &[], ".from"),
        ("22:00", "07:00", "Europe/Nowhere", &[], ".timezone"),
        ("22:00", "07:00", "UTC", &["friday"], ".days"),
        ("22:00", "07:00", "UTC", &["fri", "sat", "fri"], ".days"),
    ] {
        let error = QuietHours::new(from, to, zone, days).unwrap_err();
        assert_eq!((error.field, &*error.place), ("dnd.hours", place), "{error}");
    }
}

#[test]
fn they_are_written_as_they_were_read() {
    let text = r#"{"mentions":true,"direct_messages":true,"runs":false,"tool_calls":true,"previews":false,"dnd":{"until":"2026-01-01T00:00:00Z","hours":{"from":"22:00","to":"07:05","timezone":"Europe/Berlin","days":["mon","sun"]}}}"#;
    let read: Preferences = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    // What a newer release keeps beside it does not matter, nor what an older one lacks.
    let read: Preferences = serde_json::from_str(r#"{"runs":false,"news":1}"#).unwrap();
    assert_eq!(read, Preferences { runs: false, ..Preferences::default() });
}

proptest! {
    #[test]
    fn hours_and_their_complement_hold_all_day(from in 0_u16..1440, to in 0_u16..1440, now in 0_i64..4_000_000_000) {
        prop_assume!(from != to);
        let text = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        let now = Timestamp::from_second(now).unwrap();
        for zone in ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns"] {
            let hours = QuietHours::new(&text(from), &text(to), zone, &[]).unwrap();
            let others = QuietHours::new(&text(to), &text(from), zone, &[]).unwrap();
            prop_assert!(hours.hold_at(now) != others.hold_at(now));
        }
    }
}
