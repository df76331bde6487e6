//! `/v1/hooks/{secret}`: what others call so that a task runs.

use axum::Json as Answer;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use operations::tasks::hooks::Proof;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::extract::Path;
use crate::extract::json::read;
use crate::problem::Problem;
use crate::state::Api;

/// Headers that name a delivery; the first that is there counts.
const DELIVERY: [&str; 4] = ["webhook-id", "Idempotency-Key", "X-GitHub-Delivery", "X-Delivery-Id"];

/// Which hook.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct HookPath {
    /// What its address ends in.
    secret: String,
}

/// What came of a call.
#[derive(Serialize, ToSchema)]
#[schema(as = HookCall)]
pub struct HookCallShape {
    /// The run that it queued; of a delivery that was taken before, the one that was queued then.
    run_id: Uuid,
    /// Whether the delivery was taken before.
    repeated: bool,
}

/// Queues a run of the task whose hook this is. The body, of any type, is passed to the run. A delivery that was taken before queues nothing.
#[utoipa::path(
    post,
    path = "/v1/hooks/{secret}",
    operation_id = "callHook",
    tag = "tasks",
    security(()),
    params(
        HookPath,
        ("webhook-id" = Option<String>, Header, max_length = 128, description = "Names the delivery, and is signed (Standard Webhooks)"),
        ("webhook-timestamp" = Option<String>, Header, description = "Seconds since 1970, signed (Standard Webhooks)"),
        ("webhook-signature" = Option<String>, Header, description = "One or more `v1,<base64>` (Standard Webhooks)"),
        ("X-Hub-Signature-256" = Option<String>, Header, description = "`sha256=<hex>` over the body (GitHub)"),
        ("Idempotency-Key" = Option<String>, Header, max_length = 128, description = "Names the delivery"),
        ("X-GitHub-Delivery" = Option<String>, Header, max_length = 128, description = "Names the delivery"),
        ("X-Delivery-Id" = Option<String>, Header, max_length = 128, description = "Names the delivery")
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "Anything, of at most `tasks.max_input_bytes`"),
    responses(
        (status = 202, description = "Queued", body = HookCallShape),
        (status = 200, description = "Taken before", body = HookCallShape)
    )
)]
pub async fn call(
    State(api): State<Api>,
    Path(path): Path<HookPath>,
    request: Request,
) -> Result<(StatusCode, Answer<HookCallShape>), Problem> {
    let operations = api.operations();
    let hook = operations.hook(&path.secret).await?;
    let headers = request.headers().clone();
    let body = read(request, operations.max_call_bytes()).await?;
    operations.verify_call(&hook, proof(&headers), &body).await?;
    api.hook_limiter().take(hook.task).await?;
    let queued = operations.take_call(hook.task, delivery(&headers), body.to_vec()).await?;
    let status = if queued.repeated { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Answer(HookCallShape { run_id: queued.run.0, repeated: queued.repeated })))
}

fn proof(headers: &HeaderMap) -> Proof<'_> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    Proof {
        id: text(auth::signature::ID_HEADER),
        timestamp: text(auth::signature::TIMESTAMP_HEADER),
        signature: text(auth::signature::SIGNATURE_HEADER),
        github: text(auth::signature::GITHUB_HEADER),
    }
}

/// The name of the delivery, and the header it came in.
fn delivery(headers: &HeaderMap) -> Option<(&'static str, String)> {
    let given = |name: &'static str| Some((name, headers.get(name)?));
    let (name, id) = DELIVERY.into_iter().find_map(given)?;
    Some((name, String::from_utf8_lossy(id.as_bytes()).into_owned()))
}
