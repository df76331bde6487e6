//! Migrations: `migrations/postgres/NNNN_verb_noun.sql`, built into the binary.
//!
//! One migrator at a time holds an advisory lock; the others wait, then find nothing left to do. Each
//! migration is a transaction together with the row that notes it, so a migrator may die anywhere.
//! A serving node never migrates: it looks whether its own migrations are there. A database that is *newer* than
//! the binary is refused by the migrator, but may be served: migrations expand first and contract a release later,
//! so that old nodes live on while a new release is rolled out.

use std::time::Duration;

use domain::LogEpoch;
use sha2::{Digest, Sha256};
use tokio_postgres::{Client, Row};

use crate::error::StoreError;
use crate::migration::{Migration, Noted, check_history, migrations};
use crate::postgres::connect::Connector;
use crate::postgres::pool::Session;
use crate::postgres::roles;
use crate::postgres::row::Columns;
use crate::postgres::settings::DatabaseSettings;
use crate::postgres::sqlstate::{Fault, statement_fault};
use crate::postgres::statement::{Statement, statements};
use crate::postgres::transaction::Params;

statements! {
    EXISTS = "schema/exists";
    CREATE = "schema/create";
    APPLIED = "schema/applied";
    RECORD = "schema/record";
    LOCK = "schema/lock";
    FOUND = "schema/found";
}

/// The number of the advisory lock: the first bytes of "switchboard".
const LOCK_NUMBER: i64 = 0x7377_6974_6368_626f;
/// What stands in the way of nodes and migrators while a database is filled.
const IMPORTING: &str = "an import into this database is under way, or was cut off: run `switchboard import` of the same export to its end, or begin again \
     with a new database";
/// Between two tries to get the lock.
pub(super) const LOCK_INTERVAL: Duration = Duration::from_millis(100);
/// A migration that waits longer for a table lets go: those who queue behind it are serving.
pub(super) const LOCK_TIMEOUT: &str = "5s";

migrations! {
    1 "create_people" "postgres/0001_create_people.sql";
    2 "create_log" "postgres/0002_create_log.sql";
    3 "create_agents" "postgres/0003_create_agents.sql";
    4 "create_runs" "postgres/0004_create_runs.sql";
    5 "create_tasks" "postgres/0005_create_tasks.sql";
    6 "create_presence" "postgres/0006_create_presence.sql";
    7 "create_notifications" "postgres/0007_create_notifications.sql";
    8 "add_expiry_to_tickets" "postgres/0008_add_expiry_to_tickets.sql";
    9 "create_signing_keys" "postgres/0009_create_signing_keys.sql";
    10 "add_trace_to_task_queue" "postgres/0010_add_trace_to_task_queue.sql";
    11 "add_stage_to_task_queue" "postgres/0011_add_stage_to_task_queue.sql";
}

/// A name for the schema that this binary makes: changes with any text of any migration, and with the rights of roles. Tests name
/// the template of their databases by it.
#[must_use]
pub fn schema_digest() -> String {
    let rights = Sha256::new().chain_update(roles::GRANTS);
    let whole = MIGRATIONS.iter().fold(rights, |digest, migration| digest.chain_update(migration.checksum()));
    whole.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A migration that was applied just now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Its number.
    pub version: u32,
    /// Its name.
    pub name: String,
}

/// Where a database stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaVersion {
    /// The newest migration that the database has; 0 before the first.
    pub database: u32,
    /// The newest migration that this binary knows.
    pub binary: u32,
}

/// Brings a database up to this binary. Safe to call from several processes at once.
///
/// # Errors
///
/// `Schema` when the database is newer than this binary, or was migrated by other files than ours;
/// otherwise what connecting and the statements answer.
pub async fn migrate(settings: &DatabaseSettings) -> Result<Vec<Applied>, StoreError> {
    migrate_to(settings, MIGRATIONS).await
}

/// Where the database stands.
///
/// # Errors
///
/// `Schema` when it was migrated by other files than ours; what connecting answers.
pub async fn schema_version(settings: &DatabaseSettings) -> Result<SchemaVersion, StoreError> {
    let connector = Connector::new(settings, "schema")?;
    on_connection(&connector, async |client: &Client| standing(client).await).await
}

/// Whether an import into a database is under way, or was cut off: nodes do not serve it.
///
/// # Errors
///
/// What connecting answers.
pub async fn is_importing(settings: &DatabaseSettings) -> Result<bool, StoreError> {
    let connector = Connector::new(settings, "schema")?;
    on_connection(&connector, async |client: &Client| importing(client).await).await
}

/// As [`schema_version`], on this connection.
pub(super) async fn standing(client: &Client) -> Result<SchemaVersion, StoreError> {
    let applied = applied(client).await?;
    let both = applied.len().min(MIGRATIONS.len());
    check_history(&applied[..both], MIGRATIONS)?;
    Ok(version_of(&applied))
}

/// Whether this connection is the one migrator or importer from now on, until it ends.
pub(super) async fn try_lock(client: &Client) -> Result<bool, StoreError> {
    Ok(run(client, LOCK, &[&LOCK_NUMBER]).await?.iter().all(|row| row.get("locked")))
}

