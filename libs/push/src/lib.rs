//! Sends notifications to devices.
//!
//! Two ways lead to a device. *Web Push* ([`web_push`]) is what browsers and UnifiedPush offer: the device names an endpoint at a
//! push service, and keys so that the service can't read what it passes on. The *webhook* ([`webhook`]) is for what has no Web
//! Push, such as apps that are woken by Apple or Google: the operator's own relay is told, and knows the rest.
//!
//! A [`Driver`] sends once and gives a [`Verdict`]: what the answer means for the subscription and for the next attempt. Whoever
//! calls decides whether somebody is notified at all, keeps subscriptions, and repeats.
//!
//! Endpoints and tokens are secrets: whoever has one can send. Neither stands in a log, an error or a verdict; the host does.
//!
//! What never lives here: which notifications are pushed, their texts, the store, retries.

pub mod drivers;
mod encryption;
pub mod endpoints;
pub mod message;
pub mod settings;
pub mod target;
pub mod vapid;
pub mod verdict;
pub mod web_push;
pub mod webhook;

pub use drivers::{Driver, Drivers};
pub use encryption::MAX_PLAINTEXT;
pub use endpoints::Endpoints;
pub use message::{Message, Topic, Urgency};
pub use settings::PushSettings;
pub use target::{Subscription, Target};
pub use vapid::{Vapid, VapidKey};
pub use verdict::{Outcome, Verdict};
pub use web_push::WebPush;
pub use webhook::Webhook;
