//! Consumers: who holds a place, what they have read, how agents are seen.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::{AgentId, ConnectionId, NodeId, SlotSessionId};
use futures_util::future::join_all;
use store::Refusal;
use store::consumers::{
    AgentPresence, AgentStatus, Claim, ConsumerOutcome, ConsumerSlot, Kept, TakeConsumer,
};

use super::people::HOUR;
use super::world::{World, refused};

pub(crate) fn identify(agent: AgentId, name: &str) -> TakeConsumer {
    TakeConsumer {
        agent,
        claim: Claim::Identify { name: name.into() },
        connection: ConnectionId::new(),
        session: SlotSessionId::new(),
        node: NodeId::new(),
        live_for: HOUR,
    }
}

pub(crate) fn resume(agent: AgentId, session: SlotSessionId) -> TakeConsumer {
    TakeConsumer { claim: Claim::Resume { session }, ..identify(agent, "") }
}

impl World {
    /// The place that an attempt takes, without anything else happening.
    pub(crate) async fn taken(&self, attempt: &TakeConsumer) -> ConsumerSlot {
        match self.store.take_consumer(attempt).await.expect("an answer") {
            ConsumerOutcome::Taken { slot, events, runs } => {
                assert_eq!((events, runs), (vec![], vec![]));
                slot
            }
            other => panic!("not taken: {other:?}"),
        }
    }

    /// A new hold of a consumer's place.
    pub(crate) async fn consumer(&self, agent: AgentId, name: &str) -> ConsumerSlot {
        self.taken(&identify(agent, name)).await
    }

    async fn settled(&self, agent: AgentId) -> Vec<(AgentStatus, u64)> {
        let changes = self.store.settle_presence(&[agent]).await.expect("an answer");
        changes
            .into_iter()
            .map(|change| {
                assert_eq!(change.agent, agent);
                (change.status, change.version)
            })
            .collect()
    }
}

pub(crate) async fn each_taking_raises_the_epoch(world: World) {
    let alex = world.person().await;
    let agent = world.worker(alex, 1).await;
    let mut consumer = None;
    for epoch in 1..4 {
        let attempt = identify(agent, "main");
        let slot = world.taken(&attempt).await;
        assert_eq!((slot.agent, slot.session, slot.epoch), (agent, attempt.session, epoch));
        assert_eq!(slot.contested, epoch > 1, "the one before is still connected");
        assert_eq!(*consumer.get_or_insert(slot.consumer), slot.consumer);
        assert!(world.store.holds_consumer(slot.session).await.expect("an answer"));
        let epochs = world.store.consumer_epochs(&[slot.consumer]).await.expect("an answer");
        assert_eq!(epochs, [(slot.consumer, epoch)]);
    }
    let other = world.consumer(agent, "other").await;
    assert_eq!((other.epoch, other.contested), (1, false), "another name is another place");
    let elsewhere = world.consumer(world.worker(alex, 1).await, "main").await;
    assert_ne!(Some(elsewhere.consumer), consumer, "another agent's too");
    assert_eq!(world.store.consumer_epochs(&[]).await.expect("an answer"), []);
}

pub(crate) async fn who_is_gone_contests_nothing(world: World) {
    let agent = world.worker(world.person().await, 1).await;
    let first = world.consumer(agent, "main").await;
    world.store.release_consumer(first.session, HOUR).await.expect("released");
    let second = world.taken(&TakeConsumer { live_for: Duration::ZERO, ..identify(agent, "main") }).await;
    assert!(!second.contested, "the first said good-bye");
    let third = world.consumer(agent, "main").await;
    assert!(!third.contested, "nothing was heard of the second");
    world.store.release_consumer(first.session, HOUR).await.expect("released");
    assert!(world.consumer(agent, "main").await.contested, "the first has nothing to release any more");
}

pub(crate) async fn a_repeated_taking_does_not_fence_itself(world: World) {
    let agent = world.worker(world.person().await, 1).await;
    let attempt = identify(agent, "main");
    let slot = world.taken(&attempt).await;
    assert_eq!(world.taken(&attempt).await, slot);
    let again = TakeConsumer { session: SlotSessionId::new(), ..attempt };
    assert_eq!(world.taken(&again).await, slot, "it keeps the session it has");

    let resumed = resume(agent, slot.session);
    let second = world.taken(&resumed).await;
    assert_eq!((second.epoch, second.session, second.contested), (2, resumed.session, true));
    let again = TakeConsumer { session: SlotSessionId::new(), ..resumed };
    assert_eq!(world.taken(&again).await, second, "who it took the place from is not forgotten");
}

