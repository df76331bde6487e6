use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

use super::*;

const DAY: u64 = 24 * 60 * 60;

/// Of RFC 8291, appendix A.
const BODY: &str = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";

fn bytes(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).expect("base64url")
}

#[test]
fn the_published_example_is_decrypted_and_a_changed_one_is_not() {
    let key = PrivateKey::from_private_key(&ECDH_P256, &bytes("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
        .expect("a key");
    let auth = bytes("BTBZMqHH6r4Tts7J_aSIgg");
    let body = bytes(BODY);
    assert_eq!(
        decrypt::decrypt(&key, &auth, &body),
        Ok(b"When I grow up, I want to be a watermelon".to_vec())
    );
    for at in [0, 15, 19, 20, 30, 86, body.len() - 1] {
        let mut changed = body.clone();
        changed[at] ^= 1;
        // More room in a record than is needed changes nothing.
        assert_eq!(decrypt::decrypt(&key, &auth, &changed).is_ok(), at == 19, "{at}");
    }
    for length in 0..body.len() {
        assert!(decrypt::decrypt(&key, &auth, &body[..length]).is_err(), "{length}");
    }
    assert!(decrypt::decrypt(&key, &auth[1..], &body).is_err());
}

/// A sender by hand.
struct Hand(EcdsaKeyPair);

impl Hand {
    fn new() -> Self {
        Self(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key"))
    }

    fn authorization(&self, alg: &str, claims: &Value) -> String {
        let part = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let signed = format!("{}.{}", part(&json!({ "typ": "JWT", "alg": alg })), part(claims));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes()).expect("a signature");
        let (signature, key) =
            (URL_SAFE_NO_PAD.encode(signature), URL_SAFE_NO_PAD.encode(self.0.public_key()));
        format!("vapid t={signed}.{signature}, k={key}")
    }
}

fn in_seconds(seconds: u64) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    now.as_secs() + seconds
}

#[test]
fn who_sends_is_checked() {
    let (hand, origin, exp) = (Hand::new(), "https://push.example.com", in_seconds(60));
    let good = json!({ "aud": origin, "exp": exp, "sub": "mailto:alex@example.com" });
    let header = hand.authorization("ES256", &good);
    let sender = vapid::check(&header, origin).expect("good");
    assert_eq!(
        (sender.contact.as_deref(), sender.expires_at, sender.key.len()),
        (Some("mailto:alex@example.com"), exp, 87)
    );
    assert!(
        vapid::check(&hand.authorization("ES256", &json!({ "aud": origin, "exp": exp })), origin).is_ok()
    );
    let other_key = Hand::new().authorization("ES256", &good);
    let other_key = other_key.rsplit_once("k=").expect("a key").1;
    for (bad, says) in [
        (String::new(), "scheme"),
        (header.replace("vapid t", "Bearer t"), "scheme"),
        (header.replace("k=", "x="), "parameter k"),
        (header.replace(header.rsplit_once("k=").expect("a key").1, other_key), "signature"),
        (hand.authorization("none", &good), "ES256"),
        (hand.authorization("ES256", &json!({ "aud": "https://example.com", "exp": exp })), "is for"),
        (hand.authorization("ES256", &json!({ "aud": origin, "exp": 1 })), "ends at"),
        (hand.authorization("ES256", &json!({ "aud": origin, "exp": in_seconds(DAY + 60) })), "ends at"),
        (hand.authorization("ES256", &json!({ "aud": origin })), "no end"),
        (hand.authorization("ES256", &json!({ "aud": origin, "exp": exp, "sub": "alex" })), "contact"),
    ] {
        let fault = vapid::check(&bad, origin).expect_err(says);
        assert!(fault.contains(says), "{fault} lacks {says}");
    }
}

async fn send(subscription: &FakeSubscription, authorization: &str, body: &[u8]) -> u16 {
    let (host, path) = subscription.endpoint.trim_start_matches("http://").split_once('/').expect("a path");
    let mut stream = TcpStream::connect(host).await.expect("it listens");
    let head = format!(
        "POST /{path} HTTP/1.1\r\nAuthorization: {authorization}\r\nTTL: 5\r\nContent-Encoding: aes128gcm\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("it reads");
    stream.write_all(body).await.expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

#[tokio::test]
async fn what_no_service_takes_is_refused_and_fails_the_test() {
    let service = FakePush::start().await;
    let subscription = service.subscribe();
    let claims = json!({ "aud": service.origin(), "exp": in_seconds(60) });
    assert_eq!(send(&subscription, "vapid t=a.b.c, k=d", b"").await, 403);
    assert_eq!(send(&subscription, &Hand::new().authorization("ES256", &claims), b"x").await, 400);
    // Another key than that of the first.
    assert_eq!(send(&subscription, &Hand::new().authorization("ES256", &claims), b"x").await, 403);
    assert_eq!(send(&subscription, "", &[0; 4097]).await, 413);
    let elsewhere = FakeSubscription::new(service.origin());
    assert_eq!(send(&elsewhere, "", b"").await, 404);
    assert!(service.received().is_empty() && !service.is_idle().await);
    let service = Arc::new(service);
    let next = tokio::spawn({
        let service = Arc::clone(&service);
        async move { service.next().await }
    });
    assert!(next.await.expect_err("it fails").is_panic());
}
