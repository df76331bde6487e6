//! A cron line over civil time: which minutes of which days it names.

use jiff::civil::DateTime;

use super::FIELD;
use super::days::Days;
use super::field::{DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH, Values};
use crate::Invalid;

/// Five fields. Civil times are asked for and given in whole minutes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pattern {
    minutes: Values,
    hours: Values,
    days: Days,
}

/// How a pattern takes the changes of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// Minute and hour are named one by one: each civil time fires once.
    Fixed,
    /// Minute or hour has a `*` or a step: it follows the clock wherever it goes.
    Running,
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<(Self, Sort), Invalid> {
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let [minute, hour, day_of_month, month, day_of_week] = fields[..] else {
            return Err(wrong_count(text, fields.len()));
        };
        let minutes = MINUTE.parse(minute)?;
        let hours = HOUR.parse(hour)?;
        let of_month = DAY_OF_MONTH.parse(day_of_month)?;
        let months = MONTH.parse(month)?;
        let of_week = DAY_OF_WEEK.parse(day_of_week)?;
        let runs = [minutes, hours].iter().any(|values| values.has_star || values.has_step);
        let pattern = Self { minutes, hours, days: Days::new(months, of_month, of_week) };
        Ok((pattern, if runs { Sort::Running } else { Sort::Fixed }))
    }

    /// The first civil time of the pattern that is not before `from`.
    pub(super) fn first_at_or_after(&self, from: DateTime) -> Option<DateTime> {
        if self.days.has(from.date()) {
            let in_this_hour = self.minutes.first_from(from.minute()).filter(|_| self.hours.has(from.hour()));
            let time = in_this_hour
                .map(|minute| (from.hour(), minute))
                .or_else(|| Some((self.hours.first_from(from.hour() + 1)?, self.minutes.first_from(0)?)));
            if let Some((hour, minute)) = time {
                return Some(from.date().at(hour, minute, 0, 0));
            }
        }
        let date = self.days.first_from(from.date().tomorrow().ok()?)?;
        Some(date.at(self.hours.first_from(0)?, self.minutes.first_from(0)?, 0, 0))
    }

    /// The last civil time of the pattern that is not after `to`.
    pub(super) fn last_at_or_before(&self, to: DateTime) -> Option<DateTime> {
        if self.days.has(to.date()) {
            let in_this_hour = self.minutes.last_to(to.minute()).filter(|_| self.hours.has(to.hour()));
            let time = in_this_hour
                .map(|minute| (to.hour(), minute))
                .or_else(|| Some((self.hours.last_to(to.hour() - 1)?, self.minutes.last_to(59)?)));
            if let Some((hour, minute)) = time {
                return Some(to.date().at(hour, minute, 0, 0));
            }
        }
        let date = self.days.last_to(to.date().yesterday().ok()?)?;
        Some(date.at(self.hours.last_to(23)?, self.minutes.last_to(59)?, 0, 0))
    }
}

fn wrong_count(text: &str, count: usize) -> Invalid {
    let mut invalid = Invalid::new(
        FIELD,
        text,
        "five fields (minute, hour, day of month, month, day of week), a name such as @daily, \
         or an interval such as \"every 90s\"",
    );
    let plural = if count == 1 { "" } else { "s" };
    invalid.given = format!("{} with {count} field{plural}", invalid.given);
    invalid
}
