//! A cluster of all roles that has a lot to do, with everything that is secret, right and wrong.

use auth::SigningSecret;
use auth::signature;
use client::Credential;
use domain::{DeviceId, RoomId};
use jiff::Timestamp;
use protocol::Encoding;
use serde_json::{Value, json};
use testkit::cluster::ClusterOptions;
use testkit::collector::FakeCollector;
use testkit::postgres::TestDatabase;
use testkit::push::FakePush;
use tokio::time::timeout;

use crate::notifications::pushing;
use crate::raw::Raw;
use crate::receiver::Receiver;
use crate::robot::rest;
use crate::traces::traced;
use crate::wire::Wire;
use crate::world::{PATIENCE, World, usual};

/// What stands in every text that people write.
pub(crate) const WRITTEN: &str = "only-for-those-in-the-room";
/// By what the relay of pushes knows its caller.
const RELAY_SECRET: &str = "whsec_cmVsYXktc2VjcmV0LW9mLXRoZS1idXN5LWNsdXN0ZXI=";

/// What signing keys in the database are sealed with: `seal-key-of-the-busy-cluster-123`.
const SEAL_KEY: &str = "c2VhbC1rZXktb2YtdGhlLWJ1c3ktY2x1c3Rlci0xMjM=";

/// The cluster, and what is around it.
pub(crate) struct Busy {
    pub(crate) world: World,
    pub(crate) collector: FakeCollector,
    /// What must be nowhere, each with what it is.
    pub(crate) secrets: Vec<(String, String)>,
    service: FakePush,
    relay: Receiver,
    webhooks: Receiver,
}

/// Somebody who has registered.
struct Caller {
    handle: String,
    password: String,
    id: String,
    token: String,
    refresh: String,
    device: String,
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_else(|| panic!("no {field}: {value}")).to_owned()
}

impl Busy {
    pub(crate) async fn start() -> Self {
        let collector = FakeCollector::start().await;
        let (relay, webhooks) = (Receiver::start().await, Receiver::start().await);
        let database = TestDatabase::empty().await;
        let url = database.url();
        let options = pushing(traced(usual(ClusterOptions::on(database)), &collector))
            .nodes(2, 2, 2)
            .setting("push.webhook_url", format!("{}?key=key-of-the-relay", relay.url))
            .setting("push.webhook_secret", RELAY_SECRET)
            .setting("outbound.allow_http", "true")
            .setting("outbound.allow_private", "127.0.0.0/8")
            .setting("scheduler.retry_min", "100ms")
            .setting("auth.lockout_threshold", "3")
            .setting("signing_key.driver", "postgres")
            .setting("secrets.seal_key", SEAL_KEY)
            .database_through_proxies();
        let world = World::on(options).await;
        let service = FakePush::start().await;
        let mut busy = Self { world, collector, secrets: Vec::new(), service, relay, webhooks };
        busy.keep("secret of the relay", RELAY_SECRET);
        busy.keep("secret of the relay, decoded", "relay-secret-of-the-busy-cluster");
        busy.keep("key in the URL of the relay", "key-of-the-relay");
        busy.keep("texts", WRITTEN);
        let password = url.split_once("://").and_then(|(_, rest)| rest.split_once('@')?.0.split_once(':'));
        busy.keep("password of the database", password.expect("a password").1);
        busy.keep("seal key", SEAL_KEY);
        busy.keep("seal key, decoded", "seal-key-of-the-busy-cluster-123");
        busy.keep_push_key();
        busy
    }

    fn keep(&mut self, what: &str, secret: impl Into<String>) {
        let secret = secret.into();
        assert!(secret.len() >= 8, "too short to be looked for: {what}");
        self.secrets.push((what.to_owned(), secret));
    }

    /// The private key of pushes, line by line. Those of tokens are sealed in the database.
    fn keep_push_key(&mut self) {
        let path = self.world.cluster.dir().join("push/vapid.pem");
        let key =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for line in key.lines().filter(|line| !line.starts_with("-----")) {
            self.keep("key of pushes", line);
        }
    }

    /// A call by REST at api node 1 or 2; what was expected, or the test fails.
    async fn call(&self, node: usize, token: &str, call: &str, body: Option<Value>, expected: u16) -> Value {
        let (method, path) = call.split_once(' ').expect("a method and a path");
        let (status, answer) =
            rest(&self.world.cluster.api_url(node), token, method, path, body.as_ref()).await;
        assert_eq!(status, expected, "{call}: {answer}");
        answer
    }

