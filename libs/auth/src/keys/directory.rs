//! Driver `dir`: keys in a directory that nodes share.
//!
//! ```text
//! <dir>/                         0700
//!   manifest-0000000007.json     0600   which keys there are; the one with the highest number counts
//!   <kid>.pem                    0600   PKCS#8, written once, never changed
//! ```
//!
//! Every file is immutable, and put in place whole by a hard link, which fails where there is one (see [`files`]). So a manifest is
//! replaced by placing the next number: of any number of rotators one does. A rotator that was stopped in the middle, and wakes when that
//! number has come and gone, places a manifest that is not the highest, so nobody reads it; and as it looks at what counts once
//! it has written, it knows. A few older manifests are kept, for people.
//!
//! Order of writes: the key's file, then the manifest that names it; the manifest that no longer names it, then its file goes. Files are
//! removed only of keys that an older manifest names and the present one does not, and ids never come back. Whoever dies in between
//! leaves a file that nobody names.
//!
//! `manifest.json` of the first form (one key, or what somebody put there by hand: `active` and `keys`) is read while there is no
//! numbered one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use domain::SigningKey;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::files::{self, FileFault};
use super::manifest::{Manifest, is_kid};
use super::store::{KeyStore, NewKey, PartFault, PrivatePart, Stored};
use crate::error::AuthError;

const FIRST_FORM: &str = "manifest.json";
const PEM_TAG: &str = "PRIVATE KEY";
/// Older manifests that are kept.
const KEPT: u64 = 8;

/// Keys in a directory.
#[derive(Debug)]
pub struct Directory {
    dir: PathBuf,
}

impl Directory {
    /// In this directory.
    #[must_use]
    pub const fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, AuthError> + Send + 'static,
    ) -> Result<T, AuthError> {
        let dir = self.dir.clone();
        tokio::task::spawn_blocking(move || work(&dir))
            .await
            .map_err(|error| AuthError::Internal(format!("work on the key directory ended early: {error}")))?
    }
}

#[async_trait]
impl KeyStore for Directory {
    async fn load(&self) -> Result<Option<Stored>, AuthError> {
        self.blocking(load).await
    }

    async fn replace(&self, seen: u64, next: &Manifest, new: Option<&NewKey>) -> Result<bool, AuthError> {
        let (next, new) = (next.clone(), new.cloned());
        self.blocking(move |dir| replace(dir, seen, &next, new.as_ref())).await
    }

    fn place(&self) -> String {
        self.dir.display().to_string()
    }
}

fn load(dir: &Path) -> Result<Option<Stored>, AuthError> {
    loop {
        let Some(manifest) = present(dir)? else { return Ok(None) };
        let stored = with_parts(dir, manifest);
        let whole = stored.parts.values().all(Result::is_ok);
        // A file that is not there may be one that was removed since the manifest was read.
        if whole || present(dir)?.is_some_and(|manifest| manifest == stored.manifest) {
            return Ok(Some(stored));
        }
    }
}

fn with_parts(dir: &Path, manifest: Manifest) -> Stored {
    let part = |key: &SigningKey| (key.kid.clone(), read_key(&key_path(dir, &key.kid)));
    let parts: BTreeMap<_, _> = manifest.keys().iter().map(part).collect();
    Stored { manifest, parts }
}

fn replace(dir: &Path, seen: u64, next: &Manifest, new: Option<&NewKey>) -> Result<bool, AuthError> {
    files::make_dir(dir)?;
    if present(dir)?.map_or(0, |manifest| manifest.revision()) != seen {
        return Ok(false);
    }
    if let Some(new) = new {
        let pem = pem::encode(&pem::Pem::new(PEM_TAG, new.private.der()));
        files::place(dir, &key_path(dir, &new.kid), pem.as_bytes())?;
    }
    let placed = place_manifest(dir, next);
    // What counts is what stands there now: the link may have been made although something failed, or come too late.
    let stands = present(dir)?;
    let names_new = |manifest: &Manifest| new.is_some_and(|new| manifest.key(&new.kid).is_some());
    let won = stands.as_ref().is_some_and(|manifest| manifest == next || names_new(manifest));
    match (won, stands) {
        (true, Some(stands)) => {
            tidy(dir, &stands);
            Ok(true)
        }
        _ => {
            if let Some(new) = new {
                files::remove(&key_path(dir, &new.kid))?;
            }
            placed.map(|_| false)
        }
    }
}

fn place_manifest(dir: &Path, manifest: &Manifest) -> Result<bool, AuthError> {
    let text = serde_json::to_vec_pretty(&Numbered { version: 2, manifest: manifest.clone() })
        .map_err(|error| AuthError::Internal(format!("the manifest could not be written: {error}")))?;
    Ok(files::place(dir, &manifest_path(dir, manifest.revision()), &text)?)
}

/// A manifest in its file.
#[derive(Serialize, Deserialize)]
struct Numbered {
    version: u32,
    #[serde(flatten)]
    manifest: Manifest,
}

/// The first form.
#[derive(Deserialize)]
struct FirstForm {
    active: String,
    keys: Vec<FirstKey>,
}

#[derive(Deserialize)]
struct FirstKey {
    kid: String,
    created_at: Timestamp,
}

