//! Pushes to devices: each device and notification once, in order, by who holds the device.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::notification::{Preferences, Reason};
use domain::{AuthSessionId, DeviceId, NodeId, NotificationId, UserId};
use futures_util::future::join_all;
use store::Refusal;
use store::messages::MessageEdit;
use store::notifications::ReadWhat;
use store::push::{DeviceAfter, FinishedDevice, Outcome, PushAddress, Subscription};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::notice_scene::{Told, address, became, freed, mentioning, rests, sent, so, step, token, waiting};
use super::people::{HOUR, new_session};
use super::world::{World, message, refused};

impl Told {
    async fn subscription(&self, user: UserId, device: DeviceId) -> Option<Subscription> {
        self.store.subscription(user, device).await.expect("an answer")
    }

    async fn subscribe(&self, user: UserId, device: DeviceId, address: &PushAddress) {
        self.store.subscribe(user, AuthSessionId::new(), device, address).await.expect("subscribed");
    }

    /// How long until the next device is to be looked at, in whole minutes.
    async fn minutes_to_push(&self) -> Option<u64> {
        let next = self.store.next_push().await.expect("an answer");
        next.map(|next| (next.as_secs() + 30) / 60)
    }

    async fn test(&self, device: DeviceId) {
        self.store.request_test(self.sam, device).await.expect("asked");
    }
}

pub(crate) async fn a_subscription_is_its_owners(world: World) {
    let told = Told::new(world).await;
    let device = told.device(told.sam).await;
    assert_eq!(told.subscription(told.sam, device).await, None);
    let missing = Refusal::NotFound("device");
    for (user, device) in [(told.alex, device), (told.sam, DeviceId::new())] {
        assert_eq!(
            refused(told.store.subscribe(user, AuthSessionId::new(), device, &address()).await),
            missing
        );
        assert_eq!(refused(told.store.unsubscribe(user, device).await), missing);
        let none = refused(told.store.request_test(user, device).await);
        assert_eq!(none, Refusal::NotFound("push subscription"));
    }
    for address in [address(), token("of Sam"), address()] {
        told.subscribe(told.sam, device, &address).await;
        let found = told.subscription(told.sam, device).await.expect("a subscription");
        assert_eq!((found.device, found.address == address), (device, true));
        assert_eq!((found.failures, &found.last), (0, &None));
    }
    assert_eq!(told.subscription(told.alex, device).await, None);
    assert_eq!(refused(told.store.unsubscribe(told.alex, device).await), missing);
    assert!(told.subscription(told.sam, device).await.is_some());
    for _ in 0..2 {
        told.store.unsubscribe(told.sam, device).await.expect("nothing to forget is no error");
        assert_eq!(told.subscription(told.sam, device).await, None);
    }
    assert_eq!(told.minutes_to_push().await, None);
}

pub(crate) async fn a_claim_gives_what_waits_of_one_room(world: World) {
    let told = Told::new(world).await;
    let device = told.subscribed(told.sam).await;
    let other = told.group(&[told.alex, told.sam]).await;
    let wanted = Preferences { previews: false, ..Preferences::default() };
    told.store.set_preferences(told.sam, &wanted).await.expect("noted");
    let mut ids = Vec::new();
    for room in [other, told.room, other, other, told.room] {
        ids.push(told.pushed_in(room).await);
    }
    assert_eq!(told.minutes_to_push().await, Some(0));
    let expected = [vec![ids[0], ids[2]], vec![ids[1], ids[4]], vec![ids[3]]];
    for (expected, unread) in expected.into_iter().zip([5, 4, 3]) {
        let claim = Uuid::now_v7();
        let claimed = told.store.claim_pushes(claim, HOUR, 9, 2).await.expect("a claim");
        assert_eq!(claimed.len(), 1);
        let one = &claimed[0];
        assert_eq!((one.device, waiting(one)), (device, expected.clone()));
        assert!(matches!(one.address, PushAddress::WebPush { .. }));
        assert_eq!((one.failures, one.is_test, one.unread, &one.preferences), (0, false, unread, &wanted));
        for (notification, why) in &one.waiting {
            assert_eq!(
                (notification, *why),
                (&told.notice(told.sam, notification.id).await, Reason::PushOffline)
            );
            assert!(one.now >= notification.created_at);
        }
        assert_eq!((told.claim(claim).await, told.minutes_to_push().await), (vec![], Some(60)));
        assert_eq!(told.finish(&[sent(claim, one)]).await, [device]);
        told.read(told.sam, &ReadWhat::Ids(vec![expected[0]])).await.expect("an event");
    }
    assert_eq!((told.claim(Uuid::now_v7()).await, told.minutes_to_push().await), (vec![], None));
    for id in ids {
        let (_, steps) = told.traced(told.sam, id).await;
        assert_eq!(steps.len(), 2);
        assert_eq!(
            (&*steps[1].step, steps[1].device, steps[1].node),
            ("sent", Some(device), Some(told.node))
        );
        assert_eq!(steps[1].detail.as_deref(), Some("201"));
    }
}

