//! Presence: rows of live connections, and how people are seen by them.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use domain::{ConnectionId, DeviceId, DeviceKind, NodeId, PersonStatus, RoomId, SlotSessionId, UserId};
use futures_util::future::join_all;
use store::devices::{SlotOutcome, TakeSlot};
use store::presence::{CheckedPeople, Evidence, PersonPresence, PresenceBatch, PresenceRow, Seen};

use super::people::{HOUR, new_device};
use super::world::World;

/// How long rows live here: long enough for a step of a case, short enough to be waited for.
const TTL: Duration = Duration::from_secs(3);

pub(crate) fn row(user: UserId) -> PresenceRow {
    PresenceRow {
        connection: ConnectionId::new(),
        user,
        device: None,
        kind: DeviceKind::Web,
        idle: false,
        focus: None,
        age: Duration::from_millis(20),
        resumable_for: None,
    }
}

fn batch(rows: &[PresenceRow], gone: &[&PresenceRow]) -> PresenceBatch {
    let gone = gone.iter().map(|row| (row.connection, row.user)).collect();
    PresenceBatch { node: NodeId::new(), rows: rows.to_vec(), gone }
}

impl World {
    /// Waits until the table is settled, as far as it can be.
    pub(crate) async fn settle(&self, ttl: Duration) {
        let waited = async {
            loop {
                self.store.watch_presence(ttl).await.expect("watched");
                match self.seen(&[], ttl).await.settles_in {
                    None => break,
                    Some(left) => tokio::time::sleep(left.min(ttl / 10)).await,
                }
            }
        };
        tokio::time::timeout(ttl * 10, waited).await.expect("settled in time");
    }

    pub(crate) async fn seen(&self, people: &[UserId], ttl: Duration) -> Seen {
        self.store.live_people(people, ttl).await.expect("an answer")
    }

    /// Writes, as a node that looks after its rows; gives what changed.
    async fn put(&self, rows: &[PresenceRow], gone: &[&PresenceRow]) -> Vec<(UserId, PersonStatus, u64)> {
        self.store.watch_presence(TTL).await.expect("watched");
        let changes = self.store.write_presence(&batch(rows, gone), TTL).await.expect("written");
        changes.into_iter().map(|change| (change.user, change.status, change.version)).collect()
    }

    async fn noted(&self, user: UserId) -> Option<(PersonStatus, u64)> {
        let noted = self.store.people_presence(&[user]).await.expect("an answer");
        noted.first().map(|noted| (noted.status, noted.version))
    }

    /// A device, and a row for each time that its slot was taken.
    async fn device_rows<const N: usize>(&self, user: UserId) -> [PresenceRow; N] {
        let device = self.store.create_device(user, &new_device("laptop"), None).await.expect("a device").id;
        let mut rows = Vec::new();
        for _ in 0..N {
            rows.push(self.held_row(user, device).await);
        }
        rows.try_into().expect("as many as asked for")
    }

    async fn held_row(&self, user: UserId, device: DeviceId) -> PresenceRow {
        let attempt = TakeSlot {
            user,
            device,
            connection: ConnectionId::new(),
            session: SlotSessionId::new(),
            resumes: None,
            node: NodeId::new(),
        };
        let SlotOutcome::Taken(slot) = self.store.take_slot(&attempt).await.expect("an answer") else {
            panic!("not taken")
        };
        let device = Some((slot.device, slot.epoch));
        PresenceRow { connection: attempt.connection, device, kind: slot.kind, ..row(user) }
    }
}

pub(crate) async fn people_are_seen_as_their_connections_add_up(world: World) {
    world.settle(TTL).await;
    let alex = world.person().await;
    let (mut first, second) = (row(alex), row(alex));
    assert_eq!(world.put(&[first], &[]).await, [(alex, PersonStatus::Online, 1)]);
    assert_eq!(world.put(&[first], &[]).await, [], "repeated after a lost answer");
    first.idle = true;
    assert_eq!(world.put(&[first], &[]).await, [(alex, PersonStatus::Idle, 2)]);
    assert_eq!(world.put(&[first, second], &[]).await, [(alex, PersonStatus::Online, 3)]);
    first.focus = Some(RoomId::new());
    assert_eq!(world.put(&[first, second], &[]).await, []);
    let seen = world.seen(&[alex, UserId::new()], TTL).await;
    assert_eq!((seen.people.len(), seen.settles_in), (1, None));
    let mut live = seen.people[&alex].clone();
    live.sort_by_key(|live| live.connection);
    let expected = |row: &PresenceRow| domain::LivePresence {
        connection: row.connection,
        device: None,
        kind: DeviceKind::Web,
        idle: row.idle,
        focus: row.focus,
    };
    assert_eq!(live, [expected(&first), expected(&second)]);
    assert_eq!(world.put(&[], &[&second]).await, [(alex, PersonStatus::Idle, 4)]);
    assert_eq!(world.put(&[], &[&first, &second]).await, [(alex, PersonStatus::Offline, 5)]);
    assert_eq!(world.put(&[], &[&first]).await, [], "gone before");
    assert_eq!(world.noted(alex).await, Some((PersonStatus::Offline, 5)));
}

