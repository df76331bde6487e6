//! The cases of RFC 6902, appendix A, and of RFC 6901, section 5.

use serde_json::{Value, json};

use super::edit::Edits;
use super::op::parse_ops;
use super::pointer::{Pointer, find};
use super::size::json_len;

/// Applies ops to any JSON: the RFC knows nothing of items. Also holds the size against the text, and undo against what
/// was there.
fn patch(before: &Value, ops: &Value) -> Result<Value, String> {
    let ops = parse_ops(&ops.to_string()).map_err(|error| error.to_string())?;
    let mut value = before.clone();
    let mut edits = Edits::new(&mut value, json_len(before), usize::MAX);
    let result = ops
        .iter()
        .enumerate()
        .try_for_each(|(position, op)| edits.apply(op).map_err(|fault| fault.at(position).to_string()));
    if let Err(error) = result {
        edits.undo();
        assert_eq!(&value, before, "undone");
        return Err(error);
    }
    let bytes = edits.bytes();
    assert_eq!(bytes, json_len(&value), "{value}");
    Ok(value)
}

#[test]
fn what_is_applied() {
    let big = json!({"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}});
    for (name, before, ops, after) in [
        (
            "A.1 adding a member",
            json!({"foo": "bar"}),
            json!([{"op": "add", "path": "/baz", "value": "qux"}]),
            json!({"baz": "qux", "foo": "bar"}),
        ),
        (
            "A.2 adding an element",
            json!({"foo": ["bar", "baz"]}),
            json!([{"op": "add", "path": "/foo/1", "value": "qux"}]),
            json!({"foo": ["bar", "qux", "baz"]}),
        ),
        (
            "A.3 removing a member",
            json!({"baz": "qux", "foo": "bar"}),
            json!([{"op": "remove", "path": "/baz"}]),
            json!({"foo": "bar"}),
        ),
        (
            "A.4 removing an element",
            json!({"foo": ["bar", "qux", "baz"]}),
            json!([{"op": "remove", "path": "/foo/1"}]),
            json!({"foo": ["bar", "baz"]}),
        ),
        (
            "A.5 replacing a value",
            json!({"baz": "qux", "foo": "bar"}),
            json!([{"op": "replace", "path": "/baz", "value": "boo"}]),
            json!({"baz": "boo", "foo": "bar"}),
        ),
        (
            "A.6 moving a value",
            big,
            json!([{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}]),
            json!({"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}),
        ),
        (
            "A.7 moving an element",
            json!({"foo": ["all", "grass", "cows", "eat"]}),
            json!([{"op": "move", "from": "/foo/1", "path": "/foo/3"}]),
            json!({"foo": ["all", "cows", "eat", "grass"]}),
        ),
        (
            "A.8 a test that holds",
            json!({"baz": "qux", "foo": ["a", 2, "c"]}),
            json!([{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}]),
            json!({"baz": "qux", "foo": ["a", 2, "c"]}),
        ),
        (
            "A.10 adding an object",
            json!({"foo": "bar"}),
            json!([{"op": "add", "path": "/child", "value": {"grandchild": {}}}]),
            json!({"foo": "bar", "child": {"grandchild": {}}}),
        ),
        (
            "A.14 escapes, in the right order",
            json!({"/": 9, "~1": 10}),
            json!([{"op": "test", "path": "/~01", "value": 10}]),
            json!({"/": 9, "~1": 10}),
        ),
        (
            "A.16 adding an array as one element",
            json!({"foo": ["bar"]}),
            json!([{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}]),
            json!({"foo": ["bar", ["abc", "def"]]}),
        ),
        (
            "4.1 adding over a member replaces it, adding at the root replaces all",
            json!({"foo": "bar"}),
            json!([{"op": "add", "path": "/foo", "value": null}, {"op": "add", "path": "", "value": [1]}]),
            json!([1]),
        ),
        (
            "4.5 copying",
            json!({"foo": ["a"]}),
            json!([{"op": "copy", "from": "/foo/0", "path": "/foo/0"}, {"op": "copy", "from": "", "path": "/all"}]),
            json!({"foo": ["a", "a"], "all": {"foo": ["a", "a"]}}),
        ),
        (
            "4.6 numbers are equal by value, objects in any order",
            json!({"foo": {"a": 1, "b": [1.5, 10.0]}}),
            json!([{"op": "test", "path": "/foo", "value": {"b": [1.5, 10], "a": 1.0}}]),
            json!({"foo": {"a": 1, "b": [1.5, 10.0]}}),
        ),
        (
            "a move to where it is changes nothing; a part may take the place of the whole",
            json!({"foo": {"bar": 1}}),
            json!([{"op": "move", "from": "/foo", "path": "/foo"}, {"op": "move", "from": "/foo", "path": ""}]),
            json!({"bar": 1}),
        ),
    ] {
        assert_eq!(patch(&before, &ops), Ok(after), "{name}");
    }
}

#[test]
fn what_is_refused() {
    for (name, before, ops, message) in [
        (
            "A.9 a test that does not hold",
            json!({"baz": "qux"}),
            json!([{"op": "test", "path": "/baz", "value": "bar"}]),
            "ops[0].value: ",
        ),
        (
            "A.12 adding into what is not there",
            json!({"foo": "bar"}),
            json!([{"op": "add", "path": "/baz/bat", "value": "qux"}]),
            "ops[0].path: ",
        ),
        (
            "A.15 text is no number",
            json!({"/": 9, "~1": 10}),
            json!([{"op": "test", "path": "/~01", "value": "10"}]),
            "ops[0].value: ",
        ),
        (
            "4.1 an index past the end",
            json!({"foo": [1]}),
            json!([{"op": "add", "path": "/foo/2", "value": 1}]),
            "an index from 0 to 1, or -",
        ),
        (
            "an index with a leading zero",
            json!({"foo": [1, 2]}),
            json!([{"op": "remove", "path": "/foo/01"}]),
            "ops[0].path: ",
        ),
        (
            "- is nothing that is there",
            json!({"foo": [1]}),
            json!([{"op": "remove", "path": "/foo/-"}]),
            "ops[0].path: ",
        ),
        ("4.2 removing nothing", json!({}), json!([{"op": "remove", "path": "/a"}]), "ops[0].path: "),
        ("removing all", json!({}), json!([{"op": "remove", "path": ""}]), "ops[0].path: "),
        (
            "4.3 replacing nothing, after what could be done",
            json!({"a": [1, 2]}),
            json!([{"op": "move", "from": "/a/0", "path": "/a/-"}, {"op": "replace", "path": "/b", "value": 1}]),
            "ops[1].path: \"/b\"",
        ),
        (
            "4.4 moving into itself",
            json!({"a": {"b": 1}}),
            json!([{"op": "move", "from": "/a", "path": "/a/b"}]),
            "ops[0].path: ",
        ),
        (
            "moving nothing to itself",
            json!({}),
            json!([{"op": "move", "from": "/a", "path": "/a"}]),
            "ops[0].from: ",
        ),
        (
            "moving to nowhere",
            json!({"a": [1, 2]}),
            json!([{"op": "move", "from": "/a/0", "path": "/b/c"}]),
            "ops[0].path: ",
        ),
        ("copying nothing", json!({}), json!([{"op": "copy", "from": "/a", "path": "/b"}]), "ops[0].from: "),
    ] {
        let error = patch(&before, &ops).expect_err(name);
        assert!(error.contains(message), "{name}: {error}");
    }
}

#[test]
fn a_member_given_twice_is_refused() {
    // A.13; A.11 (unknown members are ignored) does not hold here: they are refused.
    let twice = r#"[{"op": "add", "path": "/baz", "value": "qux", "op": "remove"}]"#;
    assert!(parse_ops(twice).expect_err("op twice").to_string().contains("duplicate"));
    let unknown = r#"[{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}]"#;
    assert!(parse_ops(unknown).expect_err("xyz").to_string().starts_with("ops[0]: "));
}

#[test]
fn pointers_of_rfc_6901() {
    let value = json!({
        "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8
    });
    let at = |text: &str| find(&value, Pointer::parse(text).expect(text).tokens()).cloned();
    assert_eq!(at(""), Some(value.clone()));
    assert_eq!(at("/foo/0"), Some(json!("bar")));
    let names = ["/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", "/k\"l", "/ ", "/m~0n"];
    for (number, text) in names.into_iter().enumerate() {
        assert_eq!(at(text), Some(json!(number)), "{text:?}");
    }
    for text in ["/foo/2", "/foo/+1", "/foo/-", "/foo/00", "/foo/18446744073709551616", "/foo/0/1", "/none"] {
        assert_eq!(at(text), None, "{text}");
    }
    for text in ["foo", "/a~", "/a~2", "/~", "/a\0"] {
        assert!(Pointer::parse(text).is_err(), "{text:?}");
    }
}
