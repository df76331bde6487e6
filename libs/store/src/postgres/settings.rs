//! Settings of the database: section `database.*`.

use std::fmt;
use std::time::Duration;

use domain::Invalid;
use serde::{Deserialize, Serialize, Serializer};

use crate::postgres::connect::shown;

/// Where PostgreSQL is, and how patient we are with it.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatabaseSettings {
    /// `postgres://user:password@host:port/database?sslmode=MODE`, MODE one of `disable`, `prefer`
    /// (the default: TLS when the server has it, not verified), `require` (TLS, not verified) and
    /// `verify-full` (TLS, and the certificate must be good for the host). `sslrootcert=FILE` names the
    /// roots for `verify-full`; without it those of the operating system count. It must lead to a
    /// direct session: LISTEN does not work through a pooler in transaction mode.
    ///
    /// Written out, it shows no password.
    #[serde(serialize_with = "without_password")]
    pub url: String,
    /// The password, where the URL has none: so that it can be kept in a file of its own.
    ///
    /// Never written out.
    #[serde(serialize_with = "nothing")]
    pub password: Option<String>,
    /// Connections of one process for statements; notifier and listener have their own beside them.
    pub pool_size: usize,
    /// A statement that takes longer is ended by the database. Half of it is the longest wait for a lock.
    #[serde(with = "domain::duration")]
    pub statement_timeout: Duration,
    /// How long opening a connection may take.
    #[serde(with = "domain::duration")]
    pub connect_timeout: Duration,
    /// How long a call waits for a free connection of the pool.
    #[serde(with = "domain::duration")]
    pub pool_wait: Duration,
}

impl Default for DatabaseSettings {
    fn default() -> Self {
        Self {
            url: String::new(),
            password: None,
            pool_size: 16,
            statement_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(5),
            pool_wait: Duration::from_secs(5),
        }
    }
}

impl DatabaseSettings {
    /// The defaults with this URL.
    #[must_use]
    pub fn with_url(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }
}

impl DatabaseSettings {
    /// Refuses what could only fail later, or would mean something else to the database (zero is "for ever" there).
    /// The URL is not looked at.
    ///
    /// # Errors
    ///
    /// The first key whose value can't work.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(1..=1000).contains(&self.pool_size) {
            return Err(Invalid::new("database.pool_size", &self.pool_size.to_string(), "1 to 1000"));
        }
        for (field, given) in [
            ("database.statement_timeout", self.statement_timeout),
            ("database.connect_timeout", self.connect_timeout),
            ("database.pool_wait", self.pool_wait),
        ] {
            if !(Duration::from_millis(10)..=Duration::from_secs(600)).contains(&given) {
                return Err(Invalid::new(field, &domain::duration::display(given), "10ms to 10m"));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for DatabaseSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseSettings")
            .field("url", &shown(&self.url))
            .field("password", &self.password.as_ref().map(|_| "not shown"))
            .field("pool_size", &self.pool_size)
            .field("statement_timeout", &self.statement_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("pool_wait", &self.pool_wait)
            .finish()
    }
}

fn without_password<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown(url))
}

fn nothing<S: Serializer>(_: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_never_shown() {
        for url in [
            "postgres://sam:hunter2hunter2@db.example.com:5433/chat?sslmode=require",
            "postgres://sam@db.example.com/chat?password=hunter2hunter2",
            "postgres://sam:hunter2hunter2",
            "host=db.example.com password=hunter2hunter2",
            "postgres://sam:hunter2?hunter2@db.example.com/",
            "postgres://sam:pa/ss@hunter2hunter2@db.example.com/",
        ] {
            let settings = DatabaseSettings::with_url(url);
            let debug = format!("{settings:?}");
            let json = serde_json::to_string(&settings).expect("serializes");
            for text in [&debug, &json] {
                assert!(!text.contains("hunter2"), "{text}");
            }
        }
        let settings =
            DatabaseSettings { password: Some("hunter2".to_owned()), ..DatabaseSettings::default() };
        let json = serde_json::to_string(&settings).expect("serializes");
        for text in [&format!("{settings:?}"), &json] {
            assert!(text.contains("password") && !text.contains("hunter2"), "{text}");
        }
        assert_eq!(
            shown("postgres://sam:hunter2@db.example.com:5433/chat"),
            "postgres://sam@db.example.com:5433/chat"
        );
    }

    #[test]
    fn limits_are_kept() {
        let good = DatabaseSettings::default();
        assert_eq!(good.check(), Ok(()));
        for (bad, field) in [
            (DatabaseSettings { pool_size: 0, ..good.clone() }, "database.pool_size"),
            (
                DatabaseSettings { statement_timeout: Duration::ZERO, ..good.clone() },
                "database.statement_timeout",
            ),
            (DatabaseSettings { connect_timeout: Duration::MAX, ..good.clone() }, "database.connect_timeout"),
            (DatabaseSettings { pool_wait: Duration::ZERO, ..good.clone() }, "database.pool_wait"),
        ] {
            assert_eq!(bad.check().map_err(|error| error.field), Err(field));
        }
    }

    #[test]
    fn defaults_are_read_back() {
        let text = serde_json::to_string(&DatabaseSettings::default()).expect("serializes");
        let read: DatabaseSettings = serde_json::from_str(&text).expect("deserializes");
        assert_eq!(read, DatabaseSettings::default());
    }
}