pub(crate) async fn who_was_never_there_is_not_noted(world: World) {
    world.settle(TTL).await;
    let (alex, sam) = (world.person().await, world.person().await);
    assert_eq!(world.put(&[], &[&row(alex)]).await, []);
    assert_eq!(world.noted(alex).await, None);
    let noted = world.store.note_people(&[(sam, PersonStatus::Offline)], Evidence::Whole).await;
    assert_eq!(note_of(noted), []);
    assert_eq!(world.noted(sam).await, None);
}

fn note_of(changes: Result<Vec<PersonPresence>, store::StoreError>) -> Vec<(PersonStatus, u64)> {
    changes.expect("noted").into_iter().map(|change| (change.status, change.version)).collect()
}

pub(crate) async fn people_are_noted_without_rows(world: World) {
    let alex = world.person().await;
    for (status, evidence, change) in [
        (PersonStatus::Idle, Evidence::Partial, Some(1)),
        (PersonStatus::Idle, Evidence::Whole, None),
        (PersonStatus::Online, Evidence::Partial, Some(2)),
        (PersonStatus::Idle, Evidence::Partial, None),
        (PersonStatus::Offline, Evidence::Partial, None),
        (PersonStatus::Idle, Evidence::Whole, Some(3)),
        (PersonStatus::Offline, Evidence::Whole, Some(4)),
        (PersonStatus::Idle, Evidence::Partial, Some(5)),
    ] {
        let changes = note_of(world.store.note_people(&[(alex, status)], evidence).await);
        assert_eq!(changes, Vec::from_iter(change.map(|version| (status, version))), "{status} {evidence:?}");
    }
    let noted = world.store.people_noted(None, 10).await.expect("a page");
    assert_eq!(noted, [PersonPresence { user: alex, status: PersonStatus::Idle, version: 5 }]);
    assert_eq!(world.store.people_noted(Some(alex), 10).await.expect("a page"), []);
}

pub(crate) async fn a_refresh_tells_what_is_missing(world: World) {
    let [alex, sam] = world.people().await;
    let (one, other) = (row(alex), row(sam));
    world.put(&[one, other], &[]).await;
    let missing = ConnectionId::new();
    let found = world.store.refresh_presence(&[one.connection, missing, other.connection]).await;
    let found: BTreeSet<_> = found.expect("refreshed").into_iter().collect();
    assert_eq!(found, BTreeSet::from([one.connection, other.connection]));
    assert_eq!(world.store.refresh_presence(&[]).await.expect("refreshed"), []);
}

pub(crate) async fn of_a_device_the_newest_connection_counts(world: World) {
    world.settle(TTL).await;
    let alex = world.person().await;
    let device = world.store.create_device(alex, &new_device("laptop"), None).await.expect("a device").id;
    let old = world.held_row(alex, device).await;
    assert_eq!(world.put(&[old], &[]).await, [(alex, PersonStatus::Online, 1)]);
    let new = PresenceRow { idle: true, ..world.held_row(alex, device).await };
    assert_eq!(world.put(&[new], &[]).await, [(alex, PersonStatus::Idle, 2)], "the older row is gone");
    assert_eq!(world.store.refresh_presence(&[old.connection]).await.expect("refreshed"), []);
    // Its node slept, and writes what it has.
    assert_eq!(world.put(&[old], &[]).await, []);
    assert_eq!(world.seen(&[alex], TTL).await.people[&alex].len(), 1);
    assert_eq!(world.put(&[], &[&new]).await, [(alex, PersonStatus::Offline, 3)]);
    assert_eq!(world.put(&[old], &[]).await, [], "also when the newer one is gone");
    world.store.delete_device(alex, device).await.expect("deleted");
    assert_eq!(world.put(&[new], &[]).await, [], "nobody is there with a device that is not");
    assert_eq!(world.noted(alex).await, Some((PersonStatus::Offline, 3)));
}

