//! Rooms, members and what they have read.

use domain::{
    DeviceId, DeviceKind, Event, EventKind, MemberRole, Principal, RoomId, RoomKind, Sender, UserId,
};
use serde_json::json;
use store::Refusal;
use store::devices::NewDevice;
use store::rooms::{Member, NewRoom, RoomSettings};

use super::world::{World, assert_whole, data, group, kinds, refused};

const NO_ROOM: Refusal = Refusal::NotFound("room");
const NO_PERSON: Refusal = Refusal::NotFound("person");

fn dm(one: UserId, other: UserId) -> NewRoom {
    NewRoom { kind: RoomKind::Dm, name: None, ..group(&[one, other]) }
}

fn member(user: UserId, role: MemberRole) -> Member {
    Member { member: user.into(), role }
}

/// The events of one stream among those of several.
fn of(events: &[Event], stream: impl Into<domain::StreamRef>) -> Vec<Event> {
    let stream = stream.into();
    events.iter().filter(|event| event.stream == stream).cloned().collect()
}

pub(crate) async fn a_group_tells_everybody(world: World) {
    let [alex, sam, robin] = world.people().await;
    let new = group(&[alex, sam, robin, sam, alex]);
    let created = world.store.create_room(&new).await.expect("a room");
    assert_eq!((created.room, created.created, created.events.len()), (new.id, true, 6));

    let page = world.page(robin, new.id).await;
    assert_whole(&page);
    assert_eq!(page.events, of(&created.events, new.id), "what is answered is what is kept");
    let joined: Vec<_> = page.events.iter().map(data).collect();
    assert_eq!(
        joined,
        [
            json!({ "user_id": alex, "role": "owner" }),
            json!({ "user_id": sam, "role": "member" }),
            json!({ "user_id": robin, "role": "member" }),
        ]
    );
    for (head, user) in [alex, sam, robin].into_iter().enumerate() {
        let inbox = world.inbox(user).await;
        assert_eq!(inbox, of(&created.events, user));
        assert_eq!((&inbox[0].kind, inbox[0].sender), (&EventKind::RoomAdded, Sender::User(alex)));
        let expected = json!({ "room_id": new.id, "kind": "group", "name": "Garden", "head": head });
        assert_eq!(data(&inbox[0]), expected);
    }
    let view = world.view(sam, new.id).await;
    assert_eq!((view.kind, view.name.as_deref()), (RoomKind::Group, Some("Garden")));
    assert_eq!((view.head, view.floor, view.last_read, view.muted), (3, 0, 0, false));
    let expected =
        [member(alex, MemberRole::Owner), member(sam, MemberRole::Member), member(robin, MemberRole::Member)];
    assert_eq!(view.members, expected);
}

pub(crate) async fn a_dm_is_one_per_pair(world: World) {
    let [alex, sam, robin] = world.people().await;
    let first = world.store.create_room(&dm(alex, sam)).await.expect("a dm");
    assert!(first.created);
    assert_eq!(data(&world.inbox(sam).await[0])["name"], json!(null));
    for again in [dm(alex, sam), dm(sam, alex)] {
        let found = world.store.create_room(&again).await.expect("the dm");
        assert_eq!((found.room, found.created, found.events.len()), (first.room, false, 0));
        assert_eq!(world.store.room(alex.into(), again.id).await.expect("an answer"), None);
    }
    let other = world.store.create_room(&dm(alex, robin)).await.expect("another dm");
    assert!(other.created && other.room != first.room);
    assert_eq!(world.view(alex, first.room).await.head, 2);
    assert_eq!(world.inbox(alex).await.len(), 2);
}

pub(crate) async fn a_dm_is_of_two(world: World) {
    let [alex, sam, robin] = world.people().await;
    let with_self = dm(alex, alex);
    let of_three = NewRoom { members: vec![sam.into(), robin.into()], ..dm(alex, sam) };
    for bad in [with_self, of_three] {
        assert!(matches!(refused(world.store.create_room(&bad).await), Refusal::Invalid("members", _)));
    }
}

