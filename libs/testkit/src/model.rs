//! A server that speaks as OpenAI-compatible ones do (`POST /v1/chat/completions`, streamed), and says what the test wants.
//!
//! ```no_run
//! # async fn example() {
//! use testkit::model::{Answer, FakeModel};
//!
//! let model = FakeModel::start().await;
//! model.answer(Answer::stream().text("Good ").hold().text("morning").done());
//! // ... the client asks model.url() ...
//! let asked = model.asked().await;
//! assert_eq!(asked.body["messages"][0]["role"], "user");
//! model.release();
//! # }
//! ```
//!
//! Answers are given in the order in which they were laid out; who asks for more waits. Each connection serves one request.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::WriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::http::Request;

/// A request as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// `POST /v1/chat/completions`.
    pub target: String,
    /// The header `authorization`; empty without one.
    pub authorization: String,
    /// The body; null if it is no JSON.
    pub body: Value,
}

/// What the server does with one request.
#[derive(Debug, Clone)]
pub struct Answer(Vec<Step>);

#[derive(Debug, Clone)]
enum Step {
    /// Bytes outside of chunks: a head, or a whole answer.
    Plain(String),
    /// A chunk of the body.
    Chunk(String),
    /// The end of the body.
    End,
    /// Until the test lets it go on.
    Hold,
    /// Nothing more comes, and the connection stays open.
    Stall,
    /// The connection is reset.
    Cut,
}

impl Answer {
    /// A stream of events, without its end: add [`done`](Self::done), [`end`](Self::end), [`stall`](Self::stall) or
    /// [`cut`](Self::cut).
    #[must_use]
    pub fn stream() -> Self {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\
                    connection: close\r\n\r\n";
        Self(vec![Step::Plain(head.to_owned())])
    }

    /// A stream that says this text word by word, and ends.
    #[must_use]
    pub fn says(text: &str) -> Self {
        text.split_inclusive(' ').fold(Self::stream(), Self::text).done()
    }

    /// A refusal with headers, such as `[("retry-after", "1")]`, and a body as OpenAI writes it.
    #[must_use]
    pub fn refusal(status: u16, headers: &[(&str, &str)], message: &str) -> Self {
        let body = json!({ "error": { "message": message, "type": "error" } }).to_string();
        let mut head =
            format!("HTTP/1.1 {status} No\r\ncontent-type: application/json\r\nconnection: close\r\n");
        for (name, value) in headers {
            // Into memory: it does not fail.
            let _ = write!(head, "{name}: {value}\r\n");
        }
        Self(vec![Step::Plain(format!("{head}content-length: {}\r\n\r\n{body}", body.len()))])
    }

    /// An answer that is not streamed, whatever was asked for.
    #[must_use]
    pub fn whole(message: &Value) -> Self {
        let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
        let body = json!({ "object": "chat.completion", "choices": [choice] }).to_string();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
        Self(vec![Step::Plain(format!("{head}content-length: {}\r\n\r\n{body}", body.len()))])
    }