pub(crate) async fn a_place_is_resumed_by_its_session(world: World) {
    let alex = world.person().await;
    let (agent, other) = (world.worker(alex, 1).await, world.worker(alex, 1).await);
    let first = world.consumer(agent, "main").await;
    let outcome = world.store.take_consumer(&resume(other, first.session)).await.expect("an answer");
    assert!(matches!(outcome, ConsumerOutcome::NotResumable), "another agent's: {outcome:?}");
    let second = world.taken(&resume(agent, first.session)).await;
    assert_eq!((second.consumer, second.epoch), (first.consumer, 2));
    for session in [first.session, SlotSessionId::new()] {
        let outcome = world.store.take_consumer(&resume(agent, session)).await.expect("an answer");
        assert!(matches!(outcome, ConsumerOutcome::NotResumable), "{outcome:?}");
    }
    assert!(world.store.holds_consumer(second.session).await.expect("an answer"));
    assert!(!world.store.holds_consumer(first.session).await.expect("an answer"));
}

pub(crate) async fn of_many_takings_the_highest_epoch_stands(world: World) {
    let agent = world.worker(world.person().await, 1).await;
    let start = world.consumer(agent, "main").await;
    let attempts = (0..10).map(|_| {
        let world = world.clone();
        tokio::spawn(async move { world.consumer(agent, "main").await })
    });
    let slots: Vec<_> = join_all(attempts).await.into_iter().map(|slot| slot.expect("no panic")).collect();
    let epochs: BTreeSet<u64> = slots.iter().map(|slot| slot.epoch).collect();
    assert_eq!(epochs, (2..=11).collect());
    for slot in slots {
        let holds = world.store.holds_consumer(slot.session).await.expect("an answer");
        assert_eq!(holds, slot.epoch == 11);
    }

    let held = world.consumer(agent, "main").await;
    let attempts = (0..10).map(|_| {
        let world = world.clone();
        tokio::spawn(async move { world.store.take_consumer(&resume(agent, held.session)).await })
    });
    let outcomes: Vec<_> = join_all(attempts).await.into_iter().map(|one| one.expect("no panic")).collect();
    let taken = outcomes.iter().filter(|one| matches!(one, Ok(ConsumerOutcome::Taken { .. }))).count();
    assert_eq!(taken, 1, "{outcomes:?}");
    assert_eq!(
        world.store.consumer_epochs(&[start.consumer]).await.expect("an answer"),
        [(start.consumer, 13)]
    );
}

pub(crate) async fn nobody_takes_for_an_agent_that_may_not_sign_in(world: World) {
    let [alex, sam] = world.people().await;
    let (revoked, disabled) = (world.worker(alex, 1).await, world.worker(sam, 1).await);
    for agent in [revoked, disabled] {
        let slot = world.consumer(agent, "main").await;
        world.settled(agent).await;
        if agent == revoked {
            world.store.revoke_agent(alex, agent).await.expect("revoked");
        } else {
            world.disable(sam).await;
        }
        for attempt in [identify(agent, "main"), resume(agent, slot.session)] {
            let outcome = world.store.take_consumer(&attempt).await.expect("an answer");
            assert!(matches!(outcome, ConsumerOutcome::UnknownAgent), "{outcome:?}");
        }
        assert_eq!(world.store.agent_snapshot(agent).await.expect("an answer"), None);
        assert_eq!(world.settled(agent).await, [(AgentStatus::Offline, 2)]);
    }
    let nobody = identify(AgentId::new(), "main");
    let outcome = world.store.take_consumer(&nobody).await.expect("an answer");
    assert!(matches!(outcome, ConsumerOutcome::UnknownAgent), "{outcome:?}");
}

pub(crate) async fn cursors_move_forward_only(world: World) {
    let alex = world.person().await;
    let agent = world.worker(alex, 9).await;
    let room = world.group(&[alex]).await;
    world.join(alex, room, agent).await;
    let slot = world.consumer(agent, "main").await;
    assert_eq!(slot.cursor, 1, "what was there before is not for it");
    for _ in 0..2 {
        world.requested(room, alex, agent).await;
    }
    let ack = |session, seq| world.store.ack(session, seq);
    let stands = async |session, seq| ack(session, seq).await.expect("held");
    assert_eq!(stands(slot.session, 2).await, 2);
    assert_eq!(stands(slot.session, 1).await, 2);
    assert_eq!(stands(slot.session, 2).await, 2);
    let beyond = Refusal::Invalid("seq", "0 to the seq of the newest event");
    assert_eq!(refused(ack(slot.session, 4).await), beyond);
    let next = world.taken(&resume(agent, slot.session)).await;
    assert_eq!(next.cursor, 2);
    assert!(matches!(refused(ack(slot.session, 3).await), Refusal::Conflict(_)));
    assert_eq!(stands(next.session, 3).await, 3);
    let ConsumerOutcome::Taken { slot, .. } =
        world.store.take_consumer(&identify(agent, "main")).await.expect("an answer")
    else {
        panic!("not taken")
    };
    assert_eq!(slot.cursor, 3, "also for who takes the place");
}

