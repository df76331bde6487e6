//! The server all tests share: found, started, watched.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use localpg::{Options, Server, query};
use tokio::sync::OnceCell;

use crate::workspace::{self, Hold, is_gone, lock, open_lock};

/// How many minutes without a test end the server.
const IDLE_MINUTES: u32 = 5;
/// How many seconds the watchdog sleeps.
const LOOK_SECONDS: &str = "10";

/// This process's hold on the shared server.
#[derive(Debug)]
pub(super) struct Shared {
    url: String,
    _user: File,
}

/// The shared server, started if need be.
pub(super) async fn shared() -> &'static Shared {
    static SHARED: OnceCell<Shared> = OnceCell::const_new();
    SHARED.get_or_init(|| Shared::attach(workspace::server_dir(), IDLE_MINUTES, LOOK_SECONDS)).await
}

/// Where servers are kept that tests have of their own, after those of killed tests were removed.
pub(super) async fn own_dir() -> std::path::PathBuf {
    let base = workspace::server_dir();
    let _one_at_a_time = lock(base.join("sweep.lock"), Hold::Alone).await;
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix("own-")?.split('-').next()?.parse().ok());
        if owner.is_some_and(is_gone) {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
    base.join(format!("own-{}-{}", std::process::id(), crate::random::letters(6)))
}

impl Shared {
    async fn attach(base: &Path, idle_minutes: u32, look_seconds: &str) -> Self {
        let user = lock(base.join("users.lock"), Hold::Shared).await;
        let start = lock(base.join("start.lock"), Hold::Alone).await;
        let found = fs::read_to_string(base.join("url")).ok();
        let url = match found {
            Some(url) if answers(base, &url).await => url,
            _ => start_server(base).await,
        };
        let shared = Self { url, _user: user };
        shared.touch_in(base);
        watch(base, idle_minutes, look_seconds);
        drop(start);
        shared.sweep().await;
        shared
    }

    /// The URL of one of the server's databases.
    pub(super) fn url_of(&self, database: &str) -> String {
        let server = self.url.rsplit_once('/').map_or("", |(server, _)| server);
        format!("{server}/{database}")
    }

