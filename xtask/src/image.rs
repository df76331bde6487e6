//! The container image: the Dockerfile by hadolint and by rules of ours.
//!
//! What is checked without an engine: that bases are pinned, the last stage is nobody's root, the version of the label is the
//! one of the workspace, and that the build is given every crate.

use std::process::Command as Process;

use crate::Outcome;
use crate::repo::Repo;
use crate::steps::{passes, say};
use crate::tools::python::HADOLINT;

/// Checks the Dockerfile and what goes into its build.
pub(crate) fn check(repo: &Repo) -> Outcome {
    let read = |name: &str| {
        std::fs::read_to_string(repo.root.join(name)).map_err(|error| format!("{name}: {error}"))
    };
    let mut faults = faults(&read("Dockerfile")?, &version(repo)?);
    faults.extend(left_out(&read(".dockerignore")?, &members(repo)));
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    passes(Process::new(HADOLINT.install(repo)?).arg("Dockerfile").current_dir(&repo.root))?;
    say("the image is as it should be");
    Ok(())
}

/// The version of the workspace.
pub(crate) fn version(repo: &Repo) -> Outcome<String> {
    let first = repo.metadata["packages"][0]["version"].as_str();
    first.map(str::to_owned).ok_or_else(|| "cargo metadata has no version".to_owned())
}

/// The topmost directories that have crates in them.
fn members(repo: &Repo) -> Vec<String> {
    let manifests = repo.metadata["packages"].as_array().into_iter().flatten();
    let below = manifests.filter_map(|package| {
        let path = std::path::Path::new(package["manifest_path"].as_str()?).strip_prefix(&repo.root).ok()?;
        Some(path.components().next()?.as_os_str().to_string_lossy().into_owned())
    });
    let mut directories: Vec<String> = below.collect();
    directories.sort();
    directories.dedup();
    directories
}

fn faults(dockerfile: &str, version: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut stages = Vec::new();
    for line in dockerfile.lines().filter(|line| line.starts_with("FROM ")) {
        let image = line.split_whitespace().nth(1).unwrap_or_default();
        if !stages.contains(&image) && !is_pinned(image) {
            faults.push(format!("Dockerfile: the base {image} is not pinned to a version"));
        }
        stages.extend(line.split_whitespace().nth(3));
    }
    let last = dockerfile.rsplit("\nFROM ").next().unwrap_or_default();
    let user = last.lines().rev().find_map(|line| line.strip_prefix("USER "));
    if !user.is_some_and(is_nobody) {
        faults.push("Dockerfile: the last stage has no USER of the form 65532:65532".to_owned());
    }
    if !last.lines().any(|line| line.starts_with("HEALTHCHECK ")) {
        faults.push("Dockerfile: the last stage has no HEALTHCHECK".to_owned());
    }
    if !last.lines().any(|line| line == format!("ARG VERSION={version}")) {
        faults
            .push(format!("Dockerfile: the label's VERSION is not {version}, the version of the workspace"));
    }
    faults
}

/// Whether an image is named with the version of what is in it: `debian:12.12-slim`, `postgres:17.7-bookworm`.
pub(crate) fn is_pinned(image: &str) -> bool {
    let tag = image.rsplit_once(':').map(|(_, tag)| tag.trim_start_matches('v')).unwrap_or_default();
    let number = tag.split('-').next().unwrap_or_default();
    let parts: Vec<&str> = number.split('.').collect();
    parts.len() >= 2 && parts.iter().all(|part| part.parse::<u32>().is_ok())
}

/// Whether a user is given by numbers, and is not root.
pub(crate) fn is_nobody(user: &str) -> bool {
    let mut numbers = user.splitn(2, ':').map(str::parse::<u32>);
    let user = numbers.next().is_some_and(|number| number.is_ok_and(|number| number != 0));
    user && numbers.next().is_some_and(|group| group.is_ok())
}

/// What an allow list does not let into the build.
fn left_out(ignore: &str, directories: &[String]) -> Vec<String> {
    let taken = |name: &str| ignore.lines().any(|line| line.strip_prefix('!') == Some(name));
    let needed = directories.iter().map(String::as_str).chain(["Cargo.toml", "Cargo.lock", "migrations"]);
    needed
        .filter(|name| !taken(name))
        .map(|name| format!(".dockerignore: the build of the image needs {name}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "FROM rust:1.95.0-slim AS build\nRUN make\n\nFROM debian:12.12-slim\nUSER 65532:65532\n\
                        HEALTHCHECK CMD [\"x\"]\nARG VERSION=0.1.0\n";

    #[test]
    fn each_rule_finds_its_breach() {
        assert_eq!(faults(GOOD, "0.1.0"), [""; 0]);
        for (from, to, part) in [
            ("debian:12.12-slim", "debian:bookworm-slim", "debian:bookworm-slim is not pinned"),
            ("rust:1.95.0-slim", "rust", "rust is not pinned"),
            ("USER 65532:65532", "USER 0:0", "no USER"),
            ("USER 65532:65532", "USER nobody", "no USER"),
            ("HEALTHCHECK", "LABEL", "no HEALTHCHECK"),
            ("VERSION=0.1.0", "VERSION=0.2.0", "is not 0.1.0"),
        ] {
            let found = faults(&GOOD.replace(from, to), "0.1.0");
            assert!(found.len() == 1 && found[0].contains(part), "{to}: {found:?}");
        }
        let above = GOOD.replace("USER 65532:65532\n", "").replace("RUN make", "USER 65532:65532");
        assert_eq!(faults(&above, "0.1.0").len(), 1, "a user of another stage is none of the last one");
    }

    #[test]
    fn what_the_build_needs_must_be_let_in() {
        let ignore = "*\n!Cargo.toml\n!Cargo.lock\n!libs\n!migrations\n";
        assert_eq!(left_out(ignore, &["libs".to_owned()]), [""; 0]);
        let missing = left_out(ignore, &["libs".to_owned(), "bins".to_owned()]);
        assert!(missing.len() == 1 && missing[0].contains("needs bins"), "{missing:?}");
    }
}
