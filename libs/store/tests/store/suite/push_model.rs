//! Anything in any order by several workers: what is claimed, what counts and what waits is what a small model says.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::notification::Reason;
use domain::{AuthSessionId, DeviceId, EventId, NotificationId, RoomId};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use store::notifications::ReadWhat;
use store::push::{Decided, DeviceAfter, FinishedDevice, Outcome, PushAddress, Undecided};
use uuid::Uuid;

use super::notice_scene::{Told, address, became, mentioning, notification_of, waiting};
use super::people::HOUR;
use super::world::{World, message};

const WORKERS: usize = 3;
const DEVICES: usize = 3;

#[derive(Debug, Clone)]
enum Op {
    Say { room: usize },
    Read { nth: usize },
    Delete { nth: usize },
    Take { worker: usize, lost: bool },
    Decide { worker: usize, outcomes: Vec<Outcome> },
    Release,
    Claim { worker: usize, lost: bool },
    Finish { worker: usize, ends: Vec<End> },
    Subscribe { device: usize, again: bool },
    Unsubscribe { device: usize },
    Test { device: usize },
}

#[derive(Debug, Clone, Copy)]
enum End {
    Sent,
    Nothing,
    RestsLong,
    RestsBriefly,
    Gone,
}

fn op() -> impl Strategy<Value = Op> {
    let (worker, device, nth, lost) = (0..WORKERS, 0..DEVICES, 0..8_usize, prop::bool::weighted(0.3));
    let outcome = prop::sample::select(vec![
        Outcome::Over(Reason::Read),
        Outcome::Waits(Reason::Gateway, HOUR),
        Outcome::Waits(Reason::PushDelayed, Duration::ZERO),
        Outcome::WaitsOn,
        Outcome::Later(Duration::ZERO),
        Outcome::Push(Reason::PushIdle),
        Outcome::Push(Reason::PushOffline),
    ]);
    let end = prop::sample::select(vec![
        End::Sent,
        End::Sent,
        End::Nothing,
        End::RestsLong,
        End::RestsBriefly,
        End::Gone,
    ]);
    prop_oneof![
        6 => (0..2_usize).prop_map(|room| Op::Say { room }),
        1 => nth.clone().prop_map(|nth| Op::Read { nth }),
        1 => nth.prop_map(|nth| Op::Delete { nth }),
        4 => (worker.clone(), lost).prop_map(|(worker, lost)| Op::Take { worker, lost }),
        6 => (worker.clone(), prop::collection::vec(outcome, 1..4))
            .prop_map(|(worker, outcomes)| Op::Decide { worker, outcomes }),
        2 => Just(Op::Release),
        4 => (worker.clone(), lost).prop_map(|(worker, lost)| Op::Claim { worker, lost }),
        6 => (worker, prop::collection::vec(end, 1..4)).prop_map(|(worker, ends)| Op::Finish { worker, ends }),
        3 => (device.clone(), any::<bool>()).prop_map(|(device, again)| Op::Subscribe { device, again }),
        1 => device.clone().prop_map(|device| Op::Unsubscribe { device }),
        2 => device.prop_map(|device| Op::Test { device }),
    ]
}

/// A notification that is to be decided.
#[derive(Debug, Clone, Copy, Default)]
struct Queued {
    /// Whoever looks gets it.
    due: bool,
    /// Its push waits; is that over?
    waits: Option<bool>,
    holder: Option<Uuid>,
}

/// A subscription.
#[derive(Debug, Clone)]
struct Subscribed {
    address: PushAddress,
    due: bool,
    rests: bool,
    holder: Option<Uuid>,
    /// A push to try it is asked for; after the last claim?
    test: Option<bool>,
}

impl Subscribed {
    /// Something is to be sent.
    const fn wake(&mut self) {
        if self.holder.is_none() && !self.rests {
            self.due = true;
        }
    }
}

/// What a worker believes to have of a device: its claim, what waits, and whether it is to be tried.
type Claimed = (Uuid, DeviceId, Vec<NotificationId>, bool);