/// What waits is shown as it stands when it is sent.
pub(crate) async fn what_waits_is_as_it_stands(world: World) {
    let told = Told::new(world).await;
    told.subscribed(told.sam).await;
    let said = mentioning(message(told.room, told.alex, "look"), &[told.sam]);
    told.append(said.clone()).await.expect("good");
    told.settle(Outcome::Push(Reason::PushOffline)).await;
    let edit = MessageEdit {
        room: told.room,
        message: said.id,
        actor: told.alex.into(),
        id: domain::EventId::new(),
        data: serde_json::json!({ "event_id": said.id, "body": "see" }).to_string().into(),
    };
    told.store.edit_message(&edit).await.expect("edited");
    let claim = Uuid::now_v7();
    let claimed = told.claim_one(claim).await;
    assert_eq!(claimed.waiting[0].0.body.as_deref(), Some("see"));
    told.finish(&[rests(claim, &claimed, Duration::ZERO)]).await;
    told.store.delete_message(told.alex.into(), told.room, said.id).await.expect("deleted");
    let claimed = told.claim_one(claim).await;
    assert!(claimed.waiting[0].0.facts.withdrawn);
    assert_eq!((&claimed.waiting[0].0.body, claimed.unread), (&None, 0));
}

pub(crate) async fn a_claimed_device_is_nobody_elses(world: World) {
    let told = Told::new(world).await;
    let device = told.subscribed(told.sam).await;
    let first = told.pushed().await;
    let (one, other) = (Uuid::now_v7(), Uuid::now_v7());
    let claimed = told.claim_one(one).await;
    let second = told.pushed().await;
    told.test(device).await;
    assert_eq!((told.claim(other).await, told.minutes_to_push().await), (vec![], Some(60)));
    // Under another claim nothing is written.
    for after in [DeviceAfter::Free { result: None }, DeviceAfter::Gone] {
        assert_eq!(told.finish(&[FinishedDevice { after, ..sent(other, &claimed) }]).await, []);
    }
    assert_eq!(told.steps(told.sam, first).await.len(), 1);
    assert_eq!(told.finish(&[sent(one, &claimed), freed(one, DeviceId::new())]).await, [device]);
    assert_eq!(told.finish(&[sent(one, &claimed)]).await, [], "said again");
    assert_eq!(told.steps(told.sam, first).await.len(), 2);
    // What came meanwhile waits, and comes at once.
    let claimed = told.claim_one(other).await;
    assert_eq!((waiting(&claimed), claimed.is_test), (vec![second], true));
    // A second request is not what is answered.
    told.test(device).await;
    assert_eq!(told.finish(&[sent(other, &claimed)]).await, [device]);
    let claimed = told.claim_one(one).await;
    assert_eq!((waiting(&claimed), claimed.is_test), (vec![], true));
    assert_eq!(told.finish(&[sent(one, &claimed)]).await, [device]);
    assert_eq!((told.claim(one).await, told.minutes_to_push().await), (vec![], None));
}

