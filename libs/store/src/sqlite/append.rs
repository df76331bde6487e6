//! Appending events: the one way rows get into the log.

use domain::Event;

use super::fault::Fault;
use super::notifications::notice::notify;
use super::row::Columns;
use super::statement::statements;
use super::transaction::Tx;
use crate::log::draft::Draft;
use crate::number::bigint;

statements! {
    BUMP = "log/bump";
    INSERT = "log/append";
}

/// Appends events, which get their seqs in the order given. Nobody is notified.
pub(super) fn append(tx: &Tx<'_>, drafts: &[Draft]) -> Result<Vec<Event>, Fault> {
    drafts.iter().map(|draft| append_one(tx, draft)).collect()
}

/// Appends one event, of which nobody is notified.
pub(super) fn append_one(tx: &Tx<'_>, draft: &Draft) -> Result<Event, Fault> {
    let seq = tx.row(BUMP, &[&draft.stream.id], |row| row.count("head"))?.ok_or_else(|| {
        Fault::internal(format!("an event of stream {} that is not there", draft.stream.id))
    })?;
    tx.execute(
        INSERT,
        &[
            &draft.stream.id,
            &bigint(seq),
            &draft.id.0,
            &draft.kind.as_str(),
            &tx.micros(),
            &draft.sender.kind(),
            &draft.sender.id(),
            &draft.nonce,
            &draft.data,
            &draft.trace,
        ],
    )?;
    Ok(Event {
        stream: draft.stream,
        seq,
        id: draft.id,
        kind: draft.kind.clone(),
        at: tx.now(),
        sender: draft.sender,
        data: draft.data.clone(),
        trace: draft.trace.clone(),
    })
}

/// Appends events and notifies whom they name: the events, then what these people are told.
pub(super) fn append_all(tx: &Tx<'_>, drafts: &[Draft]) -> Result<Vec<Event>, Fault> {
    let mut events = append(tx, drafts)?;
    let mut told = Vec::new();
    for (draft, event) in drafts.iter().zip(&events) {
        if let Some(notice) = &draft.notice {
            told.extend(notify(tx, notice, event)?);
        }
    }
    events.extend(told);
    Ok(events)
}
