//! Against a slow rule of its own: walk minute by minute in UTC, look at what the clock shows, and decide by definition.

use std::sync::LazyLock;

use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};

use super::{at, schedule};

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// How long the slow rule looks back, for what the clock has shown: more than any change of a clock.
const LOOK_BACK: SignedDuration = SignedDuration::from_hours(26);

/// What is compared around a change of the clock, on each side.
const WINDOW: SignedDuration = SignedDuration::from_hours(30);

static ZONES: LazyLock<Vec<TimeZone>> = LazyLock::new(|| {
    let database = TimeZoneDatabase::bundled();
    let zones: Vec<_> = database
        .available()
        .filter_map(|name| database.get(name.as_str()).ok())
        .filter(|zone| !zone.is_unknown())
        .collect();
    assert!(zones.len() > 400, "{} zones", zones.len());
    zones
});

static START: LazyLock<Timestamp> = LazyLock::new(|| at("2000-01-01T00:00:00Z"));
static END: LazyLock<Timestamp> = LazyLock::new(|| at("2041-01-01T00:00:00Z"));

/// Every change of every zone's clock from 2000 to 2040.
static CHANGES: LazyLock<Vec<(TimeZone, Timestamp)>> = LazyLock::new(|| {
    let of_zone = |zone: &TimeZone| -> Vec<_> {
        let changes =
            zone.following(*START).map(|change| change.timestamp()).take_while(|change| *change < *END);
        let shifts = changes.filter(|change| zone.to_offset(*change) != zone.to_offset(*change - MINUTE));
        shifts.map(|change| (zone.clone(), change)).collect()
    };
    ZONES.iter().flat_map(of_zone).collect()
});

/// A field as text, and what it means.
#[derive(Debug, Clone)]
struct Field {
    text: String,
    values: Vec<i8>,
    star: bool,
    step: bool,
}

impl Field {
    fn has(&self, value: i8) -> bool {
        self.values.contains(&value)
    }
}

fn star(min: i8, max: i8) -> BoxedStrategy<Field> {
    Just(Field { text: "*".into(), values: (min..=max).collect(), star: true, step: false }).boxed()
}

fn list(min: i8, max: i8) -> BoxedStrategy<Field> {
    subsequence((min..=max).collect::<Vec<_>>(), 1..4)
        .prop_map(|values| {
            let text = values.iter().map(i8::to_string).collect::<Vec<_>>().join(",");
            Field { text, values, star: false, step: false }
        })
        .boxed()
}

fn range(min: i8, max: i8) -> BoxedStrategy<Field> {
    (min..=max, min..=max)
        .prop_map(|(one, other)| {
            let (from, to) = (one.min(other), one.max(other));
            Field { text: format!("{from}-{to}"), values: (from..=to).collect(), star: false, step: false }
        })
        .boxed()
}

fn star_step(min: i8, max: i8) -> BoxedStrategy<Field> {
    (1..=max - min)
        .prop_map(move |step| {
            let values = (min..=max).filter(|value| (value - min) % step == 0).collect();
            Field { text: format!("*/{step}"), values, star: true, step: true }
        })
        .boxed()
}

fn range_step(min: i8, max: i8) -> BoxedStrategy<Field> {
    (range(min, max), 1..=max - min)
        .prop_map(|(mut field, step)| {
            let from = field.values[0];
            field.values.retain(|value| (value - from) % step == 0);
            Field { text: format!("{}/{step}", field.text), values: field.values, star: false, step: true }
        })
        .boxed()
}

fn field(min: i8, max: i8, star_weight: u32) -> BoxedStrategy<Field> {
    prop_oneof![
        star_weight => star(min, max),
        3 => list(min, max),
        2 => range(min, max),
        1 => star_step(min, max),
        1 => range_step(min, max),
    ]
    .boxed()
}

/// Five fields, decided by the words of the definition.
#[derive(Debug, Clone)]
struct Line([Field; 5]);

impl Line {
    fn text(&self) -> String {
        self.0.each_ref().map(|field| field.text.as_str()).join(" ")
    }

    fn runs(&self) -> bool {
        self.0[..2].iter().any(|field| field.star || field.step)
    }

    fn names(&self, civil: DateTime) -> bool {
        let [minute, hour, of_month, month, of_week] = &self.0;
        let by_month = of_month.has(civil.day());
        let by_week = of_week.has(civil.weekday().to_sunday_zero_offset());
        let day = match (of_month.star, of_week.star) {
            (false, false) => by_month || by_week,
            _ => by_month && by_week,
        };
        minute.has(civil.minute()) && hour.has(civil.hour()) && day && month.has(civil.month())
    }

    /// Every time from `from` to `to`, both included and on whole minutes of UTC.
    fn slow(&self, zone: &TimeZone, from: Timestamp, to: Timestamp) -> Vec<Timestamp> {
        let mut fired = Vec::new();
        let mut now = from - LOOK_BACK;
        let mut shown = zone.to_datetime(now);
        while now < to {
            now += MINUTE;
            let civil = zone.to_datetime(now);
            let fires = if self.runs() {
                self.names(civil)
            } else {
                // The clock shows for the first time this, or what it skipped.
                let mut new = std::iter::successors(Some(shown + MINUTE), |civil| Some(*civil + MINUTE));
                new.by_ref().take_while(|new| *new <= civil).any(|new| self.names(new))
            };
            shown = shown.max(civil);
            if fires && now >= from {
                fired.push(now);
            }
        }
        fired
    }
}

