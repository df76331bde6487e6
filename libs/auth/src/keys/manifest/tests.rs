use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const RULES: KeyRules = KeyRules { cache_ttl: Duration::from_secs(60), token_life: Duration::from_secs(900) };

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

fn first() -> Manifest {
    Manifest::first("k1".into(), "api-1".into(), at(0), &RULES)
}

fn rotated(manifest: &Manifest, kid: &str, second: i64) -> Manifest {
    manifest.rotate(kid.into(), "api-1".into(), at(second), &RULES).expect("nobody else rotates")
}

fn states(manifest: &Manifest, second: i64) -> String {
    let state = |key: &SigningKey| format!("{} {}", key.kid, manifest.state(key, at(second)).as_str());
    manifest.keys().iter().map(state).collect::<Vec<_>>().join(", ")
}

/// What a sweep makes of it, if anything.
fn swept(manifest: &Manifest, second: i64) -> Option<Manifest> {
    manifest.sweep(at(second), &RULES)
}

#[test]
fn a_rotation_is_one_write_that_time_completes() {
    let manifest = rotated(&first(), "k2", 1000);
    assert_eq!(manifest.revision(), 2);
    assert_eq!(states(&manifest, 1059), "k1 active, k2 published");
    assert_eq!(states(&manifest, 1060), "k1 retired, k2 active");
    let k1 = manifest.key("k1").expect("there");
    assert_eq!(manifest.deleted_from(k1, &RULES), Some(at(1060 + 1020)));
    assert_eq!(swept(&manifest, 1059), None);
    // Deletion counts from when somebody noted it.
    let noted = swept(&manifest, 1070).expect("k1 has retired");
    assert_eq!(noted.key("k1").expect("there").retired_at, Some(at(1070)));
    assert_eq!(swept(&noted, 2089), None);
    let swept = swept(&noted, 2090).expect("it is time");
    assert_eq!((swept.revision(), states(&swept, 2090).as_str()), (4, "k2 active"));
}

#[test]
fn a_rotation_that_is_written_late_loses_nothing() {
    // Its writer was stopped for an hour before it wrote; the key before it signs to this moment.
    let late = rotated(&first(), "k2", 1000);
    let noted = swept(&late, 4600).expect("k1 has retired");
    assert_eq!(states(&noted, 4600), "k1 retired, k2 active");
    assert_eq!(swept(&noted, 4600 + 1019), None);
    // A node signs with it when it knows it for long enough.
    let kid = |is_known: fn(&str) -> bool| late.signer(at(4600), is_known).expect("one").kid.clone();
    assert_eq!(
        (kid(|kid| kid == "k1"), kid(|_| true), kid(|_| false)),
        ("k1".into(), "k2".into(), "k2".into())
    );
}

#[test]
fn a_second_rotator_is_told_who_was_first() {
    let manifest = rotated(&first(), "k2", 1000);
    let refused = manifest.rotate("k3".into(), "api-2".into(), at(1059), &RULES).expect_err("under way");
    let under_way = KeyRefusal::UnderWay { kid: "k2".into(), made_by: "api-1".into(), signs_from: at(1060) };
    assert_eq!(refused, under_way);
    assert_eq!(states(&rotated(&manifest, "k3", 1060), 1060), "k1 retired, k2 active, k3 published");
}

#[test]
fn what_does_not_sign_yet_is_withdrawn_and_follows_nobody() {
    let manifest = rotated(&first(), "k2", 1000);
    let withdrawn = manifest.retire("k2", at(1010), &RULES).expect("may be").expect("a change");
    assert_eq!(states(&withdrawn, 1010), "k1 active, k2 retired");
    assert_eq!(states(&withdrawn, 9999), "k1 active, k2 retired");
    assert_eq!(withdrawn.retire("k2", at(1011), &RULES), Ok(None), "twice is once");
    // A node that hears of it late may have signed something, which stays good.
    let noted = swept(&withdrawn, 1020).expect("a note");
    assert_eq!(swept(&noted, 2039), None);
    assert_eq!(states(&swept(&noted, 2040).expect("it is time"), 2040), "k1 active");
    assert_eq!(states(&rotated(&withdrawn, "k3", 1020), 1080), "k1 retired, k2 retired, k3 active");
}

#[test]
fn the_one_that_signs_is_not_retired_by_hand() {
    let only = Err(KeyRefusal::OnlySigner("k1".into()));
    assert_eq!(first().retire("k1", at(10), &RULES), only);
    assert_eq!(first().expel("k1", at(10), &RULES).map(Some), only);
    assert_eq!(first().retire("k9", at(10), &RULES), Err(KeyRefusal::Unknown("k9".into())));
    let manifest = rotated(&first(), "k2", 1000);
    let by_itself = KeyRefusal::RetiresByItself { kid: "k1".into(), until: at(1060) };
    assert_eq!(manifest.retire("k1", at(1010), &RULES), Err(by_itself));
    assert_eq!(manifest.retire("k1", at(1060), &RULES), Ok(None));
}

