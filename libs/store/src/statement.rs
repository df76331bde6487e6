//! Statements, of whichever database: what one is, and what holds for the files that all of them are.

/// A statement and the name that its file and its metrics have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// `<subject>/<verb>`.
    pub(crate) name: &'static str,
    /// The text of the file.
    pub(crate) sql: &'static str,
}

#[cfg(test)]
pub(crate) mod rules {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::Statement;

    /// Fails the test unless the files below `sql/<database>` and these statements are the same, and each begins with a comment.
    pub(crate) fn check_files(database: &str, statements: impl Iterator<Item = &'static Statement>) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql").join(database);
        let (mut named, mut count) = (BTreeSet::new(), 0);
        for statement in statements {
            assert!(statement.sql.starts_with("-- "), "{} has no comment", statement.name);
            named.insert(statement.name.to_owned());
            count += 1;
        }
        assert_eq!(named.len(), count, "a statement is listed twice");
        assert_eq!(named, files_below(&folder));
    }

    /// Fails the test if any of the statements has any of these in its code, which is in lower case.
    pub(crate) fn check_without(banned: &[&str], statements: impl Iterator<Item = &'static Statement>) {
        for statement in statements {
            let code = code(statement);
            for banned in banned {
                assert!(!code.contains(banned), "{} has {banned:?}", statement.name);
            }
        }
    }

    /// A statement without its comments, in lower case.
    pub(crate) fn code(statement: &Statement) -> String {
        let lines = statement.sql.lines().filter(|line| !line.trim_start().starts_with("--"));
        lines.collect::<Vec<_>>().join(" ").to_lowercase()
    }

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
}
