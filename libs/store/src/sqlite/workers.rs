//! The threads that own the connections, and the queues of jobs before them.
//!
//! SQLite answers by blocking, so no task of the runtime may call it. Who calls puts a job into a queue and awaits its answer. One thread
//! writes; some read, beside it and beside each other. Threads end when the queues do, with the last handle of the store.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::fault::{Fault, sqlite_error};
use super::metrics::Metrics;
use super::transaction::{Tx, transact};
use crate::error::StoreError;

/// Threads that read.
pub(super) const READERS: usize = 2;

/// Jobs that wait in a queue; who comes then waits before it.
const QUEUE: usize = 1024;

/// How long a call waits for a place in a queue that is full.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a job may take. The batches that are asked for take milliseconds; one that would go on for ever would hold up whoever writes.
const LONGEST: Duration = if cfg!(test) { Duration::from_secs(2) } else { Duration::from_secs(30) };

/// Steps of SQLite's machine between two looks at the clock: some milliseconds.
const STEPS: i32 = 100_000;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

pub(super) struct Workers {
    writer: mpsc::Sender<Job>,
    readers: mpsc::Sender<Job>,
    metrics: Arc<Metrics>,
}

impl Workers {
    pub(super) fn start(
        writer: Connection,
        readers: Vec<Connection>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, StoreError> {
        let (to_writer, jobs) = mpsc::channel(QUEUE);
        spawn("store-writer".into(), writer, Arc::new(Mutex::new(jobs)))?;
        let (to_readers, jobs) = mpsc::channel(QUEUE);
        let jobs = Arc::new(Mutex::new(jobs));
        for (nth, reader) in readers.into_iter().enumerate() {
            spawn(format!("store-reader-{nth}"), reader, jobs.clone())?;
        }
        Ok(Self { writer: to_writer, readers: to_readers, metrics })
    }

    pub(super) async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(&self.writer, TransactionBehavior::Immediate, job).await
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(&self.readers, TransactionBehavior::Deferred, job).await
    }

    async fn run<T: Send + 'static>(
        &self,
        queue: &mpsc::Sender<Job>,
        behavior: TransactionBehavior,
        job: impl FnOnce(&Tx<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let (metrics, asked, span) = (self.metrics.clone(), Instant::now(), tracing::Span::current());
        let work: Job = Box::new(move |connection| {
            metrics.waited(asked.elapsed());
            // Nobody waits for it any more, and it has not begun: it is as if it never was asked for.
            if answer.is_closed() {
                return;
            }
            // Events are written with the trace of the call.
            let done = span.in_scope(|| transact(connection, behavior, &metrics, job));
            // Who asked may be gone by now; what is committed stays.
            drop(answer.send(done.map_err(StoreError::from)));
        });
        match tokio::time::timeout(PATIENCE, queue.send(work)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(StoreError::Unavailable("the database is closed".into())),
            Err(_) => return Err(StoreError::Unavailable("the database has too much to do".into())),
        }
        // Without an answer it panicked, which its thread has said.
        answered.await.unwrap_or_else(|_| Err(StoreError::Internal("a job of the store panicked".into())))
    }
}

fn spawn(
    name: String,
    mut connection: Connection,
    jobs: Arc<Mutex<mpsc::Receiver<Job>>>,
) -> Result<(), StoreError> {
    let clock = Clock::default();
    connection
        .progress_handler(STEPS, Some(clock.clone().into_alarm()))
        .map_err(|error| sqlite_error("progress handler", &error))?;
    std::thread::Builder::new()
        .name(name)
        .spawn(move || work(connection, &jobs, &clock))
        .map(drop)
        .map_err(|error| StoreError::Unavailable(format!("no thread for the database: {error}")))
}

/// When a connection's present job began, in milliseconds of its own count.
#[derive(Clone)]
struct Clock {
    zero: Instant,
    began: Arc<AtomicU64>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { zero: Instant::now(), began: Arc::default() }
    }
}

impl Clock {
    fn now(&self) -> u64 {
        u64::try_from(self.zero.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn begin(&self) {
        self.began.store(self.now(), Ordering::Relaxed);
    }

    /// Whether the present job has had its time; what runs then is interrupted and undone.
    fn into_alarm(self) -> impl FnMut() -> bool + Send + 'static {
        move || {
            u128::from(self.now().saturating_sub(self.began.load(Ordering::Relaxed))) > LONGEST.as_millis()
        }
    }
}

fn work(mut connection: Connection, jobs: &Mutex<mpsc::Receiver<Job>>, clock: &Clock) {
    loop {
        // Of several threads one waits in the queue, the others for the lock.
        let job = jobs.lock().blocking_recv();
        let Some(job) = job else { return };
        clock.begin();
        // What a job leaves half done is the transaction, which is rolled back as it unwinds.
        if catch_unwind(AssertUnwindSafe(|| job(&mut connection))).is_err() {
            tracing::error!("a job of the store panicked; it did nothing");
        }
    }
}
