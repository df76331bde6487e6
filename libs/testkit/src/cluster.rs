//! A cluster of real processes, with everything that can happen to them.
//!
//! Nodes are processes of the `switchboard` binary with the role as a hidden subcommand, as `switchboard cluster` starts them,
//! told what to do by environment alone. Each works in the database as a user who may do what its role may; one that is refused there
//! for that fails the test at its end, whatever the node made of it. Each has addresses of its own that stay the same when it is killed and
//! started again. What they print is in `target/testkit/logs/<test>/<node>.log`, and its end is shown when the
//! test fails. All of them are killed when the cluster is dropped, and when the test process is.
//!
//! One process with its embedded database can stand for all of them ([`ClusterOptions::embedded`]): a test of what does not depend on how many
//! nodes there are runs on both.

mod clock;
mod node;
mod options;

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use std::{fs, thread};

use node::{Node, Role};
pub use options::ClusterOptions;
use options::Keeping;
use tempfile::TempDir;
use tokio::process::Command;

use crate::postgres::{TestDatabase, url_of_role};
use crate::proxy::Proxy;
use crate::workspace;

/// How long a node may take to be ready, or to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a node logs when the database refuses something to its user.
const DENIED: &str = "the database does not let its user do";

/// Running nodes. They are named by role and number: `api-1`, `gateway-2`, `worker-1`.
#[derive(Debug)]
pub struct TestCluster {
    nodes: Vec<Node>,
    dir: PathBuf,
    keeping: Kept,
}

/// What a cluster has to itself as long as it lives.
#[derive(Debug)]
enum Kept {
    Postgres { url: String, _database: Option<TestDatabase> },
    Embedded(TempDir),
}

impl TestCluster {
    /// Migrates the database and starts every node; returns when all are ready.
    ///
    /// # Panics
    ///
    /// When one of them can't, with the end of its log.
    pub async fn start(options: ClusterOptions) -> Self {
        let dir = workspace::log_dir();
        let keys = dir.join("keys");
        // As the product asks for where it keeps secrets.
        let made = fs::DirBuilder::new().mode(0o700).create(&keys);
        made.unwrap_or_else(|error| panic!("cannot make {}: {error}", keys.display()));
        let binary = options.binary();
        let mut nodes = Vec::new();
        let keeping = match &options.keeping {
            Keeping::Postgres(database) => {
                migrate(&binary, database).await;
                for (role, count) in options.counts() {
                    let url = url_of_role(database, role.name()).await;
                    for number in 1..=count {
                        nodes.push(Node::new(role, number, &binary, &dir, &options, &url));
                    }
                }
                Kept::Postgres { url: database.clone(), _database: options.database }
            }
            Keeping::Embedded => {
                let folder = tempfile::tempdir().expect("a folder for the database");
                nodes.push(Node::alone(&binary, &dir, &options, folder.path()));
                Kept::Embedded(folder)
            }
        };
        // From here on its drop ends them.
        let mut cluster = Self { nodes, dir, keeping };
        for node in &mut cluster.nodes {
            node.spawn().await;
        }
        for node in &mut cluster.nodes {
            node.until_ready().await;
        }
        cluster
    }

    /// The URL of the PostgreSQL database, past the nodes' proxies; `None` with an embedded one.
    #[must_use]
    pub fn database_url(&self) -> Option<&str> {
        match &self.keeping {
            Kept::Postgres { url, .. } => Some(url),
            Kept::Embedded(_) => None,
        }
    }

    /// The file of the embedded database; `None` with PostgreSQL.
    #[must_use]
    pub fn database_file(&self) -> Option<PathBuf> {
        match &self.keeping {
            Kept::Postgres { .. } => None,
            Kept::Embedded(folder) => Some(folder.path().join(".switchboard/switchboard.db")),
        }
    }

