//! What can happen to nodes, with a stand-in for the product.

use std::path::Path;
use std::time::Duration;

use testkit::cluster::{ClusterOptions, TestCluster};
use testkit::postgres::TestDatabase;

async fn options() -> ClusterOptions {
    ClusterOptions::on(TestDatabase::empty().await).binary_at(env!("CARGO_BIN_EXE_fake-node"))
}

fn lives(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}/exe")).read_link().is_ok()
}

#[tokio::test]
async fn nodes_are_killed_stopped_frozen_and_come_back_where_they_were() {
    let options =
        options().await.setting("greeting.text", "hello").setting_of("api-2", "greeting.text", "you");
    let mut cluster = TestCluster::start(options).await;
    assert_eq!(cluster.names(), ["api-1", "api-2", "gateway-1", "gateway-2", "worker-1", "worker-2"]);
    assert!(cluster.log("api-1").contains("api starts, multi hello"), "{}", cluster.log("api-1"));
    assert!(cluster.log("api-2").contains("multi you"), "{}", cluster.log("api-2"));
    for role in ["api", "gateway", "worker"] {
        let log = cluster.log(&format!("{role}-1"));
        assert!(log.contains(&format!("{role} works as test_{role}")), "{log}");
    }
    assert_ne!(cluster.api_url(1), cluster.api_url(2));
    let answer = cluster.admin("worker-1", "/metrics").await.expect("an answer");
    assert_eq!(answer, (200, "worker /metrics".to_owned()));

    let killed = cluster.pid("api-1").expect("it runs");
    cluster.kill("api-1").await;
    assert!(!lives(killed));
    cluster.admin("api-1", "/metrics").await.expect_err("killed");
    cluster.start_again("api-1").await;
    cluster.admin("api-1", "/metrics").await.expect("the same address");

    assert!(cluster.stop("gateway-2").await.success());
    assert!(cluster.log("gateway-2").ends_with("gateway drained\n"));

    cluster.pause("worker-1");
    let asked = tokio::time::timeout(Duration::from_millis(150), cluster.admin("worker-1", "/metrics")).await;
    assert!(asked.is_err(), "a frozen node answered");
    cluster.resume("worker-1");
    cluster.until_ready("worker-1").await;

    cluster.pause("worker-2");
    let left: Vec<u32> = cluster.names().iter().filter_map(|name| cluster.pid(name)).collect();
    assert_eq!(left.len(), 5);
    drop(cluster);
    assert!(!left.into_iter().any(lives));
}

#[tokio::test]
async fn one_process_stands_for_every_node() {
    let options = ClusterOptions::embedded()
        .binary_at(env!("CARGO_BIN_EXE_fake-node"))
        .setting("greeting.text", "hello");
    let mut process = TestCluster::start(options.nodes(2, 2, 2)).await;
    assert_eq!(process.names(), ["all"]);
    assert_eq!(process.api_url(1), process.api_url(2));
    assert_eq!(process.gateway_url(2), process.api_url(1).replace("http", "ws") + "/v1/gateway");
    assert_eq!(process.database_url(), None);
    let file = process.database_file().expect("a file");
    let folder = file.ancestors().nth(2).expect("its folder").to_owned();
    assert!(process.log("worker-1").contains(&format!("all starts in {}", folder.display())));
    assert_eq!(process.pid("gateway-1"), process.pid("api-2"));

    let killed = process.pid("all").expect("it runs");
    process.kill("gateway-1").await;
    assert!(!lives(killed));
    process.admin("worker-2", "/metrics").await.expect_err("killed");
    process.start_again("api-1").await;
    process.admin("worker-2", "/metrics").await.expect("the same address");
    assert!(folder.is_dir(), "it finds what it left");
    let again = process.pid("all").expect("it runs");
    drop(process);
    assert!(!lives(again) && !folder.exists());
}

#[tokio::test]
async fn each_node_has_its_own_line_to_the_database() {
    let options = options().await.nodes(1, 1, 0).database_through_proxies();
    let mut cluster = TestCluster::start(options).await;
    cluster.database_of("api-1").refuse();
    assert_eq!(cluster.until_not_ready("api-1").await, "api /healthz/ready");
    cluster.until_ready("gateway-1").await;
    cluster.database_of("api-1").accept();
    cluster.until_ready("api-1").await;
}

#[tokio::test]
async fn a_node_that_does_not_start_fails_the_test_with_its_log() {
    let options = options().await.setting_of("worker-2", "greeting.text", "wrong");
    let failed =
        tokio::spawn(TestCluster::start(options)).await.expect_err("it must fail the test").into_panic();
    let message = failed.downcast_ref::<String>().expect("a text");
    assert!(message.contains("this node never starts"), "{message}");
}

#[tokio::test]
async fn a_node_that_lacks_a_right_fails_the_test_at_its_end() {
    // The stand-in prints it, and works on.
    let text = "ERROR the database does not let its user do what this node does";
    let options = options().await.nodes(1, 0, 0).setting("greeting.text", text);
    let cluster = TestCluster::start(options).await;
    let failed = tokio::spawn(async { drop(cluster) }).await.expect_err("it must fail the test").into_panic();
    let message = failed.downcast_ref::<String>().expect("a text");
    assert!(message.contains("api-1 lacks a right: api starts"), "{message}");
}
