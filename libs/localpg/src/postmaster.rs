//! The server's processes, found by what they are rather than by what a file says.
//!
//! A postmaster and its backends all have the data directory as their working directory and run the
//! `postgres` program. So they are found in `/proc` even when the pid file is stale, its number was
//! given to a stranger, or the postmaster was killed and left its backends. Nobody else is ever sent a signal.
//! Where there is no `/proc`, only the process named by the pid file is known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use crate::error::{Context, Error};

/// How often a process that is no child of ours is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// How long a server may take to end in order.
pub(crate) const FAST: Duration = Duration::from_secs(30);

/// How long a server may take to end without a checkpoint.
pub(crate) const IMMEDIATE: Duration = Duration::from_secs(10);

/// The postmaster's process, as its pid file says.
pub(crate) fn pid_file(data: &Path) -> Option<Pid> {
    let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    Pid::from_raw(text.lines().next()?.trim().parse().ok()?)
}

/// Every living process of the server with this data directory, postmaster and backends.
pub(crate) fn living(data: &Path) -> Vec<Pid> {
    if !Path::new("/proc/self/cwd").exists() {
        return pid_file(data).filter(|&pid| test_kill_process(pid).is_ok()).into_iter().collect();
    }
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .filter(|&pid| is_server(pid, data))
        .collect()
}

fn is_server(pid: Pid, data: &Path) -> bool {
    let link = |name: &str| fs::read_link(format!("/proc/{}/{name}", pid.as_raw_nonzero()));
    let (Ok(cwd), Ok(exe)) = (link("cwd"), link("exe")) else {
        return false;
    };
    let is_postgres =
        exe.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("postgres"));
    // The kernel marks a directory that was removed under the process.
    let removed = PathBuf::from(format!("{} (deleted)", data.display()));
    is_postgres && (cwd == data || cwd == removed)
}

/// Sends `signal` to each; one that ended meanwhile is no failure.
pub(crate) fn signal(pids: &[Pid], signal: Signal) {
    for &pid in pids {
        let _ = kill_process(pid, signal);
    }
}

/// Waits until no process of the server is left, and says whether that came in time.
pub(crate) async fn gone_within(data: &Path, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if living(data).is_empty() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        sleep(LOOK).await;
    }
}

/// Ends whatever an earlier run left running on this data, in order if it will.
pub(crate) async fn end_leftovers(data: &Path) -> Result<(), Error> {
    if !living(data).is_empty() {
        // Backends without a postmaster end by none of the first two; they are not waited for.
        for (stop, limit) in [(Signal::INT, FAST), (Signal::QUIT, IMMEDIATE)] {
            let postmaster = pid_file(data).filter(|pid| living(data).contains(pid));
            let Some(postmaster) = postmaster else { break };
            signal(&[postmaster], stop);
            if gone_within(data, limit).await {
                break;
            }
        }
        kill_all(data).await?;
    }
    forget_stranger(data)
}

/// Kills every process of the server, the postmaster first so that it starts nobody anew.
pub(crate) async fn kill_all(data: &Path) -> Result<(), Error> {
    let deadline = Instant::now() + IMMEDIATE;
    let postmaster: Vec<Pid> = pid_file(data).filter(|pid| living(data).contains(pid)).into_iter().collect();
    signal(&postmaster, Signal::KILL);
    loop {
        // Again on each look: the postmaster may have forked just before it died.
        let left = living(data);
        let Some(first) = left.first() else { return Ok(()) };
        if Instant::now() >= deadline {
            return Err(Error::DoesNotEnd(first.as_raw_nonzero().get().unsigned_abs()));
        }
        signal(&left, Signal::KILL);
        sleep(LOOK).await;
    }
}

/// Removes the kernel's shared memory segment that a killed postmaster left. PostgreSQL does so itself at its next
/// start, but for data that is thrown away there is none, and the kernel has only so many.
pub(crate) async fn remove_segment(data: &Path) {
    let text = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    let segment = text.lines().nth(6).and_then(|line| line.split_whitespace().nth(1));
    if let (Some(segment), true) = (segment, living(data).is_empty()) {
        let removed = Command::new("ipcrm").args(["-m", segment]).stderr(Stdio::null()).status().await;
        // Where there is no such program the segment stays.
        drop(removed);
    }
}

/// Removes a pid file whose number belongs to a process that is no server of this data: PostgreSQL, which can
/// only ask whether the number lives, would refuse to start. A number that is dead it judges itself,
/// with the shared memory the file names, so that file stays.
fn forget_stranger(data: &Path) -> Result<(), Error> {
    let Some(pid) = pid_file(data) else { return Ok(()) };
    // Not being allowed to signal it means that it lives.
    let lives = !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH));
    if lives && !living(data).contains(&pid) {
        let path = data.join("postmaster.pid");
        fs::remove_file(&path).context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stranger_with_the_old_number_is_left_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("postmaster.pid");
        fs::write(&file, format!("{}\n{}\n", std::process::id(), dir.path().display())).expect("a pid file");
        end_leftovers(dir.path()).await.expect("nothing to end");
        assert!(!file.exists(), "PostgreSQL would not start beside it");
    }

    #[tokio::test]
    async fn the_number_of_a_dead_process_is_left_to_postgresql() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut child = Command::new("true").spawn().expect("a process");
        let pid = child.id().expect("not waited for yet");
        child.wait().await.expect("it ends");
        let file = dir.path().join("postmaster.pid");
        fs::write(&file, format!("{pid}\n")).expect("a pid file");
        end_leftovers(dir.path()).await.expect("nothing to end");
        assert!(file.exists());
    }
}
