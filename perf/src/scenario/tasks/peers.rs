//! The peers: worker processes that tell in lines of JSON what they do ([perf/peers](../../../peers/README.md)).

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio_postgres::Client;

use super::arm::{self, Arm, Purpose, Waits};
use super::database::{self, Driving};
use crate::report::histogram;
use crate::scenario::now;
use crate::{Failure, child};

/// How long a process may take to stop, and jobs to begin.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a peer is started.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    /// By which results know it.
    pub(super) id: &'static str,
    /// With its version.
    pub(super) name: &'static str,
    /// The program below `perf/peers`, with what comes before its options.
    program: &'static [&'static str],
    /// What is done when the program is not there.
    pub(super) missing: &'static str,
    rate: SetUp,
    latency: SetUp,
}

/// Processes, and what each is told.
#[derive(Debug, Clone, Copy)]
struct SetUp {
    processes: usize,
    options: &'static [&'static str],
}

/// The peers, each as it is best here (`perf/peers/README.md` says what was tried).
pub(super) const PEERS: [Peer; 2] = [
    Peer {
        id: "graphile_worker_rust",
        name: "graphile_worker 0.14.1 (Rust)",
        program: &["graphile_worker/target/release/perf-graphile-worker"],
        missing: "cd perf/peers/graphile_worker && cargo build --release --locked",
        rate: SetUp {
            processes: 2,
            options: &["--concurrency=24", "--connections=25", "--queue=5000", "--gather=5"],
        },
        latency: SetUp {
            processes: 1,
            options: &["--concurrency=16", "--connections=25", "--queue=100", "--gather=5", "--poll=500"],
        },
    },
    Peer {
        id: "graphile_worker_node",
        name: "graphile-worker 0.18.0 (Node.js)",
        program: &["graphile-worker/node_modules/.bin/node", "graphile-worker/worker.js"],
        missing: "cd perf/peers/graphile-worker && npm ci",
        rate: SetUp {
            processes: 2,
            options: &["--concurrency=24", "--connections=25", "--queue=5000", "--gather=5"],
        },
        latency: SetUp {
            processes: 1,
            options: &["--concurrency=24", "--connections=25", "--queue=500", "--gather=-1"],
        },
    },
];

impl Peer {
    /// The program and what comes first, if all of it is there.
    pub(super) fn found(&self, peers: &Path) -> Option<Vec<PathBuf>> {
        let paths: Vec<PathBuf> = self.program.iter().map(|path| peers.join(path)).collect();
        paths.iter().all(|path| path.exists()).then_some(paths)
    }
}

/// One line of a worker.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
enum Line {
    /// It looks for jobs.
    Ready { ready: i64 },
    /// Jobs begun so far and, of those that say when they were queued, the new waits in microseconds.
    Begun { started: u64, waited: Vec<i64> },
}

/// A peer that is measured.
pub(super) struct PeerArm {
    peer: Peer,
    command: Vec<PathBuf>,
    url: String,
    client: Arc<Client>,
    _driving: Driving,
    workers: Vec<Child>,
    told: Told,
}

/// What the workers told since they were started.
#[derive(Default)]
struct Told {
    lines: Option<mpsc::UnboundedReceiver<(usize, Line)>>,
    ready: Option<i64>,
    started: Vec<u64>,
    waited: Vec<i64>,
}

impl Told {
    fn take(&mut self, (worker, line): (usize, Line)) {
        match line {
            Line::Ready { ready } => self.ready = Some(self.ready.map_or(ready, |first| first.min(ready))),
            Line::Begun { started, waited } => {
                if let Some(count) = self.started.get_mut(worker) {
                    *count = started;
                }
                self.waited.extend(waited);
            }
        }
    }

    fn begun(&self) -> u64 {
        self.started.iter().sum()
    }

    /// Takes what was told already.
    fn catch_up(&mut self) {
        while let Some(line) = self.lines.as_mut().and_then(|lines| lines.try_recv().ok()) {
            self.take(line);
        }
    }

