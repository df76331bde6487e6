//! A node of role api under test, and people on it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use domain::{NodeId, Role, UserId};
use node::Settings;
use node::settings::ClusterMode;
use serde_json::json;
use store::Store;
use store::postgres::{DatabaseSettings, migrate, schema_digest};
use testkit::postgres::TestDatabase;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::call::Call;

pub(crate) const PASSWORD: &str = "correct horse battery";

/// A database and the keys beside it: what the nodes of one cluster share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) database: Arc<TestDatabase>,
    keys: Arc<tempfile::TempDir>,
}

impl Shared {
    pub(crate) async fn new() -> Self {
        let migrated = |url| async move { migrate(&DatabaseSettings::with_url(url)).await.map(drop) };
        let database = TestDatabase::from_template(&schema_digest(), migrated).await;
        Self { database: Arc::new(database), keys: Arc::new(tempfile::tempdir().unwrap()) }
    }

    /// Settings with cheap passwords, a rate limit that is out of the way, and a stop that spreads nobody.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.database.url = self.database.url();
        settings.database.pool_size = 4;
        settings.cluster.mode = ClusterMode::Single;
        settings.secrets.signing_key_dir = self.keys.path().join("keys");
        settings.push.vapid_key_dir = self.keys.path().join("push");
        settings.auth.registration = auth::RegistrationMode::Open;
        settings.auth.argon2_memory_kib = 64;
        settings.auth.argon2_iterations = 1;
        settings.auth.rate = 1000.0;
        settings.auth.burst = 1000;
        settings.shutdown.spread = Duration::from_millis(10);
        settings
    }

    pub(crate) async fn start(&self, settings: &Settings) -> TestApp {
        TestApp::serve(self.clone(), settings).await
    }
}

/// A node that serves, until [`TestApp::stop`].
pub(crate) struct TestApp {
    pub(crate) url: String,
    pub(crate) shared: Shared,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) operations: operations::Operations,
    http: reqwest::Client,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<(), String>>,
}

impl TestApp {
    /// With the settings of [`Shared::settings`].
    pub(crate) async fn start() -> Self {
        Self::with(|_| ()).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let shared = Shared::new().await;
        let mut settings = shared.settings();
        change(&mut settings);
        shared.start(&settings).await
    }

    async fn serve(shared: Shared, settings: &Settings) -> Self {
        let bind = || async { tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap() };
        let app = api::build(settings, NodeId::new(), bind().await, bind().await).await.unwrap();
        let url = format!("http://{}", app.addresses[0].1);
        let (store, operations) = (Arc::clone(&app.node().store), app.node().operations.clone());
        let (stop, stopped) = oneshot::channel();
        let served =
            tokio::spawn(async move { app.run(stopped).await.map_err(|failure| failure.to_string()) });
        Self { url, shared, store, operations, http: reqwest::Client::new(), stop, served }
    }

    /// Stops the node. Fails when a task of it ended that never may.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        self.served.await.unwrap().unwrap();
    }

    pub(crate) fn key_dir(&self) -> &Path {
        self.shared.keys.path()
    }

    pub(crate) fn call(&self, method: Method, path: &str) -> Call {
        Call::new(self.http.request(method, format!("{}{path}", self.url)))
    }

    pub(crate) fn get(&self, path: &str) -> Call {
        self.call(Method::GET, path)
    }

    pub(crate) fn post(&self, path: &str) -> Call {
        self.call(Method::POST, path)
    }

    pub(crate) fn put(&self, path: &str) -> Call {
        self.call(Method::PUT, path)
    }

    pub(crate) fn patch(&self, path: &str) -> Call {
        self.call(Method::PATCH, path)
    }

    pub(crate) fn delete(&self, path: &str) -> Call {
        self.call(Method::DELETE, path)
    }

    /// Somebody who has just registered; the handle begins with `name`.
    pub(crate) async fn person(&self, name: &str) -> Person {
        let handle = testkit::random::handle(name);
        let body = json!({ "handle": handle, "password": PASSWORD, "display_name": name });
        Person::of(&self.post("/v1/auth/register").json(&body).expect(201).await)
    }

    /// An administrator.
    pub(crate) async fn admin(&self) -> Person {
        let user = store::accounts::NewUser {
            id: UserId::new(),
            handle: testkit::random::handle("admin"),
            display_name: "Admin".into(),
            role: Role::Admin,
            password_hash: self.hash_of(PASSWORD).await,
        };
        self.store.create_user(&user).await.unwrap();
        let body = json!({ "handle": user.handle, "password": PASSWORD });
        Person::of(&self.post("/v1/auth/login").json(&body).expect(200).await)
    }

    async fn hash_of(&self, password: &str) -> String {
        let settings = self.shared.settings().auth;
        auth::password::Passwords::new(&settings).await.unwrap().hash(password).await.unwrap()
    }

    /// An agent that somebody has just made; the handle begins with `name`.
    pub(crate) async fn agent(&self, owner: &Person, name: &str) -> Agent {
        let body = json!({ "handle": testkit::random::handle(name) });
        let made = self.post("/v1/agents").by(owner).json(&body).expect(201).await;
        Agent { id: made.text("id"), handle: made.text("handle"), token: made.text("token") }
    }

    /// A group of the first with the others.
    pub(crate) async fn group(&self, owner: &Person, others: &[&Person]) -> String {
        let members: Vec<_> = others.iter().map(|person| &person.id).collect();
        let body = json!({ "kind": "group", "name": "Garden", "members": members });
        let room = self.post("/v1/rooms").by(owner).json(&body).expect(201).await;
        room.text("id")
    }

    /// Says something; gives the event.
    pub(crate) async fn say(&self, person: &Person, room: &str, body: &str) -> serde_json::Value {
        let sent = self
            .post(&format!("/v1/rooms/{room}/messages"))
            .by(person)
            .json(&json!({ "body": body }))
            .expect(201)
            .await;
        sent.body["event"].clone()
    }
}

/// An agent, and what signs it in.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    pub(crate) id: String,
    pub(crate) handle: String,
    pub(crate) token: String,
}

/// Somebody who is signed in.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) id: String,
    pub(crate) handle: String,
    pub(crate) session: String,
    pub(crate) token: String,
    pub(crate) refresh: String,
}

impl Person {
    pub(crate) fn of(answer: &crate::call::Answer) -> Self {
        let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
        Self {
            id: text(&answer.body["user"]["id"]),
            handle: text(&answer.body["user"]["handle"]),
            session: answer.text("session_id"),
            token: answer.text("access_token"),
            refresh: answer.text("refresh_token"),
        }
    }
}
