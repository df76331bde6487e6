//! Devices and slots: the [`Devices`] of PostgreSQL.

use async_trait::async_trait;
use domain::{AuthSessionId, Device, DeviceId, SlotSessionId, UserId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::devices::{Devices, IdempotencyKey, NewDevice, Slot, SlotOutcome, Standing, TakeSlot};
use crate::error::{Refusal, StoreError};
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::{Postgres, repeated};

statements! {
    CREATE = "devices/create";
    CREATE_ONCE = "devices/create_once";
    CREATED = "devices/created";
    DEVICE = "devices/device";
    LIST = "devices/list";
    LOCK = "devices/lock";
    DELETE = "devices/delete";
    TAKE = "devices/take";
    RESUME = "devices/resume";
    SLOT_DEVICE = "devices/slot_device";
    SLOT_EPOCHS = "devices/slot_epochs";
    STANDING = "devices/standing";
}

#[async_trait]
impl Devices for Postgres {
    async fn create_device(
        &self,
        user: UserId,
        device: &NewDevice,
        key: Option<&IdempotencyKey>,
    ) -> Result<Device, StoreError> {
        match key {
            Some(key) => repeated!(self.create_once(user, device, key)),
            None => self.create(user, device).await,
        }
    }

    async fn devices(
        &self,
        user: UserId,
        after: Option<DeviceId>,
        limit: u32,
    ) -> Result<Vec<Device>, StoreError> {
        let rows = self.rows(LIST, &[&user.0, &after.map(DeviceId::uuid), &i64::from(limit)]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn delete_device(&self, user: UserId, device: DeviceId) -> Result<u64, StoreError> {
        repeated!(async {
            let session = self.session().await?;
            let params: [&(dyn ToSql + Sync); 2] = [&user.0, &device.0];
            let [_, deleted] = session.transact([(LOCK, &params), (DELETE, &params)]).await?;
            deleted.first().ok_or(Refusal::NotFound("device"))?.count("epoch")
        })
    }

    async fn take_slot(&self, attempt: &TakeSlot) -> Result<SlotOutcome, StoreError> {
        let (device, user, connection) = (attempt.device.0, attempt.user.0, attempt.connection.0);
        let (session, node) = (attempt.session.0, attempt.node.0);
        let taken = match attempt.resumes {
            None => self.row(TAKE, &[&device, &user, &connection, &session, &node]).await?,
            Some(SlotSessionId(resumes)) => {
                self.row(RESUME, &[&device, &user, &connection, &session, &node, &resumes]).await?
            }
        };
        let Some(row) = taken else { return Ok(SlotOutcome::UnknownDevice) };
        let Some(session) = row.value::<Option<Uuid>>("session_id")? else {
            return Ok(SlotOutcome::NotResumable);
        };
        Ok(SlotOutcome::Taken(Slot {
            session: SlotSessionId(session),
            device: attempt.device,
            kind: row.named("kind")?,
            epoch: row.count("epoch")?,
        }))
    }

    async fn slot_device(
        &self,
        user: UserId,
        session: SlotSessionId,
    ) -> Result<Option<DeviceId>, StoreError> {
        let row = self.row(SLOT_DEVICE, &[&user.0, &session.0]).await?;
        Ok(row.map(|row| row.value("device_id").map(DeviceId)).transpose()?)
    }

    async fn slot_epochs(&self, devices: &[DeviceId]) -> Result<Vec<(DeviceId, u64)>, StoreError> {
        if devices.is_empty() {
            return Ok(Vec::new());
        }
        let asked: Vec<Uuid> = devices.iter().map(|device| device.0).collect();
        let rows = self.rows(SLOT_EPOCHS, &[&asked]).await?;
        Ok(rows
            .iter()
            .map(|row| Ok((DeviceId(row.value("device_id")?), row.count("epoch")?)))
            .collect::<Result<_, Fault>>()?)
    }

    async fn standing(
        &self,
        sign_in: AuthSessionId,
        slot: Option<SlotSessionId>,
    ) -> Result<Standing, StoreError> {
        let row = self.row(STANDING, &[&sign_in.0, &slot.map(SlotSessionId::uuid)]).await?;
        let row = row.ok_or_else(|| StoreError::Internal("no answer about a connection".into()))?;
        Ok(match (row.value("signed_in")?, row.value("holds_slot")?) {
            (false, _) => Standing::SignedOut,
            (true, false) => Standing::Replaced,
            (true, true) => Standing::Good,
        })
    }
}

impl Postgres {
    async fn create(&self, user: UserId, device: &NewDevice) -> Result<Device, StoreError> {
        let (kind, name) = (device.kind.as_str(), device.name.as_str());
        if let Some(row) = self.row(CREATE, &[&device.id.0, &user.0, &kind, &name]).await? {
            return Ok(read(&row)?);
        }
        // The same call, repeated after a lost answer, finds what it did.
        match self.row(DEVICE, &[&user.0, &device.id.0]).await? {
            Some(row) => Ok(read(&row)?),
            None => Err(Refusal::Conflict("this device id is in use").into()),
        }
    }

    async fn create_once(
        &self,
        user: UserId,
        device: &NewDevice,
        key: &IdempotencyKey,
    ) -> Result<Device, Fault> {
        let (kind, name) = (device.kind.as_str(), device.name.as_str());
        if let Some(row) = self.row(CREATE_ONCE, &[&device.id.0, &user.0, &kind, &name, key]).await? {
            return read(&row);
        }
        let Some(row) = self.row(CREATED, &[&user.0, key]).await? else {
            return Err(Fault::Contended("an idempotency key was removed meanwhile".into()));
        };
        if row.value::<&str>("subject")? != "device" {
            return Err(Refusal::NonceReused.into());
        }
        read_optional(&row)?.ok_or_else(|| Refusal::NotFound("device").into())
    }
}

fn read(row: &Row) -> Result<Device, Fault> {
    Ok(Device {
        id: DeviceId(row.value("id")?),
        kind: row.named("kind")?,
        name: row.value("name")?,
        created_at: row.value("created_at")?,
    })
}

/// A device from an outer join.
pub(super) fn read_optional(row: &Row) -> Result<Option<Device>, Fault> {
    row.value::<Option<Uuid>>("id")?.map(|_| read(row)).transpose()
}
