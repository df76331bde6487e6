//! Deciding, hinting and pushing in SQLite.
//!
//! A claim moves the time of what it takes to the end of a lease, so a worker that dies needs nobody to find out.

use std::time::Duration;

use async_trait::async_trait;
use domain::{AuthSessionId, DeviceId, NodeId, NotificationId, UserId};
use rusqlite::Row;
use uuid::Uuid;

use crate::error::{Refusal, StoreError};
use crate::notifications::Notification;
use crate::push::{ClaimedDevice, Decided, FinishedDevice, Push, PushAddress, Subscription, Undecided};
use crate::sqlite::Sqlite;
use crate::sqlite::fault::Fault;
use crate::sqlite::notifications::notification;
use crate::sqlite::row::Columns;
use crate::sqlite::statement::statements;
use crate::sqlite::transaction::Tx;
use crate::sqlite::value::array;

mod claim;
mod decide;
mod finish;
mod subscribe;

statements! {
    MAY_NAME = "push/may_name";
    NAMED_BEFORE = "push/named_before";
    SUBSCRIBE = "push/subscribe";
    RENEW = "push/renew";
    REPLACE = "push/replace";
    OWN_DEVICE = "push/own_device";
    TELL_DROPPED = "push/tell_dropped";
    FORGET = "push/forget";
    SUBSCRIPTION = "push/subscription";
    REQUEST_TEST = "push/request_test";
    CLAIM_UNDECIDED = "push/claim_undecided";
    UNDECIDED = "push/undecided";
    NEXT_UNDECIDED = "push/next_undecided";
    HELD = "push/held";
    DEFER = "push/defer";
    LET_WAIT = "push/let_wait";
    UNQUEUE = "push/unqueue";
    NOTE_DECISION = "push/note_decision";
    DELIVER = "push/deliver";
    WAKE = "push/wake";
    TELL = "push/tell";
    RELEASE = "push/release";
    WAITING = "push/waiting";
    CLAIM_DEVICES = "push/claim_devices";
    CLAIMED = "push/claimed";
    HELD_DEVICE = "push/held_device";
    OVER = "push/over";
    TRIED = "push/tried";
    SETTLE_DEVICE = "push/settle_device";
    NEXT_PUSH = "push/next_push";
    HINTS = "push/hints";
    MISSED_HINTS = "push/missed_hints";
    NOTE_HINT = "push/note_hint";
}

#[async_trait]
impl Push for Sqlite {
    async fn subscribe(
        &self,
        user: UserId,
        sign_in: AuthSessionId,
        device: DeviceId,
        address: &PushAddress,
    ) -> Result<(), StoreError> {
        let address = address.clone();
        self.write(move |tx| subscribe::subscribe(tx, user, sign_in, device, &address)).await
    }

    async fn unsubscribe(&self, user: UserId, device: DeviceId) -> Result<(), StoreError> {
        self.write(move |tx| subscribe::unsubscribe(tx, user, device)).await
    }

    async fn subscription(&self, user: UserId, device: DeviceId) -> Result<Option<Subscription>, StoreError> {
        self.read(move |tx| subscribe::subscription(tx, user, device)).await
    }

    async fn request_test(&self, user: UserId, device: DeviceId) -> Result<(), StoreError> {
        self.write(move |tx| match tx.execute(REQUEST_TEST, &[&device.0, &user.0, &tx.micros()])? {
            0 => Err(Refusal::NotFound("push subscription").into()),
            _ => Ok(()),
        })
        .await
    }

