//! Passwords: argon2id, off the async threads, few at once.
//!
//! One hash takes about 20 MiB and 20 ms, so an open door for them would be an open door for
//! overload. At most `hash_concurrency` are worked on, at most `hash_queue` wait, none of them longer
//! than `hash_wait`; everything beyond is told to come back. The permit belongs to the work, not to the
//! caller: a client that goes away does not make room for one more hash than the machine can do.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use domain::Invalid;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::AuthError;
use crate::secret;
use crate::settings::AuthSettings;

/// Hashes and checks passwords.
#[derive(Clone)]
pub struct Passwords {
    argon2: Argon2<'static>,
    at_work: Arc<Semaphore>,
    queue: Arc<Semaphore>,
    wait: Duration,
    // What a password is checked against when there is no such person, so that both take as long.
    nobody: Arc<str>,
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passwords").field("argon2", self.argon2.params()).finish_non_exhaustive()
    }
}

impl Passwords {
    /// With these settings.
    ///
    /// # Errors
    ///
    /// Parameters that argon2 does not take.
    pub async fn new(settings: &AuthSettings) -> Result<Self, AuthError> {
        settings.check()?;
        let params = Params::new(
            settings.argon2_memory_kib,
            settings.argon2_iterations,
            settings.argon2_parallelism,
            None,
        )
        .map_err(|error| AuthError::Internal(format!("argon2: {error}")))?;
        let mut passwords = Self {
            argon2: Argon2::new(Algorithm::Argon2id, Version::V0x13, params),
            at_work: Arc::new(Semaphore::new(settings.hash_concurrency)),
            queue: Arc::new(Semaphore::new(settings.hash_concurrency + settings.hash_queue)),
            wait: settings.hash_wait,
            nobody: "".into(),
        };
        passwords.nobody = passwords.hash("nobody has this password").await?.into();
        Ok(passwords)
    }

    /// The PHC string of a password.
    ///
    /// # Errors
    ///
    /// `RateLimited` when too many wait or this one waited too long.
    pub async fn hash(&self, password: &str) -> Result<String, AuthError> {
        let mut salt = [0_u8; argon2::RECOMMENDED_SALT_LEN];
        secret::fill(&mut salt)?;
        let (argon2, password) = (self.argon2.clone(), password.to_owned());
        self.work(move || {
            argon2
                .hash_password_with_salt(password.as_bytes(), &salt)
                .map(|hash: PasswordHash| hash.to_string())
                .map_err(|error| AuthError::Internal(format!("argon2: {error}")))
        })
        .await
    }

    /// Whether `password` is the one that `phc` was made of.
    ///
    /// # Errors
    ///
    /// As [`Self::hash`]; `Internal` when what is stored is no PHC string.
    pub async fn verify(&self, password: &str, phc: &str) -> Result<bool, AuthError> {
        let (argon2, password, phc) = (self.argon2.clone(), password.to_owned(), phc.to_owned());
        self.work(move || {
            // The text of the error could show what is stored: left out.
            let stored = PasswordHash::new(&phc)
                .map_err(|_| AuthError::Internal("a stored password is no PHC string".into()))?;
            match argon2.verify_password(password.as_bytes(), &stored) {
                Ok(()) => Ok(true),
                Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
                Err(error) => Err(AuthError::Internal(format!("argon2: {error}"))),
            }
        })
        .await
    }

    /// Whether `phc` was made with other parameters than passwords are hashed with now.
    #[must_use]
    pub fn is_outdated(&self, phc: &str) -> bool {
        let Ok(stored) = PasswordHash::new(phc) else { return false };
        let same = stored.algorithm == Algorithm::Argon2id.ident()
            && stored.version == Some(Version::V0x13.into())
            && Params::try_from(&stored).is_ok_and(|params| {
                let now = self.argon2.params();
                (params.m_cost(), params.t_cost(), params.p_cost())
                    == (now.m_cost(), now.t_cost(), now.p_cost())
            });
        !same
    }

    /// Takes as long as [`Self::verify`] and is never true: for handles that nobody has.
    ///
    /// # Errors
    ///
    /// As [`Self::hash`].
    pub async fn verify_nobody(&self, password: &str) -> Result<(), AuthError> {
        self.verify(password, &self.nobody).await.map(drop)
    }