#[test]
fn in_an_emergency_the_next_key_signs_now() {
    let manifest = rotated(&first(), "k2", 1000);
    let expelled = manifest.expel("k1", at(1001), &RULES).expect("there is another");
    assert_eq!(states(&expelled, 1001), "k2 active");
    assert_eq!(expelled.signer(at(1001), |_| false).expect("one").signs_from, at(1001));
    // One that has retired does not come back, whatever becomes of the one that followed it.
    let manifest = rotated(&first(), "k2", 1000);
    assert_eq!(manifest.expel("k2", at(1060), &RULES), Err(KeyRefusal::OnlySigner("k2".into())));
    let next = rotated(&manifest, "k3", 1070).expel("k2", at(1071), &RULES).expect("there is another");
    assert_eq!(states(&next, 1071), "k1 retired, k3 active");
    assert_eq!(next.key("k1").expect("there").retired_at, Some(at(1070)));
}

#[test]
fn clocks_that_are_set_back_undo_nothing() {
    let manifest = rotated(&rotated(&first(), "k2", 1000), "k3", 2000);
    let withdrawn = manifest.retire("k3", at(2010), &RULES).expect("may be").expect("a change");
    assert_eq!(states(&withdrawn, -5000), "k1 retired, k2 active, k3 retired");
    let next = rotated(&withdrawn, "k4", -5000);
    assert_eq!(states(&next, 9999), "k1 retired, k2 retired, k3 retired, k4 active");
    assert!(next.key("k4").expect("there").signs_from > next.key("k3").expect("there").signs_from);
}

#[test]
fn a_token_life_that_was_longer_once_counts() {
    let short = KeyRules { token_life: Duration::from_secs(60), ..RULES };
    let manifest = first().rotate("k2".into(), "api-2".into(), at(1000), &short).expect("rotated");
    let noted = manifest.sweep(at(1060), &short).expect("k1 has retired");
    assert_eq!(noted.sweep(at(1060 + 1019), &short), None, "k1 was made with a life of 900");
    assert!(noted.sweep(at(1060 + 1020), &short).is_some());
}

#[test]
fn a_schedule_counts_from_the_newest_key() {
    let day = Duration::from_hours(24);
    assert!(!first().is_due(at(86_399), day) && first().is_due(at(86_400), day));
    assert!(!rotated(&first(), "k2", 86_400).is_due(at(86_500), day));
}

#[test]
fn what_is_no_manifest_is_told() {
    let key = |kid: &str, retired| SigningKey {
        kid: kid.into(),
        retired_at: retired,
        ..first().key("k1").expect("there").clone()
    };
    for (keys, part) in [
        (vec![], "no key that may sign"),
        (vec![key("k1", Some(at(1)))], "no key that may sign"),
        (vec![key("k1", None), key("k1", None)], "is there twice"),
        (vec![key("../../etc/key", None)], "is no key id"),
        (vec![key("", None)], "is no key id"),
        (vec![key(&"k".repeat(65), None)], "is no key id"),
    ] {
        let refused = Manifest::of(1, keys).expect_err(part);
        assert!(refused.contains(part), "{refused}");
    }
    let manifest = rotated(&first(), "k2", 1000);
    let mut keys = manifest.keys().to_vec();
    keys.reverse();
    assert_eq!(Manifest::of(2, keys), Ok(manifest));
}

/// What may happen next.
#[derive(Debug, Clone)]
enum Step {
    Wait(u16),
    Write(Write),
    /// A writer reads and decides, and is stopped before it writes.
    Stop(Write),
    /// It goes on.
    GoOn,
    Read(usize),
}

#[derive(Debug, Clone, Copy)]
enum Write {
    Rotate,
    Retire(usize),
    Expel(usize),
    Sweep,
}

fn write() -> impl Strategy<Value = Write> {
    prop_oneof![
        4 => Just(Write::Rotate),
        1 => (0_usize..4).prop_map(Write::Retire),
        1 => (0_usize..4).prop_map(Write::Expel),
        4 => Just(Write::Sweep),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_u16..1200).prop_map(Step::Wait),
        6 => write().prop_map(Step::Write),
        2 => write().prop_map(Step::Stop),
        2 => Just(Step::GoOn),
        3 => (0_usize..3).prop_map(Step::Read),
    ]
}

/// A node that reads as late as it may.
#[derive(Clone)]
struct Node {
    read: i64,
    held: Manifest,
    /// Since when it knows which key.
    knows: BTreeMap<String, i64>,
}