pub(crate) async fn creating_is_repeatable_by_key(world: World) {
    let [alex, sam] = world.people().await;
    let keyed = |new: NewRoom| NewRoom { key: Some("k".into()), ..new };
    let first = world.store.create_room(&keyed(group(&[alex, sam]))).await.expect("a room");
    assert!(first.created);
    let again = world.store.create_room(&keyed(group(&[alex]))).await.expect("the room");
    assert_eq!((again.room, again.created, again.events.len()), (first.room, false, 0));
    let of_another = world.store.create_room(&keyed(group(&[sam]))).await.expect("a room");
    assert!(of_another.created, "a key counts per person");

    let pair = world.store.create_room(&dm(alex, sam)).await.expect("a dm");
    let found = NewRoom { key: Some("dm".into()), ..dm(alex, sam) };
    assert_eq!(world.store.create_room(&found).await.expect("the dm").room, pair.room);
    let by_key = NewRoom { key: Some("dm".into()), ..group(&[alex]) };
    assert_eq!(world.store.create_room(&by_key).await.expect("the dm").room, pair.room);
}

pub(crate) async fn a_key_makes_one_thing(world: World) {
    let alex = world.person().await;
    let device = NewDevice { id: DeviceId::new(), kind: DeviceKind::Web, name: "Browser".into() };
    let (of_device, of_room) = ("device".to_owned(), "room".to_owned());
    world.store.create_device(alex, &device, Some(&of_device)).await.expect("a device");
    let new = NewRoom { key: Some(of_device), ..group(&[alex]) };
    assert_eq!(refused(world.store.create_room(&new).await), Refusal::NonceReused);
    let new = NewRoom { key: Some(of_room.clone()), ..group(&[alex]) };
    world.store.create_room(&new).await.expect("a room");
    let other = NewDevice { id: DeviceId::new(), ..device };
    let refusal = refused(world.store.create_device(alex, &other, Some(&of_room)).await);
    assert_eq!(refusal, Refusal::NonceReused);
}

pub(crate) async fn creating_is_repeatable_by_id(world: World) {
    let [alex, sam] = world.people().await;
    let new = group(&[alex, sam]);
    assert!(world.store.create_room(&new).await.expect("a room").created);
    let again = world.store.create_room(&new).await.expect("the room");
    assert_eq!((again.room, again.created, again.events.len()), (new.id, false, 0));
    assert_eq!(world.view(alex, new.id).await.head, 2);
}

pub(crate) async fn nobody_unknown_becomes_a_member(world: World) {
    let [alex, sam, robin] = world.people().await;
    let room = world.group(&[alex, robin]).await;
    world.disable(sam).await;
    for nobody in [sam, UserId::new()] {
        for bad in [group(&[alex, robin, nobody]), dm(alex, nobody)] {
            assert_eq!(refused(world.store.create_room(&bad).await), NO_PERSON);
            assert_eq!(world.store.room(alex.into(), bad.id).await.expect("an answer"), None);
        }
        assert_eq!(refused(world.store.add_members(alex, room, &[nobody.into()]).await), NO_PERSON);
    }
    assert_eq!(refused(world.store.create_room(&group(&[sam, alex])).await), Refusal::Forbidden);
    assert_eq!(world.inbox(alex).await.len(), 1);
    world.disable(robin).await;
    let unchanged = world.store.add_members(alex, room, &[robin.into()]).await.expect("an answer");
    assert_eq!(unchanged, [], "who is in it stays, disabled or not");
}

pub(crate) async fn newcomers_are_told_where_to_begin(world: World) {
    let [alex, sam, robin] = world.people().await;
    let room = world.group(&[alex]).await;
    world.say(room, alex, "before").await;
    let events = world
        .store
        .add_members(alex, room, &[sam.into(), alex.into(), robin.into(), sam.into()])
        .await
        .expect("events");
    let expected = ["member.joined", "room.added", "member.joined", "room.added"];
    assert_eq!(kinds(&events), expected);
    for (user, head) in [(sam, 2), (robin, 3)] {
        let inbox = world.inbox(user).await;
        assert_eq!(inbox, of(&events, user));
        let expected = json!({ "room_id": room, "kind": "group", "name": "Garden", "head": head });
        assert_eq!(data(&inbox[0]), expected);
        let joined = &world.events(user, room).await[usize::try_from(head).expect("small")];
        assert_eq!(data(joined), json!({ "user_id": user, "role": "member" }));
        let last_read = world.view(user, room).await.last_read;
        assert_eq!(last_read, head, "what was before counts as read");
    }
    let order: Vec<_> = world.view(alex, room).await.members.iter().map(|member| member.member).collect();
    assert_eq!(order, [alex, sam, robin].map(Principal::User));
    assert_whole(&world.page(sam, room).await);
}

