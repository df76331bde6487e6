//! Databases and servers for tests.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};

use localpg::{Error, query};
use testkit::postgres::{OwnServer, TestDatabase};
use testkit::random;

#[tokio::test]
async fn databases_are_apart_and_dropped() {
    let (one, other) = tokio::join!(TestDatabase::empty(), TestDatabase::empty());
    assert_ne!(one.name(), other.name());
    one.query("CREATE TABLE t (n int)").await;
    assert!(query(&other.url(), "SELECT * FROM t").await.is_err());
    let (name, look) = (one.name().to_owned(), "SELECT datname FROM pg_database");
    assert!(other.query(look).await.contains(&vec![Some(name.clone())]));
    drop(one);
    assert!(!other.query(look).await.contains(&vec![Some(name)]));
}

#[tokio::test]
async fn a_template_is_migrated_once_and_cloned() {
    let key = random::letters(12);
    let times = AtomicU32::new(0);
    let migrate = |url: String| {
        times.fetch_add(1, Ordering::Relaxed);
        async move { query(&url, "CREATE TABLE t (n int); INSERT INTO t VALUES (7)").await.map(drop) }
    };
    let (one, other) =
        tokio::join!(TestDatabase::from_template(&key, migrate), TestDatabase::from_template(&key, migrate));
    one.query("DELETE FROM t").await;
    assert_eq!(other.query("SELECT n FROM t").await, [[Some("7".to_owned())]]);
    assert_eq!(times.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_template_that_failed_is_no_template() {
    let key = random::letters(12);
    let failed = tokio::spawn({
        let key = key.clone();
        async move {
            TestDatabase::from_template(&key, |url| async move {
                query(&url, "CREATE TABLE half (n int)").await.expect("a table");
                Err::<(), _>("the second half is wrong")
            })
            .await
        }
    });
    let reason = failed.await.expect_err("it must fail the test").into_panic();
    assert!(reason.downcast_ref::<String>().is_some_and(|text| text.contains("the second half is wrong")));
    let whole = TestDatabase::from_template(&key, |_| async { Ok::<_, Infallible>(()) }).await;
    assert!(query(&whole.url(), "SELECT * FROM half").await.is_err());
}

#[tokio::test]
async fn connections_left_open_hinder_nobody() {
    let mut left = None;
    let database = TestDatabase::from_template(&random::letters(12), |url| {
        let left = &mut left;
        async move {
            let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await?;
            *left = Some((client, tokio::spawn(connection)));
            Ok::<_, tokio_postgres::Error>(())
        }
    })
    .await;
    let (_client, connection) =
        tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.expect("open");
    let connection = tokio::spawn(connection);
    drop(database);
    assert!(connection.await.expect("joined").is_err(), "the database is still there");
}

#[tokio::test]
async fn an_own_server_comes_back_where_it_was() {
    let mut server = OwnServer::durable().await;
    let url = server.database("test").await.expect("a database");
    query(&url, "CREATE TABLE t (n int)").await.expect("a table");
    server.kill().await.expect("killed");
    assert!(matches!(query(&url, "SELECT 1").await, Err(Error::Database(_))));
    server.start_again().await.expect("it starts");
    assert_eq!(query(&url, "SELECT count(*) FROM t").await.expect("kept"), [[Some("0".to_owned())]]);
    let dir = server.dir().to_owned();
    drop(server);
    assert!(!dir.exists());
}

#[tokio::test]
async fn a_fast_server_is_fast() {
    let server = OwnServer::fast().await;
    assert_eq!(query(&server.url(), "SHOW fsync").await.expect("an answer"), [[Some("off".to_owned())]]);
}
