//! Writing down what became of pushes.

use domain::{DeviceId, NodeId};
use uuid::Uuid;

use super::{DROP_DEVICES, FINISH, LOCK_DEVICES, SETTLE_DEVICES};
use crate::postgres::Postgres;
use crate::postgres::interval::micros;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::push::{DeviceAfter, FinishedDevice};

/// Notifications as the parameters of `push/finish`.
#[derive(Default)]
struct Steps<'a> {
    devices: Vec<Uuid>,
    notifications: Vec<Uuid>,
    steps: Vec<&'static str>,
    reasons: Vec<Option<&'a str>>,
    details: Vec<Option<&'a str>>,
    over: Vec<bool>,
}

impl<'a> Steps<'a> {
    fn of(finished: &[&'a FinishedDevice]) -> Self {
        let mut batch = Self::default();
        for device in finished {
            for step in &device.steps {
                batch.devices.push(device.device.0);
                batch.notifications.push(step.notification.0);
                batch.steps.push(step.step);
                batch.reasons.push(step.reason.as_deref());
                batch.details.push(step.detail.as_deref());
                batch.over.push(step.is_over);
            }
        }
        batch
    }
}

/// Devices as the parameters of `push/settle_devices` and `push/drop_devices`.
#[derive(Default)]
struct Devices<'a> {
    settled: Vec<Uuid>,
    pauses: Vec<Option<i64>>,
    failed: Vec<bool>,
    results: Vec<Option<&'a str>>,
    tested: Vec<bool>,
    gone: Vec<Uuid>,
}

impl<'a> Devices<'a> {
    fn of(finished: &[&'a FinishedDevice]) -> Self {
        let mut batch = Self::default();
        for device in finished {
            let (pause, failed, result) = match &device.after {
                DeviceAfter::Gone => {
                    batch.gone.push(device.device.0);
                    continue;
                }
                DeviceAfter::Free { result } => (None, false, result.as_deref()),
                DeviceAfter::Rests { pause, result } => (Some(micros(*pause)), true, Some(&**result)),
            };
            batch.settled.push(device.device.0);
            batch.pauses.push(pause);
            batch.failed.push(failed);
            batch.results.push(result);
            batch.tested.push(device.tested);
        }
        batch
    }
}

impl Postgres {
    pub(super) async fn try_finish_pushes(
        &self,
        node: NodeId,
        finished: &[FinishedDevice],
    ) -> Result<Vec<DeviceId>, Fault> {
        if finished.is_empty() {
            return Ok(Vec::new());
        }
        let (claims, devices): (Vec<Uuid>, Vec<Uuid>) =
            finished.iter().map(|device| (device.claim, device.device.0)).unzip();
        let session = self.session().await?;
        let (transaction, [held]) = session.begin([(LOCK_DEVICES, &[&claims, &devices])]).await?;
        let held = held.iter().map(|row| row.value("device_id")).collect::<Result<Vec<Uuid>, Fault>>();
        let (transaction, held) = transaction.decided(held).await?;
        let finished: Vec<&FinishedDevice> =
            finished.iter().filter(|device| held.contains(&device.device.0)).collect();
        let (steps, devices) = (Steps::of(&finished), Devices::of(&finished));
        transaction
            .commit([
                (
                    FINISH,
                    &[
                        &steps.devices,
                        &steps.notifications,
                        &steps.steps,
                        &steps.reasons,
                        &steps.details,
                        &steps.over,
                        &node.0,
                    ],
                ),
                (
                    SETTLE_DEVICES,
                    &[&devices.settled, &devices.pauses, &devices.failed, &devices.results, &devices.tested],
                ),
                (DROP_DEVICES, &[&devices.gone, &node.0]),
            ])
            .await?;
        Ok(held.into_iter().map(DeviceId).collect())
    }
}
