//! Deciding on notifications: claims, leases, and what each outcome leaves behind.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::notification::{Preferences, Reason};
use domain::{NodeId, NotificationId, UserId};
use store::notifications::ReadWhat;
use store::push::{Decided, Outcome};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::notice_scene::{Told, mentioning, so, step, waiting};
use super::people::HOUR;
use super::world::{World, message};

const MINUTE: Duration = Duration::from_secs(60);

impl Told {
    /// How long until the next one is to be decided, in whole minutes.
    async fn minutes(&self) -> Option<u64> {
        let next = self.store.next_undecided().await.expect("an answer");
        next.map(|next| (next + MINUTE / 2).as_secs() / 60)
    }

    async fn people_waiting(&self) -> Vec<UserId> {
        self.store.people_waiting(None, 100).await.expect("people")
    }

    async fn release(&self, people: &[UserId]) -> u64 {
        self.store.release(people).await.expect("released")
    }
}

pub(crate) async fn each_is_claimed_once_however_many_claim(world: World) {
    const EACH: usize = 400;
    let told = Told::new(world).await;
    let said: Vec<_> =
        (0..EACH).map(|_| mentioning(message(told.room, told.alex, "look"), &[told.sam])).collect();
    told.store.append_messages(&said).await.expect("an answer");
    let mut workers = JoinSet::new();
    for worker in 0..8_u32 {
        let told = told.clone();
        workers.spawn(async move {
            let mut taken = Vec::new();
            loop {
                let claim = Uuid::now_v7();
                let some = told.store.claim_undecided(claim, HOUR, 3 + worker).await.expect("a claim");
                assert!(some.len() <= 3 + worker as usize);
                if some.is_empty() {
                    break taken;
                }
                // One in three is over, one waits, one has its lease.
                let decided: Vec<Decided> = some
                    .iter()
                    .zip([Outcome::Over(Reason::Read), Outcome::Waits(Reason::Gateway, HOUR)].iter().cycle())
                    .map(|(one, outcome)| so(one, *outcome))
                    .collect();
                let decided = &decided[..decided.len() * 2 / 3];
                assert_eq!(told.decide(claim, decided).await.len(), decided.len());
                taken.extend(some.into_iter().map(|one| one.notification.id));
            }
        });
    }
    let taken: Vec<NotificationId> = workers.join_all().await.into_iter().flatten().collect();
    let once: BTreeSet<NotificationId> = taken.iter().copied().collect();
    assert_eq!((taken.len(), once.len()), (EACH, EACH));
}

pub(crate) async fn a_claim_gives_what_decisions_need(world: World) {
    let told = Told::new(world).await;
    let wanted = Preferences { mentions: false, ..Preferences::default() };
    let first = told.notified().await;
    told.store.set_preferences(told.alex, &wanted).await.expect("noted");
    let second = told.mention(told.room, told.sam, &[told.alex]).await[0];
    assert_eq!(told.minutes().await, Some(0));
    let claim = Uuid::now_v7();
    assert_eq!(told.store.claim_undecided(claim, HOUR, 0).await.expect("a claim"), []);
    let oldest = told.store.claim_undecided(claim, MINUTE, 1).await.expect("a claim");
    assert_eq!(oldest.len(), 1);
    assert_eq!(oldest[0].notification, told.notice(told.sam, first).await);
    assert_eq!(oldest[0].preferences, Preferences::default());
    let rest = told.undecided(claim).await;
    assert_eq!(rest.len(), 1);
    assert_eq!((rest[0].notification.id, &rest[0].preferences), (second, &wanted));
    assert!(rest[0].now >= oldest[0].now && oldest[0].now >= oldest[0].notification.created_at);
    assert_eq!((rest[0].waited, rest[0].delay_over), (false, false));
    assert_eq!((told.undecided(claim).await, told.minutes().await), (vec![], Some(1)), "of the lease");
}

