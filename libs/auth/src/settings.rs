//! What can be set about sign-ins.

use std::path::PathBuf;
use std::time::Duration;

use domain::{Hidden, Invalid};
use serde::{Deserialize, Serialize};

use crate::keys::manifest::KeyRules;
use crate::keys::seal::SealKey;

/// Who may make an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegistrationMode {
    /// Anybody who reaches the server.
    Open,
    /// Only administrators, by `switchboard user add`.
    Closed,
}

/// `[auth]`: passwords, tokens and how often sign-ins may be tried.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuthSettings {
    /// Who may make an account: `open` or `closed`.
    pub registration: RegistrationMode,
    /// Name of this installation in tokens (`iss`); all nodes must have the same.
    pub issuer: String,
    /// How long an access token is good.
    #[serde(with = "domain::duration")]
    pub access_ttl: Duration,
    /// How long a live connection may stay after its access token has ended, for its client to present a newer one.
    #[serde(with = "domain::duration")]
    pub refresh_grace: Duration,
    /// How far the clocks of two nodes may differ before a fresh token is refused.
    #[serde(with = "domain::duration")]
    pub leeway: Duration,
    /// How long a refresh token may wait to be used.
    #[serde(with = "domain::duration")]
    pub refresh_ttl: Duration,
    /// Failed sign-ins in a row after which an account is locked.
    pub lockout_threshold: u32,
    /// How long it is locked.
    #[serde(with = "domain::duration")]
    pub lockout_duration: Duration,
    /// Requests to `/v1/auth/*` per second and client address, over all nodes.
    pub rate: f64,
    /// How many of them may come at once.
    pub burst: u32,
    /// How long the shared bucket may take to answer before this node's own bucket decides.
    #[serde(with = "domain::duration")]
    pub rate_timeout: Duration,
    /// Memory of one password hash, in KiB.
    pub argon2_memory_kib: u32,
    /// Passes of one password hash.
    pub argon2_iterations: u32,
    /// Lanes of one password hash.
    pub argon2_parallelism: u32,
    /// Password hashes worked on at once by one node.
    pub hash_concurrency: usize,
    /// Password hashes that may wait for their turn; more are refused at once.
    pub hash_queue: usize,
    /// How long a password hash waits for its turn before it is refused.
    #[serde(with = "domain::duration")]
    pub hash_wait: Duration,
    /// How often a node asks for sign-ins that ended without a notification having reached it.
    #[serde(with = "domain::duration")]
    pub revocation_interval: Duration,
    /// Ended sign-ins a node remembers; beyond that it asks the database for each call.
    pub revocation_capacity: usize,
}

impl Default for AuthSettings {
    fn default() -> Self {
        Self {
            registration: RegistrationMode::Closed,
            issuer: "switchboard".into(),
            access_ttl: Duration::from_mins(15),
            refresh_grace: Duration::from_secs(30),
            leeway: Duration::from_secs(5),
            refresh_ttl: Duration::from_hours(30 * 24),
            lockout_threshold: 10,
            lockout_duration: Duration::from_mins(15),
            rate: 5.0,
            burst: 8,
            rate_timeout: Duration::from_millis(500),
            // OWASP's first choice for argon2id: 19 MiB, two passes, one lane.
            argon2_memory_kib: 19_456,
            argon2_iterations: 2,
            argon2_parallelism: 1,
            hash_concurrency: 4,
            hash_queue: 64,
            hash_wait: Duration::from_secs(3),
            revocation_interval: Duration::from_secs(5),
            revocation_capacity: 100_000,
        }
    }
}

impl AuthSettings {
    /// Checks what the types alone do not.
    ///
    /// # Errors
    ///
    /// The first key whose value can't work.
    pub fn check(&self) -> Result<(), Invalid> {
        let refuse =
            |key, given: String, allowed: &str| Err(Invalid::described(key, given, allowed.to_owned()));
        if self.issuer.is_empty() {
            return refuse("auth.issuer", "an empty text".into(), "any other text");
        }
        if self.access_ttl < Duration::from_secs(1) {
            return refuse("auth.access_ttl", format!("{:?}", self.access_ttl), "1s or more");
        }
        if self.refresh_ttl < self.access_ttl {
            return refuse("auth.refresh_ttl", format!("{:?}", self.refresh_ttl), "auth.access_ttl or more");
        }
        if self.leeway > Duration::from_mins(1) {
            return refuse("auth.leeway", format!("{:?}", self.leeway), "at most 1m");
        }
        if self.lockout_threshold == 0 {
            return refuse("auth.lockout_threshold", "0".into(), "1 or more");
        }
        if !(self.rate.is_finite() && (0.001..=1_000_000.0).contains(&self.rate)) {
            return refuse("auth.rate", self.rate.to_string(), "0.001 to 1000000 a second");
        }
        if self.burst == 0 {
            return refuse("auth.burst", "0".into(), "1 or more");
        }
        if !(1..=1000).contains(&self.hash_concurrency) {
            return refuse("auth.hash_concurrency", self.hash_concurrency.to_string(), "1 to 1000");
        }
        if self.hash_queue > 1_000_000 {
            return refuse("auth.hash_queue", self.hash_queue.to_string(), "0 to 1000000");
        }
        if self.revocation_interval.is_zero() {
            return refuse("auth.revocation_interval", "0".into(), "more than 0");
        }
        argon2::Params::new(self.argon2_memory_kib, self.argon2_iterations, self.argon2_parallelism, None)
            .map_err(|error| {
                Invalid::described(
                    "auth.argon2_memory_kib",
                    format!(
                        "{} KiB with {} passes and {} lanes ({error})",
                        self.argon2_memory_kib, self.argon2_iterations, self.argon2_parallelism
                    ),
                    "at least 8 KiB a lane, one pass, one lane",
                )
            })?;
        Ok(())
    }
}

