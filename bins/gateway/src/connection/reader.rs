//! The reading half of a live connection: the client's frames, one after the other.

use std::sync::Arc;

use domain::{ErrorCode, Principal};
use protocol::codec::{DecodeError, DecodeErrorKind};
use protocol::{ClientFrame, CloseCode, Encoding, ServerFrame, Subject};
use realtime::{Connection, Encoded, Term, Turn};
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use crate::connection::answer::About;
use crate::connection::{End, agent, person, refresh};
use crate::gateway::Gateway;
use crate::websocket::{Message, Reader};

/// Reads and does what the client asks for until the connection is to end.
pub(super) async fn read(
    gateway: &Arc<Gateway>,
    connection: &Arc<Connection>,
    encoding: Encoding,
    reader: &mut Reader,
    mut term: Term,
) -> End {
    // Two missed, and a quarter for the way.
    let patience = gateway.settings.heartbeat_interval * 9 / 4;
    let mut allowance = Allowance::new(gateway.settings.frame_rate, gateway.settings.frame_burst);
    let mut heard = Instant::now();
    loop {
        let message = {
            // A read is not safe to drop in the middle: it is kept, or nothing is read any more.
            let mut next = std::pin::pin!(reader.next());
            loop {
                tokio::select! {
                    message = &mut next => break message,
                    () = tokio::time::sleep_until(heard + patience) => {
                        return End::Close(CloseCode::HeartbeatMissed);
                    }
                    turn = gateway.parts.sessions.turn(&mut term) => match turn {
                        Turn::Ask(within) => reply(connection, refresh::asked(within)).await,
                        Turn::End => return End::Close(CloseCode::SignInEnded),
                    },
                }
            }
        };
        let payload = match message {
            Ok(Message::Text(payload) | Message::Binary(payload)) => payload,
            Ok(Message::Ping(payload)) => {
                connection.outbox.push_ephemeral(&Encoded::pong(payload));
                continue;
            }
            // Proves that the socket lives, not that the client does: that is what `ping` is for.
            Ok(Message::Pong(_)) => continue,
            Ok(Message::Close { code, .. }) => return End::Peer(code),
            Err(error) => return End::Unreadable(error),
        };
        if !allowance.take(Instant::now()) {
            return End::Close(CloseCode::RateLimited);
        }
        let answer = match protocol::decode_client(&payload, encoding) {
            Ok(ClientFrame::Refresh(refresh)) => {
                Ok(Some(Box::pin(refresh::handle(gateway, connection, &mut term, &refresh)).await))
            }
            Ok(frame) => {
                let span = span(&frame);
                // On the heap: between two frames there is nothing to be kept.
                match connection.meta.principal {
                    Principal::User(user) => {
                        let handled = person::handle(gateway, connection, user, frame);
                        Box::pin(handled.instrument(span)).await
                    }
                    Principal::Agent(agent) => {
                        let handled = agent::handle(gateway, connection, agent, frame);
                        Box::pin(handled.instrument(span)).await
                    }
                }
            }
            Err(error) => answer_to(&error, &payload, encoding).map(Some),
        };
        match answer {
            Ok(None) => {}
            Ok(Some(answer)) => reply(connection, answer).await,
            Err(end) => return end,
        }
        // What the answer took is not the client's silence.
        heard = Instant::now();
    }
}

async fn reply(connection: &Connection, answer: ServerFrame) {
    if !connection.outbox.reply(&Encoded::frame(answer)).await {
        // The writer ends the connection, with its code.
        std::future::pending::<()>().await;
    }
}

/// The top of a trace: what a client asks for by a frame. What only says how things are, often, is none.
fn span(frame: &ClientFrame) -> Span {
    match frame {
        ClientFrame::Ping | ClientFrame::Typing(_) | ClientFrame::Focus(_) => Span::none(),
        frame => tracing::debug_span!(
            target: trace::SERVER,
            "frame",
            op = frame.op(),
            failed = tracing::field::Empty
        ),
    }
}

/// What bytes that are not a good frame are answered with: `error`, with the names that the frame has, when a part is wrong, a close when
/// they are no frame at all.
pub(super) fn answer_to(error: &DecodeError, bytes: &[u8], encoding: Encoding) -> Result<ServerFrame, End> {
    match error.kind {
        DecodeErrorKind::Malformed | DecodeErrorKind::NoOp => Err(End::Close(CloseCode::BadFrame)),
        DecodeErrorKind::UnknownOp | DecodeErrorKind::Field => {
            Ok(About::from(Subject::of(bytes, encoding)).error(ErrorCode::InvalidField, error.to_string()))
        }
    }
}

/// How many frames the client may still send: a token bucket of one connection.
struct Allowance {
    rate: f64,
    burst: f64,
    tokens: f64,
    at: Instant,
}

impl Allowance {
    fn new(rate: u32, burst: u32) -> Self {
        let burst = f64::from(burst.max(1));
        Self { rate: f64::from(rate.max(1)), burst, tokens: burst, at: Instant::now() }
    }

    fn take(&mut self, now: Instant) -> bool {
        let passed = now.duration_since(self.at).as_secs_f64();
        self.at = now;
        self.tokens = passed.mul_add(self.rate, self.tokens).min(self.burst);
        if self.tokens < 1.0 {
            return false;
        }
        self.tokens -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_allowance_is_a_bucket() {
        let mut allowance = Allowance::new(10, 3);
        let start = allowance.at;
        assert_eq!((0..5).filter(|_| allowance.take(start)).count(), 3);
        assert!(allowance.take(start + Duration::from_millis(101)));
        assert!(!allowance.take(start + Duration::from_millis(101)));
        let later = start + Duration::from_secs(60);
        assert_eq!((0..5).filter(|_| allowance.take(later)).count(), 3);
    }
}
