//! `/v1/devices/{id}/push` and `/v1/push`: where pushes to the caller's devices go.

mod body;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use domain::{DeviceId, UserId};
use store::push::PushAddress;

pub use body::{KeysBody, SubscriptionBody};

use crate::extract::{Json, Path, Person};
use crate::problem::Problem;
use crate::routes::devices::DevicePath;
use crate::routes::push::body::Wanted;
use crate::shapes::{PushKeyShape, SubscriptionShape};
use crate::state::Api;

/// Where pushes to a device go, and what the last one came to.
#[utoipa::path(
    get,
    path = "/v1/devices/{id}/push",
    operation_id = "getPushSubscription",
    tag = "push",
    params(DevicePath),
    responses((status = 200, description = "The subscription, without what is secret of it", body = SubscriptionShape))
)]
pub async fn get(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<DevicePath>,
) -> Result<Answer<SubscriptionShape>, Problem> {
    view(&api, person.user(), path.id).await
}

/// Says where pushes to a device go: to what its browser has given out, or to the operator's relay. What another device had named before
/// is this one's from then on.
#[utoipa::path(
    put,
    path = "/v1/devices/{id}/push",
    operation_id = "setPushSubscription",
    tag = "push",
    params(DevicePath),
    request_body = SubscriptionBody,
    responses((status = 200, description = "The subscription, without what is secret of it", body = SubscriptionShape))
)]
pub async fn put(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<DevicePath>,
    Json(body): Json<SubscriptionBody>,
) -> Result<Answer<SubscriptionShape>, Problem> {
    let address = match body.read()? {
        Wanted::WebPush(subscription) => {
            api.pushes().check(&subscription).await?;
            let push::Subscription { endpoint, p256dh, auth } = subscription;
            PushAddress::WebPush { endpoint, p256dh, auth }
        }
        Wanted::Webhook { token } => {
            api.pushes().check_relay()?;
            PushAddress::Webhook { token }
        }
    };
    api.operations().subscribe(person.user(), person.session(), path.id, &address).await?;
    view(&api, person.user(), path.id).await
}

/// Ends pushes to a device.
#[utoipa::path(
    delete,
    path = "/v1/devices/{id}/push",
    operation_id = "deletePushSubscription",
    tag = "push",
    params(DevicePath),
    responses((status = 204, description = "There is no subscription any more"))
)]
pub async fn delete(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<DevicePath>,
) -> Result<StatusCode, Problem> {
    api.store().unsubscribe(person.user(), path.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Asks for a push to try a device. A worker sends it; what came of it shows in the subscription.
#[utoipa::path(
    post,
    path = "/v1/devices/{id}/push/test",
    operation_id = "testPush",
    tag = "push",
    params(DevicePath),
    responses((status = 202, description = "A worker will send it"))
)]
pub async fn test(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<DevicePath>,
) -> Result<StatusCode, Problem> {
    api.push_test_limiter().take(person.user()).await?;
    api.operations().test_push(person.user(), path.id).await?;
    Ok(StatusCode::ACCEPTED)
}

/// The key that browsers subscribe with.
#[utoipa::path(
    get,
    path = "/v1/push/key",
    operation_id = "getPushKey",
    tag = "push",
    responses((status = 200, description = "The key, the same on all nodes", body = PushKeyShape))
)]
pub async fn key(State(api): State<Api>, _person: Person) -> Result<Answer<PushKeyShape>, Problem> {
    let public_key = api.pushes().key().await?.public().to_owned();
    Ok(Answer(PushKeyShape { public_key }))
}

async fn view(api: &Api, person: UserId, device: DeviceId) -> Result<Answer<SubscriptionShape>, Problem> {
    let subscription = api.store().subscription(person, device).await?;
    let subscription = subscription.ok_or_else(|| Problem::not_found("push subscription"))?;
    Ok(Answer(subscription.into()))
}
