//! What a frame that can't be decoded is about, so that its refusal finds who waits for an answer.

use prost::Message;
use serde_json::Value;
use uuid::Uuid;

use super::Encoding;
use super::proto::pb;

/// The names by which a client knows an answer as its own, as far as a frame has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// The client's own name for what it sends.
    pub nonce: Option<String>,
    /// A run.
    pub run_id: Option<Uuid>,
    /// A call of a tool.
    pub call_id: Option<Uuid>,
    /// A question for choices.
    pub request_id: Option<Uuid>,
}

impl Subject {
    /// Of a frame of a client, whatever else is wrong with it. Reads all of it anew, so it is for frames that are refused.
    #[must_use]
    pub fn of(bytes: &[u8], encoding: Encoding) -> Self {
        match encoding {
            Encoding::Json => serde_json::from_slice(bytes).map(|frame| json(&frame)).unwrap_or_default(),
            Encoding::Proto => {
                let frame = pb::ClientFrame::decode(bytes).ok().and_then(|message| message.frame);
                frame.map(proto).unwrap_or_default()
            }
        }
    }
}

fn json(frame: &Value) -> Subject {
    let text = |field: &str| frame.get(field).and_then(Value::as_str);
    let id = |field: &str| text(field).and_then(|id| id.parse().ok());
    Subject {
        nonce: text("nonce").map(str::to_owned),
        run_id: id("run_id"),
        call_id: id("call_id"),
        request_id: id("request_id"),
    }
}

fn proto(frame: pb::client_frame::Frame) -> Subject {
    use pb::client_frame::Frame;
    let (mut nonce, mut run, mut call, mut request) = (None, None, None, None);
    match frame {
        Frame::Send(send) => nonce = Some(send.nonce).filter(|nonce| !nonce.is_empty()),
        Frame::Watch(watch) => run = Some(watch.run_id),
        Frame::Unwatch(unwatch) => run = Some(unwatch.run_id),
        Frame::RunStart(start) => run = Some(start.run_id),
        Frame::RunPatch(patch) => run = Some(patch.run_id),
        Frame::RunFinish(finish) => run = Some(finish.run_id),
        Frame::ToolCall(tool) => (nonce, run) = (tool.nonce, Some(tool.run_id)),
        Frame::ToolResult(result) => call = Some(result.call_id),
        Frame::Autocomplete(question) => request = Some(question.request_id),
        Frame::AutocompleteReply(reply) => request = Some(reply.request_id),
        Frame::Identify(_)
        | Frame::Resume(_)
        | Frame::Ping(_)
        | Frame::Typing(_)
        | Frame::Focus(_)
        | Frame::Read(_)
        | Frame::Ack(_)
        | Frame::Refresh(_) => {}
    }
    let id = |text: Option<String>| text.and_then(|text| text.parse().ok());
    Subject { nonce, run_id: id(run), call_id: id(call), request_id: id(request) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0190b4a5-0000-7000-8000-0000000000a9";

    #[test]
    fn names_are_read_whatever_else_is_wrong() {
        for (frame, nonce) in [
            (r#"{"op":"send","room_id":5,"body":"x","nonce":"n"}"#, Some("n")),
            (r#"{"op":"dance","nonce":"n","steps":[{}]}"#, Some("n")),
            (r#"{"op":"send","nonce":7}"#, None),
            (r#"["nonce"]"#, None),
            (r#"{"nonce":"n""#, None),
        ] {
            let subject = Subject::of(frame.as_bytes(), Encoding::Json);
            assert_eq!(subject.nonce.as_deref(), nonce, "{frame}");
        }
        let frame = format!(r#"{{"op":"watch","run_id":"{ID}","call_id":"x","request_id":"{ID}","more":1}}"#);
        let subject = Subject::of(frame.as_bytes(), Encoding::Json);
        let id = ID.parse().ok();
        assert_eq!((subject.run_id, subject.call_id, subject.request_id), (id, None, id));
    }

    #[test]
    fn protobuf_has_the_names_of_the_same_frames() {
        use pb::client_frame::Frame;
        let of = |frame| {
            let bytes = pb::ClientFrame { frame: Some(frame) }.encode_to_vec();
            Subject::of(&bytes, Encoding::Proto)
        };
        let sent =
            of(Frame::Send(pb::Send { room_id: "lunch".into(), nonce: "n".into(), ..Default::default() }));
        assert_eq!(sent, Subject { nonce: Some("n".into()), ..Subject::default() });
        let called = of(Frame::ToolCall(pb::ClientToolCall { run_id: ID.into(), ..Default::default() }));
        assert_eq!(called, Subject { run_id: ID.parse().ok(), ..Subject::default() });
        assert_eq!(Subject::of(&[0xff; 8], Encoding::Proto), Subject::default());
    }
}
