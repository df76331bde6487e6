//! Writing down what became of pushes.

use domain::{DeviceId, NodeId};

use super::subscribe::forget;
use super::{HELD_DEVICE, OVER, SETTLE_DEVICE, TRIED, tell};
use crate::push::{DeviceAfter, FinishedDevice};
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;
use crate::sqlite::value::NEVER;

pub(super) fn finish(tx: &Tx<'_>, node: NodeId, finished: &[FinishedDevice]) -> Result<Vec<DeviceId>, Fault> {
    let mut held = Vec::with_capacity(finished.len());
    for device in finished {
        let tests = tx.row(HELD_DEVICE, &[&device.device.0, &device.claim], |row| {
            Ok((row.value::<Option<i64>>("test_at")?, row.value::<Option<i64>>("claimed_at")?))
        })?;
        let Some((test_at, claimed_at)) = tests else { continue };
        held.push(device.device);
        write_steps(tx, node, device)?;
        // What was sent is no answer to a request that came after the claim.
        let is_answered = device.tested && test_at <= claimed_at;
        settle(tx, node, device, test_at.filter(|_| !is_answered))?;
    }
    held.sort_unstable();
    Ok(held)
}

fn write_steps(tx: &Tx<'_>, node: NodeId, finished: &FinishedDevice) -> Result<(), Fault> {
    let device = finished.device;
    for step in &finished.steps {
        let statement = if step.is_over { OVER } else { TRIED };
        tx.execute(statement, &[&device.0, &step.notification.0])?;
        let why = (step.step, step.reason.as_deref());
        tell(tx, step.notification, why, node, Some(device), step.detail.as_deref())?;
    }
    Ok(())
}

/// Gives a device back: looked at again at once when more waits, or its owner asks for a push to try it.
fn settle(tx: &Tx<'_>, node: NodeId, finished: &FinishedDevice, test_at: Option<i64>) -> Result<(), Fault> {
    let (rests_until, failed, result) = match &finished.after {
        DeviceAfter::Gone => return forget(tx, &[finished.device], "gone", Some(node)),
        DeviceAfter::Free { result } => (None, false, result.as_deref()),
        DeviceAfter::Rests { pause, result } => (Some(tx.after(*pause)), true, Some(&**result)),
    };
    tx.execute(
        SETTLE_DEVICE,
        &[
            &finished.device.0,
            &rests_until.unwrap_or(NEVER),
            &rests_until.unwrap_or_else(|| tx.micros()),
            &test_at,
            &failed,
            &result,
            &tx.micros(),
        ],
    )
    .map(drop)
}
