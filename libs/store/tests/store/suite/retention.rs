//! Trimming the log.

use std::time::Duration;

use domain::EventId;
use store::Refusal;
use store::log::Range;
use store::messages::{MessageEdit, NewMessage, Reaction};
use store::retention::EventLimits;
use tokio::task::JoinSet;

use super::world::{World, assert_whole, message, refused, with_nonce};

const ALL: u32 = 10_000;

const fn at_most(max_per_stream: u64) -> EventLimits {
    EventLimits { max_age: Duration::ZERO, max_per_stream }
}

const fn younger_than(max_age: Duration) -> EventLimits {
    EventLimits { max_age, max_per_stream: 0 }
}

impl World {
    async fn trim(&self, limits: EventLimits, batch: u32) -> u64 {
        self.store.trim_events(limits, batch).await.expect("an answer")
    }
}

pub(crate) async fn the_newest_of_a_stream_are_kept(world: World) {
    let [alex, sam] = world.people().await;
    let (busy, quiet) = (world.group(&[alex, sam]).await, world.group(&[alex]).await);
    for n in 3..=20 {
        world.say(busy, sam, &n.to_string()).await;
    }
    let before = world.events(alex, busy).await;
    assert_eq!(world.trim(at_most(5), ALL).await, 15);
    let page = world.page(alex, busy).await;
    assert_whole(&page);
    assert_eq!((page.floor, page.head), (15, 20));
    assert_eq!(page.events, before[15..]);
    assert_eq!(world.page(alex, quiet).await.floor, 0);
    assert_eq!(world.trim(at_most(5), ALL).await, 0, "nothing is left to do");
    assert_eq!(world.say(busy, sam, "next").await.seq, 21);
    assert_eq!(world.trim(at_most(5), ALL).await, 1);

    let snapshot = world.store.snapshot(alex).await.expect("an answer").expect("a person");
    let floors: Vec<u64> = snapshot.rooms.iter().map(|room| room.floor).collect();
    assert!(floors.contains(&16) && floors.contains(&0), "{floors:?}");
}

pub(crate) async fn the_old_go(world: World) {
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    world.say(room, alex, "hello").await;
    assert_eq!(world.trim(younger_than(Duration::from_secs(3600)), ALL).await, 0);
    assert_eq!(world.trim(younger_than(Duration::MAX), ALL).await, 0);
    let instant = younger_than(Duration::from_micros(1));
    assert_eq!(world.trim(instant, ALL).await, 3, "of the room two, of the inbox one");
    for page in [world.page(alex, room).await, world.page(alex, alex).await] {
        assert_eq!((page.floor, page.events.len()), (page.head, 0));
    }
    assert_eq!(world.trim(instant, ALL).await, 0);
    assert_eq!(world.say(room, alex, "numbers go on").await.seq, 3);
    assert_whole(&world.page(alex, room).await);
}

pub(crate) async fn no_limit_keeps_everything(world: World) {
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    assert_eq!(world.trim(at_most(0), ALL).await, 0);
    assert_eq!(world.trim(at_most(1), 0).await, 0);
    assert_eq!(world.trim(at_most(u64::MAX), ALL).await, 0);
    assert_eq!(world.page(alex, room).await.floor, 0);
}

pub(crate) async fn a_batch_bounds_what_goes(world: World) {
    let alex = world.person().await;
    let rooms = [world.group(&[alex]).await, world.group(&[alex]).await];
    for n in 2..=8 {
        for room in rooms {
            world.say(room, alex, &n.to_string()).await;
        }
    }
    let mut removed = Vec::new();
    loop {
        removed.push(world.trim(at_most(1), 4).await);
        for room in rooms {
            assert_whole(&world.page(alex, room).await);
        }
        if removed.last() == Some(&0) {
            break;
        }
    }
    // Seven of each room, and one of the inbox.
    assert_eq!(removed, [4, 4, 4, 3, 0]);
}

pub(crate) async fn what_is_gone_is_not_there(world: World) {
    let [alex, sam] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    let said = world.append(with_nonce(message(room, alex, "hello"), "n")).await.expect("good").event;
    let heart = Reaction { room, message: said.id, actor: sam.into(), emoji: "❤".into() };
    world.store.add_reaction(&heart).await.expect("an answer").expect("an event");
    world.trim(at_most(1), ALL).await;

    let no_message = Refusal::NotFound("message");
    let edit = MessageEdit {
        room,
        message: said.id,
        actor: alex.into(),
        id: EventId::new(),
        data: serde_json::json!({ "event_id": said.id, "body": "" }).to_string().into(),
    };
    assert_eq!(refused(world.store.edit_message(&edit).await), no_message);
    assert_eq!(refused(world.store.delete_message(alex.into(), room, said.id).await), no_message);
    assert_eq!(refused(world.store.remove_reaction(&heart).await), no_message);
    let reply = NewMessage { reply_to: Some(said.id), ..message(room, sam, "what was that?") };
    assert!(matches!(world.append(reply).await, Err(Refusal::Invalid("reply_to", _))));
    let again = world.append(with_nonce(message(room, alex, "hello"), "n")).await.expect("good");
    assert!(again.fresh, "a nonce is known as long as its event");

    let page = world.store.page(sam.into(), room.into(), Range::After(0), 100).await.expect("an answer");
    let page = page.expect("a room of theirs");
    assert_eq!((page.floor, page.events[0].seq), (3, 4), "the reader sees that something is missing");
    let since = world.store.events_since(&[(room.into(), 0)], 100).await.expect("events");
    assert_eq!(since, page.events);
}

pub(crate) async fn sending_and_trimming_go_together(world: World) {
    let [alex, sam] = world.people().await;
    let rooms = [world.group(&[alex, sam]).await, world.group(&[alex, sam]).await];
    let mut senders = JoinSet::new();
    for _ in 0..6 {
        let world = world.clone();
        senders.spawn(async move {
            for n in 0..30_u32 {
                let batch: Vec<NewMessage> =
                    rooms.iter().map(|room| message(*room, sam, &n.to_string())).collect();
                for outcome in world.store.append_messages(&batch).await.expect("an answer") {
                    outcome.expect("good");
                }
            }
        });
    }
    let mut trimmers = JoinSet::new();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    for batch in [1, 7, 100] {
        let (world, stopped) = (world.clone(), stopped.clone());
        trimmers.spawn(async move {
            let mut removed = 0;
            while !*stopped.borrow() {
                removed += world.trim(at_most(10), batch).await;
                for room in rooms {
                    assert_whole(&world.page(alex, room).await);
                }
            }
            removed
        });
    }
    senders.join_all().await;
    stop.send_replace(true);
    let mut removed: u64 = trimmers.join_all().await.into_iter().sum();
    removed += world.trim(at_most(10), ALL).await;
    assert_eq!(removed, 2 * (182 - 10));
    for room in rooms {
        let page = world.page(alex, room).await;
        assert_whole(&page);
        assert_eq!((page.floor, page.head), (172, 182));
    }
}
