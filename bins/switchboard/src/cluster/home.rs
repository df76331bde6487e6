//! The data directory of a local cluster.
//!
//! ```text
//! <data-dir>/
//!   lock            held by the cluster that runs, with its process number
//!   control.sock    where `kill`, `restart` and `add` reach it
//!   state.json      what runs where, as `--json` prints it; 0600, it has the database's password
//!   keys/           signing keys of all nodes; 0700
//!   push/           the key of pushes; 0700
//!   logs/<node>.log what each node printed; of the run before: <node>.log.old
//!   postgres/       the private PostgreSQL
//!   demo-agent.token  of the demo agent, if there is one; 0600
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::{ClusterError, Context};
use super::leftovers::Leftovers;
use crate::hold::{NotHeld, hold};
use crate::secret_file::SecretFile;

/// How much of a node's log is shown.
const TAIL: u64 = 3000;

/// The data directory, held by this process until dropped.
#[derive(Debug)]
pub(super) struct Home {
    dir: PathBuf,
    _lock: File,
}

impl Home {
    /// Takes the directory, making it if need be.
    pub(super) fn take(dir: &Path) -> Result<Self, ClusterError> {
        let made = !dir.exists();
        fs::create_dir_all(dir).context(|| format!("can't make {}", dir.display()))?;
        if made {
            // PostgreSQL's user, who is another one when root starts us, passes through; what is secret has its own mode.
            let mode = Permissions::from_mode(0o711);
            fs::set_permissions(dir, mode).context(|| format!("can't make {}", dir.display()))?;
        }
        let dir = dir.canonicalize().context(|| format!("can't find {}", dir.display()))?;
        let lock = lock(&dir)?;
        let home = Self { dir, _lock: lock };
        for (sub, mode) in [(home.keys(), 0o700), (home.logs(), 0o755)] {
            let made = DirBuilder::new().recursive(true).mode(mode).create(&sub);
            made.context(|| format!("can't make {}", sub.display()))?;
        }
        home.put_old_logs_aside()?;
        Ok(home)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn keys(&self) -> PathBuf {
        keys_path(&self.dir)
    }

    /// Where the key of pushes is kept.
    pub(super) fn push(&self) -> PathBuf {
        self.dir.join("push")
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.dir.join("logs")
    }

    pub(super) fn postgres(&self) -> PathBuf {
        self.dir.join("postgres")
    }

    pub(super) fn log(&self, node: &str) -> PathBuf {
        self.logs().join(format!("{node}.log"))
    }

    /// A node's log, to be written at its end, and where that is.
    pub(super) fn open_log(&self, node: &str) -> Result<(File, u64), ClusterError> {
        let path = self.log(node);
        let opened = OpenOptions::new().create(true).append(true).mode(0o644).open(&path);
        opened
            .and_then(|log| log.metadata().map(|meta| (log, meta.len())))
            .context(|| format!("can't open {}", path.display()))
    }

    /// The end of what a node logged after `from`.
    pub(super) fn log_tail(&self, node: &str, from: u64) -> String {
        let read = || -> std::io::Result<String> {
            let mut log = File::open(self.log(node))?;
            let end = log.metadata()?.len();
            let start = from.max(end.saturating_sub(TAIL));
            log.seek(SeekFrom::Start(start))?;
            let mut tail = Vec::new();
            log.take(TAIL).read_to_end(&mut tail)?;
            let tail = String::from_utf8_lossy(&tail);
            // Not the second half of a line.
            let whole = if start > from { tail.split_once('\n').map_or("", |(_, rest)| rest) } else { &tail };
            Ok(whole.trim_end().to_owned())
        };
        read().unwrap_or_else(|error| format!("(it can't be read: {error})"))
    }

    /// Nodes of the run before that may still run, if its owner was killed.
    pub(super) fn leftovers(&self) -> Leftovers {
        read_state(&self.dir).map(|state| Leftovers::of(&state)).unwrap_or_default()
    }

    /// Notes what runs where, whole or not at all.
    pub(super) fn write_state(&self, json: &str) -> Result<(), ClusterError> {
        let state = SecretFile::at(state_path(&self.dir));
        state.write(json).context(|| format!("can't write {}", state.path().display()))
    }

    /// Where the token of the demo agent is.
    pub(super) fn demo_token(&self) -> SecretFile {
        SecretFile::at(self.dir.join("demo-agent.token"))
    }

    /// Removes what says that a cluster runs here.
    pub(super) fn clear(&self) {
        for path in [state_path(&self.dir), socket_path(&self.dir)] {
            // It may never have been made.
            drop(fs::remove_file(path));
        }
    }

    fn put_old_logs_aside(&self) -> Result<(), ClusterError> {
        let read = || -> std::io::Result<()> {
            for entry in fs::read_dir(self.logs())? {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "log") {
                    fs::rename(&path, path.with_extension("log.old"))?;
                }
            }
            Ok(())
        };
        read().context(|| format!("can't put the logs of {} aside", self.logs().display()))
    }
}

