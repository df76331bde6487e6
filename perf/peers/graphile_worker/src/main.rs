//! One worker process of `graphile_worker` whose only job does nothing. Tells what it does in lines of JSON:
//!
//! - `{"ready":T}`: when it began to look for jobs, in microseconds since 1970;
//! - `{"started":N,"waited":[...]}`: jobs begun so far and, of those that say when they were queued since the line
//!   before, for how many microseconds each waited.
//!
//! Ends in order on SIGTERM.

use std::io::Write;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use graphile_worker::{IntoTaskHandlerResult, LocalQueueConfig, TaskHandler, WorkerContext, WorkerOptions};
use serde::{Deserialize, Serialize};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How often it tells what it did.
const TELL: Duration = Duration::from_millis(10);

#[derive(Parser)]
struct Arguments {
    /// PostgreSQL.
    #[arg(long)]
    database: String,
    /// Prepare the database and end.
    #[arg(long)]
    migrate_only: bool,
    /// Jobs at once.
    #[arg(long, default_value_t = 24)]
    concurrency: usize,
    /// Connections at most.
    #[arg(long, default_value_t = 25)]
    connections: u32,
    /// Jobs fetched at once by each local queue; 0 for none.
    #[arg(long, default_value_t = 500)]
    queue: usize,
    /// Local queues.
    #[arg(long, default_value_t = 1)]
    queues: usize,
    /// Milliseconds for which completions are gathered; -1 for none.
    #[arg(long, default_value_t = 5, allow_negative_numbers = true)]
    gather: i64,
    /// How often it looks without being woken, in milliseconds.
    #[arg(long, default_value_t = 1000)]
    poll: u64,
}

/// What was done since it was last told.
#[derive(Clone, Debug, Default)]
struct Done(Arc<Mutex<Counts>>);

#[derive(Debug, Default, Serialize)]
struct Counts {
    started: u64,
    waited: Vec<i64>,
}

#[derive(Serialize, Deserialize)]
struct Noop {
    /// When it was queued, in microseconds since 1970.
    at: Option<i64>,
}

impl TaskHandler for Noop {
    const IDENTIFIER: &'static str = "noop";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let Some(done) = context.get_ext::<Done>() else { return Err("nobody counts".to_owned()) };
        let mut counts = done.0.lock().map_err(|error| error.to_string())?;
        counts.started += 1;
        if let Some(at) = self.at {
            counts.waited.push(now() - at);
        }
        Ok(())
    }
}

/// Microseconds since 1970.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as i64
}

#[tokio::main]
async fn main() -> ExitCode {
    match work(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn work(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let done = Done::default();
    let mut options = WorkerOptions::default()
        .database_url(&arguments.database)
        .max_pg_conn(arguments.connections)
        .concurrency(arguments.concurrency)
        .poll_interval(Duration::from_millis(arguments.poll))
        .add_extension(done.clone())
        .define_job::<Noop>();
    if let Ok(gather) = u64::try_from(arguments.gather) {
        let gather = Duration::from_millis(gather);
        options = options.complete_job_batch_delay(gather).fail_job_batch_delay(gather);
    }
    if arguments.queue > 0 {
        let queue = LocalQueueConfig::default().with_size(arguments.queue).with_queue_count(arguments.queues);
        options = options.local_queue(queue);
    }
    let worker = options.init().await?;
    if arguments.migrate_only {
        return Ok(());
    }
    println!("{{\"ready\":{}}}", now());
    let telling = tokio::spawn({
        let done = done.clone();
        let mut told = 0;
        async move {
            loop {
                tokio::time::sleep(TELL).await;
                told = tell(&done, told);
            }
        }
    });
    let worked = worker.run().await;
    telling.abort();
    tell(&done, 0);
    Ok(worked?)
}

/// Tells what was done, if it is more than `told`; gives the count that was told.
fn tell(done: &Done, told: u64) -> u64 {
    let Ok(mut counts) = done.0.lock() else { return told };
    let started = counts.started;
    if started != told {
        let waited = std::mem::take(&mut counts.waited);
        let told = Counts { started, waited };
        drop(counts);
        if let Ok(line) = serde_json::to_string(&told) {
            println!("{line}");
            drop(std::io::stdout().flush());
        }
    }
    started
}