    /// Everything once, by people of this name. What it leaves behind in metrics is the same whoever it was.
    pub(crate) async fn round(&mut self, name: &str) {
        let (alex, sam) =
            (self.person(&format!("alex.{name}")).await, self.person(&format!("sam.{name}")).await);
        self.signing_in(&alex).await;
        let room = json!({ "kind": "group", "name": format!("Lunch {name}"), "members": [sam.id] });
        let room = text(&self.call(1, &alex.token, "POST /v1/rooms", Some(room), 201).await, "id");
        self.sockets(&alex, &sam, &room).await;
        self.writing(&alex, &sam, &room).await;
        self.pushes(&alex, &sam).await;
        self.agents(&alex, &room, name).await;
        self.tasks(&alex, name).await;
        self.mistakes(&alex, name).await;
    }

    async fn person(&mut self, handle: &str) -> Caller {
        let password = format!("password of {handle}");
        self.keep("password", &password);
        let device = json!({ "kind": "desktop", "name": "desk" });
        let body = json!({ "handle": handle, "password": password, "device": device });
        let made = self.call(1, "", "POST /v1/auth/register", Some(body), 201).await;
        let (token, refresh) = (text(&made, "access_token"), text(&made, "refresh_token"));
        self.keep("access token", &token);
        self.keep("refresh token", &refresh);
        let (id, device) = (text(&made["user"], "id"), text(&made, "device_id"));
        Caller { handle: handle.to_owned(), password, id, token, refresh, device }
    }

    async fn signing_in(&mut self, alex: &Caller) {
        let wrong = format!("guess at {}", alex.password);
        self.keep("wrong password", &wrong);
        let login = |password: &str| Some(json!({ "handle": alex.handle, "password": password }));
        self.call(1, "", "POST /v1/auth/login", login(&wrong), 401).await;
        let signed_in = self.call(2, "", "POST /v1/auth/login", login(&alex.password), 200).await;
        let old = text(&signed_in, "refresh_token");
        let refresh = |token: &str| Some(json!({ "refresh_token": token }));
        let next = self.call(1, "", "POST /v1/auth/refresh", refresh(&old), 200).await;
        self.call(2, "", "POST /v1/auth/refresh", refresh(&old), 401).await;
        for (what, token) in
            [("used refresh token", old), ("next refresh token", text(&next, "refresh_token"))]
        {
            self.keep(what, token);
        }
        self.keep("next access token", text(&next, "access_token"));
        self.call(1, "", "POST /v1/auth/refresh", refresh("forged-refresh-token"), 401).await;
        self.keep("forged refresh token", "forged-refresh-token");
        let spare = self.call(1, "", "POST /v1/auth/login", login(&alex.password), 200).await;
        self.keep("refresh token that ends", text(&spare, "refresh_token"));
        self.call(1, &text(&spare, "access_token"), "POST /v1/auth/logout", Some(json!({})), 204).await;
    }

    async fn ticket(&mut self, of: &Caller) -> String {
        let ticket = text(&self.call(2, &of.token, "POST /v1/ws/ticket", None, 201).await, "ticket");
        self.keep("ticket", &ticket);
        ticket
    }

    async fn socket(&mut self, of: &Caller, gateway: usize) -> Wire {
        let ticket = Credential::Ticket(self.ticket(of).await);
        let url = self.world.cluster.gateway_url(gateway);
        let mut wire = Wire::open(&url, &ticket, Encoding::Json).await.expect("a connection");
        wire.identify(of.device.parse().expect("an id")).await;
        wire.until_live().await;
        // A ticket lets in once.
        let mut again = Raw::open(&url, &ticket, "").await.expect("an upgrade");
        assert_eq!(again.closed().await, 4004);
        wire
    }

    async fn sockets(&mut self, alex: &Caller, sam: &Caller, room: &str) {
        let room: RoomId = room.parse().expect("an id");
        let (mut one, mut other) = (self.socket(alex, 1).await, self.socket(sam, 2).await);
        one.send(room, &format!("{WRITTEN}, on a socket"), "n1").await;
        other.event_of("message.created").await;
        one.say_text(&format!(
            "{{\"op\":\"send\",\"room_id\":\"{room}\",\"body\":7,\"nonce\":\"{WRITTEN}\"}}"
        ))
        .await;
        assert_eq!(one.error().await, "invalid_field");
        for token in [&sam.token, "forged-token-to-refresh-with"] {
            one.say_text(&format!("{{\"op\":\"refresh\",\"access_token\":\"{token}\"}}")).await;
            one.error().await;
        }
        self.keep("token to refresh with", "forged-token-to-refresh-with");
        let forged = Credential::Ticket("0123456789abcdef0123456789abcdef".into());
        self.keep("forged ticket", "0123456789abcdef0123456789abcdef");
        let mut refused =
            Raw::open(&self.world.cluster.gateway_url(1), &forged, "").await.expect("an upgrade");
        assert_eq!(refused.closed().await, 4004);
        let page = "Origin: https://evil.example.com\r\n";
        let bearer = Credential::Bearer(alex.token.clone());
        let refused = Raw::open(&self.world.cluster.gateway_url(1), &bearer, page).await;
        assert_eq!(refused.err().expect("a refusal").code(), "origin_refused");
        // A second connection of the device ends the first.
        let newer = self.socket(alex, 2).await;
        assert_eq!(one.closed().await, 4017);
        drop((newer, other));
    }

