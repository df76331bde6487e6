//! Statements: one commented file each, `sql/sqlite/<subject>/<verb>.sql`.
//!
//! A subject lists its own with [`statements!`]; [`ALL`] gathers the lists. Tests prepare every one
//! against a fresh schema and find files that no list names. Metrics are labelled with the name.

pub(super) use crate::statement::Statement;

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
    super::export::STATEMENTS,
    super::log::STATEMENTS,
    super::messages::STATEMENTS,
    super::nodes::STATEMENTS,
    super::notifications::STATEMENTS,
    super::notifications::notice::STATEMENTS,
    super::power::STATEMENTS,
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
    use super::*;
    use crate::statement::rules;

    #[test]
    fn every_file_is_a_statement_and_the_other_way_round() {
        rules::check_files("sqlite", all());
    }

    /// A connection is used by one job after the other: none may leave anything in it but rows. And each has one clock.
    #[test]
    fn no_statement_leaves_a_trace_or_reads_a_clock() {
        let banned = [
            "pragma",
            "temp ",
            "attach",
            "begin",
            "commit",
            "'now'",
            "current_time",
            "unixepoch",
            "datetime(",
        ];
        // A backup has connections of its own.
        rules::check_without(&banned, all().filter(|statement| !statement.name.starts_with("backup/")));
    }
}
