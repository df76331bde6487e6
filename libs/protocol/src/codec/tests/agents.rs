//! Frames about runs, tool calls and autocomplete: their shapes, and what is refused.

use super::*;
use crate::frame::*;

const OTHER: &str = "0190b4a5-0000-7000-8000-00000000000b";

fn server(json: &str) -> Result<ServerFrame, DecodeError> {
    decode_server(json.as_bytes(), Encoding::Json)
}

fn raw(text: &str) -> RawJson {
    RawJson::new(text).expect("good JSON")
}

fn text(bytes: &Bytes) -> &str {
    std::str::from_utf8(bytes).expect("JSON")
}

fn run(change: RunChange) -> Run {
    Run {
        run_id: id(),
        room_id: id(),
        agent_id: id(),
        epoch: 2,
        version: 7,
        status: "running".into(),
        reason: None,
        cancel_requested: false,
        change,
    }
}

#[test]
fn a_run_has_its_document_or_what_changed_and_nothing_empty() {
    let head = format!(
        r#"{{"op":"run","run_id":"{ID}","room_id":"{ID}","agent_id":"{ID}","epoch":2,"version":7,"status":"running""#
    );
    let doc = r#"{"items":[ ]}"#;
    let snapshot = ServerFrame::Run(run(RunChange::Doc(raw(doc))));
    assert_eq!(text(&encode_server(&snapshot, Encoding::Json)), format!(r#"{head},"doc":{doc}}}"#));

    let ops = r#"[{"op":"append","path":"/items/0/text","value":"\u0048i"}]"#;
    let patch = Run {
        reason: Some("tool_call".into()),
        cancel_requested: true,
        ..run(RunChange::Patch { from: 6, ops: raw(ops) })
    };
    assert_eq!(
        text(&encode_server(&ServerFrame::Run(patch), Encoding::Json)),
        format!(r#"{head},"reason":"tool_call","cancel_requested":true,"from":6,"ops":{ops}}}"#)
    );
}

#[test]
fn a_run_with_both_or_neither_is_refused() {
    let head = format!(
        r#"{{"op":"run","run_id":"{ID}","room_id":"{ID}","agent_id":"{ID}","epoch":2,"version":7,"status":"queued""#
    );
    for rest in
        ["", r#","from":6"#, r#","ops":[]"#, r#","doc":{},"from":6,"ops":[]"#, r#","doc":{},"from":6"#]
    {
        let error = server(&format!("{head}{rest}}}")).expect_err(rest);
        assert_eq!((error.kind, error.op.as_deref()), (DecodeErrorKind::Field, Some("run")), "{rest}");
        assert!(error.message.contains("either doc, or from and ops"), "{rest}: {error}");
    }
}

#[test]
fn ready_says_whose_connection_it_is() {
    let rest = format!(r#""session_id":"{ID}","epoch":1,"log_epoch":"{ID}","rooms":[],"streams":{{}}"#);
    let user = format!(r#""user":{{"id":"{ID}","handle":"alex","display_name":"Alex","role":"user"}}"#);
    let agent = format!(r#""agent":{{"id":"{OTHER}","handle":"helper","display_name":"Helper"}}"#);
    let account = |who: &str| match server(&format!(r#"{{"op":"ready",{rest}{who}}}"#)) {
        Ok(ServerFrame::Ready(ready)) => Ok(ready.account),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    };
    let person = account(&format!(",{user}")).expect("a person");
    assert!(matches!(&person, Account::User(user) if user.handle == "alex"), "{person:?}");
    assert_eq!(person.stream(), format!("user:{ID}"));
    let machine = account(&format!(",{agent}")).expect("an agent");
    assert!(matches!(&machine, Account::Agent(agent) if agent.handle == "helper"), "{machine:?}");
    assert_eq!(machine.stream(), format!("agent:{OTHER}"));
    for who in [String::new(), format!(",{user},{agent}")] {
        let error = account(&who).expect_err(&who);
        assert!(error.contains("exactly one of user and agent"), "{error}");
    }
}

#[test]
fn both_frames_called_autocomplete_are_told_apart_by_their_fields() {
    let choices =
        server(&format!(r#"{{"choices":[{{"value":"a"}}],"op":"autocomplete","request_id":"{ID}"}}"#));
    let answer = Choices { request_id: id(), choices: raw(r#"[{"value":"a"}]"#), timed_out: false };
    assert_eq!(choices, Ok(ServerFrame::Choices(answer)));
    let late = Choices { request_id: id(), choices: raw("[]"), timed_out: true };
    assert_eq!(
        text(&encode_server(&ServerFrame::Choices(late), Encoding::Json)),
        format!(r#"{{"op":"autocomplete","request_id":"{ID}","choices":[],"timed_out":true}}"#)
    );

    let question = format!(
        r#"{{"op":"autocomplete","request_id":"{ID}","room_id":"{ID}","user_id":"{OTHER}","command":"go","input":"t"}}"#
    );
    let read = server(&question);
    assert!(matches!(&read, Ok(ServerFrame::Autocomplete(question)) if question.command == "go"), "{read:?}");

    let error = server(&format!(r#"{{"op":"autocomplete","request_id":"{ID}"}}"#)).expect_err("neither");
    assert_eq!((error.op.as_deref(), error.field.as_deref()), (Some("autocomplete"), Some("room_id")));
    let error = server(r#"{"op":"autocomplete","choices":[]}"#).expect_err("of which question");
    assert_eq!(error.field.as_deref(), Some("request_id"));
}

#[test]
fn a_tool_gives_a_result_or_an_error() {
    let outcome = |rest: &str| match client(&format!(r#"{{"op":"tool_result","call_id":"{ID}"{rest}}}"#)) {
        Ok(ClientFrame::ToolResult(result)) => Ok(result.outcome),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    };
    assert_eq!(outcome(r#","result":{"a": 1}"#), Ok(ToolOutcome::Result(raw(r#"{"a": 1}"#))));
    assert_eq!(outcome(r#","result":null"#), Ok(ToolOutcome::Result(raw("null"))));
    assert_eq!(outcome(r#","error":"no such file""#), Ok(ToolOutcome::Error("no such file".into())));
    assert!(outcome("").is_err_and(|error| error.contains("result is missing (or error)")));
    assert!(outcome(r#","result":1,"error":"x""#).is_err_and(|error| error.contains("can't both")));
    assert!(outcome(r#","error":7"#).is_err_and(|error| error.contains("error: ")));
}

#[test]
fn a_timeout_is_a_number_or_text() {
    let timeout = |json: &str| {
        let frame = format!(
            r#"{{"op":"tool_call","run_id":"{ID}","epoch":1,"tool":"open","args":{{}},"user_id":"{ID}","timeout":{json}}}"#
        );
        match client(&frame) {
            Ok(ClientFrame::ToolCall(call)) => Ok(call.timeout.map(|timeout| timeout.0)),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err((error.field, error.message)),
        }
    };
    for (json, read) in [("90", "90"), ("1.5", "1.5"), ("-3", "-3"), (r#""90s""#, "90s")] {
        assert_eq!(timeout(json), Ok(Some(read.to_owned())));
    }
    assert_eq!(timeout("null"), Ok(None));
    for json in ["true", "[]", "{}"] {
        let (field, message) = timeout(json).expect_err(json);
        assert_eq!(field.as_deref(), Some("timeout"));
        assert!(message.contains("a number of seconds, or text"), "{message}");
    }
}

/// Frame without its op, and the field that is wrong.
#[test]
fn refusals_name_the_field() {
    let run = format!(r#""run_id":"{ID}""#);
    let call = format!(r#"{run},"epoch":1,"tool":"open","user_id":"{ID}""#);
    let asked = format!(r#""request_id":"{ID}","agent_id":"{ID}","room_id":"{ID}""#);
    for (op, rest, field) in [
        ("watch", String::new(), "run_id"),
        ("unwatch", r#""run_id":7"#.into(), "run_id"),
        ("watch", format!(r#"{run},"epoch":1"#), "epoch"),
        ("ack", r#""seq":-1"#.into(), "seq"),
        ("run_start", format!(r#"{run},"room_id":"{ID}""#), "room_id"),
        ("run_patch", format!(r#"{run},"epoch":1"#), "ops"),
        ("run_patch", format!(r#"{run},"ops":[]"#), "epoch"),
        ("run_patch", format!(r#"{run},"epoch":"1","ops":[]"#), "epoch"),
        ("run_finish", format!(r#"{run},"epoch":1"#), "status"),
        ("run_finish", format!(r#"{run},"epoch":1,"status":"failed","error":{{}}"#), "error"),
        ("tool_call", call.clone(), "args"),
        ("tool_call", format!(r#"{call},"args":{{}},"nonce":1"#), "nonce"),
        ("tool_result", format!(r#""call_id":"{ID}","value":1"#), "value"),
        ("autocomplete", asked.clone(), "command"),
        ("autocomplete", format!(r#"{asked},"command":"go""#), "input"),
        ("autocomplete_reply", format!(r#""request_id":"{ID}""#), "choices"),
    ] {
        let comma = if rest.is_empty() { "" } else { "," };
        let json = format!(r#"{{"op":"{op}"{comma}{rest}}}"#);
        let error = client(&json).expect_err(&json);
        assert_eq!(
            (error.kind, error.op.as_deref(), error.field.as_deref()),
            (DecodeErrorKind::Field, Some(op), Some(field)),
            "{json}: {error}"
        );
    }
}

#[test]
fn protobuf_names_what_is_missing() {
    for (tag, op, field) in [
        (8_u8, "watch", "run_id"),
        (9, "unwatch", "run_id"),
        (11, "run_start", "run_id"),
        (12, "run_patch", "run_id"),
        (13, "run_finish", "run_id"),
        (14, "tool_call", "run_id"),
        (15, "tool_result", "result"),
        (17, "autocomplete_reply", "request_id"),
        (16, "autocomplete", "request_id"),
    ] {
        let key: &[u8] = if tag < 16 { &[tag << 3 | 2] } else { &[(tag << 3 | 2) | 0x80, 1] };
        let bytes = [key, &[0]].concat();
        let error = decode_client(&bytes, Encoding::Proto).expect_err(op);
        assert_eq!((error.op.as_deref(), error.field.as_deref()), (Some(op), Some(field)), "{error}");
    }
}

#[test]
fn protobuf_looks_at_the_json_in_it() {
    let good = ClientFrame::RunPatch(RunPatch { run_id: id(), epoch: 1, ops: raw("[]") });
    let bytes = encode_client(&good, Encoding::Proto).to_vec();
    assert!(bytes.ends_with(b"[]"));
    let bad = [&bytes[..bytes.len() - 2], b"[}"].concat();
    let error = decode_client(&bad, Encoding::Proto).expect_err("no JSON");
    assert_eq!((error.op.as_deref(), error.field.as_deref()), (Some("run_patch"), Some("ops")), "{error}");
}

/// What a client nests too deep would reach everybody as what no parser takes.
#[test]
fn free_json_of_a_client_nests_only_so_deep() {
    let nested = |depth: usize| raw(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    let frames = |json: RawJson| {
        let (run_id, epoch, status) = (id(), 1, String::new());
        [
            ("ops", ClientFrame::RunPatch(RunPatch { run_id, epoch, ops: json.clone() })),
            (
                "ops",
                ClientFrame::RunFinish(RunFinish {
                    run_id,
                    epoch,
                    status,
                    ops: Some(json.clone()),
                    error: None,
                }),
            ),
            (
                "args",
                ClientFrame::ToolCall(CallTool {
                    run_id,
                    epoch,
                    tool: "open".into(),
                    args: json.clone(),
                    user_id: id(),
                    timeout: None,
                    nonce: None,
                }),
            ),
            (
                "result",
                ClientFrame::ToolResult(ToolResult {
                    call_id: id(),
                    outcome: ToolOutcome::Result(json.clone()),
                }),
            ),
            (
                "choices",
                ClientFrame::AutocompleteReply(AutocompleteReply { request_id: id(), choices: json }),
            ),
        ]
    };
    for encoding in Encoding::ALL {
        for (_, frame) in frames(nested(MAX_DEPTH)) {
            assert_eq!(decode_client(&encode_client(&frame, encoding), encoding), Ok(frame));
        }
        for depth in [MAX_DEPTH + 1, 50_000] {
            for (field, frame) in frames(nested(depth)) {
                let error = decode_client(&encode_client(&frame, encoding), encoding).expect_err(field);
                assert_eq!(
                    (error.kind, error.op.as_deref(), error.field.as_deref()),
                    (DecodeErrorKind::Field, Some(frame.op()), Some(field)),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn a_refusal_names_what_was_refused() {
    let error = ErrorFrame { run_id: Some(id()), ..ErrorFrame::new("not_found", "there is no such run") };
    let bytes = encode_server(&ServerFrame::Error(error), Encoding::Json);
    let shown =
        format!(r#"{{"op":"error","code":"not_found","detail":"there is no such run","run_id":"{ID}"}}"#);
    assert_eq!(text(&bytes), shown);
}
