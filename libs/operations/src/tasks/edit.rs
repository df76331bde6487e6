//! Edits of tasks.

use std::time::Duration;

use auth::SigningSecret;
use domain::task::{Action, Misfire, Priority};
use domain::{Invalid, Schedule, TaskId, UserId};
use jiff::Timestamp;
use store::Refusal;
use store::tasks::{Task, TaskEdit, TaskRights, TaskSettings};

use super::{kept, rules, webhook_secret};
use crate::Operations;
use crate::error::Error;

/// How often an edit is tried that others get in the way of.
const TRIES: usize = 20;

/// Changes of a task; what is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct EditTask {
    /// For people.
    pub name: Option<String>,
    /// When; `Some(None)` for a task that runs only when it is told to.
    pub schedule: Option<Option<String>>,
    /// The zone of the schedule.
    pub timezone: Option<String>,
    /// What is done.
    pub action: Option<Action>,
    /// Whether it runs by itself.
    pub is_active: Option<bool>,
    /// Its place among its owner's.
    pub priority: Option<Priority>,
    /// How long a run may take.
    pub max_runtime: Option<Duration>,
    /// Attempts after the first.
    pub retries: Option<u32>,
    /// What becomes of ticks that were missed.
    pub misfire: Option<Misfire>,
}

/// A task that was edited.
#[derive(Debug)]
pub struct EditedTask {
    /// The task as it is now.
    pub task: Task,
    /// What calls of its webhook are signed with, when it was given one by this.
    pub webhook: Option<SigningSecret>,
}

impl EditTask {
    /// Whether it changes nothing.
    fn is_empty(&self) -> bool {
        self.is_active.is_none() && self.leaves_the_rest()
    }

    /// Whether all it does is to pause the task.
    fn only_pauses(&self) -> bool {
        self.is_active == Some(false) && self.leaves_the_rest()
    }

    fn leaves_the_rest(&self) -> bool {
        let Self { name, schedule, timezone, action, is_active: _, priority, max_runtime, retries, misfire } =
            self;
        let times = schedule.is_none() && timezone.is_none() && max_runtime.is_none() && retries.is_none();
        times && name.is_none() && action.is_none() && priority.is_none() && misfire.is_none()
    }
}

impl Operations {
    /// Edits a task. Its times are planned anew from now when schedule, zone or whether it is active changes.
    ///
    /// # Errors
    ///
    /// `Invalid` for a change, or none; `NotFound`; `Forbidden`, for those who do not own it and do more than pause it; `Conflict` when
    /// others edit it all the time.
    pub async fn edit_task(&self, actor: UserId, id: TaskId, edit: EditTask) -> Result<EditedTask, Error> {
        if edit.is_empty() {
            return Err(Invalid::described("the body", "no change", "a change of at least one field").into());
        }
        match self.rights(actor, id).await? {
            TaskRights::Owner => {}
            TaskRights::Moderator if edit.only_pauses() => {}
            TaskRights::Moderator | TaskRights::Reader => return Err(Refusal::Forbidden.into()),
        }
        for _ in 0..TRIES {
            let task = self.task(actor, id).await?;
            let now = self.store.time().await?;
            let settings = self.edited(&task.settings, &edit, now)?;
            self.may_run(task.owner, &settings).await?;
            let was_webhook = matches!(task.settings.action, Action::Webhook { .. });
            let webhook = if was_webhook { None } else { webhook_secret(&settings.action)? };
            let written = TaskEdit {
                id,
                version: task.version,
                next: next(&settings, now)?,
                replan: is_replanned(&task.settings, &settings),
                webhook_key: webhook.as_ref().map(kept),
                settings,
            };
            if self.store.edit_task(&written).await? {
                self.announcer.task_due(id);
                return Ok(EditedTask { task: self.task(actor, id).await?, webhook });
            }
        }
        Err(Refusal::Conflict("the task is edited by others at this moment; try again").into())
    }

