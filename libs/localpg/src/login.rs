//! Users of a server that may not do everything.

use crate::{Error, query};

/// Somebody who may sign in, and do what the roles may that it is a member of.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its password: letters, digits and what stands in a URL as it is.
    pub password: &'a str,
    /// The role that it is a member of. It must be there.
    pub member_of: &'a str,
}

impl Login<'_> {
    /// Makes it on the server of this URL, or gives it this password and membership if it is there. The answer is where it connects
    /// to the same database; it holds the password.
    ///
    /// # Errors
    ///
    /// [`Error::Database`]; also when another process makes the same login at the same moment.
    pub async fn make(self, url: &str) -> Result<String, Error> {
        let (name, role) = (identifier(self.name), identifier(self.member_of));
        let password = self.password.replace('\'', "''");
        let known = format!("SELECT 1 FROM pg_roles WHERE rolname = '{}'", self.name.replace('\'', "''"));
        let verb = if query(url, &known).await?.is_empty() { "CREATE" } else { "ALTER" };
        let make = format!("{verb} ROLE {name} LOGIN PASSWORD '{password}'; GRANT {role} TO {name}");
        query(url, &make).await?;
        Ok(self.url(url))
    }

    /// The URL with this user and password in place of those that it has.
    #[must_use]
    pub fn url(self, url: &str) -> String {
        let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
        format!("{scheme}://{}:{}@{hosts}{path}", self.name, self.password)
    }
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_connects_is_replaced_and_nothing_else() {
        let login = Login { name: "robin", password: "secret", member_of: "readers" };
        for (given, made) in [
            ("postgres://alex:hunter2@127.0.0.1:5433/chat", "postgres://robin:secret@127.0.0.1:5433/chat"),
            ("postgres://a@h1,h2:6/c?sslmode=require", "postgres://robin:secret@h1,h2:6/c?sslmode=require"),
            ("postgres://db.example.com/c?x=a@b", "postgres://robin:secret@db.example.com/c?x=a@b"),
        ] {
            assert_eq!(login.url(given), made);
        }
    }
}