pub(crate) async fn only_owners_change_the_members(world: World) {
    let [alex, sam, robin] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    let by_member = world.store.add_members(sam, room, &[robin.into()]).await;
    assert_eq!(refused(by_member), Refusal::Forbidden);
    let by_member = world.store.remove_member(sam, room, alex.into()).await;
    assert_eq!(refused(by_member), Refusal::Forbidden);
    for (outsider, at) in [(robin, room), (alex, RoomId::new())] {
        assert_eq!(refused(world.store.add_members(outsider, at, &[robin.into()]).await), NO_ROOM);
        assert_eq!(refused(world.store.remove_member(outsider, at, alex.into()).await), NO_ROOM);
    }
    let stranger = world.store.remove_member(alex, room, robin.into()).await.expect("an answer");
    assert_eq!(stranger, []);
    world.disable(alex).await;
    assert_eq!(refused(world.store.add_members(alex, room, &[robin.into()]).await), NO_ROOM);
    assert_eq!(refused(world.store.remove_member(alex, room, sam.into()).await), NO_ROOM);
    assert_eq!(world.view(sam, room).await.members.len(), 2);
}

pub(crate) async fn whoever_is_removed_is_told(world: World) {
    let [alex, sam] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    let events = world.store.remove_member(alex, room, sam.into()).await.expect("events");
    assert_eq!(kinds(&events), ["member.left", "room.removed"]);
    assert_eq!(data(&events[0]), json!({ "user_id": sam }));
    assert_eq!(data(&events[1]), json!({ "room_id": room, "seq": events[0].seq }));
    assert_eq!(events.iter().map(|event| event.sender).collect::<Vec<_>>(), [Sender::User(alex); 2]);
    assert_eq!(world.inbox(sam).await[1], events[1]);
    assert_eq!(world.events(alex, room).await[2], events[0]);
    assert_eq!(world.store.room(sam.into(), room).await.expect("an answer"), None);
    assert_eq!(world.store.rooms(sam.into(), None, 10).await.expect("an answer"), []);
    assert_eq!(refused(world.store.remove_member(sam, room, sam.into()).await), NO_ROOM);
}

pub(crate) async fn an_owner_who_leaves_has_an_heir(world: World) {
    let [alex, sam, robin, kim] = world.people().await;
    let room = world.group(&[alex, sam, robin, kim]).await;
    world.disable(sam).await;
    let events = world.store.remove_member(alex, room, alex.into()).await.expect("events");
    assert_eq!(data(&events[0]), json!({ "user_id": alex, "new_owner": robin }));
    let owners = |members: Vec<Member>| {
        let owners = members.into_iter().filter(|member| member.role == MemberRole::Owner);
        owners.map(|member| member.member).collect::<Vec<_>>()
    };
    assert_eq!(owners(world.view(kim, room).await.members), [robin.into()]);
    let events = world.store.remove_member(kim, room, kim.into()).await.expect("events");
    assert_eq!(data(&events[0]), json!({ "user_id": kim }), "an owner is left");
    world.store.remove_member(robin, room, sam.into()).await.expect("events");
    let events = world.store.remove_member(robin, room, robin.into()).await.expect("events");
    assert_eq!(kinds(&events), ["member.left", "room.removed"], "the last one can leave too");
}

pub(crate) async fn whoever_comes_back_begins_anew(world: World) {
    let [alex, sam] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    world.store.set_read(sam, room, 2).await.expect("read");
    let mute = RoomSettings { muted: Some(true), name: None };
    world.store.set_room_settings(sam, room, &mute).await.expect("muted");
    world.store.remove_member(sam, room, sam.into()).await.expect("events");
    world.say(room, alex, "meanwhile").await;
    let events = world.store.add_members(alex, room, &[sam.into()]).await.expect("events");
    assert_eq!(data(&events[1])["head"], 4);
    let view = world.view(sam, room).await;
    assert_eq!((view.last_read, view.muted, view.head), (4, false, 5));
    assert_eq!(kinds(&world.inbox(sam).await), ["room.added", "read.moved", "room.removed", "room.added"]);
}

pub(crate) async fn a_dm_keeps_its_members(world: World) {
    let [alex, sam, robin] = world.people().await;
    let room = world.store.create_room(&dm(alex, sam)).await.expect("a dm").room;
    let name = RoomSettings { muted: None, name: Some("Us".into()) };
    let conflicts = [
        refused(world.store.add_members(alex, room, &[robin.into()]).await),
        refused(world.store.remove_member(alex, room, sam.into()).await),
        refused(world.store.remove_member(sam, room, sam.into()).await),
        refused(world.store.set_room_settings(alex, room, &name).await),
    ];
    assert!(conflicts.iter().all(|refusal| matches!(refusal, Refusal::Conflict(_))), "{conflicts:?}");
    assert_eq!(refused(world.store.remove_member(robin, room, sam.into()).await), NO_ROOM);
    assert_eq!(world.view(alex, room).await.members.len(), 2);
}

