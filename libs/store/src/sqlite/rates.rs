//! Rate limits: the [`Rates`] of SQLite.

use std::time::Duration;

use async_trait::async_trait;

use super::Sqlite;
use super::fault::Fault;
use super::row::Columns;
use super::statement::statements;
use super::transaction::Tx;
use crate::error::StoreError;
use crate::number::micros;
use crate::rates::{Bucket, RateDecision, Rates, time_per_token};

statements! {
    FULL_AT = "rates/full_at";
    SET = "rates/set";
}

/// A bucket that is full again only later than this, beyond what its size allows, was written by a clock that was set back: it counts as one
/// with one token.
const CLOCK_SET_BACK: i64 = 60_000_000;

#[async_trait]
impl Rates for Sqlite {
    async fn take_token(&self, key: &str, bucket: Bucket) -> Result<RateDecision, StoreError> {
        let token = time_per_token(bucket.rate);
        if bucket.burst == 0 {
            return Ok(RateDecision::Limited { retry_after: token });
        }
        let key = key.to_owned();
        self.write(move |tx| take(tx, &key, micros(token), micros(token.saturating_mul(bucket.burst)))).await
    }
}

/// Takes a token: `full_at` is when the bucket is full again; each token taken moves it on by what brings one back, and a token is there as
/// long as that stays within the time that fills an empty bucket.
fn take(tx: &Tx<'_>, key: &str, token: i64, filling: i64) -> Result<RateDecision, Fault> {
    let (now, empty) = (tx.micros(), tx.micros() + filling);
    let full_at = tx.row(FULL_AT, &[&key], |row| row.value::<i64>("full_at"))?.unwrap_or(now);
    let wait = full_at + token - empty;
    if wait > 0 && full_at <= empty + CLOCK_SET_BACK {
        let wait = u64::try_from(wait).unwrap_or_default();
        return Ok(RateDecision::Limited { retry_after: Duration::from_micros(wait) });
    }
    tx.execute(SET, &[&key, &empty.min(full_at.max(now) + token)])?;
    Ok(RateDecision::Allowed)
}
