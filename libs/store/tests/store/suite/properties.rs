//! Random calls against a model of what rooms are: every answer is the model's, and the log stays whole.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::{EventId, MemberRole, Principal, RoomId, UserId};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use store::log::Snapshot;
use store::messages::{NewMessage, Reaction};
use store::retention::EventLimits;
use store::{Refusal, StoreError};

use super::world::{World, assert_whole, message};

const PEOPLE: usize = 4;
/// People, and behind them one agent.
const MEMBERS: usize = PEOPLE + 1;
const ROOMS: usize = 3;
const NO_ROOM: Refusal = Refusal::NotFound("room");
const NO_MESSAGE: Refusal = Refusal::NotFound("message");

/// One message of a batch: room, sender, nonce, and which of the room's messages it answers.
type Sent = (usize, usize, Option<u8>, Option<usize>);

#[derive(Debug, Clone)]
enum Op {
    Send(Vec<Sent>),
    Add { actor: usize, room: usize, member: usize },
    Remove { actor: usize, room: usize, member: usize },
    Read { user: usize, room: usize, back: u64 },
    Delete { actor: usize, room: usize, nth: usize },
    React { actor: usize, room: usize, nth: usize, adds: bool },
    Trim { keep: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    let (person, member, room, nth) = (0..PEOPLE, 0..MEMBERS, 0..ROOMS, 0..12_usize);
    let sent =
        (room.clone(), member.clone(), prop::option::of(0..6_u8), prop::option::weighted(0.3, nth.clone()));
    prop_oneof![
        6 => prop::collection::vec(sent, 1..6).prop_map(Op::Send),
        2 => (person.clone(), room.clone(), member.clone())
            .prop_map(|(actor, room, member)| Op::Add { actor, room, member }),
        2 => (person.clone(), room.clone(), member.clone())
            .prop_map(|(actor, room, member)| Op::Remove { actor, room, member }),
        2 => (person, room.clone(), 0..4_u64)
            .prop_map(|(user, room, back)| Op::Read { user, room, back }),
        2 => (member.clone(), room.clone(), nth.clone())
            .prop_map(|(actor, room, nth)| Op::Delete { actor, room, nth }),
        3 => (member, room, nth, any::<bool>())
            .prop_map(|(actor, room, nth, adds)| Op::React { actor, room, nth, adds }),
        1 => (4..12_u64).prop_map(|keep| Op::Trim { keep }),
    ]
}

#[derive(Debug, Clone, Copy, Default)]
struct Positions {
    head: u64,
    floor: u64,
}

#[derive(Debug, Clone)]
struct Said {
    id: EventId,
    seq: u64,
    sender: usize,
    nonce: Option<u8>,
    deleted: bool,
}

#[derive(Debug, Default)]
struct Room {
    positions: Positions,
    /// In the order of joining: who, whether owner, what they have read.
    members: Vec<(usize, bool, u64)>,
    said: Vec<Said>,
    reactions: BTreeSet<(EventId, usize)>,
}

impl Room {
    fn next(&mut self) -> u64 {
        self.positions.head += 1;
        self.positions.head
    }

    fn member(&mut self, user: usize) -> Option<&mut (usize, bool, u64)> {
        self.members.iter_mut().find(|member| member.0 == user)
    }

    fn owned_by(&mut self, user: usize) -> Result<(), Refusal> {
        match self.member(user) {
            None => Err(NO_ROOM),
            Some((_, false, _)) => Err(Refusal::Forbidden),
            Some(_) => Ok(()),
        }
    }

    /// A message as the one who acts on it finds it.
    fn found(&mut self, actor: usize, id: EventId) -> Result<&mut Said, Refusal> {
        self.member(actor).ok_or(NO_ROOM)?;
        self.said.iter_mut().find(|said| said.id == id).ok_or(NO_MESSAGE)
    }

    fn trim(&mut self, keep: u64) {
        trim(&mut self.positions, keep);
        let floor = self.positions.floor;
        self.said.retain(|said| said.seq > floor);
        let kept: BTreeSet<EventId> = self.said.iter().map(|said| said.id).collect();
        self.reactions.retain(|(message, _)| kept.contains(message));
    }
}

fn trim(positions: &mut Positions, keep: u64) {
    positions.floor = positions.floor.max(positions.head.saturating_sub(keep));
}

/// The model beside what it models.
struct Twin<'a> {
    world: &'a World,
    people: Vec<UserId>,
    /// The people, and the agent.
    members: Vec<Principal>,
    ids: Vec<RoomId>,
    rooms: Vec<Room>,
    inboxes: Vec<Positions>,
    /// All messages ever, so that those that are gone are asked for too.
    ever: Vec<Vec<EventId>>,
}

