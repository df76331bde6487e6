//! Where pushes to a device go.

use domain::{AuthSessionId, DeviceId, NodeId, UserId};
use uuid::Uuid;

use super::{
    FORGET, MAY_NAME, NAMED_BEFORE, OWN_DEVICE, RENEW, REPLACE, SUBSCRIBE, SUBSCRIPTION, TELL_DROPPED,
    address, failures,
};
use crate::error::Refusal;
use crate::push::{PushAddress, Subscription};
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;
use crate::sqlite::value::array;

const NO_DEVICE: Refusal = Refusal::NotFound("device");

pub(super) fn subscribe(
    tx: &Tx<'_>,
    user: UserId,
    sign_in: AuthSessionId,
    device: DeviceId,
    wanted: &PushAddress,
) -> Result<(), Fault> {
    if !tx.exists(MAY_NAME, &[&device.0, &user.0, &sign_in.0])? {
        return Err(NO_DEVICE.into());
    }
    let (driver, text, p256dh, auth) = match wanted {
        PushAddress::WebPush { endpoint, p256dh, auth } => ("web_push", endpoint, Some(p256dh), Some(auth)),
        PushAddress::Webhook { token } => ("webhook", token, None, None),
    };
    // The address is this device's from now on; what waits at the one that it was is dropped.
    let before = tx.rows(NAMED_BEFORE, &[&text, &device.0], |row| row.value("device_id").map(DeviceId))?;
    forget(tx, &before, "unsubscribed", None)?;
    match subscription(tx, user, device)? {
        None => tx.execute(
            SUBSCRIBE,
            &[&device.0, &user.0, &driver, &text, &p256dh, &auth, &sign_in.0, &tx.micros()],
        )?,
        // Nothing else changes, or a push that is under way would come twice.
        Some(known) if known.address == *wanted => tx.execute(RENEW, &[&device.0, &sign_in.0])?,
        Some(_) => {
            tx.execute(REPLACE, &[&device.0, &driver, &text, &p256dh, &auth, &sign_in.0, &tx.micros()])?
        }
    };
    Ok(())
}

pub(super) fn unsubscribe(tx: &Tx<'_>, user: UserId, device: DeviceId) -> Result<(), Fault> {
    if !tx.exists(OWN_DEVICE, &[&device.0, &user.0])? {
        return Err(NO_DEVICE.into());
    }
    forget(tx, &[device], "unsubscribed", None)
}

/// Forgets subscriptions, and drops what waits for them, which is told.
pub(super) fn forget(
    tx: &Tx<'_>,
    devices: &[DeviceId],
    reason: &str,
    node: Option<NodeId>,
) -> Result<(), Fault> {
    if devices.is_empty() {
        return Ok(());
    }
    let devices = array(devices.iter().map(|device| device.0));
    tx.execute(TELL_DROPPED, &[&devices, &reason, &node.map(Uuid::from), &tx.micros()])?;
    tx.execute(FORGET, &[&devices]).map(drop)
}

pub(super) fn subscription(
    tx: &Tx<'_>,
    user: UserId,
    device: DeviceId,
) -> Result<Option<Subscription>, Fault> {
    tx.row(SUBSCRIPTION, &[&device.0, &user.0], |row| {
        let last = row.time_if_any("last_at")?.zip(row.value("last_result")?);
        Ok(Subscription {
            device,
            address: address(row)?,
            created_at: row.time("created_at")?,
            failures: failures(row)?,
            last,
        })
    })
}
