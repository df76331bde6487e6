//! The file of rights, `migrations/grants/postgres.sql`, read for whoever wants to know what a role needs.
//!
//! The database carries it out as it stands. Here each `GRANT` at the beginning of a line is taken apart; its form is our own, and a test
//! compares what was read with what the database made of it.

use super::DatabaseRole;

/// What is carried out.
pub(in crate::postgres) const GRANTS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/grants/postgres.sql"));

/// One thing that a role may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::postgres) struct Right {
    /// The table, view or sequence.
    pub(in crate::postgres) relation: &'static str,
    /// `SELECT`, `INSERT`, `UPDATE` or `DELETE`.
    pub(in crate::postgres) privilege: &'static str,
    /// The column, when it is not about all of the relation.
    pub(in crate::postgres) column: Option<&'static str>,
}

/// What a role needs.
pub(in crate::postgres) fn rights(role: DatabaseRole) -> Vec<Right> {
    grants().filter(|grant| grant.roles.contains(role.name())).flat_map(Grant::rights).collect()
}

/// `GRANT privileges ON relation TO roles`.
struct Grant {
    privileges: &'static str,
    relation: &'static str,
    roles: &'static str,
}

/// The grants of the file. Those within its code are indented.
fn grants() -> impl Iterator<Item = Grant> {
    GRANTS.split("\nGRANT ").skip(1).filter_map(|rest| {
        let (grant, _) = rest.split_once(';')?;
        let (privileges, rest) = grant.split_once(" ON ")?;
        let (relation, roles) = rest.split_once(" TO")?;
        Some(Grant { privileges, relation: relation.trim_start_matches("SEQUENCE "), roles })
    })
}

impl Grant {
    fn rights(self) -> Vec<Right> {
        let mut rights = Vec::new();
        let mut rest = self.privileges;
        while !rest.is_empty() {
            let end = rest.find([',', '(']).unwrap_or(rest.len());
            let (privilege, after) = (rest[..end].trim(), &rest[end..]);
            let right = |column| Right { relation: self.relation, privilege, column };
            rest = match after.strip_prefix('(').and_then(|listed| listed.split_once(')')) {
                Some((columns, after)) => {
                    rights.extend(columns.split(',').map(|column| right(Some(column.trim()))));
                    after
                }
                None => {
                    rights.push(right(None));
                    after
                }
            };
            rest = rest.trim_start_matches([',', ' ', '\n']);
        }
        rights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grant_is_read() {
        let written = GRANTS.lines().filter(|line| line.starts_with("GRANT ")).count();
        assert_eq!(grants().count(), written);
        for role in DatabaseRole::ALL {
            for right in rights(role) {
                let word = |text: &str| {
                    text.bytes()
                        .all(|byte| byte == b'_' || byte.is_ascii_lowercase() || byte.is_ascii_digit())
                };
                assert!(word(right.relation) && right.column.is_none_or(word), "{right:?}");
                assert!(["SELECT", "INSERT", "UPDATE", "DELETE"].contains(&right.privilege), "{right:?}");
            }
        }
    }

    #[test]
    fn a_right_is_of_a_relation_or_of_a_column() {
        let all = rights(DatabaseRole::Gateway);
        let right = |relation, privilege, column| Right { relation, privilege, column };
        assert!(all.contains(&right("tickets", "DELETE", None)));
        assert!(all.contains(&right("users", "SELECT", Some("handle"))));
        assert!(!all.contains(&right("users", "SELECT", Some("password_hash"))));
        assert!(!all.contains(&right("users", "SELECT", None)));
        assert!(!all.iter().any(|right| right.relation == "refresh_tokens"));
    }
}
