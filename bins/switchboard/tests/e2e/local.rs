//! `switchboard cluster`: a whole cluster with its own PostgreSQL, as people start it.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use client::Api;
use client::api::{NewMessage, NewRoom, Range};
use domain::{AgentId, RoomId};
use localpg::tether::{self, OnParentDeath};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::postgres::TestDatabase;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::program::{Ran, lives, open_dir, program, run};

/// How long a start or a stop of everything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

const PASSWORD: &str = "correct horse battery";

/// A cluster that runs, and everything that it said.
struct Local {
    child: Child,
    told: Value,
    dir: PathBuf,
    said: PathBuf,
}

impl Local {
    /// Starts one on a data directory, and waits until it is ready.
    async fn start(dir: &Path, arguments: &str) -> Self {
        let mut child = spawn(dir, arguments, dir.join("said")).await;
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let read = timeout(PATIENCE, out.read_line(&mut line)).await.expect("ready in time");
        let said = dir.join("said");
        assert!(read.expect("readable") > 0, "it ended: {}", fs::read_to_string(&said).unwrap_or_default());
        let told = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        Self { child, told, dir: dir.join("data"), said }
    }

    /// `switchboard cluster ACTION` on this cluster.
    async fn order(&self, action: &str) -> Ran {
        run(program(&format!("cluster {action} --data-dir {}", self.dir.display()))).await
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.said).expect("what it said")
    }

    /// Waits until it has said this.
    async fn until_said(&self, text: &str) {
        let waiting = async {
            while !self.said().contains(text) {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{text:?} is not in {}", self.said()));
    }

    /// What runs where at the moment.
    fn state(&self) -> Value {
        let text = fs::read_to_string(self.dir.join("state.json")).expect("a state");
        serde_json::from_str(&text).expect("JSON")
    }

    /// A node of the present state.
    fn node(&self, name: &str) -> Value {
        let state = self.state();
        let nodes = ["api", "gateway", "worker"].into_iter().flat_map(|role| state[role].as_array().cloned());
        let found = nodes.flatten().find(|node| node["node"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {state}"))
    }

    /// The process of a node.
    fn process(&self, name: &str) -> Pid {
        let pid = self.node(name)["pid"].as_i64().and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
        pid.unwrap_or_else(|| panic!("{name} is down"))
    }

    fn api(&self, name: &str) -> Api {
        Api::new(self.node(name)["url"].as_str().expect("a URL")).expect("a good one")
    }

    /// Every process of it but its own: nodes, postmaster.
    fn pids(&self) -> Vec<u32> {
        let state = self.state();
        let nodes = ["api", "gateway", "worker"].into_iter().flat_map(|role| state[role].as_array().cloned());
        let nodes = nodes.flatten().filter_map(|node| node["pid"].as_u64());
        let mut pids: Vec<u32> = nodes.map(|pid| u32::try_from(pid).expect("a pid")).collect();
        let postmaster =
            fs::read_to_string(self.dir.join("postgres/data/postmaster.pid")).unwrap_or_default();
        pids.extend(postmaster.lines().next().and_then(|pid| pid.parse::<u32>().ok()));
        pids
    }

    /// SIGTERM to the owner of it all.
    fn terminate(&self) {
        let pid = self.child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)).expect("it runs");
        kill_process(pid, Signal::TERM).expect("told");
    }

    /// SIGTERM, and the end of it.
    async fn stop(&mut self) -> ExitStatus {
        self.terminate();
        timeout(PATIENCE, self.child.wait()).await.expect("stopped in time").expect("its end")
    }
}

/// Starts the program with its standard output piped, and its standard error in a file. It stops with the test.
async fn spawn(dir: &Path, arguments: &str, said: PathBuf) -> Child {
    let mut command: Command = tether::command(env!("CARGO_BIN_EXE_switchboard"), OnParentDeath::Terminate);
    let clean = program("");
    for (name, value) in clean.get_envs() {
        if value.is_none() {
            command.env_remove(name);
        }
    }
    command
        .args(["cluster", "--json", "--data-dir"])
        .arg(dir.join("data"))
        .args(arguments.split_whitespace())
        .env("SWITCHBOARD__AUTH__ARGON2_MEMORY_KIB", "64")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(said).expect("a file"));
    tether::spawn(command).await.expect("the program runs")
}

/// Waits until none of these processes runs.
async fn until_gone(pids: &[u32]) {
    let waiting = async {
        while pids.iter().copied().any(lives) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("of {pids:?} some are left"));
}

