//! Rate limits that hold over all nodes: one token bucket for each client of the sign-in routes, for each hook, and for
//! each person who tries pushes.
//!
//! The bucket is a row in the store. While the store does not answer in time, a bucket of the same size on this
//! node decides: open enough to go on, but not wide open, and counted. These local buckets are
//! bounded: when there are too many, strangers share one.

use std::fmt::Display;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use domain::{ErrorKind, TaskId, UserId};
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use prometheus::{IntCounter, Registry};
use store::rates::{Bucket, RateDecision};
use store::{Rates, StoreError};

use crate::addresses::ClientKey;
use crate::error::AuthError;
use crate::settings::AuthSettings;

/// Local buckets at most; after that strangers share one.
const MAX_LOCAL: usize = 50_000;
/// Pushes that a person may ask for to try their devices: some at once, then one every ten seconds. Each is a request to a server that the
/// person has named.
const PUSH_TESTS: Bucket = Bucket { rate: 0.1, burst: 5 };
/// After so many local decisions, full buckets are forgotten.
const SWEEP_EVERY: u32 = 1024;

/// The limit of one group of routes, by what is counted there.
pub struct Limiter<K: Hash + Eq + Copy = ClientKey> {
    name: &'static str,
    shared: Arc<dyn Rates + Send + Sync>,
    bucket: Bucket,
    patience: Duration,
    local: DefaultKeyedRateLimiter<Option<K>>,
    clock: DefaultClock,
    decided_locally: AtomicU32,
    limited: IntCounter,
    failed_open: IntCounter,
}

impl Limiter {
    /// The limit of `/v1/auth/*`, for each client.
    ///
    /// # Errors
    ///
    /// Settings that make no bucket, and metrics that are registered already.
    pub fn for_sign_in(
        shared: Arc<dyn Rates + Send + Sync>,
        settings: &AuthSettings,
        registry: &Registry,
    ) -> Result<Self, AuthError> {
        settings.check()?;
        let limited =
            counter(registry, "switchboard_rate_limited_total", "Requests refused by a rate limit")?;
        let failed_open = counter(
            registry,
            "switchboard_rate_limit_fail_open_total",
            "Rate limits decided by this node alone because the database did not answer",
        )?;
        let bucket = Bucket { rate: settings.rate, burst: settings.burst };
        Self::new("auth", shared, bucket, settings.rate_timeout, limited, failed_open)
    }
}

impl Limiter<TaskId> {
    /// The limit of `/v1/hooks/*`, for each task. `patience` is how long the store may take to answer.
    ///
    /// # Errors
    ///
    /// A bucket that is none, and metrics that are registered already.
    pub fn for_hooks(
        shared: Arc<dyn Rates + Send + Sync>,
        bucket: Bucket,
        patience: Duration,
        registry: &Registry,
    ) -> Result<Self, AuthError> {
        let limited = counter(
            registry,
            "switchboard_hook_rate_limited_total",
            "Calls of hooks refused by their rate limit",
        )?;
        let failed_open = counter(
            registry,
            "switchboard_hook_rate_limit_fail_open_total",
            "Rate limits of hooks decided by this node alone because the database did not answer",
        )?;
        Self::new("hook", shared, bucket, patience, limited, failed_open)
    }
}

impl Limiter<UserId> {
    /// The limit of pushes to try a device, for each person over all devices. `patience` is how long the store may take to answer.
    ///
    /// # Errors
    ///
    /// Metrics that are registered already.
    pub fn for_push_tests(
        shared: Arc<dyn Rates + Send + Sync>,
        patience: Duration,
        registry: &Registry,
    ) -> Result<Self, AuthError> {
        let limited = counter(
            registry,
            "switchboard_push_test_rate_limited_total",
            "Pushes to try a device refused by their rate limit",
        )?;
        let failed_open = counter(
            registry,
            "switchboard_push_test_rate_limit_fail_open_total",
            "Rate limits of pushes to try a device decided by this node alone because the database did not answer",
        )?;
        Self::new("push_test", shared, PUSH_TESTS, patience, limited, failed_open)
    }
}

impl<K: Hash + Eq + Copy + Display> Limiter<K> {
    fn new(
        name: &'static str,
        shared: Arc<dyn Rates + Send + Sync>,
        bucket: Bucket,
        patience: Duration,
        limited: IntCounter,
        failed_open: IntCounter,
    ) -> Result<Self, AuthError> {
        let none = || AuthError::Internal(format!("the rate limit {name} makes no bucket"));
        let refill = Duration::try_from_secs_f64(1.0 / bucket.rate).map_err(|_| none())?;
        let quota = Quota::with_period(refill)
            .ok_or_else(none)?
            .allow_burst(NonZeroU32::new(bucket.burst).unwrap_or(NonZeroU32::MIN));
        Ok(Self {
            name,
            shared,
            bucket,
            patience,
            local: RateLimiter::keyed(quota),
            clock: DefaultClock::default(),
            decided_locally: AtomicU32::new(0),
            limited,
            failed_open,
        })
    }

