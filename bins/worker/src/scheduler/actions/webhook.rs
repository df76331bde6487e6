//! Calls of webhooks: signed as Standard Webhooks says, and the same in each attempt, so that the receiver can tell repeats.

use auth::signature::{self, SigningSecret};
use domain::task::RunEnd;
use operations::tasks::runs::delivery_as_given;
use outbound::{HeaderMap, HeaderName, HeaderValue, Outbound, Post, StatusCode};
use serde_json::{Value, json};
use store::queue::{ClaimedRun, Fence};
use tracing::{Instrument as _, Span};

use super::super::outcome::Outcome;
use super::{Actions, sent};

impl Actions {
    pub(super) async fn webhook(
        &self,
        run: &ClaimedRun,
        fence: &Fence,
        url: &str,
        body: Option<&Value>,
    ) -> Outcome {
        let span = tracing::info_span!(
            target: trace::CLIENT,
            "webhook",
            status = tracing::field::Empty,
            failed = tracing::field::Empty
        );
        self.call_webhook(run, fence, url, body).instrument(span).await
    }

    async fn call_webhook(
        &self,
        run: &ClaimedRun,
        fence: &Fence,
        url: &str,
        body: Option<&Value>,
    ) -> Outcome {
        let outbound = match &self.outbound {
            Ok(outbound) => outbound,
            Err(why) => return Outcome::ended(RunEnd::Failed, why),
        };
        // No write of ours stands in the way of a call: this is asked right before it.
        match self.operations.store().holds(fence).await {
            Ok(true) => {}
            Ok(false) => return Outcome::ended(RunEnd::Failed, store::queue::NOT_HELD),
            Err(error) => return Outcome::ended(RunEnd::Failed, error.public_message()),
        }
        let body = body.map_or_else(|| what_happened(run), Value::to_string).into_bytes();
        let headers = match headers(run, &body) {
            Ok(headers) => headers,
            Err(why) => return Outcome::ended(RunEnd::Refused, why),
        };
        call(outbound, Post { url, headers, body, timeout: self.webhook_timeout }).await
    }
}

async fn call(outbound: &Outbound, post: Post<'_>) -> Outcome {
    let answer = match outbound.post(post).await {
        Ok(answer) => answer,
        Err(error) => {
            Span::current().record("failed", true);
            let end = if error.is_retryable() { RunEnd::Failed } else { RunEnd::Refused };
            return Outcome::ended(end, error.to_string());
        }
    };
    let status = answer.status;
    tracing::record_all!(Span::current(), status = status.as_u16(), failed = !status.is_success());
    let output = Some(format!("HTTP {}\n{}", answer.status.as_u16(), answer.body));
    if answer.status.is_success() {
        return Outcome::done(output);
    }
    let again = answer.status.is_server_error()
        || [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT].contains(&answer.status);
    let end = if again { RunEnd::Failed } else { RunEnd::Refused };
    let error = format!("answered with {}", answer.status);
    Outcome { output, retry_after: answer.retry_after, ..Outcome::ended(end, error) }
}

/// What is sent when the task says nothing else.
fn what_happened(run: &ClaimedRun) -> String {
    let mut body = json!({
        "task_id": run.task,
        "task": run.name,
        "run_id": run.id,
        "chain_id": run.chain,
        "attempt": run.attempt,
        "trigger": run.trigger,
        "scheduled_for": format!("{:.6}", run.scheduled_for),
    });
    if let Some(delivery) = &run.delivery {
        body["delivery_id"] = json!(delivery_as_given(delivery));
    }
    if let Some(input) = sent(run) {
        body["input"] = input;
    }
    body.to_string()
}

fn headers(run: &ClaimedRun, body: &[u8]) -> Result<HeaderMap, String> {
    // The database's time: that of this machine may be wrong, and the receiver compares it with its own.
    let (id, timestamp) = (run.chain.to_string(), run.started_at.as_second());
    let mut headers = HeaderMap::new();
    let mut set = |name: &'static str, value: &str| {
        let value = HeaderValue::from_str(value).map_err(|_| format!("{name} can't be sent"))?;
        headers.insert(HeaderName::from_static(name), value);
        Ok::<_, String>(())
    };
    set("content-type", "application/json")?;
    set(signature::ID_HEADER, &id)?;
    set(signature::TIMESTAMP_HEADER, &timestamp.to_string())?;
    set("switchboard-attempt", &run.attempt.to_string())?;
    // The receiver goes on with the trace.
    if let Some(place) = trace::traceparent() {
        set("traceparent", &place)?;
    }
    if let Some(key) = &run.webhook_key {
        let signed = signature::sign(&SigningSecret::kept(&key.0), &id, timestamp, body);
        set(signature::SIGNATURE_HEADER, &signed)?;
    }
    Ok(headers)
}
