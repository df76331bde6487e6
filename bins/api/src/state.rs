//! What every route can reach.

use std::sync::Arc;

use auth::{Identity, KeyKeeper, Limiter};
use domain::{NodeId, TaskId, UserId};
use node::HttpSettings;
use operations::Operations;
use store::Store;
use tokio_util::sync::CancellationToken;

use crate::metrics::ApiMetrics;
use crate::pushes::Pushes;
use crate::stream::Streams;

/// What the HTTP face stands on: parts of the node.
#[derive(Clone)]
pub struct Parts {
    /// This node.
    pub node: NodeId,
    /// Who somebody is.
    pub identity: Arc<Identity>,
    /// Looks after the signing keys.
    pub keeper: KeyKeeper,
    /// What clients ask for.
    pub operations: Operations,
    /// The limit of the sign-in routes.
    pub limiter: Arc<Limiter>,
    /// The limit of hooks.
    pub hook_limiter: Arc<Limiter<TaskId>>,
    /// The limit of pushes to try a device.
    pub push_test_limiter: Arc<Limiter<UserId>>,
    /// What subscriptions are judged by, and the key of pushes.
    pub pushes: Arc<Pushes>,
    /// Counters.
    pub metrics: ApiMetrics,
    /// Server-Sent Events.
    pub streams: Streams,
}

/// The state of the routes; cheap to clone.
#[derive(Clone)]
pub struct Api(Arc<Inner>);

struct Inner {
    parts: Parts,
    settings: HttpSettings,
    openapi: axum::body::Bytes,
}

impl Api {
    pub(crate) fn new(parts: Parts, settings: HttpSettings, openapi: axum::body::Bytes) -> Self {
        Self(Arc::new(Inner { parts, settings, openapi }))
    }

    /// This node.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.0.parts.node
    }

    /// Who somebody is.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.0.parts.identity
    }

    /// Looks after the signing keys.
    #[must_use]
    pub fn keeper(&self) -> &KeyKeeper {
        &self.0.parts.keeper
    }

    /// What clients ask for.
    #[must_use]
    pub fn operations(&self) -> &Operations {
        &self.0.parts.operations
    }

    /// The store, for reads.
    #[must_use]
    pub fn store(&self) -> &dyn Store {
        &**self.0.parts.operations.store()
    }

    /// The limit of the sign-in routes.
    #[must_use]
    pub fn limiter(&self) -> &Limiter {
        &self.0.parts.limiter
    }

    /// The limit of hooks.
    #[must_use]
    pub fn hook_limiter(&self) -> &Limiter<TaskId> {
        &self.0.parts.hook_limiter
    }

    /// The limit of pushes to try a device.
    #[must_use]
    pub fn push_test_limiter(&self) -> &Limiter<UserId> {
        &self.0.parts.push_test_limiter
    }

    /// What subscriptions are judged by, and the key of pushes.
    #[must_use]
    pub fn pushes(&self) -> &Pushes {
        &self.0.parts.pushes
    }

    /// Server-Sent Events.
    #[must_use]
    pub fn streams(&self) -> &Streams {
        &self.0.parts.streams
    }

    /// Cancelled when the node drains: requests that wait answer with what they have.
    #[must_use]
    pub fn draining(&self) -> CancellationToken {
        self.0.parts.streams.tasks.token()
    }

    /// Counters.
    #[must_use]
    pub fn metrics(&self) -> &ApiMetrics {
        &self.0.parts.metrics
    }

    /// Settings.
    #[must_use]
    pub fn settings(&self) -> &HttpSettings {
        &self.0.settings
    }

    pub(crate) fn openapi(&self) -> axum::body::Bytes {
        self.0.openapi.clone()
    }
}