pub(crate) async fn a_device_that_is_lost_is_anothers(world: World) {
    let told = Told::new(world).await;
    let device = told.subscribed(told.sam).await;
    let id = told.pushed().await;
    let (late, quick) = (Uuid::now_v7(), Uuid::now_v7());
    let take =
        async |claim| told.store.claim_pushes(claim, Duration::ZERO, 9, 9).await.expect("a claim").remove(0);
    let first = take(late).await;
    // A lease says when another may take it. Until one does, what became of it counts.
    assert_eq!(told.finish(&[rests(late, &first, Duration::ZERO)]).await, [device]);
    let first = take(late).await;
    let second = told.claim_one(quick).await;
    assert_eq!((waiting(&first), waiting(&second)), (vec![id], vec![id]));
    let before = told.traced(told.sam, id).await;
    for lost in [sent(late, &first), rests(late, &first, HOUR)] {
        assert_eq!(told.finish(&[FinishedDevice { after: DeviceAfter::Gone, ..lost.clone() }]).await, []);
        assert_eq!(told.finish(&[lost]).await, []);
    }
    assert_eq!((told.traced(told.sam, id).await, told.minutes_to_push().await), (before, Some(60)));
    assert_eq!(told.subscription(told.sam, device).await.expect("a subscription").failures, 1);
    assert_eq!(told.finish(&[sent(quick, &second)]).await, [device]);
    assert_eq!(told.claim(late).await, []);
    let steps = [step("decided", Some("push_offline")), step("retried", None), step("sent", None)];
    assert_eq!(told.steps(told.sam, id).await, steps);
}

pub(crate) async fn a_device_rests_with_all_its_pushes(world: World) {
    let told = Told::new(world).await;
    let device = told.subscribed(told.sam).await;
    let first = told.pushed().await;
    let claim = Uuid::now_v7();
    let claimed = told.claim_one(claim).await;
    let second = told.pushed().await;
    assert_eq!(told.finish(&[rests(claim, &claimed, HOUR)]).await, [device]);
    // Neither what waited, nor what comes, nor a push to try it.
    let other = told.group(&[told.alex, told.sam]).await;
    let third = told.pushed_in(other).await;
    told.test(device).await;
    let same = told.subscription(told.sam, device).await.expect("a subscription");
    told.subscribe(told.sam, device, &same.address).await;
    assert_eq!((told.claim(claim).await, told.minutes_to_push().await), (vec![], Some(60)));
    assert_eq!((same.failures, same.last.map(|last| last.1).as_deref()), (1, Some("503")));
    // Another address has nothing to do with it.
    told.subscribe(told.sam, device, &address()).await;
    let fresh = told.subscription(told.sam, device).await.expect("a subscription");
    assert_eq!((fresh.failures, fresh.last), (0, None));
    let claimed = told.claim_one(claim).await;
    assert_eq!((waiting(&claimed), claimed.is_test), (vec![first, second], true));
    // Failures are counted until something is sent.
    for failures in 1..=2 {
        let rest = FinishedDevice { tested: true, ..rests(claim, &claimed, Duration::ZERO) };
        assert_eq!(told.finish(&[rest]).await, [device]);
        let claimed = told.claim_one(claim).await;
        assert_eq!((claimed.failures, claimed.is_test), (failures, false));
    }
    assert_eq!(told.finish(&[freed(claim, device)]).await, [device], "nothing was sent");
    let claimed = told.claim_one(claim).await;
    assert_eq!(claimed.failures, 2);
    assert_eq!(told.finish(&[sent(claim, &claimed)]).await, [device]);
    let claimed = told.claim_one(claim).await;
    assert_eq!((claimed.failures, waiting(&claimed)), (0, vec![third]));
    assert_eq!(told.finish(&[rests(claim, &claimed, HOUR)]).await, [device]);
    // A device that nothing waits for rests, too.
    told.store.trim_notifications(Duration::ZERO, 100).await.expect("trimmed");
    let claimed = {
        told.subscribe(told.sam, device, &token("t")).await;
        told.claim_one(claim).await
    };
    assert_eq!(told.finish(&[rests(claim, &claimed, HOUR)]).await, [device]);
    assert_eq!(told.minutes_to_push().await, None);
    told.pushed().await;
    assert_eq!((told.claim(claim).await, told.minutes_to_push().await), (vec![], Some(60)));
}

