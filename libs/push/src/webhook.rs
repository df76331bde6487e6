//! The operator's relay: for devices that have no Web Push.
//!
//! The relay is told what a push service would be told, as JSON and not encrypted, signed as [`auth::signature`] says. It knows how to reach
//! the device by the token that the device has given us, and answers with the statuses of push services.

use std::time::Duration;

use auth::SigningSecret;
use auth::signature;
use domain::{DeviceId, Invalid};
use outbound::{HeaderMap, HeaderName, HeaderValue, Outbound, Post, SetupError};
use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::message::{Message, Topic};
use crate::settings::{PushSettings, everywhere};
use crate::target::Token;
use crate::verdict::{Outcome, Verdict};

/// Calls the relay that the operator has set.
#[derive(Debug)]
pub struct Webhook {
    outbound: Outbound,
    url: String,
    secret: SigningSecret,
    timeout: Duration,
}

/// What the relay is told.
#[derive(Serialize)]
struct Call<'a> {
    id: Uuid,
    device_id: DeviceId,
    token: &'a str,
    topic: Option<String>,
    urgency: &'static str,
    /// In seconds.
    ttl: u64,
    payload: &'a RawValue,
}

/// Why there is no way to the relay.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WebhookError {
    /// The settings were not checked.
    #[error(transparent)]
    Settings(#[from] Invalid),
    /// TLS can't be set up.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

impl Webhook {
    /// With these settings; none where they name no relay.
    ///
    /// # Errors
    ///
    /// See [`WebhookError`].
    pub fn new(settings: &PushSettings) -> Result<Option<Self>, WebhookError> {
        if settings.webhook_url.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            outbound: Outbound::new(&everywhere())?,
            url: settings.webhook_url.reveal().to_owned(),
            secret: SigningSecret::parse(settings.webhook_secret.reveal())?,
            timeout: settings.timeout,
        }))
    }

    /// Calls once.
    pub async fn send(&self, device: DeviceId, token: &Token, message: &Message) -> Verdict {
        let Some((headers, body)) = self.prepare(device, token, message) else {
            return Verdict::unanswered(Outcome::Refused, "the payload is no JSON");
        };
        let post = Post { url: &self.url, headers, body, timeout: self.timeout };
        let verdict = Verdict::of(self.outbound.post(post).await);
        // There is one address for all devices: that it is not there says nothing of this one.
        if verdict.status == Some(404) { Verdict { outcome: Outcome::Denied, ..verdict } } else { verdict }
    }

    fn prepare(&self, device: DeviceId, token: &Token, message: &Message) -> Option<(HeaderMap, Vec<u8>)> {
        let call = Call {
            id: message.id,
            device_id: device,
            token: &token.0,
            topic: message.topic.map(Topic::plain),
            urgency: message.urgency.as_str(),
            ttl: message.ttl.as_secs(),
            payload: serde_json::from_str(&message.payload).ok()?,
        };
        let body = serde_json::to_vec(&call).ok()?;
        let (id, timestamp) = (message.id.to_string(), message.sent_at.as_second());
        let signed = signature::sign(&self.secret, &id, timestamp, &body);
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-type", "application/json"),
            (signature::ID_HEADER, &id),
            (signature::TIMESTAMP_HEADER, &timestamp.to_string()),
            (signature::SIGNATURE_HEADER, &signed),
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).ok()?);
        }
        // The relay is the operator's: it goes on with the trace.
        if let Some(place) = trace::traceparent() {
            headers.insert(HeaderName::from_static("traceparent"), HeaderValue::from_str(&place).ok()?);
        }
        Some((headers, body))
    }
}
