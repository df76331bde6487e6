//! Web Push (RFC 8030): to browsers, and to whatever speaks UnifiedPush.

use std::sync::Arc;
use std::time::Duration;

use outbound::{HeaderMap, HeaderName, HeaderValue, Outbound, Post, SetupError};

use crate::encryption::{EncryptionError, encrypt};
use crate::message::Message;
use crate::settings::PushSettings;
use crate::target::Subscription;
use crate::vapid::{Vapid, VapidKey};
use crate::verdict::{Outcome, Verdict};

/// Sends to push services. Their addresses come from users, so each request goes through the guard of [`outbound`].
#[derive(Debug)]
pub struct WebPush {
    outbound: Outbound,
    vapid: Vapid,
    timeout: Duration,
}

impl WebPush {
    /// With this key.
    ///
    /// # Errors
    ///
    /// When TLS can't be set up.
    pub fn new(settings: &PushSettings, key: Arc<VapidKey>) -> Result<Self, SetupError> {
        Ok(Self {
            outbound: Outbound::new(&settings.to_services())?,
            vapid: Vapid::new(key, &settings.contact),
            timeout: settings.timeout,
        })
    }

    /// Sends once.
    pub async fn send(&self, to: &Subscription, message: &Message) -> Verdict {
        let (headers, body) = match self.prepare(to, message) {
            Ok(prepared) => prepared,
            Err(verdict) => return verdict,
        };
        let post = Post { url: &to.endpoint, headers, body, timeout: self.timeout };
        Verdict::of(self.outbound.post(post).await)
    }

    fn prepare(&self, to: &Subscription, message: &Message) -> Result<(HeaderMap, Vec<u8>), Verdict> {
        let refused = |reason: String| Verdict::unanswered(Outcome::Refused, reason);
        let url = self.outbound.check_url(&to.endpoint).map_err(|invalid| refused(invalid.to_string()))?;
        let recipient = to.recipient().map_err(|invalid| refused(invalid.to_string()))?;
        let body = encrypt(message.payload.as_bytes(), &recipient).map_err(|error| {
            let outcome = match error {
                EncryptionError::TooLong(_) => Outcome::TooLarge,
                EncryptionError::Failed => Outcome::Later { after: None },
            };
            Verdict::unanswered(outcome, error.to_string())
        })?;
        let origin = url.origin().ascii_serialization();
        let authorization = self.vapid.authorization(&origin, message.sent_at).map_err(|_| {
            Verdict::unanswered(Outcome::Later { after: None }, "the request could not be signed")
        })?;

        let mut headers = HeaderMap::new();
        let mut set = |name, value| headers.insert(HeaderName::from_static(name), value);
        set("authorization", authorization);
        set("content-type", HeaderValue::from_static("application/octet-stream"));
        set("content-encoding", HeaderValue::from_static("aes128gcm"));
        set("ttl", HeaderValue::from(message.ttl.as_secs()));
        set("urgency", HeaderValue::from_static(message.urgency.as_str()));
        let topic = message.topic.map(|topic| HeaderValue::from_str(&topic.hidden(&recipient.secret)));
        if let Some(Ok(topic)) = topic {
            set("topic", topic);
        }
        Ok((headers, body))
    }
}
