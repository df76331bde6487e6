//! Rate limits.

use std::time::Duration;

use futures_util::future::join_all;
use store::rates::{Bucket, RateDecision};

use super::Subject;

/// Nothing comes back while a test runs.
const SLOW: Bucket = Bucket { rate: 0.001, burst: 8 };

pub(crate) async fn exactly_the_burst_is_allowed(store: Subject) {
    let calls = join_all((0..100).map(|_| {
        let store = store.shared();
        tokio::spawn(async move { store.take_token("192.0.2.1", SLOW).await.expect("an answer") })
    }))
    .await;
    let (mut allowed, most) = (0, Duration::from_secs(1000));
    for call in calls {
        match call.expect("no panic") {
            RateDecision::Allowed => allowed += 1,
            RateDecision::Limited { retry_after } => {
                assert!(retry_after > most / 2 && retry_after <= most, "{retry_after:?}");
            }
        }
    }
    assert_eq!(allowed, 8);
}

pub(crate) async fn keys_have_buckets_of_their_own(store: Subject) {
    let bucket = Bucket { burst: 1, ..SLOW };
    for key in ["192.0.2.1", "192.0.2.2"] {
        assert_eq!(store.take_token(key, bucket).await.expect("an answer"), RateDecision::Allowed);
        let limited = store.take_token(key, bucket).await.expect("an answer");
        assert!(matches!(limited, RateDecision::Limited { .. }), "{limited:?}");
    }
}

pub(crate) async fn tokens_come_back_when_said(store: Subject) {
    let bucket = Bucket { rate: 4.0, burst: 2 };
    for _ in 0..2 {
        assert_eq!(store.take_token("key", bucket).await.expect("an answer"), RateDecision::Allowed);
    }
    let RateDecision::Limited { retry_after } = store.take_token("key", bucket).await.expect("an answer")
    else {
        panic!("the third of two");
    };
    assert!(retry_after <= Duration::from_millis(250), "{retry_after:?}");
    // Not a wait for something to happen: time itself is what is tested.
    tokio::time::sleep(retry_after).await;
    assert_eq!(store.take_token("key", bucket).await.expect("an answer"), RateDecision::Allowed);
}

pub(crate) async fn an_empty_bucket_stays_empty(store: Subject) {
    for bucket in [Bucket { rate: 5.0, burst: 0 }, Bucket { rate: 0.0, burst: 0 }] {
        let limited = store.take_token("key", bucket).await.expect("an answer");
        assert!(matches!(limited, RateDecision::Limited { .. }), "{limited:?}");
    }
    // A rate of nothing still gives its burst.
    let never = Bucket { rate: 0.0, burst: 1 };
    assert_eq!(store.take_token("key", never).await.expect("an answer"), RateDecision::Allowed);
    let limited = store.take_token("key", never).await.expect("an answer");
    assert!(matches!(limited, RateDecision::Limited { .. }), "{limited:?}");
}

pub(crate) async fn a_bucket_may_change_its_size(store: Subject) {
    for _ in 0..8 {
        assert_eq!(store.take_token("key", SLOW).await.expect("an answer"), RateDecision::Allowed);
    }
    // Two more fit into the larger one.
    let larger = Bucket { burst: 10, ..SLOW };
    for _ in 0..2 {
        assert_eq!(store.take_token("key", larger).await.expect("an answer"), RateDecision::Allowed);
    }
    let limited = store.take_token("key", larger).await.expect("an answer");
    assert!(matches!(limited, RateDecision::Limited { .. }), "{limited:?}");
}
