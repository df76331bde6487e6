//! Devices and slots: the [`Devices`] of SQLite.

use async_trait::async_trait;
use domain::{AuthSessionId, Device, DeviceId, DeviceKind, SlotSessionId, UserId};
use rusqlite::Row;
use uuid::Uuid;

use super::Sqlite;
use super::fault::Fault;
use super::row::Columns;
use super::statement::statements;
use super::transaction::Tx;
use super::value::array;
use crate::devices::{Devices, IdempotencyKey, NewDevice, Slot, SlotOutcome, Standing, TakeSlot};
use crate::error::{Refusal, StoreError};

statements! {
    CREATE = "devices/create";
    CLAIM_KEY = "devices/claim_key";
    CREATED = "devices/created";
    DEVICE = "devices/device";
    LIST = "devices/list";
    EPOCH = "devices/epoch";
    TELL_DROPPED = "devices/tell_dropped";
    DELETE = "devices/delete";
    TAKE = "devices/take";
    RESUME = "devices/resume";
    SLOT_DEVICE = "devices/slot_device";
    SLOT_EPOCHS = "devices/slot_epochs";
    SIGNED_IN = "devices/signed_in";
    HOLDS_SLOT = "devices/holds_slot";
}

#[async_trait]
impl Devices for Sqlite {
    async fn create_device(
        &self,
        user: UserId,
        device: &NewDevice,
        key: Option<&IdempotencyKey>,
    ) -> Result<Device, StoreError> {
        let (device, key) = (device.clone(), key.cloned());
        self.write(move |tx| match &key {
            Some(key) => create_once(tx, user, &device, key),
            None => create_by_id(tx, user, &device),
        })
        .await
    }

    async fn devices(
        &self,
        user: UserId,
        after: Option<DeviceId>,
        limit: u32,
    ) -> Result<Vec<Device>, StoreError> {
        self.read(move |tx| tx.rows(LIST, &[&user.0, &after.map(DeviceId::uuid), &limit], read)).await
    }

    async fn delete_device(&self, user: UserId, device: DeviceId) -> Result<u64, StoreError> {
        self.write(move |tx| {
            // Both go with the device.
            let epoch = tx.row(EPOCH, &[&device.0], |row| row.count("epoch"))?.unwrap_or_default();
            tx.execute(TELL_DROPPED, &[&user.0, &device.0, &tx.micros()])?;
            match tx.execute(DELETE, &[&user.0, &device.0])? {
                0 => Err(Refusal::NotFound("device").into()),
                _ => Ok(epoch + 1),
            }
        })
        .await
    }

    async fn take_slot(&self, attempt: &TakeSlot) -> Result<SlotOutcome, StoreError> {
        let attempt = *attempt;
        self.write(move |tx| take(tx, &attempt)).await
    }

    async fn slot_device(
        &self,
        user: UserId,
        session: SlotSessionId,
    ) -> Result<Option<DeviceId>, StoreError> {
        self.read(move |tx| {
            tx.row(SLOT_DEVICE, &[&user.0, &session.0], |row| row.value("device_id").map(DeviceId))
        })
        .await
    }

    async fn slot_epochs(&self, devices: &[DeviceId]) -> Result<Vec<(DeviceId, u64)>, StoreError> {
        if devices.is_empty() {
            return Ok(Vec::new());
        }
        let devices = devices.to_vec();
        self.read(move |tx| {
            let asked = array(devices.iter().map(|device| device.0));
            tx.rows(SLOT_EPOCHS, &[&asked], |row| {
                Ok((DeviceId(row.value("device_id")?), row.count("epoch")?))
            })
        })
        .await
    }

    async fn standing(
        &self,
        sign_in: AuthSessionId,
        slot: Option<SlotSessionId>,
    ) -> Result<Standing, StoreError> {
        self.read(move |tx| {
            if !tx.exists(SIGNED_IN, &[&sign_in.0])? {
                return Ok(Standing::SignedOut);
            }
            let holds = match slot {
                Some(session) => tx.exists(HOLDS_SLOT, &[&session.0])?,
                None => true,
            };
            Ok(if holds { Standing::Good } else { Standing::Replaced })
        })
        .await
    }
}

/// Adds a device.
pub(super) fn create(tx: &Tx<'_>, user: UserId, device: &NewDevice) -> Result<Device, Fault> {
    let (kind, name) = (device.kind.as_str(), device.name.as_str());
    tx.execute(CREATE, &[&device.id.0, &user.0, &kind, &name, &tx.micros()])?;
    Ok(Device { id: device.id, kind: device.kind, name: device.name.clone(), created_at: tx.now() })
}

/// Adds a device unless it is there: the same call, repeated after a lost answer, finds what it did.
fn create_by_id(tx: &Tx<'_>, user: UserId, device: &NewDevice) -> Result<Device, Fault> {
    let there = tx.row(DEVICE, &[&device.id.0], |row| Ok((UserId(row.value("user_id")?), read(row)?)))?;
    match there {
        None => create(tx, user, device),
        Some((owner, there)) if owner == user => Ok(there),
        Some(_) => Err(Refusal::Conflict("this device id is in use").into()),
    }
}

fn create_once(tx: &Tx<'_>, user: UserId, device: &NewDevice, key: &str) -> Result<Device, Fault> {
    if tx.execute(CLAIM_KEY, &[&user.0, &key, &device.id.0, &tx.micros()])? > 0 {
        return create(tx, user, device);
    }
    let created =
        tx.row(CREATED, &[&user.0, &key], |row| Ok((row.text("subject")? == "device", read_optional(row)?)))?;
    match created {
        Some((true, Some(device))) => Ok(device),
        Some((true, None)) => Err(Refusal::NotFound("device").into()),
        Some((false, _)) => Err(Refusal::NonceReused.into()),
        None => Err(Fault::internal("an idempotency key is there and is not")),
    }
}

fn take(tx: &Tx<'_>, attempt: &TakeSlot) -> Result<SlotOutcome, Fault> {
    let device = tx.row(DEVICE, &[&attempt.device.0], |row| {
        Ok((UserId(row.value("user_id")?), row.named::<DeviceKind>("kind")?))
    })?;
    let Some((_, kind)) = device.filter(|(owner, _)| *owner == attempt.user) else {
        return Ok(SlotOutcome::UnknownDevice);
    };
    let (device, user, connection) = (attempt.device.0, attempt.user.0, attempt.connection.0);
    let (session, node) = (attempt.session.0, attempt.node.0);
    let held = |row: &Row<'_>| Ok((SlotSessionId(row.value("session_id")?), row.count("epoch")?));
    let taken = match attempt.resumes {
        None => tx.row(TAKE, &[&device, &user, &connection, &session, &node, &tx.micros()], held)?,
        Some(SlotSessionId(resumes)) => {
            tx.row(RESUME, &[&device, &connection, &session, &node, &resumes, &tx.micros()], held)?
        }
    };
    Ok(match taken {
        None => SlotOutcome::NotResumable,
        Some((session, epoch)) => SlotOutcome::Taken(Slot { session, device: attempt.device, kind, epoch }),
    })
}

fn read(row: &Row<'_>) -> Result<Device, Fault> {
    Ok(Device {
        id: DeviceId(row.value("id")?),
        kind: row.named("kind")?,
        name: row.value("name")?,
        created_at: row.time("created_at")?,
    })
}

/// A device from an outer join.
pub(super) fn read_optional(row: &Row<'_>) -> Result<Option<Device>, Fault> {
    row.value::<Option<Uuid>>("id")?.map(|_| read(row)).transpose()
}
