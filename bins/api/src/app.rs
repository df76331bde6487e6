//! The role as one thing: built, bound, then run until told to stop.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use domain::Invalid;
use process::http::{ServeSettings, Server};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::layers::{cors::cors, deadline::deadline, observe::observe};
use crate::settings::HttpSettings;
use crate::state::{Api, Parts};
use crate::{openapi, routes};

/// The HTTP face, bound and ready to serve.
#[derive(Debug)]
pub struct App {
    address: SocketAddr,
    server: Server,
}

/// Why the HTTP face can't be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A setting that can't work.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The listener has no address, or the document of the routes can't be written.
    #[error("the HTTP face can't be built: {0}")]
    Internal(String),
}

impl BuildError {
    /// What sort of failure this is.
    #[must_use]
    pub const fn kind(&self) -> domain::ErrorKind {
        match self {
            Self::Invalid(_) => domain::ErrorKind::Invalid,
            Self::Internal(_) => domain::ErrorKind::Internal,
        }
    }
}

/// Every route of the HTTP face, with its layers.
///
/// # Errors
///
/// Settings that can't work.
pub fn router(settings: &HttpSettings, parts: Parts) -> Result<Router, BuildError> {
    settings.check()?;
    // The document is made once; routes are the same on every node.
    let (_, document) = routes::all().split_for_parts();
    let text = openapi::finish(document)
        .to_json()
        .map_err(|error| BuildError::Internal(format!("the OpenAPI document: {error}")))?;
    let api = Api::new(parts, settings.clone(), text.into());
    let (routes, _) = routes::with_limits(&api).split_for_parts();
    Ok(routes
        .fallback(routes::not_found)
        .method_not_allowed_fallback(routes::method_not_allowed)
        .layer(from_fn_with_state(api.clone(), deadline))
        .layer(from_fn_with_state(api.clone(), cors))
        .layer(from_fn_with_state(api.clone(), observe))
        .with_state(api))
}

/// Builds the HTTP face on a listener.
///
/// # Errors
///
/// Settings that can't work; a listener without an address.
pub fn build(
    settings: &HttpSettings,
    serve: ServeSettings,
    listener: TcpListener,
    parts: Parts,
) -> Result<App, BuildError> {
    let address = listener.local_addr().map_err(|error| BuildError::Internal(error.to_string()))?;
    let router = router(settings, parts)?;
    Ok(App { address, server: Server::new("http", listener, router, serve) })
}

impl App {
    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` is cancelled, then lets requests finish for at most `deadline`.
    pub async fn run(self, shutdown: CancellationToken, deadline: Duration) {
        self.server.run(shutdown, deadline).await;
    }
}
