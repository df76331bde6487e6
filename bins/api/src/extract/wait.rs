//! How long a caller wants to wait for an answer that is not there yet.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use utoipa::IntoParams;

/// The longest wait.
pub const MAX_WAIT: Duration = Duration::from_secs(60);

/// A wait, in the query.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WaitQuery {
    /// How long the answer may be waited for: 0 to 60 seconds, as a number or as text such as `30s`. No time at all
    /// when it is left out.
    #[serde(default, deserialize_with = "wait")]
    #[param(value_type = Option<String>, example = "30s")]
    pub wait: Duration,
}

fn wait<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let wait = domain::duration::deserialize(deserializer)?;
    if wait > MAX_WAIT {
        let (given, most) = (domain::duration::display(wait), MAX_WAIT.as_secs());
        return Err(D::Error::custom(format_args!("{given} is not allowed; allowed is 0 to {most} seconds")));
    }
    Ok(wait)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::query::parse;

    #[test]
    fn waits_are_seconds_or_text_and_not_too_long() {
        for (query, millis) in [
            ("", 0),
            ("wait=0", 0),
            ("wait=5", 5000),
            ("wait=1.5", 1500),
            ("wait=250ms", 250),
            ("wait=1m", 60_000),
        ] {
            let asked: WaitQuery = parse(query).expect(query);
            assert_eq!(asked.wait, Duration::from_millis(millis), "{query}");
        }
        for query in ["wait=61", "wait=2m", "wait=-1", "wait=", "wait=long", "wait=1e999"] {
            let problem = parse::<WaitQuery>(query).expect_err(query);
            assert!(problem.detail().starts_with("wait: "), "{query}: {}", problem.detail());
            assert!(problem.detail().contains("allowed is"), "{query}: {}", problem.detail());
        }
    }
}