/// `[tickets]`: one-use sign-ins for sockets.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct TicketSettings {
    /// How long a ticket may wait to be used.
    #[serde(with = "domain::duration")]
    pub ttl: Duration,
}

impl Default for TicketSettings {
    fn default() -> Self {
        Self { ttl: Duration::from_secs(30) }
    }
}

/// `[secrets]`: where keys are kept.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct SecretSettings {
    /// Directory of the signing keys; all nodes share it. Made on the first start.
    pub signing_key_dir: PathBuf,
    /// What signing keys in the database are sealed with: 32 bytes in base64.
    pub seal_key: Hidden,
    /// Least time between two reloads that tokens with unknown key ids cause.
    #[serde(with = "domain::duration")]
    pub reload_cooldown: Duration,
}

impl Default for SecretSettings {
    fn default() -> Self {
        Self {
            signing_key_dir: PathBuf::from(".switchboard/keys"),
            seal_key: Hidden::default(),
            reload_cooldown: Duration::from_secs(5),
        }
    }
}

impl SecretSettings {
    /// Checks what the types alone do not.
    ///
    /// # Errors
    ///
    /// The first key whose value can't work; secrets are not shown.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.signing_key_dir.as_os_str().is_empty() {
            return Err(Invalid::new("secrets.signing_key_dir", "", "the path of a directory"));
        }
        if self.seal_key.is_empty() {
            return Ok(());
        }
        SealKey::parse(self.seal_key.reveal()).map(drop)
    }
}

/// Where signing keys are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyDriver {
    /// In a directory that nodes share.
    #[default]
    Dir,
    /// In the database, sealed.
    Postgres,
}

/// `[signing_key]`: the keys that access tokens are signed with.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeySettings {
    /// Where they are kept: `dir` or `postgres`.
    pub driver: KeyDriver,
    /// How long a node may go on with keys that it has read: so long a new key waits before it signs.
    #[serde(with = "domain::duration")]
    pub cache_ttl: Duration,
    /// How often a new key is made; 0: only when somebody asks for it.
    #[serde(with = "domain::duration")]
    pub rotate_every: Duration,
}

impl Default for KeySettings {
    fn default() -> Self {
        Self { driver: KeyDriver::default(), cache_ttl: Duration::from_mins(1), rotate_every: Duration::ZERO }
    }
}

impl KeySettings {
    /// Checks what the types alone do not.
    ///
    /// # Errors
    ///
    /// The first key whose value can't work.
    pub fn check(&self) -> Result<(), Invalid> {
        let shown = domain::duration::display;
        let (least, most) = (Duration::from_secs(1), Duration::from_hours(1));
        if !(least..=most).contains(&self.cache_ttl) {
            return Err(Invalid::new("signing_key.cache_ttl", &shown(self.cache_ttl), "1s to 1h"));
        }
        let least = self.cache_ttl * 2;
        if !self.rotate_every.is_zero() && self.rotate_every < least {
            let allowed = format!("0, or {} (twice signing_key.cache_ttl) and more", shown(least));
            return Err(Invalid::new("signing_key.rotate_every", &shown(self.rotate_every), allowed));
        }
        Ok(())
    }

    /// What the rules of keys must know.
    #[must_use]
    pub fn rules(&self, auth: &AuthSettings) -> KeyRules {
        KeyRules {
            cache_ttl: self.cache_ttl,
            // Rounded up: tokens count whole seconds.
            token_life: auth.access_ttl + auth.leeway + Duration::from_secs(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_allowed_and_senseless_values_are_named() {
        assert_eq!(AuthSettings::default().check(), Ok(()));
        type Change = fn(&mut AuthSettings);
        let broken: [(&str, Change); 10] = [
            ("auth.issuer", |s| s.issuer.clear()),
            ("auth.access_ttl", |s| s.access_ttl = Duration::ZERO),
            ("auth.refresh_ttl", |s| s.refresh_ttl = Duration::from_secs(1)),
            ("auth.lockout_threshold", |s| s.lockout_threshold = 0),
            ("auth.rate", |s| s.rate = f64::NAN),
            ("auth.burst", |s| s.burst = 0),
            ("auth.hash_concurrency", |s| s.hash_concurrency = 0),
            ("auth.hash_concurrency", |s| s.hash_concurrency = usize::MAX),
            ("auth.hash_queue", |s| s.hash_queue = usize::MAX),
            ("auth.argon2_memory_kib", |s| s.argon2_memory_kib = 1),
        ];
        for (key, change) in broken {
            let mut settings = AuthSettings::default();
            change(&mut settings);
            assert_eq!(settings.check().expect_err(key).field, key);
        }
    }

    #[test]
    fn an_empty_path_is_no_directory() {
        let settings = SecretSettings { signing_key_dir: PathBuf::new(), ..SecretSettings::default() };
        assert_eq!(settings.check().expect_err("no path").field, "secrets.signing_key_dir");
        assert_eq!(SecretSettings::default().check(), Ok(()));
    }
}
