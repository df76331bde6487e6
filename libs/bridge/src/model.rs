//! One model at an OpenAI-compatible server.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response, Url};
use serde_json::Value;
use tokio::time::timeout;

use crate::error::ModelError;
use crate::message::{CallDelta, Chunk, Delta, Message, Request};
use crate::sse::Parser;

/// The most of what a server says that is shown.
const MOST_SAID: usize = 300;
/// The most of a refusal, or of an answer that is not streamed, that is read.
const MOST_READ: usize = 4 << 20;

/// How often and how long one tries again while nothing of an answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Requests in all.
    pub attempts: u32,
    /// The pause after the first failure; it doubles with each. What `Retry-After` says counts in its place.
    pub first: Duration,
    /// The longest pause. A server that wants more is not asked again.
    pub most: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { attempts: 4, first: Duration::from_secs(1), most: Duration::from_secs(30) }
    }
}

/// Which model, and where.
#[derive(Clone)]
pub struct ModelSettings {
    /// Where the API is: `https://api.example.com/v1`.
    pub base_url: String,
    /// The name of the model.
    pub model: String,
    /// The key, if the server wants one.
    pub key: Option<String>,
    /// After so long without a byte an answer is given up.
    pub stall_timeout: Duration,
    /// How failures are dealt with.
    pub patience: Patience,
}

impl fmt::Debug for ModelSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may have a password.
        f.debug_struct("ModelSettings").field("model", &self.model).finish_non_exhaustive()
    }
}

/// A model to be asked.
pub struct Model {
    http: Client,
    url: Url,
    settings: ModelSettings,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(f)
    }
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Reasoning(String),
    /// More of a tool call: the first piece of each has its name.
    Call {
        index: usize,
        id: Option<String>,
        name: Option<String>,
        arguments: String,
    },
    /// The end, and why: `stop`, `length`, `tool_calls`, `content_filter`.
    Finished(String),
}

impl Model {
    /// Prepares to ask.
    ///
    /// # Errors
    ///
    /// The base URL is none, or TLS can't be set up; in words.
    pub fn new(settings: ModelSettings) -> Result<Self, String> {
        let mut url = Url::parse(&settings.base_url).map_err(|error| format!("the base URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("the base URL: allowed are http:// and https://".to_owned());
        }
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["chat", "completions"]);
        }
        let http = Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| format!("TLS: {}", error.without_url()))?;
        Ok(Self { http, url, settings })
    }

    pub(crate) const fn patience(&self) -> Patience {
        self.settings.patience
    }

    /// Asks once.
    pub(crate) async fn ask(&self, messages: &[Message], tools: &[Value]) -> Result<Reply<'_>, ModelError> {
        let request = Request { model: &self.settings.model, messages, stream: true, tools };
        let mut call = self.http.post(self.url.clone()).header(ACCEPT, "text/event-stream").json(&request);
        if let Some(key) = &self.settings.key {
            call = call.bearer_auth(key);
        }
        let response = self.in_time(call.send()).await?.map_err(|error| {
            tracing::debug!(error = %error.without_url(), "the model's server can't be reached");
            ModelError::Unreachable
        })?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let is_stream = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_none_or(|value| !value.starts_with("application/json"));
        let mut reply = Reply {
            model: self,
            response,
            parser: Parser::default(),
            pieces: VecDeque::new(),
            finished: false,
            over: false,
        };
        if !is_stream {
            reply.read_whole().await?;
        }
        Ok(reply)
    }

    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, ModelError> {
        let limit = self.settings.stall_timeout;
        timeout(limit, work).await.map_err(|_| ModelError::Stalled(limit))
    }

    async fn refusal(&self, mut response: Response) -> ModelError {
        let status = response.status().as_u16();
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = retry_after.and_then(parse_retry_after);
        // What it says about a key may quote it.
        let message = match status {
            401 | 403 => String::new(),
            _ => {
                let body = self.body(&mut response).await.unwrap_or_default();
                self.said(&serde_json::from_slice(&body).unwrap_or_default())
            }
        };
        ModelError::Refused { status, message, retry_after }
    }

    async fn body(&self, response: &mut Response) -> Result<Vec<u8>, ModelError> {
        let mut body = Vec::new();
        while let Some(bytes) = self.in_time(response.chunk()).await?.map_err(|_| ModelError::Cut)? {
            body.extend_from_slice(&bytes);
            if body.len() > MOST_READ {
                return Err(ModelError::Unreadable("it is too long".to_owned()));
            }
        }
        Ok(body)
    }

    /// What a server says about an error, as short as people want it, without the key.
    fn said(&self, body: &Value) -> String {
        let error = body.get("error").unwrap_or(body);
        let message = error.get("message").unwrap_or(error).as_str().unwrap_or_default();
        let message = match self.settings.key.as_deref() {
            Some(key) if !key.is_empty() => message.replace(key, "(the key)"),
            _ => message.to_owned(),
        };
        let plain = |character: char| if character.is_control() { ' ' } else { character };
        message.chars().take(MOST_SAID).map(plain).collect()
    }
}

