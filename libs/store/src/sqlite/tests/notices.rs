//! Who is notified of what is appended.

use domain::{NotificationKind, RoomId};

use super::super::append::append_all;
use super::*;
use crate::accounts::{Accounts, NewUser};
use crate::notifications::Notice;

const ROOM: &Statement =
    &Statement { name: "tests/room", sql: "INSERT INTO streams (id, kind) VALUES (?1, 'room')" };
const MEMBER: &Statement = &Statement {
    name: "tests/member",
    sql: "INSERT INTO members (room_id, member_id, role, joined_at) VALUES (?1, ?2, 'member', 0)",
};
const GROUP: &Statement = &Statement {
    name: "tests/group",
    sql: "INSERT INTO rooms (id, kind, created_by, created_at) VALUES (?1, 'group', ?2, 0)",
};
const QUEUED: &Statement =
    &Statement { name: "tests/queued", sql: "SELECT count(*) FROM notification_queue" };
const FACTS: &Statement =
    &Statement { name: "tests/facts", sql: "SELECT seq FROM notification_facts WHERE body = 'hello'" };

async fn person(store: &Sqlite, handle: &str) -> UserId {
    let user = NewUser {
        id: UserId::new(),
        handle: handle.into(),
        display_name: handle.into(),
        role: domain::Role::User,
        password_hash: String::new(),
    };
    store.create_user(&user).await.expect("a person").id
}

#[tokio::test]
async fn who_is_named_is_notified_once() {
    let Fresh { store, folder: _kept, .. } = fresh();
    let [alex, sam, robin] =
        [person(&store, "alex").await, person(&store, "sam").await, person(&store, "robin").await];
    let room = RoomId::new();
    let joined = store.write(move |tx| {
        tx.execute(ROOM, &[&room.0])?;
        tx.execute(GROUP, &[&room.0, &alex.0])?;
        [alex, sam].iter().try_for_each(|member| tx.execute(MEMBER, &[&room.0, &member.0]).map(drop))
    });
    joined.await.expect("a room");

    let said = move |user: UserId| {
        let draft = Draft::of_user(alex, room, EventKind::MessageCreated, &json!({ "body": "hello" }));
        let source = draft.id.0;
        Draft { notice: Some(Notice { user, kind: NotificationKind::Mention, room, source }), ..draft }
    };
    // Alex said it, and Robin is not there.
    let drafts = [said(sam), said(alex), said(robin), message(alex)];
    let again = Draft { id: domain::EventId::new(), ..drafts[0].clone() };
    let events = store.write(move |tx| append_all(tx, &drafts)).await.expect("appended");
    let streams: Vec<_> = events.iter().map(|event| (event.stream.id, event.seq)).collect();
    assert_eq!(streams, [(room.0, 1), (room.0, 2), (room.0, 3), (alex.0, 1), (sam.0, 1)]);
    let told = events.last().expect("an event");
    assert_eq!((&told.kind, told.sender), (&EventKind::NotificationCreated, events[0].sender));
    assert!(told.data.contains(&events[0].id.to_string()), "{}", told.data);
    assert_eq!(numbers(&store, FACTS).await, [1], "its text is found");

    let events = store.write(move |tx| append_all(tx, &[again])).await.expect("appended");
    assert_eq!(events.len(), 1, "of the same thing nobody is notified twice");
    assert_eq!(numbers(&store, QUEUED).await, [1]);
}
