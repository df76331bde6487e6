//! `switchboard keys`.

use auth::keys::directory;
use node::Settings;

use crate::commands::{Failure, say};

/// Shows the keys of the directory; makes none.
pub(super) async fn list(settings: Settings) -> Result<(), Failure> {
    let dir = &settings.secrets.signing_key_dir;
    let Some(manifest) = directory::manifest(dir)? else {
        return say(format_args!(
            "there are no keys yet: {} is made when the first api or gateway node starts",
            dir.display()
        ));
    };
    // The manifest may name what can't be read.
    let set = directory::load(dir)?;
    say(format_args!("{:<38} {:<10} made", "key", "state"))?;
    for key in &manifest.keys {
        let state = match set.get(&key.kid) {
            Some(_) if key.kid == manifest.active => "active",
            Some(_) => "verifies",
            None => "unreadable",
        };
        say(format_args!("{:<38} {state:<10} {}", key.kid, key.created_at))?;
    }
    Ok(())
}