/// An answer that is coming. Dropped, it closes the connection, which is how a model is told to stop.
pub(crate) struct Reply<'a> {
    model: &'a Model,
    response: Response,
    parser: Parser,
    pieces: VecDeque<Piece>,
    /// It was said why it ends.
    finished: bool,
    /// Nothing more is read.
    over: bool,
}

impl Reply<'_> {
    /// The next piece; none after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<Piece>, ModelError> {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Ok(Some(piece));
            }
            if self.over {
                return Ok(None);
            }
            let read = self.model.in_time(self.response.chunk()).await;
            let bytes = match read.and_then(|read| read.map_err(|_| ModelError::Cut)) {
                Ok(Some(bytes)) => bytes,
                // Some servers say why they end, and leave it at that.
                _ if self.finished => return Ok(None),
                Ok(None) => return Err(ModelError::Cut),
                Err(error) => return Err(error),
            };
            let mut events = Vec::new();
            let taken = self.parser.take(&bytes, &mut events);
            for event in events {
                self.event(&event)?;
            }
            taken.map_err(|_| ModelError::Unreadable("an event is too long".to_owned()))?;
        }
    }

    fn event(&mut self, data: &str) -> Result<(), ModelError> {
        match data.trim() {
            "[DONE]" => self.over = true,
            "" => {}
            data => {
                let chunk = serde_json::from_str(data);
                self.chunk(chunk.map_err(|error| ModelError::Unreadable(error.to_string()))?)?;
            }
        }
        Ok(())
    }

    async fn read_whole(&mut self) -> Result<(), ModelError> {
        let body = self.model.body(&mut self.response).await?;
        let chunk = serde_json::from_slice(&body);
        self.chunk(chunk.map_err(|error| ModelError::Unreadable(error.to_string()))?)?;
        self.over = true;
        Ok(())
    }

    fn chunk(&mut self, chunk: Chunk) -> Result<(), ModelError> {
        if let Some(error) = chunk.error {
            return Err(ModelError::Failed(self.model.said(&error)));
        }
        // One answer is asked for.
        let Some(choice) = chunk.choices.into_iter().next() else { return Ok(()) };
        if let Some(Delta { content, reasoning_content, tool_calls }) = choice.delta {
            let said = |text: &String| !text.is_empty();
            self.pieces.extend(reasoning_content.filter(said).map(Piece::Reasoning));
            self.pieces.extend(content.filter(said).map(Piece::Text));
            let calls = tool_calls.into_iter().flatten().enumerate();
            self.pieces.extend(calls.map(|(place, call)| piece(place, call)));
        }
        if let Some(reason) = choice.finish_reason {
            self.finished = true;
            self.pieces.push_back(Piece::Finished(reason));
        }
        Ok(())
    }
}

fn piece(place: usize, call: CallDelta) -> Piece {
    let function = call.function.unwrap_or_default();
    Piece::Call {
        index: call.index.unwrap_or(place),
        id: call.id.filter(|id| !id.is_empty()),
        name: function.name.filter(|name| !name.is_empty()),
        arguments: function.arguments.unwrap_or_default(),
    }
}

/// Seconds, or a date.
fn parse_retry_after(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = rfc2822::parse(text.trim()).ok()?.timestamp();
    let wait = at.duration_since(Timestamp::now());
    Some(wait.try_into().unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests;
