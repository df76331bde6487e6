//! Messages: appending, editing, deleting, reacting.

use domain::{EventId, EventKind, RoomId, Sender, UserId};
use store::messages::{Appended, MessageEdit, NewMessage, Reaction};
use store::{Refusal, StoreError};

use super::world::{World, assert_whole, data, kinds, message, refused, with_nonce};

const NO_ROOM: Refusal = Refusal::NotFound("room");
const NO_MESSAGE: Refusal = Refusal::NotFound("message");
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

pub(crate) async fn a_message_is_kept_as_it_was_sent(world: World) {
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    let sent = NewMessage {
        // Spaces, order and escapes stay.
        data: r#"{ "z": 1,  "body": "zażółć \"gęślą\" \\ \u00e4 🦀", "a": [1e3] }"#.into(),
        nonce: Some("n1".into()),
        trace: Some(TRACE.into()),
        ..message(room, alex, "")
    };
    let appended = world.append(sent.clone()).await.expect("a good message");
    assert!(appended.fresh);
    let event = appended.event;
    assert_eq!((event.seq, event.id, event.stream), (2, sent.id, room.into()));
    assert_eq!((&event.kind, event.sender), (&EventKind::MessageCreated, Sender::User(alex)));
    assert_eq!((&event.data, &event.trace), (&sent.data, &sent.trace));
    let page = world.page(alex, room).await;
    assert_eq!(page.events[1], event, "what is answered is what is kept");
    assert_whole(&page);
}

pub(crate) async fn a_batch_is_numbered_in_its_order(world: World) {
    let [alex, sam] = world.people().await;
    let rooms = [world.group(&[alex, sam]).await, world.group(&[sam, alex]).await];
    let batch: Vec<NewMessage> =
        (0..20).map(|n| message(rooms[n % 3 % 2], [alex, sam][n % 2], &format!("message {n}"))).collect();
    let outcomes = world.store.append_messages(&batch).await.expect("an answer");
    let events: Vec<_> = outcomes.into_iter().map(|outcome| outcome.expect("good").event).collect();
    for (event, message) in events.iter().zip(&batch) {
        assert_eq!((event.id, event.stream), (message.id, message.room.into()));
    }
    for room in rooms {
        let page = world.page(alex, room).await;
        assert_whole(&page);
        let ours: Vec<_> = events.iter().filter(|event| event.stream == room.into()).cloned().collect();
        assert_eq!(page.events[2..], ours);
    }
}

pub(crate) async fn a_refused_message_takes_no_number(world: World) {
    let [alex, sam, robin] = world.people().await;
    let (room, other) = (world.group(&[alex, robin]).await, world.group(&[alex, sam]).await);
    let elsewhere = world.say(other, alex, "elsewhere").await;
    let here = world.say(room, alex, "here").await;
    let joined = world.events(alex, room).await.remove(0);
    world.disable(robin).await;
    let reply = |to: EventId| NewMessage { reply_to: Some(to), ..message(room, alex, "reply") };
    let bad_reply = Err(Refusal::Invalid("reply_to", "a message of this room"));
    let batch_and_verdicts = [
        (message(room, alex, "one"), Ok(4)),
        (message(room, sam, "not a member"), Err(NO_ROOM)),
        (message(RoomId::new(), alex, "no such room"), Err(NO_ROOM)),
        (message(room, UserId::new(), "no such person"), Err(NO_ROOM)),
        (message(room, robin, "disabled"), Err(NO_ROOM)),
        (reply(here.id), Ok(5)),
        (reply(elsewhere.id), bad_reply),
        (reply(joined.id), bad_reply),
        (reply(EventId::new()), bad_reply),
        (message(room, alex, "two"), Ok(6)),
    ];
    let (batch, expected): (Vec<_>, Vec<_>) = batch_and_verdicts.into_iter().unzip();
    let outcomes = world.store.append_messages(&batch).await.expect("an answer");
    let verdicts: Vec<_> =
        outcomes.into_iter().map(|outcome| outcome.map(|appended| appended.event.seq)).collect();
    assert_eq!(verdicts, expected);
    let page = world.page(alex, room).await;
    assert_eq!(page.head, 6);
    assert_whole(&page);
}

