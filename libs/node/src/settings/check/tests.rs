//! Tests of what is refused, and how it is told.

use super::*;

fn refused(key: &str, value: &str) -> String {
    let loader = Loader::new()
        .environment([(format!("SWITCHBOARD__{}", key.replace('.', "__").to_uppercase()), value.to_owned())]);
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
        ("append.max_wait", "2s"),
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
        ("scheduler.lease", "0s"),
        ("scheduler.interval", "50ms"),
        ("scheduler.startup_jitter", "2d"),
        ("scheduler.misfire_grace", "0s"),
        ("scheduler.retry_max", "500ms"),
        ("scheduler.webhook_timeout", "0s"),
        ("scheduler.max_concurrent", "0"),
        ("scheduler.max_output_bytes", "255"),
        ("http.header_read_timeout", "0s"),
        ("http.peer_timeout", "0s"),
        ("http.max_connections", "0"),
        ("retention.events_max_age", "40000d"),
        ("auth.hash_queue", "2000000"),
        ("push.vapid_key_dir", ""),
        ("secrets.signing_key_dir", ""),
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

#[test]
fn a_password_in_the_endpoint_of_traces_is_not_shown() {
    for value in
        ["https://u:topsecretpw@collector.example.com:4318", "http://c/?key=topsecretpw", "topsecretpw"]
    {
        let message = refused("telemetry.otlp_endpoint", value);
        assert!(
            !message.contains("topsecretpw") && message.contains("user, password and query"),
            "{message}"
        );
    }
    for key in ["push.contact", "http.allowed_origins", "outbound.allow_private", "http.trusted_proxies"] {
        let message = refused(key, "ftp://u:topsecretpw@example.com");
        assert!(message.contains(key) && !message.contains("topsecretpw"), "{message}");
    }
}

#[test]
fn where_two_keys_do_not_fit_together_the_one_that_was_set_is_named() {
    for (set, value, refused_key) in [
        ("auth.access_ttl", "40d", "auth.refresh_ttl"),
        ("auth.access_ttl", "2d", "retention.sessions_after"),
        ("runs.heartbeat", "20s", "runs.lease"),
        ("cluster.presence_flush_interval", "10s", "cluster.presence_ttl"),
        ("tools.max_timeout", "10s", "tools.default_timeout"),
        ("tasks.max_runtime_limit", "1s", "tasks.max_runtime"),
        ("push.max_age", "1s", "push.delay"),
        ("push.timeout", "20s", "push.lease"),
        ("scheduler.retry_min", "1h", "scheduler.retry_max"),
        ("notifier.send_timeout", "500ms", "notifier.lock_timeout"),
        ("http.max_body_bytes", "1024", "messages.max_body_bytes"),
        ("shutdown.deadline", "1s", "shutdown.spread"),
        ("retention.nodes_after", "1s", "cluster.heartbeat_interval"),
    ] {
        let message = refused(set, value);
        let variable = format!("SWITCHBOARD__{}", set.replace('.', "__").to_uppercase());
        for part in [
            refused_key,
            "in the default",
            &format!("{set} is {value:?} in the environment variable {variable}"),
        ] {
            assert!(message.contains(part), "{message} lacks {part}");
        }
    }
}

#[test]
fn the_range_of_a_number_is_the_same_whatever_is_wrong_with_it() {
    for (key, allowed) in [
        ("database.pool_size", "1 to 1000"),
        ("relay.shards", "1 to 64"),
        ("tasks.retries", "0 to 20"),
        ("auth.burst", "1 or more"),
        ("telemetry.sample_ratio", "0 to 1"),
        ("tasks.hook_rate", "0.001 to 1000000 a second"),
    ] {
        for value in ["-1", "many"] {
            let message = refused(key, value);
            let told = [key, value, allowed].into_iter().all(|part| message.contains(part));
            assert!(told, "{message}");
        }
    }
}

fn of(variables: &[(&str, &str)]) -> Loader {
    Loader::new().environment(variables.iter().copied())
}

const DATABASE: (&str, &str) = ("SWITCHBOARD__DATABASE__URL", "postgres://alex@db.example.com/chat");
const ROLES: [RoleName; 4] = [RoleName::Api, RoleName::Gateway, RoleName::Worker, RoleName::All];

#[test]
fn every_role_can_do_with_the_defaults_and_a_database() {
    for role in ROLES {
        Settings::load_for(&of(&[DATABASE]), role).expect("good");
    }
}

#[test]
fn a_node_of_a_role_needs_a_database() {
    for role in [RoleName::Api, RoleName::Gateway, RoleName::Worker] {
        let message = Settings::load_for(&Loader::new(), role).expect_err("none").to_string();
        assert!(message.contains("database.url: \"\" in the default"), "{message}");
        assert!(message.contains("postgres://user:password@host/database"), "{message}");
    }
    assert_eq!(Settings::default().check_role(RoleName::All), Ok(()), "it has the embedded one");
}

#[test]
fn who_reads_keys_in_the_database_needs_the_seal_key() {
    let driver = ("SWITCHBOARD__SIGNING_KEY__DRIVER", "postgres");
    for role in [RoleName::Api, RoleName::Gateway, RoleName::All] {
        let message = Settings::load_for(&of(&[DATABASE, driver]), role).expect_err("no key").to_string();
        for part in ["secrets.seal_key", "in the default", "signing_key.driver", driver.0] {
            assert!(message.contains(part), "{message} lacks {part}");
        }
        let key = ("SWITCHBOARD__SECRETS__SEAL_KEY", "q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k=");
        Settings::load_for(&of(&[DATABASE, driver, key]), role).expect("a key");
    }
    Settings::load_for(&of(&[DATABASE, driver]), RoleName::Worker).expect("workers read none");
}

#[test]
fn two_listeners_of_a_node_do_not_share_an_address() {
    let (http, gateway) = ("SWITCHBOARD__HTTP__LISTEN", "SWITCHBOARD__GATEWAY__LISTEN");
    let admin = "SWITCHBOARD__ADMIN__LISTEN";
    for (role, key, other) in
        [(RoleName::Api, http, gateway), (RoleName::All, http, gateway), (RoleName::Gateway, gateway, http)]
    {
        for (one, two) in [
            ("127.0.0.1:9700", "127.0.0.1:9700"),
            ("0.0.0.0:9700", "127.0.0.1:9700"),
            ("[::1]:9700", "[::]:9700"),
        ] {
            let loader = of(&[DATABASE, (key, one), (admin, two)]);
            let message = Settings::load_for(&loader, role).expect_err("taken").to_string();
            for part in ["admin.listen", admin, key, one, two] {
                assert!(message.contains(part), "{message} lacks {part}");
            }
        }
        // Whichever of them was set is named.
        let message = Settings::load_for(&of(&[DATABASE, (key, "127.0.0.1:9600")]), role).expect_err("taken");
        assert!(message.to_string().contains(key), "{message}");
        for (one, two) in [
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("127.0.0.1:9700", "127.0.0.2:9700"),
            ("127.0.0.1:9700", "127.0.0.1:9701"),
        ] {
            Settings::load_for(&of(&[DATABASE, (key, one), (admin, two)]), role).expect("two addresses");
        }
        let loader = of(&[DATABASE, (other, "127.0.0.1:9700"), (admin, "127.0.0.1:9700")]);
        Settings::load_for(&loader, role).expect("it does not listen there");
    }
    let loader = of(&[DATABASE, (http, "127.0.0.1:9600"), (gateway, "127.0.0.1:9600")]);
    Settings::load_for(&loader, RoleName::Worker).expect("a worker listens nowhere else");
}
