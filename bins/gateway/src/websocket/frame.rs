//! Frames of a server, built whole: header and payload in one piece.
//!
//! Server frames carry no mask (RFC 6455, 5.1), so the same bytes serve every connection: a frame is
//! built once and handed out as clones of one [`Bytes`].

use bytes::{BufMut, Bytes, BytesMut};
use fastwebsockets::OpCode;

/// The most payload a control frame can have (RFC 6455, 5.5).
pub const MAX_CONTROL: usize = 125;

const FIN: u8 = 0x80;

/// A text message in one frame; `payload` is UTF-8.
#[must_use]
pub fn text(payload: &[u8]) -> Bytes {
    build(OpCode::Text, payload)
}

/// A binary message in one frame.
#[must_use]
pub fn binary(payload: &[u8]) -> Bytes {
    build(OpCode::Binary, payload)
}

/// A ping; what lies beyond [`MAX_CONTROL`] bytes is left out.
#[must_use]
pub fn ping(payload: &[u8]) -> Bytes {
    build(OpCode::Ping, &payload[..payload.len().min(MAX_CONTROL)])
}

/// The answer to a ping with this payload.
#[must_use]
pub fn pong(payload: &[u8]) -> Bytes {
    build(OpCode::Pong, &payload[..payload.len().min(MAX_CONTROL)])
}

/// A close frame; a reason of more than 123 bytes is cut between two characters.
#[must_use]
pub fn close(code: u16, reason: &str) -> Bytes {
    let fits = reason.floor_char_boundary(MAX_CONTROL - 2);
    let mut payload = Vec::with_capacity(2 + fits);
    payload.put_u16(code);
    payload.put_slice(&reason.as_bytes()[..fits]);
    build(OpCode::Close, &payload)
}

/// A close frame that gives no code, the answer to one of the same.
#[must_use]
pub fn close_without_code() -> Bytes {
    build(OpCode::Close, &[])
}

fn build(opcode: OpCode, payload: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(10 + payload.len());
    frame.put_u8(FIN | opcode as u8);
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length @ ..=125), _) => frame.put_u8(length),
        (_, Ok(length)) => {
            frame.put_u8(126);
            frame.put_u16(length);
        }
        _ => {
            frame.put_u8(127);
            frame.put_u64(payload.len() as u64);
        }
    }
    frame.put_slice(payload);
    frame.freeze()
}

#[cfg(test)]
mod tests {
    use fastwebsockets::{Role, WebSocket};
    use proptest::prelude::*;

    use super::*;

    /// Reads one frame back the way a client does, and demands that nothing is left over.
    fn read_back(frame: &Bytes) -> (bool, OpCode, Vec<u8>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let stream = tokio::io::join(&frame[..], tokio::io::sink());
            let mut client = WebSocket::after_handshake(stream, Role::Client);
            client.set_auto_close(false);
            client.set_auto_pong(false);
            let read = client.read_frame().await.unwrap();
            let answer = (read.fin, read.opcode, read.payload.to_vec());
            assert!(client.read_frame().await.is_err(), "bytes left over");
            answer
        })
    }

    proptest! {
        #[test]
        fn a_client_reads_what_was_built(payload in proptest::collection::vec(any::<u8>(), 0..70_000)) {
            prop_assert_eq!(read_back(&binary(&payload)), (true, OpCode::Binary, payload));
        }

        #[test]
        fn control_frames_never_exceed_their_limit(payload in proptest::collection::vec(any::<u8>(), 0..300), reason in ".{0,80}") {
            let kept = &payload[..payload.len().min(MAX_CONTROL)];
            prop_assert_eq!(read_back(&ping(&payload)), (true, OpCode::Ping, kept.to_vec()));
            prop_assert_eq!(read_back(&pong(&payload)), (true, OpCode::Pong, kept.to_vec()));
            let (_, opcode, body) = read_back(&close(4011, &reason));
            prop_assert_eq!(opcode, OpCode::Close);
            prop_assert!(body.len() <= MAX_CONTROL && body.starts_with(&4011_u16.to_be_bytes()));
            prop_assert!(reason.starts_with(std::str::from_utf8(&body[2..]).unwrap()));
        }
    }

    #[test]
    fn lengths_take_their_shortest_form() {
        for (length, header) in [(0, 2), (125, 2), (126, 4), (65_535, 4), (65_536, 10)] {
            let payload = vec![b'x'; length];
            let frame = text(&payload);
            assert_eq!(frame.len(), header + length, "{length}");
            assert_eq!(read_back(&frame), (true, OpCode::Text, payload));
        }
        assert_eq!(close_without_code().as_ref(), [0x88, 0]);
        assert_eq!(close(1000, "").as_ref(), [0x88, 2, 3, 0xe8]);
    }
}
