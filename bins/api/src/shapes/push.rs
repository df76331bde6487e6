//! Where pushes to devices go, without what is secret of it.

use serde::Serialize;
use store::push::{PushAddress, Subscription};
use utoipa::ToSchema;
use uuid::Uuid;

use super::time;

/// A subscription: where pushes to a device go.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = PushSubscription)]
pub struct SubscriptionShape {
    /// Of which device.
    pub device_id: Uuid,
    /// `web_push`, or `webhook` for the relay of the operator.
    #[schema(pattern = "^(web_push|webhook)$")]
    pub driver: &'static str,
    /// The origin of the endpoint, such as `https://push.example.com`; null with the relay.
    pub origin: Option<String>,
    /// Since when there is one for the device.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Sends that failed since the last that did not.
    pub failures: u32,
    /// The last send; null before the first.
    pub last: Option<LastPushShape>,
}

/// What the last send came to.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = LastPush)]
pub struct LastPushShape {
    /// When.
    #[schema(format = DateTime)]
    pub at: String,
    /// What was answered, for people to read.
    pub result: String,
}

impl From<Subscription> for SubscriptionShape {
    fn from(subscription: Subscription) -> Self {
        let (driver, origin) = match &subscription.address {
            PushAddress::WebPush { endpoint, .. } => ("web_push", push::endpoints::origin(endpoint)),
            PushAddress::Webhook { .. } => ("webhook", None),
        };
        Self {
            device_id: subscription.device.0,
            driver,
            origin,
            created_at: time(subscription.created_at),
            failures: subscription.failures,
            last: subscription.last.map(|(at, result)| LastPushShape { at: time(at), result }),
        }
    }
}

/// The key that browsers subscribe with.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = PushKey)]
pub struct PushKeyShape {
    /// For `applicationServerKey`: a point of P-256, uncompressed, in base64url.
    pub public_key: String,
}
