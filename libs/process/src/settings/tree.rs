//! The tree of known keys, and the tree of given values with their sources.

use std::collections::BTreeMap;
use std::path::Path;

use config::{Config, FileFormat, Value, ValueKind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::content;
use super::error::{SettingsError, Source};

/// The keys that a settings type has, with their defaults.
#[derive(Debug)]
pub(super) struct Known {
    leaves: Vec<(String, Json)>,
    lists: Vec<&'static str>,
}

impl Known {
    pub(super) fn of<S: Default + Serialize>(lists: &[&'static str]) -> Result<Self, SettingsError> {
        let defaults =
            serde_json::to_value(S::default()).map_err(|e| SettingsError::Defaults(e.to_string()))?;
        if !defaults.is_object() {
            return Err(SettingsError::Defaults("no structure of named fields".to_owned()));
        }
        let mut leaves = Vec::new();
        flatten("", &defaults, &mut leaves);
        Ok(Self { leaves, lists: lists.to_vec() })
    }

    pub(super) fn reference(&self) -> Vec<(String, String)> {
        self.leaves.iter().map(|(key, default)| (key.clone(), shown(default))).collect()
    }

    fn default_of(&self, key: &str) -> Option<&Json> {
        self.leaves.iter().find(|(leaf, _)| leaf == key).map(|(_, default)| default)
    }

    /// Whether `key` is a leaf, or lies below one that takes whatever its type takes.
    fn takes(&self, key: &str) -> bool {
        self.default_of(key).is_some()
            || self.leaves.iter().any(|(leaf, default)| {
                let open = default.is_null() || default.as_object().is_some_and(serde_json::Map::is_empty);
                open && key.strip_prefix(leaf.as_str()).is_some_and(|rest| rest.starts_with('.'))
            })
    }

    /// Whether keys begin with this and a dot.
    pub(super) fn has_section(&self, section: &str) -> bool {
        let within = |leaf: &str| leaf.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
        self.leaves.iter().any(|(leaf, _)| within(leaf))
    }

    fn is_list(&self, key: &str) -> bool {
        self.lists.contains(&key) || self.default_of(key).is_some_and(Json::is_array)
    }

    fn nearest(&self, key: &str) -> Option<String> {
        let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
        let scored = self.leaves.iter().map(|(leaf, _)| {
            // A right name in the wrong section is as near as one typing error.
            let score = if last(leaf) == last(key) { 1 } else { distance(leaf, key) };
            (score, leaf)
        });
        scored.min().filter(|(score, _)| *score <= 2.max(key.len() / 4)).map(|(_, leaf)| leaf.clone())
    }

    fn check(&self, key: &str, source_of: &Source) -> Result<(), SettingsError> {
        if self.takes(key) {
            return Ok(());
        }
        let nearest = match key.strip_suffix(content::SUFFIX) {
            Some(of) => self.nearest(of).map(|nearest| nearest + content::SUFFIX),
            None => self.nearest(key),
        };
        Err(SettingsError::UnknownKey { key: key.to_owned(), source_of: source_of.clone(), nearest })
    }

    /// The key whose value is in the file that `key` names.
    fn held_by_file<'a>(&self, key: &'a str) -> Option<&'a str> {
        let of = key.strip_suffix(content::SUFFIX).filter(|_| !self.takes(key))?;
        self.default_of(of).is_some_and(|default| !default.is_object()).then_some(of)
    }

    /// Whether the value of `key` must not be shown. Numbers, switches and durations are no secrets,
    /// whatever their key is called (`auth.access_token_ttl`).
    fn is_secret(&self, key: &str) -> bool {
        let named = key.starts_with("secrets.")
            || ["password", "token", "url", "secret", "dsn", "endpoint"]
                .iter()
                .any(|word| key.to_lowercase().contains(word));
        let harmless = match self.default_of(key) {
            Some(Json::Number(_) | Json::Bool(_)) => true,
            Some(Json::String(text)) => {
                text.starts_with(|c: char| c.is_ascii_digit()) && domain::duration::parse(text).is_ok()
            }
            _ => false,
        };
        named && !harmless
    }

    /// What `key` takes, as far as its default tells.
    fn allowed(&self, key: &str) -> &'static str {
        match self.default_of(key) {
            Some(Json::Bool(_)) => "true or false",
            Some(Json::Number(_)) => "a number",
            Some(Json::Array(_)) => "a list",
            Some(Json::Object(_)) => "a table",
            _ => "text of the form described in docs/configuration.md",
        }
    }
}

/// The values that were given, each with its source. Later ones replace earlier ones.
#[derive(Debug, Default)]
pub(super) struct Tree {
    values: BTreeMap<String, (Json, Source)>,
}

