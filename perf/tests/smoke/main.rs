//! Every scenario with tiny numbers on one cluster: that they measure, not what.
// Helpers of tests are tests too, but clippy's own exception ends at functions marked `#[test]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod ending;

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

fn perf(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_perf")).args(arguments).output().expect("perf starts")
}

/// Every number of a result: figures by their name, latencies as their count of samples.
fn numbers(result: &Value) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for outcome in result["scenarios"].as_array().expect("scenarios") {
        let scenario = outcome["scenario"].as_str().expect("a name");
        for (kind, number) in [("figures", "value"), ("latencies", "samples")] {
            for one in outcome[kind].as_array().expect("a list") {
                let name = one["name"].as_str().expect("a name");
                all.insert(format!("{scenario}.{name}"), one[number].as_f64().expect("a number"));
            }
        }
    }
    all
}

/// A table without what aligns its columns.
fn in_one_space(told: &[u8]) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    String::from_utf8_lossy(told).lines().map(words).collect::<Vec<_>>().join("\n")
}

#[test]
fn cluster_every_scenario_measures() {
    let results = tempfile::tempdir().expect("a directory");
    let output = perf(&["smoke", "--results", results.path().to_str().expect("a path in UTF-8")]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{told}", output.status);
    let files: Vec<_> =
        fs::read_dir(results.path()).expect("read").map(|file| file.expect("a file").path()).collect();
    let of = |ending: &str| {
        files.iter().filter(|file| file.to_string_lossy().ends_with(ending)).collect::<Vec<_>>()
    };
    let [result] = of(".json")[..] else { panic!("one result: {files:?}\n{told}") };
    let result: Value = serde_json::from_slice(&fs::read(result).expect("read")).expect("JSON");
    assert_eq!(result["scenarios"].as_array().map(Vec::len), Some(12));
    assert!(result["machine"]["cores"].as_u64() > Some(0));
    assert!(
        result["versions"]["switchboard"].as_str().is_some_and(|version| version.starts_with("switchboard"))
    );
    let numbers = numbers(&result);
    // How much each counted is known beforehand.
    for (name, exactly) in [
        ("gateway_fanout.switchboard.one_at_a_time", 9.0),
        ("gateway_fanout.switchboard.steady", 150.0),
        ("gateway_fanout.echo.one_at_a_time", 10.0),
        ("gateway_fanout_multi.switchboard.steady", 150.0),
        ("gateway_fanout_multi.bare.steady", 150.0),
        ("gateway_fanout_multi.bare.late_or_lost", 0.0),
        ("live_box.at_rest", 3.0),
        ("live_box.steady", 40.0),
        ("tools.socket", 9.0),
        ("tools.rest", 9.0),
        ("notify.g2.r50.ack", 50.0),
        ("notify.g2.r50.unacknowledged", 0.0),
        ("presence_writes.c10.seen", 4.0),
        ("hints.at_rest.answered", 10.0),
        ("hints.steady.decided", 10.0),
        ("tasks.switchboard.started", 50.0),
        ("reconnect_storm.back", 20.0),
        ("reconnect_storm.not_back", 0.0),
        ("rolling_restart.lost", 0.0),
        ("rolling_restart.doubled", 0.0),
    ] {
        assert_eq!(numbers.get(name), Some(&exactly), "{name}: {numbers:#?}\n{told}");
    }
    for name in [
        "gateway_fanout.switchboard.cpu.total",
        "gateway_fanout.echo.per_second",
        "gateway_fanout_multi.switchboard.cpu.load",
        "sends.combined.s4.rate",
        "sends.combined.s4.batch",
        "sends.bare.b8.rate",
        "notify.g2.r50.appends",
        "notify.bare.notify.w2",
        "hints.burst.decided",
        "tasks.switchboard.rate",
        "reconnect_storm.database_sessions",
        "rolling_restart.delivery",
    ] {
        assert!(numbers.get(name).is_some_and(|number| *number > 0.0), "{name}: {numbers:#?}\n{told}");
    }
    // So few find room in what the gateway has already.
    assert!(numbers.contains_key("idle_connections.c20.bytes"), "{numbers:#?}\n{told}");
    let rows = numbers["presence_writes.c10.rows"];
    assert!((5.0..=40.0).contains(&rows), "10 connections and a few more, a flush a second: {rows}");
    // Whatever has latencies is drawn.
    assert!(of(".gateway_fanout_multi.svg").len() == 1 && of(".rolling_restart.svg").len() == 1, "{files:?}");
    let table = String::from_utf8(output.stdout).expect("tables in UTF-8");
    assert!(table.contains("| tools | ") || table.contains("## tools"), "{table}");
}

#[test]
fn results_are_compared_and_checked() {
    let list = String::from_utf8(perf(&["list"]).stdout).expect("names in UTF-8");
    assert_eq!(list.lines().count(), 12, "{list}");
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("a path in UTF-8").to_owned();
    let result = |rate: f64| {
        let figure =
            serde_json::json!({"name": "rate", "what": "a rate", "value": rate, "unit": "per_second"});
        serde_json::json!({
            "format": 1,
            "at": "2026-01-01T00:00:00Z",
            "machine": {"processor": "", "cores": 2, "memory_bytes": 0, "kernel": "", "optimised": true},
            "versions": {},
            "scenarios": [{
                "scenario": "sends", "settings": {}, "seconds": 1.0, "load": [0.0, 0.0],
                "figures": [figure], "latencies": [], "notes": [], "tables": [], "rows": [],
            }],
        })
    };
    fs::write(path("slow.json"), result(50.0).to_string()).expect("written");
    fs::write(path("fast.json"), result(100.0).to_string()).expect("written");
    let budget = "[rate]\nfigure = \"sends.rate\"\nat_least = 80.0\nwhy = \"it was promised\"\n";
    fs::write(path("budgets.toml"), budget).expect("written");

    let compared = perf(&["compare", &path("slow.json"), &path("fast.json")]);
    let table = in_one_space(&compared.stdout);
    assert!(table.contains("| sends.rate | 50 | 100 | 2.00 | better |"), "{table}");
    let check = |result: &str| perf(&["check", &path(result), "--budgets", &path("budgets.toml")]);
    assert!(check("fast.json").status.success());
    let missed = check("slow.json");
    assert_eq!(missed.status.code(), Some(1), "50 is less than 80");
    let told = in_one_space(&missed.stdout);
    assert!(told.contains("| rate | at least 80 | 50 | MISSED |"), "{told}");
    assert!(told.contains("rate is missed: it was promised"), "{told}");
}

#[test]
fn what_can_not_be_done_is_said_and_ends_with_two() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("a path in UTF-8").to_owned();
    fs::write(path("broken.json"), "{\"format\":1,\"at\":").expect("written");
    fs::write(path("newer.json"), "{\"format\":2}").expect("written");
    let (broken, newer, gone) = (path("broken.json"), path("newer.json"), path("gone.json"));
    for (arguments, expected) in [
        (vec!["check", &broken], "broken.json is no result of perf"),
        (vec!["plot", &newer], "newer.json has form 2, and this perf reads form 1"),
        (vec!["compare", &gone, &gone], "gone.json: No such file"),
        (vec!["check", &newer, "--budgets", &gone], "form 2"),
        (vec!["sends", "--switchboard", &gone], "--switchboard"),
        (vec!["sends", "--results", "/dev/null"], "--results /dev/null"),
        (vec!["sends", "--seconds", "0"], "'--seconds <SECONDS>': a whole number from 1 to 3600 is allowed"),
        (
            vec!["sends", "--target-api", "http://127.0.0.1:1", "--target-gateway", "ws://127.0.0.1:1"],
            "--target-api http://127.0.0.1:1",
        ),
        (vec!["smokes"], "unrecognized subcommand 'smokes'"),
    ] {
        let output = perf(&arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
}
