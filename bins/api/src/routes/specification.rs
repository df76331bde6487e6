//! `/v1/openapi.json`.

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::state::Api;

/// What this server offers, as OpenAPI 3.1.
#[utoipa::path(
    get,
    path = "/v1/openapi.json",
    operation_id = "getOpenApi",
    tag = "server",
    security(()),
    responses((status = 200, description = "The document", body = Object))
)]
pub async fn openapi(State(api): State<Api>) -> impl IntoResponse {
    let headers =
        [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "public, max-age=300")];
    (headers, api.openapi())
}
