//! Moves on what stands still: runs whose holder was lost, that were not stopped in time or take too long, tool calls past their deadline,
//! agents that count as connected and are not.
//!
//! Every worker looks for itself, no leader: each guard stands in the write, and rows that another worker is at are skipped.

use std::time::Duration;

use operations::Operations;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Looks every `interval` until the token is cancelled; at once again while there is more than one look takes.
pub async fn run(operations: Operations, interval: Duration, stop: CancellationToken) {
    let mut failing = false;
    // Workers that are started together do not look together.
    let mut pause = rand::random_range(Duration::ZERO..=interval);
    while stop.run_until_cancelled(sleep(pause)).await.is_some() {
        pause = rand::random_range(interval * 9 / 10..=interval * 11 / 10);
        match operations.rescue().await {
            Ok(more) => {
                failing = false;
                if more {
                    pause = Duration::ZERO;
                }
            }
            Err(error) if failing => tracing::debug!(%error, "still can't look for runs that stand still"),
            Err(error) => {
                failing = true;
                tracing::warn!(%error, "can't look for runs that stand still; trying again");
            }
        }
    }
}
