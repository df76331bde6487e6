//! Notifications: made in the commit of what they are about, once, and as they stand.

use std::time::Duration;

use domain::{EventId, EventKind, NotificationId, NotificationKind, Principal, RunStatus, Sender, UserId};
use serde_json::json;
use store::Refusal;
use store::messages::{MessageEdit, NewMessage};
use store::notifications::{ReadWhat, Recipient, Unread};
use store::rooms::RoomSettings;
use store::runs::RescueRules;
use store::tools::NewToolCall;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::notice_scene::{Told, dm, mentioning, notification_of, says};
use super::scene::{PATIENT, Scene};
use super::tools::{answer, call, called, new_call};
use super::world::{World, assert_whole, data, message, refused, with_nonce};

pub(crate) async fn a_mention_notifies_in_its_commit(world: World) {
    let told = Told::new(world).await;
    let said = mentioning(message(told.room, told.alex, "look"), &[told.sam]);
    let appended = told.append(said.clone()).await.expect("good");
    let [event] = &*appended.notified else { panic!("{:?}", appended.notified) };
    assert_eq!((event.stream, event.sender), (told.sam.into(), Sender::User(told.alex)));
    assert_eq!(told.inbox(told.sam).await.last(), Some(event), "what is given is what is in the log");
    let listed = told.notices(told.sam).await;
    let [notification] = &*listed else { panic!("{listed:?}") };
    assert_eq!((data(event), notification.id), (says(notification), notification_of(event)));
    assert_eq!((notification.user, notification.source), (told.sam, said.id.0));
    assert_eq!((notification.seq, notification.facts.room), (appended.event.seq, told.room));
    assert_eq!(notification.sender, Sender::User(told.alex));
    assert_eq!(notification.room_name.as_deref(), Some("Garden"));
    assert_eq!(notification.body.as_deref(), Some("look"));
    assert_eq!((notification.run_status, &notification.tool, notification.decision), (None, &None, None));
    let facts = &notification.facts;
    assert_eq!(facts.kind, NotificationKind::Mention);
    let none = [facts.is_author, facts.disabled, facts.muted, facts.read, facts.withdrawn, facts.left];
    assert_eq!(none, [false; 6]);
    assert_eq!(told.traced(told.sam, notification.id).await, (notification.clone(), vec![]));
    let elsewhere = told.store.notification_trace(told.alex, notification.id).await.expect("an answer");
    assert_eq!(elsewhere, None, "it is not theirs");
    assert_eq!(told.unread(told.sam).await, Unread { total: 1, rooms: vec![(told.room, 1)] });
    assert_eq!(told.unread(told.alex).await, Unread::default());
}

pub(crate) async fn what_is_said_again_notifies_nobody(world: World) {
    let told = Told::new(world).await;
    let robin = told.person().await;
    let by_nonce = with_nonce(mentioning(message(told.room, told.alex, "look"), &[told.sam]), "n");
    let again = NewMessage { id: EventId::new(), ..by_nonce.clone() };
    for (message, fresh) in [(&by_nonce, 1), (&again, 0), (&by_nonce, 0)] {
        assert_eq!(told.append(message.clone()).await.expect("good").notified.len(), fresh);
    }
    let by_id = mentioning(message(told.room, told.alex, "look"), &[told.sam]);
    for fresh in [1, 0] {
        assert_eq!(told.append(by_id.clone()).await.expect("good").notified.len(), fresh);
    }
    // Said again, it is the message of then: whoever came since is not told.
    told.store.add_members(told.alex, told.room, &[robin.into()]).await.expect("added");
    let more = mentioning(by_id.clone(), &[told.sam, robin]);
    assert_eq!(told.append(more).await.expect("good").notified, []);
    // An id that something else has is refused, and nobody is told of that.
    let other = told.group(&[told.alex, robin]).await;
    let stolen = mentioning(NewMessage { id: by_id.id, ..message(other, told.alex, "look") }, &[robin]);
    assert_eq!(told.append(stolen).await.expect_err("refused"), Refusal::NonceReused);
    let edit = MessageEdit {
        room: told.room,
        message: by_id.id,
        actor: told.alex.into(),
        id: EventId::new(),
        data: json!({ "event_id": by_id.id, "body": "look at this", "mentions": [robin] }).to_string().into(),
    };
    told.store.edit_message(&edit).await.expect("edited");
    assert_eq!(told.notices(robin).await, []);
    assert_eq!(told.told_of(robin).await, []);
    assert_eq!(told.notices(told.sam).await.len(), 2);
    assert_whole(&told.page(told.sam, told.sam).await);
}

