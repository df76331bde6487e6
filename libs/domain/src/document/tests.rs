use serde_json::json;

use super::*;

mod properties;

const MAX: usize = 1024 * 1024;

fn document(items: &Value) -> Document {
    Document::parse(&json!({ "items": items }).to_string()).expect("a document")
}

/// Applies ops given as JSON; the error as text.
fn apply(document: &mut Document, ops: &Value) -> Result<(), String> {
    let ops = parse_ops(&ops.to_string()).map_err(|error| error.to_string())?;
    let before = document.clone();
    let result = document.apply(&ops, MAX);
    if result.is_err() {
        assert_eq!(*document, before, "all or none");
    }
    assert_eq!(document.bytes(), document.to_json().len());
    result.map_err(|error| error.to_string())
}

#[test]
fn a_fresh_document_has_no_items() {
    assert_eq!(Document::empty().to_json(), EMPTY);
    assert_eq!(Document::parse(EMPTY), Ok(Document::empty()));
    assert_eq!(Document::empty().bytes(), EMPTY.len());
}

#[test]
fn an_agent_writes_a_text() {
    let mut document = Document::empty();
    apply(
        &mut document,
        &json!([{"op": "add", "path": "/items/-", "value": {"id": "a", "type": "text", "text": ""}}]),
    )
    .unwrap();
    for word in ["Gr\u{fc}\u{df}e", " an \u{1f600}", "\n\"Alex\""] {
        apply(&mut document, &json!([{"op": "append", "path": "/items/0/text", "value": word}])).unwrap();
    }
    assert_eq!(document.value()["items"][0]["text"], "Gr\u{fc}\u{df}e an \u{1f600}\n\"Alex\"");
}

#[test]
fn numbers_are_read_as_they_were_written() {
    let text = r#"{"items":[],"n":6.352219806894387e+124}"#;
    let once = Document::parse(text).unwrap();
    assert_eq!(once.to_json(), text);
    assert_eq!(Document::parse(&once.to_json()), Ok(once));
}

