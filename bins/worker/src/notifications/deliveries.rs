//! The loop that pushes.

use std::sync::Arc;
use std::time::Duration;

use domain::{DeviceId, NodeId, UserId};
use push::{Driver, Drivers, PushSettings, VapidKey};
use realtime::PresenceView;
use store::push::{ClaimedDevice, DeviceAfter, FinishedDevice};
use store::{Store, StoreError};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::metrics::NotificationMetrics;
use super::sending::Sender;

/// Notifications of one room that go into one push.
const TOGETHER: u32 = 20;

/// Sends pushes.
pub struct Deliveries {
    /// Which node this is.
    pub node: NodeId,
    /// What is kept.
    pub store: Arc<dyn Store>,
    /// Where people are.
    pub view: Arc<dyn PresenceView>,
    /// Section `push`.
    pub settings: PushSettings,
    /// Counters.
    pub metrics: NotificationMetrics,
    /// There may be something to push.
    pub wake: Arc<Notify>,
}

impl Deliveries {
    /// Sends until told to stop; what is under way then is ended and written down.
    pub async fn run(self, stop: CancellationToken) {
        let Some(driver) = self.driver(&stop).await else { return };
        let sender = Sender::new(driver, self.settings.clone(), self.metrics.clone());
        let mut work =
            Work { deliveries: &self, sender: Arc::new(sender), sending: JoinSet::new(), done: Vec::new() };
        work.run(&stop).await;
        work.drain().await;
    }

    /// The drivers, with the key; `None` when told to stop before it could be read. What is to be pushed waits meanwhile.
    async fn driver(&self, stop: &CancellationToken) -> Option<Arc<dyn Driver>> {
        let mut failing = false;
        loop {
            let opened = match VapidKey::open(&self.settings.vapid_key_dir).await {
                Ok(key) => Drivers::new(&self.settings, Arc::new(key)).map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            match opened {
                Ok(drivers) => return Some(Arc::new(drivers)),
                Err(error) if failing => tracing::debug!(error, "still can't push"),
                Err(error) => tracing::error!(error, "can't push; trying again"),
            }
            failing = true;
            stop.run_until_cancelled(sleep(self.settings.interval)).await?;
        }
    }
}

/// A device that nothing was sent to.
const fn unsent(claim: Uuid, device: DeviceId) -> FinishedDevice {
    FinishedDevice {
        claim,
        device,
        tested: false,
        steps: Vec::new(),
        after: DeviceAfter::Free { result: None },
    }
}

/// What is under way.
struct Work<'a> {
    deliveries: &'a Deliveries,
    sender: Arc<Sender>,
    sending: JoinSet<FinishedDevice>,
    /// Sent, and not yet written down.
    done: Vec<FinishedDevice>,
}

impl Work<'_> {
    async fn run(&mut self, stop: &CancellationToken) {
        let interval = self.deliveries.settings.interval;
        let mut failing = false;
        while !stop.is_cancelled() {
            let next = match self.round().await {
                Ok(next) => {
                    failing = false;
                    next.map_or(interval, |next| next.min(interval))
                }
                Err(error) => {
                    if failing {
                        tracing::debug!(%error, "still can't work on pushes");
                    } else {
                        tracing::warn!(%error, "can't work on pushes; trying again");
                    }
                    failing = true;
                    let pause = rand::random_range(Duration::from_millis(100)..Duration::from_millis(500));
                    stop.run_until_cancelled(sleep(pause)).await;
                    continue;
                }
            };
            let next = Instant::now() + next;
            tokio::select! {
                () = stop.cancelled() => {}
                Some(sent) = self.sending.join_next(), if !self.sending.is_empty() => self.done.extend(sent),
                () = self.deliveries.wake.notified() => {}
                () = sleep_until(next) => {}
            }
        }
    }

    /// Writes down what is done and claims what there is room for; how long until more is due, none when that is when a send ends.
    async fn round(&mut self) -> Result<Option<Duration>, StoreError> {
        while let Some(sent) = self.sending.try_join_next() {
            self.done.extend(sent);
        }
        self.write_down().await?;
        loop {
            let room = self.deliveries.settings.concurrency.saturating_sub(self.sending.len());
            if room == 0 {
                return Ok(None);
            }
            let claim = Uuid::now_v7();
            let (store, lease) = (&self.deliveries.store, self.deliveries.settings.lease);
            let room = u32::try_from(room).unwrap_or(u32::MAX);
            let claimed = store.claim_pushes(claim, lease, room, TOGETHER).await?;
            if claimed.is_empty() {
                return store.next_push().await;
            }
            self.start(claim, claimed).await?;
        }
    }

    async fn start(&mut self, claim: Uuid, claimed: Vec<ClaimedDevice>) -> Result<(), StoreError> {
        let person =
            |device: &ClaimedDevice| device.waiting.first().map(|(notification, _)| notification.user);
        let mut people: Vec<UserId> = claimed.iter().filter_map(person).collect();
        people.sort_unstable();
        people.dedup();
        let seen = match self.deliveries.view.of(&people).await {
            Ok(seen) => seen,
            Err(error) => {
                // Given back, rather than held until the lease is over.
                self.done.extend(claimed.iter().map(|device| unsent(claim, device.device)));
                return Err(error);
            }
        };
        for device in claimed {
            let live = person(&device).and_then(|user| seen.people.get(&user)).cloned().unwrap_or_default();
            let sender = Arc::clone(&self.sender);
            self.sending.spawn(async move { sender.send(claim, device, &live).await });
        }
        Ok(())
    }

    async fn write_down(&mut self) -> Result<(), StoreError> {
        if !self.done.is_empty() {
            self.deliveries.store.finish_pushes(self.deliveries.node, &self.done).await?;
            self.done.clear();
        }
        Ok(())
    }

    /// Ends what is under way, for as long as one send may take.
    async fn drain(&mut self) {
        let deadline = Instant::now() + self.deliveries.settings.timeout;
        while let Ok(Some(sent)) = timeout_at(deadline, self.sending.join_next()).await {
            self.done.extend(sent);
        }
        if let Err(error) = self.write_down().await {
            tracing::warn!(%error, pushes = self.done.len(), "pushes that were sent could not be written down; they may be sent again");
        }
    }
}