async fn status(url: &Value, path: &str) -> Result<u16, reqwest::Error> {
    let url = format!("{}{path}", url.as_str().expect("a URL"));
    Ok(reqwest::get(url).await?.status().as_u16())
}

#[tokio::test]
async fn cluster_starts_takes_orders_stops_and_keeps_what_it_had() {
    let place: TempDir = open_dir();
    let mut local = Local::start(place.path(), "--api 1 --gateway 1 --worker 1").await;
    assert_eq!(local.told, local.state());
    for (role, name, scheme) in [("api", "api-1", "http://127."), ("gateway", "gateway-1", "ws://127.")] {
        let nodes = local.told[role].as_array().expect("a list");
        assert_eq!(nodes.len(), 1);
        assert!(nodes[0]["url"].as_str().is_some_and(|url| url.starts_with(scheme)), "{nodes:?}");
        assert_eq!(nodes[0]["node"], name);
        assert!(lives(u32::try_from(nodes[0]["pid"].as_u64().expect("a pid")).expect("a pid")));
        assert_eq!(status(&nodes[0]["admin"], "/healthz/ready").await.expect("an answer"), 200);
    }
    assert!(local.told["gateway"][0]["url"].as_str().is_some_and(|url| url.ends_with("/v1/gateway")));
    assert!(local.told["worker"][0]["url"].is_null(), "a worker has no URL for clients");
    assert!(local.told["database_url"].as_str().is_some_and(|url| url.starts_with("postgres://")));
    let alex = local.api("api-1").register("alex", PASSWORD, None, None).await.expect("registration is open");

    looked_into(&local, place.path()).await;
    kill_and_restart(&local).await;

    let added = local.order("add api").await.good();
    assert!(added.out.starts_with("api-2 is ready at http://"), "{added:?}");
    let again = local.api("api-2").with_token(&alex.access_token).me().await.expect("one cluster");
    assert_eq!(again.handle, "alex");

    let taken = format!("cluster --data-dir {}", local.dir.display());
    let owner = local.child.id().expect("it runs").to_string();
    run(program(&taken)).await.refused(1, &["runs on", &owner, "--data-dir"]);

    let pids = local.pids();
    assert_eq!(pids.len(), 5, "four nodes and PostgreSQL");
    assert!(local.stop().await.success(), "{}", local.said());
    assert!(!pids.into_iter().any(lives), "{}", local.said());
    assert!(local.said().trim_end().ends_with("stopped"), "{}", local.said());
    for left in ["state.json", "control.sock"] {
        assert!(!local.dir.join(left).exists(), "{left} is left");
    }
    local.order("kill api-1").await.refused(1, &["no cluster runs on"]);
    let named = format!("nodes --data-dir {}", local.dir.display());
    run(program(&named)).await.refused(1, &["no cluster runs on", "--data-dir"]);

    let mut second = Local::start(place.path(), "--api 1 --gateway 1 --worker 0").await;
    second.until_said("--worker 0").await;
    let api = second.api("api-1");
    let me = api.with_token(&alex.access_token).me().await.expect("the same keys");
    assert_eq!(me.handle, "alex", "the same data");
    assert!(second.dir.join("logs/gateway-1.log.old").exists());
    assert!(second.stop().await.success());
}

async fn kill_and_restart(local: &Local) {
    let before = local.node("gateway-1");
    let killed = local.order("kill gateway-1").await.good();
    assert_eq!(killed.out, "gateway-1 is down\n");
    assert!(!lives(u32::try_from(before["pid"].as_u64().expect("a pid")).expect("a pid")));
    status(&before["admin"], "/healthz/live").await.expect_err("nobody listens");
    assert!(local.node("gateway-1")["pid"].is_null());
    let again = local.order("kill gateway-1").await.good();
    assert_eq!(again.out, "gateway-1 is down already\n");

    let restarted = local.order("restart gateway-1").await.good();
    assert!(restarted.out.starts_with("gateway-1 is ready at ws://"), "{restarted:?}");
    let after = local.node("gateway-1");
    assert_eq!((&after["url"], &after["admin"]), (&before["url"], &before["admin"]), "at the same addresses");
    assert_ne!(after["pid"], before["pid"]);
    // One that runs is drained first.
    local.order("restart gateway-1").await.good();
    let log = fs::read_to_string(local.dir.join("logs/gateway-1.log")).expect("its log");
    assert!(log.contains("SIGTERM"), "{log}");

    local.order("kill postgres").await.good();
    assert_eq!(status(&after["admin"], "/healthz/ready").await.expect("an answer"), 503);
    local.order("restart postgres").await.good();
    local.order("kill nobody").await.refused(1, &["no node nobody", "api-1, gateway-1, worker-1, postgres"]);
}

