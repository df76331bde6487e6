//! Notifications: decides where each goes, and pushes.
//!
//! Two loops. [`Decisions`] claims what is new, or is to be looked at again, asks where each person is, and writes down what follows
//! ([`domain::notification::decide`]). [`Deliveries`] claims devices that a push waits for, looks once more at whether it is still wanted, sends,
//! and writes down what became of it. Every worker does both, nobody leads.
//!
//! ```text
//!   notification.due, user.presence, push.interval          a look of Decisions, push.interval
//!     -> claim -> where is everybody? -> decide -> write      -> claim -> still wanted? -> send -> write
//!                                         |-> hint (notification.created)
//! ```
//!
//! | failure | then |
//! |---|---|
//! | this process dies before it writes down what it decided | the claim ends with its lease; another decides |
//! | it dies after sending, before it is written down | the push is sent once more, with the same topic and id |
//! | a word of new notifications, or of people who left, is lost | the next look is no later than `push.interval` |
//! | the database was restarted and nobody knows who is there | nobody is pushed to for being away until that is known |
//! | a push service is slow or refuses | its devices rest, longer each time; others go on |

mod decisions;
mod deliveries;
mod metrics;
mod payload;
mod sending;

use std::time::Duration;

use jiff::Timestamp;
use store::notifications::Notification;

pub use decisions::Decisions;
pub use deliveries::Deliveries;
pub use metrics::NotificationMetrics;

/// Whether a notification is too old to disturb anybody.
fn is_too_old(notification: &Notification, max_age: Duration, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(notification.created_at)).is_ok_and(|age| age > max_age)
}
