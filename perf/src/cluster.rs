//! What is measured: a local cluster of its own for each scenario, or a deployment that runs already.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use client::Api;
use domain::DeviceKind;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::people::{self, Person};
use crate::usage::Counted;
use crate::{Failure, database, metrics};

/// One node, as `switchboard cluster --json` names it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Node {
    /// Of api and gateway nodes.
    #[serde(default)]
    pub(crate) url: String,
    /// Its name; empty where it is not ours.
    pub(crate) node: String,
    admin: String,
    pub(crate) pid: u32,
}

impl Node {
    /// A node of which only the address is known.
    fn elsewhere(url: &str) -> Self {
        Self { url: url.to_owned(), node: String::new(), admin: String::new(), pid: 0 }
    }

    /// A metric as it stands; zero while it is not there.
    pub(crate) async fn metric(&self, name: &str) -> Result<f64, Failure> {
        Ok(self.metrics().await?.value(name).unwrap_or_default())
    }

    /// All metrics as they stand.
    pub(crate) async fn metrics(&self) -> Result<metrics::Page, Failure> {
        let admin = self.admin.strip_prefix("http://").ok_or("no address of the admin listener")?;
        Ok(metrics::page(admin.parse()?).await?)
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

/// A deployment that runs already.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) api: Vec<String>,
    pub(crate) gateway: Vec<String>,
    /// Of the person in whose name all is done; without it people are registered.
    pub(crate) token: Option<String>,
}

/// What is measured. A cluster of ours is gone with its data when it stops.
pub(crate) struct Cluster {
    pub(crate) api: Vec<Node>,
    pub(crate) gateway: Vec<Node>,
    pub(crate) worker: Vec<Node>,
    /// Everybody is this person, where nobody can be registered.
    guest: Option<Api>,
    own: Option<Own>,
}

/// What only a cluster of ours has.
struct Own {
    program: PathBuf,
    database_url: String,
    child: Child,
    data: tempfile::TempDir,
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
        let own = Own { program: program.to_owned(), database_url, child, data };
        Ok(Self { api, gateway, worker, guest: None, own: Some(own) })
    }

    /// One that runs already. Of two nodes of a kind one may be named twice.
    pub(crate) fn at(target: &Target) -> Result<Self, Failure> {
        let nodes = |urls: &[String]| -> Vec<Node> {
            // Scenarios go from the first to the second.
            urls.iter().cycle().take(urls.len().max(2)).map(|url| Node::elsewhere(url)).collect()
        };
        let (api, gateway) = (nodes(&target.api), nodes(&target.gateway));
        let first = api.first().ok_or("--api names no node")?;
        if gateway.is_empty() {
            return Err("--gateway names no node".into());
        }
        let guest =
            target.token.as_ref().map(|token| Ok::<_, Failure>(Api::new(&first.url)?.with_token(token)));
        Ok(Self { api, gateway, worker: Vec::new(), guest: guest.transpose()?, own: None })
    }

    /// Somebody with a device, who talks to this api node.
    pub(crate) async fn person(&self, node: usize, kind: DeviceKind) -> Result<Person, Failure> {
        let url = &self.api[node % self.api.len()].url;
        match &self.guest {
            Some(guest) => people::again(&guest.at(url)?, kind).await,
            None => people::register(&Api::new(url)?, kind).await,
        }
    }

    /// The same, with connections to the api node that all share who are made so.
    pub(crate) async fn person_by(&self, api: &Api, kind: DeviceKind) -> Result<Person, Failure> {
        match &self.guest {
            Some(guest) => people::again(&guest.at(api.base())?, kind).await,
            None => people::register(api, kind).await,
        }
    }

    /// The address of its database.
    ///
    /// # Errors
    ///
    /// It is not ours.
    pub(crate) fn database_url(&self) -> Result<&str, Failure> {
        Ok(&self.own.as_ref().ok_or("this needs a cluster of its own")?.database_url)
    }

    /// Stops a node in order and starts it again at the same address.
    pub(crate) async fn restart(&self, node: &str) -> Result<(), Failure> {
        let own = self.own.as_ref().ok_or("this needs a cluster of its own")?;
        let mut command = Command::new(&own.program);
        command.args(["cluster", "restart", node, "--data-dir"]).arg(own.data.path());
        let output = command.output().await?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("{node} can't be restarted: {}", String::from_utf8_lossy(&output.stderr)).into())
    }

    /// Its processes, by what they are called in results; none where they are not ours.
    pub(crate) async fn processes(&self) -> Result<Vec<Counted>, Failure> {
        let Some(own) = &self.own else { return Ok(Vec::new()) };
        let (client, _driving) = database::connect(&own.database_url).await?;
        let nodes = self.api.iter().chain(&self.gateway).chain(&self.worker);
        let nodes = nodes.map(|node| Counted::one(&node.node, node.pid));
        let postgres = Counted::family("postgres", database::postmaster(&client).await?);
        Ok(nodes.chain([postgres]).collect())
    }

    /// Stops it in order; one that is not ours runs on.
    pub(crate) async fn stop(self) -> Result<(), Failure> {
        let Some(mut own) = self.own else { return Ok(()) };
        let Some(pid) = own.child.id() else { return Ok(()) };
        Command::new("kill").args(["-TERM", &pid.to_string()]).status().await?;
        tokio::time::timeout(Duration::from_secs(60), own.child.wait())
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
