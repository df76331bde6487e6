//! What is sent, whichever way.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::RoomId;
use jiff::Timestamp;
use uuid::Uuid;

/// A message for one device.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    /// Its id: the same in each attempt, another for each device, so that a receiver can tell repeats.
    pub id: Uuid,
    /// What the device is told: JSON, as text. At most [`MAX_PLAINTEXT`](crate::MAX_PLAINTEXT) bytes by Web Push.
    pub payload: String,
    /// Of messages with one topic that wait for a device, the newest replaces the others.
    pub topic: Option<Topic>,
    /// Whether it may wake the device.
    pub urgency: Urgency,
    /// How long it is kept for a device that can't be reached, in whole seconds; 0 is now or never.
    pub ttl: Duration,
    /// The time of this attempt, by the database's clock: that of this machine may be wrong, and receivers compare.
    pub sent_at: Timestamp,
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("id", &self.id)
            .field("payload_bytes", &self.payload.len())
            .field("topic", &self.topic)
            .field("urgency", &self.urgency)
            .field("ttl", &self.ttl)
            .field("sent_at", &self.sent_at)
            .finish()
    }
}

/// What a message is about, for push services: base64url, at most 32 characters (RFC 8030, section 5.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic(String);

impl Topic {
    /// What happens in a room: the id of the room, and nothing of its name.
    #[must_use]
    pub fn of_room(room: RoomId) -> Self {
        Self(URL_SAFE_NO_PAD.encode(room.uuid().as_bytes()))
    }

    /// As it is sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How urgent a message is, for devices that save power (RFC 8030, section 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// On power and wifi.
    VeryLow,
    /// On power or wifi.
    Low,
    /// On neither.
    Normal,
    /// Even when the battery is low.
    High,
}

impl Urgency {
    /// As it is sent.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::VeryLow => "very-low",
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_what_push_services_take() {
        for _ in 0..100 {
            let room = RoomId::new();
            let topic = Topic::of_room(room);
            assert!((1..=32).contains(&topic.as_str().len()));
            assert!(topic.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
            assert_eq!(Topic::of_room(room), topic);
            assert_ne!(Topic::of_room(RoomId::new()), topic);
        }
    }

    #[test]
    fn what_is_sent_is_not_shown() {
        let message = Message {
            id: Uuid::now_v7(),
            payload: "hunter2".to_owned(),
            topic: None,
            urgency: Urgency::High,
            ttl: Duration::from_secs(1),
            sent_at: Timestamp::now(),
        };
        assert!(!format!("{message:?}").contains("hunter2"));
    }
}