/// Mostly lines that fire within days, or a comparison would be of nothing with nothing.
fn line() -> impl Strategy<Value = Line> {
    let minutes = field(0, 59, 2);
    let hours = prop_oneof![3 => field(0, 23, 3), 2 => range(0, 4), 2 => list(0, 4)];
    let days = prop_oneof![4 => star(1, 31), 1 => field(1, 31, 1)];
    let months = prop_oneof![6 => star(1, 12), 1 => field(1, 12, 1)];
    let week = prop_oneof![4 => star(0, 6), 1 => field(0, 6, 1)];
    (minutes, hours, days, months, week)
        .prop_map(|(minute, hour, day, month, week)| Line([minute, hour, day, month, week]))
}

/// A zone and an instant in whole minutes: three times of four a change of a clock.
fn place() -> impl Strategy<Value = (TimeZone, Timestamp)> {
    let minutes = 41 * 365 * 24 * 60_i64;
    let any_time = (any::<Index>(), 0..minutes)
        .prop_map(|(zone, minutes)| (zone.get(&ZONES).clone(), *START + SignedDuration::from_mins(minutes)));
    prop_oneof![1 => any_time, 3 => any::<Index>().prop_map(|change| change.get(&CHANGES).clone())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn times_are_those_of_the_slow_rule(line in line(), (zone, middle) in place(), offset in 0_i64..3_600_000) {
        let name = zone.iana_name().unwrap_or("UTC");
        let schedule = schedule(&line.text(), name);
        let (from, to) = (middle - WINDOW, middle + WINDOW);
        let slow = line.slow(&zone, from, to);

        let before = from - SignedDuration::from_nanos(1);
        let mut fast = schedule.upcoming(before, slow.len() + 1);
        fast.retain(|time| *time <= to);
        prop_assert_eq!(&fast, &slow, "{} in {}", line.text(), name);

        // From an instant of no roundness, in the hour around the change.
        let instant = middle + SignedDuration::from_millis(offset - 1_800_000);
        let next = slow.iter().find(|time| **time > instant).copied();
        prop_assert_eq!(schedule.next_after(instant).filter(|time| *time <= to), next);
        let latest = slow.iter().rfind(|time| **time <= instant).copied();
        prop_assert_eq!(schedule.latest_at_or_before(instant).filter(|time| *time >= from), latest);
        for time in slow {
            prop_assert_eq!(schedule.latest_at_or_before(time), Some(time));
        }
    }

    #[test]
    fn days_are_those_of_a_walk_through_all_days(
        day in field(1, 31, 2), month in field(1, 12, 2), week in field(0, 6, 2), year in 2000_i16..2036,
    ) {
        let midnight = |text: &str| Field { text: text.into(), values: vec![0], star: false, step: false };
        let line = Line([midnight("0"), midnight("0"), day, month, week]);
        let schedule = schedule(&line.text(), "UTC");
        let start = jiff::civil::date(year, 1, 1);
        let days: Vec<_> = std::iter::successors(Some(start), |day| day.tomorrow().ok())
            .take_while(|day| day.year() < year + 5)
            .map(|day| day.at(0, 0, 0, 0))
            .filter(|midnight| line.names(*midnight))
            .filter_map(|midnight| TimeZone::UTC.to_timestamp(midnight).ok())
            .collect();
        let start = at(&format!("{year}-01-01T00:00:00Z"));
        let end = at(&format!("{}-01-01T00:00:00Z", year + 5));
        let mut fast = schedule.upcoming(start - SignedDuration::from_nanos(1), days.len() + 1);
        fast.retain(|time| *time < end);
        prop_assert_eq!(&fast, &days, "{}", line.text());
        let mut back: Vec<_> = std::iter::successors(
            schedule.latest_at_or_before(end - MINUTE),
            |time| schedule.latest_at_or_before(*time - MINUTE),
        ).take(days.len()).collect();
        back.reverse();
        prop_assert_eq!(back, days, "{}", line.text());
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-*/,?@#a-zA-Z0-9 ]{0,40}|\\PC{0,40}") {
        if let Ok(schedule) = super::Schedule::parse(&text, "Europe/Berlin") {
            let now = at("2024-03-31T00:59:59Z");
            prop_assert!(schedule.next_after(now).is_none_or(|next| next > now));
        }
    }
}

#[test]
fn each_change_of_each_clock_is_passed_once() {
    let (mut gaps, mut folds) = (0, 0);
    for (zone, change) in CHANGES.iter() {
        let change = *change;
        let (before, after) = (zone.to_offset(change - MINUTE), zone.to_offset(change));
        // The last minute that the gap skips, or that the fold shows twice.
        let (civil, expected) = if after > before {
            gaps += 1;
            (after.to_datetime(change) - MINUTE, change)
        } else {
            folds += 1;
            (before.to_datetime(change) - MINUTE, change - MINUTE)
        };
        let name = zone.iana_name().unwrap_or("UTC");
        let text = format!("{} {} {} {} *", civil.minute(), civil.hour(), civil.day(), civil.month());
        let schedule = schedule(&text, name);
        let month = SignedDuration::from_hours(30 * 24);
        assert_eq!(schedule.next_after(change - month), Some(expected), "{text} in {name} at {change}");
        assert_eq!(
            schedule.latest_at_or_before(change + month),
            Some(expected),
            "{text} in {name} at {change}"
        );
    }
    assert!(gaps > 5000 && folds > 5000, "{gaps} gaps, {folds} folds");
}
