//! [`KeyKeeper`]: applies the rules to the store.
//!
//! Each call reads, decides by the database's time, and writes if nothing has changed meanwhile; else it begins anew. Api nodes keep
//! house with it ([`KeyKeeper::keep`]); none leads, and it does no harm that they all try. Gateways have none: they only read.

use std::sync::Arc;
use std::time::Duration;

use domain::SigningKey;
use jiff::Timestamp;
use prometheus::{IntCounter, Registry};
use tokio_util::sync::CancellationToken;

use super::manifest::{KeyRefusal, KeyRules, KeyState, Manifest};
use super::store::{KeyStore, NewKey, Stored};
use super::{Keys, RETRY};
use crate::error::AuthError;
use crate::limits::counter;

/// Writers that are faster before it is given up.
const TRIES: usize = 20;

/// A key as people are shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyView {
    /// What is kept of it.
    pub key: SigningKey,
    /// Where it is, by the database's time.
    pub state: KeyState,
    /// When it signs no more.
    pub retires_at: Option<Timestamp>,
    /// When it is deleted.
    pub deleted_from: Option<Timestamp>,
    /// Why it can't be read here.
    pub fault: Option<String>,
}

/// Looks after the keys of a store.
#[derive(Clone)]
pub struct KeyKeeper {
    store: Arc<dyn KeyStore>,
    clock: Arc<dyn ::store::Store>,
    rules: KeyRules,
    rotate_every: Duration,
    made_by: String,
    rotations: IntCounter,
    deletions: IntCounter,
}

/// What a keeper did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// A key was made.
    Made(String),
    /// Keys were deleted.
    Deleted(Vec<String>),
}

impl Kept {
    /// The keys that it is about.
    #[must_use]
    pub fn kids(&self) -> &[String] {
        match self {
            Self::Made(kid) => std::slice::from_ref(kid),
            Self::Deleted(kids) => kids,
        }
    }
}

impl KeyKeeper {
    /// For a store of keys. `clock` tells the database's time; `made_by` is who keeps, as others are told; `rotate_every` 0 rotates only
    /// when it is asked for.
    ///
    /// # Errors
    ///
    /// Metrics that are registered already.
    pub fn new(
        store: Arc<dyn KeyStore>,
        clock: Arc<dyn ::store::Store>,
        rules: KeyRules,
        rotate_every: Duration,
        made_by: String,
        registry: &Registry,
    ) -> Result<Self, AuthError> {
        let rotations = counter(
            registry,
            "switchboard_signing_key_rotations_total",
            "Signing keys that this node made after the first",
        )?;
        let deletions = counter(
            registry,
            "switchboard_signing_key_deletions_total",
            "Signing keys that this node deleted, their tokens all past their time",
        )?;
        Ok(Self { store, clock, rules, rotate_every, made_by, rotations, deletions })
    }

    /// What people call the store.
    #[must_use]
    pub fn place(&self) -> String {
        self.store.place()
    }

    /// The keys; none where none was ever made.
    ///
    /// # Errors
    ///
    /// A store or database that can't be read.
    pub async fn list(&self) -> Result<Vec<KeyView>, AuthError> {
        list(&*self.store, &self.rules, self.clock.database_time().await?).await
    }

    /// Makes the first key where none was ever made.
    ///
    /// # Errors
    ///
    /// A store or database that can't be used.
    pub async fn make_first(&self) -> Result<(), AuthError> {
        if self.store.load().await?.is_some() {
            return Ok(());
        }
        let (new, now) = (NewKey::make()?, self.clock.database_time().await?);
        let manifest = Manifest::first(new.kid.clone(), self.made_by.clone(), now, &self.rules);
        // If another process was first, its key is the one.
        if self.store.replace(0, &manifest, Some(&new)).await? {
            tracing::info!(kid = new.kid, place = self.place(), "made the first signing key");
        }
        Ok(())
    }