pub(crate) async fn who_lost_a_claim_decides_nothing(world: World) {
    let told = Told::new(world).await;
    let device = told.subscribed(told.sam).await;
    let id = told.notified().await;
    let (late, quick) = (Uuid::now_v7(), Uuid::now_v7());
    let first = told.store.claim_undecided(late, Duration::ZERO, 10).await.expect("a claim");
    let second = told.undecided(quick).await;
    assert_eq!(first[0].notification, second[0].notification);
    for outcome in [
        Outcome::Over(Reason::Read),
        Outcome::Push(Reason::PushIdle),
        Outcome::Waits(Reason::Gateway, HOUR),
        Outcome::Later(Duration::ZERO),
    ] {
        for claim in [late, Uuid::now_v7()] {
            assert_eq!(told.decide(claim, &[so(&first[0], outcome)]).await, []);
        }
    }
    assert_eq!(told.traced(told.sam, id).await, (second[0].notification.clone(), vec![]));
    assert_eq!((told.undecided(Uuid::now_v7()).await, told.people_waiting().await), (vec![], vec![]));
    assert_eq!(told.store.next_push().await.expect("an answer"), None);
    assert_eq!(told.decide(quick, &[so(&second[0], Outcome::Push(Reason::PushIdle))]).await, [id]);
    assert_eq!(told.claim_one(quick).await.device, device);
}

/// A lease says when another may take it. Until one does, what was decided counts.
pub(crate) async fn a_late_decision_counts_while_nobody_else_has_it(world: World) {
    let told = Told::new(world).await;
    let id = told.notified().await;
    let claim = Uuid::now_v7();
    let taken = told.store.claim_undecided(claim, Duration::ZERO, 10).await.expect("a claim");
    assert_eq!(told.decide(claim, &[so(&taken[0], Outcome::Over(Reason::Focused))]).await, [id]);
    assert_eq!(told.undecided(claim).await, []);
}

pub(crate) async fn what_is_over_leaves_the_queue(world: World) {
    let told = Told::new(world).await;
    told.subscribed(told.sam).await;
    let id = told.notified().await;
    assert_eq!(told.settle(Outcome::Over(Reason::Focused)).await, [id]);
    let (notice, steps) = told.traced(told.sam, id).await;
    assert_eq!(notice.decision, Some(Reason::Focused));
    assert_eq!(steps.len(), 1);
    assert_eq!((&*steps[0].step, steps[0].reason.as_deref()), ("decided", Some("focused")));
    assert_eq!((steps[0].node, steps[0].device, &steps[0].detail), (Some(told.node), None, &None));
    assert!(steps[0].at >= notice.created_at);
    assert_eq!((told.minutes().await, told.people_waiting().await), (None, vec![]));
    assert_eq!(told.store.next_push().await.expect("an answer"), None);
    assert_eq!(told.unread(told.sam).await.total, 1, "it stays in the list");
}

