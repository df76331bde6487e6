//! Whom something is sent to.

use std::fmt;

use aws_lc_rs::agreement::{ECDH_P256, ParsedPublicKey, UnparsedPublicKey};
use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use domain::{DeviceId, Invalid};

/// Bytes of a P-256 point that is not compressed.
const POINT: usize = 65;
/// What such a point begins with. The library takes another form of this length, in which browsers would not know their key.
const UNCOMPRESSED: u8 = 4;
/// Bytes of an authentication secret (RFC 8291, section 3.2).
const SECRET: usize = 16;

/// Base64url as browsers write it, with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A device, by the way that leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A push service's.
    WebPush(Subscription),
    /// The operator's relay.
    Webhook {
        /// Whose.
        device: DeviceId,
        /// What the relay knows the device by.
        token: Token,
    },
}

/// What a relay knows a device by. Never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(pub String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(...)")
    }
}

/// A push subscription, as a browser gives it out (`PushSubscription.toJSON()`). Never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Subscription {
    /// Where the push service takes messages for this device. A secret: whoever has it can send.
    pub endpoint: String,
    /// The device's public key: a P-256 point, uncompressed, base64url.
    pub p256dh: String,
    /// 16 random bytes that device and sender share, base64url.
    pub auth: String,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subscription(...)")
    }
}

/// The keys of a subscription, read.
pub(crate) struct Recipient {
    pub(crate) public: [u8; POINT],
    pub(crate) secret: [u8; SECRET],
}

impl Subscription {
    /// Reads the keys.
    ///
    /// # Errors
    ///
    /// About `keys`, without what was given.
    pub(crate) fn recipient(&self) -> Result<Recipient, Invalid> {
        let refuse = |place: &str, allowed: &str| {
            Invalid::described("keys", "a text that is none", allowed).inside(place)
        };
        let public = decoded::<POINT>(&self.p256dh).filter(is_on_curve).ok_or_else(|| {
            refuse(".p256dh", "a P-256 public key: 65 bytes that begin with 4, in base64url")
        })?;
        let secret = decoded::<SECRET>(&self.auth).ok_or_else(|| refuse(".auth", "16 bytes in base64url"))?;
        Ok(Recipient { public, secret })
    }
}

fn decoded<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    BASE64.decode(text).ok()?.try_into().ok()
}

/// Whoever subscribes shall be told, not whoever sends.
fn is_on_curve(point: &[u8; POINT]) -> bool {
    point[0] == UNCOMPRESSED
        && ParsedPublicKey::try_from(UnparsedPublicKey::new(&ECDH_P256, point.as_slice())).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of RFC 8291, appendix A.
    const PUBLIC: &str =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
    const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";

    fn refused(p256dh: &str, auth: &str) -> Option<Invalid> {
        let subscription = Subscription {
            endpoint: "https://push.example.com/1".to_owned(),
            p256dh: p256dh.to_owned(),
            auth: auth.to_owned(),
        };
        subscription.recipient().err()
    }

    #[test]
    fn keys_are_read_with_padding_or_without() {
        assert!(refused(PUBLIC, AUTH).is_none());
        assert!(refused(&format!("{PUBLIC}="), &format!("{AUTH}==")).is_none());
    }

    #[test]
    fn what_is_no_key_is_told_and_not_shown() {
        let off_curve = format!("{}A", &PUBLIC[..PUBLIC.len() - 2]);
        let elsewhere = format!("{}w8", &PUBLIC[..PUBLIC.len() - 2]);
        let zeros = BASE64.encode([0; POINT]);
        let compressed = BASE64.encode([[2].as_slice(), &BASE64.decode(PUBLIC).unwrap()[1..33]].concat());
        // The form that OpenSSL calls hybrid: as long, and begins with 6 or 7.
        let hybrid = |first: u8| BASE64.encode([&[first], &BASE64.decode(PUBLIC).unwrap()[1..]].concat());
        let (six, seven) = (hybrid(6), hybrid(7));
        for key in
            ["", "topsecret", "%", &PUBLIC[1..], &off_curve, &elsewhere, &zeros, &compressed, &six, &seven]
        {
            let invalid = refused(key, AUTH).expect(key);
            assert_eq!((invalid.field, invalid.place.as_str()), ("keys", ".p256dh"));
            assert!(key.len() < 5 || !invalid.to_string().contains(key), "{invalid}");
        }
        for auth in ["", "topsecret", &AUTH[2..], &format!("{AUTH}AA"), "BTBZMqHH6r4Tts7J/aSIgg"] {
            let invalid = refused(PUBLIC, auth).expect(auth);
            assert_eq!((invalid.field, invalid.place.as_str()), ("keys", ".auth"));
            assert!(auth.len() < 5 || !invalid.to_string().contains(auth), "{invalid}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let subscription = Subscription {
            endpoint: "topsecret".into(),
            p256dh: "topsecret".into(),
            auth: "topsecret".into(),
        };
        let webhook = Target::Webhook { device: DeviceId::new(), token: Token("topsecret".into()) };
        for shown in [format!("{:?}", Target::WebPush(subscription)), format!("{webhook:?}")] {
            assert!(!shown.contains("topsecret"), "{shown}");
        }
    }
}
