//! Ours: worker nodes of the product, with tasks whose action does nothing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cluster::{Metrics, Notifier, NotifierSettings, Session};
use domain::task::Trigger;
use domain::{NodeId, Role, TaskId, TaskRunId, UserId};
use futures_util::future::try_join_all;
use prometheus::Registry;
use protocol::notify::Kind;
use store::accounts::NewUser;
use store::postgres::{Connector, DatabaseSettings, Postgres};
use store::tasks::NewTaskRun;
use store::{Accounts as _, Tasks as _};
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::arm::{Arm, Purpose, Waits};
use super::database::{self, Driving};
use super::worker::Worker;
use crate::report::histogram;
use crate::scenario::now;
use crate::{Failure, child};

/// People whose tasks they are.
const OWNERS: usize = 10;

/// Queued runs of a task beyond which it takes no more; each has one here.
const MAX_QUEUED: u32 = 100;

/// How long single runs may take to be done.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often what has no bell is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Worker processes, and what each is told beside where the database is. What is best here; `docs/performance.md` says what was tried.
const PROCESSES: usize = 2;
const RATE: &[(&str, &str)] = &[("SCHEDULER__MAX_CONCURRENT", "1000")];
const LATENCY: &[(&str, &str)] = &[];

/// What is measured.
pub(super) struct OwnArm {
    program: PathBuf,
    url: String,
    home: tempfile::TempDir,
    client: Client,
    _driving: Driving,
    queuing: Arc<Queuing>,
    workers: Vec<Worker>,
    /// When the first of what the workers have to do was queued.
    since: Option<String>,
    stop: CancellationToken,
}

/// What queues runs.
struct Queuing {
    store: Postgres,
    notifier: Notifier,
    tasks: Vec<TaskId>,
    next: AtomicUsize,
    /// Single runs, and when each was queued.
    queued: Mutex<HashMap<Uuid, i64>>,
}

impl Queuing {
    /// The tasks that come next, round and round.
    fn next(&self, count: usize) -> Vec<TaskId> {
        let first = self.next.fetch_add(count, Ordering::Relaxed);
        (first..first + count).filter_map(|n| self.tasks.get(n % self.tasks.len()).copied()).collect()
    }

    /// Queues a run as the api does it: by the store, then told to the schedulers.
    async fn queue(&self) -> Result<(), Failure> {
        let Some(task) = self.next(1).pop() else { return Err("there are no tasks".into()) };
        let run = NewTaskRun {
            id: TaskRunId::new(),
            task,
            trigger: Trigger::Manual,
            delivery: None,
            input: None,
            max_queued: MAX_QUEUED,
            trace: None,
        };
        let at = now();
        self.store.queue_task_run(&run).await?;
        self.notifier.notify(Kind::TaskDue, task.0, None);
        self.queued.lock().map_err(|error| error.to_string())?.insert(run.id.0, at);
        Ok(())
    }
}

impl OwnArm {
    /// Migrates the database, and makes so many tasks.
    pub(super) async fn prepare(program: &Path, url: &str, tasks: u32) -> Result<Self, Failure> {
        let settings = DatabaseSettings::with_url(url);
        store::postgres::migrate(&settings).await?;
        let registry = Registry::new();
        let store = Postgres::connect(&settings, &registry).await?;
        let mut owners = Vec::new();
        for number in 0..OWNERS {
            owners.push(owner(&store, number).await?.0);
        }
        let (client, driving) = database::connect(url).await?;
        let made = client
            .query(include_str!("../../../sql/own/make.sql"), &[&i32::try_from(tasks)?, &owners])
            .await?;
        let tasks = made.iter().map(|row| Ok(TaskId(row.try_get(0)?)));
        let tasks = tasks.collect::<Result<Vec<_>, tokio_postgres::Error>>()?;
        let stop = CancellationToken::new();
        let notifier = notifier(&settings, &registry, &stop)?;
        let queuing = Queuing { store, notifier, tasks, next: AtomicUsize::new(0), queued: Mutex::default() };
        Ok(Self {
            program: program.to_owned(),
            url: url.to_owned(),
            home: tempfile::tempdir()?,
            client,
            _driving: driving,
            queuing: Arc::new(queuing),
            workers: Vec::new(),
            since: None,
            stop,
        })
    }

    async fn counted(&self, metric: &str) -> Result<u64, Failure> {
        let mut all = 0.0;
        for worker in &self.workers {
            all += worker.metric(metric).await?;
        }
        Ok(all as u64)
    }
}

impl Drop for OwnArm {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn owner(store: &Postgres, number: usize) -> Result<UserId, Failure> {
    let user = NewUser {
        id: UserId::new(),
        handle: format!("owner{number}"),
        display_name: format!("Owner {number}"),
        // Only administrators have tasks that work on Switchboard itself.
        role: Role::Admin,
        password_hash: "nobody signs in".to_owned(),
    };
    Ok(store.create_user(&user).await?.id)
}

fn notifier(
    settings: &DatabaseSettings,
    registry: &Registry,
    stop: &CancellationToken,
) -> Result<Notifier, Failure> {
    let connector = Connector::new(settings, "notifier")?;
    let connect = move || {
        let connector = connector.clone();
        async move {
            let (client, connection) = connector.connect().await?;
            Ok(Session::new(client, connection))
        }
    };
    let metrics = Metrics::register(registry)?;
    let (notifier, sending) =
        Notifier::new(Arc::new(connect), NodeId::new(), NotifierSettings::default(), metrics);
    tokio::spawn(sending.run(stop.clone()));
    Ok(notifier)
}

impl Arm for OwnArm {
    async fn fill(&mut self, jobs: u32) -> Result<u32, Failure> {
        if self.since.is_none() {
            let now = self.client.query_one(include_str!("../../../sql/own/clock.sql"), &[]).await?;
            self.since = Some(now.try_get(0)?);
        }
        let tasks: Vec<Uuid> = self.queuing.next(jobs as usize).into_iter().map(Uuid::from).collect();
        let filled = self.client.execute(include_str!("../../../sql/own/fill.sql"), &[&tasks]).await?;
        if let Some(task) = tasks.first() {
            self.queuing.notifier.notify(Kind::TaskDue, *task, None);
        }
        Ok(u32::try_from(filled)?)
    }