    /// Takes lines until it is enough; false when `limit` is over first.
    async fn until(&mut self, limit: Duration, enough: impl Fn(&Self) -> bool) -> Result<bool, Failure> {
        let end = Instant::now() + limit;
        while !enough(self) {
            let Some(lines) = self.lines.as_mut() else { return Err("no worker was started".into()) };
            match tokio::time::timeout_at(end.into(), lines.recv()).await {
                Ok(Some(line)) => self.take(line),
                Ok(None) => return Err("the workers ended".into()),
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl PeerArm {
    /// Prepares the peer's tables.
    pub(super) async fn prepare(peer: &Peer, command: Vec<PathBuf>, url: &str) -> Result<Self, Failure> {
        let mut migrating = program(&command)?;
        migrating.args(["--database", url, "--migrate-only"]);
        let migrated = child::spawn(migrating).await?.wait().await?;
        if !migrated.success() {
            return Err(format!("its tables can't be made: {migrated}").into());
        }
        let (client, driving) = database::connect(url).await?;
        Ok(Self {
            peer: peer.clone(),
            command,
            url: url.to_owned(),
            client: Arc::new(client),
            _driving: driving,
            workers: Vec::new(),
            told: Told::default(),
        })
    }
}

fn program(command: &[PathBuf]) -> Result<Command, Failure> {
    let (program, first) = command.split_first().ok_or("a peer without a program")?;
    let mut command = child::command(program);
    // What its own measurements are made with: no line for each job.
    command.args(first).envs([("NO_LOG_SUCCESS", "1"), ("NODE_ENV", "production")]);
    Ok(command)
}

impl Arm for PeerArm {
    async fn fill(&mut self, jobs: u32) -> Result<u32, Failure> {
        let sql = include_str!("../../../sql/peers/fill.sql");
        let row = self.client.query_one(sql, &[&i32::try_from(jobs)?]).await?;
        Ok(u32::try_from(row.try_get::<_, i64>(0)?)?)
    }

    fn enqueue(&self) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        let client = Arc::clone(&self.client);
        async move {
            client.query_one(include_str!("../../../sql/peers/enqueue.sql"), &[&now()]).await?;
            Ok(())
        }
    }

    async fn start(&mut self, purpose: Purpose) -> Result<(), Failure> {
        let set_up = match purpose {
            Purpose::Rate => self.peer.rate,
            Purpose::Latency => self.peer.latency,
        };
        let (tell, lines) = mpsc::unbounded_channel();
        self.told = Told { lines: Some(lines), started: vec![0; set_up.processes], ..Told::default() };
        for worker in 0..set_up.processes {
            let mut command = program(&self.command)?;
            command.args(["--database", &self.url]).args(set_up.options);
            command.stdin(Stdio::null()).stdout(Stdio::piped());
            let mut child = child::spawn(command).await?;
            let stdout = child.stdout.take().ok_or("a worker without stdout")?;
            let tell = tell.clone();
            tokio::spawn(async move {
                let mut lines = BufReader::new(stdout).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    match serde_json::from_str(&line) {
                        Ok(line) => drop(tell.send((worker, line))),
                        Err(error) => eprintln!("perf: a worker says {line:?}: {error}"),
                    }
                }
            });
            self.workers.push(child);
        }
        Ok(())
    }

    fn processes(&self) -> Vec<u32> {
        self.workers.iter().filter_map(Child::id).collect()
    }

    async fn stop(&mut self) -> Result<(), Failure> {
        for worker in self.workers.drain(..) {
            if !child::end(worker, PATIENCE).await? {
                // How long it takes to stop is not what is measured.
                eprintln!("perf: a worker did not stop within {PATIENCE:?}, and was killed");
            }
        }
        Ok(())
    }

    async fn begun(&mut self) -> Result<u64, Failure> {
        self.told.catch_up();
        Ok(self.told.begun())
    }

    async fn drained(&mut self, jobs: u64, limit: Duration) -> Result<(u64, Duration), Failure> {
        let end = Instant::now() + limit;
        let all = self.told.until(limit, |told| told.begun() >= jobs).await?;
        // All have begun; the last completions are on their way.
        let mut left = arm::number(&self.client, include_str!("../../../sql/peers/left.sql")).await?;
        while all && left > 0 && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(10)).await;
            left = arm::number(&self.client, include_str!("../../../sql/peers/left.sql")).await?;
        }
        let ready = self.told.ready.ok_or("no worker looks for jobs")?;
        let took = Duration::from_micros(u64::try_from(now() - ready)?);
        Ok((jobs.saturating_sub(u64::try_from(left)?), took))
    }

    async fn waited(&mut self, jobs: u64) -> Result<Waits, Failure> {
        let count = usize::try_from(jobs)?;
        if !self.told.until(PATIENCE, |told| told.waited.len() >= count).await? {
            return Err(format!("{} of {jobs} jobs began within {PATIENCE:?}", self.told.waited.len()).into());
        }
        let mut started = histogram();
        for wait in self.told.waited.drain(..) {
            started.record(u64::try_from(wait).unwrap_or_default().max(1))?;
        }
        Ok(Waits { started, recorded: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_add_up_over_workers() {
        let mut told = Told { started: vec![0, 0], ..Told::default() };
        for (worker, line) in [
            (0, r#"{"ready":20}"#),
            (1, r#"{"ready":10}"#),
            (0, r#"{"started":3,"waited":[5]}"#),
            (1, r#"{"started":4,"waited":[]}"#),
            (0, r#"{"started":8,"waited":[6,7]}"#),
        ] {
            told.take((worker, serde_json::from_str(line).expect("a line")));
        }
        assert_eq!((told.ready, told.begun(), told.waited), (Some(10), 12, vec![5, 6, 7]));
    }

    #[test]
    fn a_peer_that_is_not_built_is_missing() {
        let empty = tempfile::tempdir().expect("a directory");
        for peer in PEERS {
            assert_eq!(peer.found(empty.path()), None, "{}", peer.name);
        }
    }
}
