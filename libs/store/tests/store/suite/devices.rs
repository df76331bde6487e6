//! Devices and their slots.

use std::collections::BTreeSet;

use domain::{AuthSessionId, ConnectionId, DeviceId, NodeId, SlotSessionId, UserId};
use futures_util::future::join_all;
use store::devices::{Slot, SlotOutcome, Standing, TakeSlot};
use store::{Refusal, StoreError};

use super::people::{new_device, person, signed_in};
use super::{AnyStore, Subject};

fn attempt(user: UserId, device: DeviceId) -> TakeSlot {
    TakeSlot {
        user,
        device,
        connection: ConnectionId::new(),
        session: SlotSessionId::new(),
        resumes: None,
        node: NodeId::new(),
    }
}

async fn taken(store: &dyn AnyStore, attempt: &TakeSlot) -> Slot {
    match store.take_slot(attempt).await.expect("an answer") {
        SlotOutcome::Taken(slot) => slot,
        other => panic!("not taken: {other:?}"),
    }
}

async fn owner_and_device(store: &dyn AnyStore) -> (UserId, DeviceId) {
    let user = person(store, "alex").await.id;
    let device = store.create_device(user, &new_device("laptop"), None).await.expect("a device");
    (user, device.id)
}

pub(crate) async fn devices_are_created_and_listed(store: Subject) {
    let (alex, sam) = (person(&*store, "alex").await.id, person(&*store, "sam").await.id);
    let mut created = Vec::new();
    for number in 0..5 {
        let device = new_device(&format!("device {number}"));
        created.push(store.create_device(alex, &device, None).await.expect("a device"));
        // Repeated after a lost answer.
        let again = store.create_device(alex, &device, None).await.expect("the same device");
        assert_eq!(Some(&again), created.last());
        let taken = store.create_device(sam, &device, None).await;
        assert!(matches!(taken, Err(StoreError::Refused(Refusal::Conflict(_)))), "{taken:?}");
    }
    let first = store.devices(alex, None, 3).await.expect("a page");
    let rest = store.devices(alex, Some(first[2].id), 3).await.expect("a page");
    assert_eq!([first, rest].concat(), created);
    assert_eq!(store.devices(sam, None, 3).await.expect("a page"), []);
}

pub(crate) async fn a_key_makes_one_device(store: Subject) {
    let (alex, sam) = (person(&*store, "alex").await.id, person(&*store, "sam").await.id);
    let key = "k".to_owned();
    let calls = join_all((0..8).map(|_| {
        let (store, key) = (store.shared(), key.clone());
        tokio::spawn(async move { store.create_device(alex, &new_device("phone"), Some(&key)).await })
    }))
    .await;
    let made: Vec<_> = calls.into_iter().map(|call| call.expect("no panic").expect("a device")).collect();
    assert!(made.iter().all(|device| *device == made[0]), "{made:?}");
    assert_eq!(store.devices(alex, None, 10).await.expect("a list").len(), 1);

    let theirs = store.create_device(sam, &new_device("phone"), Some(&key)).await.expect("their own key");
    assert_ne!(theirs.id, made[0].id);

    store.delete_device(alex, made[0].id).await.expect("deleted");
    let gone = store.create_device(alex, &new_device("phone"), Some(&key)).await;
    assert!(matches!(gone, Err(StoreError::Refused(Refusal::NotFound("device")))), "{gone:?}");
}

pub(crate) async fn each_taking_raises_the_epoch(store: Subject) {
    let (alex, device) = owner_and_device(&*store).await;
    assert_eq!(store.slot_epochs(&[device]).await.expect("an answer"), []);
    for epoch in 1..4 {
        let attempt = attempt(alex, device);
        let slot = taken(&*store, &attempt).await;
        let expected = Slot { session: attempt.session, device, kind: domain::DeviceKind::Web, epoch };
        assert_eq!(slot, expected);
        assert_eq!(store.slot_device(alex, slot.session).await.expect("an answer"), Some(device));
        assert_eq!(
            store.slot_epochs(&[device, DeviceId::new()]).await.expect("an answer"),
            [(device, epoch)]
        );
    }
    assert_eq!(store.slot_epochs(&[]).await.expect("an answer"), []);
}

