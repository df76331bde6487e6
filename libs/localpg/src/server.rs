//! A server that runs: start, ask, stop, crash, kill, pause, and start again.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};
use tokio_postgres::{Config, NoTls, SimpleQueryMessage};

use crate::directory::{Directory, USER};
use crate::error::{Context, Error};
use crate::options::{Durability, Lifetime};
use crate::tether::{self, OnParentDeath};
use crate::user::RunAs;
use crate::{Binaries, Options, postmaster};

/// Free ports are taken from below the range the kernel gives to outgoing connections (32768 and up on Linux),
/// so that nobody is likely to have the port when the server comes back to it.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// How often a server that starts is asked whether it answers.
const ASK: Duration = Duration::from_millis(10);

/// A server with its directory. Dropping it stops the server, unless [`Options::detached`]; prefer
/// [`Server::stop`], which does not block the thread.
pub struct Server {
    directory: Directory,
    options: Options,
    binaries: Binaries,
    password: String,
    port: u16,
    child: Option<Child>,
}

impl Server {
    /// Puts the directory in order, makes its data if there is none, starts the server, and waits until it
    /// answers.
    ///
    /// # Errors
    ///
    /// Each [`Error`] says what to do about it.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let directory = Directory::take(&options.dir, RunAs::choose()?)?;
        directory.tidy(options.durability).await?;
        let binaries = match &options.binaries {
            Some(given) => given.clone(),
            None => Binaries::for_data(&directory.data())?,
        };
        let password = directory.prepare(&binaries, &options).await?;
        let mut server = Self { directory, options, binaries, password, port: 0, child: None };
        if let Some(port) = server.options.port {
            server.port = port;
            server.launch().await?;
            return Ok(server);
        }
        let mut tries = 10;
        loop {
            server.port = free_port().context(|| "no free port for PostgreSQL".to_owned())?;
            match server.launch().await {
                // Somebody took the port between our look and the server's bind.
                Err(Error::Ended { log, .. }) if tries > 0 && log.contains("could not bind") => tries -= 1,
                other => return other.map(|()| server),
            }
        }
    }

    /// Where to connect, as the superuser, to the database `postgres`. Holds the password.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The same for another database.
    #[must_use]
    pub fn url_of(&self, database: &str) -> String {
        format!("postgres://{USER}:{}@{}:{}/{database}", self.password, Ipv4Addr::LOCALHOST, self.port)
    }

    /// The port; it stays the same over restarts.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The postmaster's process, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().and_then(Child::id)
    }

    /// The server's directory; its log is `server.log` there.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.directory.path()
    }

    /// The directory of the data itself, which is also the working directory of the server's processes.
    #[must_use]
    pub fn data_dir(&self) -> std::path::PathBuf {
        self.directory.data()
    }

    /// Makes a database unless it is there, and gives its URL.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn database(&self, name: &str) -> Result<String, Error> {
        let quoted = name.replace('"', "\"\"");
        match query(&self.url(), &format!("CREATE DATABASE \"{quoted}\"")).await {
            Err(Error::Database(error))
                if error.code() == Some(&tokio_postgres::error::SqlState::DUPLICATE_DATABASE) => {}
            other => drop(other?),
        }
        Ok(self.url_of(name))
    }

    /// Ends when the server ends by itself; to be watched by who depends on it.
    ///
    /// # Errors
    ///
    /// [`Error::State`] when it is not running.
    pub async fn ended(&mut self) -> Result<ExitStatus, Error> {
        let child = self.child.as_mut().ok_or(NOT_RUNNING)?;
        child.wait().await.context(|| "cannot wait for PostgreSQL".to_owned())
    }

    /// Stops in order: sessions are ended, everything is written. If that takes too long, not in order.
    ///
    /// # Errors
    ///
    /// [`Error::State`] when it is not running, [`Error::DoesNotEnd`] when not even killing helps.
    pub async fn stop(&mut self) -> Result<(), Error> {
        self.end(Signal::INT, postmaster::FAST).await
    }

    /// Stops at once, as by a crash of the server: the next start recovers from the log.
    ///
    /// # Errors
    ///
    /// As [`Server::stop`].
    pub async fn crash(&mut self) -> Result<(), Error> {
        self.end(Signal::QUIT, postmaster::IMMEDIATE).await
    }

    /// `kill -9` to the postmaster and every backend.
    ///
    /// # Errors
    ///
    /// As [`Server::stop`].
    pub async fn kill(&mut self) -> Result<(), Error> {
        let mut child = self.child.take().ok_or(NOT_RUNNING)?;
        drop(child.start_kill());
        postmaster::kill_all(&self.directory.data()).await?;
        child.wait().await.context(|| "cannot wait for PostgreSQL".to_owned())?;
        postmaster::remove_segment(&self.directory.data()).await;
        Ok(())
    }

    /// Starts again, at the same port, what was stopped, crashed or killed.
    ///
    /// # Errors
    ///
    /// As [`Server::start`]; [`Error::State`] when it is running.
    pub async fn start_again(&mut self) -> Result<(), Error> {
        if self.running() {
            return Err(Error::State("is running already"));
        }
        postmaster::end_leftovers(&self.directory.data()).await?;
        self.launch().await
    }

    /// Stops in order and starts again at the same port.
    ///
    /// # Errors
    ///
    /// As [`Server::stop`] and [`Server::start`].
    pub async fn restart(&mut self) -> Result<(), Error> {
        self.stop().await?;
        self.start_again().await
    }

    /// Freezes every process of the server: connections stay open and nothing answers.
    pub fn pause(&self) {
        postmaster::signal(&postmaster::living(&self.directory.data()), Signal::STOP);
    }

    /// Lets a frozen server go on.
    pub fn resume(&self) {
        postmaster::signal(&postmaster::living(&self.directory.data()), Signal::CONT);
    }

    /// Whether the postmaster lives; one that ended by itself is noticed here.
    fn running(&mut self) -> bool {
        let lives = self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)));
        if !lives {
            self.child = None;
        }
        lives
    }

    /// Starts the process on the data and port that are set, and waits until it answers.
    async fn launch(&mut self) -> Result<(), Error> {
        let (log, log_start) = self.directory.open_log()?;
        let program = self.binaries.program("postgres");
        let base = match self.options.lifetime {
            Lifetime::Ours => tether::command(&program, OnParentDeath::Interrupt),
            Lifetime::Detached => Command::new(&program),
        };
        let mut command = self.directory.command(base);
        command.arg("-D").arg(self.directory.data()).arg("-p").arg(self.port.to_string());
        for setting in self.options.all_settings() {
            command.arg("-c").arg(setting);
        }
        let both = log.try_clone().context(|| "cannot share PostgreSQL's log".to_owned())?;
        command.stdin(Stdio::null()).stdout(both).stderr(log);
        // A ctrl-c in the terminal goes to the whole group: nodes drain first, then the server is stopped.
        command.process_group(0);
        let child = tether::spawn(command).await.context(|| format!("cannot run {}", program.display()))?;
        self.child = Some(child);
        self.until_ready(log_start).await
    }

    async fn until_ready(&mut self, log_start: u64) -> Result<(), Error> {
        let (url, limit) = (self.url(), self.options.start_timeout);
        let Some(child) = self.child.as_mut() else { return Err(NOT_RUNNING) };
        let mut last = None;
        let answers = async {
            while let Err(error) = query(&url, "SELECT 1").await {
                last = Some(error);
                sleep(ASK).await;
            }
        };
        let ended = tokio::select! {
            status = child.wait() => Some(status.context(|| "cannot wait for PostgreSQL".to_owned())?),
            () = answers => None,
            () = sleep(limit) => {
                let log = self.directory.log_tail(log_start);
                let last = last.map(|error| format!("{error}; ")).unwrap_or_default();
                return Err(Error::NotReady { seconds: limit.as_secs(), log: format!("{last}{log}") });
            }
        };
        match ended {
            None => Ok(()),
            Some(status) => {
                self.child = None;
                Err(Error::Ended { status: status.to_string(), log: self.directory.log_tail(log_start) })
            }
        }
    }

    /// Ends the postmaster by `first`, then by stronger means.
    async fn end(&mut self, first: Signal, limit: Duration) -> Result<(), Error> {
        // A frozen process takes no signal but SIGKILL.
        self.resume();
        let mut child = self.child.take().ok_or(NOT_RUNNING)?;
        for (signal, limit) in [(first, limit), (Signal::QUIT, postmaster::IMMEDIATE)] {
            postmaster::signal(&pid_of(&child), signal);
            if let Ok(status) = timeout(limit, child.wait()).await {
                status.context(|| "cannot wait for PostgreSQL".to_owned())?;
                return postmaster::kill_all(&self.directory.data()).await;
            }
        }
        self.child = Some(child);
        self.kill().await
    }
}

