//! Who gets which event, once and in order.
//!
//! The [`hub`] knows the live connections of this node and which streams each follows, with the
//! last seq given to each. The [`relay`] keeps the hub up with the log: woken by notifications and by
//! the sweep, it loads what the hub lacks. Each connection has an [`outbox`], bounded; when it is
//! full nothing is lost: the connection falls behind and reads the log at its own pace
//! ([`catchup`]). [`session`] takes a device's slot and joins a connection to all of this.
//!
//! What never lives here: sockets, HTTP, SQL, and anything that writes events.

pub mod catchup;
pub mod connection;
pub mod encoded;
pub mod farewell;
pub mod guard;
pub mod hints;
pub mod hub;
pub mod livebox;
pub mod metrics;
pub mod outbox;
pub mod presence;
pub mod relay;
pub mod session;
pub mod settings;
pub mod term;
pub mod view;

pub use catchup::{CatchUp, Fed, Feed, Progress, Watched};
pub use connection::{Connection, ConnectionMeta, Focus, Hold};
pub use encoded::{Body, Encoded, Path, Wire};
pub use farewell::farewell;
pub use guard::Guard;
pub use hints::{HintTask, Hints};
pub use hub::Hub;
pub use livebox::LiveBoxes;
pub use metrics::RealtimeMetrics;
pub use outbox::{Limits, Next, Outbox};
pub use presence::Told;
pub use relay::Relay;
pub use session::{Alone, Announce, Begin, Opened, Opening, SessionError, SessionLimits, Sessions, pass_on};
pub use settings::{PresenceSettings, RelaySettings, SyncSettings};
pub use term::{Term, Tokens, Turn};
pub use view::{MemoryView, PresenceView, Seen, TableView};
