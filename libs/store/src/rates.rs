//! Rate limits that all nodes share.

use std::time::Duration;

use async_trait::async_trait;

use crate::error::StoreError;

/// The size of a token bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Tokens that come back, per second.
    pub rate: f64,
    /// Tokens that a full bucket holds.
    pub burst: u32,
}

/// What a bucket says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateDecision {
    /// A token was taken.
    Allowed,
    /// None is left; one will be after this time.
    Limited {
        /// How long until a token is there.
        retry_after: Duration,
    },
}

/// Token buckets, exact over all nodes: one row a key, holding the time at which the bucket would be
/// full again (the generic cell rate algorithm), so there is no window and no window's edge.
#[async_trait]
pub trait Rates {
    /// Takes a token of the bucket `key`.
    async fn take_token(&self, key: &str, bucket: Bucket) -> Result<RateDecision, StoreError>;
}

/// A microsecond at least, and a year at most (so that no bucket is beyond the database's calendar).
pub(crate) fn time_per_token(rate: f64) -> Duration {
    const YEAR: f64 = 365.0 * 86_400.0;
    let seconds = (1.0 / rate.max(0.0)).clamp(0.000_001, YEAR);
    Duration::from_secs_f64(if seconds.is_nan() { YEAR } else { seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rate_has_a_time_per_token() {
        assert_eq!(time_per_token(5.0), Duration::from_millis(200));
        assert_eq!(time_per_token(f64::INFINITY), Duration::from_micros(1));
        for none in [0.0, -1.0, f64::NAN] {
            assert_eq!(time_per_token(none), Duration::from_secs(365 * 86_400), "{none}");
        }
    }
}
