//! A real server through its whole life.
#![allow(clippy::expect_used)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use localpg::{Error, Options, Server, query};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

/// A directory that the server's user can reach; `None` of the data survives the test.
fn room() -> (TempDir, PathBuf) {
    let outer = tempfile::Builder::new().prefix("localpg").tempdir().expect("a directory");
    fs::set_permissions(outer.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("open");
    let dir = outer.path().join("pg");
    (outer, dir)
}

async fn one(url: &str, sql: &str) -> String {
    let rows = query(url, sql).await.expect("the server answers");
    rows[0][0].clone().expect("not null")
}

fn server_processes(dir: &std::path::Path) -> Vec<i32> {
    let data = dir.canonicalize().expect("it exists").join("data");
    let pids = fs::read_dir("/proc").expect("proc").flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        (fs::read_link(entry.path().join("cwd")).ok()? == data).then_some(pid)
    });
    pids.collect()
}

#[tokio::test]
async fn durable_data_survives_stop_crash_and_kill() {
    let (_outer, dir) = room();
    let mut server = Server::start(Options::durable(&dir)).await.expect("it starts");
    let url = server.database("switchboard").await.expect("a database");
    assert_eq!(server.database("switchboard").await.expect("the same again"), url);
    assert_eq!(one(&url, "SHOW fsync").await, "on");
    assert_eq!(one(&url, "SHOW listen_addresses").await, "127.0.0.1");
    assert_eq!(one(&url, "SHOW server_encoding").await, "UTF8");
    assert_eq!(one(&url, "SHOW max_connections").await, "200");
    query(&url, "CREATE TABLE t (n int)").await.expect("a table");

    for (round, insert) in ["stop", "crash", "kill"].into_iter().zip([
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t VALUES (2)",
        "INSERT INTO t VALUES (3)",
    ]) {
        query(&url, insert).await.expect("a row");
        match round {
            "stop" => server.stop().await,
            "crash" => server.crash().await,
            _ => server.kill().await,
        }
        .expect(round);
        assert_eq!(server_processes(&dir), [0; 0], "after {round}");
        assert!(query(&url, "SELECT 1").await.is_err(), "after {round}");
        assert!(matches!(server.stop().await, Err(Error::State(_))));
        server.start_again().await.expect("it starts again");
    }
    assert_eq!(one(&url, "SELECT string_agg(n::text, ',' ORDER BY n) FROM t").await, "1,2,3");
    assert!(matches!(server.start_again().await, Err(Error::State(_))));
    server.restart().await.expect("a restart at the same port");
    assert_eq!(one(&url, "SELECT count(*) FROM t").await, "3");
    server.stop().await.expect("it stops");
    drop(server);

    // A later run finds the data, by another port but the same password.
    let mut server = Server::start(Options::durable(&dir)).await.expect("it starts");
    assert_eq!(one(&server.url_of("switchboard"), "SELECT count(*) FROM t").await, "3");
    server.stop().await.expect("it stops");
}

#[tokio::test]
async fn never_root_and_secrets_are_closed() {
    let (_outer, dir) = room();
    let server = Server::start(Options::throw_away(&dir)).await.expect("it starts");
    let pid = server.pid().expect("it runs");
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a status");
    let uid = status.lines().find(|line| line.starts_with("Uid:")).expect("a user");
    assert!(!uid.split_whitespace().any(|field| field == "0"), "{uid}");
    let password = fs::metadata(dir.join("password")).expect("a password");
    assert_eq!(password.mode() & 0o777, 0o600);
    assert!(!format!("{server:?}").contains(&fs::read_to_string(dir.join("password")).expect("ours")));
    let wrong = server.url().replace("switchboard:", "switchboard:x");
    assert!(query(&wrong, "SELECT 1").await.is_err(), "any password would do");
}

#[tokio::test]
async fn a_throw_away_server_leaves_nothing() {
    let (_outer, dir) = room();
    let server = Server::start(Options::throw_away(&dir)).await.expect("it starts");
    assert_eq!(one(&server.url(), "SHOW fsync").await, "off");
    let pid = server.pid().expect("it runs");
    drop(server);
    assert!(!dir.exists());
    assert!(!PathBuf::from(format!("/proc/{pid}/cwd")).exists());
}

#[tokio::test]
async fn one_directory_is_held_by_one() {
    let (_outer, dir) = room();
    let server = Server::start(Options::throw_away(&dir)).await.expect("it starts");
    let second = Server::start(Options::throw_away(&dir)).await;
    assert!(matches!(second, Err(Error::InUse(_))), "{second:?}");
    assert_eq!(one(&server.url(), "SELECT 1").await, "1", "the second left the first alone");
}

