//! Somebody who is measured: two nodes, senders at the first, receivers at the second.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::Failure;
use crate::usage::Counted;
use crate::wire::{Reader, Writer};

/// What comes before the time in the body of a message.
const MARK: &[u8] = b"due:";

/// Somebody who is measured.
pub(crate) trait Arm {
    /// Opens senders and receivers of what they send.
    fn stage(
        &mut self,
        senders: usize,
        receivers: usize,
    ) -> impl Future<Output = Result<Stage, Failure>> + Send;

    /// Whose processor time counts.
    fn processes(&self) -> &[Counted];
}

/// A connection that sends.
pub(crate) struct Sender {
    pub(crate) writer: Writer,
    /// Makes a frame of a body.
    pub(crate) frame: Arc<dyn Fn(&str) -> String + Send + Sync>,
}

impl Sender {
    /// Sends a message that was due then, in microseconds of a clock that the receivers have too.
    pub(super) async fn send(&self, due: u64) -> Result<(), Failure> {
        self.writer.text(&(self.frame)(&body(due))).await
    }
}

/// A message of about the usual length.
fn body(due: u64) -> String {
    format!("due:{due:012} a message of the usual length")
}

/// When what is in a message was due; none when it is something else.
pub(super) fn due(message: &[u8]) -> Option<u64> {
    let at = message.windows(MARK.len()).position(|four| four == MARK)? + MARK.len();
    let digits = message.get(at..at + 12)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Senders and receivers of one room; all leave when it is dropped.
pub(crate) struct Stage {
    pub(super) senders: Vec<Sender>,
    pub(super) receivers: Vec<Reader>,
    attended: Vec<JoinHandle<()>>,
}

impl Stage {
    /// `idle` are the reading halves of the senders; `beat` is what keeps a connection alive that sends it now and then.
    pub(crate) fn new(
        senders: Vec<Sender>,
        receivers: Vec<(Reader, Writer)>,
        idle: Vec<Reader>,
        beat: Option<(String, Duration)>,
    ) -> Self {
        let mut attended: Vec<JoinHandle<()>> = Vec::new();
        for mut reader in idle {
            attended.push(tokio::spawn(async move {
                if let Err(error) = reader.find(|_| None::<()>).await {
                    eprintln!("perf: a sender's connection ended: {error}");
                }
            }));
        }
        if let Some((beat, every)) = beat {
            let sending = senders.iter().map(|sender| sender.writer.clone());
            let all: Vec<Writer> =
                sending.chain(receivers.iter().map(|(_, writer)| writer.clone())).collect();
            attended.push(tokio::spawn(async move {
                loop {
                    tokio::time::sleep(every).await;
                    for writer in &all {
                        if let Err(error) = writer.text(&beat).await {
                            return eprintln!("perf: a connection ended: {error}");
                        }
                    }
                }
            }));
        }
        let receivers = receivers.into_iter().map(|(reader, _)| reader).collect();
        Self { senders, receivers, attended }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for task in &self.attended {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_in_a_message_is_found_in_whatever_frame() {
        let body = body(1_234_567);
        for frame in [body.clone(), format!("42[\"message\",\"{body}\"]"), format!("{{\"body\":\"{body}\"}}")]
        {
            assert_eq!(due(frame.as_bytes()), Some(1_234_567), "{frame}");
        }
        for other in ["", "{\"op\":\"live\"}", "due:", "due:12", "due:no number at all"] {
            assert_eq!(due(other.as_bytes()), None, "{other}");
        }
    }
}
