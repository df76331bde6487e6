use domain::task::SystemJob;
use domain::{AgentId, RoomId};
use serde_json::json;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn now() -> Timestamp {
    "2030-01-01T00:00:00Z".parse().expect("a time")
}

fn refused(text: &str, zone: &str, min_interval: Duration) -> Invalid {
    schedule(text, zone, now(), min_interval).expect_err(text)
}

#[test]
fn what_is_wrong_with_a_schedule_is_said_at_its_place() {
    for (text, zone, field) in [
        ("0 25 * * *", "UTC", "schedule.hour"),
        ("61 * * * *", "UTC", "schedule.minute"),
        ("0 0 32 * *", "UTC", "schedule.day_of_month"),
        ("* * *", "UTC", "schedule"),
        ("@often", "UTC", "schedule"),
        ("every 90", "UTC", "schedule"),
        ("@daily", "Europe/Nowhere", "timezone"),
    ] {
        let invalid = refused(text, zone, SECOND);
        assert_eq!(format!("{}{}", invalid.field, invalid.place), field, "{text}: {invalid}");
    }
}

#[test]
fn a_schedule_that_never_fires_is_refused() {
    for never in ["0 0 30 2 *", "0 0 31 feb,apr,jun,sep,nov *"] {
        let invalid = refused(never, "UTC", SECOND);
        assert_eq!((invalid.field, invalid.given), ("schedule", format!("{never:?}")));
    }
    schedule("0 0 29 2 *", "UTC", now(), SECOND).expect("leap years come");
}

#[test]
fn a_schedule_fires_no_more_often_than_it_may() {
    let minute = Duration::from_secs(60);
    for often in ["every 59s", "every 1s"] {
        let invalid = refused(often, "UTC", minute);
        assert!(invalid.allowed.contains("every 1m"), "{invalid}");
    }
    for often in ["* * * * *", "0,1 12 * * *", "59,0 0-1 1 1 *"] {
        refused(often, "UTC", 2 * minute);
        schedule(often, "UTC", now(), minute).expect(often);
    }
    schedule("every 1s", "UTC", now(), SECOND).expect("the least");
    schedule("@yearly", "UTC", now(), minute).expect("once a year");
}

#[test]
fn intervals_begin_where_the_task_does() {
    let anchor = "2030-01-01T00:00:00.25Z".parse().expect("a time");
    let every = schedule("every 90s", "UTC", anchor, SECOND).expect("good");
    assert_eq!(every.next_after(anchor), "2030-01-01T00:01:30.25Z".parse().ok());
}

#[test]
fn runs_may_take_as_long_as_is_set() {
    let settings = TasksSettings { max_runtime_limit: Duration::from_secs(600), ..TasksSettings::default() };
    for good in [1, 600] {
        assert_eq!(max_runtime(Duration::from_secs(good), &settings), Ok(Duration::from_secs(good)));
    }
    for bad in [Duration::ZERO, Duration::from_millis(999), Duration::from_secs(601)] {
        let invalid = max_runtime(bad, &settings).expect_err("refused");
        assert_eq!((invalid.field, &*invalid.allowed), ("max_runtime", "1s to 10m"));
    }
}

#[test]
fn each_action_is_held_to_its_limits() {
    let outbound = OutboundSettings::default();
    let limits = Limits { body: 16, input: 24, outbound: &outbound, webhook: 8 };
    let (room_id, agent_id) = (RoomId::new(), AgentId::new());
    let message = |body: &str| Action::Message { room_id, body: body.into() };
    let run = |input| Action::AgentRun { room_id, agent_id, input };
    let webhook = |url: &str, body| Action::Webhook { url: url.into(), body };
    for good in [
        message("Good morning"),
        run(json!(null)),
        run(json!({ "ask": "the weather" })),
        webhook("https://example.com/hook", None),
        webhook("https://example.com/hook", Some(json!([1, 2]))),
        Action::System { name: SystemJob::Noop },
    ] {
        assert_eq!(check_action(&good, &limits), Ok(()), "{good:?}");
    }
    for (bad, field) in [
        (message(""), "action.body"),
        (message("Good morning, all"), "action.body"),
        (message("a\0b"), "action.body"),
        (run(json!("a text that is too long")), "action.input"),
        (run(json!({ "a": "\0" })), "action.input"),
        (webhook("http://example.com", None), "action.url"),
        (webhook("https://10.0.0.1/", None), "action.url"),
        (webhook("nowhere", None), "action.url"),
        (webhook("https://example.com", Some(json!([1, 2, 3, 4]))), "action.body"),
    ] {
        assert_eq!(check_action(&bad, &limits).expect_err("refused").field, field, "{bad:?}");
    }
}
