//! Notifications: what somebody should know of, and whether their desktop or their phone says so now.
//!
//! A notification is made in the commit of what it is about. What becomes of it is decided from where the person is
//! ([`decide`]), and decided again whenever that changes and at the moment of sending.
//!
//! ```text
//!   made --decide--> nothing (why)
//!              |---> a hint on the desktop now; the push waits for `push.delay` --+--> read, deleted: nothing
//!              |                                                                  +--> idle, gone, delay over: push
//!              +---> push now
//! ```

use std::str::FromStr;

use serde::{Deserialize, Serialize};

mod decision;
mod headline;
mod preferences;

pub use decision::{Decision, Facts, Reason, decide};
pub use headline::{Headline, Subject};
pub use preferences::{DoNotDisturb, Preferences, QuietHours};

use crate::error::Invalid;
use crate::run::named;

named! {
    /// What a notification is about.
    NotificationKind, "kind", "mention, direct_message, run_finished, run_waiting or tool_call":
    /// A message names the person.
    Mention = "mention",
    /// A message in a room of two.
    DirectMessage = "direct_message",
    /// A run that the person asked for has come to its end.
    RunFinished = "run_finished",
    /// A run that the person asked for waits for their answer to a tool call.
    RunWaiting = "run_waiting",
    /// A run that somebody else asked for calls a tool of theirs.
    ToolCall = "tool_call",
}
