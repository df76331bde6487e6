//! What cases stand on: a fresh database, people and rooms.

use domain::{AgentId, Event, EventId, LogEpoch, Principal, RoomId, RoomKind, StreamRef, UserId};
use serde_json::Value;
use store::log::{Page, Range};
use store::messages::{Appended, NewMessage};
use store::rooms::{NewRoom, RoomView};
use store::{Refusal, StoreError};

use super::{Subject, people};

/// A store with helpers to fill it and to look into it.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) store: Subject,
}

impl From<Subject> for World {
    fn from(store: Subject) -> Self {
        Self { store }
    }
}

impl World {
    /// A new person.
    pub(crate) async fn person(&self) -> UserId {
        people::person(&*self.store, &testkit::random::handle("p")).await.id
    }

    pub(crate) async fn people<const N: usize>(&self) -> [UserId; N] {
        let mut people = Vec::new();
        for _ in 0..N {
            people.push(self.person().await);
        }
        people.try_into().expect("as many as asked for")
    }

    /// A new agent of somebody's.
    pub(crate) async fn agent(&self, owner: UserId) -> AgentId {
        people::agent(&*self.store, owner, &testkit::random::handle("a")).await.id
    }

    pub(crate) async fn disable(&self, user: UserId) {
        self.store.set_user_disabled(user, true).await.expect("disabled");
    }

    /// A new group of these people, the first its owner.
    pub(crate) async fn group(&self, people: &[UserId]) -> RoomId {
        let room = group(people);
        let created = self.store.create_room(&room).await.expect("a room");
        assert!(created.created);
        created.room
    }

    /// Appends one message.
    pub(crate) async fn append(&self, message: NewMessage) -> Result<Appended, Refusal> {
        let mut outcomes = self.store.append_messages(&[message]).await.expect("an answer");
        assert_eq!(outcomes.len(), 1);
        outcomes.remove(0)
    }

    /// A message that must be good, and new.
    pub(crate) async fn say(&self, room: RoomId, sender: impl Into<Principal>, body: &str) -> Event {
        let appended = self.append(message(room, sender, body)).await.expect("a good message");
        assert!(appended.fresh);
        appended.event
    }

    /// A whole stream as its reader sees it.
    pub(crate) async fn page(&self, reader: impl Into<Principal>, stream: impl Into<StreamRef>) -> Page {
        let page = self.store.page(reader.into(), stream.into(), Range::After(0), 10_000).await;
        page.expect("an answer").expect("a stream of the reader's")
    }

    pub(crate) async fn events(
        &self,
        reader: impl Into<Principal>,
        stream: impl Into<StreamRef>,
    ) -> Vec<Event> {
        self.page(reader, stream).await.events
    }

    pub(crate) async fn inbox(&self, owner: impl Into<Principal>) -> Vec<Event> {
        let owner = owner.into();
        self.events(owner, owner.stream()).await
    }

    pub(crate) async fn view(&self, reader: impl Into<Principal>, room: RoomId) -> RoomView {
        self.store.room(reader.into(), room).await.expect("an answer").expect("a room of theirs")
    }

    pub(crate) async fn epoch(&self) -> LogEpoch {
        self.store.log_epoch().await.expect("an epoch")
    }
}

/// A group of these people, the first its owner.
pub(crate) fn group(people: &[UserId]) -> NewRoom {
    NewRoom {
        id: RoomId::new(),
        kind: RoomKind::Group,
        name: Some("Garden".into()),
        creator: people[0],
        members: people[1..].iter().copied().map(Principal::User).collect(),
        key: None,
    }
}

/// A message without a nonce.
pub(crate) fn message(room: RoomId, sender: impl Into<Principal>, body: &str) -> NewMessage {
    let data = serde_json::json!({ "body": body, "nonce": null, "reply_to": null, "mentions": [] });
    NewMessage {
        id: EventId::new(),
        room,
        sender: sender.into(),
        nonce: None,
        data: data.to_string().into(),
        reply_to: None,
        trace: None,
        recipients: Vec::new(),
    }
}

pub(crate) fn with_nonce(message: NewMessage, nonce: &str) -> NewMessage {
    NewMessage { nonce: Some(nonce.into()), ..message }
}

pub(crate) fn data(event: &Event) -> Value {
    serde_json::from_str(&event.data).expect("JSON")
}

/// Kinds of events, to be compared with a list.
pub(crate) fn kinds(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

/// Panics unless the stream is numbered from 1 without holes, and time does not go back in it.
#[track_caller]
pub(crate) fn assert_whole(page: &Page) {
    let seqs: Vec<u64> = page.events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (page.floor + 1..=page.head).collect::<Vec<_>>());
    assert!(page.events.is_sorted_by_key(|event| event.at), "time goes back within a stream");
}

#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(outcome: Result<T, StoreError>) -> Refusal {
    match outcome {
        Err(StoreError::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}
