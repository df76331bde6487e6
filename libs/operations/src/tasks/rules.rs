//! What a task may be.

use std::time::Duration;

use domain::task::Action;
use domain::{Invalid, Schedule, text};
use jiff::Timestamp;
use outbound::OutboundSettings;

use crate::Operations;
use crate::settings::TasksSettings;

/// Times of a schedule that are looked at for the shortest time between two.
const LOOKED_AT: usize = 100;

/// The shortest `max_runtime`.
const SHORTEST: Duration = Duration::from_secs(1);

/// When a task runs, checked.
#[derive(Debug)]
pub(super) struct Times {
    /// The schedule, if there is one.
    pub(super) schedule: Option<Schedule>,
    /// The zone by its name in the database of zones.
    pub(super) zone: String,
}

impl Operations {
    /// Checks a schedule, if there is one, and its zone.
    pub(super) fn times(&self, text: Option<&str>, zone: &str, anchor: Timestamp) -> Result<Times, Invalid> {
        let Some(text) = text else {
            // Any schedule tells whether the zone is known.
            let zone = Schedule::parse("@daily", zone)?.zone().to_owned();
            return Ok(Times { schedule: None, zone });
        };
        let schedule = schedule(text, zone, anchor, self.tasks.min_interval)?;
        let zone = schedule.zone().to_owned();
        Ok(Times { schedule: Some(schedule), zone })
    }

    /// Checks what is done.
    pub(super) fn action(&self, action: Action) -> Result<Action, Invalid> {
        let limits = Limits {
            body: self.messages.max_body_bytes,
            input: self.runs.max_input_bytes,
            outbound: &self.outbound,
            webhook: self.tasks.max_input_bytes,
        };
        check_action(&action, &limits)?;
        Ok(action)
    }

    /// Checks how long a run may take.
    pub(super) fn max_runtime(&self, given: Option<Duration>) -> Result<Duration, Invalid> {
        given.map_or(Ok(self.tasks.max_runtime), |given| max_runtime(given, &self.tasks))
    }
}

/// What actions are held to.
struct Limits<'a> {
    /// Longest body of a message.
    body: usize,
    /// Largest input of an agent's run.
    input: usize,
    /// Where webhooks may lead.
    outbound: &'a OutboundSettings,
    /// Largest body of a webhook.
    webhook: usize,
}

/// A name of a task.
pub(super) fn name(name: String) -> Result<String, Invalid> {
    text::name("name", &name)?;
    Ok(name)
}

/// Reads a schedule that fires, and not more often than it may.
pub(super) fn schedule(
    text: &str,
    zone: &str,
    anchor: Timestamp,
    min_interval: Duration,
) -> Result<Schedule, Invalid> {
    let schedule = Schedule::parse(text, zone)?.anchored_at(anchor);
    let times = schedule.upcoming(anchor, LOOKED_AT);
    if times.is_empty() {
        return Err(Invalid::new("schedule", text, "a schedule that names a day there is"));
    }
    let shortest = times.windows(2).map(|two| two[1].duration_since(two[0]).unsigned_abs()).min();
    if shortest.is_some_and(|shortest| shortest < min_interval) {
        let allowed = format!("at most one run every {}", domain::duration::display(min_interval));
        return Err(Invalid::new("schedule", text, allowed));
    }
    Ok(schedule)
}

fn max_runtime(given: Duration, settings: &TasksSettings) -> Result<Duration, Invalid> {
    if (SHORTEST..=settings.max_runtime_limit).contains(&given) {
        return Ok(given);
    }
    let shown = domain::duration::display;
    let allowed = format!("{} to {}", shown(SHORTEST), shown(settings.max_runtime_limit));
    Err(Invalid::new("max_runtime", &shown(given), allowed))
}

fn check_action(action: &Action, limits: &Limits<'_>) -> Result<(), Invalid> {
    match action {
        Action::Message { body, .. } => {
            text::body(body, limits.body).map_err(|invalid| of_field("action.body", invalid))
        }
        Action::AgentRun { input, .. } => check_value("action.input", input, limits.input),
        Action::Webhook { url, body } => {
            limits.outbound.check_url(url).map_err(|invalid| of_field("action.url", invalid))?;
            body.as_ref().map_or(Ok(()), |body| check_value("action.body", body, limits.webhook))
        }
        Action::System { .. } => Ok(()),
    }
}

fn check_value(field: &'static str, value: &serde_json::Value, max_bytes: usize) -> Result<(), Invalid> {
    let json = value.to_string();
    if json.len() > max_bytes {
        let allowed = format!("at most {max_bytes} bytes of JSON");
        return Err(Invalid::described(field, format!("{} bytes", json.len()), allowed));
    }
    if domain::document::has_nul(&json) {
        return Err(Invalid::described(field, "a NUL character", "text without NUL"));
    }
    Ok(())
}

fn of_field(field: &'static str, invalid: Invalid) -> Invalid {
    Invalid { field, ..invalid }
}

#[cfg(test)]
mod tests;
