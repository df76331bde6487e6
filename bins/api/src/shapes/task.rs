//! Tasks and their runs.

use std::time::Duration;

use domain::task::Action;
use operations::tasks::runs::delivery_as_given;
use serde::Serialize;
use serde_json::Number;
use store::tasks::{HookSignature, Task, TaskRun};
use utoipa::ToSchema;
use uuid::Uuid;

use super::time;

/// What a task does, by its kind.
#[derive(Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schema(as = Action)]
pub enum ActionShape {
    /// Says something in a room, in the owner's name.
    Message {
        /// Where.
        room_id: Uuid,
        /// What.
        body: String,
    },
    /// Asks an agent for a run, and follows it to its end.
    AgentRun {
        /// Where.
        room_id: Uuid,
        /// Whom.
        agent_id: Uuid,
        /// What is asked; any JSON.
        input: serde_json::Value,
    },
    /// Posts to a URL.
    Webhook {
        /// Where to.
        url: String,
        /// What is sent; any JSON. Without one, what made the run.
        body: Option<serde_json::Value>,
    },
    /// Does something for Switchboard itself; for administrators.
    System {
        /// `retention`, `ticket_reap`, `key_check` or `noop`.
        #[schema(pattern = "^(retention|ticket_reap|key_check|noop)$")]
        name: &'static str,
    },
}

/// A hook of a task.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Hook)]
pub struct HookShape {
    /// What callers must bring beside knowing the address: `none`, `standard` or `github`.
    #[schema(pattern = "^(none|standard|github)$")]
    pub signature: &'static str,
}

impl From<HookSignature> for HookShape {
    fn from(signature: HookSignature) -> Self {
        Self {
            signature: match signature {
                HookSignature::None => "none",
                HookSignature::Standard => "standard",
                HookSignature::Github => "github",
            },
        }
    }
}

/// What is shown once, in the answer that made it.
#[derive(Clone, Default, Serialize, ToSchema)]
pub struct ShownSecrets {
    /// The address of the hook: who knows it can call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_url: Option<String>,
    /// What callers of the hook sign with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_secret: Option<String>,
    /// What calls to the URL of the action are signed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_secret: Option<String>,
}

