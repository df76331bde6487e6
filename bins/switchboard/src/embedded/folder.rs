//! The folder of the embedded database.
//!
//! ```text
//! .switchboard/       0700
//!   lock              held by the process that serves, with its number
//!   switchboard.db    the database, with its -wal and -shm while it is open
//!   keys/  push/      signing keys, the key of pushes: where their own settings say
//!   demo-password     of the demo people, if there are any
//!   demo-room         which room is theirs
//!   demo-agent.token  of the demo agent
//!   exported          when everything was exported, to be served elsewhere
//! ```

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::hold::{NotHeld, hold};
use crate::secret_file::SecretFile;

/// Why the folder can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FolderError {
    /// Another process serves it.
    #[error(
        "Switchboard runs on {} already, as process {pid}; stop it (kill {pid}), or name another file (embedded.file)",
        dir.display()
    )]
    Running {
        /// The folder.
        dir: PathBuf,
        /// The process that has it.
        pid: String,
    },
    /// A file system that others share.
    #[error(
        "{} lies on a network file system ({kind}), where the embedded database would be damaged: its locks and its shared memory \
         need a disk of this machine; name a file on one (embedded.file), or use PostgreSQL (database.url)",
        dir.display()
    )]
    Network {
        /// The folder.
        dir: PathBuf,
        /// What sort of file system.
        kind: &'static str,
    },
    /// It can't be made or read.
    #[error("{}: {source}", dir.display())]
    Io {
        /// The folder.
        dir: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What is in the folder beside the database, for whoever copies it.
pub(crate) const DEMO_FILES: [&str; 3] = ["demo-password", "demo-room", "demo-agent.token"];

/// Says in the folder that it was exported, and when.
pub(crate) const EXPORTED: &str = "exported";

/// The folder, held by this process until dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    dir: PathBuf,
    file: PathBuf,
    was_there: bool,
    _lock: File,
}

impl Folder {
    /// Takes the folder of a database file, making it if need be.
    pub(crate) fn take(file: &Path) -> Result<Self, FolderError> {
        let dir = folder_of(file);
        let failed = |source| FolderError::Io { dir: dir.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(failed)?;
        if let Some(kind) = network(&dir).map_err(failed)? {
            return Err(FolderError::Network { dir, kind });
        }
        let lock = hold(&dir).map_err(|error| match error {
            NotHeld::Taken(pid) => FolderError::Running { dir: dir.clone(), pid },
            NotHeld::Io(source) => FolderError::Io { dir: dir.clone(), source },
        })?;
        // One without a byte is what is left of a start that was cut off, or of a disk that was full: nothing is in it.
        let was_there = file.metadata().is_ok_and(|file| file.len() > 0);
        Ok(Self { dir, file: file.to_owned(), was_there, _lock: lock })
    }

    /// The database.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Whether the database was there before this process came.
    pub(crate) const fn was_there(&self) -> bool {
        self.was_there
    }

    /// The password of the demo people.
    pub(crate) fn demo_password(&self) -> SecretFile {
        SecretFile::at(self.dir.join("demo-password"))
    }

    /// Whether others may enter it.
    pub(crate) fn is_open(&self) -> bool {
        std::fs::metadata(&self.dir).is_ok_and(|dir| dir.permissions().mode() & 0o077 != 0)
    }

    /// When it was exported to be served elsewhere, if it was.
    pub(crate) fn exported(&self) -> Option<String> {
        std::fs::read_to_string(self.dir.join(EXPORTED)).ok()
    }

    /// The id of the demo room.
    pub(crate) fn demo_room(&self) -> SecretFile {
        SecretFile::at(self.dir.join("demo-room"))
    }

    /// The token of the demo agent.
    pub(crate) fn demo_token(&self) -> SecretFile {
        SecretFile::at(self.dir.join("demo-agent.token"))
    }
}

/// The folder that a database file lies in.
pub(crate) fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// What sort of network file system a folder is on, if it is.
#[cfg(target_os = "linux")]
pub(crate) fn network(dir: &Path) -> io::Result<Option<&'static str>> {
    Ok(network_kind(rustix::fs::statfs(dir)?.f_type as u32))
}

/// Elsewhere nothing tells.
#[cfg(not(target_os = "linux"))]
pub(crate) fn network(_: &Path) -> io::Result<Option<&'static str>> {
    Ok(None)
}

/// By the numbers of `statfs(2)`. What is mounted by FUSE may be anything, and is taken.
#[cfg(target_os = "linux")]
const fn network_kind(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0x517B | 0xFE53_4D42 | 0xFF53_4D42 => "SMB",
        0x0102_1997 => "9P",
        0x5346_414F => "AFS",
        0x00C3_6400 => "Ceph",
        0x7375_7245 => "Coda",
        0x564C => "NCP",
        0x0BD0_0BD0 => "Lustre",
        0x0116_1970 => "GFS2",
        0x7461_636F => "OCFS2",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_its_owners_alone_and_one_process_has_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("a/b/switchboard.db");
        let folder = Folder::take(&file).expect("free");
        assert!(!folder.was_there());
        let mode = std::fs::metadata(dir.path().join("a/b")).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let refused = Folder::take(&file).expect_err("taken").to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        drop(folder);
        std::fs::write(&file, "").expect("written");
        assert!(!Folder::take(&file).expect("free again").was_there(), "nothing is in it");
        std::fs::write(&file, "something").expect("written");
        assert!(Folder::take(&file).expect("free again").was_there());
    }

    #[test]
    fn file_systems_of_others_are_known() {
        assert_eq!(network_kind(0x6969), Some("NFS"));
        assert_eq!(network_kind(0xFF53_4D42), Some("SMB"));
        for own in [0xEF53, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0x6573_5546] {
            assert_eq!(network_kind(own), None, "{own:x}");
        }
    }
}
