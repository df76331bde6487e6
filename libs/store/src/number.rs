//! Numbers as databases keep them.

use std::time::Duration;

/// A thousand years: longer than anything is kept, and still within what a database counts.
const MOST: i64 = 1000 * 365 * 86_400 * 1_000_000;

/// Later than every time, in microseconds since 1970: what is due then never is. No [`jiff::Timestamp`] is so late, and what is added to it does
/// not overflow.
pub(crate) const FOREVER: i64 = 1_000_000_000_000_000_000;

/// Earlier than every time.
pub(crate) const NEVER: i64 = -FOREVER;

/// A duration in microseconds, at most a thousand years.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).map_or(MOST, |micros| micros.min(MOST))
}

/// A number as a signed one: beyond its range it is the largest, which no seq reaches.
pub(crate) fn bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_is_a_thousand_years() {
        assert_eq!(micros(Duration::from_millis(3)), 3000);
        assert_eq!(micros(Duration::MAX), MOST);
    }

    #[test]
    fn what_is_too_large_is_the_largest() {
        assert_eq!(bigint(7), 7);
        assert_eq!(bigint(u64::MAX), i64::MAX);
    }
}
