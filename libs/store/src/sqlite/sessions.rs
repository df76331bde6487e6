//! Sign-ins: the [`Sessions`] of SQLite.

use std::time::Duration;

use async_trait::async_trait;
use domain::{AuthSessionId, Device, DeviceId, EventKind, UserId};
use jiff::Timestamp;
use rusqlite::ToSql;
use serde_json::json;
use uuid::Uuid;

use super::Sqlite;
use super::append::append;
use super::devices;
use super::fault::Fault;
use super::row::Columns;
use super::statement::statements;
use super::transaction::Tx;
use super::value::{NEVER, array};
use crate::error::{Refusal, StoreError};
use crate::log::draft::Draft;
use crate::sessions::{EndedSession, NewSession, Rotation, SecretHash, Sessions};

statements! {
    MAY_OPEN = "sessions/may_open";
    THERE = "sessions/there";
    OPEN = "sessions/open";
    OPENED = "sessions/opened";
    ADD_TOKEN = "sessions/add_token";
    FAMILY = "sessions/family";
    USE_TOKEN = "sessions/use_token";
    RENEW = "sessions/renew";
    REUSED = "sessions/reused";
    END = "sessions/end";
    FOUND = "sessions/found";
    TELL_DROPPED = "sessions/tell_dropped";
    UNSUBSCRIBE = "sessions/unsubscribe";
    END_ALL = "sessions/end_all";
    ENDED_SINCE = "sessions/ended_since";
    LIVE = "sessions/live";
}

/// How far back ends are told again. A transaction reads its time when it begins, and others begin to read before it is over: what is
/// written now may bear a time that somebody has asked beyond. No transaction lives as long as this.
const OVERLAP: Duration = Duration::from_secs(60);

#[async_trait]
impl Sessions for Sqlite {
    async fn open_session(&self, new: &NewSession) -> Result<Option<Device>, StoreError> {
        let new = new.clone();
        self.write(move |tx| open(tx, &new)).await
    }

    async fn rotate_refresh(
        &self,
        old: &SecretHash,
        new: &SecretHash,
        refresh_ttl: Duration,
    ) -> Result<Rotation, StoreError> {
        let (old, new) = (*old, *new);
        self.write(move |tx| rotate(tx, &old, &new, refresh_ttl)).await
    }

    async fn end_session(&self, user: UserId, session: AuthSessionId) -> Result<EndedSession, StoreError> {
        self.write(move |tx| end(tx, user, session)).await
    }

    async fn sessions_ended_since(
        &self,
        since: Option<Timestamp>,
    ) -> Result<(Vec<AuthSessionId>, Timestamp), StoreError> {
        self.read(move |tx| {
            let since = since.map_or(NEVER, Timestamp::as_microsecond);
            let ended = tx.rows(ENDED_SINCE, &[&since], |row| row.value("id").map(AuthSessionId))?;
            let next = Timestamp::from_microsecond(tx.before(OVERLAP))
                .map_err(|error| Fault::internal(format!("the time is beyond all calendars: {error}")))?;
            Ok((ended, next))
        })
        .await
    }

    async fn not_live(&self, sessions: &[AuthSessionId]) -> Result<Vec<AuthSessionId>, StoreError> {
        if sessions.is_empty() {
            return Ok(Vec::new());
        }
        let mut sessions = sessions.to_vec();
        self.read(move |tx| {
            let asked = array(sessions.iter().map(|session| session.0));
            let live: std::collections::HashSet<Uuid> =
                tx.rows(LIVE, &[&asked], |row| row.value("id"))?.into_iter().collect();
            sessions.retain(|session| !live.contains(&session.0));
            Ok(sessions)
        })
        .await
    }
}

fn open(tx: &Tx<'_>, new: &NewSession) -> Result<Option<Device>, Fault> {
    // The same call, repeated after a lost answer, finds what it did.
    let opened = tx.row(OPENED, &[&new.id.0, &new.user.0, &new.refresh], devices::read_optional)?;
    if let Some(device) = opened {
        return Ok(device);
    }
    if tx.exists(THERE, &[&new.id.0])? || !tx.exists(MAY_OPEN, &[&new.user.0, &tx.micros()])? {
        return Err(Refusal::Forbidden.into());
    }
    let device = new.device.as_ref().map(|device| devices::create(tx, new.user, device)).transpose()?;
    let expires = tx.after(new.refresh_ttl);
    let params: [&dyn ToSql; 5] =
        [&new.id.0, &new.user.0, &device.as_ref().map(|device| device.id.0), &tx.micros(), &expires];
    tx.execute(OPEN, &params)?;
    tx.execute(ADD_TOKEN, &[&new.refresh, &new.id.0, &expires])?;
    Ok(device)
}

fn rotate(tx: &Tx<'_>, old: &SecretHash, new: &SecretHash, ttl: Duration) -> Result<Rotation, Fault> {
    let family = tx.row(FAMILY, &[old, &tx.micros()], |row| {
        Ok((row.value("id")?, row.value("user_id")?, row.value::<Option<Uuid>>("device_id")?))
    })?;
    if let Some((session, user, device)) = family {
        let expires = tx.after(ttl);
        tx.execute(USE_TOKEN, &[old, &tx.micros()])?;
        tx.execute(RENEW, &[&session, &expires])?;
        tx.execute(ADD_TOKEN, &[new, &session, &expires])?;
        return Ok(Rotation::Rotated {
            session: AuthSessionId(session),
            user: UserId(user),
            device: device.map(DeviceId),
        });
    }
    let reused = tx.row(REUSED, &[old], |row| {
        Ok((UserId(row.value("user_id")?), AuthSessionId(row.value("session_id")?)))
    })?;
    match reused {
        Some((user, session)) => end(tx, user, session).map(Rotation::Reused),
        None => Ok(Rotation::Refused),
    }
}

/// Ends a sign-in. Nothing more is pushed where it subscribed: whoever uses that device next must not read their messages.
fn end(tx: &Tx<'_>, user: UserId, session: AuthSessionId) -> Result<EndedSession, Fault> {
    if tx.execute(END, &[&user.0, &session.0, &tx.micros()])? == 0 {
        return if tx.exists(FOUND, &[&user.0, &session.0])? {
            Ok(EndedSession { session, user, event: None })
        } else {
            Err(Refusal::NotFound("session").into())
        };
    }
    tx.execute(TELL_DROPPED, &[&session.0, &tx.micros()])?;
    tx.execute(UNSUBSCRIBE, &[&session.0])?;
    let ended = revoked(tx, user, &[session])?.pop();
    ended.ok_or_else(|| Fault::internal("a session ended without a word"))
}

/// Ends every live sign-in of a person who is being disabled. Where they subscribed stays: they may be enabled again.
pub(super) fn end_all(tx: &Tx<'_>, user: UserId) -> Result<Vec<EndedSession>, Fault> {
    let ended = tx.rows(END_ALL, &[&user.0, &tx.micros()], |row| row.value("id").map(AuthSessionId))?;
    revoked(tx, user, &ended)
}

/// Appends `session.revoked` to the person's stream for each ended sign-in.
fn revoked(tx: &Tx<'_>, user: UserId, ended: &[AuthSessionId]) -> Result<Vec<EndedSession>, Fault> {
    let drafts: Vec<Draft> = ended
        .iter()
        .map(|session| Draft::of_system(user, EventKind::SessionRevoked, &json!({ "session_id": session.0 })))
        .collect();
    let events = append(tx, &drafts)?;
    Ok(ended
        .iter()
        .zip(events)
        .map(|(session, event)| EndedSession { session: *session, user, event: Some(event) })
        .collect())
}
