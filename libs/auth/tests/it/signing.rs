//! Signing keys in directory and database: what holds for both.

mod lost;

use std::sync::Arc;
use std::time::Duration;

use auth::keys::keeper::KeyView;
use auth::keys::manifest::{KeyRefusal, KeyState};
use auth::keys::store::KeyStore;
use auth::keys::{Keys, store_of};
use auth::{AuthError, AuthSettings, KeyDriver, KeyKeeper, KeySettings, SecretSettings};
use base64::Engine as _;
use domain::{Hidden, Invalid};
use jiff::Timestamp;
use prometheus::Registry;
use store::Store;

use crate::Cluster;

/// The key store of a cluster, with both clocks that count.
struct Kept {
    cluster: Cluster,
    settings: KeySettings,
    secrets: SecretSettings,
    records: Arc<dyn Store>,
}

fn seal_key(byte: u8) -> Hidden {
    let text = base64::engine::general_purpose::STANDARD.encode([byte; 32]);
    text.as_str().into()
}

impl Kept {
    async fn by(driver: KeyDriver) -> Self {
        let cluster = Cluster::new().await;
        let settings = KeySettings { driver, cache_ttl: Duration::from_secs(1), ..KeySettings::default() };
        let secrets = SecretSettings {
            signing_key_dir: cluster.keys.path().join("keys"),
            seal_key: seal_key(7),
            ..SecretSettings::default()
        };
        let records = cluster.store(&Registry::new()).await;
        Self { cluster, settings, secrets, records }
    }

    /// A life of tokens that is over at once.
    fn auth(&self) -> AuthSettings {
        AuthSettings {
            access_ttl: Duration::from_secs(1),
            leeway: Duration::ZERO,
            ..self.cluster.auth.clone()
        }
    }

    fn store(&self) -> Arc<dyn KeyStore> {
        store_of(&self.settings, &self.secrets, &self.records).unwrap()
    }

    fn keeper(&self, name: &str) -> KeyKeeper {
        let rules = self.settings.rules(&self.auth());
        let (store, records) = (self.store(), Arc::clone(&self.records));
        KeyKeeper::new(store, records, rules, Duration::ZERO, name.into(), &Registry::new()).unwrap()
    }

    async fn states(&self) -> Vec<(String, KeyState)> {
        let listed = self.keeper("who looks").list().await.unwrap();
        listed.into_iter().map(|view: KeyView| (view.key.kid, view.state)).collect()
    }

