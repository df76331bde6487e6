//! The writing half of a live connection: the only one that writes to the socket.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use protocol::{CloseCode, Encoding};
use realtime::{Body, Connection, Encoded, Fed, Feed};

use crate::connection::{End, wire};
use crate::gateway::Gateway;
use crate::websocket::{Writer, frame};

/// How long a stuck write may go on once the connection is to be closed.
const LAST_WRITE: Duration = Duration::from_secs(1);
/// Frames above which a batch's buffer is given back: an idle connection keeps none.
const KEPT: usize = 8;

/// Writes what the feed gives until the connection is to end.
pub(super) async fn write(
    gateway: &Gateway,
    connection: &Connection,
    encoding: Encoding,
    mut feed: Feed,
    writer: &mut Writer,
) -> End {
    let limit = gateway.settings.behind_limit;
    let (mut batch, mut frames) = (Vec::new(), Vec::new());
    loop {
        batch.clear();
        let fed = {
            // Kept over the pings between: dropped in the middle it would forget that streams lag.
            let mut next = std::pin::pin!(feed.next(&mut batch));
            loop {
                tokio::select! {
                    fed = &mut next => break fed,
                    // The longest silence that a proxy or a client sees.
                    () = tokio::time::sleep(gateway.settings.heartbeat_interval) => {
                        if let Err(end) = put(connection, writer, &[frame::ping(b"")], limit).await {
                            return end;
                        }
                    }
                }
            }
        };
        if let Fed::Close(code) = fed {
            return End::Close(code);
        }
        frames.clear();
        frames.extend(batch.iter().map(|encoded| wire(encoded, encoding)));
        if let Err(end) = put(connection, writer, &frames, limit).await {
            return end;
        }
        observe(gateway, &batch);
        if connection.outbox.behind_for().is_some_and(|held| held > limit) {
            return End::Close(CloseCode::TooFarBehind);
        }
        if batch.capacity() > KEPT {
            (batch, frames) = (Vec::new(), Vec::new());
        }
    }
}

/// Writes frames. A peer that takes nothing for the limit, or while the connection is to be
/// closed, is not waited for.
async fn put(
    connection: &Connection,
    writer: &mut Writer,
    frames: &[Bytes],
    limit: Duration,
) -> Result<(), End> {
    let closing = async {
        let code = connection.outbox.closed().await;
        tokio::time::sleep(LAST_WRITE).await;
        code
    };
    tokio::select! {
        biased;
        written = writer.write_all_vectored(frames) => written.map_err(|_| End::Broken),
        () = tokio::time::sleep(limit) => Err(End::Close(CloseCode::TooFarBehind)),
        code = closing => Err(End::Close(code)),
    }
}

fn observe(gateway: &Gateway, batch: &[std::sync::Arc<Encoded>]) {
    let now = Timestamp::now();
    for encoded in batch {
        if let Body::Event(event, path) = encoded.body() {
            let after = now.duration_since(event.at).try_into().unwrap_or(Duration::ZERO);
            gateway.parts.realtime.fanned_out(*path, after);
        }
    }
}
