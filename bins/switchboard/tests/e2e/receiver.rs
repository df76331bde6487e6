//! A receiver of webhooks: each call waits for the answer that the test gives it.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;

/// The server; it stops when dropped.
pub(crate) struct Receiver {
    pub(crate) url: String,
    calls: Mutex<mpsc::UnboundedReceiver<Call>>,
    serving: JoinHandle<()>,
}

/// One call.
pub(crate) struct Call {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    answer: oneshot::Sender<(StatusCode, String)>,
}

impl Call {
    /// A header as text.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}")).to_str().expect("text")
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// Answers it; whether the caller still waited.
    pub(crate) fn answer(self, status: u16, body: &str) -> bool {
        let status = StatusCode::from_u16(status).expect("a status");
        self.answer.send((status, body.to_owned())).is_ok()
    }
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/hook", listener.local_addr().expect("it is bound"));
        let (told, calls) = mpsc::unbounded_channel();
        let router = Router::new().fallback(take).with_state(told);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        Self { url, calls: Mutex::new(calls), serving }
    }

    /// The next call, once it has come.
    pub(crate) async fn call(&self) -> Call {
        let call = async { self.calls.lock().await.recv().await.expect("it listens") };
        tokio::time::timeout(crate::world::PATIENCE, call).await.expect("nobody calls")
    }

    /// Whether nobody has called since.
    pub(crate) async fn is_idle(&self) -> bool {
        self.calls.lock().await.is_empty()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn take(
    State(told): State<mpsc::UnboundedSender<Call>>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, String) {
    let (answer, answered) = oneshot::channel();
    told.send(Call { headers, body, answer }).expect("the test listens");
    answered.await.unwrap_or((StatusCode::GONE, String::new()))
}
