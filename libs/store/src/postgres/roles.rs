//! The database roles of nodes: what api, gateway and worker nodes may do, and nothing beyond.
//!
//! `migrations/grants/postgres.sql` says it. It is a state, not a history: every migration ends with it, where the roles exist, so rights
//! that were lost or that a release no longer wants are put right by `switchboard migrate`. Roles belong to the server, rights to each of its databases.
//! The roles can't sign in; an operator makes users that are members of them. Without the roles every node works as the user who migrates.

use std::fmt;

use tokio_postgres::{Client, Row};

use crate::error::StoreError;
use crate::postgres::connect::Connector;
use crate::postgres::row::Columns;
use crate::postgres::schema::{on_connection, run};
use crate::postgres::settings::DatabaseSettings;
use crate::postgres::sqlstate::{Fault, statement_fault};
use crate::postgres::statement::{Statement, statements};

mod grants;

#[cfg(test)]
pub(super) use grants::Right;
pub(super) use grants::{GRANTS, rights};

statements! {
    KNOWN = "roles/known";
    CREATE = "roles/create";
    USER = "roles/user";
    LACKING = "roles/lacking";
    EXCEEDING = "roles/exceeding";
}

/// What a database tells apart: which sort of node asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseRole {
    /// Api nodes, and commands of administrators but `migrate`.
    Api,
    /// Gateway nodes.
    Gateway,
    /// Worker nodes.
    Worker,
}

impl DatabaseRole {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Api, Self::Gateway, Self::Worker];

    /// Its name in the server.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Api => "switchboard_api",
            Self::Gateway => "switchboard_gateway",
            Self::Worker => "switchboard_worker",
        }
    }
}

impl fmt::Display for DatabaseRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the user of a database may do, beside what a role needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRights {
    /// Its name.
    pub user: String,
    /// May do anything on the server.
    pub is_superuser: bool,
    /// May do anything with the tables.
    pub is_owner: bool,
    /// What the role needs and the user may not do, such as `UPDATE (head) ON streams`.
    pub lacking: Vec<String>,
    /// What the user may do and the role does not need.
    pub exceeding: Vec<String>,
}

/// Makes the roles that the server does not have. The next migration gives them their rights.
///
/// # Errors
///
/// `Denied` when the user may not make roles; what connecting answers.
pub async fn create_roles(settings: &DatabaseSettings) -> Result<(), StoreError> {
    let connector = Connector::new(settings, "roles")?;
    on_connection(&connector, async |client| run(client, CREATE, &[]).await.map(drop)).await
}

/// Whether the server has the roles, and so the database their rights.
///
/// # Errors
///
/// As `migrate` when only some are there; what connecting answers.
pub async fn has_roles(settings: &DatabaseSettings) -> Result<bool, StoreError> {
    let connector = Connector::new(settings, "roles")?;
    on_connection(&connector, async |client| known(client).await).await
}

/// Gives the roles their rights, if the server has them.
pub(super) async fn grant(client: &Client) -> Result<(), StoreError> {
    if !known(client).await? {
        return Ok(());
    }
    // Seen by others as a whole: nodes that work meanwhile are never without.
    for sql in ["BEGIN", GRANTS, "COMMIT"] {
        let done = client.batch_execute(sql).await;
        done.map_err(|error| StoreError::from(statement_fault("rights of the roles", &error).0))?;
    }
    Ok(())
}

/// True when all are there, false when none is.
async fn known(client: &Client) -> Result<bool, StoreError> {
    let names = DatabaseRole::ALL.map(DatabaseRole::name);
    let rows = run(client, KNOWN, &[&names.as_slice()]).await?;
    let known: Vec<&str> = rows.iter().map(|row| row.value("name")).collect::<Result<_, Fault>>()?;
    match names.iter().find(|name| !known.contains(name)) {
        None => Ok(true),
        Some(_) if known.is_empty() => Ok(false),
        Some(missing) => Err(StoreError::Schema(format!(
            "the database server has the role {}, but not {missing}: run `switchboard migrate --create-roles`",
            known.join(", ")
        ))),
    }
}

/// Compares what the user of a migrated database may do with what a role needs.
///
/// # Errors
///
/// What connecting answers.
pub async fn user_rights(settings: &DatabaseSettings, role: DatabaseRole) -> Result<UserRights, StoreError> {
    let connector = Connector::new(settings, "rights")?;
    on_connection(&connector, async |client| {
        let rows = run(client, USER, &[]).await?;
        let user = rows.first().ok_or_else(|| Fault::internal("roles/user gave no row"))?;
        let mut exceeding = compare(client, EXCEEDING, role).await?;
        if user.value("creates")? {
            exceeding.push("CREATE in the schema".into());
        }
        Ok(UserRights {
            user: user.value("name")?,
            is_superuser: user.value("is_superuser")?,
            is_owner: user.value("is_owner")?,
            lacking: compare(client, LACKING, role).await?,
            exceeding,
        })
    })
    .await
}

async fn compare(
    client: &Client,
    statement: &Statement,
    role: DatabaseRole,
) -> Result<Vec<String>, StoreError> {
    let rights = rights(role);
    let relations: Vec<&str> = rights.iter().map(|right| right.relation).collect();
    let privileges: Vec<&str> = rights.iter().map(|right| right.privilege).collect();
    let columns: Vec<Option<&str>> = rights.iter().map(|right| right.column).collect();
    let rows = run(client, statement, &[&relations, &privileges, &columns]).await?;
    Ok(rows.iter().map(shown).collect::<Result<_, Fault>>()?)
}

fn shown(row: &Row) -> Result<String, Fault> {
    let (relation, privilege): (&str, &str) = (row.value("relation")?, row.value("privilege")?);
    Ok(match row.value::<Option<&str>>("column_name")? {
        Some(column) => format!("{privilege} ({column}) ON {relation}"),
        None => format!("{privilege} ON {relation}"),
    })
}
