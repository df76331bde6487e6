//! The manifest of an export: what there is, and how to know that it is whole.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use domain::LogEpoch;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::transfer::TransferError;
use crate::transfer::tables::{TABLES, Table};

/// The form of an export that this release writes and reads.
pub const FORMAT: u32 = 1;
/// The file that makes a folder an export.
pub const MANIFEST: &str = "manifest.json";

/// What an export consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The form of everything in the folder.
    pub format: u32,
    /// The release that wrote it.
    pub release: String,
    /// The newest migration of the database; the target must have just the same.
    pub migration: u32,
    /// When.
    pub exported_at: Timestamp,
    /// A process served the database meanwhile: what came after `exported_at` is not in here.
    pub served: bool,
    /// The machine had gone down while the database was in use, and its last moments may be missing: `log_epoch` is a new one.
    pub cut_short: bool,
    /// The life of the log that cursors of clients belong to.
    pub log_epoch: LogEpoch,
    /// The tables, in the order in which they are loaded.
    pub tables: Vec<TableFile>,
    /// The other files, such as keys.
    pub files: Vec<OtherFile>,
}

/// The file of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableFile {
    /// The table.
    pub name: String,
    /// Its rows, each a line.
    pub rows: u64,
    /// The size of the file.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// A file beside the tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherFile {
    /// Folder and name, such as `keys/0198c0de.pem`.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// A finished export, to be imported.
#[derive(Debug, Clone)]
pub struct Export {
    dir: PathBuf,
    manifest: Manifest,
    digest: Vec<u8>,
}

impl Export {
    /// Reads the manifest of a folder; the files are not looked at yet.
    ///
    /// # Errors
    ///
    /// `Refused` when there is none, or it is of another form or release; `File` when it can't be read.
    pub fn open(dir: &Path) -> Result<Self, TransferError> {
        let path = dir.join(MANIFEST);
        if !dir.is_dir() {
            return Err(refused(format!("there is no folder {}", dir.display())));
        }
        if !path.exists() {
            return Err(refused(format!(
                "{} is no finished export: it has no {MANIFEST}, which is written last; export again, into a new folder",
                dir.display()
            )));
        }
        let text = fs::read(&path).map_err(TransferError::file(&path))?;
        let shown = path.display();
        let form: Form = serde_json::from_slice(&text)
            .map_err(|error| refused(format!("{shown} is damaged ({error}): export again")))?;
        if form.format != FORMAT {
            return Err(refused(format!(
                "{shown} is of form {}, this release reads form {FORMAT}: import with the release that exported ({})",
                form.format, form.release
            )));
        }
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(|error| refused(format!("{shown} is damaged ({error}): export again")))?;
        let newest = crate::postgres::MIGRATIONS.last().map_or(0, |migration| migration.version);
        if manifest.migration != newest {
            return Err(refused(format!(
                "the export is at migration {:04}, of release {}; this release has migration {newest:04}: import with the release that exported, \
                 then update",
                manifest.migration, manifest.release
            )));
        }
        let names: Vec<&str> = manifest.tables.iter().map(|table| table.name.as_str()).collect();
        if names != TABLES.iter().map(|table| table.name).collect::<Vec<_>>() {
            return Err(refused(format!(
                "{shown} does not list the tables of this release: import with release {}",
                manifest.release
            )));
        }
        Ok(Self { dir: dir.to_owned(), manifest, digest: Sha256::digest(&text).to_vec() })
    }

    /// What it consists of.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where it is.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Tells it from every other export.
    pub(crate) fn digest(&self) -> &[u8] {
        &self.digest
    }

    /// A table with its file.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&'static Table, &TableFile)> {
        TABLES.iter().zip(&self.manifest.tables)
    }

    /// Reads every file, and compares it with the manifest. This takes as long as the files are large.
    ///
    /// # Errors
    ///
    /// `Refused` when a file is not what was exported; `File` when one can't be read.
    pub fn check(&self) -> Result<(), TransferError> {
        for (table, of) in self.tables() {
            self.check_file(&table.file(), of.bytes, &of.sha256)?;
        }
        for other in &self.manifest.files {
            let path = Path::new(&other.path);
            let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
            if !is_plain || path.components().count() != 2 {
                return Err(refused(format!("{MANIFEST} names a file that is not below the export")));
            }
            self.check_file(&other.path, other.bytes, &other.sha256)?;
        }
        Ok(())
    }

    fn check_file(&self, name: &str, bytes: u64, sha256: &str) -> Result<(), TransferError> {
        let path = self.dir.join(name);
        if !path.exists() {
            return Err(refused(format!("{} is missing: export again", path.display())));
        }
        let found = digest_of(&path)?;
        if found != (bytes, sha256.to_owned()) {
            return Err(refused(format!(
                "{} is not what was exported (its SHA-256 is another one than in {MANIFEST}): copy it again, or export again",
                path.display()
            )));
        }
        Ok(())
    }
}

/// What is read of a manifest of any form.
#[derive(Deserialize)]
struct Form {
    format: u32,
    #[serde(default)]
    release: String,
}

impl Manifest {
    /// Puts it into the folder, whole or not at all: the last step of an export.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), TransferError> {
        let (path, unfinished) = (dir.join(MANIFEST), dir.join(format!("{MANIFEST}.part")));
        let text = serde_json::to_vec_pretty(self).map_err(|error| refused(error.to_string()))?;
        let written = || {
            let mut file = new_file(&unfinished)?;
            file.write_all(&text)?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            // Names of the tables' files are on the disk before that of the manifest is.
            File::open(dir)?.sync_all()?;
            fs::rename(&unfinished, &path)?;
            File::open(dir)?.sync_all()
        };
        written().map_err(TransferError::file(&path))
    }
}

/// The files in the folders below an export, by name.
pub(crate) fn other_files(dir: &Path) -> Result<Vec<OtherFile>, TransferError> {
    let mut found = Vec::new();
    for folder in listed(dir)?.into_iter().filter(|path| path.is_dir()) {
        for path in listed(&folder)?.into_iter().filter(|path| path.is_file()) {
            let below = path.strip_prefix(dir).ok().and_then(Path::to_str);
            let below =
                below.ok_or_else(|| refused(format!("{} has a name that is no UTF-8", path.display())))?;
            let (bytes, sha256) = digest_of(&path)?;
            found.push(OtherFile { path: below.to_owned(), bytes, sha256 });
        }
    }
    Ok(found)
}

fn listed(dir: &Path) -> Result<Vec<PathBuf>, TransferError> {
    let entries = fs::read_dir(dir).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut entries: Vec<PathBuf> = entries.map_err(TransferError::file(dir))?;
    entries.sort();
    Ok(entries)
}

/// A file that its owner alone can read, and that was not there.
pub(crate) fn new_file(path: &Path) -> std::io::Result<File> {
    fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)
}

/// Size and SHA-256 of a file.
fn digest_of(path: &Path) -> Result<(u64, String), TransferError> {
    let read = || {
        let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
        let (mut digest, mut bytes, mut piece) = (Sha256::new(), 0, vec![0; 1 << 20]);
        loop {
            let length = file.read(&mut piece)?;
            if length == 0 {
                return Ok((bytes, hex(&digest.finalize())));
            }
            digest.update(&piece[..length]);
            bytes += length as u64;
        }
    };
    read().map_err(TransferError::file(path))
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing into a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn refused(why: String) -> TransferError {
    TransferError::Refused(why)
}
