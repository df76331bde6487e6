//! Every route of the HTTP face, with the layers around them.

use axum::Router;
use axum::middleware::from_fn_with_state;
use domain::Invalid;
use node::HttpSettings;

use crate::layers::{cors::cors, deadline::deadline, observe::observe};
use crate::state::{Api, Parts};
use crate::{openapi, routes};

/// Why the HTTP face can't be built.
#[derive(Debug, thiserror::Error)]
pub enum RouterError {
    /// A setting that can't work.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The listener has no address, or the document of the routes can't be written.
    #[error("the HTTP face can't be built: {0}")]
    Internal(String),
}

impl RouterError {
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
pub fn router(settings: &HttpSettings, parts: Parts) -> Result<Router, RouterError> {
    settings.check()?;
    // The document is made once; routes are the same on every node.
    let (_, document) = routes::all().split_for_parts();
    let text = openapi::finish(document)
        .to_json()
        .map_err(|error| RouterError::Internal(format!("the OpenAPI document: {error}")))?;
    let api = Api::new(parts, settings.clone(), text.into());
    let (routes, _) = routes::with_limits(&api).split_for_parts();
    Ok(routes
        .merge(routes::pages())
        .fallback(routes::not_found)
        .method_not_allowed_fallback(routes::method_not_allowed)
        .layer(from_fn_with_state(api.clone(), deadline))
        .layer(from_fn_with_state(api.clone(), cors))
        .layer(from_fn_with_state(api.clone(), observe))
        .with_state(api))
}
