//! When a task runs: five-field cron, names such as `@daily`, and `every 90s`, in a time zone.
//!
//! There are three sorts of schedules, and what a change of the clocks does depends on the sort:
//!
//! * **Fixed times**, where minute and hour are numbers, lists or ranges (`30 2 * * *`): each civil time that the
//!   schedule names fires once, at the first instant when the clock shows it or something later. So a time that the
//!   clock skips fires right after the gap (together with all others of that gap), and one that comes twice fires at
//!   its first coming.
//! * **Running times**, where minute or hour has a `*` or a step (`*/15 * * * *`): each instant at which the clock
//!   shows a time that matches. Quarters of an hour go on through a doubled hour, and a skipped hour has none.
//! * **Intervals** (`every 90s`): whole multiples of the interval from an anchor, in elapsed time; no zone matters.
//!
//! Vixie cron and cronie tell the first two sorts apart like this, but for steps without a `*` (`0-59/15`), which run
//! here. The data of the time zones is bundled, so all nodes of one version name the same times. Nothing walks
//! through the times between two instants: the next and the latest are computed, whatever lies between. Why so:
//! `docs/adr/0021-schedule-rules.md`.

use std::fmt;
use std::iter;

use jiff::Timestamp;

use self::interval::Interval;
use self::pattern::{Pattern, Sort};
pub(crate) use self::zone::Zone;
use crate::Invalid;

mod days;
mod field;
mod interval;
mod pattern;
mod zone;

/// The longest text of a schedule, in bytes.
const MAX_LENGTH: usize = 256;

/// The field that errors are about.
const FIELD: &str = "schedule";

/// The names, with the patterns that they stand for.
const NAMED: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

/// When a task runs. Each time is a whole second or, for intervals, the anchor plus whole milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    text: String,
    zone: Zone,
    rule: Rule,
}

#[derive(Debug, Clone, PartialEq)]
enum Rule {
    Fixed(Pattern),
    Running(Pattern),
    Every(Interval),
}

impl Schedule {
    /// Reads a schedule: `30 2 * * mon-fri`, `@daily`, `every 15m`, in a zone of the IANA database.
    ///
    /// Fields are minute, hour, day of month, month, day of week (Sunday is 0 and 7), with `*`, lists, ranges,
    /// steps, and English names of months and days in three letters. When both day fields are restricted, one of
    /// them is enough; a day field with `*` in it (also `*/2`) does not count as restricted, as in cron.
    ///
    /// ```
    /// use domain::Schedule;
    ///
    /// let schedule = Schedule::parse("30 2 * * *", "Europe/Berlin")?;
    /// let next = schedule.next_after("2024-03-30T12:00:00Z".parse().unwrap());
    /// assert_eq!(next, "2024-03-31T01:00:00Z".parse().ok(), "02:30 is skipped that day: 03:00");
    ///
    /// let wrong = Schedule::parse("0 25 * * *", "Europe/Berlin").unwrap_err();
    /// assert!(wrong.to_string().starts_with("schedule.hour: \"25\" is not allowed; allowed is 0 to 23"));
    /// # Ok::<(), domain::Invalid>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The field (`schedule`, with the place in it, or `timezone`), what is wrong there and what is allowed. A
    /// schedule that never fires, such as one for 30 February, is no error here:
    /// [`next_after`](Self::next_after) is `None`.
    pub fn parse(text: &str, zone: &str) -> Result<Self, Invalid> {
        let zone = Zone::get(zone)?;
        let text = text.trim();
        if text.len() > MAX_LENGTH {
            let given = format!("a text of {} bytes", text.len());
            return Err(Invalid::described(FIELD, given, format!("at most {MAX_LENGTH} bytes")));
        }
        let rule = if text.starts_with('@') {
            Rule::of(named(text)?)?
        } else if let Some(interval) = Interval::parse(text) {
            Rule::Every(interval?)
        } else {
            Rule::of(text)?
        };
        Ok(Self { text: text.to_owned(), zone, rule })
    }

    /// The same schedule, with intervals measured from `anchor`, which is the Unix epoch until then.
    /// Patterns have no anchor and stay as they are.
    #[must_use]
    pub fn anchored_at(mut self, anchor: Timestamp) -> Self {
        if let Rule::Every(interval) = &mut self.rule {
            interval.anchor = anchor;
        }
        self
    }

    /// The first time after `instant`; `None` when it never fires again.
    ///
    /// A task advances from the time it was scheduled for, so it never drifts: `next_after(scheduled_for)`.
    #[must_use]
    pub fn next_after(&self, instant: Timestamp) -> Option<Timestamp> {
        match &self.rule {
            Rule::Fixed(pattern) => {
                let unseen = zone::next_minute(self.zone.last_shown(instant)?)?;
                self.zone.first_showing(pattern.first_at_or_after(unseen)?)
            }
            Rule::Running(pattern) => self.zone.first_match_after(instant, pattern),
            Rule::Every(interval) => interval.next_after(instant),
        }
    }

    /// The latest time that is not after `instant`: the one to catch up with after an outage, however many
    /// were missed before it. `None` when there is none.
    #[must_use]
    pub fn latest_at_or_before(&self, instant: Timestamp) -> Option<Timestamp> {
        match &self.rule {
            Rule::Fixed(pattern) => {
                let seen = self.zone.last_shown(instant)?;
                self.zone.first_showing(pattern.last_at_or_before(seen)?)
            }
            Rule::Running(pattern) => self.zone.last_match_at_or_before(instant, pattern),
            Rule::Every(interval) => interval.latest_at_or_before(instant),
        }
    }

    /// The next `count` times after `instant`, in order; fewer when it fires no more.
    #[must_use]
    pub fn upcoming(&self, instant: Timestamp, count: usize) -> Vec<Timestamp> {
        iter::successors(self.next_after(instant), |last| self.next_after(*last)).take(count).collect()
    }

    /// The text as it was given, without blanks around it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name of the zone as the IANA database spells it.
    #[must_use]
    pub fn zone(&self) -> &str {
        self.zone.name()
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Rule {
    fn of(pattern: &str) -> Result<Self, Invalid> {
        let (pattern, sort) = Pattern::parse(pattern)?;
        Ok(match sort {
            Sort::Fixed => Self::Fixed(pattern),
            Sort::Running => Self::Running(pattern),
        })
    }
}

fn named(text: &str) -> Result<&'static str, Invalid> {
    NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, pattern)| *pattern).ok_or_else(
        || {
            let names: Vec<_> = NAMED.iter().map(|(name, _)| *name).collect();
            Invalid::new(FIELD, text, format!("one of {}", names.join(", ")))
        },
    )
}

#[cfg(test)]
mod tests;
