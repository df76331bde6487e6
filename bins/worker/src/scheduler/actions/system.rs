//! Work on Switchboard itself.

use auth::{KeySettings, SecretSettings};
use domain::task::{RunEnd, SystemJob};
use tokio_util::sync::CancellationToken;

use super::super::outcome::Outcome;
use crate::retention::Retention;

/// What system jobs work with.
pub struct SystemJobs {
    /// What removes what is spent.
    pub retention: Retention,
    /// How the signing keys are kept.
    pub signing_key: KeySettings,
    /// Where they are.
    pub secrets: SecretSettings,
}

impl SystemJobs {
    /// Does a job. Each is safe to be done twice, or by two at once.
    pub(super) async fn run(&self, job: SystemJob) -> Outcome {
        // Dropped with the run when that is stopped.
        let stop = CancellationToken::new();
        match job {
            SystemJob::Noop => Outcome::done(None),
            SystemJob::Retention => done(self.retention.pass(&stop).await),
            SystemJob::TicketReap => done(self.retention.reap(&stop).await),
            SystemJob::KeyCheck => match auth::keys::check(&self.signing_key, &self.secrets).await {
                Ok(found) => Outcome::done(Some(found)),
                Err(error) => Outcome::ended(RunEnd::Failed, error.to_string()),
            },
        }
    }
}

fn done(outcome: Result<(), store::StoreError>) -> Outcome {
    match outcome {
        Ok(()) => Outcome::done(None),
        Err(error) => Outcome::ended(RunEnd::Failed, error.public_message()),
    }
}
