//! Tests of the difference.

use domain::document::ops_to_json;
use proptest::prelude::*;

use super::*;

fn document(json: &Value) -> Document {
    Document::parse(&json.to_string()).expect("a document")
}

fn ops(from: &Value, to: &Value) -> Value {
    let difference = Difference::of(&document(from), &document(to), 10_000);
    assert_eq!(difference.reach, Reach::Whole);
    serde_json::from_str(&ops_to_json(&difference.ops)).expect("JSON")
}

fn text(id: &str, text: &str) -> Value {
    json!({ "id": id, "type": "text", "text": text })
}

#[test]
fn a_text_that_grew_is_appended_to() {
    let from = json!({ "items": [text("a", "good")] });
    let to = json!({ "items": [text("a", "good morning")] });
    assert_eq!(ops(&from, &to), json!([{ "op": "append", "path": "/items/0/text", "value": " morning" }]));
    assert_eq!(ops(&to, &to), json!([]));
}

#[test]
fn a_member_that_changed_is_put_there_and_one_that_is_gone_is_taken_out() {
    let from = json!({ "items": [{ "id": "t", "type": "tool", "state": "running", "a/b": 1 }], "x": 1 });
    let to = json!({ "items": [{ "id": "t", "type": "tool", "state": "done" }], "y~": null });
    let expected = json!([
        { "op": "remove", "path": "/items/0/a~1b" },
        { "op": "add", "path": "/items/0/state", "value": "done" },
        { "op": "remove", "path": "/x" },
        { "op": "add", "path": "/y~0", "value": null },
    ]);
    assert_eq!(ops(&from, &to), expected);
}

#[test]
fn items_in_another_order_are_put_in_anew_from_there_on() {
    let from = json!({ "items": [text("a", "1"), text("b", "2"), text("c", "3")] });
    let to = json!({ "items": [text("a", "1"), text("c", "3")] });
    let expected = json!([
        { "op": "remove", "path": "/items/2" },
        { "op": "remove", "path": "/items/1" },
        { "op": "add", "path": "/items/-", "value": text("c", "3") },
    ]);
    assert_eq!(ops(&from, &to), expected);
}

#[test]
fn what_is_too_large_for_a_frame_and_no_text_gets_stuck() {
    let to = json!({ "items": [{ "id": "t", "type": "tool", "args": ["x".repeat(300)] }] });
    let mut at = Document::empty();
    let first = Difference::of(&at, &document(&to), 200);
    assert_eq!(first.reach, Reach::Part);
    at.replay(&first.ops).expect("good");
    assert_eq!(Difference::of(&at, &document(&to), 200).reach, Reach::Stuck);
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i16>().prop_map(Value::from),
        words().prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(Value::from),
    ]
}

/// Texts that often begin alike, with characters that are long as JSON.
fn words() -> impl Strategy<Value = String> {
    (0..120_usize).prop_map(|length| "ab\u{1}\"ä😀/~".chars().cycle().take(length).collect())
}

fn item() -> impl Strategy<Value = (u8, Value)> {
    let members = prop::collection::btree_map("[a-c/~]{1,2}", value(), 0..3);
    (0..6_u8, 0..2_u8, words(), members).prop_map(|(id, kind, text, members)| {
        let mut item = match kind {
            0 => json!({ "id": id.to_string(), "type": "text", "text": text }),
            _ => json!({ "id": id.to_string(), "type": "tool" }),
        };
        for (name, value) in members {
            item[name] = value;
        }
        (id, item)
    })
}

fn any_document() -> impl Strategy<Value = Document> {
    let items = prop::collection::vec(item(), 0..5);
    let members = prop::collection::btree_map("[x-z]", value(), 0..3);
    (items, members).prop_map(|(items, members)| {
        let mut ids = std::collections::HashSet::new();
        let items: Vec<Value> =
            items.into_iter().filter(|(id, _)| ids.insert(*id)).map(|(_, item)| item).collect();
        let mut root = json!({ "items": items });
        for (name, value) in members {
            root[name] = value;
        }
        document(&root)
    })
}

proptest! {
    #[test]
    fn parts_lead_from_any_document_to_any_other(
        from in any_document(),
        to in any_document(),
        limit in 120..600_usize,
    ) {
        let mut at = from;
        for _ in 0..1000 {
            let difference = Difference::of(&at, &to, limit);
            prop_assert!(ops_to_json(&difference.ops).len() <= limit + 1);
            // Each op alone, so that each leaves a document.
            for op in &difference.ops {
                at.replay(std::slice::from_ref(op)).expect("an op that keeps the rules");
            }
            match difference.reach {
                Reach::Whole => break,
                Reach::Part => prop_assert!(!difference.ops.is_empty()),
                Reach::Stuck => prop_assert!(false, "stuck"),
            }
        }
        prop_assert_eq!(at.value(), to.value());
    }
}
