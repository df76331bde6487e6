//! Settings: defaults, then a TOML file, then the environment, then flags; the last one wins.
//!
//! Terms: a *key* is the dotted path of one setting (`gateway.max_frame`), a *source* is where its
//! value came from. The type `S` that is loaded is the list of known keys: its `Default`, written out, is a
//! tree, and a key that is not in the tree stops the start with the nearest key that is. Below a
//! value that defaults to an empty table anything goes, and `S` itself decides.
//!
//! Environment variables are `SWITCHBOARD__SECTION__KEY` ([`PREFIX`]); a setting that is a list takes
//! comma separated text there and in flags; empty text for a setting that is unset by default
//! leaves it unset, so that `${NAME:-}` in a compose file does no harm.
//!
//! Behind every key `_file` names a file that holds the value (`SWITCHBOARD__DATABASE__PASSWORD_FILE`,
//! `database.password_file`), so that a secret need not stand in the environment.
//!
//! Values of keys that look like secrets, that came from such a file, or that name a user before an `@`, are never shown
//! in an error.

mod content;
mod error;
mod page;
mod tree;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use error::{SettingsError, Source};
pub use page::{missing_in_page, unknown_in_page};
use tree::{Known, Tree};

/// What every environment variable that is a setting begins with.
pub const PREFIX: &str = "SWITCHBOARD__";

/// What a variable begins with that was meant to be a setting and lacks an underscore.
const NEARLY: &str = "SWITCHBOARD_";

/// The environment variable that names the configuration file when `--config` does not.
pub const FILE_VARIABLE: &str = "SWITCHBOARD_CONFIG";

/// Collects the sources of settings, then loads them into a type.
///
/// ```
/// # #[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
/// # #[serde(default, deny_unknown_fields)]
/// # struct Settings { log: process::telemetry::LogSettings }
/// let loaded = process::settings::Loader::new()
///     .environment([("SWITCHBOARD__LOG__FORMAT", "json")])
///     .flag("log.filter", "warn")
///     .load::<Settings>()?;
/// assert_eq!(loaded.settings.log.filter, "warn");
/// # Ok::<(), process::settings::SettingsError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Loader {
    file: Option<(PathBuf, &'static str)>,
    variables: Vec<(String, String)>,
    flags: Vec<(String, String)>,
    lists: Vec<&'static str>,
}

impl Loader {
    /// A loader without any source: loads the defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A loader with the environment of this process, and the file that [`FILE_VARIABLE`] names.
    #[must_use]
    pub fn of_process() -> Self {
        let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
        let loader =
            Self::new().environment(std::env::vars_os().map(|(name, value)| (text(name), text(value))));
        match std::env::var_os(FILE_VARIABLE).filter(|path| !path.is_empty()) {
            Some(path) => Self { file: Some((path.into(), FILE_VARIABLE)), ..loader },
            None => loader,
        }
    }

    /// Reads this file, which `--config` named; `None` keeps the one of the environment.
    #[must_use]
    pub fn file(self, path: Option<&Path>) -> Self {
        match path {
            Some(path) => Self { file: Some((path.to_owned(), "--config")), ..self },
            None => self,
        }
    }

    /// Adds environment variables; those that do not begin with [`PREFIX`] are left alone, but for those that were meant
    /// to: `SWITCHBOARD_HTTP__LISTEN` is refused by [`Loader::load`].
    #[must_use]
    pub fn environment<K: Into<String>, V: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.variables.extend(variables.filter(|(name, _)| name.starts_with(NEARLY)));
        self
    }

    /// Sets one key from the command line.
    #[must_use]
    pub fn flag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.flags.push((key.into(), value.into()));
        self
    }

    /// Sets several keys from the command line, in order.
    #[must_use]
    pub fn flags<K: Into<String>, V: Into<String>>(
        mut self,
        flags: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.flags.extend(flags.into_iter().map(|(key, value)| (key.into(), value.into())));
        self
    }

    /// Names keys that take a list although they are unset by default. Keys whose default is a list
    /// need not be named.
    #[must_use]
    pub fn lists(mut self, keys: impl IntoIterator<Item = &'static str>) -> Self {
        self.lists.extend(keys);
        self
    }

    /// Loads the settings.
    ///
    /// # Errors
    ///
    /// A file that can't be read or is no TOML, an unknown key, a variable that lacks an underscore, a value that its key
    /// does not take, a key that is set and read from a file at once.
    pub fn load<S: Default + Serialize + DeserializeOwned>(&self) -> Result<Loaded<S>, SettingsError> {
        let known = Known::of::<S>(&self.lists)?;
        let mut tree = Tree::default();
        if let Some((path, named_by)) = &self.file {
            tree.add_file(path, named_by, &known)?;
        }
        for (name, value) in &self.variables {
            let Some(path) = name.strip_prefix(PREFIX) else {
                if nearly_a_setting(name, &known) {
                    let meant = name.replacen(NEARLY, PREFIX, 1);
                    return Err(SettingsError::NearlyASetting { name: name.clone(), meant });
                }
                continue;
            };
            let key = path.to_lowercase().replace("__", ".");
            tree.add_text(&key, value, Source::Variable(name.clone()), &known)?;
        }
        for (key, value) in &self.flags {
            tree.add_text(key, value, Source::Flag(key.clone()), &known)?;
        }
        let settings = tree.read(&known)?;
        Ok(Loaded { settings, tree, known })
    }
}

/// Whether a variable names a section and something in it, as settings do, behind one underscore instead of two.
fn nearly_a_setting(name: &str, known: &Known) -> bool {
    let path = name.strip_prefix(NEARLY).and_then(|rest| rest.split_once("__"));
    path.is_some_and(|(section, _)| known.has_section(&section.to_lowercase()))
}

/// Settings, and where each of them came from.
#[derive(Debug)]
pub struct Loaded<S> {
    /// The settings.
    pub settings: S,
    tree: Tree,
    known: Known,
}

impl<S> Loaded<S> {
    /// Where the value of `key` came from.
    #[must_use]
    pub fn source(&self, key: &str) -> Source {
        self.tree.source(key)
    }

    /// The error for a value that is good alone but not beside the others: names the key, its value,
    /// its source, and what is allowed. Other keys that `allowed` names are told with value and source, if somebody set
    /// them: it may be they that have to change.
    #[must_use]
    pub fn refuse(&self, key: &str, allowed: impl Into<String>) -> SettingsError {
        self.tree.refuse(key, allowed.into(), &self.known)
    }
}

/// Every key of `S` with its default as text (empty: unset), sorted by key.
///
/// # Errors
///
/// When the default of `S` can't be written out, or is no structure of named fields.
pub fn reference<S: Default + Serialize>() -> Result<Vec<(String, String)>, SettingsError> {
    Ok(Known::of::<S>(&[])?.reference())
}

#[cfg(test)]
mod tests;
