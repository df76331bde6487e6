//! The process of one node.
//!
//! Each process has an *attendant*, the task that owns it: the only one that signals it and that learns
//! of its end, so a signal never meets a stranger who was given the same number. The node's standard input is a pipe
//! that the attendant holds open. When we are killed the kernel closes it, and the node, started with
//! `--tethered`, drains and ends.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use ::process::settings::{FILE_VARIABLE, PREFIX};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::error::{ClusterError, Context};
use super::home::Home;
use super::logins::Logins;
use super::plan::Spec;

/// What an attendant is told to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Drain and end; killed when that takes longer.
    Stop(Duration),
    /// End at once.
    Kill,
}

/// That a process ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) name: String,
    /// How it ended, for people.
    pub(super) how: String,
}

/// A process that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) pid: u32,
    pub(super) start: u64,
    /// Where its part of the log begins.
    pub(super) log_from: u64,
    orders: mpsc::Sender<Order>,
}

impl Running {
    /// Gives an order. One whose process is ending anyway takes none.
    pub(super) fn order(&self, order: Order) {
        // Room for more than are ever given; a closed channel is a process that ended.
        let _given = self.orders.try_send(order);
    }
}

/// Starts processes.
#[derive(Debug)]
pub(super) struct Launcher {
    program: PathBuf,
    environment: Vec<(String, OsString)>,
    logins: Logins,
    starts: u64,
}

impl Launcher {
    /// Of `program`, which takes `node ROLE --tethered`; every node reads `config`, is told `settings`, and connects
    /// to the database by the login of its role.
    pub(super) fn new(
        program: PathBuf,
        config: Option<&Path>,
        settings: Vec<(&'static str, String)>,
        logins: Logins,
    ) -> Self {
        let file = config.map(|path| (FILE_VARIABLE.to_owned(), path.into()));
        let settings = settings.into_iter().map(|(key, value)| (variable(key), value.into()));
        Self { program, environment: settings.chain(file).collect(), logins, starts: 0 }
    }

    /// Starts a node; its attendant joins the others.
    pub(super) fn start(
        &mut self,
        spec: &Spec,
        home: &Home,
        attendants: &mut JoinSet<Ended>,
    ) -> Result<Running, ClusterError> {
        let (log, log_from) = home.open_log(&spec.name)?;
        let both = log.try_clone().context(|| format!("can't share the log of {}", spec.name))?;
        let mut command = Command::new(&self.program);
        command
            .args(["node", spec.role.as_str(), "--tethered"])
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env(variable("database.url"), self.logins.url(spec.role))
            .envs(spec.settings().into_iter().map(|(key, value)| (variable(key), value)))
            .stdin(Stdio::piped())
            .stdout(both)
            .stderr(log)
            // A ctrl-c in the terminal is for us, who stop the nodes in order.
            .process_group(0);
        let mut child = command.spawn().context(|| format!("can't start {}", self.program.display()))?;
        let (pid, tether) = (child.id().unwrap_or_default(), child.stdin.take());
        self.starts += 1;
        let (orders, inbox) = mpsc::channel(8);
        let (name, start) = (spec.name.clone(), self.starts);
        attendants.spawn(async move {
            let how = match attend(child, tether, inbox).await {
                Ok(status) => status.to_string(),
                Err(error) => format!("its end is not known: {error}"),
            };
            Ended { name, how }
        });
        Ok(Running { pid, start, log_from, orders })
    }
}

/// Waits for the end of a process, and passes orders on.
async fn attend(
    mut child: Child,
    tether: Option<ChildStdin>,
    mut orders: mpsc::Receiver<Order>,
) -> std::io::Result<ExitStatus> {
    let mut kill_at: Option<Instant> = None;
    let status = loop {
        tokio::select! {
            biased;
            status = child.wait() => break status,
            Some(order) = orders.recv() => match order {
                Order::Kill => child.start_kill()?,
                Order::Stop(patience) => {
                    kill_at.get_or_insert(Instant::now() + patience);
                    terminate(&child);
                }
            },
            () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() => {
                kill_at = None;
                child.start_kill()?;
            }
        }
    };
    drop(tether);
    status
}

fn terminate(child: &Child) {
    let pid = child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
    if let Some(pid) = pid {
        // It is not waited for yet, so the number is still its own, even if it has ended.
        let _told = kill_process(pid, Signal::TERM);
    }
}

/// `gateway.behind_limit` is `SWITCHBOARD__GATEWAY__BEHIND_LIMIT`.
fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "__").to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::plan::{Plan, Role};

    /// A node whose program is a shell script.
    struct Scripted {
        home: Home,
        spec: Spec,
        launcher: Launcher,
        attendants: JoinSet<Ended>,
        _dir: tempfile::TempDir,
    }

    fn scripted(script: &str) -> Scripted {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a directory");
        let program = dir.path().join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("executable");
        Scripted {
            home: Home::take(&dir.path().join("home")).expect("free"),
            spec: Plan::new(None).node(Role::Api).expect("free ports"),
            launcher: Launcher::new(
                program,
                None,
                vec![("greeting.text", "hello".to_owned())],
                Logins::same("postgres://alex@example.com/chat"),
            ),
            attendants: JoinSet::new(),
            _dir: dir,
        }
    }

    impl Scripted {
        fn start(&mut self) -> Running {
            self.launcher.start(&self.spec, &self.home, &mut self.attendants).expect("started")
        }

        async fn ended(&mut self) -> Ended {
            self.attendants.join_next().await.expect("one runs").expect("no panic")
        }
    }

    #[tokio::test]
    async fn a_node_is_told_by_arguments_and_environment_and_its_output_is_kept() {
        let script = "echo \"$@ $SWITCHBOARD__GREETING__TEXT $SWITCHBOARD__CLUSTER__NODE_NAME\"; echo \"$SWITCHBOARD__DATABASE__URL\"; exit 3";
        let mut node = scripted(script);
        let running = node.start();
        let ended = node.ended().await;
        assert_eq!(ended.name, "api-1");
        assert!(ended.how.contains('3'), "{}", ended.how);
        assert_eq!(
            node.home.log_tail("api-1", running.log_from),
            "node api --tethered hello api-1\npostgres://alex@example.com/chat"
        );
    }

    #[tokio::test]
    async fn the_tether_is_open_while_the_node_runs_and_stop_is_a_sigterm() {
        // The copy of standard input ends, and with it the wait, when the tether is let go too early.
        let mut node = scripted(
            "trap 'echo drained; exit 0' TERM; exec 3<&0; echo up; cat <&3 >/dev/null & wait $!; exit 9",
        );
        let running = node.start();
        // The shell must have set its trap.
        while node.home.log_tail("api-1", 0) != "up" {
            tokio::task::yield_now().await;
        }
        running.order(Order::Stop(Duration::from_secs(60)));
        let ended = node.ended().await;
        assert!(ended.how.ends_with(": 0"), "{}", ended.how);
        assert_eq!(node.home.log_tail("api-1", running.log_from), "up\ndrained");
    }

    #[tokio::test]
    async fn a_node_that_does_not_stop_is_killed() {
        let mut node = scripted("trap '' TERM; echo up; while :; do sleep 0.01; done");
        let running = node.start();
        while node.home.log_tail("api-1", 0) != "up" {
            tokio::task::yield_now().await;
        }
        running.order(Order::Stop(Duration::from_millis(50)));
        let how = node.ended().await.how;
        assert!(how.contains('9'), "{how}");
        running.order(Order::Kill);
    }
}
