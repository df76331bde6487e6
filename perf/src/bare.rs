//! The bare minimum, as a process of its own: what the machine allows to whoever keeps messages in PostgreSQL and writes them to sockets.
//!
//! - At `/relay` a message that comes is inserted and notified in one commit; every node that listens writes it to all of its sockets.
//!   No rooms, no rights, no numbers, nothing for those who lost their connection.
//! - At `/echo` fastwebsockets answers each message with itself.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastwebsockets::{Frame, OpCode, Payload, Role, WebSocket};
use futures_util::stream;
use futures_util::{StreamExt, future};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Child;
use tokio_postgres::{AsyncMessage, NoTls, Statement};

use crate::wire::{ACCEPT, read_head};
use crate::{Failure, child};

/// Connections of one process to the database: each carries one commit at a time.
const WRITERS: usize = 4;

/// How long a process may take to be ready.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is told to the process.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Where messages are kept; without it there is only `/echo`.
    #[arg(long)]
    database: Option<String>,
}

/// The first line of the process.
#[derive(Debug, Serialize, Deserialize)]
struct Ready {
    url: String,
}

/// A process as it was started.
pub(crate) struct Process {
    child: Child,
    /// `ws://HOST:PORT`
    pub(crate) url: String,
}

impl Process {
    /// Starts this program once more.
    pub(crate) async fn start(database: Option<&str>) -> Result<Self, Failure> {
        let program: PathBuf = std::env::current_exe()?;
        let mut command = child::command(program);
        command.arg("bare");
        if let Some(url) = database {
            command.args(["--database", url]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = child::spawn(command).await?;
        let stdout = child.stdout.take().ok_or("a process without stdout")?;
        let mut lines = BufReader::new(stdout).lines();
        let first = tokio::time::timeout(PATIENCE, lines.next_line()).await;
        let first = first.map_err(|_| format!("it was not ready within {PATIENCE:?}"))??;
        let Ready { url } = serde_json::from_str(&first.ok_or("it ended before it was ready")?)?;
        Ok(Self { child, url })
    }

    pub(crate) fn pid(&self) -> Result<u32, Failure> {
        Ok(self.child.id().ok_or("the bare process has ended")?)
    }

    pub(crate) async fn stop(mut self) -> Result<(), Failure> {
        Ok(self.child.kill().await?)
    }
}

/// Sockets that get what is notified.
#[derive(Default)]
struct Sockets(Mutex<Vec<Arc<tokio::sync::Mutex<OwnedWriteHalf>>>>);

impl Sockets {
    fn add(&self, socket: Arc<tokio::sync::Mutex<OwnedWriteHalf>>) {
        if let Ok(mut all) = self.0.lock() {
            all.push(socket);
        }
    }

    async fn write(&self, text: &str) {
        let mut bytes = Vec::new();
        Frame::text(Payload::Borrowed(text.as_bytes())).write(&mut bytes);
        let all = self.0.lock().map(|all| all.clone()).unwrap_or_default();
        let mut gone = Vec::new();
        for socket in all {
            if socket.lock().await.write_all(&bytes).await.is_err() {
                gone.push(socket);
            }
        }
        if let Ok(mut all) = self.0.lock() {
            all.retain(|socket| !gone.iter().any(|other| Arc::ptr_eq(other, socket)));
        }
    }
}

/// Connections that commit, in turn.
struct Writers {
    all: Vec<(tokio_postgres::Client, Statement)>,
    next: std::sync::atomic::AtomicUsize,
}

impl Writers {
    async fn keep(&self, text: &str) -> Result<(), Failure> {
        let n = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let Some((client, insert)) = self.all.get(n % self.all.len().max(1)) else {
            return Err("there is no database".into());
        };
        client.query_one(insert, &[&text]).await?;
        Ok(())
    }
}

/// Serves until its stdin ends: it does not outlive who started it.
pub(crate) async fn serve(options: &Options) -> Result<(), Failure> {
    let sockets = Arc::new(Sockets::default());
    let mut writers = Writers { all: Vec::new(), next: 0.into() };
    if let Some(url) = &options.database {
        for _ in 0..WRITERS {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            tokio::spawn(connection);
            let insert = client.prepare(include_str!("../sql/bare/insert_notify.sql")).await?;
            writers.all.push((client, insert));
        }
        listen(url, Arc::clone(&sockets)).await?;
    }
    let writers = Arc::new(writers);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("ws://{}", listener.local_addr()?);
    println!("{}", serde_json::to_string(&Ready { url })?);
    let accepting = async {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let (sockets, writers) = (Arc::clone(&sockets), Arc::clone(&writers));
            tokio::spawn(async move {
                if let Err(error) = connection(stream, &sockets, &writers).await {
                    eprintln!("bare: {error}");
                }
            });
        }
    };
    let left = tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    future::select(Box::pin(accepting), left).await;
    Ok(())
}

/// Hears of messages, and writes them to all sockets.
async fn listen(url: &str, sockets: Arc<Sockets>) -> Result<(), Failure> {
    let (client, mut connection) = tokio_postgres::connect(url, NoTls).await?;
    let mut messages = Box::pin(stream::poll_fn(move |context| connection.poll_message(context)));
    tokio::spawn(async move {
        let listening = client.batch_execute(include_str!("../sql/bare/listen.sql"));
        // The answer comes by the same connection.
        let hearing = async {
            while let Some(Ok(message)) = messages.next().await {
                if let AsyncMessage::Notification(notification) = message {
                    sockets.write(notification.payload()).await;
                }
            }
        };
        let (heard, ()) = future::join(listening, hearing).await;
        if let Err(error) = heard {
            eprintln!("bare: {error}");
        }
    });
    Ok(())
}

async fn connection(mut stream: TcpStream, sockets: &Sockets, writers: &Writers) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let (head, _) = read_head(&mut stream).await?;
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-accept: {ACCEPT}\r\n\r\n"
    );
    stream.write_all(answer.as_bytes()).await?;
    if head.starts_with("GET /echo ") {
        return echo(WebSocket::after_handshake(stream, Role::Server)).await;
    }
    let (read, write) = stream.into_split();
    let (mut read, _) = fastwebsockets::after_handshake_split(read, tokio::io::sink(), Role::Server);
    if head.starts_with("GET /relay?receives ") {
        sockets.add(Arc::new(tokio::sync::Mutex::new(write)));
        // It says nothing; its end is seen when it is written to.
        return Ok(());
    }
    loop {
        let mut nothing_to_send = |_| async { Ok::<(), fastwebsockets::WebSocketError>(()) };
        // Its end is no fault.
        let Ok(frame) = read.read_frame(&mut nothing_to_send).await else { return Ok(()) };
        if frame.opcode == OpCode::Text {
            writers.keep(std::str::from_utf8(&frame.payload)?).await?;
        }
    }
}

