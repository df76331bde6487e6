use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use tokio::task::JoinHandle;

use super::manifest::Manifest;
use super::store::{NewKey, PartFault, Stored};
use super::*;

const RULES: KeyRules = KeyRules { cache_ttl: Duration::from_secs(60), token_life: Duration::from_secs(900) };
const COOLDOWN: Duration = Duration::from_secs(5);

/// A store in memory that can break, and counts how often it is read.
#[derive(Debug, Default)]
struct Fake {
    kept: Mutex<Option<(Manifest, BTreeMap<String, NewKey>)>>,
    broken: Mutex<Option<AuthError>>,
    silent: Mutex<bool>,
    unreadable: Mutex<HashSet<String>>,
    reads: AtomicUsize,
}

#[async_trait]
impl KeyStore for Fake {
    async fn load(&self) -> Result<Option<Stored>, AuthError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        if *self.silent.lock() {
            std::future::pending::<()>().await;
        }
        // Those who ask at once have all asked when it is read.
        sleep(Duration::from_millis(10)).await;
        if let Some(error) = self.broken.lock().clone() {
            return Err(error);
        }
        let kept = self.kept.lock();
        let Some((manifest, keys)) = &*kept else { return Ok(None) };
        let unreadable = self.unreadable.lock();
        let part = |(kid, key): (&String, &NewKey)| {
            let part = if unreadable.contains(kid) {
                Err(PartFault::Broken(format!("{kid} is broken")))
            } else {
                Ok(key.private.clone())
            };
            (kid.clone(), part)
        };
        Ok(Some(Stored { manifest: manifest.clone(), parts: keys.iter().map(part).collect() }))
    }

    async fn replace(&self, _: u64, _: &Manifest, _: Option<&NewKey>) -> Result<bool, AuthError> {
        unreachable!("nodes that read do not write")
    }

    fn place(&self) -> String {
        "the fake".to_owned()
    }
}

fn yesterday() -> Timestamp {
    Timestamp::now() - Duration::from_hours(24)
}

impl Fake {
    fn with_first() -> Arc<Self> {
        let (fake, new) = (Self::default(), NewKey::make().expect("made"));
        let manifest = Manifest::first(new.kid.clone(), "api-1".into(), yesterday(), &RULES);
        *fake.kept.lock() = Some((manifest, BTreeMap::from([(new.kid.clone(), new)])));
        Arc::new(fake)
    }

    /// Adds a key that signs from now on, as a rotation does whose writer was stopped for long.
    fn rotate(&self) -> String {
        let new = NewKey::make().expect("made");
        let mut kept = self.kept.lock();
        let (manifest, keys) = kept.as_mut().expect("a first key");
        let long_ago = yesterday() + Duration::from_secs(1000 * manifest.revision());
        *manifest = manifest.rotate(new.kid.clone(), "api-2".into(), long_ago, &RULES).expect("allowed");
        keys.insert(new.kid.clone(), new.clone());
        new.kid
    }

    fn breaks(&self) {
        *self.broken.lock() = Some(AuthError::Keys("the volume is gone".into()));
    }

