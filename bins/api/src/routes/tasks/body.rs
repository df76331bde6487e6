//! What is asked of tasks.

use domain::task::{Action, Misfire, Priority, SystemJob};
use domain::{AgentId, RoomId, UserId};
use operations::{CreateTask, EditTask};
use serde::Deserialize;
use store::tasks::HookSignature;
use utoipa::ToSchema;

use crate::extract::free::{given, nullable};
use crate::extract::{Free, Lasting, Object};
use crate::problem::Problem;
use crate::shapes::ActionShape;

/// A task to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTask)]
pub struct NewTaskBody {
    /// For people.
    #[schema(min_length = 1, max_length = 80)]
    name: String,
    /// Five fields of cron, a name such as `@daily`, or `every 90s`; none for a task that runs only when it is told to.
    #[schema(max_length = 256)]
    schedule: Option<String>,
    /// The zone of the schedule, of the IANA database; UTC when it is left out.
    #[schema(example = "Europe/Berlin")]
    timezone: Option<String>,
    /// What is done.
    #[schema(value_type = ActionShape)]
    action: Object<ActionBody>,
    /// Whether it runs by itself; true when it is left out.
    is_active: Option<bool>,
    /// Its place among its owner's; normal when it is left out.
    #[schema(value_type = Option<String>, pattern = "^(high|normal|low)$")]
    priority: Option<Priority>,
    /// How long a run may take: seconds as a number, or text such as `90s`. `tasks.max_runtime` when it is left out.
    #[schema(value_type = Option<String>, example = "90s")]
    max_runtime: Option<Lasting>,
    /// Attempts after the first; `tasks.retries` when it is left out.
    #[schema(maximum = 20)]
    retries: Option<u32>,
    /// What becomes of ticks that nobody was there for; once when it is left out.
    #[schema(value_type = Option<String>, pattern = "^(skip|once)$")]
    misfire: Option<Misfire>,
    /// What callers of its hook must bring; null for a task without a hook. Left out, knowing the address is enough.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<HookBody>)]
    hook: Option<Option<Object<HookBody>>>,
}

/// Changes of a task; what is left out stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TaskChanges)]
pub struct TaskChangesBody {
    /// For people.
    #[schema(min_length = 1, max_length = 80)]
    name: Option<String>,
    /// When; null for a task that runs only when it is told to.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<String>, max_length = 256)]
    schedule: Option<Option<String>>,
    /// The zone of the schedule.
    timezone: Option<String>,
    /// What is done; as a whole.
    #[schema(value_type = Option<ActionShape>)]
    action: Option<Object<ActionBody>>,
    /// Whether it runs by itself.
    is_active: Option<bool>,
    /// Its place among its owner's.
    #[schema(value_type = Option<String>, pattern = "^(high|normal|low)$")]
    priority: Option<Priority>,
    /// How long a run may take.
    #[schema(value_type = Option<String>, example = "90s")]
    max_runtime: Option<Lasting>,
    /// Attempts after the first.
    #[schema(maximum = 20)]
    retries: Option<u32>,
    /// What becomes of ticks that nobody was there for.
    #[schema(value_type = Option<String>, pattern = "^(skip|once)$")]
    misfire: Option<Misfire>,
}

/// A hook to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewHook)]
pub struct HookBody {
    /// What callers must bring beside knowing the address: `none`, the headers of Standard Webhooks (`standard`), or what GitHub sends (`github`).
    #[schema(value_type = Option<String>, pattern = "^(none|standard|github)$")]
    signature: Option<Signature>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Signature {
    None,
    Standard,
    Github,
}

/// An action, with the fields of all kinds: so that what is wrong with one is said of that one. Which belong to which kind, [`ActionBody::read`] knows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ActionBody {
    kind: Kind,
    room_id: Option<RoomId>,
    agent_id: Option<AgentId>,
    #[serde(default, deserialize_with = "given")]
    body: Option<Free>,
    #[serde(default, deserialize_with = "given")]
    input: Option<Free>,
    url: Option<String>,
    name: Option<SystemJob>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Message,
    AgentRun,
    Webhook,
    System,
}

