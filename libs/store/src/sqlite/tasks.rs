//! Tasks in SQLite, as people see them.

use async_trait::async_trait;
use domain::{TaskId, TaskRunId, UserId};
use jiff::Timestamp;
use uuid::Uuid;

use super::Sqlite;
use super::fault::Fault;
use super::row::Columns;
use super::statement::statements;
use super::transaction::Tx;
use crate::error::StoreError;
use crate::queue::Next;
use crate::tasks::stored::{SCHEDULER, StoredHook, signature};
use crate::tasks::{
    CalledHook, Hook, HookSignature, NewTask, NewTaskRun, Queued, SigningKey, Task, TaskEdit, TaskFilter,
    TaskRights, TaskRun, Tasks,
};

mod read;
mod runs;
mod trim;
mod write;

use read::{read_run, read_task};

statements! {
    JUDGE = "tasks/judge";
    RECALL = "tasks/recall";
    REMEMBER = "tasks/remember";
    COUNT_OWN = "tasks/count_own";
    CREATE = "tasks/create";
    PLAN = "tasks/plan";
    PLANNED = "tasks/planned";
    EDIT = "tasks/edit";
    KNOWN = "tasks/known";
    DELETE = "tasks/delete";
    STOP_ALL = "tasks/stop_all";
    DROP_QUEUED = "tasks/drop_queued";
    SET_HOOK = "tasks/set_hook";
    SET_WEBHOOK_KEY = "tasks/set_webhook_key";
    HOOK = "tasks/hook";
    RIGHTS = "tasks/rights";
    READ = "tasks/read";
    LIST_OWN = "tasks/list_own";
    LIST_ROOM = "tasks/list_room";
    LIST_ALL = "tasks/list_all";
    ASKED = "tasks/asked";
    PARKED = "tasks/parked";
    DELIVERED = "tasks/delivered";
    DELIVER = "tasks/deliver";
    QUEUE_RUN = "tasks/queue_run";
    RUN = "tasks/run";
    NEWEST_RUNS = "tasks/newest_runs";
    FOUND = "tasks/found";
    STOP_RUN = "tasks/stop_run";
    SWITCH = "tasks/switch";
    SWITCHED_OFF = "tasks/switched_off";
    PAGE = "tasks/page";
    SURPLUS = "tasks/surplus";
    TRIM = "tasks/trim";
    FORGET = "tasks/forget";
    TRIM_DELIVERIES = "tasks/trim_deliveries";
    BURY = "tasks/bury";
}

#[async_trait]
impl Tasks for Sqlite {
    async fn create_task(&self, task: &NewTask) -> Result<(Task, bool), StoreError> {
        let task = task.clone();
        self.write(move |tx| write::create(tx, &task)).await
    }

    async fn task(&self, reader: UserId, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.read(move |tx| tx.row(READ, &[&reader.0, &id.0], read_task)).await
    }

