//! What is sent, whichever way.

use std::fmt;
use std::time::Duration;

use aws_lc_rs::hmac::{self, HMAC_SHA256};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::RoomId;
use jiff::Timestamp;
use uuid::Uuid;

/// Bytes of a hidden topic: 24 characters.
const HIDDEN: usize = 18;

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

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topic(RoomId);

impl Topic {
    /// What happens in a room.
    #[must_use]
    pub const fn of_room(room: RoomId) -> Self {
        Self(room)
    }

    /// For whoever may know the room: its id.
    pub(crate) fn plain(self) -> String {
        self.0.to_string()
    }

    /// For a push service: base64url, at most 32 characters (RFC 8030, section 5.4). Another for each device, or the service
    /// could tell who shares a room.
    pub(crate) fn hidden(self, secret: &[u8]) -> String {
        let tag = hmac::sign(&hmac::Key::new(HMAC_SHA256, secret), self.0.uuid().as_bytes());
        tag.as_ref().first_chunk::<HIDDEN>().map(|tag| URL_SAFE_NO_PAD.encode(tag)).unwrap_or_default()
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
    fn topics_are_what_push_services_take_and_tell_nothing_of_the_room() {
        for number in 0..100_u8 {
            let room = RoomId::new();
            let hidden = Topic::of_room(room).hidden(&[number; 16]);
            assert!(hidden.len() == 24, "{hidden}");
            assert!(hidden.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')));
            assert_eq!(Topic::of_room(room).hidden(&[number; 16]), hidden);
            assert_ne!(Topic::of_room(room).hidden(&[number + 1; 16]), hidden, "another device");
            assert_ne!(Topic::of_room(RoomId::new()).hidden(&[number; 16]), hidden, "another room");
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
