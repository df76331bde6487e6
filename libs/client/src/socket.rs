//! One raw connection to a gateway: frames in, frames out, and the close code at its end.
//!
//! It does nothing by itself but answer pings and closes of the WebSocket protocol. Who wants a
//! connection that identifies, beats and comes back uses [`Session`](crate::Session).

mod connector;
mod error;
mod incoming;
mod outgoing;
mod stream;

use std::time::Duration;

use protocol::{ClientFrame, Encoding, ServerFrame};

pub use connector::{Connector, Credential};
pub use error::SocketError;
pub use incoming::Incoming;
pub use outgoing::{Outgoing, Raw};

/// A connection, before it is split.
#[derive(Debug)]
pub struct Socket {
    outgoing: Outgoing,
    incoming: Incoming,
}

impl Socket {
    /// Connects to `ws://` or `wss://` (certificates of the system are trusted).
    ///
    /// For many connections keep one [`Connector`] instead.
    ///
    /// # Errors
    ///
    /// The address can't be reached, or refuses.
    pub async fn connect(
        url: &str,
        credential: &Credential,
        encoding: Encoding,
    ) -> Result<Self, SocketError> {
        Connector::default().connect(url, credential, encoding).await
    }

    /// Sends a frame. Not safe to cancel.
    ///
    /// # Errors
    ///
    /// The connection is over.
    pub async fn send(&self, frame: &ClientFrame) -> Result<(), SocketError> {
        self.outgoing.send(frame).await
    }

    /// Sends bytes as they are, for tests of what a server refuses.
    ///
    /// # Errors
    ///
    /// The connection is over.
    pub async fn send_raw(&self, raw: Raw) -> Result<(), SocketError> {
        self.outgoing.send_raw(raw).await
    }

    /// The next frame. Safe to cancel. Frames of kinds that this release does not know are passed over.
    ///
    /// # Errors
    ///
    /// The end of the connection, with its close code if there was one. Nothing comes after an error.
    pub async fn receive(&mut self) -> Result<ServerFrame, SocketError> {
        self.incoming.receive().await
    }

    /// Closes, and waits for the server's close for at most `deadline`. Gives what ended the connection.
    pub async fn close(mut self, code: u16, reason: &str, deadline: Duration) -> SocketError {
        let closing = async {
            if let Err(error) = self.outgoing.close(code, reason).await {
                return error;
            }
            loop {
                if let Err(end) = self.incoming.receive().await {
                    return end;
                }
            }
        };
        tokio::time::timeout(deadline, closing).await.unwrap_or(SocketError::Late)
    }

    /// The two halves, to be used at the same time.
    #[must_use]
    pub fn split(self) -> (Outgoing, Incoming) {
        (self.outgoing, self.incoming)
    }
}
