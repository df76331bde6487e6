//! The admin listener.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use process::admin;
use process::health::Health;
use process::metrics::Metrics;
use tokio_util::sync::CancellationToken;

use crate::wire::{LIMIT, get, listen};

#[tokio::test]
async fn health_and_metrics_are_served() {
    let (listener, address) = listen().await;
    let (health, metrics) = (Health::new(), Metrics::new("worker", "0.0.1").expect("fresh"));
    let database = Arc::new(AtomicBool::new(true));
    let reachable = database.clone();
    health.add_check("database", move || {
        let answer = if reachable.load(Ordering::SeqCst) { Ok(()) } else { Err("no answer".to_owned()) };
        std::future::ready(answer)
    });
    let shutdown = CancellationToken::new();
    let server = tokio::spawn(admin::server(listener, health.clone(), metrics).run(shutdown.clone(), LIMIT));

    assert_eq!(get(address, "/healthz/ready").await, (200, r#"{"status":"ready"}"#.to_owned()));

    database.store(false, Ordering::SeqCst);
    let unready = r#"{"status":"unready","reasons":{"database":"no answer"}}"#;
    assert_eq!(get(address, "/healthz/ready").await, (503, unready.to_owned()));
    assert_eq!(get(address, "/healthz/live").await.0, 200, "alive without its database");

    database.store(true, Ordering::SeqCst);
    health.drain("told to stop");
    let draining = r#"{"status":"unready","reasons":{"draining":"told to stop"}}"#;
    assert_eq!(get(address, "/healthz/ready").await, (503, draining.to_owned()));

    let (status, text) = get(address, "/metrics").await;
    assert_eq!(status, 200);
    assert!(text.contains(r#"switchboard_node_info{role="worker",version="0.0.1"} 1"#), "{text}");
    assert_eq!(get(address, "/").await.0, 404);

    shutdown.cancel();
    server.await.expect("stopped");
}
