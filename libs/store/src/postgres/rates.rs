//! Rate limits: the [`Rates`] of PostgreSQL.

use std::time::Duration;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::postgres::Postgres;
use crate::postgres::interval::micros;
use crate::postgres::row::Columns;
use crate::postgres::statement::statements;
use crate::rates::{Bucket, RateDecision, Rates};

statements! {
    TAKE = "rates/take";
}

#[async_trait]
impl Rates for Postgres {
    async fn take_token(&self, key: &str, bucket: Bucket) -> Result<RateDecision, StoreError> {
        let token = time_per_token(bucket.rate);
        if bucket.burst == 0 {
            return Ok(RateDecision::Limited { retry_after: token });
        }
        let filling = token.saturating_mul(bucket.burst);
        let row = self.row(TAKE, &[&key, &micros(token), &micros(filling)]).await?;
        let Some(row) = row else { return Ok(RateDecision::Limited { retry_after: token }) };
        if row.value("allowed")? {
            return Ok(RateDecision::Allowed);
        }
        // Another call may have taken a token after this one looked: then the wait is that for a whole token.
        let wait = u64::try_from(row.value::<i64>("wait")?).ok().filter(|wait| *wait > 0);
        Ok(RateDecision::Limited { retry_after: wait.map_or(token, Duration::from_micros) })
    }
}

/// A microsecond at least, and a year at most (so that no bucket is beyond the database's calendar).
fn time_per_token(rate: f64) -> Duration {
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
