//! The rules of signing keys: pure functions of a [`Manifest`] and the time.
//!
//! ```text
//!              signs_from              a later key signs       token_life + 2 cache_ttl later
//!  published ------------> active ---------------------> retired -------------------------> deleted
//!      |                                                   ^
//!      '---------------- withdrawn before it signs --------'        expelled: from any state, at once
//! ```
//!
//! States are drawn from times, so a rotation is one write: it adds a key that signs `cache_ttl` later, and from that time on the
//! key before it counts as retired. Nobody has to come back to finish it, and who dies leaves nothing half done.
//!
//! *Why it is safe.* Each rule gives the next manifest, whose revision is one higher; it counts only once it was put in place of exactly
//! the one it was made from ([`KeyStore::replace`](super::store::KeyStore::replace)). A writer may be stopped between the two for
//! any time, so nothing leans on its `now`:
//!
//! * a node reads the manifest at least every third of `cache_ttl`, and signs with a key only when it has known it for a whole
//!   `cache_ttl` ([`Manifest::signer`]): by then every other node has it, whatever the clocks say, and however late it was written;
//! * what retires is noted as retired by a later write that finds it so, and deleted `token_life` and twice `cache_ttl` after
//!   that note: nodes that read late, and then wait, have signed with it for that much longer at most.
//!
//! The times in a manifest are the database's. `auth.leeway` bounds what the clock of a node can do: tokens of a clock that is further off
//! are refused, whatever their key.

use std::time::Duration;

use domain::SigningKey;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Longest id of a key.
const MAX_KID: usize = 64;

/// What the rules must know of the configuration; the same on all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRules {
    /// `signing_key.cache_ttl`: the longest that a node goes on with keys that it has read.
    pub cache_ttl: Duration,
    /// The longest that a token is taken: its life, and what clocks may differ.
    pub token_life: Duration,
}

/// Which keys there are, at one revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    revision: u64,
    keys: Vec<SigningKey>,
}

/// Where a key is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyState {
    /// It verifies, so that every node has it before it signs.
    Published,
    /// It signs.
    Active,
    /// It verifies what it signed.
    Retired,
}

impl KeyState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Published, Self::Active, Self::Retired];

    /// Its name in answers and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Active => "active",
            Self::Retired => "retired",
        }
    }
}

/// Why the rules do not allow what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyRefusal {
    /// One rotation at a time.
    #[error(
        "a rotation is under way: key {kid}, made by {made_by}, signs from {signs_from} on; until then there is no other"
    )]
    UnderWay {
        /// Its key.
        kid: String,
        /// Who rotates.
        made_by: String,
        /// When it is over.
        signs_from: Timestamp,
    },
    /// Somebody has to sign.
    #[error("key {0} is the only one that may sign: rotate first")]
    OnlySigner(String),
    /// The one that would sign then can't be read.
    #[error("key {0} would sign then, and can't be read: retire that one first, then rotate")]
    UnreadableHeir(String),
    /// It goes by itself.
    #[error(
        "key {kid} signs until {until}, when its successor does, and retires by itself then; retire it at once if it got out"
    )]
    RetiresByItself {
        /// Which key.
        kid: String,
        /// When it retires.
        until: Timestamp,
    },
    /// There is no such key.
    #[error("there is no key {0}")]
    Unknown(String),
}

