//! Server frames to and from protobuf.

use super::pb::server_frame::Frame;
use super::{id, in_op, json, optional_id, pb};
use crate::codec::DecodeError;
use crate::frame::{
    Acked, AutocompleteRequest, Choices, Drain, ErrorFrame, Event, Gap, Hello, Hint, Presence, Ready,
    RefreshAsked, Refreshed, Run, Sender, Sent, ServerFrame, ToolCall, ToolCalled, UserTyping,
};

impl From<&ServerFrame> for Frame {
    fn from(frame: &ServerFrame) -> Self {
        match frame {
            ServerFrame::Hello(hello) => Self::Hello(pb::Hello {
                heartbeat_interval_ms: hello.heartbeat_interval_ms,
                node: hello.node.to_string(),
                connection_id: hello.connection_id.to_string(),
                reconnect_jitter_ms: hello.reconnect_jitter_ms,
            }),
            ServerFrame::Ready(ready) => Self::Ready(ready.as_ref().into()),
            ServerFrame::Event(event) => Self::Event(event.into()),
            ServerFrame::Live => Self::Live(pb::Live {}),
            ServerFrame::Gap(gap) => {
                Self::Gap(pb::Gap { stream: gap.stream.clone(), floor: gap.floor, head: gap.head })
            }
            ServerFrame::Typing(typing) => Self::Typing(pb::ServerTyping {
                room_id: typing.room_id.to_string(),
                user_id: typing.user_id.to_string(),
            }),
            ServerFrame::Presence(presence) => Self::Presence(presence.into()),
            ServerFrame::Sent(sent) => {
                Self::Sent(pb::Sent { nonce: sent.nonce.clone(), seq: sent.seq, id: sent.id.to_string() })
            }
            ServerFrame::Pong => Self::Pong(pb::Pong {}),
            ServerFrame::Refresh(asked) => Self::Refresh(pb::RefreshAsked { within_ms: asked.within_ms }),
            ServerFrame::Refreshed(refreshed) => {
                Self::Refreshed(pb::Refreshed { expires_in_ms: refreshed.expires_in_ms })
            }
            ServerFrame::Run(run) => Self::Run(run.into()),
            ServerFrame::Hint(hint) => Self::Hint(hint.into()),
            ServerFrame::ToolCall(call) => Self::ToolCall(call.into()),
            ServerFrame::ToolCalled(called) => Self::ToolCalled(called.into()),
            ServerFrame::Autocomplete(question) => Self::Autocomplete(question.into()),
            ServerFrame::Choices(choices) => Self::Choices(choices.into()),
            ServerFrame::Acked(acked) => Self::Acked(pb::Acked { seq: acked.seq }),
            ServerFrame::Error(error) => Self::Error(error.into()),
            ServerFrame::Drain(drain) => Self::Drain(pb::Drain { after_ms: drain.after_ms }),
        }
    }
}

impl From<&Event> for pb::Event {
    fn from(event: &Event) -> Self {
        Self {
            stream: event.stream.clone(),
            seq: event.seq,
            id: event.id.to_string(),
            kind: event.kind.clone(),
            at: event.at.clone(),
            sender: Some(pb::Sender {
                kind: event.sender.kind.clone(),
                id: event.sender.id.map(|id| id.to_string()),
            }),
            data: event.data.get().to_owned(),
        }
    }
}

impl TryFrom<Frame> for ServerFrame {
    type Error = DecodeError;

