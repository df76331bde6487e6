//! `switchboard migrate`.

use node::{NoDatabase, Settings};
use store::Log;
use store::postgres::{Postgres, migrate, schema_version};

use crate::commands::{Failure, require_database, say};

pub(super) async fn run(settings: Settings, new_log_epoch: bool) -> Result<(), Failure> {
    require_database(&settings)?;
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
    if new_log_epoch {
        let store = Postgres::connect(&settings.database, &prometheus::Registry::new()).await?;
        let before = store.log_epoch().await?;
        let epoch = store.renew_log_epoch(before).await?;
        say(format_args!("the log epoch is {epoch} now (it was {before}): clients refetch what they have"))?;
    }
    Ok(())
}
