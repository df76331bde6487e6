//! The operator's relay.

use std::time::Duration;

use auth::signature::{self, SigningSecret};
use domain::{DeviceId, RoomId};
use push::target::Token;
use push::{Driver as _, Message, Outcome, PushSettings, Target, Topic};
use serde_json::{Value, json};
use testkit::http::Request;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;

use super::{drivers, message, open};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Answers each request with the next of these statuses.
struct Relay {
    url: String,
    requests: UnboundedReceiver<Request>,
    _task: JoinSet<()>,
}

impl Relay {
    async fn start(statuses: &'static [u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/relay", listener.local_addr().unwrap());
        let (told, requests) = unbounded_channel();
        let mut task = JoinSet::new();
        task.spawn(async move {
            for status in statuses {
                let (mut stream, _) = listener.accept().await.unwrap();
                told.send(Request::read(&mut stream).await.unwrap()).unwrap();
                let answer = format!(
                    "HTTP/1.1 {status} So\r\nlocation: /elsewhere\r\nretry-after: 3\r\ncontent-length: 0\r\n\r\n"
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { url, requests, _task: task }
    }

    /// The relay lies inside, and that is nothing that users could use.
    fn settings(&self) -> PushSettings {
        PushSettings {
            webhook_url: self.url.as_str().into(),
            webhook_secret: SECRET.into(),
            ..PushSettings::default()
        }
    }
}

fn device() -> Target {
    Target::Webhook { device: DeviceId::new(), token: Token("the token".into()) }
}

#[tokio::test]
async fn the_relay_is_told_all_and_can_verify_who_calls() {
    let mut relay = Relay::start(&[202, 200]).await;
    let drivers = drivers(&relay.settings()).await;
    let id = DeviceId::new();
    let to = Target::Webhook { device: id, token: Token("the token".into()) };
    let room = RoomId::new();
    let message = Message { topic: Some(Topic::of_room(room)), ..message(r#"{"title":"Sam"}"#) };
    for _ in 0..2 {
        let verdict = drivers.send(&to, &message).await;
        assert_eq!(verdict.outcome, Outcome::Sent, "{verdict:?}");
        let request = relay.requests.recv().await.unwrap();
        assert_eq!(request.target, "POST /relay");
        assert_eq!(request.header("content-type"), Some("application/json"));
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(
            body,
            json!({
                "id": message.id,
                "device_id": id,
                "token": "the token",
                "topic": room,
                "urgency": "high",
                "ttl": 90,
                "payload": { "title": "Sam" },
            })
        );
        // The same id in each attempt.
        assert_eq!(request.header("webhook-id"), Some(message.id.to_string().as_str()));
        let timestamp = request.header("webhook-timestamp").unwrap().parse().unwrap();
        assert_eq!(timestamp, message.sent_at.as_second());
        let verify = |secret: &SigningSecret, body: &[u8]| {
            let header = request.header("webhook-signature").unwrap();
            let (id, tolerance) = (message.id.to_string(), Duration::from_secs(1));
            signature::verify(secret, &id, timestamp, body, header, message.sent_at, tolerance)
        };
        assert_eq!(verify(&SigningSecret::parse(SECRET).unwrap(), &request.body), Ok(()));
        assert!(verify(&SigningSecret::generate().unwrap(), &request.body).is_err());
        assert!(verify(&SigningSecret::parse(SECRET).unwrap(), b"{}").is_err());
    }
}

#[tokio::test]
async fn answers_of_the_relay_have_their_meaning() {
    let relay = Relay::start(&[204, 410, 404, 401, 403, 429, 503, 413, 307, 400]).await;
    let drivers = drivers(&relay.settings()).await;
    let later = Outcome::Later { after: Some(Duration::from_secs(3)) };
    for (status, expected) in [
        (204, Outcome::Sent),
        (410, Outcome::Gone),
        // There is one address for all: the operator's mistake must not cost the devices their subscriptions.
        (404, Outcome::Denied),
        (401, Outcome::Denied),
        (403, Outcome::Denied),
        (429, later),
        (503, later),
        (413, Outcome::TooLarge),
        (307, Outcome::Refused),
        (400, Outcome::Refused),
    ] {
        let verdict = drivers.send(&device(), &message("{}")).await;
        assert_eq!((verdict.outcome, verdict.status), (expected, Some(status)));
        assert!(!verdict.reason.contains("relay") && !verdict.reason.contains("token"), "{verdict:?}");
    }
}

#[tokio::test]
async fn without_a_relay_it_is_for_the_operator() {
    let verdict = drivers(&open()).await.send(&device(), &message("{}")).await;
    assert_eq!((verdict.outcome, verdict.status), (Outcome::Denied, None));
    assert!(verdict.reason.contains("push.webhook_url"), "{verdict:?}");
}

#[tokio::test]
async fn a_relay_does_not_open_the_inside_to_users() {
    let service = testkit::push::FakePush::start().await;
    let relay = Relay::start(&[200]).await;
    let drivers = drivers(&relay.settings()).await;
    let verdict = drivers.send(&super::target(&service.subscribe()), &message("{}")).await;
    assert_eq!(verdict.outcome, Outcome::Refused, "{verdict:?}");
    assert!(service.is_idle().await);
}

#[tokio::test]
async fn what_is_no_json_is_not_sent() {
    let relay = Relay::start(&[]).await;
    let verdict = drivers(&relay.settings()).await.send(&device(), &message("{")).await;
    assert_eq!((verdict.outcome, verdict.status), (Outcome::Refused, None), "{verdict:?}");
}
