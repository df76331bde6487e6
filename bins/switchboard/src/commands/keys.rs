//! `switchboard keys`.

use auth::Keys;
use node::Settings;

use crate::commands::Failure;

pub(super) async fn list(settings: Settings) -> Result<(), Failure> {
    let dir = &settings.secrets.signing_key_dir;
    if !dir.exists() {
        println!(
            "there are no keys yet: {} is made when the first api or gateway node starts",
            dir.display()
        );
        return Ok(());
    }
    let keys = Keys::open(&settings.secrets).await?;
    let set = keys.current();
    println!("keys of {}", dir.display());
    for key in set.jwks().keys {
        let state = if key.kid == set.active().id { "active" } else { "verifies" };
        println!("  {}  {state}", key.kid);
    }
    Ok(())
}
