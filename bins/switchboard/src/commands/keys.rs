//! `switchboard keys`.

use std::sync::Arc;

use auth::keys::directory::Directory;
use auth::keys::keeper::{self, KeyView};
use auth::keys::manifest::KeyState;
use auth::keys::store::KeyStore;
use auth::keys::store_of;
use auth::{KeyDriver, KeyKeeper};
use cluster::Notifier;
use domain::NodeId;
use jiff::Timestamp;
use node::Settings;
use prometheus::Registry;
use protocol::notify::{Id, Kind};
use tokio_util::sync::CancellationToken;

use crate::commands::{Failure, say, store};

/// Shows the keys; makes none. A directory can be looked into without a database; then this machine's clock counts.
pub(super) async fn list(settings: Settings) -> Result<(), Failure> {
    let without = settings.signing_key.driver == KeyDriver::Dir
        && settings.is_embedded()
        && !settings.embedded.file.exists();
    let (kept, now): (Arc<dyn KeyStore>, Timestamp) = if without {
        (Arc::new(Directory::at(settings.secrets.signing_key_dir.clone())), Timestamp::now())
    } else {
        let records = store(&settings).await?;
        (store_of(&settings.signing_key, &settings.secrets, &records)?, records.database_time().await?)
    };
    let keys = keeper::list(&*kept, &settings.signing_key.rules(&settings.auth), now).await?;
    if keys.is_empty() {
        let place = kept.place();
        return say(format_args!("there are no keys yet: the first api node makes the first one in {place}"));
    }
    say(format_args!("{:<38} {:<10} {:<21} {:<21} made by", "key", "state", "signs from", "deleted after"))?;
    for KeyView { key, state, deleted_from, fault, .. } in keys {
        let state = if fault.is_some() { "unreadable" } else { state.as_str() };
        let (from, until) = (second(key.signs_from), deleted_from.map(second).unwrap_or_default());
        say(format_args!("{:<38} {state:<10} {from:<21} {until:<21} {}", key.kid, key.made_by))?;
        if let Some(fault) = fault {
            say(format_args!("  {fault}"))?;
        }
    }
    Ok(())
}

/// Makes a key, and says what happens when.
pub(super) async fn rotate(settings: Settings) -> Result<(), Failure> {
    let keeper = keeper(&settings).await?;
    let made = keeper.rotate(None).await.map_err(told)?;
    tell(&settings, &made.key.kid).await?;
    say(format_args!("made key {}", made.key.kid))?;
    say(format_args!(
        "it signs from {} on, when every node has had the time to read it",
        made.key.signs_from
    ))?;
    for before in keeper.list().await?.iter().filter(|before| before.state == KeyState::Active) {
        let until = before.deleted_from.map(second).unwrap_or_default();
        say(format_args!("key {} signs until then, and is deleted after {until}", before.key.kid))?;
    }
    Ok(())
}

/// Takes a key out that does not sign yet.
pub(super) async fn retire(settings: Settings, kid: String) -> Result<(), Failure> {
    let retired = keeper(&settings).await?.retire(&kid).await.map_err(told)?;
    tell(&settings, &kid).await?;
    match retired.deleted_from {
        Some(at) => say(format_args!("key {kid} has retired; it is deleted after {}", second(at))),
        None => say(format_args!("key {kid} was taken out before it signed")),
    }
}

/// Takes a key out that got into wrong hands.
pub(super) async fn expel(settings: Settings, kid: String) -> Result<(), Failure> {
    let signs = keeper(&settings).await?.expel(&kid).await.map_err(told)?;
    tell(&settings, &kid).await?;
    say(format_args!(
        "key {kid} is gone: each node that hears of it refuses what it signed, the last within"
    ))?;
    say(format_args!("signing_key.cache_ttl; key {} signs now", signs.key.kid))
}

async fn keeper(settings: &Settings) -> Result<KeyKeeper, Failure> {
    let records = store(settings).await?;
    let kept = store_of(&settings.signing_key, &settings.secrets, &records)?;
    let rules = settings.signing_key.rules(&settings.auth);
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let made_by = format!("a command on {host}");
    Ok(KeyKeeper::new(kept, records, rules, std::time::Duration::ZERO, made_by, &Registry::new())?)
}

/// Tells the nodes, so that they need not find out. If that fails, they do.
async fn tell(settings: &Settings, kid: &str) -> Result<(), Failure> {
    if settings.is_embedded() {
        return Ok(());
    }
    let counters = cluster::Metrics::register(&Registry::new())?;
    let connector = node::connector(settings, "keys")?;
    let (notifier, sending) = Notifier::new(connector, NodeId::new(), settings.notifier.clone(), counters);
    notifier.notify(Kind::KeyRotated, kid.parse::<Id>()?, None);
    // Told to stop at once it sends what waits, within notifier.shutdown_timeout.
    let stop = CancellationToken::new();
    stop.cancel();
    sending.run(stop).await;
    Ok(())
}

/// What the rules say is for whoever gave the command.
fn told(error: auth::AuthError) -> Failure {
    match error {
        auth::AuthError::KeyRefused(refusal) => refusal.into(),
        error => error.into(),
    }
}

fn second(at: Timestamp) -> String {
    format!("{at:.0}")
}
