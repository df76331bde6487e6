//! `/v1/admin/keys`: the keys that access tokens are signed with.

use auth::keys::keeper::KeyView;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::extract::cursor::Page;
use crate::extract::{Admin, OptionalJson, Path};
use crate::problem::Problem;
use crate::shapes::time;
use crate::state::Api;

/// A signing key. Its private part is shown to nobody.
#[derive(Serialize, ToSchema)]
#[schema(as = SigningKey)]
pub struct KeyShape {
    /// The `kid` of its tokens.
    kid: String,
    /// `published`, `active` or `retired`.
    #[schema(pattern = "^(published|active|retired)$")]
    state: &'static str,
    /// When it was made.
    #[schema(format = DateTime)]
    created_at: String,
    /// From when on it signs.
    #[schema(format = DateTime)]
    signs_from: String,
    /// Since when it signs no more, or from when on; null while that is not known.
    #[schema(format = DateTime)]
    retires_at: Option<String>,
    /// When it is deleted; null while that is not known.
    #[schema(format = DateTime)]
    deleted_from: Option<String>,
    /// Who made it.
    made_by: String,
    /// Whether this node can't read it; its log says why.
    unreadable: bool,
}

impl From<KeyView> for KeyShape {
    fn from(view: KeyView) -> Self {
        Self {
            state: view.state.as_str(),
            created_at: time(view.key.created_at),
            signs_from: time(view.key.signs_from),
            retires_at: view.retires_at.map(time),
            deleted_from: view.deleted_from.map(time),
            unreadable: view.fault.is_some(),
            kid: view.key.kid,
            made_by: view.key.made_by,
        }
    }
}

/// Which key.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct KeyPath {
    /// Its id.
    kid: String,
}

/// How it is taken out.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RetireKey)]
pub struct RetireBody {
    /// It got out: what it signed is refused by each node that hears of it, and the key that was to follow it signs now. False when it is
    /// left out.
    #[serde(default)]
    at_once: bool,
}

/// The signing keys, in the order in which they sign.
#[utoipa::path(
    get,
    path = "/v1/admin/keys",
    operation_id = "listSigningKeys",
    tag = "admin",
    responses((status = 200, description = "All of them", body = Page<KeyShape>))
)]
pub async fn list(State(api): State<Api>, _admin: Admin) -> Result<Json<Page<KeyShape>>, Problem> {
    let items = api.keeper().list().await?.into_iter().map(KeyShape::from).collect();
    Ok(Json(Page { items, next: None }))
}

/// Makes a key. It signs when every node has had the time to read it, and the one before it retires then.
#[utoipa::path(
    post,
    path = "/v1/admin/keys/rotate",
    operation_id = "rotateSigningKey",
    tag = "admin",
    responses((status = 200, description = "The new key; 409 while another rotation is under way", body = KeyShape))
)]
pub async fn rotate(State(api): State<Api>, admin: Admin) -> Result<Json<KeyShape>, Problem> {
    let made = api.keeper().rotate(Some(&admin.user.handle)).await?;
    changed(&api, &made.key.kid);
    Ok(Json(made.into()))
}

/// Takes a key out: one that does not sign yet, or at once any that got out while another may sign.
#[utoipa::path(
    post,
    path = "/v1/admin/keys/{kid}/retire",
    operation_id = "retireSigningKey",
    tag = "admin",
    params(KeyPath),
    request_body = Option<RetireBody>,
    responses((status = 200, description = "The key as it is now; at once, the one that signs now", body = KeyShape))
)]
pub async fn retire(
    State(api): State<Api>,
    admin: Admin,
    Path(path): Path<KeyPath>,
    OptionalJson(body): OptionalJson<RetireBody>,
) -> Result<Json<KeyShape>, Problem> {
    let retired = if body.unwrap_or_default().at_once {
        api.keeper().expel(&path.kid).await?
    } else {
        api.keeper().retire(&path.kid).await?
    };
    tracing::info!(kid = path.kid, by = %admin.user.id, "a signing key was taken out");
    changed(&api, &path.kid);
    Ok(Json(retired.into()))
}

fn changed(api: &Api, kid: &str) {
    api.identity().keys().read_soon();
    api.operations().signing_keys_changed(kid);
}
