//! What a command of an administrator is about: the server of the configuration, or a cluster on this machine.

use std::path::Path;
use std::process::ExitCode;

use node::Settings;
use process::settings::{Loaded, Loader, Source};

use crate::cli::{Administered, DATA_DIR};
use crate::cluster::Found;

/// The settings for the cluster that is meant, if one is: the one that is named, or else the one in the default place
/// while nothing names another database or other keys.
pub(super) fn settings(
    administered: &Administered,
    loaded: Loaded<Settings>,
    loader: Loader,
) -> Result<Loaded<Settings>, ExitCode> {
    let found = match &administered.data_dir {
        Some(dir) => match Found::on(dir) {
            Ok(found) => found,
            Err(error) => {
                eprintln!("switchboard: {error}");
                return Err(ExitCode::FAILURE);
            }
        },
        None => match in_default_place(&loaded) {
            Some(found) => found,
            None => return Ok(loaded),
        },
    };
    let loader = loader
        .flag("database.url", found.database_url)
        .flag("secrets.signing_key_dir", found.keys.display().to_string());
    node::app::checked(Settings::load(&loader))
}

fn in_default_place(loaded: &Loaded<Settings>) -> Option<Found> {
    if loaded.source("secrets.signing_key_dir") != Source::Default {
        return None;
    }
    let named = &loaded.settings.database.url;
    let found = Found::on(Path::new(DATA_DIR)).ok()?;
    if !named.is_empty() && *named != found.database_url {
        return None;
    }
    eprintln!("switchboard: this is about the cluster that runs on {DATA_DIR}");
    Some(found)
}
