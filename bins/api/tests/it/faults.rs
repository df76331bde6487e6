//! A database that does not answer, and nodes that start together.

use std::net::ToSocketAddrs as _;
use std::time::Duration;

use serde_json::json;
use testkit::proxy::Proxy;

use crate::app::{PASSWORD, Shared, TestApp};

/// The address in a database URL.
fn upstream(url: &str) -> std::net::SocketAddr {
    let rest = url.split("://").nth(1).unwrap();
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host).split(['/', '?']).next().unwrap();
    host.to_socket_addrs().unwrap().next().unwrap()
}

async fn behind_a_proxy(change: impl FnOnce(&mut node::Settings)) -> (TestApp, Proxy) {
    let shared = Shared::new().await;
    let mut settings = shared.settings();
    let proxy = Proxy::start(upstream(&settings.database.url));
    settings.database.url = proxy.url(&settings.database.url);
    settings.database.connect_timeout = Duration::from_millis(300);
    settings.database.pool_wait = Duration::from_millis(300);
    change(&mut settings);
    (shared.start(&settings).await, proxy)
}

#[tokio::test]
async fn while_the_database_is_away_answers_are_503_and_come_back() {
    let (app, proxy) = behind_a_proxy(|_| ()).await;
    let alex = app.person("alex").await;
    let room = app.group(&alex, &[]).await;
    proxy.refuse();
    proxy.cut();
    let refused = app.get("/v1/users/me").by(&alex).refused(503, "unavailable").await;
    assert!(refused.headers.contains_key("retry-after"));
    let body = json!({ "body": "hello", "nonce": "n" });
    let path = format!("/v1/rooms/{room}/messages");
    app.post(&path).by(&alex).json(&body).refused(503, "unavailable").await;
    // What needs no database goes on, and a bad token is still a bad token.
    app.get("/.well-known/jwks.json").expect(200).await;
    app.get("/v1/users/me").bearer("junk").refused(401, "unauthenticated").await;

    proxy.accept();
    let back = async {
        while app.get("/v1/users/me").by(&alex).send().await.status != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), back).await.expect("it comes back");
    app.post(&path).by(&alex).json(&body).expect(201).await;
    app.stop().await;
}

#[tokio::test]
async fn without_the_shared_bucket_a_local_one_limits() {
    let (app, proxy) = behind_a_proxy(|settings| {
        (settings.auth.rate, settings.auth.burst) = (0.01, 3);
        settings.auth.rate_timeout = Duration::from_millis(50);
    })
    .await;
    proxy.refuse();
    proxy.cut();
    let login = json!({ "handle": "nobody", "password": PASSWORD });
    let mut codes = Vec::new();
    for _ in 0..5 {
        codes.push(app.post("/v1/auth/login").json(&login).send().await.text("code"));
    }
    assert_eq!(codes, ["unavailable", "unavailable", "unavailable", "rate_limited", "rate_limited"]);
    app.stop().await;
}

#[tokio::test]
async fn a_database_that_hangs_does_not_hang_the_client() {
    let (app, proxy) = behind_a_proxy(|settings| {
        settings.http.request_timeout = Duration::from_millis(500);
    })
    .await;
    let alex = app.person("alex").await;
    proxy.stall();
    let asked = std::time::Instant::now();
    let answer = app.get("/v1/users/me").by(&alex).send().await;
    assert!(answer.status == 504 || answer.status == 503, "{answer:?}");
    assert!(asked.elapsed() < Duration::from_secs(5));
    proxy.resume();
    app.stop().await;
}

#[tokio::test]
async fn nodes_that_start_at_once_agree_on_one_key() {
    let shared = Shared::new().await;
    let settings = shared.settings();
    let apps = futures_util::future::join_all((0..4).map(|_| shared.start(&settings))).await;
    let mut keys = Vec::new();
    for app in &apps {
        keys.push(app.get("/.well-known/jwks.json").expect(200).await.body);
    }
    keys.dedup();
    assert_eq!(keys.len(), 1, "{keys:?}");
    let alex = apps[0].person("alex").await;
    for app in &apps {
        app.get("/v1/users/me").by(&alex).expect(200).await;
    }
    assert_eq!(std::fs::read_dir(apps[0].key_dir().join("keys")).unwrap().count(), 2);
    for app in apps {
        app.stop().await;
    }
}
