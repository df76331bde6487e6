//! What holds for all documents and all ops. An oracle, written for clarity and not for speed, says what each op means.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::super::op::Op;
use super::super::pointer::index;
use super::*;

/// RFC 6902 by the book: copies everything, looks at nothing but the meaning. None if the op can't be done.
fn oracle(before: &Value, op: &Op) -> Option<Value> {
    let mut value = before.clone();
    match op {
        Op::Add { path, value: new } => add(&mut value, path, new.clone())?,
        Op::Remove { path } => drop(remove(&mut value, path)?),
        Op::Replace { path, value: new } => *value.pointer_mut(&path.to_string())? = new.clone(),
        Op::Move { from, path } => {
            let inside = path.to_string().starts_with(&format!("{from}/"));
            if from == path {
                value.pointer(&from.to_string())?;
            } else if inside {
                return None;
            } else {
                let moved = remove(&mut value, from)?;
                add(&mut value, path, moved)?;
            }
        }
        Op::Copy { from, path } => {
            let copied = value.pointer(&from.to_string())?.clone();
            add(&mut value, path, copied)?;
        }
        Op::Test { path, value: expected } => {
            (value.pointer(&path.to_string())? == expected).then_some(())?;
        }
        Op::Append { path, value: more } => match value.pointer_mut(&path.to_string())? {
            Value::String(text) => text.push_str(more),
            _ => return None,
        },
    }
    Some(value)
}

/// The pointer above, and the last token.
fn split(path: &Pointer) -> Option<(String, String)> {
    let text = path.to_string();
    let (above, last) = text.rsplit_once('/')?;
    Some((above.to_owned(), last.replace("~1", "/").replace("~0", "~")))
}

fn add(root: &mut Value, path: &Pointer, value: Value) -> Option<()> {
    let Some((above, last)) = split(path) else {
        *root = value;
        return Some(());
    };
    match root.pointer_mut(&above)? {
        Value::Object(members) => drop(members.insert(last, value)),
        Value::Array(elements) if last == "-" => elements.push(value),
        Value::Array(elements) => {
            let index = index(&last).filter(|index| *index <= elements.len())?;
            elements.insert(index, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(root: &mut Value, path: &Pointer) -> Option<Value> {
    let (above, last) = split(path)?;
    root.pointer(&path.to_string())?;
    match root.pointer_mut(&above)? {
        Value::Object(members) => members.remove(&last),
        Value::Array(elements) => Some(elements.remove(index(&last)?)),
        _ => None,
    }
}

/// Names with everything that pointers and JSON escape.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["id", "type", "text", "a/b", "m~n", "~1", "", "0", "\u{fc}\"\n", "items"])
        .prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        "a",
        "tool",
        "text",
        "\u{1f600}",
        "\u{e9}\u{7f}\u{1}\\\"",
        "\u{2028}\t",
        "e\u{301}",
    ])
    .prop_map(str::to_owned)
}

fn json_value() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
        (text(), text()).prop_map(|(id, text)| json!({"id": id, "type": "text", "text": text})),
        text().prop_map(|id| json!({"id": id, "type": "tool"})),
    ];
    plain.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// An op without its places, which depend on the document that it meets.
#[derive(Debug, Clone)]
struct Seed {
    kind: u8,
    place: Index,
    other: Index,
    name: String,
    text: String,
    value: Value,
}

fn seeds() -> impl Strategy<Value = Vec<Seed>> {
    let seed = (0_u8..12, any::<Index>(), any::<Index>(), name(), text(), json_value())
        .prop_map(|(kind, place, other, name, text, value)| Seed { kind, place, other, name, text, value });
    prop::collection::vec(seed, 0..12)
}

fn starts() -> impl Strategy<Value = Document> {
    (0_usize..4, json_value()).prop_map(|(items, free)| {
        let items: Vec<Value> = (0..items)
            .map(|id| json!({"id": format!("i{id}"), "type": "text", "text": "\u{e4}", "free": [free, "t"]}))
            .collect();
        document(&json!(items))
    })
}

