//! Signatures of webhooks: those we send, and those that are sent to us.
//!
//! [Standard Webhooks](https://www.standardwebhooks.com): sender and receiver share a secret, and HMAC-SHA256 over
//! `<id>.<timestamp>.<body>` proves that a message came from who has it, whole, and lately. The header may carry several
//! signatures, so that a secret can be changed without a gap. GitHub signs otherwise: the body alone, with the text of the
//! secret as key, so nothing says when.
//!
//! That a message is genuine does not say that it is the first of its id: who receives it keeps the ids.

use std::fmt;
use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{ErrorKind, Invalid};
use jiff::Timestamp;

use crate::error::AuthError;
use crate::secret::fill;

/// What secrets begin with: scanners for leaked secrets find them by it.
pub const PREFIX: &str = "whsec_";
/// The header with the id of the message: the same however often it is sent.
pub const ID_HEADER: &str = "webhook-id";
/// The header with the time of sending, in seconds since 1970.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// The header with the signatures, separated by spaces.
pub const SIGNATURE_HEADER: &str = "webhook-signature";
/// The header with GitHub's signature.
pub const GITHUB_HEADER: &str = "x-hub-signature-256";

/// Bytes of a secret that we make.
const OURS: usize = 32;
/// Fewest and most bytes of a secret, by the specification.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

/// A secret that the two ends of a webhook share. Never shown by `Debug`.
#[derive(Clone)]
pub struct SigningSecret(Box<[u8]>);

impl SigningSecret {
    /// A fresh one: 256 bits of the operating system's randomness.
    ///
    /// # Errors
    ///
    /// When the operating system gives no randomness.
    pub fn generate() -> Result<Self, AuthError> {
        let mut bytes = [0_u8; OURS];
        fill(&mut bytes)?;
        Ok(Self(Box::new(bytes)))
    }

    /// Reads what [`reveal`](Self::reveal) printed, or a secret that another sender made.
    ///
    /// # Errors
    ///
    /// About the field `secret`, without what was given: no `whsec_`, no base64, or not 24 to 64 bytes.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        text.strip_prefix(PREFIX)
            .and_then(|encoded| STANDARD.decode(encoded).ok())
            .filter(|bytes| LENGTHS.contains(&bytes.len()))
            .map(|bytes| Self(bytes.into()))
            .ok_or_else(|| {
                let given = format!("a text of {} characters", text.chars().count());
                Invalid::described("secret", given, "whsec_ and the base64 of 24 to 64 bytes")
            })
    }

    /// What [`bytes`](Self::bytes) gave, as it was kept.
    #[must_use]
    pub fn kept(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// The secret itself, to be kept where nobody else reads.
    #[must_use]
    pub const fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text that people copy to the other end: `whsec_` and base64.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(...)")
    }
}

/// Why a message does not count as genuine. Fit to be told to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// No signature, or none of a version that is known here.
    #[error("there is no signature of a known version")]
    Missing,
    /// No time of signing, where one belongs.
    #[error("there is no timestamp, or it is no number of seconds since 1970")]
    NoTimestamp,
    /// An id that could be cut from the rest in two ways, or none.
    #[error("the id of the message is empty or has a full stop")]
    BadId,
    /// Signed longer ago than is taken: maybe recorded and sent again.
    #[error("the timestamp is too old")]
    TooOld,
    /// Signed later than now: the clocks differ.
    #[error("the timestamp is too far in the future")]
    TooNew,
    /// Another secret, or another message.
    #[error("the signature does not match")]
    NoMatch,
}

impl SignatureError {
    /// What sort of failure this is.
    #[must_use]
    pub const fn kind(self) -> ErrorKind {
        ErrorKind::Unauthenticated
    }
}

/// The value of `webhook-signature` for a message: `v1,` and base64.
///
/// `id` has no full stop; `timestamp` is in seconds since 1970, as sent in `webhook-timestamp`.
#[must_use]
pub fn sign(secret: &SigningSecret, id: &str, timestamp: i64, body: &[u8]) -> String {
    format!("v1,{}", STANDARD.encode(tag(secret, id, timestamp, body)))
}

/// Checks a message by the headers that came with it: `header` is `webhook-signature`.
///
/// One signature that matches is enough; those of other versions are passed over. Each is compared in constant time.
///
/// # Errors
///
/// What is wrong; see [`SignatureError`]. `timestamp` may differ from `now` by `tolerance` either way.
pub fn verify(
    secret: &SigningSecret,
    id: &str,
    timestamp: i64,
    body: &[u8],
    header: &str,
    now: Timestamp,
    tolerance: Duration,
) -> Result<(), SignatureError> {
    let given: Vec<&str> =
        header.split_ascii_whitespace().filter_map(|one| one.strip_prefix("v1,")).collect();
    if given.is_empty() {
        return Err(SignatureError::Missing);
    }
    if id.is_empty() || id.contains('.') {
        return Err(SignatureError::BadId);
    }
    let age = now.as_second().saturating_sub(timestamp);
    let tolerance = i64::try_from(tolerance.as_secs()).unwrap_or(i64::MAX);
    if age > tolerance {
        return Err(SignatureError::TooOld);
    }
    if age < -tolerance {
        return Err(SignatureError::TooNew);
    }
    let expected = tag(secret, id, timestamp, body);
    let matches = |one: &&str| {
        STANDARD.decode(one).is_ok_and(|one| verify_slices_are_equal(&one, expected.as_ref()).is_ok())
    };
    if given.iter().any(matches) { Ok(()) } else { Err(SignatureError::NoMatch) }
}

/// Checks a message of GitHub, to which the printed text of the secret was given. `header` is `x-hub-signature-256`.
///
/// It says nothing about when: only the id of the delivery tells a message from its repetition.
///
/// # Errors
///
/// [`SignatureError::Missing`] or [`SignatureError::NoMatch`].
pub fn verify_github(secret: &SigningSecret, body: &[u8], header: &str) -> Result<(), SignatureError> {
    github(secret.reveal().as_bytes(), body, header)
}

fn github(key: &[u8], body: &[u8], header: &str) -> Result<(), SignatureError> {
    let given = header.trim().strip_prefix("sha256=").ok_or(SignatureError::Missing)?.to_ascii_lowercase();
    let tag = hmac::sign(&hmac::Key::new(HMAC_SHA256, key), body);
    let expected: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    verify_slices_are_equal(given.as_bytes(), expected.as_bytes()).map_err(|_| SignatureError::NoMatch)
}

fn tag(secret: &SigningSecret, id: &str, timestamp: i64, body: &[u8]) -> hmac::Tag {
    let mut context = hmac::Context::with_key(&hmac::Key::new(HMAC_SHA256, &secret.0));
    context.update(format!("{id}.{timestamp}.").as_bytes());
    context.update(body);
    context.sign()
}

#[cfg(test)]
mod tests;