    /// Some text of the answer.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.delta(&json!({ "content": text }))
    }

    /// Some text of how it thinks.
    #[must_use]
    pub fn reasoning(self, text: &str) -> Self {
        self.delta(&json!({ "reasoning_content": text }))
    }

    /// The beginning of a tool call.
    #[must_use]
    pub fn tool_call(self, index: u32, id: &str, name: &str) -> Self {
        let function = json!({ "name": name, "arguments": "" });
        let call = json!({ "index": index, "id": id, "type": "function", "function": function });
        self.delta(&json!({ "tool_calls": [call] }))
    }

    /// Some text of the arguments of a tool call.
    #[must_use]
    pub fn arguments(self, index: u32, text: &str) -> Self {
        let call = json!({ "index": index, "function": { "arguments": text } });
        self.delta(&json!({ "tool_calls": [call] }))
    }

    fn delta(self, delta: &Value) -> Self {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": null });
        self.data(&json!({ "object": "chat.completion.chunk", "choices": [choice] }).to_string())
    }

    /// An event with this data.
    #[must_use]
    pub fn data(self, data: &str) -> Self {
        self.raw(&format!("data: {data}\n\n"))
    }

    /// Bytes of the body as they are.
    #[must_use]
    pub fn raw(self, text: &str) -> Self {
        self.then(Step::Chunk(text.to_owned()))
    }

    /// Waits for [`FakeModel::release`].
    #[must_use]
    pub fn hold(self) -> Self {
        self.then(Step::Hold)
    }

    /// The end, as it should be: why, and `[DONE]`.
    #[must_use]
    pub fn finish(self, reason: &str) -> Self {
        let choice = json!({ "index": 0, "delta": {}, "finish_reason": reason });
        self.data(&json!({ "choices": [choice] }).to_string()).data("[DONE]").end()
    }

    /// The end of an answer that is whole.
    #[must_use]
    pub fn done(self) -> Self {
        self.finish("stop")
    }

    /// The end of the body, whatever it is.
    #[must_use]
    pub fn end(self) -> Self {
        self.then(Step::End)
    }

    /// Says nothing more, and keeps the connection.
    #[must_use]
    pub fn stall(self) -> Self {
        self.then(Step::Stall)
    }

    /// Resets the connection.
    #[must_use]
    pub fn cut(self) -> Self {
        self.then(Step::Cut)
    }

    /// Takes a request and says nothing at all.
    #[must_use]
    pub fn silence() -> Self {
        Self(vec![Step::Stall])
    }

    fn then(mut self, step: Step) -> Self {
        self.0.push(step);
        self
    }
}

#[derive(Debug)]
struct Script {
    answers: Mutex<VecDeque<Answer>>,
    more: Notify,
    released: Semaphore,
    /// Connections that the client closed before the answer was whole.
    gone: watch::Sender<usize>,
}

impl Script {
    fn answers(&self) -> MutexGuard<'_, VecDeque<Answer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The server; it stops when dropped.
#[derive(Debug)]
pub struct FakeModel {
    url: String,
    script: Arc<Script>,
    asked: tokio::sync::Mutex<mpsc::UnboundedReceiver<Asked>>,
    task: JoinHandle<()>,
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FakeModel {
    /// Listens on a free port.
    ///
    /// # Panics
    ///
    /// There is none.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/v1", listener.local_addr().expect("it is bound"));
        let script = Arc::new(Script {
            answers: Mutex::default(),
            more: Notify::new(),
            released: Semaphore::new(0),
            gone: watch::Sender::new(0),
        });
        let (told, asked) = mpsc::unbounded_channel();
        let task = tokio::spawn(accept(listener, Arc::clone(&script), told));
        Self { url, script, asked: tokio::sync::Mutex::new(asked), task }
    }

    /// What clients call the base URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Lays out the answer to the next request that has none.
    pub fn answer(&self, answer: Answer) {
        self.script.answers().push_back(answer);
        self.script.more.notify_one();
    }

    /// The next request, once it has come.
    ///
    /// # Panics
    ///
    /// The server has stopped.
    pub async fn asked(&self) -> Asked {
        self.asked.lock().await.recv().await.expect("it listens")
    }

    /// Whether every request was looked at.
    pub async fn is_idle(&self) -> bool {
        self.asked.lock().await.is_empty()
    }

    /// Lets one answer that is held go on.
    pub fn release(&self) {
        self.script.released.add_permits(1);
    }

    /// Waits until so many clients have left before their answers were whole.
    ///
    /// # Panics
    ///
    /// The server has stopped.
    pub async fn until_gone(&self, clients: usize) {
        let mut gone = self.script.gone.subscribe();
        gone.wait_for(|gone| *gone >= clients).await.expect("it listens");
    }
}

async fn accept(listener: TcpListener, script: Arc<Script>, told: mpsc::UnboundedSender<Asked>) {
    let mut connections = JoinSet::new();
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            let (script, told) = (Arc::clone(&script), told.clone());
            connections.spawn(async move { serve(stream, &script, &told).await });
        }
    }
}