    /// Takes a token of somebody's, or something's, bucket.
    ///
    /// # Errors
    ///
    /// `RateLimited` when none is left; a fault of the store that is more than silence.
    pub async fn take(&self, client: K) -> Result<(), AuthError> {
        let decision = match self.ask_shared(client).await {
            Ok(decision) => decision,
            Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Timeout) => {
                tracing::debug!(%error, limit = self.name, "rate limit decided locally");
                self.failed_open.inc();
                self.ask_local(client)
            }
            Err(error) => return Err(error.into()),
        };
        match decision {
            RateDecision::Allowed => Ok(()),
            RateDecision::Limited { retry_after } => {
                self.limited.inc();
                Err(AuthError::RateLimited { retry_after })
            }
        }
    }

    async fn ask_shared(&self, client: K) -> Result<RateDecision, StoreError> {
        let key = format!("{}:{client}", self.name);
        tokio::time::timeout(self.patience, self.shared.take_token(&key, self.bucket))
            .await
            .unwrap_or_else(|_| Err(StoreError::Timeout("the shared bucket took too long".into())))
    }

    fn ask_local(&self, client: K) -> RateDecision {
        if self.decided_locally.fetch_add(1, Ordering::Relaxed).is_multiple_of(SWEEP_EVERY) {
            self.local.retain_recent();
            self.local.shrink_to_fit();
        }
        let key = if self.local.len() < MAX_LOCAL { Some(client) } else { None };
        match self.local.check_key(&key) {
            Ok(()) => RateDecision::Allowed,
            Err(not_until) => {
                RateDecision::Limited { retry_after: not_until.wait_time_from(self.clock.now()) }
            }
        }
    }
}

pub(crate) fn counter(registry: &Registry, name: &str, help: &str) -> Result<IntCounter, AuthError> {
    let internal = |error: prometheus::Error| AuthError::Internal(format!("metric {name}: {error}"));
    let counter = IntCounter::new(name, help).map_err(internal)?;
    registry.register(Box::new(counter.clone())).map_err(internal)?;
    Ok(counter)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use async_trait::async_trait;
    use parking_lot::Mutex;

    use super::*;

    /// Answers what it is told to, and keeps the keys it was asked for.
    struct Fake {
        answer: Answer,
        asked: Mutex<Vec<String>>,
    }

    enum Answer {
        Decide(RateDecision),
        Fail(StoreError),
        Never,
    }

    #[async_trait]
    impl Rates for Fake {
        async fn take_token(&self, key: &str, bucket: Bucket) -> Result<RateDecision, StoreError> {
            assert_eq!(bucket, Bucket { rate: 5.0, burst: 8 });
            self.asked.lock().push(key.to_owned());
            match &self.answer {
                Answer::Decide(decision) => Ok(*decision),
                Answer::Fail(error) => Err(error.clone()),
                Answer::Never => std::future::pending().await,
            }
        }
    }

    fn limiter(answer: Answer) -> (Arc<Fake>, Limiter) {
        let fake = Arc::new(Fake { answer, asked: Mutex::default() });
        let limiter =
            Limiter::for_sign_in(Arc::clone(&fake) as _, &AuthSettings::default(), &Registry::new())
                .expect("limiter");
        (fake, limiter)
    }

    fn client(text: &str) -> ClientKey {
        text.parse::<IpAddr>().expect(text).into()
    }

    #[tokio::test]
    async fn the_shared_bucket_decides() {
        let (fake, limiter) = limiter(Answer::Decide(RateDecision::Allowed));
        for _ in 0..20 {
            limiter.take(client("2001:db8::1")).await.expect("allowed");
        }
        assert_eq!(fake.asked.lock()[0], "auth:2001:db8::/64");
        assert_eq!((limiter.limited.get(), limiter.failed_open.get()), (0, 0));
    }

    #[tokio::test]
    async fn its_refusal_says_when_to_come_back() {
        let retry_after = Duration::from_millis(200);
        let (_, limiter) = limiter(Answer::Decide(RateDecision::Limited { retry_after }));
        let refused = limiter.take(client("192.0.2.1")).await.expect_err("limited");
        assert_eq!(refused.retry_after(), Some(retry_after));
        assert_eq!(limiter.limited.get(), 1);
    }

    #[tokio::test]
    async fn while_the_store_is_away_a_local_bucket_of_the_same_size_decides() {
        let (_, limiter) = limiter(Answer::Fail(StoreError::Unavailable("gone".into())));
        for _ in 0..8 {
            limiter.take(client("192.0.2.1")).await.expect("within the burst");
        }
        let refused = limiter.take(client("192.0.2.1")).await.expect_err("beyond the burst");
        assert!(refused.retry_after().expect("told") <= Duration::from_millis(200));
        limiter.take(client("192.0.2.2")).await.expect("another client has its own");
        assert_eq!((limiter.limited.get(), limiter.failed_open.get()), (1, 10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_never_answers_is_not_waited_for() {
        let (_, limiter) = limiter(Answer::Never);
        limiter.take(client("192.0.2.1")).await.expect("decided locally");
        assert_eq!(limiter.failed_open.get(), 1);
    }

    #[tokio::test]
    async fn each_hook_has_its_own_bucket() {
        let silent = Answer::Fail(StoreError::Unavailable("gone".into()));
        let fake = Arc::new(Fake { answer: silent, asked: Mutex::default() });
        let bucket = Bucket { rate: 5.0, burst: 8 };
        let patience = Duration::from_secs(1);
        let limiter =
            Limiter::for_hooks(Arc::clone(&fake) as _, bucket, patience, &Registry::new()).expect("limiter");
        let (one, other) = (TaskId::new(), TaskId::new());
        for _ in 0..8 {
            limiter.take(one).await.expect("within the burst");
        }
        limiter.take(one).await.expect_err("beyond the burst");
        limiter.take(other).await.expect("another hook");
        assert_eq!(fake.asked.lock()[0], format!("hook:{one}"));
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let none = Bucket { rate, burst: 8 };
            assert!(Limiter::for_hooks(Arc::clone(&fake) as _, none, patience, &Registry::new()).is_err());
        }
    }

    #[tokio::test]
    async fn a_fault_is_not_silence() {
        let (_, limiter) = limiter(Answer::Fail(StoreError::Internal("a fault".into())));
        let error = limiter.take(client("192.0.2.1")).await.expect_err("told");
        assert_eq!(error.kind(), ErrorKind::Internal);
    }
}
