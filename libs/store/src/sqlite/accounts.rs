//! People: the [`Accounts`] of SQLite.

use std::time::Duration;

use async_trait::async_trait;
use domain::{User, UserId};
use jiff::Timestamp;
use rusqlite::Row;
use rusqlite::types::Value;
use uuid::Uuid;

use super::Sqlite;
use super::fault::Fault;
use super::row::Columns;
use super::sessions::end_all;
use super::statement::statements;
use super::transaction::Tx;
use crate::accounts::{Accounts, Credentials, NewUser};
use crate::error::{Refusal, StoreError};
use crate::sessions::EndedSession;

statements! {
    RESERVE = "accounts/reserve";
    CREATE = "accounts/create";
    INBOX = "accounts/inbox";
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
impl Accounts for Sqlite {
    async fn create_user(&self, user: &NewUser) -> Result<User, StoreError> {
        let user = user.clone();
        self.write(move |tx| create(tx, &user)).await
    }

    async fn credentials(&self, handle: &str) -> Result<Option<Credentials>, StoreError> {
        let handle = handle.to_owned();
        self.read(move |tx| {
            tx.row(CREDENTIALS, &[&handle, &tx.micros()], |row| {
                Ok(Credentials {
                    user: read(row)?,
                    password_hash: row.value("password_hash")?,
                    disabled: row.value("disabled")?,
                    locked_until: row.time_if_any("locked_until")?,
                })
            })
        })
        .await
    }

    async fn record_login_failure(
        &self,
        user: UserId,
        threshold: u32,
        lock_for: Duration,
    ) -> Result<Option<Timestamp>, StoreError> {
        self.write(move |tx| {
            let params: [&dyn rusqlite::ToSql; 4] = [&user.0, &threshold, &tx.after(lock_for), &tx.micros()];
            let locked = tx.row(COUNT_FAILURE, &params, |row| row.time_if_any("locked_until"))?;
            Ok(locked.flatten())
        })
        .await
    }

    async fn record_login_success(&self, user: UserId) -> Result<(), StoreError> {
        self.write(move |tx| tx.execute(FORGET_FAILURES, &[&user.0]).map(drop)).await
    }

    async fn set_password_hash(&self, user: UserId, old: &str, new: &str) -> Result<bool, StoreError> {
        let (old, new) = (old.to_owned(), new.to_owned());
        self.write(move |tx| Ok(tx.execute(REHASH, &[&user.0, &old, &new])? > 0)).await
    }

    async fn user(&self, id: UserId) -> Result<Option<User>, StoreError> {
        self.read(move |tx| tx.row(USER, &[&id.0], read)).await
    }

    async fn users(&self, query: &str, after: Option<UserId>, limit: u32) -> Result<Vec<User>, StoreError> {
        let begin = lower(query);
        self.read(move |tx| {
            tx.rows(SEARCH, &[&begin, &end_of_prefix(&begin), &after.map(UserId::uuid), &limit], read)
        })
        .await
    }

    async fn set_user_disabled(&self, id: UserId, disabled: bool) -> Result<Vec<EndedSession>, StoreError> {
        self.write(move |tx| {
            let changed = if disabled {
                tx.execute(DISABLE, &[&id.0, &tx.micros()])?
            } else {
                tx.execute(ENABLE, &[&id.0])?
            };
            match (changed, disabled) {
                (0, _) => Err(Refusal::NotFound("user").into()),
                (_, true) => end_all(tx, id),
                (_, false) => Ok(Vec::new()),
            }
        })
        .await
    }
}

fn create(tx: &Tx<'_>, user: &NewUser) -> Result<User, Fault> {
    // The id is there when the call was repeated after a lost answer.
    if let Some(there) = tx.row(USER, &[&user.id.0], read)? {
        return if there.handle == user.handle { Ok(there) } else { Err(Refusal::HandleTaken.into()) };
    }
    if tx.execute(RESERVE, &[&user.handle, &user.id.0])? == 0 {
        return Err(Refusal::HandleTaken.into());
    }
    tx.execute(
        CREATE,
        &[
            &user.id.0,
            &user.handle,
            &user.display_name,
            &lower(&user.handle),
            &lower(&user.display_name),
            &user.role.as_str(),
            &user.password_hash,
            &tx.micros(),
        ],
    )?;
    tx.execute(INBOX, &[&user.id.0])?;
    Ok(User {
        id: user.id,
        handle: user.handle.clone(),
        display_name: user.display_name.clone(),
        role: user.role,
    })
}

fn read(row: &Row<'_>) -> Result<User, Fault> {
    Ok(User {
        id: UserId(row.value::<Uuid>("id")?),
        handle: row.value("handle")?,
        display_name: row.value("display_name")?,
        role: row.named("role")?,
    })
}

/// A text in lower case, letter by letter: what one begins with is what the other begins with, as it would not be if the last letter of a
/// word had a form of its own.
fn lower(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// What comes after every text that begins so: the next text that does not, or something that comes after all texts.
fn end_of_prefix(prefix: &str) -> Value {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        // The step leaps over what is no character.
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return Value::Text(end);
        }
    }
    Value::Blob(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_where_the_next_begins() {
        for (prefix, end) in
            [("al", "am"), ("a\u{7f}", "a\u{80}"), ("\u{d7ff}", "\u{e000}"), ("b\u{10ffff}", "c")]
        {
            assert_eq!(end_of_prefix(prefix), Value::Text(end.to_owned()), "{prefix:?}");
        }
        for all in ["", "\u{10ffff}"] {
            assert_eq!(end_of_prefix(all), Value::Blob(Vec::new()), "{all:?}");
        }
    }

    #[test]
    fn a_word_is_lowered_letter_by_letter() {
        assert_eq!(lower("ΝΙΚΟΣ"), "νικοσ");
        assert!(lower("ΝΙΚΟΣΤΡΑΤΟΣ").starts_with(&lower("ΝΙΚΟΣ")));
    }
}
