//! All cursors of a stream of events in one `id:`.
//!
//! A browser keeps one `Last-Event-ID`, so each must say everything: the log epoch, and for every followed stream
//! its newest seq. Binary in URL-safe base64: 25 characters or so for each stream. Clients hand it back as it is.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{EventKind, Invalid, LogEpoch, StreamKind, StreamRef};
use protocol::ServerFrame;
use realtime::Body;
use uuid::Uuid;

/// Longest `Last-Event-ID` that is read: about 2,500 streams.
pub const MAX_ID: usize = 64 * 1024;

const VERSION: u8 = 1;
const ENTRY: usize = 1 + 16 + 8;

/// Where a client stands in all its streams.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursors {
    /// The epoch that the seqs belong to.
    pub log_epoch: Option<LogEpoch>,
    /// Newest seq of each stream.
    pub seqs: BTreeMap<StreamRef, u64>,
    /// Head of the person's own stream in `ready`, which knows what events up to it say about rooms.
    settled: u64,
}

impl Cursors {
    /// Reads what [`Self::encode`] wrote.
    ///
    /// # Errors
    ///
    /// Anything else, as the header `Last-Event-ID`.
    pub fn decode(text: &str) -> Result<Self, Invalid> {
        let refuse =
            || Invalid::new("Last-Event-ID", text, "the id of an event of this stream, as it was given");
        if text.len() > MAX_ID {
            return Err(refuse());
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| refuse())?;
        let (head, entries) = bytes.split_at_checked(17).ok_or_else(refuse)?;
        let (version, epoch) = head.split_at(1);
        if version != [VERSION] || entries.len() % ENTRY != 0 {
            return Err(refuse());
        }
        let epoch = Uuid::from_slice(epoch).map_err(|_| refuse())?;
        let mut seqs = BTreeMap::new();
        for entry in entries.chunks_exact(ENTRY) {
            let kind = match entry[0] {
                0 => StreamKind::Room,
                1 => StreamKind::User,
                2 => StreamKind::Agent,
                _ => return Err(refuse()),
            };
            let id = Uuid::from_slice(&entry[1..17]).map_err(|_| refuse())?;
            let seq = entry[17..].iter().fold(0_u64, |seq, byte| seq << 8 | u64::from(*byte));
            seqs.insert(StreamRef { kind, id }, seq);
        }
        Ok(Self { log_epoch: Some(LogEpoch(epoch)), seqs, settled: 0 })
    }

    /// The cursors as a session begins with them.
    #[must_use]
    pub fn to_protocol(&self) -> protocol::frame::Cursors {
        let mut cursors = protocol::frame::Cursors::default();
        for (stream, seq) in &self.seqs {
            // Refuses names that are none; these are made by `StreamRef`.
            drop(cursors.insert(stream.to_string(), *seq));
        }
        cursors
    }

