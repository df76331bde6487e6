//! `Identity` on a real PostgreSQL, as two nodes of one cluster have it.
// Helpers of tests are tests too, but clippy's own exception ends at functions marked `#[test]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod signing;

use std::sync::Arc;
use std::time::Duration;

use auth::keys::store_of;
use auth::{
    AuthError, AuthSettings, Identity, KeyKeeper, KeySettings, Keys, Login, NewAgentToken, NewPerson,
    Refreshed, Registered, Registration, RegistrationMode, SecretSettings, SignIn, SignedIn, Standing,
    TicketSettings,
};
use domain::{AgentId, EventKind, Role};
use futures_util::future::join_all;
use prometheus::Registry;
use store::Store;
use store::agents::NewAgent;
use store::postgres::{DatabaseSettings, Postgres, migrate, schema_digest};
use testkit::postgres::TestDatabase;
use tokio_util::sync::CancellationToken;

const PASSWORD: &str = "correct horse battery";

/// What the nodes of a cluster share.
struct Cluster {
    database: TestDatabase,
    keys: tempfile::TempDir,
    auth: AuthSettings,
    tickets: TicketSettings,
}

impl Cluster {
    async fn new() -> Self {
        let migrated = |url| async move { migrate(&DatabaseSettings::with_url(url)).await.map(drop) };
        Self {
            database: TestDatabase::from_template(&schema_digest(), migrated).await,
            keys: tempfile::tempdir().unwrap(),
            auth: AuthSettings {
                registration: RegistrationMode::Open,
                argon2_memory_kib: 64,
                argon2_iterations: 1,
                ..AuthSettings::default()
            },
            tickets: TicketSettings::default(),
        }
    }

    async fn store(&self, registry: &Registry) -> Arc<dyn Store> {
        let settings = DatabaseSettings::with_url(self.database.url());
        Arc::new(Postgres::connect(&settings, registry).await.unwrap())
    }

    async fn node(&self) -> Arc<Identity> {
        let registry = Registry::new();
        let store = self.store(&registry).await;
        let secrets =
            SecretSettings { signing_key_dir: self.keys.path().join("keys"), ..SecretSettings::default() };
        let keys = keys(&store, &KeySettings::default(), &secrets, &self.auth, &registry).await;
        let identity = Identity::open(store, &self.auth, &self.tickets, keys, &registry).await.unwrap();
        identity.refresh_revocations().await.unwrap();
        Arc::new(identity)
    }
}

/// The keys of a node, the first one made if there is none.
async fn keys(
    store: &Arc<dyn Store>,
    settings: &KeySettings,
    secrets: &SecretSettings,
    auth: &AuthSettings,
    registry: &Registry,
) -> Arc<Keys> {
    let kept = store_of(settings, secrets, store).unwrap();
    let (rules, never) = (settings.rules(auth), Duration::ZERO);
    let keeper =
        KeyKeeper::new(Arc::clone(&kept), Arc::clone(store), rules, never, "a test".into(), registry)
            .unwrap();
    keeper.make_first().await.unwrap();
    let keys = Keys::new(kept, rules, secrets.reload_cooldown, registry).unwrap();
    keys.read().await.unwrap();
    Arc::new(keys)
}

fn person(handle: &str) -> NewPerson {
    NewPerson { handle: handle.into(), password: PASSWORD.into(), display_name: None }
}

async fn registered(identity: &Identity, handle: &str) -> SignedIn {
    match identity.register(&Registration { person: person(handle), device: None, key: None }).await.unwrap()
    {
        Registered::Now(signed_in) => *signed_in,
        Registered::Before(_) => panic!("{handle} was there"),
    }
}

async fn access(identity: &Identity, signed_in: &SignedIn) -> SignIn {
    identity.authenticate(signed_in.access_token.reveal()).await.unwrap()
}

fn login(handle: &str) -> Login {
    Login { handle: handle.into(), password: PASSWORD.into(), device: None }
}

#[tokio::test]
async fn a_ticket_lets_in_one_of_many_on_whatever_node() {
    let cluster = Cluster::new().await;
    let (one, two) = (cluster.node().await, cluster.node().await);
    let alex = registered(&one, "alex").await;
    // Made on one node, checked on the other.
    let access = access(&two, &alex).await;
    assert_eq!((access.principal, access.session), (alex.user.id.into(), alex.session));
    let ticket = one.issue_ticket(alex.user.id, access.session, access.expires_at).await.unwrap().ticket;
    let tries = (0..12).map(|at| {
        let (node, ticket) = (Arc::clone(if at % 2 == 0 { &one } else { &two }), ticket.clone());
        tokio::spawn(async move { node.redeem_ticket(ticket.reveal()).await })
    });
    let answers: Vec<_> = join_all(tries).await.into_iter().map(Result::unwrap).collect();
    let let_in: Vec<_> = answers.iter().flatten().collect();
    assert_eq!(let_in, [&access], "a ticket is worth as much as the token it was made with: {answers:?}");
    for refused in answers.iter().filter_map(|answer| answer.as_ref().err()) {
        assert!(matches!(refused, AuthError::BadTicket), "{refused}");
    }
    for junk in ["", "x", &"g".repeat(32), &"0".repeat(32), &ticket.reveal()[1..]] {
        assert!(matches!(two.redeem_ticket(junk).await, Err(AuthError::BadTicket)), "{junk}");
    }
}