    fn enqueue(&self) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        let queuing = Arc::clone(&self.queuing);
        async move { queuing.queue().await }
    }

    async fn start(&mut self, purpose: Purpose) -> Result<(), Failure> {
        let told = match purpose {
            Purpose::Rate => RATE,
            Purpose::Latency => LATENCY,
        };
        for number in 0..PROCESSES {
            let mut command = child::command(&self.program);
            command
                .args(["node", "worker", "--tethered"])
                .env("SWITCHBOARD__DATABASE__URL", &self.url)
                .env("SWITCHBOARD__SECRETS__SIGNING_KEY_DIR", self.home.path())
                .env("SWITCHBOARD__CLUSTER__MODE", "multi")
                .env("SWITCHBOARD__CLUSTER__NODE_NAME", format!("worker-{number}"))
                .env("SWITCHBOARD__SCHEDULER__STARTUP_JITTER", "0s")
                // A line for each run that is lost would be a load of its own.
                .env("SWITCHBOARD__LOG__FILTER", "warn,worker::scheduler::lost=error")
                .envs(told.iter().map(|(key, value)| (format!("SWITCHBOARD__{key}"), value)))
                // It drains when this ends: a measurement that is stopped leaves nobody behind.
                .stdin(Stdio::piped());
            self.workers.push(Worker::start(command).await?);
        }
        Ok(())
    }

    fn processes(&self) -> Vec<u32> {
        self.workers.iter().filter_map(Worker::pid).collect()
    }

    async fn stop(&mut self) -> Result<(), Failure> {
        self.since = None;
        // All at once: what one is slow to hand back, others need not wait for.
        try_join_all(self.workers.drain(..).map(Worker::stop)).await?;
        Ok(())
    }

    async fn begun(&mut self) -> Result<u64, Failure> {
        self.counted("switchboard_tasks_claimed_total").await
    }

    async fn drained(&mut self, jobs: u64, limit: Duration) -> Result<(u64, Duration), Failure> {
        let end = Instant::now() + limit;
        let finished = r#"switchboard_tasks_finished_total{status="succeeded"}"#;
        while self.counted(finished).await? < jobs && Instant::now() < end {
            tokio::time::sleep(LOOK).await;
        }
        let row = self.client.query_one(include_str!("../../../sql/own/done.sql"), &[&self.since]).await?;
        let (done, took) = (row.try_get::<_, i64>(0)?, row.try_get::<_, i64>(1)?);
        Ok((u64::try_from(done)?, Duration::from_micros(u64::try_from(took)?)))
    }

    async fn waited(&mut self, jobs: u64) -> Result<Waits, Failure> {
        let queued = std::mem::take(&mut *self.queuing.queued.lock().map_err(|error| error.to_string())?);
        let runs: Vec<Uuid> = queued.keys().copied().collect();
        let end = Instant::now() + PATIENCE;
        let rows = loop {
            let rows = self.client.query(include_str!("../../../sql/own/times.sql"), &[&runs]).await?;
            if rows.len() as u64 >= jobs {
                break rows;
            }
            if Instant::now() > end {
                return Err(format!("{} of {jobs} runs were over within {PATIENCE:?}", rows.len()).into());
            }
            tokio::time::sleep(LOOK).await;
        };
        let (mut started, mut recorded) = (histogram(), histogram());
        for row in rows {
            let (id, begun, over): (Uuid, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            let at = queued.get(&id).ok_or("a run that nobody queued")?;
            started.record(u64::try_from(begun - at).unwrap_or_default().max(1))?;
            recorded.record(u64::try_from(over - at).unwrap_or_default().max(1))?;
        }
        Ok(Waits { started, recorded: Some(recorded) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::arm;
    use super::super::database::Database;
    use super::*;

    /// The statements that prepare a measurement go by the tables of the product, which change.
    #[tokio::test]
    async fn tasks_are_made_and_their_runs_queued_in_line() {
        let database = Database::start().await.expect("a server");
        let url = database.renewed().await.expect("a database");
        let mut arm = OwnArm::prepare(Path::new("switchboard"), &url, 40).await.expect("tasks");
        assert_eq!(arm.fill(30).await.expect("filled"), 30);
        assert_eq!(arm.fill(30).await.expect("filled"), 10, "one run of a task at a time");
        arm.stop().await.expect("nobody to stop");
        let (client, _driving) = database::connect(&url).await.expect("a connection");
        let turns = "SELECT count(DISTINCT turn) FROM task_queue WHERE state = 'ready'";
        assert_eq!(arm::number(&client, turns).await.expect("a count"), 4, "ten owners, four runs of each");
        let empty = "DELETE FROM task_queue WHERE state = 'ready'";
        client.batch_execute(empty).await.expect("emptied");
        arm.enqueue().await.expect("queued as the api does it");
        let ready = "SELECT count(*) FROM task_queue WHERE state = 'ready'";
        assert_eq!(arm::number(&client, ready).await.expect("a count"), 1);
        database.stop().await.expect("stopped");
    }
}
