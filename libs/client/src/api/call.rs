//! One request and its answer.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Api, ApiError, SignedIn, Tokens};

/// A request to be made, perhaps twice.
pub(super) struct Call<'a> {
    method: Method,
    /// Segments below the base; each is escaped.
    path: &'a [&'a str],
    query: Vec<(&'static str, String)>,
    body: Option<Vec<u8>>,
    idempotency_key: Option<&'a str>,
}

impl<'a> Call<'a> {
    pub(super) fn new(method: Method, path: &'a [&'a str]) -> Self {
        Self { method, path, query: Vec::new(), body: None, idempotency_key: None }
    }

    pub(super) fn query(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name, value.to_string())));
        self
    }

    pub(super) fn body(mut self, body: &impl Serialize) -> Self {
        // Plain structs and values: writing them into memory does not fail.
        self.body = Some(serde_json::to_vec(body).unwrap_or_default());
        self
    }

    pub(super) const fn idempotent(mut self, key: Option<&'a str>) -> Self {
        self.idempotency_key = key;
        self
    }
}

/// What a call answers that is no refusal.
pub(super) struct Answer {
    status: StatusCode,
    body: Bytes,
}

impl Answer {
    /// Whether something was made by this very call.
    pub(super) fn is_created(&self) -> bool {
        self.status == StatusCode::CREATED
    }

    pub(super) fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| ApiError::Unreadable { status: self.status.as_u16(), reason: error.to_string() })
    }
}

impl Api {
    pub(super) async fn ask<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<T, ApiError> {
        self.call(call).await?.read()
    }

    /// Makes a call; when the access token is past its time, refreshes it and makes it again.
    pub(super) async fn call(&self, call: &Call<'_>) -> Result<Answer, ApiError> {
        let tokens = self.credentials.tokens.read().clone();
        let refused = match self.once(call, tokens.as_ref()).await {
            Err(refused) if refused.code() == "token_expired" => refused,
            other => return other,
        };
        match tokens {
            Some(Tokens { access, refresh: Some(_) }) => {
                self.refresh_unless_done(&access).await?;
                let tokens = self.credentials.tokens.read().clone();
                self.once(call, tokens.as_ref()).await
            }
            _ => Err(refused),
        }
    }

    /// Makes a call once, in the name of nobody.
    pub(super) async fn call_anonymous(&self, call: &Call<'_>) -> Result<Answer, ApiError> {
        self.once(call, None).await
    }

    /// Refreshes, unless another call has done it since `used` was read.
    async fn refresh_unless_done(&self, used: &str) -> Result<(), ApiError> {
        let _alone = self.credentials.refreshing.lock().await;
        let tokens = self.credentials.tokens.read().clone();
        match tokens {
            Some(tokens) if tokens.access == used => self.refresh_alone(tokens.refresh).await.map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Spends the refresh token. The lock `refreshing` is held.
    pub(super) async fn refresh_alone(&self, token: Option<String>) -> Result<SignedIn, ApiError> {
        let token = token.ok_or_else(|| ApiError::Refused {
            status: 401,
            problem: crate::Problem {
                code: "unauthenticated".to_owned(),
                detail: "there is no refresh token".to_owned(),
                ..crate::Problem::default()
            },
            retry_after: None,
        })?;
        let call = Call::new(Method::POST, &["v1", "auth", "refresh"])
            .body(&serde_json::json!({ "refresh_token": token }));
        let signed_in: SignedIn = self.call_anonymous(&call).await?.read()?;
        self.keep(&signed_in);
        Ok(signed_in)
    }

    async fn once(&self, call: &Call<'_>, tokens: Option<&Tokens>) -> Result<Answer, ApiError> {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(call.path);
        }
        let mut request = self.http.request(call.method.clone(), url);
        if !call.query.is_empty() {
            request = request.query(&call.query);
        }
        if let Some(body) = &call.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        if let Some(key) = call.idempotency_key {
            request = request.header("idempotency-key", key);
        }
        if let Some(tokens) = tokens {
            request = request.bearer_auth(&tokens.access);
        }
        let response = request.send().await.map_err(ApiError::transport)?;
        let (status, retry_after) = (response.status(), retry_after(&response));
        let body = response.bytes().await.map_err(ApiError::transport)?;
        if status.is_success() {
            Ok(Answer { status, body })
        } else {
            Err(ApiError::refused(status, retry_after, &body))
        }
    }
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}
