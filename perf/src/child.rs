//! Processes that are started to be measured. None outlives this one:
//!
//! - When this process ends in order, by a failure or by a signal, what was started is dropped, and with it stopped.
//! - When it is killed, the kernel tells its children ([`localpg::tether`]); a cluster stops its own nodes and database then.
//! - They are in groups of their own: Ctrl-C in a terminal reaches this process alone, which stops them in order.

use std::ffi::OsStr;
use std::time::{Duration, Instant};

use localpg::tether::{self, OnParentDeath};
pub(crate) use rustix::process::Signal;
use rustix::process::{Pid, kill_process};
use tokio::process::{Child, Command};

use crate::Failure;

/// A program that has nothing to put in order when this process is killed.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    tethered(program, OnParentDeath::Kill)
}

/// A program that stops others in order when this process is killed.
pub(crate) fn command_of_parent(program: impl AsRef<OsStr>) -> Command {
    tethered(program, OnParentDeath::Terminate)
}

fn tethered(program: impl AsRef<OsStr>, signal: OnParentDeath) -> Command {
    let mut command = tether::command(program, signal);
    command.kill_on_drop(true).process_group(0);
    command
}

/// Starts it. The process is that of the program itself: there is no shell between.
pub(crate) async fn spawn(command: Command) -> std::io::Result<Child> {
    tether::spawn(command).await
}

/// Sends a signal.
pub(crate) fn signal(pid: u32, signal: Signal) -> Result<(), Failure> {
    let known = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or("it is no process of this machine")?;
    Ok(kill_process(known, signal)?)
}

/// Ends a process in order, or else by force. Whether it went in order.
pub(crate) async fn end(mut child: Child, patience: Duration) -> Result<bool, Failure> {
    let Some(pid) = child.id() else { return Ok(true) };
    signal(pid, Signal::TERM)?;
    if tokio::time::timeout(patience, child.wait()).await.is_ok() {
        return Ok(true);
    }
    child.kill().await?;
    Ok(false)
}

/// Ends a process in order where nothing can be awaited; when it takes longer, dropping it kills it.
pub(crate) fn end_while_dropped(child: &mut Child, patience: Duration) {
    let Some(pid) = child.id() else { return };
    // It may have ended by itself.
    let _ = signal(pid, Signal::TERM);
    let end = Instant::now() + patience;
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
}
