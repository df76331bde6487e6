//! Asks a node's admin listener.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long an answer may take: a node gives its own checks two seconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// No answer of a node is longer.
const LONGEST: u64 = 64 * 1024;

/// Gets `path`.
///
/// # Errors
///
/// Any answer but 200, or none within five seconds: what was answered, for people.
pub(crate) async fn ask(address: SocketAddr, path: &str) -> Result<(), String> {
    match timeout(PATIENCE, get(address, path)).await {
        Ok(Ok((200, _))) => Ok(()),
        Ok(Ok((status, body))) => Err(format!("{status} {body}")),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("none within {PATIENCE:?}")),
    }
}

/// The status and the body.
async fn get(address: SocketAddr, path: &str) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).await?;
    // Of version 1.0 the answer ends with the connection, and is never chunked.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(LONGEST).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or(io::ErrorKind::InvalidData)?, body.to_owned()))
}
