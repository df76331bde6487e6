//! What the test run needs beside cargo: installed where we can, named where we can't.

pub(crate) mod python;

use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use crate::Outcome;
use crate::repo::Repo;
use crate::steps::{passes, say};

/// Makes sure of every tool; the error names all that are missing.
pub(crate) fn prepare(repo: &Repo) -> Outcome {
    let programs = [make(), postgres(), pgbouncer(), nginx(), faketime(), promtool(), nextest()];
    let outcomes = programs.into_iter().chain(python::ALL.map(|tool| tool.install(repo).map(drop)));
    let missing: Vec<String> = outcomes.filter_map(Result::err).collect();
    if missing.is_empty() { Ok(()) } else { Err(missing.join("\n")) }
}

/// The allocator is built from its C sources, with make.
fn make() -> Outcome {
    if on_path("make").is_some() { Ok(()) } else { debian("make", &["make"]) }
}

/// A PostgreSQL whose servers the tests start themselves.
fn postgres() -> Outcome {
    if let Some(initdb) = initdb() {
        say(&format!("PostgreSQL: {}", initdb.display()));
        return Ok(());
    }
    debian("PostgreSQL (initdb is neither on PATH nor under /usr/lib/postgresql/*/bin)", &["postgresql"])?;
    initdb().map(drop).ok_or_else(|| "the package postgresql is installed, but has no initdb".to_owned())
}

fn initdb() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let homes = versions.map(|version| version.path().join("bin/initdb")).filter(|path| path.is_file());
    on_path("initdb").or_else(|| homes.max())
}

/// The pooler that `switchboard doctor` must find; Debian keeps it off the path of most users.
fn pgbouncer() -> Outcome {
    if on_path("pgbouncer").is_some() || Path::new("/usr/sbin/pgbouncer").is_file() {
        return Ok(());
    }
    debian("PgBouncer", &["pgbouncer"])
}

/// The proxy that clusters of tests stand behind; Debian keeps it off the path of most users.
fn nginx() -> Outcome {
    if on_path("nginx").is_some() || Path::new("/usr/sbin/nginx").is_file() {
        return Ok(());
    }
    debian("nginx", &["nginx"])
}

/// What gives a node of a test another clock than the machine's.
fn faketime() -> Outcome {
    if on_path("faketime").is_some() { Ok(()) } else { debian("libfaketime", &["faketime"]) }
}

/// What checks alert rules; Debian has it in the package of the server.
fn promtool() -> Outcome {
    if on_path("promtool").is_some() { Ok(()) } else { debian("promtool (Prometheus)", &["prometheus"]) }
}

fn nextest() -> Outcome {
    if succeeds(Process::new("cargo").args(["nextest", "--version"])) {
        return Ok(());
    }
    say("installing cargo-nextest");
    passes(Process::new("cargo").args(["install", "cargo-nextest", "--locked"]))
        .map_err(|reason| format!("cargo-nextest is missing: {reason}"))
}

/// Installs Debian packages if this is Debian and we are root, else says what is missing.
fn debian(what: &str, packages: &[&str]) -> Outcome {
    let names = packages.join(" ");
    let is_root = rustix::process::geteuid().is_root();
    if on_path("apt-get").is_none() || !is_root {
        let how = format!("install it (on Debian, as root: apt-get install {names})");
        return Err(format!("{what} is missing; {how}, then run this again"));
    }
    say(&format!("installing {names} with apt-get"));
    let apt = |arguments: &[&str]| {
        passes(Process::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").arg("-qq").args(arguments))
    };
    // The list of packages may be old, which does no harm when it has what we need.
    let listed = apt(&["update"]);
    let installed = apt(&[&["install", "--yes", "--no-install-recommends"], packages].concat());
    installed.map_err(|reason| {
        let update = listed.err().map(|reason| format!(" (before that: {reason})")).unwrap_or_default();
        format!("{what} is missing: {reason}{update}")
    })
}

fn on_path(program: &str) -> Option<PathBuf> {
    let directories = std::env::var_os("PATH")?;
    std::env::split_paths(&directories).map(|directory| directory.join(program)).find(|path| path.is_file())
}

fn succeeds(process: &mut Process) -> bool {
    let quiet = process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(on_path("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(on_path("no-such-program"), None);
    }

    #[test]
    fn success_is_told_from_failure_and_absence() {
        assert!(succeeds(&mut Process::new("true")));
        assert!(!succeeds(&mut Process::new("false")));
        assert!(!succeeds(&mut Process::new("no-such-program")));
    }
}