#[tokio::test]
async fn a_ticket_does_not_outlive_its_time_or_its_sign_in() {
    let mut cluster = Cluster::new().await;
    let node = cluster.node().await;
    let alex = registered(&node, "alex").await;
    let ticket = node.issue_ticket(alex.user.id, alex.session, None).await.unwrap().ticket;
    node.logout(alex.user.id, alex.session).await.unwrap();
    assert!(matches!(node.redeem_ticket(ticket.reveal()).await, Err(AuthError::BadTicket)));
    let late = node.issue_ticket(alex.user.id, alex.session, None).await;
    assert!(matches!(late, Err(AuthError::SessionRevoked)), "{late:?}");

    cluster.tickets.ttl = Duration::from_millis(1);
    let hasty = cluster.node().await;
    let sam = registered(&hasty, "sam").await;
    let ticket = hasty.issue_ticket(sam.user.id, sam.session, None).await.unwrap().ticket;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(matches!(hasty.redeem_ticket(ticket.reveal()).await, Err(AuthError::BadTicket)));
}

#[tokio::test]
async fn ends_of_sign_ins_come_back_to_be_announced_once() {
    let cluster = Cluster::new().await;
    let node = cluster.node().await;
    let alex = registered(&node, "alex").await;
    let ended = node.logout(alex.user.id, alex.session).await.unwrap();
    assert_eq!(ended.event.expect("news").kind, EventKind::SessionRevoked);
    assert!(node.logout(alex.user.id, alex.session).await.unwrap().event.is_none());

    let again = node.login(&login("alex")).await.unwrap();
    let Refreshed::Renewed(next) = node.refresh(again.refresh_token.reveal()).await.unwrap() else {
        panic!("the first use is good")
    };
    let Refreshed::Reused(ended) = node.refresh(again.refresh_token.reveal()).await.unwrap() else {
        panic!("the second use is noticed")
    };
    assert!(ended.session == again.session && ended.event.is_some());
    let refused = node.authenticate(next.access_token.reveal()).await;
    assert!(matches!(refused, Err(AuthError::SessionRevoked)), "{refused:?}");

    let (one, two) = (node.login(&login("alex")).await.unwrap(), node.login(&login("alex")).await.unwrap());
    let ended = node.set_disabled(alex.user.id, true).await.unwrap();
    let mut sessions: Vec<_> = ended.iter().map(|ended| ended.session).collect();
    sessions.sort_unstable();
    let mut expected = [one.session, two.session];
    expected.sort_unstable();
    assert_eq!(sessions, expected);
    assert!(matches!(node.login(&login("alex")).await, Err(AuthError::Disabled)));
}

#[tokio::test]
async fn another_node_learns_of_ended_sign_ins_by_asking() {
    let mut cluster = Cluster::new().await;
    cluster.auth.revocation_interval = Duration::from_millis(20);
    let (one, two) = (cluster.node().await, cluster.node().await);
    let (heard, mut news) = tokio::sync::mpsc::unbounded_channel();
    let stop = CancellationToken::new();
    let following = tokio::spawn({
        let (two, stop) = (Arc::clone(&two), stop.clone());
        async move {
            let tell = move |ended: &[domain::AuthSessionId]| {
                for session in ended {
                    heard.send(*session).unwrap();
                }
            };
            two.follow_revocations(tell, stop).await;
        }
    });
    let alex = registered(&one, "alex").await;
    access(&two, &alex).await;
    one.logout(alex.user.id, alex.session).await.unwrap();
    let told = tokio::time::timeout(Duration::from_secs(5), news.recv()).await.expect("told");
    assert_eq!(told, Some(alex.session));
    let refused = two.authenticate(alex.access_token.reveal()).await;
    assert!(matches!(refused, Err(AuthError::SessionRevoked)), "{refused:?}");
    stop.cancel();
    following.await.unwrap();
}

