//! `/v1/auth`: getting in, staying in, leaving.

use auth::{AuthError, Device, Login, NewPerson, Refreshed, Registered, Registration, SignedIn};
use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use domain::DeviceKind;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::extract::{IdempotencyKey, Json, Object, OptionalJson, Person};
use crate::problem::Problem;
use crate::shapes::UserShape;
use crate::state::Api;

/// A device that signs in for the first time.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceBody {
    /// What it is.
    #[schema(value_type = String, pattern = "^(desktop|mobile|web)$")]
    pub kind: DeviceKind,
    /// What its owner calls it.
    #[schema(min_length = 1, max_length = 80)]
    pub name: String,
}

impl From<Object<DeviceBody>> for Device {
    fn from(Object(body): Object<DeviceBody>) -> Self {
        Self { kind: body.kind, name: body.name }
    }
}

/// A registration.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterBody {
    /// The unique handle: a-z, 0-9, `.`, `_`, `-`.
    #[schema(min_length = 2, max_length = 32, pattern = "^[a-z0-9]([a-z0-9._-]*[a-z0-9])$")]
    handle: String,
    /// The password.
    #[schema(min_length = 10, max_length = 256)]
    password: String,
    /// The name that people read; the handle when there is none.
    #[schema(min_length = 1, max_length = 80)]
    display_name: Option<String>,
    /// A device to be added with it.
    #[schema(value_type = Option<DeviceBody>)]
    device: Option<Object<DeviceBody>>,
}

/// A login.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginBody {
    /// The handle.
    handle: String,
    /// The password.
    password: String,
    /// A device to be added with it.
    #[schema(value_type = Option<DeviceBody>)]
    device: Option<Object<DeviceBody>>,
}

/// A refresh token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshBody {
    /// The newest refresh token of the sign-in.
    refresh_token: String,
}

/// What a logout may be proved by when there is no bearer token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogoutBody {
    /// The newest refresh token of the sign-in.
    refresh_token: Option<String>,
}

/// Somebody who is in.
#[derive(Serialize, ToSchema)]
#[schema(as = SignedIn)]
pub struct SignedInShape {
    /// Who.
    user: UserShape,
    /// The device of the sign-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_id: Option<Uuid>,
    /// The sign-in.
    session_id: Uuid,
    /// Send it as `Authorization: Bearer`.
    access_token: String,
    /// Gets the next access token, once.
    refresh_token: String,
    /// Seconds until the access token is past its time.
    expires_in: u64,
}

impl From<SignedIn> for SignedInShape {
    fn from(signed_in: SignedIn) -> Self {
        Self {
            user: signed_in.user.into(),
            device_id: signed_in.device.map(|id| id.0),
            session_id: signed_in.session.0,
            access_token: signed_in.access_token.into_string(),
            refresh_token: signed_in.refresh_token.into_string(),
            expires_in: signed_in.expires_in.as_secs(),
        }
    }
}

/// Makes an account and signs in with it. The same `Idempotency-Key` with the same password signs in again.
#[utoipa::path(
    post,
    path = "/v1/auth/register",
    operation_id = "register",
    tag = "auth",
    security(()),
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 64, pattern = "^[!-~]+$", description = "Makes the call safe to repeat")),
    request_body = RegisterBody,
    responses(
        (status = 201, description = "Signed in", body = SignedInShape),
        (status = 200, description = "Signed in; the account was made before with the same key", body = SignedInShape)
    )
)]
pub async fn register(
    State(api): State<Api>,
    IdempotencyKey(key): IdempotencyKey,
    Json(body): Json<RegisterBody>,
) -> Result<(StatusCode, Answer<SignedInShape>), Problem> {
    let person = NewPerson { handle: body.handle, password: body.password, display_name: body.display_name };
    let registration = Registration { person, device: body.device.map(Into::into), key };
    Ok(match api.identity().register(&registration).await? {
        Registered::Now(signed_in) => (StatusCode::CREATED, Answer((*signed_in).into())),
        Registered::Before(signed_in) => (StatusCode::OK, Answer((*signed_in).into())),
    })
}

/// Signs in.
#[utoipa::path(
    post,
    path = "/v1/auth/login",
    operation_id = "login",
    tag = "auth",
    security(()),
    request_body = LoginBody,
    responses((status = 200, description = "Signed in", body = SignedInShape))
)]
pub async fn login(
    State(api): State<Api>,
    Json(body): Json<LoginBody>,
) -> Result<Answer<SignedInShape>, Problem> {
    let device = body.device.map(Into::into);
    let login = Login { handle: body.handle, password: body.password, device };
    Ok(Answer(api.identity().login(&login).await?.into()))
}

/// Exchanges a refresh token for the next pair of tokens. The same token twice ends the sign-in.
#[utoipa::path(
    post,
    path = "/v1/auth/refresh",
    operation_id = "refresh",
    tag = "auth",
    security(()),
    request_body = RefreshBody,
    responses((status = 200, description = "The next tokens", body = SignedInShape))
)]
pub async fn refresh(
    State(api): State<Api>,
    Json(body): Json<RefreshBody>,
) -> Result<Answer<SignedInShape>, Problem> {
    Ok(Answer(renew(&api, &body.refresh_token).await?.into()))
}

/// Ends the sign-in that the bearer token, or else the refresh token in the body, belongs to.
#[utoipa::path(
    post,
    path = "/v1/auth/logout",
    operation_id = "logout",
    tag = "auth",
    security((), ("bearer" = [])),
    request_body = Option<LogoutBody>,
    responses((status = 204, description = "Ended"))
)]
pub async fn logout(
    State(api): State<Api>,
    person: Option<Person>,
    OptionalJson(body): OptionalJson<LogoutBody>,
) -> Result<StatusCode, Problem> {
    let (user, session) = match (person, body.and_then(|body| body.refresh_token)) {
        (Some(person), _) => (person.user(), person.session()),
        // Whoever holds the refresh token may end what it belongs to, also when the access token is past its time.
        (None, Some(refresh_token)) => {
            let renewed = renew(&api, &refresh_token).await?;
            (renewed.user.id, renewed.session)
        }
        (None, None) => return Err(AuthError::Unauthenticated("neither token").into()),
    };
    let ended = api.identity().logout(user, session).await?;
    api.operations().announcer().session_ended(&ended);
    Ok(StatusCode::NO_CONTENT)
}

async fn renew(api: &Api, refresh_token: &str) -> Result<SignedIn, Problem> {
    match api.identity().refresh(refresh_token).await? {
        Refreshed::Renewed(signed_in) => Ok(*signed_in),
        Refreshed::Reused(ended) => {
            tracing::warn!(user = %ended.user, session = %ended.session, "a refresh token was used twice; its sign-in was ended");
            api.operations().announcer().session_ended(&ended);
            Err(AuthError::RefreshReused.into())
        }
    }
}
