//! Works on tasks: makes ready what is due, claims, does, records.
//!
//! Every worker does all of it, nobody leads: what one claims is claimed in the statement that does it. A worker has a [`lease`], one row
//! however many runs it has; when that can't be renewed, everything the worker is at is stopped before others may take it. A run is done
//! by [`actions`], and what comes after it is said by [`outcome`]. Runs of workers that are gone are taken up by [`lost`].
//!
//! ```text
//!   sleep until the next is due, a run ends, or somebody wakes us (task.due)
//!     -> record what is over + claim what there is room for   one transaction
//!     -> make ready what is due; claim again if that was any
//! ```
//!
//! | failure | then |
//! |---|---|
//! | this process dies, is paused or cut off | its lease is over: the runs are lost, and tried again elsewhere |
//! | the answer of a claim is lost | what the database says is ours and we do not know is handed back |
//! | the answer of a record is lost | it is recorded again; what was recorded is no longer ours and changes nothing |
//! | the database does not answer | nothing changes; tried again until the lease is over |
//! | a notification is lost | the next look is no later than `scheduler.interval` |
//! | the clock of this machine is wrong | nothing: times are the database's, pauses are measured |

mod actions;
mod floor;
mod lease;
pub mod lost;
mod metrics;
mod outcome;
mod work;

use std::sync::Arc;
use std::time::Duration;

use domain::NodeId;
use node::SchedulerSettings;
use operations::Operations;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

pub use actions::{Actions, SystemJobs};
pub use metrics::SchedulerMetrics;
pub use outcome::Rules;

use lease::Lease;
use work::Tenure;

/// The loop of one worker.
pub struct Scheduler {
    /// Which node this is.
    pub node: NodeId,
    /// The product.
    pub operations: Operations,
    /// What runs do.
    pub actions: Arc<Actions>,
    /// Section `scheduler`.
    pub settings: SchedulerSettings,
    /// Counters.
    pub metrics: SchedulerMetrics,
}

impl Scheduler {
    /// Works until told to stop, then ends what it can within `scheduler.drain` and hands the rest back.
    pub async fn run(self, stop: CancellationToken) {
        // Workers that are started together do not look together.
        let jitter = rand::random_range(Duration::ZERO..=self.settings.startup_jitter);
        if stop.run_until_cancelled(sleep(jitter)).await.is_none() {
            return;
        }
        while let Some(lease) = self.begin(&stop).await {
            let mut tenure = Tenure::new(&self, &lease);
            tenure.work(&stop).await;
            if stop.is_cancelled() {
                tenure.drain().await;
                return;
            }
            tracing::warn!(session = %lease.session(), "the lease on runs of tasks is over; what was under way is left to others");
        }
    }

    /// A lease of our own; `None` when told to stop before there was one.
    async fn begin(&self, stop: &CancellationToken) -> Option<Lease> {
        let mut failing = false;
        loop {
            let store = Arc::clone(self.operations.store());
            match stop.run_until_cancelled(Lease::begin(store, self.node, self.settings.lease)).await? {
                Ok(lease) => return Some(lease),
                Err(error) if failing => tracing::debug!(%error, "still no lease on runs of tasks"),
                Err(error) => {
                    failing = true;
                    tracing::warn!(%error, "no lease on runs of tasks; trying again");
                }
            }
            let pause = rand::random_range(Duration::from_millis(200)..Duration::from_secs(1));
            stop.run_until_cancelled(sleep(pause)).await?;
        }
    }
}
