//! What a push service checks of who sends (RFC 8292).

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// The longest that a token may be good, in seconds.
const DAY: u64 = 24 * 60 * 60;

/// Who sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// The public key, base64url.
    pub key: String,
    /// Whom to ask.
    pub contact: Option<String>,
    /// The end of the token, in seconds since 1970.
    pub expires_at: u64,
}

/// Checks the header `authorization` of a push to this origin.
///
/// # Errors
///
/// What is wrong with it.
pub fn check(authorization: &str, origin: &str) -> Result<Sender, String> {
    let parameters = authorization.strip_prefix("vapid ").ok_or("no authorization of the scheme vapid")?;
    let parameter = |name: &str| {
        let mut all = parameters.split(',').filter_map(|one| one.trim().split_once('='));
        all.find(|(key, _)| *key == name).map(|(_, value)| value).ok_or(format!("no parameter {name}"))
    };
    let (token, key) = (parameter("t")?, parameter("k")?);
    let (signed, signature) = token.rsplit_once('.').ok_or("the token has no parts")?;
    let (header, claims) = signed.split_once('.').ok_or("the token has two parts")?;
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decoded(key)?)
        .verify(signed.as_bytes(), &decoded(signature)?)
        .map_err(|_| "the signature is not good")?;

    if json(header)?["alg"] != "ES256" {
        return Err("the token is not signed with ES256".to_owned());
    }
    let claims = json(claims)?;
    if claims["aud"] != origin {
        return Err(format!("the token is for {}, this is {origin}", claims["aud"]));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| error.to_string())?.as_secs();
    let expires_at = claims["exp"].as_u64().ok_or("the token has no end")?;
    if !(now..=now + DAY).contains(&expires_at) {
        return Err(format!("the token ends at {expires_at}, now is {now}"));
    }
    let contact = claims.get("sub").map(|contact| contact.as_str().unwrap_or_default().to_owned());
    if contact.as_ref().is_some_and(|sub| !sub.starts_with("mailto:") && !sub.starts_with("https://")) {
        return Err(format!("the contact {contact:?}"));
    }
    Ok(Sender { key: key.to_owned(), contact, expires_at })
}

fn decoded(text: &str) -> Result<Vec<u8>, String> {
    URL_SAFE_NO_PAD.decode(text).map_err(|error| format!("no base64url: {error}"))
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_slice(&decoded(text)?).map_err(|error| format!("no JSON: {error}"))
}
