//! A client that is nothing but a socket, so that tests can be as rude as peers are.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Longer than anything here takes; a test that waits this long has failed.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

pub(crate) async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    (listener, address)
}

pub(crate) struct Wire(pub(crate) TcpStream);

impl Wire {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.expect("connects"))
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.expect("written");
    }

    pub(crate) async fn get(&mut self, path: &str) {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: example.com\r\n\r\n")).await;
    }

    /// Reads until `end` has been seen, and gives everything read.
    pub(crate) async fn read_until(&mut self, end: &str) -> String {
        let mut text = String::new();
        while !text.contains(end) {
            let mut buffer = [0; 4096];
            let read = tokio::time::timeout(LIMIT, self.0.read(&mut buffer)).await.expect("in time");
            let read = read.expect("readable");
            assert_ne!(read, 0, "closed after {text:?}");
            text.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
        text
    }

    /// Reads until the server closes. A reset counts as closed.
    pub(crate) async fn read_to_end(&mut self) -> String {
        let mut bytes = Vec::new();
        let _ = tokio::time::timeout(LIMIT, self.0.read_to_end(&mut bytes)).await.expect("closed in time");
        String::from_utf8(bytes).expect("text")
    }
}

/// One request on a connection of its own: status line and body.
pub(crate) async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut wire = Wire::connect(address).await;
    wire.send(&format!("GET {path} HTTP/1.1\r\nhost: example.com\r\nconnection: close\r\n\r\n")).await;
    let answer = wire.read_to_end().await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
    (status, body.to_owned())
}
