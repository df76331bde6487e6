//! A row as a line: JSON with all columns by name, in the order of the table, and nothing between them.
//!
//! ```text
//! {"id":"01a22bb8-2590-7000-8000-000000000001","kind":"group","name":null,"created_at":"2026-11-30T12:00:00.123456Z"}
//! ```
//!
//! A row has exactly one line: whoever writes it twice writes the same bytes. Numbers are whole, of 64 bits. Nothing in here knows a database.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value as Json;
use uuid::Uuid;

use crate::number::{FOREVER, NEVER};
use crate::transfer::tables::{Column, Kind, Table};

/// A value, whichever database it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// Nothing.
    Null,
    /// `Id`.
    Id(Uuid),
    /// `Bytes`.
    Bytes(Vec<u8>),
    /// `Text` and `Json`.
    Text(String),
    /// `Integer` and `Long`.
    Number(i64),
    /// `Bool`.
    Bool(bool),
    /// `Time`: microseconds since 1970, or [`FOREVER`] or [`NEVER`].
    Time(i64),
}

/// Writes a row, with its line feed.
///
/// # Errors
///
/// In words: which column can't be written and why. The value is not told.
pub(crate) fn write(table: &Table, row: &[Value], out: &mut Vec<u8>) -> Result<(), String> {
    for (place, (column, value)) in table.columns.iter().zip(row).enumerate() {
        out.extend_from_slice(if place == 0 { b"{\"" } else { b",\"" });
        out.extend_from_slice(column.name.as_bytes());
        out.extend_from_slice(b"\":");
        put(value, out).map_err(|why| told(table, column, &why))?;
    }
    out.extend_from_slice(b"}\n");
    Ok(())
}

fn put(value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(given) => out.extend_from_slice(if *given { b"true" } else { b"false" }),
        Value::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Text(text) => put_text(text, out)?,
        Value::Id(id) => put_text(&id.to_string(), out)?,
        Value::Bytes(bytes) => put_text(&STANDARD.encode(bytes), out)?,
        Value::Time(FOREVER) => put_text("infinity", out)?,
        Value::Time(NEVER) => put_text("-infinity", out)?,
        Value::Time(micros) => {
            let time = Timestamp::from_microsecond(*micros).map_err(|_| "is no time".to_owned())?;
            put_text(&format!("{time:.6}"), out)?;
        }
    }
    Ok(())
}

fn put_text(text: &str, out: &mut Vec<u8>) -> Result<(), String> {
    if text.contains('\0') {
        return Err("has a zero character, which PostgreSQL does not take".to_owned());
    }
    serde_json::to_writer(out, text).map_err(|error| error.to_string())
}

/// Reads a row, with or without its line feed.
///
/// # Errors
///
/// In words: what is wrong, and with which column. The value is not told.
pub(crate) fn read(table: &Table, line: &[u8]) -> Result<Vec<Value>, String> {
    // What serde says of bad JSON quotes none of it.
    let given: serde_json::Map<String, Json> =
        serde_json::from_slice(line).map_err(|error| format!("{}: {error}", table.name))?;
    let mut given = given;
    let mut row = Vec::with_capacity(table.columns.len());
    for column in table.columns {
        let value = given.remove(column.name).ok_or_else(|| told(table, column, "is missing"))?;
        row.push(take(column.kind, value).ok_or_else(|| told(table, column, "is not what it must be"))?);
    }
    match given.keys().next() {
        None => Ok(row),
        Some(_) => Err(format!("{}: a row has a column that this release does not know", table.name)),
    }
}

fn take(kind: Kind, value: Json) -> Option<Value> {
    match (kind, value) {
        (_, Json::Null) => Some(Value::Null),
        (Kind::Bool, Json::Bool(given)) => Some(Value::Bool(given)),
        (Kind::Integer, Json::Number(number)) => {
            number.as_i64().filter(|number| i32::try_from(*number).is_ok()).map(Value::Number)
        }
        (Kind::Long, Json::Number(number)) => number.as_i64().map(Value::Number),
        (Kind::Text | Kind::Json, Json::String(text)) => Some(Value::Text(text)),
        (Kind::Id, Json::String(text)) => text.parse().ok().map(Value::Id),
        (Kind::Bytes, Json::String(text)) => STANDARD.decode(text).ok().map(Value::Bytes),
        (Kind::Time, Json::String(text)) => time(&text).map(Value::Time),
        _ => None,
    }
}

fn time(text: &str) -> Option<i64> {
    match text {
        "infinity" => Some(FOREVER),
        "-infinity" => Some(NEVER),
        text => text.parse::<Timestamp>().ok().map(Timestamp::as_microsecond),
    }
}