async fn serve(mut stream: TcpStream, script: &Script, told: &mpsc::UnboundedSender<Asked>) {
    let Some(asked) = request(&mut stream).await else { return };
    // The test may be over.
    let _ = told.send(asked);
    let answer = loop {
        let more = script.more.notified();
        if let Some(answer) = script.answers().pop_front() {
            break answer;
        }
        more.await;
    };
    let (mut read, mut write) = stream.split();
    let mut byte = [0];
    let end = tokio::select! {
        // Nothing comes after a request but the end: the client closed.
        _ = read.read(&mut byte) => End::Left,
        end = perform(answer, script, &mut write) => end,
    };
    match end {
        End::Whole => {}
        End::Cut => reset(&stream),
        End::Left => script.gone.send_modify(|gone| *gone += 1),
    }
}

/// How an answer ended.
enum End {
    Whole,
    Cut,
    Left,
}

async fn perform(Answer(steps): Answer, script: &Script, write: &mut WriteHalf<'_>) -> End {
    for step in steps {
        let bytes = match step {
            Step::Plain(text) => text,
            Step::Chunk(text) => format!("{:x}\r\n{text}\r\n", text.len()),
            Step::End => "0\r\n\r\n".to_owned(),
            Step::Hold => match script.released.acquire().await {
                Ok(permit) => {
                    permit.forget();
                    continue;
                }
                Err(_) => return End::Left,
            },
            Step::Stall => std::future::pending().await,
            Step::Cut => return End::Cut,
        };
        if write.write_all(bytes.as_bytes()).await.is_err() {
            return End::Left;
        }
    }
    End::Whole
}

async fn request(stream: &mut TcpStream) -> Option<Asked> {
    let request = Request::read(stream).await?;
    let authorization = request.header("authorization").unwrap_or_default().to_owned();
    let body = serde_json::from_slice(&request.body).unwrap_or_default();
    Some(Asked { target: request.target, authorization, body })
}

/// Closes without a goodbye.
fn reset(stream: &TcpStream) {
    // If it can't be set the connection ends with its body torn all the same.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(model: &FakeModel) -> TcpStream {
        let address = model.url().trim_start_matches("http://").trim_end_matches("/v1");
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let request = "POST /v1/chat/completions HTTP/1.1\r\nAuthorization: Bearer k\r\ncontent-length: 9\r\n\r\n{\"a\":[1]}";
        stream.write_all(request.as_bytes()).await.expect("it reads");
        stream
    }

    #[tokio::test]
    async fn it_says_what_the_test_wants_and_tells_what_it_was_asked() {
        let model = FakeModel::start().await;
        model.answer(Answer::says("good morning"));
        let mut stream = ask(&model).await;
        let mut text = String::new();
        stream.read_to_string(&mut text).await.expect("an answer");
        assert!(text.contains(r#""content":"good ""#) && text.ends_with("[DONE]\n\n\r\n0\r\n\r\n"), "{text}");
        let asked = model.asked().await;
        assert_eq!(
            (asked.target.as_str(), asked.authorization.as_str()),
            ("POST /v1/chat/completions", "Bearer k")
        );
        assert_eq!(asked.body, json!({ "a": [1] }));

        model.answer(Answer::refusal(429, &[("retry-after", "2")], "slow down"));
        let mut stream = ask(&model).await;
        text.clear();
        stream.read_to_string(&mut text).await.expect("an answer");
        assert!(text.starts_with("HTTP/1.1 429 ") && text.contains("retry-after: 2\r\n"), "{text}");
        assert!(text.ends_with("}}") && text.contains("slow down"), "{text}");
    }

    #[tokio::test]
    async fn it_holds_cuts_and_sees_who_leaves() {
        let model = FakeModel::start().await;
        model.answer(Answer::stream().hold().cut());
        let mut stream = ask(&model).await;
        model.asked().await;
        model.release();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.expect_err("a reset");

        model.answer(Answer::stream().text("x").stall());
        let mut stream = ask(&model).await;
        stream.read_exact(&mut [0; 10]).await.expect("a beginning");
        drop(stream);
        model.until_gone(1).await;
    }
}