    /// Makes a key that signs `signing_key.cache_ttl` from now. `by` is who asked for it.
    ///
    /// # Errors
    ///
    /// `KeyRefused` while another rotation is under way; a store or database that can't be used, or keys none of which can be
    /// opened here.
    pub async fn rotate(&self, by: Option<&str>) -> Result<KeyView, AuthError> {
        let made_by = by.map_or_else(|| self.made_by.clone(), |by| format!("{by} at {}", self.made_by));
        self.rotate_if(&made_by, |_, _| true).await?.ok_or_else(lost)
    }

    async fn rotate_if(
        &self,
        made_by: &str,
        wanted: impl Fn(&Manifest, Timestamp) -> bool,
    ) -> Result<Option<KeyView>, AuthError> {
        let new = NewKey::make()?;
        for _ in 0..TRIES {
            let (stored, now) = self.present().await?;
            let manifest = &stored.manifest;
            if !wanted(manifest, now) {
                return Ok(None);
            }
            let next = manifest.rotate(new.kid.clone(), made_by.to_owned(), now, &self.rules)?;
            if self.store.replace(manifest.revision(), &next, Some(&new)).await? {
                self.rotations.inc();
                let key = next.key(&new.kid).ok_or_else(lost)?;
                tracing::info!(kid = new.kid, by = made_by, signs_from = %key.signs_from, "made a signing key");
                return Ok(Some(self.view(&next, key, now)));
            }
        }
        Err(lost())
    }

    /// Takes a key out that does not sign yet. One that has retired stays as it is.
    ///
    /// # Errors
    ///
    /// `KeyRefused`; a store or database that can't be used, or keys none of which can be opened here.
    pub async fn retire(&self, kid: &str) -> Result<KeyView, AuthError> {
        for _ in 0..TRIES {
            let (stored, now) = self.present().await?;
            let manifest = stored.manifest;
            let next = match manifest.retire(kid, now, &self.rules)? {
                Some(next) if self.store.replace(manifest.revision(), &next, None).await? => {
                    tracing::info!(kid, "withdrew a signing key");
                    next
                }
                Some(_) => continue,
                None => manifest,
            };
            let key = next.key(kid).ok_or_else(lost)?;
            return Ok(self.view(&next, key, now));
        }
        Err(lost())
    }

    /// Deletes a key that got out, whatever it signed. Gives the key that signs now.
    ///
    /// # Errors
    ///
    /// `KeyRefused` when no other key may sign, or the one that would can't be read; a store or database that can't be used, or keys none
    /// of which can be opened here.
    pub async fn expel(&self, kid: &str) -> Result<KeyView, AuthError> {
        for _ in 0..TRIES {
            let (stored, now) = self.present().await?;
            let next = stored.manifest.expel(kid, now, &self.rules)?;
            has_signer(&stored, &next, now)?;
            stored.may_become(&next)?;
            if self.store.replace(stored.manifest.revision(), &next, None).await? {
                tracing::warn!(kid, "a signing key was retired at once: what it signed is refused");
                let signer = next.signer(now, |_| true).ok_or_else(lost)?;
                return Ok(self.view(&next, signer, now));
            }
        }
        Err(lost())
    }

    /// Notes what has retired, and deletes the keys whose tokens are all past their time. Gives those.
    ///
    /// # Errors
    ///
    /// A store or database that can't be used, or keys none of which can be opened here, now or afterwards.
    pub async fn sweep(&self) -> Result<Vec<String>, AuthError> {
        for _ in 0..TRIES {
            let (stored, now) = self.present().await?;
            let manifest = &stored.manifest;
            let Some(next) = manifest.sweep(now, &self.rules) else { return Ok(Vec::new()) };
            stored.may_become(&next)?;
            if self.store.replace(manifest.revision(), &next, None).await? {
                let gone = manifest.keys().iter().filter(|key| next.key(&key.kid).is_none());
                let gone: Vec<_> = gone.map(|key| key.kid.clone()).collect();
                self.deletions.inc_by(gone.len() as u64);
                if !gone.is_empty() {
                    tracing::info!(?gone, "deleted signing keys whose tokens are past their time");
                }
                return Ok(gone);
            }
        }
        Err(lost())
    }

