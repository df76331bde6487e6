//! A local cluster of its own for each scenario.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::Failure;

/// One node, as `switchboard cluster --json` names it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Node {
    #[serde(default)]
    pub(crate) url: String,
    pub(crate) pid: u32,
}

#[derive(Debug, Deserialize)]
struct Nodes {
    api: Vec<Node>,
    gateway: Vec<Node>,
}

/// A running cluster; its data is gone when it stops.
pub(crate) struct Cluster {
    pub(crate) api: Vec<Node>,
    pub(crate) gateway: Vec<Node>,
    child: Child,
    _data: tempfile::TempDir,
}

impl Cluster {
    /// Starts one and waits until every node is ready.
    pub(crate) async fn start(program: Option<&Path>) -> Result<Self, Failure> {
        let program = program_of_choice(program)?;
        eprintln!("starting a cluster with {} ...", program.display());
        let data = tempfile::tempdir()?;
        let mut child = Command::new(&program)
            .args(["cluster", "--json", "--data-dir"])
            .arg(data.path())
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
        let Nodes { api, gateway } = serde_json::from_str(&first)?;
        if api.len() < 2 || gateway.len() < 2 {
            return Err("a cluster of two api and two gateway nodes is needed".into());
        }
        Ok(Self { api, gateway, child, _data: data })
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
