//! The key by which push services know us: P-256, in PKCS#8, in a directory of its own.
//!
//! ```text
//! <push.vapid_key_dir>/  0700
//!   vapid.pem            0600   made once, never changed
//! ```
//!
//! Devices subscribe for this key, and no other may send to them: whoever loses it loses every subscription. So it is never
//! rotated with the keys of tokens, and lies apart from them. All nodes share it.

use std::fmt;
use std::path::{Path, PathBuf};

use auth::keys::files::{self, FileFault};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::EncodingKey;

const FILE: &str = "vapid.pem";
const PEM_TAG: &str = "PRIVATE KEY";

/// The key store is not as it must be; the text names the file and the fix, and is for the operator's eyes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("key of pushes: {0}")]
pub struct KeyError(String);

impl From<FileFault> for KeyError {
    fn from(fault: FileFault) -> Self {
        Self(fault.to_string())
    }
}

/// The key by which push services know us.
pub struct VapidKey {
    public: String,
    signing: EncodingKey,
}

impl fmt::Debug for VapidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VapidKey").field("public", &self.public).finish_non_exhaustive()
    }
}

impl VapidKey {
    /// Reads the key, and makes it where there is none. Any number of processes may do this at once: all end up with
    /// the same key. `dir` is `push.vapid_key_dir`.
    ///
    /// # Errors
    ///
    /// A directory that can't be made or read, that strangers may read, or a file that is no key; the text says the fix.
    pub async fn open(dir: &Path) -> Result<Self, KeyError> {
        blocking(dir, |dir| {
            files::make_dir(dir)?;
            if !files::is_there(&dir.join(FILE))? {
                make(dir)?;
            }
            read(dir)
        })
        .await
    }

    /// Reads the key, and makes nothing.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open); also when there is none.
    pub async fn load(dir: &Path) -> Result<Self, KeyError> {
        blocking(dir, read).await
    }

    /// The public half, as browsers take it for `applicationServerKey`: a P-256 point, uncompressed, base64url.
    #[must_use]
    pub fn public(&self) -> &str {
        &self.public
    }

    pub(super) const fn signing(&self) -> &EncodingKey {
        &self.signing
    }
}

fn make(dir: &Path) -> Result<(), KeyError> {
    let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
        .map_err(|_| KeyError("no P-256 key could be made".to_owned()))?;
    let pem = pem::encode(&pem::Pem::new(PEM_TAG, der.as_ref()));
    // If another process was first, its key is the one.
    if files::place(dir, &dir.join(FILE), pem.as_bytes())? {
        tracing::info!(dir = %dir.display(), "made the key of pushes");
    }
    Ok(())
}

fn read(dir: &Path) -> Result<VapidKey, KeyError> {
    files::check_dir(dir)?;
    let path = dir.join(FILE);
    let broken = |what: &str| {
        let fix = "put it back from a backup, or remove it: devices must then subscribe anew";
        KeyError(format!("{} is no {what}; {fix}", path.display()))
    };
    let pem = pem::parse(files::read(&path)?)
        .ok()
        .filter(|pem| pem.tag() == PEM_TAG)
        .ok_or_else(|| broken("PEM file with a private key"))?;
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pem.contents())
        .map_err(|_| broken("P-256 key in PKCS#8"))?;
    Ok(VapidKey {
        public: URL_SAFE_NO_PAD.encode(pair.public_key()),
        signing: EncodingKey::from_ec_der(pem.contents()),
    })
}

async fn blocking(
    dir: &Path,
    work: impl FnOnce(&Path) -> Result<VapidKey, KeyError> + Send + 'static,
) -> Result<VapidKey, KeyError> {
    let dir: PathBuf = dir.to_owned();
    tokio::task::spawn_blocking(move || work(&dir))
        .await
        .map_err(|error| KeyError(format!("reading it ended early: {error}")))?
}

#[cfg(test)]
mod tests;
