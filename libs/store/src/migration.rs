//! Migrations: what one is, and whether what a database has of them is the beginning of ours.

use sha2::{Digest, Sha256};

use crate::error::StoreError;

/// A migration of this binary.
#[derive(Debug)]
pub struct Migration {
    /// Counts from 1, without holes.
    pub version: u32,
    /// `verb_noun`.
    pub name: &'static str,
    pub(crate) sql: &'static str,
}

impl Migration {
    pub(crate) fn checksum(&self) -> Vec<u8> {
        Sha256::digest(self.sql.as_bytes()).to_vec()
    }

    /// Its number and name, as its file is called.
    pub(crate) fn label(&self) -> String {
        format!("{:04}_{}", self.version, self.name)
    }
}

/// Declares the migrations of a database: number, name and file, below `migrations/`.
macro_rules! migrations {
    ($($version:literal $name:literal $file:literal;)*) => {
        /// The migrations that this binary knows, in order.
        pub const MIGRATIONS: &[$crate::migration::Migration] = &[$($crate::migration::Migration {
            version: $version,
            name: $name,
            sql: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/", $file)),
        }),*];
    };
}
pub(crate) use migrations;

/// A row of `schema_migrations`.
pub(crate) struct Noted {
    pub(crate) version: u32,
    pub(crate) name: String,
    pub(crate) checksum: Vec<u8>,
}

/// What is noted must be the beginning of what is known.
pub(crate) fn check_history(noted: &[Noted], known: &[Migration]) -> Result<(), StoreError> {
    if let Some(newest) = noted.last().filter(|newest| newest.version as usize > known.len()) {
        return Err(StoreError::Schema(format!(
            "the database has migration {:04}_{}, this release knows {} only: use the newer release",
            newest.version,
            newest.name,
            known.len()
        )));
    }
    for (place, have) in noted.iter().enumerate() {
        let Some(ours) = known.get(place).filter(|ours| ours.version == have.version) else {
            return Err(StoreError::Schema(format!(
                "the database has migration {:04}_{} but not the one before it",
                have.version, have.name
            )));
        };
        if ours.checksum() != have.checksum {
            return Err(StoreError::Schema(format!(
                "the database was migrated by another text of {}: a migration that was released must not be changed",
                ours.label()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn the_list_is_the_folder(known: &[Migration], folder: &str) {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations").join(folder);
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder of migrations")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        files.sort();
        let listed: Vec<String> = known.iter().map(|known| format!("{}.sql", known.label())).collect();
        assert_eq!(listed, files);
        for (place, migration) in known.iter().enumerate() {
            assert_eq!(migration.version as usize, place + 1, "versions have no holes");
        }
    }

    #[test]
    fn the_lists_are_the_folders() {
        the_list_is_the_folder(crate::postgres::MIGRATIONS, "postgres");
        the_list_is_the_folder(crate::sqlite::MIGRATIONS, "sqlite");
    }

    /// What is said of a release ("migration 7") holds wherever it keeps its data.
    #[test]
    fn both_databases_have_the_same_migrations() {
        let labels = |known: &[Migration]| known.iter().map(Migration::label).collect::<Vec<_>>();
        assert_eq!(labels(crate::postgres::MIGRATIONS), labels(crate::sqlite::MIGRATIONS));
    }

    fn noted(migration: &Migration) -> Noted {
        Noted { version: migration.version, name: migration.name.into(), checksum: migration.checksum() }
    }

    #[test]
    fn another_history_is_refused() {
        let known = crate::postgres::MIGRATIONS;
        let mut history: Vec<Noted> = known.iter().map(noted).collect();
        assert!(check_history(&history, known).is_ok());
        assert!(check_history(&history[..1], known).is_ok());

        let newer = check_history(&history, &known[..1]).expect_err("newer than the binary");
        assert!(newer.to_string().contains("use the newer release"), "{newer}");

        let hole = check_history(&history[1..], known).expect_err("a hole");
        assert!(hole.to_string().contains("not the one before"), "{hole}");

        history[0].checksum = vec![0; 32];
        let changed = check_history(&history, known).expect_err("a changed text");
        assert!(changed.to_string().contains("another text of 0001_create_people"), "{changed}");
    }
}