pub(crate) async fn a_repeated_attempt_does_not_fence_itself(store: Subject) {
    let (alex, device) = owner_and_device(&*store).await;
    let first = attempt(alex, device);
    let slot = taken(&*store, &first).await;
    assert_eq!(taken(&*store, &first).await, slot);
    let repeated = TakeSlot { session: SlotSessionId::new(), ..first };
    assert_eq!(taken(&*store, &repeated).await, slot, "it keeps the session it has");

    let calls = join_all((0..6).map(|_| {
        let (store, attempt) = (store.shared(), TakeSlot { session: SlotSessionId::new(), ..first });
        tokio::spawn(async move { taken(&*store, &attempt).await })
    }))
    .await;
    assert!(calls.into_iter().all(|call| call.expect("no panic") == slot));
}

pub(crate) async fn of_two_the_higher_epoch_stands(store: Subject) {
    let (alex, device) = owner_and_device(&*store).await;
    for round in 0..6 {
        let attempts = [attempt(alex, device), attempt(alex, device)];
        let slots = join_all(attempts.map(|attempt| {
            let store = store.shared();
            tokio::spawn(async move { taken(&*store, &attempt).await })
        }))
        .await;
        let slots: Vec<Slot> = slots.into_iter().map(|slot| slot.expect("no panic")).collect();
        let epochs: BTreeSet<u64> = slots.iter().map(|slot| slot.epoch).collect();
        assert_eq!(epochs, BTreeSet::from([2 * round + 1, 2 * round + 2]));
        assert_eq!(store.slot_epochs(&[device]).await.expect("an answer"), [(device, 2 * round + 2)]);
        for slot in slots {
            let holds = store.slot_device(alex, slot.session).await.expect("an answer").is_some();
            assert_eq!(holds, slot.epoch == 2 * round + 2);
        }
    }
}

pub(crate) async fn a_slot_is_resumed_by_its_session(store: Subject) {
    let (alex, device) = owner_and_device(&*store).await;
    let first = attempt(alex, device);
    taken(&*store, &first).await;

    let resume = TakeSlot { resumes: Some(first.session), ..attempt(alex, device) };
    let slot = taken(&*store, &resume).await;
    assert_eq!((slot.session, slot.epoch), (resume.session, 2));
    // The answer was lost: the session that is resumed is gone, but this connection holds the slot.
    let repeated = TakeSlot { session: SlotSessionId::new(), ..resume };
    assert_eq!(taken(&*store, &repeated).await, slot);

    let late = TakeSlot { resumes: Some(first.session), ..attempt(alex, device) };
    assert_eq!(store.take_slot(&late).await.expect("an answer"), SlotOutcome::NotResumable);
    assert_eq!(store.slot_epochs(&[device]).await.expect("an answer"), [(device, 2)]);
}

pub(crate) async fn of_two_resumes_one_succeeds(store: Subject) {
    let (alex, device) = owner_and_device(&*store).await;
    let held = attempt(alex, device);
    taken(&*store, &held).await;
    let resumes = join_all((0..2).map(|_| {
        let attempt = TakeSlot { resumes: Some(held.session), ..attempt(alex, device) };
        let store = store.shared();
        tokio::spawn(async move { store.take_slot(&attempt).await.expect("an answer") })
    }))
    .await;
    let refused = resumes
        .into_iter()
        .filter(|outcome| matches!(outcome.as_ref().expect("no panic"), SlotOutcome::NotResumable));
    assert_eq!(refused.count(), 1);
}

