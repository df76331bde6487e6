//! The loop that pushes.

use std::sync::Arc;
use std::time::Duration;

use domain::{DeviceId, NodeId, UserId};
use push::{Driver, Drivers, PushSettings, VapidKey};
use realtime::PresenceView;
use store::push::{ClaimedDevice, DeviceAfter, FinishedDevice};
use store::{Store, StoreError};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
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
        let (done, finished) = mpsc::unbounded_channel();
        let work = Work {
            deliveries: &self,
            sender: Arc::new(Sender::new(driver, self.settings.clone(), self.metrics.clone())),
            room: Arc::new(Semaphore::new(self.settings.concurrency)),
            done,
        };
        // Beside each other: what was sent is written down at once, whatever else is looked for.
        tokio::join!(work.run(&stop), self.write_down(finished, &stop));
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

    /// Writes down what becomes of pushes, until nothing more is sent.
    async fn write_down(&self, mut finished: mpsc::UnboundedReceiver<Done>, stop: &CancellationToken) {
        let mut batch = Vec::new();
        while finished.recv_many(&mut batch, self.settings.concurrency).await > 0 {
            let (devices, places): (Vec<FinishedDevice>, Vec<_>) = batch.drain(..).unzip();
            let mut failing = false;
            // Repeating changes nothing that was written: the claims are over with it.
            while let Err(error) = self.store.finish_pushes(self.node, &devices).await {
                if !failing {
                    tracing::warn!(%error, pushes = devices.len(), "can't write down what was pushed; trying again");
                }
                failing = true;
                if stop.is_cancelled() {
                    tracing::warn!("pushes that were sent are not written down; they may be sent again");
                    break;
                }
                sleep(rand::random_range(Duration::from_millis(100)..Duration::from_millis(500))).await;
            }
            drop(places);
            self.wake.notify_one();
        }
    }
}

/// A device that is done with, and its place among those that are sent to at one time.
type Done = (FinishedDevice, Option<OwnedSemaphorePermit>);

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

/// Claims and sends.
struct Work<'a> {
    deliveries: &'a Deliveries,
    sender: Arc<Sender>,
    /// Bounds what is sent and not written down yet, and so the channel.
    room: Arc<Semaphore>,
    done: mpsc::UnboundedSender<Done>,
}

impl Work<'_> {
    /// Works until told to stop, then waits for what is under way as long as one push may take.
    async fn run(self, stop: &CancellationToken) {
        let interval = self.deliveries.settings.interval;
        let mut sending = JoinSet::new();
        let mut failing = false;
        while !stop.is_cancelled() {
            let pause = match self.claim(&mut sending).await {
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
                    rand::random_range(Duration::from_millis(100)..Duration::from_millis(500))
                }
            };
            while sending.try_join_next().is_some() {}
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.deliveries.wake.notified() => {}
                () = sleep(pause) => {}
            }
        }
        let ended = async { while sending.join_next().await.is_some() {} };
        // What takes longer is aborted: its lease ends, and another sends it.
        drop(timeout(self.deliveries.settings.timeout, ended).await);
    }

    /// Claims what there is room for and begins to send; how long until more is due, none when that is when something is written down.
    async fn claim(&self, sending: &mut JoinSet<()>) -> Result<Option<Duration>, StoreError> {
        let settings = &self.deliveries.settings;
        loop {
            let room = u32::try_from(self.room.available_permits()).unwrap_or(u32::MAX);
            if room == 0 {
                return Ok(None);
            }
            let claim = Uuid::now_v7();
            // From before the lease began, by a clock that goes on while this process is stopped.
            let until = Instant::now() + settings.lease * 2 / 3;
            let claimed = self.deliveries.store.claim_pushes(claim, settings.lease, room, TOGETHER).await?;
            if claimed.is_empty() {
                return self.deliveries.store.next_push().await;
            }
            self.start(claim, claimed, until, sending).await?;
        }
    }

    async fn start(
        &self,
        claim: Uuid,
        claimed: Vec<ClaimedDevice>,
        until: Instant,
        sending: &mut JoinSet<()>,
    ) -> Result<(), StoreError> {
        let person =
            |device: &ClaimedDevice| device.waiting.first().map(|(notification, _)| notification.user);
        let mut people: Vec<UserId> = claimed.iter().filter_map(person).collect();
        people.sort_unstable();
        people.dedup();
        let seen = match self.deliveries.view.of(&people).await {
            Ok(seen) => seen,
            Err(error) => {
                // Given back, rather than held until the lease is over.
                for device in &claimed {
                    drop(self.done.send((unsent(claim, device.device), None)));
                }
                return Err(error);
            }
        };
        for device in claimed {
            let live = person(&device).and_then(|user| seen.people.get(&user)).cloned().unwrap_or_default();
            let (sender, done) = (Arc::clone(&self.sender), self.done.clone());
            // Only this loop takes places, so there is one.
            let place = Arc::clone(&self.room).try_acquire_owned().ok();
            sending.spawn(async move {
                let finished = sender.send(claim, device, &live, until).await;
                drop(done.send((finished, place)));
            });
        }
        Ok(())
    }
}
