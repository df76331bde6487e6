//! Runs to and from protobuf.

use crate::codec::DecodeError;
use crate::codec::proto::{id, json, optional_json, pb};
use crate::frame::{RawJson, Run, RunChange, RunFinish, RunPatch};

impl From<&Run> for pb::Run {
    fn from(run: &Run) -> Self {
        Self {
            run_id: run.run_id.to_string(),
            room_id: run.room_id.to_string(),
            agent_id: run.agent_id.to_string(),
            epoch: run.epoch,
            version: run.version,
            status: run.status.clone(),
            reason: run.reason.clone(),
            cancel_requested: run.cancel_requested,
            change: Some(match &run.change {
                RunChange::Doc(doc) => pb::run::Change::Doc(doc.get().to_owned()),
                RunChange::Patch { from, ops } => {
                    pb::run::Change::Patch(pb::RunDelta { from: *from, ops: ops.get().to_owned() })
                }
            }),
        }
    }
}

impl TryFrom<pb::Run> for Run {
    type Error = DecodeError;

    fn try_from(run: pb::Run) -> Result<Self, DecodeError> {
        let change = match run.change {
            Some(pb::run::Change::Doc(doc)) => RunChange::Doc(json("doc", doc)?),
            Some(pb::run::Change::Patch(pb::RunDelta { from, ops })) => {
                RunChange::Patch { from, ops: json("ops", ops)? }
            }
            None => return Err(DecodeError::field("doc", "is missing (or patch)")),
        };
        Ok(Self {
            run_id: id("run_id", &run.run_id)?,
            room_id: id("room_id", &run.room_id)?,
            agent_id: id("agent_id", &run.agent_id)?,
            epoch: run.epoch,
            version: run.version,
            status: run.status,
            reason: run.reason,
            cancel_requested: run.cancel_requested,
            change,
        })
    }
}

impl From<&RunPatch> for pb::RunPatch {
    fn from(patch: &RunPatch) -> Self {
        Self { run_id: patch.run_id.to_string(), epoch: patch.epoch, ops: patch.ops.get().to_owned() }
    }
}

impl TryFrom<pb::RunPatch> for RunPatch {
    type Error = DecodeError;

    fn try_from(patch: pb::RunPatch) -> Result<Self, DecodeError> {
        Ok(Self { run_id: id("run_id", &patch.run_id)?, epoch: patch.epoch, ops: json("ops", patch.ops)? })
    }
}

impl From<&RunFinish> for pb::RunFinish {
    fn from(finish: &RunFinish) -> Self {
        Self {
            run_id: finish.run_id.to_string(),
            epoch: finish.epoch,
            status: finish.status.clone(),
            ops: finish.ops.as_ref().map(RawJson::get).map(str::to_owned),
            error: finish.error.clone(),
        }
    }
}

impl TryFrom<pb::RunFinish> for RunFinish {
    type Error = DecodeError;

    fn try_from(finish: pb::RunFinish) -> Result<Self, DecodeError> {
        Ok(Self {
            run_id: id("run_id", &finish.run_id)?,
            epoch: finish.epoch,
            status: finish.status,
            ops: optional_json("ops", finish.ops)?,
            error: finish.error,
        })
    }
}
