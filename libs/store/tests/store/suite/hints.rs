//! Hints on desktops: of what was decided so, while it is worth showing, once a screen.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::notification::Reason;
use domain::{NodeId, NotificationId};
use futures_util::future::join_all;
use store::notifications::ReadWhat;
use store::push::Outcome;
use uuid::Uuid;

use super::notice_scene::{Told, mentioning, notification_of};
use super::people::HOUR;
use super::world::{World, message};

const HINT: Outcome = Outcome::Waits(Reason::Gateway, HOUR);

impl Told {
    async fn hints(&self, ids: &[NotificationId]) -> Vec<NotificationId> {
        let hints = self.store.hints(ids).await.expect("hints");
        hints.into_iter().map(|notification| notification.id).collect()
    }

    async fn missed(&self, since: Duration) -> Vec<NotificationId> {
        let missed = self.store.missed_hints(since, 100).await.expect("hints");
        assert!(missed.iter().all(|(_, person)| *person == self.sam));
        missed.into_iter().map(|(id, _)| id).collect()
    }

    async fn hinted(&self) -> NotificationId {
        let id = self.notified().await;
        assert_eq!(self.settle(HINT).await, [id]);
        id
    }

    async fn note(&self, hints: &[(NotificationId, Uuid)]) -> Vec<(NotificationId, Uuid)> {
        self.store.note_hints(self.node, hints).await.expect("noted")
    }
}

pub(crate) async fn hints_are_of_what_was_decided_so(world: World) {
    let told = Told::new(world).await;
    let mut ids = vec![told.hinted().await];
    for other in [
        Outcome::Waits(Reason::PushDelayed, HOUR),
        Outcome::Over(Reason::Focused),
        Outcome::Push(Reason::PushIdle),
        Outcome::Later(HOUR),
    ] {
        ids.push(told.notified().await);
        told.settle(other).await;
    }
    ids.extend([told.notified().await, NotificationId::new()]);
    let backwards: Vec<_> = ids.iter().rev().copied().collect();
    assert_eq!((told.hints(&backwards).await, told.hints(&[]).await), (vec![ids[0]], vec![]));
    let shown = told.store.hints(&ids).await.expect("hints");
    assert_eq!(shown, [told.notice(told.sam, ids[0]).await]);
    assert_eq!((told.missed(HOUR).await, told.missed(Duration::ZERO).await), (vec![ids[0]], vec![]));
    // Its push comes: it was decided as a hint, and may still be shown as one.
    told.store.release(&[told.sam]).await.expect("released");
    told.settle(Outcome::Push(Reason::PushIdle)).await;
    assert_eq!(told.hints(&ids).await, [ids[0]]);
}

pub(crate) async fn what_is_no_longer_worth_it_is_not_hinted(world: World) {
    let told = Told::new(world).await;
    let said = mentioning(message(told.room, told.alex, "look"), &[told.sam]);
    let deleted = notification_of(&told.append(said.clone()).await.expect("good").notified[0]);
    told.settle(HINT).await;
    let (read, open) = (told.hinted().await, told.hinted().await);
    let all = [deleted, read, open];
    assert_eq!(told.hints(&all).await, all);
    assert_eq!(told.missed(HOUR).await, [open, read, deleted], "the newest first");
    told.read(told.sam, &ReadWhat::Ids(vec![read])).await.expect("an event");
    told.store.delete_message(told.alex.into(), told.room, said.id).await.expect("deleted");
    assert_eq!((told.hints(&all).await, told.missed(HOUR).await), (vec![open], vec![open]));
    told.disable(told.sam).await;
    assert_eq!(told.hints(&all).await, []);
    told.store.set_user_disabled(told.sam, false).await.expect("enabled");
    assert_eq!(told.hints(&all).await, [open]);
    told.store.remove_member(told.alex, told.room, told.sam.into()).await.expect("removed");
    assert_eq!(told.hints(&all).await, []);
}

pub(crate) async fn a_screen_is_hinted_once_by_whatever_node(world: World) {
    let told = Told::new(world).await;
    let ids = [told.hinted().await, told.hinted().await, told.hinted().await];
    let screens = [Uuid::now_v7(), Uuid::now_v7()];
    let all: Vec<_> = ids.iter().flat_map(|id| screens.map(|screen| (*id, screen))).collect();
    let nodes = (0..8_usize).map(|number| {
        let (told, mut hints) = (told.clone(), all.clone());
        hints.rotate_left(number % all.len());
        tokio::spawn(async move { told.store.note_hints(NodeId::new(), &hints).await.expect("noted") })
    });
    let noted = join_all(nodes.collect::<Vec<_>>()).await;
    let mut noted: Vec<_> = noted.into_iter().flat_map(|noted| noted.expect("no panic")).collect();
    noted.sort_unstable();
    let mut expected = all.clone();
    expected.sort_unstable();
    assert_eq!(noted, expected, "each once");
    for id in ids {
        let (_, steps) = told.traced(told.sam, id).await;
        let hinted: BTreeSet<_> =
            steps.iter().filter(|step| step.step == "hinted").filter_map(|step| step.device).collect();
        assert_eq!((hinted, steps.len()), (screens.map(domain::DeviceId).into(), 3));
    }
    assert_eq!((told.note(&all).await, told.note(&[]).await), (vec![], vec![]));
    // One list that names a screen twice, and something that is no longer there.
    let (id, screen) = (told.hinted().await, Uuid::now_v7());
    let gone = NotificationId::new();
    assert_eq!(told.note(&[(id, screen), (gone, screen), (id, screen)]).await, [(id, screen)]);
}

pub(crate) async fn hints_that_nobody_gave_are_found(world: World) {
    let told = Told::new(world).await;
    let ids = [told.hinted().await, told.hinted().await, told.hinted().await];
    assert_eq!(told.missed(HOUR).await, [ids[2], ids[1], ids[0]]);
    let newest = told.store.missed_hints(HOUR, 2).await.expect("hints");
    assert_eq!(newest, [(ids[2], told.sam), (ids[1], told.sam)]);
    told.note(&[(ids[1], Uuid::now_v7())]).await;
    assert_eq!(told.missed(HOUR).await, [ids[2], ids[0]], "one screen is enough");
    assert_eq!(told.missed(Duration::ZERO).await, []);
}
