//! People: the [`Accounts`] of PostgreSQL.

use std::time::Duration;

use async_trait::async_trait;
use domain::{User, UserId};
use jiff::Timestamp;
use tokio_postgres::Row;

use crate::accounts::{Accounts, Credentials, NewUser};
use crate::error::{Refusal, StoreError};
use crate::postgres::interval::micros;
use crate::postgres::row::Columns;
use crate::postgres::sessions::{END_ALL, revoked};
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::{Postgres, repeated};
use crate::sessions::EndedSession;

statements! {
    CREATE = "accounts/create";
    USER = "accounts/user";
    CREDENTIALS = "accounts/credentials";
    COUNT_FAILURE = "accounts/count_failure";
    FORGET_FAILURES = "accounts/forget_failures";
    REHASH = "accounts/rehash";
    SEARCH = "accounts/search";
    DISABLE = "accounts/disable";
    ENABLE = "accounts/enable";
}

#[async_trait]
impl Accounts for Postgres {
    async fn create_user(&self, user: &NewUser) -> Result<User, StoreError> {
        let params: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&user.id.0, &user.handle, &user.display_name, &user.role.as_str(), &user.password_hash];
        if let Some(row) = self.row(CREATE, &params).await? {
            return Ok(read(&row)?);
        }
        // The id is there when the call was repeated after a lost answer; else the handle is.
        match self.user(user.id).await? {
            Some(there) if there.handle == user.handle => Ok(there),
            _ => Err(Refusal::HandleTaken.into()),
        }
    }

    async fn credentials(&self, handle: &str) -> Result<Option<Credentials>, StoreError> {
        let Some(row) = self.row(CREDENTIALS, &[&handle]).await? else { return Ok(None) };
        Ok(Some(Credentials {
            user: read(&row)?,
            password_hash: row.value("password_hash")?,
            disabled: row.value("disabled")?,
            locked_until: row.value("locked_until")?,
        }))
    }

    async fn record_login_failure(
        &self,
        user: UserId,
        threshold: u32,
        lock_for: Duration,
    ) -> Result<Option<Timestamp>, StoreError> {
        let row = self.row(COUNT_FAILURE, &[&user.0, &i64::from(threshold), &micros(lock_for)]).await?;
        Ok(row.map(|row| row.value("locked_until")).transpose()?.flatten())
    }

    async fn record_login_success(&self, user: UserId) -> Result<(), StoreError> {
        self.rows(FORGET_FAILURES, &[&user.0]).await.map(drop)
    }

    async fn set_password_hash(&self, user: UserId, old: &str, new: &str) -> Result<bool, StoreError> {
        Ok(self.row(REHASH, &[&user.0, &old, &new]).await?.is_some())
    }

    async fn user(&self, id: UserId) -> Result<Option<User>, StoreError> {
        Ok(self.row(USER, &[&id.0]).await?.as_ref().map(read).transpose()?)
    }

    async fn users(&self, query: &str, after: Option<UserId>, limit: u32) -> Result<Vec<User>, StoreError> {
        let rows =
            self.rows(SEARCH, &[&beginning_with(query), &after.map(UserId::uuid), &i64::from(limit)]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn set_user_disabled(&self, id: UserId, disabled: bool) -> Result<Vec<EndedSession>, StoreError> {
        if disabled {
            return repeated!(self.disable(id));
        }
        match self.row(ENABLE, &[&id.0]).await? {
            Some(_) => Ok(Vec::new()),
            None => Err(Refusal::NotFound("user").into()),
        }
    }
}

impl Postgres {
    async fn disable(&self, user: UserId) -> Result<Vec<EndedSession>, Fault> {
        let session = self.session().await?;
        let (transaction, [person, ended]) =
            session.begin([(DISABLE, &[&user.0]), (END_ALL, &[&user.0])]).await?;
        if person.is_empty() {
            transaction.rollback().await;
            return Err(Refusal::NotFound("user").into());
        }
        let ended: Vec<uuid::Uuid> = ended.iter().map(|row| row.value("id")).collect::<Result<_, _>>()?;
        revoked(transaction, user, &ended).await
    }
}

fn read(row: &Row) -> Result<User, Fault> {
    Ok(User {
        id: UserId(row.value("id")?),
        handle: row.value("handle")?,
        display_name: row.value("display_name")?,
        role: row.named("role")?,
    })
}

/// A LIKE pattern for texts that begin with this one, whatever characters it has.
fn beginning_with(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        if matches!(character, '\\' | '%' | '_') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}
