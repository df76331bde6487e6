//! Where tests of this workspace keep what they share, and how they take turns.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The directory the running test was built into: `target/<profile>`. Binaries of the workspace are there.
///
/// # Panics
///
/// When the running executable is none that cargo built as a test.
#[must_use]
pub fn profile_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("the path of the running test");
    // target/<profile>/deps/<test>
    exe.ancestors()
        .find(|dir| dir.file_name().is_some_and(|name| name == "deps"))
        .and_then(Path::parent)
        .unwrap_or_else(|| panic!("{} is no test that cargo built", exe.display()))
        .to_owned()
}

/// The `target` directory the running test was built into.
///
/// # Panics
///
/// As [`profile_dir`].
#[must_use]
pub fn target_dir() -> PathBuf {
    profile_dir().parent().expect("a profile has a parent").to_owned()
}

/// The directory of what tests share: `target/testkit`.
///
/// # Panics
///
/// When it can't be made.
#[must_use]
pub fn shared_dir() -> PathBuf {
    let dir = target_dir().join("testkit");
    fs::create_dir_all(&dir).unwrap_or_else(|error| panic!("cannot make {}: {error}", dir.display()));
    dir
}

/// A directory of what tests share that the user PostgreSQL runs as can enter: `target/testkit/postgres`, or, when that
/// user can't get there (a checkout in root's home), one in the system's temporary directory.
///
/// # Panics
///
/// When there is none.
pub(crate) fn server_dir() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        let preferred = shared_dir().join("postgres");
        if localpg::reachable(&preferred) {
            return preferred;
        }
        let fallback = std::env::temp_dir().join(format!("switchboard-testkit-{:016x}", hash(&target_dir())));
        assert!(
            localpg::reachable(&fallback),
            "the user PostgreSQL runs as can enter neither {} nor {}",
            preferred.display(),
            fallback.display()
        );
        // Everybody can make directories there.
        let owner = fs::metadata(&fallback).map(|meta| meta.uid()).ok();
        assert_eq!(owner, Some(user()), "{} is somebody else's; remove it", fallback.display());
        fallback
    })
}

/// A directory for the logs of the running test, emptied of what an earlier run left:
/// `target/testkit/logs/<binary>.<test>`, and with a number for the second one of the same test.
///
/// # Panics
///
/// When it can't be made.
#[must_use]
pub fn log_dir() -> PathBuf {
    static TAKEN: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());
    let exe = std::env::current_exe().expect("the path of the running test");
    let binary = exe.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    // Without cargo's hash.
    let binary = binary.rsplit_once('-').map_or(binary.as_str(), |(name, _)| name);
    // The test harness names a test's thread by the test.
    let test = std::thread::current().name().unwrap_or("unnamed").replace("::", ".");
    let mut name = format!("{binary}.{test}");
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let times = taken.entry(name.clone()).or_default();
    *times += 1;
    if *times > 1 {
        name = format!("{name}.{times}");
    }
    let dir = shared_dir().join("logs").join(name);
    drop(fs::remove_dir_all(&dir));
    fs::create_dir_all(&dir).unwrap_or_else(|error| panic!("cannot make {}: {error}", dir.display()));
    dir
}

/// The number of the user who runs the tests.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// A number that is the same in every process for the same value.
pub(crate) fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// How a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    Shared,
    Alone,
}

/// Takes the lock on the file at `path`, waiting for whoever has it; free again once the file is dropped.
pub(crate) async fn lock(path: PathBuf, hold: Hold) -> File {
    let shown = path.display().to_string();
    let taken = tokio::task::spawn_blocking(move || -> io::Result<File> {
        let file = open_lock(&path)?;
        match hold {
            Hold::Shared => file.lock_shared()?,
            Hold::Alone => file.lock()?,
        }
        Ok(file)
    });
    taken
        .await
        .expect("locking does not panic")
        .unwrap_or_else(|error| panic!("cannot lock {shown}: {error}"))
}

pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(path)
}

/// Whether the process of this number, of this machine, is gone.
pub(crate) fn is_gone(pid: u32) -> bool {
    !Path::new(&format!("/proc/{pid}")).exists()
}
