//! The gateway's WebSocket layer against Autobahn's cases, driven by kosoku (PyPI).
//!
//! kosoku wants a server that echoes every message on any path, so the gateway's layer is run by its example
//! `echo`. Left out are the cases 12.* and 13.*: they are about permessage-deflate, which the gateway
//! never offers. Everything else has to pass; what the standard leaves open (`NON-STRICT`, such
//! as how soon bad UTF-8 is found) and what a case only observes (`INFORMATIONAL`) counts as passed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command as Process, Stdio};

use serde_json::Value as Json;

use crate::Outcome;
use crate::repo::Repo;
use crate::steps::{passes, say};
use crate::tools::python::KOSOKU;

/// Cases without those about compression; fewer means that the run did not do its work.
const CASES: usize = 301;

/// Runs every case and judges the answers.
pub(crate) fn check(repo: &Repo) -> Outcome {
    let kosoku = KOSOKU.install(repo)?;
    let mut build = Process::new("cargo");
    build.args(["build", "--quiet", "--package", "switchboard-gateway", "--example", "echo"]);
    passes(build.current_dir(&repo.root))?;
    let server = Server::start(&repo.target.join("debug/examples/echo"))?;
    let report = repo.target.join("conformance");
    let mut run = Process::new(kosoku);
    run.args(["--exclude", "12.*", "--exclude", "13.*", "--parallelism", "4", "--outdir"])
        .arg(&report)
        .arg(&server.address);
    // A report of an earlier run must not be taken for this one's.
    let index = report.join("index.json");
    let _ = std::fs::remove_file(&index);
    // Its exit code says no to NON-STRICT too, so the report is judged, not the code.
    let output = run.output().map_err(|error| format!("kosoku can't be run: {error}"))?;
    drop(server);
    let text = std::fs::read_to_string(&index).map_err(|error| {
        format!("kosoku left no report ({error}); it said: {}", String::from_utf8_lossy(&output.stderr))
    })?;
    let counts = judge(&serde_json::from_str(&text).map_err(|error| error.to_string())?)
        .map_err(|reason| format!("{reason}\nthe report is in {}", report.display()))?;
    say(&counts);
    Ok(())
}

/// Counts the cases of a report, or names those that failed.
fn judge(report: &Json) -> Outcome<String> {
    let cases: Vec<(&String, &Json)> = report
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(_, agent)| agent.as_object())
        .flatten()
        .collect();
    let good = |verdict: &Json| matches!(verdict.as_str(), Some("OK" | "NON-STRICT" | "INFORMATIONAL"));
    let failed: Vec<String> = cases
        .iter()
        .filter(|(_, case)| !good(&case["behavior"]) || !good(&case["behaviorClose"]))
        .map(|(id, case)| {
            format!("case {id}: behaviour {}, close {}", case["behavior"], case["behaviorClose"])
        })
        .collect();
    if !failed.is_empty() {
        return Err(format!("{}\n{} of {} cases failed", failed.join("\n"), failed.len(), cases.len()));
    }
    if cases.len() < CASES {
        return Err(format!("only {} cases ran, there are {CASES}", cases.len()));
    }
    let open = cases.iter().filter(|(_, case)| case["behavior"] != "OK").count();
    Ok(format!("{} cases passed, {open} of them where the standard leaves the answer open", cases.len()))
}

/// The echo server, ended when dropped.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(program: &Path) -> Outcome<Self> {
        let mut process = Process::new(program);
        process.args(["--listen", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let child =
            process.spawn().map_err(|error| format!("{} can't be run: {error}", program.display()))?;
        let mut server = Self { child, address: String::new() };
        let mut line = String::new();
        if let Some(stdout) = server.child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        let address = line.trim().strip_prefix("listening on ");
        server.address =
            address.ok_or(format!("the echo server said {line:?} instead of where it listens"))?.to_owned();
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It holds nothing that must be put in order.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(count: usize, verdict: &str, close: &str) -> Json {
        let mut cases: serde_json::Map<String, Json> =
            (1..count).map(|n| (n.to_string(), json!({"behavior": "OK", "behaviorClose": "OK"}))).collect();
        cases.insert("6.4.3".to_owned(), json!({"behavior": verdict, "behaviorClose": close}));
        json!({"127.0.0.1:9001": cases})
    }

    #[test]
    fn what_the_standard_demands_must_pass() {
        assert!(judge(&report(CASES, "OK", "OK")).is_ok());
        assert!(judge(&report(CASES, "NON-STRICT", "OK")).is_ok_and(|text| text.contains("1 of them")));
        for (verdict, close) in [("FAILED", "OK"), ("OK", "WRONG CODE"), ("UNIMPLEMENTED", "OK")] {
            let reason = judge(&report(CASES, verdict, close)).expect_err("must fail");
            assert!(reason.contains("case 6.4.3") && reason.contains("1 of 301"), "{reason}");
        }
    }

    #[test]
    fn a_run_without_its_cases_is_no_run() {
        assert!(judge(&report(CASES - 1, "OK", "OK")).is_err());
        assert!(judge(&json!({})).is_err());
    }
}