    /// Runs a statement as the superuser.
    pub(super) async fn run(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>, localpg::Error> {
        query(&self.url, sql).await
    }

    /// Says that the server was of use just now.
    pub(super) fn touch(&self) {
        self.touch_in(workspace::server_dir());
    }

    fn touch_in(&self, base: &Path) {
        let touched =
            open_lock(&base.join("last_used")).and_then(|file| file.set_modified(SystemTime::now()));
        touched.unwrap_or_else(|error| panic!("cannot write in {}: {error}", base.display()));
    }

    /// Drops the databases of test processes that were killed, when there are many.
    async fn sweep(&self) {
        let Ok(rows) = self.run(r"SELECT datname FROM pg_database WHERE datname LIKE 't\_%'").await else {
            return;
        };
        if rows.len() < 20 {
            return;
        }
        for name in rows.into_iter().flatten().flatten() {
            let owner = name.strip_prefix("t_").and_then(|rest| rest.split('_').next()?.parse().ok());
            if owner.is_some_and(is_gone) {
                // Another process may be sweeping too.
                drop(self.run(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await);
            }
        }
    }
}

async fn answers(base: &Path, url: &str) -> bool {
    base.join("server/data/PG_VERSION").exists() && query(url, "SELECT 1").await.is_ok()
}

async fn start_server(base: &Path) -> String {
    let options = Options::throw_away(base.join("server")).detached();
    let server =
        Server::start(options).await.unwrap_or_else(|error| panic!("no PostgreSQL for tests: {error}"));
    let url = server.url();
    let written = fs::write(base.join("pid"), server.pid().unwrap_or_default().to_string())
        .and_then(|()| write_secret(&base.join("url"), &url));
    written.unwrap_or_else(|error| panic!("cannot write in {}: {error}", base.display()));
    url
}

fn write_secret(path: &Path, text: &str) -> std::io::Result<()> {
    drop(fs::remove_file(path));
    let mut file = File::options().create_new(true).write(true).mode(0o600).open(path)?;
    std::io::Write::write_all(&mut file, text.as_bytes())
}

/// Starts a watchdog unless there is one. Called under `users.lock`, so one that is there stays.
#[expect(clippy::zombie_processes, reason = "the watchdog outlives us")]
fn watch(base: &Path, idle_minutes: u32, look_seconds: &str) {
    let lock = open_lock(&base.join("watchdog.lock")).expect("the watchdog's lock");
    if lock.try_lock().is_err() {
        return;
    }
    drop(lock);
    let flock = Command::new("flock").arg("--version").stdout(Stdio::null()).status();
    assert!(flock.is_ok_and(|status| status.success()), "`flock` is missing; install util-linux");
    Command::new("sh")
        .args(["-c", include_str!("watchdog.sh"), "watchdog"])
        .arg(base)
        .args([&idle_minutes.to_string(), look_seconds])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        // Not ended with the test's group.
        .process_group(0)
        .spawn()
        .expect("`sh` for the watchdog");
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn until(what: &str, mut holds: impl FnMut() -> bool) {
        tokio::time::timeout(Duration::from_secs(30), async {
            while !holds() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
        .unwrap_or_else(|_| panic!("{what}"));
    }

    fn pid(base: &Path) -> u32 {
        fs::read_to_string(base.join("pid")).expect("a pid").parse().expect("a number")
    }

    fn lives(pid: u32) -> bool {
        fs::read_link(format!("/proc/{pid}/cwd")).is_ok()
    }

    fn is_free(lock: &Path) -> bool {
        open_lock(lock).is_ok_and(|file| file.try_lock().is_ok())
    }

    /// Waits until the watchdog has looked once more.
    async fn a_look(base: &Path) {
        for _ in 0..2 {
            // The first may have begun before this.
            drop(fs::remove_file(base.join("looked")));
            until("the watchdog does not look", || base.join("looked").exists()).await;
        }
    }

    /// One story, for each part would start servers anew: reuse, death, removal, and the end by itself.
    #[tokio::test]
    async fn the_server_is_reused_replaced_and_ends_by_itself() {
        let base = own_dir().await;
        assert!(localpg::reachable(&base));
        let first = Shared::attach(&base, 60, "0.1").await;
        let server = pid(&base);
        let again = Shared::attach(&base, 60, "0.1").await;
        assert_eq!((&again.url, pid(&base)), (&first.url, server), "started twice");
        drop(again);

        // Killed: the next test gets another.
        let killed = Command::new("kill").args(["-9", &server.to_string()]).status().expect("kill");
        assert!(killed.success());
        let second = Shared::attach(&base, 60, "0.1").await;
        second.run("SELECT 1").await.expect("it answers");
        assert_ne!(pid(&base), server);

        // Its data was removed under it: the next test gets another, and the old one is ended.
        let server = pid(&base);
        fs::remove_dir_all(base.join("server/data")).expect("removed");
        let third = Shared::attach(&base, 60, "0.1").await;
        third.run("SELECT 1").await.expect("it answers");
        assert!(!lives(server), "left running");

        // Everything was removed: the watchdog ends what nobody can find any more.
        let server = pid(&base);
        let watchdog = base.join("watchdog.lock");
        until("a watchdog", || !is_free(&watchdog)).await;
        a_look(&base).await;
        // The watchdog or the server may be making a file in it just now.
        until("the directory can be removed", || fs::remove_dir_all(&base).is_ok() || !base.exists()).await;
        until("the server is left running", || !lives(server)).await;
        assert!(localpg::reachable(&base));

        // Used by somebody for however long it takes, then by nobody.
        drop((first, second, third));
        let fourth = Shared::attach(&base, 0, "0.1").await;
        let server = pid(&base);
        until("a watchdog", || !is_free(&watchdog)).await;
        for _ in 0..3 {
            a_look(&base).await;
        }
        fourth.run("SELECT 1").await.expect("stopped under a test");
        drop(fourth);
        until("the server does not end", || !lives(server)).await;
        until("the watchdog does not end", || is_free(&watchdog)).await;
        assert!(!base.join("server").exists() && !base.join("url").exists());
        fs::remove_dir_all(&base).expect("removed");
    }
}
