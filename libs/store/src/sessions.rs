//! Sign-ins: families of refresh tokens.
//!
//! ```text
//!            open                rotate (newest token)
//!  (none) ---------> live ------------------------------> live
//!                     |   \
//!        end / disable|    \ rotate (a token that was used before)
//!                     v     v
//!                    ended (every token of the family is refused)
//! ```

use std::time::Duration;

use async_trait::async_trait;
use domain::{AuthSessionId, Device, DeviceId, Event, UserId};
use jiff::Timestamp;

use crate::devices::NewDevice;
use crate::error::StoreError;

/// SHA-256 of a secret (refresh token, ticket): secrets themselves are never stored.
pub type SecretHash = [u8; 32];

/// A sign-in to be opened.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Id of the family.
    pub id: AuthSessionId,
    /// Who signed in.
    pub user: UserId,
    /// A device to be created with it.
    pub device: Option<NewDevice>,
    /// The first refresh token.
    pub refresh: SecretHash,
    /// How long a refresh token may wait to be used.
    pub refresh_ttl: Duration,
}

/// What came of handing in a refresh token.
#[derive(Debug, Clone)]
pub enum Rotation {
    /// The old token is used up, the new one stands.
    Rotated {
        /// The family.
        session: AuthSessionId,
        /// Who.
        user: UserId,
        /// The device it was opened with.
        device: Option<DeviceId>,
    },
    /// The token was used before: the family was ended now (or had been).
    Reused(EndedSession),
    /// No such token, or it is past its time, or its family was ended, or the person is disabled.
    Refused,
}

/// A sign-in that was ended.
#[derive(Debug, Clone)]
pub struct EndedSession {
    /// The family.
    pub session: AuthSessionId,
    /// Whose.
    pub user: UserId,
    /// `session.revoked` in the person's stream; none when it had been ended before.
    pub event: Option<Event>,
}

/// Sign-ins and their refresh tokens.
#[async_trait]
pub trait Sessions {
    /// Opens a sign-in, with its first refresh token and, if given, its device, in one commit.
    ///
    /// # Errors
    ///
    /// `Forbidden` when the person is disabled, or the account locked, by now.
    async fn open_session(&self, session: &NewSession) -> Result<Option<Device>, StoreError>;

    /// Exchanges a refresh token for the next one. The guard stands in the write: of two calls with
    /// the same token at most one is `Rotated`.
    async fn rotate_refresh(
        &self,
        old: &SecretHash,
        new: &SecretHash,
        refresh_ttl: Duration,
    ) -> Result<Rotation, StoreError>;

    /// Ends a sign-in of `user`. Ending it again changes nothing.
    ///
    /// # Errors
    ///
    /// `NotFound` when this person has no such sign-in.
    async fn end_session(&self, user: UserId, session: AuthSessionId) -> Result<EndedSession, StoreError>;

    /// The sign-ins that were ended (or whose person was disabled) at or after `since` by the database's
    /// clock, and the clock's time to ask from next. Nodes keep them to refuse access tokens at once.
    async fn sessions_ended_since(
        &self,
        since: Option<Timestamp>,
    ) -> Result<(Vec<AuthSessionId>, Timestamp), StoreError>;

    /// Of these sign-ins, those that are no longer live (ended, unknown, or their person disabled).
    async fn not_live(&self, sessions: &[AuthSessionId]) -> Result<Vec<AuthSessionId>, StoreError>;
}
