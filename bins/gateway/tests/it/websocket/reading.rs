//! What a reader gives and what it refuses.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use gateway::websocket::{Kinds, Limits, Message, ReadError, closing};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::io::AsyncWriteExt;

use super::bench::{DEADLINE, LIMITS, Server, masked};

fn text(text: &str) -> Message {
    Message::Text(text.to_owned().into())
}

#[tokio::test]
async fn messages_arrive_whole_however_they_are_cut() {
    let mut server = Server::start(LIMITS).await;
    let long = "\u{20ac}uro ".repeat(3000);
    let (first, last) = long.as_bytes().split_at(1);
    let sent = [
        masked(0x81, b"one"),
        masked(0x82, &[0xFF, 0xFE]),
        masked(0x01, first),
        masked(0x89, b"are you there"),
        masked(0x00, b""),
        masked(0x80, last),
        masked(0x8A, b""),
        masked(0x81, b""),
        masked(0x88, b"\x03\xe8bye"),
    ]
    .concat();
    let expected = [
        text("one"),
        Message::Binary(vec![0xFF, 0xFE].into()),
        Message::Ping("are you there".into()),
        text(&long),
        Message::Pong("".into()),
        text(""),
        Message::Close { code: Some(1000), reason: "bye".to_owned() },
    ];
    // In one piece, byte by byte, and in a size that cuts headers.
    for size in [sent.len(), 1, 7] {
        let (mut taken, mut client) = server.connect().await;
        let sent = sent.clone();
        let sending = tokio::spawn(async move {
            for piece in sent.chunks(size) {
                client.send(piece).await;
            }
            client
        });
        for message in &expected {
            assert_eq!(&taken.next().await.unwrap(), message, "pieces of {size}");
        }
        drop(sending.await.unwrap());
        assert!(matches!(taken.next().await, Err(ReadError::Gone)));
    }
}