pub(crate) async fn who_can_be_resumed_counts_until_then(world: World) {
    world.settle(TTL).await;
    let alex = world.person().await;
    let [left] = world.device_rows(alex).await;
    world.put(&[left], &[]).await;
    let left = PresenceRow { resumable_for: Some(HOUR), ..left };
    assert_eq!(world.put(&[left], &[]).await, []);
    let seen = world.seen(&[alex], Duration::ZERO).await;
    assert_eq!(seen.people[&alex].len(), 1, "however long ago its node wrote it");
    let back = world.held_row(alex, left.device.expect("a device").0).await;
    assert_eq!(world.put(&[back], &[]).await, []);
    assert_eq!(world.seen(&[alex], TTL).await.people[&alex].len(), 1);
    assert_eq!(
        world.put(&[], &[&back]).await,
        [(alex, PersonStatus::Offline, 2)],
        "nothing is left of the first"
    );

    let sam = world.person().await;
    let [left] = world.device_rows(sam).await;
    world.put(&[PresenceRow { resumable_for: Some(Duration::ZERO), ..left }], &[]).await;
    assert_eq!(world.seen(&[sam], HOUR).await.people.len(), 0, "its time is over");
}

pub(crate) async fn of_many_nodes_each_sees_what_was_written(world: World) {
    world.settle(TTL).await;
    let alex = world.person().await;
    for round in 0..40 {
        let rows: Vec<PresenceRow> = (0..4).map(|_| row(alex)).collect();
        let each = async |go: bool| {
            let nodes = rows.iter().map(|row| {
                let (world, row) = (world.clone(), *row);
                tokio::spawn(async move {
                    if go { world.put(&[], &[&row]).await } else { world.put(&[row], &[]).await }
                })
            });
            join_all(nodes).await.into_iter().flat_map(|told| told.expect("no panic")).collect::<Vec<_>>()
        };
        assert_eq!(each(false).await, [(alex, PersonStatus::Online, 2 * round + 1)], "round {round}");
        assert_eq!(each(true).await, [(alex, PersonStatus::Offline, 2 * round + 2)], "round {round}");
    }
}

pub(crate) async fn nodes_that_write_for_the_same_people_do_not_hinder_each_other(world: World) {
    let people: Vec<UserId> = world.people::<6>().await.into();
    let nodes = (0..6_usize).map(|node| {
        let (world, mut people) = (world.clone(), people.clone());
        tokio::spawn(async move {
            people.rotate_left(node);
            let mut rows: Vec<PresenceRow> = people.iter().map(|user| row(*user)).collect();
            for round in 0..10 {
                rows.iter_mut().for_each(|row| row.idle = round % 2 == node % 2);
                world.put(&rows, &[]).await;
                let connections: Vec<_> = rows.iter().map(|row| row.connection).collect();
                world.store.refresh_presence(&connections).await.expect("refreshed");
                world.store.reap_presence(TTL, 100).await.expect("reaped");
            }
        })
    });
    for node in join_all(nodes).await {
        node.expect("no panic");
    }
    for user in people {
        assert_eq!(world.noted(user).await.map(|(status, _)| status), Some(PersonStatus::Online));
    }
}

