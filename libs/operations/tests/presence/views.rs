//! One table for both views: what is done, and who is where by it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use domain::{ConnectionId, DeviceKind, LivePresence, RoomId, UserId};
use realtime::{MemoryView, PresenceView, TableView};

use crate::stage::{Live, Stage, TTL, database};

/// What a decision sees of a connection.
type Sight = (ConnectionId, DeviceKind, bool, Option<RoomId>, bool);

/// What is done, by index of the connection.
#[derive(Clone, Copy)]
enum Do {
    /// A device of this kind connects.
    Device(DeviceKind),
    /// The device of this connection connects once more.
    Again(usize),
    /// A stream without a device.
    Stream,
    /// One that is still replaying.
    Replaying,
    Focus(usize),
    Idle(usize),
    Close(usize),
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_views_see_the_same() {
    use DeviceKind::{Desktop, Mobile, Web};
    use Do::{Again, Close, Device, Focus, Idle, Replaying, Stream};
    let database = database().await;
    let mut stage = Stage::at(&database.url(), 1000).await;
    let room = RoomId::new();
    // For each: which connections are seen, of what kind, idle, with the room on screen.
    type Row<'a> = (&'a [Do], &'a [(usize, DeviceKind, bool, bool)]);
    let table: &[Row<'_>] = &[
        (&[], &[]),
        (&[Replaying], &[]),
        (&[Stream], &[(0, Web, false, false)]),
        (&[Device(Desktop)], &[(0, Desktop, false, false)]),
        (&[Device(Mobile), Idle(0)], &[(0, Mobile, true, false)]),
        (&[Device(Mobile), Focus(0)], &[(0, Mobile, false, true)]),
        (&[Device(Mobile), Focus(0), Idle(0)], &[(0, Mobile, true, false)]),
        (&[Device(Web), Close(0)], &[]),
        (&[Device(Web), Stream, Close(0)], &[(1, Web, false, false)]),
        (
            &[Device(Desktop), Device(Mobile), Stream, Idle(0), Focus(1)],
            &[(0, Desktop, true, false), (1, Mobile, false, true), (2, Web, false, false)],
        ),
        (&[Device(Desktop), Focus(0), Again(0)], &[(1, Desktop, false, false)]),
        (&[Device(Desktop), Again(0), Close(1)], &[]),
        (&[Stream, Stream], &[(0, Web, false, false), (1, Web, false, false)]),
    ];
    let memory = MemoryView::new(Arc::clone(&stage.hub), Duration::ZERO);
    let rows = TableView::new(Arc::clone(&stage.store), TTL);
    stage.settle().await;
    for (number, (steps, expected)) in table.iter().enumerate() {
        let person = stage.person().await;
        let (mut live, mut devices, mut replaying): (Vec<Live>, Vec<_>, Vec<_>) = Default::default();
        for step in *steps {
            match *step {
                Device(kind) => {
                    let device = stage.device(person.0, kind).await;
                    live.push(stage.live(person, Some(device)).await);
                    devices.push(Some(device));
                }
                Again(of) => {
                    live.push(stage.live(person, devices[of]).await);
                    devices.push(devices[of]);
                }
                Stream => {
                    live.push(stage.live(person, None).await);
                    devices.push(None);
                }
                Replaying => replaying.push(stage.begin(person, None).await),
                Focus(of) => live[of].look(Some(room), false),
                Idle(of) => live[of].look(None, true),
                Close(of) => stage.close(&live[of]),
            }
            stage.writer.flush().await;
        }
        let expected: HashSet<Sight> = expected
            .iter()
            .map(|&(of, kind, idle, focused)| {
                (live[of].connection.meta.id, kind, idle, focused.then_some(room), devices[of].is_some())
            })
            .collect();
        assert_eq!(sights(&memory, person.0).await, expected, "memory, {number}");
        assert_eq!(sights(&rows, person.0).await, expected, "table, {number}");
    }
}

async fn sights(view: &dyn PresenceView, user: UserId) -> HashSet<Sight> {
    let seen = view.of(&[user, UserId::new()]).await.expect("an answer");
    assert_eq!(seen.settles_in, None);
    assert!(seen.people.keys().all(|seen| *seen == user), "{seen:?}");
    let sight =
        |live: &LivePresence| (live.connection, live.kind, live.idle, live.focus, live.device.is_some());
    seen.people.get(&user).into_iter().flatten().map(sight).collect()
}

/// Who is not there may be nonetheless, at first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_views_say_when_absence_can_be_believed() {
    let database = database().await;
    let stage = Stage::at(&database.url(), 1000).await;
    let person = stage.person().await;
    let memory = MemoryView::new(Arc::clone(&stage.hub), TTL);
    let rows = TableView::new(Arc::clone(&stage.store), TTL);
    stage.store.watch_presence(TTL).await.expect("watched");
    for view in [&memory as &dyn PresenceView, &rows] {
        let seen = view.of(&[person.0]).await.expect("an answer");
        assert!(seen.settles_in.is_some_and(|left| left <= TTL && left > TTL / 2), "{seen:?}");
        assert!(seen.people.is_empty());
    }
    let live = stage.live(person, None).await;
    stage.settle().await;
    tokio::time::sleep(memory.settles_in().unwrap_or_default()).await;
    for view in [&memory as &dyn PresenceView, &rows] {
        assert_eq!(view.of(&[person.0]).await.expect("an answer").settles_in, None);
    }
    // All are sent away, and come back.
    stage.hub.send_away();
    stage.close(&live);
    let seen = memory.of(&[person.0]).await.expect("an answer");
    assert!(seen.people.is_empty() && seen.settles_in.is_some(), "{seen:?}");
}
