//! The days that a cron line names, by month, day of the month and day of the week.

use jiff::civil::Date;

use super::field::Values;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Days {
    months: Values,
    of_month: Values,
    of_week: Values,
}

impl Days {
    pub(super) fn new(months: Values, of_month: Values, of_week: Values) -> Self {
        Self { months, of_month, of_week }
    }

    pub(super) fn has(&self, date: Date) -> bool {
        let of_month = self.of_month.has(date.day());
        let of_week = self.of_week.has(date.weekday().to_sunday_zero_offset());
        let by_day = if self.either_is_enough() { of_month || of_week } else { of_month && of_week };
        by_day && self.months.has(date.month())
    }

    /// The first day that is not before `date`.
    pub(super) fn first_from(&self, date: Date) -> Option<Date> {
        if self.is_empty() {
            return None;
        }
        let mut start = date;
        loop {
            if self.months.has(start.month()) {
                let days = start.day()..=start.days_in_month();
                let found =
                    days.filter_map(|day| start.with().day(day).build().ok()).find(|day| self.has(*day));
                if found.is_some() {
                    return found;
                }
            }
            start = start.last_of_month().tomorrow().ok()?;
        }
    }

    /// The last day that is not after `date`.
    pub(super) fn last_to(&self, date: Date) -> Option<Date> {
        if self.is_empty() {
            return None;
        }
        let mut end = date;
        loop {
            if self.months.has(end.month()) {
                let days = (1..=end.day()).rev();
                let found =
                    days.filter_map(|day| end.with().day(day).build().ok()).find(|day| self.has(*day));
                if found.is_some() {
                    return found;
                }
            }
            end = end.first_of_month().yesterday().ok()?;
        }
    }

    /// Cron's rule: when both fields are restricted, a day that is in one of them counts.
    fn either_is_enough(&self) -> bool {
        !self.of_month.has_star && !self.of_week.has_star
    }

    /// No day of any year is named, as with 30 February. Else one comes within 40 years, the longest that a
    /// 29 February takes to fall on a given day of the week, so the searches above are short.
    fn is_empty(&self) -> bool {
        let longest = |month: i8| match month {
            2 => 29,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let earliest = self.of_month.first_from(1);
        let in_a_month = (1..=12)
            .filter(|month| self.months.has(*month))
            .any(|month| earliest.is_some_and(|day| day <= longest(month)));
        !in_a_month && !self.either_is_enough()
    }
}
