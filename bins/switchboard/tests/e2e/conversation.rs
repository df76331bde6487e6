//! Two people talk over two api nodes and two gateways.

use std::collections::BTreeMap;

use client::api::{NewMessage, NewRoom, Range};
use domain::{DeviceKind, EventId};
use protocol::frame::{Event, Read, Typing};
use protocol::{ClientFrame, Encoding, ServerFrame};
use serde_json::json;
use testkit::cluster::ClusterOptions;

use crate::sse::{Message, Sse};
use crate::wire::{body, data, message, stream};
use crate::world::{World, in_both_worlds};

in_both_worlds!(
    a_pair_that_asks_at_once_gets_one_room,
    everybody_sees_the_same_messages_in_the_same_order,
    a_message_is_mentioned_edited_reacted_to_and_deleted,
    reading_moves_on_the_other_device_and_typing_shows_to_others,
    members_come_and_go_live_while_others_talk,
    the_same_nonce_is_the_same_message_wherever_it_is_sent,
    history_is_paged_both_ways,
    protobuf_and_json_talk_with_each_other,
    a_stream_of_events_goes_on_wherever_it_is_resumed,
);

async fn a_pair_that_asks_at_once_gets_one_room(options: ClusterOptions) {
    let world = World::on(options).await;
    for round in 0..10 {
        let alex = world.person(1, &format!("alex{round}")).await;
        let sam = world.person(2, &format!("sam{round}")).await;
        let (for_sam, for_alex) = (NewRoom::dm(sam.id), NewRoom::dm(alex.id));
        let (one, other, again) = tokio::join!(
            alex.api.create_room(&for_sam, None),
            sam.api.create_room(&for_alex, None),
            sam.api.create_room(&for_alex, None),
        );
        let one = one.expect("a room").id;
        assert_eq!(other.expect("a room").id, one);
        assert_eq!(again.expect("a room").id, one);
        for person in [&alex, &sam] {
            let rooms = person.api.rooms(None).await.expect("rooms").items;
            assert_eq!(rooms.iter().map(|room| room.id).collect::<Vec<_>>(), [one]);
            assert_eq!(rooms[0].members.len(), 2);
        }
    }
}

