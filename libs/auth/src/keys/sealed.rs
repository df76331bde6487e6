//! Driver `postgres`: keys in the database, their private parts sealed.
//!
//! The revision of the manifest is a row that each writer raises from what it saw, in the statement that changes the keys; so of any number
//! of writers one does, and a writer that dies leaves nothing behind. Who reads the database or a backup of it can't sign: the seal
//! key is not in there.

use std::sync::Arc;

use ::store::Store;
use ::store::signing_keys::NewSealedKey;
use async_trait::async_trait;

use super::manifest::Manifest;
use super::seal::SealKey;
use super::store::{KeyStore, NewKey, PartFault, Stored};
use crate::error::AuthError;

/// Keys in the database.
pub struct Sealed {
    records: Arc<dyn Store>,
    seal_key: SealKey,
}

impl std::fmt::Debug for Sealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealed").finish_non_exhaustive()
    }
}

impl Sealed {
    /// In this database, under this seal key.
    #[must_use]
    pub const fn new(records: Arc<dyn Store>, seal_key: SealKey) -> Self {
        Self { records, seal_key }
    }
}

#[async_trait]
impl KeyStore for Sealed {
    async fn load(&self) -> Result<Option<Stored>, AuthError> {
        let (revision, keys) = self.records.signing_keys().await?;
        if revision == 0 && keys.is_empty() {
            return Ok(None);
        }
        let open = |kept: &::store::signing_keys::SealedKey| {
            let opened = self.seal_key.open(&kept.key.kid, &kept.sealed);
            (kept.key.kid.clone(), opened.map_err(PartFault::Sealed))
        };
        let parts = keys.iter().map(open).collect();
        let manifest =
            Manifest::of(revision, keys.into_iter().map(|kept| kept.key).collect()).map_err(|what| {
                AuthError::Keys(format!("the table signing_keys is not as it must be: {what}"))
            })?;
        Ok(Some(Stored { manifest, parts }))
    }

    async fn replace(&self, seen: u64, next: &Manifest, new: Option<&NewKey>) -> Result<bool, AuthError> {
        let sealed = match new {
            Some(new) => Some((new.kid.as_str(), self.seal_key.seal(&new.kid, &new.private)?)),
            None => None,
        };
        let new = sealed.as_ref().map(|(kid, sealed)| NewSealedKey { kid, sealed });
        Ok(self.records.replace_signing_keys(seen, next.keys(), new).await?)
    }

    fn place(&self) -> String {
        "the database".to_owned()
    }
}