pub(crate) async fn a_batch_notifies_each_once(world: World) {
    let [alex, sam, robin] = world.people().await;
    let room = world.group(&[alex, sam, robin]).await;
    let other = world.group(&[robin, sam]).await;
    let first = mentioning(with_nonce(message(room, alex, "1"), "n"), &[sam, robin, sam]);
    let batch = [
        first.clone(),
        NewMessage { id: EventId::new(), ..first.clone() },
        mentioning(message(other, alex, "Alex is not in there"), &[sam]),
        mentioning(message(other, robin, "2"), &[sam, robin]),
        first,
        mentioning(message(room, sam, "3"), &[robin, alex]),
    ];
    let outcomes = world.store.append_messages(&batch).await.expect("an answer");
    let notified: Vec<Vec<UserId>> = outcomes
        .iter()
        .map(|outcome| {
            let events = outcome.iter().flat_map(|appended| &appended.notified);
            events.map(|event| UserId(event.stream.id)).collect()
        })
        .collect();
    assert_eq!(notified, [vec![sam, robin], vec![], vec![], vec![sam], vec![], vec![robin, alex]]);
    for (person, count) in [(alex, 1), (sam, 2), (robin, 2)] {
        assert_whole(&world.page(person, person).await);
        let listed = world.notices(person).await;
        let events: Vec<_> = world.told_of(person).await.into_iter().map(|(_, event)| event).collect();
        assert_eq!(listed.iter().rev().map(says).collect::<Vec<_>>(), events);
        assert_eq!(listed.len(), count);
    }
}

pub(crate) async fn only_who_is_there_is_notified(world: World) {
    let [alex, sam, robin, outsider] = world.people().await;
    let room = world.group(&[alex, sam, robin]).await;
    world.disable(robin).await;
    let agent = world.agent(alex).await;
    world.join(alex, room, agent).await;
    let named = [alex, sam, robin, outsider, UserId::new(), UserId(agent.0)];
    assert_eq!(world.mention(room, alex, &named).await.len(), 1);
    for person in [alex, robin, outsider] {
        assert_eq!((world.notices(person).await, world.unread(person).await), (vec![], Unread::default()));
    }
    assert_eq!(world.notices(sam).await.len(), 1);
    // The agent is not its owner: what it says, Alex is told of.
    assert_eq!(world.mention(room, Principal::Agent(agent), &[alex]).await.len(), 1);
    world.store.remove_member(alex, room, sam.into()).await.expect("removed");
    assert_eq!(world.mention(room, alex, &[sam]).await, []);
}

pub(crate) async fn the_first_kind_counts(world: World) {
    let [alex, sam] = world.people().await;
    let room = world.store.create_room(&dm(alex, sam)).await.expect("a room").room;
    let kinds = [NotificationKind::Mention, NotificationKind::DirectMessage];
    let recipients = kinds.map(|kind| Recipient { user: sam, kind }).to_vec();
    let both = NewMessage { recipients, ..message(room, alex, "look") };
    let plain = NewMessage { recipients: both.recipients[1..].to_vec(), ..message(room, alex, "and") };
    for message in [both, plain] {
        assert_eq!(world.append(message).await.expect("good").notified.len(), 1);
    }
    let listed: Vec<_> = world.notices(sam).await.iter().map(|notice| notice.facts.kind).collect();
    assert_eq!(listed, [NotificationKind::DirectMessage, NotificationKind::Mention], "the newest first");
}

