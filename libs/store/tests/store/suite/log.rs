//! Reading the log.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::{LogEpoch, RoomId, StreamKind, StreamRef, UserId};
use store::log::Range;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::world::{World, assert_whole, message};

pub(crate) async fn a_snapshot_has_everything_a_person_follows(world: World) {
    let [alex, sam] = world.people().await;
    let alone = world.store.snapshot(alex).await.expect("an answer").expect("a person");
    assert_eq!((alone.user.id, alone.inbox, alone.rooms.len()), (alex, (0, 0), 0));
    assert_eq!(alone.log_epoch, world.epoch().await);

    let mut rooms = [world.group(&[alex, sam]).await, world.group(&[sam, alex]).await];
    rooms.sort();
    world.group(&[sam]).await;
    world.say(rooms[1], alex, "hello").await;
    world.store.set_read(alex, rooms[1], 3).await.expect("read");
    let snapshot = world.store.snapshot(alex).await.expect("an answer").expect("a person");
    assert_eq!(snapshot.inbox, (3, 0));
    assert_eq!(snapshot.rooms.iter().map(|room| room.id).collect::<Vec<_>>(), rooms);
    let room = &snapshot.rooms[1];
    assert_eq!((room.head, room.floor, room.last_read, room.muted), (3, 0, 3, false));
    assert_eq!(room.name.as_deref(), Some("Garden"));

    world.disable(alex).await;
    for nobody in [alex, UserId::new()] {
        assert_eq!(world.store.snapshot(nobody).await.expect("an answer"), None);
    }
}

pub(crate) async fn a_snapshot_never_runs_ahead_of_the_log(world: World) {
    let [alex, sam] = world.people().await;
    let rooms = [world.group(&[alex, sam]).await, world.group(&[alex, sam]).await];
    let done = AtomicBool::new(false);
    let writer = async {
        for n in 0..150 {
            let batch = rooms.map(|room| message(room, sam, &n.to_string()));
            world.store.append_messages(&batch).await.expect("an answer");
            world.store.set_read(alex, rooms[0], n + 2).await.expect("read");
        }
        done.store(true, Ordering::Relaxed);
    };
    let reader = async {
        let mut looks = 0;
        while !done.load(Ordering::Relaxed) {
            let snapshot = world.store.snapshot(alex).await.expect("an answer").expect("a person");
            let heads: BTreeSet<u64> = snapshot.rooms.iter().map(|room| room.head).collect();
            assert_eq!(heads.len(), 1, "both rooms are written in one commit: {heads:?}");
            for room in &snapshot.rooms {
                let page = world.page(alex, room.id).await;
                assert_whole(&page);
                assert!(page.head >= room.head && room.last_read <= room.head);
            }
            let read_to = snapshot.rooms.iter().map(|room| room.last_read).max();
            assert_eq!(read_to.map_or(0, |seq| seq.saturating_sub(1)), snapshot.inbox.0 - 2);
            looks += 1;
        }
        assert!(looks > 0);
    };
    tokio::join!(writer, reader);
}

pub(crate) async fn pages_go_both_ways(world: World) {
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    for n in 2..=10 {
        world.say(room, alex, &n.to_string()).await;
    }
    let all = world.events(alex, room).await;
    let page = async |range, limit| {
        let page = world.store.page(alex.into(), room.into(), range, limit).await;
        let page = page.expect("an answer").expect("a stream of theirs");
        assert_eq!((page.floor, page.head), (0, 10));
        let seqs: Vec<u64> = page.events.iter().map(|event| event.seq).collect();
        for event in page.events {
            assert_eq!(event, all[usize::try_from(event.seq).expect("small") - 1]);
        }
        seqs
    };
    assert_eq!(page(Range::After(0), 3).await, [1, 2, 3]);
    assert_eq!(page(Range::After(8), 3).await, [9, 10]);
    assert_eq!(page(Range::After(10), 3).await, [0; 0]);
    assert_eq!(page(Range::After(u64::MAX), 3).await, [0; 0]);
    assert_eq!(page(Range::Before(u64::MAX), 3).await, [8, 9, 10]);
    assert_eq!(page(Range::Before(8), 3).await, [5, 6, 7]);
    assert_eq!(page(Range::Before(3), 3).await, [1, 2]);
    assert_eq!(page(Range::Before(1), 3).await, [0; 0]);
    assert_eq!(page(Range::Before(0), 3).await, [0; 0]);
}

