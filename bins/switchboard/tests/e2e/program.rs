//! The program as people run it: what it prints and how it ends.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The program with these arguments, knowing nothing of the shell of whoever runs the tests.
pub(crate) fn program(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("SWITCHBOARD_")) {
            command.env_remove(name);
        }
    }
    command.args(arguments.split_whitespace()).stdin(Stdio::null());
    command
}

/// What came of a command that ends by itself.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Fails the test unless it ended well.
    #[track_caller]
    pub(crate) fn good(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// Fails the test unless it ended with this code, and said all of this on standard error.
    #[track_caller]
    pub(crate) fn refused(self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        for part in parts {
            assert!(self.err.contains(part), "{part:?} is missing in {:?}", self.err);
        }
    }
}

/// Runs a command to its end.
pub(crate) async fn run(mut command: Command) -> Ran {
    let running = tokio::task::spawn_blocking(move || command.output().expect("the program runs"));
    running.await.expect("no panic").into()
}

/// Runs a command to its end with this on standard input.
pub(crate) async fn run_with(mut command: Command, input: &'static str) -> Ran {
    let running = tokio::task::spawn_blocking(move || {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        // One that does not read has ended already.
        drop(child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes())));
        child.wait_with_output().expect("its end")
    });
    running.await.expect("no panic").into()
}

/// A directory that every user can enter, as PostgreSQL's must when root runs the tests.
pub(crate) fn open_dir() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("open to all");
    dir
}

/// Whether a process of this number runs; one that ended and was not waited for does not.
pub(crate) fn lives(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}/exe")).read_link().is_ok()
}
