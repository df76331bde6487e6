//! The repository: where it is, what it holds, what cargo says about it.

use std::path::{Path, PathBuf};
use std::process::Command as Process;

use serde_json::Value as Json;

use crate::{Outcome, steps};

/// A checkout of this repository.
#[derive(Debug)]
pub(crate) struct Repo {
    /// Its topmost directory.
    pub(crate) root: PathBuf,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
    /// What `cargo metadata` says, without dependencies.
    pub(crate) metadata: Json,
}

impl Repo {
    /// The repository that the present directory is in.
    pub(crate) fn find() -> Outcome<Self> {
        let mut cargo = Process::new("cargo");
        cargo.args(["metadata", "--format-version", "1", "--no-deps"]);
        let metadata: Json = serde_json::from_slice(&output(&mut cargo)?).map_err(|e| e.to_string())?;
        let path = |name: &str| {
            metadata[name].as_str().map(PathBuf::from).ok_or(format!("cargo metadata has no {name}"))
        };
        Ok(Self { root: path("workspace_root")?, target: path("target_directory")?, metadata })
    }

    /// Every text file that is tracked, or would be by `git add --all`.
    pub(crate) fn text_files(&self) -> Outcome<Vec<TextFile>> {
        let mut git = Process::new("git");
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(&self.root);
        let names = String::from_utf8(output(&mut git)?).map_err(|e| e.to_string())?;
        let mut paths: Vec<&str> = names.split_terminator('\0').collect();
        paths.sort_unstable();
        paths.dedup();
        // A tracked file that was just deleted is no longer there to be read; what is no text has no text rules.
        let read = |path: &str| {
            let text = std::fs::read_to_string(self.root.join(path)).ok().filter(|text| !text.contains('\0'));
            text.map(|text| TextFile { path: path.to_owned(), text })
        };
        Ok(paths.into_iter().filter_map(read).collect())
    }
}

/// A text file of the repository.
#[derive(Debug, Clone)]
pub(crate) struct TextFile {
    /// Its path below the root, with `/`.
    pub(crate) path: String,
    /// What it holds.
    pub(crate) text: String,
}

impl TextFile {
    /// Whether the file is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }

    /// Whether the file holds tests, benches or examples alone.
    pub(crate) fn is_test(&self) -> bool {
        let parts: Vec<&str> = self.path.split('/').collect();
        parts.iter().any(|part| matches!(*part, "tests" | "benches" | "examples" | "tests.rs"))
    }
}

/// What a program prints, if it succeeds.
pub(crate) fn output(process: &mut Process) -> Outcome<Vec<u8>> {
    let shown = steps::shown(process);
    let output = process.output().map_err(|error| format!("`{shown}` can't be run: {error}"))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(format!("`{shown}` failed ({}): {said}", output.status))
    }
}
