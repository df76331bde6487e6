//! However a measurement ends, nothing that it started runs on.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Nothing here takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a measurement may be ended by, and the code that it ends with; none when it is killed.
const SIGNALS: [(Signal, Option<i32>); 3] =
    [(Signal::KILL, None), (Signal::INT, Some(130)), (Signal::TERM, Some(143))];

/// A measurement that goes on until it is ended.
struct Measuring {
    perf: Child,
    /// Where it has its temporary files.
    place: TempDir,
    _results: TempDir,
}

impl Measuring {
    fn start(arguments: &[&str], environment: &[(&str, String)]) -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let results = tempfile::tempdir().expect("a directory");
        // PostgreSQL is somebody else when root runs the tests.
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).expect("open to all");
        let perf = Command::new(env!("CARGO_BIN_EXE_perf"))
            .args(arguments)
            .arg("--results")
            .arg(results.path())
            .env("TMPDIR", place.path())
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("perf starts");
        Self { perf, place, _results: results }
    }

    /// Reads what it tells until that is there, and reads on in a thread: who is not read would wait.
    fn until_told(&mut self, text: &str) {
        let mut lines = BufReader::new(self.perf.stderr.take().expect("piped")).lines();
        let told: Vec<String> =
            lines.by_ref().map_while(Result::ok).take_while(|line| !line.contains(text)).collect();
        thread::spawn(move || {
            let rest: Vec<String> = lines.map_while(Result::ok).collect();
            eprintln!("{}\n...\n{}", told.join("\n"), rest.join("\n"));
        });
    }

    /// Ends it so, and waits until it and all that it started is gone.
    fn end(mut self, signal: Signal, code: Option<i32>, at_least: usize) {
        let started = descendants(self.perf.id());
        assert!(started.len() >= at_least, "{started:?}");
        let pid = Pid::from_raw(self.perf.id().try_into().expect("a pid")).expect("a pid");
        kill_process(pid, signal).expect("told");
        let status = self.until_ended();
        assert_eq!(status.code(), code, "{status}");
        assert_eq!(status.signal(), code.is_none().then_some(Signal::KILL.as_raw()), "{status}");
        until(
            || !started.iter().any(|(pid, _)| lives(*pid)),
            || {
                let left = started.iter().filter(|(pid, _)| lives(*pid));
                format!("after {signal:?} these run on: {:?}", left.collect::<Vec<_>>())
            },
        );
        if code.is_some() {
            let left: Vec<_> = fs::read_dir(self.place.path()).expect("read").collect();
            assert!(left.is_empty(), "{left:?}");
        }
    }

    fn until_ended(&mut self) -> ExitStatus {
        let mut ended = None;
        until(
            || {
                ended = self.perf.try_wait().expect("a child");
                ended.is_some()
            },
            || "perf does not end".to_owned(),
        );
        ended.expect("it ended")
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        // A test that failed leaves nothing to the next one.
        let _ = self.perf.kill();
        let _ = self.perf.wait();
    }
}

fn until(mut is_it: impl FnMut() -> bool, or_else: impl FnOnce() -> String) {
    let end = Instant::now() + PATIENCE;
    while !is_it() {
        assert!(Instant::now() < end, "{}", or_else());
        // There is no bell for the end of somebody else's child.
        thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process of this number runs; one that ended and was not waited for does not.
fn lives(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}/exe")).read_link().is_ok()
}

/// Every process that this one started, and that those started, with its command.
fn descendants(root: u32) -> Vec<(u32, String)> {
    let parent_of = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let processes = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    let all: Vec<(u32, u32)> = processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect();
    let mut found = vec![root];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(all.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    let named = |pid: &u32| (*pid, fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default());
    found.iter().skip(1).map(named).collect()
}

#[test]
fn cluster_none_outlives_a_measurement() {
    for (signal, code) in SIGNALS {
        let mut measuring =
            Measuring::start(&["sends", "--senders=1", "--rooms=1", "--seconds=3600", "--one-by-one=0"], &[]);
        measuring.until_told("combined: 1 senders");
        // The cluster, six nodes, PostgreSQL and its processes.
        measuring.end(signal, code, 10);
    }
}

#[test]
fn cluster_no_peer_outlives_a_measurement() {
    // A peer that comes up, and never answers those who connect.
    let peers = tempfile::tempdir().expect("a directory");
    let bin = peers.path().join("socket.io/node_modules/.bin");
    fs::create_dir_all(&bin).expect("made");
    let node = "#!/bin/sh\necho \"{\\\"url\\\":\\\"ws://$PEER\\\"}\"\nexec sleep 3600\n";
    fs::write(bin.join("node"), node).expect("written");
    fs::set_permissions(bin.join("node"), Permissions::from_mode(0o755)).expect("a program");
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let peer = silent.local_addr().expect("an address").to_string();
    for (signal, code) in SIGNALS {
        let there = peers.path().to_str().expect("a path in UTF-8");
        let mut measuring = Measuring::start(
            &["gateway_fanout_multi", "--arms=socketio_postgres", "--receivers=1", "--peers", there],
            &[("PEER", peer.clone())],
        );
        measuring.until_told("messages one at a time");
        let _connected = silent.accept().expect("perf connects");
        // Two nodes, PostgreSQL and its processes.
        measuring.end(signal, code, 4);
    }
}
