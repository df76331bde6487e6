//! Whether a node is alive and whether it is ready.
//!
//! Alive means that the process answers; it never asks anything outside the process, or a database
//! that is away would have every node restarted. Ready means that the node can serve: every check
//! says yes within [`CHECK_LIMIT`], and no flag is raised. A flag is a standing reason against:
//! `draining`, once raised, is never lowered.
//!
//! Checks run when somebody asks, all at once, and one round serves everyone who asked before it began,
//! so that many askers make no load on what is checked.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::{Mutex, RwLock};
use serde::Serialize;
use tokio::time::Instant;

/// How long a check may take before it counts as failed.
pub const CHECK_LIMIT: Duration = Duration::from_secs(2);

/// The name of the flag that a node raises when it stops.
pub const DRAINING: &str = "draining";

type CheckFuture = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;
type Check = Arc<dyn Fn() -> CheckFuture + Send + Sync>;
type Reasons = BTreeMap<String, String>;

/// The health of a node. Clones are the same health.
#[derive(Clone, Default)]
pub struct Health(Arc<Inner>);

#[derive(Default)]
struct Inner {
    checks: RwLock<Vec<(&'static str, Check)>>,
    flags: Mutex<BTreeMap<&'static str, String>>,
    round: tokio::sync::Mutex<Option<(Instant, Reasons)>>,
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checks: Vec<_> = self.0.checks.read().iter().map(|(name, _)| *name).collect();
        f.debug_struct("Health").field("checks", &checks).field("flags", &*self.0.flags.lock()).finish()
    }
}

/// The answer to "are you ready?".
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Readiness {
    /// Yes.
    Ready,
    /// No, for these reasons, by the name of the check or flag.
    Unready {
        /// Why.
        reasons: BTreeMap<String, String>,
    },
}

impl Health {
    /// Health without checks or flags: ready.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a check. It is given up after [`CHECK_LIMIT`], so it must be safe to drop at any await. What it
    /// says against readiness is shown to whoever can reach the admin listener: no secrets.
    pub fn add_check<F, Fut>(&self, name: &'static str, check: F)
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.0.checks.write().push((name, Arc::new(move || Box::pin(check()))));
    }

    /// Raises a flag: not ready, for this reason, until [`Health::lower`].
    pub fn raise(&self, name: &'static str, reason: impl Into<String>) {
        let mut flags = self.0.flags.lock();
        // The first reason for a drain is the true one.
        if name != DRAINING || !flags.contains_key(DRAINING) {
            flags.insert(name, reason.into());
        }
    }

    /// Lowers a flag. `draining` stays up: a node that stops does not come back.
    pub fn lower(&self, name: &'static str) {
        if name != DRAINING {
            self.0.flags.lock().remove(name);
        }
    }

    /// Says that the node is going; only the first reason counts.
    pub fn drain(&self, reason: impl Into<String>) {
        self.raise(DRAINING, reason);
    }

    /// Whether the node is going.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.flags.lock().contains_key(DRAINING)
    }

    /// Asks every check.
    pub async fn readiness(&self) -> Readiness {
        let mut reasons = self.checked(Instant::now()).await;
        // Read last: a flag raised while the checks ran counts.
        reasons.extend(self.0.flags.lock().iter().map(|(name, reason)| ((*name).to_owned(), reason.clone())));
        if reasons.is_empty() { Readiness::Ready } else { Readiness::Unready { reasons } }
    }

    /// What the checks say, from a round that began at `asked` or later.
    async fn checked(&self, asked: Instant) -> Reasons {
        let mut round = self.0.round.lock().await;
        if let Some((_, reasons)) = round.as_ref().filter(|(began, _)| *began >= asked) {
            return reasons.clone();
        }
        let began = Instant::now();
        let checks = self.0.checks.read().clone();
        let answers = join_all(checks.into_iter().map(|(name, check)| async move {
            let answer = tokio::time::timeout(CHECK_LIMIT, check()).await;
            let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {CHECK_LIMIT:?}")));
            answer.err().map(|reason| (name.to_owned(), reason))
        }));
        let reasons: Reasons = answers.await.into_iter().flatten().collect();
        *round = Some((began, reasons.clone()));
        reasons
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn reasons(readiness: Readiness) -> Reasons {
        match readiness {
            Readiness::Ready => Reasons::new(),
            Readiness::Unready { reasons } => reasons,
        }
    }

    #[tokio::test]
    async fn ready_until_a_check_or_a_flag_says_no() {
        let health = Health::new();
        assert_eq!(health.readiness().await, Readiness::Ready);
        health.add_check("good", || async { Ok(()) });
        health.add_check("listener", || async { Err("not connected".to_owned()) });
        health.raise("starting", "keys are loading");
        let expected = [("listener", "not connected"), ("starting", "keys are loading")];
        let expected = expected.map(|(name, reason)| (name.to_owned(), reason.to_owned()));
        assert_eq!(reasons(health.readiness().await), Reasons::from(expected));
        health.lower("starting");
        assert_eq!(reasons(health.readiness().await).len(), 1);
    }

    #[tokio::test]
    async fn draining_is_final_and_keeps_its_first_reason() {
        let health = Health::new();
        assert!(!health.is_draining());
        health.drain("asked to stop");
        health.drain("again");
        health.lower(DRAINING);
        assert!(health.is_draining());
        assert_eq!(reasons(health.readiness().await)[DRAINING], "asked to stop");
    }

    #[tokio::test(start_paused = true)]
    async fn a_check_that_hangs_is_given_up() {
        let health = Health::new();
        health.add_check("database", std::future::pending::<Result<(), String>>);
        health.add_check("slow", std::future::pending::<Result<(), String>>);
        let began = Instant::now();
        let reasons = reasons(health.readiness().await);
        assert_eq!(began.elapsed(), CHECK_LIMIT, "the checks run side by side");
        assert_eq!(reasons["database"], "no answer within 2s");
    }

    #[tokio::test(start_paused = true)]
    async fn many_askers_share_a_round_that_began_after_they_asked() {
        let (health, rounds) = (Health::new(), Arc::new(AtomicUsize::new(0)));
        let counted = rounds.clone();
        health.add_check("database", move || {
            counted.fetch_add(1, Ordering::SeqCst);
            async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(())
            }
        });
        join_all((0..50).map(|_| health.readiness())).await;
        assert!(rounds.load(Ordering::SeqCst) <= 2, "{rounds:?}");
        let before = rounds.load(Ordering::SeqCst);
        tokio::time::advance(Duration::from_millis(1)).await;
        health.readiness().await;
        assert_eq!(rounds.load(Ordering::SeqCst), before + 1, "no stale answer");
    }
}
