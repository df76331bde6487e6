//! Who sends: VAPID (RFC 8292).
//!
//! With each message goes a token, signed with the key that devices were given when they subscribed. It names the push service, an end, and whom the service
//! may ask about us. A token serves for all subscriptions at one service; it is made anew when half of its life is over.

use std::collections::HashMap;
use std::sync::Arc;

use aws_lc_rs::error::Unspecified;
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{Algorithm, Header, encode};
use outbound::HeaderValue;
use parking_lot::Mutex;
use serde::Serialize;

mod key;

pub use key::{KeyError, VapidKey};

/// How long a token is good; push services take a day at most.
const LIFE: SignedDuration = SignedDuration::from_hours(12);
/// Push services whose tokens are kept. Users name them, so there could be any number.
const MOST_KEPT: usize = 1024;

/// Makes and keeps tokens for push services.
#[derive(Debug)]
pub struct Vapid {
    key: Arc<VapidKey>,
    contact: String,
    kept: Mutex<HashMap<String, Kept>>,
}

#[derive(Debug)]
struct Kept {
    header: HeaderValue,
    made_at: Timestamp,
}

impl Kept {
    fn is_fresh(&self, now: Timestamp) -> bool {
        // Made later than now: the clock was set back.
        let age = now.duration_since(self.made_at);
        !age.is_negative() && age < LIFE / 2
    }
}

#[derive(Debug, Serialize)]
struct Claims<'a> {
    aud: &'a str,
    exp: i64,
    #[serde(skip_serializing_if = "str::is_empty")]
    sub: &'a str,
}

impl Vapid {
    /// With this key; `contact` is `push.contact`.
    #[must_use]
    pub fn new(key: Arc<VapidKey>, contact: &str) -> Self {
        Self { key, contact: contact.to_owned(), kept: Mutex::default() }
    }

    /// The value of `authorization` for a push service, by its origin (`https://push.example.com`).
    ///
    /// # Errors
    ///
    /// When nothing can be signed: the library gives no reason.
    pub fn authorization(&self, origin: &str, now: Timestamp) -> Result<HeaderValue, Unspecified> {
        if let Some(kept) = self.kept.lock().get(origin)
            && kept.is_fresh(now)
        {
            return Ok(kept.header.clone());
        }
        let header = self.make(origin, now)?;
        let mut kept = self.kept.lock();
        if kept.len() >= MOST_KEPT {
            // Making them anew costs little.
            kept.clear();
        }
        kept.insert(origin.to_owned(), Kept { header: header.clone(), made_at: now });
        Ok(header)
    }

    fn make(&self, origin: &str, now: Timestamp) -> Result<HeaderValue, Unspecified> {
        let claims = Claims { aud: origin, exp: (now + LIFE).as_second(), sub: &self.contact };
        let token =
            encode(&Header::new(Algorithm::ES256), &claims, self.key.signing()).map_err(|_| Unspecified)?;
        let text = format!("vapid t={token}, k={}", self.key.public());
        let mut header = HeaderValue::from_str(&text).map_err(|_| Unspecified)?;
        header.set_sensitive(true);
        Ok(header)
    }
}

#[cfg(test)]
mod tests;
