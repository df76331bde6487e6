mod agents;
mod any;

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::frame::{Focus, Slot};

const ID: &str = "0190b4a5-0000-7000-8000-00000000000a";

fn client(json: &str) -> Result<ClientFrame, DecodeError> {
    decode_client(json.as_bytes(), Encoding::Json)
}

fn id() -> Uuid {
    ID.parse().expect("good")
}

proptest! {
    #[test]
    fn every_server_frame_survives_both_codecs(frame in any::server_frame()) {
        for encoding in Encoding::ALL {
            let bytes = encode_server(&frame, encoding);
            prop_assert_eq!(decode_server(&bytes, encoding), Ok(frame.clone()));
        }
    }

    #[test]
    fn every_client_frame_survives_both_codecs(frame in any::client_frame()) {
        for encoding in Encoding::ALL {
            let bytes = encode_client(&frame, encoding);
            prop_assert_eq!(decode_client(&bytes, encoding), Ok(frame.clone()));
        }
    }

    #[test]
    fn op_is_the_name_in_json(server in any::server_frame(), client in any::client_frame()) {
        for (bytes, op) in [
            (encode_server(&server, Encoding::Json), server.op()),
            (encode_client(&client, Encoding::Json), client.op()),
        ] {
            let start = format!(r#"{{"op":"{op}""#);
            prop_assert!(bytes.starts_with(start.as_bytes()), "{:?}", bytes);
        }
    }

    #[test]
    fn the_fast_path_writes_what_serde_and_prost_write(event in any::event()) {
        let frame = ServerFrame::Event(event.clone());
        let parts = EventParts::from(&event);
        prop_assert_eq!(parts.encode(Encoding::Json), json::encode(&frame));
        prop_assert_eq!(parts.encode(Encoding::Proto), proto::encode_server(&frame));
        let padded = format!(" \n{}\t\r", parts.data);
        for encoding in Encoding::ALL {
            prop_assert_eq!(EventParts { data: &padded, ..parts }.encode(encoding), parts.encode(encoding));
        }
    }

    #[test]
    fn garbage_is_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for encoding in Encoding::ALL {
            let _ = decode_client(&bytes, encoding);
            let _ = decode_server(&bytes, encoding);
        }
    }

    #[test]
    fn frames_with_a_byte_changed_are_refused_or_read_without_a_panic(
        frame in any::client_frame(), at in any::<prop::sample::Index>(), to in any::<u8>(),
    ) {
        for encoding in Encoding::ALL {
            let mut bytes = encode_client(&frame, encoding).to_vec();
            let at = at.index(bytes.len());
            bytes[at] = to;
            let _ = decode_client(&bytes, encoding);
        }
    }
}

