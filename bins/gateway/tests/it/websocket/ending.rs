//! Ends that the peer can read.

use std::time::Duration;

use gateway::websocket::closing::{self, Ending};
use gateway::websocket::{Message, frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::bench::{DEADLINE, LIMITS, Server, masked};

const SOON: Duration = Duration::from_millis(100);

#[tokio::test]
async fn ours_waits_for_the_answer() {
    let mut server = Server::start(LIMITS).await;
    let (taken, mut client) = server.connect().await;
    let peer = tokio::spawn(async move {
        let (first, payload) = client.frame().await;
        assert_eq!((first, payload.as_slice()), (0x88, b"\x03\xf4drain".as_slice()));
        // What was on its way, then the answer.
        client.send(&[masked(0x81, b"late"), masked(0x88, b"\x03\xf4")].concat()).await;
        assert_eq!(client.0.read(&mut [0; 8]).await.unwrap(), 0);
    });
    assert_eq!(closing::begin(taken.reader, taken.writer, 1012, "drain", DEADLINE).await, Ending::Clean);
    peer.await.unwrap();
}

#[tokio::test]
async fn a_silent_peer_is_not_waited_for_long() {
    let mut server = Server::start(LIMITS).await;
    let (taken, mut client) = server.connect().await;
    assert_eq!(closing::begin(taken.reader, taken.writer, 4009, "", SOON).await, Ending::Late);
    assert_eq!(client.closed().await, (4009, String::new()));
}

#[tokio::test]
async fn a_peer_that_hangs_up_instead_of_answering() {
    let mut server = Server::start(LIMITS).await;
    let (taken, mut client) = server.connect().await;
    client.0.shutdown().await.unwrap();
    assert_eq!(closing::begin(taken.reader, taken.writer, 4010, "", DEADLINE).await, Ending::Unclean);
    assert_eq!(client.closed().await, (4010, String::new()));
}

#[tokio::test]
async fn an_answer_that_is_no_frame_does_not_hang() {
    let mut server = Server::start(LIMITS).await;
    let (taken, mut client) = server.connect().await;
    client.send(b"GET / HTTP/1.1\r\n\r\n").await;
    let peer = tokio::spawn(async move { client.closed().await });
    assert_eq!(closing::begin(taken.reader, taken.writer, 4000, "", DEADLINE).await, Ending::Unclean);
    assert_eq!(peer.await.unwrap(), (4000, String::new()));
}

#[tokio::test]
async fn theirs_is_answered_with_their_code() {
    let mut server = Server::start(LIMITS).await;
    for (sent, code, answered) in
        [(b"\x03\xe9going".as_slice(), Some(1001), b"\x03\xe9".as_slice()), (b"", None, b"")]
    {
        let (mut taken, mut client) = server.connect().await;
        client.send(&masked(0x88, sent)).await;
        let Ok(Message::Close { code: got, .. }) = taken.next().await else { panic!("a close") };
        assert_eq!(got, code);
        let peer = tokio::spawn(async move {
            assert_eq!(client.frame().await, (0x88, answered.to_vec()));
            assert_eq!(client.0.read(&mut [0; 8]).await.unwrap(), 0);
        });
        assert_eq!(closing::answer(taken.reader, taken.writer, got, DEADLINE).await, Ending::Clean);
        peer.await.unwrap();
    }
}

#[tokio::test]
async fn unread_bytes_do_not_destroy_the_close_frame() {
    let mut server = Server::start(LIMITS).await;
    let (mut taken, mut client) = server.connect().await;
    client.send(&masked(0x81, &[b'x'; 60_000]).repeat(4)).await;
    taken.writer.write(&frame::text(b"last words")).await.unwrap();
    let peer = tokio::spawn(async move {
        assert_eq!(client.frame().await.1, b"last words");
        // Reads nothing more until all that it sent is surely there, unread.
        client.send(&masked(0x88, b"\x0f\xa0")).await;
        client.closed().await
    });
    assert_eq!(closing::begin(taken.reader, taken.writer, 4000, "", DEADLINE).await, Ending::Clean);
    assert_eq!(peer.await.unwrap(), (4000, String::new()));
}
