//! `/.well-known/jwks.json`.

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::state::Api;

/// A JSON Web Key Set.
#[derive(ToSchema)]
#[schema(as = Jwks)]
#[expect(dead_code, reason = "describes what auth writes")]
pub(crate) struct JwksShape {
    /// Public keys (RFC 7517, RFC 8037).
    keys: Vec<Object>,
}

#[derive(ToSchema)]
#[schema(as = Jwk)]
pub(crate) struct Object {}

/// The public keys that access tokens are signed with.
#[utoipa::path(
    get,
    path = "/.well-known/jwks.json",
    operation_id = "getJwks",
    tag = "auth",
    security(()),
    responses((status = 200, description = "The keys", body = inline(JwksShape)))
)]
pub async fn jwks(State(api): State<Api>) -> Result<impl IntoResponse, Problem> {
    let keys = api.identity().jwks()?;
    // Short: a key that is about to sign must be seen in time.
    Ok(([(header::CACHE_CONTROL, "public, max-age=60")], axum::Json(keys)))
}
