//! `switchboard export`: everything of one process, to be taken to PostgreSQL.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use node::{Settings, VERSION};
use store::sqlite::{self, Circumstances};

use crate::commands::{Failure, key_files, say, transfer};
use crate::embedded::{EXPORTED, folder_of};
use crate::hold::{NotHeld, hold};

/// When it may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Nobody serves the database, so nothing is left out.
    Stopped,
    /// Even then.
    EvenServed,
}

/// Exports database and keys; says what to do next.
pub(super) async fn run(settings: Settings, dir: PathBuf, when: When) -> Result<(), Failure> {
    if !settings.is_embedded() {
        return Err(
            "this is for the embedded database, to be taken to PostgreSQL; PostgreSQL has its own tools \
                    (docs/operations/backup-and-restore.md)"
                .into(),
        );
    }
    tokio::task::spawn_blocking(move || write(&settings, &dir, when)).await?
}

fn write(settings: &Settings, dir: &Path, when: When) -> Result<(), Failure> {
    let file = &settings.embedded.file;
    if !file.exists() {
        return Err(format!("there is no embedded database at {} (embedded.file)", file.display()).into());
    }
    let held = held(file, when)?;
    key_files::new_folder(dir)?;
    // The keys first: a key that is made meanwhile signs later than all that the export has.
    for line in key_files::copy(settings, dir)? {
        say(line)?;
    }
    let circumstances = Circumstances { release: VERSION.to_owned(), served: held.is_none() };
    let manifest = sqlite::export(file, dir, &circumstances, &mut transfer::teller())?;
    let rows: u64 = manifest.tables.iter().map(|table| table.rows).sum();
    let (dir, at) = (dir.display(), manifest.exported_at);
    say(format_args!(
        "{rows} rows, as they stood at {at:.0}, and the keys are in {dir}; it holds secrets: keep it to yourself"
    ))?;
    if manifest.cut_short {
        say(
            "the machine went down while the database was in use, and its last moments may be missing: a new epoch of the log begins, clients refetch",
        )?;
    }
    if manifest.served {
        say(
            "a process serves the database: what is written there from now on is not in the export. For the move itself stop it, and export again",
        )?;
    } else {
        // Whoever starts it all the same is told. That it could not be noted keeps nothing from moving.
        let _noted = fs::write(folder_of(file).join(EXPORTED), format!("{at:.0}\n"));
        say(
            "leave it stopped from here on: what it would do now is not in the export, and people would be signed out of one of the two",
        )?;
    }
    say(format_args!(
        "next, with database.url naming an empty PostgreSQL: `switchboard migrate`, then `switchboard import {dir}`"
    ))
}

/// The hold on the database's folder, as long as this goes on; none when a process serves it and that is allowed.
fn held(file: &Path, when: When) -> Result<Option<File>, Failure> {
    let folder = folder_of(file);
    match hold(&folder) {
        Ok(held) => Ok(Some(held)),
        Err(NotHeld::Taken(_)) if when == When::EvenServed => Ok(None),
        Err(NotHeld::Taken(pid)) => Err(format!(
            "process {pid} serves {}: what it writes after this moment would not come along. Stop it (kill {pid}) and export then; to try the move \
             out while it runs, add --while-served",
            file.display()
        )
        .into()),
        Err(NotHeld::Io(error)) => Err(format!("{}: {error}", folder.display()).into()),
    }
}