    fn try_from(frame: Frame) -> Result<Self, DecodeError> {
        match frame {
            Frame::Hello(hello) => Hello::try_from(hello).map(Self::Hello).map_err(in_op("hello")),
            Frame::Ready(ready) => {
                Ready::try_from(ready).map(Box::new).map(Self::Ready).map_err(in_op("ready"))
            }
            Frame::Event(event) => Event::try_from(event).map(Self::Event).map_err(in_op("event")),
            Frame::Live(pb::Live {}) => Ok(Self::Live),
            Frame::Gap(pb::Gap { stream, floor, head }) => Ok(Self::Gap(Gap { stream, floor, head })),
            Frame::Typing(typing) => UserTyping::try_from(typing).map(Self::Typing).map_err(in_op("typing")),
            Frame::Presence(presence) => {
                Presence::try_from(presence).map(Self::Presence).map_err(in_op("presence"))
            }
            Frame::Sent(sent) => Sent::try_from(sent).map(Self::Sent).map_err(in_op("sent")),
            Frame::Pong(pb::Pong {}) => Ok(Self::Pong),
            Frame::Refresh(pb::RefreshAsked { within_ms }) => Ok(Self::Refresh(RefreshAsked { within_ms })),
            Frame::Refreshed(pb::Refreshed { expires_in_ms }) => {
                Ok(Self::Refreshed(Refreshed { expires_in_ms }))
            }
            Frame::Run(run) => Run::try_from(run).map(Self::Run).map_err(in_op("run")),
            Frame::Hint(hint) => Hint::try_from(hint).map(Self::Hint).map_err(in_op("hint")),
            Frame::ToolCall(call) => ToolCall::try_from(call).map(Self::ToolCall).map_err(in_op("tool_call")),
            Frame::ToolCalled(called) => {
                ToolCalled::try_from(called).map(Self::ToolCalled).map_err(in_op("tool_called"))
            }
            Frame::Autocomplete(question) => {
                AutocompleteRequest::try_from(question).map(Self::Autocomplete).map_err(in_op("autocomplete"))
            }
            Frame::Choices(choices) => {
                Choices::try_from(choices).map(Self::Choices).map_err(in_op("autocomplete"))
            }
            Frame::Acked(pb::Acked { seq }) => Ok(Self::Acked(Acked { seq })),
            Frame::Error(error) => ErrorFrame::try_from(error).map(Self::Error).map_err(in_op("error")),
            Frame::Drain(pb::Drain { after_ms }) => Ok(Self::Drain(Drain { after_ms })),
        }
    }
}

impl TryFrom<pb::Hello> for Hello {
    type Error = DecodeError;

    fn try_from(hello: pb::Hello) -> Result<Self, DecodeError> {
        Ok(Self {
            heartbeat_interval_ms: hello.heartbeat_interval_ms,
            node: id("node", &hello.node)?,
            connection_id: id("connection_id", &hello.connection_id)?,
            reconnect_jitter_ms: hello.reconnect_jitter_ms,
        })
    }
}

impl TryFrom<pb::Event> for Event {
    type Error = DecodeError;

    fn try_from(event: pb::Event) -> Result<Self, DecodeError> {
        let sender = event.sender.ok_or_else(|| DecodeError::field("sender", "is missing"))?;
        Ok(Self {
            stream: event.stream,
            seq: event.seq,
            id: id("id", &event.id)?,
            kind: event.kind,
            at: event.at,
            sender: Sender { kind: sender.kind, id: optional_id("sender.id", sender.id.as_ref())? },
            data: json("data", event.data)?,
        })
    }
}

impl TryFrom<pb::ServerTyping> for UserTyping {
    type Error = DecodeError;

    fn try_from(typing: pb::ServerTyping) -> Result<Self, DecodeError> {
        Ok(Self { room_id: id("room_id", &typing.room_id)?, user_id: id("user_id", &typing.user_id)? })
    }
}

impl TryFrom<pb::Sent> for Sent {
    type Error = DecodeError;

    fn try_from(sent: pb::Sent) -> Result<Self, DecodeError> {
        Ok(Self { nonce: sent.nonce, seq: sent.seq, id: id("id", &sent.id)? })
    }
}

impl From<&ErrorFrame> for pb::Error {
    fn from(error: &ErrorFrame) -> Self {
        Self {
            code: error.code.clone(),
            detail: error.detail.clone(),
            nonce: error.nonce.clone(),
            run_id: error.run_id.map(|run| run.to_string()),
            call_id: error.call_id.map(|call| call.to_string()),
            request_id: error.request_id.map(|request| request.to_string()),
        }
    }
}

impl TryFrom<pb::Error> for ErrorFrame {
    type Error = DecodeError;

    fn try_from(error: pb::Error) -> Result<Self, DecodeError> {
        Ok(Self {
            run_id: optional_id("run_id", error.run_id.as_ref())?,
            call_id: optional_id("call_id", error.call_id.as_ref())?,
            request_id: optional_id("request_id", error.request_id.as_ref())?,
            nonce: error.nonce,
            ..Self::new(error.code, error.detail)
        })
    }
}

impl From<&Hint> for pb::Hint {
    fn from(hint: &Hint) -> Self {
        Self {
            notification_id: hint.notification_id.to_string(),
            room_id: hint.room_id.to_string(),
            seq: hint.seq,
            title: hint.title.clone(),
            body: hint.body.clone(),
        }
    }
}

impl TryFrom<pb::Hint> for Hint {
    type Error = DecodeError;

    fn try_from(hint: pb::Hint) -> Result<Self, DecodeError> {
        Ok(Self {
            notification_id: id("notification_id", &hint.notification_id)?,
            room_id: id("room_id", &hint.room_id)?,
            seq: hint.seq,
            title: hint.title,
            body: hint.body,
        })
    }
}
