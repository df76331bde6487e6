//! The signing keys of a node that faces clients.
//!
//! A node whose store can't be read starts all the same, is not ready, says why, and tries on. Api nodes look after the keys, too:
//! they make the first one, rotate by the schedule, and delete what is past its time. Gateways only read.

use std::sync::Arc;

use auth::keys::keeper::Kept;
use auth::keys::store::KeyStore;
use auth::keys::{Keys, store_of};
use auth::{AuthError, KeyKeeper};
use process::supervise::Phase;

use crate::node::{BuildError, Node};
use crate::settings::Settings;

/// The key store of the settings, and what a node reads from it.
pub(crate) struct Signing {
    store: Arc<dyn KeyStore>,
    pub(crate) keys: Arc<Keys>,
}

impl Signing {
    /// Nothing is read yet.
    pub(crate) fn new(node: &Node, settings: &Settings) -> Result<Self, AuthError> {
        let store = store_of(&settings.signing_key, &settings.secrets, &node.store)?;
        let rules = settings.signing_key.rules(&settings.auth);
        let cooldown = settings.secrets.reload_cooldown;
        let keys = Keys::new(Arc::clone(&store), rules, cooldown, node.metrics.registry())?;
        Ok(Self { store, keys: Arc::new(keys) })
    }

    /// Makes the first key where there is none, and looks after all of them from now on.
    pub(crate) async fn keep(&self, node: &Node, settings: &Settings) -> Result<KeyKeeper, BuildError> {
        let keeper = KeyKeeper::new(
            Arc::clone(&self.store),
            Arc::clone(&node.store),
            settings.signing_key.rules(&settings.auth),
            settings.signing_key.rotate_every,
            node.info.name.clone(),
            node.metrics.registry(),
        )?;
        if let Err(error) = keeper.make_first().await {
            tracing::warn!(%error, "can't make sure that there is a signing key; trying on");
        }
        let bus = node.supervisor.at(Phase::Bus);
        let (keeping, keys, operations) = (keeper.clone(), Arc::clone(&self.keys), node.operations.clone());
        let stop = bus.token();
        bus.critical("keeper of signing keys", async move {
            let tell = |kept: &Kept| {
                keys.read_soon();
                for kid in kept.kids() {
                    operations.signing_keys_changed(kid);
                }
            };
            keeping.keep(&keys, tell, stop).await;
        });
        Ok(keeper)
    }

    /// Reads the keys, and keeps up with them from now on.
    pub(crate) async fn follow(&self, node: &Node) {
        if let Err(error) = self.keys.read().await {
            tracing::warn!(%error, "not ready yet; trying on");
        }
        let keys = Arc::clone(&self.keys);
        node.health.add_check("signing_keys", move || {
            let readiness = keys.readiness();
            async move { readiness }
        });
        let bus = node.supervisor.at(Phase::Bus);
        let (keys, stop) = (Arc::clone(&self.keys), bus.token());
        bus.critical("signing keys", async move { keys.follow(stop).await });
    }
}
