use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::*;

const ORIGIN: &str = "https://push.example.com";

async fn vapid(contact: &str) -> Vapid {
    let dir = tempfile::tempdir().expect("a directory");
    let key = VapidKey::open(&dir.path().join("push")).await.expect("a key");
    Vapid::new(Arc::new(key), contact)
}

fn bytes(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).expect("base64url")
}

/// Header and claims of a token whose signature is good by the key beside it. Nothing of what signed it is asked.
fn verified(header: &HeaderValue) -> (Value, Value) {
    let text = header.to_str().expect("text").strip_prefix("vapid t=").expect("the scheme");
    let (token, key) = text.split_once(", k=").expect("a key");
    let (signed, signature) = token.rsplit_once('.').expect("a signature");
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, bytes(key))
        .verify(signed.as_bytes(), &bytes(signature))
        .expect("a good signature");
    let (header, claims) = signed.split_once('.').expect("two parts");
    let json = |part: &str| serde_json::from_slice(&bytes(part)).expect("JSON");
    (json(header), json(claims))
}

#[tokio::test]
async fn a_token_names_service_end_and_contact() {
    let now: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
    let vapid = vapid("mailto:alex@example.com").await;
    let header = vapid.authorization(ORIGIN, now).unwrap();
    let (head, claims) = verified(&header);
    assert_eq!(head, json!({ "typ": "JWT", "alg": "ES256" }));
    let exp = now.as_second() + 12 * 3600;
    assert_eq!(claims, json!({ "aud": ORIGIN, "exp": exp, "sub": "mailto:alex@example.com" }));
    assert!(header.to_str().unwrap().ends_with(&format!("k={}", vapid.key.public())));
    assert!(header.is_sensitive() && !format!("{vapid:?}").contains("eyJ"), "{vapid:?}");
}

#[tokio::test]
async fn nobody_to_ask_is_not_named() {
    let (_, claims) = verified(&vapid("").await.authorization(ORIGIN, Timestamp::now()).unwrap());
    assert!(claims.get("sub").is_none(), "{claims}");
}

#[tokio::test]
async fn a_token_serves_one_service_for_half_of_its_life() {
    let made = Timestamp::now();
    let vapid = vapid("").await;
    let at = |hours: i64, seconds: i64| {
        let now = made + SignedDuration::from_hours(hours) + SignedDuration::from_secs(seconds);
        vapid.authorization(ORIGIN, now).unwrap()
    };
    let first = at(0, 0);
    assert_eq!(at(0, 1), first);
    assert_eq!(at(5, 3599), first);
    assert_ne!(vapid.authorization("https://push.example.com:8443", made).unwrap(), first);
    let second = at(6, 0);
    assert_ne!(second, first, "signatures differ, and the end does");
    assert_eq!(at(7, 0), second);
    // The clock was set back: a token of the future may end too late.
    let third = at(1, 0);
    assert_ne!(third, second);
    let (_, claims) = verified(&third);
    assert_eq!(claims["exp"], (made + SignedDuration::from_hours(13)).as_second());
}

#[tokio::test]
async fn however_many_services_are_named_few_are_kept() {
    let (vapid, now) = (vapid("").await, Timestamp::now());
    for number in 0..MOST_KEPT + 10 {
        vapid.authorization(&format!("https://push-{number}.example.com"), now).unwrap();
        assert!(vapid.kept.lock().len() <= MOST_KEPT);
    }
}
