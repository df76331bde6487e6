//! Values as they are kept.
//!
//! Ids are BLOBs of 16 bytes (`Uuid`), times and durations microseconds, booleans 0 and 1, JSON is text.

use std::rc::Rc;

use jiff::Timestamp;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, Value, ValueRef};
use rusqlite::vtab::array::Array;

use super::fault::Fault;

pub(super) use crate::number::NEVER;

/// A time, as microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Micros(pub(super) Timestamp);

impl ToSql for Micros {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Owned(Value::Integer(self.0.as_microsecond())))
    }
}

impl FromSql for Micros {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let micros = value.as_i64()?;
        Timestamp::from_microsecond(micros).map(Self).map_err(|_| FromSqlError::OutOfRange(micros))
    }
}

/// A set of values as one parameter: `WHERE id IN rarray(?1)`, `FROM rarray(?1)` (its column is `value`).
pub(super) fn array<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> Array {
    Rc::new(values.into_iter().map(Into::into).collect())
}

/// A parameter; no text with a zero character, which not everything that reads it would read to its end.
pub(super) fn checked(param: &dyn ToSql) -> Result<ToSqlOutput<'_>, Fault> {
    let param = param.to_sql().map_err(|error| Fault::internal(format!("a parameter: {error}")))?;
    let text = match &param {
        ToSqlOutput::Borrowed(ValueRef::Text(text)) => text,
        ToSqlOutput::Owned(Value::Text(text)) => text.as_bytes(),
        _ => return Ok(param),
    };
    if text.contains(&0) { Err(Fault::internal("a text has a zero character")) } else { Ok(param) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::FOREVER;

    #[test]
    fn no_time_is_beyond_the_ends_of_time() {
        assert!(Timestamp::MAX.as_microsecond() < FOREVER / 2);
        assert!(Timestamp::MIN.as_microsecond() > NEVER / 2);
        assert!(Micros::column_result(ValueRef::Integer(FOREVER)).is_err());
    }

    #[test]
    fn a_time_comes_back_in_microseconds() {
        let time = Timestamp::new(1_700_000_000, 123_456_789).expect("a time");
        let ToSqlOutput::Owned(Value::Integer(kept)) = Micros(time).to_sql().expect("kept") else {
            panic!("no number")
        };
        let Micros(read) = Micros::column_result(ValueRef::Integer(kept)).expect("read");
        assert_eq!(read, Timestamp::new(1_700_000_000, 123_456_000).expect("a time"));
    }

    #[test]
    fn text_with_a_zero_character_is_no_parameter() {
        assert!(checked(&"a\0b").is_err());
        assert!(checked(&Some("a\0b".to_owned())).is_err());
        assert!(checked(&"ab").is_ok());
        assert!(checked(&b"a\0b".as_slice()).is_ok());
    }
}
