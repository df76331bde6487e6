//! `switchboard backup`: everything of one process, while it runs.

use std::path::{Path, PathBuf};

use node::Settings;
use store::sqlite::backup;

use crate::commands::{Failure, key_files, say};
use crate::embedded::{DEMO_FILES, folder_of};

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
    key_files::new_folder(dir)?;
    // The keys first: a key that is made meanwhile signs later than all that the copy has.
    let mut lines = key_files::copy(settings, dir)?;
    for name in DEMO_FILES {
        let from = file.with_file_name(name);
        if from.is_file() {
            key_files::copy_file(&from, &dir.join(name))?;
        }
    }
    let name = file.file_name().ok_or("embedded.file names no file")?;
    let size = backup(file, &dir.join(name))?;
    lines.push(format!("database   {:.1} MB of {}, looked through", size as f64 / 1e6, file.display()));
    lines.push(format!(
        "to put it back: stop switchboard, move {} away whole (an old {0}/{}-wal would be taken for a part of the copy), put {} in its place, and \
         start: clients refetch",
        folder_of(file).display(),
        Path::new(name).display(),
        dir.display()
    ));
    Ok(lines)
}