struct Model {
    told: Told,
    rooms: [RoomId; 2],
    said: Vec<(EventId, NotificationId, RoomId)>,
    unread: BTreeMap<NotificationId, RoomId>,
    queue: BTreeMap<NotificationId, Queued>,
    devices: Vec<DeviceId>,
    subscribed: BTreeMap<DeviceId, Subscribed>,
    owed: BTreeSet<(DeviceId, NotificationId)>,
    /// What each worker believes to have.
    taken: [Vec<(Uuid, Undecided)>; WORKERS],
    claimed: [Vec<Claimed>; WORKERS],
}

pub(crate) async fn what_is_claimed_is_what_must_be_after_each_step(world: World) {
    let runtime = tokio::runtime::Handle::current();
    let mut runner = TestRunner::new(Config { cases: 100, failure_persistence: None, ..Config::default() });
    let outcome = tokio::task::block_in_place(|| {
        runner.run(&prop::collection::vec(op(), 1..60), |ops| {
            runtime.block_on(async {
                let mut model = Model::new(&world).await;
                for op in ops {
                    model.step(op).await;
                }
                model.end().await;
            });
            Ok(())
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

impl Model {
    async fn new(world: &World) -> Self {
        let told = Told::new(world.clone()).await;
        // What the case before has left.
        told.store.trim_notifications(Duration::ZERO, 10_000).await.expect("trimmed");
        let claim = Uuid::now_v7();
        for claimed in told.claim(claim).await {
            let (steps, after) = (Vec::new(), DeviceAfter::Gone);
            told.finish(&[FinishedDevice { claim, device: claimed.device, tested: false, steps, after }])
                .await;
        }
        let rooms = [told.room, told.group(&[told.alex, told.sam]).await];
        let mut devices = Vec::new();
        for _ in 0..DEVICES {
            devices.push(told.device(told.sam).await);
        }
        let (queue, subscribed, unread) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (taken, claimed) = (Default::default(), Default::default());
        Self {
            told,
            rooms,
            said: Vec::new(),
            unread,
            queue,
            devices,
            subscribed,
            owed: BTreeSet::new(),
            taken,
            claimed,
        }
    }

    async fn step(&mut self, op: Op) {
        match op {
            Op::Say { room } => self.say(self.rooms[room]).await,
            Op::Read { nth } => self.read(nth).await,
            Op::Delete { nth } => self.delete(nth).await,
            Op::Take { worker, lost } => self.take(worker, lost).await,
            Op::Decide { worker, outcomes } => self.decide(worker, &outcomes).await,
            Op::Release => self.release().await,
            Op::Claim { worker, lost } => self.claim(worker, lost).await,
            Op::Finish { worker, ends } => self.finish(worker, &ends).await,
            Op::Subscribe { device, again } => self.subscribe(self.devices[device], again).await,
            Op::Unsubscribe { device } => {
                let device = self.devices[device];
                self.told.store.unsubscribe(self.told.sam, device).await.expect("forgotten");
                self.forget(device);
            }
            Op::Test { device } => self.test(self.devices[device]).await,
        }
        let unread = self.told.unread(self.told.sam).await;
        assert_eq!(unread.total, self.unread.len() as u64);
        for (room, count) in unread.rooms {
            assert_eq!(count, self.unread.values().filter(|of| **of == room).count() as u64);
        }
    }

    async fn say(&mut self, room: RoomId) {
        let said = mentioning(message(room, self.told.alex, "look"), &[self.told.sam]);
        let appended = self.told.append(said.clone()).await.expect("good");
        let id = notification_of(&appended.notified[0]);
        self.said.push((said.id, id, room));
        self.unread.insert(id, room);
        self.queue.insert(id, Queued { due: true, ..Queued::default() });
    }

    async fn read(&mut self, nth: usize) {
        let Some((_, id, _)) = self.said.get(nth) else { return };
        let told = self.told.read(self.told.sam, &ReadWhat::Ids(vec![*id])).await;
        assert_eq!(told.is_some(), self.unread.remove(id).is_some());
    }

    async fn delete(&mut self, nth: usize) {
        let Some((message, id, room)) = self.said.get(nth) else { return };
        self.told.store.delete_message(self.told.alex.into(), *room, *message).await.expect("deleted");
        self.unread.remove(id);
    }

    async fn take(&mut self, worker: usize, lost: bool) {
        let (claim, lease) = (Uuid::now_v7(), if lost { Duration::ZERO } else { HOUR });
        let taken = self.told.store.claim_undecided(claim, lease, 1000).await.expect("a claim");
        let expected: Vec<NotificationId> =
            self.queue.iter().filter(|(_, queued)| queued.due).map(|(id, _)| *id).collect();
        assert_eq!(taken.iter().map(|one| one.notification.id).collect::<Vec<_>>(), expected);
        for one in taken {
            let queued = self.queue.get_mut(&one.notification.id).expect("queued");
            assert_eq!((one.waited, one.delay_over), (queued.waits.is_some(), queued.waits == Some(true)));
            (queued.holder, queued.due) = (Some(claim), lost);
            self.taken[worker].push((claim, one));
        }
    }

    async fn decide(&mut self, worker: usize, outcomes: &[Outcome]) {
        let count = outcomes.len().min(self.taken[worker].len());
        let some: Vec<_> = self.taken[worker].drain(..count).collect();
        for ((claim, one), outcome) in some.into_iter().zip(outcomes) {
            let id = one.notification.id;
            let held = self.queue.get(&id).is_some_and(|queued| queued.holder == Some(claim));
            let decided = Decided { notification: id, waited: one.waited, outcome: *outcome };
            let counted = self.told.decide(claim, &[decided]).await;
            assert_eq!(counted, if held { vec![id] } else { vec![] });
            if held {
                self.decided(id, *outcome);
            }
        }
    }

    fn decided(&mut self, id: NotificationId, outcome: Outcome) {
        let queued = self.queue.get_mut(&id).expect("queued");
        queued.holder = None;
        match outcome {
            Outcome::Waits(_, delay) => (queued.waits, queued.due) = (Some(delay.is_zero()), delay.is_zero()),
            Outcome::WaitsOn => queued.due = queued.waits.unwrap_or(true),
            Outcome::Later(_) => queued.due = true,
            Outcome::Over(_) => drop(self.queue.remove(&id)),
            Outcome::Push(_) => {
                self.queue.remove(&id);
                for (device, subscribed) in &mut self.subscribed {
                    self.owed.insert((*device, id));
                    subscribed.wake();
                }
            }
        }
    }

    async fn release(&mut self) {
        let mut released = 0;
        for queued in self.queue.values_mut() {
            if !queued.due && (queued.waits.is_some() || queued.holder.is_some()) {
                (queued.due, queued.holder) = (true, None);
                released += 1;
            }
        }
        assert_eq!(self.told.store.release(&[self.told.sam]).await.expect("released"), released);
    }

    /// What waits for a device of the room that waits longest.
    fn together(&self, device: DeviceId) -> Vec<NotificationId> {
        let room = |id| self.said.iter().find(|(_, other, _)| *other == id).map(|(_, _, room)| *room);
        let of: Vec<_> = self.owed.iter().filter(|(other, _)| *other == device).map(|(_, id)| *id).collect();
        let first = of.first().and_then(|id| room(*id));
        of.into_iter().filter(|id| room(*id) == first).collect()
    }

    async fn claim(&mut self, worker: usize, lost: bool) {
        let (claim, lease) = (Uuid::now_v7(), if lost { Duration::ZERO } else { HOUR });
        let claimed = self.told.store.claim_pushes(claim, lease, 100, 100).await.expect("a claim");
        let due = self.subscribed.iter().filter(|(_, subscribed)| subscribed.due);
        let expected: Vec<DeviceId> = due.map(|(device, _)| *device).collect();
        assert_eq!(claimed.iter().map(|device| device.device).collect::<Vec<_>>(), expected);
        for device in claimed {
            let ids = waiting(&device);
            assert_eq!((&ids, device.unread), (&self.together(device.device), self.unread.len() as u64));
            let subscribed = self.subscribed.get_mut(&device.device).expect("a subscription");
            assert_eq!(
                (device.is_test, device.address == subscribed.address),
                (subscribed.test.is_some(), true)
            );
            (subscribed.holder, subscribed.due) = (Some(claim), lost);
            subscribed.test = subscribed.test.map(|_| false);
            self.claimed[worker].push((claim, device.device, ids, device.is_test));
        }
    }

    async fn finish(&mut self, worker: usize, ends: &[End]) {
        let count = ends.len().min(self.claimed[worker].len());
        let some: Vec<_> = self.claimed[worker].drain(..count).collect();
        for ((claim, device, ids, tested), end) in some.into_iter().zip(ends) {
            let steps = |step, is_over| ids.iter().map(|id| became(*id, step, is_over)).collect();
            let result = "503".to_owned();
            let (steps, after) = match end {
                End::Sent => (steps("sent", true), DeviceAfter::Free { result: Some("201".into()) }),
                End::Nothing => (Vec::new(), DeviceAfter::Free { result: None }),
                End::RestsLong => (steps("retried", false), DeviceAfter::Rests { pause: HOUR, result }),
                End::RestsBriefly => {
                    (steps("retried", false), DeviceAfter::Rests { pause: Duration::ZERO, result })
                }
                End::Gone => (Vec::new(), DeviceAfter::Gone),
            };
            let tested = tested && !matches!(end, End::Nothing);
            let finished = FinishedDevice { claim, device, tested, steps, after };
            let held = self.subscribed.get(&device).is_some_and(|known| known.holder == Some(claim));
            assert_eq!(self.told.finish(&[finished]).await, if held { vec![device] } else { vec![] });
            if held {
                self.finished(device, &ids, tested, *end);
            }
        }
    }

    fn finished(&mut self, device: DeviceId, ids: &[NotificationId], tested: bool, end: End) {
        match end {
            End::Gone => return self.forget(device),
            End::Sent => self.owed.retain(|(other, id)| *other != device || !ids.contains(id)),
            End::Nothing | End::RestsLong | End::RestsBriefly => {}
        }
        let waits = self.owed.iter().any(|(other, _)| *other == device);
        let subscribed = self.subscribed.get_mut(&device).expect("a subscription");
        subscribed.holder = None;
        subscribed.test = subscribed.test.filter(|later| *later || !tested);
        subscribed.rests = matches!(end, End::RestsLong);
        subscribed.due = !subscribed.rests && (waits || subscribed.test.is_some());
    }

    fn forget(&mut self, device: DeviceId) {
        self.subscribed.remove(&device);
        self.owed.retain(|(other, _)| *other != device);
    }

    async fn subscribe(&mut self, device: DeviceId, again: bool) {
        let known = self.subscribed.get(&device).map(|known| known.address.clone());
        let address = known.filter(|_| again).unwrap_or_else(address);
        self.told
            .store
            .subscribe(self.told.sam, AuthSessionId::new(), device, &address)
            .await
            .expect("subscribed");
        let waits = self.owed.iter().any(|(other, _)| *other == device);
        match self.subscribed.get_mut(&device) {
            None => {
                let fresh = Subscribed { address, due: false, rests: false, holder: None, test: None };
                self.subscribed.insert(device, fresh);
            }
            Some(known) if known.address == address => {}
            Some(known) => {
                let due = known.due || known.holder.is_some() || waits || known.test.is_some();
                *known = Subscribed { address, due, rests: false, holder: None, test: known.test };
            }
        }
    }

    async fn test(&mut self, device: DeviceId) {
        let asked = self.told.store.request_test(self.told.sam, device).await;
        assert_eq!(asked.is_ok(), self.subscribed.contains_key(&device));
        if let Some(subscribed) = self.subscribed.get_mut(&device) {
            subscribed.test = Some(true);
            subscribed.wake();
        }
    }

    /// What each device is owed comes to it, once everybody has let go and nothing rests.
    async fn end(&mut self) {
        for device in self.devices.clone() {
            if self.subscribed.contains_key(&device) {
                self.subscribe(device, false).await;
            }
        }
        while self.subscribed.values().any(|subscribed| subscribed.due) {
            self.claimed[0].clear();
            self.claim(0, false).await;
            self.finish(0, &[End::Sent; DEVICES]).await;
        }
        assert!(self.owed.is_empty(), "{:?} never came", self.owed);
        self.release().await;
        self.taken[0].clear();
        self.take(0, false).await;
        assert_eq!(self.taken[0].len(), self.queue.len());
    }
}
