//! What the routes of pushes stand on: which subscriptions are taken, and the key that browsers are given for them.
//!
//! A node serves without the key. Whoever asks for it then makes the node look again, so it mends by itself once the directory is as it must be.

use std::path::PathBuf;

use domain::{ErrorCode, Invalid};
use push::vapid::KeyError;
use push::{Endpoints, PushSettings, Subscription, VapidKey};
use tokio::sync::OnceCell;

use crate::problem::Problem;

/// Judges subscriptions, and gives out the public key of pushes.
pub struct Pushes {
    endpoints: Endpoints,
    has_relay: bool,
    key_dir: PathBuf,
    key: OnceCell<VapidKey>,
}

impl Pushes {
    /// With these settings. Opens the key, and makes it where there is none; if that can't be done the log says why.
    pub async fn open(settings: &PushSettings) -> Self {
        let pushes = Self {
            endpoints: Endpoints::new(settings),
            has_relay: !settings.webhook_url.is_empty(),
            key_dir: settings.vapid_key_dir.clone(),
            key: OnceCell::new(),
        };
        if let Err(error) = pushes.key().await {
            tracing::error!(%error, "browsers can't subscribe to pushes by this node until it reads its key");
        }
        pushes
    }

    /// The key of pushes. Those who ask while it is being read wait for the one who reads.
    ///
    /// # Errors
    ///
    /// When it can't be read yet.
    pub async fn key(&self) -> Result<&VapidKey, KeyError> {
        self.key.get_or_try_init(|| VapidKey::open(&self.key_dir)).await
    }

    /// Checks what a browser has given out.
    ///
    /// # Errors
    ///
    /// See [`Endpoints::check`].
    pub async fn check(&self, subscription: &Subscription) -> Result<(), Invalid> {
        self.endpoints.check(subscription).await
    }

    /// Checks that there is a relay that could know a device.
    ///
    /// # Errors
    ///
    /// `conflict` where the operator has set none.
    pub fn check_relay(&self) -> Result<(), Problem> {
        if self.has_relay {
            return Ok(());
        }
        let detail = "there is no relay for pushes here: the operator has not set push.webhook_url";
        Err(Problem::new(ErrorCode::Conflict, detail))
    }
}
