//! Signing keys, for installations that keep them in the database.

use async_trait::async_trait;
use domain::SigningKey;
use jiff::Timestamp;

use crate::error::StoreError;

/// A key as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedKey {
    /// What is known of it.
    pub key: SigningKey,
    /// Its private part, which only who has the seal key can read.
    pub sealed: Vec<u8>,
}

/// The private part of a key that nobody has yet.
#[derive(Debug, Clone, Copy)]
pub struct NewSealedKey<'a> {
    /// Its id.
    pub kid: &'a str,
    /// Its private part, sealed.
    pub sealed: &'a [u8],
}

/// Signing keys and the revision of their list, which guards every change: of any number of writers that saw a revision one replaces it.
#[async_trait]
pub trait SigningKeys {
    /// The revision (0: there never was a key) and all keys, read at one moment, by when they sign.
    async fn signing_keys(&self) -> Result<(u64, Vec<SealedKey>), StoreError>;

    /// Puts these keys, with one revision more, in place of those of revision `seen`; `new` has the private part of the one that is
    /// not there yet. Keys that are not among them are removed. Whether it did: if not, the revision is another.
    async fn replace_signing_keys(
        &self,
        seen: u64,
        keys: &[SigningKey],
        new: Option<NewSealedKey<'_>>,
    ) -> Result<bool, StoreError>;

    /// The time of the database, by which keys are judged wherever they are kept.
    async fn database_time(&self) -> Result<Timestamp, StoreError>;
}