pub(crate) async fn only_readers_read(world: World) {
    let [alex, sam, robin] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    let may_read = async |reader: UserId, stream: StreamRef| {
        world.store.page(reader.into(), stream, Range::After(0), 10).await.expect("an answer").is_some()
    };
    assert!(may_read(sam, room.into()).await);
    assert!(may_read(sam, sam.into()).await);
    assert!(!may_read(robin, room.into()).await);
    assert!(!may_read(sam, alex.into()).await, "an inbox is its owner's");
    assert!(!may_read(sam, RoomId::new().into()).await);
    assert!(!may_read(sam, StreamRef { kind: StreamKind::Room, id: sam.0 }).await);
    assert!(!may_read(sam, StreamRef { kind: StreamKind::User, id: room.0 }).await);
    assert!(!may_read(sam, StreamRef { kind: StreamKind::Agent, id: sam.0 }).await);
    world.store.remove_member(alex, room, sam.into()).await.expect("events");
    assert!(!may_read(sam, room.into()).await);
    assert!(may_read(sam, sam.into()).await);
    world.disable(alex).await;
    assert!(!may_read(alex, room.into()).await);
    assert!(!may_read(alex, alex.into()).await);
}

pub(crate) async fn events_since_are_of_many_streams(world: World) {
    let [alex, sam] = world.people().await;
    let (one, other) = (world.group(&[alex, sam]).await, world.group(&[alex]).await);
    for n in 0..5 {
        world.say(one, sam, &n.to_string()).await;
        world.say(other, alex, &n.to_string()).await;
    }
    let wanted = [(one.into(), 3), (other.into(), 6), (sam.into(), 0), (RoomId::new().into(), 0)];
    let events = world.store.events_since(&wanted, 3).await.expect("events");
    let mut expected = world.events(alex, one).await[3..6].to_vec();
    expected.extend(world.inbox(sam).await);
    assert_eq!(events, expected);
    assert_eq!(world.store.events_since(&[], 3).await.expect("an answer"), []);
}

pub(crate) async fn heads_leave_out_what_is_gone(world: World) {
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    world.say(room, alex, "hello").await;
    let heads = world.store.heads(&[room.0, Uuid::now_v7(), alex.0]).await.expect("heads");
    let mut found = heads.heads;
    found.sort();
    let mut expected = vec![(room.0, 2), (alex.0, 1)];
    expected.sort();
    assert_eq!((heads.log_epoch, found), (world.epoch().await, expected));
    for nothing in [&[][..], &[Uuid::now_v7()]] {
        let heads = world.store.heads(nothing).await.expect("heads");
        assert_eq!((heads.log_epoch, heads.heads), (world.epoch().await, vec![]));
    }
}

pub(crate) async fn the_epoch_stays_until_it_is_renewed(world: World) {
    let first = world.epoch().await;
    assert_eq!(world.epoch().await, first);
    let stands = world.store.renew_log_epoch(LogEpoch::new()).await.expect("an epoch");
    assert_eq!(stands, first, "whoever expects another one changes nothing");
    let renewed = world.store.renew_log_epoch(first).await.expect("an epoch");
    assert_ne!(renewed, first);
    assert_eq!(world.epoch().await, renewed);
}

pub(crate) async fn one_of_many_renews_the_epoch(world: World) {
    let first = world.epoch().await;
    let mut nodes = JoinSet::new();
    for _ in 0..10 {
        let store = world.store.clone();
        nodes.spawn(async move { store.renew_log_epoch(first).await.expect("an epoch") });
    }
    let answers: BTreeSet<LogEpoch> = nodes.join_all().await.into_iter().collect();
    assert_eq!(answers, BTreeSet::from([world.epoch().await]));
    assert!(!answers.contains(&first));
}
