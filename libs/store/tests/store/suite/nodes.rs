//! Nodes.

use std::time::Duration;

use domain::NodeId;
use store::nodes::NodeInfo;

use super::Subject;

fn node(role: &str) -> NodeInfo {
    NodeInfo {
        id: NodeId::new(),
        role: role.into(),
        version: "0.1.0".into(),
        name: "a.example.com:80".into(),
    }
}

pub(crate) async fn nodes_beat_and_leave(store: Subject) {
    store.ping().await.expect("an answer");
    assert_eq!(store.nodes().await.expect("a list"), []);
    let (worker, first, second) = (node("worker"), node("api"), node("api"));
    for node in [&worker, &first, &second] {
        store.beat(node).await.expect("noted");
    }
    let before = store.nodes().await.expect("a list");
    let infos: Vec<_> = before.iter().map(|row| row.info.clone()).collect();
    assert_eq!(infos, [first.clone(), second.clone(), worker.clone()], "by role and start");
    for row in &before {
        assert!(row.silent_for < Duration::from_secs(60), "{row:?}");
        assert!(row.seen_at >= row.started_at, "{row:?}");
    }

    let renamed = NodeInfo { name: "b.example.com:80".into(), ..first.clone() };
    store.beat(&renamed).await.expect("noted");
    let after = store.nodes().await.expect("a list");
    assert_eq!(after[0].info, renamed);
    assert_eq!(after[0].started_at, before[0].started_at);
    assert!(after[0].seen_at > before[0].seen_at);

    store.leave(first.id).await.expect("left");
    store.leave(first.id).await.expect("left before");
    let left: Vec<_> = store.nodes().await.expect("a list").into_iter().map(|row| row.info.id).collect();
    assert_eq!(left, [second.id, worker.id]);
}
