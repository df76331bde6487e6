//! What the user has of each stream.
//!
//! Terms: a stream is *named* by `ready` or by a `room.added` event; its cursor is the number of its
//! last event that was given to the user, or where delivery begins. A stream that `room.removed` ends is followed up to the number said there, since
//! events of the room may still be on their way. Of the person's own stream, numbers up to its head in `ready` are old news:
//! `ready` knows already what they say about rooms. Of an agent's own stream the server keeps the cursor: it begins with
//! whatever comes first, and what was given but not acknowledged comes again on the next connection.

use std::collections::HashMap;

use protocol::frame::{Account, Cursors, Event, Gap, Ready};
use serde::Deserialize;
use uuid::Uuid;

use super::{Fault, Position};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cursor {
    seq: u64,
    /// Delivery ends before this number.
    end: Option<u64>,
}

impl Cursor {
    const fn at(seq: u64) -> Self {
        Self { seq, end: None }
    }

    /// Whether all that was to come has come.
    fn is_over(&self) -> bool {
        self.end.is_some_and(|end| self.seq + 1 >= end)
    }
}

/// What to do with an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Give it to the user.
    Deliver,
    /// Give it to the user, and report.
    DeliverWith(Fault),
    /// Drop it, and report.
    Drop(Fault),
    /// Drop it: it comes again because it was not acknowledged.
    Known,
    /// Report, and resume from before it.
    Refetch(Fault),
}

/// The cursors of one session.
#[derive(Debug)]
pub(super) struct Followed {
    streams: HashMap<String, Cursor>,
    log_epoch: Option<Uuid>,
    /// The own stream of the person or agent and its head in the last `ready`.
    own: (String, u64),
    /// Whether it is an agent's.
    is_agent: bool,
    /// The hole that was refetched last: if it is there again, it is passed.
    hole: Option<(String, u64)>,
}

/// The data of `room.added` and `room.removed`.
#[derive(Deserialize)]
struct RoomChange {
    room_id: Uuid,
    /// Of `room.added`: delivery begins after it.
    #[serde(default)]
    head: u64,
    /// Of `room.removed`: delivery ends before it.
    #[serde(default)]
    seq: u64,
}

impl Followed {
    pub(super) fn new(from: Position) -> Self {
        let streams = from.cursors.into_iter().map(|(stream, seq)| (stream, Cursor::at(seq))).collect();
        Self { streams, log_epoch: from.log_epoch, own: (String::new(), 0), is_agent: false, hole: None }
    }

    /// The position to resume or identify with.
    pub(super) fn position(&self) -> Position {
        let mut cursors = Cursors::default();
        for (stream, cursor) in self.streams.iter().filter(|(_, cursor)| cursor.end.is_none()) {
            // A name that the server gave and that is none: without it the stream begins at its head.
            let _ = cursors.insert(stream, cursor.seq);
        }
        Position { cursors, log_epoch: self.log_epoch }
    }

    /// Takes over the streams of `ready`. Cursors of another log epoch say nothing here: the server
    /// answers each with a gap, and meanwhile they stand where delivery begins. Those that a removal ended were not
    /// named to the server: a room that is there again begins anew.
    pub(super) fn ready(&mut self, ready: &Ready) {
        let is_same_log = self.log_epoch.is_none_or(|epoch| epoch == ready.log_epoch);
        let known = std::mem::take(&mut self.streams);
        let own = ready.account.stream();
        self.is_agent = matches!(ready.account, Account::Agent(_));
        let kept_by_server = self.is_agent.then_some(&own);
        let cursor = |(stream, head): (&String, &u64)| {
            let known = known.get(stream).filter(|cursor| is_same_log && cursor.end.is_none());
            let begin = (kept_by_server != Some(stream)).then_some(Cursor::at(*head));
            Some((stream.clone(), known.copied().or(begin)?))
        };
        self.streams = ready.streams.iter().filter_map(cursor).collect();
        self.log_epoch = Some(ready.log_epoch);
        self.own = (own.clone(), ready.streams.get(&own).copied().unwrap_or(0));
    }

    pub(super) fn gap(&mut self, gap: &Gap) {
        self.streams.insert(gap.stream.clone(), Cursor::at(gap.head));
    }

    /// Decides about an event, and moves its cursor when it is given to the user.
    pub(super) fn event(&mut self, event: &Event) -> Verdict {
        let verdict = self.judge(event);
        if matches!(verdict, Verdict::Deliver | Verdict::DeliverWith(_)) {
            let end = self.streams.get(&event.stream).and_then(|cursor| cursor.end);
            self.put(&event.stream, Cursor { seq: event.seq, end });
            self.follow_rooms(event);
        }
        verdict
    }

    fn put(&mut self, stream: &str, cursor: Cursor) {
        if cursor.is_over() {
            self.streams.remove(stream);
        } else {
            self.streams.insert(stream.to_owned(), cursor);
        }
    }

    fn judge(&mut self, event: &Event) -> Verdict {
        let (stream, seq) = (event.stream.clone(), event.seq);
        let Some(cursor) = self.streams.get(&stream) else {
            if self.is_agent && stream == self.own.0 {
                return Verdict::Deliver;
            }
            return Verdict::DeliverWith(Fault::UnknownStream { stream, seq });
        };
        let expected = cursor.seq + 1;
        if seq == expected {
            return Verdict::Deliver;
        }
        if seq < expected && self.is_agent && stream == self.own.0 {
            return Verdict::Known;
        }
        if seq < expected {
            return Verdict::Drop(Fault::Duplicate { stream, seq });
        }
        let hole = Some((stream.clone(), expected));
        let fault = Fault::Hole { stream, expected, got: seq };
        if self.hole == hole {
            self.hole = None;
            return Verdict::DeliverWith(fault);
        }
        self.hole = hole;
        Verdict::Refetch(fault)
    }

    /// Begins and ends streams of rooms as the person's own stream says.
    fn follow_rooms(&mut self, event: &Event) {
        let is_added = event.kind == "room.added";
        let is_old = event.seq <= self.own.1;
        if is_old || event.stream != self.own.0 || !(is_added || event.kind == "room.removed") {
            return;
        }
        let Ok(change) = serde_json::from_str::<RoomChange>(event.data.get()) else { return };
        let stream = format!("room:{}", change.room_id);
        match (is_added, self.streams.get(&stream).copied()) {
            // Given already, as far as that.
            (true, Some(cursor)) if cursor.end.is_none() && cursor.seq >= change.head => {}
            // Perhaps again, after a removal that this connection did not see.
            (true, _) => {
                self.streams.insert(stream, Cursor::at(change.head));
            }
            // Given beyond it: the room is there again, which is said next.
            (false, Some(cursor)) if cursor.seq >= change.seq && change.seq > 0 => {}
            (false, Some(cursor)) => self.put(&stream, Cursor { end: Some(change.seq), ..cursor }),
            (false, None) => {}
        }
    }
}

#[cfg(test)]
mod tests;
