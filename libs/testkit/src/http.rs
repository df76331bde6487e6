//! One HTTP request at a time: asked, for what nodes say about themselves, and taken, for servers that a test plays.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Gets `path`: the status and the body.
///
/// # Errors
///
/// When there is no answer, or it is no HTTP.
pub async fn get(addr: SocketAddr, path: &str) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(addr).await?;
    // Of version 1.0 the answer ends with the connection, and is never chunked.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {addr}\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or(io::ErrorKind::InvalidData)?, body.to_owned()))
}

/// A request as it came to a server that a test plays.
#[derive(Debug, Clone)]
pub struct Request {
    /// `POST /v1/chat/completions`.
    pub target: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// Reads one of HTTP/1.1 whose body has a length; none if the client leaves before it is whole.
    pub async fn read(stream: &mut TcpStream) -> Option<Self> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.ok()?);
        }
        let head = String::from_utf8_lossy(&head);
        let mut lines = head.lines();
        let target = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut request = Self { target, headers, body: Vec::new() };
        let length = request.header("content-length").and_then(|length| length.parse().ok());
        request.body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut request.body).await.ok()?;
        Some(request)
    }

    /// A header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}