fn told(table: &Table, column: &Column, why: &str) -> String {
    format!("{}.{} {why}", table.name, column.name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::transfer::tables::Rows;

    const ODD: Table = Table {
        name: "odd",
        columns: &[
            Column { name: "id", kind: Kind::Id },
            Column { name: "bytes", kind: Kind::Bytes },
            Column { name: "text", kind: Kind::Text },
            Column { name: "json", kind: Kind::Json },
            Column { name: "integer", kind: Kind::Integer },
            Column { name: "long", kind: Kind::Long },
            Column { name: "bool", kind: Kind::Bool },
            Column { name: "time", kind: Kind::Time },
        ],
        key: &["id"],
        rows: Rows::All,
    };

    fn of_kind(kind: Kind) -> BoxedStrategy<Value> {
        // Everything but the zero character, quotes and line feeds and what looks like an escape often.
        let text = "([^\\x00]|[\"\\\\\n\r\t\u{7f}\u{2028}\u{1f600}]|\\\\u0000){0,12}";
        let known = match kind {
            Kind::Id => any::<u128>().prop_map(|id| Value::Id(Uuid::from_u128(id))).boxed(),
            Kind::Bytes => prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::Bytes).boxed(),
            Kind::Text => text.prop_map(Value::Text).boxed(),
            Kind::Json => {
                text.prop_map(|text| Value::Text(serde_json::json!({ "a": text }).to_string())).boxed()
            }
            Kind::Integer => any::<i32>().prop_map(|number| Value::Number(number.into())).boxed(),
            Kind::Long => prop_oneof![any::<i64>(), Just(i64::MAX), Just(i64::MIN), Just((1 << 53) + 1)]
                .prop_map(Value::Number)
                .boxed(),
            Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
            Kind::Time => prop_oneof![
                (-62_135_596_800_000_000..253_402_207_200_000_000_i64),
                Just(FOREVER),
                Just(NEVER)
            ]
            .prop_map(Value::Time)
            .boxed(),
        };
        prop_oneof![1 => Just(Value::Null), 9 => known].boxed()
    }

    fn rows() -> impl Strategy<Value = Vec<Value>> {
        ODD.columns.iter().map(|column| of_kind(column.kind)).collect::<Vec<_>>()
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_it_was_and_on_one_line(row in rows()) {
            let mut line = Vec::new();
            write(&ODD, &row, &mut line).expect("written");
            prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            let read = read(&ODD, &line).expect("read");
            prop_assert_eq!(&read, &row);
            let mut again = Vec::new();
            write(&ODD, &read, &mut again).expect("written");
            prop_assert_eq!(again, line);
        }
    }

    #[test]
    fn a_row_looks_as_documented() {
        let row = [
            Value::Id(Uuid::from_u128(1)),
            Value::Bytes(vec![0, 255]),
            Value::Text("a \"b\"\n".into()),
            Value::Text(r#"{"a": 1.0}"#.into()),
            Value::Number(-1),
            Value::Number(i64::MAX),
            Value::Bool(true),
            Value::Time(1_764_504_000_123_456),
        ];
        let mut line = Vec::new();
        write(&ODD, &row, &mut line).expect("written");
        assert_eq!(
            String::from_utf8(line).expect("UTF-8"),
            r#"{"id":"00000000-0000-0000-0000-000000000001","bytes":"AP8=","text":"a \"b\"\n","json":"{\"a\": 1.0}","integer":-1,"long":9223372036854775807,"bool":true,"time":"2025-11-30T12:00:00.123456Z"}"#.to_owned() + "\n"
        );
    }

    #[test]
    fn what_is_wrong_is_told_without_being_shown() {
        let mut row = vec![Value::Null; 8];
        row[2] = Value::Text("hunter2\0".into());
        let refused = write(&ODD, &row, &mut Vec::new()).expect_err("a zero character");
        assert!(refused.starts_with("odd.text has a zero") && !refused.contains("hunter2"), "{refused}");
        row[2] = Value::Null;
        row[7] = Value::Time(FOREVER - 1);
        assert!(write(&ODD, &row, &mut Vec::new()).expect_err("no time").starts_with("odd.time"));

        let nulls = r#"{"id":null,"bytes":null,"text":null,"json":null,"integer":null,"long":null,"bool":null,"time":null"#;
        assert!(read(&ODD, format!("{nulls}}}").as_bytes()).is_ok());
        for (line, part) in [
            (format!("{nulls},\"hunter2\":1}}"), "does not know"),
            (nulls.replace("\"text\":null,", "") + "}", "odd.text is missing"),
            (nulls.replace("\"id\":null", "\"id\":\"hunter2\"") + "}", "odd.id is not"),
            (nulls.replace("\"integer\":null", "\"integer\":2147483648") + "}", "odd.integer is not"),
            (nulls.replace("\"long\":null", "\"long\":1.5") + "}", "odd.long is not"),
            (nulls.replace("\"bytes\":null", "\"bytes\":\"hunter2\"") + "}", "odd.bytes is not"),
            (nulls.replace("\"text\":null", "\"text\":\"hunter2") + "}", "odd: "),
        ] {
            let refused = read(&ODD, line.as_bytes()).expect_err(part);
            assert!(refused.contains(part) && !refused.contains("hunter2"), "{refused}");
        }
    }
}