    async fn writing(&mut self, alex: &Caller, sam: &Caller, room: &str) {
        let messages = format!("/v1/rooms/{room}/messages");
        let body = json!({ "body": format!("{WRITTEN}, @{}", sam.handle), "nonce": "n2" });
        let sent = self.call(2, &alex.token, &format!("POST {messages}"), Some(body), 201).await;
        let id = text(&sent["event"], "id");
        let edit = json!({ "body": format!("{WRITTEN}, edited") });
        self.call(1, &alex.token, &format!("PATCH {messages}/{id}"), Some(edit), 200).await;
        self.call(1, &sam.token, &format!("PUT {messages}/{id}/reactions/%F0%9F%91%8D"), None, 204).await;
        self.call(2, &sam.token, &format!("PUT /v1/rooms/{room}/read"), Some(json!({ "seq": 3 })), 200).await;
        self.call(2, &sam.token, &format!("POST /v1/rooms/{room}/typing"), None, 204).await;
        self.call(2, &sam.token, &format!("GET /v1/rooms/{room}/events"), None, 200).await;
        self.call(2, &sam.token, "GET /v1/notifications", None, 200).await;
        self.call(1, &alex.token, &format!("DELETE {messages}/{id}"), None, 204).await;
    }

    async fn pushes(&mut self, alex: &Caller, sam: &Caller) {
        let phone = self.service.subscribe();
        let name = phone.endpoint.rsplit('/').next().expect("a name").to_owned();
        self.keep("address of a subscription", name);
        self.keep("secret of a subscription", &phone.auth);
        let device = |kind: &str| Some(json!({ "kind": kind, "name": "phone" }));
        let web = text(&self.call(1, &alex.token, "POST /v1/devices", device("mobile"), 201).await, "id");
        let body =
            json!({ "endpoint": phone.endpoint, "keys": { "p256dh": phone.p256dh, "auth": phone.auth } });
        self.call(1, &alex.token, &format!("PUT /v1/devices/{web}/push"), Some(body), 200).await;
        let relayed = text(&self.call(1, &alex.token, "POST /v1/devices", device("mobile"), 201).await, "id");
        let token = format!("token-at-the-relay-of-{}", alex.handle);
        let body = json!({ "driver": "webhook", "token": token });
        self.keep("token at the relay", token);
        self.call(1, &alex.token, &format!("PUT /v1/devices/{relayed}/push"), Some(body), 200).await;
        let dm = json!({ "kind": "dm", "members": [alex.id] });
        let dm = text(&self.call(2, &sam.token, "POST /v1/rooms", Some(dm), 201).await, "id");
        let body = json!({ "body": format!("{WRITTEN}, by push") });
        self.call(2, &sam.token, &format!("POST /v1/rooms/{dm}/messages"), Some(body), 201).await;
        // Runs that ended are told, too.
        loop {
            let told = self.relay.call().await;
            let is_it = told.json().to_string().contains(WRITTEN);
            told.answer(201, "");
            if is_it {
                break;
            }
        }
        let push = loop {
            let push = timeout(PATIENCE, self.service.next()).await.expect("a push");
            if push.text.contains(WRITTEN) {
                break push;
            }
        };
        let signed = push.authorization.rsplit('.').next().expect("a signature").to_owned();
        self.keep("authorization at the push service", signed);
    }

    async fn agents(&mut self, alex: &Caller, room: &str, name: &str) {
        let made = json!({ "handle": format!("helper.{name}") });
        let made = self.call(1, &alex.token, "POST /v1/agents", Some(made), 201).await;
        let (agent, first) = (text(&made, "id"), text(&made, "token"));
        let rotate = format!("POST /v1/agents/{agent}/token");
        let token = text(&self.call(1, &alex.token, &rotate, None, 200).await, "token");
        self.call(2, &first, "GET /v1/agents/me", None, 401).await;
        let members = format!("POST /v1/rooms/{room}/members");
        self.call(1, &alex.token, &members, Some(json!({ "agent_id": agent })), 201).await;
        let url = self.world.cluster.gateway_url(2);
        let old = Credential::Bearer(first.clone());
        let mut refused = Raw::open(&url, &old, "").await.expect("an upgrade");
        assert_eq!(refused.closed().await, 4004);
        let bearer = Credential::Bearer(token.clone());
        let mut consumer = Wire::open(&url, &bearer, Encoding::Json).await.expect("a connection");
        consumer.say(&crate::robot::consumer("main")).await;
        consumer.until_live().await;
        let input = json!({ "agent_id": agent, "input": { "ask": WRITTEN } });
        self.call(2, &alex.token, &format!("POST /v1/rooms/{room}/runs"), Some(input), 201).await;
        let (run, _) = consumer.requested().await;
        let epoch = consumer.start(run).await;
        consumer.patch(run, epoch, &json!([{ "op": "add", "path": "/items/-", "value": { "id": "1", "type": "text", "text": WRITTEN } }])).await;
        consumer.finish(run, epoch, "succeeded", None).await;
        self.keep("first token of an agent", first);
        self.keep("token of an agent", token);
    }

