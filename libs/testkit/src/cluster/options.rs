//! What a cluster for a test is to be like, or the one process that stands for it.

use std::path::PathBuf;

use super::Role;
use crate::postgres::TestDatabase;
use crate::workspace;

/// Where the nodes keep things.
#[derive(Debug)]
pub(super) enum Keeping {
    /// In the PostgreSQL database at this URL.
    Postgres(String),
    /// In an embedded database of their own, so that there is one process with every role.
    Embedded,
}

/// What a cluster is to be like: by default two nodes of each role.
#[derive(Debug)]
pub struct ClusterOptions {
    pub(super) keeping: Keeping,
    pub(super) database: Option<TestDatabase>,
    pub(super) proxies: bool,
    binary: Option<PathBuf>,
    counts: [usize; 3],
    settings: Vec<(Option<String>, String, String)>,
    clocks: Vec<(String, String)>,
}

impl ClusterOptions {
    /// On a database of the shared server, which the cluster keeps until it is dropped.
    #[must_use]
    pub fn on(database: TestDatabase) -> Self {
        let mut options = Self::at(database.url());
        options.database = Some(database);
        options
    }

    /// On the database at this URL, which the test looks after (an `OwnServer`'s).
    pub fn at(database_url: impl Into<String>) -> Self {
        Self::keeping(Keeping::Postgres(database_url.into()))
    }

    /// No cluster: one process with every role and its embedded database, in a folder that goes with it, as somebody starts it who has nothing
    /// else. Every name of a node and every number means this process, and how many nodes there are to be means nothing.
    #[must_use]
    pub fn embedded() -> Self {
        Self::keeping(Keeping::Embedded)
    }

    const fn keeping(keeping: Keeping) -> Self {
        Self {
            keeping,
            database: None,
            proxies: false,
            binary: None,
            counts: [2, 2, 2],
            settings: Vec::new(),
            clocks: Vec::new(),
        }
    }

    /// How many nodes of each role there are.
    #[must_use]
    pub const fn nodes(mut self, api: usize, gateway: usize, worker: usize) -> Self {
        self.counts = [api, gateway, worker];
        self
    }

    /// The binary: `env!("CARGO_BIN_EXE_switchboard")` where cargo gives it. Without this it is
    /// `target/<profile>/switchboard` of the running test, and has to be built before.
    #[must_use]
    pub fn binary_at(mut self, path: impl Into<PathBuf>) -> Self {
        self.binary = Some(path.into());
        self
    }

    /// A setting for every node, by its key: `setting("gateway.heartbeat_interval", "1s")`.
    #[must_use]
    pub fn setting(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((None, key.into(), value.into()));
        self
    }

    /// A setting for one node, by its name; wins over [`ClusterOptions::setting`].
    #[must_use]
    pub fn setting_of(
        mut self,
        node: impl Into<String>,
        key: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        self.settings.push((Some(node.into()), key.into(), value.into()));
        self
    }

    /// Sets the clock of a node wrong, by an offset such as `+1h`. Only what tells the time of day; pauses take as long as they do.
    #[must_use]
    pub fn wrong_clock(mut self, node: impl Into<String>, offset: impl Into<String>) -> Self {
        self.clocks.push((node.into(), offset.into()));
        self
    }

    /// How far the clock of a node is off.
    pub(super) fn clock_of(&self, node: &str) -> Option<&str> {
        self.clocks.iter().find(|(of, _)| of == node).map(|(_, offset)| offset.as_str())
    }

    /// Puts a fault proxy between each node and the database; [`super::TestCluster::database_of`] gives it.
    #[must_use]
    pub const fn database_through_proxies(mut self) -> Self {
        self.proxies = true;
        self
    }

    pub(super) fn binary(&self) -> PathBuf {
        let binary = self.binary.clone().unwrap_or_else(|| workspace::profile_dir().join("switchboard"));
        assert!(
            binary.is_file(),
            "{} is not there; build it before the tests: cargo build -p switchboard",
            binary.display()
        );
        binary
    }

    pub(super) const fn counts(&self) -> [(Role, usize); 3] {
        let [api, gateway, worker] = self.counts;
        [(Role::Api, api), (Role::Gateway, gateway), (Role::Worker, worker)]
    }

    /// The settings of one node; a later one wins.
    pub(super) fn settings_of<'a>(&'a self, node: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let pick = |own: bool| {
            self.settings
                .iter()
                .filter(move |(of, ..)| of.is_some() == own && of.as_deref().is_none_or(|of| of == node))
                .map(|(_, key, value)| (key.as_str(), value.as_str()))
        };
        pick(false).chain(pick(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nodes_own_setting_comes_last() {
        let options = ClusterOptions::at("postgres://example.com")
            .setting_of("api-1", "http.a", "own")
            .setting("http.a", "all")
            .setting_of("api-2", "http.a", "other");
        assert_eq!(options.settings_of("api-1").collect::<Vec<_>>(), [("http.a", "all"), ("http.a", "own")]);
        assert_eq!(options.settings_of("worker-1").collect::<Vec<_>>(), [("http.a", "all")]);
    }
}
