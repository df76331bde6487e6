//! Text rules of the repository, checked over every file that is tracked or about to be.

mod documented;
mod source;
mod text;

use std::fmt;

use crate::Outcome;
use crate::repo::Repo;
#[cfg(test)]
use crate::repo::TextFile;
use crate::steps::say;

/// One breach of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// The line, from 1; 0 when it is about the file as a whole.
    line: usize,
    what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// Checks every rule and lists all breaches.
pub(crate) fn check(repo: &Repo) -> Outcome {
    let files = repo.text_files()?;
    let own_path = repo.root.to_string_lossy();
    let mut findings = Vec::new();
    for file in &files {
        findings.extend(text::dashes(file));
        findings.extend(text::foreign_places(file, &own_path));
        if file.is_rust() {
            findings.extend(source::size(file));
            findings.extend(source::unfinished(file));
            findings.extend(source::sql(file));
        }
    }
    findings.extend(documented::crates(&files));
    findings.extend(documented::error_codes(&files));
    findings.extend(documented::metrics(&files));
    findings.extend(documented::decisions(&files));
    findings.sort();
    if findings.is_empty() {
        say(&format!("{} files are tidy", files.len()));
        return Ok(());
    }
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    Err(format!("{}\n{} findings", lines.join("\n"), findings.len()))
}

#[cfg(test)]
fn file(path: &str, text: &str) -> TextFile {
    TextFile { path: path.to_owned(), text: text.to_owned() }
}
