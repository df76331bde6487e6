//! The routes, in the order of their paths.

#![expect(unused_qualifications, reason = "utoipa's macro writes parameter types as <T as IntoParams>")]

use axum::extract::Request;
use axum::middleware::from_fn_with_state;
use domain::ErrorCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::layers::rate_limit::rate_limit;
use crate::openapi;
use crate::problem::Problem;
use crate::state::Api;

pub mod admin;
pub mod agents;
pub mod auth;
pub mod autocomplete;
pub mod devices;
pub mod events;
mod front;
pub mod hooks;
pub mod jwks;
pub mod members;
pub mod messages;
pub mod notifications;
pub mod push;
pub mod reactions;
pub mod rooms;
pub mod runs;
pub mod specification;
pub mod stream;
pub mod task_runs;
pub mod tasks;
pub mod tickets;
pub mod tool_calls;
pub mod typing;
pub mod users;

/// Every route, without the layers that need the state.
pub(crate) fn all() -> OpenApiRouter<Api> {
    OpenApiRouter::with_openapi(openapi::base()).merge(sign_in()).merge(signed_in())
}

/// Every route, the sign-in routes behind their rate limit.
pub(crate) fn with_limits(api: &Api) -> OpenApiRouter<Api> {
    signed_in().merge(sign_in().route_layer(from_fn_with_state(api.clone(), rate_limit)))
}

fn sign_in() -> OpenApiRouter<Api> {
    OpenApiRouter::default()
        .routes(routes!(auth::register))
        .routes(routes!(auth::login))
        .routes(routes!(auth::refresh))
        .routes(routes!(auth::logout))
}

fn signed_in() -> OpenApiRouter<Api> {
    OpenApiRouter::default()
        .routes(routes!(jwks::jwks))
        .routes(routes!(specification::openapi))
        .routes(routes!(tickets::issue))
        .routes(routes!(users::me))
        .routes(routes!(users::find))
        .routes(routes!(users::get))
        .routes(routes!(devices::list, devices::create))
        .routes(routes!(devices::delete))
        .routes(routes!(push::get, push::put, push::delete))
        .routes(routes!(push::test))
        .routes(routes!(push::key))
        .routes(routes!(agents::list, agents::create))
        .routes(routes!(agents::me))
        .routes(routes!(agents::get, agents::settings, agents::revoke))
        .routes(routes!(agents::rotate_token))
        .routes(routes!(rooms::list, rooms::create))
        .routes(routes!(rooms::get))
        .routes(routes!(rooms::settings))
        .routes(routes!(rooms::read))
        .routes(routes!(members::add, members::remove))
        .routes(routes!(members::remove_one))
        .routes(routes!(messages::send))
        .routes(routes!(messages::edit, messages::delete))
        .routes(routes!(reactions::add, reactions::remove))
        .routes(routes!(events::list))
        .routes(routes!(typing::typing))
        .routes(routes!(runs::list, runs::create))
        .routes(routes!(runs::get))
        .routes(routes!(runs::cancel))
        .routes(routes!(tool_calls::call))
        .routes(routes!(tool_calls::pending))
        .routes(routes!(tool_calls::get))
        .routes(routes!(tool_calls::resolve))
        .routes(routes!(autocomplete::ask))
        .routes(routes!(notifications::list))
        .routes(routes!(notifications::read))
        .routes(routes!(notifications::preferences::get, notifications::preferences::put))
        .routes(routes!(notifications::trace))
        .routes(routes!(tasks::list, tasks::create))
        .routes(routes!(tasks::preview))
        .routes(routes!(tasks::get, tasks::edit, tasks::delete))
        .routes(routes!(tasks::replace_hook, tasks::remove_hook))
        .routes(routes!(tasks::replace_webhook_secret))
        .routes(routes!(task_runs::run))
        .routes(routes!(task_runs::list))
        .routes(routes!(task_runs::get))
        .routes(routes!(task_runs::cancel))
        .routes(routes!(hooks::call))
        .routes(routes!(stream::open))
        .routes(routes!(admin::cluster))
        .routes(routes!(admin::disable))
        .routes(routes!(admin::enable))
        .routes(routes!(admin::scheduler, admin::switch_scheduler))
        .routes(routes!(admin::keys::list))
        .routes(routes!(admin::keys::rotate))
        .routes(routes!(admin::keys::retire))
}

/// What browsers are shown: no part of the interface, so not in its document.
pub(crate) fn pages() -> axum::Router<Api> {
    axum::Router::new().route("/", axum::routing::get(front::page))
}

pub(crate) async fn not_found(request: Request) -> Problem {
    // The path is the caller's own, but it may hold a secret: it is not repeated.
    Problem::new(ErrorCode::NotFound, format!("there is nothing at this path for {}", request.method()))
}

pub(crate) async fn method_not_allowed(request: Request) -> Problem {
    let detail = format!("{} is not offered here; the header Allow lists what is", request.method());
    Problem::new(ErrorCode::MethodNotAllowed, detail)
}