impl Tree {
    pub(super) fn add_file(
        &mut self,
        path: &Path,
        named_by: &'static str,
        known: &Known,
    ) -> Result<(), SettingsError> {
        let text = std::fs::read_to_string(path).map_err(|reason| SettingsError::Unreadable {
            path: path.to_owned(),
            named_by,
            reason,
        })?;
        let parsed = Config::builder()
            .add_source(config::File::from_str(&text, FileFormat::Toml))
            .build()
            .and_then(Config::try_deserialize::<Json>)
            .map_err(|error| SettingsError::Syntax {
                path: path.to_owned(),
                reason: without_the_line(&error.to_string()),
            })?;
        let mut leaves = Vec::new();
        flatten("", &parsed, &mut leaves);
        let source = Source::File(path.to_owned());
        for (key, value) in leaves {
            // An empty section sets nothing.
            let is_empty = value.as_object().is_some_and(serde_json::Map::is_empty);
            if key.is_empty() || (is_empty && known.has_section(&key)) {
                continue;
            }
            if known.held_by_file(&key).is_some() {
                let Json::String(named) = &value else {
                    // It may be the secret, in the wrong place.
                    let (given, allowed) = ("what is no text".to_owned(), "the path of a file".to_owned());
                    return Err(SettingsError::BadValue { key, given, source_of: source, allowed });
                };
                self.add_text(&key, named, source.clone(), known)?;
                continue;
            }
            known.check(&key, &source)?;
            self.insert(key, value, source.clone())?;
        }
        Ok(())
    }

    pub(super) fn add_text(
        &mut self,
        key: &str,
        text: &str,
        source: Source,
        known: &Known,
    ) -> Result<(), SettingsError> {
        if let Some(of) = known.held_by_file(key) {
            // As `${NAME:-}` leaves it.
            if text.is_empty() {
                return Ok(());
            }
            let path = Path::new(text);
            let content = content::read(of, path, &source)?;
            let source = Source::Content { path: path.to_owned(), named_by: Box::new(source) };
            return self.add_text(of, &content, source, known);
        }
        known.check(key, &source)?;
        let value = if known.is_list(key) {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Json::Array(items.map(|item| Json::String(item.to_owned())).collect())
        } else if text.is_empty() && known.default_of(key).is_some_and(Json::is_null) {
            Json::Null
        } else {
            Json::String(text.to_owned())
        };
        self.insert(key.to_owned(), value, source)
    }

    /// A later value replaces what an earlier source put at the same key, below it, or above it.
    fn insert(&mut self, key: String, value: Json, source: Source) -> Result<(), SettingsError> {
        if let Some((_, first)) = self.values.get(&key)
            && first.is_beside(&source)
            && (first.is_content() || source.is_content())
        {
            return Err(SettingsError::Twice { key, first: first.clone(), second: source });
        }
        let related = |other: &str| {
            let below = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('.'));
            below(other, &key) || below(&key, other)
        };
        self.values.retain(|other, (_, from)| *from == source || !related(other));
        self.values.insert(key, (value, source));
        Ok(())
    }

    pub(super) fn source(&self, key: &str) -> Source {
        self.values.get(key).map_or(Source::Default, |(_, source)| source.clone())
    }

    /// Whether the value of `key` must not be shown. What is kept in a file of its own is a secret, and what names somebody
    /// before an `@` may hold their password, whatever the key.
    fn is_secret(&self, key: &str, known: &Known) -> bool {
        let names_somebody = |(value, _): &(Json, Source)| holds_login(&shown(value));
        known.is_secret(key)
            || self.source(key).is_content()
            || self.values.get(key).is_some_and(names_somebody)
    }

    /// The value of `key` as it may be shown; none for a secret.
    fn given(&self, key: &str, known: &Known) -> Option<String> {
        let value = self.values.get(key).map(|(value, _)| value).or_else(|| known.default_of(key));
        let text = value.map(shown).unwrap_or_default();
        // Nothing is no secret, and what is wrong with it must be seen.
        (text.is_empty() || !self.is_secret(key, known)).then(|| format!("{text:?}"))
    }

    pub(super) fn refuse(&self, key: &str, allowed: String, known: &Known) -> SettingsError {
        let given =
            self.given(key, known).unwrap_or_else(|| "its value (not shown, it may be a secret)".to_owned());
        let others = self.others_in(&allowed, key, known);
        let allowed = allowed + &others;
        SettingsError::BadValue { key: key.to_owned(), given, source_of: self.source(key), allowed }
    }

    /// The keys beside `key` that `allowed` names and somebody set: it may be they that have to change.
    fn others_in(&self, allowed: &str, key: &str, known: &Known) -> String {
        let no_part_of_keys = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
        let words: Vec<&str> = allowed.split(no_part_of_keys).map(|word| word.trim_matches('.')).collect();
        let others = self.values.iter().filter(|(other, _)| *other != key && words.contains(&other.as_str()));
        let told = others.map(|(other, (_, source))| match self.given(other, known) {
            Some(given) => format!("; {other} is {given} in {source}"),
            None => format!("; {other} is set in {source}"),
        });
        told.collect()
    }

    /// Lays the values over the defaults and reads the settings out of the whole.
    pub(super) fn read<S: DeserializeOwned>(&self, known: &Known) -> Result<S, SettingsError> {
        let defaults = known.leaves.iter().map(|(key, value)| (key, value));
        let given = self.values.iter().map(|(key, (value, _))| (key, value));
        let mut whole = Json::Object(serde_json::Map::new());
        for (key, value) in defaults.chain(given) {
            place(&mut whole, key, value.clone());
        }
        // The deserializer of `config` turns text into numbers and switches; serde's own says better
        // what is allowed, so its message is taken when it stumbles over the same key.
        let error = match serde_path_to_error::deserialize(config_value(&whole)) {
            Ok(settings) => return Ok(settings),
            Err(error) => error,
        };
        let key = key_of(error.path());
        let same_key = |other: &serde_path_to_error::Error<serde_json::Error>| key_of(other.path()) == key;
        let reason = match serde_path_to_error::deserialize::<_, S>(whole) {
            Err(other) if same_key(&other) => other.inner().to_string(),
            _ => error.inner().to_string(),
        };
        let allowed =
            if self.is_secret(&key, known) { known.allowed(&key).to_owned() } else { allowed_in(&reason) };
        Err(self.refuse(&key, allowed, known))
    }
}