#[tokio::test]
async fn a_node_that_can_not_know_asks_about_each() {
    let mut cluster = Cluster::new().await;
    cluster.auth.revocation_capacity = 1;
    let (one, two) = (cluster.node().await, cluster.node().await);
    let (alex, sam, robin) =
        (registered(&one, "alex").await, registered(&one, "sam").await, registered(&one, "robin").await);
    one.logout(alex.user.id, alex.session).await.unwrap();
    one.logout(sam.user.id, sam.session).await.unwrap();
    two.refresh_revocations().await.unwrap();
    assert_eq!(two.revocations().len(), 1);
    assert_eq!(two.revocations().standing(robin.session), Standing::Unknown);
    access(&two, &robin).await;
    for gone in [&alex, &sam] {
        let refused = two.authenticate(gone.access_token.reveal()).await;
        assert!(matches!(refused, Err(AuthError::SessionRevoked)), "{refused:?}");
    }
}

#[tokio::test]
async fn a_login_brings_the_hash_up_to_the_present_parameters() {
    let mut cluster = Cluster::new().await;
    registered(&*cluster.node().await, "alex").await;
    let hash = async |cluster: &Cluster| -> String {
        let rows = cluster.database.query("SELECT password_hash FROM users WHERE handle = 'alex'").await;
        rows[0][0].clone().unwrap()
    };
    let old = hash(&cluster).await;
    assert!(old.starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{old}");
    cluster.auth.argon2_memory_kib = 128;
    let node = cluster.node().await;

    let wrong = Login { password: "wrong horse battery".into(), ..login("alex") };
    assert!(matches!(node.login(&wrong).await, Err(AuthError::BadCredentials)));
    assert_eq!(hash(&cluster).await, old, "who does not know the password changes nothing");
    let right = login("alex");
    for answer in join_all((0..4).map(|_| node.login(&right))).await {
        answer.unwrap();
    }
    let new = hash(&cluster).await;
    assert!(new.starts_with("$argon2id$v=19$m=128,t=1,p=1$"), "{new}");
    node.login(&login("alex")).await.unwrap();
    assert_eq!(hash(&cluster).await, new, "once");
    assert!(matches!(node.login(&wrong).await, Err(AuthError::BadCredentials)));
}

#[tokio::test]
async fn administrators_make_accounts_while_registration_is_closed() {
    let mut cluster = Cluster::new().await;
    cluster.auth.registration = RegistrationMode::Closed;
    let node = cluster.node().await;
    let refused = node.register(&Registration { person: person("alex"), device: None, key: None }).await;
    assert!(matches!(refused, Err(AuthError::RegistrationClosed)), "{refused:?}");
    let user = node.create_user(&person("alex"), Role::Admin).await.unwrap();
    assert_eq!((user.role, user.display_name.as_str()), (Role::Admin, "alex"));
    assert_eq!(node.login(&login("alex")).await.unwrap().user, user);
}

#[tokio::test]
async fn an_agent_signs_in_by_its_token_on_whatever_node() {
    let cluster = Cluster::new().await;
    let (one, two) = (cluster.node().await, cluster.node().await);
    let store = cluster.store(&Registry::new()).await;
    let alex = registered(&one, "alex").await.user.id;
    let token = NewAgentToken::generate().unwrap();
    let agent = NewAgent {
        id: AgentId::new(),
        owner: alex,
        handle: "builder".into(),
        display_name: "Builder".into(),
        max_runs: 4,
        token: token.kept,
        key: None,
    };
    store.create_agent(&agent).await.unwrap();
    for node in [&one, &two] {
        let signed_in = node.authenticate(token.secret.reveal()).await.unwrap();
        assert_eq!(
            signed_in,
            SignIn { principal: agent.id.into(), session: token.kept.id, expires_at: None }
        );
    }
    let next = NewAgentToken::generate().unwrap();
    for unknown in ["swa_", "swa_x", next.secret.reveal()] {
        let refused = two.authenticate(unknown).await;
        assert!(matches!(refused, Err(AuthError::Unauthenticated(_))), "{refused:?}");
    }

    store.rotate_agent_token(alex, agent.id, &next.kept).await.unwrap();
    let refused = two.authenticate(token.secret.reveal()).await;
    assert!(matches!(refused, Err(AuthError::Unauthenticated(_))), "{refused:?}");
    assert_eq!(two.authenticate(next.secret.reveal()).await.unwrap().session, next.kept.id);

    // While its owner may not sign in, it may not either.
    one.set_disabled(alex, true).await.unwrap();
    let refused = two.authenticate(next.secret.reveal()).await;
    assert!(matches!(refused, Err(AuthError::SessionRevoked)), "{refused:?}");
    one.set_disabled(alex, false).await.unwrap();
    two.authenticate(next.secret.reveal()).await.unwrap();
    store.revoke_agent(alex, agent.id).await.unwrap();
    let refused = two.authenticate(next.secret.reveal()).await;
    assert!(matches!(refused, Err(AuthError::SessionRevoked)), "{refused:?}");
}
