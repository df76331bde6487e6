//! A stream of Server-Sent Events, read message by message.

use client::Api;
use domain::DeviceId;
use reqwest::{Response, StatusCode};
use serde_json::Value;
use tokio::time::timeout;

use crate::world::PATIENCE;

/// An open stream.
pub(crate) struct Sse {
    response: Response,
    bytes: Vec<u8>,
    /// The newest `id:`, as a browser keeps it.
    pub(crate) last_id: Option<String>,
}

/// One message: its type (`message` unless it says another) and its data.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) kind: String,
    pub(crate) data: Value,
}

impl Message {
    /// The frame's `op`.
    pub(crate) fn op(&self) -> &str {
        self.data["op"].as_str().unwrap_or_default()
    }
}

impl Sse {
    /// Opens a stream at the node of this api, for whom it is signed in as.
    pub(crate) async fn open(api: &Api, device: Option<DeviceId>, last_id: Option<&str>) -> Self {
        let response = Self::ask(api, device, last_id).await;
        let status = response.status();
        if status != StatusCode::OK {
            panic!("the stream is refused with {status}: {}", response.text().await.unwrap_or_default());
        }
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, bytes: Vec::new(), last_id: None }
    }

    /// The answer, whatever it is.
    pub(crate) async fn ask(api: &Api, device: Option<DeviceId>, last_id: Option<&str>) -> Response {
        let url = format!("{}/v1/stream", api.base().trim_end_matches('/'));
        let mut request = reqwest::Client::new().get(url);
        if let Some(token) = api.access_token() {
            request = request.bearer_auth(token);
        }
        if let Some(device) = device {
            request = request.query(&[("device_id", device.to_string())]);
        }
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        timeout(PATIENCE, request.send()).await.expect("an answer in time").expect("an answer")
    }

    /// The next message; none when the stream has ended. How people are seen comes at any time, and is passed over.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        loop {
            let message = self.any().await?;
            if message.op() != "presence" || message.data["user_id"].is_null() {
                return Some(message);
            }
        }
    }

    async fn any(&mut self) -> Option<Message> {
        loop {
            if let Some(end) = self.bytes.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.bytes.drain(..end + 2).collect();
                if let Some(message) = self.read(std::str::from_utf8(&block).expect("UTF-8")) {
                    return Some(message);
                }
                continue;
            }
            match timeout(PATIENCE, self.response.chunk()).await.expect("something in time") {
                Ok(Some(chunk)) => self.bytes.extend_from_slice(&chunk),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    fn read(&mut self, block: &str) -> Option<Message> {
        let (mut kind, mut data) = ("message".to_owned(), String::new());
        for line in block.lines() {
            match line.split_once(':').unwrap_or((line, "")) {
                ("event", value) => kind = value.trim_start().to_owned(),
                ("data", value) => data.push_str(value.strip_prefix(' ').unwrap_or(value)),
                ("id", value) => self.last_id = Some(value.trim_start().to_owned()),
                _ => {}
            }
        }
        // A comment alone is a sign of life.
        (!data.is_empty()).then(|| Message { kind, data: serde_json::from_str(&data).expect("data is JSON") })
    }

    /// Waits for `live`; gives what came before it.
    pub(crate) async fn until_live(&mut self) -> Vec<Message> {
        let mut before = Vec::new();
        loop {
            let message = self.next().await.expect("the stream goes on");
            if message.op() == "live" {
                return before;
            }
            before.push(message);
        }
    }

    /// The next event of a stream.
    pub(crate) async fn event(&mut self) -> Value {
        loop {
            let message = self.next().await.expect("the stream goes on");
            if message.op() == "event" {
                return message.data;
            }
        }
    }

    /// Waits for the end and gives the code it ends with.
    pub(crate) async fn closed(&mut self) -> u64 {
        loop {
            let message = self.next().await.expect("an end that is said");
            if message.kind == "close" {
                return message.data["code"].as_u64().expect("a code");
            }
        }
    }
}
