use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::EncodingKey;
use prometheus::Registry;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::keys::directory::Directory;
use crate::keys::manifest::Manifest;
use crate::keys::store::{KeyStore as _, NewKey};
use crate::settings::KeySettings;

struct Fixture {
    tokens: Tokens,
    now: Timestamp,
    _dir: tempfile::TempDir,
}

async fn fixture() -> Fixture {
    let dir = tempfile::tempdir().expect("dir");
    let (auth, now) = (AuthSettings::default(), Timestamp::from_second(1_800_000_000).expect("time"));
    let (rules, new) = (KeySettings::default().rules(&auth), NewKey::make().expect("made"));
    let store = Directory::at(dir.path().join("keys"));
    let first = Manifest::first(new.kid.clone(), "api-1".into(), now, &rules);
    store.replace(0, &first, Some(&new)).await.expect("written");
    let keys = Keys::new(Arc::new(store), rules, Duration::from_secs(5), &Registry::new()).expect("metrics");
    keys.read().await.expect("keys");
    let keys = Arc::new(keys);
    let followed = Arc::clone(&keys);
    tokio::spawn(async move { followed.follow(CancellationToken::new()).await });
    Fixture { tokens: Tokens::new(keys, &auth), now, _dir: dir }
}

impl Fixture {
    fn claims(&self) -> Value {
        let now = self.now.as_second();
        json!({
            "iss": "switchboard", "aud": "switchboard", "sub": UserId::new(), "sid": AuthSessionId::new(),
            "iat": now, "exp": now + 900,
        })
    }

    /// A token with these claims and our own good key.
    fn sign(&self, claims: &Value) -> String {
        let key = self.tokens.keys.signer(self.now).expect("a key");
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(key.id.clone());
        jsonwebtoken::encode(&header, claims, key.signing()).expect("signed")
    }

    async fn refused(&self, token: &str) -> AuthError {
        self.tokens.verify(token, self.now).await.expect_err("must be refused")
    }
}

#[tokio::test]
async fn a_token_is_good_until_its_time() {
    let f = fixture().await;
    let (user, session) = (UserId::new(), AuthSessionId::new());
    let token = f.tokens.issue(user, session, f.now).expect("issued");
    let access = f.tokens.verify(&token, f.now).await.expect("good");
    assert_eq!((access.user, access.session, access.issued_at), (user, session, f.now));
    let end = f.now + Duration::from_secs(900);
    assert_eq!(access.expires_at, end);
    f.tokens.verify(&token, end + Duration::from_secs(4)).await.expect("within the leeway");
    let late = f.tokens.verify(&token, end + Duration::from_secs(5)).await.expect_err("late");
    assert!(matches!(late, AuthError::TokenExpired), "{late}");
    let early = f.tokens.verify(&token, f.now - Duration::from_secs(60)).await.expect_err("early");
    assert!(matches!(early, AuthError::Unauthenticated(_)), "{early}");
}

#[tokio::test]
async fn a_wrong_claim_is_refused() {
    let f = fixture().await;
    f.tokens.verify(&f.sign(&f.claims()), f.now).await.expect("the claims themselves are good");
    for (claim, value) in [
        ("iss", json!("somebody")),
        ("aud", json!("somebody")),
        ("aud", json!(["switchboard", "somebody"])),
        ("sub", json!("alex")),
        ("exp", json!("soon")),
        ("iat", json!(null)),
    ] {
        let mut claims = f.claims();
        claims[claim] = value.clone();
        let refused = f.refused(&f.sign(&claims)).await;
        assert!(matches!(refused, AuthError::Unauthenticated(_)), "{claim} {value}: {refused}");
    }
    for claim in ["iss", "aud", "sub", "sid", "iat", "exp"] {
        let mut claims = f.claims();
        claims.as_object_mut().expect("object").remove(claim);
        let refused = f.refused(&f.sign(&claims)).await;
        assert!(matches!(refused, AuthError::Unauthenticated(_)), "without {claim}: {refused}");
    }
}

#[tokio::test]
async fn other_algorithms_are_refused() {
    let f = fixture().await;
    let kid = f.tokens.keys.signer(f.now).expect("a key").id.clone();
    let claims = URL_SAFE_NO_PAD.encode(f.claims().to_string());
    for alg in ["none", "None", "NONE"] {
        let header = URL_SAFE_NO_PAD.encode(json!({"alg": alg, "typ": "JWT", "kid": kid}).to_string());
        for signature in ["", "AAAA"] {
            let refused = f.refused(&format!("{header}.{claims}.{signature}")).await;
            assert!(matches!(refused, AuthError::Unauthenticated(_)), "{alg}: {refused}");
        }
    }
    // The public key used as a shared secret, the classic confusion.
    let x = f.tokens.keys.current().expect("keys").jwks().keys[0].x.clone();
    let public = URL_SAFE_NO_PAD.decode(x).expect("base64");
    let mut header = Header::new(Algorithm::HS256);
    header.kid = Some(kid);
    let token =
        jsonwebtoken::encode(&header, &f.claims(), &EncodingKey::from_secret(&public).expect("secret"))
            .expect("signed");
    assert!(matches!(f.refused(&token).await, AuthError::Unauthenticated(_)));
}

#[tokio::test]
async fn other_keys_are_refused() {
    let (f, other) = (fixture().await, fixture().await);
    let foreign = other.sign(&other.claims());
    assert!(matches!(f.refused(&foreign).await, AuthError::Unauthenticated("the token's key is not known")));
    // The foreign key under our key's id.
    let mut header = Header::new(Algorithm::EdDSA);
    header.kid = Some(f.tokens.keys.signer(f.now).expect("a key").id.clone());
    let others = other.tokens.keys.signer(other.now).expect("a key");
    let forged = jsonwebtoken::encode(&header, &f.claims(), others.signing()).expect("signed");
    assert!(matches!(f.refused(&forged).await, AuthError::Unauthenticated("the token's signature is wrong")));
    header.kid = None;
    let anonymous = jsonwebtoken::encode(&header, &f.claims(), others.signing()).expect("signed");
    assert!(matches!(f.refused(&anonymous).await, AuthError::Unauthenticated("the token names no key")));
}

#[tokio::test]
async fn every_changed_byte_is_noticed() {
    let f = fixture().await;
    let token = f.sign(&f.claims());
    for at in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).expect("ascii");
        // The last character of the signature carries unused bits that base64 refuses or that change it.
        assert!(f.tokens.verify(&changed, f.now).await.is_err(), "byte {at}");
    }
    for junk in ["", ".", "..", "a.b.c", "Bearer x", &"x".repeat(10_000)] {
        assert!(matches!(f.refused(junk).await, AuthError::Unauthenticated(_)), "{junk}");
    }
}
