//! Dependencies point down only, crates of one layer never import each other, and none is there unused.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value as Json;

use crate::Outcome;
use crate::repo::{Repo, TextFile};
use crate::steps::say;

/// Every crate of the workspace with its layer. A new crate is placed here first.
const LAYERS: [(&str, u8); 23] = [
    ("domain", 0),
    ("protocol", 0),
    ("localpg", 0),
    ("trace", 0),
    ("store", 1),
    ("auth", 1),
    ("cluster", 1),
    ("outbound", 1),
    ("process", 1),
    ("realtime", 2),
    ("operations", 2),
    ("client", 2),
    ("push", 2),
    // What all roles share lies between the libraries and the roles (docs/adr/0009).
    ("node", 3),
    // Agents that come with the product: clients like any other.
    ("bridge", 3),
    ("switchboard-api", 4),
    ("switchboard-gateway", 4),
    ("switchboard-worker", 4),
    ("switchboard", 5),
    ("testkit", DEV),
    ("perf", TOP),
    ("switchboard-perf", TOP),
    ("xtask", TOP),
];

/// For tests only: nobody's normal dependency.
const DEV: u8 = 6;

/// Above everything: drives it, and is imported by nobody.
const TOP: u8 = 7;

/// Edges within a layer that are allowed.
const BESIDE: [(&str, &str); 2] = [("auth", "store"), ("operations", "realtime")];

/// Whom these import at most, whatever their layer would allow.
const ONLY: [(&str, &[&str]); 5] = [
    ("domain", &[]),
    ("localpg", &[]),
    ("trace", &[]),
    ("process", &["domain", "trace"]),
    ("xtask", &["domain", "testkit"]),
];

/// The layer from which on a crate may use `process`: roles are supervised, libraries give back futures.
const SUPERVISED_FROM: u8 = 3;

/// A dependency of one crate of ours on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Dev,
}

/// Checks layers and unused dependencies of every crate.
pub(crate) fn check(repo: &Repo) -> Outcome {
    let packages = repo.metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut wrong: Vec<String> = names.iter().filter_map(|name| unplaced(name)).collect();
    let mut edges = 0;
    for (package, from) in packages.iter().zip(&names) {
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let Some(to) = dependency["name"].as_str().filter(|to| names.contains(to)) else { continue };
            let kind = if dependency["kind"] == "dev" { Kind::Dev } else { Kind::Normal };
            edges += 1;
            wrong.extend(refusal(Edge { from, to, kind }));
        }
    }
    wrong.extend(unused(repo, packages)?);
    if wrong.is_empty() {
        say(&format!(
            "{} crates, {edges} edges between them, all pointing down, no dependency unused",
            names.len()
        ));
        return Ok(());
    }
    Err(wrong.join("\n"))
}

fn layer(name: &str) -> Option<u8> {
    LAYERS.iter().find(|(known, _)| *known == name).map(|(_, layer)| *layer)
}

fn unplaced(name: &str) -> Option<String> {
    layer(name).is_none().then(|| format!("{name} has no layer: place it in LAYERS (xtask/src/layers.rs)"))
}

/// Why this edge may not be.
fn refusal(edge: Edge<'_>) -> Option<String> {
    let Edge { from, to, kind } = edge;
    let (above, below) = (layer(from)?, layer(to)?);
    let refuse = |why: String| Some(format!("{from} may not use {to}: {why}"));
    if to == "testkit" {
        let dev = kind == Kind::Dev || above == TOP;
        return if dev { None } else { refuse("it is for tests, so for [dev-dependencies]".to_owned()) };
    }
    // Tests may start a database of their own.
    if to == "localpg" && kind == Kind::Dev {
        return None;
    }
    if let Some((_, only)) = ONLY.iter().find(|(name, _)| *name == from)
        && !only.contains(&to)
    {
        return refuse(format!(
            "it imports {} of ours",
            if only.is_empty() { "nothing".to_owned() } else { format!("only {}", only.join(", ")) }
        ));
    }
    if to == "process" && above < SUPERVISED_FROM {
        return refuse(
            "libraries take a registry and a token, and give back futures; roles supervise".to_owned(),
        );
    }
    if below == above && !BESIDE.contains(&(from, to)) {
        return refuse(format!("both are of layer {above}"));
    }
    (below > above)
        .then(|| format!("{from} (layer {above}) may not use {to} (layer {below}): dependencies point down"))
}

