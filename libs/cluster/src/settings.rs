//! What can be configured.

use std::time::Duration;

use domain::Invalid;
use serde::{Deserialize, Serialize};

/// `listener.*`: hearing other nodes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListenerSettings {
    /// How often the listener makes a round trip to itself.
    #[serde(with = "domain::duration")]
    pub check_interval: Duration,
    /// How long such a round trip may take before the connection is given up.
    #[serde(with = "domain::duration")]
    pub check_timeout: Duration,
    /// How long connecting may take.
    #[serde(with = "domain::duration")]
    pub connect_timeout: Duration,
    /// The longest pause between attempts to connect; they begin at a tenth of a second, with jitter.
    #[serde(with = "domain::duration")]
    pub reconnect_max_delay: Duration,
}

impl Default for ListenerSettings {
    fn default() -> Self {
        Self {
            check_interval: Duration::from_secs(5),
            check_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(5),
            reconnect_max_delay: Duration::from_secs(3),
        }
    }
}

impl ListenerSettings {
    /// Checks values that could not work.
    ///
    /// # Errors
    ///
    /// The key and what is allowed.
    pub fn validate(&self) -> Result<(), Invalid> {
        positive("listener.check_interval", self.check_interval)?;
        positive("listener.check_timeout", self.check_timeout)?;
        positive("listener.connect_timeout", self.connect_timeout)?;
        positive("listener.reconnect_max_delay", self.reconnect_max_delay)
    }
}

/// Others wait for what is told: beyond this it is no longer live.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// `notifier.*`: telling other nodes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotifierSettings {
    /// The most entries that wait to be sent. Beyond it new ones are dropped: the sweep of other nodes finds what
    /// they were about.
    pub max_pending: usize,
    /// The most entries that go into one statement.
    pub max_batch: usize,
    /// How soon after it began one statement a busy notifier begins the next: one whose last statement told more than one thing. Another sends at once. At
    /// most a second.
    #[serde(with = "domain::duration")]
    pub min_interval: Duration,
    /// How long a statement waits for the lock that NOTIFY takes at commit.
    #[serde(with = "domain::duration")]
    pub lock_timeout: Duration,
    /// How long a statement may take in all before the connection is given up.
    #[serde(with = "domain::duration")]
    pub send_timeout: Duration,
    /// How long connecting may take.
    #[serde(with = "domain::duration")]
    pub connect_timeout: Duration,
    /// The longest pause between attempts to connect or send; they begin at a tenth of a second, with jitter.
    #[serde(with = "domain::duration")]
    pub reconnect_max_delay: Duration,
    /// How long a stop waits for what is still to be sent.
    #[serde(with = "domain::duration")]
    pub shutdown_timeout: Duration,
}

impl Default for NotifierSettings {
    fn default() -> Self {
        Self {
            max_pending: 100_000,
            max_batch: 5_000,
            min_interval: Duration::from_millis(5),
            lock_timeout: Duration::from_secs(1),
            send_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(5),
            reconnect_max_delay: Duration::from_secs(3),
            shutdown_timeout: Duration::from_secs(1),
        }
    }
}

impl NotifierSettings {
    /// Checks values that could not work.
    ///
    /// # Errors
    ///
    /// The key and what is allowed.
    pub fn validate(&self) -> Result<(), Invalid> {
        if self.max_pending == 0 {
            return Err(Invalid::new("notifier.max_pending", "0", "1 or more"));
        }
        if self.max_batch == 0 {
            return Err(Invalid::new("notifier.max_batch", "0", "1 or more"));
        }
        if self.min_interval > LONGEST_PAUSE {
            let given = domain::duration::display(self.min_interval);
            return Err(Invalid::new("notifier.min_interval", &given, "0s to 1s"));
        }
        // PostgreSQL reads 0 as "wait for ever", and keeps milliseconds in 31 bits.
        positive("notifier.lock_timeout", self.lock_timeout)?;
        positive("notifier.connect_timeout", self.connect_timeout)?;
        positive("notifier.reconnect_max_delay", self.reconnect_max_delay)?;
        positive("notifier.send_timeout", self.send_timeout)?;
        if self.lock_timeout >= self.send_timeout {
            let given = domain::duration::display(self.lock_timeout);
            return Err(Invalid::new("notifier.lock_timeout", &given, "less than notifier.send_timeout"));
        }
        Ok(())
    }
}

/// An hour is far beyond use for all of these, and keeps every sum of them in range.
fn positive(key: &'static str, duration: Duration) -> Result<(), Invalid> {
    if (Duration::from_millis(1)..=Duration::from_secs(3600)).contains(&duration) {
        Ok(())
    } else {
        Err(Invalid::new(key, &domain::duration::display(duration), "1ms to 1h"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_good_and_zeros_are_named() {
        assert_eq!(ListenerSettings::default().validate(), Ok(()));
        assert_eq!(NotifierSettings::default().validate(), Ok(()));
        let never = ListenerSettings { check_interval: Duration::ZERO, ..ListenerSettings::default() };
        assert!(never.validate().is_err_and(|invalid| invalid.field == "listener.check_interval"));
        let slow = NotifierSettings { min_interval: Duration::from_secs(2), ..NotifierSettings::default() };
        assert!(slow.validate().is_err_and(|invalid| invalid.field == "notifier.min_interval"));
        let wrong = NotifierSettings { lock_timeout: Duration::from_secs(3), ..NotifierSettings::default() };
        assert!(wrong.validate().is_err_and(|invalid| invalid.field == "notifier.lock_timeout"));
    }
}
