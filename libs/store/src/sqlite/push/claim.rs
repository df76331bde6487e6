//! Claiming notifications that are to be decided, and devices that a push waits for.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::notification::Reason;
use domain::{DeviceId, NotificationId, UserId};
use rusqlite::Row;
use uuid::Uuid;

use super::{CLAIM_DEVICES, CLAIM_UNDECIDED, CLAIMED, UNDECIDED, address, failures};
use crate::notifications::Notification;
use crate::push::{ClaimedDevice, Undecided};
use crate::sqlite::fault::Fault;
use crate::sqlite::notifications::{notification, preferences, unread};
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;
use crate::sqlite::value::array;

pub(super) fn claim_undecided(
    tx: &Tx<'_>,
    claim: Uuid,
    lease: Duration,
    limit: u32,
) -> Result<Vec<Undecided>, Fault> {
    let push_at: HashMap<NotificationId, Option<i64>> = tx
        .rows(CLAIM_UNDECIDED, &[&claim, &tx.after(lease), &tx.micros(), &limit], |row| {
            Ok((NotificationId(row.value("notification_id")?), row.value("push_at")?))
        })?
        .into_iter()
        .collect();
    if push_at.is_empty() {
        return Ok(Vec::new());
    }
    tx.rows(UNDECIDED, &[&array(push_at.keys().map(|id| id.0))], notification)?
        .into_iter()
        .map(|notification| {
            let push_at = push_at.get(&notification.id).copied().flatten();
            Ok(Undecided {
                preferences: preferences(tx, notification.user)?,
                waited: push_at.is_some(),
                delay_over: push_at.is_some_and(|due| due <= tx.micros()),
                now: tx.now(),
                notification,
            })
        })
        .collect()
}

pub(super) fn claim_devices(
    tx: &Tx<'_>,
    claim: Uuid,
    lease: Duration,
    devices: u32,
    together: u32,
) -> Result<Vec<ClaimedDevice>, Fault> {
    let mut claimed = tx.rows(CLAIM_DEVICES, &[&claim, &tx.after(lease), &tx.micros(), &devices], |row| {
        Ok((UserId(row.value("user_id")?), device(tx, row)?))
    })?;
    claimed.sort_unstable_by_key(|(_, claimed)| claimed.device);
    claimed.into_iter().map(|(user, claimed)| with_push(tx, user, claimed, together)).collect()
}

fn device(tx: &Tx<'_>, row: &Row<'_>) -> Result<ClaimedDevice, Fault> {
    Ok(ClaimedDevice {
        device: DeviceId(row.value("device_id")?),
        address: address(row)?,
        failures: failures(row)?,
        is_test: row.value("is_test")?,
        preferences: domain::notification::Preferences::default(),
        now: tx.now(),
        unread: 0,
        trace: None,
        waiting: Vec::new(),
    })
}

/// A device with what waits for it of the room that waits longest, as it stands now: one push.
fn with_push(
    tx: &Tx<'_>,
    user: UserId,
    mut claimed: ClaimedDevice,
    together: u32,
) -> Result<ClaimedDevice, Fault> {
    claimed.preferences = preferences(tx, user)?;
    claimed.unread = unread(tx, user)?.total;
    for (notification, why, trace) in tx.rows(CLAIMED, &[&claimed.device.0, &together], waiting)? {
        claimed.waiting.push((notification, why));
        claimed.trace = trace.or_else(|| claimed.trace.take());
    }
    Ok(claimed)
}

fn waiting(row: &Row<'_>) -> Result<(Notification, Reason, Option<Arc<str>>), Fault> {
    let why = row.text("why")?.parse().unwrap_or(Reason::PushOffline);
    Ok((notification(row)?, why, row.value("trace")?))
}