    /// The id.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = Vec::with_capacity(17 + self.seqs.len() * ENTRY);
        bytes.push(VERSION);
        bytes.extend_from_slice(self.log_epoch.map_or(Uuid::nil(), Uuid::from).as_bytes());
        for (stream, seq) in &self.seqs {
            bytes.push(match stream.kind {
                StreamKind::Room => 0,
                StreamKind::User => 1,
                StreamKind::Agent => 2,
            });
            bytes.extend_from_slice(stream.id.as_bytes());
            bytes.extend_from_slice(&seq.to_be_bytes());
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Moves on by a frame that is about to be sent. Answers the id to send with it, when it moved.
    pub fn follow(&mut self, body: &Body) -> Option<String> {
        match body {
            Body::Event(event, _) => {
                self.seqs.insert(event.stream, event.seq);
                match event.kind {
                    _ if event.seq <= self.settled => {}
                    EventKind::RoomAdded => self.begin_room(&event.data),
                    EventKind::RoomRemoved => self.forget_room(&event.data),
                    _ => {}
                }
            }
            Body::Frame(ServerFrame::Ready(ready)) => {
                self.log_epoch = Some(LogEpoch(ready.log_epoch));
                let known = std::mem::take(&mut self.seqs);
                for (name, head) in &ready.streams {
                    if let Ok(stream) = name.parse::<StreamRef>() {
                        if stream.kind == StreamKind::User {
                            self.settled = *head;
                        }
                        // A cursor is kept: what lies after it is replayed, or a gap follows.
                        self.seqs.insert(stream, known.get(&stream).copied().unwrap_or(*head));
                    }
                }
            }
            Body::Frame(ServerFrame::Gap(gap)) => {
                let stream = gap.stream.parse::<StreamRef>().ok()?;
                self.seqs.insert(stream, gap.head);
            }
            Body::Frame(_) | Body::Pong(_) => return None,
        }
        Some(self.encode())
    }

    /// A new room begins after `head`; without a cursor of its own a resume would begin it later.
    fn begin_room(&mut self, data: &str) {
        #[derive(serde::Deserialize)]
        struct Added {
            room_id: domain::RoomId,
            head: u64,
        }
        if let Ok(added) = serde_json::from_str::<Added>(data) {
            // Added again before this node knew of the removal: what was given stands.
            self.seqs.entry(added.room_id.into()).or_insert(added.head);
        }
    }

    /// A room that was left is not asked for again, unless what was given lies beyond: the person is in it again.
    fn forget_room(&mut self, data: &str) {
        #[derive(serde::Deserialize)]
        struct Removed {
            room_id: domain::RoomId,
            seq: u64,
        }
        if let Ok(removed) = serde_json::from_str::<Removed>(data) {
            let room = removed.room_id.into();
            if self.seqs.get(&room).is_some_and(|given| *given < removed.seq) {
                self.seqs.remove(&room);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{AgentId, Event, EventId, RoomId, Sender, UserId};
    use realtime::Path;

    use super::*;

    fn told(inbox: UserId, seq: u64, kind: EventKind, data: &str) -> Body {
        let event = Event {
            stream: inbox.into(),
            seq,
            id: EventId::new(),
            kind,
            at: jiff::Timestamp::UNIX_EPOCH,
            sender: Sender::System,
            data: data.into(),
            trace: None,
        };
        Body::Event(event, Path::Local)
    }

    #[test]
    fn a_new_room_begins_after_its_head_and_one_that_is_left_is_forgotten() {
        let (alex, room) = (UserId::new(), RoomId::new());
        let mut cursors =
            Cursors { log_epoch: Some(LogEpoch::new()), seqs: [(alex.into(), 6)].into(), settled: 0 };
        let added = format!(r#"{{"room_id":"{room}","kind":"group","name":"Lunch","head":4}}"#);
        let id = cursors.follow(&told(alex, 7, EventKind::RoomAdded, &added)).unwrap();
        let resumed = Cursors::decode(&id).unwrap();
        assert_eq!(resumed.seqs, [(alex.into(), 7), (room.into(), 4)].into());
        cursors.seqs.insert(room.into(), 9);
        cursors.follow(&told(alex, 8, EventKind::RoomAdded, &added));
        assert_eq!(cursors.seqs[&room.into()], 9, "what was given already is not asked for again");
        let old = format!(r#"{{"room_id":"{room}","seq":7}}"#);
        cursors.follow(&told(alex, 9, EventKind::RoomRemoved, &old));
        assert_eq!(cursors.seqs[&room.into()], 9, "there again");
        let removed = format!(r#"{{"room_id":"{room}","seq":10}}"#);
        cursors.follow(&told(alex, 9, EventKind::RoomRemoved, &removed));
        assert_eq!(cursors.seqs, [(alex.into(), 9)].into());
    }

    #[test]
    fn an_id_is_read_back_and_anything_else_is_refused() {
        let cursors = Cursors {
            log_epoch: Some(LogEpoch::new()),
            settled: 0,
            seqs: [(RoomId::new().into(), 7), (UserId::new().into(), u64::MAX), (AgentId::new().into(), 0)]
                .into(),
        };
        assert_eq!(Cursors::decode(&cursors.encode()), Ok(cursors.clone()));
        let cut = cursors.encode();
        for text in ["", "7", "AA", "!", &cut[..cut.len() - 4], &"A".repeat(MAX_ID + 1)] {
            assert!(Cursors::decode(text).is_err(), "{text}");
        }
    }

    #[test]
    fn old_news_about_rooms_changes_nothing() {
        let (alex, room, left) = (UserId::new(), RoomId::new(), RoomId::new());
        let mut cursors =
            Cursors { log_epoch: Some(LogEpoch::new()), seqs: [(alex.into(), 6)].into(), settled: 9 };
        cursors.seqs.insert(room.into(), 20);
        // In the room, left it, and in it again; and in another, no longer.
        for (seq, kind, data) in [
            (7, EventKind::RoomRemoved, format!(r#"{{"room_id":"{room}","seq":30}}"#)),
            (
                8,
                EventKind::RoomAdded,
                format!(r#"{{"room_id":"{room}","kind":"group","name":null,"head":31}}"#),
            ),
            (
                9,
                EventKind::RoomAdded,
                format!(r#"{{"room_id":"{left}","kind":"group","name":null,"head":5}}"#),
            ),
        ] {
            cursors.follow(&told(alex, seq, kind, &data));
        }
        assert_eq!(cursors.seqs, [(alex.into(), 9), (room.into(), 20)].into());
        let added = format!(r#"{{"room_id":"{left}","kind":"group","name":null,"head":8}}"#);
        cursors.follow(&told(alex, 10, EventKind::RoomAdded, &added));
        assert_eq!(cursors.seqs[&left.into()], 8);
    }
}