/// Whether an import is under way, or was cut off.
pub(super) async fn importing(client: &Client) -> Result<bool, StoreError> {
    Ok(run(client, EXISTS, &[]).await?.iter().any(|row| row.get("importing")))
}

/// Whether an import has ended.
pub(super) async fn imported(client: &Client) -> Result<bool, StoreError> {
    Ok(run(client, EXISTS, &[]).await?.iter().any(|row| row.get("imported")))
}

pub(super) async fn migrate_to(
    settings: &DatabaseSettings,
    known: &[Migration],
) -> Result<Vec<Applied>, StoreError> {
    let connector = Connector::new(settings, "migrate")?
        .with_session_setting("statement_timeout", "0")
        .with_session_setting("lock_timeout", LOCK_TIMEOUT);
    on_connection(&connector, async |client: &Client| {
        while !try_lock(client).await? {
            tracing::info!("another process migrates the database; waiting");
            tokio::time::sleep(LOCK_INTERVAL).await;
        }
        if importing(client).await? {
            return Err(StoreError::Schema(IMPORTING.into()));
        }
        run(client, CREATE, &[]).await?;
        let noted = applied(client).await?;
        check_history(&noted, known)?;
        let mut done = Vec::new();
        for migration in known.iter().skip(noted.len()) {
            apply(client, migration).await?;
            tracing::info!(migration = migration.label(), "applied");
            done.push(Applied { version: migration.version, name: migration.name.to_owned() });
        }
        if !known.is_empty() {
            run(client, FOUND, &[&LogEpoch::new().0]).await?;
        }
        roles::grant(client).await?;
        Ok(done)
    })
    .await
}

/// For a serving node: refuses a database that lacks what this binary needs.
pub(super) async fn check_version(session: &Session) -> Result<(), Fault> {
    let (migrated, importing): (bool, bool) = match session.query(EXISTS, &[]).await?.first() {
        Some(row) => (row.value("migrated")?, row.value("importing")?),
        None => (false, false),
    };
    if importing {
        return Err(StoreError::Schema(IMPORTING.into()).into());
    }
    let mut noted = Vec::new();
    if migrated {
        noted = session.query(APPLIED, &[]).await?.iter().map(Noted::read).collect::<Result<_, _>>()?;
    }
    let SchemaVersion { database, binary } = version_of(&noted);
    if database < binary {
        return Err(StoreError::Schema(format!(
            "the database has migration {database}, this release needs {binary}: run `switchboard migrate`"
        ))
        .into());
    }
    if database > binary {
        tracing::warn!(database, binary, "the database is newer than this release");
    }
    Ok(())
}

/// Runs work on a connection of its own, which ends with it.
pub(super) async fn on_connection<T, E: From<StoreError>>(
    connector: &Connector,
    work: impl AsyncFnOnce(&Client) -> Result<T, E>,
) -> Result<T, E> {
    let (client, connection) = connector.connect().await?;
    tokio::select! {
        outcome = work(&client) => outcome,
        ended = connection => Err(E::from(match ended {
            Ok(()) => StoreError::Unavailable("the connection ended".into()),
            Err(error) => StoreError::from(statement_fault("migrate", &error).0),
        })),
    }
}

pub(super) async fn run(
    client: &Client,
    statement: &Statement,
    params: Params<'_>,
) -> Result<Vec<Row>, StoreError> {
    client
        .query(statement.sql, params)
        .await
        .map_err(|error| statement_fault(statement.name, &error).0.into())
}

impl Noted {
    fn read(row: &Row) -> Result<Self, Fault> {
        let version: i32 = row.value("version")?;
        Ok(Self {
            version: u32::try_from(version).map_err(|_| Fault::internal("a migration below zero"))?,
            name: row.value("name")?,
            checksum: row.value("checksum")?,
        })
    }
}

async fn applied(client: &Client) -> Result<Vec<Noted>, StoreError> {
    let migrated = run(client, EXISTS, &[]).await?.iter().all(|row| row.get("migrated"));
    if !migrated {
        return Ok(Vec::new());
    }
    Ok(run(client, APPLIED, &[]).await?.iter().map(Noted::read).collect::<Result<_, _>>()?)
}

fn version_of(noted: &[Noted]) -> SchemaVersion {
    SchemaVersion {
        database: noted.last().map_or(0, |migration| migration.version),
        binary: MIGRATIONS.last().map_or(0, |migration| migration.version),
    }
}

async fn apply(client: &Client, migration: &Migration) -> Result<(), StoreError> {
    let fault =
        |error: &tokio_postgres::Error| StoreError::from(statement_fault(&migration.label(), error).0);
    let version =
        i32::try_from(migration.version).map_err(|_| StoreError::Internal("too many migrations".into()))?;
    // After an error the connection ends, which rolls back.
    client.batch_execute("BEGIN").await.map_err(|error| fault(&error))?;
    client.batch_execute(migration.sql).await.map_err(|error| fault(&error))?;
    run(client, RECORD, &[&version, &migration.name, &migration.checksum()]).await?;
    client.batch_execute("COMMIT").await.map_err(|error| fault(&error))
}
