//! The database of a process, and one that can't be used, told to whoever gave its URL.

use std::path::Path;
use std::sync::Arc;

use domain::ErrorKind;
use prometheus::Registry;
use store::postgres::{DatabaseSettings, Postgres, connect};
use store::sqlite::Sqlite;
use store::{Store, StoreError};

use crate::settings::Settings;

/// Opens the database of the settings: PostgreSQL, or the embedded one where no URL is given, which is made and migrated by that.
///
/// # Errors
///
/// It can't be reached or opened, or lacks migrations.
pub async fn open_store(settings: &Settings, registry: &Registry) -> Result<Arc<dyn Store>, NoDatabase> {
    if settings.is_embedded() {
        on_file(settings, registry, Sqlite::open).await
    } else {
        on_postgres(settings, registry).await
    }
}

/// Opens the database of the settings for a command, beside the processes that serve it: it is neither made nor migrated.
///
/// # Errors
///
/// It can't be reached or opened, or is not as this release needs it.
pub async fn join_store(settings: &Settings, registry: &Registry) -> Result<Arc<dyn Store>, NoDatabase> {
    if settings.is_embedded() {
        on_file(settings, registry, Sqlite::join).await
    } else {
        on_postgres(settings, registry).await
    }
}

async fn on_file(
    settings: &Settings,
    registry: &Registry,
    open: fn(&Path, &Registry) -> Result<Sqlite, StoreError>,
) -> Result<Arc<dyn Store>, NoDatabase> {
    let (file, registry) = (settings.embedded.file.clone(), registry.clone());
    // A panic in there is a fault of ours, told by its own line in the log.
    let opened = tokio::task::spawn_blocking(move || open(&file, &registry)).await;
    let opened = opened.map_err(|error| StoreError::Internal(error.to_string())).and_then(|opened| opened);
    Ok(Arc::new(opened.map_err(NoDatabase::Other)?))
}

async fn on_postgres(settings: &Settings, registry: &Registry) -> Result<Arc<dyn Store>, NoDatabase> {
    match Postgres::connect(&settings.database, registry).await {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => Err(NoDatabase::explain(&settings.database, error).await),
    }
}

/// Why there is no working with a database.
#[derive(Debug, thiserror::Error)]
pub enum NoDatabase {
    /// It can't be reached, or does not let us in.
    #[error("the database {place} can't be used: {said}; {advice}")]
    Unreachable {
        /// Its URL without the password.
        place: String,
        /// What the server said, or else the network.
        said: String,
        /// What to do about it.
        advice: &'static str,
    },
    /// It was reached, and something else is wrong.
    #[error(transparent)]
    Other(StoreError),
}

impl NoDatabase {
    /// Explains an error of the store. A pool does not tell why it has no connection, so one is opened to hear it.
    pub async fn explain(settings: &DatabaseSettings, error: StoreError) -> Self {
        if !matches!(error, StoreError::Unavailable(_)) {
            return Self::Other(error);
        }
        match connect(settings, "explain").await {
            Err(StoreError::Unavailable(said)) => {
                Self::Unreachable { place: place(settings), advice: advice(&said), said }
            }
            // It is back by now, or the error was about something else.
            _ => Self::Other(error),
        }
    }

    /// What sort of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unreachable { .. } => ErrorKind::Unavailable,
            Self::Other(error) => error.kind(),
        }
    }
}

/// The URL as the settings write themselves out, which is without the password.
fn place(settings: &DatabaseSettings) -> String {
    let shown = serde_json::to_value(settings).ok();
    let url = shown.as_ref().and_then(|shown| shown.get("url")?.as_str());
    url.unwrap_or("of database.url").to_owned()
}

/// What helps, by the SQLSTATE that the server's words begin with.
fn advice(said: &str) -> &'static str {
    match said.split(' ').next().unwrap_or_default() {
        "3D000" => "create it there (createdb) and run `switchboard migrate`, or correct database.url",
        "28P01" => "correct the user in database.url, or the password there or in database.password",
        "28000" => "correct the user in database.url, or let it in (pg_hba.conf)",
        // PgBouncer does not know an option that connections start with.
        "08P01" => {
            "let database.url lead to the database itself, or set ignore_startup_parameters of the pooler"
        }
        "53300" => "raise max_connections of PostgreSQL, or lower database.pool_size of the nodes",
        _ => "check database.url, and that PostgreSQL runs there and lets this machine in",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_no_loss_of_the_database_is_passed_on() {
        let settings = DatabaseSettings::with_url("postgres://alex:hunter2@127.0.0.1:1/chat");
        let schema = NoDatabase::explain(&settings, StoreError::Schema("run it".into())).await;
        assert_eq!(schema.to_string(), "run it");
        let away = NoDatabase::explain(&settings, StoreError::Unavailable("no connection".into())).await;
        let text = away.to_string();
        assert!(text.contains("postgres://alex@127.0.0.1:1/chat can't be used: "), "{text}");
        assert!(text.ends_with("lets this machine in") && !text.contains("hunter2"), "{text}");
        assert_eq!(away.kind(), ErrorKind::Unavailable);
    }
}
