//! Work on Switchboard itself.

use auth::SecretSettings;
use domain::task::{RunEnd, SystemJob};
use tokio_util::sync::CancellationToken;

use super::super::outcome::Outcome;
use crate::retention::Retention;

/// What system jobs work with.
pub struct SystemJobs {
    /// What removes what is spent.
    pub retention: Retention,
    /// Where the signing keys are.
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
            SystemJob::KeyCheck => match auth::keys::check(&self.secrets).await {
                Ok(keys) => Outcome::done(Some(format!("{keys} signing keys can be read"))),
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
