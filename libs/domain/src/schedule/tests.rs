use super::*;

mod known;
mod properties;

fn schedule(text: &str, zone: &str) -> Schedule {
    Schedule::parse(text, zone).unwrap_or_else(|error| panic!("{text} in {zone}: {error}"))
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    match Schedule::parse(text, "UTC") {
        Ok(schedule) => panic!("{text:?} is taken: {schedule:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_wrong_in_which_field_is_said() {
    const FORMS: &str = ", * for any, lists (a,b), ranges (a-b) and steps (*/n, a-b/n)";
    const STEP: &str = "; for more time than a field holds there is every, as in \"every 90m\"";
    for (text, place, given, allowed) in [
        ("60 * * * *", "minute", "60", format!("0 to 59{FORMS}")),
        ("+5 * * * *", "minute", "+5", format!("0 to 59{FORMS}")),
        ("-5 * * * *", "minute", "-5", format!("0 to 59{FORMS}")),
        ("1,,2 * * * *", "minute", "", format!("0 to 59{FORMS}")),
        ("1-2-3 * * * *", "minute", "1-2-3", format!("0 to 59{FORMS}")),
        ("0 24 * * *", "hour", "24", format!("0 to 23{FORMS}")),
        ("0 1,300 * * *", "hour", "300", format!("0 to 23{FORMS}")),
        ("0 H * * *", "hour", "H", format!("0 to 23{FORMS}")),
        ("0 0 0 * *", "day_of_month", "0", format!("1 to 31{FORMS}")),
        ("0 0 L * *", "day_of_month", "L", format!("1 to 31{FORMS}")),
        ("0 0 15W * *", "day_of_month", "15W", format!("1 to 31{FORMS}")),
        ("0 0 * 13 *", "month", "13", format!("1 to 12 or jan to dec{FORMS}")),
        ("0 0 * june *", "month", "june", format!("1 to 12 or jan to dec{FORMS}")),
        ("0 0 * * 8", "day_of_week", "8", format!("0 to 7 (0 and 7 are Sunday) or sun to sat{FORMS}")),
        ("0 0 * * 5#", "day_of_week", "5#", format!("0 to 7 (0 and 7 are Sunday) or sun to sat{FORMS}")),
        ("0 0 * * 5#2", "day_of_week", "5#2", format!("0 to 7 (0 and 7 are Sunday) or sun to sat{FORMS}")),
        ("0 0 * * 5L", "day_of_week", "5L", format!("0 to 7 (0 and 7 are Sunday) or sun to sat{FORMS}")),
        ("0 22-2 * * *", "hour", "22-2", "a range that goes up, here 22-23,0-2".into()),
        ("0 0 * nov-feb *", "month", "nov-feb", "a range that goes up, here 11-12,1-2".into()),
        ("0 0 * * 7-1", "day_of_week", "7-1", "a range that goes up, here 0-1".into()),
        ("0 0 * * sat-mon", "day_of_week", "sat-mon", "a range that goes up, here 6-6,0-1".into()),
        ("5/10 * * * *", "minute", "5/10", "a step after * or a range, such as 5-59/10".into()),
        ("*/0 * * * *", "minute", "*/0", format!("a step of 1 to 59{STEP}")),
        ("*/90 * * * *", "minute", "*/90", format!("a step of 1 to 59{STEP}")),
        ("*/ * * * *", "minute", "*/", format!("a step of 1 to 59{STEP}")),
        ("0 */2/3 * * *", "hour", "*/2/3", format!("a step of 1 to 23{STEP}")),
        ("0 0 ? * 1", "day_of_month", "?", "*, which means any value; ? is of other dialects of cron".into()),
    ] {
        assert_eq!(
            error(text),
            format!("schedule.{place}: {given:?} is not allowed; allowed is {allowed}"),
            "{text}"
        );
    }
}

#[test]
fn what_is_no_schedule_at_all_is_refused() {
    const FIELDS: &str = "five fields (minute, hour, day of month, month, day of week), a name such as @daily, \
                          or an interval such as \"every 90s\"";
    for (text, given) in [
        ("", "\"\" with 0 fields"),
        ("hourly", "\"hourly\" with 1 field"),
        ("everyday", "\"everyday\" with 1 field"),
        ("* * * *", "\"* * * *\" with 4 fields"),
        ("0 0 0 * * *", "\"0 0 0 * * *\" with 6 fields"),
    ] {
        assert_eq!(error(text), format!("schedule: {given} is not allowed; allowed is {FIELDS}"));
    }
    assert_eq!(
        error("@reboot"),
        "schedule: \"@reboot\" is not allowed; allowed is one of @hourly, @daily, @midnight, @weekly, @monthly, \
         @yearly, @annually"
    );
    assert_eq!(
        error(&"1,".repeat(200)),
        "schedule: a text of 400 bytes is not allowed; allowed is at most 256 bytes"
    );
}

#[test]
fn intervals_that_are_too_short_or_not_exact_are_refused() {
    for text in [
        "every",
        "every 0s",
        "every 999ms",
        "every 367d",
        "every 90",
        "every -5m",
        "every 5 weeks",
        "every 1.0005s",
    ] {
        assert_eq!(
            error(text),
            format!(
                "schedule: {text:?} is not allowed; allowed is every with a duration from 1s to 366d in whole \
                 milliseconds: a number and one of the units ms, s, m, h, d (\"every 90s\", \"every 15m\")"
            )
        );
    }
}

#[test]
fn zones_are_those_of_the_database() {
    for zone in ["", "Mars/Olympus", "CEST", "+02:00", "Etc/Unknown", "../../etc/passwd"] {
        let error = Schedule::parse("@daily", zone).expect_err(zone).to_string();
        assert_eq!(
            error,
            format!(
                "timezone: {zone:?} is not allowed; allowed is a name of the IANA time zone database, such as \
                 Europe/Berlin, or UTC"
            )
        );
    }
    assert_eq!(schedule("@daily", "europe/berlin").zone(), "Europe/Berlin");
    assert_eq!(schedule("@daily", "utc").zone(), "UTC");
}

#[test]
fn the_same_times_can_be_written_in_several_ways() {
    let from = at("2024-01-01T00:00:00Z");
    for (one, other) in [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@MIDNIGHT", "@daily"),
        ("@weekly", "0 0 * * sun"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 jan *"),
        ("@annually", "@yearly"),
        ("0 0 * * 7", "0 0 * * 0"),
        ("0 0 * * fri-sun", "0 0 * * 0,5,6"),
        ("0 0 * * 5-7", "0 0 * * 0,5,6"),
        ("0 0 * * 5-0", "0 0 * * 0,5,6"),
        ("0 0 * * 0-7", "0 0 * * *"),
        ("0 0 * * */2", "0 0 * * sun,TUE,Thu,sat"),
        ("0 0 * * 1-7/2", "0 0 * * mon,wed,fri,sun"),
        ("10-30/10 05 * * *", "10,20,30 5 * * *"),
        ("0\t0  1 */3 *", " 0 0 1 jan,apr,jul,oct * "),
    ] {
        assert_eq!(
            schedule(one, "UTC").upcoming(from, 40),
            schedule(other, "UTC").upcoming(from, 40),
            "{one}"
        );
    }
}

#[test]
fn intervals_are_counted_from_their_anchor() {
    let anchor = at("2024-03-31T00:00:07Z");
    let every = schedule("every 90s", "Europe/Berlin").anchored_at(anchor);
    assert_eq!(every.upcoming(anchor, 2), [at("2024-03-31T00:01:37Z"), at("2024-03-31T00:03:07Z")]);
    assert_eq!(every.latest_at_or_before(anchor), Some(anchor));
    assert_eq!(every.next_after(at("2024-03-31T00:00:06.999Z")), Some(anchor));
    // Years of outage are one division; the change of the clocks in Berlin is nothing to it.
    assert_eq!(every.latest_at_or_before(at("2034-03-31T00:00:08Z")), Some(at("2034-03-31T00:00:07Z")));
    assert_eq!(schedule("every 12h", "UTC").next_after(anchor), Some(at("2024-03-31T12:00:00Z")));
    assert_eq!(schedule("Every 1.5s", "UTC").next_after(anchor), Some(at("2024-03-31T00:00:07.5Z")));
}

#[test]
fn the_ends_of_time_are_no_panic() {
    for text in ["every 366d", "* * * * *", "0 0 * * *", "0 0 29 2 *", "*/5 1 29 2 */3", "0 0 30 2 *"] {
        for zone in ["UTC", "Pacific/Apia", "America/New_York"] {
            let schedule = schedule(text, zone);
            for instant in [Timestamp::MIN, Timestamp::MAX] {
                let next = schedule.next_after(instant);
                assert!(next.is_none_or(|next| next > instant), "{text} {zone}");
                let latest = schedule.latest_at_or_before(instant);
                assert!(latest.is_none_or(|latest| latest <= instant), "{text} {zone}");
            }
            assert_eq!(schedule.next_after(Timestamp::MAX), None, "{text} {zone}");
        }
    }
}

#[test]
fn it_shows_as_it_was_written() {
    assert_eq!(schedule(" 0 0 * * mon ", "UTC").to_string(), "0 0 * * mon");
    assert_eq!(schedule("@daily", "UTC").text(), "@daily");
}
