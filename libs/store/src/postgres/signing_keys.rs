//! Signing keys: the [`SigningKeys`] of PostgreSQL.

use std::time::Duration;

use async_trait::async_trait;
use domain::SigningKey;
use jiff::Timestamp;
use tokio_postgres::Row;

use crate::error::StoreError;
use crate::postgres::Postgres;
use crate::postgres::interval::micros;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::signing_keys::{NewSealedKey, SealedKey, SigningKeys};

statements! {
    LIST = "signing_keys/list";
    REPLACE = "signing_keys/replace";
    TIME = "signing_keys/time";
}

#[async_trait]
impl SigningKeys for Postgres {
    async fn signing_keys(&self) -> Result<(u64, Vec<SealedKey>), StoreError> {
        let rows = self.rows(LIST, &[]).await?;
        let Some(first) = rows.first() else {
            return Err(StoreError::Internal("signing_manifest has lost its row".to_owned()));
        };
        let revision = first.count("revision")?;
        let mut keys = Vec::with_capacity(rows.len());
        for row in &rows {
            if let Some(kid) = row.value::<Option<String>>("kid")? {
                keys.push(read(kid, row)?);
            }
        }
        Ok((revision, keys))
    }

    async fn replace_signing_keys(
        &self,
        seen: u64,
        keys: &[SigningKey],
        new: Option<NewSealedKey<'_>>,
    ) -> Result<bool, StoreError> {
        let kids: Vec<&str> = keys.iter().map(|key| key.kid.as_str()).collect();
        let created: Vec<Timestamp> = keys.iter().map(|key| key.created_at).collect();
        let sign_from: Vec<Timestamp> = keys.iter().map(|key| key.signs_from).collect();
        let withdrawn: Vec<bool> = keys.iter().map(|key| key.withdrawn).collect();
        let retired: Vec<Option<Timestamp>> = keys.iter().map(|key| key.retired_at).collect();
        let lives: Vec<i64> = keys.iter().map(|key| micros(key.token_life)).collect();
        let made_by: Vec<&str> = keys.iter().map(|key| key.made_by.as_str()).collect();
        let (new_kid, sealed) = (new.map(|new| new.kid), new.map(|new| new.sealed));
        let seen = bigint(seen);
        let row = self
            .row(
                REPLACE,
                &[
                    &seen, &kids, &created, &sign_from, &withdrawn, &retired, &lives, &made_by, &new_kid,
                    &sealed,
                ],
            )
            .await?;
        Ok(row.is_some())
    }

    async fn database_time(&self) -> Result<Timestamp, StoreError> {
        let row = self.row(TIME, &[]).await?;
        let row = row.ok_or_else(|| StoreError::Internal("no row with the time".to_owned()))?;
        Ok(row.value("now")?)
    }
}

fn read(kid: String, row: &Row) -> Result<SealedKey, Fault> {
    Ok(SealedKey {
        key: SigningKey {
            kid,
            created_at: row.value("created_at")?,
            signs_from: row.value("signs_from")?,
            withdrawn: row.value("withdrawn")?,
            retired_at: row.value("retired_at")?,
            token_life: Duration::from_micros(row.count("token_life")?),
            made_by: row.value("made_by")?,
        },
        sealed: row.value("sealed")?,
    })
}