pub(crate) async fn rows_that_nobody_refreshes_are_reaped(world: World) {
    world.settle(TTL).await;
    let [alex, sam, robin] = world.people().await;
    let (dead, living) = (row(alex), row(sam));
    world.put(&[dead, living], &[]).await;
    let [left] = world.device_rows(robin).await;
    world.put(&[PresenceRow { resumable_for: Some(TTL), ..left }], &[]).await;
    let began = tokio::time::Instant::now();
    let (mut gone, mut rows) = (HashSet::new(), 0);
    let waited = async {
        while gone.len() < 2 {
            world.store.watch_presence(TTL).await.expect("watched");
            world.store.refresh_presence(&[living.connection]).await.expect("refreshed");
            let reaped = world.store.reap_presence(TTL, 1).await.expect("reaped");
            rows += reaped.rows;
            gone.extend(reaped.changes.iter().map(|change| (change.user, change.status, change.version)));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(TTL * 5, waited).await.expect("reaped in time");
    assert!(began.elapsed() > TTL - Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(rows, 2);
    assert_eq!(gone, HashSet::from([alex, robin].map(|user| (user, PersonStatus::Offline, 2))));
    // Its node slept, and goes on.
    assert_eq!(world.store.refresh_presence(&[dead.connection]).await.expect("refreshed"), []);
    assert_eq!(world.put(&[dead], &[]).await, [(alex, PersonStatus::Online, 3)]);
}

pub(crate) async fn what_is_noted_is_checked_against_the_rows(world: World) {
    world.settle(TTL).await;
    let mut people: Vec<UserId> = world.people::<4>().await.into();
    people.sort_unstable();
    let noted = [
        (people[0], PersonStatus::Online),
        (people[1], PersonStatus::Idle),
        (people[2], PersonStatus::Online),
    ];
    world.store.note_people(&noted, Evidence::Whole).await.expect("noted");
    world.put(&[row(people[2])], &[]).await;
    let (mut next, mut changes) = (None, Vec::new());
    loop {
        world.store.watch_presence(TTL).await.expect("watched");
        let CheckedPeople { changes: found, next: further, .. } =
            world.store.check_people(next, 1, TTL).await.expect("checked");
        changes.extend(found.into_iter().map(|change| (change.user, change.status, change.version)));
        next = further;
        if next.is_none() {
            break;
        }
    }
    let gone = |user: UserId| (user, PersonStatus::Offline, 2);
    assert_eq!(changes, [gone(people[0]), gone(people[1])]);
}

/// A table that was emptied, or that nobody looked after, says nothing about who is not there.
pub(crate) async fn nobody_is_noted_as_less_until_the_table_is_settled(world: World) {
    let alex = world.person().await;
    world.store.note_people(&[(alex, PersonStatus::Online)], Evidence::Whole).await.expect("noted");
    assert_eq!(world.seen(&[alex], HOUR).await.settles_in, Some(HOUR), "nobody ever looked after it");
    world.store.watch_presence(HOUR).await.expect("watched");
    let seen = world.seen(&[alex], HOUR).await;
    assert!(seen.settles_in.is_some_and(|left| left > HOUR / 2 && left <= HOUR), "{seen:?}");
    let idle = PresenceRow { idle: true, ..row(alex) };
    let write = batch(&[idle], &[]);
    assert_eq!(world.store.write_presence(&write, HOUR).await.expect("written"), []);
    let checked = world.store.check_people(None, 10, HOUR).await.expect("checked");
    assert_eq!(checked, CheckedPeople::default());
    let gone = batch(&[], &[&idle]);
    assert_eq!(world.store.write_presence(&gone, HOUR).await.expect("written"), []);
    assert_eq!(world.noted(alex).await, Some((PersonStatus::Online, 1)));
    world.settle(TTL).await;
    let checked = world.store.check_people(None, 10, TTL).await.expect("checked");
    let change = PersonPresence { user: alex, status: PersonStatus::Offline, version: 2 };
    assert_eq!(checked.changes, [change], "what was held back is noted then");
}

pub(crate) async fn a_gap_unsettles_the_table(world: World) {
    let ttl = Duration::from_millis(400);
    world.settle(ttl).await;
    tokio::time::sleep(ttl).await;
    assert!(world.seen(&[], ttl).await.settles_in.is_some(), "nobody looks after it");
    world.store.watch_presence(ttl).await.expect("watched");
    assert!(world.seen(&[], ttl).await.settles_in.is_some(), "nobody did for a while");
}

pub(crate) async fn people_are_told_of_in_small_rooms(world: World) {
    let [alex, sam, robin, stranger] = world.people().await;
    let small = world.group(&[alex, sam]).await;
    let large = world.group(&[alex, sam, robin]).await;
    let note = [alex, sam, robin, stranger].map(|user| (user, PersonStatus::Online));
    world.store.note_people(&note, Evidence::Whole).await.expect("noted");
    let around = async |most| {
        let around = world.store.people_around(alex, most).await.expect("an answer");
        around.into_iter().map(|seen| seen.user).collect::<BTreeSet<_>>()
    };
    assert_eq!(around(3).await, BTreeSet::from([alex, sam, robin]));
    assert_eq!(around(2).await, BTreeSet::from([alex, sam]));
    assert_eq!(around(0).await, BTreeSet::from([alex]), "one's own is always told");
    let rooms = async |most| {
        let rooms = world.store.rooms_of_people(&[alex, robin], most).await.expect("an answer");
        rooms.into_iter().collect::<BTreeSet<_>>()
    };
    assert_eq!(rooms(3).await, BTreeSet::from([(alex, small), (alex, large), (robin, large)]));
    assert_eq!(rooms(2).await, BTreeSet::from([(alex, small)]));
    world.store.note_people(&[(sam, PersonStatus::Offline)], Evidence::Whole).await.expect("noted");
    assert_eq!(around(3).await, BTreeSet::from([alex, robin]));
}
