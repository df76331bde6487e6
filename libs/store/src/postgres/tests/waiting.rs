//! Statements that waited for a lock: they decide by what stands once they have it. A transaction beside the pool
//! holds the row until those under test are seen to wait, so nothing here is left to chance.

use domain::AuthSessionId;
use futures_util::future::join_all;

use super::*;
use crate::sessions::{NewSession, Rotation};

const HOUR: Duration = Duration::from_secs(3600);

async fn pool(database: &TestDatabase) -> Postgres {
    open(&DatabaseSettings::with_url(database.url())).await
}

async fn signed_in(store: &Postgres) -> NewSession {
    let session = NewSession {
        id: AuthSessionId::new(),
        user: person(store, "alex").await,
        device: None,
        refresh: [1; 32],
        refresh_ttl: HOUR,
    };
    store.open_session(&session).await.expect("a sign-in");
    session
}

#[tokio::test]
async fn of_two_rotations_one_wins() {
    let database = database().await;
    let store = pool(&database).await;
    let session = signed_in(&store).await;
    let blocker = beside(&database).await;
    blocker.batch_execute("BEGIN; SELECT 1 FROM auth_sessions FOR UPDATE").await.expect("locked");
    let rotations = join_all((2..4).map(|number| {
        let store = store.clone();
        tokio::spawn(
            async move { store.rotate_refresh(&[1; 32], &[number; 32], HOUR).await.expect("an answer") },
        )
    }));
    let release = async {
        until_pool_sessions(&database, "wait_event_type = 'Lock'", 2).await;
        blocker.batch_execute("COMMIT").await.expect("released");
    };
    let (rotations, ()) = join(rotations, release).await;
    let rotations: Vec<Rotation> =
        rotations.into_iter().map(|rotation| rotation.expect("no panic")).collect();
    let rotated = rotations.iter().filter(|rotation| matches!(rotation, Rotation::Rotated { .. })).count();
    let reused = rotations.iter().filter(|rotation| matches!(rotation, Rotation::Reused(_))).count();
    assert_eq!((rotated, reused), (1, 1), "{rotations:?}");
    assert_eq!(store.not_live(&[session.id]).await.expect("an answer"), [session.id]);
}

#[tokio::test]
async fn a_rotation_that_waited_for_the_end_is_refused() {
    let database = database().await;
    let store = pool(&database).await;
    signed_in(&store).await;
    let blocker = beside(&database).await;
    blocker.batch_execute("BEGIN; UPDATE auth_sessions SET ended_at = now()").await.expect("locked");
    let rotation = store.rotate_refresh(&[1; 32], &[2; 32], HOUR);
    let release = async {
        until_pool_sessions(&database, "wait_event_type = 'Lock'", 1).await;
        blocker.batch_execute("COMMIT").await.expect("released");
    };
    let (rotation, ()) = join(rotation, release).await;
    // Not reused: the token was never exchanged.
    assert!(matches!(rotation, Ok(Rotation::Refused)), "{rotation:?}");
    assert_eq!(database.query("SELECT 1 FROM refresh_tokens WHERE used_at IS NULL").await.len(), 1);
}

#[tokio::test]
async fn a_call_that_waited_for_its_bucket_gets_no_token_of_the_past() {
    let database = database().await;
    let store = pool(&database).await;
    assert_eq!(store.take_token("key", BUCKET).await.expect("an answer"), RateDecision::Allowed);
    let blocker = beside(&database).await;
    blocker.batch_execute("BEGIN; SELECT 1 FROM rate_buckets FOR UPDATE").await.expect("locked");
    let call = store.take_token("key", BUCKET);
    let release = async {
        until_pool_sessions(&database, "wait_event_type = 'Lock'", 1).await;
        // Others emptied the bucket meanwhile, by a clock ahead of the one that the call has read.
        let empty = "UPDATE rate_buckets SET full_at = clock_timestamp() + interval '5 s'; COMMIT";
        blocker.batch_execute(empty).await.expect("released");
    };
    let (decision, ()) = join(call, release).await;
    assert!(matches!(decision, Ok(RateDecision::Limited { .. })), "{decision:?}");
}

#[tokio::test]
async fn a_clock_that_was_set_back_does_not_empty_buckets_for_long() {
    let database = database().await;
    let store = pool(&database).await;
    database.query("INSERT INTO rate_buckets VALUES ('key', now() + interval '1 day')").await;
    assert_eq!(store.take_token("key", BUCKET).await.expect("an answer"), RateDecision::Allowed);
    let RateDecision::Limited { retry_after } = store.take_token("key", BUCKET).await.expect("an answer")
    else {
        panic!("it counted as a bucket with one token");
    };
    assert!(retry_after <= Duration::from_secs(1), "{retry_after:?}");
}

#[tokio::test]
async fn a_key_in_use_is_waited_for() {
    let database = database().await;
    let store = pool(&database).await;
    let alex = person(&store, "alex").await;
    let blocker = beside(&database).await;
    let theirs = domain::DeviceId::new().0;
    let first = format!(
        "BEGIN; INSERT INTO devices VALUES ('{theirs}', '{alex}', 'web', 'first');
         INSERT INTO idempotency_keys VALUES ('{alex}', 'k', 'device', '{theirs}')"
    );
    blocker.batch_execute(&first).await.expect("locked");
    let key = "k".to_owned();
    let device = crate::devices::NewDevice {
        id: domain::DeviceId::new(),
        kind: domain::DeviceKind::Web,
        name: "second".into(),
    };
    let call = crate::Devices::create_device(&store, alex, &device, Some(&key));
    let release = async {
        until_pool_sessions(&database, "wait_event_type = 'Lock'", 1).await;
        blocker.batch_execute("COMMIT").await.expect("released");
    };
    let (made, ()) = join(call, release).await;
    assert_eq!(made.expect("the first one's").id.0, theirs);
}