#[test]
fn what_is_no_document_is_named() {
    let deep = format!(r#"{{"items":[],"a":{}0{}}}"#, "[".repeat(64), "]".repeat(64));
    for (text, message) in [
        ("{", "doc: "),
        ("[]", "doc: an array"),
        ("{}", "doc.items: nothing"),
        (r#"{"items":{}}"#, "doc.items: an object"),
        (r#"{"items":[7]}"#, "doc.items[0]: 7"),
        (r#"{"items":[{"type":"tool"}]}"#, "doc.items[0].id: nothing"),
        (r#"{"items":[{"id":"","type":"tool"}]}"#, "doc.items[0].id: \"\""),
        (r#"{"items":[{"id":"a","type":"tool"},{"id":"a","type":"tool"}]}"#, "doc.items[1].id: \"a\""),
        (r#"{"items":[{"id":"a","type":"video"}]}"#, "doc.items[0].type: \"video\""),
        (r#"{"items":[{"id":"a"}]}"#, "doc.items[0].type: nothing"),
        (r#"{"items":[{"id":"a","type":"text"}]}"#, "doc.items[0].text: nothing"),
        (r#"{"items":[{"id":"a","type":"reasoning","text":1}]}"#, "doc.items[0].text: 1"),
        (r#"{"items":[],"a":"\u0000"}"#, "doc: a NUL"),
        (r#"{"items":[],"a":{"b\u0000":1}}"#, "doc: a NUL"),
        (&deep, "doc: 65 levels"),
    ] {
        let error = Document::parse(text).expect_err(text).to_string();
        assert!(error.starts_with(message), "{text}: {error}");
    }
    let just = format!(r#"{{"items":[],"a":{}0{}}}"#, "[".repeat(63), "]".repeat(63));
    assert!(Document::parse(&just).is_ok());
    assert!(Document::parse(r#"{"items":[{"id":"a","type":"status","free":[1]}],"title":null}"#).is_ok());
}

#[test]
fn the_rules_hold_after_a_call_and_not_within() {
    let items = json!([{"id": "a", "type": "text", "text": "x"}, {"id": "b", "type": "tool"}]);
    for (ops, message) in [
        (json!([{"op": "replace", "path": "/items/1/id", "value": "a"}]), "doc.items[1].id: "),
        (json!([{"op": "copy", "from": "/items/0", "path": "/items/-"}]), "doc.items[2].id: "),
        (json!([{"op": "replace", "path": "/items/1/type", "value": "text"}]), "doc.items[1].text: "),
        (json!([{"op": "remove", "path": "/items/0/text"}]), "doc.items[0].text: "),
        (json!([{"op": "move", "from": "/items/0/text", "path": "/items/1/text"}]), "doc.items[0].text: "),
        (json!([{"op": "remove", "path": "/items"}]), "doc.items: nothing"),
        (json!([{"op": "add", "path": "/items/0", "value": 1}]), "doc.items[0]: "),
        (
            json!([{"op": "append", "path": "/items/1/type", "value": "box"}]),
            "doc.items[1].type: \"toolbox\"",
        ),
        (json!([{"op": "replace", "path": "", "value": []}]), "doc: an array"),
    ] {
        let error = apply(&mut document(&items), &ops).expect_err(message);
        assert!(error.starts_with(message), "{ops}: {error}");
    }
    // Two items change places by their ids, and an id is had twice in between.
    let mut swapped = document(&items);
    let ops = json!([
        {"op": "replace", "path": "/items/0/id", "value": "b"},
        {"op": "replace", "path": "/items/1/id", "value": "a"},
        {"op": "replace", "path": "/items/1/type", "value": "text"},
        {"op": "add", "path": "/items/1/text", "value": ""},
    ]);
    apply(&mut swapped, &ops).unwrap();
    assert_eq!(swapped.value()["items"][1], json!({"id": "a", "type": "text", "text": ""}));
}

#[test]
fn ops_that_are_none_are_named() {
    for (ops, message) in [
        (json!({}), "ops: "),
        (json!([1]), "ops[0]: \"1\""),
        (json!([["remove", "/a"]]), "ops[0]: "),
        (json!([{"op": "test", "path": "", "value": null}, {"path": ""}]), "ops[1].op: nothing"),
        (json!([{"op": "put", "path": ""}]), "ops[0].op: \"put\""),
        (json!([{"op": 5, "path": ""}]), "ops[0].op: \"5\""),
        (json!([{"op": "remove"}]), "ops[0].path: nothing"),
        (json!([{"op": "remove", "path": "a"}]), "ops[0].path: \"a\""),
        (json!([{"op": "remove", "path": "/a~2"}]), "ops[0].path: \"/a~2\""),
        (json!([{"op": "add", "path": ""}]), "ops[0].value: nothing"),
        (json!([{"op": "append", "path": "", "value": 1}]), "ops[0].value: \"1\""),
        (json!([{"op": "move", "path": ""}]), "ops[0].from: nothing"),
        (json!([{"op": "move", "path": "", "from": 1}]), "ops[0].from: \"1\""),
        (json!([{"op": "remove", "path": "", "value": 1}]), "ops[0].value: one"),
        (json!([{"op": "add", "path": "", "value": 1, "from": ""}]), "ops[0].from: one"),
        (json!([{"op": "remove", "path": "", "Path": ""}]), "ops[0]: unknown field"),
    ] {
        let error = parse_ops(&ops.to_string()).expect_err(message).to_string();
        assert!(error.starts_with(message), "{ops}: {error}");
    }
    assert_eq!(parse_ops(r#"[{"op":"add","path":"/a","value":null}]"#).unwrap().len(), 1, "null is a value");
}

#[test]
fn nul_is_refused_wherever_it_comes_from() {
    for ops in [
        json!([{"op": "add", "path": "/a", "value": "\0"}]),
        json!([{"op": "add", "path": "/a", "value": {"\0": 1}}]),
        json!([{"op": "replace", "path": "/items", "value": ["\0"]}]),
        json!([{"op": "add", "path": "/a\0", "value": 1}]),
        json!([{"op": "append", "path": "/items/0/text", "value": "a\0"}]),
    ] {
        let mut document = document(&json!([{"id": "a", "type": "text", "text": ""}]));
        let error = apply(&mut document, &ops).expect_err("NUL");
        assert!(error.contains("without NUL"), "{error}");
    }
}

#[test]
fn depth_is_bounded_for_every_op() {
    let mut document = Document::empty();
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let add = |path: &str, levels| format!(r#"[{{"op":"add","path":"{path}","value":{}}}]"#, nested(levels));
    document.apply(&parse_ops(&add("/a", 63)).unwrap(), MAX).expect("64 levels");
    let error = document.apply(&parse_ops(&add("/b", 64)).unwrap(), MAX).expect_err("65 levels");
    assert!(error.to_string().starts_with("ops[0].value: what makes 65 levels"), "{error}");
    for ops in [
        json!([{"op": "copy", "from": "/a", "path": "/items/-"}]),
        json!([{"op": "move", "from": "/a", "path": "/items/-"}]),
        json!([{"op": "replace", "path": "/items", "value": [document.value()["a"]]}]),
    ] {
        assert!(apply(&mut document, &ops).expect_err("too deep").contains("levels"), "{ops}");
    }
    apply(&mut document, &json!([{"op": "move", "from": "/a", "path": "/b"}]))
        .expect("no deeper than it was");
}

#[test]
fn size_is_bounded_after_a_call_and_may_always_shrink() {
    let mut document = document(&json!([{"id": "a", "type": "text", "text": ""}]));
    let limit = document.bytes() + 10;
    let append = |text: &str| {
        vec![Op::Append { path: Pointer::parse("/items/0/text").unwrap(), value: text.to_owned() }]
    };
    document.apply(&append("12345678\n"), limit).expect("10 bytes with the escape");
    let error = document.apply(&append("1"), limit).expect_err("11 bytes");
    assert_eq!(
        error.to_string(),
        format!("doc: a document of {} bytes is not allowed; allowed is at most {limit} bytes", limit + 1)
    );
    let shorter = parse_ops(r#"[{"op":"replace","path":"/items/0/text","value":"1234"}]"#).unwrap();
    document.apply(&shorter, 10).expect("smaller than it was, though over a limit that was lowered");
    document.replay(&append("12345678")).expect("limits of today do not touch what was taken");
}

#[test]
fn a_few_bytes_cost_a_few_bytes_however_large_the_document() {
    let items: Vec<Value> =
        (0..10_000).map(|id| json!({"id": id.to_string(), "type": "text", "text": "x".repeat(60)})).collect();
    let mut document = document(&json!(items));
    assert!(document.bytes() > MAX / 2);
    let word =
        vec![Op::Append { path: Pointer::parse("/items/9999/text").unwrap(), value: "word ".to_owned() }];
    // Milliseconds; to look at the whole document each time would take minutes.
    let begun = std::time::Instant::now();
    for _ in 0..10_000 {
        document.apply(&word, MAX).unwrap();
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(document.bytes(), document.to_json().len());
}

#[test]
fn few_bytes_can_not_make_much_work() {
    let mut bomb = Document::empty();
    apply(&mut bomb, &json!([{"op": "add", "path": "/a", "value": "x".repeat(1000)}])).unwrap();
    let double: Vec<Value> =
        (0..40).map(|n| json!({"op": "copy", "from": "", "path": format!("/b{n}")})).collect();
    let error = apply(&mut bomb, &json!(double)).expect_err("two to the power of forty");
    assert!(error.contains("moves and copies"), "{error}");
    let over: Vec<Value> = (0..5).map(|_| json!({"op": "copy", "from": "/a", "path": "/b"})).collect();
    let error = bomb
        .apply(&parse_ops(&json!(over).to_string()).unwrap(), 1200)
        .expect_err("five of 1000 at 4 times 1200");
    assert!(error.to_string().starts_with("ops[4]: "), "{error}");
}

#[test]
fn words_are_joined() {
    let ops = json!([
        {"op": "append", "path": "/items/0/text", "value": "a"},
        {"op": "append", "path": "/items/1/text", "value": "x"},
        {"op": "test", "path": "/items/0/id", "value": "a"},
        {"op": "append", "path": "/items/0/text", "value": "b"},
        {"op": "append", "path": "/items/1/text", "value": ""},
        {"op": "replace", "path": "/p", "value": 1},
        {"op": "replace", "path": "/p", "value": 22},
        {"op": "append", "path": "/items/0/text", "value": "c"},
    ]);
    let joined = coalesce(parse_ops(&ops.to_string()).unwrap());
    let expected = json!([
        {"op": "append", "path": "/items/0/text", "value": "ab"},
        {"op": "append", "path": "/items/1/text", "value": "x"},
        {"op": "replace", "path": "/p", "value": 22},
        {"op": "append", "path": "/items/0/text", "value": "c"},
    ]);
    assert_eq!(serde_json::from_str::<Value>(&ops_to_json(&joined)).unwrap(), expected);
}

#[test]
fn what_waits_is_taken_once() {
    let mut pending = Pending::default();
    assert!(pending.is_empty());
    pending.extend(parse_ops(r#"[{"op":"remove","path":"/a"}]"#).unwrap());
    assert_eq!((pending.bytes(), pending.take().len()), (r#"[{"op":"remove","path":"/a"}]"#.len(), 1));
    assert_eq!((pending.to_json().as_str(), pending.bytes()), ("[]", 2));
}
