//! Reading rows.

use std::str::FromStr;
use std::time::Duration;

use domain::{Event, EventId, EventKind, Principal, Sender, StreamKind, StreamRef};
use jiff::Timestamp;
use rusqlite::Row;
use rusqlite::types::FromSql;
use uuid::Uuid;

use super::fault::Fault;
use super::value::Micros;

/// Columns by name; what does not fit is a fault of ours.
pub(super) trait Columns {
    /// A column's value.
    fn value<T: FromSql>(&self, column: &str) -> Result<T, Fault>;

    /// A text, without a copy.
    fn text(&self, column: &str) -> Result<&str, Fault>;

    /// A number that is never negative.
    fn count(&self, column: &str) -> Result<u64, Fault> {
        let number: i64 = self.value(column)?;
        u64::try_from(number).map_err(|_| Fault::internal(format!("{column} is negative")))
    }

    /// A text that names one of a closed set.
    fn named<T: FromStr<Err = domain::Invalid>>(&self, column: &str) -> Result<T, Fault> {
        self.text(column)?.parse().map_err(|error: domain::Invalid| Fault::internal(error.to_string()))
    }

    /// A time.
    fn time(&self, column: &str) -> Result<Timestamp, Fault> {
        self.value::<Micros>(column).map(|Micros(time)| time)
    }

    /// A time, if there is one.
    fn time_if_any(&self, column: &str) -> Result<Option<Timestamp>, Fault> {
        Ok(self.value::<Option<Micros>>(column)?.map(|Micros(time)| time))
    }

    /// A duration.
    fn duration(&self, column: &str) -> Result<Duration, Fault> {
        self.count(column).map(Duration::from_micros)
    }
}

impl Columns for Row<'_> {
    fn value<T: FromSql>(&self, column: &str) -> Result<T, Fault> {
        self.get(column).map_err(|error| Fault::internal(format!("column {column}: {error}")))
    }

    fn text(&self, column: &str) -> Result<&str, Fault> {
        let value =
            self.get_ref(column).map_err(|error| Fault::internal(format!("column {column}: {error}")))?;
        value.as_str().map_err(|error| Fault::internal(format!("column {column}: {error}")))
    }
}

/// An event from the columns `stream_kind, stream_id, seq, id, kind, at, sender_kind, sender_id, data, trace`.
pub(super) fn event(row: &Row<'_>) -> Result<Event, Fault> {
    Ok(Event {
        stream: StreamRef { kind: row.named::<StreamKind>("stream_kind")?, id: row.value("stream_id")? },
        seq: row.count("seq")?,
        id: EventId(row.value("id")?),
        kind: EventKind::from(row.text("kind")?),
        at: row.time("at")?,
        sender: sender(row.text("sender_kind")?, row.value("sender_id")?)?,
        data: row.value("data")?,
        trace: row.value("trace")?,
    })
}

/// In whose name, from the columns that say which sort and who.
pub(super) fn sender(kind: &str, id: Option<Uuid>) -> Result<Sender, Fault> {
    match (kind, id) {
        ("user", Some(id)) => Ok(Sender::User(id.into())),
        ("agent", Some(id)) => Ok(Sender::Agent(id.into())),
        ("system", _) => Ok(Sender::System),
        _ => Err(Fault::internal(format!("an event of sender kind {kind:?}"))),
    }
}

/// A person or an agent, from a column that says which and one with the id.
pub(super) fn principal(row: &Row<'_>, kind: &str, id: &str) -> Result<Principal, Fault> {
    Principal::from_parts(row.text(kind)?, row.value(id)?).map_err(|error| Fault::internal(error.to_string()))
}
