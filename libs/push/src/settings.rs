//! What can be set about pushes.

use std::path::PathBuf;
use std::time::Duration;

use auth::SigningSecret;
use domain::{Hidden, Invalid};
use ipnet::{Ipv4Net, Ipv6Net};
use outbound::OutboundSettings;
use serde::{Deserialize, Serialize};

use crate::encryption::MAX_PLAINTEXT;

/// Longest life of a message at a push service: what the large ones keep.
const LONGEST_TTL: Duration = Duration::from_hours(28 * 24);
/// What of an answer is read: nobody looks at it.
const ANSWER_BYTES: usize = 1024;
const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

/// `[push]`: notifications of devices that are not looked at.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct PushSettings {
    /// How long a notification waits to be read before it is pushed, while its person has an active device.
    #[serde(with = "domain::duration")]
    pub delay: Duration,
    /// Notifications older than this are no longer pushed.
    #[serde(with = "domain::duration")]
    pub max_age: Duration,
    /// How long a push service keeps a message for a device that can't be reached.
    #[serde(with = "domain::duration")]
    pub ttl: Duration,
    /// How long a request to a push service may take in all.
    #[serde(with = "domain::duration")]
    pub timeout: Duration,
    /// How long pushes stay with a worker that nothing is heard of.
    #[serde(with = "domain::duration")]
    pub lease: Duration,
    /// Pushes that a worker sends at one time.
    pub concurrency: usize,
    /// How long a worker sleeps at most between two looks for what is due.
    #[serde(with = "domain::duration")]
    pub interval: Duration,
    /// Whom push services may ask about us: `mailto:` or `https://`; empty: nobody.
    pub contact: String,
    /// Directory of the key by which push services know us; all nodes share it. Made on the first start.
    pub vapid_key_dir: PathBuf,
    /// Whether endpoints may be private addresses, and plain HTTP: for tests.
    pub allow_private: bool,
    /// The most that a device is told in one message, in bytes of JSON.
    pub max_payload_bytes: usize,
    /// The operator's relay for devices without Web Push; empty: there is none.
    pub webhook_url: Hidden,
    /// By what the relay knows that we call: `whsec_` and base64.
    pub webhook_secret: Hidden,
}

impl Default for PushSettings {
    fn default() -> Self {
        Self {
            delay: Duration::from_secs(30),
            max_age: HOUR,
            ttl: Duration::from_hours(24),
            timeout: Duration::from_secs(10),
            lease: Duration::from_secs(30),
            concurrency: 64,
            interval: Duration::from_secs(5),
            contact: String::new(),
            vapid_key_dir: PathBuf::from(".switchboard/push"),
            allow_private: false,
            max_payload_bytes: 3900,
            webhook_url: Hidden::default(),
            webhook_secret: Hidden::default(),
        }
    }
}

impl PushSettings {
    /// Checks what the types alone do not.
    ///
    /// # Errors
    ///
    /// The first key whose value can't work.
    pub fn check(&self) -> Result<(), Invalid> {
        span("push.max_age", self.max_age, SECOND, 30 * 24 * HOUR)?;
        // What waits longer than it may be old would never be sent.
        span("push.delay", self.delay, Duration::ZERO, self.max_age)
            .map_err(because("at most push.max_age"))?;
        span("push.ttl", self.ttl, Duration::ZERO, LONGEST_TTL)?;
        span("push.timeout", self.timeout, MILLISECOND, HOUR)?;
        // One attempt, and the time to note what came of it.
        span("push.lease", self.lease, self.timeout * 2, 24 * HOUR)
            .map_err(because("at least twice push.timeout"))?;
        within("push.concurrency", self.concurrency, 1, 10_000)?;
        span("push.interval", self.interval, 10 * MILLISECOND, HOUR)?;
        within("push.max_payload_bytes", self.max_payload_bytes, 256, MAX_PLAINTEXT)?;
        self.check_contact()?;
        if self.vapid_key_dir.as_os_str().is_empty() {
            return Err(Invalid::new("push.vapid_key_dir", "", "the path of a directory"));
        }
        self.check_webhook()
    }

    fn check_contact(&self) -> Result<(), Invalid> {
        let contact = &self.contact;
        let is_plain = contact.len() <= 256 && contact.bytes().all(|byte| byte.is_ascii_graphic());
        let rest = contact.strip_prefix("mailto:").or_else(|| contact.strip_prefix("https://"));
        if contact.is_empty() || (is_plain && rest.is_some_and(|rest| !rest.is_empty())) {
            return Ok(());
        }
        let allowed = "mailto:alex@example.com, https://example.com/contact, or nothing";
        Err(Invalid::new("push.contact", contact, allowed))
    }

