//! How `kill`, `restart` and `add` reach the cluster that runs: a Unix socket in its data directory.
//!
//! A connection carries one request, one line (`restart api-1`), and its answer: a first line `ok` or `error`, then
//! text until the end. Only the user who runs the cluster can connect. The socket is served by the process that owns
//! the nodes, which does what is asked one after the other; whoever asked waits.

use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::error::{ClusterError, Context};
use super::home::socket_path;
use super::plan::Role;

/// No request is longer, and none takes longer to send.
const LONGEST: u64 = 256;
const PATIENCE: Duration = Duration::from_secs(5);

/// How many are served at once.
const CONNECTIONS: usize = 16;

/// The kernel takes paths of up to 107 bytes (103 elsewhere).
const LONGEST_PATH: usize = 100;

/// What a running cluster can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    /// Kill a node, and leave it down.
    Kill(String),
    /// Stop a node if it runs, and start it at the same addresses.
    Restart(String),
    /// One more node.
    Add(Role),
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill(node) => write!(f, "kill {node}"),
            Self::Restart(node) => write!(f, "restart {node}"),
            Self::Add(role) => write!(f, "add {role}"),
        }
    }
}

impl FromStr for Request {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        match line.split_once(' ') {
            Some(("kill", node)) => Ok(Self::Kill(node.to_owned())),
            Some(("restart", node)) => Ok(Self::Restart(node.to_owned())),
            Some(("add", role)) => Role::from_str(role, false).map(Self::Add),
            _ => Err(format!("{line:?} is none of kill NODE, restart NODE, add ROLE")),
        }
    }
}

/// What came of a request, for people.
pub(super) type Answer = Result<String, String>;

/// A request, and where its answer goes.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) request: Request,
    pub(super) reply: oneshot::Sender<Answer>,
}

/// Takes requests of other processes.
#[derive(Debug)]
pub(super) struct Control {
    listener: UnixListener,
    asked: mpsc::Sender<Asked>,
}

impl Control {
    /// Opens the socket of a data directory that this process holds.
    pub(super) fn open(dir: &Path) -> Result<(Self, mpsc::Receiver<Asked>), ClusterError> {
        let path = socket_path(dir);
        // Of a cluster that was killed: we hold the lock, so nobody listens there.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).context(|| format!("can't remove {}", path.display()));
            }
            _ => {}
        }
        let address = Address::of(dir).context(|| format!("can't open {}", dir.display()))?;
        let listener = UnixListener::bind(&address.path)
            .and_then(|listener| fs::set_permissions(&path, Permissions::from_mode(0o600)).map(|()| listener))
            .context(|| format!("can't listen on {}", path.display()))?;
        let (asked, requests) = mpsc::channel(CONNECTIONS);
        Ok((Self { listener, asked }, requests))
    }

    /// Serves until dropped.
    pub(super) async fn run(self) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < CONNECTIONS => {
                    if let Ok((stream, _)) = accepted {
                        connections.spawn(answer(stream, self.asked.clone()));
                    }
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

async fn answer(mut stream: UnixStream, asked: mpsc::Sender<Asked>) {
    let answer = match timeout(PATIENCE, read_request(&mut stream)).await {
        Ok(Ok(request)) => {
            let (reply, answer) = oneshot::channel();
            let stops = || Err("the cluster is stopping".to_owned());
            match asked.send(Asked { request, reply }).await {
                Ok(()) => answer.await.unwrap_or_else(|_| stops()),
                Err(_) => stops(),
            }
        }
        Ok(Err(problem)) => Err(problem),
        Err(_) => Err("no request came".to_owned()),
    };
    let text = match answer {
        Ok(text) => format!("ok\n{text}"),
        Err(text) => format!("error\n{text}"),
    };
    // Who asked may have gone.
    drop(stream.write_all(text.as_bytes()).await);
}

async fn read_request(stream: &mut UnixStream) -> Result<Request, String> {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        match stream.read(&mut byte).await {
            Ok(1) if byte[0] != b'\n' && (line.len() as u64) < LONGEST => line.push(byte[0]),
            Ok(_) => break,
            Err(error) => return Err(error.to_string()),
        }
    }
    String::from_utf8_lossy(&line).parse()
}