pub(crate) async fn what_waits_is_decided_again(world: World) {
    let told = Told::new(world).await;
    let device = told.subscribed(told.sam).await;
    let id = told.notified().await;
    told.settle(Outcome::Waits(Reason::Gateway, HOUR)).await;
    let decided = step("decided", Some("gateway"));
    assert_eq!(told.steps(told.sam, id).await, std::slice::from_ref(&decided));
    assert_eq!((told.minutes().await, told.people_waiting().await), (Some(60), vec![told.sam]));
    assert_eq!(told.undecided(Uuid::now_v7()).await, []);
    // It is not due yet, and waits on until it is.
    for outcome in [Outcome::WaitsOn, Outcome::WaitsOn] {
        assert_eq!(told.release(&[told.sam]).await, 1);
        let claim = Uuid::now_v7();
        let taken = told.undecided(claim).await;
        assert_eq!((taken[0].waited, taken[0].delay_over), (true, false));
        assert_eq!(taken[0].notification.decision, Some(Reason::Gateway));
        told.decide(claim, &[so(&taken[0], outcome)]).await;
        assert_eq!((told.minutes().await, told.people_waiting().await), (Some(60), vec![told.sam]));
    }
    // Nobody knows where they are: it is looked at sooner, and is not due sooner.
    told.release(&[told.sam]).await;
    told.settle(Outcome::Later(MINUTE)).await;
    assert_eq!((told.minutes().await, told.people_waiting().await), (Some(1), vec![told.sam]));
    assert_eq!(told.release(&[told.sam]).await, 1);
    let claim = Uuid::now_v7();
    let taken = told.undecided(claim).await;
    assert_eq!((taken[0].waited, taken[0].delay_over), (true, false));
    told.decide(claim, &[so(&taken[0], Outcome::Push(Reason::PushIdle))]).await;
    assert_eq!(told.steps(told.sam, id).await, [decided, step("released", Some("push_idle"))]);
    assert_eq!(told.notice(told.sam, id).await.decision, Some(Reason::Gateway), "the first one stays");
    assert_eq!((told.minutes().await, told.people_waiting().await), (None, vec![]));
    let pushed = told.claim_one(Uuid::now_v7()).await;
    assert_eq!((pushed.device, pushed.waiting[0].1), (device, Reason::PushIdle));

    // Whose time has come is due, and one that is read meanwhile is dropped.
    let id = told.notified().await;
    told.settle(Outcome::Waits(Reason::PushDelayed, Duration::ZERO)).await;
    told.read(told.sam, &ReadWhat::Ids(vec![id])).await.expect("an event");
    let claim = Uuid::now_v7();
    let taken = told.undecided(claim).await;
    assert_eq!((taken[0].waited, taken[0].delay_over, taken[0].notification.facts.read), (true, true, true));
    told.decide(claim, &[so(&taken[0], Outcome::Over(Reason::Read))]).await;
    let steps = [step("decided", Some("push_delayed")), step("dropped", Some("read"))];
    assert_eq!(told.steps(told.sam, id).await, steps);
    assert_eq!(told.minutes().await, None);
}

pub(crate) async fn nothing_is_decided_while_nobody_knows(world: World) {
    let told = Told::new(world).await;
    let id = told.notified().await;
    told.settle(Outcome::Later(MINUTE)).await;
    assert_eq!(told.traced(told.sam, id).await, (told.notice(told.sam, id).await, vec![]));
    assert_eq!(told.notice(told.sam, id).await.decision, None);
    assert_eq!((told.minutes().await, told.people_waiting().await), (Some(1), vec![]));
    assert_eq!(told.release(&[told.sam]).await, 0, "no push waits");
    assert_eq!((told.minutes().await, told.undecided(Uuid::now_v7()).await), (Some(1), vec![]));
    let soon = told.notified().await;
    for _ in 0..3 {
        assert_eq!(told.settle(Outcome::Later(Duration::ZERO)).await, [soon]);
    }
    // A worker that takes what never waited for what waits has it again at once, and fails no batch.
    assert_eq!(told.settle(Outcome::WaitsOn).await, [soon]);
    assert_eq!(told.settle(Outcome::Over(Reason::Read)).await, [soon]);
    assert_eq!(told.steps(told.sam, soon).await, [step("decided", Some("read"))]);
}

pub(crate) async fn a_push_is_one_for_each_device(world: World) {
    let told = Told::new(world).await;
    let id = told.notified().await;
    told.device(told.sam).await;
    told.subscribed(told.alex).await;
    told.settle(Outcome::Push(Reason::PushOffline)).await;
    let dropped = [step("decided", Some("push_offline")), step("dropped", Some("no_subscription"))];
    assert_eq!(told.steps(told.sam, id).await, dropped);
    assert_eq!(told.store.next_push().await.expect("an answer"), None);
    let devices = BTreeSet::from([told.subscribed(told.sam).await, told.subscribed(told.sam).await]);
    let id = told.pushed().await;
    assert_eq!(told.steps(told.sam, id).await, [step("decided", Some("push_offline"))]);
    let claimed = told.claim(Uuid::now_v7()).await;
    assert_eq!(claimed.iter().map(|device| device.device).collect::<BTreeSet<_>>(), devices);
    assert!(claimed.iter().all(|device| waiting(device) == [id]));
}

