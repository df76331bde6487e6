//! The embedded database, its folder and its machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use node::Settings;
use store::sqlite::{Facts, inspect};

use super::Findings;
use crate::commands::Failure;
use crate::embedded::{folder_of, network};
use crate::hold::holder;

/// Bytes that should be free beside what the database itself would take once more, for a copy.
const SPARE: u64 = 256 * 1024 * 1024;

pub(super) async fn look(settings: &Settings, findings: &mut Findings) -> Result<(), Failure> {
    let file = settings.embedded.file.clone();
    let dir = folder_of(&file);
    folder(&dir, findings)?;
    match holder(&dir)? {
        Some(pid) => findings.good("process", &format!("{pid} serves it"))?,
        None => findings.good("process", "nobody serves it at the moment")?,
    }
    let place = file.display().to_string();
    match tokio::task::spawn_blocking(move || inspect(&file)).await? {
        Ok(facts) => {
            database(&place, &facts, findings)?;
            disk(&dir, &facts, findings)?;
        }
        Err(error) => findings.bad(
            "database",
            &format!("{place}: {error}"),
            "see what it says; a backup is put back with its whole folder, as docs/embedded.md says",
        )?,
    }
    Ok(())
}

fn folder(dir: &Path, findings: &mut Findings) -> Result<(), Failure> {
    let place = dir.display();
    let mode = fs::metadata(dir)?.permissions().mode() & 0o777;
    if let Some(kind) = network(dir)? {
        let found = format!("{place} lies on a network file system ({kind})");
        findings.bad("folder", &found, "name a file on a disk of this machine (embedded.file)")?;
    } else if mode & 0o077 != 0 {
        let found = format!("others can get into {place} (mode {mode:o}), where its keys are");
        findings.bad("folder", &found, &format!("chmod 700 {place}"))?;
    } else {
        findings.good("folder", &format!("{place}, its owner's alone"))?;
    }
    Ok(())
}

fn database(place: &str, facts: &Facts, findings: &mut Findings) -> Result<(), Failure> {
    let Facts { migrations, known, .. } = facts;
    let size = format!("{place}, {:.1} MB", facts.size as f64 / 1e6);
    if facts.size == 0 {
        let advice = "put a backup back as docs/embedded.md says, or start: it begins anew, without anybody";
        findings.bad("database", &format!("{place} is empty"), advice)?;
    } else if let Some(damage) = &facts.damage {
        let advice = "stop switchboard, keep the folder as it is, and put a backup back (docs/embedded.md)";
        findings.bad("database", &format!("{size}, damaged: {damage}"), advice)?;
    } else if migrations > known {
        let found = format!("{size}, {migrations} migrations, this release knows {known}");
        findings.bad("database", &found, "use the newer release")?;
    } else if migrations < known {
        let found = format!("{size}, {migrations} of {known} migrations: the next start brings it up");
        findings.good("database", &found)?;
    } else {
        findings.good("database", &format!("{size}, all {known} migrations, looked through"))?;
    }
    if facts.is_cut_short {
        let found =
            "went down while the database was in use, and its last moments may be missing; or this is a copy";
        findings.good(
            "machine",
            &format!("{found}; the next start begins a new epoch of the log, and clients refetch"),
        )?;
    }
    Ok(())
}

fn disk(dir: &Path, facts: &Facts, findings: &mut Findings) -> Result<(), Failure> {
    let space = rustix::fs::statvfs(dir)?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let found = format!("{:.1} GB free", free as f64 / 1e9);
    if free < facts.size.saturating_add(SPARE) {
        let advice = "a migration or a backup keeps a copy beside the database: make room";
        return Ok(findings.bad("disk", &found, advice)?);
    }
    Ok(findings.good("disk", &found)?)
}
