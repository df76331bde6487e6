//! A call to the node under test, and its answer.

use axum::http::HeaderMap;
use reqwest::RequestBuilder;
use serde_json::Value;

use crate::app::Person;

/// A request that is not sent yet.
pub(crate) struct Call(RequestBuilder);

/// An answer with its body read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// Null when there is no body, text when it is no JSON.
    pub(crate) body: Value,
    /// The body as it came.
    pub(crate) raw: String,
}

impl Call {
    pub(crate) const fn new(request: RequestBuilder) -> Self {
        Self(request)
    }

    pub(crate) fn by(self, person: &Person) -> Self {
        self.bearer(&person.token)
    }

    pub(crate) fn bearer(self, token: &str) -> Self {
        Self(self.0.bearer_auth(token))
    }

    pub(crate) fn header(self, name: &str, value: &str) -> Self {
        Self(self.0.header(name, value))
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        Self(self.0.json(body))
    }

    pub(crate) fn text(self, body: impl Into<String>) -> Self {
        Self(self.0.body(body.into()))
    }

    pub(crate) async fn send(self) -> Answer {
        let response = self.0.send().await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await.expect("a whole body");
        let body = match bytes.as_ref() {
            [] => Value::Null,
            bytes => serde_json::from_slice(bytes)
                .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned())),
        };
        let raw = String::from_utf8_lossy(&bytes).into_owned();
        Answer { status, headers, body, raw }
    }

    /// Sends it, and fails unless the status is this.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> impl Future<Output = Answer> {
        let caller = std::panic::Location::caller();
        async move {
            let answer = self.send().await;
            assert!(answer.status == status, "{caller}: {status} expected, not {answer:#?}");
            answer
        }
    }

    /// Sends it, and fails unless it is refused with this status and code.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, code: &str) -> impl Future<Output = Answer> {
        let caller = std::panic::Location::caller();
        async move {
            let answer = self.send().await;
            let refused = answer.status == status && answer.body["code"] == code;
            assert!(refused, "{caller}: {status} {code} expected, not {answer:#?}");
            assert_eq!(answer.headers["content-type"], "application/problem+json", "{caller}");
            assert_eq!(answer.body["status"], status, "{caller}");
            assert!(!answer.text("title").is_empty() && !answer.text("detail").is_empty(), "{caller}");
            assert_eq!(answer.body["type"], format!("urn:switchboard:error:{code}"), "{caller}");
            answer
        }
    }
}

impl Answer {
    /// A field that must be text.
    #[track_caller]
    pub(crate) fn text(&self, field: &str) -> String {
        let Some(text) = self.body[field].as_str() else { panic!("no text {field} in {self:#?}") };
        text.to_owned()
    }

    /// The items of a list.
    #[track_caller]
    pub(crate) fn items(&self) -> &[Value] {
        let Some(items) = self.body["items"].as_array() else { panic!("no items in {self:#?}") };
        items
    }

    /// One field of each item.
    #[track_caller]
    pub(crate) fn each(&self, field: &str) -> Vec<Value> {
        self.items().iter().map(|item| item[field].clone()).collect()
    }
}