/// Commands of administrators find the cluster: named, or alone in its default place.
async fn looked_into(local: &Local, place: &Path) {
    let dir = local.dir.display().to_string();
    let keys = local.dir.join("keys").canonicalize().expect("its keys").display().to_string();
    // Where `.switchboard/cluster` is this cluster, nobody has to name it.
    let default = place.join("default/.switchboard");
    fs::create_dir_all(&default).expect("made");
    std::os::unix::fs::symlink(&local.dir, default.join("cluster")).expect("linked");
    let beside = |arguments: &str| {
        let mut command = program(arguments);
        command.current_dir(place.join("default")).env("SWITCHBOARD__AUTH__ARGON2_MEMORY_KIB", "64");
        command
    };
    let database = local.told["database_url"].as_str().expect("a URL");
    let sessions = "SELECT DISTINCT usename FROM pg_stat_activity WHERE application_name = 'switchboard/store' ORDER BY 1";
    let users = localpg::query(database, sessions).await.expect("an answer");
    let users: Vec<String> = users.into_iter().flatten().flatten().collect();
    assert_eq!(users, ["node_api", "node_gateway", "node_worker"], "each works as a user of its role");
    for found in [
        program(&format!("doctor --data-dir {dir}")),
        beside("doctor"),
        beside(&format!("doctor --database-url {database}")),
    ] {
        let ran = run(found).await.good();
        assert!(ran.out.contains(&format!("keys        1 in {keys}")), "{ran:?}");
    }
    for found in [program(&format!("nodes --data-dir {dir}")), beside("nodes")] {
        let ran = run(found).await.good();
        assert!(ran.out.contains("gateway-1") && ran.out.contains("worker-1"), "{ran:?}");
        assert!(!ran.out.contains("data"), "what was found is told on standard error: {ran:?}");
    }
    for found in [program(&format!("keys list --data-dir {dir}")), beside("keys list")] {
        assert!(run(found).await.good().out.contains(" active "));
    }
    let added = run(beside("user add robin")).await.good();
    assert!(added.err.contains(".switchboard/cluster"), "who was not named is told: {added:?}");
    assert!(run(program(&format!("migrate --data-dir {dir}"))).await.good().out.starts_with("nothing to do"));

    // What is named by other means is not looked for there.
    let other = beside("nodes --database-url postgres://alex@127.0.0.1:1/chat");
    run(other).await.refused(1, &["postgres://alex@127.0.0.1:1/chat"]);
    let mut other = beside("keys list");
    other.env("SWITCHBOARD__SECRETS__SIGNING_KEY_DIR", place.join("none"));
    assert!(run(other).await.good().out.contains("there are no keys yet"));
    let both = format!("nodes --data-dir {dir} --database-url postgres://alex@127.0.0.1:1/chat");
    run(program(&both)).await.refused(2, &["--data-dir", "--database-url"]);
}