async fn echo(mut socket: WebSocket<TcpStream>) -> Result<(), Failure> {
    socket.set_auto_close(true);
    // Its end is no fault.
    while let Ok(frame) = socket.read_frame().await {
        if frame.opcode == OpCode::Close {
            break;
        }
        socket.write_frame(frame).await?;
        socket.flush().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire;

    /// The statements and both paths work, in one process.
    #[tokio::test]
    async fn what_is_sent_is_kept_and_comes_to_those_who_receive() {
        let database = crate::database::Database::start().await.expect("a server");
        let url = database.renewed().await.expect("a database");
        let (client, _driving) = crate::database::connect(&url).await.expect("a connection");
        client.batch_execute(include_str!("../sql/bare/schema.sql")).await.expect("a table");
        let (client_of_node, connection) = tokio_postgres::connect(&url, NoTls).await.expect("a connection");
        tokio::spawn(connection);
        let insert =
            client_of_node.prepare(include_str!("../sql/bare/insert_notify.sql")).await.expect("prepared");
        let writers = Arc::new(Writers { all: vec![(client_of_node, insert)], next: 0.into() });
        let sockets = Arc::new(Sockets::default());
        listen(&url, Arc::clone(&sockets)).await.expect("listens");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let at = format!("ws://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (sockets, writers) = (Arc::clone(&sockets), Arc::clone(&writers));
                tokio::spawn(async move { connection_of_test(stream, &sockets, &writers).await });
            }
        });
        let (mut receiver, _keep) =
            wire::connect(&format!("{at}/relay?receives"), &[]).await.expect("connected");
        let (_reader, sender) = wire::connect(&format!("{at}/relay"), &[]).await.expect("connected");
        // LISTEN may still be under way: it is sent until it comes.
        let came = receiver.find(|message| (message == b"hello").then_some(()));
        let sending = async {
            loop {
                sender.text("hello").await.expect("sent");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::select! { came = came => came.expect("it came"), () = sending => {} }
        let kept = client.query_one("SELECT count(*) FROM bare_messages", &[]).await.expect("a count");
        assert!(kept.get::<_, i64>(0) >= 1);
        let (mut echoed, writer) = wire::connect(&format!("{at}/echo"), &[]).await.expect("connected");
        writer.text("again").await.expect("sent");
        echoed.find(|message| (message == b"again").then_some(())).await.expect("echoed");
        database.stop().await.expect("stopped");
    }

    async fn connection_of_test(stream: TcpStream, sockets: &Sockets, writers: &Writers) {
        if let Err(error) = connection(stream, sockets, writers).await {
            eprintln!("bare: {error}");
        }
    }
}
