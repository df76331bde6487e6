//! Changes of clocks that happened, and days that are rare.

use super::*;

/// From just after `from`, the schedule fires at exactly these times (as the clock there shows them, with the offset),
/// and each of them is the latest until the next comes.
#[track_caller]
fn fires(text: &str, zone: &str, from: &str, expected: &[&str]) {
    let schedule = schedule(text, zone);
    let got = schedule.upcoming(at(from), expected.len());
    let expected: Vec<_> = expected.iter().map(|time| at(time)).collect();
    assert_eq!(got, expected, "{text} in {zone}");
    for pair in got.windows(2) {
        let just_before = pair[1] - jiff::SignedDuration::from_nanos(1);
        assert_eq!(schedule.latest_at_or_before(pair[0]), Some(pair[0]), "{text} in {zone}");
        assert_eq!(schedule.latest_at_or_before(just_before), Some(pair[0]), "{text} in {zone}");
    }
}

#[test]
fn berlin_in_spring() {
    let from = "2024-03-30T12:00+01:00";
    fires("30 2 * * *", "Europe/Berlin", from, &["2024-03-31T03:00+02:00", "2024-04-01T02:30+02:00"]);
    fires("30 2 31 3 *", "Europe/Berlin", from, &["2024-03-31T03:00+02:00", "2025-03-31T02:30+02:00"]);
    // All that the gap skips comes at once, with what is due right after it.
    let both = ["2024-03-31T03:00+02:00", "2024-04-01T02:15+02:00", "2024-04-01T02:45+02:00"];
    fires("15,45 2 * * *", "Europe/Berlin", from, &both);
    fires("0 2,3 * * *", "Europe/Berlin", from, &["2024-03-31T03:00+02:00", "2024-04-01T02:00+02:00"]);
    // Running times are not made up for, and not compressed.
    fires(
        "*/30 * * * *",
        "Europe/Berlin",
        "2024-03-31T01:10+01:00",
        &["2024-03-31T01:30+01:00", "2024-03-31T03:00+02:00", "2024-03-31T03:30+02:00"],
    );
    fires("*/30 2 * * *", "Europe/Berlin", from, &["2024-04-01T02:00+02:00", "2024-04-01T02:30+02:00"]);
}

#[test]
fn berlin_in_autumn() {
    let from = "2024-10-26T12:00+02:00";
    fires("30 2 * * *", "Europe/Berlin", from, &["2024-10-27T02:30+02:00", "2024-10-28T02:30+01:00"]);
    // Asked in the second pass, the first has been.
    let second = "2024-10-27T02:10+01:00";
    fires("30 2 * * *", "Europe/Berlin", second, &["2024-10-28T02:30+01:00"]);
    let latest = schedule("30 2 * * *", "Europe/Berlin").latest_at_or_before(at(second));
    assert_eq!(latest, Some(at("2024-10-27T02:30+02:00")));
    fires("0 2,3 * * *", "Europe/Berlin", from, &["2024-10-27T02:00+02:00", "2024-10-27T03:00+01:00"]);
    let halves = [
        "2024-10-27T02:00+02:00",
        "2024-10-27T02:30+02:00",
        "2024-10-27T02:00+01:00",
        "2024-10-27T02:30+01:00",
        "2024-10-27T03:00+01:00",
    ];
    fires("*/30 * * * *", "Europe/Berlin", "2024-10-27T01:40+02:00", &halves);
}

#[test]
fn new_york() {
    let from = "2024-03-09T12:00-05:00";
    fires("30 2 * * *", "America/New_York", from, &["2024-03-10T03:00-04:00", "2024-03-11T02:30-04:00"]);
    let from = "2024-11-02T12:00-04:00";
    fires("30 1 * * *", "America/New_York", from, &["2024-11-03T01:30-04:00", "2024-11-04T01:30-05:00"]);
    fires(
        "0 * * * *",
        "America/New_York",
        "2024-11-03T00:30-04:00",
        &["2024-11-03T01:00-04:00", "2024-11-03T01:00-05:00", "2024-11-03T02:00-05:00"],
    );
}

#[test]
fn lord_howe_shifts_by_half_an_hour() {
    let zone = "Australia/Lord_Howe";
    let from = "2024-10-05T12:00+10:30";
    fires("15 2 * * *", zone, from, &["2024-10-06T02:30+11:00", "2024-10-07T02:15+11:00"]);
    fires("30 2 * * *", zone, from, &["2024-10-06T02:30+11:00", "2024-10-07T02:30+11:00"]);
    let from = "2024-04-06T12:00+11:00";
    fires("45 1 * * *", zone, from, &["2024-04-07T01:45+11:00", "2024-04-08T01:45+10:30"]);
    let quarters = [
        "2024-04-07T01:30+11:00",
        "2024-04-07T01:45+11:00",
        "2024-04-07T01:30+10:30",
        "2024-04-07T01:45+10:30",
        "2024-04-07T02:00+10:30",
    ];
    fires("*/15 * * * *", zone, "2024-04-07T01:20+11:00", &quarters);
}

#[test]
fn casablanca_turns_its_clock_back_for_ramadan() {
    let zone = "Africa/Casablanca";
    let from = "2024-03-09T12:00+01:00";
    fires("30 2 * * *", zone, from, &["2024-03-10T02:30+01:00", "2024-03-11T02:30+00:00"]);
    let from = "2024-04-13T12:00+00:00";
    fires("30 2 * * *", zone, from, &["2024-04-14T03:00+01:00", "2024-04-15T02:30+01:00"]);
}

