//! Tests of what a model is given.

use protocol::frame::{RawJson, Sender};
use serde_json::json;

use super::*;

fn event(seq: u64, kind: &str, data: &Value) -> Event {
    Event {
        stream: "room:x".to_owned(),
        seq,
        id: Uuid::from_u128(seq.into()),
        kind: kind.to_owned(),
        at: String::new(),
        sender: Sender { kind: "user".to_owned(), id: Some(Uuid::from_u128(1)) },
        data: RawJson::new(data.to_string()).expect("JSON"),
    }
}

#[test]
fn the_newest_edit_counts_and_a_deletion_more() {
    let mut edits = HashMap::new();
    let edited = |seq, of: u128, body: &str| {
        event(seq, "message.edited", &json!({ "event_id": Uuid::from_u128(of), "body": body }))
    };
    let created = |seq, body: &str| event(seq, "message.created", &json!({ "body": body }));
    let log =
        [created(1, "soup"), created(2, ""), edited(3, 1, "stew"), edited(4, 1, "salad"), edited(5, 2, "x")];
    let read: Vec<_> = log.iter().rev().filter_map(|event| entry(event, &mut edits)).collect();
    let by = Speaker::Person(Uuid::from_u128(1));
    assert_eq!(read, [Entry::Message(Said { by, text: "salad".to_owned() })]);
    assert_eq!(entry(&event(6, "reaction.added", &json!({})), &mut edits), None);
}

#[test]
fn a_question_is_text_or_has_one() {
    assert_eq!(text_of(&json!("hi")), "hi");
    assert_eq!(text_of(&json!({ "x": 1, "prompt": "hi" })), "hi");
    assert_eq!(text_of(&json!({ "x": 1 })), r#"{"x":1}"#);
    assert_eq!(text_of(&json!([1])), "[1]");
}

#[test]
fn the_agents_own_handle_is_taken_from_the_beginning_alone() {
    for (text, rest) in [
        ("@helper what is for lunch?", "what is for lunch?"),
        ("  @Helper, soup?", "soup?"),
        ("@helpers, soup?", "@helpers, soup?"),
        ("ask @helper", "ask @helper"),
        ("@helper", "@helper"),
        ("@hel", "@hel"),
    ] {
        assert_eq!(without_mention(text, "helper"), rest, "{text}");
    }
}
