//! Appending events: the one way rows get into the log.
//!
//! Who appends to several streams in one transaction locks them first, all at once ([`LOCK`], sorted by id), or two of
//! them wait for each other. A look-up that must see what others appended meanwhile (a nonce, a membership) belongs into a
//! statement after the lock: a statement keeps the snapshot it began with.

use std::collections::HashMap;

use domain::Event;
use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

pub(super) use crate::log::draft::Draft;
use crate::postgres::notifications::Notices;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::transaction::{Step, Transaction};

statements! {
    LOCK = "log/lock";
    APPEND = "log/append";
}

/// Drafts as the parameters of [`APPEND`]; the events get their seqs in the order given.
pub(super) struct Append<'a> {
    drafts: &'a [Draft],
    streams: Vec<Uuid>,
    ids: Vec<Uuid>,
    kinds: Vec<&'a str>,
    sender_kinds: Vec<&'a str>,
    sender_ids: Vec<Option<Uuid>>,
    nonces: Vec<Option<&'a str>>,
    data: Vec<&'a str>,
    traces: Vec<Option<&'a str>>,
}

impl<'a> Append<'a> {
    pub(super) fn new(drafts: &'a [Draft]) -> Self {
        Self {
            drafts,
            streams: drafts.iter().map(|draft| draft.stream.id).collect(),
            ids: drafts.iter().map(|draft| draft.id.0).collect(),
            kinds: drafts.iter().map(|draft| draft.kind.as_str()).collect(),
            sender_kinds: drafts.iter().map(|draft| draft.sender.kind()).collect(),
            sender_ids: drafts.iter().map(|draft| draft.sender.id()).collect(),
            nonces: drafts.iter().map(|draft| draft.nonce.as_deref()).collect(),
            data: drafts.iter().map(|draft| &*draft.data).collect(),
            traces: drafts.iter().map(|draft| draft.trace.as_deref()).collect(),
        }
    }

    pub(super) fn params(&self) -> [&(dyn ToSql + Sync); 8] {
        [
            &self.streams,
            &self.ids,
            &self.kinds,
            &self.sender_kinds,
            &self.sender_ids,
            &self.nonces,
            &self.data,
            &self.traces,
        ]
    }

    /// The events, in the order of the drafts, from the rows that [`APPEND`] gave.
    pub(super) fn events(&self, rows: &[Row]) -> Result<Vec<Event>, Fault> {
        let mut written = HashMap::with_capacity(rows.len());
        for row in rows {
            written.insert(row.value::<Uuid>("id")?, (row.count("seq")?, row.value::<Timestamp>("at")?));
        }
        self.drafts
            .iter()
            .map(|draft| {
                let (seq, at) = written
                    .get(&draft.id.0)
                    .copied()
                    .ok_or_else(|| Fault::internal(format!("event {} was not written", draft.id)))?;
                Ok(Event {
                    stream: draft.stream,
                    seq,
                    id: draft.id,
                    kind: draft.kind.clone(),
                    at,
                    sender: draft.sender,
                    data: draft.data.clone(),
                    trace: draft.trace.clone(),
                })
            })
            .collect()
    }
}

impl Transaction<'_> {
    /// Appends one event, of which nobody is notified, and commits.
    pub(super) async fn append_one(self, draft: Draft) -> Result<Event, Fault> {
        let drafts = [draft];
        let append = Append::new(&drafts);
        let [rows] = self.commit([(APPEND, &append.params())]).await?;
        append.events(&rows)?.pop().ok_or_else(|| Fault::internal("no event was written"))
    }

    /// Appends events, if there are any, notifies whom they name, and commits.
    pub(super) async fn append_all(self, drafts: &[Draft]) -> Result<Vec<Event>, Fault> {
        if drafts.is_empty() {
            self.commit([]).await?;
            return Ok(Vec::new());
        }
        let (append, notices) = (Append::new(drafts), notices(drafts));
        if notices.is_empty() {
            let [rows] = self.commit([(APPEND, &append.params())]).await?;
            return append.events(&rows);
        }
        let events = self.append_and_notify(&append, &notices).await?;
        self.commit([]).await?;
        Ok(events)
    }

    /// Appends events, of which there are some, notifies whom they name, and commits with what a last step reads.
    pub(super) async fn append_and_read(
        self,
        drafts: &[Draft],
        last: Step<'_>,
    ) -> Result<(Vec<Event>, Vec<Row>), Fault> {
        let (append, notices) = (Append::new(drafts), notices(drafts));
        if notices.is_empty() {
            let [rows, read] = self.commit([(APPEND, &append.params()), last]).await?;
            return Ok((append.events(&rows)?, read));
        }
        let events = self.append_and_notify(&append, &notices).await?;
        let [read] = self.commit([last]).await?;
        Ok((events, read))
    }

    async fn append_and_notify(&self, append: &Append<'_>, notices: &Notices) -> Result<Vec<Event>, Fault> {
        let [rows] = self.run([(APPEND, &append.params())]).await?;
        let mut events = append.events(&rows)?;
        events.extend(self.notify(notices).await?);
        Ok(events)
    }
}

/// Who is notified of these events.
fn notices(drafts: &[Draft]) -> Notices {
    let mut notices = Notices::default();
    for draft in drafts {
        if let Some(notice) = &draft.notice {
            notices.add(notice, draft.id);
        }
    }
    notices
}
