//! Signing keys over all nodes: rotation under load, rotators that meet, stores that break, clocks that are wrong.

mod faults;
mod load;
mod rotators;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use client::{Credential, Socket};
use protocol::{Encoding, ServerFrame};
use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::cluster::ClusterOptions;
use tokio::time::{sleep, timeout};

use crate::program::program;
use crate::world::{PASSWORD, World};

const SEAL_KEY: &str = "c2VhbGVkIGJ5IHRlc3RzIHRoYXQgcm90YXRlIGtleXM=";
const CACHE_TTL: Duration = Duration::from_secs(3);
/// How long a whole life of a key may take on a busy machine.
const A_LIFE: Duration = Duration::from_secs(120);
/// The nodes that have keys.
const NODES: [&str; 4] = ["api-1", "api-2", "gateway-1", "gateway-2"];

/// Where the keys of a cluster are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Driver {
    Dir,
    Postgres,
}

impl Driver {
    fn settings(self) -> Vec<(&'static str, &'static str)> {
        let mut settings = vec![
            ("signing_key.cache_ttl", "3s"),
            ("auth.access_ttl", "6s"),
            ("auth.leeway", "1s"),
            ("secrets.reload_cooldown", "1s"),
        ];
        if self == Self::Postgres {
            settings.extend([("signing_key.driver", "postgres"), ("secrets.seal_key", SEAL_KEY)]);
        }
        settings
    }

    fn set(self, options: ClusterOptions) -> ClusterOptions {
        self.settings().into_iter().fold(options, |options, (key, value)| options.setting(key, value))
    }
}

/// A cluster whose keys live short lives, with an administrator.
struct Keyed {
    world: World,
    driver: Driver,
    http: reqwest::Client,
    admin: String,
}

impl Keyed {
    async fn start(driver: Driver) -> Self {
        Self::with(driver, |options| options).await
    }

    async fn with(driver: Driver, change: impl FnOnce(ClusterOptions) -> ClusterOptions) -> Self {
        let world = World::with(|options| change(driver.set(options))).await;
        Self::of(world, driver).await
    }

    async fn of(world: World, driver: Driver) -> Self {
        let keyed = Self { world, driver, http: reqwest::Client::new(), admin: String::new() };
        let signed_in = keyed.register("robin").await;
        keyed.world.sql("UPDATE users SET role = 'admin' WHERE handle = 'robin'").await;
        let admin = text(&signed_in["refresh_token"]);
        Self { admin, ..keyed }
    }

    fn url(&self, node: usize, path: &str) -> String {
        format!("{}{path}", self.world.cluster.api_url(node))
    }

    async fn register(&self, handle: &str) -> Value {
        let body = json!({ "handle": handle, "password": PASSWORD });
        let answer = self.http.post(self.url(1, "/v1/auth/register")).json(&body).send().await;
        answer.expect("an answer").json().await.expect("JSON")
    }

    /// A fresh access token, made by this api node.
    async fn token(&self, node: usize, handle: &str) -> String {
        let body = json!({ "handle": handle, "password": PASSWORD });
        let answer = self.http.post(self.url(node, "/v1/auth/login")).json(&body).send().await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK, "{}", answer.text().await.unwrap_or_default());
        text(&answer.json::<Value>().await.expect("JSON")["access_token"])
    }

    /// What an api node says to a token.
    async fn status(&self, node: usize, token: &str) -> u16 {
        let asked = self.http.get(self.url(node, "/v1/users/me")).bearer_auth(token).send().await;
        asked.expect("an answer").status().as_u16()
    }

    /// Fails the test unless every node takes the token.
    async fn accepted_everywhere(&self, token: &str) {
        for node in [1, 2] {
            assert_eq!(self.status(node, token).await, 200, "api-{node} and a token of {}", kid_of(token));
            let url = self.world.cluster.gateway_url(node);
            let credential = Credential::Bearer(token.to_owned());
            let mut socket = Socket::connect(&url, &credential, Encoding::Json).await.expect("an upgrade");
            let first = socket.receive().await;
            assert!(matches!(first, Ok(ServerFrame::Hello(_))), "gateway-{node}: {first:?}");
        }
    }

    /// Something that an administrator asks of an api node.
    async fn administer(&self, node: usize, path: &str, body: &Value) -> (u16, Value) {
        let token = self.token(node, "robin").await;
        let asked = self.http.post(self.url(node, path)).bearer_auth(token).json(body).send().await;
        let answer = asked.expect("an answer");
        (answer.status().as_u16(), answer.json().await.expect("JSON"))
    }

    async fn rotate(&self, node: usize) -> Value {
        let (status, made) = self.administer(node, "/v1/admin/keys/rotate", &json!({})).await;
        assert_eq!(status, 200, "{made}");
        made
    }

    /// Keys and their states, as an api node sees them.
    async fn states(&self, node: usize) -> Vec<(String, String)> {
        let token = self.token(node, "robin").await;
        let asked = self.http.get(self.url(node, "/v1/admin/keys")).bearer_auth(token).send().await;
        let listed: Value = asked.expect("an answer").json().await.expect("JSON");
        let keys = listed["items"].as_array().unwrap_or_else(|| panic!("{listed}"));
        keys.iter().map(|key| (text(&key["kid"]), text(&key["state"]))).collect()
    }

    /// Waits until an api node sees keys in exactly these states.
    async fn until_states(&self, wanted: &[&str]) -> Vec<String> {
        let mut last = Vec::new();
        let waiting = async {
            loop {
                last = self.states(1).await;
                if last.iter().map(|(_, state)| state.as_str()).eq(wanted.iter().copied()) {
                    break;
                }
                sleep(Duration::from_millis(100)).await;
            }
        };
        assert!(timeout(A_LIFE, waiting).await.is_ok(), "{wanted:?} is waited for, it stays {last:?}");
        last.into_iter().map(|(kid, _)| kid).collect()
    }

    /// Waits until every node has read so many keys of a state.
    async fn until_everywhere(&self, state: &str, count: f64) {
        let name = format!("switchboard_signing_keys{{state=\"{state}\"}}");
        for node in NODES {
            self.world.until_metric(node, &name, |keys| keys == count).await;
        }
    }

    /// The directory of the keys.
    fn dir(&self) -> PathBuf {
        self.world.cluster.key_dir()
    }

    /// A command with the configuration of the nodes.
    fn command(&self, arguments: &str) -> Command {
        let mut command = program(arguments);
        command.env("SWITCHBOARD__DATABASE__URL", self.world.database());
        command.env("SWITCHBOARD__SECRETS__SIGNING_KEY_DIR", self.dir());
        for (key, value) in self.driver.settings() {
            let name = format!("SWITCHBOARD__{}", key.replace('.', "__").to_uppercase());
            command.env(name, value);
        }
        command
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// Which key a token names.
fn kid_of(token: &str) -> String {
    let header = token.split('.').next().and_then(|header| URL_SAFE_NO_PAD.decode(header).ok());
    let header: Value = serde_json::from_slice(&header.expect("base64")).expect("a header");
    text(&header["kid"])
}

/// A token that names a key which nobody has.
fn forged(token: &str) -> String {
    let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"EdDSA","kid":"0198c0de-0000-7000-8000-00000000ffff"}"#);
    format!("{header}.{}", token.split_once('.').expect("a token").1)
}