    async fn claim_undecided(
        &self,
        claim: Uuid,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<Undecided>, StoreError> {
        self.write(move |tx| claim::claim_undecided(tx, claim, lease, limit)).await
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
        let decided = decided.to_vec();
        self.write(move |tx| decide::decide(tx, claim, node, &decided)).await
    }

    async fn next_undecided(&self) -> Result<Option<Duration>, StoreError> {
        self.read(|tx| tx.row(NEXT_UNDECIDED, &[], |row| until(tx, row))).await
    }

    async fn release(&self, people: &[UserId]) -> Result<u64, StoreError> {
        let people = people.to_vec();
        let released = self
            .write(move |tx| tx.execute(RELEASE, &[&array(people.iter().map(|user| user.0)), &tx.micros()]));
        Ok(released.await? as u64)
    }

    async fn people_waiting(&self, after: Option<UserId>, limit: u32) -> Result<Vec<UserId>, StoreError> {
        let after = after.map_or(Uuid::nil(), Uuid::from);
        self.read(move |tx| tx.rows(WAITING, &[&after, &limit], |row| row.value("user_id").map(UserId))).await
    }

    async fn claim_pushes(
        &self,
        claim: Uuid,
        lease: Duration,
        devices: u32,
        together: u32,
    ) -> Result<Vec<ClaimedDevice>, StoreError> {
        self.write(move |tx| claim::claim_devices(tx, claim, lease, devices, together)).await
    }

    async fn finish_pushes(
        &self,
        node: NodeId,
        finished: &[FinishedDevice],
    ) -> Result<Vec<DeviceId>, StoreError> {
        if finished.is_empty() {
            return Ok(Vec::new());
        }
        let finished = finished.to_vec();
        self.write(move |tx| finish::finish(tx, node, &finished)).await
    }

    async fn next_push(&self) -> Result<Option<Duration>, StoreError> {
        self.read(|tx| tx.row(NEXT_PUSH, &[], |row| until(tx, row))).await
    }

    async fn hints(&self, notifications: &[NotificationId]) -> Result<Vec<Notification>, StoreError> {
        let ids = notifications.to_vec();
        self.read(move |tx| tx.rows(HINTS, &[&array(ids.iter().map(|id| id.0))], notification)).await
    }

    async fn missed_hints(
        &self,
        since: Duration,
        limit: u32,
    ) -> Result<Vec<(NotificationId, UserId)>, StoreError> {
        let missed = |row: &Row<'_>| Ok((NotificationId(row.value("id")?), UserId(row.value("user_id")?)));
        self.read(move |tx| tx.rows(MISSED_HINTS, &[&tx.before(since), &limit], missed)).await
    }

    async fn note_hints(
        &self,
        node: NodeId,
        hints: &[(NotificationId, Uuid)],
    ) -> Result<Vec<(NotificationId, Uuid)>, StoreError> {
        if hints.is_empty() {
            return Ok(Vec::new());
        }
        let hints = hints.to_vec();
        self.write(move |tx| {
            let mut noted = Vec::with_capacity(hints.len());
            for (id, device) in hints {
                if tx.execute(NOTE_HINT, &[&id.0, &device, &node.0, &tx.micros()])? > 0 {
                    noted.push((id, device));
                }
            }
            Ok(noted)
        })
        .await
    }
}

/// How long until a row is due.
fn until(tx: &Tx<'_>, row: &Row<'_>) -> Result<Duration, Fault> {
    let left = row.value::<i64>("due_at")?.saturating_sub(tx.micros());
    Ok(Duration::from_micros(u64::try_from(left).unwrap_or(0)))
}

/// Where pushes go, from the columns of `push_subscriptions`.
fn address(row: &Row<'_>) -> Result<PushAddress, Fault> {
    let address: String = row.value("address")?;
    Ok(match (row.value("p256dh")?, row.value("auth")?) {
        (Some(p256dh), Some(auth)) => PushAddress::WebPush { endpoint: address, p256dh, auth },
        _ => PushAddress::Webhook { token: address },
    })
}

fn failures(row: &Row<'_>) -> Result<u32, Fault> {
    let failures = row.count("failures")?;
    u32::try_from(failures).map_err(|_| Fault::internal(format!("{failures} failures of a device")))
}

/// Tells a step of a notification, unless it is gone: `step`, why, by which node, at which device, and what else is to be said.
fn tell(
    tx: &Tx<'_>,
    notification: NotificationId,
    (step, reason): (&str, Option<&str>),
    node: NodeId,
    device: Option<DeviceId>,
    detail: Option<&str>,
) -> Result<(), Fault> {
    let device = device.map(Uuid::from);
    tx.execute(TELL, &[&notification.0, &tx.micros(), &step, &reason, &node.0, &device, &detail]).map(drop)
}
