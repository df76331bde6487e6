//! One server's directory: `data/`, the password, the log, and the lock that says whose it is.
//!
//! `initdb` works in `data.new`, which is renamed once it is whole; a run that died in between leaves a
//! directory that the next start removes. The password is there before the data that needs it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::error::{Context, Error};
use crate::options::Durability;
use crate::tether::{self, OnParentDeath};
use crate::user::RunAs;
use crate::{Binaries, Options, postmaster};

/// The name of the server's superuser.
pub(crate) const USER: &str = "switchboard";

/// How much of the log an error shows.
const TAIL: u64 = 2000;

/// A directory that this process holds.
#[derive(Debug)]
pub(crate) struct Directory {
    dir: PathBuf,
    user: RunAs,
    _lock: File,
}

impl Directory {
    /// Takes the directory, making it if need be.
    pub(crate) fn take(dir: &Path, user: RunAs) -> Result<Self, Error> {
        user.make_enterable(dir)?;
        user.check_enters(dir)?;
        let dir = dir.canonicalize().context(|| format!("cannot find {}", dir.display()))?;
        let path = dir.join("lock");
        let lock = File::create(&path).context(|| format!("cannot make {}", path.display()))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { dir, user, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::InUse(dir)),
            Err(TryLockError::Error(error)) => {
                Err(error).context(|| format!("cannot lock {}", path.display()))
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }

    fn password_file(&self) -> PathBuf {
        self.dir.join("password")
    }

    /// Ends what an earlier run left running and removes what it left half done.
    /// Data that is worth nothing goes as well.
    pub(crate) async fn tidy(&self, durability: Durability) -> Result<(), Error> {
        postmaster::end_leftovers(&self.data()).await?;
        let half_done = self.dir.join("data.new");
        postmaster::kill_all(&half_done).await?;
        remove(&half_done)?;
        if durability == Durability::ThrowAway {
            remove(&self.data())?;
        }
        let old = self.dir.join("server.log.old");
        if self.log().exists() {
            fs::rename(self.log(), &old).context(|| format!("cannot make {}", old.display()))?;
        }
        Ok(())
    }

    /// Makes sure that there is data, and gives its password.
    pub(crate) async fn prepare(&self, binaries: &Binaries, options: &Options) -> Result<String, Error> {
        let made = self.data().exists();
        if made && !self.password_file().exists() {
            return Err(Error::PasswordMissing(self.password_file()));
        }
        let password = self.password()?;
        if !made {
            self.initdb(binaries, options, &password).await?;
        }
        Ok(password)
    }

    fn password(&self) -> Result<String, Error> {
        let path = self.password_file();
        if let Ok(kept) = fs::read_to_string(&path)
            && !kept.is_empty()
        {
            return Ok(kept);
        }
        let password = format!("{:032x}", rand::random::<u128>());
        write_secret(&path, &password)?;
        Ok(password)
    }

    async fn initdb(&self, binaries: &Binaries, options: &Options, password: &str) -> Result<(), Error> {
        let fresh = self.dir.join("data.new");
        fs::create_dir(&fresh).context(|| format!("cannot make {}", fresh.display()))?;
        self.user.own(&fresh)?;
        let handed = self.dir.join("password.initdb");
        write_secret(&handed, password)?;
        self.user.own(&handed)?;

        let mut command = self.command(tether::command(binaries.program("initdb"), OnParentDeath::Kill));
        command
            .args(["--encoding=UTF8", "--locale=C", "--username", USER, "--auth-local=reject"])
            // Checking a SCRAM proof costs the client thousands of hashes. What is worth nothing is asked in the
            // clear, over loopback, so that tests connect quickly.
            .arg(match options.durability {
                Durability::Durable => "--auth-host=scram-sha-256",
                Durability::ThrowAway => "--auth-host=password",
            })
            .arg("--pwfile")
            .arg(&handed)
            .arg("--pgdata")
            .arg(&fresh);
        if options.durability == Durability::ThrowAway {
            command.arg("--no-sync");
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let output = match tether::spawn(command).await {
            Ok(child) => child.wait_with_output().await,
            Err(error) => Err(error),
        };
        fs::remove_file(&handed).context(|| format!("cannot remove {}", handed.display()))?;
        let output = output.context(|| format!("cannot run {}", binaries.program("initdb").display()))?;
        if !output.status.success() {
            return Err(Error::Initdb(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        fs::rename(&fresh, self.data()).context(|| format!("cannot make {}", self.data().display()))
    }

    /// `command` as the server's user, in this directory, with nothing of our environment that PostgreSQL reads.
    pub(crate) fn command(&self, mut command: Command) -> Command {
        command.env_clear().env("LC_ALL", "C").current_dir(&self.dir);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        self.user.apply(&mut command);
        command
    }

    /// The log, opened to be written by the server, and where its next line goes.
    pub(crate) fn open_log(&self) -> Result<(File, u64), Error> {
        let path = self.log();
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .and_then(|log| log.metadata().map(|meta| (log, meta.len())))
            .context(|| format!("cannot open {}", path.display()))
    }

    /// The end of what was logged after `from`.
    pub(crate) fn log_tail(&self, from: u64) -> String {
        let read = || -> std::io::Result<String> {
            let mut log = File::open(self.log())?;
            let end = log.metadata()?.len();
            log.seek(SeekFrom::Start(from.max(end.saturating_sub(TAIL))))?;
            let mut tail = Vec::new();
            log.take(TAIL).read_to_end(&mut tail)?;
            Ok(String::from_utf8_lossy(&tail).trim().to_owned())
        };
        read().unwrap_or_else(|error| format!("(its log cannot be read: {error})"))
    }
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Writes a file that only its owner reads, whole or not at all.
fn write_secret(path: &Path, secret: &str) -> Result<(), Error> {
    let fresh = path.with_extension("new");
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(secret.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, path)
    };
    write().context(|| format!("cannot write {}", path.display()))
}
