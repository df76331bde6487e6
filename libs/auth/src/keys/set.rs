//! [`KeySet`]: keys as they were read at one moment, ready to sign and verify.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::SigningKey;
use jiff::Timestamp;
use jsonwebtoken::{DecodingKey, EncodingKey};
use serde::Serialize;
use tokio::time::Instant;

use super::manifest::{KeyState, Manifest};
use super::store::{PrivatePart, Stored};
use crate::error::AuthError;

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
    pub(super) fn of(id: &str, part: &PrivatePart) -> Result<Self, String> {
        let pair = Ed25519KeyPair::from_pkcs8(part.der())
            .map_err(|_| format!("key {id} is no Ed25519 key in PKCS#8"))?;
        let public = pair.public_key().as_ref().to_vec();
        Ok(Self {
            id: id.to_owned(),
            signing: EncodingKey::from_ed_der(part.der()),
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
    manifest: Manifest,
    keys: BTreeMap<String, Arc<Key>>,
    /// Keys of the manifest that can't be read, with the reason; some of them are known from before.
    faults: BTreeMap<String, String>,
    /// Keys that came while this process ran, with the time from which on it signs with them.
    fresh: BTreeMap<String, Instant>,
}

impl KeySet {
    /// Of what was read. A key never changes, so one that can't be read now is taken from the set before this one. Single keys may be
    /// missing: their tokens are not judged until they can be read, and while that is the one that should sign another one does. A key
    /// that is new since then signs after `wait`: the other nodes may not have read it yet.
    ///
    /// # Errors
    ///
    /// Neither the key that signs nor one that is to sign can be read.
    pub fn of(
        stored: &Stored,
        before: Option<&Self>,
        wait: Duration,
        now: Timestamp,
    ) -> Result<Self, AuthError> {
        let manifest = stored.manifest.clone();
        let (mut keys, mut faults, mut fresh) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for entry in manifest.keys() {
            let kid = &entry.kid;
            let key = match stored.key(kid) {
                Ok(key) => Some(Arc::new(key)),
                Err(fault) => {
                    faults.insert(kid.clone(), format!("{fault}; {}", stored.advice(kid, &fault, now)));
                    before.and_then(|before| before.get(kid)).map(Arc::clone)
                }
            };
            keys.extend(key.map(|key| (kid.clone(), key)));
            let signs_from = before.and_then(|before| match before.get(kid) {
                Some(_) => before.fresh.get(kid).copied(),
                None => Some(Instant::now() + wait),
            });
            fresh.extend(signs_from.map(|at| (kid.clone(), at)));
        }
        // Who has only what has retired would sign what is soon refused.
        let lacking = |kid: &String| !keys.contains_key(kid);
        let mut signing = manifest.keys().iter().filter(|key| manifest.state(key, now) != KeyState::Retired);
        if signing.clone().all(|key| lacking(&key.kid)) {
            let reason = signing.find_map(|key| faults.get(&key.kid)).cloned().unwrap_or_default();
            return Err(AuthError::Keys(reason));
        }
        Ok(Self { manifest, keys, faults, fresh })
    }

    /// What was read beside the private parts.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The key that signs at `now`. For one that can't be read the next one signs early, since all verify it: at best once
    /// the others know it for long enough, but rather at once than nobody.
    #[must_use]
    pub fn signer(&self, now: Timestamp) -> Option<&Arc<Key>> {
        let is_old = |kid: &str| self.fresh.get(kid).is_none_or(|signs_from| *signs_from <= Instant::now());
        let is_known = |kid: &str| self.keys.contains_key(kid) && is_old(kid);
        let is_published = |key: &&SigningKey| self.manifest.state(key, now) == KeyState::Published;
        let published =
            || self.manifest.keys().iter().filter(is_published).filter_map(|key| self.get(&key.kid));
        let should = self.manifest.signer(now, |_| true)?;
        let early = || published().find(|key| is_old(&key.id));
        let early = if self.keys.contains_key(&should.kid) { None } else { early() };
        let in_time = || self.manifest.signer(now, is_known).and_then(|signer| self.get(&signer.kid));
        early.or_else(in_time).or_else(|| published().next())
    }

    /// A key that verifies.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<Key>> {
        self.keys.get(id)
    }

    /// Keys that can't be read, with the reasons; some of them are known from before.
    #[must_use]
    pub const fn faults(&self) -> &BTreeMap<String, String> {
        &self.faults
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
#[derive(Debug, Clone, Default, Serialize)]
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
