//! One direction of one connection.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::Behaviour;

const CHUNK: usize = 16 * 1024;
/// How much may be on its way. Without latency little, so that a slow reader is felt by the writer.
const ON_ITS_WAY: usize = CHUNK;
const ON_ITS_WAY_LATE: usize = 1024 * 1024;

/// Bytes that were read, and when they are due.
struct Late {
    due: Instant,
    bytes: VecDeque<u8>,
}

/// Passes bytes until the end of the stream, and then the end.
pub(super) async fn pump(
    from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    mut behaviour: watch::Receiver<Behaviour>,
) -> io::Result<()> {
    let mut late: VecDeque<Late> = VecDeque::new();
    let mut on_its_way = 0;
    let mut ended = false;
    let mut not_before = Instant::now();
    let mut buffer = vec![0; CHUNK];
    loop {
        let now = behaviour.borrow_and_update().clone();
        let due = late.front().map(|first| first.due.max(not_before));
        if ended && late.is_empty() && !now.stalled {
            return to.shutdown().await;
        }
        let room = if now.latency.is_zero() { ON_ITS_WAY } else { ON_ITS_WAY_LATE };
        let is_due = due.is_some_and(|due| due <= Instant::now());
        tokio::select! {
            // An order comes before a byte, or one more would pass after a stall.
            biased;
            changed = behaviour.changed() => {
                if changed.is_err() {
                    return Err(io::ErrorKind::ConnectionReset.into());
                }
            }
            readable = from.readable(), if !now.stalled && !ended && on_its_way < room => {
                readable?;
                let Some(read) = ready(from.try_read(&mut buffer))? else { continue };
                ended = read == 0;
                if read > 0 {
                    on_its_way += read;
                    let bytes = buffer[..read].iter().copied().collect();
                    late.push_back(Late { due: Instant::now() + now.latency, bytes });
                }
            }
            () = sleep_until(due.unwrap_or(not_before)), if !now.stalled && due.is_some() && !is_due => {}
            writable = to.writable(), if !now.stalled && is_due => {
                writable?;
                let Some(first) = late.front_mut() else { continue };
                let (bytes, _) = first.bytes.as_slices();
                let allowed = now.bytes_per_second.map_or(CHUNK, |rate| at_once(rate.get()));
                let Some(written) = ready(to.try_write(&bytes[..bytes.len().min(allowed)]))? else { continue };
                first.bytes.drain(..written);
                on_its_way -= written;
                if first.bytes.is_empty() {
                    late.pop_front();
                }
                if let Some(rate) = now.bytes_per_second {
                    let micros = u64::try_from(written).unwrap_or(u64::MAX).saturating_mul(1_000_000) / rate;
                    not_before = Instant::now() + Duration::from_micros(micros);
                }
            }
        }
    }
}

/// `None` when the kernel was mistaken about being ready.
fn ready(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        other => other.map(Some),
    }
}

/// How much is written at a time, so that it comes as a trickle and not in bursts.
fn at_once(bytes_per_second: u64) -> usize {
    usize::try_from(bytes_per_second / 50).unwrap_or(CHUNK).clamp(1, CHUNK)
}
