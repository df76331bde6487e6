//! Rules for text of any kind.

use super::Finding;
use crate::repo::TextFile;

/// En and em dashes: a plain hyphen, a comma or a colon does.
pub(super) fn dashes(file: &TextFile) -> Vec<Finding> {
    let dashed = |line: &str| line.contains(['\u{2013}', '\u{2014}']);
    let lines = file.text.lines().zip(1..).filter(|(line, _)| dashed(line));
    lines.map(|(_, number)| Finding::new(&file.path, number, "has an en or em dash")).collect()
}

/// Paths that exist only on one machine, and package sources other than the public ones.
pub(super) fn foreign_places(file: &TextFile, own_path: &str) -> Vec<Finding> {
    // This file and its neighbours name what they look for.
    if file.path.starts_with("xtask/src/tidy/") {
        return Vec::new();
    }
    let lines = file.text.lines().zip(1..);
    let found = lines.filter_map(|(line, number)| {
        let what = foreign_path(line, own_path).or_else(|| foreign_source(&file.path, line))?;
        Some(Finding::new(&file.path, number, what))
    });
    found.collect()
}

fn foreign_path(line: &str, own_path: &str) -> Option<String> {
    let homes = ["/root/", "/home/", "/Users/"];
    let foreign = homes.into_iter().chain([own_path]).find(|path| mentions(line, path))?;
    Some(format!("names a path of one machine ({foreign})"))
}

/// Whether the path stands in the line as one that begins there, not as the tail of another path or URL.
fn mentions(line: &str, path: &str) -> bool {
    let begins = |at: usize| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '}' | '~'))
    };
    line.match_indices(path).any(|(at, _)| begins(at))
}

/// The public sources that lock files may name.
const SOURCES: [(&str, &str, &str); 3] = [
    ("Cargo.lock", "source = \"", "source = \"registry+https://github.com/rust-lang/crates.io-index\""),
    ("package-lock.json", "\"resolved\": \"", "\"resolved\": \"https://registry.npmjs.org/"),
    ("yarn.lock", "resolved \"", "resolved \"https://registry.yarnpkg.com/"),
];

/// Settings that send package managers elsewhere.
const REDIRECTS: [&str; 6] =
    ["index-url", "replace-with", "[source.", "[registries.", "registry=http", "GOPROXY="];

fn foreign_source(path: &str, line: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    let line = line.trim();
    if let Some((_, start, public)) = SOURCES.iter().find(|(lock, _, _)| *lock == name) {
        let foreign = line.starts_with(start) && !line.starts_with(public);
        return foreign.then(|| format!("takes a package from elsewhere: {line}"));
    }
    let redirect = REDIRECTS.iter().find(|redirect| line.contains(*redirect))?;
    Some(format!("sends a package manager elsewhere ({redirect})"))
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn dashes_are_found_by_line() {
        let findings = dashes(&file("README.md", "a - b\na \u{2013} b\na \u{2014} b\n"));
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2, 3]);
    }

    fn foreign(path: &str, line: &str) -> bool {
        !foreign_places(&file(path, line), "/srv/checkout").is_empty()
    }

    #[test]
    fn machine_paths_are_found() {
        assert!(foreign("docs/a.md", "see /root/notes"));
        assert!(foreign("docs/a.md", "cd \"/home/alex/switchboard\""));
        assert!(foreign("a.rs", "include!(\"/srv/checkout/x.rs\")"));
        assert!(!foreign("docs/a.md", "https://example.com/home/alex"));
        assert!(!foreign("docs/a.md", "~/home/alex and ./root/x and $HOME/x"));
    }

    #[test]
    fn foreign_package_sources_are_found() {
        let index = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        assert!(!foreign("Cargo.lock", index));
        assert!(foreign("Cargo.lock", "source = \"registry+https://mirror.example.com/index\""));
        assert!(foreign("Cargo.lock", "source = \"git+https://example.com/fork\""));
        assert!(!foreign(
            "web/package-lock.json",
            "  \"resolved\": \"https://registry.npmjs.org/a/-/a-1.tgz\","
        ));
        assert!(foreign("web/package-lock.json", "  \"resolved\": \"https://mirror.example.com/a-1.tgz\","));
        assert!(foreign(".cargo/config.toml", "replace-with = \"mirror\""));
        assert!(foreign("run.sh", "pip install --index-url https://mirror.example.com x"));
    }
}