    fn mends(&self) {
        *self.broken.lock() = None;
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

/// A node that reads on.
struct Node {
    keys: Arc<Keys>,
    following: JoinHandle<()>,
}

impl Node {
    async fn on(fake: &Arc<Fake>) -> Self {
        let keys = Keys::new(Arc::clone(fake) as _, RULES, COOLDOWN, &Registry::new()).expect("metrics");
        let keys = Arc::new(keys);
        drop(keys.read().await);
        let followed = Arc::clone(&keys);
        let following = tokio::spawn(async move { followed.follow(CancellationToken::new()).await });
        tokio::task::yield_now().await;
        Self { keys, following }
    }

    fn signer(&self) -> String {
        self.keys.signer(Timestamp::now()).expect("somebody signs").id.clone()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.following.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_key_has_the_store_read_once_for_all_who_ask_and_not_again_so_soon() {
    let fake = Fake::with_first();
    let node = Node::on(&fake).await;
    let (kid, before) = (fake.rotate(), fake.reads());
    let asked = (0..50).map(|_| {
        let (keys, kid) = (Arc::clone(&node.keys), kid.clone());
        tokio::spawn(async move { keys.find(&kid).await })
    });
    for asked in asked.collect::<Vec<_>>() {
        assert!(asked.await.expect("joined").expect("readable").is_some());
    }
    assert_eq!(fake.reads(), before + 1);
    for forged in 0..1000 {
        assert!(node.keys.find(&format!("forged-{forged}")).await.expect("readable").is_none());
    }
    assert_eq!(fake.reads(), before + 1, "within the cool-down nothing is read");
    tokio::time::advance(COOLDOWN).await;
    assert!(node.keys.find("forged-1").await.expect("readable").is_none());
    assert_eq!(fake.reads(), before + 2);
    tokio::time::advance(COOLDOWN).await;
    assert!(node.keys.find("forged-1").await.expect("readable").is_none());
    assert_eq!(fake.reads(), before + 2, "one that was looked for is not looked for again");
    for junk in ["", "../../etc/key", &"k".repeat(65)] {
        assert!(node.keys.find(junk).await.expect("readable").is_none());
    }
    assert_eq!(fake.reads(), before + 2, "what is no key id is not looked for");
}

#[tokio::test(start_paused = true)]
async fn what_is_remembered_of_unknown_keys_is_bounded() {
    let mut search = Search::default();
    for kid in 0..5 * UNKNOWN_KIDS {
        search.remember(&kid.to_string());
        assert!(search.unknown.len() <= UNKNOWN_KIDS);
    }
}

#[tokio::test(start_paused = true)]
async fn keys_are_read_in_time_and_when_somebody_says_so() {
    let fake = Fake::with_first();
    let node = Node::on(&fake).await;
    let kid = fake.rotate();
    sleep(Duration::from_secs(19)).await;
    assert!(node.keys.current().expect("a set").get(&kid).is_none());
    sleep(Duration::from_secs(2)).await;
    assert!(node.keys.current().expect("a set").get(&kid).is_some(), "within a third of the time");
    let kid = fake.rotate();
    node.keys.read_soon();
    sleep(Duration::from_millis(50)).await;
    assert!(node.keys.current().expect("a set").get(&kid).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_key_that_came_late_signs_when_every_node_can_have_it() {
    let fake = Fake::with_first();
    let node = Node::on(&fake).await;
    let (first, second) = (node.signer(), fake.rotate());
    node.keys.read().await.expect("readable");
    assert_eq!(node.signer(), first, "it is known for too short a time");
    sleep(Duration::from_secs(58)).await;
    assert_eq!(node.signer(), first);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(node.signer(), second);
    // Who starts now takes what it finds.
    assert_eq!(Node::on(&fake).await.signer(), second);
}

#[tokio::test(start_paused = true)]
async fn a_broken_store_keeps_the_last_good_keys_and_judges_no_others() {
    let fake = Fake::with_first();
    let node = Node::on(&fake).await;
    let first = node.signer();
    let second = fake.rotate();
    fake.breaks();
    let refused = node.keys.find(&second).await.expect_err("nobody can tell");
    assert!(matches!(refused, AuthError::Keys(_)) && refused.kind() == domain::ErrorKind::Unavailable);
    assert_eq!(node.keys.readiness(), Ok(()));
    assert_eq!(node.signer(), first);
    assert!(node.keys.find(&first).await.expect("known").is_some());
    let reads = fake.reads();
    for _ in 0..100 {
        node.keys.find("forged").await.expect_err("nobody can tell");
    }
    assert_eq!(fake.reads(), reads, "who asks does not make it be read");
    fake.mends();
    sleep(Duration::from_millis(1500)).await;
    assert!(node.keys.find(&second).await.expect("readable").is_some(), "it is tried again soon");
    assert!(node.keys.find("forged").await.expect("readable").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_node_without_keys_is_not_ready_and_tries_on() {
    let fake = Arc::new(Fake::default());
    let node = Node::on(&fake).await;
    let reason = node.keys.readiness().expect_err("no keys");
    assert!(reason.contains("the fake") && reason.contains("an api node makes the first one"), "{reason}");
    assert!(matches!(node.keys.signer(Timestamp::now()), Err(AuthError::Keys(_))));
    assert!(matches!(node.keys.find("some").await, Err(AuthError::Keys(_))));
    fake.breaks();
    sleep(Duration::from_secs(2)).await;
    assert!(node.keys.readiness().expect_err("broken").contains("the volume is gone"));
    *fake.kept.lock() = Fake::with_first().kept.lock().clone();
    fake.mends();
    sleep(Duration::from_secs(2)).await;
    assert_eq!(node.keys.readiness(), Ok(()));
    *fake.kept.lock() = None;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(node.keys.readiness(), Ok(()), "an empty store is a broken one to who had keys");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_not_waited_for() {
    let fake = Fake::with_first();
    let node = Node::on(&fake).await;
    *fake.silent.lock() = true;
    let began = Instant::now();
    assert!(matches!(node.keys.find("unknown").await, Err(AuthError::Keys(_))));
    assert!(began.elapsed() <= PATIENCE + Duration::from_millis(50), "{:?}", began.elapsed());
    sleep(READ_LIMIT * 2).await;
    let reason = node.keys.state.read().fault.clone().expect("it is told");
    assert!(reason.contains("does not answer"), "{reason}");
    assert_eq!(node.keys.readiness(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_single_key_that_can_not_be_read_is_taken_from_memory_or_not_judged() {
    let fake = Fake::with_first();
    let node = Node::on(&fake).await;
    let (first, second) = (node.signer(), fake.rotate());
    fake.unreadable.lock().insert(first.clone());
    node.keys.read().await.expect("the rest is good");
    assert!(node.keys.find(&first).await.expect("known from before").is_some());
    // To who starts now it is one that retired: others are judged, its tokens are not.
    let late = Node::on(&fake).await;
    assert_eq!((late.keys.readiness(), late.signer()), (Ok(()), second.clone()));
    assert!(matches!(late.keys.find(&first).await, Err(AuthError::Keys(_))));
    // Without the one that signs nobody starts, and who runs stays as it is.
    fake.unreadable.lock().insert(second.clone());
    let without = Node::on(&fake).await;
    assert!(without.keys.readiness().expect_err("no signer").contains(&second));
    let third = fake.rotate();
    fake.unreadable.lock().insert(third.clone());
    node.keys.read().await.expect_err("it lacks a key that is to sign");
    assert!(node.keys.current().expect("a set").get(&second).is_some());
    assert!(matches!(node.keys.find(&third).await, Err(AuthError::Keys(_))));
}

#[tokio::test(start_paused = true)]
async fn while_the_key_that_should_sign_can_not_be_read_another_one_does() {
    let (one, two, now) = (NewKey::make().expect("made"), NewKey::make().expect("made"), yesterday());
    let first = Manifest::first(one.kid.clone(), "api-1".into(), now, &RULES);
    let manifest = first.rotate(two.kid.clone(), "api-1".into(), now, &RULES).expect("allowed");
    let set = |is_there: &dyn Fn(&NewKey) -> bool, at, before: Option<&KeySet>| {
        let there = [&one, &two].into_iter().filter(|key| is_there(key));
        let parts = there.map(|key| (key.kid.clone(), Ok(key.private.clone()))).collect();
        KeySet::of(&Stored { manifest: manifest.clone(), parts }, before, RULES.cache_ttl, at)
    };
    let later = now + Duration::from_secs(120);
    // The one that is to sign is lost: whoever read it while it was published goes on with the one before it.
    let without_second = set(&|key| key.kid == one.kid, now, None).expect("one signs");
    for at in [now, later] {
        assert_eq!(without_second.signer(at).expect("it stands in").id, one.kid);
    }
    assert!(set(&|key| key.kid == one.kid, later, None).is_err(), "who starts then has one that retired");
    // The one that signs is lost: the next one does, early.
    let without_first = set(&|key| key.kid == two.kid, now, None).expect("one is to sign");
    assert_eq!(without_first.signer(now).expect("early").id, two.kid);
    // Who has it from before waits, as long as the others may.
    let known = set(&|_| true, now, None).expect("both");
    let without_first = set(&|key| key.kid == two.kid, now, Some(&known)).expect("both are known");
    assert_eq!(without_first.signer(now).expect("from before").id, one.kid);
}

#[tokio::test(start_paused = true)]
async fn the_published_keys_are_public_halves() {
    let node = Node::on(&Fake::with_first()).await;
    let json = serde_json::to_value(node.keys.current().expect("a set").jwks()).expect("json");
    let key = json["keys"][0].as_object().expect("object");
    let names: Vec<_> = key.keys().map(String::as_str).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert!(key["kty"] == "OKP" && key["crv"] == "Ed25519" && key["alg"] == "EdDSA" && key["use"] == "sig");
    assert_eq!(key["x"].as_str().expect("text").len(), 43);
    assert!(!key.contains_key("d"));
}
