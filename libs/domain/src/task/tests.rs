use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::Schedule;

const GRACE: Duration = Duration::from_secs(60);

fn second(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).expect("in range")
}

fn schedules() -> impl Strategy<Value = Schedule> {
    prop_oneof![
        Just(("* * * * *", "UTC")),
        Just(("*/15 * * * *", "Europe/Berlin")),
        Just(("30 2 * * *", "America/New_York")),
        Just(("0 9 * * mon-fri", "Australia/Lord_Howe")),
        Just(("every 1s", "UTC")),
        Just(("every 90s", "UTC")),
        Just(("@daily", "America/Sao_Paulo")),
    ]
    .prop_map(|(text, zone)| Schedule::parse(text, zone).expect("a schedule"))
}

fn misfires() -> impl Strategy<Value = Misfire> {
    prop_oneof![Just(Misfire::Skip), Just(Misfire::Once)]
}

proptest! {
    /// Whatever was missed, the task goes on: with a tick of its schedule, later than the last one.
    #[test]
    fn the_next_tick_is_one_of_the_schedule_and_never_goes_back(
        schedule in schedules(), misfire in misfires(),
        done in 946_684_800_i64..2_208_988_800, late in 0_i64..10_000_000,
    ) {
        let done = schedule.next_after(second(done)).expect("it goes on");
        let now = second(done.as_second() + late);
        let next = next_tick(&schedule, misfire, GRACE, done, now).expect("it goes on");
        prop_assert!(next > done);
        let before = Timestamp::from_nanosecond(next.as_nanosecond() - 1).expect("in range");
        prop_assert_eq!(schedule.next_after(before), Some(next));
        // At most one that is past stands for all that are.
        if next <= now {
            prop_assert!(schedule.next_after(next).is_none_or(|following| following > now));
        }
        if misfire == Misfire::Skip {
            prop_assert!(next > now || now.duration_since(next).unsigned_abs() <= GRACE);
        } else if schedule.next_after(done).is_some_and(|following| following <= now) {
            prop_assert!(next <= now, "nothing is made up for");
        }
    }

    /// A tick that nobody has begun moves only forwards, and not at all within the grace.
    #[test]
    fn a_late_tick_stays_within_its_grace_and_then_follows_the_rule(
        schedule in schedules(), misfire in misfires(),
        due in 946_684_800_i64..2_208_988_800, late in 0_i64..10_000_000,
    ) {
        let due = schedule.next_after(second(due)).expect("it goes on");
        let now = second(due.as_second() + late);
        let tick = late_tick(&schedule, misfire, GRACE, due, now).expect("it goes on");
        if now.duration_since(due).unsigned_abs() <= GRACE {
            prop_assert_eq!(tick, due);
        }
        prop_assert!(tick >= due);
        if misfire == Misfire::Once {
            prop_assert!(tick <= now);
        }
    }

    #[test]
    fn a_pause_grows_and_stays_within_its_limits(attempt in 1_u32..100, random in 0.0_f64..1.0) {
        let backoff = Backoff { min: Duration::from_secs(1), max: Duration::from_secs(600) };
        let pause = backoff.after(attempt, random);
        prop_assert!(pause >= backoff.min / 2 && pause <= backoff.max);
        prop_assert!(backoff.after(attempt + 1, random) >= pause);
    }

    #[test]
    fn what_is_cut_is_short_enough_and_stays_text(text in any::<String>(), max in 6_usize..64) {
        let cut = cut(text.clone(), max);
        prop_assert!(cut.len() <= max);
        prop_assert!(!cut.contains('\0'));
        if text.len() <= max && !text.contains('\0') {
            prop_assert_eq!(cut, text);
        }
    }
}

#[test]
fn only_what_may_go_better_is_tried_again() {
    let retried = |end: RunEnd| end.is_retried(1, 1);
    assert!([RunEnd::Failed, RunEnd::TimedOut, RunEnd::Lost].into_iter().all(retried));
    assert!(![RunEnd::Succeeded, RunEnd::Refused, RunEnd::Cancelled].into_iter().any(retried));
    assert!(!RunEnd::Failed.is_retried(2, 1), "attempt 2 of 1 + 1 was the last");
    assert!(!RunEnd::Lost.is_retried(1, 0));
}

#[test]
fn an_action_reads_as_it_is_written_and_refuses_what_it_does_not_know() {
    for text in [
        r#"{"kind":"message","room_id":"01890000-0000-7000-8000-000000000001","body":"Stand-up"}"#,
        r#"{"kind":"webhook","url":"https://example.com/hook"}"#,
        r#"{"kind":"system","name":"ticket_reap"}"#,
    ] {
        let action: Action = serde_json::from_str(text).expect("an action");
        assert_eq!(serde_json::to_string(&action).expect("JSON"), text);
    }
    assert!(serde_json::from_str::<Action>(r#"{"kind":"shell","command":"date"}"#).is_err());
    assert!(serde_json::from_str::<Action>(r#"{"kind":"system","name":"noop","more":1}"#).is_err());
}

#[test]
fn each_priority_has_a_cost_of_its_own() {
    for priority in Priority::ALL {
        assert_eq!(Priority::from_cost(priority.cost()), Some(*priority));
    }
}