/// Everything of a person is numbered in one stream: messages of several senders, read marks, rooms.
pub(crate) async fn notices_of_many_at_once_leave_no_holes(world: World) {
    let people: [UserId; 4] = world.people().await;
    let mut rooms = Vec::new();
    for _ in 0..3 {
        rooms.push(world.group(&people).await);
    }
    let mut writers = JoinSet::new();
    for writer in 0..16_usize {
        let (world, rooms) = (world.clone(), rooms.clone());
        writers.spawn(async move {
            let me = people[writer % 4];
            for turn in 0..6 {
                let batch: Vec<NewMessage> = (0..rooms.len())
                    .map(|n| {
                        let room = rooms[(n * (writer % 2 + 1) + turn) % rooms.len()];
                        mentioning(message(room, me, "look"), &people)
                    })
                    .collect();
                for outcome in world.store.append_messages(&batch).await.expect("an answer") {
                    assert_eq!(outcome.expect("good").notified.len(), 3);
                }
                if turn % 2 == 1 {
                    let room = rooms[turn % rooms.len()];
                    let head = world.page(me, room).await.head;
                    world.store.set_read(me, room, head).await.expect("moved");
                    world.read(me, &ReadWhat::UpTo { room: Some(rooms[0]), up_to: None }).await;
                }
            }
        });
    }
    writers.join_all().await;
    for person in people {
        assert_whole(&world.page(person, person).await);
        let listed = world.notices(person).await;
        assert_eq!(listed.len(), 12 * 6 * 3);
        let told: Vec<_> = world.told_of(person).await.into_iter().map(|(_, told)| told).collect();
        for notice in &listed {
            assert_eq!(told.iter().filter(|told| **told == says(notice)).count(), 1);
        }
        recount(&world, person).await;
    }
}

/// The counts are those of the list.
async fn recount(world: &World, person: UserId) -> Unread {
    let unread = world.unread(person).await;
    let listed = world.store.notifications(person, None, true, 10_000).await.expect("a list");
    let all = world.notices(person).await;
    let open: Vec<_> = all.into_iter().filter(|notice| !notice.facts.read).collect();
    assert_eq!(listed, open, "what is unread is what is not read");
    let mut rooms: Vec<_> = listed.iter().map(|notice| notice.facts.room).collect();
    rooms.sort_unstable();
    let count = |room| rooms.iter().filter(|other| **other == room).count() as u64;
    let mut counted: Vec<_> = rooms.iter().map(|room| (*room, count(*room))).collect();
    counted.dedup();
    assert_eq!(unread, Unread { total: listed.len() as u64, rooms: counted });
    unread
}

pub(crate) async fn a_read_mark_reads_what_is_before_it(world: World) {
    let told = Told::new(world).await;
    let other = told.group(&[told.sam, told.alex]).await;
    let mut ids = Vec::new();
    for room in [told.room, other, told.room, told.room] {
        ids.push(told.notified_in(room).await);
    }
    let second = told.notice(told.sam, ids[2]).await;
    let (_, events) = told.store.set_read(told.sam, told.room, second.seq).await.expect("moved");
    let kinds: Vec<_> = events.iter().map(|event| event.kind.clone()).collect();
    assert_eq!(kinds, [EventKind::ReadMoved, EventKind::NotificationRead]);
    assert_eq!(data(&events[1]), json!({ "room_id": told.room, "seq": second.seq, "unread": 2 }));
    let read = async |id| told.notice(told.sam, id).await.facts.read;
    let mut all = Vec::new();
    for id in &ids {
        all.push(read(*id).await);
    }
    assert_eq!(all, [true, false, true, false]);
    let unread = recount(&told, told.sam).await;
    assert_eq!(unread.total, 2);
    let (_, events) = told.store.set_read(told.sam, told.room, second.seq).await.expect("as it is");
    assert_eq!(events, []);
    // Nothing to clear is nothing to tell.
    let said = told.say(told.room, told.alex, "nobody is named").await;
    let (_, events) = told.store.set_read(told.sam, told.room, said.seq).await.expect("moved");
    assert_eq!(events.len(), 2, "the last one");
    let said = told.say(told.room, told.alex, "nobody is named").await;
    let (_, events) = told.store.set_read(told.sam, told.room, said.seq).await.expect("moved");
    assert_eq!(events.len(), 1);
    assert_eq!(recount(&told, told.sam).await.rooms, [(other, 1)]);
}

