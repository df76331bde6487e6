//! What nodes that face clients have beside the rest: who somebody is, and sessions.

use std::sync::Arc;

use auth::Identity;
use process::supervise::Phase;
use realtime::{CatchUp, Limits, SessionLimits, Sessions};

use crate::node::{BuildError, Node};
use crate::settings::Settings;

/// Sign-ins and sessions of one node, shared by its sockets and streams.
#[derive(Clone)]
pub struct Faces {
    /// Who somebody is.
    pub identity: Arc<Identity>,
    /// Begins and ends sessions.
    pub sessions: Arc<Sessions>,
    /// Reads the log for connections that lag.
    pub catchup: Arc<CatchUp>,
}

impl Faces {
    /// Builds them on a node, and starts what keeps ended sign-ins known.
    ///
    /// # Errors
    ///
    /// Keys that can't be read or created, settings that can't work.
    pub async fn build(node: &Node, settings: &Settings) -> Result<Self, BuildError> {
        let identity = Arc::new(
            Identity::open(
                Arc::clone(&node.store),
                &settings.auth,
                &settings.tickets,
                &settings.secrets,
                node.metrics.registry(),
            )
            .await?,
        );
        node.hear_revocations(&identity);
        let bus = node.supervisor.at(Phase::Bus);
        let (following, hub, stop) = (Arc::clone(&identity), Arc::clone(&node.hub), bus.token());
        bus.critical("revocations", async move {
            let tell = |sessions: &[domain::AuthSessionId]| {
                for session in sessions {
                    hub.revoke(session.0);
                }
            };
            following.follow_revocations(tell, stop).await;
        });
        let sync = &settings.sync;
        let sessions = Sessions::new(
            Arc::clone(&node.hub),
            Arc::clone(&node.store),
            Arc::new(node.notifier.clone()),
            node.info.id,
            SessionLimits {
                outbox: Limits { frames: sync.outbox_frames, bytes: sync.outbox_bytes },
                at_once: settings.relay.catchups,
                consumer_live: settings.runs.consumer_live(),
            },
        );
        let catchup =
            CatchUp::new(Arc::clone(&node.hub), Arc::clone(&node.store), settings.relay.catchups, sync.page);
        Ok(Self { identity, sessions: Arc::new(sessions), catchup })
    }
}
