//! Many at once: streams stay whole, guards hold, nobody waits for ever.

use std::collections::{BTreeMap, BTreeSet};

use domain::{EventKind, Principal, RoomId, RoomKind, UserId};
use store::Refusal;
use store::messages::{Appended, NewMessage, Reaction};
use store::rooms::NewRoom;
use tokio::task::JoinSet;

use super::world::{World, assert_whole, data, group, kinds, message, with_nonce};

pub(crate) async fn a_hundred_writers_leave_no_holes(world: World) {
    let [alex, sam] = world.people().await;
    let mut rooms = Vec::new();
    for _ in 0..5 {
        rooms.push(world.group(&[alex, sam]).await);
    }
    let mut writers = JoinSet::new();
    for writer in 0..100_usize {
        let (world, rooms) = (world.clone(), rooms.clone());
        writers.spawn(async move {
            for turn in 0..4_usize {
                // One room alone, or all of them in an order of its own.
                let order = (0..rooms.len()).map(|n| rooms[(n * (writer % 4 + 1) + turn) % rooms.len()]);
                let size = if writer % 2 == 0 { 1 } else { rooms.len() * 2 };
                let batch: Vec<NewMessage> = order
                    .cycle()
                    .take(size)
                    .enumerate()
                    .map(|(n, room)| with_nonce(message(room, alex, ""), &format!("{writer} {turn} {n}")))
                    .collect();
                for outcome in world.store.append_messages(&batch).await.expect("an answer") {
                    assert!(outcome.expect("good").fresh);
                }
            }
        });
    }
    writers.join_all().await;
    let mut written = 0;
    for room in rooms {
        let page = world.page(sam, room).await;
        assert_whole(&page);
        written += page.events.len() - 2;
    }
    assert_eq!(written, 50 * 4 + 50 * 4 * 10);
}

/// Whoever sees a number sees everything below it: numbers are not handed out before what is below is committed.
pub(crate) async fn the_order_of_numbers_is_the_order_of_commits(world: World) {
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    let mut writers = JoinSet::new();
    for _ in 0..16 {
        let world = world.clone();
        writers.spawn(async move {
            for _ in 0..15 {
                let said = world.say(room, alex, "hello").await;
                let events = world.store.events_since(&[(room.into(), 0)], 1000).await.expect("events");
                let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
                assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
                assert!(seqs.len() as u64 >= said.seq, "what was answered can be read");
            }
        });
    }
    writers.join_all().await;
}

pub(crate) async fn a_nonce_is_written_once_however_many_send_it(world: World) {
    let [alex, sam] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    let mut writers = JoinSet::new();
    for writer in 0..100_usize {
        let world = world.clone();
        writers.spawn(async move {
            // Each of 25 nonces comes from four writers, with others in between.
            let own = message(room, sam, "own");
            let shared = with_nonce(message(room, alex, "shared"), &format!("n{}", writer % 25));
            let batch = if writer % 2 == 0 { vec![own, shared] } else { vec![shared, own] };
            let outcomes = world.store.append_messages(&batch).await.expect("an answer");
            let appended: Vec<Appended> =
                outcomes.into_iter().map(|outcome| outcome.expect("good")).collect();
            let shared = &appended[1 - writer % 2];
            (writer % 25, shared.event.clone(), shared.fresh)
        });
    }
    let mut answers: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for (nonce, event, fresh) in writers.join_all().await {
        answers.entry(nonce).or_default().push((event, fresh));
    }
    for (nonce, answers) in answers {
        assert_eq!(answers.iter().filter(|(_, fresh)| *fresh).count(), 1, "nonce {nonce}");
        assert!(answers.iter().all(|(event, _)| *event == answers[0].0), "one answer for all");
    }
    let page = world.page(alex, room).await;
    assert_whole(&page);
    assert_eq!(page.head, 2 + 100 + 25);
}

pub(crate) async fn opposite_orders_do_not_deadlock(world: World) {
    let [alex, sam, robin] = world.people().await;
    let mut rooms = Vec::new();
    for _ in 0..6 {
        rooms.push(world.group(&[alex, sam]).await);
    }
    let mut tasks = JoinSet::new();
    for task in 0..24_usize {
        let (world, mut order) = (world.clone(), rooms.clone());
        tasks.spawn(async move {
            if task % 2 == 0 {
                order.reverse();
            }
            let (room, reader) = (order[0], [alex, sam][task % 2]);
            for _ in 0..10 {
                match task % 4 {
                    // Inboxes and rooms, whose ids come in any order.
                    0 => drop(
                        world
                            .store
                            .add_members(alex, room, &[robin.into(), sam.into()])
                            .await
                            .expect("events"),
                    ),
                    1 => drop(world.store.remove_member(alex, room, robin.into()).await.expect("events")),
                    2 => drop(world.store.set_read(reader, room, 1).await.expect("read")),
                    _ => {}
                }
                let batch: Vec<NewMessage> = order.iter().map(|room| message(*room, alex, "hello")).collect();
                for outcome in world.store.append_messages(&batch).await.expect("an answer") {
                    outcome.expect("good");
                }
            }
        });
    }
    tasks.join_all().await;
    for room in rooms {
        assert_whole(&world.page(alex, room).await);
    }
}