/// Makes sure that a cluster of ours runs on `dir`.
pub(super) fn reach(dir: &Path) -> Result<(), ClusterError> {
    let address = Address::of(dir).map_err(|_| ClusterError::NotRunning(dir.to_owned()))?;
    std::os::unix::net::UnixStream::connect(&address.path).map(drop).map_err(|error| unreachable(dir, error))
}

/// Asks the cluster that runs on `dir`, and waits for its answer.
pub(super) async fn ask(dir: &Path, request: &Request) -> Result<String, ClusterError> {
    let address = Address::of(dir).map_err(|_| ClusterError::NotRunning(dir.to_owned()))?;
    let connected = UnixStream::connect(&address.path).await;
    let mut stream = connected.map_err(|error| unreachable(dir, error))?;
    let mut text = String::new();
    let talked = async {
        stream.write_all(format!("{request}\n").as_bytes()).await?;
        stream.read_to_string(&mut text).await
    };
    talked.await.context(|| format!("the cluster on {} did not answer", dir.display()))?;
    match text.split_once('\n') {
        Some(("ok", text)) => Ok(text.to_owned()),
        Some(("error", text)) => Err(ClusterError::Refused(text.to_owned())),
        _ => Err(ClusterError::Refused("the cluster ended before it answered".to_owned())),
    }
}

fn unreachable(dir: &Path, source: io::Error) -> ClusterError {
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            ClusterError::NotRunning(dir.to_owned())
        }
        _ => ClusterError::Io { what: format!("can't reach the cluster on {}", dir.display()), source },
    }
}

/// A path to the socket that is short enough for the kernel.
struct Address {
    path: PathBuf,
    /// What a short path leads through.
    _dir: Option<fs::File>,
}

impl Address {
    fn of(dir: &Path) -> io::Result<Self> {
        let path = socket_path(dir);
        if path.as_os_str().len() <= LONGEST_PATH {
            return Ok(Self { path, _dir: None });
        }
        use std::os::fd::AsRawFd;
        let dir = fs::File::open(dir)?;
        let path = socket_path(Path::new(&format!("/proc/self/fd/{}", dir.as_raw_fd())));
        Ok(Self { path, _dir: Some(dir) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_they_are_written() {
        for request in
            [Request::Kill("api-1".into()), Request::Restart("gateway-2".into()), Request::Add(Role::Worker)]
        {
            assert_eq!(request.to_string().parse(), Ok(request));
        }
        for bad in ["", "kill", "stop api-1", "add everything"] {
            bad.parse::<Request>().expect_err(bad);
        }
    }

    async fn talk(dir: &Path) {
        ask(dir, &Request::Add(Role::Api)).await.expect_err("nobody runs");
        let (control, mut requests) = Control::open(dir).expect("a socket");
        let mode = fs::metadata(socket_path(dir)).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let owner = async {
            for answer in [Ok("api-1 is\ndown".to_owned()), Err("no".to_owned())] {
                let asked = requests.recv().await.expect("a request");
                assert_eq!(asked.request, Request::Kill("api-1".into()));
                asked.reply.send(answer).expect("somebody waits");
            }
        };
        let asker = async {
            let request = Request::Kill("api-1".into());
            assert_eq!(ask(dir, &request).await.expect("an answer"), "api-1 is\ndown");
            let refused = ask(dir, &request).await.expect_err("refused");
            assert!(matches!(refused, ClusterError::Refused(text) if text == "no"));
        };
        tokio::select! {
            () = control.run() => {}
            ((), ()) = async { tokio::join!(owner, asker) } => {}
        }
    }

    #[tokio::test]
    async fn whoever_asks_is_answered() {
        let dir = tempfile::tempdir().expect("a directory");
        talk(dir.path()).await;
        // What was left there is no obstacle.
        talk(dir.path()).await;
    }

    #[tokio::test]
    async fn a_long_path_is_no_obstacle() {
        let dir = tempfile::tempdir().expect("a directory");
        let long = dir.path().join("x".repeat(150));
        fs::create_dir(&long).expect("made");
        talk(&long).await;
    }

    #[tokio::test]
    async fn what_is_no_request_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let (control, _requests) = Control::open(dir.path()).expect("a socket");
        let asker = async {
            let mut stream = UnixStream::connect(socket_path(dir.path())).await.expect("connected");
            stream.write_all(b"make coffee\n").await.expect("sent");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("an answer");
            answer
        };
        tokio::select! {
            () = control.run() => {}
            answer = asker => assert!(answer.starts_with("error\n"), "{answer}"),
        }
    }
}