const NOT_RUNNING: Error = Error::State("is not running");

fn pid_of(child: &Child) -> Vec<Pid> {
    let pid = child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
    pid.into_iter().collect()
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the password.
        f.debug_struct("Server").field("dir", &self.dir()).field("port", &self.port).finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.options.lifetime == Lifetime::Detached {
            return;
        }
        let throw_away = self.options.durability == Durability::ThrowAway;
        if let Some(mut child) = self.child.take() {
            let stop = if throw_away { Signal::QUIT } else { Signal::INT };
            self.resume();
            postmaster::signal(&pid_of(&child), stop);
            let deadline = Instant::now() + Duration::from_secs(5);
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                thread::sleep(ASK);
            }
        }
        if throw_away {
            postmaster::signal(&postmaster::living(&self.directory.data()), Signal::KILL);
            drop(std::fs::remove_dir_all(self.dir()));
        }
    }
}

/// A free port on loopback. It may be taken by another process before it is used.
fn free_port() -> io::Result<u16> {
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..100 {
        let port = rand::random_range(PORTS);
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => return Ok(port),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Asks one thing over a connection of its own, and gives the rows as text. Several statements may be
/// separated by `;`.
///
/// # Errors
///
/// [`Error::Database`].
pub async fn query(url: &str, sql: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
    let mut config: Config = url.parse()?;
    config.connect_timeout(Duration::from_secs(5));
    let (client, connection) = config.connect(NoTls).await?;
    let asked = async {
        let answer = client.simple_query(sql).await;
        // The connection says goodbye once nobody can ask any more.
        drop(client);
        answer
    };
    let messages = drive(asked, connection).await?;
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
        }
        _ => None,
    });
    Ok(rows.collect())
}

/// Runs a connection for as long as something is asked over it; its own failure is told by what was asked.
async fn drive<T>(asked: impl Future<Output = T>, connection: impl Future) -> T {
    let (answer, _) = tokio::join!(asked, connection);
    answer
}
