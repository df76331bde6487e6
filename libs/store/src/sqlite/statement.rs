//! Statements: one commented file each, `sql/sqlite/<subject>/<verb>.sql`.
//!
//! A subject lists its own with [`statements!`]; [`ALL`] gathers the lists. Tests prepare every one
//! against a fresh schema and find files that no list names. Metrics are labelled with the name.

/// A statement and the name that its file and its metrics have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// `<subject>/<verb>`.
    pub(super) name: &'static str,
    /// The text of the file.
    pub(super) sql: &'static str,
}

/// Declares the statements of a subject: a const for each, and `STATEMENTS` with all of them.
macro_rules! statements {
    ($($name:ident = $path:literal;)*) => {
        $(
            pub(in crate::sqlite) const $name: &$crate::sqlite::statement::Statement =
                &$crate::sqlite::statement::Statement {
                    name: $path,
                    sql: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/sqlite/", $path, ".sql")),
                };
        )*
        /// The statements of this subject.
        pub(in crate::sqlite) const STATEMENTS: &[&$crate::sqlite::statement::Statement] = &[$($name),*];
    };
}
pub(super) use statements;

/// The statements of every subject.
const ALL: &[&[&Statement]] = &[
    super::accounts::STATEMENTS,
    super::agents::STATEMENTS,
    super::append::STATEMENTS,
    super::backup::STATEMENTS,
    super::commands::STATEMENTS,
    super::consumers::STATEMENTS,
    super::devices::STATEMENTS,
    super::log::STATEMENTS,
    super::messages::STATEMENTS,
    super::nodes::STATEMENTS,
    super::notifications::STATEMENTS,
    super::notifications::notice::STATEMENTS,
    super::presence::STATEMENTS,
    super::push::STATEMENTS,
    super::queue::STATEMENTS,
    super::rates::STATEMENTS,
    super::reap::STATEMENTS,
    super::retention::STATEMENTS,
    super::rooms::STATEMENTS,
    super::runs::STATEMENTS,
    super::schema::STATEMENTS,
    super::sessions::STATEMENTS,
    super::signing_keys::STATEMENTS,
    super::tasks::STATEMENTS,
    super::tickets::STATEMENTS,
    super::tools::STATEMENTS,
];

/// Every statement.
pub(super) fn all() -> impl Iterator<Item = &'static Statement> {
    ALL.iter().copied().flatten().copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn files_below(folder: &Path) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for subject in std::fs::read_dir(folder).expect("a folder of subjects") {
            let subject = subject.expect("an entry").path();
            for file in std::fs::read_dir(&subject).expect("a folder of statements") {
                let file = file.expect("an entry").path();
                let name = file.strip_prefix(folder).expect("below the folder").with_extension("");
                found.insert(name.to_string_lossy().into_owned());
            }
        }
        found
    }

    #[test]
    fn every_file_is_a_statement_and_the_other_way_round() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/sqlite");
        let named: Vec<String> = all().map(|statement| statement.name.to_owned()).collect();
        let distinct: BTreeSet<String> = named.iter().cloned().collect();
        assert_eq!(distinct.len(), named.len(), "a statement is listed twice");
        assert_eq!(distinct, files_below(&folder));
    }

    #[test]
    fn every_statement_says_what_it_does() {
        for statement in all() {
            assert!(statement.sql.starts_with("-- "), "{} has no comment", statement.name);
        }
    }

    /// A connection is used by one job after the other: none may leave anything in it but rows. And each has one clock.
    #[test]
    fn no_statement_leaves_a_trace_or_reads_a_clock() {
        // A backup has connections of its own.
        for statement in all().filter(|statement| !statement.name.starts_with("backup/")) {
            let code: String = statement
                .sql
                .lines()
                .filter(|line| !line.trim_start().starts_with("--"))
                .collect::<Vec<_>>()
                .join(" ")
                .to_lowercase();
            for banned in [
                "pragma",
                "temp ",
                "attach",
                "begin",
                "commit",
                "'now'",
                "current_time",
                "unixepoch",
                "datetime(",
            ] {
                assert!(!code.contains(banned), "{} has {banned:?}", statement.name);
            }
        }
    }
}
