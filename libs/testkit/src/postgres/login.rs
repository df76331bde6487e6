//! Users of a database that may do what a node of a role may, and nothing else.

use localpg::Login;

use crate::workspace::{self, Hold, lock};

/// Where a node of a role (`api`, `gateway`, `worker`) connects: the same database, as a user of its own. The server must have the role
/// `switchboard_<role>`, which `switchboard migrate --create-roles` makes.
///
/// # Panics
///
/// When PostgreSQL refuses.
pub async fn url_of_role(url: &str, role: &str) -> String {
    // Users belong to the server, which other tests share; so does this password, which is the superuser's.
    let _one_at_a_time = lock(workspace::server_dir().join("logins.lock"), Hold::Alone).await;
    let (name, member_of) = (format!("test_{role}"), format!("switchboard_{role}"));
    let login = Login { name: &name, password: password_of(url), member_of: &member_of };
    login.make(url).await.unwrap_or_else(|error| panic!("no user for nodes of role {role}: {error}"))
}

fn password_of(url: &str) -> &str {
    let account = url.split("://").nth(1).and_then(|rest| rest.split('@').next());
    let password = account.and_then(|account| account.split(':').nth(1));
    password.unwrap_or_else(|| panic!("a password is missing in the database's URL"))
}
