//! Socket.IO on two nodes, with the adapter that its documentation has for the database ([perf/peers](../../../peers/README.md)).

use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Child;

use super::arm::{Arm, Sender, Stage};
use crate::database::Database;
use crate::machine::version_of;
use crate::usage::Counted;
use crate::wire::{self, Reader, Writer};
use crate::{Failure, child};

/// How long a process may take to be ready, and to stop.
const PATIENCE: Duration = Duration::from_secs(30);

/// What carries messages from node to node, and whether each is inserted into a table first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SetUp {
    adapter: Adapter,
    durable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Adapter {
    Postgres,
    Redis,
}

impl SetUp {
    pub(super) fn named(name: &str) -> Option<Self> {
        let (adapter, durable) = match name {
            "socketio_postgres" => (Adapter::Postgres, false),
            "socketio_postgres_durable" => (Adapter::Postgres, true),
            "socketio_redis" => (Adapter::Redis, false),
            "socketio_redis_durable" => (Adapter::Redis, true),
            _ => return None,
        };
        Some(Self { adapter, durable })
    }
}

/// Two nodes, and a Redis when that is the adapter.
pub(super) struct SocketIoArm {
    nodes: Vec<Child>,
    urls: Vec<String>,
    redis: Option<Redis>,
    processes: Vec<Counted>,
    rooms: u32,
}

/// The first line of a node.
#[derive(Debug, Deserialize)]
struct Ready {
    url: String,
}

impl SocketIoArm {
    pub(super) async fn start(
        set_up: SetUp,
        peers: &Path,
        database: &Database,
        database_url: &str,
    ) -> Result<Self, Failure> {
        let program = peers.join("socket.io/node_modules/.bin/node");
        if !program.exists() {
            return Err("it is not there: cd perf/peers/socket.io && npm ci".into());
        }
        let redis = match set_up.adapter {
            Adapter::Redis => Some(Redis::start().await?),
            Adapter::Postgres => None,
        };
        let mut arm = Self { nodes: Vec::new(), urls: Vec::new(), redis, processes: Vec::new(), rooms: 0 };
        for number in 1..=2 {
            let mut command = child::command(&program);
            command.arg(peers.join("socket.io/server.js")).args(["--database", database_url]);
            if let Some(redis) = &arm.redis {
                command.args(["--redis", &redis.url]);
            }
            if set_up.durable {
                command.arg("--durable");
            }
            command.env("NODE_ENV", "production").stdin(Stdio::null()).stdout(Stdio::piped());
            let mut child = child::spawn(command).await?;
            let stdout = child.stdout.take().ok_or("a node without stdout")?;
            let mut lines = BufReader::new(stdout).lines();
            let first = tokio::time::timeout(PATIENCE, lines.next_line()).await;
            let first = first.map_err(|_| format!("a node was not ready within {PATIENCE:?}"))??;
            let Ready { url } = serde_json::from_str(&first.ok_or("a node ended before it was ready")?)?;
            arm.urls.push(url);
            // Node's program is a link to the one that runs: there is no shell between.
            let pid = child.id().ok_or("a node ended")?;
            arm.processes.push(Counted::family(&format!("node-{number}"), pid));
            arm.nodes.push(child);
        }
        if set_up.adapter == Adapter::Postgres || set_up.durable {
            arm.processes.push(database.process().await?);
        }
        if let Some(redis) = &arm.redis {
            arm.processes.push(Counted::one("redis", redis.child.id().ok_or("Redis ended")?));
        }
        Ok(arm)
    }

    pub(super) async fn stop(self) -> Result<(), Failure> {
        for node in self.nodes {
            child::end(node, PATIENCE).await?;
        }
        if let Some(redis) = self.redis {
            child::end(redis.child, PATIENCE).await?;
        }
        Ok(())
    }
}

impl Arm for SocketIoArm {
    async fn stage(&mut self, senders: usize, receivers: usize) -> Result<Stage, Failure> {
        let [from, to] = self.urls.as_slice() else { return Err("there are not two nodes".into()) };
        self.rooms += 1;
        let room = format!("room{}", self.rooms);
        let mut receiving = Vec::new();
        for _ in 0..receivers {
            receiving.push(connected(to, &room, true).await?);
        }
        let (mut sending, mut idle) = (Vec::new(), Vec::new());
        for _ in 0..senders {
            let (reader, writer) = connected(from, &room, false).await?;
            sending.push(Sender { writer, frame: Arc::new(|body| format!("42[\"send\",\"{body}\"]")) });
            idle.push(reader);
        }
        Ok(Stage::new(sending, receiving, idle, None))
    }

    fn processes(&self) -> &[Counted] {
        &self.processes
    }
}

/// Connects as Engine.IO 4 and Socket.IO 5 want it, over WebSocket from the start.
async fn connected(url: &str, room: &str, receives: bool) -> Result<(Reader, Writer), Failure> {
    let (mut reader, writer) =
        wire::connect(&format!("{url}/socket.io/?EIO=4&transport=websocket"), &[]).await?;
    reader.find(|message| message.starts_with(b"0{").then_some(())).await?;
    writer.text(&format!("40{{\"room\":\"{room}\",\"receives\":{receives}}}")).await?;
    reader
        .find(|message| match message {
            [b'4', b'0', ..] => Some(Ok(())),
            [b'4', b'4', why @ ..] => Some(Err(String::from_utf8_lossy(why).into_owned())),
            _ => None,
        })
        .await??;
    Ok((reader, writer))
}

/// A Redis that keeps everything in memory, as its documentation has it for messages in passing.
struct Redis {
    child: Child,
    url: String,
}

/// What the system has.
const PROGRAM: &str = "redis-server";

impl Redis {
    async fn start() -> Result<Self, Failure> {
        if version_of(Path::new(PROGRAM), &["--version"]).is_none() {
            return Err("redis-server is not there: apt-get install redis-server".into());
        }
        // A free port, as nobody else asks for it meanwhile.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = child::command(PROGRAM);
        command
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let child = child::spawn(command).await?;
        let end = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            if Instant::now() >= end {
                return Err(format!("Redis did not answer within {PATIENCE:?}").into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(Self { child, url: format!("redis://127.0.0.1:{port}") })
    }
}