/// Every place in a value, but for the root.
fn places(value: &Value, here: &str, into: &mut Vec<String>) {
    let parts: Vec<(String, &Value)> = match value {
        Value::Array(elements) => elements.iter().enumerate().map(|(n, v)| (n.to_string(), v)).collect(),
        Value::Object(members) => members.iter().map(|(name, v)| (name.clone(), v)).collect(),
        _ => return,
    };
    for (token, part) in parts {
        let place = format!("{here}/{}", token.replace('~', "~0").replace('/', "~1"));
        places(part, &place, into);
        into.push(place);
    }
}

/// The op that a seed is on this document: most can be done, some can't.
fn grown(seed: &Seed, root: &Value) -> Op {
    let mut there = Vec::new();
    places(root, "", &mut there);
    let (texts, _): (Vec<&String>, Vec<&String>) =
        there.iter().partition(|place| root.pointer(place).is_some_and(Value::is_string));
    let pick = |at: &Index| Pointer::parse(at.get::<String>(&there)).unwrap();
    let token = seed.name.replace('~', "~0").replace('/', "~1");
    // Beside something that is there, inside of it, or in its place.
    let fresh = |at: &Index| {
        let near = at.get(&there);
        let above = near.rsplit_once('/').unwrap().0;
        let text = match at.index(4) {
            0 => format!("{above}/{token}"),
            1 => format!("{near}/{token}"),
            2 => format!("{above}/-"),
            _ => near.clone(),
        };
        Pointer::parse(&text).unwrap()
    };
    let value = seed.value.clone();
    match seed.kind {
        0 | 1 => Op::Add { path: fresh(&seed.place), value },
        2 => Op::Remove { path: pick(&seed.place) },
        3 | 4 => Op::Replace { path: pick(&seed.place), value },
        5 | 6 => Op::Move { from: pick(&seed.place), path: fresh(&seed.other) },
        7 => Op::Copy { from: pick(&seed.place), path: fresh(&seed.other) },
        8 => {
            let path = pick(&seed.place);
            let value = if seed.other.index(3) == 0 {
                value
            } else {
                root.pointer(&path.to_string()).unwrap().clone()
            };
            Op::Test { path, value }
        }
        _ if texts.is_empty() => Op::Append { path: pick(&seed.place), value: seed.text.clone() },
        _ => Op::Append {
            path: Pointer::parse(seed.place.get::<&String>(&texts)).unwrap(),
            value: seed.text.clone(),
        },
    }
}

/// Ops that can be done one after another, and what they make; the shape of items is not looked at.
fn doable(start: &Value, seeds: &[Seed]) -> (Vec<Op>, Value) {
    let mut value = start.clone();
    let mut ops = Vec::new();
    for seed in seeds {
        let op = grown(seed, &value);
        let Some(next) = oracle(&value, &op).filter(|next| next.is_object() && next.get("items").is_some())
        else {
            continue;
        };
        value = next;
        ops.push(op);
    }
    (ops, value)
}