#[tokio::test]
async fn cluster_brings_a_demo_agent_when_asked_which_stays_the_same() {
    let place = open_dir();
    let mut local = Local::start(place.path(), "--api 1 --gateway 1 --worker 0 --demo-agent").await;
    assert_eq!(local.told, local.state());
    let agent = local.told["demo_agent"].clone();
    assert_eq!(agent["handle"], "demo");
    let file = local.dir.join("demo-agent.token");
    assert_eq!(fs::metadata(&file).expect("a token").permissions().mode() & 0o777, 0o600);
    let token = fs::read_to_string(&file).expect("a token");
    assert!(token.starts_with("swa_") && !local.said().contains(token.trim()), "{}", local.said());

    let id: AgentId = agent["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    let alex = local.api("api-1");
    alex.register("alex", PASSWORD, None, None).await.expect("registration is open");
    let room = alex.create_room(&NewRoom::group("Lunch", []), None).await.expect("a room").id;
    alex.add_agent(room, id).await.expect("added");
    answered(&alex, room, "@demo good morning").await;
    assert!(local.stop().await.success(), "{}", local.said());

    // Again with its token, and with another one when that is lost.
    let mut again = Local::start(place.path(), "--api 1 --gateway 1 --worker 0 --demo-agent").await;
    assert_eq!(again.told["demo_agent"], agent);
    assert_eq!(fs::read_to_string(&file).expect("a token"), token);
    assert!(again.stop().await.success());
    fs::remove_file(&file).expect("there");
    let mut again = Local::start(place.path(), "--api 1 --gateway 1 --worker 0 --demo-agent").await;
    assert_eq!(again.told["demo_agent"], agent);
    assert_ne!(fs::read_to_string(&file).expect("a token"), token);
    let alex = again.api("api-1");
    alex.login("alex", PASSWORD, None).await.expect("the same data");
    answered(&alex, room, "@demo count to 3").await;
    assert!(again.stop().await.success());
    let mut without = Local::start(place.path(), "--api 1 --gateway 1 --worker 0").await;
    assert!(without.told["demo_agent"].is_null());
    assert!(without.stop().await.success());
}

/// Says something in a room, and waits until the next run there has succeeded.
async fn answered(api: &Api, room: RoomId, body: &str) {
    let said = api.send_message(room, &NewMessage::new(body)).await.expect("taken").event.seq;
    let waiting = async {
        loop {
            let page = api.events(room, &Range::After(said), None).await.expect("a page");
            if let Some(finished) = page.items.iter().find(|event| event.kind == "run.finished") {
                break serde_json::from_str::<Value>(finished.data.get()).expect("JSON");
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let finished = timeout(PATIENCE, waiting).await.expect("an answer");
    assert_eq!(finished["status"], "succeeded");
}

#[tokio::test]
async fn cluster_runs_on_when_nobody_can_be_told() {
    let place = open_dir();
    // Each write to it fails, as to a pipe whose reader has gone.
    let mut child = spawn(place.path(), "--api 1 --gateway 1 --worker 1", PathBuf::from("/dev/full")).await;
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    timeout(PATIENCE, out.read_line(&mut line)).await.expect("ready in time").expect("readable");
    let told = serde_json::from_str(&line).expect("JSON");
    let mut local = Local { child, told, dir: place.path().join("data"), said: PathBuf::from("/dev/null") };
    local.order("restart worker-1").await.good();
    assert!(local.stop().await.success());
}

#[tokio::test]
async fn cluster_a_node_that_ends_by_itself_is_told_and_none_outlives_its_owner() {
    let place = open_dir();
    let mut local = Local::start(place.path(), "--api 1 --gateway 1 --worker 1").await;
    kill_process(local.process("worker-1"), Signal::KILL).expect("killed");
    local.until_said("worker-1 ended by itself (signal: 9 (SIGKILL))").await;
    local.until_said("switchboard cluster restart worker-1 --data-dir").await;
    let back = local.order("restart worker-1").await.good();
    assert!(back.out.starts_with("worker-1 is ready at http://"), "{back:?}");

    let pids = local.pids();
    assert_eq!(pids.len(), 4);
    local.child.kill().await.expect("killed");
    until_gone(&pids).await;
    local.order("restart worker-1").await.refused(1, &["no cluster runs on"]);

    // What it left lying about is no obstacle.
    let mut second = Local::start(place.path(), "--api 1 --gateway 1 --worker 1").await;
    assert!(second.stop().await.success());
}

#[tokio::test]
async fn cluster_a_second_signal_kills_what_does_not_stop() {
    let (place, database) = (open_dir(), TestDatabase::empty().await);
    let arguments = format!("--api 1 --gateway 1 --worker 1 --database-url {}", database.url());
    let mut local = Local::start(place.path(), &arguments).await;
    let pids = local.pids();
    // It takes no SIGTERM.
    kill_process(local.process("gateway-1"), Signal::STOP).expect("frozen");
    local.terminate();
    local.until_said("api-1 ended (exit status: 0)").await;
    assert!(!local.said().contains("gateway-1 ended"), "{}", local.said());
    assert!(local.stop().await.success(), "{}", local.said());
    assert!(local.said().contains("gateway-1 ended (signal: 9 (SIGKILL))"), "{}", local.said());
    assert!(!pids.into_iter().any(lives));
}

#[tokio::test]
async fn cluster_that_can_not_start_says_why_and_leaves_nothing() {
    let (place, database) = (open_dir(), TestDatabase::empty().await);
    let arguments = |more: &str| {
        format!(
            "cluster --json --data-dir {}/data --database-url {} {more}",
            place.path().display(),
            database.url()
        )
    };
    let held = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = held.local_addr().expect("an address").port().to_string();
    let private = format!("cluster --data-dir {}/private --port-base {port}", place.path().display());
    let taken = run(program(&private)).await;
    assert!(!place.path().join("private/postgres").exists(), "ports are looked at first: {taken:?}");
    taken.refused(1, &["api-1", &port, "--port-base"]);
    let taken = run(program(&arguments(&format!("--port-base {port}")))).await;
    assert!(taken.out.is_empty(), "{taken:?}");
    taken.refused(1, &["api-1", &port, "--port-base"]);

    // Good as far as the configuration alone can tell.
    let config = place.path().join("switchboard.toml");
    fs::write(&config, "[signing_key]\ndriver = \"postgres\"\n").expect("written");
    let more = format!("--api 1 --gateway 1 --worker 1 --config {}", config.display());
    let ran = run(program(&arguments(&more))).await;
    assert!(ran.out.is_empty(), "{ran:?}");
    let ended = ran.err.clone();
    ran.refused(1, &["-1 ended before it was ready", "secrets.seal_key", "-1.log"]);
    assert!(ended.trim_end().lines().any(|line| line.ends_with("stopped")), "{ended}");
    let nodes = localpg::query(&database.url(), "SELECT name FROM nodes").await.expect("migrated");
    assert!(nodes.is_empty(), "the others left in order: {nodes:?}");
    for bad in ["--api 51", "--api 0", "--gateway 0"] {
        let option = bad.split(' ').next().expect("an option");
        run(program(&format!("cluster {bad}"))).await.refused(2, &[option, "1 to 50"]);
    }
    run(program("cluster --worker 51")).await.refused(2, &["--worker", "0 to 50"]);
}

/// The first of so many ports that are free.
fn free_ports(count: u16) -> u16 {
    let free = |port| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
    let base =
        (0..1000).map(|_| rand::random_range(10_000..20_000)).find(|base| (*base..base + count).all(free));
    base.expect("free ports in a row")
}

#[tokio::test]
async fn cluster_waits_for_ports_of_nodes_that_drain_and_names_one_that_is_not_let_go() {
    let place = open_dir();
    let config = place.path().join("slow.toml");
    fs::write(&config, "[shutdown]\nlead = \"1s\"\ndeadline = \"3s\"\nspread = \"0s\"\n").expect("written");
    let base = free_ports(5);
    let arguments =
        format!("--api 1 --gateway 1 --worker 1 --port-base {base} --config {}", config.display());
    let mut first = Local::start(place.path(), &arguments).await;
    let before = first.pids();
    first.child.kill().await.expect("killed");
    // Its nodes notice, and drain for a second.
    let mut second = Local::start(place.path(), &arguments).await;
    let waited = format!("port {base} is still used by api-1 of the run before");
    assert!(second.said().contains(&waited), "{}", second.said());
    assert_eq!(second.node("api-1")["url"], first.told["api"][0]["url"]);
    assert!(!before.iter().copied().any(lives), "all of them are gone");

    assert!(second.stop().await.success(), "{}", second.said());

    // As a node that hangs would leave it: we are the process that has its port.
    let held = std::net::TcpListener::bind(("127.0.0.1", base + 2)).expect("free again");
    let (port, ours) = (held.local_addr().expect("an address").port(), std::process::id());
    let left = json!({ "gateway": [
        { "node": "gateway-1", "url": format!("ws://127.0.0.1:{port}/v1/gateway"), "admin": "http://127.0.0.1:1", "pid": ours },
    ] });
    fs::write(second.dir.join("state.json"), left.to_string()).expect("written");
    let third = run(program(&format!("cluster {arguments} --data-dir {}", second.dir.display()))).await;
    assert!(!third.err.contains("starting PostgreSQL"), "{third:?}");
    third.refused(1, &["gateway-1", &port.to_string(), &format!("process {ours}"), "--port-base"]);
}

#[tokio::test]
async fn cluster_runs_on_a_database_that_is_given() {
    let (place, database) = (open_dir(), TestDatabase::empty().await);
    let arguments = format!("--api 1 --gateway 1 --worker 1 --database-url {}", database.url());
    let mut local = Local::start(place.path(), &arguments).await;
    assert_eq!(local.told["database_url"], database.url());
    assert!(!local.dir.join("postgres").exists());
    local.order("kill postgres").await.refused(1, &["no node postgres", "api-1, gateway-1, worker-1"]);
    let mut nodes = program("nodes");
    nodes.env("SWITCHBOARD__DATABASE__URL", database.url());
    let shown = run(nodes).await.good().out;
    assert!(shown.contains("api-1") && shown.contains("worker-1"), "{shown}");
    assert!(local.stop().await.success());
}