pub(crate) async fn answers_are_those_of_the_model(world: World) {
    let runtime = tokio::runtime::Handle::current();
    let mut runner = TestRunner::new(Config { cases: 16, failure_persistence: None, ..Config::default() });
    let outcome = tokio::task::block_in_place(|| {
        runner.run(&prop::collection::vec(op(), 1..60), |ops| {
            runtime.block_on(async {
                let mut twin = Twin::new(&world).await;
                for op in ops {
                    twin.step(op).await;
                }
                twin.compare().await;
            });
            Ok(())
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

impl<'a> Twin<'a> {
    async fn new(world: &'a World) -> Self {
        let people: [UserId; PEOPLE] = world.people().await;
        let agent = Principal::Agent(world.agent(people[0]).await);
        let mut twin = Self {
            world,
            people: people.to_vec(),
            members: people.iter().copied().map(Principal::User).chain([agent]).collect(),
            ids: Vec::new(),
            rooms: Vec::new(),
            inboxes: vec![Positions::default(); MEMBERS],
            ever: vec![Vec::new(); ROOMS],
        };
        for (owner, user) in people.iter().enumerate().take(ROOMS) {
            twin.ids.push(world.group(&[*user]).await);
            twin.inboxes[owner].head += 1;
            let positions = Positions { head: 1, floor: 0 };
            twin.rooms.push(Room { positions, members: vec![(owner, true, 0)], ..Room::default() });
        }
        twin
    }

    async fn step(&mut self, op: Op) {
        match op {
            Op::Send(batch) => self.send(&batch).await,
            Op::Add { actor, room, member } => self.add(actor, room, member).await,
            Op::Remove { actor, room, member } => self.remove(actor, room, member).await,
            Op::Read { user, room, back } => self.read(user, room, back).await,
            Op::Delete { actor, room, nth } => self.delete(actor, room, nth).await,
            Op::React { actor, room, nth, adds } => self.react(actor, room, nth, adds).await,
            Op::Trim { keep } => {
                let limits = EventLimits { max_age: Duration::ZERO, max_per_stream: keep };
                self.world.store.trim_events(limits, u32::MAX).await.expect("an answer");
                self.rooms.iter_mut().for_each(|room| room.trim(keep));
                self.inboxes.iter_mut().for_each(|inbox| trim(inbox, keep));
            }
        }
    }

    fn message_of(&self, room: usize, nth: usize) -> EventId {
        let ever = &self.ever[room];
        if ever.is_empty() { EventId::new() } else { ever[nth % ever.len()] }
    }

    async fn send(&mut self, batch: &[Sent]) {
        let messages: Vec<NewMessage> = batch
            .iter()
            .map(|&(room, sender, nonce, answers)| NewMessage {
                nonce: nonce.map(|nonce| nonce.to_string()),
                reply_to: answers.map(|nth| self.message_of(room, nth)),
                ..message(self.ids[room], self.members[sender], "hello")
            })
            .collect();
        let outcomes = self.world.store.append_messages(&messages).await.expect("an answer");
        // What a message answers must have been there before the batch.
        let before: Vec<BTreeSet<EventId>> =
            self.rooms.iter().map(|room| room.said.iter().map(|said| said.id).collect()).collect();
        for ((&(at, sender, nonce, _), message), outcome) in batch.iter().zip(&messages).zip(outcomes) {
            let room = &mut self.rooms[at];
            let known =
                room.said.iter().find(|said| nonce.is_some() && said.nonce == nonce && said.sender == sender);
            let expected = if room.members.iter().all(|member| member.0 != sender) {
                Err(NO_ROOM)
            } else if let Some(known) = known {
                Ok((known.id, known.seq, false))
            } else if message.reply_to.is_some_and(|to| !before[at].contains(&to)) {
                Err(Refusal::Invalid("reply_to", "a message of this room"))
            } else {
                let seq = room.next();
                room.said.push(Said { id: message.id, seq, sender, nonce, deleted: false });
                self.ever[at].push(message.id);
                Ok((message.id, seq, true))
            };
            let given = outcome.map(|appended| (appended.event.id, appended.event.seq, appended.fresh));
            assert_eq!(given, expected, "{message:?}");
        }
    }

    async fn add(&mut self, actor: usize, at: usize, member: usize) {
        let events =
            self.world.store.add_members(self.people[actor], self.ids[at], &[self.members[member]]).await;
        let room = &mut self.rooms[at];
        let expected = room.owned_by(actor).map(|()| {
            if room.member(member).is_some() {
                return 0;
            }
            let before = room.positions.head;
            room.next();
            room.members.push((member, false, before));
            self.inboxes[member].head += 1;
            2
        });
        assert_eq!(answer(events).map(|events| events.len()), expected);
    }

    async fn remove(&mut self, actor: usize, at: usize, member: usize) {
        let events =
            self.world.store.remove_member(self.people[actor], self.ids[at], self.members[member]).await;
        let room = &mut self.rooms[at];
        let allowed = match room.member(actor) {
            None => Err(NO_ROOM),
            Some(_) if actor == member => Ok(()),
            Some(_) => room.owned_by(actor),
        };
        let expected = allowed.map(|()| {
            if room.member(member).is_none() {
                return 0;
            }
            room.members.retain(|one| one.0 != member);
            if room.members.iter().all(|member| !member.1)
                && let Some(heir) = room.members.iter_mut().find(|member| member.0 < PEOPLE)
            {
                heir.1 = true;
            }
            room.next();
            self.inboxes[member].head += 1;
            2
        });
        assert_eq!(answer(events).map(|events| events.len()), expected);
    }

    async fn read(&mut self, user: usize, at: usize, back: u64) {
        let room = &mut self.rooms[at];
        let seq = (room.positions.head + 1).saturating_sub(back);
        let given = self.world.store.set_read(self.people[user], self.ids[at], seq).await;
        let head = room.positions.head;
        let expected = match room.member(user) {
            None => Err(NO_ROOM),
            Some(_) if seq > head => Err(Refusal::Invalid("seq", "0 to the seq of the newest event")),
            Some((_, _, last_read)) if *last_read < seq => {
                *last_read = seq;
                self.inboxes[user].head += 1;
                Ok((seq, true))
            }
            Some((_, _, last_read)) => Ok((*last_read, false)),
        };
        assert_eq!(answer(given).map(|(seq, events)| (seq, !events.is_empty())), expected);
    }

    async fn delete(&mut self, actor: usize, at: usize, nth: usize) {
        let id = self.message_of(at, nth);
        let given = self.world.store.delete_message(self.members[actor], self.ids[at], id).await;
        let room = &mut self.rooms[at];
        let owner = room.owned_by(actor).is_ok();
        let expected = room.found(actor, id).and_then(|said| {
            if said.sender != actor && !owner {
                return Err(Refusal::Forbidden);
            }
            Ok(!std::mem::replace(&mut said.deleted, true))
        });
        if expected == Ok(true) {
            room.reactions.retain(|(message, _)| *message != id);
            room.next();
        }
        assert_eq!(answer(given).map(|event| event.is_some()), expected);
    }

    async fn react(&mut self, actor: usize, at: usize, nth: usize, adds: bool) {
        let id = self.message_of(at, nth);
        let reaction =
            Reaction { room: self.ids[at], message: id, actor: self.members[actor], emoji: "👍".into() };
        let given = if adds {
            self.world.store.add_reaction(&reaction).await
        } else {
            self.world.store.remove_reaction(&reaction).await
        };
        let room = &mut self.rooms[at];
        let expected = match room.found(actor, id) {
            Err(refusal) => Err(refusal),
            Ok(said) if said.deleted && adds => Err(Refusal::MessageDeleted),
            Ok(_) if adds => Ok(room.reactions.insert((id, actor))),
            Ok(_) => Ok(room.reactions.remove(&(id, actor))),
        };
        if expected == Ok(true) {
            room.next();
        }
        assert_eq!(answer(given).map(|event| event.is_some()), expected);
    }

    /// Everything that can be read, with the model.
    async fn compare(&mut self) {
        for (user, id) in self.people.iter().enumerate() {
            let snapshot = self.world.store.snapshot(*id).await.expect("an answer").expect("a person");
            let inbox = self.inboxes[user];
            assert_eq!(snapshot.inbox, (inbox.head, inbox.floor));
            self.compare_summaries(user, &snapshot);
        }
        for (place, member) in self.members.iter().enumerate() {
            let page = self.world.page(*member, member.stream()).await;
            assert_whole(&page);
            assert_eq!((page.head, page.floor), (self.inboxes[place].head, self.inboxes[place].floor));
            self.compare_rooms(place, *member).await;
        }
    }

    fn compare_summaries(&self, user: usize, snapshot: &Snapshot) {
        let mut summaries: BTreeMap<RoomId, _> = snapshot.rooms.iter().map(|room| (room.id, room)).collect();
        for (room, id) in self.rooms.iter().zip(&self.ids) {
            let Some(member) = room.members.iter().find(|member| member.0 == user) else { continue };
            let summary = summaries.remove(id).expect("a room of theirs");
            let Positions { head, floor } = room.positions;
            assert_eq!((summary.head, summary.floor, summary.last_read), (head, floor, member.2));
        }
        assert!(summaries.is_empty());
    }

    async fn compare_rooms(&self, place: usize, member: Principal) {
        for (room, id) in self.rooms.iter().zip(&self.ids) {
            let view = self.world.store.room(member, *id).await.expect("an answer");
            let Some((.., last_read)) = room.members.iter().find(|member| member.0 == place) else {
                assert_eq!(view, None);
                continue;
            };
            let view = view.expect("a room of theirs");
            let Positions { head, floor } = room.positions;
            assert_eq!((view.head, view.floor, view.last_read), (head, floor, *last_read));
            let page = self.world.page(member, *id).await;
            assert_whole(&page);
            assert_eq!((page.head, page.floor), (head, floor));
            let members: Vec<_> = view.members.iter().map(|member| (member.member, member.role)).collect();
            let role = |owns| if owns { MemberRole::Owner } else { MemberRole::Member };
            let expected: Vec<_> =
                room.members.iter().map(|(place, owns, _)| (self.members[*place], role(*owns))).collect();
            assert_eq!(members, expected);
        }
    }
}

fn answer<T: std::fmt::Debug>(given: Result<T, StoreError>) -> Result<T, Refusal> {
    given.map_err(|error| match error {
        StoreError::Refused(refusal) => refusal,
        other => panic!("{other}"),
    })
}
