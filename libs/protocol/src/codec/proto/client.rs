//! Client frames to and from protobuf.

use std::collections::BTreeMap;

use super::pb::client_frame::Frame;
use super::{id, in_op, optional_id, pb};
use crate::codec::DecodeError;
use crate::frame::{
    Ack, Autocomplete, AutocompleteReply, CallTool, ClientFrame, Cursors, Focus, Identify, Read, Refresh,
    Resume, RunFinish, RunPatch, RunStart, Send, Slot, ToolResult, Typing, Unwatch, Watch,
};

impl From<&ClientFrame> for Frame {
    fn from(frame: &ClientFrame) -> Self {
        match frame {
            ClientFrame::Identify(identify) => Self::Identify(identify.into()),
            ClientFrame::Resume(resume) => Self::Resume(pb::Resume {
                session_id: resume.session_id.to_string(),
                cursors: resume.cursors.clone().into_map(),
                log_epoch: resume.log_epoch.map(|epoch| epoch.to_string()),
            }),
            ClientFrame::Ping => Self::Ping(pb::Ping {}),
            ClientFrame::Refresh(refresh) => {
                Self::Refresh(pb::Refresh { access_token: refresh.access_token.clone() })
            }
            ClientFrame::Send(send) => Self::Send(pb::Send {
                room_id: send.room_id.to_string(),
                body: send.body.clone(),
                nonce: send.nonce.clone(),
                reply_to: send.reply_to.map(|event| event.to_string()),
            }),
            ClientFrame::Typing(typing) => {
                Self::Typing(pb::ClientTyping { room_id: typing.room_id.to_string() })
            }
            ClientFrame::Focus(focus) => Self::Focus(pb::Focus {
                room_id: focus.room_id.map(|room| room.to_string()),
                idle: focus.idle,
            }),
            ClientFrame::Read(read) => {
                Self::Read(pb::Read { room_id: read.room_id.to_string(), seq: read.seq })
            }
            ClientFrame::Watch(watch) => Self::Watch(pb::Watch { run_id: watch.run_id.to_string() }),
            ClientFrame::Unwatch(unwatch) => {
                Self::Unwatch(pb::Unwatch { run_id: unwatch.run_id.to_string() })
            }
            ClientFrame::Ack(ack) => Self::Ack(pb::Ack { seq: ack.seq }),
            ClientFrame::RunStart(start) => Self::RunStart(pb::RunStart { run_id: start.run_id.to_string() }),
            ClientFrame::RunPatch(patch) => Self::RunPatch(patch.into()),
            ClientFrame::RunFinish(finish) => Self::RunFinish(finish.into()),
            ClientFrame::ToolCall(call) => Self::ToolCall(call.into()),
            ClientFrame::ToolResult(result) => Self::ToolResult(result.into()),
            ClientFrame::Autocomplete(question) => Self::Autocomplete(question.into()),
            ClientFrame::AutocompleteReply(reply) => Self::AutocompleteReply(reply.into()),
        }
    }
}

impl From<&Identify> for pb::Identify {
    fn from(identify: &Identify) -> Self {
        Self {
            slot: Some(match &identify.slot {
                Slot::Device(device) => pb::identify::Slot::DeviceId(device.to_string()),
                Slot::Consumer(consumer) => pb::identify::Slot::Consumer(consumer.clone()),
            }),
            cursors: identify.cursors.clone().into_map(),
            log_epoch: identify.log_epoch.map(|epoch| epoch.to_string()),
        }
    }
}

impl TryFrom<Frame> for ClientFrame {
    type Error = DecodeError;

