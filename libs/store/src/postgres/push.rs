//! Deciding, hinting and pushing in PostgreSQL.
//!
//! Claims skip what others have locked and move its time to the end of a lease, so a worker that dies needs nobody to find out. Locks of
//! subscriptions are taken in the order of devices.

use std::time::Duration;

use async_trait::async_trait;
use domain::{AuthSessionId, DeviceId, NodeId, NotificationId, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Refusal, StoreError};
use crate::notifications::Notification;
use crate::postgres::interval::micros;
use crate::postgres::notifications::{notification, preferences};
use crate::postgres::queue::number;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::transaction::Params;
use crate::postgres::{Postgres, repeated};
use crate::push::{ClaimedDevice, Decided, FinishedDevice, Push, PushAddress, Subscription, Undecided};

mod claim;
mod decide;
mod finish;

statements! {
    SUBSCRIBE = "push/subscribe";
    UNSUBSCRIBE = "push/unsubscribe";
    SUBSCRIPTION = "push/subscription";
    REQUEST_TEST = "push/request_test";
    CLAIM_UNDECIDED = "push/claim_undecided";
    NEXT_UNDECIDED = "push/next_undecided";
    DECIDE = "push/decide";
    RELEASE = "push/release";
    WAITING = "push/waiting";
    CLAIM_DEVICES = "push/claim_devices";
    CLAIMED = "push/claimed";
    LOCK_DEVICES = "push/lock_devices";
    FINISH = "push/finish";
    SETTLE_DEVICES = "push/settle_devices";
    DROP_DEVICES = "push/drop_devices";
    NEXT_PUSH = "push/next_push";
    HINTS = "push/hints";
    MISSED_HINTS = "push/missed_hints";
    NOTE_HINTS = "push/note_hints";
}

const NO_DEVICE: Refusal = Refusal::NotFound("device");

#[async_trait]
impl Push for Postgres {
    async fn subscribe(
        &self,
        user: UserId,
        sign_in: AuthSessionId,
        device: DeviceId,
        address: &PushAddress,
    ) -> Result<(), StoreError> {
        let (driver, address, p256dh, auth) = match address {
            PushAddress::WebPush { endpoint, p256dh, auth } => {
                ("web_push", endpoint, Some(p256dh), Some(auth))
            }
            PushAddress::Webhook { token } => ("webhook", token, None, None),
        };
        let rows: Result<Vec<Row>, StoreError> = repeated!(async {
            let session = self.session().await?;
            let params: Params<'_> = &[&device.0, &user.0, &driver, &address, &p256dh, &auth, &sign_in.0];
            session.query(SUBSCRIBE, params).await
        });
        rows?.first().map(drop).ok_or_else(|| NO_DEVICE.into())
    }

    async fn unsubscribe(&self, user: UserId, device: DeviceId) -> Result<(), StoreError> {
        self.row(UNSUBSCRIBE, &[&device.0, &user.0]).await?.map(drop).ok_or_else(|| NO_DEVICE.into())
    }

    async fn subscription(&self, user: UserId, device: DeviceId) -> Result<Option<Subscription>, StoreError> {
        let row = self.row(SUBSCRIPTION, &[&device.0, &user.0]).await?;
        Ok(row.as_ref().map(subscription).transpose()?)
    }

    async fn request_test(&self, user: UserId, device: DeviceId) -> Result<(), StoreError> {
        let row = self.row(REQUEST_TEST, &[&device.0, &user.0]).await?;
        row.map(drop).ok_or_else(|| Refusal::NotFound("push subscription").into())
    }

