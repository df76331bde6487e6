use proptest::prelude::*;

use super::*;

const NODE: &str = "0190b4a5-0000-7000-8000-0000000000ff";
const ROOM: &str = "0190b4a5-0000-7000-8000-00000000000a";

fn any_uuid() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid::from_u128)
}

fn any_kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        proptest::sample::select(Kind::KNOWN),
        "[a-z0-9._-]{1,40}".prop_map(|name| name.parse().expect("a good kind")),
    ]
}

fn any_id() -> impl Strategy<Value = Id> {
    prop_oneof![
        any_uuid().prop_map(Id::from),
        (any_uuid(), any_uuid()).prop_map(Id::from),
        "[!-9;-?A-~]{1,100}".prop_map(|text| text.parse().expect("a good id")),
    ]
}

fn any_entry() -> impl Strategy<Value = Entry> {
    (any_kind(), any_id(), any::<Option<u64>>(), any_uuid()).prop_map(|(kind, id, version, node)| Entry {
        kind,
        id,
        version,
        node,
    })
}

#[test]
fn the_examples_of_the_grammar() {
    let entry: Entry = format!("stream:{ROOM}:7@{NODE}").parse().expect("good");
    assert_eq!((entry.kind, entry.version), (Kind::Stream, Some(7)));
    assert_eq!((entry.id.one(), entry.node), (ROOM.parse().ok(), NODE.parse().expect("good")));

    let entry: Entry = format!("typing:{ROOM}.{NODE}@{NODE}").parse().expect("good");
    assert_eq!(entry.id.pair().map(|pair| pair.0), ROOM.parse().ok());

    let entry: Entry = format!("key.rotated:2026-01-a@{NODE}").parse().expect("good");
    assert_eq!((entry.kind, entry.id.to_string().as_str()), (Kind::KeyRotated, "2026-01-a"));

    let entry: Entry = format!("weather.changed:x@{NODE}").parse().expect("good");
    assert!(matches!(&entry.kind, Kind::Unknown(_)) && entry.kind.as_str() == "weather.changed");
}

#[test]
fn each_bad_entry_is_an_error_of_its_own() {
    let long = "x".repeat(200);
    let payload = format!(
        "stream:{ROOM}:1 stream:{ROOM}:1@me  @{NODE} :{ROOM}@{NODE} STREAM:{ROOM}@{NODE} stream:@{NODE} \
         stream:{ROOM}:+1@{NODE} stream:{ROOM}:@{NODE} stream:{ROOM}:18446744073709551616@{NODE} \
         stream:{ROOM}:1:2@{NODE} stream:{long}@{NODE} str\u{e9}am:x@{NODE} stream:a@b@{NODE} stream:{ROOM}:2@{NODE}"
    );
    use EntryError::{Id, Kind as BadKind, Node, TooLong, Version};
    let (errors, good): (Vec<_>, Vec<_>) = entries(&payload).partition(Result::is_err);
    let errors: Vec<_> = errors.into_iter().filter_map(Result::err).collect();
    assert_eq!(
        errors,
        [Node, Node, Id, BadKind, BadKind, Id, Version, Version, Version, Version, TooLong, BadKind, Id]
    );
    let good: Vec<_> = good.into_iter().flatten().map(|entry| entry.version).collect();
    assert_eq!(good, [Some(2)]);
}

#[test]
fn payloads_are_filled_up() {
    let node = NODE.parse().expect("good");
    let entry =
        |n: u128| Entry { kind: Kind::Stream, id: Uuid::from_u128(n).into(), version: Some(1_000_000), node };
    let many: Vec<_> = (0..1000).map(entry).collect();
    let payloads = pack(&many);
    let size = many[0].to_string().len() + 1;
    assert_eq!(payloads.len(), 1000_usize.div_ceil((MAX_PAYLOAD + 1) / size));
    assert!(pack([]).is_empty());
}

proptest! {
    #[test]
    fn an_entry_is_read_back_and_fits(entry in any_entry()) {
        let text = entry.to_string();
        prop_assert!(text.len() <= MAX_ENTRY && text.is_ascii() && !text.contains(' '), "{}", text);
        prop_assert_eq!(text.parse(), Ok(entry));
    }

    #[test]
    fn packed_entries_are_read_back_in_order(many in proptest::collection::vec(any_entry(), 0..300)) {
        let payloads = pack(&many);
        for payload in &payloads {
            prop_assert!((1..=MAX_PAYLOAD).contains(&payload.len()));
        }
        let read: Result<Vec<_>, _> = payloads.iter().flat_map(|payload| entries(payload)).collect();
        prop_assert_eq!(read, Ok(many));
    }

    #[test]
    fn garbage_never_hides_what_follows(garbage in "\\PC{0,300}", entry in any_entry()) {
        let payload = format!("{garbage} {entry}");
        prop_assert_eq!(entries(&payload).last(), Some(Ok(entry)));
    }
}
