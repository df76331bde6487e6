use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use super::*;

/// The example of the Standard Webhooks libraries.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const AT: i64 = 1_614_265_330;
const BODY: &[u8] = br#"{"test": 2432232314}"#;
const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

const TOLERANCE: Duration = Duration::from_mins(5);

fn published() -> SigningSecret {
    SigningSecret::parse(SECRET).unwrap()
}

fn check(header: &str, now: i64) -> Result<(), SignatureError> {
    verify(&published(), ID, AT, BODY, header, Timestamp::from_second(now).unwrap(), TOLERANCE)
}

/// HMAC as RFC 2104 writes it, over another implementation of SHA-256.
fn hmac_sha256(key: &[u8], message: &[u8]) -> Vec<u8> {
    assert!(key.len() <= 64, "longer keys are hashed first");
    let padded = |with: u8| -> Vec<u8> { (0..64).map(|at| key.get(at).unwrap_or(&0) ^ with).collect() };
    let inner = Sha256::digest([&padded(0x36), message].concat());
    Sha256::digest([&padded(0x5c), inner.as_slice()].concat()).to_vec()
}

#[test]
fn the_published_example_is_signed_and_verified() {
    assert_eq!(sign(&published(), ID, AT, BODY), SIGNATURE);
    assert_eq!(check(SIGNATURE, AT), Ok(()));
}

#[test]
fn githubs_published_example_is_verified() {
    let header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let key = b"It's a Secret to Everybody";
    assert_eq!(github(key, b"Hello, World!", header), Ok(()));
    assert_eq!(github(key, b"Hello, World!", &header.to_uppercase().replace("SHA", "sha")), Ok(()));
    assert_eq!(github(key, b"Hello, World?", header), Err(SignatureError::NoMatch));
    assert_eq!(github(b"another", b"Hello, World!", header), Err(SignatureError::NoMatch));
    for cut in ["sha256=", "sha256=75", &header[..header.len() - 1], &format!("{header}0")] {
        assert_eq!(github(key, b"Hello, World!", cut), Err(SignatureError::NoMatch), "{cut}");
    }
    for none in ["", "sha1=757107ea", header.trim_start_matches("sha256=")] {
        assert_eq!(github(key, b"Hello, World!", none), Err(SignatureError::Missing), "{none}");
    }
}

#[test]
fn github_is_given_the_printed_text_of_the_secret() {
    let secret = SigningSecret::generate().unwrap();
    let tag = hmac_sha256(secret.reveal().as_bytes(), b"pushed");
    let hex: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(verify_github(&secret, b"pushed", &format!("sha256={hex}")), Ok(()));
}

#[test]
fn one_of_several_signatures_is_enough_and_other_versions_are_passed_over() {
    let other = sign(&SigningSecret::generate().unwrap(), ID, AT, BODY);
    for header in [
        format!("{other} {SIGNATURE}"),
        format!("{SIGNATURE} {other}"),
        format!(
            "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg== {SIGNATURE}"
        ),
        format!("v1,%%% v1, v9,x {SIGNATURE}"),
    ] {
        assert_eq!(check(&header, AT), Ok(()), "{header}");
    }
    assert_eq!(check(&other, AT), Err(SignatureError::NoMatch));
    for header in ["v1,", "v1,%%%", &SIGNATURE[..20], &format!("{SIGNATURE}AAAA"), "v1,AAAA"] {
        assert_eq!(check(header, AT), Err(SignatureError::NoMatch), "{header}");
    }
    let unversioned = SIGNATURE.trim_start_matches("v1,");
    for header in ["", "   ", unversioned, &format!("v2,{unversioned}"), &format!("v1a,{unversioned}")] {
        assert_eq!(check(header, AT), Err(SignatureError::Missing), "{header}");
    }
}

