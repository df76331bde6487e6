//! Devices of people, and the slot that the newest connection of each holds.
//!
//! A slot is taken with a fresh session id and `epoch + 1`. Whoever holds a lower epoch lost it:
//! the holder's node says so to the others, and each node compares its own from time to time.

use async_trait::async_trait;
use domain::{AuthSessionId, ConnectionId, Device, DeviceId, DeviceKind, NodeId, SlotSessionId, UserId};

use crate::error::StoreError;

/// A device to be created.
#[derive(Debug, Clone)]
pub struct NewDevice {
    /// The id chosen by the caller.
    pub id: DeviceId,
    /// What it is.
    pub kind: DeviceKind,
    /// What its owner calls it.
    pub name: String,
}

/// A key that makes a creating call safe to repeat: for the same person and key the first creation's
/// result is given again.
pub type IdempotencyKey = String;

/// An attempt to take a device's slot.
#[derive(Debug, Clone, Copy)]
pub struct TakeSlot {
    /// Whose device.
    pub user: UserId,
    /// Which.
    pub device: DeviceId,
    /// The connection that asks. The same connection asking again gets what it has: an attempt
    /// repeated after a lost answer does not fence itself.
    pub connection: ConnectionId,
    /// The session id it will hold.
    pub session: SlotSessionId,
    /// The session that is resumed: the slot is only taken while that one still holds it.
    pub resumes: Option<SlotSessionId>,
    /// Where the connection lives.
    pub node: NodeId,
}

/// A slot that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The holder's session.
    pub session: SlotSessionId,
    /// The device whose slot it is.
    pub device: DeviceId,
    /// The device's kind.
    pub kind: DeviceKind,
    /// Grows by one with each taking.
    pub epoch: u64,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotOutcome {
    /// Held now.
    Taken(Slot),
    /// The session to be resumed holds no slot any more: identify again.
    NotResumable,
    /// The person has no such device.
    UnknownDevice,
}

/// Whether a connection that has just begun may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It may.
    Good,
    /// Its sign-in ended, or its person was disabled.
    SignedOut,
    /// Its slot is no longer its own: a newer connection took it, or the device is gone.
    Replaced,
}

/// Devices and their slots.
#[async_trait]
pub trait Devices {
    /// Adds a device. With a key that was used before: gives the device of then.
    ///
    /// # Errors
    ///
    /// `NonceReused` when the key was used to create something else.
    async fn create_device(
        &self,
        user: UserId,
        device: &NewDevice,
        key: Option<&IdempotencyKey>,
    ) -> Result<Device, StoreError>;

    /// The devices of a person by id after `after`, at most `limit`.
    async fn devices(
        &self,
        user: UserId,
        after: Option<DeviceId>,
        limit: u32,
    ) -> Result<Vec<Device>, StoreError>;

    /// Removes a device; answers the epoch that fences its live connection.
    ///
    /// # Errors
    ///
    /// `NotFound` when the person has no such device.
    async fn delete_device(&self, user: UserId, device: DeviceId) -> Result<u64, StoreError>;

    /// Takes a device's slot (identify; or resume, with `device` found by the session).
    async fn take_slot(&self, attempt: &TakeSlot) -> Result<SlotOutcome, StoreError>;

    /// The device whose slot a session of this person holds: what `resume` needs before [`Self::take_slot`].
    async fn slot_device(&self, user: UserId, session: SlotSessionId)
    -> Result<Option<DeviceId>, StoreError>;

    /// The epochs at which these slots stand. A device that is gone is left out.
    async fn slot_epochs(&self, devices: &[DeviceId]) -> Result<Vec<(DeviceId, u64)>, StoreError>;

    /// How a connection stands that signed in with `sign_in` and holds the slot of `slot`, if it holds one. What a node
    /// asks once it would hear of a change, so that none falls between sign-in and then.
    async fn standing(
        &self,
        sign_in: AuthSessionId,
        slot: Option<SlotSessionId>,
    ) -> Result<Standing, StoreError>;
}
