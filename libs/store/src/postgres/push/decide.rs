//! Decisions as the parameters of `push/decide`.

use domain::NodeId;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::postgres::interval::micros;
use crate::push::{Decided, Outcome};

pub(super) struct Batch {
    claim: Uuid,
    ids: Vec<Uuid>,
    steps: Vec<Option<&'static str>>,
    reasons: Vec<Option<&'static str>>,
    again: Vec<Option<i64>>,
    push: Vec<Option<i64>>,
    pushed: Vec<bool>,
    node: Uuid,
}

impl Batch {
    pub(super) fn new(claim: Uuid, node: NodeId, decided: &[Decided]) -> Self {
        let mut batch = Self {
            claim,
            ids: Vec::with_capacity(decided.len()),
            steps: Vec::with_capacity(decided.len()),
            reasons: Vec::with_capacity(decided.len()),
            again: Vec::with_capacity(decided.len()),
            push: Vec::with_capacity(decided.len()),
            pushed: Vec::with_capacity(decided.len()),
            node: node.0,
        };
        for one in decided {
            batch.add(one);
        }
        batch
    }

    fn add(&mut self, decided: &Decided) {
        let step = decided.step();
        let (again, push) = match decided.outcome {
            Outcome::Over(_) | Outcome::Push(_) => (None, None),
            Outcome::Waits(_, delay) => (Some(micros(delay)), Some(micros(delay))),
            // 0: when its push is due.
            Outcome::WaitsOn => (Some(0), None),
            Outcome::Later(pause) => (Some(micros(pause).max(1)), None),
        };
        self.ids.push(decided.notification.0);
        self.steps.push(step.map(|(step, _)| step));
        self.reasons.push(step.map(|(_, reason)| reason.as_str()));
        self.again.push(again);
        self.push.push(push);
        self.pushed.push(matches!(decided.outcome, Outcome::Push(_)));
    }

    pub(super) fn params(&self) -> [&(dyn ToSql + Sync); 8] {
        [
            &self.claim,
            &self.ids,
            &self.steps,
            &self.reasons,
            &self.again,
            &self.push,
            &self.pushed,
            &self.node,
        ]
    }
}
