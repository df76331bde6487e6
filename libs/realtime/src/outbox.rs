//! The bounded queue between the hub and one connection's socket.
//!
//! Events that do not fit are not queued and not lost: the hub keeps the connection's last seq of
//! the stream, and the outbox asks the writer to catch up from the log once it has drained. Frames
//! that describe only the moment (typing, presence) are dropped when they do not fit. Answers to
//! the client's own frames wait for room, which stops reading from that client.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus::IntGauge;
use protocol::CloseCode;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::encoded::Encoded;

/// Bounds of an outbox.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Frames that may wait.
    pub frames: usize,
    /// Bytes (estimated) that may wait.
    pub bytes: usize,
}

/// What the writer does next.
#[derive(Debug)]
pub enum Next {
    /// Frames were put into the batch: write them.
    Batch,
    /// The queue is empty and streams lag: read the log.
    CatchUp,
    /// Send this close code and end. What was queued is forgotten; a resume brings it back.
    Close(CloseCode),
}

#[derive(Debug, Default)]
struct Inner {
    queue: VecDeque<Arc<Encoded>>,
    bytes: usize,
    lagging: bool,
    /// Nothing is pushed until the writer has drained the queue.
    full: bool,
    /// Since when events are held back, until the connection is level with the log again.
    behind: Option<Behind>,
    close: Option<CloseCode>,
}

/// Since when a connection is behind. Counted as long as there is one, however the connection ends: also while its
/// writer is stuck and notices nothing.
#[derive(Debug)]
struct Behind {
    since: Instant,
    count: IntGauge,
}

impl Behind {
    fn begin(count: &IntGauge) -> Self {
        count.inc();
        Self { since: Instant::now(), count: count.clone() }
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        self.count.dec();
    }
}

/// A connection's queue.
#[derive(Debug)]
pub struct Outbox {
    limits: Limits,
    /// Connections that are behind.
    behind: IntGauge,
    inner: Mutex<Inner>,
    /// The writer waits here for frames.
    filled: Notify,
    /// Answers wait here for room.
    drained: Notify,
    /// A writer that is stuck in a write waits here for the end.
    closed: Notify,
}

impl Outbox {
    /// An empty outbox. `behind` counts it while it is behind.
    #[must_use]
    pub fn new(limits: Limits, behind: IntGauge) -> Self {
        Self {
            limits,
            behind,
            inner: Mutex::default(),
            filled: Notify::new(),
            drained: Notify::new(),
            closed: Notify::new(),
        }
    }

    /// Queues an event. False when it does not fit or the connection closes: the stream lags from now on, and
    /// the connection is behind.
    pub fn push_event(&self, event: &Arc<Encoded>) -> bool {
        let mut inner = self.inner.lock();
        if inner.close.is_some() || inner.full || !self.fits(&inner, event) {
            inner.lagging = true;
            inner.full = true;
            inner.behind.get_or_insert_with(|| Behind::begin(&self.behind));
            return false;
        }
        self.put(&mut inner, event);
        true
    }

    /// Queues a frame that describes only the moment; drops it when it does not fit, and says false.
    pub fn push_ephemeral(&self, frame: &Arc<Encoded>) -> bool {
        let mut inner = self.inner.lock();
        let fits = inner.close.is_none() && !inner.full && self.fits(&inner, frame);
        if fits {
            self.put(&mut inner, frame);
        }
        fits
    }

    /// Queues what the writer itself has found for this connection. It does not ask for room: it is in memory already, and it must
    /// keep its place among what others push.
    pub(crate) fn push_found(&self, frames: &[Arc<Encoded>]) {
        let mut inner = self.inner.lock();
        if inner.close.is_none() {
            for frame in frames {
                self.put(&mut inner, frame);
            }
        }
    }

    /// Queues an answer, waiting for room. False when the connection closes.
    pub async fn reply(&self, frame: &Arc<Encoded>) -> bool {
        loop {
            let drained = self.drained.notified();
            {
                let mut inner = self.inner.lock();
                if inner.close.is_some() {
                    return false;
                }
                if self.fits(&inner, frame) {
                    self.put(&mut inner, frame);
                    return true;
                }
            }
            drained.await;
        }
    }

    /// Tells the writer that streams lag behind what this node has seen.
    pub fn lag(&self) {
        self.inner.lock().lagging = true;
        self.filled.notify_one();
    }

    /// Asks for the connection to be closed. The first code stands.
    pub fn close(&self, code: CloseCode) {
        self.inner.lock().close.get_or_insert(code);
        self.filled.notify_one();
        // A reply that waits for room must learn of it too.
        self.drained.notify_one();
        self.closed.notify_one();
    }

    /// Waits until the connection is to be closed. For one waiter: the writer.
    pub async fn closed(&self) -> CloseCode {
        loop {
            let closed = self.closed.notified();
            if let Some(code) = self.closing() {
                return code;
            }
            closed.await;
        }
    }

    /// The code the connection is closing with, once it is.
    #[must_use]
    pub fn closing(&self) -> Option<CloseCode> {
        self.inner.lock().close
    }

    /// For how long events have been held back because the queue was full; none when it is not behind.
    #[must_use]
    pub fn behind_for(&self) -> Option<Duration> {
        self.inner.lock().behind.as_ref().map(|behind| behind.since.elapsed())
    }

    /// The writer has read the log up to what this node has seen. Nothing happens when more was held
    /// back meanwhile.
    pub fn caught_up(&self) {
        let mut inner = self.inner.lock();
        if !inner.lagging {
            inner.behind = None;
        }
    }

    /// Waits for something to do, and moves at most `max` queued frames into `batch`.
    pub async fn next(&self, batch: &mut Vec<Arc<Encoded>>, max: usize) -> Next {
        loop {
            let filled = self.filled.notified();
            if let Some(next) = self.take(batch, max) {
                return next;
            }
            filled.await;
        }
    }

    /// What [`Self::next`] gives, if there is something now.
    pub(crate) fn take(&self, batch: &mut Vec<Arc<Encoded>>, max: usize) -> Option<Next> {
        let mut inner = self.inner.lock();
        if let Some(code) = inner.close {
            return Some(Next::Close(code));
        }
        if !inner.queue.is_empty() {
            let count = inner.queue.len().min(max);
            batch.extend(inner.queue.drain(..count));
            if inner.queue.is_empty() {
                inner.bytes = 0;
                // An idle connection keeps no buffer.
                inner.queue = VecDeque::new();
            } else {
                let taken: usize = batch[batch.len() - count..].iter().map(|frame| frame.weight()).sum();
                inner.bytes = inner.bytes.saturating_sub(taken);
            }
            drop(inner);
            self.drained.notify_one();
            return Some(Next::Batch);
        }
        if inner.lagging {
            // From here pushes are taken again; those that do not follow on are left to the log by the hub.
            inner.lagging = false;
            inner.full = false;
            return Some(Next::CatchUp);
        }
        None
    }

    #[cfg(test)]
    pub(crate) fn has_frames(&self) -> bool {
        !self.inner.lock().queue.is_empty()
    }

    fn fits(&self, inner: &Inner, frame: &Encoded) -> bool {
        inner.queue.is_empty()
            || (inner.queue.len() < self.limits.frames && inner.bytes + frame.weight() <= self.limits.bytes)
    }

    fn put(&self, inner: &mut Inner, frame: &Arc<Encoded>) {
        inner.bytes += frame.weight();
        inner.queue.push_back(Arc::clone(frame));
        // The writer is only woken for the first: it takes all that is there.
        if inner.queue.len() == 1 {
            self.filled.notify_one();
        }
    }
}
