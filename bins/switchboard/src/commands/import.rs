//! `switchboard import`: what `export` wrote, into PostgreSQL.

use std::path::PathBuf;

use auth::KeyDriver;
use auth::keys::directory::Directory;
use auth::keys::seal::SealKey;
use auth::keys::store::KeyStore;
use node::{NoDatabase, Settings};
use store::StoreError;
use store::postgres::{Loaded, finish_import, load_export};
use store::signing_keys::SealedKey;
use store::transfer::{Export, TransferError};

use crate::commands::key_files::{KEYS, PUSH, Placing};
use crate::commands::{Failure, say, transfer};

/// Imports rows and keys; says what to do next.
pub(super) async fn run(settings: Settings, dir: PathBuf) -> Result<(), Failure> {
    if settings.is_embedded() {
        return Err(
            "an export goes into PostgreSQL: give --database-url postgres://user:password@host/database, or the key database.url, \
             with the user that migrates"
                .into(),
        );
    }
    let export = Export::open(&dir)?;
    // Before anything is written: keys that can't be put in their place are no end that an import may come to.
    let keys = Keys::plan(&settings, &export).await?;
    if export.manifest().served {
        say(format_args!(
            "this export was made while a process served: what was written there after {:.0} is not in it",
            export.manifest().exported_at
        ))?;
    }
    match load_export(&settings.database, &export, &mut transfer::teller()).await {
        Ok(Loaded::Now) => {}
        Ok(Loaded::Before) => {
            return say(
                "an import of this export has ended in this database before: there is nothing left to do",
            );
        }
        Err(error) => return Err(told(&settings, error).await),
    }
    for line in keys.place()? {
        say(line)?;
    }
    if let Err(error) = finish_import(&settings.database, &export, &keys.sealed).await {
        return Err(told(&settings, error).await);
    }
    let rows: u64 = export.manifest().tables.iter().map(|table| table.rows).sum();
    say(format_args!("{rows} rows are in the database, read back and compared with the export"))?;
    let epoch = export.manifest().log_epoch;
    if export.manifest().cut_short {
        say(format_args!(
            "the log begins its epoch {epoch}, as after any loss of power: clients refetch; sign-ins stay good"
        ))?;
    } else {
        say(format_args!(
            "the log goes on in its epoch {epoch}: cursors of clients, sign-ins and tokens stay good"
        ))?;
    }
    say(
        "next: `switchboard doctor`, then start the nodes, give clients the new address, and remove the export, which holds secrets",
    )
}

/// What becomes of the keys of an export.
struct Keys {
    /// Files, with what is said of them.
    files: Vec<(&'static str, Placing)>,
    /// Signing keys for the database.
    sealed: Vec<SealedKey>,
    /// What else there is to say.
    note: Option<&'static str>,
}

impl Keys {
    /// Looks where the keys are to go; writes nothing.
    async fn plan(settings: &Settings, export: &Export) -> Result<Self, Failure> {
        let mut keys = Self { files: Vec::new(), sealed: Vec::new(), note: None };
        let (signing, push) = (export.dir().join(KEYS), export.dir().join(PUSH));
        let in_database =
            export.manifest().tables.iter().any(|table| table.name == "signing_keys" && table.rows > 0);
        match settings.signing_key.driver {
            KeyDriver::Dir if signing.is_dir() => {
                let to = &settings.secrets.signing_key_dir;
                keys.files.push(("signing keys", Placing::plan(&signing, to, "secrets.signing_key_dir")?));
            }
            KeyDriver::Postgres if signing.is_dir() => {
                let from = Directory::at(signing);
                let seal_key = SealKey::of(&settings.secrets)?;
                keys.sealed = sealed(&from, &seal_key).await?;
            }
            KeyDriver::Dir if in_database => {
                keys.note = Some(
                    "signing keys: they are in the database, sealed; give nodes signing_key.driver = \"postgres\" and the seal key that the process had, \
                     or access tokens are refused once",
                );
            }
            KeyDriver::Postgres if in_database => {
                keys.note = Some(
                    "signing keys: they are in the database; nodes need the seal key that the process had",
                );
            }
            _ => {
                keys.note = Some(
                    "signing keys: the export has none; the first api node makes one, and access tokens are refused once",
                );
            }
        }
        if push.is_dir() {
            let to = &settings.push.vapid_key_dir;
            keys.files.push(("key of pushes", Placing::plan(&push, to, "push.vapid_key_dir")?));
        }
        Ok(keys)
    }

    /// Puts the files in their places; says what is where.
    fn place(&self) -> Result<Vec<String>, Failure> {
        let mut lines = Vec::new();
        for (what, placing) in &self.files {
            lines.push(format!("{what}: {}; nodes on other machines need them, too", placing.carry_out()?));
        }
        if !self.sealed.is_empty() {
            lines.push(format!(
                "signing keys: {} go into the database, sealed with secrets.seal_key",
                self.sealed.len()
            ));
        }
        lines.extend(self.note.map(str::to_owned));
        Ok(lines)
    }
}

/// The signing keys of a directory, to be kept in the database.
async fn sealed(from: &Directory, seal_key: &SealKey) -> Result<Vec<SealedKey>, Failure> {
    let Some(stored) = from.load().await? else { return Ok(Vec::new()) };
    let mut sealed = Vec::new();
    for key in stored.manifest.keys() {
        match stored.parts.get(&key.kid) {
            Some(Ok(part)) => {
                sealed.push(SealedKey { key: key.clone(), sealed: seal_key.seal(&key.kid, part)? });
            }
            Some(Err(fault)) => return Err(fault.to_string().into()),
            None => return Err(format!("key {} has no private part", key.kid).into()),
        }
    }
    Ok(sealed)
}

/// A database that is lost is explained, and what to do then.
async fn told(settings: &Settings, error: TransferError) -> Failure {
    match error {
        TransferError::Store(error @ (StoreError::Unavailable(_) | StoreError::Timeout(_))) => {
            let why = NoDatabase::explain(&settings.database, error).await;
            format!("{why}; nothing is lost: run the same import again, it goes on").into()
        }
        error => error.into(),
    }
}
