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
