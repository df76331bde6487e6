//! Runs that are over, as the parameters of `queue/finish`.

use domain::{TaskRunId, WorkerSessionId};
use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::postgres::interval::micros;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::queue::{FinishedRun, Next};

/// Runs with the sessions that have them; each array has an element for each run.
pub(super) struct Batch<'a> {
    runs: Vec<Uuid>,
    tasks: Vec<Uuid>,
    sessions: Vec<Uuid>,
    epochs: Vec<i64>,
    statuses: Vec<&'static str>,
    errors: Vec<Option<&'a str>>,
    outputs: Vec<Option<&'a str>>,
    versions: Vec<i64>,
    attempts: Vec<Option<Uuid>>,
    pauses: Vec<i64>,
    ticks: Vec<Option<Uuid>>,
    times: Vec<Option<Timestamp>>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(finished: &[(WorkerSessionId, &'a FinishedRun)]) -> Self {
        let all = || finished.iter().map(|(_, run)| *run);
        Self {
            runs: all().map(|run| run.run.0).collect(),
            tasks: all().map(|run| run.task.0).collect(),
            sessions: finished.iter().map(|(session, _)| session.0).collect(),
            epochs: all().map(|run| bigint(run.epoch)).collect(),
            statuses: all().map(|run| run.end.status().as_str()).collect(),
            errors: all().map(|run| run.error.as_deref()).collect(),
            outputs: all().map(|run| run.output.as_deref()).collect(),
            versions: all().map(|run| bigint(run.version)).collect(),
            attempts: all().map(|run| attempt(run.next)).collect(),
            pauses: all().map(|run| pause(run.next)).collect(),
            ticks: all().map(|run| run.next.tick().map(|(id, _)| id.0)).collect(),
            times: all().map(|run| run.next.tick().and_then(|(_, at)| at)).collect(),
        }
    }

    pub(super) fn params<'b>(&'b self, held: &'b bool) -> [&'b (dyn ToSql + Sync); 13] {
        [
            &self.runs,
            &self.tasks,
            &self.sessions,
            &self.epochs,
            &self.statuses,
            &self.errors,
            &self.outputs,
            &self.versions,
            &self.attempts,
            &self.pauses,
            &self.ticks,
            &self.times,
            held,
        ]
    }
}

fn attempt(next: Next) -> Option<Uuid> {
    match next {
        Next::Retry { id, .. } => Some(id.0),
        Next::Tick { .. } | Next::Nothing => None,
    }
}

fn pause(next: Next) -> i64 {
    match next {
        Next::Retry { after, .. } => micros(after),
        Next::Tick { .. } | Next::Nothing => 0,
    }
}

/// The runs that were over by `queue/finish`, and their tasks.
pub(super) fn gone(rows: &[Row]) -> Result<(Vec<TaskRunId>, Vec<Uuid>), Fault> {
    let mut gone = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    for row in rows {
        gone.0.push(TaskRunId(row.value("id")?));
        gone.1.push(row.value("task_id")?);
    }
    Ok(gone)
}
