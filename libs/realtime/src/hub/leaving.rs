//! Everybody is sent away: to come back, or because this node goes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use protocol::CloseCode;
use tokio::time::{Instant, sleep_until};

use super::Hub;

impl Hub {
    /// Sends every connection away at once, to come back and resume.
    pub fn send_away(&self) {
        *self.sent_away_at.lock() = Some(Instant::now());
        for connection in self.connections.lock().values() {
            connection.outbox.close(CloseCode::NodeDrains);
        }
    }

    /// When everybody was last sent away, to come back and resume; none when that never was.
    pub(crate) fn sent_away_at(&self) -> Option<Instant> {
        *self.sent_away_at.lock()
    }

    /// Sends every connection away, one after the other over `spread`, so that they do not all come to the next
    /// node at once. Who comes from now on is sent on as soon as it is there.
    pub async fn drain(&self, spread: Duration) {
        // First: a connection is either among those below, or sees this.
        self.drains.store(true, Ordering::SeqCst);
        let connections = self.connections();
        let count = u32::try_from(connections.len()).unwrap_or(u32::MAX).max(1);
        tracing::info!(connections = connections.len(), ?spread, "sending connections away");
        let began = Instant::now();
        for (gone, connection) in (0..).zip(connections) {
            // By the beginning, not by the one before: timers are too coarse for many short pauses.
            sleep_until(began + spread * gone / count).await;
            *self.sent_away_at.lock() = Some(Instant::now());
            connection.outbox.close(CloseCode::NodeDrains);
        }
    }
}
