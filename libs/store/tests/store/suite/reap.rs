//! What is spent and goes.

use std::time::Duration;

use domain::{NodeId, RunStatus};
use store::nodes::NodeInfo;
use store::rates::{Bucket, RateDecision};
use store::retention::Reaped;
use store::runs::{RescueRules, Run};
use store::sessions::{NewSession, Rotation};
use store::tickets::TicketClaims;

use super::Subject;
use super::people::{HOUR, new_session, person, secret, signed_in};
use super::scene::{PATIENT, Scene, holder, news};

const NOTHING: Reaped =
    Reaped { tickets: 0, buckets: 0, nodes: 0, sessions: 0, keys: 0, questions: 0, documents: 0 };

pub(crate) async fn what_is_in_use_stays(store: Subject) {
    let user = person(&*store, "alex").await.id;
    let session = signed_in(&*store, user).await;
    let ended = signed_in(&*store, user).await;
    store.end_session(user, ended.id).await.expect("ended");
    let ticket = secret();
    let claims = TicketClaims { user, session: session.id, token_expires_at: None };
    store.issue_ticket(&ticket, claims, HOUR).await.expect("issued");
    let bucket = Bucket { rate: 0.001, burst: 1 };
    assert_eq!(store.take_token("key", bucket).await.expect("an answer"), RateDecision::Allowed);
    store.beat(&node()).await.expect("noted");
    let key = "k".to_owned();
    let device = super::people::new_device("phone");
    store.create_device(user, &device, Some(&key)).await.expect("a device");

    assert_eq!(store.reap(HOUR, HOUR, 100).await.expect("reaped"), NOTHING);
    assert_eq!(store.consume_ticket(&ticket).await.expect("an answer"), Some(claims));
    assert!(matches!(
        store.take_token("key", bucket).await.expect("an answer"),
        RateDecision::Limited { .. }
    ));
    let told = store.sessions_ended_since(None).await.expect("an answer").0;
    assert_eq!(told, [ended.id], "kept, so that nodes learn of it");
    let reuse = store.rotate_refresh(&session.refresh, &secret(), HOUR).await.expect("an answer");
    assert!(matches!(reuse, Rotation::Rotated { .. }), "{reuse:?}");
}

fn node() -> NodeInfo {
    NodeInfo { id: NodeId::new(), role: "api".into(), version: "0.1.0".into(), name: "a.example.com".into() }
}

pub(crate) async fn what_is_spent_goes_in_batches(store: Subject) {
    let user = person(&*store, "alex").await.id;
    let session = signed_in(&*store, user).await.id;
    for number in 0..5 {
        let ended = signed_in(&*store, user).await;
        store.end_session(user, ended.id).await.expect("ended");
        store
            .issue_ticket(&secret(), TicketClaims { user, session, token_expires_at: None }, Duration::ZERO)
            .await
            .expect("issued");
        let quick = Bucket { rate: 1e6, burst: 1 };
        store.take_token(&format!("key {number}"), quick).await.expect("an answer");
        store.beat(&node()).await.expect("noted");
    }
    let expired = NewSession { refresh_ttl: Duration::ZERO, ..new_session(user) };
    store.open_session(&expired).await.expect("opened");

    let reap = || store.reap(Duration::ZERO, Duration::ZERO, 4);
    let first = reap().await.expect("reaped");
    assert_eq!(first, Reaped { tickets: 4, buckets: 4, nodes: 4, sessions: 4, ..NOTHING });
    assert_eq!(first.total(), 16);
    let second = reap().await.expect("reaped");
    assert_eq!(second, Reaped { tickets: 1, buckets: 1, nodes: 1, sessions: 2, ..NOTHING });
    assert_eq!(reap().await.expect("reaped"), NOTHING);

    assert_eq!(store.nodes().await.expect("a list"), []);
    assert_eq!(store.not_live(&[session, expired.id]).await.expect("an answer"), [expired.id]);
    let gone = store.rotate_refresh(&expired.refresh, &secret(), HOUR).await.expect("an answer");
    assert!(matches!(gone, Rotation::Refused), "its tokens went with it: {gone:?}");
}

pub(crate) async fn reapers_do_not_hinder_each_other(store: Subject) {
    let user = person(&*store, "alex").await.id;
    let session = signed_in(&*store, user).await.id;
    for _ in 0..40 {
        store
            .issue_ticket(&secret(), TicketClaims { user, session, token_expires_at: None }, Duration::ZERO)
            .await
            .expect("issued");
    }
    let reapers = futures_util::future::join_all((0..4).map(|_| {
        let store = store.shared();
        tokio::spawn(async move { store.reap(HOUR, HOUR, 10).await.expect("reaped").tickets })
    }))
    .await;
    let mut gone: u64 = reapers.into_iter().map(|reaper| reaper.expect("no panic")).sum();
    gone += store.reap(HOUR, HOUR, 100).await.expect("reaped").tickets;
    assert_eq!(gone, 40, "each went once");
}

/// Runs whose holder did not end them keep what it wrote.
pub(crate) async fn documents_of_ended_runs_are_made_whole(store: Subject) {
    let scene = Scene::new(store.into(), 40).await;
    let slot = scene.hold().await;
    let runs: [_; 20] = scene.runs().await;
    let add =
        |id: &str| format!(r#"[{{"op":"add","path":"/items/-","value":{{"id":"{id}","type":"status"}}}}]"#);
    for run in &runs {
        scene.store.start_run(slot.session, run.id, Duration::ZERO).await.expect("started");
        let held = holder(run.id, slot.session, 1);
        scene.flush(held, 1, &add("a")).await;
        scene.flush(held, 2, &add("b")).await;
    }
    // This one's holder wrote what can't be read.
    scene.flush(holder(runs[0].id, slot.session, 1), 3, "[7]").await;
    let reap = || async { scene.store.reap(HOUR, HOUR, 100).await.expect("reaped") };
    assert_eq!(reap().await, NOTHING, "they are worked on");
    scene.rescue(RescueRules { max_attempts: 0, ..PATIENT }).await;
    let before = scene.see(runs[1].id).await;
    assert_eq!((before.status, before.doc.patches.len()), (RunStatus::Expired, 2));
    assert_eq!(reap().await, Reaped { documents: 20, ..NOTHING });
    assert_eq!(reap().await, NOTHING);
    let after = scene.see(runs[1].id).await;
    let whole = r#"{"items":[{"id":"a","type":"status"},{"id":"b","type":"status"}]}"#;
    assert_eq!((&*after.doc.doc, after.doc.version, after.doc.patches.len()), (whole, 3, 0));
    assert_eq!(Run { doc: before.doc.clone(), ..after }, before, "nothing else changed");
    let unread = scene.see(runs[0].id).await.doc;
    assert_eq!((&*unread.doc, unread.version), (domain::document::EMPTY, 1));
    assert_eq!(news(&scene.update(runs[1].id, 1, 3).await.change), (None, vec![]), "who follows knows it");
}