    /// Waits until the keys are in such states, by the database's time.
    async fn until(&self, states: &[KeyState]) -> Vec<String> {
        let waiting = async {
            loop {
                let found = self.states().await;
                if found.iter().map(|(_, state)| *state).eq(states.iter().copied()) {
                    break found.into_iter().map(|(kid, _)| kid).collect();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("time passes")
    }
}

const DRIVERS: [KeyDriver; 2] = [KeyDriver::Dir, KeyDriver::Postgres];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_lives_from_its_rotation_to_its_deletion() {
    for driver in DRIVERS {
        let kept = Kept::by(driver).await;
        let keeper = kept.keeper("api-1");
        assert_eq!(keeper.list().await.unwrap(), []);
        keeper.make_first().await.unwrap();
        keeper.make_first().await.unwrap();
        let first = kept.until(&[KeyState::Active]).await.remove(0);
        let made = keeper.rotate(Some("alex")).await.unwrap();
        assert_eq!((made.state, made.key.made_by.as_str()), (KeyState::Published, "alex at api-1"));
        let refused = kept.keeper("api-2").rotate(None).await.expect_err("under way");
        let text = refused.public_message();
        assert!(matches!(refused, AuthError::KeyRefused(KeyRefusal::UnderWay { .. })), "{refused}");
        assert!(text.contains("alex at api-1") && text.contains(&made.key.signs_from.to_string()), "{text}");
        let both = kept.until(&[KeyState::Retired, KeyState::Active]).await;
        assert_eq!(both, [first.clone(), made.key.kid.clone()]);
        assert_eq!(keeper.sweep().await.unwrap(), [""; 0], "it is noted first");
        let gone = tokio::time::timeout(Duration::from_secs(30), async {
            loop {
                let gone = keeper.sweep().await.unwrap();
                if !gone.is_empty() {
                    break gone;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        assert_eq!(gone.await.expect("time passes"), [first]);
        assert_eq!(kept.until(&[KeyState::Active]).await, [made.key.kid]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_rotators_at_once_one_rotates_and_the_others_are_told_who() {
    for driver in DRIVERS {
        let kept = Kept::by(driver).await;
        let first = (0..6).map(|n| kept.keeper(&format!("api-{n}")));
        let first: Vec<_> =
            first.map(|keeper| tokio::spawn(async move { keeper.make_first().await })).collect();
        for made in first {
            made.await.unwrap().unwrap();
        }
        kept.until(&[KeyState::Active]).await;
        let rotators = (0..8).map(|n| kept.keeper(&format!("api-{n}")));
        let rotators: Vec<_> =
            rotators.map(|keeper| tokio::spawn(async move { keeper.rotate(None).await })).collect();
        let (mut won, mut told) = (Vec::new(), Vec::new());
        for rotated in rotators {
            match rotated.await.unwrap() {
                Ok(made) => won.push(made.key),
                Err(AuthError::KeyRefused(KeyRefusal::UnderWay { kid, made_by, .. })) => {
                    told.push((kid, made_by));
                }
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!((won.len(), told.len()), (1, 7));
        assert!(told.iter().all(|(kid, by)| *kid == won[0].kid && *by == won[0].made_by), "{told:?}");
        kept.until(&[KeyState::Retired, KeyState::Active]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_taken_out_by_the_rules() {
    for driver in DRIVERS {
        let kept = Kept::by(driver).await;
        let keeper = kept.keeper("api-1");
        keeper.make_first().await.unwrap();
        let first = kept.until(&[KeyState::Active]).await.remove(0);
        let only = keeper.expel(&first).await.expect_err("nobody else may sign");
        assert_eq!(only.code(), domain::ErrorCode::Conflict);
        assert!(only.public_message().contains("rotate first"), "{only}");
        assert_eq!(keeper.retire("nothing").await.expect_err("unknown").code(), domain::ErrorCode::NotFound);
        let second = keeper.rotate(None).await.unwrap().key.kid;
        let withdrawn = keeper.retire(&second).await.unwrap();
        assert_eq!(
            (withdrawn.state, keeper.retire(&second).await.unwrap().state),
            (KeyState::Retired, KeyState::Retired)
        );
        assert_eq!(kept.states().await, [(first.clone(), KeyState::Active), (second, KeyState::Retired)]);
        let third = keeper.rotate(None).await.unwrap().key.kid;
        let signs = keeper.expel(&first).await.unwrap();
        assert_eq!((signs.key.kid, signs.state), (third, KeyState::Active));
        assert!(kept.states().await.iter().all(|(kid, _)| *kid != first));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_seal_key_reads_nothing_and_changes_nothing() {
    let mut kept = Kept::by(KeyDriver::Postgres).await;
    kept.keeper("api-1").make_first().await.unwrap();
    let before = kept.records.signing_keys().await.unwrap();
    kept.secrets.seal_key = seal_key(8);
    let other = kept.keeper("api-2");
    let rules = kept.settings.rules(&kept.auth());
    let keys = Keys::new(kept.store(), rules, Duration::from_secs(5), &Registry::new()).unwrap();
    for refused in [
        keys.read().await.map_err(|error| error.to_string()),
        other.rotate(None).await.map(drop).map_err(|error| error.to_string()),
        keys.readiness(),
    ] {
        let text = refused.expect_err("another seal key");
        assert!(text.contains("does not open with this node's secrets.seal_key"), "{text}");
    }
    other.make_first().await.unwrap();
    let listed = other.list().await.unwrap();
    assert!(listed[0].fault.as_ref().is_some_and(|fault| fault.contains("seal_key")), "{listed:?}");
    assert_eq!(kept.records.signing_keys().await.unwrap(), before);
    kept.secrets.seal_key = Hidden::default();
    let missing = store_of(&kept.settings, &kept.secrets, &kept.records).expect_err("none");
    assert!(matches!(missing, AuthError::Invalid(Invalid { field: "secrets.seal_key", .. })), "{missing}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lies_in_the_database_is_sealed() {
    let kept = Kept::by(KeyDriver::Postgres).await;
    kept.keeper("api-1").make_first().await.unwrap();
    let stored = kept.store().load().await.unwrap().expect("keys");
    let (_, rows) = kept.records.signing_keys().await.unwrap();
    let private = stored.parts[&rows[0].key.kid].as_ref().unwrap().der();
    let is_inside = |part: &[u8]| rows[0].sealed.windows(part.len()).any(|of| of == part);
    assert!(private.windows(8).all(|part| !is_inside(part)));
    assert!(rows[0].key.created_at <= Timestamp::now() + Duration::from_secs(60));
}
