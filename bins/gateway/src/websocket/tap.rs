//! The socket as the frame parser sees it: one frame at a time, and only through the [`Gate`].

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::OwnedReadHalf;

use super::header::Gate;
use super::message::{Limits, ReadError};

/// A read half that ends each frame exactly at its last byte, so that the parser never holds a part
/// of the next one and can be dropped, with its buffer, between frames.
#[derive(Debug)]
pub(super) struct Tap {
    half: OwnedReadHalf,
    /// What was read beyond the end of a frame. Without allocation while empty.
    surplus: Bytes,
    gate: Gate,
    refusal: Option<ReadError>,
}

impl Tap {
    pub(super) fn new(half: OwnedReadHalf, surplus: Bytes, limits: Limits) -> Self {
        Self { half, surplus, gate: Gate::new(limits), refusal: None }
    }

    /// Waits for the first bytes of the next frame, without a buffer, and lets that frame in.
    pub(super) async fn next_frame(&mut self) -> Result<(), ReadError> {
        if self.gate.inside_frame() {
            return Err(ReadError::Interrupted);
        }
        if self.surplus.is_empty() {
            self.half.readable().await.map_err(ReadError::Io)?;
        }
        self.gate.next_frame();
        Ok(())
    }

    /// Why the gate refused, once.
    pub(super) fn take_refusal(&mut self) -> Option<ReadError> {
        self.refusal.take()
    }

    /// Whether the frame let in was read to its end.
    pub(super) fn at_end(&self) -> bool {
        self.gate.at_end()
    }

    /// The bare read half; what was read ahead is dropped.
    pub(super) fn bare(&mut self) -> &mut OwnedReadHalf {
        self.surplus = Bytes::new();
        &mut self.half
    }

    fn refuse(&mut self, refusal: ReadError) -> Poll<io::Result<()>> {
        self.refusal = Some(refusal);
        Poll::Ready(Err(io::ErrorKind::InvalidData.into()))
    }
}

impl AsyncRead for Tap {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.surplus.is_empty() {
            let offered = this.surplus.len().min(buf.remaining());
            return match this.gate.pass(&this.surplus[..offered]) {
                Ok(passed) => {
                    buf.put_slice(&this.surplus[..passed]);
                    this.surplus.advance(passed);
                    if this.surplus.is_empty() {
                        this.surplus = Bytes::new();
                    }
                    Poll::Ready(Ok(()))
                }
                Err(refusal) => this.refuse(refusal),
            };
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.half).poll_read(cx, buf))?;
        let fresh = &buf.filled()[before..];
        match this.gate.pass(fresh) {
            Ok(passed) => {
                if passed < fresh.len() {
                    this.surplus = Bytes::copy_from_slice(&fresh[passed..]);
                }
                buf.set_filled(before + passed);
                Poll::Ready(Ok(()))
            }
            Err(refusal) => this.refuse(refusal),
        }
    }
}
