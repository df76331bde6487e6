//! What a private server is to be like.

use std::path::PathBuf;
use std::time::Duration;

use crate::Binaries;

/// How much the server promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// What was committed survives a power cut.
    Durable,
    /// Quick, and worth nothing after a crash of the machine.
    ThrowAway,
}

/// Who ends the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// It ends with the process that started it.
    Ours,
    /// It stays; somebody else ends it.
    Detached,
}

/// What a private server is to be like; [`crate::Server::start`] takes it.
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) dir: PathBuf,
    pub(crate) durability: Durability,
    pub(crate) lifetime: Lifetime,
    pub(crate) port: Option<u16>,
    pub(crate) binaries: Option<Binaries>,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) start_timeout: Duration,
}

impl Options {
    fn new(dir: PathBuf, durability: Durability) -> Self {
        Self {
            dir,
            durability,
            lifetime: Lifetime::Ours,
            port: None,
            binaries: None,
            settings: Vec::new(),
            start_timeout: Duration::from_secs(120),
        }
    }

    /// A server whose data in `dir` is kept and survives a power cut.
    pub fn durable(dir: impl Into<PathBuf>) -> Self {
        Self::new(dir.into(), Durability::Durable)
    }

    /// A quick server whose data is worth nothing: no fsync, no autovacuum. `dir` must be its own: it is
    /// emptied before the start, and removed when the [`crate::Server`] is dropped.
    pub fn throw_away(dir: impl Into<PathBuf>) -> Self {
        Self::new(dir.into(), Durability::ThrowAway)
    }

    /// A fixed port instead of a free one.
    #[must_use]
    pub const fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Certain programs instead of those found.
    #[must_use]
    pub fn binaries(mut self, binaries: Binaries) -> Self {
        self.binaries = Some(binaries);
        self
    }

    /// A setting of PostgreSQL, as by `-c name=value`; wins over those set here.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// How long the server may take until it answers; recovery after a crash is part of it.
    #[must_use]
    pub const fn start_timeout(mut self, timeout: Duration) -> Self {
        self.start_timeout = timeout;
        self
    }

    /// The server outlives the process that starts it, and dropping the [`crate::Server`] does nothing.
    #[must_use]
    pub const fn detached(mut self) -> Self {
        self.lifetime = Lifetime::Detached;
        self
    }

    /// Every `-c`, in order: a later one wins.
    pub(crate) fn all_settings(&self) -> Vec<String> {
        let mut all: Vec<String> = ALWAYS.iter().map(|&setting| setting.to_owned()).collect();
        if self.durability == Durability::ThrowAway {
            all.extend(THROW_AWAY.iter().map(|&setting| setting.to_owned()));
        }
        all.extend(self.settings.iter().map(|(name, value)| format!("{name}={value}")));
        all
    }
}

const ALWAYS: &[&str] = &[
    "listen_addresses=127.0.0.1",
    // No socket file: its path may be longer than the kernel takes, and its directory would need rights.
    "unix_socket_directories=",
    "max_connections=200",
    "timezone=UTC",
    "log_timezone=UTC",
    "logging_collector=off",
];

const THROW_AWAY: &[&str] = &[
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "autovacuum=off",
    // Inside the data directory, so that a killed server leaves nothing in /dev/shm.
    "dynamic_shared_memory_type=mmap",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_setting_comes_after_our_own() {
        let all = Options::throw_away("x").setting("fsync", "on").all_settings();
        let position = |wanted| all.iter().position(|setting| setting == wanted);
        assert!(position("fsync=on") > position("fsync=off"));
        assert!(position("fsync=off").is_some());
    }

    #[test]
    fn durable_data_is_synced() {
        let all = Options::durable("x").all_settings();
        assert!(!all.iter().any(|setting| setting.ends_with("=off") && setting != "logging_collector=off"));
    }
}
