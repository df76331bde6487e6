//! What the types of single values do not refuse: values out of range, and values that do not go together.
//!
//! Done before anything is opened, so that a bad setting is told with its source, and `--check-config`
//! means something: what is checked where a node is built is checked here too, by the same function.

use std::net::SocketAddr;
use std::time::Duration;

use auth::KeyDriver;
use auth::keys::seal::SealKey;
use domain::Invalid;
use domain::task::MAX_RETRIES;
use operations::agents::MAX_RUNS;
use process::settings::{Loaded, Loader, SettingsError};
use store::StoreError;
use store::postgres::Connector;

use super::{GatewaySettings, RetentionSettings, Settings};
use crate::node::RoleName;

impl Settings {
    /// Loads and checks the configuration.
    ///
    /// # Errors
    ///
    /// The first key whose value can't work, its source, and what is allowed.
    pub fn load(loader: &Loader) -> Result<Loaded<Self>, SettingsError> {
        let loaded = loader.load::<Self>().map_err(|error| with_its_range(error, loader))?;
        match loaded.settings.check() {
            Ok(()) => Ok(loaded),
            Err(invalid) => Err(refused(&loaded, invalid)),
        }
    }

    /// Loads and checks the configuration of a node of this role.
    ///
    /// # Errors
    ///
    /// Those of [`Settings::load`], and the first key whose value can't work for this role.
    pub fn load_for(loader: &Loader, role: RoleName) -> Result<Loaded<Self>, SettingsError> {
        let loaded = Self::load(loader)?;
        match loaded.settings.check_role(role) {
            Ok(()) => Ok(loaded),
            Err(invalid) => Err(refused(&loaded, invalid)),
        }
    }

    /// Checks what only nodes of this role need.
    ///
    /// # Errors
    ///
    /// The first key whose value can't work for this role.
    pub fn check_role(&self, role: RoleName) -> Result<(), Invalid> {
        if self.is_embedded() && role != RoleName::All {
            let allowed = "a URL such as postgres://user:password@host/database, which nodes of a cluster share: the embedded database \
                           serves everything in one process";
            return Err(Invalid::described("database.url", "nothing", allowed));
        }
        // Workers do not read keys that are in the database.
        if self.signing_key.driver == KeyDriver::Postgres && role != RoleName::Worker {
            SealKey::of(&self.secrets)?;
        }
        let (key, listen) = match role {
            RoleName::Api | RoleName::All => ("http.listen", self.http.listen),
            RoleName::Gateway => ("gateway.listen", self.gateway.listen),
            RoleName::Worker => return Ok(()),
        };
        if is_taken_by(self.admin.listen, listen) {
            let allowed = format!("another address than {key} ({listen})");
            return Err(Invalid::new("admin.listen", &self.admin.listen.to_string(), allowed));
        }
        Ok(())
    }

    /// Checks every section.
    ///
    /// # Errors
    ///
    /// The first key whose value can't work.
    pub fn check(&self) -> Result<(), Invalid> {
        self.check_database()?;
        self.listener.validate()?;
        self.notifier.validate()?;
        self.log.check()?;
        self.telemetry.check()?;
        self.auth.check()?;
        self.signing_key.check()?;
        self.secrets.check()?;
        self.http.check()?;
        self.outbound.check()?;
        self.push.check()?;
        self.gateway.check()?;
        self.retention.check(self.auth.access_ttl)?;
        self.scheduler.check()?;
        within("relay.shards", self.relay.shards, 1, 64)?;
        span("relay.sweep_interval", self.relay.sweep_interval, MILLISECOND, HOUR)?;
        within("relay.catchups", self.relay.catchups, 1, 1000)?;
        within("sync.outbox_frames", self.sync.outbox_frames, 1, 1_000_000)?;
        within("sync.outbox_bytes", self.sync.outbox_bytes, 1024, usize::MAX)?;
        within("sync.page", self.sync.page as usize, 1, 10_000)?;
        within("agents.max_runs", self.agents.max_runs as usize, 1, MAX_RUNS as usize)?;
        within("append.queue", self.append.queue, 1, 1_000_000)?;
        within("append.max_batch", self.append.max_batch, 1, 10_000)?;
        span("append.max_wait", self.append.max_wait, Duration::ZERO, SECOND)?;
        span("cluster.heartbeat_interval", self.cluster.heartbeat_interval, 10 * MILLISECOND, HOUR)?;
        self.check_presence()?;
        self.check_agents()?;
        self.check_tasks()?;
        span("tickets.ttl", self.tickets.ttl, MILLISECOND, 24 * HOUR)?;
        span("shutdown.deadline", self.shutdown.deadline, MILLISECOND, 24 * HOUR)?;
        self.check_combinations()
    }

