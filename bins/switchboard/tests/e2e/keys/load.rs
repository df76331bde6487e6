//! A whole life of keys while many people ask.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};

use super::{A_LIFE, CACHE_TTL, Driver, Keyed, kid_of, text};

/// People who ask at one time.
const PEOPLE: usize = 16;

/// What came of all requests.
#[derive(Default)]
struct Seen {
    answered: u64,
    refused: Vec<String>,
    /// By key: when the first token of it was given out, and by which node.
    first: BTreeMap<String, (Instant, usize)>,
}

struct Load {
    seen: Mutex<Seen>,
    is_over: AtomicBool,
}

impl Load {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks all the time, at either node in turn, and refreshes before the token is past its time.
async fn ask(load: Arc<Load>, urls: [String; 2], signed_in: Value) {
    let http = Client::new();
    let (mut access, mut refresh) = (text(&signed_in["access_token"]), text(&signed_in["refresh_token"]));
    let mut fresh = Instant::now();
    for turn in 0_usize.. {
        if load.is_over.load(Ordering::Relaxed) {
            return;
        }
        let url = &urls[turn % 2];
        let asked = http.get(format!("{url}/v1/users/me")).bearer_auth(&access).send().await;
        note(&load, asked.expect("an answer")).await;
        if fresh.elapsed() > Duration::from_secs(2) {
            let body = json!({ "refresh_token": refresh });
            let asked = http.post(format!("{url}/v1/auth/refresh")).json(&body).send().await;
            let Some(renewed) = note(&load, asked.expect("an answer")).await else { return };
            (access, refresh) = (text(&renewed["access_token"]), text(&renewed["refresh_token"]));
            fresh = Instant::now();
            load.seen().first.entry(kid_of(&access)).or_insert((fresh, 1 + turn % 2));
        }
    }
}

/// Counts an answer; gives its body when it is a good one.
async fn note(load: &Load, answer: reqwest::Response) -> Option<Value> {
    let status = answer.status();
    let body = answer.text().await.unwrap_or_default();
    let mut seen = load.seen();
    if status.is_success() {
        seen.answered += 1;
        return serde_json::from_str(&body).ok();
    }
    seen.refused.push(format!("{status} {body}"));
    None
}

async fn a_life_under_load(driver: Driver) {
    let keyed = Keyed::start(driver).await;
    let first = keyed.until_states(&["active"]).await.remove(0);
    let load = Arc::new(Load { seen: Mutex::default(), is_over: AtomicBool::new(false) });
    let urls = [keyed.world.cluster.api_url(1), keyed.world.cluster.api_url(2)];
    let mut people = Vec::new();
    for n in 0..PEOPLE {
        let signed_in = keyed.register(&format!("person-{n}")).await;
        people.push(tokio::spawn(ask(Arc::clone(&load), urls.clone(), signed_in)));
    }
    let began = Instant::now();
    let old = keyed.token(2, "robin").await;

    let asked = Instant::now();
    let second = text(&keyed.rotate(1).await["kid"]);
    keyed.until_everywhere("published", 1.0).await;
    let had = Instant::now();
    keyed.accepted_everywhere(&old).await;

    assert_eq!(keyed.until_states(&["retired", "active"]).await, [first.clone(), second.clone()]);
    // A node signs with it when it has known it for long enough; each has, a little later.
    for node in [1, 2] {
        let signs = async {
            loop {
                let token = keyed.token(node, "robin").await;
                if kid_of(&token) == second {
                    break token;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let token = tokio::time::timeout(A_LIFE, signs).await.expect("it signs");
        keyed.accepted_everywhere(&token).await;
    }
    assert_eq!(keyed.until_states(&["active"]).await, std::slice::from_ref(&second));
    keyed.until_everywhere("retired", 0.0).await;
    // The tokens of the deleted key are past their time; those who ask go on for a while.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let took = began.elapsed();
    load.is_over.store(true, Ordering::Relaxed);
    for person in people {
        person.await.expect("no panic");
    }
    let seen = load.seen();
    println!(
        "{driver:?}: {} requests in {took:.1?}, {:.0} a second; every node had the new key after {:.0?}",
        seen.answered,
        seen.answered as f64 / took.as_secs_f64(),
        had - asked
    );
    assert_eq!(seen.refused, [""; 0], "of {} requests", seen.answered);
    let (at, node) = seen.first[&second];
    let after = at - asked;
    assert!(
        at > had && after >= CACHE_TTL,
        "api-{node} signed after {after:?}, all had it after {:?}",
        had - asked
    );
    assert_eq!(seen.first.len(), 2, "{:?}", seen.first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_key_in_a_directory_lives_and_dies_under_load_and_nobody_notices() {
    a_life_under_load(Driver::Dir).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_key_in_the_database_lives_and_dies_under_load_and_nobody_notices() {
    a_life_under_load(Driver::Postgres).await;
}
