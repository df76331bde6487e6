//! `/v1/devices`: the caller's devices.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use domain::{DeviceId, text};
use serde::Deserialize;
use store::devices::NewDevice;
use utoipa::IntoParams;

use crate::extract::cursor::{self, MAX_LIMIT, Page};
use crate::extract::{IdempotencyKey, Json, Path, Person, Query};
use crate::problem::Problem;
use crate::routes::auth::DeviceBody;
use crate::shapes::DeviceShape;
use crate::state::Api;

/// Which page.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// `next` of the page before.
    #[param(min_length = 1)]
    pub(super) cursor: Option<String>,
    /// Items of the page.
    #[param(minimum = 1, maximum = 200)]
    pub(super) limit: Option<u32>,
}

/// Which device.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct DevicePath {
    /// Which.
    #[param(value_type = uuid::Uuid)]
    pub(super) id: DeviceId,
}

/// Adds a device. The same `Idempotency-Key` gives the same device.
#[utoipa::path(
    post,
    path = "/v1/devices",
    operation_id = "createDevice",
    tag = "devices",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 64, pattern = "^[!-~]+$", description = "Makes the call safe to repeat")),
    request_body = DeviceBody,
    responses(
        (status = 201, description = "Added", body = DeviceShape),
        (status = 200, description = "Added before, by the same key", body = DeviceShape)
    )
)]
pub async fn create(
    State(api): State<Api>,
    person: Person,
    IdempotencyKey(key): IdempotencyKey,
    Json(body): Json<DeviceBody>,
) -> Result<(StatusCode, Answer<DeviceShape>), Problem> {
    text::name("name", &body.name)?;
    let device = NewDevice { id: DeviceId::new(), kind: body.kind, name: body.name };
    let created = api.store().create_device(person.user(), &device, key.as_ref()).await?;
    let status = if created.id == device.id { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Answer(created.into())))
}

/// The caller's devices.
#[utoipa::path(
    get,
    path = "/v1/devices",
    operation_id = "listDevices",
    tag = "devices",
    params(PageQuery),
    responses((status = 200, description = "A page of devices", body = Page<DeviceShape>))
)]
pub async fn list(
    State(api): State<Api>,
    person: Person,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<DeviceShape>>, Problem> {
    let limit = cursor::limit(query.limit, MAX_LIMIT)?;
    let after = cursor::decode_id(query.cursor.as_deref())?;
    let devices = api.store().devices(person.user(), after, limit + 1).await?;
    Ok(Answer(Page::of(devices, limit, |device| device.id.0, DeviceShape::from)))
}

/// Removes a device, and closes its connection.
#[utoipa::path(
    delete,
    path = "/v1/devices/{id}",
    operation_id = "deleteDevice",
    tag = "devices",
    params(DevicePath),
    responses((status = 204, description = "Removed"))
)]
pub async fn delete(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<DevicePath>,
) -> Result<StatusCode, Problem> {
    api.operations().delete_device(person.user(), path.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
