//! How keys lie in their directory.
//!
//! ```text
//! <dir>/                 0700
//!   manifest.json        0600   which keys there are, and which one signs
//!   <kid>.pem            0600   PKCS#8, written once, never changed
//! ```
//!
//! A file appears whole or not at all: written under a temporary name, synced, then linked to its
//! own. The key file is there before the manifest names it. The first manifest is put in place by `link`, which fails
//! when there is one: of many processes that start at once one wins, and the others take its key.
//! Whoever dies in between leaves a file that nobody names, and changes nothing.
//!
//! Modes: the owner, and the group where a volume plugin forces it. Never everybody.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind as Io, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::Ed25519KeyPair;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Key, KeySet};
use crate::error::AuthError;

const MANIFEST: &str = "manifest.json";
const PEM_TAG: &str = "PRIVATE KEY";
/// Longest file that is read.
const MAX_BYTES: u64 = 256 * 1024;

/// What the manifest says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    /// Form of this file.
    pub version: u32,
    /// Id of the key that signs.
    pub active: String,
    /// Every key that verifies, the active one among them.
    pub keys: Vec<ManifestKey>,
}

/// A key in the manifest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ManifestKey {
    /// Its id, and the name of its file.
    pub kid: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Reads the directory; makes it, and a first key, where there is none.
///
/// # Errors
///
/// What stands in the way, by the name of the file, and the fix.
pub fn open(dir: &Path) -> Result<KeySet, AuthError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|e| fault("make", dir, &e))?;
    refuse_strangers(dir, "0700")?;
    if !dir.join(MANIFEST).try_exists().map_err(|e| fault("look for", &dir.join(MANIFEST), &e))? {
        create_first(dir)?;
    }
    load(dir)
}

/// Reads the directory.
///
/// # Errors
///
/// As [`open`]. A key that only verifies and can't be read is left out, with a warning.
pub fn load(dir: &Path) -> Result<KeySet, AuthError> {
    let manifest = read_manifest(dir)?;
    let active = read_key(dir, &manifest.active)?;
    let others = manifest.keys.iter().filter(|key| key.kid != manifest.active);
    let others = others.filter_map(|key| match read_key(dir, &key.kid) {
        Ok(key) => Some(key),
        Err(error) => {
            tracing::warn!(%error, "a key that verifies is left out");
            None
        }
    });
    let others = others.collect();
    Ok(KeySet::new(active, others))
}

/// What the manifest says; none where no key was made yet. Makes nothing.
///
/// # Errors
///
/// As [`load`].
pub fn manifest(dir: &Path) -> Result<Option<Manifest>, AuthError> {
    let path = dir.join(MANIFEST);
    if path.try_exists().map_err(|e| fault("look for", &path, &e))? {
        read_manifest(dir).map(Some)
    } else {
        Ok(None)
    }
}

fn read_manifest(dir: &Path) -> Result<Manifest, AuthError> {
    refuse_strangers(dir, "0700")?;
    let path = dir.join(MANIFEST);
    let manifest: Manifest = serde_json::from_slice(&read(&path)?)
        .map_err(|error| AuthError::Keys(format!("{} is broken: {error}", path.display())))?;
    if manifest.version != 1 {
        return Err(AuthError::Keys(format!(
            "{} has version {}, this release reads 1",
            path.display(),
            manifest.version
        )));
    }
    Ok(manifest)
}

fn create_first(dir: &Path) -> Result<(), AuthError> {
    let kid = Uuid::now_v7().to_string();
    let der = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new())
        .map_err(|_| AuthError::Internal("no Ed25519 key could be made".into()))?;
    let pem = pem::encode(&pem::Pem::new(PEM_TAG, der.as_ref()));
    let key_path = dir.join(format!("{kid}.pem"));
    place(dir, &key_path, pem.as_bytes()).map_err(|e| fault("write", &key_path, &e))?;

    let manifest = Manifest {
        version: 1,
        active: kid.clone(),
        keys: vec![ManifestKey { kid, created_at: Timestamp::now() }],
    };
    let text = serde_json::to_vec_pretty(&manifest)
        .map_err(|error| AuthError::Internal(format!("the manifest could not be written: {error}")))?;
    let path = dir.join(MANIFEST);
    match place(dir, &path, &text) {
        Ok(()) => {
            tracing::info!(dir = %dir.display(), kid = manifest.active, "made the first signing key");
            Ok(())
        }
        // Another process was first: its key is the one, ours is named by nobody.
        Err(error) if error.kind() == Io::AlreadyExists => {
            fs::remove_file(&key_path).map_err(|e| fault("remove", &key_path, &e))
        }
        Err(error) => Err(fault("write", &path, &error)),
    }
}

/// Puts a new file in place, whole, on disk, and only where there is none.
fn place(dir: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = dir.join(format!(".{}.tmp", Uuid::now_v7()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::hard_link(&temporary, path)
    })();
    let removed = fs::remove_file(&temporary);
    written.and(removed)?;
    File::open(dir)?.sync_all()
}

fn read_key(dir: &Path, kid: &str) -> Result<Key, AuthError> {
    // The id becomes a file name: nothing that leads elsewhere.
    let good = (1..=64).contains(&kid.len()) && kid.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if !good {
        return Err(AuthError::Keys(format!("{kid:?} in {MANIFEST} is no key id")));
    }
    let path = dir.join(format!("{kid}.pem"));
    let pem = pem::parse(read(&path)?)
        .ok()
        .filter(|pem| pem.tag() == PEM_TAG)
        .ok_or_else(|| AuthError::Keys(format!("{} is no PEM file with a private key", path.display())))?;
    Key::from_pkcs8(kid.to_owned(), pem.contents())
}

fn read(path: &Path) -> Result<Vec<u8>, AuthError> {
    refuse_strangers(path, "0600")?;
    let length = fs::metadata(path).map_err(|e| fault("read", path, &e))?.len();
    if length > MAX_BYTES {
        return Err(AuthError::Keys(format!("{} has {length} bytes and is no key file", path.display())));
    }
    fs::read(path).map_err(|e| fault("read", path, &e))
}

fn refuse_strangers(path: &Path, mode: &str) -> Result<(), AuthError> {
    let permissions = fs::metadata(path).map_err(|e| fault("look at", path, &e))?.permissions();
    if permissions.mode() & 0o007 == 0 {
        return Ok(());
    }
    Err(AuthError::Keys(format!(
        "{path} is open to everybody (mode {present:04o}); do: chmod {mode} {path}",
        path = path.display(),
        present = permissions.mode() & 0o7777,
    )))
}

fn fault(what: &str, path: &Path, error: &std::io::Error) -> AuthError {
    let hint = match error.kind() {
        Io::PermissionDenied => "; it must belong to the user that Switchboard runs as",
        Io::Unsupported => "; the file system must know hard links",
        Io::NotFound => "; is the volume mounted?",
        _ => "",
    };
    AuthError::Keys(format!("could not {what} {}: {error}{hint}", path.display()))
}
