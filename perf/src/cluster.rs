//! A local cluster of its own for each scenario.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::{Failure, metrics};

/// One node, as `switchboard cluster --json` names it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Node {
    #[serde(default)]
    pub(crate) url: String,
    admin: String,
    pub(crate) pid: u32,
}

impl Node {
    /// A metric as it stands; zero while it is not there.
    pub(crate) async fn metric(&self, name: &str) -> Result<f64, Failure> {
        let admin = self.admin.strip_prefix("http://").ok_or("no address of the admin listener")?;
        Ok(metrics::metric(admin.parse()?, name).await?)
    }

    /// Has the process stand still, or go on.
    pub(crate) async fn signal(&self, signal: Signal) -> Result<(), Failure> {
        let signal = match signal {
            Signal::Stop => "-STOP",
            Signal::Continue => "-CONT",
        };
        let sent = Command::new("kill").args([signal, &self.pid.to_string()]).status().await?;
        if sent.success() { Ok(()) } else { Err(format!("kill {signal}: {sent}").into()) }
    }
}

/// What a process is told.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Signal {
    Stop,
    Continue,
}

/// What a cluster is to be: how many nodes of each role, and settings by the names of their variables.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) api: usize,
    pub(crate) gateway: usize,
    pub(crate) worker: usize,
    pub(crate) settings: Vec<(&'static str, String)>,
}

impl Default for Shape {
    fn default() -> Self {
        Self { api: 2, gateway: 2, worker: 2, settings: Vec::new() }
    }
}

#[derive(Debug, Deserialize)]
struct Nodes {
    database_url: String,
    api: Vec<Node>,
    gateway: Vec<Node>,
    worker: Vec<Node>,
}

/// A running cluster; its data is gone when it stops.
pub(crate) struct Cluster {
    pub(crate) database_url: String,
    pub(crate) api: Vec<Node>,
    pub(crate) gateway: Vec<Node>,
    pub(crate) worker: Vec<Node>,
    child: Child,
    _data: tempfile::TempDir,
}

impl Cluster {
    /// Starts one and waits until every node is ready.
    pub(crate) async fn start(program: &Path, shape: &Shape) -> Result<Self, Failure> {
        eprintln!("starting a cluster with {} ...", program.display());
        let data = tempfile::tempdir()?;
        let mut child = Command::new(program)
            .args(["cluster", "--json", "--data-dir"])
            .arg(data.path())
            .args(["--api".to_owned(), shape.api.to_string()])
            .args(["--gateway".to_owned(), shape.gateway.to_string()])
            .args(["--worker".to_owned(), shape.worker.to_string()])
            // People are made by the hundred here, from one address.
            .envs([
                ("SWITCHBOARD__AUTH__RATE", "100000"),
                ("SWITCHBOARD__AUTH__BURST", "100000"),
                ("SWITCHBOARD__AUTH__ARGON2_MEMORY_KIB", "64"),
                ("SWITCHBOARD__AUTH__ARGON2_ITERATIONS", "1"),
                ("SWITCHBOARD__GATEWAY__FRAME_RATE", "1000000"),
                ("SWITCHBOARD__GATEWAY__FRAME_BURST", "1000000"),
                ("SWITCHBOARD__LOG__FILTER", "warn"),
            ])
            .envs(shape.settings.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("can't start {}: {error}", program.display()))?;
        let stdout = child.stdout.take().ok_or("the cluster has no stdout")?;
        let mut lines = BufReader::new(stdout).lines();
        let first = tokio::time::timeout(Duration::from_secs(120), lines.next_line())
            .await
            .map_err(|_| "the cluster did not get ready within two minutes")??
            .ok_or("the cluster ended before it was ready")?;
        let Nodes { database_url, api, gateway, worker } = serde_json::from_str(&first)?;
        Ok(Self { database_url, api, gateway, worker, child, _data: data })
    }

    /// Stops it in order.
    pub(crate) async fn stop(mut self) -> Result<(), Failure> {
        let Some(pid) = self.child.id() else { return Ok(()) };
        Command::new("kill").args(["-TERM", &pid.to_string()]).status().await?;
        tokio::time::timeout(Duration::from_secs(60), self.child.wait())
            .await
            .map_err(|_| "the cluster did not stop within a minute")??;
        Ok(())
    }
}

/// The `switchboard` program: the given one, or the one built beside this one.
pub(crate) fn program_of_choice(given: Option<&Path>) -> Result<PathBuf, Failure> {
    given.map_or_else(beside_this_one, |program| Ok(program.to_owned()))
}

fn beside_this_one() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()?.with_file_name("switchboard");
    if program.exists() {
        Ok(program)
    } else {
        Err(format!("{} is not there: cargo build --release -p switchboard", program.display()).into())
    }
}