proptest! {
    #[test]
    fn pointers_are_read_back(tokens in prop::collection::vec("[~/01a\u{fc}-]{0,4}", 0..5)) {
        let text: String = tokens.iter().map(|token| format!("/{}", token.replace('~', "~0").replace('/', "~1"))).collect();
        let pointer = Pointer::parse(&text).unwrap();
        prop_assert_eq!(pointer.tokens(), &tokens[..]);
        prop_assert_eq!(pointer.to_string(), text);
    }

    #[test]
    fn any_text_is_a_pointer_that_is_written_the_same_or_is_refused(text in "[/~01a]{0,8}") {
        if let Ok(pointer) = Pointer::parse(&text) {
            prop_assert_eq!(pointer.to_string(), text);
        }
    }

    #[test]
    fn one_op_does_what_the_rfc_says(start in starts(), seeds in seeds()) {
        let mut value = start.value().clone();
        for seed in &seeds {
            let op = grown(seed, &value);
            let mut after = value.clone();
            let mut edits = Edits::new(&mut after, size::json_len(&value), usize::MAX);
            let done = edits.apply(&op).is_ok();
            let bytes = edits.bytes();
            match oracle(&value, &op) {
                Some(expected) => {
                    prop_assert!(done, "{:?} on {}", op, value);
                    prop_assert_eq!(&after, &expected);
                    prop_assert_eq!(bytes, after.to_string().len(), "{:?} on {}", op, value);
                    let mut back = value.clone();
                    let mut edits = Edits::new(&mut back, size::json_len(&value), usize::MAX);
                    drop(edits.apply(&op));
                    edits.undo();
                    prop_assert_eq!(&back, &value, "{:?} undone", op);
                    let empty = expected.as_object().is_none_or(serde_json::Map::is_empty);
                    if !empty { value = expected; }
                }
                None => prop_assert!(!done, "{:?} on {}", op, value),
            }
        }
    }

    #[test]
    fn a_call_is_all_or_nothing_and_keeps_the_rules(start in starts(), seeds in seeds(), fail in any::<bool>()) {
        let (mut ops, expected) = doable(start.value(), &seeds);
        if fail {
            ops.push(Op::Remove { path: Pointer::parse("/not/there").unwrap() });
        }
        let mut document = start.clone();
        match document.apply(&ops, MAX) {
            Ok(()) => {
                prop_assert!(!fail);
                prop_assert_eq!(document.value(), &expected);
                prop_assert_eq!(Document::parse(&document.to_json()), Ok(document));
            }
            Err(error) => {
                prop_assert!(fail || shape::check(&expected).is_err(), "{}", error);
                prop_assert_eq!(document, start);
            }
        }
    }

    #[test]
    fn size_is_what_is_refused(start in starts(), seeds in seeds(), room in 0_usize..200) {
        let (ops, expected) = doable(start.value(), &seeds);
        prop_assume!(shape::check(&expected).is_ok());
        let limit = start.bytes() + room;
        let large = expected.to_string().len() > limit;
        let mut document = start;
        let result = document.change(&ops, limit, usize::MAX);
        prop_assert_eq!(result.is_err(), large, "{:?}", result);
    }

    #[test]
    fn calls_that_were_taken_are_replayed_to_the_same_document(start in starts(), calls in prop::collection::vec(seeds(), 0..6)) {
        let mut document = start.clone();
        let mut pending = Pending::default();
        let mut taken = Vec::new();
        for seeds in &calls {
            let (ops, _) = doable(document.value(), seeds);
            if document.apply(&ops, MAX).is_ok() {
                pending.extend(ops.clone());
                taken.extend(ops);
            }
        }
        prop_assert_eq!(pending.bytes(), pending.to_json().len());
        prop_assert_eq!(pending.ops(), &coalesce(taken)[..]);
        let stored = parse_ops(&pending.to_json()).unwrap();
        prop_assert_eq!(&stored, pending.ops());
        let mut again = start;
        prop_assert_eq!(again.replay(&stored), Ok(()));
        prop_assert_eq!(again, document);
    }

    #[test]
    fn words_in_any_order_are_joined_to_the_same_texts(words in prop::collection::vec((0_usize..12, text()), 0..60)) {
        let items: Vec<Value> = (0..12).map(|id| json!({"id": id.to_string(), "type": "reasoning", "text": ""})).collect();
        let start = document(&json!(items));
        let ops: Vec<Op> = words
            .iter()
            .map(|(item, text)| Op::Append { path: Pointer::parse(&format!("/items/{item}/text")).unwrap(), value: text.clone() })
            .collect();
        let (mut one, mut other) = (start.clone(), start);
        one.apply(&ops, MAX).unwrap();
        other.apply(&coalesce(ops), MAX).unwrap();
        for (item, value) in one.value()["items"].as_array().unwrap().iter().enumerate() {
            let text: String = words.iter().filter(|(at, _)| *at == item).map(|(_, text)| text.as_str()).collect();
            prop_assert_eq!(&value["text"], &text);
        }
        prop_assert_eq!(one, other);
    }
}