/// Sends bytes, expects them refused with a code, and that the peer reads it although it goes on sending.
async fn refused(limits: Limits, bytes: &[u8]) -> (u16, String) {
    let mut server = Server::start(limits).await;
    let (mut taken, mut client) = server.connect().await;
    client.send(bytes).await;
    let error = loop {
        match taken.next().await {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    // The rest of what a peer that knows nothing of the refusal has on its way.
    client.send(&[0x42; 50_000]).await;
    let ending = closing::refuse(taken.reader, taken.writer, &error, DEADLINE);
    let (_, told) = tokio::join!(ending, async {
        let told = client.closed().await;
        // It is still listened to: no reset that would have destroyed the close frame on a longer way.
        for _ in 0..20 {
            client.send(&[0x42; 5_000]).await;
            tokio::task::yield_now().await;
        }
        client.0.shutdown().await.unwrap();
        told
    });
    assert_eq!(Some(told.0), error.close_code());
    told
}

#[tokio::test]
async fn refuses_what_no_client_may_send() {
    let binary_only = Limits { kinds: Kinds::Binary, ..LIMITS };
    let text_only = Limits { kinds: Kinds::Text, ..LIMITS };
    let long_close = masked(0x88, &[b"\x03\xe8".as_slice(), &[b'x'; 124]].concat());
    for (limits, bytes, code, reason) in [
        (LIMITS, vec![0x81, 0x02, b'h', b'i'], 1002, "without mask"),
        (LIMITS, masked(0xC1, b"hi"), 1002, "reserved bits"),
        (LIMITS, masked(0x83, b"hi"), 1002, "opcode 3"),
        (LIMITS, masked(0x8F, b"hi"), 1002, "opcode 15"),
        (LIMITS, masked(0x89, &[0; 126]), 1002, "125 bytes"),
        (LIMITS, masked(0x8A, &[0; 70_000]), 1002, "125 bytes"),
        (LIMITS, long_close, 1002, "125 bytes"),
        (LIMITS, masked(0x09, b"hi"), 1002, "fragmented control"),
        (LIMITS, masked(0x80, b"hi"), 1002, "without a beginning"),
        (LIMITS, [masked(0x01, b"a"), masked(0x81, b"b")].concat(), 1002, "within a message"),
        (LIMITS, masked(0x88, b"\x03"), 1002, "bad close"),
        (LIMITS, masked(0x88, b"\x03\xed"), 1002, "bad close"),
        (LIMITS, masked(0x88, b"\x00\x00"), 1002, "bad close"),
        (LIMITS, masked(0x88, b"\x03\xe8\xff"), 1007, "UTF-8"),
        (LIMITS, masked(0x81, b"caf\xc3"), 1007, "UTF-8"),
        (LIMITS, masked(0x81, b"\xed\xa0\x80"), 1007, "UTF-8"),
        (LIMITS, [masked(0x01, b"caf\xc3"), masked(0x80, b"")].concat(), 1007, "UTF-8"),
        (LIMITS, masked(0x01, b"never \xff ended"), 1007, "UTF-8"),
        (LIMITS, [masked(0x01, b"\xe2\x82"), masked(0x00, b"x")].concat(), 1007, "UTF-8"),
        (LIMITS, vec![0x82, 0xFF, 0, 0, 0, 0, 0, 1, 0, 1], 4011, "too large"),
        (LIMITS, vec![0x82, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 4011, "too large"),
        (LIMITS, [masked(0x02, &[0; 65_536]), masked(0x80, b"x")].concat(), 4011, "too large"),
        (LIMITS, [masked(0x01, b""), masked(0x00, b"").repeat(16)].concat(), 4011, "too large"),
        (Limits { too_large_code: 1009, ..LIMITS }, masked(0x82, &[0; 65_537]), 1009, "too large"),
        (binary_only, masked(0x81, b"{}"), 1003, "kind of message"),
        (text_only, masked(0x02, b"\x08\x01"), 1003, "kind of message"),
    ] {
        let shown = bytes[..bytes.len().min(16)].to_vec();
        let (told, why) = refused(limits, &bytes).await;
        assert_eq!(told, code, "{shown:x?}: {why}");
        assert!(why.contains(reason), "{shown:x?}: {why}");
    }
}

#[tokio::test]
async fn the_largest_message_is_taken() {
    let mut server = Server::start(LIMITS).await;
    let (mut taken, mut client) = server.connect().await;
    let whole = vec![7; LIMITS.message_bytes];
    let (one, two) = whole.split_at(1000);
    let sent = [masked(0x82, &whole), masked(0x02, one), masked(0x80, two)].concat();
    let sending = tokio::spawn(async move {
        client.send(&sent).await;
        client
    });
    for _ in 0..2 {
        assert_eq!(taken.next().await.unwrap(), Message::Binary(whole.clone().into()));
    }
    sending.await.unwrap();
}

#[tokio::test]
async fn endless_fragments_end() {
    let mut server = Server::start(Limits { fragments: u32::MAX, ..LIMITS }).await;
    let (mut taken, client) = server.connect().await;
    let (mut read, mut write) = client.0.into_split();
    let flood = tokio::spawn(async move {
        let mut first = 0x01;
        while write.write_all(&masked(first, &[b'x'; 1000])).await.is_ok() {
            first = 0x00;
        }
    });
    let error = taken.next().await.expect_err("too large");
    assert!(matches!(error, ReadError::TooLarge { code: 4011 }), "{error}");
    closing::refuse(taken.reader, taken.writer, &error, DEADLINE).await;
    let mut told = [0; 4];
    tokio::io::AsyncReadExt::read_exact(&mut read, &mut told).await.unwrap();
    assert_eq!(told[2..], 4011_u16.to_be_bytes());
    flood.await.unwrap();
}

#[tokio::test]
async fn a_read_dropped_in_a_frame_is_noticed_and_one_dropped_between_frames_is_harmless() {
    let mut server = Server::start(LIMITS).await;
    let (mut taken, mut client) = server.connect().await;
    let frame = masked(0x81, b"hello");
    {
        let mut idle = pin!(taken.reader.next());
        assert!(poll_fn(|cx| Poll::Ready(idle.as_mut().poll(cx).is_pending())).await);
    }
    client.send(&frame).await;
    assert_eq!(taken.next().await.unwrap(), text("hello"));

    client.send(&frame[..3]).await;
    {
        let mut begun = pin!(taken.reader.next());
        let waited = tokio::time::timeout(std::time::Duration::from_millis(100), begun.as_mut()).await;
        assert!(waited.is_err(), "half a header is no frame");
    }
    assert!(matches!(taken.next().await, Err(ReadError::Interrupted)));
}

#[test]
fn rubbish_is_refused_or_waited_for_and_never_more() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(ProptestConfig { cases: 200, ..ProptestConfig::default() });
    let bytes = || proptest::collection::vec(any::<u8>(), 0..200);
    // Bare noise, and noise in frames that get further into the reader.
    let frame = (any::<u8>(), bytes()).prop_map(|(first, payload)| masked(first, &payload));
    let frames = proptest::collection::vec(frame, 0..6).prop_map(|frames| frames.concat());
    let noise = prop_oneof![bytes(), (frames, bytes()).prop_map(|(frames, rest)| [frames, rest].concat())];
    runner
        .run(&noise, |noise| {
            runtime.block_on(async {
                let mut server = Server::start(LIMITS).await;
                let (mut taken, mut client) = server.connect().await;
                client.send(&noise).await;
                client.0.shutdown().await.unwrap();
                let mut messages = 0;
                while taken.next().await.is_ok() {
                    messages += 1;
                    assert!(messages <= noise.len() / 6, "each frame takes six bytes or more");
                }
            });
            Ok(())
        })
        .unwrap();
}
