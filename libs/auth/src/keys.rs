//! Signing keys: Ed25519, shared by all nodes.
//!
//! [`manifest`] has the rules; a [`store::KeyStore`] keeps manifest and private parts, in a [`directory`] or [`sealed`] in the database; the
//! [`keeper`] applies the rules to the store, on api nodes and for commands. What is here is [`Keys`]: the newest good set of a node that
//! signs and verifies, and the one task that reads it:
//!
//! * at least every third of `signing_key.cache_ttl`, and when another node says that something changed (`key.rotated`);
//! * when a token names a key that the set does not have: once for all who wait, and at most once in `secrets.reload_cooldown`, and
//!   never for a key that was looked for before. So forged key ids cost nothing.
//!
//! A store that can't be read keeps the last good set. Tokens whose key is not in it can't be judged then: they are not refused,
//! the caller is told to come back.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use prometheus::Registry;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::error::AuthError;
use crate::settings::{KeyDriver, KeySettings, SecretSettings};

pub mod directory;
mod faults;
pub mod files;
pub mod keeper;
pub mod manifest;
mod metrics;
pub mod seal;
pub mod sealed;
mod set;
pub mod store;

pub use set::{Jwk, Jwks, Key, KeySet};

use directory::Directory;
use manifest::{KeyRules, is_kid};
use metrics::KeyMetrics;
use seal::SealKey;
use sealed::Sealed;
use store::KeyStore;

/// How long one reading of the store may take.
const READ_LIMIT: Duration = Duration::from_secs(10);
/// How long a caller waits for the reading that its token's key asks for.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest pause before the store is read again that could not be read.
const RETRY: Duration = Duration::from_secs(1);
/// The same for who has no keys at all: the first api node may be about to make one.
const FIRST_RETRY: Duration = Duration::from_millis(200);
/// Key ids that were looked for and not found; more are not remembered.
const UNKNOWN_KIDS: usize = 1000;

/// The newest good key set of a node.
#[derive(Debug)]
pub struct Keys {
    store: Arc<dyn KeyStore>,
    rules: KeyRules,
    cooldown: Duration,
    state: RwLock<State>,
    reads: watch::Sender<Reads>,
    asked_for: Notify,
    search: Mutex<Search>,
    metrics: KeyMetrics,
}

#[derive(Debug, Default)]
struct State {
    set: Option<Arc<KeySet>>,
    /// Why the last reading failed.
    fault: Option<String>,
}

/// Readings of the store, counted.
#[derive(Debug, Default, Clone, Copy)]
struct Reads {
    begun: u64,
    ended: u64,
}

/// Searches for keys that the set does not have.
#[derive(Debug, Default)]
struct Search {
    /// When the last one began, and which reading answers it.
    last: Option<(Instant, u64)>,
    unknown: HashSet<String>,
}

impl Keys {
    /// Of a store that was not read yet.
    ///
    /// # Errors
    ///
    /// Metrics that are registered already.
    pub fn new(
        store: Arc<dyn KeyStore>,
        rules: KeyRules,
        cooldown: Duration,
        registry: &Registry,
    ) -> Result<Self, AuthError> {
        Ok(Self {
            store,
            rules,
            cooldown,
            state: RwLock::default(),
            reads: watch::Sender::default(),
            asked_for: Notify::new(),
            search: Mutex::default(),
            metrics: KeyMetrics::register(registry)?,
        })
    }

    /// The set as it is now; none while the store could not be read for the first time.
    #[must_use]
    pub fn current(&self) -> Option<Arc<KeySet>> {
        self.state.read().set.clone()
    }

    /// The key that signs.
    ///
    /// # Errors
    ///
    /// `Keys` while none is loaded.
    pub fn signer(&self, now: Timestamp) -> Result<Arc<Key>, AuthError> {
        let set = self.current();
        let signer = set.as_ref().and_then(|set| set.signer(now));
        signer.map(Arc::clone).ok_or_else(|| AuthError::Keys(self.unreadable()))
    }

