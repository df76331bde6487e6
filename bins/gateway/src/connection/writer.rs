//! The writing half of a live connection: the only one that writes to the socket.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use protocol::{CloseCode, Encoding};
use realtime::guard::VALID_FOR;
use realtime::{Body, Connection, Encoded, Fed, Feed, Guard};

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
    let mut guard = connection.hold.consumer().map(|slot| Guard::new(slot.session));
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
        if let Some(guard) = &mut guard
            && let Err(end) = may_write(gateway, connection, guard).await
        {
            return end;
        }
        frames.clear();
        frames.extend(batch.iter().map(|encoded| wire(encoded, encoding)));
        let written = match &mut guard {
            None => put(connection, writer, &frames, limit).await,
            Some(guard) => {
                tokio::select! {
                    written = put(connection, writer, &frames, limit) => written,
                    // In the middle of a frame: all that can be done is to end.
                    end = lost(gateway, connection, guard) => Err(end),
                }
            }
        };
        if let Err(end) = written {
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

/// Waits until a consumer's connection may be given something: its place is its own.
async fn may_write(gateway: &Gateway, connection: &Connection, guard: &mut Guard) -> Result<(), End> {
    let store = gateway.parts.operations.store();
    loop {
        match guard.may_write(&**store).await {
            Ok(true) if connection.outbox.closing().is_none() => return Ok(()),
            Ok(true) => return Err(End::Close(connection.outbox.closed().await)),
            Ok(false) => return Err(End::Close(connection.hold.lost())),
            Err(error) => {
                tracing::warn!(%error, "can't ask whether a consumer holds its place; trying again");
                tokio::select! {
                    () = tokio::time::sleep(VALID_FOR) => {}
                    code = connection.outbox.closed() => return Err(End::Close(code)),
                }
            }
        }
    }
}

/// Waits until the place of a consumer is lost, while a write to it is stuck.
async fn lost(gateway: &Gateway, connection: &Connection, guard: &mut Guard) -> End {
    loop {
        tokio::time::sleep(VALID_FOR).await;
        if let Err(end) = may_write(gateway, connection, guard).await {
            return end;
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
