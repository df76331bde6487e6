//! [`KeyStore`]: where manifest and private parts are kept, whatever the driver.
//!
//! A store does two things: it gives what it has, and it puts a manifest in place of exactly the one that it was made from. That
//! second thing is all the exclusion there is between rotators: of any number, on any nodes, asleep for whatever time in the middle, one
//! wins each revision, and the others begin anew from what they then read.

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::Ed25519KeyPair;
use uuid::Uuid;

use super::manifest::Manifest;
use crate::error::AuthError;

/// The private part of a key: PKCS#8 (DER). Never shown.
#[derive(Clone)]
pub struct PrivatePart(Vec<u8>);

impl PrivatePart {
    /// Of a document that was read.
    #[must_use]
    pub const fn of(der: Vec<u8>) -> Self {
        Self(der)
    }

    /// The document.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for PrivatePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivatePart")
    }
}

/// A key that nobody has yet.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// Its id.
    pub kid: String,
    /// Its private part.
    pub private: PrivatePart,
}

impl NewKey {
    /// Makes one.
    ///
    /// # Errors
    ///
    /// `Internal` when there is no randomness.
    pub fn make() -> Result<Self, AuthError> {
        let der = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new())
            .map_err(|_| AuthError::Internal("no Ed25519 key could be made".into()))?;
        let private = PrivatePart::of(der.as_ref().to_vec());
        Ok(Self { kid: Uuid::now_v7().to_string(), private })
    }
}

/// Why the private part of a key can't be read; the text is for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartFault {
    /// It is not there, for nobody.
    #[error("{0}")]
    Gone(String),
    /// It is there, and no key, or closed to this process: others may be able to read it.
    #[error("{0}")]
    Broken(String),
    /// It does not open with the seal key of this process: it is damaged, or the seal key is another one.
    #[error("{0}")]
    Sealed(String),
}

/// What a store has, read at one moment.
#[derive(Debug)]
pub struct Stored {
    /// Which keys there are.
    pub manifest: Manifest,
    /// The private part of each, or why it can't be read.
    pub parts: BTreeMap<String, Result<PrivatePart, PartFault>>,
}

/// Where keys are kept.
#[async_trait]
pub trait KeyStore: fmt::Debug + Send + Sync + 'static {
    /// What there is; none where no key was ever made.
    ///
    /// # Errors
    ///
    /// What stands in the way, and the fix, for the operator.
    async fn load(&self) -> Result<Option<Stored>, AuthError>;

    /// Puts `next` in place of the manifest of revision `seen` (0: of none), with the private part of the key that it adds. Parts of
    /// keys that it leaves out are removed. Whether it did: if not, another was faster, and nothing has changed.
    ///
    /// # Errors
    ///
    /// What stands in the way. Then it may have happened or not; readers see either the one or the other.
    async fn replace(&self, seen: u64, next: &Manifest, new: Option<&NewKey>) -> Result<bool, AuthError>;

    /// What people call it.
    fn place(&self) -> String;
}