impl Node {
    fn read(&mut self, manifest: &Manifest, now: i64) {
        (self.read, self.held) = (now, manifest.clone());
        self.knows.retain(|kid, _| manifest.key(kid).is_some());
        for key in manifest.keys() {
            self.knows.entry(key.kid.clone()).or_insert(now);
        }
    }

    fn signer(&self, now: i64) -> &SigningKey {
        let is_known = |kid: &str| self.knows.get(kid).is_some_and(|since| now - since >= 60);
        self.held.signer(at(now), is_known).expect("somebody signs")
    }
}

/// Three nodes, and every token that they made.
struct World {
    now: i64,
    manifest: Manifest,
    nodes: Vec<Node>,
    stopped: Option<(Manifest, Option<String>)>,
    /// By key: when the last token that it signed ends.
    tokens: BTreeMap<String, i64>,
    expelled: BTreeSet<String>,
    gone: BTreeSet<String>,
    made: usize,
}

impl World {
    fn new() -> Self {
        let manifest = first();
        let knows = BTreeMap::from([("k1".to_owned(), -60)]);
        let nodes = vec![Node { read: 0, held: manifest.clone(), knows }; 3];
        let (stopped, tokens, expelled, gone) = Default::default();
        Self { now: 0, manifest, nodes, stopped, tokens, expelled, gone, made: 1 }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Wait(seconds) => (0..*seconds).for_each(|_| self.second()),
            Step::Read(node) => self.nodes[*node].read(&self.manifest, self.now),
            Step::Write(write) => {
                let decided = self.decide(*write);
                self.put(decided);
            }
            Step::Stop(write) => self.stopped = self.decide(*write),
            Step::GoOn => {
                let decided = self.stopped.take();
                self.put(decided);
            }
        }
    }

    /// The next manifest, and the key that it expels.
    fn decide(&mut self, write: Write) -> Option<(Manifest, Option<String>)> {
        let now = at(self.now);
        let kid = |nth: usize| self.manifest.keys()[nth % self.manifest.keys().len()].kid.clone();
        match write {
            Write::Rotate => {
                self.made += 1;
                let kid = format!("k{}", self.made);
                Some((self.manifest.rotate(kid, "api-1".into(), now, &RULES).ok()?, None))
            }
            Write::Retire(nth) => Some((self.manifest.retire(&kid(nth), now, &RULES).ok()??, None)),
            Write::Expel(nth) => Some((self.manifest.expel(&kid(nth), now, &RULES).ok()?, Some(kid(nth)))),
            Write::Sweep => Some((self.manifest.sweep(now, &RULES)?, None)),
        }
    }

    /// Puts it in place, if nobody else was faster.
    fn put(&mut self, decided: Option<(Manifest, Option<String>)>) {
        let Some((next, expelled)) = decided else { return };
        if next.revision() != self.manifest.revision() + 1 {
            return;
        }
        for key in self.manifest.keys().iter().filter(|key| next.key(&key.kid).is_none()) {
            self.gone.insert(key.kid.clone());
        }
        assert!(next.keys().iter().all(|key| !self.gone.contains(&key.kid)), "what is gone stays gone");
        assert_eq!(Manifest::of(next.revision(), next.keys().to_vec()).as_ref(), Ok(&next));
        self.manifest = next;
        if let Some(kid) = expelled {
            self.expelled.insert(kid);
            // In an emergency nodes are told.
            self.nodes.iter_mut().for_each(|node| node.read(&self.manifest, self.now));
        }
    }

    fn second(&mut self) {
        self.now += 1;
        for node in &mut self.nodes {
            if self.now - node.read >= 60 {
                node.read(&self.manifest, self.now);
            }
            self.tokens.insert(node.signer(self.now).kid.clone(), self.now + 900);
        }
        let is_live = |(kid, until): &(&String, &i64)| **until > self.now && !self.expelled.contains(*kid);
        for (kid, until) in self.tokens.iter().filter(is_live) {
            for (number, node) in self.nodes.iter().enumerate() {
                let lacks = format!("node {number} lacks {kid} at {}, good until {until}", self.now);
                assert!(node.held.key(kid).is_some(), "{lacks}");
            }
        }
        let states = self.manifest.keys().iter().map(|key| self.manifest.state(key, at(self.now)));
        let count = |wanted| states.clone().filter(|state| *state == wanted).count();
        assert_eq!(count(KeyState::Active), 1);
        assert!(count(KeyState::Published) <= 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_good_token_is_taken_by_every_node_however_late_writers_write(
        steps in proptest::collection::vec(step(), 1..60)
    ) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
        }
        world.take(&Step::Wait(1200));
    }
}
