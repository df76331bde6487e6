//! Whom nodes work as in the database of a local cluster.
//!
//! On a private server each role has a user, who may do what its nodes do and nothing else. Passwords are fresh at each start. On a
//! server that was given everybody works as the user who was given.

use localpg::Login;
use store::postgres::DatabaseRole;

use super::database::Database;
use super::error::ClusterError;
use super::plan::Role;

/// Where nodes of each role connect. Holds passwords.
#[derive(Clone)]
pub(super) struct Logins([String; Role::ALL.len()]);

impl Logins {
    /// For a migrated database; on a private one the roles must be there.
    pub(super) async fn of(database: &Database) -> Result<Self, ClusterError> {
        let mut logins = Self::same(database.url());
        if database.is_private() {
            for (url, role) in logins.0.iter_mut().zip(Role::ALL) {
                let (name, password) = (format!("node_{role}"), format!("{:032x}", rand::random::<u128>()));
                let login = Login { name: &name, password: &password, member_of: role.in_database().name() };
                *url = login.make(database.url()).await?;
            }
        }
        Ok(logins)
    }

    /// Everybody connects there.
    pub(super) fn same(url: &str) -> Self {
        Self(Role::ALL.map(|_| url.to_owned()))
    }

    /// Where nodes of a role connect.
    pub(super) fn url(&self, role: Role) -> &str {
        &self.0[role as usize]
    }
}

impl std::fmt::Debug for Logins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the passwords.
        f.debug_struct("Logins").finish_non_exhaustive()
    }
}

impl Role {
    /// What nodes of the role may do in the database.
    pub(crate) const fn in_database(self) -> DatabaseRole {
        match self {
            Self::Api => DatabaseRole::Api,
            Self::Gateway => DatabaseRole::Gateway,
            Self::Worker => DatabaseRole::Worker,
        }
    }
}
