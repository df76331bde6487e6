//! Every way to a device, behind one call.

use std::sync::Arc;

use async_trait::async_trait;

use crate::message::Message;
use crate::settings::PushSettings;
use crate::target::Target;
use crate::vapid::VapidKey;
use crate::verdict::{Outcome, Verdict};
use crate::web_push::WebPush;
use crate::webhook::{Webhook, WebhookError};

/// Sends messages to devices.
#[async_trait]
pub trait Driver: Send + Sync {
    /// Sends once, within `push.timeout`, and says what became of it. Dropping the future may leave a message that was sent.
    async fn send(&self, to: &Target, message: &Message) -> Verdict;
}

/// The drivers of this installation.
#[derive(Debug)]
pub struct Drivers {
    web_push: WebPush,
    webhook: Option<Webhook>,
}

impl Drivers {
    /// With these settings, and this key.
    ///
    /// # Errors
    ///
    /// When TLS can't be set up, or the settings were not checked.
    pub fn new(settings: &PushSettings, key: Arc<VapidKey>) -> Result<Self, WebhookError> {
        Ok(Self { web_push: WebPush::new(settings, key)?, webhook: Webhook::new(settings)? })
    }
}

#[async_trait]
impl Driver for Drivers {
    async fn send(&self, to: &Target, message: &Message) -> Verdict {
        match (to, &self.webhook) {
            (Target::WebPush(subscription), _) => self.web_push.send(subscription, message).await,
            (Target::Webhook { device, token }, Some(webhook)) => webhook.send(*device, token, message).await,
            (Target::Webhook { .. }, None) => {
                Verdict::unanswered(Outcome::Denied, "there is no relay (push.webhook_url)")
            }
        }
    }
}
