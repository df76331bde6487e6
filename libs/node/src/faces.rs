//! What nodes that face clients have beside the rest: who somebody is, and sessions.

use std::sync::Arc;

use auth::{Identity, KeyKeeper};
use operations::PresenceMetrics;
use process::supervise::Phase;
use realtime::{CatchUp, Limits, MemoryView, SessionLimits, Sessions};

use crate::node::{BuildError, Node};
use crate::settings::{ClusterMode, Settings};
use crate::signing::Signing;

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
    /// Builds them on a node, and starts what keeps ended sign-ins and signing keys known.
    ///
    /// # Errors
    ///
    /// Settings that can't work. Keys that can't be read are no error: then the node is not ready.
    pub async fn build(node: &Node, settings: &Settings) -> Result<Self, BuildError> {
        Self::with(&Signing::new(node, settings)?, node, settings).await
    }

    /// As [`build`](Self::build), for a node that looks after the signing keys as well.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub async fn keeping(node: &Node, settings: &Settings) -> Result<(Self, KeyKeeper), BuildError> {
        let signing = Signing::new(node, settings)?;
        let keeper = signing.keep(node, settings).await?;
        Ok((Self::with(&signing, node, settings).await?, keeper))
    }

    async fn with(signing: &Signing, node: &Node, settings: &Settings) -> Result<Self, BuildError> {
        signing.follow(node).await;
        let identity = Arc::new(
            Identity::open(
                Arc::clone(&node.store),
                &settings.auth,
                &settings.tickets,
                Arc::clone(&signing.keys),
                node.metrics.registry(),
            )
            .await?,
        );
        node.hear_identity(&identity);
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
        write_presence(node, settings)?;
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
        let catchup = CatchUp::new(
            Arc::clone(&node.hub),
            Arc::clone(&node.store),
            settings.relay.catchups,
            sync.page,
            settings.presence.max_room_members,
        );
        Ok(Self { identity, sessions: Arc::new(sessions), catchup })
    }
}

/// Starts what says who is connected here. It ends after the connections do.
fn write_presence(node: &Node, settings: &Settings) -> Result<(), BuildError> {
    let metrics = PresenceMetrics::register(node.metrics.registry())?;
    let handover = node.supervisor.at(Phase::Handover);
    match settings.cluster.mode {
        ClusterMode::Multi => {
            let writer = node.operations.presence_writer(node.info.id, metrics);
            handover.critical("presence", writer.run(handover.token()));
        }
        ClusterMode::Single => {
            let view = MemoryView::new(Arc::clone(&node.hub), settings.sync.resume_window);
            let notes = node.operations.presence_notes(Arc::new(view), metrics);
            handover.critical("presence", notes.run(handover.token()));
        }
    }
    Ok(())
}
