//! What a process could not read: whether it may change the keys all the same, and what its operator does about it.
//!
//! Who can open none of the keys changes nothing: it has another seal key, or may not read the files, and what it can't open others
//! can. Files that are not there are there for nobody, so a directory without them may be changed; else nobody could ever rotate again.

use jiff::Timestamp;

use super::manifest::{KeyState, Manifest};
use super::set::Key;
use super::store::{PartFault, Stored};
use crate::error::AuthError;

impl Stored {
    /// A key, ready for use.
    ///
    /// # Errors
    ///
    /// Why it can't be read.
    pub fn key(&self, kid: &str) -> Result<Key, PartFault> {
        match self.parts.get(kid) {
            Some(Ok(part)) => Key::of(kid, part).map_err(PartFault::Broken),
            Some(Err(fault)) => Err(fault.clone()),
            None => Err(PartFault::Gone(format!("key {kid} is not there"))),
        }
    }

    /// Whether whoever read this may change it.
    ///
    /// # Errors
    ///
    /// It can open none of the keys; what stands in the way, and the fix.
    pub fn may_be_changed(&self) -> Result<(), AuthError> {
        match self.closed(&self.manifest) {
            Some((kid, fault)) => {
                let advice = self.advice(kid, &fault, Timestamp::now());
                Err(AuthError::Keys(format!(
                    "{fault}; {advice}. Whoever can open none of the keys changes nothing"
                )))
            }
            None => Ok(()),
        }
    }

    /// Whether it may be changed further once `next` is in its place, which adds no key.
    ///
    /// # Errors
    ///
    /// The last key that can be opened would go.
    pub fn may_become(&self, next: &Manifest) -> Result<(), AuthError> {
        match self.closed(next) {
            Some((kid, fault)) => Err(AuthError::Keys(format!(
                "of the keys that would be left none can be opened: {fault}; {}",
                self.advice(kid, &fault, Timestamp::now())
            ))),
            None => Ok(()),
        }
    }

    /// The first key that is there and can't be opened, where that goes for all.
    fn closed<'a>(&self, manifest: &'a Manifest) -> Option<(&'a str, PartFault)> {
        let mut first = None;
        for key in manifest.keys() {
            match self.key(&key.kid) {
                Ok(_) => return None,
                Err(PartFault::Gone(_)) => {}
                Err(fault) => first = first.or(Some((key.kid.as_str(), fault))),
            }
        }
        first
    }

    /// What can't be read of these keys, each with what to do; one of many when it is the same for all.
    #[must_use]
    pub fn faults(&self, now: Timestamp) -> Vec<(PartFault, String)> {
        let fault = |kid: &str| self.key(kid).err().map(|fault| (self.advice(kid, &fault, now), fault));
        let faults = self.manifest.keys().iter().filter_map(|key| fault(&key.kid));
        let most = if self.closed(&self.manifest).is_some() { 1 } else { usize::MAX };
        faults.map(|(advice, fault)| (fault, advice)).take(most).collect()
    }

    /// What the operator does about a key that can't be read.
    #[must_use]
    pub fn advice(&self, kid: &str, fault: &PartFault, now: Timestamp) -> String {
        let steps = self.steps(kid, now);
        match (fault, self.closed(&self.manifest).is_none()) {
            (PartFault::Sealed(_), false) => "secrets.seal_key must be that of the nodes".to_owned(),
            (PartFault::Sealed(_), true) => format!("other keys open, so it is damaged; do: {steps}"),
            (PartFault::Gone(_), _) | (PartFault::Broken(_), true) => {
                format!("put it back from a backup, or do: {steps}")
            }
            (PartFault::Broken(_), false) => {
                format!("put it back from a backup, or remove it, then do: {steps}")
            }
        }
    }

    /// How a key is left behind.
    fn steps(&self, kid: &str, now: Timestamp) -> String {
        let state = |of: &str| self.manifest.key(of).map(|key| self.manifest.state(key, now));
        let follows = |of: &str| state(of) == Some(KeyState::Published) && self.key(of).is_ok();
        let has_follower = self.manifest.keys().iter().any(|key| follows(&key.kid));
        let at_once = format!("switchboard keys retire {kid} --at-once");
        match state(kid) {
            Some(KeyState::Active) if !has_follower => format!("switchboard keys rotate, then {at_once}"),
            Some(KeyState::Published) => {
                format!("switchboard keys retire {kid}, then switchboard keys rotate")
            }
            _ => at_once,
        }
    }
}