    fn check_presence(&self) -> Result<(), Invalid> {
        let cluster = &self.cluster;
        let interval = cluster.presence_flush_interval;
        span("cluster.presence_flush_interval", interval, 10 * MILLISECOND, 60 * SECOND)?;
        // One flush may be late, or fail.
        span("cluster.presence_ttl", cluster.presence_ttl, interval * 3, HOUR)
            .map_err(because("at least three times cluster.presence_flush_interval"))?;
        span("sync.resume_window", self.sync.resume_window, Duration::ZERO, HOUR)?;
        within("presence.max_changes_per_flush", self.presence.max_changes_per_flush as usize, 1, 100_000)?;
        within("presence.max_room_members", self.presence.max_room_members as usize, 0, 100_000)
    }

    fn check_agents(&self) -> Result<(), Invalid> {
        let runs = &self.runs;
        span("runs.flush_interval", runs.flush_interval, MILLISECOND, 10 * SECOND)?;
        within("runs.snapshot_every", runs.snapshot_every as usize, 1, 1000)?;
        within("runs.max_doc_bytes", runs.max_doc_bytes, 1024, 16 * 1024 * 1024)?;
        within("runs.max_pending_bytes", runs.max_pending_bytes, 1024, 16 * 1024 * 1024)?;
        within("runs.max_input_bytes", runs.max_input_bytes, 1024, 16 * 1024 * 1024)?;
        within("runs.max_hops", runs.max_hops as usize, 0, 1000)?;
        span("runs.heartbeat", runs.heartbeat, 10 * MILLISECOND, HOUR)?;
        // One heartbeat may be late, or lost.
        span("runs.lease", runs.lease, runs.heartbeat * 2, 24 * HOUR)
            .map_err(because("at least twice runs.heartbeat"))?;
        within("runs.max_attempts", runs.max_attempts as usize, 1, 1000)?;
        span("runs.queue_limit", runs.queue_limit, SECOND, 365 * 24 * HOUR)?;
        span("runs.max_runtime", runs.max_runtime, SECOND, 365 * 24 * HOUR)?;
        span("runs.cancel_grace", runs.cancel_grace, MILLISECOND, HOUR)?;
        span("runs.rescue_interval", runs.rescue_interval, 10 * MILLISECOND, HOUR)?;
        span("tools.max_timeout", self.tools.max_timeout, MILLISECOND, 24 * HOUR)?;
        span("tools.default_timeout", self.tools.default_timeout, MILLISECOND, self.tools.max_timeout)
            .map_err(because("at most tools.max_timeout"))?;
        within("tools.max_args_bytes", self.tools.max_args_bytes, 16, 16 * 1024 * 1024)?;
        within("tools.max_result_bytes", self.tools.max_result_bytes, 16, 16 * 1024 * 1024)?;
        span("commands.autocomplete_timeout", self.commands.autocomplete_timeout, MILLISECOND, 60 * SECOND)?;
        within("commands.max_bytes", self.commands.max_bytes, 16, 16 * 1024 * 1024)
    }

