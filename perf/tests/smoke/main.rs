//! Scenarios with tiny numbers: that they measure, not what.
// Helpers of tests are tests too, but clippy's own exception ends at functions marked `#[test]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

/// Runs a scenario; gives the figures of its table, by what they are of.
fn measured(arguments: &[&str]) -> Vec<(String, String)> {
    let output = Command::new(env!("CARGO_BIN_EXE_perf")).args(arguments).output().expect("perf starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {}\n{told}", output.status);
    let table = String::from_utf8(output.stdout).expect("a table in UTF-8");
    let cells = |line: &str| {
        let (what, figure) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
        Some((what.to_owned(), figure.to_owned()))
    };
    table.lines().skip(2).filter_map(cells).collect()
}

fn figure<'a>(table: &'a [(String, String)], what: &str) -> &'a str {
    let found = table.iter().find(|(row, _)| row.contains(what));
    &found.unwrap_or_else(|| panic!("no {what:?} in {table:#?}")).1
}

#[test]
fn cluster_presence_is_measured() {
    let table = measured(&[
        "presence",
        "--connections",
        "20",
        "--settle",
        "1",
        "--seconds",
        "4",
        "--rare",
        "5",
        "--changes",
        "4",
    ]);
    let rows: f64 = figure(&table, "rows of presence written per second").parse().expect("a number");
    assert!((10.0..=30.0).contains(&rows), "20 connections, a flush a second: {rows}");
    for whose in ["gateway", "PostgreSQL", "worker"] {
        assert!(figure(&table, &format!("presence takes of the {whose}")).contains("of a core"));
    }
    assert!(figure(&table, "gateway_presence after that").contains("KiB"));
    assert!(figure(&table, "idle or back on gateway 1").contains("(8 samples)"));
}

#[test]
fn cluster_hints_are_measured() {
    let table = measured(&[
        "hints",
        "--people",
        "3",
        "--events",
        "10",
        "--rate",
        "10",
        "--seconds",
        "1",
        "--burst",
        "20",
    ]);
    for what in [
        "answered to hint at gateway 2, one at a time",
        "decided by the worker to hint at gateway 2, 10 messages/s",
    ] {
        assert!(figure(&table, what).contains("(10 samples)"));
    }
    let decided = figure(&table, "notifications/s that a worker decides, 20 at once");
    assert!(decided.starts_with(|first: char| ('1'..='9').contains(&first)), "{decided}");
}