/// A task: what is done again and again.
#[derive(Serialize, ToSchema)]
#[schema(as = Task)]
pub struct TaskShape {
    /// Which.
    pub id: Uuid,
    /// Whose.
    pub owner_id: Uuid,
    /// For people.
    pub name: String,
    /// When; null for a task that runs only when it is told to.
    pub schedule: Option<String>,
    /// The zone of the schedule.
    pub timezone: String,
    /// What is done.
    #[schema(value_type = ActionShape)]
    pub action: Action,
    /// Whether its schedule and its hook are listened to.
    pub is_active: bool,
    /// Its place among its owner's: `high`, `normal` or `low`.
    #[schema(pattern = "^(high|normal|low)$")]
    pub priority: &'static str,
    /// How long a run may take, in seconds.
    #[schema(value_type = f64)]
    pub max_runtime: Number,
    /// Attempts after the first.
    pub retries: u32,
    /// What becomes of ticks that nobody was there for: `skip` or `once`.
    #[schema(pattern = "^(skip|once)$")]
    pub misfire: &'static str,
    /// When it runs next; null while the run before is worked on, and when it does not run by itself.
    #[schema(format = DateTime)]
    pub next_run_at: Option<String>,
    /// When its newest run was started.
    #[schema(format = DateTime)]
    pub last_run_at: Option<String>,
    /// Runs that are over.
    pub run_count: u64,
    /// Its hook, if it has one.
    pub hook: Option<HookShape>,
    /// What is shown once.
    #[serde(flatten)]
    pub secrets: ShownSecrets,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last edited.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

impl From<Task> for TaskShape {
    fn from(task: Task) -> Self {
        let settings = task.settings;
        Self {
            id: task.id.0,
            owner_id: task.owner.0,
            name: settings.name,
            schedule: settings.schedule,
            timezone: settings.timezone,
            action: settings.action,
            is_active: settings.is_active,
            priority: settings.priority.as_str(),
            max_runtime: seconds(settings.max_runtime),
            retries: settings.retries,
            misfire: settings.misfire.as_str(),
            next_run_at: task.next_run_at.map(time),
            last_run_at: task.last_run_at.map(time),
            run_count: task.run_count,
            hook: task.hook.map(HookShape::from),
            secrets: ShownSecrets::default(),
            created_at: time(task.created_at),
            updated_at: time(task.updated_at),
        }
    }
}

/// A number of seconds, whole where it can be.
fn seconds(duration: Duration) -> Number {
    if duration.subsec_nanos() > 0
        && let Some(number) = Number::from_f64(duration.as_secs_f64())
    {
        return number;
    }
    duration.as_secs().into()
}

/// A run of a task: one attempt at it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = TaskRun)]
pub struct TaskRunShape {
    /// Which.
    pub id: Uuid,
    /// Of which task.
    pub task_id: Uuid,
    /// `queued`, `running`, `succeeded`, `failed`, `timed_out`, `cancelled` or `lost`.
    #[schema(pattern = "^(queued|running|succeeded|failed|timed_out|cancelled|lost)$")]
    pub status: &'static str,
    /// Why it is queued: `scheduled`, `backoff`, `task_busy`, `in_line` or `scheduler_disabled`.
    pub reason: Option<&'static str>,
    /// What made it: `schedule`, `webhook` or `manual`.
    #[schema(pattern = "^(schedule|webhook|manual)$")]
    pub trigger: &'static str,
    /// The time of the schedule that it is for, or when it was asked for.
    #[schema(format = DateTime)]
    pub scheduled_for: String,
    /// From when on it may be begun: of one that is tried again, when. Null when it is over.
    #[schema(format = DateTime)]
    pub due_at: Option<String>,
    /// 1 for the first attempt at the same thing.
    pub attempt: u32,
    /// How often a worker took it.
    pub epoch: u64,
    /// The node that works or worked on it.
    pub node_id: Option<Uuid>,
    /// Until when its worker has it, unless it says more.
    #[schema(format = DateTime)]
    pub lease_expires_at: Option<String>,
    /// What the caller called what it brought, or the key of a "run now".
    pub delivery_id: Option<String>,
    /// Whether somebody asked for its end and its worker has not stopped yet.
    pub cancel_requested: bool,
    /// What went wrong.
    pub error: Option<String>,
    /// What came of it.
    pub output: Option<String>,
    /// When it was queued.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When a worker last took it.
    #[schema(format = DateTime)]
    pub started_at: Option<String>,
    /// When it was over.
    #[schema(format = DateTime)]
    pub finished_at: Option<String>,
}

impl From<TaskRun> for TaskRunShape {
    fn from(run: TaskRun) -> Self {
        Self {
            id: run.id.0,
            task_id: run.task.0,
            status: run.status.as_str(),
            reason: run.reason.map(domain::task::QueueReason::as_str),
            trigger: run.trigger.as_str(),
            scheduled_for: time(run.scheduled_for),
            due_at: run.due_at.map(time),
            attempt: run.attempt,
            epoch: run.epoch,
            node_id: run.node.map(|node| node.0),
            lease_expires_at: run.lease_expires_at.map(time),
            delivery_id: run.delivery.as_deref().map(|given| delivery_as_given(given).to_owned()),
            cancel_requested: run.cancel_requested,
            error: run.error,
            output: run.output,
            created_at: time(run.created_at),
            started_at: run.started_at.map(time),
            finished_at: run.finished_at.map(time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_numbers_of_seconds() {
        let written = |millis| seconds(Duration::from_millis(millis)).to_string();
        assert_eq!((written(300_000), written(1500)), ("300".to_owned(), "1.5".to_owned()));
    }
}