pub(crate) async fn a_dm_asked_for_by_twenty_is_one(world: World) {
    let [alex, sam] = world.people().await;
    let mut tasks = JoinSet::new();
    for task in 0..20_usize {
        let world = world.clone();
        tasks.spawn(async move {
            let people = if task % 2 == 0 { [alex, sam] } else { [sam, alex] };
            let dm = NewRoom { kind: RoomKind::Dm, name: None, ..group(&people) };
            world.store.create_room(&dm).await.expect("the dm")
        });
    }
    let answers = tasks.join_all().await;
    let rooms: BTreeSet<RoomId> = answers.iter().map(|answer| answer.room).collect();
    assert_eq!(rooms.len(), 1);
    let creations: Vec<_> = answers.iter().filter(|answer| answer.created).collect();
    assert_eq!(creations.len(), 1);
    assert_eq!(creations[0].events.len(), 4);
    assert!(answers.iter().all(|answer| answer.created != answer.events.is_empty()));
    for user in [alex, sam] {
        assert_eq!(kinds(&world.inbox(user).await), ["room.added"]);
        assert_eq!(world.store.rooms(user.into(), None, 10).await.expect("rooms").len(), 1);
    }
}

pub(crate) async fn a_key_used_by_ten_makes_one_room(world: World) {
    let [alex, sam] = world.people().await;
    let mut tasks = JoinSet::new();
    for _ in 0..10 {
        let world = world.clone();
        tasks.spawn(async move {
            let new = NewRoom { key: Some("k".into()), ..group(&[alex, sam]) };
            world.store.create_room(&new).await.expect("the room")
        });
    }
    let answers = tasks.join_all().await;
    assert_eq!(answers.iter().filter(|answer| answer.created).count(), 1);
    assert_eq!(answers.iter().map(|answer| answer.room).collect::<BTreeSet<_>>().len(), 1);
    assert_eq!(world.store.rooms(sam.into(), None, 10).await.expect("rooms").len(), 1);
}

pub(crate) async fn who_is_removed_says_nothing_after_it(world: World) {
    let [alex, sam] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    let mut writers = JoinSet::new();
    for _ in 0..8 {
        let world = world.clone();
        writers.spawn(async move {
            let mut said = 0;
            loop {
                match world.append(message(room, sam, "still here")).await {
                    Ok(_) => said += 1,
                    Err(Refusal::NotFound("room")) => return said,
                    Err(other) => panic!("{other:?}"),
                }
            }
        });
    }
    while world.view(alex, room).await.head < 30 {
        tokio::task::yield_now().await;
    }
    world.store.remove_member(alex, room, sam.into()).await.expect("events");
    let said: usize = writers.join_all().await.into_iter().sum();
    let page = world.page(alex, room).await;
    assert_whole(&page);
    assert_eq!(page.events.len(), said + 3);
    let last = page.events.last().map(|event| event.kind.clone());
    assert_eq!(last, Some(EventKind::MemberLeft), "nothing of theirs comes after");
}

pub(crate) async fn joining_and_leaving_agree_with_the_log(world: World) {
    let [alex, sam, robin] = world.people().await;
    let room = world.group(&[alex]).await;
    let mut tasks = JoinSet::new();
    for task in 0..12_usize {
        let world = world.clone();
        tasks.spawn(async move {
            for turn in 0..8_usize {
                let user = [sam, robin][(task + turn) % 2];
                let users = if task % 3 == 0 { vec![sam.into(), robin.into()] } else { vec![user.into()] };
                if (task + turn) % 4 < 2 {
                    world.store.add_members(alex, room, &users).await.expect("events");
                } else {
                    world.store.remove_member(alex, room, user.into()).await.expect("events");
                }
            }
        });
    }
    tasks.join_all().await;
    let page = world.page(alex, room).await;
    assert_whole(&page);
    let now: BTreeSet<Principal> =
        world.view(alex, room).await.members.iter().map(|member| member.member).collect();
    for user in [sam, robin] {
        let mut inside = false;
        let mut begins = Vec::new();
        for event in page.events.iter().filter(|event| data(event)["user_id"] == user.to_string()) {
            let joins = event.kind == EventKind::MemberJoined;
            assert_ne!(joins, inside, "in and out take turns");
            inside = joins;
            if joins {
                begins.push(event.seq - 1);
            }
        }
        assert_eq!(now.contains(&user.into()), inside);
        let inbox = world.page(user, user).await;
        assert_whole(&inbox);
        let added = inbox.events.iter().filter(|event| event.kind == EventKind::RoomAdded);
        let heads: Vec<u64> = added.filter_map(|event| data(event)["head"].as_u64()).collect();
        assert_eq!(heads, begins, "each time delivery begins with their own coming");
    }
}

