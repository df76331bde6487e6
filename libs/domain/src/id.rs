//! Identifiers: UUIDv7 in newtypes, so that a room id is never passed where a user id belongs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A fresh id (UUIDv7: sorts by the time it was made).
            #[must_use]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// The bare UUID.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

id!(
    /// A person.
    UserId
);
id!(
    /// An agent.
    AgentId
);
id!(
    /// A room, and its stream.
    RoomId
);
id!(
    /// An event, unique over all streams.
    EventId
);
id!(
    /// A device of a person.
    DeviceId
);
id!(
    /// A sign-in: one family of refresh tokens, and every access token made from it.
    AuthSessionId
);
id!(
    /// A consumer of an agent: a named place that one connection at a time works from.
    ConsumerId
);
id!(
    /// A run: one piece of work of an agent in a room, with its live box.
    RunId
);
id!(
    /// A call of a tool in somebody's browser.
    ToolCallId
);
id!(
    /// A question to an agent that waits for its answer (autocomplete).
    RequestId
);
id!(
    /// A hold of a session slot (a device or a consumer): made anew by every identify and resume.
    SlotSessionId
);
id!(
    /// One live connection (WebSocket or SSE).
    ConnectionId
);
id!(
    /// A node: one process, one start.
    NodeId
);
id!(
    /// The life of a log in which sequence numbers never go back. A restored database gets a new one.
    LogEpoch
);
id!(
    /// A task: what is to be done, and when.
    TaskId
);
id!(
    /// One attempt at a task.
    TaskRunId
);
id!(
    /// A notification: something that one person should know of.
    NotificationId
);
id!(
    /// A worker's hold on the runs it has claimed: fresh after each start and after each lost lease.
    WorkerSessionId
);