pub(crate) async fn a_receiver_that_is_gone_is_forgotten(world: World) {
    let told = Told::new(world).await;
    let [gone, kept] = [told.subscribed(told.sam).await, told.subscribed(told.sam).await];
    let other = told.group(&[told.alex, told.sam]).await;
    let mut ids = Vec::new();
    for room in [told.room, told.room, other] {
        ids.push(told.pushed_in(room).await);
    }
    let claim = Uuid::now_v7();
    let claimed = told.claim(claim).await;
    let finished = claimed.iter().map(|device| match device.device == gone {
        true => FinishedDevice {
            steps: vec![became(ids[0], "dropped", true)],
            after: DeviceAfter::Gone,
            ..sent(claim, device)
        },
        false => sent(claim, device),
    });
    let held = told.finish(&finished.collect::<Vec<_>>()).await;
    assert_eq!(held.into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([gone, kept]));
    assert_eq!(told.subscription(told.sam, gone).await, None);
    for (n, id) in ids.iter().enumerate() {
        let (_, steps) = told.traced(told.sam, *id).await;
        let at = |device| {
            let steps = steps.iter().filter(|step| step.device == Some(device));
            steps.map(|step| (&*step.step, step.reason.as_deref())).collect::<Vec<_>>()
        };
        assert_eq!(at(gone), [("dropped", (n > 0).then_some("gone"))]);
        assert_eq!(at(kept), if n < 2 { vec![("sent", None)] } else { vec![] });
    }
    assert_eq!(waiting(&told.claim_one(claim).await), ids[2..]);
    assert_eq!(told.store.devices(told.sam, None, 10).await.expect("a list").len(), 2, "the device stays");
    // It may come back, without what was dropped.
    told.subscribe(told.sam, gone, &address()).await;
    assert_eq!(told.claim(Uuid::now_v7()).await, []);
}

pub(crate) async fn subscribing_again_keeps_a_claim_unless_it_differs(world: World) {
    let told = Told::new(world).await;
    let device = told.device(told.sam).await;
    let PushAddress::WebPush { endpoint, p256dh, auth } = address() else { panic!("a push service") };
    let web = |p256dh: &str, auth: &str| PushAddress::WebPush {
        endpoint: endpoint.clone(),
        p256dh: p256dh.into(),
        auth: auth.into(),
    };
    told.subscribe(told.sam, device, &web(&p256dh, &auth)).await;
    let id = told.pushed().await;
    let claim = Uuid::now_v7();
    let claimed = told.claim_one(claim).await;
    told.subscribe(told.sam, device, &web(&p256dh, &auth)).await;
    assert_eq!(told.claim(claim).await, []);
    for other in [web("other", &auth), web("other", "other"), token(&endpoint), token("other")] {
        told.subscribe(told.sam, device, &other).await;
        let again = told.claim_one(Uuid::now_v7()).await;
        assert_eq!((waiting(&again), again.address == other), (vec![id], true));
    }
    assert_eq!(told.finish(&[sent(claim, &claimed)]).await, [], "that was to the old one");
    assert_eq!(told.steps(told.sam, id).await.len(), 1);

    // Nothing waits: nothing is to be looked at. A push to try it is not forgotten.
    let quiet = told.subscribed(told.alex).await;
    told.subscribe(told.alex, quiet, &address()).await;
    assert_eq!(told.claim(claim).await, []);
    told.store.request_test(told.alex, quiet).await.expect("asked");
    told.subscribe(told.alex, quiet, &address()).await;
    let claimed = told.claim_one(claim).await;
    assert_eq!((claimed.device, claimed.is_test), (quiet, true));
    told.subscribe(told.alex, quiet, &address()).await;
    let again = told.claim_one(claim).await;
    assert_eq!((again.device, again.is_test), (quiet, true), "the old address was tried");
}

pub(crate) async fn an_address_is_the_last_devices(world: World) {
    let told = Told::new(world).await;
    let [one, two] = [told.device(told.sam).await, told.device(told.sam).await];
    let theirs = told.device(told.alex).await;
    let shared = address();
    let mut lost = Vec::new();
    for (user, device) in [(told.sam, one), (told.sam, two), (told.alex, theirs), (told.sam, one)] {
        told.subscribe(user, device, &shared).await;
        let mut holders = Vec::new();
        for (user, device) in [(told.sam, one), (told.sam, two), (told.alex, theirs)] {
            holders.extend(told.subscription(user, device).await.map(|found| found.device));
        }
        assert_eq!(holders, [device]);
        // What waited for the one before went with its subscription, and nobody else gets it.
        let claimed = told.claim(Uuid::now_v7()).await;
        assert!(claimed.iter().all(|claimed| claimed.waiting.is_empty()), "{claimed:?}");
        for id in &lost {
            let steps = told.steps(told.sam, *id).await;
            assert!(steps.contains(&step("dropped", Some("unsubscribed"))), "{steps:?}");
        }
        lost = if user == told.sam { vec![told.pushed().await] } else { vec![] };
    }
}