    /// Whether keys are loaded; if not, why.
    ///
    /// # Errors
    ///
    /// What stands in the way, and the fix, for the operator.
    pub fn readiness(&self) -> Result<(), String> {
        if self.current().is_some() { Ok(()) } else { Err(self.unreadable()) }
    }

    /// Whether a token can be made: to be asked before anything is used up that one is made for. Keys that are loaded stay.
    ///
    /// # Errors
    ///
    /// `Keys` while none is loaded.
    pub fn require(&self) -> Result<(), AuthError> {
        self.readiness().map_err(AuthError::Keys)
    }

    fn unreadable(&self) -> String {
        self.state.read().fault.clone().unwrap_or_else(|| "no signing keys were read yet".to_owned())
    }

    /// The key with this id; has the store read again when the set does not have it, within the cool-down. None: there is no such key.
    ///
    /// # Errors
    ///
    /// `Keys` when that can't be told, because the store can't be read.
    pub async fn find(&self, kid: &str) -> Result<Option<Arc<Key>>, AuthError> {
        if let Some(key) = self.known(kid)? {
            return Ok(Some(key));
        }
        if !is_kid(kid) {
            return Ok(None);
        }
        let Some(reading) = self.search_for(kid) else { return Ok(None) };
        let mut reads = self.reads.subscribe();
        let read = timeout(PATIENCE, reads.wait_for(|reads| reads.ended >= reading)).await;
        if !matches!(read, Ok(Ok(_))) {
            return Err(AuthError::Keys(format!("{} does not answer", self.store.place())));
        }
        let found = self.known(kid)?;
        if found.is_none() {
            self.search.lock().remember(kid);
        }
        Ok(found)
    }

    /// A key of the set. When the last reading failed nobody knows what the others are.
    fn known(&self, kid: &str) -> Result<Option<Arc<Key>>, AuthError> {
        let state = self.state.read();
        if let Some(key) = state.set.as_ref().and_then(|set| set.get(kid)) {
            return Ok(Some(Arc::clone(key)));
        }
        let broken = state.set.as_ref().and_then(|set| set.faults().get(kid));
        match broken.or(state.fault.as_ref()) {
            Some(fault) => Err(AuthError::Keys(fault.clone())),
            None if state.set.is_none() => Err(AuthError::Keys("no signing keys were read yet".to_owned())),
            None => Ok(None),
        }
    }

    /// The reading to wait for; none when it is too soon for one, or the key was looked for before.
    fn search_for(&self, kid: &str) -> Option<u64> {
        let mut search = self.search.lock();
        if search.unknown.contains(kid) {
            return None;
        }
        let reads = *self.reads.borrow();
        match search.last {
            // Who comes while one is under way waits for it, too.
            Some((_, reading)) if reads.ended < reading => Some(reading),
            Some((at, _)) if at.elapsed() < self.cooldown => None,
            _ => {
                let reading = reads.begun + 1;
                search.last = Some((Instant::now(), reading));
                self.asked_for.notify_one();
                Some(reading)
            }
        }
    }

    /// Has the store read soon: it is said to have changed.
    pub fn read_soon(&self) {
        self.asked_for.notify_one();
    }

    /// Reads the store; on failure the last good set stays. For the start, before [`follow`](Self::follow) does it.
    ///
    /// # Errors
    ///
    /// What stands in the way, and the fix.
    pub async fn read(&self) -> Result<(), AuthError> {
        self.reads.send_modify(|reads| reads.begun += 1);
        let read = match timeout(READ_LIMIT, self.store.load()).await {
            Ok(Ok(Some(stored))) => {
                let before = self.current();
                KeySet::of(&stored, before.as_deref(), self.rules.cache_ttl, Timestamp::now())
            }
            Ok(Ok(None)) => Err(AuthError::Keys(format!(
                "there are no signing keys in {}; an api node makes the first one",
                self.store.place()
            ))),
            Ok(Err(error)) => Err(error),
            Err(_) => {
                Err(AuthError::Keys(format!("{} does not answer within {READ_LIMIT:?}", self.store.place())))
            }
        };
        let outcome = self.keep(read);
        self.reads.send_modify(|reads| reads.ended = reads.begun);
        outcome
    }

