//! Children that die with their parent.
//!
//! A guard on `Drop` stops a child when the parent ends in order. For a parent that is killed the
//! kernel has a parent-death signal; asking for it between fork and exec would need unsafe code, so `setpriv`
//! (util-linux) asks for us and then becomes the child. Where there is no `setpriv`, only the guard is left.
//!
//! The kernel sends that signal when the *thread* that forked ends, not the process. So every tethered child is
//! forked by one thread that is never ended while the process lives.

use std::ffi::OsStr;
use std::io;
use std::process::Stdio;
use std::sync::OnceLock;
use std::sync::mpsc;
use std::thread;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// What a child is sent when its parent dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnParentDeath {
    /// `SIGINT`: for PostgreSQL a fast, clean stop.
    Interrupt,
    /// `SIGTERM`: stop in order.
    Terminate,
    /// `SIGKILL`.
    Kill,
}

impl OnParentDeath {
    const fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "INT",
            Self::Terminate => "TERM",
            Self::Kill => "KILL",
        }
    }
}

/// A command for `program` whose process gets the signal when this process dies, for [`spawn`].
#[must_use]
pub fn command(program: impl AsRef<OsStr>, signal: OnParentDeath) -> Command {
    if !available() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", signal.name(), "--"]).arg(program);
    command
}

/// Whether a child outlives a parent that is killed: `false` where `setpriv` can't tether it.
#[must_use]
pub fn available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| {
        std::process::Command::new("setpriv")
            .args(["--pdeathsig", "keep", "--", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    })
}

struct Job {
    command: Command,
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// Starts `command` from the thread that lives as long as the process.
///
/// # Errors
///
/// As [`Command::spawn`].
pub async fn spawn(command: Command) -> io::Result<Child> {
    static KEEPER: OnceLock<mpsc::SyncSender<Job>> = OnceLock::new();
    let gone = || io::Error::other("the thread that starts processes is gone");
    let keeper = match KEEPER.get() {
        Some(keeper) => keeper,
        None => {
            let started = keeper()?;
            KEEPER.get_or_init(|| started)
        }
    };
    let (reply, answer) = oneshot::channel();
    let mut job = Job { command, runtime: Handle::current(), reply };
    while let Err(error) = keeper.try_send(job) {
        match error {
            mpsc::TrySendError::Full(back) => job = back,
            mpsc::TrySendError::Disconnected(_) => return Err(gone()),
        }
        tokio::task::yield_now().await;
    }
    answer.await.map_err(|_| gone())?
}

fn keeper() -> io::Result<mpsc::SyncSender<Job>> {
    let (jobs, queue) = mpsc::sync_channel::<Job>(16);
    thread::Builder::new().name("tether".to_owned()).spawn(move || {
        for mut job in queue {
            let _entered = job.runtime.enter();
            if let Err(Ok(mut child)) = job.reply.send(job.command.spawn()) {
                // Nobody waits for it any more, so nobody would ever stop it.
                drop(child.start_kill());
            }
        }
    })?;
    Ok(jobs)
}