pub(crate) async fn an_address_that_many_want_has_one(world: World) {
    let told = Told::new(world).await;
    let mut devices = Vec::new();
    for user in [told.sam, told.alex, told.sam, told.alex] {
        devices.push((user, told.device(user).await));
    }
    let addresses = [address(), address(), token("third")];
    for round in 0..12_usize {
        // All want the same, or each another's.
        let calls = devices.iter().enumerate().map(|(n, (user, device))| {
            let (told, user, device) = (told.clone(), *user, *device);
            let address = addresses[if round % 2 == 0 { 0 } else { (n + round) % addresses.len() }].clone();
            tokio::spawn(
                async move { told.store.subscribe(user, AuthSessionId::new(), device, &address).await },
            )
        });
        for call in join_all(calls.collect::<Vec<_>>()).await {
            call.expect("no panic").expect("subscribed");
        }
        let mut holders = Vec::new();
        for (user, device) in &devices {
            holders.extend(told.subscription(*user, *device).await);
        }
        for address in &addresses {
            let of = holders.iter().filter(|holder| holder.address == *address).count();
            assert!(of <= 1, "{of} have one address");
        }
        if round % 2 == 0 {
            assert_eq!(holders.iter().filter(|holder| holder.address == addresses[0]).count(), 1);
        }
    }
}

pub(crate) async fn what_waits_goes_with_its_subscription(world: World) {
    let told = Told::new(world).await;
    let [left, deleted, kept] =
        [told.subscribed(told.sam).await, told.subscribed(told.sam).await, told.subscribed(told.sam).await];
    let id = told.pushed().await;
    let claim = Uuid::now_v7();
    let claimed = told.claim(claim).await;
    told.store.unsubscribe(told.sam, left).await.expect("forgotten");
    told.store.delete_device(told.sam, deleted).await.expect("deleted");
    let finished: Vec<_> = claimed.iter().map(|device| sent(claim, device)).collect();
    assert_eq!(told.finish(&finished).await, [kept]);
    let (_, steps) = told.traced(told.sam, id).await;
    let steps: BTreeSet<_> =
        steps.into_iter().filter_map(|step| Some((step.device?, step.step, step.reason))).collect();
    let unsubscribed = |device| (device, "dropped".to_owned(), Some("unsubscribed".to_owned()));
    let expected = [unsubscribed(left), unsubscribed(deleted), (kept, "sent".into(), None)];
    assert_eq!(steps, BTreeSet::from(expected));
    assert_eq!((told.claim(claim).await, told.minutes_to_push().await), (vec![], None));
    told.subscribe(told.sam, left, &address()).await;
    assert_eq!(told.claim(claim).await, [], "it begins anew");
}

pub(crate) async fn a_test_is_a_push_without_notification(world: World) {
    let told = Told::new(world).await;
    let device = told.subscribed(told.sam).await;
    assert_eq!(
        refused(told.store.request_test(told.alex, device).await),
        Refusal::NotFound("push subscription")
    );
    for _ in 0..2 {
        told.test(device).await;
    }
    assert_eq!(told.minutes_to_push().await, Some(0));
    let claim = Uuid::now_v7();
    let claimed = told.claim_one(claim).await;
    assert_eq!((claimed.is_test, waiting(&claimed), claimed.unread), (true, vec![], 0));
    assert_eq!(told.finish(&[freed(claim, device)]).await, [device], "it was not sent");
    let claimed = told.claim_one(claim).await;
    assert!(claimed.is_test);
    assert_eq!(told.finish(&[sent(claim, &claimed)]).await, [device]);
    assert_eq!(told.claim(claim).await, []);
    let (at, result) = told.subscription(told.sam, device).await.expect("one").last.expect("a result");
    assert_eq!((&*result, at >= claimed.now), ("sent", true));
}