    async fn claim_undecided(
        &self,
        claim: Uuid,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<Undecided>, StoreError> {
        let rows = self.rows(CLAIM_UNDECIDED, &[&claim, &micros(lease), &i64::from(limit)]).await?;
        Ok(rows.iter().map(undecided).collect::<Result<_, Fault>>()?)
    }

    async fn decide(
        &self,
        claim: Uuid,
        node: NodeId,
        decided: &[Decided],
    ) -> Result<Vec<NotificationId>, StoreError> {
        if decided.is_empty() {
            return Ok(Vec::new());
        }
        let batch = decide::Batch::new(claim, node, decided);
        let rows: Result<Vec<Row>, StoreError> =
            repeated!(async { self.session().await?.query(DECIDE, &batch.params()).await });
        let held = rows?;
        Ok(held.iter().map(|row| row.value("id").map(NotificationId)).collect::<Result<_, Fault>>()?)
    }

    async fn next_undecided(&self) -> Result<Option<Duration>, StoreError> {
        Ok(self.row(NEXT_UNDECIDED, &[]).await?.as_ref().map(until).transpose()?)
    }

    async fn release(&self, people: &[UserId]) -> Result<u64, StoreError> {
        let people: Vec<Uuid> = people.iter().map(|user| user.0).collect();
        Ok(self.rows(RELEASE, &[&people]).await?.len() as u64)
    }

    async fn people_waiting(&self, after: Option<UserId>, limit: u32) -> Result<Vec<UserId>, StoreError> {
        let after = after.map_or(Uuid::nil(), Uuid::from);
        let rows = self.rows(WAITING, &[&after, &i64::from(limit)]).await?;
        Ok(rows.iter().map(|row| row.value("user_id").map(UserId)).collect::<Result<_, Fault>>()?)
    }

    async fn claim_pushes(
        &self,
        claim: Uuid,
        lease: Duration,
        devices: u32,
        together: u32,
    ) -> Result<Vec<ClaimedDevice>, StoreError> {
        repeated!(self.try_claim(claim, lease, devices, together))
    }

    async fn finish_pushes(
        &self,
        node: NodeId,
        finished: &[FinishedDevice],
    ) -> Result<Vec<DeviceId>, StoreError> {
        repeated!(self.try_finish_pushes(node, finished))
    }

    async fn next_push(&self) -> Result<Option<Duration>, StoreError> {
        Ok(self.row(NEXT_PUSH, &[]).await?.as_ref().map(until).transpose()?)
    }

    async fn hints(&self, notifications: &[NotificationId]) -> Result<Vec<Notification>, StoreError> {
        let ids: Vec<Uuid> = notifications.iter().map(|id| id.0).collect();
        let rows = self.rows(HINTS, &[&ids]).await?;
        Ok(rows.iter().map(notification).collect::<Result<_, Fault>>()?)
    }

    async fn missed_hints(
        &self,
        since: Duration,
        limit: u32,
    ) -> Result<Vec<(NotificationId, UserId)>, StoreError> {
        let rows = self.rows(MISSED_HINTS, &[&micros(since), &i64::from(limit)]).await?;
        let missed = |row: &Row| Ok((NotificationId(row.value("id")?), UserId(row.value("user_id")?)));
        Ok(rows.iter().map(missed).collect::<Result<_, Fault>>()?)
    }

    async fn note_hints(
        &self,
        node: NodeId,
        hints: &[(NotificationId, Uuid)],
    ) -> Result<Vec<(NotificationId, Uuid)>, StoreError> {
        let (ids, devices): (Vec<Uuid>, Vec<Uuid>) = hints.iter().map(|(id, device)| (id.0, *device)).unzip();
        let rows = self.rows(NOTE_HINTS, &[&ids, &devices, &node.0]).await?;
        let noted = |row: &Row| Ok((NotificationId(row.value("notification_id")?), row.value("device_id")?));
        Ok(rows.iter().map(noted).collect::<Result<_, Fault>>()?)
    }
}

fn until(row: &Row) -> Result<Duration, Fault> {
    let seconds: f64 = row.value("seconds")?;
    Ok(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX))
}

fn address(row: &Row) -> Result<PushAddress, Fault> {
    let address: String = row.value("address")?;
    Ok(match (row.value("p256dh")?, row.value("auth")?) {
        (Some(p256dh), Some(auth)) => PushAddress::WebPush { endpoint: address, p256dh, auth },
        _ => PushAddress::Webhook { token: address },
    })
}

fn subscription(row: &Row) -> Result<Subscription, Fault> {
    let last: (Option<_>, Option<_>) = (row.value("last_at")?, row.value("last_result")?);
    Ok(Subscription {
        device: DeviceId(row.value("device_id")?),
        address: address(row)?,
        created_at: row.value("created_at")?,
        failures: number(row, "failures")?,
        last: last.0.zip(last.1),
    })
}

fn undecided(row: &Row) -> Result<Undecided, Fault> {
    Ok(Undecided {
        notification: notification(row)?,
        preferences: preferences(row.value("preferences")?)?,
        waited: row.value("waited")?,
        delay_over: row.value("delay_over")?,
        now: row.value("now")?,
    })
}