    async fn tasks(&mut self, alex: &Caller, name: &str) {
        let action = json!({ "kind": "webhook", "url": format!("{}/path-of-a-webhook", self.webhooks.url) });
        let task =
            json!({ "name": format!("Build {name}"), "hook": { "signature": "standard" }, "action": action });
        let made = self.call(1, &alex.token, "POST /v1/tasks", Some(task), 201).await;
        let hook = text(&made, "hook_url");
        let (secret, signing) = (text(&made, "hook_secret"), text(&made, "webhook_secret"));
        let body = format!("{{\"said\":\"to the hook, {WRITTEN}\"}}").into_bytes();
        let (id, now) = (format!("delivery-{name}"), Timestamp::now().as_second());
        let signed = signature::sign(&SigningSecret::parse(&secret).expect("a secret"), &id, now, &body);
        for (signed, expected) in [("v1,bm9uZQ==", 401), (signed.as_str(), 202)] {
            let call = reqwest::Client::new()
                .post(&hook)
                .header("webhook-id", &id)
                .header("webhook-timestamp", now)
                .header("webhook-signature", signed)
                .body(body.clone());
            assert_eq!(call.send().await.expect("an answer").status().as_u16(), expected);
        }
        assert!(self.webhooks.call().await.answer(503, WRITTEN));
        let again = self.webhooks.call().await;
        self.keep("signature of a webhook", again.header("webhook-signature").trim_start_matches("v1,"));
        assert!(again.answer(200, WRITTEN));
        self.keep("path of a hook", hook.rsplit('/').next().expect("a secret"));
        self.keep("secret of a hook", secret);
        self.keep("secret of a webhook", signing);
        self.keep("signature of a hook", signed.trim_start_matches("v1,"));
        self.keep("path of a webhook", "path-of-a-webhook");
    }

    /// What goes wrong, with secrets in every place where they do not belong.
    async fn mistakes(&mut self, alex: &Caller, name: &str) {
        for (what, secret) in [
            ("token in a query", format!("token-in-a-query-{name}")),
            ("hook that is none", format!("hook-that-is-none-{name}")),
            ("ticket at an api node", format!("ticket-at-an-api-node-{name}")),
            ("forged token", format!("eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ4In0.forged-{name}")),
            ("password of a wrong type", format!("password-of-a-wrong-type-{name}")),
        ] {
            self.keep(what, secret);
        }
        self.call(
            1,
            &alex.token,
            &format!("GET /v1/users/me?access_token=token-in-a-query-{name}"),
            None,
            200,
        )
        .await;
        self.call(2, "", &format!("POST /v1/hooks/hook-that-is-none-{name}"), None, 404).await;
        self.call(1, "", &format!("GET /v1/gateway?ticket=ticket-at-an-api-node-{name}"), None, 404).await;
        let forged = format!("eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ4In0.forged-{name}");
        self.call(2, &forged, "GET /v1/users/me", None, 401).await;
        let body = json!({ "handle": "sam", "password": [format!("password-of-a-wrong-type-{name}")] });
        self.call(1, "", "POST /v1/auth/register", Some(body), 400).await;
        let locked = json!({ "handle": alex.handle, "password": "wrong, again and again" });
        for expected in [401, 401, 401, 423] {
            self.call(1, "", "POST /v1/auth/login", Some(locked.clone()), expected).await;
        }
        self.keep("wrong password, repeated", "wrong, again and again");
        // Names that a caller makes up.
        self.call(1, &alex.token, &format!("GET /v1/{name}/{}", DeviceId::new()), None, 404).await;
        let odd = reqwest::Method::from_bytes(format!("ODD{}", name.to_ascii_uppercase()).as_bytes());
        let odd = odd.expect("a method");
        for (path, expected) in [("/", 405), ("/nothing", 404)] {
            let url = format!("{}{path}", self.world.cluster.api_url(1));
            let answer = reqwest::Client::new().request(odd.clone(), url).send().await.expect("an answer");
            assert_eq!(answer.status().as_u16(), expected, "{path}");
        }
        self.call(1, "", "POST /v1/auth/refresh", Some(json!({ "refresh_token": alex.refresh })), 200).await;
    }
}
