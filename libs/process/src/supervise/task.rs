//! One phase's tasks: started by name, watched, joined by name.

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Cause, Failure, Phase};

/// How long aborted tasks are waited for; one that is at an await leaves at once.
const ABORT_LIMIT: Duration = Duration::from_millis(500);

/// What a supervised future may return.
pub trait Outcome: Send + 'static {
    /// The error, if it is one.
    fn error(self) -> Option<String>;
}

impl Outcome for () {
    fn error(self) -> Option<String> {
        None
    }
}

impl Outcome for Infallible {
    fn error(self) -> Option<String> {
        match self {}
    }
}

impl<T: Outcome, E: Display + Send + 'static> Outcome for Result<T, E> {
    fn error(self) -> Option<String> {
        match self {
            Ok(outcome) => outcome.error(),
            Err(error) => Some(error.to_string()),
        }
    }
}

/// The first critical task that left, for whoever waits for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Failures(Arc<FailuresInner>);

#[derive(Debug, Default)]
struct FailuresInner {
    first: Mutex<Option<Failure>>,
    failed: CancellationToken,
    stopping: CancellationToken,
}

impl Failures {
    /// From now on tasks are told to end, so an end is none of the node's troubles.
    pub(super) fn expect_endings(&self) {
        self.0.stopping.cancel();
    }

    pub(super) async fn first(&self) -> Failure {
        self.0.failed.cancelled().await;
        let first = self.0.first.lock().clone();
        first.unwrap_or_else(|| Failure { name: "unknown".to_owned(), cause: Cause::Ended })
    }

    fn report(&self, name: &str, cause: Cause) {
        if self.0.stopping.is_cancelled() {
            if cause != Cause::Ended {
                tracing::warn!(task = name, %cause, "task while stopping");
            }
            return;
        }
        let failure = Failure { name: name.to_owned(), cause };
        let mut first = self.0.first.lock();
        if first.is_some() {
            tracing::error!(task = name, "{failure}");
        } else {
            *first = Some(failure);
        }
        drop(first);
        self.0.failed.cancel();
    }
}

/// Starts tasks that stop in one phase. Clones start in the same phase.
#[derive(Debug, Clone)]
pub struct Tasks(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    phase: Phase,
    token: CancellationToken,
    tracker: TaskTracker,
    running: Mutex<Running>,
    failures: Failures,
}

#[derive(Debug, Default)]
struct Running {
    /// The phase is over: what is started now is aborted at once.
    closed: bool,
    next: u64,
    tasks: BTreeMap<u64, (Cow<'static, str>, Option<AbortHandle>)>,
}

/// Whether a task may end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duty {
    Critical,
    Transient,
}

impl Tasks {
    /// The token that tells the tasks of this phase to end.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.0.token.clone()
    }

    /// Starts a task that never may end by itself: if it does, the node stops with its name.
    pub fn critical<F>(&self, name: impl Into<Cow<'static, str>>, future: F)
    where
        F: Future<Output: Outcome> + Send + 'static,
    {
        self.start(Duty::Critical, name.into(), future);
    }

    /// Starts a task that may end. After the phase is over it is aborted at once. How many there are at once is for the caller to bound.
    pub fn transient<F>(&self, name: impl Into<Cow<'static, str>>, future: F)
    where
        F: Future<Output: Outcome> + Send + 'static,
    {
        self.start(Duty::Transient, name.into(), future);
    }

    /// How many tasks of this phase are running.
    #[must_use]
    pub fn running(&self) -> usize {
        self.0.running.lock().tasks.len()
    }

    fn start<F>(&self, duty: Duty, name: Cow<'static, str>, future: F)
    where
        F: Future<Output: Outcome> + Send + 'static,
    {
        let entry = Entry::of(self.0.clone(), name.clone());
        let (id, failures) = (entry.id, self.0.failures.clone());
        // Not an async block: that would keep a place for the future as it was given and another as it is awaited, for each connection.
        let supervised = AssertUnwindSafe(future).catch_unwind().map(move |ended| {
            let cause = match ended {
                Ok(outcome) => outcome.error().map_or(Cause::Ended, Cause::Failed),
                Err(panic) => Cause::Panicked(panic_text(panic.as_ref())),
            };
            match (duty, &cause) {
                (Duty::Critical, _) => failures.report(&name, cause),
                (Duty::Transient, Cause::Ended) => {}
                (Duty::Transient, Cause::Failed(_)) => tracing::warn!(task = %name, %cause, "task"),
                (Duty::Transient, Cause::Panicked(_)) => tracing::error!(task = %name, %cause, "task"),
            }
            // Leaves the list when the task ends, and also when it is aborted.
            drop(entry);
        });
        let handle = self.0.tracker.spawn(supervised);
        let mut running = self.0.running.lock();
        if running.closed {
            drop(running);
            handle.abort();
        } else if let Some((_, abort)) = running.tasks.get_mut(&id) {
            // It may have ended already, then there is no entry to complete.
            *abort = Some(handle.abort_handle());
        }
    }
}

/// A line in the list of running tasks, as long as the task lives.
struct Entry {
    id: u64,
    inner: Arc<Inner>,
}

impl Entry {
    fn of(inner: Arc<Inner>, name: Cow<'static, str>) -> Self {
        let mut running = inner.running.lock();
        let id = running.next;
        running.next += 1;
        running.tasks.insert(id, (name, None));
        drop(running);
        Self { id, inner }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.inner.running.lock().tasks.remove(&self.id);
    }
}

/// The owning end of [`Tasks`].
#[derive(Debug)]
pub(super) struct Group(Tasks);

impl Group {
    pub(super) fn new(phase: Phase, failures: Failures) -> Self {
        let (token, tracker) = (CancellationToken::new(), TaskTracker::new());
        Self(Tasks(Arc::new(Inner { phase, token, tracker, running: Mutex::default(), failures })))
    }

    pub(super) fn phase(&self) -> Phase {
        self.0.0.phase
    }

    pub(super) fn tasks(&self) -> Tasks {
        self.0.clone()
    }

    pub(super) fn token(&self) -> CancellationToken {
        self.0.token()
    }

    /// Tells the tasks to end and waits for them until `end`, then aborts the rest and gives their names.
    pub(super) async fn stop(&self, end: Instant) -> Vec<String> {
        let inner = &self.0.0;
        inner.token.cancel();
        inner.tracker.close();
        if tokio::time::timeout_at(end, inner.tracker.wait()).await.is_ok() {
            self.0.0.running.lock().closed = true;
            return Vec::new();
        }
        let left = self.abort();
        // Those at an await are gone at once; one that blocks its thread is left behind.
        let _ = tokio::time::timeout(ABORT_LIMIT, inner.tracker.wait()).await;
        left
    }

    /// Aborts every task and gives their names, each with how many there were.
    fn abort(&self) -> Vec<String> {
        let mut running = self.0.0.running.lock();
        running.closed = true;
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        let mut handles = Vec::new();
        for (name, abort) in running.tasks.values() {
            *names.entry(name).or_default() += 1;
            handles.extend(abort.clone());
        }
        let left = names.into_iter().map(|(name, count)| match count {
            1 => name.to_owned(),
            _ => format!("{name} ({count} times)"),
        });
        let left = left.collect();
        // An aborted task takes itself off the list, so the list must be free.
        drop(running);
        for handle in handles {
            handle.abort();
        }
        left
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.0.0.token.cancel();
        self.abort();
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "not a text".to_owned())
}
