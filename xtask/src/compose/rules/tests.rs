//! Each rule finds its breach.

use serde_json::json;

use super::*;

const DEADLINE: Duration = Duration::from_secs(25);

fn node() -> Json {
    json!({
        "image": "switchboard:0.1.0",
        "read_only": true,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "restart": "unless-stopped",
        "stop_grace_period": "30s",
        "healthcheck": {"test": ["CMD", "switchboard", "healthcheck"]},
        "logging": {"options": {"max-size": "10m", "max-file": "5"}},
        "deploy": {"resources": {"limits": {"cpus": 1, "memory": "1", "pids": 1}}},
        "environment": {"A_PASSWORD_FILE": "/run/secrets/a", "URL": "postgres://alex@db.example.com/x"},
        "ports": [{"host_ip": "127.0.0.1", "target": 8080}],
        "depends_on": {"db": {"condition": "service_healthy"}},
    })
}

fn found(service: &Json) -> Vec<String> {
    faults(&json!({"services": {"api-1": service}}), DEADLINE)
}

#[test]
fn each_rule_finds_its_breach() {
    assert_eq!(found(&node()), [""; 0]);
    for (place, value, part) in [
        ("/image", json!("switchboard:latest"), "not pinned"),
        ("/read_only", json!(null), "read_only"),
        ("/cap_drop", json!(["NET_RAW"]), "cap_drop"),
        ("/cap_add", json!(["CHOWN"]), "cap_add"),
        ("/security_opt", json!([]), "no-new-privileges"),
        ("/privileged", json!(true), "of the host"),
        ("/network_mode", json!("host"), "of the host"),
        ("/user", json!("root"), "root"),
        ("/deploy/resources/limits/pids", json!(null), "no limit"),
        ("/logging/options/max-size", json!(null), "without end"),
        ("/restart", json!(null), "stays down"),
        ("/healthcheck", json!({"disable": true}), "no healthcheck"),
        ("/stop_grace_period", json!("25s"), "26s or more"),
        ("/stop_grace_period", json!(null), "26s or more"),
        ("/depends_on/db/condition", json!("service_started"), "until db is well"),
        ("/environment", json!({"A_PASSWORD": "hunter2"}), "A_PASSWORD is a secret"),
        ("/environment", json!({"URL": "postgres://alex:hunter2@db.example.com/x"}), "URL is a secret"),
        ("/ports/0/host_ip", json!(null), "port 8080 is published"),
    ] {
        let mut service = node();
        match service.pointer_mut(place) {
            Some(found) => *found = value,
            None => service[&place[1..]] = value,
        }
        let faults = found(&service);
        assert!(
            faults.len() == 1 && faults[0].contains(part) && faults[0].starts_with("api-1: "),
            "{faults:?}"
        );
    }
    let mut other = node();
    other["image"] = json!("postgres:17.7-bookworm");
    assert!(
        found(&other).concat().contains("may run as root"),
        "an image of others does not say who runs it"
    );
    other["user"] = json!("999:999");
    assert_eq!(found(&other), [""; 0]);
}

#[test]
fn files_and_targets_that_are_missing_are_found() {
    let of = |configs: Json| faults(&json!({"services": {"api-1": node()}, "configs": configs}), DEADLINE);
    assert_eq!(
        of(json!({"alerts": {"file": "/no/such/file"}})),
        ["the configuration alerts is a file that is not there: /no/such/file"]
    );
    assert!(of(json!({"nginx": {"content": "events {}"}})).concat().contains("nginx is no file"));
    // This file names api-1:9600.
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/src/compose/rules/tests.rs");
    assert_eq!(of(json!({"prometheus": {"file": own}})), [""; 0]);
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    assert_eq!(of(json!({"prometheus": {"file": other}})), ["prometheus does not ask api-1:9600"]);
}

#[test]
fn nodes_send_their_spans_to_the_collector_that_is_there() {
    let mut collector = node();
    collector["image"] = json!("otel/opentelemetry-collector:0.130.0");
    collector["user"] = json!("10001:10001");
    let mut project = json!({"services": {"api-1": node(), "collector": collector}});
    assert_eq!(faults(&project, DEADLINE), ["api-1 sends no spans to the collector"]);
    let variables = &mut project["services"]["api-1"]["environment"];
    variables["SWITCHBOARD__TELEMETRY__OTLP_ENDPOINT"] = json!("http://collector:4318");
    assert_eq!(faults(&project, DEADLINE), [""; 0]);
}

#[test]
fn the_deadline_is_the_one_of_the_page() {
    let page = "| `shutdown.deadline` | `25s` | How long |\n";
    assert_eq!(shutdown_deadline(page), Ok(DEADLINE));
    assert_eq!(grace_period("1m30s"), Some(Duration::from_secs(90)));
    assert_eq!(grace_period("soon"), None);
    assert!(shutdown_deadline("| `shutdown.lead` | `0ms` |").is_err());
}
