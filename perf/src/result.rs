//! Results of runs: files of JSON below `perf/results`, and looking numbers up in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Failure;
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
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let run: Self = serde_json::from_str(&text)
            .map_err(|error| format!("{} is no result of perf: {error}", path.display()))?;
        if run.format != FORMAT {
            let form = run.format;
            return Err(format!("{} has form {form}, this perf knows {FORMAT}", path.display()).into());
        }
        Ok(run)
    }

    /// Writes it whole or not at all.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let half = path.with_extension("json.part");
        fs::write(&half, serde_json::to_string(self)?)?;
        Ok(fs::rename(half, path)?)
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
        assert!(Run::read(&path).expect_err("refused").to_string().contains("form"));
        fs::write(&path, "{}").expect("written");
        assert!(Run::read(&path).expect_err("refused").to_string().contains("no result"));
    }
}
