//! Where pushes to devices of the person signed in go.

use std::fmt;

use domain::DeviceId;
use jiff::Timestamp;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::call::Call;
use super::{Api, ApiError};

/// Where pushes to a device shall go. Never shown by `Debug`: whoever has one can send.
#[derive(Clone, PartialEq, Eq)]
pub enum PushTarget {
    /// To a push service, as a browser or a UnifiedPush distributor gives it out.
    WebPush {
        /// Where the service takes messages for the device.
        endpoint: String,
        /// What messages are encrypted for.
        keys: PushKeys,
    },
    /// To the operator's relay.
    Webhook {
        /// What the relay knows the device by.
        token: String,
    },
}

/// Keys of a subscription.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct PushKeys {
    /// The device's public key: a point of P-256, uncompressed, in base64url.
    pub p256dh: String,
    /// 16 bytes that the device shares, in base64url.
    pub auth: String,
}

impl fmt::Debug for PushTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WebPush { .. } => "WebPush",
            Self::Webhook { .. } => "Webhook",
        })
    }
}

impl fmt::Debug for PushKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PushKeys")
    }
}

/// A subscription, without what is secret of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PushSubscription {
    /// Of which device.
    pub device_id: DeviceId,
    /// `web_push` or `webhook`.
    pub driver: String,
    /// The origin of the endpoint; none with the relay.
    #[serde(default)]
    pub origin: Option<String>,
    /// Since when.
    pub created_at: Timestamp,
    /// Sends that failed since the last that did not.
    pub failures: u32,
    /// What the last send came to; none before the first.
    #[serde(default)]
    pub last: Option<LastPush>,
}

/// What the last send came to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LastPush {
    /// When.
    pub at: Timestamp,
    /// What was answered, for people to read.
    pub result: String,
}

/// What the key is answered as.
#[derive(Deserialize)]
struct Key {
    public_key: String,
}

impl Api {
    /// The key that browsers subscribe with (`applicationServerKey`): a point of P-256, uncompressed, in base64url.
    ///
    /// # Errors
    ///
    /// The node can't read it.
    pub async fn push_key(&self) -> Result<String, ApiError> {
        let key: Key = self.ask(&Call::new(Method::GET, &["v1", "push", "key"])).await?;
        Ok(key.public_key)
    }

    /// Says where pushes to a device go.
    ///
    /// # Errors
    ///
    /// No such device, an endpoint or keys that are not allowed, or no relay here.
    pub async fn set_push(
        &self,
        device: DeviceId,
        target: &PushTarget,
    ) -> Result<PushSubscription, ApiError> {
        let device = device.to_string();
        let body = match target {
            PushTarget::WebPush { endpoint, keys } => json!({ "endpoint": endpoint, "keys": keys }),
            PushTarget::Webhook { token } => json!({ "driver": "webhook", "token": token }),
        };
        self.ask(&Call::new(Method::PUT, &["v1", "devices", &device, "push"]).body(&body)).await
    }

    /// Where pushes to a device go, and what the last one came to.
    ///
    /// # Errors
    ///
    /// No such device, or it has no subscription.
    pub async fn push(&self, device: DeviceId) -> Result<PushSubscription, ApiError> {
        let device = device.to_string();
        self.ask(&Call::new(Method::GET, &["v1", "devices", &device, "push"])).await
    }

    /// Ends pushes to a device.
    ///
    /// # Errors
    ///
    /// No such device.
    pub async fn remove_push(&self, device: DeviceId) -> Result<(), ApiError> {
        let device = device.to_string();
        self.call(&Call::new(Method::DELETE, &["v1", "devices", &device, "push"])).await.map(|_| ())
    }

    /// Asks for a push to try a device. What came of it shows in [`push`](Self::push).
    ///
    /// # Errors
    ///
    /// It has no subscription, or this was asked for too often.
    pub async fn test_push(&self, device: DeviceId) -> Result<(), ApiError> {
        let device = device.to_string();
        self.call(&Call::new(Method::POST, &["v1", "devices", &device, "push", "test"])).await.map(|_| ())
    }
}