pub(crate) async fn what_is_read_is_said_in_several_ways(world: World) {
    let told = Told::new(world).await;
    let other = told.group(&[told.sam, told.alex]).await;
    let mut ids = Vec::new();
    for room in [told.room, other, told.room, other, told.room, other] {
        ids.push(told.notified_in(room).await);
    }
    let foreign = told.mention(told.room, told.sam, &[told.alex]).await[0];
    let before = told.page(told.sam, told.sam).await.head;
    // What is not theirs is passed over, also when it is all.
    for nothing in [vec![foreign], vec![NotificationId::new()], vec![]] {
        assert_eq!(told.read(told.sam, &ReadWhat::Ids(nothing)).await, None);
    }
    let event = told.read(told.sam, &ReadWhat::Ids(vec![ids[0], foreign])).await.expect("an event");
    assert_eq!((event.kind.clone(), event.stream), (EventKind::NotificationRead, told.sam.into()));
    assert_eq!(data(&event), json!({ "notification_ids": [ids[0]], "unread": 5 }));
    assert_eq!(told.read(told.sam, &ReadWhat::Ids(vec![ids[0]])).await, None, "it was read");
    let up_to = |room, up_to| ReadWhat::UpTo { room, up_to };
    let event = told.read(told.sam, &up_to(Some(other), Some(ids[3]))).await.expect("an event");
    assert_eq!(data(&event), json!({ "room_id": other, "up_to": ids[3], "unread": 3 }));
    let event = told.read(told.sam, &up_to(None, Some(ids[4]))).await.expect("an event");
    assert_eq!(data(&event), json!({ "room_id": null, "up_to": ids[4], "unread": 1 }));
    assert_eq!(told.read(told.sam, &up_to(Some(told.room), None)).await, None);
    assert_eq!(recount(&told, told.sam).await.rooms, [(other, 1)]);
    let event = told.read(told.sam, &up_to(None, None)).await.expect("an event");
    assert_eq!(data(&event), json!({ "room_id": null, "up_to": ids[5], "unread": 0 }));
    assert_eq!(recount(&told, told.sam).await, Unread::default());
    assert_eq!(told.page(told.sam, told.sam).await.head, before + 4);
    assert!(!told.notice(told.alex, foreign).await.facts.read);
    assert_eq!(told.unread(told.alex).await.total, 1);
    let foreign = told.notified().await;
    for what in [ReadWhat::Ids(vec![foreign]), up_to(None, Some(foreign)), up_to(Some(told.room), None)] {
        told.read(told.alex, &what).await;
    }
    assert!(!told.notice(told.sam, foreign).await.facts.read, "another person's");
}

