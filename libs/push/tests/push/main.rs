//! The drivers, over sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod endpoints;
mod independent;
mod web_push;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use domain::RoomId;
use jiff::Timestamp;
use push::{Drivers, Message, PushSettings, Subscription, Target, Topic, Urgency, VapidKey};
use testkit::push::FakeSubscription;
use uuid::Uuid;

/// This machine may be reached.
fn open() -> PushSettings {
    PushSettings { allow_private: true, contact: "mailto:alex@example.com".into(), ..PushSettings::default() }
}

/// The drivers, with a key of their own.
async fn drivers(settings: &PushSettings) -> Drivers {
    let dir = tempfile::tempdir().expect("a directory");
    let key = VapidKey::open(&dir.path().join("push")).await.expect("a key");
    assert_eq!(settings.check(), Ok(()));
    Drivers::new(settings, Arc::new(key)).expect("drivers")
}

fn message(payload: &str) -> Message {
    Message {
        id: Uuid::now_v7(),
        payload: payload.to_owned(),
        topic: Some(Topic::of_room(RoomId::new())),
        urgency: Urgency::High,
        ttl: Duration::from_millis(90_500),
        sent_at: Timestamp::now(),
    }
}

fn subscription(of: &FakeSubscription) -> Subscription {
    Subscription { endpoint: of.endpoint.clone(), p256dh: of.p256dh.clone(), auth: of.auth.clone() }
}

fn target(of: &FakeSubscription) -> Target {
    Target::WebPush(subscription(of))
}