    /// The settings with the changes, which alone are checked: limits that were other ones when the task was made keep nobody from pausing it.
    fn edited(&self, old: &TaskSettings, edit: &EditTask, now: Timestamp) -> Result<TaskSettings, Invalid> {
        let edit = edit.clone();
        let mut new = old.clone();
        if edit.schedule.is_some() || edit.timezone.is_some() {
            let text = edit.schedule.unwrap_or_else(|| old.schedule.clone());
            let anchor = if text == old.schedule { old.anchor } else { now };
            let times =
                self.times(text.as_deref(), edit.timezone.as_deref().unwrap_or(&old.timezone), anchor)?;
            new.schedule = times.schedule.map(|schedule| schedule.text().to_owned());
            (new.timezone, new.anchor) = (times.zone, anchor);
        }
        if let Some(name) = edit.name {
            new.name = rules::name(name)?;
        }
        if let Some(action) = edit.action {
            new.action = self.action(action)?;
        }
        if let Some(given) = edit.max_runtime {
            new.max_runtime = self.max_runtime(Some(given))?;
        }
        if let Some(retries) = edit.retries {
            new.retries = domain::task::retries(retries)?;
        }
        new.is_active = edit.is_active.unwrap_or(old.is_active);
        new.priority = edit.priority.unwrap_or(old.priority);
        new.misfire = edit.misfire.unwrap_or(old.misfire);
        Ok(new)
    }
}

/// The next tick from now on.
fn next(settings: &TaskSettings, now: Timestamp) -> Result<Option<Timestamp>, Invalid> {
    let Some(schedule) = settings.schedule.as_deref().filter(|_| settings.is_active) else { return Ok(None) };
    let schedule = Schedule::parse(schedule, &settings.timezone)?.anchored_at(settings.anchor);
    Ok(schedule.next_after(now))
}

/// Whether an edit changes when the task runs.
fn is_replanned(old: &TaskSettings, new: &TaskSettings) -> bool {
    old.schedule != new.schedule || old.timezone != new.timezone || old.is_active != new.is_active
}

#[cfg(test)]
mod tests {
    use domain::task::SystemJob;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect(text)
    }

    fn every_minute() -> TaskSettings {
        TaskSettings {
            name: "Clean up".into(),
            schedule: Some("every 1m".into()),
            timezone: "UTC".into(),
            anchor: at("2030-01-01T00:00:10.000001Z"),
            action: Action::System { name: SystemJob::Noop },
            is_active: true,
            priority: Priority::Normal,
            max_runtime: Duration::from_secs(60),
            retries: 3,
            misfire: Misfire::Once,
        }
    }

    #[test]
    fn the_next_tick_keeps_to_the_anchor_and_a_paused_task_has_none() {
        let now = at("2030-01-01T12:00:00Z");
        let settings = every_minute();
        assert_eq!(next(&settings, now), Ok(Some(at("2030-01-01T12:00:10.000001Z"))));
        let paused = TaskSettings { is_active: false, ..settings.clone() };
        assert_eq!(next(&paused, now), Ok(None));
        let by_hand = TaskSettings { schedule: None, ..settings };
        assert_eq!(next(&by_hand, now), Ok(None));
    }

    #[test]
    fn times_are_planned_anew_when_they_change_only() {
        let old = every_minute();
        let renamed = TaskSettings {
            name: "Tidy".into(),
            misfire: Misfire::Skip,
            priority: Priority::Low,
            retries: 0,
            max_runtime: Duration::from_secs(5),
            ..old.clone()
        };
        assert!(!is_replanned(&old, &renamed));
        for changed in [
            TaskSettings { schedule: None, ..old.clone() },
            TaskSettings { timezone: "Europe/Berlin".into(), ..old.clone() },
            TaskSettings { is_active: false, ..old.clone() },
        ] {
            assert!(is_replanned(&old, &changed), "{changed:?}");
        }
    }

    #[test]
    fn a_pause_is_nothing_but_a_pause() {
        let pause = EditTask { is_active: Some(false), ..EditTask::default() };
        assert!(pause.only_pauses() && !pause.is_empty() && EditTask::default().is_empty());
        for more in [
            EditTask { is_active: Some(true), ..EditTask::default() },
            EditTask { name: Some("Tidy".into()), ..pause.clone() },
            EditTask { schedule: Some(None), ..pause.clone() },
            EditTask { timezone: Some("UTC".into()), ..pause.clone() },
            EditTask { action: Some(Action::System { name: SystemJob::Noop }), ..pause.clone() },
            EditTask { priority: Some(Priority::High), ..pause.clone() },
            EditTask { max_runtime: Some(Duration::from_secs(1)), ..pause.clone() },
            EditTask { retries: Some(1), ..pause.clone() },
            EditTask { misfire: Some(Misfire::Skip), ..pause },
        ] {
            assert!(!more.only_pauses() && !more.is_empty(), "{more:?}");
        }
    }
}
