//! Agents as members of rooms: what they may, and what they may not.

use domain::{AgentId, EventId, EventKind, MemberRole, Principal, RoomId, RoomKind, Sender, UserId};
use serde_json::json;
use store::Refusal;
use store::log::Range;
use store::messages::{MessageEdit, NewMessage, Reaction};
use store::rooms::{Member, NewRoom, RoomSettings};

use super::world::{World, assert_whole, data, group, kinds, message, refused, with_nonce};

const NO_ROOM: Refusal = Refusal::NotFound("room");

fn with(people: &[UserId], agents: &[AgentId]) -> NewRoom {
    let mut room = group(people);
    room.members.extend(agents.iter().copied().map(Principal::Agent));
    room
}

async fn room_with(world: &World, people: &[UserId], agents: &[AgentId]) -> RoomId {
    world.store.create_room(&with(people, agents)).await.expect("a room").room
}

async fn may_read(world: &World, reader: impl Into<Principal>, stream: impl Into<domain::StreamRef>) -> bool {
    let page = world.store.page(reader.into(), stream.into(), Range::After(0), 10).await;
    page.expect("an answer").is_some()
}

pub(crate) async fn an_agent_is_a_member_like_people(world: World) {
    let [alex, sam, robin] = world.people().await;
    // Anybody's agent may be added, by an owner of the room.
    let (first, second) = (world.agent(alex).await, world.agent(robin).await);
    let room = room_with(&world, &[alex], &[first]).await;
    let joined = &world.events(first, room).await[1];
    assert_eq!(data(joined), json!({ "agent_id": first, "role": "member" }));
    let added = &world.inbox(first).await[0];
    assert_eq!((&added.kind, added.sender), (&EventKind::RoomAdded, Sender::User(alex)));
    assert_eq!(data(added), json!({ "room_id": room, "kind": "group", "name": "Garden", "head": 1 }));

    let newcomers = [second.into(), sam.into(), first.into(), second.into()];
    let events = world.store.add_members(alex, room, &newcomers).await.expect("events");
    assert_eq!(kinds(&events), ["member.joined", "room.added", "member.joined", "room.added"]);
    assert_eq!(data(&events[0]), json!({ "agent_id": second, "role": "member" }));
    assert_eq!(world.inbox(second).await, [events[1].clone()]);
    assert_eq!(refused(world.store.add_members(sam, room, &[second.into()]).await), Refusal::Forbidden);

    let member = |member: Principal, role| Member { member, role };
    let expected = [
        member(alex.into(), MemberRole::Owner),
        member(first.into(), MemberRole::Member),
        member(second.into(), MemberRole::Member),
        member(sam.into(), MemberRole::Member),
    ];
    for reader in [Principal::User(sam), second.into()] {
        assert_eq!(world.view(reader, room).await.members, expected);
    }
    let other = room_with(&world, &[alex], &[first]).await;
    let mut rooms = vec![world.view(first, room).await, world.view(first, other).await];
    rooms.sort_by_key(|room| room.id);
    assert_eq!(world.store.rooms(first.into(), None, 10).await.expect("an answer"), rooms);
    assert_eq!(world.view(second, room).await.last_read, 2, "what was before counts as read");
    assert_whole(&world.page(first, room).await);
}

pub(crate) async fn agents_have_no_dms(world: World) {
    let alex = world.person().await;
    let agent = world.agent(alex).await;
    let dm = NewRoom { kind: RoomKind::Dm, name: None, ..with(&[alex], &[agent]) };
    let refusal = refused(world.store.create_room(&dm).await);
    assert!(matches!(refusal, Refusal::Conflict(_)), "{refusal:?}");
    assert_eq!(world.inbox(agent).await, []);
}

pub(crate) async fn who_signs_in_no_more_becomes_no_member(world: World) {
    let [alex, sam] = world.people().await;
    let (good, revoked, ownerless) =
        (world.agent(alex).await, world.agent(alex).await, world.agent(sam).await);
    let room = room_with(&world, &[alex], &[revoked]).await;
    world.store.revoke_agent(alex, revoked).await.expect("revoked");
    world.disable(sam).await;
    let (no_agent, no_person) = (Refusal::NotFound("agent"), Refusal::NotFound("person"));
    let nobodies = [
        (Principal::Agent(AgentId::new()), no_agent),
        (Principal::Agent(ownerless), no_agent),
        // An id says nothing of what it is of.
        (Principal::Agent(AgentId(alex.0)), no_agent),
        (Principal::User(UserId(good.0)), no_person),
    ];
    for (nobody, expected) in nobodies {
        let refusal = refused(world.store.add_members(alex, room, &[good.into(), nobody]).await);
        assert_eq!(refusal, expected, "{nobody}");
        let bad = NewRoom { members: vec![good.into(), nobody], ..group(&[alex]) };
        assert_eq!(refused(world.store.create_room(&bad).await), expected, "{nobody}");
    }
    let bad = with(&[alex], &[revoked]);
    assert_eq!(refused(world.store.create_room(&bad).await), no_agent);
    let unchanged = world.store.add_members(alex, room, &[revoked.into()]).await.expect("an answer");
    assert_eq!(unchanged, [], "who is in it stays, revoked or not");
    assert_eq!(world.inbox(good).await, []);
}

