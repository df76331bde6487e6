//! Writing down what was decided.

use domain::notification::Reason;
use domain::{NodeId, NotificationId, UserId};
use uuid::Uuid;

use super::{DEFER, DELIVER, HELD, LET_WAIT, NOTE_DECISION, UNQUEUE, WAKE, tell};
use crate::push::{Decided, Outcome};
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;

pub(super) fn decide(
    tx: &Tx<'_>,
    claim: Uuid,
    node: NodeId,
    decided: &[Decided],
) -> Result<Vec<NotificationId>, Fault> {
    let mut held = Vec::with_capacity(decided.len());
    for one in decided {
        let id = one.notification;
        let Some(user) = tx.row(HELD, &[&id.0, &claim], |row| row.value("user_id").map(UserId))? else {
            continue;
        };
        held.push(id);
        if let Some((step, reason)) = one.step() {
            tx.execute(NOTE_DECISION, &[&id.0, &reason.as_str(), &tx.micros()])?;
            tell(tx, id, (step, Some(reason.as_str())), node, None, None)?;
        }
        carry_out(tx, one, user, node)?;
    }
    held.sort_unstable();
    Ok(held)
}

fn carry_out(tx: &Tx<'_>, decided: &Decided, user: UserId, node: NodeId) -> Result<(), Fault> {
    let id = decided.notification;
    match decided.outcome {
        Outcome::Over(_) => tx.execute(UNQUEUE, &[&id.0]).map(drop),
        Outcome::Waits(_, delay) => tx.execute(LET_WAIT, &[&id.0, &tx.after(delay)]).map(drop),
        // When its push is due; what never waited has none, and is decided anew.
        Outcome::WaitsOn => tx.execute(DEFER, &[&id.0, &None::<i64>, &tx.micros()]).map(drop),
        Outcome::Later(pause) => tx.execute(DEFER, &[&id.0, &Some(tx.after(pause)), &tx.micros()]).map(drop),
        Outcome::Push(reason) => {
            tx.execute(UNQUEUE, &[&id.0])?;
            push(tx, id, reason, user, node)
        }
    }
}

/// One push for each device of the person that has a subscription.
fn push(
    tx: &Tx<'_>,
    notification: NotificationId,
    reason: Reason,
    user: UserId,
    node: NodeId,
) -> Result<(), Fault> {
    if tx.execute(WAKE, &[&user.0, &tx.micros()])? == 0 {
        return tell(tx, notification, ("dropped", Some("no_subscription")), node, None, None);
    }
    tx.execute(DELIVER, &[&notification.0, &user.0, &reason.as_str()]).map(drop)
}
