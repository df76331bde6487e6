//! Batches, short writes and torn frames.

use std::time::Duration;

use gateway::websocket::frame;
use tokio::io::AsyncReadExt;

use super::bench::{LIMITS, Server};

#[tokio::test]
async fn a_batch_arrives_in_order_through_short_writes() {
    let mut server = Server::start(LIMITS).await;
    let (mut taken, mut client) = server.connect().await;
    // More frames than one system call takes, more bytes than the socket's buffers hold, empty pieces between.
    let mut frames: Vec<_> = (0..300_u32)
        .map(|number| frame::binary(&vec![number.to_le_bytes()[0]; 17 * number as usize * 3]))
        .collect();
    frames.insert(100, bytes::Bytes::new());
    frames.push(frame::text(&vec![b'x'; 3 << 20]));
    frames.push(bytes::Bytes::new());
    let expected: Vec<u8> = frames.concat();
    let writing = tokio::spawn(async move {
        taken.writer.write_all_vectored(&frames).await.unwrap();
        assert!(!taken.writer.is_torn());
    });
    let mut read = Vec::with_capacity(expected.len());
    while client.0.read_buf(&mut read).await.unwrap() > 0 {}
    writing.await.unwrap();
    assert!(read == expected, "{} bytes of {}", read.len(), expected.len());
}

#[tokio::test]
async fn a_torn_frame_is_the_last() {
    let mut server = Server::start(LIMITS).await;
    let (mut taken, client) = server.connect().await;
    let huge = frame::binary(&vec![0; 32 << 20]);
    let waited = tokio::time::timeout(Duration::from_millis(100), taken.writer.write(&huge)).await;
    assert!(waited.is_err() && taken.writer.is_torn());
    let refused = taken.writer.write(&frame::ping(b"")).await.expect_err("torn");
    assert_eq!(refused.kind(), std::io::ErrorKind::BrokenPipe);
    drop(client);
}
