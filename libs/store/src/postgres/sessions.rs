//! Sign-ins: the [`Sessions`] of PostgreSQL.
//!
//! Locks are taken in one order: the person (disabling, opening), then families, then tokens, then the person's
//! stream.

use std::time::Duration;

use async_trait::async_trait;
use domain::{AuthSessionId, Device, DeviceId, EventKind, UserId};
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use crate::error::{Refusal, StoreError};
use crate::postgres::append::{APPEND, Append, Draft};
use crate::postgres::devices;
use crate::postgres::interval::micros;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::transaction::Transaction;
use crate::postgres::{Postgres, repeated};
use crate::sessions::{EndedSession, NewSession, Rotation, SecretHash, Sessions};

statements! {
    OPEN = "sessions/open";
    OPENED = "sessions/opened";
    ROTATE = "sessions/rotate";
    REUSED = "sessions/reused";
    END = "sessions/end";
    END_ALL = "sessions/end_all";
    ENDED_SINCE = "sessions/ended_since";
    NOT_LIVE = "sessions/not_live";
}

#[async_trait]
impl Sessions for Postgres {
    async fn open_session(&self, new: &NewSession) -> Result<Option<Device>, StoreError> {
        let device = new.device.as_ref();
        let opened = self
            .row(
                OPEN,
                &[
                    &new.id.0,
                    &new.user.0,
                    &new.refresh.as_slice(),
                    &micros(new.refresh_ttl),
                    &device.map(|device| device.id.0),
                    &device.map(|device| device.kind.as_str()),
                    &device.map(|device| device.name.as_str()),
                ],
            )
            .await?;
        let row = match opened {
            Some(row) => row,
            // The same call, repeated after a lost answer, finds what it did.
            None => self
                .row(OPENED, &[&new.id.0, &new.user.0, &new.refresh.as_slice()])
                .await?
                .ok_or(Refusal::Forbidden)?,
        };
        Ok(devices::read_optional(&row)?)
    }

    async fn rotate_refresh(
        &self,
        old: &SecretHash,
        new: &SecretHash,
        refresh_ttl: Duration,
    ) -> Result<Rotation, StoreError> {
        let params: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&old.as_slice(), &new.as_slice(), &micros(refresh_ttl)];
        if let Some(row) = self.row(ROTATE, &params).await? {
            return Ok(Rotation::Rotated {
                session: AuthSessionId(row.value("session_id")?),
                user: UserId(row.value("user_id")?),
                device: row.value::<Option<Uuid>>("device_id")?.map(DeviceId),
            });
        }
        let Some(row) = self.row(REUSED, &[&old.as_slice()]).await? else { return Ok(Rotation::Refused) };
        let (user, session) = (UserId(row.value("user_id")?), AuthSessionId(row.value("session_id")?));
        Ok(Rotation::Reused(self.end_session(user, session).await?))
    }

    async fn end_session(&self, user: UserId, session: AuthSessionId) -> Result<EndedSession, StoreError> {
        repeated!(self.end(user, session))
    }

    async fn sessions_ended_since(
        &self,
        since: Option<Timestamp>,
    ) -> Result<(Vec<AuthSessionId>, Timestamp), StoreError> {
        let rows = self.rows(ENDED_SINCE, &[&since]).await?;
        let next = rows.first().ok_or_else(|| StoreError::Internal("no clock in the answer".into()))?;
        let next = next.value("next")?;
        let mut ended = Vec::with_capacity(rows.len());
        for row in &rows {
            ended.extend(row.value::<Option<Uuid>>("id")?.map(AuthSessionId));
        }
        Ok((ended, next))
    }

    async fn not_live(&self, sessions: &[AuthSessionId]) -> Result<Vec<AuthSessionId>, StoreError> {
        if sessions.is_empty() {
            return Ok(Vec::new());
        }
        let asked: Vec<Uuid> = sessions.iter().map(|session| session.0).collect();
        let rows = self.rows(NOT_LIVE, &[&asked]).await?;
        Ok(rows.iter().map(|row| row.value("id").map(AuthSessionId)).collect::<Result<_, _>>()?)
    }
}

impl Postgres {
    async fn end(&self, user: UserId, family: AuthSessionId) -> Result<EndedSession, Fault> {
        let session = self.session().await?;
        let (transaction, [rows]) = session.begin([(END, &[&user.0, &family.0])]).await?;
        let row = rows.first().ok_or_else(|| Fault::internal("no answer to the end of a session"))?;
        if row.value("ended")? {
            let mut ended = revoked(transaction, user, &[family.0]).await?;
            return ended.pop().ok_or_else(|| Fault::internal("a session ended without a word"));
        }
        transaction.rollback().await;
        if row.value("found")? {
            Ok(EndedSession { session: family, user, event: None })
        } else {
            Err(Refusal::NotFound("session").into())
        }
    }
}

/// Appends `session.revoked` to the person's stream for each ended sign-in, and commits.
pub(super) async fn revoked(
    transaction: Transaction<'_>,
    user: UserId,
    ended: &[Uuid],
) -> Result<Vec<EndedSession>, Fault> {
    let drafts: Vec<Draft> = ended
        .iter()
        .map(|session| Draft::of_system(user, EventKind::SessionRevoked, &json!({ "session_id": session })))
        .collect();
    let append = Append::new(&drafts);
    let [rows] = transaction.commit([(APPEND, &append.params())]).await?;
    let events = append.events(&rows)?;
    Ok(ended
        .iter()
        .zip(events)
        .map(|(session, event)| EndedSession { session: AuthSessionId(*session), user, event: Some(event) })
        .collect())
}