pub(crate) async fn a_batch_of_decisions_is_of_many(world: World) {
    let told = Told::new(world).await;
    let device = told.subscribed(told.sam).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(told.notified().await);
    }
    let outcomes = [
        Outcome::Over(Reason::Dnd),
        Outcome::Waits(Reason::Gateway, HOUR),
        Outcome::Later(HOUR),
        Outcome::Push(Reason::PushIdle),
        Outcome::Push(Reason::PushOffline),
    ];
    let claim = Uuid::now_v7();
    let taken = told.undecided(claim).await;
    let mut decided: Vec<_> = taken.iter().zip(outcomes).map(|(one, outcome)| so(one, outcome)).collect();
    let unknown = NotificationId::new();
    decided.push(Decided { notification: unknown, waited: false, outcome: Outcome::Over(Reason::Read) });
    assert_eq!(
        told.decide(claim, &decided).await.into_iter().collect::<BTreeSet<_>>(),
        ids.iter().copied().collect()
    );
    let found: Vec<_> = {
        let mut found = Vec::new();
        for id in &ids {
            found.push(told.notice(told.sam, *id).await.decision);
        }
        found
    };
    let reasons =
        [Some(Reason::Dnd), Some(Reason::Gateway), None, Some(Reason::PushIdle), Some(Reason::PushOffline)];
    assert_eq!(found, reasons);
    let pushed = told.claim_one(Uuid::now_v7()).await;
    assert_eq!((pushed.device, waiting(&pushed)), (device, ids[3..].to_vec()));
    assert_eq!(
        pushed.waiting.iter().map(|(_, why)| *why).collect::<Vec<_>>(),
        [Reason::PushIdle, Reason::PushOffline]
    );
    assert_eq!(told.decide(claim, &[]).await, []);
}

/// The answer to a decision was lost, and it is sent again.
pub(crate) async fn a_decision_that_is_repeated_does_nothing_twice(world: World) {
    let told = Told::new(world).await;
    let device = told.subscribed(told.sam).await;
    for (outcome, pushes) in [
        (Outcome::Over(Reason::Read), 0),
        (Outcome::Waits(Reason::Gateway, HOUR), 0),
        (Outcome::Later(HOUR), 0),
        (Outcome::Push(Reason::PushIdle), 1),
    ] {
        let id = told.notified().await;
        let claim = Uuid::now_v7();
        let taken = told.undecided(claim).await;
        let decided = [so(&taken[0], outcome)];
        assert_eq!(told.decide(claim, &decided).await, [id]);
        let (stands, due) = (told.traced(told.sam, id).await, told.minutes().await);
        assert_eq!(told.decide(claim, &decided).await, []);
        assert_eq!((told.traced(told.sam, id).await, told.minutes().await), (stands, due));
        let claim = Uuid::now_v7();
        let claimed = told.claim(claim).await;
        assert_eq!(claimed.iter().map(|one| one.waiting.len()).sum::<usize>(), pushes);
        for one in claimed {
            assert_eq!(told.finish(&[super::notice_scene::sent(claim, &one)]).await, [device]);
        }
        assert_eq!(told.decide(claim, &decided).await, [], "nor later");
        assert_eq!(told.claim(claim).await, []);
    }
}

pub(crate) async fn a_release_brings_what_waits_and_nothing_else(world: World) {
    let told = Told::new(world).await;
    let robin = told.person().await;
    told.store.add_members(told.alex, told.room, &[robin.into()]).await.expect("added");
    let theirs = told.mention(told.room, told.alex, &[robin]).await[0];
    let waits = told.notified().await;
    told.settle(Outcome::Waits(Reason::Gateway, HOUR)).await;
    let unknown = told.notified().await;
    told.settle(Outcome::Later(HOUR)).await;
    assert_eq!(told.people_waiting().await, sorted([told.sam, robin]));
    let page = async |after, limit| told.store.people_waiting(after, limit).await.expect("people");
    let [one, other] = sorted([told.sam, robin]);
    assert_eq!((page(None, 1).await, page(Some(one), 1).await), (vec![one], vec![other]));
    assert_eq!((page(Some(other), 1).await, page(None, 0).await), (vec![], vec![]));

    assert_eq!((told.release(&[]).await, told.release(&[told.alex, UserId::new()]).await), (0, 0));
    assert_eq!(told.undecided(Uuid::now_v7()).await, []);
    assert_eq!(told.release(&[told.sam]).await, 1);
    assert_eq!(told.release(&[told.sam]).await, 0, "it is due already");
    let claim = Uuid::now_v7();
    let taken = told.undecided(claim).await;
    assert_eq!(taken.iter().map(|one| one.notification.id).collect::<Vec<_>>(), [waits]);
    told.decide(claim, &[so(&taken[0], Outcome::Over(Reason::Read))]).await;
    assert_eq!(told.release(&[told.sam]).await, 0, "what is over is not brought back");
    assert_eq!(told.release(&[robin, told.sam, robin]).await, 1);
    assert_eq!(told.undecided(Uuid::now_v7()).await[0].notification.id, theirs);
    assert_eq!(told.notice(told.sam, unknown).await.decision, None);
}