    async fn tasks(
        &self,
        reader: UserId,
        filter: TaskFilter,
        before: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<Task>, StoreError> {
        let before = before.map_or(Uuid::max(), Uuid::from);
        self.read(move |tx| match filter {
            TaskFilter::Own => tx.rows(LIST_OWN, &[&reader.0, &before, &limit], read_task),
            TaskFilter::Room(room) => tx.rows(LIST_ROOM, &[&reader.0, &before, &limit, &room.0], read_task),
            TaskFilter::All => tx.rows(LIST_ALL, &[&reader.0, &before, &limit], read_task),
        })
        .await
    }

    async fn task_rights(&self, user: UserId, task: TaskId) -> Result<Option<TaskRights>, StoreError> {
        self.read(move |tx| rights(tx, user, task)).await
    }

    async fn edit_task(&self, edit: &TaskEdit) -> Result<bool, StoreError> {
        let edit = edit.clone();
        self.write(move |tx| write::edit(tx, &edit)).await
    }

    async fn delete_task(&self, id: TaskId) -> Result<bool, StoreError> {
        self.write(move |tx| {
            if tx.execute(DELETE, &[&id.0, &tx.micros()])? == 0 {
                return Ok(false);
            }
            tx.execute(STOP_ALL, &[&id.0, &tx.micros()])?;
            tx.execute(DROP_QUEUED, &[&id.0])?;
            Ok(true)
        })
        .await
    }

    async fn set_hook(&self, id: TaskId, hook: Option<&Hook>) -> Result<bool, StoreError> {
        let hook = hook.cloned();
        self.write(move |tx| {
            let hook = StoredHook::of(hook.as_ref());
            let set = tx.execute(SET_HOOK, &[&id.0, &hook.hash, &hook.signature, &hook.key, &tx.micros()])?;
            Ok(set > 0)
        })
        .await
    }

    async fn set_webhook_key(&self, id: TaskId, key: &SigningKey) -> Result<bool, StoreError> {
        let SigningKey(key) = key.clone();
        self.write(move |tx| Ok(tx.execute(SET_WEBHOOK_KEY, &[&id.0, &key, &tx.micros()])? > 0)).await
    }

    async fn hook(&self, hash: &[u8; 32]) -> Result<Option<CalledHook>, StoreError> {
        let hash = *hash;
        self.read(move |tx| {
            tx.row(HOOK, &[&hash], |row| {
                let signed = signature(row.value::<Option<String>>("hook_signature")?.as_deref())?;
                Ok(CalledHook {
                    task: TaskId(row.value("id")?),
                    signature: signed.unwrap_or(HookSignature::None),
                    key: row.value::<Option<Vec<u8>>>("hook_key")?.map(SigningKey),
                })
            })
        })
        .await
    }

    async fn queue_task_run(&self, run: &NewTaskRun) -> Result<Queued, StoreError> {
        let run = run.clone();
        self.write(move |tx| runs::queue(tx, &run)).await
    }

    async fn task_run(&self, reader: UserId, id: TaskRunId) -> Result<Option<TaskRun>, StoreError> {
        self.read(move |tx| tx.row(RUN, &[&reader.0, &id.0], read_run)).await
    }

    async fn task_runs(
        &self,
        reader: UserId,
        task: TaskId,
        before: Option<TaskRunId>,
        limit: u32,
    ) -> Result<Option<Vec<TaskRun>>, StoreError> {
        self.read(move |tx| {
            if rights(tx, reader, task)?.is_none() {
                return Ok(None);
            }
            runs::newest(tx, task, before, limit).map(Some)
        })
        .await
    }

    async fn cancel_task_run(
        &self,
        id: TaskRunId,
        version: u64,
        next: Next,
    ) -> Result<Option<TaskRun>, StoreError> {
        self.write(move |tx| runs::cancel(tx, id, version, next)).await
    }

    async fn time(&self) -> Result<Timestamp, StoreError> {
        self.read(|tx| Ok(tx.now())).await
    }

    async fn scheduler_enabled(&self) -> Result<bool, StoreError> {
        self.read(scheduler_is_on).await
    }

    async fn switch_scheduler(&self, by: UserId, enabled: bool) -> Result<(), StoreError> {
        self.write(move |tx| tx.execute(SWITCH, &[&SCHEDULER, &enabled, &by.0, &tx.micros()]).map(drop)).await
    }
}

/// Whether workers claim anything.
pub(super) fn scheduler_is_on(tx: &Tx<'_>) -> Result<bool, Fault> {
    Ok(!tx.exists(SWITCHED_OFF, &[&SCHEDULER])?)
}

fn rights(tx: &Tx<'_>, user: UserId, task: TaskId) -> Result<Option<TaskRights>, Fault> {
    tx.row(RIGHTS, &[&user.0, &task.0], |row| match row.text("rights")? {
        "owner" => Ok(TaskRights::Owner),
        "moderator" => Ok(TaskRights::Moderator),
        "reader" => Ok(TaskRights::Reader),
        other => Err(Fault::internal(format!("rights {other:?}"))),
    })
}