#[test]
fn a_message_counts_near_its_time_only() {
    let tolerance = 300;
    for (now, expected) in [
        (AT + tolerance, Ok(())),
        (AT + tolerance + 1, Err(SignatureError::TooOld)),
        (AT - tolerance, Ok(())),
        (AT - tolerance - 1, Err(SignatureError::TooNew)),
    ] {
        assert_eq!(check(SIGNATURE, now), expected, "{now}");
    }
    let now = Timestamp::from_second(AT).unwrap();
    for (timestamp, expected) in [(i64::MIN, SignatureError::TooOld), (i64::MAX, SignatureError::TooNew)] {
        let checked = verify(&published(), ID, timestamp, BODY, SIGNATURE, now, TOLERANCE);
        assert_eq!(checked, Err(expected));
        let signature = sign(&published(), ID, timestamp, BODY);
        assert_eq!(verify(&published(), ID, timestamp, BODY, &signature, now, Duration::MAX), Ok(()));
    }
}

#[test]
fn what_is_signed_can_not_be_cut_in_another_way() {
    let secret = published();
    let now = Timestamp::from_second(AT).unwrap();
    // The same text to be signed: `a.<time>.<time>.rest`.
    let signature = sign(&secret, "a", AT, format!("{AT}.rest").as_bytes());
    let cut = verify(&secret, &format!("a.{AT}"), AT, b"rest", &signature, now, TOLERANCE);
    assert_eq!(cut, Err(SignatureError::BadId));
    assert_eq!(verify(&secret, "", AT, b"", &signature, now, TOLERANCE), Err(SignatureError::BadId));
}

#[test]
fn secrets_are_read_back_distinct_and_not_shown() {
    let secret = SigningSecret::generate().unwrap();
    let text = secret.reveal();
    assert!(text.starts_with("whsec_") && text.len() == 6 + 44, "{}", text.len());
    assert_eq!(SigningSecret::parse(&text).unwrap().reveal(), text);
    assert_ne!(SigningSecret::generate().unwrap().reveal(), text);
    assert_eq!(format!("{secret:?}"), "SigningSecret(...)");

    let of = |bytes: usize| format!("whsec_{}", STANDARD.encode(vec![7; bytes]));
    assert!(SigningSecret::parse(&of(24)).is_ok() && SigningSecret::parse(&of(64)).is_ok());
    for bad in
        [of(23), of(65), "whsec_".into(), "whsec_%%%".into(), text.replace("whsec_", ""), format!("{text} ")]
    {
        let invalid = SigningSecret::parse(&bad).expect_err(&bad);
        assert_eq!(invalid.field, "secret");
        assert!(
            bad.len() < 10 || !invalid.to_string().contains(bad.trim_start_matches("whsec_")),
            "{invalid}"
        );
    }
}

proptest! {
    #[test]
    fn signatures_are_those_of_another_implementation(
        key in proptest::collection::vec(any::<u8>(), 24..=64),
        id in "[a-zA-Z0-9_-]{1,40}",
        timestamp in 0_i64..4_000_000_000,
        body in proptest::collection::vec(any::<u8>(), 0..300),
        flipped in any::<proptest::sample::Index>(),
    ) {
        let secret = SigningSecret::parse(&format!("whsec_{}", STANDARD.encode(&key))).unwrap();
        let signed = [format!("{id}.{timestamp}.").as_bytes(), &body].concat();
        let expected = format!("v1,{}", STANDARD.encode(hmac_sha256(&key, &signed)));
        let signature = sign(&secret, &id, timestamp, &body);
        prop_assert_eq!(&signature, &expected);

        let now = Timestamp::from_second(timestamp).unwrap();
        prop_assert_eq!(verify(&secret, &id, timestamp, &body, &signature, now, Duration::ZERO), Ok(()));
        // Any other message is refused.
        let mut other = [body.as_slice(), b"."].concat();
        let at = flipped.index(other.len());
        other[at] ^= 1;
        let checked = verify(&secret, &id, timestamp, &other, &signature, now, Duration::ZERO);
        prop_assert_eq!(checked, Err(SignatureError::NoMatch));
    }
}
