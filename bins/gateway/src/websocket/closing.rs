//! The end of a connection, such that the peer sees why.
//!
//! A socket closed while bytes of the peer lie unread is reset by the kernel, and a reset destroys
//! the close frame that is on its way. So every end here goes: close frame, (the peer's answer), end
//! of our direction, read and drop whatever comes until the peer's end, all of it under one deadline.

use std::time::Duration;

use tokio::io::AsyncReadExt;

use super::frame;
use super::message::{Message, ReadError};
use super::{Reader, Writer};

/// The most bytes of the peer that are read and dropped; one that sends more is not worth waiting for.
const MOST_DROPPED: usize = 4 << 20;

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Close frames went both ways and the peer ended the connection.
    Clean,
    /// The peer ended the connection without a close frame, or could not be told one.
    Unclean,
    /// The deadline passed first.
    Late,
}

/// Closes for a reason of ours: sends the close frame and waits for the peer's.
pub async fn begin(
    mut reader: Reader,
    mut writer: Writer,
    code: u16,
    reason: &str,
    deadline: Duration,
) -> Ending {
    let close = frame::close(code, reason);
    within(deadline, async {
        if writer.write(&close).await.is_err() {
            return Ending::Unclean;
        }
        let answered = answered(&mut reader).await;
        end(&mut reader, &mut writer, answered).await
    })
    .await
}

/// Answers the peer's close with the same code.
pub async fn answer(mut reader: Reader, mut writer: Writer, code: Option<u16>, deadline: Duration) -> Ending {
    let close = code.map_or_else(frame::close_without_code, |code| frame::close(code, ""));
    within(deadline, async {
        let told = writer.write(&close).await.is_ok();
        end(&mut reader, &mut writer, told).await
    })
    .await
}

/// Ends a connection that can't be read any more: tells why, if that is of use.
pub async fn refuse(mut reader: Reader, mut writer: Writer, error: &ReadError, deadline: Duration) -> Ending {
    let Some(code) = error.close_code() else { return Ending::Unclean };
    let close = frame::close(code, &reason(error));
    within(deadline, async {
        if writer.write(&close).await.is_ok() {
            end(&mut reader, &mut writer, false).await;
        }
        Ending::Unclean
    })
    .await
}

async fn within(deadline: Duration, ending: impl Future<Output = Ending>) -> Ending {
    tokio::time::timeout(deadline, ending).await.unwrap_or(Ending::Late)
}

/// Reads until the peer's close; false when it can't be had.
async fn answered(reader: &mut Reader) -> bool {
    let mut dropped = 0;
    while dropped < MOST_DROPPED {
        match reader.next().await {
            Ok(Message::Close { .. }) => return true,
            Ok(
                Message::Text(bytes) | Message::Binary(bytes) | Message::Ping(bytes) | Message::Pong(bytes),
            ) => {
                dropped += bytes.len() + 2;
            }
            Err(_) => return false,
        }
    }
    false
}

/// Ends our direction, then drops what comes until the peer ends its own.
async fn end(reader: &mut Reader, writer: &mut Writer, is_clean: bool) -> Ending {
    let ended = writer.shutdown().await.is_ok() && dropped_to_end(reader).await;
    if ended && is_clean { Ending::Clean } else { Ending::Unclean }
}

async fn dropped_to_end(reader: &mut Reader) -> bool {
    let half = reader.bare();
    let mut scratch = vec![0; 8192];
    let mut dropped = 0;
    while dropped < MOST_DROPPED {
        match half.read(&mut scratch).await {
            Ok(0) => return true,
            Ok(read) => dropped += read,
            Err(_) => return false,
        }
    }
    false
}

/// What the peer reads: what it did, not what our socket said.
fn reason(error: &ReadError) -> String {
    match error {
        ReadError::Frame(_) => "bad frame".to_owned(),
        other => other.to_string(),
    }
}