/// The part of a serde message that says what is allowed; the value before it is shown already.
fn allowed_in(reason: &str) -> String {
    if reason.contains("invalid socket address") {
        return "an address with a port, such as 127.0.0.1:8080 or [::]:8080".to_owned();
    }
    let allowed = ["allowed is ", ", expected "].iter().find_map(|mark| reason.split_once(mark));
    match allowed.map(|(_, allowed)| allowed) {
        Some("u16") => format!("a whole number from 0 to {}", u16::MAX),
        Some("u32") => format!("a whole number from 0 to {}", u32::MAX),
        Some("u64" | "usize") => "a whole number from 0".to_owned(),
        Some("f64") => "a number".to_owned(),
        Some(other) => other.to_owned(),
        None => format!("something else ({reason})"),
    }
}

/// The dotted key of a path, without the index into a list.
fn key_of(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let names = path.iter().map_while(|segment| match segment {
        Segment::Map { key } => Some(key.as_str()),
        Segment::Enum { .. } | Segment::Seq { .. } | Segment::Unknown => None,
    });
    names.collect::<Vec<_>>().join(".")
}

fn flatten(prefix: &str, value: &Json, leaves: &mut Vec<(String, Json)>) {
    match value {
        Json::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&key, value, leaves);
            }
        }
        leaf => leaves.push((prefix.to_owned(), leaf.clone())),
    }
}

fn place(tree: &mut Json, key: &str, value: Json) {
    let (name, rest) = key.split_once('.').map_or((key, None), |(name, rest)| (name, Some(rest)));
    if !tree.is_object() {
        *tree = Json::Object(serde_json::Map::new());
    }
    let Json::Object(fields) = tree else { return };
    match rest {
        None => drop(fields.insert(name.to_owned(), value)),
        Some(rest) => place(fields.entry(name).or_insert(Json::Null), rest, value),
    }
}

fn config_value(json: &Json) -> Value {
    let kind = match json {
        Json::Null => ValueKind::Nil,
        Json::Bool(switch) => ValueKind::Boolean(*switch),
        Json::String(text) => ValueKind::String(text.clone()),
        Json::Number(number) => number
            .as_i64()
            .map(ValueKind::I64)
            .or_else(|| number.as_u64().map(ValueKind::U64))
            .or_else(|| number.as_f64().map(ValueKind::Float))
            .unwrap_or(ValueKind::Nil),
        Json::Array(items) => ValueKind::Array(items.iter().map(config_value).collect()),
        Json::Object(fields) => {
            ValueKind::Table(fields.iter().map(|(name, value)| (name.clone(), config_value(value))).collect())
        }
    };
    Value::new(None, kind)
}

/// A value as people write it in the environment.
fn shown(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// Whether a text has a user and perhaps a password before an `@`, as in `https://alex:hunter2@example.com`. An address of
/// mail has not.
fn holds_login(text: &str) -> bool {
    let before = text.rsplit_once('@').map(|(before, _)| before.strip_prefix("mailto:").unwrap_or(before));
    before.is_some_and(|before| before.contains(':'))
}

/// First line (the position) and last line (the reason) of a TOML error; what is between shows the
/// line of the file, which may hold a secret.
fn without_the_line(error: &str) -> String {
    let mut lines = error.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    lines.next_back().map_or_else(|| first.to_owned(), |last| format!("{first}: {last}"))
}

/// How many single-character changes turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
