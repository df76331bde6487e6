//! Tasks and their runs from rows.

use std::time::Duration;

use domain::task::{Priority, QueueReason, QueueState};
use domain::{NodeId, TaskId, TaskRunId, UserId};
use rusqlite::Row;
use uuid::Uuid;

use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::value::{Micros, NEVER};
use crate::tasks::stored::signature;
use crate::tasks::{Task, TaskRun, TaskSettings};

pub(super) fn read_task(row: &Row<'_>) -> Result<Task, Fault> {
    let waiting = row.value::<Option<String>>("tick_state")?.is_some_and(|state| state != "running");
    Ok(Task {
        id: TaskId(row.value("id")?),
        owner: UserId(row.value("owner_id")?),
        settings: TaskSettings {
            name: row.value("name")?,
            schedule: row.value("schedule")?,
            timezone: row.value("timezone")?,
            anchor: row.time("anchor")?,
            action: serde_json::from_str(row.text("action")?)
                .map_err(|error| Fault::internal(format!("a stored action: {error}")))?,
            is_active: row.value("is_active")?,
            priority: Priority::from_cost(row.value("cost")?)
                .ok_or_else(|| Fault::internal("a task of no priority"))?,
            max_runtime: Duration::from_millis(row.count("max_runtime_ms")?),
            retries: row.value("retries")?,
            misfire: row.named("misfire")?,
        },
        version: row.count("version")?,
        hook: signature(row.value::<Option<String>>("hook_signature")?.as_deref())?,
        next_run_at: if waiting { row.time_if_any("tick_due_at")? } else { None },
        last_run_at: row.time_if_any("last_run_at")?,
        run_count: row.count("run_count")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

pub(super) fn read_run(row: &Row<'_>) -> Result<TaskRun, Fault> {
    let attempt = row.value("attempt")?;
    let (status, reason) = match row.value::<Option<String>>("state")? {
        Some(state) => {
            let state: QueueState =
                state.parse().map_err(|error: domain::Invalid| Fault::internal(error.to_string()))?;
            (state.into(), QueueReason::of(state, attempt, row.value("enabled")?))
        }
        None => (row.named("status")?, None),
    };
    // A run that hung was given to the session that never was good, and is nowhere.
    let is_held = row.value::<Option<i64>>("lease_until")?.is_some_and(|until| until != NEVER);
    let lease = if is_held { row.value::<Option<Micros>>("lease_until")? } else { None };
    Ok(TaskRun {
        id: TaskRunId(row.value("id")?),
        task: TaskId(row.value("task_id")?),
        status,
        reason,
        trigger: row.named("trigger")?,
        attempt,
        epoch: row.count("epoch")?,
        node: row.value::<Option<Uuid>>("node_id")?.filter(|node| !node.is_nil()).map(NodeId),
        lease_expires_at: lease.map(|Micros(until)| until),
        scheduled_for: row.time("scheduled_for")?,
        due_at: row.time_if_any("due_at")?,
        created_at: row.time("created_at")?,
        started_at: row.time_if_any("started_at")?,
        finished_at: row.time_if_any("finished_at")?,
        delivery: row.value("delivery_id")?,
        cancel_requested: row.value("cancel_requested")?,
        error: row.value("error")?,
        output: row.value("output")?,
    })
}
