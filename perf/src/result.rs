//! Results of runs: files of JSON below `perf/results`, and looking numbers up in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Unusable};
use crate::machine::Machine;
use crate::report::{Report, Unit};

/// The form of the file; another number is refused.
const FORMAT: u32 = 1;

/// What one call of `perf` found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Run {
    format: u32,
    /// When it began.
    pub(crate) at: jiff::Timestamp,
    pub(crate) machine: Machine,
    /// Whose version is which: Switchboard, PostgreSQL, peers.
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) scenarios: Vec<Outcome>,
}

/// What every form has.
#[derive(Deserialize)]
struct Form {
    format: u32,
}

/// What one scenario found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) scenario: String,
    pub(crate) settings: serde_json::Value,
    pub(crate) seconds: f64,
    /// Load of the machine in the minute before it, and in the minute before its end.
    pub(crate) load: [f64; 2],
    #[serde(flatten)]
    pub(crate) report: Report,
}

/// A number of a result, by its whole name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number {
    pub(crate) value: f64,
    pub(crate) unit: Unit,
}

impl Run {
    pub(crate) fn begun(machine: Machine, versions: BTreeMap<String, String>) -> Self {
        let at = jiff::Timestamp::now();
        Self { format: FORMAT, at, machine, versions, scenarios: Vec::new() }
    }

    /// Every number, as `scenario.name`; latencies as their quantiles.
    pub(crate) fn numbers(&self) -> BTreeMap<String, Number> {
        let mut all = BTreeMap::new();
        for Outcome { scenario, report, .. } in &self.scenarios {
            for figure in &report.figures {
                let number = Number { value: figure.value, unit: figure.unit };
                all.insert(format!("{scenario}.{}", figure.name), number);
            }
            for latencies in &report.latencies {
                for (quantile, micros) in latencies.quantiles() {
                    let number = Number { value: micros as f64, unit: Unit::Micros };
                    all.insert(format!("{scenario}.{}.{quantile}", latencies.name), number);
                }
            }
        }
        all
    }

    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let named = path.display();
        let no_result = |error: &serde_json::Error| {
            Unusable::because(format!(
                "{named} is no result of perf, which is a file of JSON below perf/results: {error}"
            ))
        };
        let text =
            fs::read_to_string(path).map_err(|error| Unusable::because(format!("{named}: {error}")))?;
        // The form comes first: one of another form has other fields.
        let Form { format } = serde_json::from_str(&text).map_err(|error| no_result(&error))?;
        if format != FORMAT {
            let why = format!("{named} has form {format}, and this perf reads form {FORMAT}");
            return Err(Unusable::because(format!("{why}: use the perf that wrote it, or measure again")));
        }
        serde_json::from_str(&text).map_err(|error| no_result(&error))
    }

    /// Writes it whole or not at all.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        let half = path.with_extension("json.part");
        let written = fs::write(&half, serde_json::to_string(self)?).and_then(|()| fs::rename(&half, path));
        Ok(written.map_err(|error| format!("{} can't be written: {error}", path.display()))?)
    }

    /// The outcome of a scenario, if it was run.
    pub(crate) fn outcome(&self, scenario: &str) -> Option<&Outcome> {
        self.scenarios.iter().rev().find(|outcome| outcome.scenario == scenario)
    }

    /// Where it belongs, unless somebody says otherwise.
    pub(crate) fn path(&self, directory: &Path, what: &str) -> PathBuf {
        directory.join(format!("{}-{what}.json", self.at.strftime("%Y%m%dT%H%M%SZ")))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::report::histogram;

    /// A result with these figures of one scenario.
    pub(crate) fn run(scenario: &str, figures: &[(&str, f64, Unit)]) -> Run {
        let mut report = Report::default();
        for (name, value, unit) in figures {
            report.figure(*name, *name, *value, *unit);
        }
        let mut run = Run::begun(Machine::default(), BTreeMap::new());
        let settings = serde_json::Value::Null;
        run.scenarios.push(Outcome {
            scenario: scenario.into(),
            settings,
            seconds: 1.0,
            load: [0.0; 2],
            report,
        });
        run
    }

    #[test]
    fn a_result_is_read_as_it_was_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut written = run("sends", &[("rate", 20_000.0, Unit::PerSecond)]);
        let mut waits = histogram();
        waits.record(1234).expect("in range");
        written.scenarios[0].report.latencies("ack", "acknowledged", &waits);
        let path = written.path(directory.path(), "sends");
        written.write(&path).expect("written");
        let read = Run::read(&path).expect("read");
        assert_eq!(read.scenarios[0].report, written.scenarios[0].report);
        let numbers = read.numbers();
        assert_eq!(numbers["sends.rate"], Number { value: 20_000.0, unit: Unit::PerSecond });
        assert_eq!(numbers["sends.ack.p99"].value, 1234.0);
    }

    #[test]
    fn a_result_of_another_form_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("other.json");
        let mut other = run("sends", &[]);
        other.format += 1;
        other.write(&path).expect("written");
        let refused = |text: &str| {
            fs::write(&path, text).expect("written");
            let failure = Run::read(&path).expect_err("refused");
            assert!(failure.is::<Unusable>(), "{failure}");
            failure.to_string()
        };
        let written = fs::read_to_string(&path).expect("read");
        assert!(refused(&written).contains("form 2, and this perf reads form 1"));
        assert!(refused("{\"format\":7,\"new\":[]}").contains("form 7"), "whatever else there is");
        for broken in ["", "{}", "[]", "{\"format\":1}", &written[..written.len() / 2]] {
            assert!(refused(broken).contains("is no result of perf"), "{broken}");
        }
        fs::remove_file(&path).expect("removed");
        assert!(Run::read(&path).expect_err("gone").to_string().contains("other.json: No such file"));
    }
}