    /// Where the HTTP of an api node is: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn api_url(&self, number: usize) -> String {
        format!("http://{}", self.node(&format!("api-{number}")).listen())
    }

    /// Where the WebSocket of a gateway node is: `ws://127.0.0.1:PORT/v1/gateway`.
    #[must_use]
    pub fn gateway_url(&self, number: usize) -> String {
        format!("ws://{}/v1/gateway", self.node(&format!("gateway-{number}")).listen())
    }

    /// Where its nodes keep their keys and logs.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The names of all nodes.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.nodes.iter().map(Node::name).collect()
    }

    /// A node's process, while it runs.
    #[must_use]
    pub fn pid(&self, name: &str) -> Option<u32> {
        self.node(name).pid()
    }

    /// `kill -9`; returns when the process is gone.
    pub async fn kill(&mut self, name: &str) {
        self.node_mut(name).kill().await;
    }

    /// `SIGTERM`; returns when the process has ended, with how.
    ///
    /// # Panics
    ///
    /// When it does not end within a minute.
    pub async fn stop(&mut self, name: &str) -> ExitStatus {
        let node = self.node_mut(name);
        node.terminate();
        node.until_ended().await
    }

    /// `SIGTERM` without waiting, to watch a node drain; [`TestCluster::until_ended`] waits.
    pub fn terminate(&self, name: &str) {
        self.node(name).terminate();
    }

    /// Waits until a node's process has ended, by itself or after [`TestCluster::terminate`].
    ///
    /// # Panics
    ///
    /// When it does not end within a minute.
    pub async fn until_ended(&mut self, name: &str) -> ExitStatus {
        self.node_mut(name).until_ended().await
    }

    /// Freezes a node (`SIGSTOP`): its connections stay open, and nothing of it answers.
    pub fn pause(&self, name: &str) {
        self.node(name).pause();
    }

    /// Lets a frozen node go on (`SIGCONT`).
    pub fn resume(&self, name: &str) {
        self.node(name).resume();
    }

    /// Starts a node again at its addresses; returns when it is ready.
    ///
    /// # Panics
    ///
    /// When it runs already, or does not become ready.
    pub async fn start_again(&mut self, name: &str) {
        let node = self.node_mut(name);
        node.spawn().await;
        node.until_ready().await;
    }

    /// Stops a node (`SIGTERM`) and starts another binary in its place, as a deploy does; returns when it is ready.
    ///
    /// # Panics
    ///
    /// When it does not end well within a minute, or the other one does not become ready.
    pub async fn replace(&mut self, name: &str, binary: &Path) {
        let status = self.stop(name).await;
        assert!(status.success(), "{name}: {status}\n{}", self.log(name));
        self.node_mut(name).set_binary(binary);
        self.start_again(name).await;
    }

    /// Starts a node again at its addresses, and does not wait: for nodes that are not to become ready.
    ///
    /// # Panics
    ///
    /// When it runs already.
    pub async fn launch(&mut self, name: &str) {
        self.node_mut(name).spawn().await;
    }

    /// The directory of the signing keys of all nodes.
    #[must_use]
    pub fn key_dir(&self) -> PathBuf {
        self.dir.join("keys")
    }

    /// Waits until a node says that it is ready.
    ///
    /// # Panics
    ///
    /// When it does not within a minute, or ends.
    pub async fn until_ready(&mut self, name: &str) {
        self.node_mut(name).until_ready().await;
    }

    /// Waits until a node says that it is not ready, and gives its reason.
    ///
    /// # Panics
    ///
    /// When it stays ready for a minute, or ends.
    pub async fn until_not_ready(&mut self, name: &str) -> String {
        self.node_mut(name).until_not_ready().await
    }

    /// The answer of a node's admin listener: `/metrics`, `/healthz/live`.
    ///
    /// # Errors
    ///
    /// When it can't be asked.
    pub async fn admin(&self, name: &str, path: &str) -> std::io::Result<(u16, String)> {
        crate::http::get(self.node(name).admin(), path).await
    }

    /// The proxy between a node and the database; there is one with [`ClusterOptions::database_through_proxies`].
    ///
    /// # Panics
    ///
    /// Without it.
    #[must_use]
    pub fn database_of(&self, name: &str) -> &Proxy {
        self.node(name).proxy().unwrap_or_else(|| panic!("{name} has no proxy; see database_through_proxies"))
    }

    /// What a node has printed so far.
    #[must_use]
    pub fn log(&self, name: &str) -> String {
        self.node(name).log()
    }

    fn node(&self, name: &str) -> &Node {
        let found = self.nodes.iter().find(|node| node.answers_to(name));
        found.unwrap_or_else(|| panic!("there is no node {name}, but {:?}", self.names()))
    }

    fn node_mut(&mut self, name: &str) -> &mut Node {
        let known = format!("{:?}", self.names());
        let found = self.nodes.iter_mut().find(|node| node.answers_to(name));
        found.unwrap_or_else(|| panic!("there is no node {name}, but {known}"))
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        if thread::panicking() {
            for node in &self.nodes {
                eprintln!("{}", node.log_tail());
            }
        }
        for node in &mut self.nodes {
            node.end();
        }
        drop(fs::remove_dir_all(self.dir.join("keys")));
        if !thread::panicking() {
            self.nodes.iter().for_each(Node::check_rights);
        }
    }
}

async fn migrate(binary: &Path, database_url: &str) {
    let mut command = Command::new(binary);
    node::clean_environment(&mut command);
    let output = command
        .args(["migrate", "--create-roles"])
        .env("SWITCHBOARD__DATABASE__URL", database_url)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", binary.display()));
    assert!(
        output.status.success(),
        "{} migrate: {}\n{}{}",
        binary.display(),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
