//! The role on a node: its admin listener, its end, and the loss of its database.

use std::net::SocketAddr;

use domain::NodeId;
use node::Settings;
use process::supervise::Failure;
use store::postgres::{DatabaseSettings, migrate};
use testkit::http;
use testkit::postgres::OwnServer;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::{database, until};

struct Worker {
    admin: SocketAddr,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<(), Failure>>,
    /// Where its key of pushes is.
    _keys: tempfile::TempDir,
}

impl Worker {
    async fn start(url: &str) -> Self {
        let mut settings = Settings { database: DatabaseSettings::with_url(url), ..Settings::default() };
        settings.retention.interval = std::time::Duration::from_secs(1);
        let keys = tempfile::tempdir().expect("a directory");
        settings.push.vapid_key_dir = keys.path().join("push");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let admin = listener.local_addr().expect("an address");
        let app = worker::build(&settings, NodeId::new(), listener).await.expect("a node");
        assert!(app.addresses.is_empty());
        let (stop, stopped) = oneshot::channel();
        Self { admin, stop, running: tokio::spawn(app.run(stopped)), _keys: keys }
    }

    async fn until_ready_is(&self, wanted: u16) -> String {
        let ask = async || {
            let (status, body) = http::get(self.admin, "/healthz/ready").await.ok()?;
            (status == wanted).then_some(body)
        };
        until(&format!("readiness {wanted}"), ask).await
    }

    async fn until_counted(&self, line: &str) {
        let ask = async || {
            let (_, text) = http::get(self.admin, "/metrics").await.ok()?;
            text.lines().any(|counted| counted.starts_with(line)).then_some(())
        };
        until(line, ask).await;
    }

    async fn stop(self) {
        self.stop.send(()).expect("it runs");
        self.running.await.expect("no panic").expect("an end in order");
        http::get(self.admin, "/healthz/live").await.expect_err("nobody listens any more");
    }
}

#[tokio::test]
async fn a_worker_works_and_stops_in_order() {
    let database = database().await;
    let worker = Worker::start(&database.url()).await;
    worker.until_ready_is(200).await;
    worker.until_counted(r#"switchboard_retention_removed_total{what="tickets"} 0"#).await;
    worker.until_counted(r#"switchboard_node_info{role="worker""#).await;
    let rows = async || {
        let rows = localpg::query(&database.url(), "SELECT role FROM nodes").await.expect("an answer");
        rows.into_iter().flatten().flatten().collect::<Vec<_>>()
    };
    until("the heartbeat", async || (rows().await == ["worker"]).then_some(())).await;
    worker.stop().await;
    assert!(rows().await.is_empty(), "a clean stop removes the node's row");
}

#[tokio::test]
async fn a_worker_outlives_the_loss_of_its_database() {
    let mut server = OwnServer::fast().await;
    let url = server.database("switchboard").await.expect("a database");
    migrate(&DatabaseSettings::with_url(&url)).await.expect("migrated");
    let worker = Worker::start(&url).await;
    worker.until_ready_is(200).await;
    server.crash().await.expect("crashed");
    let reasons = worker.until_ready_is(503).await;
    assert!(reasons.contains("database"), "{reasons}");
    worker.until_counted(r#"switchboard_retention_errors_total{part="reap"}"#).await;
    server.start_again().await.expect("started again");
    worker.until_ready_is(200).await;
    worker.stop().await;
}

#[tokio::test]
async fn a_worker_refuses_a_database_that_was_not_migrated() {
    let database = testkit::postgres::TestDatabase::empty().await;
    let settings = Settings { database: DatabaseSettings::with_url(database.url()), ..Settings::default() };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let refused = worker::build(&settings, NodeId::new(), listener).await.err().expect("refused");
    assert!(refused.to_string().contains("switchboard migrate"), "{refused}");
}
