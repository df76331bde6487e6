//! Claiming devices.

use std::sync::Arc;
use std::time::Duration;

use domain::DeviceId;
use domain::notification::Reason;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{CLAIM_DEVICES, CLAIMED, address};
use crate::postgres::Postgres;
use crate::postgres::interval::micros;
use crate::postgres::notifications::{notification, preferences};
use crate::postgres::queue::number;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::push::ClaimedDevice;

impl Postgres {
    pub(super) async fn try_claim(
        &self,
        claim: Uuid,
        lease: Duration,
        devices: u32,
        together: u32,
    ) -> Result<Vec<ClaimedDevice>, Fault> {
        let (lease, devices, together) = (micros(lease), i64::from(devices), i64::from(together));
        let session = self.session().await?;
        let (transaction, [taken]) = session.begin([(CLAIM_DEVICES, &[&claim, &lease, &devices])]).await?;
        if taken.is_empty() {
            transaction.rollback().await;
            return Ok(Vec::new());
        }
        let taken = taken.iter().map(|row| row.value("device_id")).collect::<Result<Vec<Uuid>, Fault>>();
        let (transaction, taken) = transaction.decided(taken).await?;
        let [rows] = transaction.commit([(CLAIMED, &[&taken, &together])]).await?;
        claimed(&rows)
    }
}

/// The devices, each with the rows that follow on it.
fn claimed(rows: &[Row]) -> Result<Vec<ClaimedDevice>, Fault> {
    let mut devices: Vec<ClaimedDevice> = Vec::new();
    for row in rows {
        let device = DeviceId(row.value("to_device")?);
        if devices.last().is_none_or(|last| last.device != device) {
            devices.push(ClaimedDevice {
                device,
                address: address(row)?,
                failures: number(row, "failures")?,
                is_test: row.value("is_test")?,
                preferences: preferences(row.value("preferences")?)?,
                now: row.value("now")?,
                unread: row.count("unread")?,
                trace: None,
                waiting: Vec::new(),
            });
        }
        if let (Some(why), Some(last)) = (row.value::<Option<&str>>("why")?, devices.last_mut()) {
            let why = why.parse().unwrap_or(Reason::PushOffline);
            last.waiting.push((notification(row)?, why));
            last.trace = row.value::<Option<&str>>("trace")?.map(Arc::from).or_else(|| last.trace.take());
        }
    }
    Ok(devices)
}