    fn check_webhook(&self) -> Result<(), Invalid> {
        let (url, secret) = (self.webhook_url.reveal(), self.webhook_secret.reveal());
        let secret_is = |invalid: Invalid| Invalid { field: "push.webhook_secret", ..invalid };
        if !secret.is_empty() {
            SigningSecret::parse(secret).map_err(secret_is)?;
        }
        if url.is_empty() {
            return Ok(());
        }
        everywhere().check_url(url).map_err(|invalid| Invalid { field: "push.webhook_url", ..invalid })?;
        if secret.is_empty() {
            return Err(Invalid::described(
                "push.webhook_secret",
                "nothing",
                "a secret, where there is push.webhook_url",
            ));
        }
        Ok(())
    }

    /// How endpoints are reached, which users name.
    pub(crate) fn to_services(&self) -> OutboundSettings {
        if self.allow_private { everywhere() } else { guarded() }
    }
}

/// How what users name is reached: outside alone.
fn guarded() -> OutboundSettings {
    OutboundSettings { max_response_bytes: ANSWER_BYTES, ..OutboundSettings::default() }
}

/// How what the operator names is reached: wherever it is.
pub(crate) fn everywhere() -> OutboundSettings {
    let networks = [Ipv4Net::default().into(), Ipv6Net::default().into()];
    OutboundSettings { allow_private: networks.to_vec(), allow_http: true, ..guarded() }
}

fn within(key: &'static str, given: usize, least: usize, most: usize) -> Result<(), Invalid> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    Err(Invalid::new(key, &given.to_string(), format!("{least} to {most}")))
}

fn span(key: &'static str, given: Duration, least: Duration, most: Duration) -> Result<(), Invalid> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    let shown = domain::duration::display;
    Err(Invalid::new(key, &shown(given), format!("{} to {}", shown(least), shown(most))))
}

/// Says of which other key a bound comes.
fn because(why: &'static str) -> impl Fn(Invalid) -> Invalid {
    move |invalid| Invalid { allowed: format!("{} ({why})", invalid.allowed), ..invalid }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn the_defaults_are_allowed_and_senseless_values_are_named() {
        assert_eq!(PushSettings::default().check(), Ok(()));
        type Change = fn(&mut PushSettings);
        let broken: [(&str, Change); 19] = [
            ("push.max_age", |s| s.max_age = Duration::ZERO),
            ("push.delay", |s| s.delay = s.max_age + SECOND),
            ("push.ttl", |s| s.ttl = Duration::from_hours(29 * 24)),
            ("push.timeout", |s| s.timeout = Duration::ZERO),
            ("push.timeout", |s| s.timeout = Duration::from_hours(2)),
            ("push.lease", |s| s.lease = s.timeout),
            ("push.concurrency", |s| s.concurrency = 0),
            ("push.interval", |s| s.interval = Duration::ZERO),
            ("push.max_payload_bytes", |s| s.max_payload_bytes = MAX_PLAINTEXT + 1),
            ("push.max_payload_bytes", |s| s.max_payload_bytes = 1),
            ("push.contact", |s| s.contact = "alex@example.com".into()),
            ("push.contact", |s| s.contact = "mailto:".into()),
            ("push.contact", |s| s.contact = "mailto:alex @example.com".into()),
            ("push.vapid_key_dir", |s| s.vapid_key_dir = PathBuf::new()),
            ("push.webhook_url", |s| s.webhook_url = "nowhere".into()),
            ("push.webhook_url", |s| s.webhook_url = "ftp://relay.example.com".into()),
            ("push.webhook_url", |s| s.webhook_url = "http://alex:topsecret@relay.example.com".into()),
            ("push.webhook_secret", |s| s.webhook_url = "http://relay.example.com".into()),
            ("push.webhook_secret", |s| s.webhook_secret = "topsecret".into()),
        ];
        for (key, change) in broken {
            let mut settings = PushSettings::default();
            change(&mut settings);
            let invalid = settings.check().expect_err(key);
            assert_eq!(invalid.field, key);
            assert!(!invalid.to_string().contains("topsecret"), "{invalid}");
        }
    }

    #[test]
    fn the_relay_may_be_anywhere() {
        for url in
            ["https://relay.example.com/push", "http://10.1.2.3:8080/", "http://localhost/", "http://[::1]/"]
        {
            let settings = PushSettings {
                webhook_url: url.into(),
                webhook_secret: SECRET.into(),
                contact: "mailto:alex@example.com".into(),
                ..PushSettings::default()
            };
            assert_eq!(settings.check(), Ok(()), "{url}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let settings = PushSettings {
            webhook_url: "https://relay.example.com/topsecret".into(),
            webhook_secret: "whsec_topsecret".into(),
            ..PushSettings::default()
        };
        for shown in [format!("{settings:?}"), serde_json::to_string(&settings).unwrap()] {
            assert!(!shown.contains("topsecret") && shown.contains("(hidden)"), "{shown}");
        }
        let read: PushSettings = serde_json::from_str(r#"{"webhook_secret": "whsec_topsecret"}"#).unwrap();
        assert_eq!(read.webhook_secret, settings.webhook_secret);
    }
}