    async fn work<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, AuthError> + Send + 'static,
    ) -> Result<T, AuthError> {
        let (at_work, queued) = self.turn().await?;
        tokio::task::spawn_blocking(move || {
            let result = job();
            drop((at_work, queued));
            result
        })
        .await
        .map_err(|error| AuthError::Internal(format!("password work ended early: {error}")))?
    }

    async fn turn(&self) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), AuthError> {
        let busy = || AuthError::RateLimited { retry_after: self.wait.max(Duration::from_secs(1)) };
        let queued = Arc::clone(&self.queue).try_acquire_owned().map_err(|_| busy())?;
        let at_work = tokio::time::timeout(self.wait, Arc::clone(&self.at_work).acquire_owned())
            .await
            .map_err(|_| busy())?
            .map_err(|_| AuthError::Internal("the password workers are closed".into()))?;
        Ok((at_work, queued))
    }
}

/// Checks the password of somebody who signs in: only that it is not absurdly long.
pub(crate) fn plausible(password: &str) -> Result<(), Invalid> {
    if password.len() <= 256 * 4 {
        Ok(())
    } else {
        Err(Invalid::described("password", format!("{} bytes", password.len()), "at most 256 characters"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cheap() -> AuthSettings {
        AuthSettings { argon2_memory_kib: 64, argon2_iterations: 1, ..AuthSettings::default() }
    }

    #[tokio::test]
    async fn a_hash_checks_its_own_password_alone() {
        let passwords = Passwords::new(&cheap()).await.expect("settings");
        let phc = passwords.hash("correct horse").await.expect("hash");
        assert!(phc.starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{phc}");
        assert!(passwords.verify("correct horse", &phc).await.expect("verify"));
        assert!(!passwords.verify("correct house", &phc).await.expect("verify"));
        assert_ne!(phc, passwords.hash("correct horse").await.expect("hash"), "salted");
        assert!(passwords.verify("x", "not a phc string").await.is_err());
        passwords.verify_nobody("x").await.expect("takes its time, says nothing");
    }

    #[tokio::test]
    async fn older_parameters_are_still_checked() {
        let before = Passwords::new(&cheap()).await.expect("settings");
        let phc = before.hash("correct horse").await.expect("hash");
        let settings = AuthSettings { argon2_memory_kib: 128, ..cheap() };
        let after = Passwords::new(&settings).await.expect("settings");
        assert!(after.verify("correct horse", &phc).await.expect("verify"));
        assert!(after.is_outdated(&phc) && !before.is_outdated(&phc));
        assert!(!after.is_outdated(&after.hash("correct horse").await.expect("hash")));
        for (now, old) in [("argon2id", "argon2i"), ("v=19", "v=16"), ("t=1", "t=2"), ("p=1", "p=2")] {
            assert!(before.is_outdated(&phc.replacen(now, old, 1)), "{old}");
        }
    }

    #[tokio::test]
    async fn more_than_the_queue_holds_are_refused_at_once() {
        let settings = AuthSettings { hash_concurrency: 1, hash_queue: 1, ..cheap() };
        let passwords = Passwords::new(&settings).await.expect("settings");
        let held = passwords.turn().await.expect("the first works");
        let waiting = tokio::spawn({
            let passwords = passwords.clone();
            async move { passwords.hash("the second waits").await }
        });
        while passwords.queue.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let refused = passwords.hash("the third is refused").await.expect_err("no place to wait");
        assert!(matches!(refused, AuthError::RateLimited { .. }), "{refused}");
        drop(held);
        waiting.await.expect("joined").expect("its turn came");
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_longer_than_allowed() {
        let settings = AuthSettings { hash_concurrency: 1, hash_wait: Duration::from_secs(2), ..cheap() };
        let passwords = Passwords::new(&settings).await.expect("settings");
        let _held = passwords.turn().await.expect("the first works");
        let refused = passwords.turn().await.expect_err("waited too long");
        assert!(matches!(refused, AuthError::RateLimited { .. }), "{refused}");
    }
}
