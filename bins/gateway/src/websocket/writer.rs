//! Writes frames that are built already.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::tcp::OwnedWriteHalf;

/// The most frames that go into one system call.
const SLICES: usize = 64;

/// The writing half of a connection: the one place where its frames are put in order.
#[derive(Debug)]
pub struct Writer {
    half: OwnedWriteHalf,
    /// A frame was begun and not ended, because a write failed or was dropped.
    torn: bool,
}

impl Writer {
    /// Writes to a socket whose handshake is over.
    #[must_use]
    pub const fn new(half: OwnedWriteHalf) -> Self {
        Self { half, torn: false }
    }

    /// Writes one frame built by [`frame`](super::frame).
    ///
    /// # Errors
    ///
    /// As [`write_all_vectored`](Self::write_all_vectored).
    pub async fn write(&mut self, frame: &Bytes) -> io::Result<()> {
        self.write_all_vectored(std::slice::from_ref(frame)).await
    }

    /// Writes a batch of frames, many in one system call, all of each.
    ///
    /// Dropped in the middle (a deadline), a frame may be torn in two; every later write is then
    /// refused, and the connection can only be ended.
    ///
    /// # Errors
    ///
    /// The socket's, and a torn frame before.
    pub async fn write_all_vectored(&mut self, frames: &[Bytes]) -> io::Result<()> {
        if self.torn {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "an earlier frame was torn"));
        }
        let mut rest = Rest { frames, offset: 0 };
        poll_fn(|cx| self.poll_rest(cx, &mut rest)).await
    }

    /// Whether a frame was torn, so that nothing more can be said.
    #[must_use]
    pub const fn is_torn(&self) -> bool {
        self.torn
    }

    /// Ends our direction: the peer reads what was written, then the end.
    pub(super) async fn shutdown(&mut self) -> io::Result<()> {
        self.half.shutdown().await
    }

    fn poll_rest(&mut self, cx: &mut Context<'_>, rest: &mut Rest<'_>) -> Poll<io::Result<()>> {
        loop {
            // Here, not outside of the loop: the slices live on the stack of a poll, not in the future.
            let mut slices = [IoSlice::new(&[]); SLICES];
            let filled = rest.fill(&mut slices);
            if filled == 0 {
                return Poll::Ready(Ok(()));
            }
            let wrote = ready!(Pin::new(&mut self.half).poll_write_vectored(cx, &slices[..filled]))?;
            if wrote == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            rest.advance(wrote);
            self.torn = rest.offset > 0;
        }
    }
}

/// What of a batch is still to be written.
struct Rest<'a> {
    frames: &'a [Bytes],
    /// So much of the first frame is written.
    offset: usize,
}

impl<'a> Rest<'a> {
    /// Fills in slices from the place reached; none when all is written.
    fn fill(&self, slices: &mut [IoSlice<'a>; SLICES]) -> usize {
        let mut skip = self.offset;
        let mut filled = 0;
        for frame in self.frames {
            if filled == SLICES {
                break;
            }
            if frame.len() > skip {
                slices[filled] = IoSlice::new(&frame[skip..]);
                filled += 1;
            }
            skip = 0;
        }
        filled
    }

    fn advance(&mut self, mut wrote: usize) {
        while let Some((first, later)) = self.frames.split_first() {
            let left = first.len() - self.offset;
            if wrote < left {
                self.offset += wrote;
                return;
            }
            wrote -= left;
            self.frames = later;
            self.offset = 0;
        }
    }
}
