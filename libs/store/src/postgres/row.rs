//! Reading rows.

use std::str::FromStr;
use std::sync::Arc;

use domain::{Event, EventId, EventKind, Principal, Sender, StreamKind, StreamRef};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

pub(super) use crate::number::bigint;
use crate::postgres::sqlstate::Fault;

/// Columns by name; what does not fit is a fault of ours.
pub(super) trait Columns {
    /// A column's value.
    fn value<'a, T: FromSql<'a>>(&'a self, column: &str) -> Result<T, Fault>;

    /// A `bigint` that is never negative.
    fn count(&self, column: &str) -> Result<u64, Fault> {
        let number: i64 = self.value(column)?;
        u64::try_from(number).map_err(|_| Fault::internal(format!("{column} is negative")))
    }

    /// A `text` that names one of a closed set.
    fn named<T: FromStr<Err = domain::Invalid>>(&self, column: &str) -> Result<T, Fault> {
        let text: &str = self.value(column)?;
        text.parse().map_err(|error: domain::Invalid| Fault::internal(error.to_string()))
    }
}

impl Columns for Row {
    fn value<'a, T: FromSql<'a>>(&'a self, column: &str) -> Result<T, Fault> {
        self.try_get(column).map_err(|error| Fault::internal(format!("column {column}: {error}")))
    }
}

/// An event from the columns `stream_kind, stream_id, seq, id, kind, at, sender_kind, sender_id, data, trace`
/// (`data` as text).
pub(super) fn event(row: &Row) -> Result<Event, Fault> {
    Ok(Event {
        stream: StreamRef { kind: row.named::<StreamKind>("stream_kind")?, id: row.value("stream_id")? },
        seq: row.count("seq")?,
        id: EventId(row.value("id")?),
        kind: EventKind::from(row.value::<&str>("kind")?),
        at: row.value("at")?,
        sender: sender(row.value("sender_kind")?, row.value("sender_id")?)?,
        data: Arc::from(row.value::<&str>("data")?),
        trace: row.value::<Option<&str>>("trace")?.map(Arc::from),
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
pub(super) fn principal(row: &Row, kind: &str, id: &str) -> Result<Principal, Fault> {
    Principal::from_parts(row.value(kind)?, row.value(id)?)
        .map_err(|error| Fault::internal(error.to_string()))
}