/// Dependencies that no source of their crate names.
fn unused(repo: &Repo, packages: &[Json]) -> Outcome<Vec<String>> {
    let files = repo.text_files()?;
    let mut wrong = Vec::new();
    for package in packages {
        let home = package["manifest_path"]
            .as_str()
            .and_then(|path| Path::new(path).parent())
            .ok_or("a package without a path")?;
        let home = home.strip_prefix(&repo.root).map_err(|e| e.to_string())?.to_string_lossy().into_owned();
        let mut names = BTreeMap::new();
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let name = dependency["rename"].as_str().or(dependency["name"].as_str()).unwrap_or_default();
            names.insert(name, library(packages, name));
        }
        let sources: Vec<&TextFile> = files
            .iter()
            .filter(|file| file.path.starts_with(&format!("{home}/")) && file.is_rust())
            .collect();
        let silent =
            names.iter().filter(|(_, library)| !sources.iter().any(|file| uses(&file.text, library)));
        wrong.extend(silent.map(|(name, _)| format!("{home}/Cargo.toml: {name} is not used")));
    }
    Ok(wrong)
}

/// The name by which code uses a dependency: of ours the library's, else the package's own.
fn library(packages: &[Json], name: &str) -> String {
    let of_ours = packages.iter().find(|package| package["name"] == name);
    let targets = of_ours.and_then(|package| package["targets"].as_array()).into_iter().flatten();
    let library = targets
        .into_iter()
        .find(|target| target["kind"][0] == "lib")
        .and_then(|target| target["name"].as_str());
    library.unwrap_or(name).replace('-', "_")
}

/// Whether the name stands in the source as a word of its own. A mention in a comment is enough: this
/// shall find what nobody uses, not judge how it is used.
fn uses(source: &str, name: &str) -> bool {
    let part_of_a_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    source.match_indices(name).any(|(at, _)| {
        let (before, after) = (&source[..at], &source[at + name.len()..]);
        !part_of_a_word(before.chars().next_back()) && !part_of_a_word(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(from: &str, to: &str, kind: Kind) -> bool {
        refusal(Edge { from, to, kind }).is_some()
    }

    #[test]
    fn edges_point_down() {
        for (from, to) in [
            ("store", "domain"),
            ("operations", "store"),
            ("switchboard-api", "process"),
            ("node", "process"),
            ("switchboard-api", "node"),
            ("switchboard", "switchboard-api"),
        ] {
            assert!(!refused(from, to, Kind::Normal), "{from} -> {to}");
        }
        for (from, to) in [
            ("domain", "store"),
            ("store", "operations"),
            ("switchboard-api", "switchboard"),
            ("node", "switchboard-api"),
            ("operations", "node"),
            ("cluster", "xtask"),
        ] {
            assert!(refused(from, to, Kind::Normal) && refused(from, to, Kind::Dev), "{from} -> {to}");
        }
    }

    #[test]
    fn crates_of_one_layer_stay_apart_but_for_two_edges() {
        for (from, to) in [("auth", "store"), ("operations", "realtime")] {
            assert!(!refused(from, to, Kind::Normal), "{from} -> {to}");
            assert!(refused(to, from, Kind::Normal), "{to} -> {from}");
        }
        for (from, to) in [
            ("cluster", "store"),
            ("realtime", "client"),
            ("switchboard-api", "switchboard-worker"),
            ("protocol", "domain"),
        ] {
            assert!(refused(from, to, Kind::Normal), "{from} -> {to}");
        }
    }

    #[test]
    fn libraries_do_not_use_process_and_tests_alone_use_the_testkit() {
        assert!(refused("operations", "process", Kind::Normal));
        assert!(refused("process", "protocol", Kind::Normal));
        assert!(!refused("process", "domain", Kind::Normal));
        assert!(!refused("store", "testkit", Kind::Dev));
        assert!(refused("store", "testkit", Kind::Normal));
        assert!(!refused("testkit", "localpg", Kind::Normal));
        assert!(refused("localpg", "domain", Kind::Normal));
        assert!(!refused("switchboard", "localpg", Kind::Normal));
    }

    #[test]
    fn a_crate_without_a_layer_is_found() {
        assert!(unplaced("newcomer").is_some_and(|text| text.contains("LAYERS")));
        assert_eq!(unplaced("domain"), None);
    }

    #[test]
    fn names_count_as_words() {
        assert!(uses("use serde::Serialize;", "serde"));
        assert!(!uses("use serde_json::Value;", "serde"));
        assert!(!uses("let observer = 1;", "serve"));
    }
}