#[test]
fn op_may_stand_anywhere_and_names_may_be_escaped() {
    let frame = client(&format!(r#" {{"idle":true,"o\u0070":"foc\u0075s","room_id":"{ID}"}} "#));
    assert_eq!(frame, Ok(ClientFrame::Focus(Focus { room_id: Some(id()), idle: true })));
    let frame = client(r#"{"op":"focus"}"#);
    assert_eq!(frame, Ok(ClientFrame::Focus(Focus { room_id: None, idle: false })));
}

#[test]
fn an_identify_is_one_slot() {
    let read = |json: &str| match client(json) {
        Ok(ClientFrame::Identify(identify)) => identify.slot,
        other => panic!("{other:?}"),
    };
    assert_eq!(read(&format!(r#"{{"op":"identify","device_id":"{ID}"}}"#)), Slot::Device(id()));
    assert_eq!(read(r#"{"op":"identify","consumer":"main","cursors":{}}"#), Slot::Consumer("main".into()));
}

/// Kind, op, field, part of the text: for each way to be wrong.
#[test]
fn errors_say_what_is_wrong() {
    use DecodeErrorKind::{Field, Malformed, NoOp, UnknownOp};
    let room = format!(r#""room_id":"{ID}""#);
    for (json, kind, op, field, text) in [
        ("", Malformed, None, None, "not JSON"),
        ("{\"op\":\"ping\"", Malformed, None, None, "not JSON"),
        ("{\"op\":\"ping\"} {}", Malformed, None, None, "not JSON"),
        ("\u{7f}", Malformed, None, None, "not JSON"),
        ("[]", Malformed, None, None, "one JSON object"),
        ("\"ping\"", Malformed, None, None, "one JSON object"),
        ("{}", NoOp, None, None, "there is no op"),
        (r#"{"op":5}"#, NoOp, None, None, "op: invalid type: integer `5`"),
        (r#"{"op":"ping","op":"ping"}"#, NoOp, None, None, "given twice"),
        (r#"{"op":"dance","x":1}"#, UnknownOp, Some("dance"), None, "\"dance\" is not an op"),
        (r#"{"op":"run_stop"}"#, UnknownOp, Some("run_stop"), None, "not an op"),
        (r#"{"op":"ping","x":1}"#, Field, Some("ping"), Some("x"), "which has none"),
        (r#"{"op":"typing","room":1}"#, Field, Some("typing"), Some("room"), "its fields are room_id"),
        (r#"{"op":"typing"}"#, Field, Some("typing"), Some("room_id"), "\"typing\": room_id: is missing"),
        (r#"{"op":"typing","room_id":7}"#, Field, Some("typing"), Some("room_id"), "integer `7`"),
        (r#"{"op":"typing","room_id":"x"}"#, Field, Some("typing"), Some("room_id"), "UUID"),
        (r#"{"op":"read","seq":-1}"#, Field, Some("read"), Some("seq"), "integer `-1`"),
        (r#"{"op":"focus","idle":"yes"}"#, Field, Some("focus"), Some("idle"), "a boolean"),
        (r#"{"op":"resume","cursors":{"x":1}}"#, Field, Some("resume"), Some("cursors"), "name of a stream"),
        (r#"{"op":"identify"}"#, Field, Some("identify"), None, "device_id is missing"),
        (
            &format!(r#"{{"op":"identify","device_id":"{ID}","consumer":"a"}}"#),
            Field,
            Some("identify"),
            None,
            "can't both",
        ),
        (
            &format!(r#"{{"op":"typing",{room},{room}}}"#),
            Field,
            Some("typing"),
            Some("room_id"),
            "given twice",
        ),
    ] {
        let error = client(json).expect_err(json);
        let shown = error.to_string();
        assert_eq!(
            (error.kind, error.op.as_deref(), error.field.as_deref()),
            (kind, op, field),
            "{json}: {shown}"
        );
        assert!(shown.contains(text), "{json}: {shown}");
    }
}

#[test]
fn errors_stay_short_whatever_was_sent() {
    let long = "x".repeat(10_000);
    for json in [
        format!(r#"{{"op":"{long}"}}"#),
        format!(r#"{{"op":"ping","{long}":1}}"#),
        format!(r#"{{"op":"read","seq":"{long}"}}"#),
    ] {
        let shown = client(&json).expect_err("refused").to_string();
        assert!(shown.len() < 500, "{} bytes", shown.len());
    }
}

#[test]
fn a_client_skips_what_a_newer_server_adds() {
    let frame = decode_server(br#"{"op":"drain","after_ms":5,"why":{"deploy":true}}"#, Encoding::Json);
    assert_eq!(frame, Ok(ServerFrame::Drain(crate::frame::Drain { after_ms: 5 })));
    let live = decode_server(br#"{"op":"live","extra":[1]}"#, Encoding::Json);
    assert_eq!(live, Ok(ServerFrame::Live));
    // Field 99 of the frame, an empty message.
    for (bytes, encoding) in
        [(&b"{\"op\":\"dance\"}"[..], Encoding::Json), (&[0x9a, 0x06, 0x00], Encoding::Proto)]
    {
        let error = decode_server(bytes, encoding).expect_err("unknown");
        assert_eq!(error.kind, DecodeErrorKind::UnknownOp, "{error}");
    }
}

#[test]
fn protobuf_names_what_is_wrong() {
    let error = decode_client(&[], Encoding::Proto).expect_err("empty");
    assert_eq!(error.kind, DecodeErrorKind::NoOp);
    let error = decode_client(&[0xff; 8], Encoding::Proto).expect_err("garbage");
    assert_eq!(error.kind, DecodeErrorKind::Malformed);
    // `typing` (5) without a room.
    let error = decode_client(&[0x2a, 0x00], Encoding::Proto).expect_err("no room");
    assert_eq!((error.op.as_deref(), error.field.as_deref()), (Some("typing"), Some("room_id")));
    // `identify` (1) with a cursor (3) for the stream "x".
    let error = decode_client(&[0x0a, 0x08, 0x12, 0x01, b'c', 0x1a, 0x03, 0x0a, 0x01, b'x'], Encoding::Proto)
        .expect_err("bad cursor");
    assert_eq!((error.op.as_deref(), error.field.as_deref()), (Some("identify"), Some("cursors")));
}

#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        for json in [deep.clone(), format!(r#"{{"op":"send","body":{deep}}}"#), format!(r#"{{"x":{deep}}}"#)]
        {
            client(&json).expect_err("refused");
        }
        // Unknown to a client, so skipped, however deep.
        let _ =
            decode_server(format!(r#"{{"op":"drain","after_ms":1,"x":{deep}}}"#).as_bytes(), Encoding::Json);
    }
}

#[test]
fn subprotocols_are_found_by_name() {
    for encoding in Encoding::ALL {
        assert_eq!(Encoding::from_subprotocol(encoding.subprotocol()), Some(encoding));
    }
    assert_eq!(Encoding::from_subprotocol("switchboard.v2.json"), None);
}
