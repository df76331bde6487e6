//! Rate limits: the [`Rates`] of PostgreSQL.

use std::time::Duration;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::postgres::Postgres;
use crate::postgres::interval::micros;
use crate::postgres::row::Columns;
use crate::postgres::statement::statements;
use crate::rates::{Bucket, RateDecision, Rates, time_per_token};

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