pub(crate) async fn a_nonce_makes_a_send_repeatable(world: World) {
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    let first = NewMessage { trace: Some(TRACE.into()), ..with_nonce(message(room, alex, "first"), "n") };
    let written = world.append(first.clone()).await.expect("a good message");
    let again = world.append(with_nonce(message(room, alex, "second"), "n")).await.expect("a repeat");
    assert!(!again.fresh);
    assert_eq!(again.event, written.event, "the answer of the first call");

    let batch = [
        with_nonce(message(room, alex, "a"), "m"),
        with_nonce(message(room, alex, "b"), "m"),
        with_nonce(message(room, alex, "c"), "n"),
        with_nonce(message(room, alex, "d"), "m"),
    ];
    let outcomes = world.store.append_messages(&batch).await.expect("an answer");
    let outcomes: Vec<_> = outcomes.into_iter().map(|outcome| outcome.expect("good")).collect();
    let fresh: Vec<bool> = outcomes.iter().map(|appended| appended.fresh).collect();
    assert_eq!(fresh, [true, false, false, false]);
    assert_eq!(outcomes[0].event.id, batch[0].id);
    assert_eq!(outcomes[1].event, outcomes[0].event);
    assert_eq!(outcomes[2].event, written.event);
    assert_eq!(outcomes[3].event, outcomes[0].event);
    assert_eq!(world.page(alex, room).await.head, 3);
}

pub(crate) async fn a_nonce_counts_per_room_and_sender(world: World) {
    let [alex, sam] = world.people().await;
    let (one, other) = (world.group(&[alex, sam]).await, world.group(&[alex, sam]).await);
    let batch = [(one, alex), (one, sam), (other, alex), (other, sam)]
        .map(|(room, sender)| with_nonce(message(room, sender, "hello"), "n"));
    for outcome in world.store.append_messages(&batch).await.expect("an answer") {
        assert!(outcome.expect("good").fresh);
    }
}

pub(crate) async fn a_nonce_of_a_refused_message_is_free(world: World) {
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    let bad = NewMessage { reply_to: Some(EventId::new()), ..with_nonce(message(room, alex, "bad"), "n") };
    let batch = [bad, with_nonce(message(room, alex, "good"), "n")];
    let outcomes = world.store.append_messages(&batch).await.expect("an answer");
    assert!(outcomes[0].is_err());
    assert!(outcomes[1].as_ref().expect("good").fresh);
    assert_eq!(world.page(alex, room).await.head, 2);
}

/// What becomes of a send must not hang on which others it was combined with.
pub(crate) async fn a_repeat_is_one_whatever_it_replies_to(world: World) {
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    let good = with_nonce(message(room, alex, "good"), "n");
    let bad = NewMessage { reply_to: Some(EventId::new()), ..with_nonce(message(room, alex, "bad"), "n") };
    // Before the good one it is refused; behind it, in its batch or after its commit, it repeats it.
    let outcomes =
        world.store.append_messages(&[bad.clone(), good.clone(), bad.clone()]).await.expect("outcomes");
    let bad_reply = Refusal::Invalid("reply_to", "a message of this room");
    assert_eq!(outcomes[0], Err(bad_reply));
    let written = outcomes[1].clone().expect("written");
    assert_eq!((written.event.id, written.fresh), (good.id, true));
    let repeated = Ok(Appended { fresh: false, ..written });
    assert_eq!(outcomes[2], repeated);
    let later = world.store.append_messages(&[bad]).await.expect("outcomes");
    assert_eq!(later[0], repeated);
}

pub(crate) async fn an_id_makes_a_send_repeatable(world: World) {
    let [alex, sam] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    let sent = message(room, alex, "once");
    let first = world.append(sent.clone()).await.expect("good");
    let again = world.append(sent.clone()).await.expect("a repeat");
    assert_eq!((again.fresh, &again.event), (false, &first.event));
    let twice = message(room, alex, "twice in a batch");
    let outcomes = world.store.append_messages(&[twice.clone(), twice.clone()]).await.expect("an answer");
    let fresh: Vec<bool> = outcomes.iter().map(|outcome| outcome.as_ref().expect("good").fresh).collect();
    assert_eq!(fresh, [true, false]);
    for other in [
        NewMessage { sender: sam.into(), ..sent.clone() },
        NewMessage { nonce: Some("n".into()), ..sent.clone() },
    ] {
        assert_eq!(world.append(other).await, Err(Refusal::NonceReused));
    }
    let joined = world.events(alex, room).await.remove(0);
    let of_another_kind = NewMessage { id: joined.id, ..message(room, alex, "") };
    assert_eq!(world.append(of_another_kind).await, Err(Refusal::NonceReused));
}

