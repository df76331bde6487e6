//! What every role has, wired once.
//!
//! A [`Node`] is the part that all roles share: the store, the ephemeral channel, the hub with its relay,
//! operations, health, metrics and the supervisor of all tasks. [`Faces`] is what nodes that face
//! clients add: who somebody is, and sessions. A role installs itself on these; in one process all roles
//! share one node. [`Settings`] are all sections of the configuration, so that one file serves every role.
//!
//! What never lives here: routes, sockets, and what a role does.

pub mod app;
pub mod database;
pub mod faces;
pub mod node;
pub mod settings;
mod signing;

pub use app::App;
pub use database::{NoDatabase, join_store, open_store};
pub use faces::Faces;
pub use node::{BuildError, Node, RoleName, VERSION, bind, connector, describe};
pub use settings::{
    AllowedOrigins, ClusterMode, ClusterSettings, EmbeddedSettings, GatewaySettings, HttpSettings,
    RetentionSettings, SchedulerSettings, Settings,
};