/// Everything at once: decisions, claims, requests, ends of subscriptions. Each device gets each notification once.
pub(crate) async fn a_device_gets_each_once_however_many_send(world: World) {
    const EACH: usize = 120;
    let told = Told::new(world).await;
    let mut rooms = vec![told.room];
    for _ in 0..2 {
        rooms.push(told.group(&[told.alex, told.sam]).await);
    }
    let mut devices = Vec::new();
    for _ in 0..4 {
        devices.push(told.subscribed(told.sam).await);
    }
    let mut tasks = JoinSet::new();
    for sender in 0..2_usize {
        let (told, rooms) = (told.clone(), rooms.clone());
        tasks.spawn(async move {
            for n in 0..EACH / 2 {
                told.notified_in(rooms[(n + sender) % rooms.len()]).await;
                let claim = Uuid::now_v7();
                let taken = told.store.claim_undecided(claim, HOUR, 2).await.expect("a claim");
                let decided: Vec<_> =
                    taken.iter().map(|one| so(one, Outcome::Push(Reason::PushOffline))).collect();
                told.decide(claim, &decided).await;
            }
            Vec::new()
        });
    }
    for worker in 0..4_usize {
        let (told, devices) = (told.clone(), devices.clone());
        tasks.spawn(async move {
            let (node, mut sends) = (NodeId::new(), Vec::new());
            let (mut turn, mut idle) = (0_usize, 0);
            while idle < 100 {
                turn += 1;
                if worker == 0 {
                    told.test(devices[turn % devices.len()]).await;
                }
                let claim = Uuid::now_v7();
                let claimed = told.store.claim_pushes(claim, HOUR, 2, 3).await.expect("a claim");
                let nothing = claimed.iter().all(|device| device.waiting.is_empty());
                idle = if nothing { idle + 1 } else { 0 };
                let finished: Vec<_> = claimed
                    .iter()
                    .map(|device| match turn % 3 {
                        1 => rests(claim, device, Duration::from_micros(50)),
                        _ => sent(claim, device),
                    })
                    .collect();
                let held = told.store.finish_pushes(node, &finished).await.expect("an answer");
                assert_eq!(held.len(), claimed.len(), "nobody takes what is leased");
                sends.extend(finished.into_iter().flat_map(|device| {
                    let over = device.steps.into_iter().filter(|step| step.is_over);
                    over.map(move |step| (device.device, step.notification)).collect::<Vec<_>>()
                }));
                tokio::task::yield_now().await;
            }
            sends
        });
    }
    let sends: Vec<(DeviceId, NotificationId)> = tasks.join_all().await.into_iter().flatten().collect();
    let mut counts: BTreeMap<(DeviceId, NotificationId), u32> = BTreeMap::new();
    for sent in sends {
        *counts.entry(sent).or_default() += 1;
    }
    let claim = Uuid::now_v7();
    loop {
        let claimed = told.claim(claim).await;
        if claimed.is_empty() {
            break;
        }
        for device in &claimed {
            for id in waiting(device) {
                *counts.entry((device.device, id)).or_default() += 1;
            }
        }
        told.finish(&claimed.iter().map(|device| sent(claim, device)).collect::<Vec<_>>()).await;
    }
    assert_eq!(told.undecided(claim).await, []);
    assert_eq!(counts.len(), EACH * devices.len());
    assert!(counts.values().all(|count| *count == 1), "twice");
}

pub(crate) async fn who_signs_out_is_pushed_to_no_more(world: World) {
    let alex = world.person().await;
    let device = world.device(alex).await;
    let (first, again) = (new_session(alex), new_session(alex));
    for session in [&first, &again] {
        world.store.open_session(session).await.expect("opened");
    }
    let same = address();
    for session in [&first, &again] {
        world.store.subscribe(alex, session.id, device, &same).await.expect("subscribed");
    }
    let subscribed = async || world.store.subscription(alex, device).await.expect("an answer").is_some();
    world.store.end_session(alex, first.id).await.expect("ended");
    assert!(subscribed().await, "another sign-in has named it since");
    world.store.end_session(alex, again.id).await.expect("ended");
    assert!(!subscribed().await, "whoever uses the device next");
    let late = world.store.subscribe(alex, again.id, device, &same).await;
    assert_eq!(refused(late), Refusal::NotFound("device"), "a sign-in that is over names nothing");
    assert!(!subscribed().await);
}
