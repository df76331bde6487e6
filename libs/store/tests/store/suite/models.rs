//! Random sequences of calls, compared with models that fit on a page. The sequences are the same in every run.

use std::collections::BTreeSet;

use domain::{ConnectionId, NodeId, SlotSessionId};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::strategy::{Just, ValueTree};
use proptest::test_runner::TestRunner;
use store::devices::{SlotOutcome, TakeSlot};
use store::sessions::Rotation;

use super::Subject;
use super::people::{HOUR, new_device, new_user, person, secret, signed_in};

fn samples<S: Strategy>(count: usize, strategy: &S) -> Vec<S::Value> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).expect("a value").current()).collect()
}

pub(crate) async fn searches_find_what_begins_so(store: Subject) {
    let texts = vec(prop_oneof!["[ab]", Just("%".into()), Just("_".into()), Just("\\".into())], 0..4)
        .prop_map(|parts| parts.concat());
    let mut people = Vec::new();
    for (number, name) in samples(60, &texts).into_iter().enumerate() {
        let mut user = new_user(&format!("u{number}"));
        user.display_name = format!("A{name}");
        people.push(store.create_user(&user).await.expect("created"));
    }
    for query in samples(60, &texts) {
        let query = format!("a{query}");
        let expected: Vec<_> = people
            .iter()
            .filter(|user| user.display_name.to_lowercase().starts_with(&query))
            .map(|user| user.id)
            .collect();
        let found = store.users(&query, None, 100).await.expect("an answer");
        let found: Vec<_> = found.into_iter().map(|user| user.id).collect();
        assert_eq!(found, expected, "{query:?}");
    }
}

/// A token is handed in: of all that were ever given out, by place.
pub(crate) async fn tokens_are_good_once_and_in_turn(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    for places in samples(25, &vec(prop_oneof![3 => Just(None), 1 => any::<usize>().prop_map(Some)], 1..8)) {
        let session = signed_in(&*store, alex).await;
        let (mut given, mut ended) = (vec![session.refresh], false);
        for place in &places {
            let newest = given.len() - 1;
            let place = place.map_or(newest, |place| place % given.len());
            let next = secret();
            let rotation = store.rotate_refresh(&given[place], &next, HOUR).await.expect("an answer");
            let as_expected = match &rotation {
                Rotation::Rotated { session: id, .. } => !ended && place == newest && *id == session.id,
                Rotation::Reused(by) => place < newest && by.event.is_some() != ended,
                Rotation::Refused => ended && place == newest,
            };
            assert!(as_expected, "{rotation:?} for {place} of {places:?}, ended: {ended}");
            match rotation {
                Rotation::Rotated { .. } => given.push(next),
                Rotation::Reused(_) => ended = true,
                Rotation::Refused => {}
            }
        }
        let gone = store.not_live(&[session.id]).await.expect("an answer");
        assert_eq!(!gone.is_empty(), ended, "{places:?}");
    }
}

#[derive(Debug, Clone, Copy)]
enum Attempt {
    /// A connection, by number, identifies.
    Identify(usize),
    /// A connection resumes the session that was given out at this place.
    Resume(usize, usize),
}

pub(crate) async fn slots_are_held_by_the_newest(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    let attempts = prop_oneof![
        (0..4_usize).prop_map(Attempt::Identify),
        ((0..4_usize), any::<usize>()).prop_map(|(connection, place)| Attempt::Resume(connection, place)),
    ];
    for sequence in samples(25, &vec(attempts, 1..12)) {
        let device = store.create_device(alex, &new_device("laptop"), None).await.expect("a device").id;
        let connections = [(); 4].map(|()| ConnectionId::new());
        // What the slot is: its session, the number of its connection, its epoch.
        let mut held: Option<(SlotSessionId, usize, u64)> = None;
        let mut sessions = vec![SlotSessionId::new()];
        for attempt in &sequence {
            let (number, resumes) = match *attempt {
                Attempt::Identify(number) => (number, None),
                Attempt::Resume(number, place) => (number, Some(sessions[place % sessions.len()])),
            };
            let session = SlotSessionId::new();
            let connection = connections[number];
            let take = TakeSlot { user: alex, device, connection, session, resumes, node: NodeId::new() };
            let outcome = store.take_slot(&take).await.expect("an answer");

            let own = held.filter(|(_, holder, _)| *holder == number);
            let may = resumes.is_none() || held.is_some_and(|(current, ..)| Some(current) == resumes);
            let expected =
                own.or_else(|| may.then(|| (session, number, held.map_or(0, |(_, _, epoch)| epoch) + 1)));
            match (outcome, expected) {
                (SlotOutcome::Taken(slot), Some((session, _, epoch))) => {
                    assert_eq!((slot.session, slot.epoch), (session, epoch), "{attempt:?} in {sequence:?}");
                    held = expected;
                    sessions.push(session);
                }
                (SlotOutcome::NotResumable, None) => {}
                other => panic!("{other:?} for {attempt:?} in {sequence:?}"),
            }
        }
        let epochs = store.slot_epochs(&[device]).await.expect("an answer");
        let epochs: BTreeSet<u64> = epochs.into_iter().map(|(_, epoch)| epoch).collect();
        assert_eq!(epochs, held.map(|(_, _, epoch)| epoch).into_iter().collect(), "{sequence:?}");
    }
}
