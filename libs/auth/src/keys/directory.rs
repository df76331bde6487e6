//! How keys lie in their directory.
//!
//! ```text
//! <dir>/                 0700
//!   manifest.json        0600   which keys there are, and which one signs
//!   <kid>.pem            0600   PKCS#8, written once, never changed
//! ```
//!
//! The key file is there before the manifest names it. The first manifest is put in place only where there is
//! none: of many processes that start at once one wins, and the others take its key (see [`files`]).

use std::path::Path;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::Ed25519KeyPair;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Key, KeySet, files};
use crate::error::AuthError;

const MANIFEST: &str = "manifest.json";
const PEM_TAG: &str = "PRIVATE KEY";

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
    files::make_dir(dir)?;
    if !files::is_there(&dir.join(MANIFEST))? {
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
    if files::is_there(&dir.join(MANIFEST))? { read_manifest(dir).map(Some) } else { Ok(None) }
}

fn read_manifest(dir: &Path) -> Result<Manifest, AuthError> {
    files::check_dir(dir)?;
    let path = dir.join(MANIFEST);
    let manifest: Manifest = serde_json::from_slice(&files::read(&path)?)
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
    files::place(dir, &key_path, pem.as_bytes())?;

    let manifest = Manifest {
        version: 1,
        active: kid.clone(),
        keys: vec![ManifestKey { kid, created_at: Timestamp::now() }],
    };
    let text = serde_json::to_vec_pretty(&manifest)
        .map_err(|error| AuthError::Internal(format!("the manifest could not be written: {error}")))?;
    if files::place(dir, &dir.join(MANIFEST), &text)? {
        tracing::info!(dir = %dir.display(), kid = manifest.active, "made the first signing key");
        return Ok(());
    }
    // Another process was first: its key is the one, ours is named by nobody.
    Ok(files::remove(&key_path)?)
}

fn read_key(dir: &Path, kid: &str) -> Result<Key, AuthError> {
    // The id becomes a file name: nothing that leads elsewhere.
    let good = (1..=64).contains(&kid.len()) && kid.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if !good {
        return Err(AuthError::Keys(format!("{kid:?} in {MANIFEST} is no key id")));
    }
    let path = dir.join(format!("{kid}.pem"));
    let pem = pem::parse(files::read(&path)?)
        .ok()
        .filter(|pem| pem.tag() == PEM_TAG)
        .ok_or_else(|| AuthError::Keys(format!("{} is no PEM file with a private key", path.display())))?;
    Key::from_pkcs8(kid.to_owned(), pem.contents())
}
