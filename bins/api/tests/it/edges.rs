//! What holds for every route: unknown paths and methods, bodies, headers, origins, deadlines.

use axum::http::Method;
use node::AllowedOrigins;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::app::{PASSWORD, TestApp};

#[tokio::test]
async fn unknown_paths_and_methods_are_problems() {
    let app = TestApp::start().await;
    for path in ["/v1", "/v1/nothing", "/nothing", "/v1/auth", "/v1/users/me/", "/v2/users/me"] {
        app.get(path).refused(404, "not_found").await;
    }
    let refused = app.call(Method::PATCH, "/v1/users/me").refused(405, "method_not_allowed").await;
    assert!(refused.headers["allow"].to_str().unwrap().contains("GET"), "{refused:?}");
    app.get("/v1/auth/login").refused(405, "method_not_allowed").await;
    let head = app.call(Method::HEAD, "/.well-known/jwks.json").expect(200).await;
    assert!(head.body.is_null());
    app.stop().await;
}

#[tokio::test]
async fn browsers_are_shown_what_runs_here() {
    let app = TestApp::start().await;
    let page = app.get("/").expect(200).await;
    assert!(page.headers["content-type"].to_str().unwrap().starts_with("text/html"), "{page:?}");
    assert!(page.headers["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));
    for part in [node::VERSION, "/v1/auth/login", "switchboard user add", "/v1/openapi.json", "docs/http.md"]
    {
        assert!(page.raw.contains(part), "{part}: {}", page.raw);
    }
    let forged = app.get("/").header("host", "<script>").expect(200).await;
    assert!(!forged.raw.contains("<script>"));
    app.stop().await;
}

#[tokio::test]
async fn a_body_must_be_json_of_a_bearable_size() {
    let app = TestApp::with(|settings| settings.http.max_body_bytes = 2048).await;
    let login = || app.post("/v1/auth/login");
    let json = |call: crate::call::Call| call.header("content-type", "application/json");
    login().text("{}").refused(415, "unsupported_media_type").await;
    login().header("content-type", "text/plain").text("{}").refused(415, "unsupported_media_type").await;
    for body in ["", "{", "[]", "null", "\"x\""] {
        json(login()).text(body).refused(400, "malformed").await;
    }
    let large = json!({ "handle": "alex", "password": "x".repeat(3000) }).to_string();
    json(login()).text(large.clone()).refused(413, "too_large").await;
    app.stop().await;
}

#[tokio::test]
async fn a_body_without_a_length_is_cut_off_too() {
    let app = TestApp::with(|settings| settings.http.max_body_bytes = 2048).await;
    let address = app.url.strip_prefix("http://").unwrap().to_owned();
    let mut socket = tokio::net::TcpStream::connect(&address).await.unwrap();
    let head = format!(
        "POST /v1/auth/login HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 1024, "x".repeat(1024));
    let mut answer = vec![0; 64];
    let sending = async {
        // Without an end: only the limit ends it.
        while socket.write_all(chunk.as_bytes()).await.is_ok() {
            let mut first = [0];
            if let Ok(Ok(1)) =
                tokio::time::timeout(std::time::Duration::from_millis(20), socket.peek(&mut first)).await
            {
                break;
            }
        }
        socket.read(&mut answer).await
    };
    let read =
        tokio::time::timeout(std::time::Duration::from_secs(10), sending).await.expect("an end").unwrap();
    let status = String::from_utf8_lossy(&answer[..read]).into_owned();
    assert!(status.starts_with("HTTP/1.1 413"), "{status}");
    app.stop().await;
}

#[tokio::test]
async fn every_answer_has_an_id_that_a_proxy_may_have_given() {
    let app = TestApp::start().await;
    let given = app.get("/v1/nothing").header("x-request-id", "proxy-17").send().await;
    assert_eq!(given.headers["x-request-id"], "proxy-17");
    assert_eq!(given.body["request_id"], "proxy-17", "a problem says it, too");
    for odd in ["a b", "<script>", &"x".repeat(65)] {
        let made = app.get("/v1/nothing").header("x-request-id", odd).send().await;
        let id = made.headers["x-request-id"].to_str().unwrap();
        assert!(id != odd && id.len() == 36, "{id}");
    }
    let plain = app.get("/v1/users/me").send().await;
    assert_eq!(plain.headers["x-content-type-options"], "nosniff");
    assert_eq!(plain.headers["cache-control"], "no-store");
    app.stop().await;
}

#[tokio::test]
async fn pages_of_allowed_origins_may_read() {
    let app = TestApp::with(|settings| {
        settings.http.allowed_origins = ["https://chat.example.com"].into_iter().collect();
    })
    .await;
    let preflight = |origin: &str| {
        app.call(Method::OPTIONS, "/v1/users/me")
            .header("origin", origin)
            .header("access-control-request-method", "GET")
            .header("access-control-request-headers", "authorization")
    };
    let allowed = preflight("https://chat.example.com").expect(204).await;
    assert_eq!(allowed.headers["access-control-allow-origin"], "https://chat.example.com");
    assert!(allowed.headers["access-control-allow-headers"].to_str().unwrap().contains("Authorization"));
    assert!(!allowed.headers.contains_key("access-control-allow-credentials"));
    let refused = preflight("https://evil.example.com").refused(403, "origin_refused").await;
    assert!(!refused.headers.contains_key("access-control-allow-origin"));

    // The error of a page's call can be read as well.
    let read = app.get("/v1/users/me").header("origin", "https://chat.example.com").send().await;
    assert_eq!(
        (read.status, &read.headers["access-control-allow-origin"]),
        (401, &"https://chat.example.com".parse().unwrap())
    );
    assert_eq!(read.headers["vary"], "Origin");
    let unread = app.get("/v1/users/me").header("origin", "https://evil.example.com").send().await;
    assert!(!unread.headers.contains_key("access-control-allow-origin"));
    app.stop().await;
}

#[tokio::test]
async fn a_preflight_costs_no_token_of_the_rate_limit() {
    let app = TestApp::with(|settings| {
        (settings.auth.rate, settings.auth.burst) = (0.01, 1);
        settings.http.allowed_origins = AllowedOrigins::all();
    })
    .await;
    for _ in 0..3 {
        app.call(Method::OPTIONS, "/v1/auth/login")
            .header("origin", "https://chat.example.com")
            .header("access-control-request-method", "POST")
            .expect(204)
            .await;
    }
    let login = json!({ "handle": "nobody", "password": PASSWORD });
    let call = || app.post("/v1/auth/login").header("origin", "https://chat.example.com").json(&login);
    call().refused(401, "bad_credentials").await;
    let limited = call().refused(429, "rate_limited").await;
    assert!(limited.headers.contains_key("access-control-allow-origin"), "a page can read it too");
    app.stop().await;
}
