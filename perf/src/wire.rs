//! WebSocket connections that do as little as they can: the load on everyone that is measured comes from the same few lines.
//!
//! [`client::Socket`] decodes every frame; that would be a cost of the one and not of the others.

use std::io::Cursor;
use std::sync::Arc;

use fastwebsockets::{
    Frame, OpCode, Payload, Role, WebSocketError, WebSocketRead, WebSocketWrite, after_handshake_split,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Chain};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Mutex;

use crate::Failure;

/// The key of RFC 6455's example. It guards against proxies that repeat old answers; there are none here.
pub(crate) const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// What RFC 6455 says that a server answers to [`KEY`].
pub(crate) const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// The most bytes of a head.
const MOST_HEAD: usize = 16 << 10;

/// The sending half; clones send on the same connection.
#[derive(Clone)]
pub(crate) struct Writer(Arc<Mutex<WebSocketWrite<OwnedWriteHalf>>>);

impl Writer {
    pub(crate) async fn text(&self, text: &str) -> Result<(), Failure> {
        self.frame(Frame::text(Payload::Borrowed(text.as_bytes()))).await
    }

    async fn frame(&self, frame: Frame<'_>) -> Result<(), Failure> {
        let mut write = self.0.lock().await;
        write.write_frame(frame).await?;
        Ok(write.flush().await?)
    }
}

/// The receiving half. Reading is not safe to cancel.
pub(crate) struct Reader {
    read: WebSocketRead<Chain<Cursor<Vec<u8>>, OwnedReadHalf>>,
    writer: Writer,
}

impl Reader {
    /// Reads messages until `wanted` makes something of one. Pings are answered on the way.
    pub(crate) async fn find<T>(&mut self, mut wanted: impl FnMut(&[u8]) -> Option<T>) -> Result<T, Failure> {
        loop {
            let mut nothing_to_send = |_| async { Ok::<(), WebSocketError>(()) };
            let frame = self.read.read_frame(&mut nothing_to_send).await?;
            match frame.opcode {
                OpCode::Text | OpCode::Binary if !frame.fin => return Err("a message in fragments".into()),
                OpCode::Text if frame.payload[..] == *b"2" => {
                    // Engine.IO's ping; no message of ours is so short.
                    self.writer.text("3").await?;
                }
                OpCode::Text | OpCode::Binary => {
                    if let Some(found) = wanted(&frame.payload) {
                        return Ok(found);
                    }
                }
                OpCode::Ping => {
                    let payload = frame.payload.to_vec();
                    self.writer.frame(Frame::pong(Payload::Owned(payload))).await?;
                }
                OpCode::Close => {
                    let code = frame.payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                    return Err(format!("closed with {code:?}").into());
                }
                OpCode::Pong | OpCode::Continuation => {}
            }
        }
    }
}

/// Connects to `ws://HOST:PORT/PATH` with these headers.
pub(crate) async fn connect(url: &str, headers: &[(&str, &str)]) -> Result<(Reader, Writer), Failure> {
    let rest = url.strip_prefix("ws://").ok_or_else(|| format!("{url}: only ws:// is measured"))?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host).await.map_err(|error| format!("{host}: {error}"))?;
    stream.set_nodelay(true)?;
    let mut head = format!(
        "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: {KEY}\r\n"
    );
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    stream.write_all(head.as_bytes()).await?;
    let (head, rest) = read_head(&mut stream).await?;
    let status = head.lines().next().unwrap_or_default();
    if !status.starts_with("HTTP/1.1 101") {
        return Err(format!("{host} does not open a WebSocket: {status}").into());
    }
    let (read, write) = stream.into_split();
    let (_, write) = after_handshake_split(tokio::io::empty(), write, Role::Client);
    let writer = Writer(Arc::new(Mutex::new(write)));
    let bytes = Cursor::new(rest).chain(read);
    let (mut read, _) = after_handshake_split(bytes, tokio::io::sink(), Role::Client);
    read.set_auto_close(false);
    read.set_auto_pong(false);
    Ok((Reader { read, writer: writer.clone() }, writer))
}

/// Reads the head of a request or an answer; what came after it is given back.
pub(crate) async fn read_head(stream: &mut TcpStream) -> Result<(String, Vec<u8>), Failure> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok((String::from_utf8_lossy(&bytes).into_owned(), rest));
        }
        if bytes.len() > MOST_HEAD || stream.read_buf(&mut bytes).await? == 0 {
            return Err("the head of HTTP does not end".into());
        }
    }
}