    fn keep(&self, read: Result<KeySet, AuthError>) -> Result<(), AuthError> {
        match read {
            Ok(set) => {
                self.metrics.read(&set, Timestamp::now());
                *self.state.write() = State { set: Some(Arc::new(set)), fault: None };
                Ok(())
            }
            Err(error) => {
                self.metrics.failed();
                self.state.write().fault = Some(match &error {
                    AuthError::Keys(text) => text.clone(),
                    other => other.to_string(),
                });
                Err(error)
            }
        }
    }

    /// Reads the store again and again until told to stop. For the role to supervise: it never ends by itself.
    pub async fn follow(&self, stop: CancellationToken) {
        let interval = self.rules.cache_ttl / 3;
        let mut told = self.fault();
        loop {
            let pause = match &*self.state.read() {
                State { set: None, .. } => FIRST_RETRY,
                State { fault: Some(_), .. } => interval.min(RETRY),
                State { fault: None, .. } => interval,
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(pause) => {}
                () = self.asked_for.notified() => {}
            }
            // What it says is in the state, too.
            let _outcome = self.read().await;
            let fault = self.fault();
            // Once per fault: the next rounds would say the same.
            if fault != told && !fault.is_empty() {
                tracing::warn!(error = fault, "signing keys can't be read; those that were read before stay");
            } else if fault != told {
                tracing::info!("signing keys can be read again");
            }
            told = fault;
        }
    }

    /// What was wrong with the last reading; nothing: empty. A set may be good but for single keys.
    fn fault(&self) -> String {
        let state = self.state.read();
        let parts = state.set.iter().flat_map(|set| set.faults().values());
        state.fault.clone().unwrap_or_else(|| parts.map(String::as_str).collect::<Vec<_>>().join("; "))
    }
}

impl Search {
    fn remember(&mut self, kid: &str) {
        if self.unknown.len() >= UNKNOWN_KIDS {
            self.unknown.clear();
        }
        self.unknown.insert(kid.to_owned());
    }
}

/// The store that the settings name. `records` is the database, for the driver that keeps them there.
///
/// # Errors
///
/// A seal key that is missing or none.
pub fn store_of(
    settings: &KeySettings,
    secrets: &SecretSettings,
    records: &Arc<dyn ::store::Store>,
) -> Result<Arc<dyn KeyStore>, AuthError> {
    Ok(match settings.driver {
        KeyDriver::Dir => Arc::new(Directory::at(secrets.signing_key_dir.clone())),
        KeyDriver::Postgres => Arc::new(Sealed::new(Arc::clone(records), SealKey::of(secrets)?)),
    })
}

/// Reads the signing keys as a worker can; what it found, in words.
///
/// # Errors
///
/// They can't be read; also when there are none.
pub async fn check(settings: &KeySettings, secrets: &SecretSettings) -> Result<String, AuthError> {
    if settings.driver == KeyDriver::Postgres {
        return Ok("the signing keys are in the database, where workers do not read them".to_owned());
    }
    let store = Directory::at(secrets.signing_key_dir.clone());
    let stored = store.load().await?;
    let stored = stored.ok_or_else(|| AuthError::Keys(format!("there are none in {}", store.place())))?;
    let set = KeySet::of(&stored, None, Duration::ZERO, Timestamp::now())?;
    match set.faults().values().next() {
        Some(fault) => Err(AuthError::Keys(fault.clone())),
        None => Ok(format!("{} signing keys can be read", stored.manifest.keys().len())),
    }
}

#[cfg(test)]
mod tests;