#[test]
fn apia_had_no_30_december_2011() {
    let zone = "Pacific/Apia";
    let noons = ["2011-12-29T12:00-10:00", "2011-12-31T00:00+14:00", "2011-12-31T12:00+14:00"];
    fires("0 12 * * *", zone, "2011-12-29T00:00-10:00", &noons);
    fires(
        "0 12 30 12 *",
        zone,
        "2011-12-29T00:00-10:00",
        &["2011-12-31T00:00+14:00", "2012-12-30T12:00+14:00"],
    );
    fires("@daily", zone, "2011-12-29T00:00-10:00", &["2011-12-31T00:00+14:00", "2012-01-01T00:00+14:00"]);
    fires(
        "0 */12 * * *",
        zone,
        "2011-12-29T00:00-10:00",
        &["2011-12-29T12:00-10:00", "2011-12-31T00:00+14:00"],
    );
}

#[test]
fn midnight_is_skipped_in_beirut() {
    let from = "2024-03-30T12:00+02:00";
    fires("@daily", "Asia/Beirut", from, &["2024-03-31T01:00+03:00", "2024-04-01T00:00+03:00"]);
}

#[test]
fn offsets_of_three_quarters_and_a_half() {
    let from = "2024-01-01T00:00+05:45";
    fires("15 0 * * *", "Asia/Kathmandu", from, &["2024-01-01T00:15+05:45", "2024-01-02T00:15+05:45"]);
    // Tehran had its last summer time in 2022, from midnight to midnight.
    let from = "2022-03-21T12:00+03:30";
    fires("30 0 * * *", "Asia/Tehran", from, &["2022-03-22T01:00+04:30", "2022-03-23T00:30+04:30"]);
    let from = "2022-09-21T12:00+04:30";
    fires("30 23 * * *", "Asia/Tehran", from, &["2022-09-21T23:30+04:30", "2022-09-22T23:30+03:30"]);
    let from = "2023-03-21T12:00+03:30";
    fires("30 0 * * *", "Asia/Tehran", from, &["2023-03-22T00:30+03:30", "2023-03-23T00:30+03:30"]);
}

#[test]
fn days_that_are_rare() {
    let from = "2024-01-01T00:00:00Z";
    fires("0 0 29 2 *", "UTC", from, &["2024-02-29T00:00Z", "2028-02-29T00:00Z", "2032-02-29T00:00Z"]);
    fires("0 0 29 2 *", "UTC", "2096-03-01T00:00Z", &["2104-02-29T00:00Z"]);
    fires("0 0 31 * *", "UTC", from, &["2024-01-31T00:00Z", "2024-03-31T00:00Z", "2024-05-31T00:00Z"]);
    fires("0 0 31 4,6,8 *", "UTC", from, &["2024-08-31T00:00Z", "2025-08-31T00:00Z"]);
    // A Sunday too, because `*/6` has a star: the day must be in both fields.
    fires("0 0 29 2 */6", "UTC", from, &["2032-02-29T00:00Z", "2048-02-29T00:00Z"]);
}

#[test]
fn two_restricted_day_fields_are_an_or() {
    let from = "2024-09-01T00:00:00Z";
    let either = ["2024-09-06T00:00Z", "2024-09-13T00:00Z", "2024-09-15T00:00Z", "2024-09-20T00:00Z"];
    fires("0 0 13,15 * fri", "UTC", from, &either);
    fires("0 0 * * fri", "UTC", from, &["2024-09-06T00:00Z", "2024-09-13T00:00Z"]);
    fires("0 0 13 * *", "UTC", from, &["2024-09-13T00:00Z", "2024-10-13T00:00Z"]);
    // Odd days that are Fridays, as in cron: `*/2` counts as a star.
    fires("0 0 */2 * fri", "UTC", from, &["2024-09-13T00:00Z", "2024-09-27T00:00Z", "2024-10-11T00:00Z"]);
    // No 31 September, but each Monday of it.
    fires("0 0 31 9 mon", "UTC", from, &["2024-09-02T00:00Z", "2024-09-09T00:00Z"]);
}

#[test]
fn what_never_fires_has_no_next_and_no_latest() {
    let instant = at("2024-01-01T00:00:00Z");
    for text in ["0 0 30 2 *", "*/5 * 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31 jun */2"] {
        let schedule = schedule(text, "Europe/Berlin");
        assert_eq!(schedule.next_after(instant), None, "{text}");
        assert_eq!(schedule.latest_at_or_before(instant), None, "{text}");
        assert_eq!(schedule.upcoming(instant, 5), [], "{text}");
    }
}

#[test]
fn the_latest_is_found_across_ten_years() {
    let now = at("2034-05-05T05:05:05Z");
    let latest = |text| schedule(text, "Europe/Berlin").latest_at_or_before(now);
    assert_eq!(latest("* * * * *"), Some(at("2034-05-05T05:05:00Z")));
    assert_eq!(latest("30 2 31 3 *"), Some(at("2034-03-31T00:30:00Z")));
    assert_eq!(latest("*/7 3 29 2 *"), Some(at("2032-02-29T02:56:00Z")));
}
