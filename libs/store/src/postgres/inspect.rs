//! What a database says of itself, for whoever looks into an installation.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::error::StoreError;
use crate::postgres::connect::Connector;
use crate::postgres::pool::as_lent;
use crate::postgres::row::Columns;
use crate::postgres::schema::{on_connection, run};
use crate::postgres::settings::DatabaseSettings;
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;

statements! {
    FACTS = "inspect/facts";
}

/// A database as it is at the moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The server's version, as it writes it.
    pub version: String,
    /// Its major version.
    pub major: u32,
    /// How many connections it takes.
    pub most_connections: u64,
    /// How many clients are connected, to all of its databases.
    pub connections: u64,
    /// How full the queue of notifications is, 0 to 1.
    pub notification_queue: f64,
    /// How far its clock is ahead of this machine's; true to half of `round_trip`.
    pub clock_ahead: SignedDuration,
    /// How long the question took.
    pub round_trip: Duration,
}

/// Asks a database, migrated or not, over a connection of its own, opened as those of nodes.
///
/// # Errors
///
/// What connecting answers.
pub async fn inspect(settings: &DatabaseSettings) -> Result<Facts, StoreError> {
    let connector = as_lent(Connector::new(settings, "inspect")?, settings);
    on_connection(&connector, async |client| {
        // The first time also prepares it, which would count as the clock's.
        run(client, FACTS, &[]).await?;
        let before = Timestamp::now();
        let rows = run(client, FACTS, &[]).await?;
        let round_trip = Timestamp::now().duration_since(before).unsigned_abs();
        let row = rows.first().ok_or_else(|| StoreError::Internal("no facts".into()))?;
        let middle = before + SignedDuration::try_from(round_trip / 2).unwrap_or_default();
        let number: i32 = row.value("version_number").map_err(StoreError::from)?;
        let most: i32 = row.value("most_connections").map_err(StoreError::from)?;
        let now: Timestamp = row.value("now").map_err(StoreError::from)?;
        let negative = |_| StoreError::from(Fault::internal("a negative number of the server"));
        Ok(Facts {
            version: row.value("version").map_err(StoreError::from)?,
            major: u32::try_from(number / 10_000).map_err(negative)?,
            most_connections: u64::try_from(most).map_err(negative)?,
            connections: row.count("connections").map_err(StoreError::from)?,
            notification_queue: row.value("notification_queue").map_err(StoreError::from)?,
            clock_ahead: now.duration_since(middle),
            round_trip,
        })
    })
    .await
}
