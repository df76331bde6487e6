//! Asks nodes whether they are ready.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::ask::ask;

/// How often a node that is not ready is asked.
const ASK: Duration = Duration::from_millis(50);

/// Waits until the node says that it is ready; after `limit` gives its last answer.
pub(super) async fn until_ready(admin: SocketAddr, limit: Duration) -> Result<(), String> {
    let deadline = Instant::now() + limit;
    loop {
        let last = match ask(admin, "/healthz/ready").await {
            Ok(()) => return Ok(()),
            Err(last) => last,
        };
        if Instant::now() >= deadline {
            return Err(last);
        }
        sleep(ASK).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers one request after the other with these.
    async fn serve(listener: TcpListener, answers: Vec<&'static str>) {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut request = [0; 256];
            let read = stream.read(&mut request).await.expect("a request");
            assert!(request[..read].starts_with(b"GET /healthz/ready HTTP/1.0\r\n"));
            stream.write_all(answer.as_bytes()).await.expect("sent");
        }
    }

    #[tokio::test]
    async fn a_node_is_asked_until_it_is_ready_and_its_last_answer_is_given() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let unready = "HTTP/1.1 503 Service Unavailable\r\nx: y\r\n\r\n{\"reasons\":\"keys\"}";
        let node = tokio::spawn(serve(listener, vec![unready, "no http", "HTTP/1.1 200 OK\r\n\r\n{}"]));
        assert_eq!(until_ready(address, Duration::from_secs(60)).await, Ok(()));
        node.await.expect("asked three times");

        let listener = TcpListener::bind(address).await.expect("the port again");
        let node = tokio::spawn(serve(listener, vec![unready]));
        let last = until_ready(address, Duration::ZERO).await.expect_err("not ready");
        assert_eq!(last, "503 {\"reasons\":\"keys\"}");
        node.await.expect("asked once");
        until_ready(address, Duration::ZERO).await.expect_err("nobody listens");
    }
}
