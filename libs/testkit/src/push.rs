//! A push service (RFC 8030) that reads what it is sent, and answers as the test wants.
//!
//! ```no_run
//! # async fn example() {
//! use testkit::push::{FakePush, Reply};
//!
//! let service = FakePush::start().await;
//! let subscription = service.subscribe();
//! // ... the product is given subscription.endpoint, .p256dh and .auth, and pushes ...
//! let push = service.next().await;
//! assert_eq!((push.endpoint, push.text.as_str()), (subscription.endpoint.clone(), "{}"));
//!
//! service.answer_to(&subscription, Reply::status(429).header("retry-after", "1"));
//! service.answer(Reply::status(503)); // to all others
//! # }
//! ```
//!
//! It is the push service and the browser behind it: it checks who sends ([`vapid`]), and decrypts ([`decrypt`]), both with code of its own.
//! What a real service or browser would not take is a fault: it is answered with 400 or 403, and fails the test that asks for
//! the next push. Each connection serves one request.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
use aws_lc_rs::encoding::{AsBigEndian, EcPrivateKeyBin};
use aws_lc_rs::rand;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::http::Request;

pub mod decrypt;
pub mod vapid;

/// What every push service takes at least, and this one at most.
const MAX_BODY: usize = 4096;

/// A subscription as a browser gives it out.
#[derive(Debug, Clone)]
pub struct FakeSubscription {
    /// Where to send.
    pub endpoint: String,
    /// The browser's public key, base64url.
    pub p256dh: String,
    /// The secret that browser and sender share, base64url.
    pub auth: String,
    key: Arc<PrivateKey>,
}

impl FakeSubscription {
    fn new(origin: &str) -> Self {
        let mut random = [0; 32];
        rand::fill(&mut random).expect("randomness");
        let (name, auth) = random.split_at(16);
        let key = PrivateKey::generate(&ECDH_P256).expect("a key");
        let public = key.compute_public_key().expect("a public key");
        Self {
            endpoint: format!("{origin}/push/{}", URL_SAFE_NO_PAD.encode(name)),
            p256dh: URL_SAFE_NO_PAD.encode(public),
            auth: URL_SAFE_NO_PAD.encode(auth),
            key: Arc::new(key),
        }
    }

    /// The browser's private key, as a number of 32 bytes.
    ///
    /// # Panics
    ///
    /// It can't be written.
    #[must_use]
    pub fn private_key(&self) -> Vec<u8> {
        let key: EcPrivateKeyBin<'_> = self.key.as_be_bytes().expect("a key");
        key.as_ref().to_vec()
    }

    /// What was encrypted for it; the error says what is wrong with the body.
    ///
    /// # Errors
    ///
    /// As [`decrypt::decrypt`].
    pub fn decrypt(&self, body: &[u8]) -> Result<Vec<u8>, String> {
        let auth = URL_SAFE_NO_PAD.decode(&self.auth).map_err(|error| error.to_string())?;
        decrypt::decrypt(&self.key, &auth, body)
    }
}

/// A push as it came.
#[derive(Debug, Clone)]
pub struct Push {
    /// When.
    pub at: Instant,
    /// To which subscription.
    pub endpoint: String,
    /// What the browser reads.
    pub text: String,
    /// The header `topic`.
    pub topic: Option<String>,
    /// The header `ttl`, in seconds.
    pub ttl: u64,
    /// The header `urgency`; `normal` without one.
    pub urgency: String,
    /// Who sends, as far as it was told.
    pub sender: vapid::Sender,
    /// The header `authorization`, as it came.
    pub authorization: String,
    /// The body, as it came.
    pub body: Vec<u8>,
}

/// What is answered.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: String,
    pause: Pause,
}

#[derive(Debug, Clone, Copy)]
enum Pause {
    None,
    For(Duration),
    /// Until the test lets it go on.
    Held,
}

impl Reply {
    /// With this status.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, headers: String::new(), pause: Pause::None }
    }

    /// A redirect to this URL.
    #[must_use]
    pub fn redirect(location: &str) -> Self {
        Self::status(307).header("location", location)
    }

    /// With this header, too.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        // Into memory: it does not fail.
        let _ = write!(self.headers, "{name}: {value}\r\n");
        self
    }

    /// So long after the request.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self { pause: Pause::For(delay), ..self }
    }

    /// When the test calls [`FakePush::release`].
    #[must_use]
    pub fn held(self) -> Self {
        Self { pause: Pause::Held, ..self }
    }
}

struct Service {
    origin: String,
    told: mpsc::UnboundedSender<Result<Push, String>>,
    released: Semaphore,
    state: Mutex<State>,
}

struct State {
    subscriptions: HashMap<String, FakeSubscription>,
    reply: Reply,
    replies: HashMap<String, Reply>,
    received: Vec<Push>,
    /// The key of whoever sent first: the one for which all have subscribed.
    sender: Option<String>,
}

impl Service {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The service; it stops when dropped.
pub struct FakePush {
    service: Arc<Service>,
    pushes: tokio::sync::Mutex<mpsc::UnboundedReceiver<Result<Push, String>>>,
    task: JoinHandle<()>,
}

impl Drop for FakePush {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FakePush {
    /// Listens on a free port; answers with 201.
    ///
    /// # Panics
    ///
    /// There is none.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let origin = format!("http://{}", listener.local_addr().expect("it is bound"));
        let (told, pushes) = mpsc::unbounded_channel();
        let state = State {
            subscriptions: HashMap::new(),
            reply: Reply::status(201),
            replies: HashMap::new(),
            received: Vec::new(),
            sender: None,
        };
        let service =
            Arc::new(Service { origin, told, released: Semaphore::new(0), state: Mutex::new(state) });
        let task = tokio::spawn(accept(listener, Arc::clone(&service)));
        Self { service, pushes: tokio::sync::Mutex::new(pushes), task }
    }