/// Whether this can be the id of a key. It becomes the name of a file: nothing that leads elsewhere.
#[must_use]
pub fn is_kid(text: &str) -> bool {
    (1..=MAX_KID).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

impl Manifest {
    /// The first one, of a key that signs at once: there is nobody yet who could lack it.
    #[must_use]
    pub fn first(kid: String, made_by: String, now: Timestamp, rules: &KeyRules) -> Self {
        let key = new_key(kid, made_by, now, now, rules);
        Self { revision: 1, keys: vec![key] }
    }

    /// Of what is kept.
    ///
    /// # Errors
    ///
    /// What is wrong with it: an id that is none or is there twice, or no key that may sign.
    pub fn of(revision: u64, mut keys: Vec<SigningKey>) -> Result<Self, String> {
        keys.sort_by(|a, b| order(a).cmp(&order(b)));
        if let Some(bad) = keys.iter().find(|key| !is_kid(&key.kid)) {
            return Err(format!("{:?} is no key id", bad.kid));
        }
        let mut kids: Vec<_> = keys.iter().map(|key| &key.kid).collect();
        kids.sort_unstable();
        if let Some(twice) = kids.windows(2).find(|two| two[0] == two[1]) {
            return Err(format!("key {} is there twice", twice[0]));
        }
        let manifest = Self { revision, keys };
        if manifest.signers().next().is_none() {
            return Err("it has no key that may sign".to_owned());
        }
        Ok(manifest)
    }

    /// How often it was replaced.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Its keys, in the order in which they sign.
    #[must_use]
    pub fn keys(&self) -> &[SigningKey] {
        &self.keys
    }

    /// A key by its id.
    #[must_use]
    pub fn key(&self, kid: &str) -> Option<&SigningKey> {
        self.keys.iter().find(|key| key.kid == kid)
    }

    /// The key that signs at `now`, for one who knows these keys for long enough. While that is not the one that should, the one before it
    /// stands in, unless it had retired before that one was made; if there is none, somebody has to sign all the same. By a clock that is
    /// behind the first key has not begun yet, and signs.
    pub fn signer(&self, now: Timestamp, is_known: impl Fn(&str) -> bool) -> Option<&SigningKey> {
        let should = self.signers().rfind(|key| key.signs_from <= now).or_else(|| self.signers().next())?;
        if is_known(&should.kid) {
            return Some(should);
        }
        // A note that is younger than the key was made by somebody who saw it: deletion is two cache_ttl further off than tokens need.
        let went_on = |key: &&SigningKey| key.retired_at.is_none_or(|noted| noted > should.created_at);
        let before = self.keys.iter().filter(|key| order(key) < order(should) && !key.withdrawn);
        Some(before.filter(went_on).filter(|key| is_known(&key.kid)).last().unwrap_or(should))
    }

    /// Where a key is at `now`.
    #[must_use]
    pub fn state(&self, key: &SigningKey, now: Timestamp) -> KeyState {
        if self.signer(now, |_| true).is_some_and(|signer| signer.kid == key.kid) {
            KeyState::Active
        } else if self.has_retired(key, now) {
            KeyState::Retired
        } else {
            KeyState::Published
        }
    }

    /// Since when a key signs no more, or from when on; none while nobody follows it, or while nobody noted that it was withdrawn.
    #[must_use]
    pub fn retires_at(&self, key: &SigningKey) -> Option<Timestamp> {
        if key.retired_at.is_some() || key.withdrawn {
            return key.retired_at;
        }
        let follower = self.keys.iter().find(|other| !other.withdrawn && order(other) > order(key));
        follower.map(|follower| follower.signs_from)
    }

    /// When a key is deleted, as far as can be told.
    #[must_use]
    pub fn deleted_from(&self, key: &SigningKey, rules: &KeyRules) -> Option<Timestamp> {
        self.retires_at(key).map(|at| after(at, verifies_for(key, rules)))
    }

    /// Whether the schedule asks for a rotation.
    #[must_use]
    pub fn is_due(&self, now: Timestamp, every: Duration) -> bool {
        let newest = self.keys.iter().map(|key| key.created_at).max();
        newest.is_some_and(|newest| after(newest, every) <= now)
    }

    /// Adds a key that signs once every node has had the time to read it.
    ///
    /// # Errors
    ///
    /// `UnderWay` while another one has not begun to sign.
    pub fn rotate(
        &self,
        kid: String,
        made_by: String,
        now: Timestamp,
        rules: &KeyRules,
    ) -> Result<Self, KeyRefusal> {
        let is_published = |key: &&SigningKey| self.state(key, now) == KeyState::Published;
        if let Some(key) = self.signers().find(is_published) {
            let SigningKey { kid, made_by, signs_from, .. } = key.clone();
            return Err(KeyRefusal::UnderWay { kid, made_by, signs_from });
        }
        let mut next = self.settled(now, rules);
        // The database's clock may have been set back since the last one.
        let last = self.keys.last().map_or(now, |key| after(key.signs_from, Duration::from_millis(1)));
        let signs_from = after(now, rules.cache_ttl).max(last);
        next.keys.push(new_key(kid, made_by, now, signs_from, rules));
        Ok(next)
    }

    /// Takes a key out that does not sign yet: it never will. One that has retired stays as it is.
    ///
    /// # Errors
    ///
    /// `Unknown`; for the one that signs `OnlySigner` or `RetiresByItself`.
    pub fn retire(&self, kid: &str, now: Timestamp, rules: &KeyRules) -> Result<Option<Self>, KeyRefusal> {
        let key = self.key(kid).ok_or_else(|| KeyRefusal::Unknown(kid.to_owned()))?;
        match self.state(key, now) {
            KeyState::Retired => Ok(None),
            KeyState::Active => Err(match self.retires_at(key) {
                Some(until) => KeyRefusal::RetiresByItself { kid: kid.to_owned(), until },
                None => KeyRefusal::OnlySigner(kid.to_owned()),
            }),
            KeyState::Published => {
                let mut next = self.settled(now, rules);
                for key in next.keys.iter_mut().filter(|key| key.kid == kid) {
                    key.withdrawn = true;
                }
                Ok(Some(next))
            }
        }
    }

    /// Takes a key out that got into wrong hands: what it signed is refused by each node that hears of it. If it is the one that
    /// signs, the one that was to follow signs now.
    ///
    /// # Errors
    ///
    /// `Unknown`; `OnlySigner` when no other may sign.
    pub fn expel(&self, kid: &str, now: Timestamp, rules: &KeyRules) -> Result<Self, KeyRefusal> {
        let key = self.key(kid).ok_or_else(|| KeyRefusal::Unknown(kid.to_owned()))?;
        let signed = self.state(key, now) == KeyState::Active;
        let mut next = self.settled(now, rules);
        next.keys.retain(|key| key.kid != kid);
        let Some(heir) = next.keys.iter_mut().find(|key| may_sign(key)) else {
            return Err(KeyRefusal::OnlySigner(kid.to_owned()));
        };
        if signed {
            heir.signs_from = heir.signs_from.min(now);
        }
        next.keys.sort_by(|a, b| order(a).cmp(&order(b)));
        Ok(next)
    }

    /// Notes what has retired, and leaves out the keys whose tokens are all past their time; none when there is nothing to do.
    #[must_use]
    pub fn sweep(&self, now: Timestamp, rules: &KeyRules) -> Option<Self> {
        let is_past = |key: &SigningKey| {
            key.retired_at.is_some_and(|noted| after(noted, verifies_for(key, rules)) <= now)
        };
        let is_noted = |key: &SigningKey| key.retired_at.is_some() || !self.has_retired(key, now);
        if self.keys.iter().all(|key| is_noted(key) && !is_past(key)) {
            return None;
        }
        let mut next = self.settled(now, rules);
        next.keys.retain(|key| !is_past(key));
        Some(next)
    }

    /// The next manifest, with a note of what is found retired: it stays so, whatever becomes of the one that followed it.
    fn settled(&self, now: Timestamp, rules: &KeyRules) -> Self {
        let settle = |key: &SigningKey| {
            let mut key = key.clone();
            if key.retired_at.is_none() {
                key.retired_at = self.has_retired(&key, now).then_some(now);
                // Its tokens may have been made by a node with other settings.
                key.token_life = key.token_life.max(rules.token_life);
            }
            key
        };
        Self { revision: self.revision.saturating_add(1), keys: self.keys.iter().map(settle).collect() }
    }

    fn has_retired(&self, key: &SigningKey, now: Timestamp) -> bool {
        key.withdrawn || key.retired_at.is_some() || self.retires_at(key).is_some_and(|at| at <= now)
    }

    /// Keys that sign, signed or will, until something was written about their end.
    fn signers(&self) -> impl DoubleEndedIterator<Item = &SigningKey> {
        self.keys.iter().filter(|key| may_sign(key))
    }
}

const fn may_sign(key: &SigningKey) -> bool {
    key.retired_at.is_none() && !key.withdrawn
}

fn verifies_for(key: &SigningKey, rules: &KeyRules) -> Duration {
    key.token_life.max(rules.token_life).saturating_add(rules.cache_ttl.saturating_mul(2))
}

fn new_key(
    kid: String,
    made_by: String,
    now: Timestamp,
    signs_from: Timestamp,
    rules: &KeyRules,
) -> SigningKey {
    let token_life = rules.token_life;
    SigningKey { kid, created_at: now, signs_from, withdrawn: false, retired_at: None, token_life, made_by }
}

fn order(key: &SigningKey) -> (Timestamp, &str) {
    (key.signs_from, &key.kid)
}

fn after(time: Timestamp, pause: Duration) -> Timestamp {
    time.checked_add(pause).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