pub(crate) async fn what_is_no_json_fails_the_whole_batch(world: World) {
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    for broken in ["", "{"] {
        let bad = NewMessage { data: broken.into(), ..message(room, alex, "") };
        let outcome = world.store.append_messages(&[message(room, alex, "good"), bad]).await;
        assert!(matches!(outcome, Err(StoreError::Internal(_))), "{outcome:?}");
        assert_eq!(world.page(alex, room).await.head, 1);
    }
    world.say(room, alex, "and the store goes on").await;
}

pub(crate) async fn nothing_is_appended_for_an_empty_batch(world: World) {
    assert_eq!(world.store.append_messages(&[]).await.expect("an answer"), []);
}

fn edit(room: RoomId, message: EventId, actor: UserId, body: &str) -> MessageEdit {
    let data = serde_json::json!({ "event_id": message, "body": body, "mentions": [] });
    MessageEdit { room, message, actor: actor.into(), id: EventId::new(), data: data.to_string().into() }
}

pub(crate) async fn only_the_sender_edits(world: World) {
    let [alex, sam] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    let said = world.say(room, sam, "helo").await;
    let event = world.store.edit_message(&edit(room, said.id, sam, "hello")).await.expect("an edit");
    assert_eq!((event.seq, &event.kind), (4, &EventKind::MessageEdited));
    assert_eq!(data(&event)["body"], "hello");
    let events = world.events(alex, room).await;
    assert_eq!(events[2], said, "history keeps both");
    assert_eq!(events[3], event);

    let attempts = [
        (edit(room, said.id, alex, "owners may not"), Refusal::Forbidden),
        (edit(room, EventId::new(), sam, "no such message"), NO_MESSAGE),
        (edit(room, event.id, sam, "an edit is no message"), NO_MESSAGE),
        (edit(RoomId::new(), said.id, sam, "another room"), NO_ROOM),
    ];
    for (attempt, expected) in attempts {
        assert_eq!(refused(world.store.edit_message(&attempt).await), expected);
    }
    world.store.delete_message(sam.into(), room, said.id).await.expect("an answer").expect("an event");
    let late = world.store.edit_message(&edit(room, said.id, sam, "late")).await;
    assert_eq!(refused(late), Refusal::MessageDeleted);
}

pub(crate) async fn an_edit_is_repeatable(world: World) {
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    let said = world.say(room, alex, "helo").await;
    let attempt = edit(room, said.id, alex, "hello");
    let first = world.store.edit_message(&attempt).await.expect("an edit");
    let again = world.store.edit_message(&attempt).await.expect("the same edit");
    assert_eq!(again, first);
    let of_another = MessageEdit { id: said.id, ..edit(room, said.id, alex, "hello") };
    assert_eq!(refused(world.store.edit_message(&of_another).await), Refusal::NonceReused);
    assert_eq!(world.page(alex, room).await.head, 3);
}

pub(crate) async fn a_deleted_message_keeps_no_text(world: World) {
    let [alex, sam] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    let said = world.append(with_nonce(message(room, sam, "secret one"), "n")).await.expect("good").event;
    let other = world.say(room, sam, "another").await;
    world.store.edit_message(&edit(room, said.id, sam, "secret two")).await.expect("an edit");
    let kept = world.store.edit_message(&edit(room, other.id, sam, "kept")).await.expect("an edit");
    let heart = Reaction { room, message: said.id, actor: alex.into(), emoji: "❤".into() };
    world.store.add_reaction(&heart).await.expect("an answer").expect("an event");

    let gone =
        world.store.delete_message(sam.into(), room, said.id).await.expect("an answer").expect("an event");
    assert_eq!((&gone.kind, gone.sender), (&EventKind::MessageDeleted, Sender::User(sam)));
    assert_eq!(data(&gone), serde_json::json!({ "event_id": said.id }));
    let page = world.page(alex, room).await;
    assert_whole(&page);
    for event in &page.events {
        assert!(!event.data.contains("secret"), "{}", event.data);
    }
    let original = data(&page.events[2]);
    assert_eq!((&original["body"], &original["deleted"]), (&"".into(), &true.into()));
    let edited = data(&page.events[4]);
    assert_eq!((&edited["body"], &edited["deleted"]), (&"".into(), &true.into()));
    assert_eq!(edited["event_id"], said.id.to_string(), "what it was about stays known");
    assert_eq!(page.events[3], other);
    assert_eq!(page.events[5], kept);

    assert_eq!(world.store.delete_message(sam.into(), room, said.id).await.expect("an answer"), None);
    assert_eq!(refused(world.store.add_reaction(&heart).await), Refusal::MessageDeleted);
    assert_eq!(world.store.remove_reaction(&heart).await.expect("an answer"), None);
    let again = world.append(with_nonce(message(room, sam, "secret one"), "n")).await.expect("a repeat");
    assert_eq!((again.fresh, again.event), (false, page.events[2].clone()));
    assert_eq!(world.page(alex, room).await.head, page.head);
}

