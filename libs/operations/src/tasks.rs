//! Tasks as people see them: what is done again and again, and the runs of it.
//!
//! Who may: the owner everything; who owns the task's room, and administrators, read and pause it, stop its runs and delete it; who is in
//! the room reads. Only administrators have tasks that work on Switchboard itself. What becomes due by a change is told to the
//! schedulers at once: [`Announcer::task_due`](crate::Announcer::task_due).

mod edit;
pub mod hooks;
mod rules;
pub mod runs;

use std::sync::Arc;
use std::time::Duration;

use auth::SigningSecret;
use auth::secret::Secret;
use domain::task::{Action, Misfire, Priority};
use domain::{Role, RoomId, Schedule, TaskId, UserId, text};
use jiff::Timestamp;
use store::tasks::{Hook, HookSignature, NewTask, SigningKey, Task, TaskFilter, TaskRights, TaskSettings};
use store::{Refusal, StoreError};
use tokio::sync::Notify;

pub use edit::{EditTask, EditedTask};

use crate::Operations;
use crate::error::Error;

/// A task as it is asked for.
#[derive(Debug, Clone)]
pub struct CreateTask {
    /// Whose.
    pub owner: UserId,
    /// For people.
    pub name: String,
    /// When; `None` for a task that runs only when it is told to.
    pub schedule: Option<String>,
    /// The zone of the schedule; UTC when there is none.
    pub timezone: Option<String>,
    /// What is done.
    pub action: Action,
    /// Whether it begins to run by itself.
    pub is_active: bool,
    /// Its place among its owner's.
    pub priority: Priority,
    /// How long a run may take; `tasks.max_runtime` when there is none.
    pub max_runtime: Option<Duration>,
    /// Attempts after the first; `tasks.retries` when there are none.
    pub retries: Option<u32>,
    /// What becomes of ticks that were missed.
    pub misfire: Misfire,
    /// What callers of its hook must bring; `None` for a task without a hook.
    pub hook: Option<HookSignature>,
    /// Makes the call safe to repeat.
    pub key: Option<String>,
}

/// A task that was made.
#[derive(Debug)]
pub struct MadeTask {
    /// The task.
    pub task: Task,
    /// False when the key had made it before: what was secret was shown then.
    pub created: bool,
    /// Its hook, if it has one.
    pub hook: Option<NewHook>,
    /// What calls of its webhook are signed with, if it has one.
    pub webhook: Option<SigningSecret>,
}

/// A hook that was made: what its owner is shown, once.
#[derive(Debug)]
pub struct NewHook {
    /// What its address ends in.
    pub secret: Secret,
    /// What its callers sign with, when they sign.
    pub signing: Option<SigningSecret>,
}

impl NewHook {
    fn generate(signature: HookSignature) -> Result<Self, Error> {
        let signing = (signature != HookSignature::None).then(SigningSecret::generate).transpose();
        Ok(Self { secret: Secret::hook().map_err(no_secret)?, signing: signing.map_err(no_secret)? })
    }

    fn kept(&self, signature: HookSignature) -> Hook {
        Hook { hash: self.secret.hash(), signature, key: self.signing.as_ref().map(kept) }
    }
}

impl Operations {
    /// Makes a task. The same key gives the first task again, without its secrets.
    ///
    /// # Errors
    ///
    /// `Invalid` for what is asked; `Forbidden` for an action that is for administrators; `NotFound` for a room that the owner is not in, or
    /// an agent that is not in it; `Conflict` for too many tasks.
    pub async fn create_task(&self, create: CreateTask) -> Result<MadeTask, Error> {
        if let Some(key) = &create.key {
            text::nonce("Idempotency-Key", key)?;
        }
        let now = self.store.time().await?;
        let zone = create.timezone.as_deref().unwrap_or("UTC");
        let times = self.times(create.schedule.as_deref(), zone, now)?;
        let settings = TaskSettings {
            name: rules::name(create.name)?,
            schedule: times.schedule.as_ref().map(|schedule| schedule.text().to_owned()),
            timezone: times.zone,
            anchor: now,
            action: self.action(create.action)?,
            is_active: create.is_active,
            priority: create.priority,
            max_runtime: self.max_runtime(create.max_runtime)?,
            retries: domain::task::retries(create.retries.unwrap_or(self.tasks.retries))?,
            misfire: create.misfire,
        };
        self.may_run(create.owner, &settings).await?;
        let hook = create.hook.map(|signature| Ok::<_, Error>((signature, NewHook::generate(signature)?)));
        let hook = hook.transpose()?;
        let webhook = webhook_secret(&settings.action)?;
        let task = NewTask {
            id: TaskId::new(),
            owner: create.owner,
            first: times
                .schedule
                .filter(|_| settings.is_active)
                .and_then(|schedule| schedule.next_after(now)),
            hook: hook.as_ref().map(|(signature, hook)| hook.kept(*signature)),
            webhook_key: webhook.as_ref().map(kept),
            key: create.key,
            max_per_owner: self.tasks.max_per_owner,
            settings,
        };
        let (task, created) = self.store.create_task(&task).await?;
        if !created {
            return Ok(MadeTask { task, created, hook: None, webhook: None });
        }
        self.announcer.task_due(task.id);
        Ok(MadeTask { task, created, hook: hook.map(|(_, hook)| hook), webhook })
    }

