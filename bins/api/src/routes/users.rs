//! `/v1/users`: people.

use auth::AuthError;
use axum::Json;
use axum::extract::State;
use domain::UserId;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::extract::cursor::{self, MAX_LIMIT, Page};
use crate::extract::{Caller, Path, Person, Query};
use crate::problem::Problem;
use crate::shapes::UserShape;
use crate::state::Api;

/// Longest text that is searched for.
const MAX_QUERY: usize = 80;

/// What people are looked for by.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FindQuery {
    /// The beginning of a handle or display name; everybody when there is none.
    #[param(max_length = 80)]
    query: Option<String>,
    /// `next` of the page before.
    #[param(min_length = 1)]
    cursor: Option<String>,
    /// Items of the page.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// Which person.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct UserPath {
    /// Who.
    #[param(value_type = uuid::Uuid)]
    id: UserId,
}

/// The caller, a person.
#[utoipa::path(
    get,
    path = "/v1/users/me",
    operation_id = "getMe",
    tag = "users",
    responses((status = 200, description = "The caller", body = UserShape))
)]
pub async fn me(State(api): State<Api>, person: Person) -> Result<Json<UserShape>, Problem> {
    match api.store().user(person.user()).await? {
        Some(user) => Ok(Json(user.into())),
        None => Err(AuthError::SessionRevoked.into()),
    }
}

/// Finds people.
#[utoipa::path(
    get,
    path = "/v1/users",
    operation_id = "findUsers",
    tag = "users",
    params(FindQuery),
    responses((status = 200, description = "A page of people", body = Page<UserShape>))
)]
pub async fn find(
    State(api): State<Api>,
    _person: Person,
    Query(query): Query<FindQuery>,
) -> Result<Json<Page<UserShape>>, Problem> {
    let limit = cursor::limit(query.limit, MAX_LIMIT)?;
    let after = cursor::decode_id(query.cursor.as_deref())?;
    let text = query.query.as_deref().unwrap_or_default();
    if text.chars().count() > MAX_QUERY {
        return Err(Problem::field("query", format!("is too long; allowed is up to {MAX_QUERY} characters")));
    }
    let users = api.store().users(text, after, limit + 1).await?;
    Ok(Json(Page::of(users, limit, |user| user.id.0, UserShape::from)))
}

/// A person.
#[utoipa::path(
    get,
    path = "/v1/users/{id}",
    operation_id = "getUser",
    tag = "users",
    params(UserPath),
    responses((status = 200, description = "The person", body = UserShape))
)]
pub async fn get(
    State(api): State<Api>,
    _caller: Caller,
    Path(path): Path<UserPath>,
) -> Result<Json<UserShape>, Problem> {
    let user = api.store().user(path.id).await?;
    user.map(|user| Json(user.into())).ok_or_else(|| Problem::not_found("person"))
}