pub(crate) async fn owners_who_leave_together_leave_an_owner(world: World) {
    let people: [UserId; 6] = world.people().await;
    let room = world.group(&people).await;
    let mut tasks = JoinSet::new();
    for user in &people[..5] {
        let (world, user) = (world.clone(), *user);
        tasks.spawn(async move { world.store.remove_member(user, room, user.into()).await.expect("events") });
    }
    tasks.join_all().await;
    let members = world.view(people[5], room).await.members;
    assert_eq!(members.len(), 1);
    assert_eq!(members[0].role, domain::MemberRole::Owner);
}

pub(crate) async fn a_reaction_of_many_is_one(world: World) {
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    let said = world.say(room, alex, "hello").await;
    let reaction = Reaction { room, message: said.id, actor: alex.into(), emoji: "👍".into() };
    for expected in [EventKind::ReactionAdded, EventKind::ReactionRemoved] {
        let mut tasks = JoinSet::new();
        for _ in 0..10 {
            let (world, reaction, adds) =
                (world.clone(), reaction.clone(), expected == EventKind::ReactionAdded);
            tasks.spawn(async move {
                if adds {
                    world.store.add_reaction(&reaction).await.expect("an answer")
                } else {
                    world.store.remove_reaction(&reaction).await.expect("an answer")
                }
            });
        }
        let written: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
        assert_eq!(written.len(), 1);
        assert_eq!(written[0].kind, expected);
    }
    assert_eq!(world.page(alex, room).await.head, 4);
}

pub(crate) async fn an_edit_and_a_deletion_leave_no_text(world: World) {
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    for _ in 0..10 {
        let said = world.say(room, alex, "secret").await;
        let mut tasks = JoinSet::new();
        for task in 0..4 {
            let world = world.clone();
            tasks.spawn(async move {
                if task == 2 {
                    world.store.delete_message(alex.into(), room, said.id).await.expect("an answer");
                    return;
                }
                let data = serde_json::json!({ "event_id": said.id, "body": "secret", "mentions": [] });
                let edit = store::messages::MessageEdit {
                    room,
                    message: said.id,
                    actor: alex.into(),
                    id: domain::EventId::new(),
                    data: data.to_string().into(),
                };
                match world.store.edit_message(&edit).await {
                    Ok(_) | Err(store::StoreError::Refused(Refusal::MessageDeleted)) => {}
                    Err(other) => panic!("{other:?}"),
                }
            });
        }
        tasks.join_all().await;
    }
    let page = world.page(alex, room).await;
    assert_whole(&page);
    assert!(page.events.iter().all(|event| !event.data.contains("secret")));
}

pub(crate) async fn reading_on_many_devices_goes_forward(world: World) {
    let [alex, sam] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    for n in 3..=40 {
        world.say(room, alex, &n.to_string()).await;
    }
    let mut tasks = JoinSet::new();
    for device in 0..20_u64 {
        let world = world.clone();
        tasks.spawn(async move {
            for turn in 0..4 {
                let seq = (device * 7 + turn * 11) % 40 + 1;
                let (stands, events) = world.store.set_read(sam, room, seq).await.expect("read");
                assert!(stands >= seq);
                assert!(events.is_empty() || stands == seq);
            }
        });
    }
    tasks.join_all().await;
    let inbox = world.page(sam, sam).await;
    assert_whole(&inbox);
    let moves: Vec<u64> = inbox.events[1..].iter().filter_map(|event| data(event)["seq"].as_u64()).collect();
    assert!(moves.is_sorted_by(|one, next| one < next), "{moves:?}");
    assert_eq!(moves.last().copied(), Some(world.view(sam, room).await.last_read));
    let highest = (0..20).flat_map(|device| (0..4).map(move |turn| (device * 7 + turn * 11) % 40 + 1)).max();
    assert_eq!(moves.last().copied(), highest);
}
