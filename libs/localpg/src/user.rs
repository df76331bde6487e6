//! Whom the server runs as. PostgreSQL refuses root, and should.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Context, Error};

/// The user the server's processes run as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunAs {
    /// Whoever started us.
    Myself,
    /// Root started us: somebody without rights.
    Other { name: &'static str, uid: u32, gid: u32 },
}

impl RunAs {
    /// Chooses; `postgres` if root has one, else `nobody`.
    pub(crate) fn choose() -> Result<Self, Error> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Myself);
        }
        ["postgres", "nobody"]
            .into_iter()
            .find_map(|name| Some(Self::Other { name, uid: id("-u", name)?, gid: id("-g", name)? }))
            .ok_or(Error::NoUser)
    }

    /// Makes `command` run as this user.
    pub(crate) fn apply(&self, command: &mut tokio::process::Command) {
        if let Self::Other { uid, gid, .. } = self {
            // Dropping the user as root clears the supplementary groups as well.
            command.uid(*uid).gid(*gid);
        }
    }

    /// Makes this user the owner of `path`.
    pub(crate) fn own(&self, path: &Path) -> Result<(), Error> {
        match self {
            Self::Myself => Ok(()),
            Self::Other { name, uid, gid } => chown(path, Some(*uid), Some(*gid))
                .context(|| format!("cannot make {name} the owner of {}", path.display())),
        }
    }

    /// Makes the directory, to be entered by this user and read by nobody else.
    pub(crate) fn make_enterable(&self, dir: &Path) -> Result<(), Error> {
        if dir.is_dir() {
            return Ok(());
        }
        let mode = match self {
            Self::Myself => 0o700,
            Self::Other { .. } => 0o711,
        };
        fs::create_dir_all(dir)
            .and_then(|()| fs::set_permissions(dir, Permissions::from_mode(mode)))
            .context(|| format!("cannot make {}", dir.display()))
    }

    /// Fails unless this user can enter `dir`.
    pub(crate) fn check_enters(&self, dir: &Path) -> Result<(), Error> {
        let Self::Other { name, uid, gid } = self else {
            return Ok(());
        };
        // The kernel is asked, not the mode bits: ancestors and access lists count too.
        use std::os::unix::process::CommandExt;
        let tried = Command::new("true").uid(*uid).gid(*gid).current_dir(dir).status();
        match tried {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(Error::Unreachable { dir: dir.to_owned(), user: (*name).to_owned() })
            }
            _ => Ok(()),
        }
    }
}

/// Whether a server started by this process could keep its data in `dir`, which is made if absent.
/// Root's own home is a directory where it could not.
#[must_use]
pub fn reachable(dir: &Path) -> bool {
    RunAs::choose().and_then(|user| user.make_enterable(dir).and_then(|()| user.check_enters(dir))).is_ok()
}

/// Asks `id`, so that users kept elsewhere than in `/etc/passwd` are found.
fn id(flag: &str, name: &str) -> Option<u32> {
    let output = Command::new("id").args([flag, name]).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_never_runs_the_server() {
        let chosen = RunAs::choose().expect("a user");
        let root = rustix::process::geteuid().is_root();
        assert_eq!(matches!(chosen, RunAs::Other { uid, .. } if uid != 0), root, "{chosen:?}");
    }

    #[test]
    fn a_closed_directory_is_not_reachable() {
        let outer = tempfile::tempdir().expect("a directory");
        let (open, closed) = (outer.path().join("open"), outer.path().join("closed"));
        fs::set_permissions(outer.path(), Permissions::from_mode(0o755)).expect("open");
        assert!(reachable(&open));
        if RunAs::choose().expect("a user") != RunAs::Myself {
            fs::create_dir(&closed).expect("a directory");
            fs::set_permissions(&closed, Permissions::from_mode(0o700)).expect("closed");
            assert!(!reachable(&closed.join("inner")));
        }
    }
}