pub(crate) async fn a_heartbeat_tells_what_was_lost(world: World) {
    let alex = world.person().await;
    let (agent, other) = (world.worker(alex, 1).await, world.worker(alex, 1).await);
    let short = |agent| TakeConsumer { live_for: Duration::ZERO, ..identify(agent, "main") };
    let (first, second) = (world.taken(&short(agent)).await, world.taken(&short(other)).await);
    let keep = |sessions: Vec<SlotSessionId>| {
        let world = world.clone();
        async move { world.store.keep_consumers(&sessions, HOUR, HOUR).await.expect("an answer") }
    };
    assert_eq!(keep(vec![first.session, second.session]).await, Kept::default());
    assert!(world.consumer(agent, "main").await.contested, "the first was kept");
    let kept = keep(vec![first.session, second.session]).await;
    assert_eq!(kept, Kept { lost: vec![first.session], emptied: vec![] });
    assert_eq!(keep(vec![]).await, Kept::default());
}

pub(crate) async fn agents_are_seen_as_they_are(world: World) {
    let alex = world.person().await;
    let agent = world.worker(alex, 2).await;
    assert_eq!(world.settled(agent).await, [], "who never was seen is not news");
    let slot = world.consumer(agent, "main").await;
    assert_eq!(world.settled(agent).await, [(AgentStatus::Online, 1)]);
    assert_eq!(world.settled(agent).await, [], "no change");
    let other = world.consumer(agent, "other").await;
    world.store.release_consumer(slot.session, HOUR).await.expect("released");
    assert_eq!(world.settled(agent).await, [], "the other one is connected");
    world.store.release_consumer(other.session, HOUR).await.expect("released");
    assert_eq!(world.store.vanished_agents(10).await.expect("a list"), [agent]);
    assert_eq!(world.settled(agent).await, [(AgentStatus::Offline, 2)]);
    assert_eq!(world.store.vanished_agents(10).await.expect("a list"), []);
    let noted = AgentPresence { agent, status: AgentStatus::Offline, version: 2 };
    let asked = [agent, AgentId::new()];
    assert_eq!(world.store.agent_presence(&asked).await.expect("an answer"), [noted]);
    world.consumer(agent, "main").await;
    assert_eq!(world.settled(agent).await, [(AgentStatus::Online, 3)]);
    world.store.revoke_agent(alex, agent).await.expect("revoked");
    assert_eq!(world.settled(agent).await, [(AgentStatus::Offline, 4)]);
}

pub(crate) async fn of_many_who_settle_one_tells(world: World) {
    let agent = world.worker(world.person().await, 1).await;
    let mut version = 0;
    for round in 0..6 {
        let slot = world.consumer(agent, "main").await;
        if round % 2 == 1 {
            world.store.release_consumer(slot.session, HOUR).await.expect("released");
        }
        let settling = (0..6).map(|_| {
            let world = world.clone();
            tokio::spawn(async move { world.settled(agent).await })
        });
        let told: Vec<_> =
            join_all(settling).await.into_iter().flat_map(|told| told.expect("no panic")).collect();
        version += 1;
        let status = if round % 2 == 1 { AgentStatus::Offline } else { AgentStatus::Online };
        assert_eq!(told, [(status, version)]);
    }
}

pub(crate) async fn presence_is_found_around_a_person(world: World) {
    let [alex, sam, robin] = world.people().await;
    let (agent, other) = (world.worker(alex, 1).await, world.worker(alex, 1).await);
    let room = world.group(&[alex, sam]).await;
    world.join(alex, room, agent).await;
    world.join(alex, world.group(&[alex]).await, other).await;
    for agent in [agent, other] {
        world.consumer(agent, "main").await;
        world.settled(agent).await;
    }
    let around = async |user| -> Vec<AgentId> {
        let found = world.store.presence_around(user).await.expect("an answer");
        found.iter().map(|presence| presence.agent).collect()
    };
    assert_eq!(around(sam).await, [agent]);
    assert_eq!(around(alex).await.len(), 2);
    assert_eq!(around(robin).await, []);
    let rooms = world.store.rooms_of_agents(&[agent, AgentId::new()]).await.expect("an answer");
    assert_eq!(rooms, [(agent, room)]);
}

pub(crate) async fn an_agent_begins_with_its_rooms(world: World) {
    let alex = world.person().await;
    let agent = world.worker(alex, 3).await;
    let snapshot = async || world.store.agent_snapshot(agent).await.expect("an answer").expect("an agent");
    let alone = snapshot().await;
    assert_eq!((alone.agent.id, alone.agent.owner, alone.agent.max_runs), (agent, alex, 3));
    assert_eq!((alone.log_epoch, alone.inbox, alone.rooms), (world.epoch().await, (0, 0), vec![]));
    let room = world.group(&[alex]).await;
    world.join(alex, room, agent).await;
    world.requested(room, alex, agent).await;
    let inside = snapshot().await;
    assert_eq!((inside.inbox, inside.rooms.len()), ((2, 0), 1));
    assert_eq!((inside.rooms[0].id, inside.rooms[0].head), (room, 3));
    assert_eq!(world.store.agent_snapshot(AgentId::new()).await.expect("an answer"), None);
}