/// A worker has looked where a person is, and is about to write down what follows, when they go elsewhere.
pub(crate) async fn who_moves_while_it_is_decided_is_decided_on_again(world: World) {
    let told = Told::new(world).await;
    for outcome in [Outcome::Waits(Reason::Gateway, HOUR), Outcome::WaitsOn] {
        let id = match outcome {
            Outcome::WaitsOn => {
                assert_eq!(told.release(&[told.sam]).await, 1);
                told.notices(told.sam).await[0].id
            }
            _ => told.notified().await,
        };
        let claim = Uuid::now_v7();
        let taken = told.undecided(claim).await;
        assert_eq!(told.release(&[told.sam]).await, 1);
        let again = Uuid::now_v7();
        assert_eq!(told.decide(claim, &[so(&taken[0], outcome)]).await, [], "that was before");
        let taken = told.undecided(again).await;
        assert_eq!(taken.iter().map(|one| one.notification.id).collect::<Vec<_>>(), [id]);
        assert_eq!(told.decide(again, &[so(&taken[0], Outcome::Waits(Reason::Gateway, HOUR))]).await, [id]);
    }
}

pub(crate) async fn claims_decisions_and_releases_at_once_agree(world: World) {
    let told = Told::new(world).await;
    let device = told.subscribed(told.sam).await;
    let said: Vec<_> =
        (0..150).map(|_| mentioning(message(told.room, told.alex, "look"), &[told.sam])).collect();
    told.store.append_messages(&said).await.expect("an answer");
    let mut workers = JoinSet::new();
    for worker in 0..6_usize {
        let told = told.clone();
        workers.spawn(async move {
            let node = NodeId::new();
            // Until all are pushed.
            while told.store.next_undecided().await.expect("an answer").is_some() {
                if worker == 0 {
                    told.release(&[told.sam, told.alex]).await;
                }
                let claim = Uuid::now_v7();
                let lease = if worker % 3 == 1 { Duration::from_millis(1) } else { HOUR };
                let taken = told.store.claim_undecided(claim, lease, 20).await.expect("a claim");
                let decided: Vec<Decided> = taken
                    .iter()
                    .enumerate()
                    .map(|(n, one)| match (one.waited, n % 2) {
                        (false, _) => so(one, Outcome::Waits(Reason::Gateway, Duration::from_millis(20))),
                        (true, 0) if !one.delay_over => so(one, Outcome::WaitsOn),
                        (true, _) => so(one, Outcome::Push(Reason::PushIdle)),
                    })
                    .collect();
                told.store.decide(claim, node, &decided).await.expect("an answer");
            }
        });
    }
    workers.join_all().await;
    let pushed = told.store.claim_pushes(Uuid::now_v7(), HOUR, 10, 1000).await.expect("a claim");
    assert_eq!(pushed.len(), 1);
    assert_eq!((pushed[0].device, pushed[0].waiting.len()), (device, 150));
    for id in waiting(&pushed[0]) {
        let steps = [step("decided", Some("gateway")), step("released", Some("push_idle"))];
        assert_eq!(told.steps(told.sam, id).await, steps);
    }
}

fn sorted<const N: usize>(mut people: [UserId; N]) -> [UserId; N] {
    people.sort_unstable();
    people
}
