//! `switchboard backup`: everything of one process, while it runs.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use auth::KeyDriver;
use node::Settings;
use store::sqlite::backup;

use crate::commands::{Failure, say};
use crate::embedded::DEMO_FILES;

/// Copies database and keys; says how to put them back.
pub(super) async fn run(settings: Settings, dir: PathBuf) -> Result<(), Failure> {
    if !settings.is_embedded() {
        return Err("this is for the embedded database; PostgreSQL has its own tools (docs/operations/backup-and-restore.md)".into());
    }
    let copied = tokio::task::spawn_blocking(move || copy(&settings, &dir)).await;
    for line in copied?? {
        say(line)?;
    }
    Ok(())
}

fn copy(settings: &Settings, dir: &Path) -> Result<Vec<String>, Failure> {
    let file = &settings.embedded.file;
    if !file.exists() {
        return Err(format!("there is no embedded database at {} (embedded.file)", file.display()).into());
    }
    let made = DirBuilder::new().mode(0o700).create(dir);
    made.map_err(|error| {
        format!("can't make {}: {error}; name a folder that is not there yet", dir.display())
    })?;
    let mut lines = Vec::new();
    // The keys first: a key that is made meanwhile signs later than all that the copy has.
    let keys = [("keys", &settings.secrets.signing_key_dir), ("push", &settings.push.vapid_key_dir)];
    for (name, from) in keys {
        let is_there = name != "keys" || settings.signing_key.driver == KeyDriver::Dir;
        if is_there && from.is_dir() {
            let files = copy_files(from, &dir.join(name))?;
            lines.push(format!("{name:<10} {files} files of {}", from.display()));
        }
    }
    for name in DEMO_FILES {
        let from = file.with_file_name(name);
        if from.is_file() {
            copy_file(&from, &dir.join(name))?;
        }
    }
    let name = file.file_name().ok_or("embedded.file names no file")?;
    let size = backup(file, &dir.join(name))?;
    lines.push(format!("database   {:.1} MB of {}, looked through", size as f64 / 1e6, file.display()));
    lines.push(format!(
        "to put it back: stop switchboard, move these into the places of the old ones, and run `switchboard migrate --new-log-epoch` before \
         the start; the copy is in {}",
        dir.display()
    ));
    Ok(lines)
}

/// Copies the files of a folder, each readable by its owner alone.
fn copy_files(from: &Path, to: &Path) -> Result<usize, Failure> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    DirBuilder::new().mode(0o700).create(to).map_err(|error| failed(to, error))?;
    let mut files = 0;
    for entry in fs::read_dir(from).map_err(|error| failed(from, error))? {
        let path = entry.map_err(|error| failed(from, error))?.path();
        let (true, Some(name)) = (path.is_file(), path.file_name()) else { continue };
        copy_file(&path, &to.join(name))?;
        files += 1;
    }
    Ok(files)
}

/// Copies a file, whole and on the disk when this is over.
fn copy_file(from: &Path, to: &Path) -> Result<(), Failure> {
    let copied = || -> std::io::Result<()> {
        let mut target = fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(to)?;
        std::io::copy(&mut fs::File::open(from)?, &mut target)?;
        target.sync_all()
    };
    copied().map_err(|error| format!("{} to {}: {error}", from.display(), to.display()).into())
}