pub(crate) async fn notices_are_listed_by_page(world: World) {
    let told = Told::new(world).await;
    let mut ids = Vec::new();
    for _ in 0..7 {
        ids.insert(0, told.notified().await);
    }
    told.read(told.sam, &ReadWhat::Ids(vec![ids[1], ids[4]])).await.expect("an event");
    let page = async |before, unread_only| {
        let listed = told.store.notifications(told.sam, before, unread_only, 3).await.expect("a list");
        listed.iter().map(|notice| notice.id).collect::<Vec<_>>()
    };
    assert_eq!(page(None, false).await, ids[..3]);
    assert_eq!(page(Some(ids[2]), false).await, ids[3..6]);
    assert_eq!(page(Some(ids[5]), false).await, ids[6..]);
    assert_eq!(page(None, true).await, [ids[0], ids[2], ids[3]]);
    assert_eq!(page(Some(ids[3]), true).await, [ids[5], ids[6]]);
    assert_eq!(page(Some(ids[6]), true).await, []);
}

pub(crate) async fn what_is_deleted_is_withdrawn(world: World) {
    let told = Told::new(world).await;
    let robin = told.person().await;
    told.store.add_members(told.alex, told.room, &[robin.into()]).await.expect("added");
    let said = mentioning(message(told.room, told.alex, "look"), &[told.sam, robin]);
    let ids: Vec<_> =
        told.append(said.clone()).await.expect("good").notified.iter().map(notification_of).collect();
    let kept = told.notified().await;
    told.store.delete_message(told.alex.into(), told.room, said.id).await.expect("deleted");
    for (person, id) in [(told.sam, ids[0]), (robin, ids[1])] {
        let notice = told.notice(person, id).await;
        assert_eq!((notice.facts.withdrawn, notice.facts.read, notice.body), (true, false, None));
        assert_eq!(told.read(person, &ReadWhat::Ids(vec![id])).await, None, "there is nothing to read");
    }
    assert_eq!(told.notices(robin).await, []);
    assert_eq!(told.notices(told.sam).await.iter().map(|notice| notice.id).collect::<Vec<_>>(), [kept]);
    assert_eq!(recount(&told, told.sam).await.total, 1);
    assert_eq!(told.append(said).await.expect("the message of then").notified, [], "it stays withdrawn");
    assert_eq!(told.notices(robin).await, []);
}

const fn mute(muted: bool) -> RoomSettings {
    RoomSettings { name: None, muted: Some(muted) }
}

pub(crate) async fn facts_are_those_of_now(world: World) {
    let told = Told::new(world).await;
    let said = mentioning(message(told.room, told.alex, "look"), &[told.sam]);
    let id = notification_of(&told.append(said.clone()).await.expect("good").notified[0]);
    let now = async || told.notice(told.sam, id).await;
    for body in ["look at this", &"ü".repeat(1200)] {
        let edit = MessageEdit {
            room: told.room,
            message: said.id,
            actor: told.alex.into(),
            id: EventId::new(),
            data: json!({ "event_id": said.id, "body": body, "mentions": [] }).to_string().into(),
        };
        told.store.edit_message(&edit).await.expect("edited");
        let shown: String = body.chars().take(1000).collect();
        assert_eq!(now().await.body, Some(shown));
    }
    for muted in [true, false] {
        told.store.set_room_settings(told.sam, told.room, &mute(muted)).await.expect("changed");
        assert_eq!(now().await.facts.muted, muted);
    }
    for disabled in [true, false] {
        told.store.set_user_disabled(told.sam, disabled).await.expect("changed");
        assert_eq!(now().await.facts.disabled, disabled);
    }
    told.store.remove_member(told.alex, told.room, told.sam.into()).await.expect("removed");
    let gone = now().await;
    assert_eq!((gone.facts.left, gone.facts.muted, gone.body), (true, false, None));
    // Who comes back begins at the head of the room: what was not read is still not.
    told.store.add_members(told.alex, told.room, &[told.sam.into()]).await.expect("added");
    let back = now().await;
    assert_eq!((back.facts.left, back.facts.read, back.body.is_some()), (false, false, true));
    assert_eq!(recount(&told, told.sam).await.total, 1);
    told.store.delete_message(told.alex.into(), told.room, said.id).await.expect("deleted");
    assert_eq!(now().await.body, None);
}

