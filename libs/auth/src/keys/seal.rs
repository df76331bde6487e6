//! The seal key: closes private parts of signing keys before they go into the database.
//!
//! AES-256-GCM with a random nonce; the id of the key is authenticated with it, so that what was sealed for one key opens as no other.
//!
//! ```text
//! sealed = 1 (form, one byte), nonce (12 bytes), ciphertext, tag (16 bytes)
//! ```

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::Invalid;

use super::store::PrivatePart;
use crate::error::AuthError;
use crate::settings::SecretSettings;

const FORM: u8 = 1;
const KEY_BYTES: usize = 32;
const ALLOWED: &str = "32 random bytes in base64, as `openssl rand -base64 32` gives them";

/// What private parts are sealed with.
pub struct SealKey(RandomizedNonceKey);

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey")
    }
}

impl SealKey {
    /// The one that the settings give.
    ///
    /// # Errors
    ///
    /// There is none, or it is no such key.
    pub fn of(secrets: &SecretSettings) -> Result<Self, Invalid> {
        if secrets.seal_key.is_empty() {
            let allowed = format!("{ALLOWED}, where signing_key.driver is postgres");
            return Err(Invalid::described("secrets.seal_key", "nothing", allowed));
        }
        Self::parse(secrets.seal_key.reveal())
    }

    /// Of its text.
    ///
    /// # Errors
    ///
    /// It is no such key; the text itself is not shown.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let refused = |given: String| Invalid::described("secrets.seal_key", given, ALLOWED);
        let bytes = STANDARD.decode(text.trim()).map_err(|_| refused("text that is no base64".to_owned()))?;
        if bytes.len() != KEY_BYTES {
            return Err(refused(format!("a key of {} bytes", bytes.len())));
        }
        RandomizedNonceKey::new(&AES_256_GCM, &bytes).map(Self).map_err(|_| refused("a key".to_owned()))
    }

    /// Seals the private part of a key.
    ///
    /// # Errors
    ///
    /// `Internal` when there is no randomness.
    pub fn seal(&self, kid: &str, part: &PrivatePart) -> Result<Vec<u8>, AuthError> {
        let mut text = part.der().to_vec();
        let nonce = self
            .0
            .seal_in_place_append_tag(Aad::from(kid.as_bytes()), &mut text)
            .map_err(|_| AuthError::Internal("a key could not be sealed".into()))?;
        Ok([&[FORM], nonce.as_ref().as_slice(), &text].concat())
    }

    /// Opens what was sealed for this key.
    ///
    /// # Errors
    ///
    /// It was sealed with another seal key, or for another key, or is damaged: that can't be told apart.
    pub fn open(&self, kid: &str, sealed: &[u8]) -> Result<PrivatePart, String> {
        let refused = || {
            format!(
                "key {kid} does not open with this node's secrets.seal_key: it must be the same on all nodes that sign or \
                 verify, and the one that the key was made with"
            )
        };
        let (form, rest) = sealed.split_first().ok_or_else(refused)?;
        if *form != FORM {
            return Err(format!("key {kid} was sealed in form {form}, this release opens {FORM}"));
        }
        let (nonce, text) = rest.split_first_chunk::<NONCE_LEN>().ok_or_else(refused)?;
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened =
            self.0.open_in_place(nonce, Aad::from(kid.as_bytes()), &mut text).map_err(|_| refused())?;
        Ok(PrivatePart::of(opened.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::store::NewKey;

    fn seal_key(byte: u8) -> SealKey {
        SealKey::parse(&STANDARD.encode([byte; KEY_BYTES])).expect("a key")
    }

    #[test]
    fn what_was_sealed_opens_with_the_same_key_for_the_same_id_alone() {
        let (key, new) = (seal_key(1), NewKey::make().expect("made"));
        let sealed = key.seal(&new.kid, &new.private).expect("sealed");
        assert_eq!(key.open(&new.kid, &sealed).expect("opened").der(), new.private.der());
        assert_ne!(key.seal(&new.kid, &new.private).expect("sealed"), sealed, "each time by another nonce");
        assert!(!sealed.windows(16).any(|part| new.private.der().windows(16).any(|of| of == part)));

        let refused = seal_key(2).open(&new.kid, &sealed).expect_err("another seal key");
        assert!(refused.contains("secrets.seal_key") && refused.contains(&new.kid), "{refused}");
        key.open("other", &sealed).expect_err("another id");
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            key.open(&new.kid, &damaged).expect_err("damaged");
            key.open(&new.kid, &sealed[..at]).expect_err("cut off");
        }
    }

    #[test]
    fn what_is_no_seal_key_is_told_without_being_shown() {
        let missing = SealKey::of(&SecretSettings::default()).expect_err("none").to_string();
        assert!(missing.contains("secrets.seal_key") && missing.contains("openssl rand"), "{missing}");
        for (text, part) in [("hunter2!", "no base64"), ("aHVudGVyMg==", "7 bytes"), ("", "0 bytes")] {
            let refused = SealKey::parse(text).expect_err(part).to_string();
            assert!(refused.contains(part) && refused.contains("openssl rand"), "{refused}");
            assert!(!refused.contains("hunter2") && !refused.contains("aHVudGVy"), "{refused}");
        }
        SealKey::parse(&format!("{}\n", STANDARD.encode([7; KEY_BYTES]))).expect("a file ends with a line");
    }
}
