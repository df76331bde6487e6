//! What devices say of where pushes to them go.

use domain::Invalid;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::extract::Object;
use crate::problem::Problem;

/// Longest token of a relay, in bytes.
const MAX_TOKEN: usize = 2048;

/// What a browser's `PushSubscription.toJSON()` gives, as it is; or `driver` and `token` for the operator's relay.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewPushSubscription)]
pub struct SubscriptionBody {
    /// Which way: `web_push` when it is left out.
    #[schema(value_type = Option<String>, pattern = "^(web_push|webhook)$")]
    driver: Option<Driver>,
    /// Web Push: where the push service takes messages for the device.
    #[schema(max_length = 2048)]
    endpoint: Option<String>,
    /// Taken, because browsers give it; the push service says when the subscription is over.
    #[serde(rename = "expirationTime")]
    expiration_time: Option<f64>,
    /// Web Push: what messages are encrypted for.
    #[schema(value_type = Option<KeysBody>)]
    keys: Option<Object<KeysBody>>,
    /// Relay: what it knows the device by.
    #[schema(min_length = 1, max_length = 2048, pattern = "^[!-~]+$")]
    token: Option<String>,
}

/// Keys of a subscription.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PushKeys)]
pub struct KeysBody {
    /// The device's public key: a point of P-256, uncompressed, in base64url.
    p256dh: String,
    /// 16 bytes that the device shares, in base64url.
    auth: String,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Driver {
    #[default]
    WebPush,
    Webhook,
}

/// Where pushes shall go.
pub(super) enum Wanted {
    WebPush(push::Subscription),
    Webhook { token: String },
}

impl SubscriptionBody {
    pub(super) fn read(self) -> Result<Wanted, Problem> {
        let Self { driver, endpoint, expiration_time, keys, token } = self;
        let missing = |field| Problem::field(field, "is missing");
        match driver.unwrap_or_default() {
            Driver::WebPush => {
                none_but("`driver`, `endpoint`, `expirationTime`, `keys`", &[("token", token.is_some())])?;
                let endpoint = endpoint.ok_or_else(|| missing("endpoint"))?;
                let Object(KeysBody { p256dh, auth }) = keys.ok_or_else(|| missing("keys"))?;
                Ok(Wanted::WebPush(push::Subscription { endpoint, p256dh, auth }))
            }
            Driver::Webhook => {
                let others = [
                    ("endpoint", endpoint.is_some()),
                    ("expirationTime", expiration_time.is_some()),
                    ("keys", keys.is_some()),
                ];
                none_but("`driver`, `token`", &others)?;
                let token = token.ok_or_else(|| missing("token"))?;
                check_token(&token)?;
                Ok(Wanted::Webhook { token })
            }
        }
    }
}

fn none_but(known: &str, others: &[(&str, bool)]) -> Result<(), Problem> {
    match others.iter().find(|(_, is_given)| *is_given) {
        Some((field, _)) => Err(Problem::field(*field, format!("is unknown; known is {known}"))),
        None => Ok(()),
    }
}

fn check_token(token: &str) -> Result<(), Invalid> {
    if (1..=MAX_TOKEN).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    let allowed = format!("1 to {MAX_TOKEN} visible ASCII characters");
    Err(Invalid::described("token", "this one", allowed))
}
