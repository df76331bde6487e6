//! Signing keys: the [`SigningKeys`] of SQLite.

use async_trait::async_trait;
use domain::SigningKey;
use jiff::Timestamp;
use rusqlite::Row;

use super::Sqlite;
use super::fault::Fault;
use super::row::Columns;
use super::statement::statements;
use super::transaction::Tx;
use super::value::{Micros, array};
use crate::error::StoreError;
use crate::number::{bigint, micros};
use crate::signing_keys::{NewSealedKey, SealedKey, SigningKeys};

statements! {
    REVISION = "signing_keys/revision";
    LIST = "signing_keys/list";
    RAISE = "signing_keys/raise";
    REMOVE = "signing_keys/remove";
    CHANGE = "signing_keys/change";
    ADD = "signing_keys/add";
}

#[async_trait]
impl SigningKeys for Sqlite {
    async fn signing_keys(&self) -> Result<(u64, Vec<SealedKey>), StoreError> {
        self.read(|tx| {
            let revision = tx.row(REVISION, &[], |row| row.count("revision"))?;
            let revision = revision.ok_or_else(|| Fault::internal("signing_manifest has lost its row"))?;
            Ok((revision, tx.rows(LIST, &[], read)?))
        })
        .await
    }

    async fn replace_signing_keys(
        &self,
        seen: u64,
        keys: &[SigningKey],
        new: Option<NewSealedKey<'_>>,
    ) -> Result<bool, StoreError> {
        let keys = keys.to_vec();
        let new = new.map(|new| (new.kid.to_owned(), new.sealed.to_vec()));
        self.write(move |tx| {
            // The guard: of any number who saw a revision one raises it.
            if tx.execute(RAISE, &[&bigint(seen), &tx.micros()])? == 0 {
                return Ok(false);
            }
            put(tx, &keys, new.as_ref())?;
            Ok(true)
        })
        .await
    }

    async fn database_time(&self) -> Result<Timestamp, StoreError> {
        self.read(|tx| Ok(tx.now())).await
    }
}

fn put(tx: &Tx<'_>, keys: &[SigningKey], new: Option<&(String, Vec<u8>)>) -> Result<(), Fault> {
    tx.execute(REMOVE, &[&array(keys.iter().map(|key| key.kid.clone()))])?;
    for key in keys {
        let (signs_from, retired_at) = (Micros(key.signs_from), key.retired_at.map(Micros));
        let life = micros(key.token_life);
        tx.execute(CHANGE, &[&key.kid, &signs_from, &key.withdrawn, &retired_at, &life])?;
        if let Some((_, sealed)) = new.filter(|(kid, _)| *kid == key.kid) {
            let created = Micros(key.created_at);
            tx.execute(
                ADD,
                &[&key.kid, &created, &signs_from, &key.withdrawn, &retired_at, &life, &key.made_by, sealed],
            )?;
        }
    }
    Ok(())
}

fn read(row: &Row<'_>) -> Result<SealedKey, Fault> {
    Ok(SealedKey {
        key: SigningKey {
            kid: row.value("kid")?,
            created_at: row.time("created_at")?,
            signs_from: row.time("signs_from")?,
            withdrawn: row.value("withdrawn")?,
            retired_at: row.time_if_any("retired_at")?,
            token_life: row.duration("token_life")?,
            made_by: row.value("made_by")?,
        },
        sealed: row.value("sealed")?,
    })
}