async fn everybody_sees_the_same_messages_in_the_same_order(options: ClusterOptions) {
    const EACH: usize = 200;
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut wires = [
        world.connect(&alex, 1).await,
        world.connect(&sam, 2).await,
        world.connect_device(&sam, sam.new_device(DeviceKind::Mobile).await, 1).await,
    ];
    for n in 0..EACH {
        wires[0].send(room, &format!("alex {n}"), &format!("n{n}")).await;
        wires[1].send(room, &format!("sam {n}"), &format!("n{n}")).await;
    }
    let mut seen = Vec::new();
    for wire in &mut wires {
        let mut events = Vec::new();
        while events.len() < 2 * EACH {
            events.push(wire.event_of("message.created").await);
        }
        seen.push(events);
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
    let first = seen[0][0].seq;
    for (event, seq) in seen[0].iter().zip(first..) {
        assert_eq!((event.seq, &event.stream), (seq, &stream(room)));
    }
    for who in ["alex", "sam"] {
        let said: Vec<String> = seen[0].iter().map(body).filter(|body| body.starts_with(who)).collect();
        assert_eq!(said, (0..EACH).map(|n| format!("{who} {n}")).collect::<Vec<_>>());
    }
}

async fn a_message_is_mentioned_edited_reacted_to_and_deleted(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let robin = world.person(1, "robin").await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut wire = world.connect(&sam, 2).await;
    // Robin is not in the room, and nobody is called nobody.
    let said = NewMessage::new("Soup, @sam? @robin @nobody secret-one");
    let message = alex.api.send_message(room, &said).await.expect("sent").event;
    assert_eq!(data(&message)["mentions"], json!([sam.id]));
    assert_eq!(wire.next_in(room, "message.created").await, message);

    let elsewhere = alex.at(&world, 2);
    let id = EventId(message.id);
    let edited = elsewhere.edit_message(room, id, "Salad, @alex! secret-two").await.expect("edited");
    let seen = wire.next_in(room, "message.edited").await;
    assert_eq!(Some(&seen), edited.as_ref());
    assert_eq!(data(&seen)["event_id"], json!(message.id));
    assert_eq!(data(&seen)["mentions"], json!([alex.id]));
    // It is Alex's message.
    let refused = sam.api.edit_message(room, id, "Cake").await.expect_err("refused");
    assert_eq!((refused.status(), refused.code()), (Some(403), "forbidden"));

    for (person, node) in [(&sam, 1), (&alex, 2), (&sam, 2)] {
        person.at(&world, node).add_reaction(room, id, "\u{1f35c}").await.expect("added");
    }
    for who in [&sam, &alex] {
        let added = wire.next_in(room, "reaction.added").await;
        assert_eq!(added.sender.id, Some(who.id.0));
        assert_eq!(data(&added)["emoji"], "\u{1f35c}");
    }
    sam.api.remove_reaction(room, id, "\u{1f35c}").await.expect("removed");
    sam.at(&world, 1).remove_reaction(room, id, "\u{1f35c}").await.expect("removed before");
    assert_eq!(wire.next_in(room, "reaction.removed").await.sender.id, Some(sam.id.0));

    let refused = sam.api.delete_message(room, id).await.expect_err("neither the sender nor an owner");
    assert_eq!(refused.status(), Some(403));
    alex.api.delete_message(room, id).await.expect("deleted");
    elsewhere.delete_message(room, id).await.expect("deleted before");
    assert_eq!(data(&wire.next_in(room, "message.deleted").await)["event_id"], json!(message.id));
    let refused = elsewhere.edit_message(room, id, "Salad").await.expect_err("refused");
    assert_eq!((refused.status(), refused.code()), (Some(409), "message_deleted"));

    // Nothing of the text is left: not in the history, not in a replay.
    let history = sam.at(&world, 1).events(room, &Range::After(0), Some(1000)).await.expect("history");
    let created = history.items.iter().find(|event| event.id == message.id).expect("its event");
    assert_eq!((data(created)["body"].as_str(), &data(created)["deleted"]), (Some(""), &json!(true)));
    let mut back = world.hello(&sam, 1, Encoding::Json).await;
    let cursors = [(stream(room), 0)].into_iter().collect::<BTreeMap<_, _>>();
    back.identify_from(sam.device, cursors.try_into().expect("cursors"), None).await;
    let replayed = back.until_live().await;
    assert_eq!(replayed.len() as u64, history.head);
    for text in [format!("{:?}", history.items), format!("{replayed:?}")] {
        assert!(!text.contains("secret"), "{text}");
    }
    assert!(robin.api.events(room, &Range::Newest, None).await.is_err());
}

async fn reading_moves_on_the_other_device_and_typing_shows_to_others(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let desk = world.connect(&alex, 1).await;
    let mut phone = world.connect_device(&alex, alex.new_device(DeviceKind::Mobile).await, 2).await;
    let mut sams = world.connect(&sam, 2).await;
    let head = sam.says(room, "Soup?").await;

    desk.say(&ClientFrame::Read(Read { room_id: room.0, seq: head })).await;
    let moved = phone.event_of("read.moved").await;
    assert_eq!(
        (moved.stream.clone(), data(&moved)),
        (format!("user:{}", alex.id), json!({"room_id": room, "seq": head}))
    );
    // It never goes back, and not beyond what there is.
    assert_eq!(alex.at(&world, 2).read(room, 1).await.expect("the stand"), head);
    let beyond = alex.api.read(room, head + 1).await.expect_err("beyond the head");
    assert_eq!((beyond.status(), beyond.code()), (Some(400), "invalid_field"));
    assert_eq!(alex.at(&world, 2).room(room).await.expect("the room").last_read, head);

    desk.say(&ClientFrame::Typing(Typing { room_id: room.0 })).await;
    let typing = |frame: &ServerFrame| match frame {
        ServerFrame::Typing(typing) => Some(typing.clone()),
        _ => None,
    };
    let shown = sams.find(typing).await;
    assert_eq!((shown.room_id, shown.user_id), (room.0, alex.id.0));
    // By REST, and to both of Alex's devices.
    sam.api.typing(room).await.expect("taken");
    assert_eq!(phone.find(typing).await.user_id, sam.id.0);
    // What Alex types is not shown to Alex, nor Sam's reading to anybody else.
    sam.api.read(room, head).await.expect("read");
    sams.event_of("read.moved").await;
    sam.says(room, "Hello?").await;
    let passed = phone.until_event("message.created").await;
    assert!(passed.iter().all(|frame| typing(frame).is_none()), "{passed:?}");
    assert!(!format!("{passed:?}").contains("read.moved"), "{passed:?}");
}

async fn members_come_and_go_live_while_others_talk(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[]).await;
    let other = alex.room("Other", &[&sam]).await;
    let mut wire = world.connect(&sam, 2).await;
    let talker = world.connect(&alex, 1).await;
    for round in 0..8 {
        // Alex talks all the time, on the other gateway, and changes members on either api node.
        let api = alex.at(&world, 1 + round % 2);
        let talk = async {
            for n in 0..60 {
                talker.send(room, &format!("{round}.{n}"), &format!("{round}.{n}")).await;
                tokio::task::yield_now().await;
            }
        };
        let mut events = Vec::new();
        let come_and_go = async {
            api.add_members(room, &[sam.id]).await.expect("added");
            let between = alex.says(room, "in between").await;
            // In every other round Sam is gone again before anything of the room may have come.
            while round % 2 == 0
                && events
                    .last()
                    .is_none_or(|event: &Event| event.stream != stream(room) || event.seq < between)
            {
                events.push(wire.event().await);
            }
            api.remove_member(room, sam.id).await.expect("removed");
        };
        tokio::join!(talk, come_and_go);
        alex.says(room, "after").await;
        alex.says(other, "the end").await;
        // Of two streams either may be ahead.
        let has = |events: &[Event], what: &dyn Fn(&Event) -> bool| events.iter().any(what);
        while !has(&events, &|event| event.kind == "room.removed")
            || !has(&events, &|event| event.stream == stream(other))
        {
            events.push(wire.event().await);
        }

        events.retain(|event| event.stream != stream(other));
        let added = &events[0];
        assert_eq!((added.kind.as_str(), &data(added)["room_id"]), ("room.added", &json!(room)));
        let removed = events.iter().find(|event| event.kind == "room.removed").expect("told");
        let of_room: Vec<&Event> = events.iter().filter(|event| event.stream == stream(room)).collect();
        // From the own join on, without a hole, and nothing of what came after.
        let first = data(added)["head"].as_u64().expect("a number") + 1;
        let last = first + of_room.len() as u64;
        assert_eq!(
            of_room.iter().map(|event| event.seq).collect::<Vec<_>>(),
            (first..last).collect::<Vec<_>>()
        );
        assert!(data(removed)["seq"].as_u64().is_some_and(|seq| last <= seq), "{last}: {removed:?}");
        assert!(of_room.first().is_none_or(|event| event.kind == "member.joined"), "{of_room:?}");
        assert_eq!(events.len(), of_room.len() + 2);
        assert!(round % 2 == 1 || of_room.iter().any(|event| event.data.get().contains("in between")));
        assert!(sam.api.room(room).await.is_err());
        let refused =
            sam.at(&world, 1).send_message(room, &NewMessage::new("Hello?")).await.expect_err("refused");
        assert_eq!((refused.status(), refused.code()), (Some(404), "not_found"));
    }
}

