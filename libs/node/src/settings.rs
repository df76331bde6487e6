//! Every section of the configuration.
//!
//! Structs of libraries live beside what they configure; those of the roles live here, because every
//! role reads the same file and refuses keys that it does not know.

mod check;
pub mod cluster;
pub mod embedded;
pub mod gateway;
pub mod http;
pub mod origins;
pub mod retention;
pub mod scheduler;

use serde::{Deserialize, Serialize};

pub use cluster::{ClusterMode, ClusterSettings};
pub use embedded::EmbeddedSettings;
pub use gateway::GatewaySettings;
pub use http::HttpSettings;
pub use origins::AllowedOrigins;
pub use retention::RetentionSettings;
pub use scheduler::SchedulerSettings;

/// The configuration of a node of any role.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// PostgreSQL.
    pub database: store::postgres::DatabaseSettings,
    /// The embedded database.
    pub embedded: EmbeddedSettings,
    /// How nodes make up a cluster.
    pub cluster: ClusterSettings,
    /// Hearing other nodes.
    pub listener: cluster_channel::ListenerSettings,
    /// Telling other nodes.
    pub notifier: cluster_channel::NotifierSettings,
    /// Keeping up with the log.
    pub relay: realtime::RelaySettings,
    /// What clients keep in step.
    pub sync: realtime::SyncSettings,
    /// Who is told of whom.
    pub presence: realtime::PresenceSettings,
    /// Agents.
    pub agents: operations::AgentsSettings,
    /// Messages.
    pub messages: operations::MessageSettings,
    /// The write path.
    pub append: operations::AppendSettings,
    /// Runs of agents.
    pub runs: operations::RunSettings,
    /// Tools in browsers.
    pub tools: operations::ToolSettings,
    /// Commands that agents complete.
    pub commands: operations::CommandSettings,
    /// Tasks.
    pub tasks: operations::TasksSettings,
    /// Sign-ins.
    pub auth: auth::AuthSettings,
    /// Tickets.
    pub tickets: auth::TicketSettings,
    /// Keys of access tokens.
    pub signing_key: auth::KeySettings,
    /// Where secrets are kept.
    pub secrets: auth::SecretSettings,
    /// REST and SSE.
    pub http: HttpSettings,
    /// Requests to addresses that users name.
    pub outbound: outbound::OutboundSettings,
    /// Notifications of devices that are not looked at.
    pub push: push::PushSettings,
    /// WebSockets.
    pub gateway: GatewaySettings,
    /// What is no longer kept.
    pub retention: RetentionSettings,
    /// Work on tasks.
    pub scheduler: SchedulerSettings,
    /// Health and metrics.
    pub admin: process::admin::AdminSettings,
    /// Logs.
    pub log: process::telemetry::LogSettings,
    /// Traces.
    pub telemetry: process::telemetry::TelemetrySettings,
    /// How a node stops.
    pub shutdown: process::supervise::ShutdownSettings,
}

impl Settings {
    /// Whether the embedded database is meant: nothing names a PostgreSQL.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        self.database.url.is_empty()
    }
}

use ::cluster as cluster_channel;

#[cfg(test)]
mod tests {
    use process::settings::{missing_in_page, reference, unknown_in_page};

    use super::*;

    #[test]
    fn the_page_of_settings_is_complete_and_true() {
        let page = include_str!("../../../docs/configuration.md");
        let reference = reference::<Settings>().unwrap();
        assert_eq!(missing_in_page(page, &reference), [""; 0], "docs/configuration.md lacks these");
        assert_eq!(unknown_in_page(page, &[reference]), [""; 0], "nothing has these keys");
    }
}
