//! What the code has, the documentation lists.

use std::collections::BTreeMap;

use domain::ErrorCode;

use super::{Finding, source};
use crate::lexer::lex;
use crate::repo::TextFile;

const ERRORS: &str = "docs/errors.md";
const METRICS: &str = "docs/metrics.md";
const DECISIONS: &str = "docs/adr/";

/// Roles of the database, whose names look like those of metrics.
const ROLES: [&str; 3] = ["switchboard_api", "switchboard_gateway", "switchboard_worker"];

fn text<'a>(files: &'a [TextFile], path: &str) -> Option<&'a str> {
    files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
}

/// Whether a page has `name` in code marks.
fn lists(page: &str, name: &str) -> bool {
    page.contains(&format!("`{name}`")) || page.contains(&format!("`{name}{{"))
}

/// Every crate says what it is for: a README and `//!` docs.
pub(super) fn crates(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let manifests = files.iter().filter_map(|file| file.path.strip_suffix("/Cargo.toml"));
    for home in manifests.filter(|home| home.starts_with("libs/") || home.starts_with("bins/")) {
        if text(files, &format!("{home}/README.md")).is_none_or(|readme| readme.trim().is_empty()) {
            findings.push(Finding::new(
                &format!("{home}/README.md"),
                0,
                "is missing: a page on what this crate is for",
            ));
        }
        let roots = [format!("{home}/src/lib.rs"), format!("{home}/src/main.rs")];
        for root in roots {
            if text(files, &root).is_some_and(|source| !source.starts_with("//!")) {
                findings.push(Finding::new(
                    &root,
                    1,
                    "does not begin with //! docs: what lives here, what never may",
                ));
            }
        }
    }
    findings
}

/// Every error code stands in `docs/errors.md`.
pub(super) fn error_codes(files: &[TextFile]) -> Vec<Finding> {
    let page = text(files, ERRORS).unwrap_or_default();
    let missing = ErrorCode::ALL.iter().filter(|code| !lists(page, code.as_str()));
    missing.map(|code| Finding::new(ERRORS, 0, format!("lacks the error code `{code}`"))).collect()
}

/// Every metric stands in `docs/metrics.md`, and has its name whole in the code, where it can be found.
pub(super) fn metrics(files: &[TextFile]) -> Vec<Finding> {
    let page = text(files, METRICS).unwrap_or_default();
    let mut findings = Vec::new();
    let mut names = BTreeMap::new();
    let product = |file: &&TextFile| {
        let home = file.path.starts_with("libs/") || file.path.starts_with("bins/");
        home && file.is_rust() && !file.is_test() && !file.path.starts_with("libs/testkit/")
    };
    for file in files.iter().filter(product) {
        for literal in lex(source::product(&file.text)).literals {
            let Some(rest) = literal.text.strip_prefix("switchboard_") else { continue };
            if rest.contains('{') {
                findings.push(Finding::new(
                    &file.path,
                    literal.line,
                    "puts a metric's name together: write it whole",
                ));
            } else if !rest.is_empty()
                && !ROLES.contains(&literal.text.as_str())
                && rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            {
                names.entry(literal.text).or_insert((file.path.clone(), literal.line));
            }
        }
    }
    for (name, (path, line)) in names {
        if !lists(page, &name) {
            findings.push(Finding::new(
                &path,
                line,
                format!("has the metric `{name}`, which {METRICS} lacks"),
            ));
        }
    }
    findings
}

/// Decisions are numbered from 0001 without holes or repeats.
pub(super) fn decisions(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut expected = 1;
    let names =
        files.iter().filter_map(|file| Some((file.path.as_str(), file.path.strip_prefix(DECISIONS)?)));
    for (path, name) in names.filter(|(_, name)| *name != "README.md") {
        let number = name
            .split_once('-')
            .filter(|(digits, _)| digits.len() == 4)
            .and_then(|(digits, _)| digits.parse::<u32>().ok());
        match number {
            Some(number) if number == expected => expected += 1,
            Some(number) => {
                findings.push(Finding::new(path, 0, format!("should have the number {expected:04}")));
                expected = number + 1;
            }
            None => findings.push(Finding::new(path, 0, "should be named NNNN-what-was-decided.md")),
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn whats(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn crates_without_docs_are_found() {
        let good = [
            file("libs/a/Cargo.toml", ""),
            file("libs/a/README.md", "# a"),
            file("libs/a/src/lib.rs", "//! A.\n"),
            file("xtask/Cargo.toml", ""),
        ];
        assert_eq!(crates(&good), []);
        let bad = [
            file("bins/b/Cargo.toml", ""),
            file("bins/b/README.md", " \n"),
            file("bins/b/src/main.rs", "fn main() {}"),
        ];
        let found = whats(&crates(&bad));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("bins/b/README.md") && found[1].starts_with("bins/b/src/main.rs"),
            "{found:?}"
        );
    }

    #[test]
    fn error_codes_that_are_not_listed_are_found() {
        let all: String = ErrorCode::ALL.iter().map(|code| format!("| `{code}` |\n")).collect();
        assert_eq!(error_codes(&[file(ERRORS, &all)]), []);
        let found = whats(&error_codes(&[file(ERRORS, &all.replace("`locked`", "locked"))]));
        assert_eq!(found, ["docs/errors.md: lacks the error code `locked`"]);
        assert_eq!(error_codes(&[]).len(), ErrorCode::ALL.len(), "no page lists nothing");
    }

    #[test]
    fn metrics_that_are_not_listed_are_found() {
        let code = "new(\"switchboard_a_total\");\nnew(\"switchboard_b\");\nurl(\"switchboard_\");\n\
                    #[cfg(test)]\nmod tests {\n    new(\"switchboard_c\");\n}\n";
        let page = file(METRICS, "| `switchboard_a_total{kind}` |\n| `switchboard_bb` |");
        let found = whats(&metrics(&[file("libs/x/src/metrics.rs", code), page]));
        assert_eq!(
            found,
            ["libs/x/src/metrics.rs:2: has the metric `switchboard_b`, which docs/metrics.md lacks"]
        );
    }

    #[test]
    fn metric_names_are_written_whole() {
        let found = whats(&metrics(&[file("libs/x/src/metrics.rs", "format!(\"switchboard_{name}\")")]));
        assert_eq!(found, ["libs/x/src/metrics.rs:1: puts a metric's name together: write it whole"]);
    }

    #[test]
    fn decisions_have_no_holes() {
        let named = |names: &[&str]| {
            let files: Vec<TextFile> =
                names.iter().map(|name| file(&format!("{DECISIONS}{name}"), "")).collect();
            whats(&decisions(&files))
        };
        assert!(named(&["0001-a.md", "0002-b.md", "README.md"]).is_empty());
        assert_eq!(
            named(&["0001-a.md", "0003-b.md", "0004-c.md"]),
            ["docs/adr/0003-b.md: should have the number 0002"]
        );
        assert_eq!(named(&["0001-a.md", "0001-b.md"]), ["docs/adr/0001-b.md: should have the number 0002"]);
        assert_eq!(named(&["1-a.md"]).len(), 1);
    }
}
