//! Signing keys: Ed25519, shared by all nodes through a directory.
//!
//! [`directory`] is how they lie there; a [`KeySet`] is what one reading of it gave: one active key
//! that signs, and every key that verifies. [`Keys`] holds the newest good set. A token with a key id
//! that the set does not have makes the directory be read once more, once for all who wait and at most
//! once in `secrets.reload_cooldown`, so forged key ids cost nothing. A directory that can't be read
//! keeps the last good set.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{DecodingKey, EncodingKey};
use parking_lot::RwLock;
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::error::AuthError;
use crate::settings::SecretSettings;

pub mod directory;
pub mod files;

/// A key that verifies, and signs while it is the active one.
pub struct Key {
    /// Its id, the `kid` of tokens.
    pub id: String,
    public: Vec<u8>,
    signing: EncodingKey,
    verifying: DecodingKey,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Key {
    /// From a PKCS#8 document (DER).
    ///
    /// # Errors
    ///
    /// A document that holds no Ed25519 key.
    pub fn from_pkcs8(id: String, der: &[u8]) -> Result<Self, AuthError> {
        let pair = Ed25519KeyPair::from_pkcs8(der)
            .map_err(|_| AuthError::Keys(format!("key {id} is no Ed25519 key in PKCS#8")))?;
        let public = pair.public_key().as_ref().to_vec();
        Ok(Self {
            id,
            signing: EncodingKey::from_ed_der(der),
            verifying: DecodingKey::from_ed_der(&public),
            public,
        })
    }

    pub(crate) const fn signing(&self) -> &EncodingKey {
        &self.signing
    }

    pub(crate) const fn verifying(&self) -> &DecodingKey {
        &self.verifying
    }
}

/// Keys read at one moment.
#[derive(Debug)]
pub struct KeySet {
    active: Arc<Key>,
    keys: BTreeMap<String, Arc<Key>>,
}

impl KeySet {
    /// Of an active key and others that only verify.
    #[must_use]
    pub fn new(active: Key, others: Vec<Key>) -> Self {
        let active = Arc::new(active);
        let mut keys: BTreeMap<_, _> =
            others.into_iter().map(|key| (key.id.clone(), Arc::new(key))).collect();
        keys.insert(active.id.clone(), Arc::clone(&active));
        Self { active, keys }
    }

    /// The key that signs.
    #[must_use]
    pub fn active(&self) -> &Arc<Key> {
        &self.active
    }

    /// A key that verifies.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<Key>> {
        self.keys.get(id)
    }

    /// The public halves, as `/.well-known/jwks.json` gives them out.
    #[must_use]
    pub fn jwks(&self) -> Jwks {
        let jwk = |key: &Arc<Key>| Jwk {
            kty: "OKP",
            crv: "Ed25519",
            key_use: "sig",
            alg: "EdDSA",
            kid: key.id.clone(),
            x: URL_SAFE_NO_PAD.encode(&key.public),
        };
        Jwks { keys: self.keys.values().map(jwk).collect() }
    }
}

/// A JSON Web Key Set (RFC 7517).
#[derive(Debug, Clone, Serialize)]
pub struct Jwks {
    /// The keys.
    pub keys: Vec<Jwk>,
}

/// A public Ed25519 key (RFC 8037).
#[derive(Debug, Clone, Serialize)]
pub struct Jwk {
    /// Always `OKP`.
    pub kty: &'static str,
    /// Always `Ed25519`.
    pub crv: &'static str,
    /// Always `sig`.
    #[serde(rename = "use")]
    pub key_use: &'static str,
    /// Always `EdDSA`.
    pub alg: &'static str,
    /// The key's id.
    pub kid: String,
    /// The public key, base64url.
    pub x: String,
}

/// The newest good key set of a node.
#[derive(Debug)]
pub struct Keys {
    dir: PathBuf,
    cooldown: Duration,
    set: Arc<RwLock<Arc<KeySet>>>,
    reloaded: Mutex<Option<Instant>>,
}

impl Keys {
    /// Reads the key directory, and makes it with a first key where there is none. Any number of
    /// processes may do this at once: all end up with the same key.
    ///
    /// # Errors
    ///
    /// A directory that can't be made or read, or that strangers may read; the text says the fix.
    pub async fn open(settings: &SecretSettings) -> Result<Self, AuthError> {
        let dir = settings.signing_key_dir.clone();
        let set = blocking({
            let dir = dir.clone();
            move || directory::open(&dir)
        })
        .await?;
        Ok(Self {
            dir,
            cooldown: settings.reload_cooldown,
            set: Arc::new(RwLock::new(Arc::new(set))),
            reloaded: Mutex::new(None),
        })
    }

    /// The set as it is now.
    #[must_use]
    pub fn current(&self) -> Arc<KeySet> {
        Arc::clone(&self.set.read())
    }

    /// The key with this id; reads the directory again when it is not known, within the cool-down.
    pub async fn find(&self, id: &str) -> Option<Arc<Key>> {
        if let Some(key) = self.current().get(id) {
            return Some(Arc::clone(key));
        }
        let asked = Instant::now();
        let mut reloaded = self.reloaded.lock().await;
        // Somebody who waited with us did it, or it was done a moment ago.
        let stale = reloaded.is_none_or(|at| at < asked && asked.duration_since(at) >= self.cooldown);
        if stale {
            // The time counts also when it failed, or a broken volume would be read for each request.
            *reloaded = Some(Instant::now());
            if let Err(error) = self.reload().await {
                tracing::warn!(%error, "the signing keys could not be read again; the last good ones stay");
            }
        }
        drop(reloaded);
        self.current().get(id).map(Arc::clone)
    }

    /// Reads the directory again; on failure the last good set stays.
    ///
    /// # Errors
    ///
    /// A directory that can't be read.
    pub async fn reload(&self) -> Result<(), AuthError> {
        let (dir, present) = (self.dir.clone(), Arc::clone(&self.set));
        // The work puts the set in place itself: whoever asked for it may be gone by then.
        blocking(move || {
            let set = Arc::new(directory::load(&dir)?);
            *present.write() = set;
            Ok(())
        })
        .await
    }
}

/// Reads the signing keys as they are kept, and makes nothing; how many can be read.
///
/// # Errors
///
/// As [`Keys::open`]; also when there are none.
pub async fn check(settings: &SecretSettings) -> Result<usize, AuthError> {
    let dir = settings.signing_key_dir.clone();
    let set = blocking(move || directory::load(&dir)).await?;
    Ok(set.keys.len())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AuthError> + Send + 'static,
) -> Result<T, AuthError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| AuthError::Internal(format!("reading keys ended early: {error}")))?
}

#[cfg(test)]
mod tests;
