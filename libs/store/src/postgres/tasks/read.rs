//! Tasks and their runs from rows.

use std::time::Duration;

use domain::task::{Priority, QueueReason, QueueState};
use domain::{NodeId, TaskId, TaskRunId, UserId};
use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::Timestamp as Until;
use uuid::Uuid;

use crate::postgres::queue::number;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::tasks::stored::signature;
use crate::tasks::{Task, TaskRun, TaskSettings};

pub(super) fn read_task(row: &Row) -> Result<Task, Fault> {
    let action: &str = row.value("action_text")?;
    let waiting = row.value::<Option<&str>>("tick_state")?.is_some_and(|state| state != "running");
    Ok(Task {
        id: TaskId(row.value("id")?),
        owner: UserId(row.value("owner_id")?),
        settings: TaskSettings {
            name: row.value("name")?,
            schedule: row.value("schedule")?,
            timezone: row.value("timezone")?,
            anchor: row.value("anchor")?,
            action: serde_json::from_str(action)
                .map_err(|error| Fault::internal(format!("a stored action: {error}")))?,
            is_active: row.value("is_active")?,
            priority: Priority::from_cost(row.value("cost")?)
                .ok_or_else(|| Fault::internal("a task of no priority"))?,
            max_runtime: Duration::from_millis(row.count("max_runtime_ms")?),
            retries: number(row, "retries")?,
            misfire: row.named("misfire")?,
        },
        version: row.count("version")?,
        hook: signature(row.value("hook_signature")?)?,
        next_run_at: if waiting { row.value("tick_due_at")? } else { None },
        last_run_at: row.value("last_run_at")?,
        run_count: row.count("run_count")?,
        created_at: row.value("created_at")?,
        updated_at: row.value("updated_at")?,
    })
}

pub(super) fn read_run(row: &Row) -> Result<TaskRun, Fault> {
    let attempt = number(row, "attempt")?;
    let (status, reason) = match row.value::<Option<&str>>("state")? {
        Some(state) => {
            let state: QueueState =
                state.parse().map_err(|error: domain::Invalid| Fault::internal(error.to_string()))?;
            (state.into(), QueueReason::of(state, attempt, row.value("enabled")?))
        }
        None => (row.named("status")?, None),
    };
    // A run that hung was given to the session that never was good, and is nowhere.
    let lease_expires_at = match row.value::<Option<Until<Timestamp>>>("lease_until")? {
        Some(Until::Value(until)) => Some(until),
        Some(Until::NegInfinity | Until::PosInfinity) | None => None,
    };
    Ok(TaskRun {
        id: TaskRunId(row.value("id")?),
        task: TaskId(row.value("task_id")?),
        status,
        reason,
        trigger: row.named("trigger")?,
        attempt,
        epoch: row.count("epoch")?,
        node: row.value::<Option<Uuid>>("node_id")?.filter(|node| !node.is_nil()).map(NodeId),
        lease_expires_at,
        scheduled_for: row.value("scheduled_for")?,
        due_at: row.value("due_at")?,
        created_at: row.value("created_at")?,
        started_at: row.value("started_at")?,
        finished_at: row.value("finished_at")?,
        delivery: row.value("delivery_id")?,
        cancel_requested: row.value("cancel_requested")?,
        error: row.value("error")?,
        output: row.value("output")?,
    })
}