    fn check_tasks(&self) -> Result<(), Invalid> {
        let tasks = &self.tasks;
        span("tasks.max_runtime_limit", tasks.max_runtime_limit, SECOND, 365 * 24 * HOUR)?;
        span("tasks.max_runtime", tasks.max_runtime, SECOND, tasks.max_runtime_limit)
            .map_err(because("at most tasks.max_runtime_limit"))?;
        within("tasks.retries", tasks.retries as usize, 0, MAX_RETRIES as usize)?;
        within("tasks.max_input_bytes", tasks.max_input_bytes, 0, 16 * 1024 * 1024)?;
        within("tasks.max_queued", tasks.max_queued as usize, 1, 1_000_000)?;
        within("tasks.max_per_owner", tasks.max_per_owner as usize, 0, 1_000_000_000)?;
        span("tasks.min_interval", tasks.min_interval, SECOND, 24 * HOUR)?;
        if !(0.001..=1_000_000.0).contains(&tasks.hook_rate) {
            let (given, allowed) = (tasks.hook_rate.to_string(), "0.001 to 1000000 a second");
            return Err(Invalid::new("tasks.hook_rate", &given, allowed));
        }
        within("tasks.hook_burst", tasks.hook_burst as usize, 1, 1_000_000)?;
        span("tasks.hook_tolerance", tasks.hook_tolerance, SECOND, 24 * HOUR)?;
        // A signed call that is sent again must still be known.
        span("tasks.deliveries_kept", tasks.deliveries_kept, tasks.hook_tolerance * 2, 365 * 24 * HOUR)
            .map_err(because("at least twice tasks.hook_tolerance"))
    }

    fn check_database(&self) -> Result<(), Invalid> {
        self.database.check()?;
        // Whether one is needed is for the command to say.
        if self.database.url.is_empty() {
            return Ok(());
        }
        match Connector::new(&self.database, "check") {
            Err(StoreError::Settings(invalid)) => Err(invalid),
            _ => Ok(()),
        }
    }

    fn check_combinations(&self) -> Result<(), Invalid> {
        let body = self.messages.max_body_bytes;
        let largest = self.gateway.max_frame_bytes.min(self.http.max_body_bytes);
        if !(1..=largest).contains(&body) {
            let allowed =
                format!("1 to {largest}, the lesser of gateway.max_frame_bytes and http.max_body_bytes");
            return Err(Invalid::new("messages.max_body_bytes", &body.to_string(), allowed));
        }
        if self.shutdown.spread > self.shutdown.deadline {
            let given = domain::duration::display(self.shutdown.spread);
            return Err(Invalid::new("shutdown.spread", &given, "at most shutdown.deadline"));
        }
        if self.cluster.heartbeat_interval * 2 > self.retention.nodes_after {
            let given = domain::duration::display(self.cluster.heartbeat_interval);
            let allowed = "at most half of retention.nodes_after";
            return Err(Invalid::new("cluster.heartbeat_interval", &given, allowed));
        }
        Ok(())
    }
}

impl GatewaySettings {
    fn check(&self) -> Result<(), Invalid> {
        self.allowed_origins.check("gateway.allowed_origins")?;
        span("gateway.heartbeat_interval", self.heartbeat_interval, 10 * MILLISECOND, HOUR)?;
        span("gateway.identify_timeout", self.identify_timeout, MILLISECOND, HOUR)?;
        span("gateway.behind_limit", self.behind_limit, MILLISECOND, 24 * HOUR)?;
        span("gateway.close_timeout", self.close_timeout, MILLISECOND, HOUR)?;
        within("gateway.max_frame_bytes", self.max_frame_bytes, 1024, 64 * 1024 * 1024)?;
        within("gateway.max_fragments", self.max_fragments as usize, 1, 1_000_000)?;
        within("gateway.max_connections", self.max_connections, 1, 10_000_000)?;
        within("gateway.frame_rate", self.frame_rate as usize, 1, 1_000_000)?;
        within("gateway.frame_burst", self.frame_burst as usize, 1, 1_000_000)
    }
}

