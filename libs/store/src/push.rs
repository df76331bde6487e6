//! What workers and gateways do about notifications: decide, hint, push.
//!
//! What is to be decided is taken with a *claim*, good for a lease by the database's clock: what a worker writes counts only under the claim
//! that still holds it. Pushes are queued by device: who claims a device has all its pushes for that long, so each device gets them one after the
//! other and in order, and what the push service asks for (time, a rest) holds for all of them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::notification::{Preferences, Reason};
use domain::{AuthSessionId, DeviceId, NodeId, NotificationId, UserId};
use jiff::Timestamp;
use uuid::Uuid;

use crate::error::StoreError;
use crate::notifications::Notification;

/// Where pushes to a device go.
#[derive(Clone, PartialEq, Eq)]
pub enum PushAddress {
    /// To a push service (RFC 8030), encrypted for the device (RFC 8291).
    WebPush {
        /// The URL that the push service made for the device. A secret.
        endpoint: String,
        /// The device's public key: a point of P-256, base64url.
        p256dh: String,
        /// The secret that the device shares, base64url.
        auth: String,
    },
    /// To the operator's relay.
    Webhook {
        /// What the relay knows the device by. A secret.
        token: String,
    },
}

impl std::fmt::Debug for PushAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::WebPush { .. } => "WebPush",
            Self::Webhook { .. } => "Webhook",
        })
    }
}

/// A subscription as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// Of which device.
    pub device: DeviceId,
    /// Where pushes go.
    pub address: PushAddress,
    /// Since when.
    pub created_at: Timestamp,
    /// Sends that failed since the last that did not.
    pub failures: u32,
    /// When the last one was, and what it came to.
    pub last: Option<(Timestamp, String)>,
}

/// A notification that is to be decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecided {
    /// The notification.
    pub notification: Notification,
    /// What the person wants.
    pub preferences: Preferences,
    /// It was decided before that its push waits.
    pub waited: bool,
    /// The push has waited for long enough.
    pub delay_over: bool,
    /// The database's time.
    pub now: Timestamp,
}

/// What becomes of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing more: told as `decided`, or `dropped` when its push waited.
    Over(Reason),
    /// Its push waits for this long.
    Waits(Reason, Duration),
    /// Its push waits on, until it is due.
    WaitsOn,
    /// Nobody knows yet where the person is: decided again after this long.
    Later(Duration),
    /// It is pushed now to each device that has a subscription.
    Push(Reason),
}

impl Outcome {
    /// Whether it is shown on a desktop now.
    #[must_use]
    pub const fn is_hint(self) -> bool {
        matches!(self, Self::Waits(Reason::Gateway, _))
    }
}

/// A decision to be written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decided {
    /// On which notification.
    pub notification: NotificationId,
    /// Its push waited before.
    pub waited: bool,
    /// What becomes of it.
    pub outcome: Outcome,
}

impl Decided {
    /// The step that tells of it, and why; none when nothing is to be told.
    pub(crate) const fn step(&self) -> Option<(&'static str, Reason)> {
        match self.outcome {
            Outcome::Over(reason) => Some((if self.waited { "dropped" } else { "decided" }, reason)),
            Outcome::Push(reason) => Some((if self.waited { "released" } else { "decided" }, reason)),
            Outcome::Waits(reason, _) => Some(("decided", reason)),
            Outcome::WaitsOn | Outcome::Later(_) => None,
        }
    }
}

/// A device that a worker has claimed, with one push that waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedDevice {
    /// Which device.
    pub device: DeviceId,
    /// Where its pushes go.
    pub address: PushAddress,
    /// Sends that failed since the last that did not.
    pub failures: u32,
    /// Its owner asked for a push to try it.
    pub is_test: bool,
    /// What the person wants.
    pub preferences: Preferences,
    /// The database's time.
    pub now: Timestamp,
    /// What the person has not read, of all rooms.
    pub unread: u64,
    /// The trace of the newest event that they are about (`traceparent`), if it is recorded.
    pub trace: Option<Arc<str>>,
    /// The notifications of one room that wait, the oldest first, each with why it is pushed. May be empty.
    pub waiting: Vec<(Notification, Reason)>,
}

/// What became of one notification at one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushStep {
    /// Which notification.
    pub notification: NotificationId,
    /// `sent`, `dropped` or `retried`.
    pub step: &'static str,
    /// Why, if that is to be said.
    pub reason: Option<String>,
    /// What the push service answered.
    pub detail: Option<String>,
    /// Nothing more becomes of it at this device.
    pub is_over: bool,
}

