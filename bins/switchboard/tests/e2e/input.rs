//! What REST refuses, with its status and code, while everybody else goes on.

use client::api::{NewMessage, Range};
use domain::{EventId, RoomId, UserId};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use testkit::cluster::ClusterOptions;

use crate::world::{PASSWORD, Person, World, in_both_worlds};

in_both_worlds!(
    bad_bodies_are_refused_with_the_field_and_change_nothing,
    unknown_and_foreign_things_look_alike,
    an_account_is_locked_everywhere_after_too_many_tries,
);

/// Requests as one person at one node.
struct Caller<'a> {
    world: &'a World,
    person: &'a Person,
    node: usize,
}

impl Caller<'_> {
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.world.cluster.api_url(self.node));
        let token = self.person.api.access_token().expect("a token");
        reqwest::Client::new().request(method, url).bearer_auth(token)
    }

    async fn refused(&self, what: &str, request: RequestBuilder, status: u16, code: &str) {
        let answer = request.send().await.expect("an answer");
        let (given, kind) = (answer.status(), answer.headers().get("content-type").cloned());
        let body = answer.text().await.expect("a body");
        let problem: Value = serde_json::from_str(&body).unwrap_or_default();
        assert_eq!((given.as_u16(), problem["code"].as_str()), (status, Some(code)), "{what}: {body}");
        assert_eq!(kind.expect("a type"), "application/problem+json", "{what}");
        assert_eq!(problem["status"], status, "{what}");
        assert!(!problem["detail"].as_str().unwrap_or_default().is_empty(), "{what}: {body}");
    }

    async fn json(&self, method: Method, path: &str, body: &Value, status: u16, code: &str) {
        let what = format!("{method} {path} {}", body.to_string().chars().take(100).collect::<String>());
        self.refused(&what, self.request(method, path).json(body), status, code).await;
    }
}

