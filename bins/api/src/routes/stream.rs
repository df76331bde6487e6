//! `/v1/stream`: the frames of the gateway as Server-Sent Events.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use domain::{ConnectionId, DeviceId};
use realtime::{Begin, ConnectionMeta, Opening, SessionError};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::extract::{Person, Query};
use crate::problem::Problem;
use crate::state::Api;
use crate::stream::Cursors;

/// Which device streams.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StreamQuery {
    /// The device whose connection this is; its newer connection, of whatever kind, ends the older. A stream
    /// without a device stands beside all others.
    #[param(value_type = Option<uuid::Uuid>)]
    device_id: Option<DeviceId>,
}

/// Streams frames as Server-Sent Events.
#[utoipa::path(
    get,
    path = "/v1/stream",
    operation_id = "stream",
    tag = "realtime",
    params(StreamQuery, ("Last-Event-ID" = Option<String>, Header, description = "Resumes after this event")),
    responses((status = 200, description = "Frames, one an event", content_type = "text/event-stream", body = String))
)]
pub async fn open(
    State(api): State<Api>,
    person: Person,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let cursors = match headers.get("last-event-id") {
        None => Cursors::default(),
        Some(value) => {
            let text = value.to_str().map_err(|_| Problem::field("Last-Event-ID", "must be text"))?;
            Cursors::decode(text).map_err(|error| Problem::from(operations::Error::from(error)))?
        }
    };
    let meta = ConnectionMeta {
        id: ConnectionId::new(),
        principal: person.user().into(),
        session: person.session(),
    };
    let opening = Opening {
        begin: query.device_id.map_or(Begin::Unslotted, Begin::Device),
        cursors: cursors.to_protocol(),
        log_epoch: cursors.log_epoch,
    };
    api.streams().open(meta, &opening, cursors, person.expires_at()).await.map_err(|error| match error {
        SessionError::Store(error) => operations::Error::from(error).into(),
        error => Problem::new(error.code(), error.public_message()),
    })
}
