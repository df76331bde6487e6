//! Where the server's programs are.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::Error;

/// Where Debian and its kin keep each version: `<here>/<major>/bin`.
const VERSIONED: &str = "/usr/lib/postgresql";

/// The programs of one installed version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    bin_dir: PathBuf,
    major: String,
}

impl Binaries {
    /// The programs to use for a new data directory: those on PATH, else the newest installed.
    ///
    /// # Errors
    ///
    /// [`Error::NotInstalled`].
    pub fn find() -> Result<Self, Error> {
        candidates().find_map(|dir| Self::at(&dir)).ok_or(Error::NotInstalled)
    }

    /// The programs that can open the data in `data_dir`, which another run made.
    pub(crate) fn for_data(data_dir: &Path) -> Result<Self, Error> {
        let Ok(major) = fs::read_to_string(data_dir.join("PG_VERSION")) else {
            return Self::find();
        };
        let major = major.trim();
        candidates()
            .filter_map(|dir| Self::at(&dir))
            .find(|found| found.major == major)
            .ok_or_else(|| Error::OtherVersion { dir: data_dir.to_owned(), major: major.to_owned() })
    }

    /// The programs in `bin_dir`, when both are there and run.
    #[must_use]
    pub fn at(bin_dir: &Path) -> Option<Self> {
        // A link on PATH may stand for the server alone; initdb and the libraries are where it points.
        let postgres = bin_dir.join("postgres").canonicalize().ok()?;
        let bin_dir = postgres.parent()?.to_owned();
        if !bin_dir.join("initdb").is_file() {
            return None;
        }
        let output = Command::new(&postgres).arg("--version").stderr(Stdio::null()).output().ok()?;
        let major = major_of(&String::from_utf8_lossy(&output.stdout))?;
        Some(Self { bin_dir, major })
    }

    /// The major version, such as `15`.
    #[must_use]
    pub fn major(&self) -> &str {
        &self.major
    }

    /// The path of one of the programs.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.bin_dir.join(name)
    }
}

/// Directories to look in, best first.
fn candidates() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<_> = env::split_paths(&path).filter(|dir| dir.join("postgres").exists()).collect();
    let mut versions: Vec<_> = fs::read_dir(VERSIONED)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("bin")))
        })
        .collect();
    versions.sort_unstable_by(|left, right| right.cmp(left));
    on_path.into_iter().chain(versions.into_iter().map(|(_, dir)| dir))
}

/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)` is `15`; betas (`18beta1`) are their major.
fn major_of(version: &str) -> Option<String> {
    let number = version.split(") ").nth(1)?;
    let major: String = number.chars().take_while(char::is_ascii_digit).collect();
    (!major.is_empty()).then_some(major)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_every_vendor() {
        for (text, major) in [
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", Some("15")),
            ("postgres (PostgreSQL) 18beta1\n", Some("18")),
            ("postgres (PostgreSQL) 9.6.24\n", Some("9")),
            ("postgres: command not found\n", None),
            ("", None),
        ] {
            assert_eq!(major_of(text).as_deref(), major, "{text:?}");
        }
    }

    #[test]
    fn half_an_installation_is_none() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("postgres"), "").expect("a file");
        assert_eq!(Binaries::at(dir.path()), None);
    }

    #[test]
    fn data_of_an_unknown_version_names_the_package() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("PG_VERSION"), "7\n").expect("a file");
        let error = Binaries::for_data(dir.path()).expect_err("there is no such version");
        assert!(error.to_string().contains("postgresql-7"), "{error}");
    }
}
