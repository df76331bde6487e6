//! Notifications, what people want of them, and where pushes to their devices go.

use std::sync::Arc;

use domain::notification::Preferences;
use domain::{AuthSessionId, DeviceId, Invalid, NotificationId, NotificationKind, Principal, RoomId, UserId};
use store::notifications::{ReadWhat, Recipient};
use store::push::{Decided, PushAddress};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::Operations;
use crate::error::Error;

/// Most notifications that one call marks as read by name.
pub const MAX_READ_IDS: usize = 500;

impl Operations {
    /// What a worker waits on that decides on notifications: woken when there are new ones.
    #[must_use]
    pub fn notification_wake(&self) -> Arc<Notify> {
        Arc::clone(self.announcer.notification_wake())
    }

    /// Marks notifications as read, on all devices.
    ///
    /// # Errors
    ///
    /// `Invalid` for none or too many ids.
    pub async fn read_notifications(&self, user: UserId, what: &ReadWhat) -> Result<(), Error> {
        if let ReadWhat::Ids(ids) = what
            && !(1..=MAX_READ_IDS).contains(&ids.len())
        {
            let given = format!("{} ids", ids.len());
            return Err(Invalid::described("ids", given, format!("1 to {MAX_READ_IDS}")).into());
        }
        self.announcer.events(self.store.read_notifications(user, what).await?);
        Ok(())
    }

    /// Notes what a person wants of notifications.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn set_preferences(&self, user: UserId, preferences: &Preferences) -> Result<(), Error> {
        Ok(self.store.set_preferences(user, preferences).await?)
    }

    /// Notes where pushes to a device go, which was checked before.
    ///
    /// # Errors
    ///
    /// `NotFound` when the person has no such device.
    pub async fn subscribe(
        &self,
        user: UserId,
        sign_in: AuthSessionId,
        device: DeviceId,
        address: &PushAddress,
    ) -> Result<(), Error> {
        Ok(self.store.subscribe(user, sign_in, device, address).await?)
    }

    /// Asks for a push to try a device's subscription.
    ///
    /// # Errors
    ///
    /// `NotFound` when it has none.
    pub async fn test_push(&self, user: UserId, device: DeviceId) -> Result<(), Error> {
        self.store.request_test(user, device).await?;
        self.announcer.notification_due();
        Ok(())
    }

    /// Writes down what was decided under a claim, and has hints shown. Gives what was still held.
    ///
    /// # Errors
    ///
    /// The store's; nothing is told then.
    pub async fn decide(
        &self,
        claim: Uuid,
        node: domain::NodeId,
        decided: &[Decided],
    ) -> Result<Vec<NotificationId>, Error> {
        let held = self.store.decide(claim, node, decided).await?;
        for one in decided.iter().filter(|one| one.outcome.is_hint() && held.contains(&one.notification)) {
            self.announcer.notification_created(one.notification);
        }
        Ok(held)
    }

    /// Who is to be notified of a message: whom it mentions, and the other one in a room of two.
    pub(crate) async fn recipients(
        &self,
        room: RoomId,
        sender: Principal,
        mentioned: &[UserId],
    ) -> Result<Vec<Recipient>, Error> {
        let mut recipients: Vec<Recipient> =
            mentioned.iter().map(|user| Recipient { user: *user, kind: NotificationKind::Mention }).collect();
        for user in self.pair(room).await?.into_iter().flatten() {
            if recipients.iter().all(|known| known.user != user) {
                recipients.push(Recipient { user, kind: NotificationKind::DirectMessage });
            }
        }
        recipients.retain(|recipient| Principal::User(recipient.user) != sender);
        Ok(recipients)
    }

    async fn pair(&self, room: RoomId) -> Result<Option<[UserId; 2]>, Error> {
        if let Some(pair) = self.pairs.get(room) {
            return Ok(pair);
        }
        // Of a room that is not there nothing is remembered; the send finds out.
        let Some(pair) = self.store.dm_pair(room).await? else { return Ok(None) };
        self.pairs.insert(room, pair);
        Ok(pair)
    }
}