pub(crate) async fn reading_moves_forward_only(world: World) {
    let [alex, sam, robin] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    for body in ["one", "two"] {
        world.say(room, alex, body).await;
    }
    let (seq, event) = world.store.set_read(sam, room, 3).await.expect("read");
    let [event] = event.try_into().expect("it moved");
    assert_eq!((seq, &event.kind, event.stream), (3, &EventKind::ReadMoved, sam.into()));
    assert_eq!(data(&event), json!({ "room_id": room, "seq": 3 }));
    assert_eq!(world.inbox(sam).await[1], event);
    for back in [3, 2, 0] {
        assert_eq!(world.store.set_read(sam, room, back).await.expect("an answer"), (3, vec![]));
    }
    for beyond in [5, u64::MAX] {
        let refusal = refused(world.store.set_read(sam, room, beyond).await);
        assert!(matches!(refusal, Refusal::Invalid("seq", _)), "{refusal:?}");
    }
    assert_eq!(world.store.set_read(sam, room, 4).await.expect("read").0, 4);
    assert_eq!(world.view(sam, room).await.last_read, 4);
    assert_eq!(world.view(alex, room).await.last_read, 0, "each has their own");
    world.disable(sam).await;
    for outsider in [sam, robin] {
        assert_eq!(refused(world.store.set_read(outsider, room, 1).await), NO_ROOM);
    }
}

pub(crate) async fn settings_change_what_is_given(world: World) {
    let [alex, sam, robin] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    let settings = |muted, name: Option<&str>| RoomSettings { muted, name: name.map(Into::into) };
    let set =
        async |user, muted, name| world.store.set_room_settings(user, room, &settings(muted, name)).await;
    assert_eq!(set(sam, Some(true), None).await.expect("muted"), None);
    assert!(world.view(sam, room).await.muted);
    assert!(!world.view(alex, room).await.muted);
    assert_eq!(set(sam, None, None).await.expect("nothing"), None);
    assert!(world.view(sam, room).await.muted);

    assert_eq!(refused(set(sam, Some(false), Some("Mine")).await), Refusal::Forbidden);
    assert!(world.view(sam, room).await.muted, "all or nothing");
    let renamed = set(alex, Some(true), Some("Orchard")).await.expect("renamed").expect("an event");
    assert_eq!((&renamed.kind, data(&renamed)), (&EventKind::RoomUpdated, json!({ "name": "Orchard" })));
    let view = world.view(alex, room).await;
    assert_eq!((view.name.as_deref(), view.muted, view.head), (Some("Orchard"), true, 3));
    assert_eq!(set(alex, Some(false), Some("Orchard")).await.expect("the same name"), None);
    assert!(!world.view(alex, room).await.muted);
    for name in [None, Some("Theirs")] {
        assert_eq!(refused(set(robin, Some(true), name).await), NO_ROOM);
    }
}

pub(crate) async fn rooms_are_listed_by_id(world: World) {
    let [alex, sam] = world.people().await;
    let mut rooms = Vec::new();
    for _ in 0..5 {
        rooms.push(world.group(&[alex, sam]).await);
    }
    world.group(&[sam]).await;
    rooms.sort();
    let mut listed = Vec::new();
    let mut after = None;
    loop {
        let page = world.store.rooms(alex.into(), after, 2).await.expect("rooms");
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        listed.extend(page);
    }
    assert_eq!(listed.iter().map(|view| view.id).collect::<Vec<_>>(), rooms);
    assert_eq!(listed[3], world.view(alex, rooms[3]).await);
    world.disable(alex).await;
    assert_eq!(world.store.rooms(alex.into(), None, 10).await.expect("an answer"), []);
    assert_eq!(world.store.room(alex.into(), rooms[0]).await.expect("an answer"), None);
}

pub(crate) async fn handles_are_found_among_members(world: World) {
    let [alex, sam, robin] = world.people().await;
    let room = world.group(&[alex, sam]).await;
    let mut handles = vec!["nobody.here".to_owned()];
    for user in [alex, sam, robin] {
        let snapshot = world.store.snapshot(user).await.expect("an answer");
        handles.push(snapshot.expect("a person").user.handle);
    }
    let mut found = world.store.members_by_handle(room, &handles).await.expect("an answer");
    found.sort();
    let mut expected = [alex, sam].map(Principal::User);
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(world.store.members_by_handle(room, &[]).await.expect("an answer"), []);
}