impl NewTaskBody {
    pub(super) fn read(self, owner: UserId, key: Option<String>) -> Result<CreateTask, Problem> {
        let hook = match self.hook {
            None => Some(HookSignature::None),
            Some(hook) => hook.map(|Object(hook)| hook.signature().unwrap_or(HookSignature::None)),
        };
        Ok(CreateTask {
            owner,
            name: self.name,
            schedule: self.schedule,
            timezone: self.timezone,
            action: self.action.0.read()?,
            is_active: self.is_active.unwrap_or(true),
            priority: self.priority.unwrap_or_default(),
            max_runtime: self.max_runtime.map(|Lasting(given)| given),
            retries: self.retries,
            misfire: self.misfire.unwrap_or_default(),
            hook,
            key,
        })
    }
}

impl TaskChangesBody {
    pub(super) fn read(self) -> Result<EditTask, Problem> {
        Ok(EditTask {
            name: self.name,
            schedule: self.schedule,
            timezone: self.timezone,
            action: self.action.map(|Object(action)| action.read()).transpose()?,
            is_active: self.is_active,
            priority: self.priority,
            max_runtime: self.max_runtime.map(|Lasting(given)| given),
            retries: self.retries,
            misfire: self.misfire,
        })
    }
}

impl HookBody {
    pub(super) fn signature(&self) -> Option<HookSignature> {
        self.signature.map(|signature| match signature {
            Signature::None => HookSignature::None,
            Signature::Standard => HookSignature::Standard,
            Signature::Github => HookSignature::Github,
        })
    }
}

impl ActionBody {
    fn read(self) -> Result<Action, Problem> {
        let Self { kind, room_id, agent_id, body, input, url, name } = self;
        let given = [
            ("room_id", room_id.is_some()),
            ("agent_id", agent_id.is_some()),
            ("body", body.is_some()),
            ("input", input.is_some()),
            ("url", url.is_some()),
            ("name", name.is_some()),
        ];
        let known = kind.fields();
        if let Some((field, _)) = given.iter().find(|(field, is_given)| *is_given && !known.contains(field)) {
            let known: Vec<_> = known.iter().map(|field| format!("`{field}`")).collect();
            let detail = format!("is unknown; known is `kind`, {}", known.join(", "));
            return Err(Problem::field(format!("action.{field}"), detail));
        }
        Ok(match kind {
            Kind::Message => Action::Message {
                room_id: there("room_id", room_id)?,
                body: text("body", &there("body", body)?)?,
            },
            Kind::AgentRun => Action::AgentRun {
                room_id: there("room_id", room_id)?,
                agent_id: there("agent_id", agent_id)?,
                input: value("input", &there("input", input)?)?,
            },
            Kind::Webhook => Action::Webhook {
                url: there("url", url)?,
                body: body.map(|body| value("body", &body)).transpose()?,
            },
            Kind::System => Action::System { name: there("name", name)? },
        })
    }
}

impl Kind {
    const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Message => &["room_id", "body"],
            Self::AgentRun => &["room_id", "agent_id", "input"],
            Self::Webhook => &["url", "body"],
            Self::System => &["name"],
        }
    }
}

fn there<T>(field: &str, given: Option<T>) -> Result<T, Problem> {
    given.ok_or_else(|| Problem::field(format!("action.{field}"), "is missing"))
}

fn text(field: &str, json: &Free) -> Result<String, Problem> {
    serde_json::from_str(json.0.get())
        .map_err(|_| Problem::field(format!("action.{field}"), "must be a text for this kind"))
}

fn value(field: &str, json: &Free) -> Result<serde_json::Value, Problem> {
    serde_json::from_str(json.0.get())
        .map_err(|error| Problem::field(format!("action.{field}"), format!("can't be kept: {error}")))
}

/// Which task.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Path)]
pub struct TaskPath {
    /// Which.
    #[param(value_type = Uuid)]
    pub(in crate::routes) id: domain::TaskId,
}
