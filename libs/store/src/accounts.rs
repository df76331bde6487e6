//! People.

use async_trait::async_trait;
use domain::{Role, User, UserId};
use jiff::Timestamp;

use crate::error::StoreError;
use crate::sessions::EndedSession;

/// A person to be created.
#[derive(Clone)]
pub struct NewUser {
    /// The id chosen by the caller, so that a repeated call can be told.
    pub id: UserId,
    /// The unique handle, already checked.
    pub handle: String,
    /// The name that people read.
    pub display_name: String,
    /// What they may do.
    pub role: Role,
    /// PHC string of the password.
    pub password_hash: String,
}

/// What a sign-in is checked against.
#[derive(Clone)]
pub struct Credentials {
    /// Who.
    pub user: User,
    /// PHC string of the password.
    pub password_hash: String,
    /// The account was disabled by an admin.
    pub disabled: bool,
    /// Locked until then, when that is still to come by the database's clock.
    pub locked_until: Option<Timestamp>,
}

/// People and their credentials.
#[async_trait]
pub trait Accounts {
    /// Creates a person and the stream that is their inbox.
    ///
    /// # Errors
    ///
    /// `HandleTaken` when another person, or an agent, has the handle.
    async fn create_user(&self, user: &NewUser) -> Result<User, StoreError>;

    /// What a sign-in with this handle is checked against.
    async fn credentials(&self, handle: &str) -> Result<Option<Credentials>, StoreError>;

    /// Counts a failed sign-in; at `threshold` failures in a row locks the account for `lock_for` and
    /// begins to count anew. Answers until when it is locked, if it is.
    async fn record_login_failure(
        &self,
        user: UserId,
        threshold: u32,
        lock_for: std::time::Duration,
    ) -> Result<Option<Timestamp>, StoreError>;

    /// Forgets the failed sign-ins.
    async fn record_login_success(&self, user: UserId) -> Result<(), StoreError>;

    /// Replaces the hash of a password while it still is `old`, and answers whether it did: somebody who
    /// set another password meanwhile wins. A call that is repeated after a lost answer says no.
    async fn set_password_hash(&self, user: UserId, old: &str, new: &str) -> Result<bool, StoreError>;

    /// A person by id.
    async fn user(&self, id: UserId) -> Result<Option<User>, StoreError>;

    /// People whose handle or display name begins with `query` (case is ignored), by id after `after`,
    /// at most `limit`. Disabled people are not found.
    async fn users(&self, query: &str, after: Option<UserId>, limit: u32) -> Result<Vec<User>, StoreError>;

    /// Disables or enables a person. Disabling ends all their sign-ins, each of which is given back.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is no such person.
    async fn set_user_disabled(&self, id: UserId, disabled: bool) -> Result<Vec<EndedSession>, StoreError>;
}