async fn the_same_nonce_is_the_same_message_wherever_it_is_sent(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut wire = world.connect(&alex, 1).await;
    let mut sams = world.connect(&sam, 2).await;
    let elsewhere = alex.at(&world, 2);
    for round in 0..20 {
        let said = NewMessage { nonce: format!("round-{round}"), ..NewMessage::new("Soup?") };
        wire.say(&message(room, "Soup?", &said.nonce)).await;
        let (one, other) =
            tokio::join!(alex.api.send_message(room, &said), elsewhere.send_message(room, &said));
        let (one, other) = (one.expect("sent"), other.expect("sent"));
        assert_eq!(one.event, other.event);
        let sent = wire
            .find(|frame| match frame {
                ServerFrame::Sent(sent) => Some(sent.clone()),
                _ => None,
            })
            .await;
        assert_eq!((sent.seq, sent.id), (one.event.seq, one.event.id));
        assert!(!(one.is_new && other.is_new), "both are new");
        let again = elsewhere.send_message(room, &said).await.expect("sent");
        assert_eq!((&again.event, again.is_new), (&one.event, false));
        assert_eq!(sams.next_event_is("message.created").await, one.event);
    }
    // The same text of another person is another message.
    let said = NewMessage { nonce: "round-0".into(), ..NewMessage::new("Soup?") };
    assert!(sam.api.send_message(room, &said).await.expect("sent").is_new);
}

async fn history_is_paged_both_ways(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut head = 0;
    for n in 0..25 {
        head = alex.says(room, &format!("{n}")).await;
    }
    let whole = alex.api.events(room, &Range::After(0), Some(1000)).await.expect("a page");
    assert_eq!((whole.floor, whole.head, whole.next), (0, head, None));
    assert_eq!(whole.items.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=head).collect::<Vec<_>>());
    for begin in [Range::After(3), Range::Before(20), Range::Newest] {
        let mut pages = Vec::new();
        let mut range = begin.clone();
        // Each page from the other node.
        for node in [1, 2].into_iter().cycle() {
            let page = sam.at(&world, node).events(room, &range, Some(7)).await.expect("a page");
            assert_eq!((page.floor, page.head), (0, head));
            assert!(page.items.len() <= 7 && page.items.is_sorted_by_key(|event| event.seq));
            pages.push(page.items);
            match page.next {
                Some(next) => range = Range::Next(next),
                None => break,
            }
        }
        if !matches!(begin, Range::After(_)) {
            pages.reverse();
        }
        let expected = match begin {
            Range::After(seq) => &whole.items[seq as usize..],
            Range::Before(seq) => &whole.items[..seq as usize - 1],
            _ => &whole.items[..],
        };
        assert_eq!(pages.concat(), expected, "{begin:?}");
    }
}

