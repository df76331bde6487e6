//! The chart for Kubernetes, its alert rules and its dashboard, checked by the scripts in `chart/tests`.
//!
//! They render the chart with Helm itself, and look at what comes out: schemas of Kubernetes, rules of our own and of
//! checkov, refused values, alerts that fire. The configuration of pods is given to the binaries of this build,
//! which the unit tests have left in the target directory.

use std::process::Command as Process;

use crate::Outcome;
use crate::repo::Repo;
use crate::steps::passes;
use crate::tools::python::{CHART, CHECKOV};

/// Runs every script.
pub(crate) fn check(repo: &Repo) -> Outcome {
    let mut tests = Process::new(CHART.install(repo)?);
    tests.args(["-m", "unittest", "discover", "--start-directory", "chart/tests"]);
    tests.env("CHECKOV", CHECKOV.install(repo)?).env("SWITCHBOARD_BINARIES", repo.target.join("debug"));
    // Nothing is left beside the sources.
    tests.env("PYTHONDONTWRITEBYTECODE", "1");
    passes(tests.current_dir(&repo.root))
}