/// The manifest that counts.
fn present(dir: &Path) -> Result<Option<Manifest>, AuthError> {
    if !files::is_there(dir)? {
        return Ok(None);
    }
    files::check_dir(dir)?;
    if let Some(number) = numbers(dir)?.last() {
        return read_manifest(dir, *number).map(Some);
    }
    let first = dir.join(FIRST_FORM);
    if files::is_there(&first)? { take_over(&first).map(Some) } else { Ok(None) }
}

fn read_manifest(dir: &Path, number: u64) -> Result<Manifest, AuthError> {
    let path = manifest_path(dir, number);
    let read: Numbered = parse(&path, 2)?;
    if read.manifest.revision() != number {
        return Err(broken(&path, "it says another number than its name"));
    }
    Manifest::of(number, read.manifest.keys().to_vec()).map_err(|what| broken(&path, &what))
}

/// The first form as a manifest of revision 0. When its keys that only verify were retired nobody wrote down.
fn take_over(path: &Path) -> Result<Manifest, AuthError> {
    let first: FirstForm = parse(path, 1)?;
    let (active, others): (Vec<_>, Vec<_>) = first.keys.into_iter().partition(|key| key.kid == first.active);
    let began = active.first().map_or(Timestamp::MIN, |key| key.created_at);
    let before = began.checked_sub(Duration::from_millis(1)).unwrap_or(Timestamp::MIN);
    let taken = |key: FirstKey, signs_from, withdrawn| SigningKey {
        kid: key.kid,
        created_at: key.created_at,
        signs_from,
        withdrawn,
        retired_at: None,
        token_life: Duration::ZERO,
        made_by: String::new(),
    };
    let active = active.into_iter().map(|key| taken(key, began, false));
    let others = others.into_iter().map(|key| taken(key, before, true));
    Manifest::of(0, active.chain(others).collect()).map_err(|what| broken(path, &what))
}

fn parse<T: for<'de> Deserialize<'de>>(path: &Path, version: u64) -> Result<T, AuthError> {
    let said: serde_json::Value =
        serde_json::from_slice(&files::read(path)?).map_err(|error| broken(path, &error.to_string()))?;
    match said["version"].as_u64() {
        Some(found) if found == version => {
            serde_json::from_value(said).map_err(|error| broken(path, &error.to_string()))
        }
        Some(found) => Err(AuthError::Keys(format!(
            "{} has version {found}, this release reads {version} in a file of that name: a numbered manifest has version 2, \
             {FIRST_FORM} has version 1",
            path.display()
        ))),
        None => Err(broken(path, "it has no version")),
    }
}

fn broken(path: &Path, what: &str) -> AuthError {
    AuthError::Keys(format!(
        "{} is broken: {what}; put it back from a backup, or remove it: then the one before it counts",
        path.display()
    ))
}

/// The private part of a key, or why it can't be read.
fn read_key(path: &Path) -> Result<PrivatePart, PartFault> {
    let broken = |fault: FileFault| PartFault::Broken(fault.to_string());
    if !files::is_there(path).map_err(broken)? {
        return Err(PartFault::Gone(format!("{} is not there", path.display())));
    }
    let pem = pem::parse(files::read(path).map_err(broken)?)
        .ok()
        .filter(|pem| pem.tag() == PEM_TAG)
        .ok_or_else(|| PartFault::Broken(format!("{} is no PEM file with a private key", path.display())))?;
    Ok(PrivatePart::of(pem.into_contents()))
}

/// Removes what nobody needs any more. What can't be removed stays until the next time: nothing depends on it.
fn tidy(dir: &Path, present: &Manifest) {
    if let Err(error) = try_tidy(dir, present) {
        tracing::warn!(%error, "old files of signing keys stay for now");
    }
}

fn try_tidy(dir: &Path, present: &Manifest) -> Result<(), AuthError> {
    let older = numbers(dir)?.into_iter().filter(|number| *number < present.revision());
    for number in older {
        // One that can't be read names nothing.
        let named = read_manifest(dir, number).map(|manifest| manifest.keys().to_vec()).unwrap_or_default();
        for gone in named.iter().filter(|key| present.key(&key.kid).is_none()) {
            let path = key_path(dir, &gone.kid);
            if files::is_there(&path)? {
                files::remove(&path)?;
            }
        }
        if number + KEPT < present.revision() {
            files::remove(&manifest_path(dir, number))?;
        }
    }
    let first = dir.join(FIRST_FORM);
    if files::is_there(&first)? {
        files::remove(&first)?;
    }
    Ok(files::remove_leftovers(dir)?)
}

/// The numbers of the manifests, in order.
fn numbers(dir: &Path) -> Result<Vec<u64>, AuthError> {
    let number = |name: &str| name.strip_prefix("manifest-")?.strip_suffix(".json")?.parse::<u64>().ok();
    let mut numbers: Vec<u64> = files::names(dir)?.iter().filter_map(|name| number(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn manifest_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("manifest-{number:010}.json"))
}

/// Manifests are read only with ids that [`is_kid`].
fn key_path(dir: &Path, kid: &str) -> PathBuf {
    debug_assert!(is_kid(kid), "{kid}");
    dir.join(format!("{kid}.pem"))
}

#[cfg(test)]
mod tests;
