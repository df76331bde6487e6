//! Any frame.

mod agents;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use uuid::Uuid;

use crate::frame::*;

pub(super) fn uuid() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid::from_u128)
}

pub(super) fn text() -> impl Strategy<Value = String> {
    any::<String>()
}

pub(super) fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        text().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            btree_map(text(), inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
    .prop_map(|value| value.to_string())
}

pub(super) fn raw() -> impl Strategy<Value = RawJson> {
    json().prop_map(|text| RawJson::new(text).expect("good JSON"))
}

fn cursors() -> impl Strategy<Value = Cursors> {
    let stream = (prop_oneof!["room", "user", "agent"], uuid()).prop_map(|(kind, id)| format!("{kind}:{id}"));
    btree_map(stream, any::<u64>(), 0..4).prop_map(|map| map.try_into().expect("good names"))
}

pub(super) fn event() -> impl Strategy<Value = Event> {
    let sender = (text(), option::of(uuid())).prop_map(|(kind, id)| Sender { kind, id });
    (text(), any::<u64>(), uuid(), text(), text(), sender, raw()).prop_map(
        |(stream, seq, id, kind, at, sender, data)| Event { stream, seq, id, kind, at, sender, data },
    )
}

fn room() -> impl Strategy<Value = RoomState> {
    (uuid(), text(), option::of(text()), any::<[u64; 3]>(), any::<bool>(), text()).prop_map(
        |(id, kind, name, [head, floor, last_read], muted, stream)| RoomState {
            id,
            kind,
            name,
            head,
            floor,
            last_read,
            muted,
            stream,
        },
    )
}

fn ready() -> impl Strategy<Value = Ready> {
    let account = (uuid(), text(), text(), option::of(text())).prop_map(
        |(id, handle, display_name, role)| match role {
            Some(role) => Account::User(User { id, handle, display_name, role }),
            None => Account::Agent(AgentSelf { id, handle, display_name }),
        },
    );
    let streams = btree_map(text(), any::<u64>(), 0..4);
    (uuid(), any::<u64>(), uuid(), account, vec(room(), 0..4), streams).prop_map(
        |(session_id, epoch, log_epoch, account, rooms, streams)| Ready {
            session_id,
            epoch,
            log_epoch,
            account,
            rooms,
            streams,
        },
    )
}

fn presence() -> impl Strategy<Value = Presence> {
    let subject = prop_oneof![uuid().prop_map(Subject::User), uuid().prop_map(Subject::Agent)];
    let status = proptest::sample::select(vec![
        PresenceStatus::Online,
        PresenceStatus::Idle,
        PresenceStatus::Offline,
        PresenceStatus::Busy,
    ]);
    (subject, status, any::<u64>()).prop_map(|(subject, status, version)| Presence {
        subject,
        status,
        version,
    })
}

fn error() -> impl Strategy<Value = ErrorFrame> {
    let about = (option::of(uuid()), option::of(uuid()), option::of(uuid()));
    (text(), text(), option::of(text()), about).prop_map(
        |(code, detail, nonce, (run_id, call_id, request_id))| ErrorFrame {
            code,
            detail,
            nonce,
            run_id,
            call_id,
            request_id,
        },
    )
}

fn hint() -> impl Strategy<Value = Hint> {
    (uuid(), uuid(), any::<u64>(), text(), text()).prop_map(|(notification_id, room_id, seq, title, body)| {
        Hint { notification_id, room_id, seq, title, body }
    })
}

pub(super) fn server_frame() -> impl Strategy<Value = ServerFrame> {
    prop_oneof![
        (any::<[u64; 2]>(), uuid(), uuid()).prop_map(|([beat, jitter], node, connection_id)| {
            ServerFrame::Hello(Hello {
                heartbeat_interval_ms: beat,
                node,
                connection_id,
                reconnect_jitter_ms: jitter,
            })
        }),
        ready().prop_map(Box::new).prop_map(ServerFrame::Ready),
        event().prop_map(ServerFrame::Event),
        Just(ServerFrame::Live),
        (text(), any::<[u64; 2]>()).prop_map(|(stream, [floor, head])| ServerFrame::Gap(Gap {
            stream,
            floor,
            head
        })),
        (uuid(), uuid()).prop_map(|(room_id, user_id)| ServerFrame::Typing(UserTyping { room_id, user_id })),
        presence().prop_map(ServerFrame::Presence),
        (text(), any::<u64>(), uuid()).prop_map(|(nonce, seq, id)| ServerFrame::Sent(Sent {
            nonce,
            seq,
            id
        })),
        Just(ServerFrame::Pong),
        error().prop_map(ServerFrame::Error),
        any::<u64>().prop_map(|after_ms| ServerFrame::Drain(Drain { after_ms })),
        any::<u64>().prop_map(|seq| ServerFrame::Acked(Acked { seq })),
        any::<u64>().prop_map(|within_ms| ServerFrame::Refresh(RefreshAsked { within_ms })),
        any::<u64>().prop_map(|expires_in_ms| ServerFrame::Refreshed(Refreshed { expires_in_ms })),
        hint().prop_map(ServerFrame::Hint),
        agents::server_frame(),
    ]
}

pub(super) fn client_frame() -> impl Strategy<Value = ClientFrame> {
    let slot = prop_oneof![uuid().prop_map(Slot::Device), text().prop_map(Slot::Consumer)];
    prop_oneof![
        (slot, cursors(), option::of(uuid())).prop_map(|(slot, cursors, log_epoch)| {
            ClientFrame::Identify(Identify { slot, cursors, log_epoch })
        }),
        (uuid(), cursors(), option::of(uuid())).prop_map(|(session_id, cursors, log_epoch)| {
            ClientFrame::Resume(Resume { session_id, cursors, log_epoch })
        }),
        Just(ClientFrame::Ping),
        (uuid(), text(), text(), option::of(uuid())).prop_map(|(room_id, body, nonce, reply_to)| {
            ClientFrame::Send(Send { room_id, body, nonce, reply_to })
        }),
        uuid().prop_map(|room_id| ClientFrame::Typing(Typing { room_id })),
        (option::of(uuid()), any::<bool>())
            .prop_map(|(room_id, idle)| ClientFrame::Focus(Focus { room_id, idle })),
        (uuid(), any::<u64>()).prop_map(|(room_id, seq)| ClientFrame::Read(Read { room_id, seq })),
        any::<u64>().prop_map(|seq| ClientFrame::Ack(Ack { seq })),
        text().prop_map(|access_token| ClientFrame::Refresh(Refresh { access_token })),
        agents::client_frame(),
    ]
}
