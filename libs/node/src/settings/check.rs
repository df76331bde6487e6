//! What the types of single values do not refuse: values out of range, and values that do not go together.
//!
//! Done before anything is opened, so that a bad setting is told with its source, and `--check-config`
//! means something.

use std::time::Duration;

use domain::Invalid;
use domain::task::MAX_RETRIES;
use operations::agents::MAX_RUNS;
use process::settings::{Loaded, Loader, SettingsError};
use store::StoreError;
use store::postgres::Connector;

use super::{GatewaySettings, RetentionSettings, Settings};

impl Settings {
    /// Loads and checks the configuration.
    ///
    /// # Errors
    ///
    /// The first key whose value can't work, its source, and what is allowed.
    pub fn load(loader: &Loader) -> Result<Loaded<Self>, SettingsError> {
        let loaded = loader.load::<Self>()?;
        match loaded.settings.check() {
            Ok(()) => Ok(loaded),
            Err(Invalid { field, allowed, .. }) => {
                // A part of a value is named behind its key: `database.url sslmode`.
                let key = field.split(' ').next().unwrap_or(field);
                Err(loaded.refuse(key, allowed))
            }
        }
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
        within("relay.shards", self.relay.shards, 1, 64)?;
        span("relay.sweep_interval", self.relay.sweep_interval, MILLISECOND, HOUR)?;
        within("relay.catchups", self.relay.catchups, 1, 1000)?;
        within("sync.outbox_frames", self.sync.outbox_frames, 1, 1_000_000)?;
        within("sync.outbox_bytes", self.sync.outbox_bytes, 1024, usize::MAX)?;
        within("sync.page", self.sync.page as usize, 1, 10_000)?;
        within("agents.max_runs", self.agents.max_runs as usize, 1, MAX_RUNS as usize)?;
        within("append.queue", self.append.queue, 1, 1_000_000)?;
        within("append.max_batch", self.append.max_batch, 1, 10_000)?;
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
        span("cluster.presence_ttl", cluster.presence_ttl, interval * 3, HOUR)?;
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
        span("runs.lease", runs.lease, runs.heartbeat * 2, 24 * HOUR)?;
        within("runs.max_attempts", runs.max_attempts as usize, 1, 1000)?;
        span("runs.queue_limit", runs.queue_limit, SECOND, 365 * 24 * HOUR)?;
        span("runs.max_runtime", runs.max_runtime, SECOND, 365 * 24 * HOUR)?;
        span("runs.cancel_grace", runs.cancel_grace, MILLISECOND, HOUR)?;
        span("runs.rescue_interval", runs.rescue_interval, 10 * MILLISECOND, HOUR)?;
        span("tools.max_timeout", self.tools.max_timeout, MILLISECOND, 24 * HOUR)?;
        span("tools.default_timeout", self.tools.default_timeout, MILLISECOND, self.tools.max_timeout)?;
        within("tools.max_args_bytes", self.tools.max_args_bytes, 16, 16 * 1024 * 1024)?;
        within("tools.max_result_bytes", self.tools.max_result_bytes, 16, 16 * 1024 * 1024)?;
        span("commands.autocomplete_timeout", self.commands.autocomplete_timeout, MILLISECOND, 60 * SECOND)?;
        within("commands.max_bytes", self.commands.max_bytes, 16, 16 * 1024 * 1024)
    }

    fn check_tasks(&self) -> Result<(), Invalid> {
        let tasks = &self.tasks;
        span("tasks.max_runtime_limit", tasks.max_runtime_limit, SECOND, 365 * 24 * HOUR)?;
        span("tasks.max_runtime", tasks.max_runtime, SECOND, tasks.max_runtime_limit)?;
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
        if self.sessions_after <= access_ttl {
            // A node that has not heard that a sign-in ended still takes its access tokens.
            let given = domain::duration::display(self.sessions_after);
            let allowed = format!("more than auth.access_ttl ({})", domain::duration::display(access_ttl));
            return Err(Invalid::new("retention.sessions_after", &given, allowed));
        }
        Ok(())
    }
}

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

fn within(key: &'static str, given: usize, least: usize, most: usize) -> Result<(), Invalid> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    let allowed = if most == usize::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
    Err(Invalid::new(key, &given.to_string(), allowed))
}