#[tokio::test]
async fn what_an_earlier_run_left_running_is_ended() {
    let (_outer, dir) = room();
    let first = Server::start(Options::durable(&dir).detached()).await.expect("it starts");
    query(&first.url(), "CREATE TABLE kept (n int)").await.expect("a table");
    let pid = first.pid().expect("it runs");
    let data = first.data_dir();
    drop(first);
    assert_eq!(fs::read_link(format!("/proc/{pid}/cwd")).expect("it lives on"), data);

    let mut second = Server::start(Options::durable(&dir)).await.expect("it starts");
    assert_ne!(second.pid(), Some(pid));
    assert_eq!(one(&second.url(), "SELECT count(*) FROM kept").await, "0");

    // Half an initdb is nobody's data.
    second.stop().await.expect("it stops");
    drop(second);
    fs::rename(dir.join("data"), dir.join("data.new")).expect("renamed");
    let mut third = Server::start(Options::durable(&dir)).await.expect("it starts");
    assert!(query(&third.url(), "SELECT count(*) FROM kept").await.is_err());
    third.stop().await.expect("it stops");
}

#[tokio::test]
async fn backends_without_a_postmaster_are_ended() {
    let (_outer, dir) = room();
    let first = Server::start(Options::durable(&dir).detached()).await.expect("it starts");
    let (url, pid) = (first.url(), first.pid().expect("it runs"));
    let watched = url.clone();
    drop(first);
    // A backend that computes does not notice that its postmaster is gone.
    let busy =
        tokio::spawn(async move { query(&url, "SELECT count(*) FROM generate_series(1, 1e12)").await });
    let computing =
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%1e12%' AND pid <> pg_backend_pid()";
    while one(&watched, computing).await == "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill");
    assert!(killed.success());
    let mut second = Server::start(Options::durable(&dir)).await.expect("it starts beside the orphan");
    assert!(busy.await.expect("joined").is_err());
    second.stop().await.expect("it stops");
    assert_eq!(server_processes(&dir), [0; 0]);
}

#[tokio::test]
async fn a_frozen_server_holds_connections_and_can_be_stopped() {
    let (_outer, dir) = room();
    let mut server = Server::start(Options::throw_away(&dir)).await.expect("it starts");
    let url = server.url();
    server.pause();
    let asked = tokio::time::timeout(Duration::from_millis(200), query(&url, "SELECT 1")).await;
    assert!(asked.is_err(), "a frozen server answered");
    server.resume();
    assert_eq!(one(&url, "SELECT 1").await, "1");
    server.pause();
    server.stop().await.expect("a frozen server stops");
}

#[tokio::test]
async fn a_taken_port_and_a_bad_setting_are_told_with_the_log() {
    let (_outer, dir) = room();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let error = Server::start(Options::throw_away(&dir).port(port)).await.expect_err("the port is taken");
    assert!(error.to_string().contains("could not bind"), "{error}");
    let options = Options::throw_away(&dir).setting("max_connections", "many");
    let error = Server::start(options).await.expect_err("no number");
    assert!(error.to_string().contains("max_connections"), "{error}");
}

#[tokio::test]
async fn a_lost_password_is_said() {
    let (_outer, dir) = room();
    let mut server = Server::start(Options::durable(&dir)).await.expect("it starts");
    server.stop().await.expect("it stops");
    drop(server);
    fs::remove_file(dir.join("password")).expect("removed");
    let error = Server::start(Options::durable(&dir)).await.expect_err("nobody knows the password");
    assert!(matches!(error, Error::PasswordMissing(_)), "{error}");
}

#[tokio::test]
async fn the_server_dies_with_a_parent_that_is_killed() {
    assert!(localpg::tether::available(), "setpriv of util-linux is needed here");
    let (_outer, dir) = room();
    let mut parent = Command::new(env!("CARGO_BIN_EXE_localpg"))
        .arg(&dir)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("a process");
    let mut lines = BufReader::new(parent.stdout.take().expect("piped")).lines();
    let url = lines.next_line().await.expect("read").expect("a line");
    assert_eq!(one(&url, "SELECT 1").await, "1");
    assert_ne!(server_processes(&dir), [0; 0]);
    parent.kill().await.expect("killed");
    tokio::time::timeout(Duration::from_secs(30), async {
        while !server_processes(&dir).is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("it ended with its parent");
}