pub(crate) async fn slots_are_their_owners(store: Subject) {
    let (alex, device) = owner_and_device(&*store).await;
    let sam = person(&*store, "sam").await.id;
    let held = attempt(alex, device);
    taken(&*store, &held).await;
    for theft in [
        attempt(sam, device),
        TakeSlot { resumes: Some(held.session), ..attempt(sam, device) },
        attempt(alex, DeviceId::new()),
    ] {
        assert_eq!(store.take_slot(&theft).await.expect("an answer"), SlotOutcome::UnknownDevice);
    }
    assert_eq!(store.slot_device(sam, held.session).await.expect("an answer"), None);
    let refused = store.delete_device(sam, device).await;
    assert!(matches!(refused, Err(StoreError::Refused(Refusal::NotFound("device")))), "{refused:?}");
}

pub(crate) async fn deleting_fences_the_connection(store: Subject) {
    let (alex, device) = owner_and_device(&*store).await;
    let held = taken(&*store, &attempt(alex, device)).await;
    assert!(store.delete_device(alex, device).await.expect("deleted") > held.epoch);
    assert_eq!(store.slot_epochs(&[device]).await.expect("an answer"), []);
    assert_eq!(store.slot_device(alex, held.session).await.expect("an answer"), None);
    let late = store.take_slot(&attempt(alex, device)).await.expect("an answer");
    assert_eq!(late, SlotOutcome::UnknownDevice);
    let again = store.delete_device(alex, device).await;
    assert!(matches!(again, Err(StoreError::Refused(Refusal::NotFound("device")))), "{again:?}");
}

pub(crate) async fn deleting_meets_a_taking(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    for _ in 0..8 {
        let device = store.create_device(alex, &new_device("laptop"), None).await.expect("a device").id;
        let takings = join_all((0..3).map(|_| {
            let (store, attempt) = (store.shared(), attempt(alex, device));
            tokio::spawn(async move { store.take_slot(&attempt).await.expect("an answer") })
        }));
        let deleting = {
            let store = store.shared();
            tokio::spawn(async move { store.delete_device(alex, device).await.expect("deleted") })
        };
        let outcomes = takings.await;
        let fence = deleting.await.expect("no panic");
        for outcome in outcomes {
            match outcome.expect("no panic") {
                SlotOutcome::Taken(slot) => {
                    assert!(slot.epoch < fence, "{} is not below {fence}", slot.epoch);
                }
                other => assert_eq!(other, SlotOutcome::UnknownDevice),
            }
        }
    }
}

pub(crate) async fn a_connection_stands_while_its_sign_in_and_slot_do(store: Subject) {
    let (alex, device) = owner_and_device(&*store).await;
    let (one, other) = (signed_in(&*store, alex).await.id, signed_in(&*store, alex).await.id);
    let stands = async |sign_in, slot| store.standing(sign_in, slot).await.expect("an answer");
    let first = attempt(alex, device);
    assert_eq!(stands(one, Some(first.session)).await, Standing::Replaced, "never taken");
    taken(&*store, &first).await;
    assert_eq!(stands(one, Some(first.session)).await, Standing::Good);
    let second = attempt(alex, device);
    taken(&*store, &second).await;
    assert_eq!(stands(one, Some(first.session)).await, Standing::Replaced);
    assert_eq!(stands(other, Some(second.session)).await, Standing::Good);

    store.end_session(alex, one).await.expect("ended");
    assert_eq!(stands(one, Some(second.session)).await, Standing::SignedOut);
    assert_eq!(stands(one, None).await, Standing::SignedOut);
    assert_eq!(stands(AuthSessionId::new(), None).await, Standing::SignedOut);
    assert_eq!(stands(other, None).await, Standing::Good);
    store.delete_device(alex, device).await.expect("deleted");
    assert_eq!(stands(other, Some(second.session)).await, Standing::Replaced);
    store.set_user_disabled(alex, true).await.expect("disabled");
    assert_eq!(stands(other, None).await, Standing::SignedOut);
}
