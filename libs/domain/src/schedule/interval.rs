//! `every 90s`: whole multiples of an interval from an anchor.

use std::time::Duration;

use jiff::Timestamp;

use super::FIELD;
use crate::{Invalid, duration};

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// What the text of an interval begins with.
const KEYWORD: &str = "every";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Interval {
    period: Duration,
    /// What the multiples are counted from, in both directions.
    pub(super) anchor: Timestamp,
}

impl Interval {
    /// Reads `every 15m`; `None` when the text is not about an interval at all.
    pub(super) fn parse(text: &str) -> Option<Result<Self, Invalid>> {
        let (keyword, period) = text.split_at_checked(KEYWORD.len())?;
        let is_word = period.chars().next().is_none_or(|next| next.is_whitespace() || next.is_ascii_digit());
        (keyword.eq_ignore_ascii_case(KEYWORD) && is_word).then(|| Self::of(text, period.trim()))
    }

    fn of(text: &str, period: &str) -> Result<Self, Invalid> {
        let refuse = || {
            Invalid::new(
                FIELD,
                text,
                "every with a duration from 1s to 366d in whole milliseconds: \
                 a number and one of the units ms, s, m, h, d (\"every 90s\", \"every 15m\")",
            )
        };
        // Elsewhere a bare number is seconds; in a schedule many would read minutes into it.
        if !period.ends_with(|last: char| last.is_ascii_alphabetic()) {
            return Err(refuse());
        }
        let period = duration::parse(period).map_err(|_| refuse())?;
        // The database keeps microseconds: a time with less would not be found again by its scheduled time.
        let is_whole = period.subsec_nanos().is_multiple_of(1_000_000);
        if !is_whole || !(SHORTEST..=LONGEST).contains(&period) {
            return Err(refuse());
        }
        Ok(Self { period, anchor: Timestamp::UNIX_EPOCH })
    }

    pub(super) fn next_after(&self, instant: Timestamp) -> Option<Timestamp> {
        self.multiple(self.elapsed(instant) + 1)
    }

    pub(super) fn latest_at_or_before(&self, instant: Timestamp) -> Option<Timestamp> {
        self.multiple(self.elapsed(instant))
    }

    /// Whole periods from the anchor to `instant`, rounded down.
    fn elapsed(&self, instant: Timestamp) -> i128 {
        (instant.as_nanosecond() - self.anchor.as_nanosecond()).div_euclid(self.nanoseconds())
    }

    /// `None` beyond the range of timestamps.
    fn multiple(&self, periods: i128) -> Option<Timestamp> {
        Timestamp::from_nanosecond(self.anchor.as_nanosecond() + periods * self.nanoseconds()).ok()
    }

    fn nanoseconds(&self) -> i128 {
        i128::from(self.period.as_secs()) * 1_000_000_000 + i128::from(self.period.subsec_nanos())
    }
}