/// What runs where, as the cluster on a data directory noted it.
pub(super) fn read_state(dir: &Path) -> Result<Value, ClusterError> {
    let path = state_path(dir);
    let read = fs::read(&path).and_then(|text| Ok(serde_json::from_slice(&text)?));
    read.context(|| format!("can't read {}", path.display()))
}

/// Where signing keys are kept.
pub(super) fn keys_path(dir: &Path) -> PathBuf {
    dir.join("keys")
}

/// Where a running cluster takes orders.
pub(super) fn socket_path(dir: &Path) -> PathBuf {
    dir.join("control.sock")
}

fn state_path(dir: &Path) -> PathBuf {
    dir.join("state.json")
}

fn lock(dir: &Path) -> Result<File, ClusterError> {
    hold(dir).map_err(|error| match error {
        NotHeld::Taken(pid) => ClusterError::Running { dir: dir.to_owned(), pid },
        NotHeld::Io(source) => ClusterError::Io { what: format!("can't lock {}", dir.display()), source },
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_directory_belongs_to_one_cluster_which_a_second_is_told() {
        let dir = tempfile::tempdir().expect("a directory");
        let place = dir.path().join("a/b");
        let home = Home::take(&place).expect("free");
        let refused = Home::take(&place).expect_err("taken").to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        drop(home);
        drop(Home::take(&place).expect("free again"));
        let mode = |path: PathBuf| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(place.join("keys")), mode(place.clone())), (0o700, 0o711));
    }

    #[test]
    fn the_tail_is_of_the_last_start_and_of_whole_lines() {
        let dir = tempfile::tempdir().expect("a directory");
        let home = Home::take(dir.path()).expect("free");
        let (mut log, from) = home.open_log("api-1").expect("a log");
        assert_eq!(from, 0);
        writeln!(log, "first run").expect("written");
        let (mut log, from) = home.open_log("api-1").expect("a log");
        for line in 0..1000 {
            writeln!(log, "line {line} of the second run").expect("written");
        }
        let tail = home.log_tail("api-1", from);
        assert!(tail.starts_with("line ") && tail.ends_with("line 999 of the second run"), "{tail}");
        assert!(!tail.contains("first run"));
        writeln!(log, "one more").expect("written");
        assert_eq!(home.log_tail("api-1", home.open_log("api-1").expect("a log").1 - 9), "one more");
        drop(home);
        let home = Home::take(dir.path()).expect("free again");
        assert_eq!(home.open_log("api-1").expect("a log").1, 0, "the old log is aside");
        assert!(home.logs().join("api-1.log.old").exists());
    }

    #[test]
    fn the_state_is_secret_and_goes_with_the_cluster() {
        let dir = tempfile::tempdir().expect("a directory");
        let home = Home::take(dir.path()).expect("free");
        home.write_state(r#"{"api":[]}"#).expect("written");
        assert!(read_state(home.dir()).expect("readable")["api"].is_array());
        let state = state_path(home.dir());
        assert_eq!(fs::metadata(&state).expect("there").permissions().mode() & 0o777, 0o600);
        home.clear();
        assert!(!state.exists());
    }
}