    /// A task.
    ///
    /// # Errors
    ///
    /// `NotFound` for those who may not read it.
    pub async fn task(&self, reader: UserId, id: TaskId) -> Result<Task, Error> {
        Ok(self.store.task(reader, id).await?.ok_or(NO_TASK)?)
    }

    /// Tasks by id before `before`, newest first, at most `limit`.
    ///
    /// # Errors
    ///
    /// `NotFound` for a room that the reader is not in; `Forbidden` for all tasks, unless to administrators.
    pub async fn tasks(
        &self,
        reader: UserId,
        filter: TaskFilter,
        before: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<Task>, Error> {
        let tasks = self.store.tasks(reader, filter, before, limit).await?;
        if tasks.is_empty() {
            // None are shown to those who may not look, too.
            self.may_list(reader, filter).await?;
        }
        Ok(tasks)
    }

    async fn may_list(&self, reader: UserId, filter: TaskFilter) -> Result<(), Error> {
        match filter {
            TaskFilter::Own => Ok(()),
            TaskFilter::Room(room) => self.may_see_room(reader, room).await,
            TaskFilter::All => self.must_be_admin(reader).await,
        }
    }

    async fn may_see_room(&self, reader: UserId, room: RoomId) -> Result<(), Error> {
        let room = self.store.room(reader.into(), room).await?;
        Ok(room.map(drop).ok_or(Refusal::NotFound("room"))?)
    }

    /// Deletes a task with its history. A run that is worked on is asked to stop.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Forbidden`.
    pub async fn delete_task(&self, actor: UserId, id: TaskId) -> Result<(), Error> {
        self.must_moderate(actor, id).await?;
        if !self.store.delete_task(id).await? {
            return Err(NO_TASK.into());
        }
        tracing::info!(task = %id, by = %actor, "a task was deleted");
        self.announcer.task_due(id);
        Ok(())
    }

    /// The next `count` times of a schedule, as a task that is made now would have them, with the schedule itself.
    ///
    /// # Errors
    ///
    /// `Invalid` for the schedule, as for a task.
    pub async fn preview(
        &self,
        schedule: &str,
        timezone: Option<&str>,
        count: usize,
    ) -> Result<(Schedule, Vec<Timestamp>), Error> {
        let now = self.store.time().await?;
        let schedule = rules::schedule(schedule, timezone.unwrap_or("UTC"), now, self.tasks.min_interval)?;
        let times = schedule.upcoming(now, count);
        Ok((schedule, times))
    }

    /// Whether workers take up runs.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub async fn scheduler_enabled(&self) -> Result<bool, Error> {
        Ok(self.store.scheduler_enabled().await?)
    }

    /// Switches all workers on or off; whoever calls this makes sure that `by` is an administrator.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub async fn switch_scheduler(&self, by: UserId, enabled: bool) -> Result<(), Error> {
        self.store.switch_scheduler(by, enabled).await?;
        tracing::info!(%by, enabled, "the scheduler was switched");
        self.announcer.tasks_due();
        Ok(())
    }

    /// What this node's scheduler waits on: woken when a task may be due, by this node or another, and when notifications may have been
    /// missed. For one who waits: a wake that comes while it looks at the store ends its next wait at once.
    #[must_use]
    pub fn task_wake(&self) -> Arc<Notify> {
        Arc::clone(self.announcer.task_wake())
    }

    async fn rights(&self, user: UserId, task: TaskId) -> Result<TaskRights, Error> {
        Ok(self.store.task_rights(user, task).await?.ok_or(NO_TASK)?)
    }

    async fn must_own(&self, user: UserId, task: TaskId) -> Result<(), Error> {
        match self.rights(user, task).await? {
            TaskRights::Owner => Ok(()),
            TaskRights::Moderator | TaskRights::Reader => Err(Refusal::Forbidden.into()),
        }
    }

    async fn must_moderate(&self, user: UserId, task: TaskId) -> Result<(), Error> {
        match self.rights(user, task).await? {
            TaskRights::Owner | TaskRights::Moderator => Ok(()),
            TaskRights::Reader => Err(Refusal::Forbidden.into()),
        }
    }

    /// Work on Switchboard itself is for administrators; that it stands still is not.
    async fn may_run(&self, owner: UserId, settings: &TaskSettings) -> Result<(), Error> {
        match settings.action {
            Action::System { .. } if settings.is_active => self.must_be_admin(owner).await,
            _ => Ok(()),
        }
    }

    async fn must_be_admin(&self, user: UserId) -> Result<(), Error> {
        match self.store.user(user).await? {
            Some(user) if user.role == Role::Admin => Ok(()),
            _ => Err(Refusal::Forbidden.into()),
        }
    }
}

const NO_TASK: Refusal = Refusal::NotFound("task");

/// The secret of a webhook that is new.
fn webhook_secret(action: &Action) -> Result<Option<SigningSecret>, Error> {
    matches!(action, Action::Webhook { .. }).then(SigningSecret::generate).transpose().map_err(no_secret)
}

/// A secret as it is kept; [`SigningSecret::kept`] reads it again.
fn kept(secret: &SigningSecret) -> SigningKey {
    SigningKey(secret.bytes().to_vec())
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn no_secret(error: auth::AuthError) -> Error {
    StoreError::Internal(error.to_string()).into()
}
