//! What an entry is about.

use std::fmt;
use std::str::FromStr;

use super::{EntryError, MAX_KIND};

/// The name of a kind of a newer release. Only parsing makes one, so it is always in the grammar.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KindName(Box<str>);

impl KindName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What sort of thing an entry is about, and so what its receiver does.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum Kind {
            $($(#[$doc])* $name,)*
            /// A kind that this release does not know: counted and passed over.
            Unknown(KindName),
        }

        impl Kind {
            /// Every kind that this release knows.
            pub const KNOWN: &'static [Self] = &[$(Self::$name,)*];

            /// The name on the channel.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self { $(Self::$name => $text,)* Self::Unknown(name) => &name.0 }
            }
        }

        impl FromStr for Kind {
            type Err = EntryError;

            fn from_str(text: &str) -> Result<Self, EntryError> {
                match text {
                    $($text => Ok(Self::$name),)*
                    _ => unknown(text),
                }
            }
        }
    };
}

kinds! {
    /// `stream id : head`. The receiver loads the events it lacks, if it has subscribers.
    Stream = "stream",
    /// `room . user`. The receiver tells local members of the room.
    Typing = "typing",
    /// `run id : version`. The receiver loads patches since its own version, if it has watchers.
    RunUpdated = "run.updated",
    /// `agent id : version`. The receiver loads it and tells local watchers.
    AgentPresence = "agent.presence",
    /// `user id : version`. The receiver loads it and tells local watchers.
    UserPresence = "user.presence",
    /// `device id : epoch`. The receiver closes a connection of a lower epoch with 4017.
    DeviceSession = "device.session",
    /// `consumer id : epoch`. The receiver closes a connection of a lower epoch with 4015.
    ConsumerSession = "consumer.session",
    /// `notification id`. The node with a live connection of that person loads it and sends `hint`.
    NotificationCreated = "notification.created",
    /// `nil`. Some notification is to be decided: a worker looks now instead of at its next look.
    NotificationDue = "notification.due",
    /// `call id`. The receiver wakes a local waiter.
    ToolResult = "tool.result",
    /// `request id`. For the node that holds the consumer.
    AutocompleteRequested = "command.autocomplete_requested",
    /// `request id`. For the node of the asker.
    AutocompleteAnswered = "command.autocomplete_answered",
    /// `task id`. A worker looks now instead of at its next poll.
    TaskDue = "task.due",
    /// `user or session id`. The receiver closes those connections with 4014.
    SessionRevoked = "session.revoked",
    /// `key id`. The receiver reloads the key store.
    KeyRotated = "key.rotated",
    /// `node id : counter`. A listener's round trip to itself; others pass over it.
    ListenerPing = "listener.ping",
}

fn unknown(text: &str) -> Result<Kind, EntryError> {
    let good =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-');
    if (1..=MAX_KIND).contains(&text.len()) && text.bytes().all(good) {
        Ok(Kind::Unknown(KindName(text.into())))
    } else {
        Err(EntryError::Kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