    /// Where it is: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.service.origin
    }

    /// A fresh subscription.
    #[must_use]
    pub fn subscribe(&self) -> FakeSubscription {
        let subscription = FakeSubscription::new(&self.service.origin);
        self.service.state().subscriptions.insert(subscription.endpoint.clone(), subscription.clone());
        subscription
    }

    /// Answers so from now on, but to subscriptions with an answer of their own.
    pub fn answer(&self, reply: Reply) {
        self.service.state().reply = reply;
    }

    /// Answers so from now on to pushes for this subscription.
    pub fn answer_to(&self, subscription: &FakeSubscription, reply: Reply) {
        self.service.state().replies.insert(subscription.endpoint.clone(), reply);
    }

    /// Lets one answer that is held go on.
    pub fn release(&self) {
        self.service.released.add_permits(1);
    }

    /// The next push, once it has come, whatever it was answered.
    ///
    /// # Panics
    ///
    /// It was one that no service or browser takes.
    pub async fn next(&self) -> Push {
        let next = self.pushes.lock().await.recv().await.expect("it listens");
        next.unwrap_or_else(|fault| panic!("a push that nobody takes: {fault}"))
    }

    /// Whether every push was looked at.
    pub async fn is_idle(&self) -> bool {
        self.pushes.lock().await.is_empty()
    }

    /// All pushes so far.
    #[must_use]
    pub fn received(&self) -> Vec<Push> {
        self.service.state().received.clone()
    }
}

async fn accept(listener: TcpListener, service: Arc<Service>) {
    let mut connections = JoinSet::new();
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            let service = Arc::clone(&service);
            connections.spawn(async move { serve(stream, &service).await });
        }
    }
}

async fn serve(mut stream: TcpStream, service: &Service) {
    let Some(request) = Request::read(&mut stream).await else { return };
    let reply = service.take(&request);
    let mut byte = [0];
    tokio::select! {
        // Nothing comes after a request but the end: the client closed.
        _ = stream.read(&mut byte) => return,
        () = service.pause(reply.pause) => {}
    }
    let Reply { status, headers, .. } = reply;
    let head = format!("HTTP/1.1 {status} So\r\n{headers}content-length: 0\r\nconnection: close\r\n\r\n");
    // The client may be gone.
    let _ = stream.write_all(head.as_bytes()).await;
}

impl Service {
    async fn pause(&self, pause: Pause) {
        match pause {
            Pause::None => {}
            Pause::For(delay) => tokio::time::sleep(delay).await,
            Pause::Held => {
                if let Ok(permit) = self.released.acquire().await {
                    permit.forget();
                }
            }
        }
    }

    fn take(&self, request: &Request) -> Reply {
        let mut state = self.state();
        let path = request.target.strip_prefix("POST ").unwrap_or_default();
        let Some(subscription) = state.subscriptions.get(&format!("{}{path}", self.origin)).cloned() else {
            return Reply::status(404);
        };
        let push = match self.read(request, &subscription, &mut state.sender) {
            Ok(push) => push,
            Err((status, fault)) => {
                // The test may be over.
                let _ = self.told.send(Err(fault));
                return Reply::status(status);
            }
        };
        state.received.push(push.clone());
        let _ = self.told.send(Ok(push));
        state.replies.get(&subscription.endpoint).unwrap_or(&state.reply).clone()
    }

    /// What a service and a browser see; or the status and the fault.
    fn read(
        &self,
        request: &Request,
        subscription: &FakeSubscription,
        known: &mut Option<String>,
    ) -> Result<Push, (u16, String)> {
        let bad = |fault: String| (400, fault);
        let header = |name: &str| request.header(name).map(str::to_owned);
        if request.body.len() > MAX_BODY {
            return Err((413, format!("a body of {} bytes", request.body.len())));
        }
        let authorization = header("authorization").unwrap_or_default();
        let sender = vapid::check(&authorization, &self.origin).map_err(|fault| (403, fault))?;
        if known.get_or_insert_with(|| sender.key.clone()) != &sender.key {
            return Err((403, "another key than that of the pushes before".to_owned()));
        }
        if header("content-encoding").as_deref() != Some("aes128gcm") {
            return Err(bad(format!("content-encoding {:?}", header("content-encoding"))));
        }
        let ttl = header("ttl").and_then(|ttl| ttl.parse().ok());
        let ttl = ttl.ok_or_else(|| bad(format!("ttl {:?}", header("ttl"))))?;
        let urgency = header("urgency").unwrap_or_else(|| "normal".to_owned());
        if !["very-low", "low", "normal", "high"].contains(&urgency.as_str()) {
            return Err(bad(format!("urgency {urgency:?}")));
        }
        let topic = header("topic");
        if topic.as_deref().is_some_and(|topic| !is_topic(topic)) {
            return Err(bad(format!("topic {topic:?}")));
        }
        let plain = subscription.decrypt(&request.body).map_err(bad)?;
        let text = String::from_utf8(plain).map_err(|error| bad(error.to_string()))?;
        let (at, endpoint, body) = (Instant::now(), subscription.endpoint.clone(), request.body.clone());
        Ok(Push { at, endpoint, text, topic, ttl, urgency, sender, authorization, body })
    }
}

fn is_topic(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests;