async fn bad_bodies_are_refused_with_the_field_and_change_nothing(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut bystander = world.connect(&sam, 2).await;
    let head = alex.says(room, "Soup?").await;
    let before = alex.api.events(room, &Range::Newest, None).await.expect("a page");
    let messages = format!("/v1/rooms/{room}/messages");
    let message = format!("{messages}/{}", before.items.last().expect("a message").id);
    let caller = Caller { world: &world, person: &alex, node: 2 };
    let invalid = "invalid_field";
    for body in [
        json!({}),
        json!({ "body": null }),
        json!({ "body": 7 }),
        json!({ "body": "" }),
        json!({ "body": " \t\n" }),
        json!({ "body": "So\u{0}up" }),
        json!({ "body": "x".repeat(16 * 1024 + 1) }),
        json!({ "body": "Soup?", "nonce": "" }),
        json!({ "body": "Soup?", "nonce": "n".repeat(65) }),
        json!({ "body": "Soup?", "nonce": "a b" }),
        json!({ "body": "Soup?", "nonce": 7 }),
        json!({ "body": "Soup?", "reply_to": "seven" }),
        json!({ "body": "Soup?", "reply_to": EventId::new() }),
        json!({ "body": "Soup?", "colour": "red" }),
    ] {
        caller.json(Method::POST, &messages, &body, 400, invalid).await;
        if body["body"] != "Soup?" || body["colour"] == "red" {
            caller.json(Method::PATCH, &message, &body, 400, invalid).await;
        }
    }
    for (method, path, body) in [
        (Method::PUT, format!("/v1/rooms/{room}/read"), json!({ "seq": head + 1 })),
        (Method::PUT, format!("/v1/rooms/{room}/read"), json!({ "seq": -1 })),
        (Method::PUT, format!("/v1/rooms/{room}/read"), json!({ "seq": 1.5 })),
        (Method::PUT, format!("/v1/rooms/{room}/read"), json!({ "seq": u64::MAX })),
        (Method::PUT, format!("/v1/rooms/{room}/settings"), json!({ "name": "" })),
        (Method::PUT, format!("/v1/rooms/{room}/settings"), json!({ "name": "x".repeat(81) })),
        (Method::PUT, format!("/v1/rooms/{room}/settings"), json!({ "muted": "yes" })),
        (Method::POST, "/v1/rooms".into(), json!({ "kind": "party", "name": "x", "members": [] })),
        (Method::POST, "/v1/rooms".into(), json!({ "kind": "group", "members": [] })),
        (Method::POST, "/v1/rooms".into(), json!({ "kind": "dm", "members": [] })),
        (Method::POST, "/v1/rooms".into(), json!({ "kind": "dm", "members": [alex.id] })),
        (Method::POST, "/v1/rooms".into(), json!({ "kind": "dm", "name": "x", "members": [sam.id] })),
        (Method::POST, "/v1/rooms".into(), json!({ "kind": "group", "name": "x", "members": ["sam"] })),
        (Method::POST, "/v1/rooms".into(), json!({ "kind": "group", "name": "a\u{0}b", "members": [] })),
        (Method::POST, "/v1/devices".into(), json!({ "kind": "fridge", "name": "x" })),
        (Method::POST, "/v1/devices".into(), json!({ "kind": "web", "name": "" })),
        (Method::POST, "/v1/auth/register".into(), json!({ "handle": "A", "password": PASSWORD })),
        (Method::POST, "/v1/auth/register".into(), json!({ "handle": "robin", "password": "short" })),
        (Method::POST, "/v1/auth/register".into(), json!({ "handle": "robin" })),
        (Method::POST, "/v1/auth/login".into(), json!({ "handle": ["alex"], "password": PASSWORD })),
    ] {
        caller.json(method, &path, &body, 400, invalid).await;
    }
    for (what, body, status, code) in [
        ("no JSON", "{", 400, "malformed"),
        ("a list", "[]", 400, "malformed"),
        ("nothing", "", 400, "malformed"),
        ("two", r#"{"body":"a"}{"body":"b"}"#, 400, "malformed"),
        ("a field twice", r#"{"body":"a","body":"b"}"#, 400, invalid),
        ("half a surrogate", r#"{"body":"\ud800"}"#, 400, "malformed"),
        ("deep", &"[".repeat(100_000), 400, "malformed"),
        ("deep in a field", &format!(r#"{{"body":{}"#, "[".repeat(100_000)), 400, "malformed"),
        ("large", &format!(r#"{{"body":"{}"}}"#, "x".repeat(300_000)), 413, "too_large"),
    ] {
        let request = caller.request(Method::POST, &messages);
        let request = request.header("content-type", "application/json").body(body.to_owned());
        let answer = request.send().await.expect("an answer");
        let given = answer.status().as_u16();
        let problem: Value = answer.json().await.expect("a problem");
        assert_eq!(given, status, "{what}: {problem}");
        // Where a list stands for a text, parsers may find either fault first.
        assert!(problem["code"] == code || what == "deep in a field", "{what}: {problem}");
    }
    let no_utf8 = b"{\"body\":\"\xFF\"}".to_vec();
    let request = caller.request(Method::POST, &messages).header("content-type", "application/json");
    caller.refused("no UTF-8", request.body(no_utf8), 400, "malformed").await;
    let request = caller.request(Method::POST, &messages).header("content-type", "text/plain");
    caller.refused("text", request.body(r#"{"body":"a"}"#), 415, "unsupported_media_type").await;

    assert_eq!(alex.api.events(room, &Range::Newest, None).await.expect("a page"), before);
    assert!(world.api(1).login("robin", PASSWORD, None).await.is_err());
    let said = alex.says(room, "Salad?").await;
    assert_eq!((bystander.event().await.seq, bystander.event().await.seq), (head, said));
}

async fn unknown_and_foreign_things_look_alike(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let foreign = alex.room("Secret", &[]).await;
    let said = alex.api.send_message(foreign, &NewMessage::new("psst")).await.expect("sent").event;
    let own = sam.room("Own", &[]).await;
    let with_alex = alex.room("Lunch", &[&sam]).await;
    let caller = Caller { world: &world, person: &sam, node: 1 };
    for room in [foreign, RoomId::new()] {
        let path = format!("/v1/rooms/{room}");
        let message = format!("{path}/messages/{}", said.id);
        let body = json!({ "body": "Hello?" });
        for (method, path, body) in [
            (Method::GET, path.clone(), None),
            (Method::GET, format!("{path}/events"), None),
            (Method::POST, format!("{path}/messages"), Some(body.clone())),
            (Method::PATCH, message.clone(), Some(body)),
            (Method::DELETE, message.clone(), None),
            (Method::PUT, format!("{message}/reactions/x"), None),
            (Method::POST, format!("{path}/typing"), None),
            (Method::PUT, format!("{path}/read"), Some(json!({ "seq": 1 }))),
            (Method::PUT, format!("{path}/settings"), Some(json!({ "muted": true }))),
            (Method::POST, format!("{path}/members"), Some(json!({ "user_id": sam.id }))),
            (Method::DELETE, format!("{path}/members/{}", alex.id), None),
        ] {
            let mut request = caller.request(method.clone(), &path);
            if let Some(body) = body {
                request = request.json(&body);
            }
            caller.refused(&format!("{method} {path}"), request, 404, "not_found").await;
        }
    }
    let body = json!({ "body": "Hello?" });
    for (method, path, body, status, code) in [
        // In a room of one's own, but the message is of another room.
        (Method::PATCH, format!("/v1/rooms/{own}/messages/{}", said.id), body.clone(), 404, "not_found"),
        (
            Method::POST,
            format!("/v1/rooms/{own}/members"),
            json!({ "user_id": UserId::new() }),
            404,
            "not_found",
        ),
        (
            Method::POST,
            "/v1/rooms".into(),
            json!({ "kind": "dm", "members": [UserId::new()] }),
            404,
            "not_found",
        ),
        (
            Method::POST,
            format!("/v1/rooms/{with_alex}/members"),
            json!({ "user_id": sam.id }),
            403,
            "forbidden",
        ),
        (Method::PUT, format!("/v1/rooms/{with_alex}/settings"), json!({ "name": "Mine" }), 403, "forbidden"),
        (Method::PUT, "/v1/rooms".into(), body.clone(), 405, "method_not_allowed"),
        (Method::POST, "/v1/elsewhere".into(), body.clone(), 404, "not_found"),
        (Method::POST, "/v1/rooms/seven/messages".into(), body.clone(), 400, "invalid_field"),
        (
            Method::POST,
            "/v1/auth/register".into(),
            json!({ "handle": "alex", "password": PASSWORD }),
            409,
            "handle_taken",
        ),
    ] {
        caller.json(method, &path, &body, status, code).await;
    }
    for path in [
        format!("/v1/rooms/{own}/events?limit=0"),
        format!("/v1/rooms/{own}/events?limit=1001"),
        format!("/v1/rooms/{own}/events?after=-1"),
        format!("/v1/rooms/{own}/events?after=1&before=2"),
        format!("/v1/rooms/{own}/events?cursor=rubbish"),
        format!("/v1/rooms/{own}/events?colour=red"),
        "/v1/rooms?cursor=rubbish".to_owned(),
        "/v1/users?limit=many".to_owned(),
        "/v1/stream?device_id=desk".to_owned(),
    ] {
        caller.refused(&path, caller.request(Method::GET, &path), 400, "invalid_field").await;
    }
    let foreign_device = format!("/v1/stream?device_id={}", alex.device);
    caller.refused(&foreign_device, caller.request(Method::GET, &foreign_device), 404, "not_found").await;
    // A cursor of one room is none of another.
    for n in 0..3 {
        sam.says(own, &n.to_string()).await;
        sam.says(with_alex, &n.to_string()).await;
    }
    let page = sam.api.events(own, &Range::After(0), Some(1)).await.expect("a page");
    let path = format!("/v1/rooms/{with_alex}/events?cursor={}", page.next.expect("more"));
    let answer = caller.request(Method::GET, &path).send().await.expect("an answer");
    let status = answer.status();
    assert!([StatusCode::OK, StatusCode::BAD_REQUEST].contains(&status), "{status}");
    assert!(!answer.text().await.expect("a body").contains(&format!("room:{own}")));
}

async fn an_account_is_locked_everywhere_after_too_many_tries(options: ClusterOptions) {
    let world =
        World::on(options.setting("auth.lockout_threshold", "4").setting("auth.lockout_duration", "2s"))
            .await;
    let alex = world.person(1, "alex").await;
    for n in 0..4 {
        let wrong = world.api(1 + n % 2).login("alex", "not the password", None).await.expect_err("refused");
        assert_eq!((wrong.status(), wrong.code()), (Some(401), "bad_credentials"));
    }
    for node in [1, 2] {
        let locked = world.api(node).login("alex", PASSWORD, None).await.expect_err("refused");
        assert_eq!((locked.status(), locked.code()), (Some(423), "locked"));
    }
    let unknown = world.api(1).login("nobody", PASSWORD, None).await.expect_err("refused");
    assert_eq!((unknown.status(), unknown.code()), (Some(401), "bad_credentials"));
    // Who is signed in stays so.
    alex.at(&world, 2).me().await.expect("oneself");
    // Counted by the database's clock.
    tokio::time::sleep(std::time::Duration::from_millis(2200)).await;
    world.api(2).login("alex", PASSWORD, None).await.expect("signed in");
}