impl RetentionSettings {
    /// Checks what the types alone do not. `access_ttl` is `auth.access_ttl`.
    ///
    /// # Errors
    ///
    /// The first key whose value can't work.
    pub fn check(&self, access_ttl: Duration) -> Result<(), Invalid> {
        span("retention.interval", self.interval, 100 * MILLISECOND, 24 * HOUR)?;
        within("retention.batch", self.batch as usize, 1, 10_000)?;
        // The database counts back from today, and has no time before its own.
        span("retention.events_max_age", self.events_max_age, Duration::ZERO, CENTURY)?;
        span("retention.notifications_max_age", self.notifications_max_age, Duration::ZERO, CENTURY)?;
        span("retention.nodes_after", self.nodes_after, MILLISECOND, CENTURY)?;
        span("retention.sessions_after", self.sessions_after, Duration::ZERO, CENTURY)?;
        if self.sessions_after <= access_ttl {
            // A node that has not heard that a sign-in ended still takes its access tokens.
            let given = domain::duration::display(self.sessions_after);
            let allowed = format!("more than auth.access_ttl ({})", domain::duration::display(access_ttl));
            return Err(Invalid::new("retention.sessions_after", &given, allowed));
        }
        Ok(())
    }
}

/// The error for a value that a check refused, with where it came from.
fn refused(loaded: &Loaded<Settings>, invalid: Invalid) -> SettingsError {
    // A part of a value is named behind its key: `database.url sslmode`.
    let key = invalid.field.split(' ').next().unwrap_or(invalid.field);
    loaded.refuse(key, invalid.allowed)
}

/// Says of a number that its type does not take what the check of its key would: a type knows nothing of 1 to 1000.
///
/// The check is asked by giving it the ends of what the types of numbers take.
fn with_its_range(error: SettingsError, loader: &Loader) -> SettingsError {
    let SettingsError::BadValue { key, given, source_of, allowed } = error else { return error };
    let number = ["a whole number", "a number"].into_iter().find(|number| allowed.starts_with(number));
    let range = number.and_then(|number| {
        let ends = ["0".to_owned(), u16::MAX.to_string(), u32::MAX.to_string(), i64::MAX.to_string()];
        let range = ends.into_iter().find_map(|end| {
            let invalid = loader.clone().flag(&key, end).load::<Settings>().ok()?.settings.check().err()?;
            (invalid.field == key).then_some(invalid.allowed)
        })?;
        Some(format!("{number}, {range}"))
    });
    SettingsError::BadValue { key, given, source_of, allowed: range.unwrap_or(allowed) }
}

/// Whether nobody can listen on `one` because of who listens on `other`.
fn is_taken_by(one: SocketAddr, other: SocketAddr) -> bool {
    let every = |address: SocketAddr| address.ip().is_unspecified();
    let same_host =
        one.ip() == other.ip() || (one.is_ipv4() == other.is_ipv4() && (every(one) || every(other)));
    // The operating system finds a port for 0.
    one.port() != 0 && one.port() == other.port() && same_host
}

pub(super) const MILLISECOND: Duration = Duration::from_millis(1);
pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const HOUR: Duration = Duration::from_hours(1);
const CENTURY: Duration = Duration::from_hours(24 * 365 * 100);

/// Says of which other key a bound comes.
pub(super) fn because(why: &'static str) -> impl Fn(Invalid) -> Invalid {
    move |invalid| Invalid { allowed: format!("{} ({why})", invalid.allowed), ..invalid }
}

pub(super) fn within(key: &'static str, given: usize, least: usize, most: usize) -> Result<(), Invalid> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    let allowed = if most == usize::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
    Err(Invalid::new(key, &given.to_string(), allowed))
}

pub(super) fn span(
    key: &'static str,
    given: Duration,
    least: Duration,
    most: Duration,
) -> Result<(), Invalid> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    let shown = domain::duration::display;
    Err(Invalid::new(key, &shown(given), format!("{} to {}", shown(least), shown(most))))
}

#[cfg(test)]
mod tests;
