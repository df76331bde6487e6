//! What an answer means.

use std::time::Duration;

use outbound::{Answer, OutboundError, StatusCode};

/// The longest wait that is believed.
pub const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// What became of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What follows from it.
    pub outcome: Outcome,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// Why, in a few words. Names a host at most: no endpoint, no token.
    pub reason: String,
}

/// What follows from an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The service took it. Whether it reaches the device, nobody is told.
    Sent,
    /// The subscription is over: forget it.
    Gone,
    /// Try again. It may have arrived all the same.
    Later {
        /// Not before this time has passed, if the service said so; at most [`LONGEST_WAIT`].
        after: Option<Duration>,
    },
    /// We are not let in, whatever we send: something for the operator. The subscription may be good.
    Denied,
    /// The payload is too long: shorten it.
    TooLarge,
    /// It is not taken, and won't be.
    Refused,
}

impl Outcome {
    /// Its name, for metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Gone => "gone",
            Self::Later { .. } => "later",
            Self::Denied => "denied",
            Self::TooLarge => "too_large",
            Self::Refused => "refused",
        }
    }
}

impl Verdict {
    /// Of an attempt that ended before there was an answer.
    pub(crate) fn unanswered(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self { outcome, status: None, reason: reason.into() }
    }

    /// Of an exchange with a push service.
    pub(crate) fn of(exchange: Result<Answer, OutboundError>) -> Self {
        match exchange {
            Ok(answer) => Self {
                outcome: outcome(answer.status, answer.retry_after),
                status: Some(answer.status.as_u16()),
                reason: format!("answered with {}", answer.status),
            },
            Err(error) if error.is_retryable() => {
                Self::unanswered(Outcome::Later { after: None }, error.to_string())
            }
            Err(error) => Self::unanswered(Outcome::Refused, error.to_string()),
        }
    }
}

fn outcome(status: StatusCode, retry_after: Option<Duration>) -> Outcome {
    let later = Outcome::Later { after: retry_after.map(|after| after.min(LONGEST_WAIT)) };
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => Outcome::Gone,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Outcome::Denied,
        StatusCode::PAYLOAD_TOO_LARGE => Outcome::TooLarge,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => later,
        status if status.is_success() => Outcome::Sent,
        status if status.is_server_error() => later,
        _ => Outcome::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_its_meaning() {
        let wait = |seconds| Some(Duration::from_secs(seconds));
        let later = |after| Outcome::Later { after };
        for (status, retry_after, expected) in [
            (200, None, Outcome::Sent),
            (201, None, Outcome::Sent),
            (202, wait(5), Outcome::Sent),
            (204, None, Outcome::Sent),
            (301, None, Outcome::Refused),
            (302, None, Outcome::Refused),
            (304, None, Outcome::Refused),
            (307, None, Outcome::Refused),
            (308, None, Outcome::Refused),
            (400, None, Outcome::Refused),
            (401, None, Outcome::Denied),
            (403, wait(5), Outcome::Denied),
            (404, None, Outcome::Gone),
            (405, None, Outcome::Refused),
            (406, None, Outcome::Refused),
            (408, None, later(None)),
            (409, None, Outcome::Refused),
            (410, wait(5), Outcome::Gone),
            (411, None, Outcome::Refused),
            (413, wait(5), Outcome::TooLarge),
            (415, None, Outcome::Refused),
            (422, None, Outcome::Refused),
            (429, None, later(None)),
            (429, wait(0), later(wait(0))),
            (429, wait(7), later(wait(7))),
            (429, wait(u64::MAX), later(Some(LONGEST_WAIT))),
            (500, None, later(None)),
            (500, wait(7), later(wait(7))),
            (501, None, later(None)),
            (502, None, later(None)),
            (503, None, later(None)),
            (503, wait(24 * 3600), later(Some(LONGEST_WAIT))),
            (503, wait(24 * 3600 + 1), later(Some(LONGEST_WAIT))),
            (504, None, later(None)),
            (599, None, later(None)),
            (999, None, Outcome::Refused),
        ] {
            let answer = Answer {
                status: StatusCode::from_u16(status).unwrap(),
                retry_after,
                body: "topsecret".to_owned(),
                is_whole: true,
            };
            let verdict = Verdict::of(Ok(answer));
            assert_eq!((verdict.outcome, verdict.status), (expected, Some(status)), "{status}");
            assert!(verdict.reason.contains(&status.to_string()) && !verdict.reason.contains("topsecret"));
        }
    }

    #[test]
    fn outcomes_have_distinct_names() {
        let all = [
            Outcome::Sent,
            Outcome::Gone,
            Outcome::Later { after: None },
            Outcome::Denied,
            Outcome::TooLarge,
            Outcome::Refused,
        ];
        let names: std::collections::BTreeSet<_> = all.iter().map(|outcome| outcome.as_str()).collect();
        assert_eq!(names.len(), all.len());
    }
}
