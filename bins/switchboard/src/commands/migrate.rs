//! `switchboard migrate`.

use node::{NoDatabase, Settings};
use store::postgres::{DatabaseRole, Postgres, create_roles, has_roles, migrate, schema_version};
use store::{Log, StoreError};

use crate::commands::{Failure, require_database, say};
use crate::embedded::folder_of;
use crate::hold::holder;

/// What is done beside the migrations.
pub(super) struct Extras {
    /// A new log epoch is begun.
    pub(super) new_log_epoch: bool,
    /// The roles of nodes are made.
    pub(super) create_roles: bool,
}

pub(super) async fn run(settings: Settings, extras: Extras) -> Result<(), Failure> {
    if settings.is_embedded() && settings.embedded.file.exists() {
        return embedded(&settings, &extras).await;
    }
    require_database(&settings)?;
    if extras.create_roles
        && let Err(error) = create_roles(&settings.database).await
    {
        return Err(no_roles(&settings, error).await);
    }
    let applied = match migrate(&settings.database).await {
        Ok(applied) => applied,
        Err(error) => return Err(NoDatabase::explain(&settings.database, error).await.into()),
    };
    for migration in &applied {
        say(format_args!("applied {:04} {}", migration.version, migration.name))?;
    }
    let version = schema_version(&settings.database).await?;
    if applied.is_empty() {
        say(format_args!("nothing to do: the database is at migration {:04}", version.database))?;
    }
    if has_roles(&settings.database).await? {
        say(format_args!("{} have the rights of this release", names(", ")))?;
    }
    if extras.new_log_epoch {
        let store = Postgres::look(&settings.database, &prometheus::Registry::new()).await?;
        let before = store.present_epoch().await?;
        // In a database that was restored elsewhere that begins one already.
        let epoch = match store.log_epoch().await? {
            same if same == before => store.renew_log_epoch(before).await?,
            begun => begun,
        };
        say(format_args!("the log epoch is {epoch} now (it was {before}): clients refetch what they have"))?;
    }
    Ok(())
}

/// The process that serves an embedded database brings it up itself; what is left to do is a new epoch.
async fn embedded(settings: &Settings, extras: &Extras) -> Result<(), Failure> {
    let place = settings.embedded.file.display();
    if extras.create_roles {
        return Err(format!("roles are for PostgreSQL; the embedded database ({place}) has none").into());
    }
    if extras.new_log_epoch
        && let Some(pid) = holder(&folder_of(&settings.embedded.file))?
    {
        return Err(format!(
            "process {pid} serves {place}, and its clients would not be told: stop it (kill {pid}), then begin a new epoch"
        )
        .into());
    }
    let store = crate::commands::store(settings).await?;
    if !extras.new_log_epoch {
        return say(format_args!("nothing to do: {place} is as this release needs it"));
    }
    let before = store.log_epoch().await?;
    let epoch = store.renew_log_epoch(before).await?;
    say(format_args!(
        "the log epoch of {place} is {epoch} now (it was {before}): clients refetch what they have"
    ))
}

/// Why roles could not be made, with what somebody can do who may.
async fn no_roles(settings: &Settings, error: StoreError) -> Failure {
    match error {
        StoreError::Denied(said) => format!(
            "roles can't be made by the user of database.url ({said}): let somebody who may (CREATEROLE) run \
             CREATE ROLE {};, then run `switchboard migrate` again",
            names("; CREATE ROLE ")
        )
        .into(),
        error => NoDatabase::explain(&settings.database, error).await.into(),
    }
}

fn names(between: &str) -> String {
    DatabaseRole::ALL.map(DatabaseRole::name).join(between)
}
