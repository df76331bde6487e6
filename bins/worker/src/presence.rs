//! Removes the presence of connections whose node is gone, and checks how people are noted.
//!
//! Every worker does so for itself, no leader: people whom another is at are skipped, and a change is told by who wrote it.

use std::time::Duration;

use operations::Operations;
use operations::presence::PresenceRules;
use store::StoreError;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::retention::RetentionMetrics;

/// Looks every `cluster.presence_flush_interval` until the token is cancelled; at once again while there is more than one look takes.
pub async fn run(operations: Operations, metrics: RetentionMetrics, stop: CancellationToken) {
    let PresenceRules { flush_interval, ttl, .. } = operations.presence_rules();
    let (mut failing, mut checked_at) = (false, None);
    // Workers that are started together do not look together.
    let mut pause = rand::random_range(Duration::ZERO..=flush_interval);
    while stop.run_until_cancelled(sleep(pause)).await.is_some() {
        pause = rand::random_range(flush_interval * 9 / 10..=flush_interval * 11 / 10);
        match look(&operations, &metrics, ttl * 2, &mut checked_at).await {
            Ok(more) => {
                if failing {
                    tracing::info!("presence is looked after again");
                }
                failing = false;
                if more {
                    pause = Duration::ZERO;
                }
            }
            Err(error) if failing => tracing::debug!(%error, "still can't look after presence"),
            Err(error) => {
                failing = true;
                tracing::warn!(%error, "can't look after presence; trying again");
            }
        }
    }
}

/// True when there may be more to remove.
async fn look(
    operations: &Operations,
    metrics: &RetentionMetrics,
    check_every: Duration,
    checked_at: &mut Option<Instant>,
) -> Result<bool, StoreError> {
    let reaped = operations.reap_presence().await?;
    metrics.removed("presence", reaped.rows);
    if checked_at.is_none_or(|checked| checked.elapsed() >= check_every) {
        *checked_at = check(operations).await?.then(Instant::now);
    }
    Ok(reaped.more)
}

/// Checks everybody. False when nobody was there to be checked, or nothing could be said: both are soon looked at again.
async fn check(operations: &Operations) -> Result<bool, StoreError> {
    let mut after = None;
    let mut any = false;
    loop {
        let checked = operations.check_people(after).await?;
        any |= checked.people > 0;
        after = checked.next;
        if after.is_none() {
            return Ok(any);
        }
    }
}
