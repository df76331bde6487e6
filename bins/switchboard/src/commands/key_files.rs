//! Files of keys on their way: out of the folders of a process that has them, and into those of another.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use auth::KeyDriver;
use node::Settings;

use crate::commands::Failure;

/// The folder of signing keys in a copy.
pub(super) const KEYS: &str = "keys";
/// The folder of the key of pushes in a copy.
pub(super) const PUSH: &str = "push";

/// Makes a folder that its owner alone can enter.
pub(super) fn new_folder(dir: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().mode(0o700).create(dir);
    made.map_err(|error| {
        format!("can't make {}: {error}; name a folder that is not there yet", dir.display()).into()
    })
}

/// Copies the keys of these settings into a folder; says what it copied.
pub(super) fn copy(settings: &Settings, dir: &Path) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    for (name, from) in [(KEYS, &settings.secrets.signing_key_dir), (PUSH, &settings.push.vapid_key_dir)] {
        let is_there = name != KEYS || settings.signing_key.driver == KeyDriver::Dir;
        if is_there && from.is_dir() {
            let to = dir.join(name);
            DirBuilder::new().mode(0o700).create(&to).map_err(|error| failed(&to, &error))?;
            let files = files(from)?;
            for (name, path) in &files {
                copy_file(path, &to.join(name))?;
            }
            lines.push(format!("{name:<10} {} files of {}", files.len(), from.display()));
        }
    }
    Ok(lines)
}

/// Copies a file, readable by its owner alone, whole and on the disk when this is over.
pub(super) fn copy_file(from: &Path, to: &Path) -> Result<(), Failure> {
    let copied = || -> io::Result<()> {
        let mut target = OpenOptions::new().create_new(true).write(true).mode(0o600).open(to)?;
        io::copy(&mut fs::File::open(from)?, &mut target)?;
        target.sync_all()
    };
    copied().map_err(|error| format!("{} to {}: {error}", from.display(), to.display()).into())
}

/// Files that are to be put into a folder which has nothing else.
#[derive(Debug)]
pub(super) struct Placing {
    files: Vec<(String, PathBuf)>,
    to: PathBuf,
}

impl Placing {
    /// Looks whether it can be done; nothing is written yet. What is there already, from a try before this one, stays.
    ///
    /// # Errors
    ///
    /// The folder has other files. `key` is the setting that names it.
    pub(super) fn plan(from: &Path, to: &Path, key: &str) -> Result<Self, Failure> {
        let mut files = files(from)?;
        // Keys before the manifests that name them: whoever reads meanwhile finds all that is named.
        files.sort_by_key(|(name, _)| (name.ends_with(".json"), name.clone()));
        let there = if to.is_dir() { self::files(to)? } else { Vec::new() };
        for (name, path) in there {
            let ours =
                files.iter().find(|(ours, _)| *ours == name).map(|(_, path)| read(path)).transpose()?;
            if ours.is_none_or(|ours| read(&path).is_ok_and(|found| found != ours)) {
                return Err(format!(
                    "{} has keys of its own ({name}), which an import does not replace: name an empty folder ({key}), or move what is there away",
                    to.display()
                )
                .into());
            }
        }
        Ok(Self { files, to: to.to_owned() })
    }

    /// Puts the files there; says how many.
    pub(super) fn carry_out(&self) -> Result<String, Failure> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.to);
        made.map_err(|error| failed(&self.to, &error))?;
        for (name, from) in &self.files {
            let to = self.to.join(name);
            if !to.exists() {
                self.place(from, &to, name).map_err(|error| failed(&to, &error))?;
            }
        }
        Ok(format!("{} files into {}", self.files.len(), self.to.display()))
    }

    /// Under another name first: what has its name is whole.
    fn place(&self, from: &Path, to: &Path, name: &str) -> io::Result<()> {
        let unfinished = self.to.join(format!(".{name}.part"));
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&unfinished)?;
        file.write_all(&fs::read(from)?)?;
        file.sync_all()?;
        fs::rename(&unfinished, to)?;
        fs::File::open(&self.to)?.sync_all()
    }
}

/// The files of a folder by name, but for hidden ones, which are on their way.
fn files(dir: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(|error| failed(dir, &error))? {
        let path = entry.map_err(|error| failed(dir, &error))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_file() && !name.starts_with('.') && !name.is_empty() {
            found.push((name.to_owned(), path));
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    format!("{}: {error}", path.display()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_placed_once_and_beside_nothing_else() {
        let dir = tempfile::tempdir().expect("a folder");
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        new_folder(&from).expect("made");
        assert!(new_folder(&from).expect_err("there").to_string().contains("not there yet"));
        for name in ["manifest-0000000001.json", "one.pem", ".one.tmp"] {
            fs::write(from.join(name), name).expect("written");
        }
        let plan = || Placing::plan(&from, &to, "secrets.signing_key_dir");
        let placing = plan().expect("nothing is there");
        let order: Vec<&str> = placing.files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(order, ["one.pem", "manifest-0000000001.json"]);
        assert!(!to.exists(), "a plan writes nothing");
        placing.carry_out().expect("placed");
        // Cut off and run again.
        fs::remove_file(to.join("manifest-0000000001.json")).expect("removed");
        fs::write(to.join(".manifest-0000000001.json.part"), "half").expect("written");
        plan().expect("the same").carry_out().expect("placed");
        assert_eq!(
            fs::read_to_string(to.join("manifest-0000000001.json")).expect("there"),
            "manifest-0000000001.json"
        );
        assert!(!to.join(".one.tmp").exists());

        fs::write(to.join("one.pem"), "another").expect("written");
        let refused = plan().expect_err("another key").to_string();
        assert!(refused.contains("one.pem") && refused.contains("secrets.signing_key_dir"), "{refused}");
        fs::write(to.join("one.pem"), "one.pem").expect("written");
        fs::write(to.join("two.pem"), "two").expect("written");
        assert!(plan().expect_err("one more").to_string().contains("two.pem"));
    }
}
