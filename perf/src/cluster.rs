//! What is measured: a local cluster of its own for each scenario, or a deployment that runs already.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use client::socket::SocketError;
use client::{Api, Credential, Socket};
use domain::DeviceKind;
use protocol::Encoding;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::child::{self, Signal};
use crate::failure::{Failure, Unusable};
use crate::people::{self, Person};
use crate::usage::Counted;
use crate::{database, metrics};

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

    /// Has the process stand still until the answer is dropped.
    pub(crate) fn freeze(&self) -> Result<Frozen, Failure> {
        child::signal(self.pid, Signal::STOP)?;
        Ok(Frozen(self.pid))
    }
}

/// A process that stands still. One that is left so could not be stopped in order.
pub(crate) struct Frozen(u32);

impl Drop for Frozen {
    fn drop(&mut self) {
        if let Err(error) = child::signal(self.0, Signal::CONT) {
            eprintln!("perf: process {} stands still: {error}", self.0);
        }
    }
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

impl Target {
    /// Looks whether all of it is there and takes the token, before anything is measured.
    pub(crate) async fn look(&self) -> Result<(), Failure> {
        for url in &self.api {
            let bad = |why: String| Unusable::because(format!("--target-api {url}: {why}"));
            let api = Api::new(url).map_err(|error| bad(error.to_string()))?;
            let signed_in = self.token.as_ref().map_or_else(|| api.clone(), |token| api.with_token(token));
            let asked = timeout(LOOK, signed_in.me()).await;
            match asked.map_err(|_| bad(format!("no answer within {LOOK:?}")))? {
                Ok(_) => {}
                Err(error) if error.status() != Some(401) => return Err(bad(error.to_string())),
                // Whoever says so is an api node.
                Err(_) if self.token.is_none() => {}
                Err(error) => {
                    return Err(Unusable::because(format!(
                        "--target-token (or PERF_TOKEN): {url} says {error}"
                    )));
                }
            }
        }
        for url in &self.gateway {
            let bad = |why: String| Unusable::because(format!("--target-gateway {url}: {why}"));
            let token = self.token.clone().unwrap_or_else(|| "nobody".to_owned());
            let credential = Credential::Bearer(token);
            let asked = timeout(LOOK, Socket::connect(url, &credential, Encoding::Json)).await;
            match asked.map_err(|_| bad(format!("no answer within {LOOK:?}")))? {
                Ok(_) => {}
                // Whoever says so is a gateway.
                Err(SocketError::Refused { status: 401, .. }) if self.token.is_none() => {}
                Err(error) => return Err(bad(format!("{error} (it is like ws://HOST:PORT/v1/gateway)"))),
            }
        }
        Ok(())
    }
}

/// How long a node of a deployment may take for an answer.
const LOOK: Duration = Duration::from_secs(10);

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

impl Drop for Own {
    fn drop(&mut self) {
        child::end_while_dropped(&mut self.child, PATIENCE);
    }
}

/// How long a cluster may take to stop.
const PATIENCE: Duration = Duration::from_secs(60);

impl Cluster {
    /// Starts one and waits until every node is ready.
    pub(crate) async fn start(program: &Path, shape: &Shape) -> Result<Self, Failure> {
        eprintln!("starting a cluster with {} ...", program.display());
        let data = tempfile::tempdir()?;
        let mut command = child::command_of_parent(program);
        command
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
            .stdout(Stdio::piped());
        let started = child::spawn(command).await;
        let mut child = started.map_err(|error| format!("can't start {}: {error}", program.display()))?;
        let stdout = child.stdout.take().ok_or("the cluster has no stdout")?;
        let mut lines = BufReader::new(stdout).lines();
        let first = timeout(Duration::from_secs(120), lines.next_line())
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
        let first = api.first().ok_or("--target-api names no node")?;
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
        child::signal(pid, Signal::TERM)?;
        let ended = timeout(PATIENCE, own.child.wait()).await;
        ended.map_err(|_| format!("the cluster did not stop within {PATIENCE:?}"))??;
        Ok(())
    }
}

/// The `switchboard` program: the given one, or the one built beside this one.
pub(crate) fn program_of_choice(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(program) = given else { return beside_this_one() };
    if !program.is_file() {
        return Err(Unusable::because(format!("--switchboard {}: there is no such file", program.display())));
    }
    Ok(program.to_owned())
}

fn beside_this_one() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()?.with_file_name("switchboard");
    if program.exists() {
        Ok(program)
    } else {
        let build = if cfg!(debug_assertions) { "cargo build" } else { "cargo build --release" };
        let why =
            format!("{} is not there: {build} -p switchboard, or --switchboard PATH", program.display());
        Err(Unusable::because(why))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A server that answers each request so.
    async fn server(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        address.to_string()
    }

    const SIGN_IN: &str = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/problem+json\r\ncontent-length: 51\r\n\
        connection: close\r\n\r\n{\"code\":\"unauthenticated\",\"detail\":\"sign in, then\"}";
    const NOWHERE: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

    async fn looked(api: &str, gateway: &str, token: Option<&str>) -> String {
        let target = Target {
            api: vec![format!("http://{api}")],
            gateway: vec![format!("ws://{gateway}/v1/gateway")],
            token: token.map(str::to_owned),
        };
        match target.look().await {
            Ok(()) => String::new(),
            Err(failure) => {
                assert!(failure.is::<Unusable>(), "{failure}");
                failure.to_string()
            }
        }
    }

    #[tokio::test]
    async fn what_is_wrong_with_a_target_is_said_by_its_option() {
        let (node, other) = (server(SIGN_IN).await, server(NOWHERE).await);
        // Nobody listens there any more.
        let gone = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port")
            .local_addr()
            .expect("an address")
            .to_string();
        assert_eq!(looked(&node, &node, None).await, "");
        for (api, gateway, token, expected) in [
            (&gone, &node, None, format!("--target-api http://{gone}: no answer")),
            (&other, &node, None, format!("--target-api http://{other}: 404")),
            (&node, &gone, None, format!("--target-gateway ws://{gone}/v1/gateway: unreachable")),
            (&node, &other, None, format!("--target-gateway ws://{other}/v1/gateway: refused with 404")),
            (&node, &node, Some("wrong"), format!("--target-token (or PERF_TOKEN): http://{node} says 401")),
        ] {
            let said = looked(api, gateway, token).await;
            assert!(said.starts_with(&expected), "{said}, not {expected}");
            assert!(!said.contains("wrong"), "a token is nobody's business: {said}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_said_by_its_option() {
        let failure = program_of_choice(Some(Path::new("/nowhere/switchboard"))).expect_err("not there");
        assert!(failure.is::<Unusable>());
        assert_eq!(failure.to_string(), "--switchboard /nowhere/switchboard: there is no such file");
    }
}