pub(crate) async fn an_agent_that_is_removed_is_told(world: World) {
    let [alex, sam] = world.people().await;
    let agent = world.agent(sam).await;
    let room = room_with(&world, &[alex, sam], &[agent]).await;
    assert_eq!(refused(world.store.remove_member(sam, room, agent.into()).await), Refusal::Forbidden);
    let as_person = world.store.remove_member(alex, room, UserId(agent.0).into()).await.expect("an answer");
    assert_eq!(as_person, [], "there is no such person in the room");
    let events = world.store.remove_member(alex, room, agent.into()).await.expect("events");
    assert_eq!(kinds(&events), ["member.left", "room.removed"]);
    assert_eq!(data(&events[0]), json!({ "agent_id": agent }));
    assert_eq!(data(&events[1]), json!({ "room_id": room, "seq": events[0].seq }));
    assert_eq!(world.inbox(agent).await[1], events[1]);
    assert!(!may_read(&world, agent, room).await);
    assert_eq!(world.store.room(agent.into(), room).await.expect("an answer"), None);
    let said = world.append(message(room, agent, "still here")).await;
    assert_eq!(said, Err(NO_ROOM));
}

pub(crate) async fn heirs_are_people(world: World) {
    let [alex, sam] = world.people().await;
    let agent = world.agent(alex).await;
    let room = room_with(&world, &[alex], &[agent]).await;
    world.store.add_members(alex, room, &[sam.into()]).await.expect("added");
    let events = world.store.remove_member(alex, room, alex.into()).await.expect("events");
    assert_eq!(data(&events[0]), json!({ "user_id": alex, "new_owner": sam }));
    let events = world.store.remove_member(sam, room, sam.into()).await.expect("events");
    assert_eq!(data(&events[0]), json!({ "user_id": sam }), "an agent inherits nothing");
    assert_eq!(world.view(agent, room).await.members[0].role, MemberRole::Member);
}

pub(crate) async fn an_agent_writes_in_its_own_name(world: World) {
    let [alex, sam] = world.people().await;
    let agent = world.agent(alex).await;
    let room = room_with(&world, &[alex, sam], &[agent]).await;
    let batch: Vec<NewMessage> = [Principal::User(sam), agent.into(), alex.into(), agent.into()]
        .into_iter()
        .map(|sender| with_nonce(message(room, sender, "hello"), "n"))
        .collect();
    let outcomes = world.store.append_messages(&batch).await.expect("an answer");
    let appended: Vec<_> = outcomes.into_iter().map(|outcome| outcome.expect("good")).collect();
    let senders: Vec<Sender> = appended.iter().map(|one| one.event.sender).collect();
    assert_eq!(senders, [Sender::User(sam), Sender::Agent(agent), Sender::User(alex), Sender::Agent(agent)]);
    let fresh: Vec<bool> = appended.iter().map(|one| one.fresh).collect();
    assert_eq!(fresh, [true, true, true, false], "a nonce counts for each sender");
    let page = world.page(agent, room).await;
    assert_whole(&page);
    let written: Vec<_> = appended[..3].iter().map(|one| one.event.clone()).collect();
    assert_eq!(page.events[3..], written);
    // Neither its owner nor a person of the same id is the agent.
    assert_eq!(world.append(message(room, UserId(agent.0), "hello")).await, Err(NO_ROOM));
    assert_eq!(world.append(message(room, AgentId(alex.0), "hello")).await, Err(NO_ROOM));
}

