//! Making notifications of what a transaction writes.

use std::collections::HashMap;

use domain::{Event, EventId, NotificationId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::CREATE;
pub(in crate::postgres) use crate::notifications::Notice;
use crate::postgres::row::{self, Columns};
use crate::postgres::sqlstate::Fault;
use crate::postgres::transaction::{Step, Transaction};

/// Notices as the parameters of [`CREATE`]. The streams of these people must be locked.
#[derive(Debug, Default)]
pub(in crate::postgres) struct Notices {
    ids: Vec<Uuid>,
    told: Vec<Uuid>,
    people: Vec<Uuid>,
    kinds: Vec<&'static str>,
    rooms: Vec<Uuid>,
    sources: Vec<Uuid>,
    causes: Vec<Uuid>,
}

impl Notices {
    /// Adds a notice that is made by an event.
    pub(in crate::postgres) fn add(&mut self, notice: &Notice, cause: EventId) {
        self.ids.push(NotificationId::new().0);
        self.told.push(EventId::new().0);
        self.people.push(notice.user.0);
        self.kinds.push(notice.kind.as_str());
        self.rooms.push(notice.room.0);
        self.sources.push(notice.source);
        self.causes.push(cause.0);
    }

    pub(in crate::postgres) const fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The people, whose streams are to be locked.
    pub(in crate::postgres) fn people(&self) -> &[Uuid] {
        &self.people
    }

    pub(in crate::postgres) fn params(&self) -> [&(dyn ToSql + Sync); 7] {
        [&self.ids, &self.told, &self.people, &self.kinds, &self.rooms, &self.sources, &self.causes]
    }
}

impl Transaction<'_> {
    /// Makes the notifications, if there are any, of what was written before in this transaction. Gives what the people are told.
    pub(in crate::postgres) async fn notify(&self, notices: &Notices) -> Result<Vec<Event>, Fault> {
        if notices.is_empty() {
            return Ok(Vec::new());
        }
        let params = notices.params();
        let steps: [Step<'_>; 1] = [(CREATE, &params)];
        let [rows] = self.run(steps).await?;
        rows.iter().map(row::event).collect()
    }
}

/// What people are told, by what it is about, from the rows of [`CREATE`].
pub(in crate::postgres) fn by_source(rows: &[Row]) -> Result<HashMap<Uuid, Vec<Event>>, Fault> {
    let mut events: HashMap<Uuid, Vec<Event>> = HashMap::new();
    for row in rows {
        events.entry(row.value("source_id")?).or_default().push(row::event(row)?);
    }
    Ok(events)
}