async fn protobuf_and_json_talk_with_each_other(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut json = world.connect(&alex, 1).await;
    let mut proto = world.hello(&sam, 2, Encoding::Proto).await;
    proto.identify(sam.device).await;
    proto.until_live().await;
    assert_eq!(proto.ready().rooms, {
        let mut rooms = json.ready().rooms.clone();
        rooms[0].last_read = proto.ready().rooms[0].last_read;
        rooms
    });
    let texts = ["Soup?", "Salad, @alex. \u{1f957}", "\"quoted\"\n\\ and a tab\t"];
    for (n, text) in texts.into_iter().enumerate() {
        let sender = if n % 2 == 0 { &json } else { &proto };
        sender.send(room, text, &format!("{n}")).await;
        let (one, other) = (json.event_of("message.created").await, proto.event_of("message.created").await);
        assert_eq!((body(&one).as_str(), &one), (text, &other));
    }
    let said = alex.api.events(room, &Range::Newest, Some(1)).await.expect("a page").items.remove(0);
    alex.api.edit_message(room, EventId(said.id), "Cake").await.expect("edited");
    assert_eq!(json.next_in(room, "message.edited").await, proto.next_in(room, "message.edited").await);
    proto.say(&ClientFrame::Typing(Typing { room_id: room.0 })).await;
    json.find(|frame| matches!(frame, ServerFrame::Typing(_)).then_some(())).await;
    json.say(&ClientFrame::Typing(Typing { room_id: room.0 })).await;
    proto.find(|frame| matches!(frame, ServerFrame::Typing(_)).then_some(())).await;
    proto.say(&ClientFrame::Read(Read { room_id: room.0, seq: said.seq })).await;
    assert_eq!(data(&proto.next_event_is("read.moved").await), json!({"room_id": room, "seq": said.seq}));
    // Refused, with the nonce, and the connection goes on.
    proto.send(room, "", "empty").await;
    assert_eq!(proto.error().await, "invalid_field");
    // Gone and back, on the other gateway.
    let (session, mut cursors) = (proto.ready().session_id, proto.cursors());
    drop(proto);
    json.send(room, "Are you there?", "there").await;
    cursors.insert(stream(room), json.event_of("message.created").await.seq - 1).expect("a stream");
    let mut back = world.hello(&sam, 1, Encoding::Proto).await;
    back.resume(session, cursors).await;
    let replayed = back.until_live().await;
    assert!(
        matches!(&replayed[..], [ServerFrame::Event(event), ..] if body(event) == "Are you there?"),
        "{replayed:?}"
    );
}

async fn a_stream_of_events_goes_on_wherever_it_is_resumed(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut stream = Sse::open(&sam.at(&world, 1), Some(sam.device), None).await;
    let before = stream.until_live().await;
    assert_eq!(before.iter().map(Message::op).collect::<Vec<_>>(), ["hello", "ready"]);
    let mut seqs = Vec::new();
    for (n, node) in [(0, 2), (1, 1), (2, 2), (3, 1)] {
        // Sent by REST at both nodes, and by a socket.
        let sent =
            alex.at(&world, node).send_message(room, &NewMessage::new(n.to_string())).await.expect("sent");
        seqs.push(sent.event.seq);
        assert_eq!(stream.event().await, on_the_wire(&sent.event));
    }
    let last = stream.last_id.clone().expect("an id");
    drop(stream);
    let mut missed = Vec::new();
    for n in 0..10 {
        missed.push(alex.says(room, &format!("missed {n}")).await);
    }
    sam.api.read(room, missed[3]).await.expect("read");
    for node in [2, 1] {
        // With a device or without one.
        let device = (node == 2).then_some(sam.device);
        let mut stream = Sse::open(&sam.at(&world, node), device, Some(&last)).await;
        let replayed = stream.until_live().await;
        let mut of_room = Vec::new();
        let mut others = Vec::new();
        for message in replayed.iter().filter(|message| message.op() == "event") {
            match message.data["kind"].as_str() {
                Some("message.created") => of_room.push(message.data["seq"].as_u64().expect("a number")),
                other => others.push(other),
            }
        }
        assert_eq!((of_room, others), (missed.clone(), vec![Some("read.moved")]));
        let said = alex.says(room, "back").await;
        assert_eq!(stream.event().await["seq"], json!(said));
        missed.push(said);
    }
    for (id, status) in [("rubbish", 400), (&last[..last.len() - 4], 400)] {
        let answer = Sse::ask(&sam.api, None, Some(id)).await;
        assert_eq!(answer.status(), status, "{id}");
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
    }
}

fn on_the_wire(event: &Event) -> serde_json::Value {
    let mut frame = serde_json::to_value(event).expect("JSON");
    frame["op"] = json!("event");
    frame
}
