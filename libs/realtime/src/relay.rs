//! The relay: keeps the hub up with the log.
//!
//! A fixed number of shards, each one task with at most one database read at a time; a stream always
//! belongs to the same shard. A shard sleeps until one of its streams is dirty, takes all that are,
//! and loads what the hub lacks of them in one query. Whatever goes wrong leaves the streams dirty.
//!
//! Three things make a stream dirty: a notification (a hint that may be lost, late or doubled), an event
//! published from memory that does not follow on, and the sweep. The sweep runs every
//! `relay.sweep_interval`, and at once when the listener is back; it compares the heads of all followed
//! streams in one query, and with them what else a lost notification could have said: sign-ins that
//! ended and slots that were taken.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::{AgentId, LogEpoch, NotificationId, RoomId, RunId, UserId};
use parking_lot::Mutex;
use protocol::notify::{Entry, Kind};
use store::{Store, StoreError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::encoded::Path;
use crate::hub::{Dirty, Followed, Held, Hub, SignIns};
use crate::metrics::RealtimeMetrics;

/// Streams of one query.
const STREAMS: usize = 1000;
/// Events of one stream in one query; who has more is loaded again.
const EVENTS: u32 = 500;
/// Ids of one query of the sweep.
const SWEEP: usize = 10_000;

mod boxes;
mod seen;

/// Keeps a hub up with the log.
pub struct Relay {
    hub: Arc<Hub>,
    store: Arc<dyn Store>,
    metrics: RealtimeMetrics,
    sweep_interval: Duration,
    sweep_now: Notify,
    epoch: Mutex<Option<LogEpoch>>,
}

impl Relay {
    /// The relay of a hub.
    #[must_use]
    pub fn new(
        hub: Arc<Hub>,
        store: Arc<dyn Store>,
        sweep_interval: Duration,
        metrics: RealtimeMetrics,
    ) -> Arc<Self> {
        Arc::new(Self {
            hub,
            store,
            metrics,
            sweep_interval,
            sweep_now: Notify::new(),
            epoch: Mutex::new(None),
        })
    }

    /// Runs one shard until the token is cancelled.
    pub async fn run_shard(self: Arc<Self>, index: usize, stop: CancellationToken) {
        let mut trouble = Trouble::default();
        loop {
            tokio::select! {
                () = self.hub.shard_at(index).wake.notified() => {}
                () = stop.cancelled() => return,
            }
            loop {
                let dirty = self.hub.take_dirty(index, STREAMS);
                if dirty.is_empty() {
                    break;
                }
                if let Err(error) = self.load(&dirty).await {
                    self.hub.put_back(index, dirty.iter().map(|(followed, why)| (followed.stream.id, *why)));
                    tracing::warn!(%error, shard = index, streams = dirty.len(), "the relay can't read the log; trying again");
                    if trouble.wait(&stop).await {
                        return;
                    }
                } else {
                    trouble = Trouble::default();
                }
            }
        }
    }

    /// Runs the sweep until the token is cancelled.
    pub async fn run_sweep(self: Arc<Self>, stop: CancellationToken) {
        let mut trouble = Trouble::default();
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.sweep_interval) => {}
                () = self.sweep_now.notified() => {}
                () = stop.cancelled() => return,
            }
            while let Err(error) = self.sweep().await {
                tracing::warn!(%error, "the sweep can't read the log; trying again");
                if trouble.wait(&stop).await {
                    return;
                }
            }
            trouble = Trouble::default();
        }
    }

    /// Asks for a sweep now: the listener is back, and may have missed anything.
    pub fn sweep_soon(&self) {
        self.sweep_now.notify_one();
    }

    /// Acts on one notification of another node.
    pub fn notified(&self, entry: &Entry) {
        let version = entry.version.unwrap_or(0);
        match &entry.kind {
            Kind::Stream => {
                if let Some(stream) = entry.id.one() {
                    self.hub.mark_dirty(stream, version);
                }
            }
            Kind::Typing => {
                if let Some((room, user)) = entry.id.pair() {
                    self.hub.typing(RoomId(room), UserId(user));
                }
            }
            Kind::DeviceSession | Kind::ConsumerSession => {
                if let Some(place) = entry.id.one() {
                    self.hub.fence(place, version);
                }
            }
            Kind::RunUpdated => {
                if let Some(run) = entry.id.one() {
                    self.hub.boxes().touch(RunId(run));
                }
            }
            Kind::AgentPresence => {
                if let Some(agent) = entry.id.one() {
                    self.hub.agents().touch(AgentId(agent));
                }
            }
            Kind::NotificationCreated => {
                if let Some(notification) = entry.id.one() {
                    self.hub.hints().touch(NotificationId(notification));
                }
            }
            Kind::UserPresence => {
                // A connection that begins later reads how everybody is seen.
                if let Some(user) = entry.id.one().filter(|_| self.hub.has_people()) {
                    self.hub.people().touch(UserId(user));
                }
            }
            Kind::SessionRevoked => {
                if let Some(id) = entry.id.one() {
                    self.hub.revoke(id);
                }
            }
            _ => {}
        }
    }

    async fn load(&self, dirty: &[(Followed, Dirty)]) -> Result<(), StoreError> {
        self.metrics.relay_dirty.set(u32::try_from(dirty.len()).unwrap_or(u32::MAX).into());
        let timer = self.metrics.relay_load.start_timer();
        let wanted: Vec<_> = dirty.iter().map(|(followed, _)| (followed.stream, followed.seen)).collect();
        let events = self.store.events_since(&wanted, EVENTS).await?;
        timer.observe_duration();

        let mut loaded: HashMap<Uuid, (u64, u64, u32)> = HashMap::new();
        for event in &events {
            let (_, last, count) = loaded.entry(event.stream.id).or_insert((event.seq, 0, 0));
            *last = event.seq;
            *count += 1;
        }
        // Retention took what this node had not seen yet.
        for (followed, _) in dirty {
            if let Some((first, ..)) = loaded.get(&followed.stream.id)
                && *first > followed.seen + 1
            {
                self.hub.skip_to(followed.stream.id, first - 1);
            }
        }
        for event in events {
            self.hub.publish(event, Path::Remote);
        }
        let mut nothing_there = Vec::new();
        for (followed, why) in dirty {
            let id = followed.stream.id;
            match loaded.get(&id) {
                Some((_, last, count)) => {
                    if why.swept {
                        self.metrics.sweep_recovered.inc_by(u64::from(*count));
                    }
                    if *count >= EVENTS || *last < why.version {
                        self.hub.mark_dirty(id, why.version.max(last + 1));
                    }
                }
                None if why.version > followed.seen => nothing_there.push(id),
                None => {}
            }
        }
        self.skip_trimmed(&nothing_there).await
    }

    /// Streams that are said to have more, of which nothing is kept: either all of it was trimmed, or
    /// the notification spoke of a log that is no more.
    async fn skip_trimmed(&self, streams: &[Uuid]) -> Result<(), StoreError> {
        if streams.is_empty() {
            return Ok(());
        }
        let heads = self.store.heads(streams).await?;
        for (stream, head) in heads.heads {
            self.hub.skip_to(stream, head);
        }
        Ok(())
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        // Taken before the heads are read: what this node has seen then, the log has too, or it went back.
        let followed = self.hub.followed();
        let mut backwards = false;
        let mut epoch = None;
        for part in followed.chunks(SWEEP) {
            let ids: Vec<Uuid> = part.iter().map(|followed| followed.stream.id).collect();
            let heads = self.store.heads(&ids).await?;
            epoch = Some(heads.log_epoch);
            let heads: HashMap<_, _> = heads.heads.into_iter().collect();
            for followed in part {
                match heads.get(&followed.stream.id) {
                    Some(head) if *head < followed.seen => backwards = true,
                    Some(head) if *head > followed.seen => self.hub.mark_swept(followed.stream.id, *head),
                    _ => {}
                }
            }
        }
        let epoch = match epoch {
            Some(epoch) => epoch,
            None => self.store.log_epoch().await?,
        };
        let epoch = if backwards { self.store.renew_log_epoch(epoch).await? } else { epoch };
        let known = self.epoch.lock().replace(epoch);
        if known.is_some_and(|known| known != epoch) {
            tracing::warn!(%epoch, "the log began a new epoch; every connection is sent to resume in it");
            self.hub.send_away();
        }
        self.hub.boxes().touch_all();
        self.hub.agents().touch_all();
        self.hub.people().touch_all();
        self.sweep_sign_ins().await?;
        self.sweep_places().await
    }

    async fn sweep_sign_ins(&self) -> Result<(), StoreError> {
        let SignIns { people, agents } = self.hub.sign_ins();
        for part in people.chunks(SWEEP) {
            for session in self.store.not_live(part).await? {
                self.hub.revoke(session.0);
            }
        }
        for part in agents.chunks(SWEEP) {
            for token in self.store.ended_agent_tokens(part).await? {
                self.hub.revoke(token.0);
            }
        }
        Ok(())
    }

    async fn sweep_places(&self) -> Result<(), StoreError> {
        let Held { devices, consumers } = self.hub.held();
        for part in devices.chunks(SWEEP) {
            let epochs: HashMap<_, _> = self.store.slot_epochs(part).await?.into_iter().collect();
            for device in part {
                // The slot of a device that was removed is gone with it.
                self.hub.fence(device.0, epochs.get(device).copied().unwrap_or(u64::MAX));
            }
        }
        for part in consumers.chunks(SWEEP) {
            for (consumer, epoch) in self.store.consumer_epochs(part).await? {
                self.hub.fence(consumer.0, epoch);
            }
        }
        Ok(())
    }
}

/// Waits longer after each failure, up to two seconds.
#[derive(Default)]
pub(crate) struct Trouble(u32);

impl Trouble {
    /// True when it is time to stop.
    pub(crate) async fn wait(&mut self, stop: &CancellationToken) -> bool {
        let longest = 50_u64 << self.0.min(5);
        self.0 += 1;
        let pause = Duration::from_millis(rand::random_range(longest / 2..=longest));
        tokio::select! {
            () = tokio::time::sleep(pause) => false,
            () = stop.cancelled() => true,
        }
    }
}