    fn try_from(frame: Frame) -> Result<Self, DecodeError> {
        match frame {
            Frame::Identify(identify) => {
                Identify::try_from(identify).map(Self::Identify).map_err(in_op("identify"))
            }
            Frame::Resume(resume) => Resume::try_from(resume).map(Self::Resume).map_err(in_op("resume")),
            Frame::Ping(pb::Ping {}) => Ok(Self::Ping),
            Frame::Refresh(pb::Refresh { access_token }) => Ok(Self::Refresh(Refresh { access_token })),
            Frame::Send(send) => Send::try_from(send).map(Self::Send).map_err(in_op("send")),
            Frame::Typing(typing) => id("room_id", &typing.room_id)
                .map(|room_id| Self::Typing(Typing { room_id }))
                .map_err(in_op("typing")),
            Frame::Focus(focus) => optional_id("room_id", focus.room_id.as_ref())
                .map(|room_id| Self::Focus(Focus { room_id, idle: focus.idle }))
                .map_err(in_op("focus")),
            Frame::Read(read) => id("room_id", &read.room_id)
                .map(|room_id| Self::Read(Read { room_id, seq: read.seq }))
                .map_err(in_op("read")),
            Frame::Watch(watch) => id("run_id", &watch.run_id)
                .map(|run_id| Self::Watch(Watch { run_id }))
                .map_err(in_op("watch")),
            Frame::Unwatch(unwatch) => id("run_id", &unwatch.run_id)
                .map(|run_id| Self::Unwatch(Unwatch { run_id }))
                .map_err(in_op("unwatch")),
            Frame::Ack(pb::Ack { seq }) => Ok(Self::Ack(Ack { seq })),
            Frame::RunStart(start) => id("run_id", &start.run_id)
                .map(|run_id| Self::RunStart(RunStart { run_id }))
                .map_err(in_op("run_start")),
            Frame::RunPatch(patch) => {
                RunPatch::try_from(patch).map(Self::RunPatch).map_err(in_op("run_patch"))
            }
            Frame::RunFinish(finish) => {
                RunFinish::try_from(finish).map(Self::RunFinish).map_err(in_op("run_finish"))
            }
            Frame::ToolCall(call) => CallTool::try_from(call).map(Self::ToolCall).map_err(in_op("tool_call")),
            Frame::ToolResult(result) => {
                ToolResult::try_from(result).map(Self::ToolResult).map_err(in_op("tool_result"))
            }
            Frame::Autocomplete(question) => {
                Autocomplete::try_from(question).map(Self::Autocomplete).map_err(in_op("autocomplete"))
            }
            Frame::AutocompleteReply(reply) => AutocompleteReply::try_from(reply)
                .map(Self::AutocompleteReply)
                .map_err(in_op("autocomplete_reply")),
        }
    }
}

impl TryFrom<pb::Identify> for Identify {
    type Error = DecodeError;

    fn try_from(identify: pb::Identify) -> Result<Self, DecodeError> {
        let slot = match identify.slot {
            Some(pb::identify::Slot::DeviceId(device)) => Slot::Device(id("device_id", &device)?),
            Some(pb::identify::Slot::Consumer(consumer)) => Slot::Consumer(consumer),
            None => return Err(DecodeError::field("device_id", "is missing (or consumer, for an agent)")),
        };
        let log_epoch = optional_id("log_epoch", identify.log_epoch.as_ref())?;
        Ok(Self { slot, cursors: cursors(identify.cursors)?, log_epoch })
    }
}

impl TryFrom<pb::Resume> for Resume {
    type Error = DecodeError;

    fn try_from(resume: pb::Resume) -> Result<Self, DecodeError> {
        Ok(Self {
            session_id: id("session_id", &resume.session_id)?,
            cursors: cursors(resume.cursors)?,
            log_epoch: optional_id("log_epoch", resume.log_epoch.as_ref())?,
        })
    }
}

impl TryFrom<pb::Send> for Send {
    type Error = DecodeError;

    fn try_from(send: pb::Send) -> Result<Self, DecodeError> {
        Ok(Self {
            room_id: id("room_id", &send.room_id)?,
            body: send.body,
            nonce: send.nonce,
            reply_to: optional_id("reply_to", send.reply_to.as_ref())?,
        })
    }
}

fn cursors(map: BTreeMap<String, u64>) -> Result<Cursors, DecodeError> {
    map.try_into().map_err(|message: String| DecodeError::field("cursors", message))
}