fn span(key: &'static str, given: Duration, least: Duration, most: Duration) -> Result<(), Invalid> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    let shown = domain::duration::display;
    Err(Invalid::new(key, &shown(given), format!("{} to {}", shown(least), shown(most))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(key: &str, value: &str) -> String {
        let loader = Loader::new().environment([(
            format!("SWITCHBOARD__{}", key.replace('.', "__").to_uppercase()),
            value.to_owned(),
        )]);
        Settings::load(&loader).expect_err(key).to_string()
    }

    #[test]
    fn the_defaults_are_allowed() {
        assert_eq!(Settings::default().check(), Ok(()));
    }

    #[test]
    fn what_can_not_work_is_told_with_key_value_and_source() {
        for (key, value) in [
            ("listener.check_interval", "0s"),
            ("notifier.max_batch", "0"),
            ("auth.lockout_threshold", "0"),
            ("signing_key.driver", "vault"),
            ("signing_key.cache_ttl", "500ms"),
            ("signing_key.rotate_every", "1m"),
            ("http.max_body_bytes", "1"),
            ("outbound.allow_private", "inside"),
            ("outbound.connect_timeout", "0s"),
            ("push.delay", "2h"),
            ("push.contact", "nobody"),
            ("http.allowed_origins", "nowhere"),
            ("gateway.allowed_origins", "nowhere"),
            ("log.filter", "loud"),
            ("gateway.heartbeat_interval", "0s"),
            ("gateway.max_fragments", "0"),
            ("relay.shards", "0"),
            ("relay.sweep_interval", "0s"),
            ("sync.page", "0"),
            ("append.max_batch", "0"),
            ("retention.interval", "0s"),
            ("retention.batch", "0"),
            ("retention.sessions_after", "15m"),
            ("cluster.heartbeat_interval", "50s"),
            ("cluster.presence_flush_interval", "0s"),
            ("cluster.presence_flush_interval", "2m"),
            ("cluster.presence_ttl", "2s"),
            ("sync.resume_window", "2h"),
            ("presence.max_changes_per_flush", "0"),
            ("presence.max_room_members", "100001"),
            ("messages.max_body_bytes", "1000000"),
            ("agents.max_runs", "0"),
            ("agents.max_runs", "101"),
            ("tasks.max_runtime", "25h"),
            ("tasks.retries", "21"),
            ("tasks.hook_rate", "0"),
            ("tasks.hook_burst", "0"),
            ("tasks.min_interval", "10ms"),
            ("tasks.deliveries_kept", "9m"),
            ("shutdown.spread", "1h"),
            ("database.pool_size", "0"),
        ] {
            let url = Loader::new().flag("database.url", "postgres://alex@db.example.com/chat");
            let variable = format!("SWITCHBOARD__{}", key.replace('.', "__").to_uppercase());
            let loader = url.environment([(variable.clone(), value)]);
            let message = Settings::load(&loader).expect_err(key).to_string();
            for part in [key, value, &variable, "allowed is"] {
                assert!(message.contains(part), "{message} lacks {part}");
            }
        }
    }

    #[test]
    fn the_database_is_checked_without_a_url_too() {
        let loader = Loader::new().environment([("SWITCHBOARD__DATABASE__POOL_SIZE", "0")]);
        let message = Settings::load(&loader).expect_err("no connection is no pool").to_string();
        assert!(message.contains("database.pool_size") && message.contains("1 to 1000"), "{message}");
    }

    #[test]
    fn a_bad_url_is_told_without_its_password() {
        let message = refused("database.url", "postgres://alex:hunter2@db.example.com/chat?sslmode=perhaps");
        for part in ["database.url", "SWITCHBOARD__DATABASE__URL", "verify-full"] {
            assert!(message.contains(part), "{message} lacks {part}");
        }
        assert!(!message.contains("hunter2"), "{message}");
    }

    #[test]
    fn a_password_beside_one_in_the_url_is_told_without_either() {
        let url = Loader::new().flag("database.url", "postgres://alex:hunter2@db.example.com/chat");
        let loader = url.environment([("SWITCHBOARD__DATABASE__PASSWORD", "hunter3")]);
        let message = Settings::load(&loader).expect_err("two passwords").to_string();
        for part in ["database.password", "SWITCHBOARD__DATABASE__PASSWORD", "while database.url has"] {
            assert!(message.contains(part), "{message} lacks {part}");
        }
        assert!(!message.contains("hunter"), "{message}");
    }

    #[test]
    fn secrets_are_told_without_being_shown() {
        for (key, value) in [
            ("secrets.seal_key", "hunter2"),
            ("push.webhook_url", "https://alex:hunter2@relay.example.com"),
            ("push.webhook_url", "hunter2"),
            ("push.webhook_secret", "whsec_hunter2"),
        ] {
            let message = refused(key, value);
            assert!(message.contains(key) && !message.contains("hunter2"), "{message}");
        }
    }
}