pub(crate) async fn a_run_that_ends_notifies_who_asked(world: World) {
    let scene = Scene::new(world, 2).await;
    for (status, notified) in
        [(RunStatus::Succeeded, true), (RunStatus::Failed, true), (RunStatus::Cancelled, false)]
    {
        let held = scene.working().await;
        let (_, events) = scene.finish(held, status).await.expect("finished");
        let told: Vec<_> =
            events.iter().filter(|event| event.kind == EventKind::NotificationCreated).collect();
        assert_eq!(told.len(), usize::from(notified), "{status:?}");
        assert_eq!(scene.notices(scene.alex).await.iter().any(|it| it.source == held.run.0), notified);
        if let [event] = &*told {
            let notice = scene.notice(scene.alex, notification_of(event)).await;
            assert_eq!((notice.facts.kind, notice.source), (NotificationKind::RunFinished, held.run.0));
            assert_eq!((notice.run_status, notice.sender), (Some(status), Sender::Agent(scene.agent)));
            let ended = events.iter().find(|event| event.kind == EventKind::RunFinished).expect("told");
            assert_eq!(notice.seq, ended.seq);
            assert_eq!((&notice.body, &notice.tool), (&None, &None));
        }
    }
    let held = scene.working().await;
    let (_, events) = scene.cancel(held.run).await.expect("asked to stop");
    assert!(events.iter().all(|event| event.kind != EventKind::NotificationCreated));
    let rescued = scene.rescue(RescueRules { cancel_grace: Duration::ZERO, ..PATIENT }).await;
    assert!(rescued.events.iter().all(|event| event.kind != EventKind::NotificationCreated), "cancelled");
    let held = scene.working().await;
    let rescued = scene.rescue(RescueRules { max_runtime: Duration::ZERO, ..PATIENT }).await;
    assert!(rescued.events.iter().any(|event| event.kind == EventKind::NotificationCreated));
    assert!(scene.notices(scene.alex).await.iter().any(|it| it.source == held.run.0));
    // Who has left is not told.
    let sam = scene.person().await;
    scene.store.add_members(scene.alex, scene.room, &[sam.into()]).await.expect("added");
    let slot = scene.hold().await;
    let run = scene.requested(scene.room, sam, scene.agent).await.run;
    scene.start(&slot, run.id).await;
    scene.store.remove_member(scene.alex, scene.room, sam.into()).await.expect("removed");
    let held = super::scene::holder(run.id, slot.session, 1);
    scene.finish(held, RunStatus::Succeeded).await.expect("finished");
    assert_eq!(scene.notices(sam).await, []);
    for person in [scene.alex, sam] {
        assert_whole(&scene.page(person, person).await);
    }
}

