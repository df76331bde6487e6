//! A time zone: what its clock shows when, and when it shows what.

use std::sync::LazyLock;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};

use super::pattern::Pattern;
use crate::Invalid;

/// Never the system's: nodes of one version must agree, and a container may have none.
static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

const INSTANT: SignedDuration = SignedDuration::from_nanos(1);
const MINUTE: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Zone(TimeZone);

impl Zone {
    /// The zone of that name, in any case of letters.
    pub(crate) fn get(name: &str) -> Result<Self, Invalid> {
        DATABASE.get(name).ok().filter(|zone| !zone.is_unknown()).map(Self).ok_or_else(|| {
            Invalid::new(
                "timezone",
                name,
                "a name of the IANA time zone database, such as Europe/Berlin, or UTC",
            )
        })
    }

    pub(crate) fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// What the clock shows.
    pub(crate) fn shows(&self, instant: Timestamp) -> DateTime {
        self.0.to_datetime(instant)
    }

    /// The first instant at which the clock shows this civil time or a later one. `None` beyond the range of timestamps.
    ///
    /// It grows with the civil time, so the order of civil times is that of their instants.
    pub(super) fn first_showing(&self, civil: DateTime) -> Option<Timestamp> {
        match self.0.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset: before } | AmbiguousOffset::Fold { before, .. } => {
                before.to_timestamp(civil).ok()
            }
            AmbiguousOffset::Gap { after, .. } => self.change_to(after, after.to_timestamp(civil).ok()?),
        }
    }

    /// The latest civil time, in whole minutes, that the clock has shown up to `instant`: what it shows
    /// now, or in the second pass of a fold the last minute of the first. `None` beyond the range of civil times.
    pub(super) fn last_shown(&self, instant: Timestamp) -> Option<DateTime> {
        let offset = self.0.to_offset(instant);
        let civil = offset.to_datetime(instant);
        match self.0.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Fold { before, after } if offset == after => {
                let change = self.change_to(after, before.to_timestamp(civil).ok()?)?;
                before.to_datetime(change).checked_sub(INSTANT).ok().map(whole_minute)
            }
            _ => Some(whole_minute(civil)),
        }
    }

    /// The first change after `instant` that leads to this offset.
    fn change_to(&self, offset: Offset, instant: Timestamp) -> Option<Timestamp> {
        self.0.following(instant).find(|change| change.offset() == offset).map(|change| change.timestamp())
    }

    /// The first instant after `instant` at which the clock shows a time of the pattern.
    ///
    /// Goes from one change of the clock to the next: between two of them civil time is elapsed time.
    pub(super) fn first_match_after(&self, instant: Timestamp, pattern: &Pattern) -> Option<Timestamp> {
        let mut from = instant.checked_add(INSTANT).ok()?;
        loop {
            let offset = self.0.to_offset(from);
            let end = self.0.following(from).next().map(|change| change.timestamp());
            let civil = offset.to_datetime(from);
            let floor = whole_minute(civil);
            let civil = pattern.first_at_or_after(if floor < civil { next_minute(floor)? } else { floor })?;
            let found = offset.to_timestamp(civil).ok()?;
            match end {
                Some(end) if found >= end => from = end,
                _ => return Some(found),
            }
        }
    }

    /// The last instant not after `instant` at which the clock shows a time of the pattern.
    pub(super) fn last_match_at_or_before(&self, instant: Timestamp, pattern: &Pattern) -> Option<Timestamp> {
        let mut to = instant;
        loop {
            let offset = self.0.to_offset(to);
            let start =
                self.0.preceding(to.checked_add(INSTANT).ok()?).next().map(|change| change.timestamp());
            let civil = pattern.last_at_or_before(whole_minute(offset.to_datetime(to)))?;
            let found = offset.to_timestamp(civil).ok()?;
            match start {
                Some(start) if found < start => to = start.checked_sub(INSTANT).ok()?,
                _ => return Some(found),
            }
        }
    }
}

/// The minute after a whole minute.
pub(super) fn next_minute(civil: DateTime) -> Option<DateTime> {
    civil.checked_add(MINUTE).ok()
}

fn whole_minute(civil: DateTime) -> DateTime {
    civil.date().at(civil.hour(), civil.minute(), 0, 0)
}
