//! Statements: one commented file each, `sql/postgres/<subject>/<verb>.sql`.
//!
//! A subject lists its own with [`statements!`]; [`ALL`] gathers the lists. Tests prepare every one
//! against a fresh schema and find files that no list names. Metrics are labelled with the name.

pub(super) use crate::statement::Statement;

/// Declares the statements of a subject: a const for each, and `STATEMENTS` with all of them.
macro_rules! statements {
    ($($name:ident = $path:literal;)*) => {
        $(
            pub(in crate::postgres) const $name: &$crate::postgres::statement::Statement =
                &$crate::postgres::statement::Statement {
                    name: $path,
                    sql: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/postgres/", $path, ".sql")),
                };
        )*
        /// The statements of this subject.
        pub(in crate::postgres) const STATEMENTS: &[&$crate::postgres::statement::Statement] = &[$($name),*];
    };
}
pub(super) use statements;

/// The statements of every subject.
pub(super) const ALL: &[&[&Statement]] = &[
    super::accounts::STATEMENTS,
    super::agents::STATEMENTS,
    super::append::STATEMENTS,
    super::commands::STATEMENTS,
    super::consumers::STATEMENTS,
    super::devices::STATEMENTS,
    super::import::STATEMENTS,
    super::inspect::STATEMENTS,
    super::log::STATEMENTS,
    super::messages::STATEMENTS,
    super::nodes::STATEMENTS,
    super::presence::STATEMENTS,
    super::notifications::STATEMENTS,
    super::push::STATEMENTS,
    super::queue::STATEMENTS,
    super::rates::STATEMENTS,
    super::reap::STATEMENTS,
    super::retention::STATEMENTS,
    super::roles::STATEMENTS,
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
        rules::check_files("postgres", all());
    }

    /// A connection goes back to the pool without being reset, so nothing may change its session.
    #[test]
    fn no_statement_leaves_a_trace_in_its_session() {
        let banned = [
            "listen ",
            "notify ",
            "set_config",
            "temp table",
            "temporary",
            "pg_advisory_lock",
            "prepare ",
            "with hold",
        ];
        rules::check_without(&banned, all());
        for statement in all() {
            assert!(
                !rules::code(statement).trim_start().starts_with("set "),
                "{} sets something",
                statement.name
            );
        }
    }
}