    /// Keeps house until told to stop: rotates by the schedule, sweeps, and hands what it did to `tell`. For the role to supervise: it never
    /// ends by itself. `keys` are those of the node: where they can't be read nothing is kept, but the first key is made.
    pub async fn keep(&self, keys: &Keys, tell: impl Fn(&Kept) + Send + Sync, stop: CancellationToken) {
        let mut told = String::new();
        loop {
            let round = self.round(keys, &tell).await;
            let fault = round.map_err(|error| error.to_string()).err().unwrap_or_default();
            // Once per fault: the next rounds would say the same.
            if fault != told && !fault.is_empty() {
                tracing::warn!(error = fault, "signing keys could not be looked after; trying on");
            }
            told = fault;
            let pause = self.rules.cache_ttl / 3;
            let pause = if keys.current().is_none() { pause.min(RETRY) } else { pause };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn round(&self, keys: &Keys, tell: &(impl Fn(&Kept) + Send + Sync)) -> Result<(), AuthError> {
        // Where there were keys and are none any more a volume is missing: that is no reason to make others.
        let Some(set) = keys.current() else {
            self.make_first().await?;
            keys.read_soon();
            return Ok(());
        };
        let (manifest, now) = (set.manifest(), Timestamp::now());
        if !self.rotate_every.is_zero() && manifest.is_due(now, self.rotate_every) {
            let due = |manifest: &Manifest, now| manifest.is_due(now, self.rotate_every);
            match self.rotate_if(&self.made_by, due).await {
                Ok(Some(made)) => tell(&Kept::Made(made.key.kid)),
                // Another node does it, or did.
                Ok(None) | Err(AuthError::KeyRefused(KeyRefusal::UnderWay { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        let gone = self.sweep().await?;
        if !gone.is_empty() {
            tell(&Kept::Deleted(gone));
        }
        Ok(())
    }

    /// What there is, for a change.
    async fn present(&self) -> Result<(Stored, Timestamp), AuthError> {
        let stored = self.store.load().await?.ok_or_else(|| {
            AuthError::Keys(format!("there are no keys in {}; an api node makes the first one", self.place()))
        })?;
        stored.may_be_changed()?;
        Ok((stored, self.clock.database_time().await?))
    }

    fn view(&self, manifest: &Manifest, key: &SigningKey, now: Timestamp) -> KeyView {
        view(manifest, key, &self.rules, now)
    }
}

/// The keys of a store as they are at `now`; none where none was ever made.
///
/// # Errors
///
/// A store that can't be read.
pub async fn list(store: &dyn KeyStore, rules: &KeyRules, now: Timestamp) -> Result<Vec<KeyView>, AuthError> {
    let Some(stored) = store.load().await? else { return Ok(Vec::new()) };
    let fault = |kid: &str| {
        let fault = stored.key(kid).err()?;
        Some(format!("{fault}; {}", stored.advice(kid, &fault, now)))
    };
    let shown =
        |key: &SigningKey| KeyView { fault: fault(&key.kid), ..view(&stored.manifest, key, rules, now) };
    Ok(stored.manifest.keys().iter().map(shown).collect())
}

fn view(manifest: &Manifest, key: &SigningKey, rules: &KeyRules, now: Timestamp) -> KeyView {
    KeyView {
        state: manifest.state(key, now),
        retires_at: manifest.retires_at(key),
        deleted_from: manifest.deleted_from(key, rules),
        fault: None,
        key: key.clone(),
    }
}

/// Whether a key that is made the one that signs can be read.
fn has_signer(stored: &Stored, next: &Manifest, now: Timestamp) -> Result<(), KeyRefusal> {
    let signer = |manifest: &Manifest| manifest.signer(now, |_| true).map(|key| key.kid.clone());
    match signer(next) {
        Some(heir) if signer(&stored.manifest).as_ref() != Some(&heir) && stored.key(&heir).is_err() => {
            Err(KeyRefusal::UnreadableHeir(heir))
        }
        _ => Ok(()),
    }
}

fn lost() -> AuthError {
    AuthError::Keys("others change the keys all the time; try again".to_owned())
}