pub(crate) async fn an_agent_changes_what_is_its_own(world: World) {
    let [alex, sam] = world.people().await;
    let agent = world.agent(sam).await;
    let room = room_with(&world, &[alex, sam], &[agent]).await;
    let (own, other) = (world.say(room, agent, "helo").await, world.say(room, sam, "hello").await);
    let edit = |message, actor: Principal| {
        let data = json!({ "event_id": message, "body": "hello", "mentions": [] });
        MessageEdit { room, message, actor, id: EventId::new(), data: data.to_string().into() }
    };
    let edited = world.store.edit_message(&edit(own.id, agent.into())).await.expect("an edit");
    assert_eq!((&edited.kind, edited.sender), (&EventKind::MessageEdited, Sender::Agent(agent)));
    for (message, actor) in [(other.id, Principal::Agent(agent)), (own.id, sam.into())] {
        assert_eq!(refused(world.store.edit_message(&edit(message, actor)).await), Refusal::Forbidden);
        assert_eq!(refused(world.store.delete_message(actor, room, message).await), Refusal::Forbidden);
    }
    let thumb = Reaction { room, message: other.id, actor: agent.into(), emoji: "👍".into() };
    let added = world.store.add_reaction(&thumb).await.expect("an answer").expect("an event");
    assert_eq!((&added.kind, added.sender), (&EventKind::ReactionAdded, Sender::Agent(agent)));
    assert_eq!(world.store.add_reaction(&thumb).await.expect("an answer"), None);
    world.store.remove_reaction(&thumb).await.expect("an answer").expect("an event");
    let gone = world.store.delete_message(agent.into(), room, own.id).await.expect("an answer");
    assert_eq!(gone.expect("an event").sender, Sender::Agent(agent));
}

pub(crate) async fn a_revoked_agent_finds_nothing(world: World) {
    let [alex, sam] = world.people().await;
    let (revoked, ownerless) = (world.agent(alex).await, world.agent(sam).await);
    let room = room_with(&world, &[alex], &[revoked, ownerless]).await;
    let said = [world.say(room, revoked, "hello").await, world.say(room, ownerless, "hello").await];
    world.store.revoke_agent(alex, revoked).await.expect("revoked");
    world.disable(sam).await;
    for (agent, said) in [revoked, ownerless].into_iter().zip(said) {
        assert!(!may_read(&world, agent, room).await);
        assert!(!may_read(&world, agent, agent).await);
        assert_eq!(world.store.room(agent.into(), room).await.expect("an answer"), None);
        assert_eq!(world.store.rooms(agent.into(), None, 10).await.expect("an answer"), []);
        assert_eq!(world.append(message(room, agent, "still here")).await, Err(NO_ROOM));
        assert_eq!(refused(world.store.delete_message(agent.into(), room, said.id).await), NO_ROOM);
        let thumb = Reaction { room, message: said.id, actor: agent.into(), emoji: "👍".into() };
        assert_eq!(refused(world.store.add_reaction(&thumb).await), NO_ROOM);
    }
    let members = world.view(alex, room).await.members;
    assert_eq!(members.len(), 3, "history keeps their names");
    world.store.set_user_disabled(sam, false).await.expect("enabled");
    assert!(may_read(&world, ownerless, room).await);
    world.say(room, ownerless, "back").await;
}

pub(crate) async fn an_inbox_is_its_agents(world: World) {
    let alex = world.person().await;
    let (agent, other) = (world.agent(alex).await, world.agent(alex).await);
    assert!(may_read(&world, agent, agent).await);
    assert!(!may_read(&world, agent, alex).await, "an agent is not its owner");
    assert!(!may_read(&world, alex, agent).await, "nor the other way round");
    assert!(!may_read(&world, other, agent).await);
    assert!(!may_read(&world, UserId(agent.0), agent).await);
    assert!(!may_read(&world, AgentId(alex.0), alex).await);
    assert!(!may_read(&world, UserId(agent.0), UserId(agent.0)).await);
}

pub(crate) async fn handles_of_agents_are_found(world: World) {
    let [alex, sam] = world.people().await;
    let (inside, outside) = (world.agent(alex).await, world.agent(alex).await);
    let room = room_with(&world, &[alex, sam], &[inside]).await;
    let mut handles = vec!["nobody.here".to_owned()];
    for agent in [inside, outside] {
        handles.push(world.store.agent(agent).await.expect("an answer").expect("an agent").handle);
    }
    handles.push(world.store.user(sam).await.expect("an answer").expect("a person").handle);
    let mut found = world.store.members_by_handle(room, &handles).await.expect("an answer");
    found.sort();
    assert_eq!(found, [Principal::User(sam), Principal::Agent(inside)]);
    let mute = RoomSettings { muted: Some(true), name: None };
    assert_eq!(refused(world.store.set_room_settings(UserId(inside.0), room, &mute).await), NO_ROOM);
}
