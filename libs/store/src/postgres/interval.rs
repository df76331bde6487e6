//! Durations as parameters.

use std::time::Duration;

/// A thousand years: longer than anything is kept, and still within a `timestamptz`.
const MOST: i64 = 1000 * 365 * 86_400 * 1_000_000;

/// A duration in microseconds, at most a thousand years.
pub(super) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).map_or(MOST, |micros| micros.min(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_is_a_thousand_years() {
        assert_eq!(micros(Duration::from_millis(3)), 3000);
        assert_eq!(micros(Duration::MAX), MOST);
    }
}
