//! What it was measured on.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// The machine, as far as it says itself (Linux).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory_bytes: u64,
    pub(crate) kernel: String,
    /// Built for speed? Figures of other builds are only good for trying.
    pub(crate) optimised: bool,
}

impl Machine {
    pub(crate) fn here() -> Self {
        let field = |path: &str, name: &str| {
            let text = fs::read_to_string(path).unwrap_or_default();
            let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
        };
        let kib = field("/proc/meminfo", "MemTotal");
        Self {
            processor: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_bytes: kib.split(' ').next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024,
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            optimised: !cfg!(debug_assertions),
        }
    }

    pub(crate) fn written(&self) -> String {
        let Self { processor, cores, kernel, optimised, .. } = self;
        let build = if *optimised { "release" } else { "debug" };
        let gib = self.memory_bytes as f64 / f64::from(1 << 30);
        format!("{cores} cores of {processor}, {gib:.0} GiB, Linux {kernel}, {build} build")
    }
}

/// The load of the last minute; zero where it is not told.
pub(crate) fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or_default()
}

/// What a program prints of its version; none when it does not run.
pub(crate) fn version_of(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known() {
        let machine = Machine::here();
        assert!(machine.cores > 0 && machine.memory_bytes > 1 << 20, "{machine:?}");
        assert!(!machine.kernel.is_empty() && !machine.kernel.ends_with('\n'));
    }

    #[test]
    fn a_program_that_is_not_there_has_no_version() {
        assert_eq!(version_of(Path::new("no-such-program"), &["--version"]), None);
    }
}