pub(crate) async fn a_tool_call_notifies_until_it_is_over(world: World) {
    let scene = Scene::new(world, 1).await;
    let sam = scene.person().await;
    scene.store.add_members(scene.alex, scene.room, &[sam.into()]).await.expect("added");
    let held = scene.working().await;
    let waiting = called(&scene, held).await;
    let theirs = call(&scene, &new_call(&scene, held, sam)).await;
    for (person, call, kind) in
        [(scene.alex, &waiting, NotificationKind::RunWaiting), (sam, &theirs, NotificationKind::ToolCall)]
    {
        let listed = scene.notices(person).await;
        let [notice] = &*listed else { panic!("{listed:?}") };
        assert_eq!((notice.facts.kind, notice.source, notice.seq), (kind, call.id.0, 0));
        assert_eq!((notice.tool.as_deref(), notice.sender), (Some("locate"), Sender::Agent(scene.agent)));
        assert_eq!((&notice.body, notice.run_status), (&None, None));
    }
    // The read mark of the room says nothing of what is no event of it.
    let head = scene.page(sam, scene.room).await.head;
    let (_, events) = scene.store.set_read(sam, scene.room, head).await.expect("moved");
    assert_eq!((events.len(), scene.unread(sam).await.total), (1, 1));

    let repeated = NewToolCall { id: waiting.id, ..new_call(&scene, held, scene.alex) };
    assert_eq!(scene.store.call_tool(&repeated).await.expect("the call of then").1, []);
    scene.store.resolve_tool(&answer(waiting.id, scene.alex, "1")).await.expect("answered");
    assert_eq!((scene.notices(scene.alex).await, scene.unread(scene.alex).await.total), (vec![], 0));
    assert_eq!(scene.unread(sam).await.total, 1, "that is another call");
    let late = refused(scene.store.resolve_tool(&answer(waiting.id, scene.alex, "1")).await);
    assert!(matches!(late, Refusal::Conflict(_)));

    let quick = NewToolCall { timeout: Duration::ZERO, ..new_call(&scene, held, scene.alex) };
    call(&scene, &quick).await;
    assert_eq!(scene.unread(scene.alex).await.total, 1);
    scene.store.expire_tools(10).await.expect("expired");
    assert_eq!(scene.unread(scene.alex).await.total, 0, "its time is over");

    called(&scene, held).await;
    scene.cancel(held.run).await.expect("asked to stop");
    assert_eq!(scene.unread(scene.alex).await.total, 1, "its holder has not stopped yet");
    scene.finish(held, RunStatus::Cancelled).await.expect("finished");
    assert_eq!((scene.unread(scene.alex).await.total, scene.unread(sam).await.total), (0, 0));
}

pub(crate) async fn preferences_are_kept_whole(world: World) {
    let [alex, sam] = world.people().await;
    let preferences = async |user| world.store.preferences(user).await.expect("preferences");
    assert_eq!(preferences(alex).await, Default::default());
    for mentions in [false, true] {
        let wanted = domain::notification::Preferences {
            mentions,
            previews: !mentions,
            dnd: domain::notification::DoNotDisturb {
                until: None,
                hours: domain::notification::QuietHours::new("22:00", "07:00", "Europe/Paris", &["fri"]).ok(),
            },
            ..Default::default()
        };
        world.store.set_preferences(alex, &wanted).await.expect("noted");
        assert_eq!(preferences(alex).await, wanted);
    }
    assert_eq!(preferences(sam).await, Default::default(), "those of others");
}

pub(crate) async fn old_notices_go_with_what_hangs_on_them(world: World) {
    let told = Told::new(world).await;
    let device = told.subscribed(told.sam).await;
    let pushed = told.pushed().await;
    told.settle(store::push::Outcome::Push(domain::notification::Reason::PushIdle)).await;
    let queued = told.notified().await;
    told.store.note_hints(told.node, &[(queued, device.0)]).await.expect("noted");
    let trim = async |age, batch| told.store.trim_notifications(age, batch).await.expect("an answer");
    for age in [Duration::from_secs(3600), Duration::MAX] {
        assert_eq!(trim(age, 100).await, 0);
    }
    assert_eq!(trim(Duration::ZERO, 0).await, 0);
    assert_eq!(trim(Duration::ZERO, 1).await, 1, "the oldest first");
    assert_eq!(told.notices(told.sam).await.iter().map(|it| it.id).collect::<Vec<_>>(), [queued]);
    assert_eq!(told.claim_one(Uuid::now_v7()).await.waiting, [], "its push went with it");
    assert_eq!(trim(Duration::ZERO, 100).await, 1);
    assert_eq!(told.undecided(Uuid::now_v7()).await, []);
    assert_eq!(told.unread(told.sam).await, Unread::default());
    assert_eq!(told.store.next_undecided().await.expect("an answer"), None);
    let trace = told.store.notification_trace(told.sam, pushed).await.expect("an answer");
    assert_eq!((trace, trim(Duration::ZERO, 100).await), (None, 0));
    // What somebody says again is the message of then.
    assert_whole(&told.page(told.sam, told.sam).await);
}