pub(crate) async fn owners_delete_too(world: World) {
    let [alex, sam, robin] = world.people().await;
    let room = world.group(&[alex, sam, robin]).await;
    let said = world.say(room, sam, "hello").await;
    let attempt = world.store.delete_message(robin.into(), room, said.id).await;
    assert_eq!(refused(attempt), Refusal::Forbidden);
    let attempt = world.store.delete_message(alex.into(), room, EventId::new()).await;
    assert_eq!(refused(attempt), NO_MESSAGE);
    let gone =
        world.store.delete_message(alex.into(), room, said.id).await.expect("an answer").expect("an event");
    assert_eq!(gone.sender, Sender::User(alex));
}

pub(crate) async fn reactions_count_once(world: World) {
    let [alex, sam] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    let said = world.say(room, alex, "hello").await;
    let of = |actor: UserId, emoji: &str| Reaction {
        room,
        message: said.id,
        actor: actor.into(),
        emoji: emoji.into(),
    };
    let added = world.store.add_reaction(&of(sam, "👍")).await.expect("an answer").expect("an event");
    assert_eq!((&added.kind, added.seq), (&EventKind::ReactionAdded, 4));
    assert_eq!(data(&added), serde_json::json!({ "event_id": said.id, "emoji": "👍" }));
    assert_eq!(world.store.add_reaction(&of(sam, "👍")).await.expect("an answer"), None);
    for other in [of(sam, "🎉"), of(alex, "👍")] {
        world.store.add_reaction(&other).await.expect("an answer").expect("an event");
    }
    let removed = world.store.remove_reaction(&of(sam, "👍")).await.expect("an answer").expect("an event");
    assert_eq!(removed.kind, EventKind::ReactionRemoved);
    assert_eq!(world.store.remove_reaction(&of(sam, "👍")).await.expect("an answer"), None);
    world.store.add_reaction(&of(sam, "👍")).await.expect("an answer").expect("an event");
    let nowhere = Reaction { message: EventId::new(), ..of(sam, "👍") };
    assert_eq!(refused(world.store.add_reaction(&nowhere).await), NO_MESSAGE);
    assert_eq!(refused(world.store.remove_reaction(&nowhere).await), NO_MESSAGE);
    let page = world.page(alex, room).await;
    assert_whole(&page);
    let expected =
        ["reaction.added", "reaction.added", "reaction.added", "reaction.removed", "reaction.added"];
    assert_eq!(kinds(&page.events)[3..], expected);
}

pub(crate) async fn outsiders_find_nothing(world: World) {
    let [alex, sam, robin] = world.people().await;
    let (room, other) = (world.group(&[alex, sam]).await, world.group(&[robin]).await);
    let said = world.say(room, alex, "hello").await;
    world.disable(sam).await;
    for (outsider, at) in [(robin, room), (sam, room), (alex, RoomId::new())] {
        let reaction = Reaction { room: at, message: said.id, actor: outsider.into(), emoji: "👍".into() };
        assert_eq!(refused(world.store.edit_message(&edit(at, said.id, outsider, "x")).await), NO_ROOM);
        assert_eq!(refused(world.store.delete_message(outsider.into(), at, said.id).await), NO_ROOM);
        assert_eq!(refused(world.store.add_reaction(&reaction).await), NO_ROOM);
        assert_eq!(refused(world.store.remove_reaction(&reaction).await), NO_ROOM);
    }
    let from_elsewhere =
        Reaction { room: other, message: said.id, actor: robin.into(), emoji: "👍".into() };
    assert_eq!(refused(world.store.add_reaction(&from_elsewhere).await), NO_MESSAGE);
    assert_eq!(world.view(alex, room).await.head, 3);
}
