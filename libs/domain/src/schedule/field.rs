//! One field of a cron line: which values it names.

use super::FIELD;
use crate::Invalid;

/// What a field may hold.
pub(super) struct Field {
    /// Where it is, as errors name it.
    place: &'static str,
    min: u8,
    /// The largest number that may be written.
    max: u8,
    /// The largest number of `*`; less than `max` where two numbers mean the same.
    top: u8,
    /// Names, the first of which stands for `min`.
    names: &'static [&'static str],
    /// The values, as errors describe them.
    values: &'static str,
}

pub(super) const MINUTE: Field =
    Field { place: ".minute", min: 0, max: 59, top: 59, names: &[], values: "0 to 59" };
pub(super) const HOUR: Field =
    Field { place: ".hour", min: 0, max: 23, top: 23, names: &[], values: "0 to 23" };
pub(super) const DAY_OF_MONTH: Field =
    Field { place: ".day_of_month", min: 1, max: 31, top: 31, names: &[], values: "1 to 31" };
pub(super) const MONTH: Field = Field {
    place: ".month",
    min: 1,
    max: 12,
    top: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    values: "1 to 12 or jan to dec",
};
pub(super) const DAY_OF_WEEK: Field = Field {
    place: ".day_of_week",
    min: 0,
    max: SUNDAY_AGAIN,
    top: 6,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    values: "0 to 7 (0 and 7 are Sunday) or sun to sat",
};

/// Sunday is 0, and 7 as well.
const SUNDAY_AGAIN: u8 = 7;

/// The values that a field names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Values {
    /// Bit `n` for the value `n`.
    pub(super) bits: u64,
    /// An item begins with `*`.
    pub(super) has_star: bool,
    /// An item has a step.
    pub(super) has_step: bool,
}

impl Values {
    pub(super) fn has(self, value: i8) -> bool {
        u32::try_from(value).is_ok_and(|value| self.bits.checked_shr(value).is_some_and(|bits| bits & 1 == 1))
    }

    /// The smallest value that is at least `from`.
    pub(super) fn first_from(self, from: i8) -> Option<i8> {
        (from..=i8::MAX).take_while(|value| *value < 64).find(|value| self.has(*value))
    }

    /// The largest value that is at most `to`.
    pub(super) fn last_to(self, to: i8) -> Option<i8> {
        (0..=to).rev().find(|value| self.has(*value))
    }
}

impl Field {
    /// Reads a list of numbers, names, ranges, `*`, and steps over these.
    pub(super) fn parse(&self, text: &str) -> Result<Values, Invalid> {
        let mut values = Values::default();
        for item in text.split(',') {
            let (span, step) = match item.split_once('/') {
                Some((span, step)) => (span, Some(self.step(item, step)?)),
                None => (item, None),
            };
            let (from, to) = self.span(item, span, step)?;
            for value in (from..=to).step_by(step.unwrap_or(1).into()) {
                values.bits |= 1 << if value == SUNDAY_AGAIN && self.max == SUNDAY_AGAIN { 0 } else { value };
            }
            values.has_star |= span == "*";
            values.has_step |= step.is_some();
        }
        Ok(values)
    }

    /// First and last value of an item without its step.
    fn span(&self, item: &str, span: &str, step: Option<u8>) -> Result<(u8, u8), Invalid> {
        if span == "*" {
            return Ok((self.min, self.top));
        }
        if span == "?" {
            return Err(self.refuse(item, "*, which means any value; ? is of other dialects of cron"));
        }
        let Some((from, to)) = span.split_once('-') else {
            let value = self.value(item, span)?;
            return match step {
                None => Ok((value, value)),
                Some(step) => {
                    let wanted = format!("a step after * or a range, such as {value}-{}/{step}", self.top);
                    Err(self.refuse(item, wanted))
                }
            };
        };
        let (from, mut to) = (self.value(item, from)?, self.value(item, to)?);
        // "fri-sun" and "5-0": a week that ends on Sunday.
        if self.max == SUNDAY_AGAIN && to == 0 && from > 0 {
            to = SUNDAY_AGAIN;
        }
        if from > to {
            let (top, min) = (self.top, self.min);
            // Sunday is 7, too: a range from it begins at 0.
            let ranges = if from > top { format!("{min}-{to}") } else { format!("{from}-{top},{min}-{to}") };
            let wanted = format!("a range that goes up, here {ranges}");
            return Err(self.refuse(item, wanted));
        }
        Ok((from, to))
    }

    fn step(&self, item: &str, step: &str) -> Result<u8, Invalid> {
        let largest = self.top - self.min;
        number(step).filter(|step| (1..=largest).contains(step)).ok_or_else(|| {
            let wanted = format!(
                "a step of 1 to {largest}; for more time than a field holds there is every, as in \"every 90m\""
            );
            self.refuse(item, wanted)
        })
    }

    fn value(&self, item: &str, text: &str) -> Result<u8, Invalid> {
        let named = (self.min..).zip(self.names).find(|(_, name)| name.eq_ignore_ascii_case(text));
        named
            .map(|(value, _)| value)
            .or_else(|| number(text))
            .filter(|value| (self.min..=self.max).contains(value))
            .ok_or_else(|| {
                let wanted =
                    format!("{}, * for any, lists (a,b), ranges (a-b) and steps (*/n, a-b/n)", self.values);
                self.refuse(item, wanted)
            })
    }

    fn refuse(&self, item: &str, allowed: impl Into<String>) -> Invalid {
        Invalid::new(FIELD, item, allowed).inside(self.place)
    }
}

/// Digits only: no sign, as Rust would allow.
fn number(text: &str) -> Option<u8> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