/// What becomes of a claimed device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceAfter {
    /// It is looked at again at once when more waits.
    Free {
        /// What the last send came to; none when nothing was sent.
        result: Option<String>,
    },
    /// Nothing is sent to it for so long.
    Rests {
        /// How long.
        pause: Duration,
        /// What the last send came to.
        result: String,
    },
    /// Its subscription is forgotten.
    Gone,
}

/// A claimed device that is given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedDevice {
    /// Under which claim.
    pub claim: Uuid,
    /// Which device.
    pub device: DeviceId,
    /// The push to try it was sent.
    pub tested: bool,
    /// What became of its notifications.
    pub steps: Vec<PushStep>,
    /// What becomes of it.
    pub after: DeviceAfter,
}

/// Deciding, hinting and pushing.
#[async_trait]
pub trait Push {
    /// Notes where pushes to a person's device go, until the sign-in ends by which they say so. An address that another device named before belongs to this one from now on.
    ///
    /// # Errors
    ///
    /// `NotFound` when the person has no such device.
    async fn subscribe(
        &self,
        user: UserId,
        sign_in: AuthSessionId,
        device: DeviceId,
        address: &PushAddress,
    ) -> Result<(), StoreError>;

    /// Forgets where pushes to a device go; nothing to forget is no error.
    ///
    /// # Errors
    ///
    /// `NotFound` when the person has no such device.
    async fn unsubscribe(&self, user: UserId, device: DeviceId) -> Result<(), StoreError>;

    /// Where pushes to a person's device go.
    async fn subscription(&self, user: UserId, device: DeviceId) -> Result<Option<Subscription>, StoreError>;

    /// Asks for a push to try a device's subscription; what came of it shows in [`Self::subscription`].
    ///
    /// # Errors
    ///
    /// `NotFound` when it has none.
    async fn request_test(&self, user: UserId, device: DeviceId) -> Result<(), StoreError>;

    /// Takes what is to be decided, for a lease, at most `limit`.
    async fn claim_undecided(
        &self,
        claim: Uuid,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<Undecided>, StoreError>;

    /// Writes down what was decided under a claim; gives those that it still held. A claim holds until another takes it after its lease, or
    /// [`Self::release`] does.
    async fn decide(
        &self,
        claim: Uuid,
        node: NodeId,
        decided: &[Decided],
    ) -> Result<Vec<NotificationId>, StoreError>;

    /// How long until the next notification is to be decided; none when none is.
    async fn next_undecided(&self) -> Result<Option<Duration>, StoreError>;

    /// People are elsewhere than before: their pushes that wait are decided again at once, and so is what a worker is deciding on, which may
    /// have looked before they went: it loses its claim. How many that are.
    async fn release(&self, people: &[UserId]) -> Result<u64, StoreError>;

    /// People of whom a push waits, by id after `after`, at most `limit`.
    async fn people_waiting(&self, after: Option<UserId>, limit: u32) -> Result<Vec<UserId>, StoreError>;

    /// Takes devices that a push waits for, for a lease, at most `devices`, each with at most `together` notifications of one room.
    async fn claim_pushes(
        &self,
        claim: Uuid,
        lease: Duration,
        devices: u32,
        together: u32,
    ) -> Result<Vec<ClaimedDevice>, StoreError>;

    /// Writes down what became of pushes and gives the devices back; those that are no longer held under their claim are passed over. Gives
    /// the devices that were held.
    async fn finish_pushes(
        &self,
        node: NodeId,
        finished: &[FinishedDevice],
    ) -> Result<Vec<DeviceId>, StoreError>;

    /// How long until the next device is to be looked at; none when none is.
    async fn next_push(&self) -> Result<Option<Duration>, StoreError>;

    /// Of these notifications those of which a hint may be shown now.
    async fn hints(&self, notifications: &[NotificationId]) -> Result<Vec<Notification>, StoreError>;

    /// Notifications of which a hint was decided in the last `since` and that no node has shown, with the person.
    async fn missed_hints(
        &self,
        since: Duration,
        limit: u32,
    ) -> Result<Vec<(NotificationId, UserId)>, StoreError>;

    /// Notes hints before they are shown, on devices (or connections that named none); gives those that nobody noted before.
    async fn note_hints(
        &self,
        node: NodeId,
        hints: &[(NotificationId, Uuid)],
    ) -> Result<Vec<(NotificationId, Uuid)>, StoreError>;
}
