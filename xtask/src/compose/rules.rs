//! What every service must keep.

use std::path::Path;
use std::time::Duration;

use serde_json::Value as Json;

use crate::Outcome;
use crate::image::{is_nobody, is_pinned};

/// Services whose image has nothing that could ask them how they are.
const SILENT: [&str; 2] = ["collector", "jaeger"];

/// How long a node may take to stop by default, as the page of all settings says.
pub(super) fn shutdown_deadline(page: &str) -> Outcome<Duration> {
    let row = page.lines().find_map(|line| line.strip_prefix("| `shutdown.deadline` | `"));
    let default =
        row.and_then(|row| row.split('`').next()).and_then(|text| domain::duration::parse(text).ok());
    default.ok_or_else(|| "docs/configuration.md has no default of shutdown.deadline".to_owned())
}

/// The image of every service.
pub(super) fn images(project: &Json) -> Vec<&str> {
    services(project).filter_map(|(_, service)| service["image"].as_str()).collect()
}

/// All breaches of all services.
pub(super) fn faults(project: &Json, deadline: Duration) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, service) in services(project) {
        let breaches = confined(service)
            .into_iter()
            .chain(kept_going(name, service, deadline))
            .chain(secrets_in_environment(service))
            .chain(open_ports(service));
        faults.extend(breaches.map(|breach| format!("{name}: {breach}")));
    }
    faults.extend(missing_files(project));
    faults.extend(not_scraped(project));
    faults.extend(not_traced(project));
    faults
}

fn services(project: &Json) -> impl Iterator<Item = (&String, &Json)> {
    project["services"].as_object().into_iter().flatten()
}

/// Nodes and commands of ours, by their image.
fn is_ours(service: &Json) -> bool {
    service["image"].as_str().is_some_and(|image| image.starts_with("switchboard:"))
}

fn has(list: &Json, item: &str) -> bool {
    list.as_array().into_iter().flatten().any(|entry| entry.as_str() == Some(item))
}

/// What a container may do to its host and its neighbours.
fn confined(service: &Json) -> Vec<String> {
    let image = service["image"].as_str().unwrap_or_default();
    let limits = &service["deploy"]["resources"]["limits"];
    let user = service["user"].as_str();
    let rules = [
        (is_pinned(image), format!("the image {image} is not pinned to a version")),
        (service["read_only"] == true, "it may write to its root: read_only is not set".to_owned()),
        (has(&service["cap_drop"], "ALL"), "it keeps capabilities: cap_drop is not [ALL]".to_owned()),
        (service["cap_add"].is_null(), "it is given capabilities: cap_add".to_owned()),
        (
            has(&service["security_opt"], "no-new-privileges:true"),
            "it may gain privileges: security_opt lacks no-new-privileges:true".to_owned(),
        ),
        (
            ["privileged", "network_mode", "pid", "ipc", "userns_mode", "devices"]
                .iter()
                .all(|key| service[*key].is_null()),
            "it is given something of the host".to_owned(),
        ),
        // Our image says itself who runs it.
        (
            user.is_some_and(is_nobody) || (user.is_none() && is_ours(service)),
            "it may run as root: user is not of the form 999:999".to_owned(),
        ),
        (
            ["cpus", "memory", "pids"].iter().all(|limit| !limits[*limit].is_null()),
            "it has no limit of cpus, memory or pids".to_owned(),
        ),
        (
            ["max-size", "max-file"].iter().all(|option| !service["logging"]["options"][*option].is_null()),
            "its log grows without end: logging has no max-size or max-file".to_owned(),
        ),
    ];
    rules.into_iter().filter(|(kept, _)| !kept).map(|(_, breach)| breach).collect()
}

/// How it is started, watched and stopped.
fn kept_going(name: &str, service: &Json, deadline: Duration) -> Vec<String> {
    let ends = service["restart"] == "no";
    let health = &service["healthcheck"];
    let watched = health["test"].is_array() && health["disable"] != true;
    let grace = service["stop_grace_period"].as_str().and_then(grace_period);
    let least = if is_ours(service) { deadline + Duration::from_secs(1) } else { Duration::from_secs(1) };
    let unordered = service["depends_on"].as_object().into_iter().flatten();
    let unordered = unordered.filter(|(_, dependency)| dependency["condition"] == "service_started");
    let mut breaches: Vec<String> =
        unordered.map(|(other, _)| format!("it does not wait until {other} is well")).collect();
    if !ends && service["restart"] != "unless-stopped" {
        breaches.push("it stays down: restart is neither unless-stopped nor \"no\"".to_owned());
    }
    if !watched && !ends && !SILENT.contains(&name) {
        breaches.push("nobody asks how it is: there is no healthcheck".to_owned());
    }
    if grace.is_none_or(|grace| grace < least) {
        breaches.push(format!("stop_grace_period is not {} or more", domain::duration::display(least)));
    }
    breaches
}

/// A duration as the parser writes it: `1m0s`.
fn grace_period(text: &str) -> Option<Duration> {
    let parts = text.split_inclusive(|c: char| c.is_ascii_alphabetic());
    parts.map(|part| domain::duration::parse(part).ok()).sum()
}

/// Secrets come from files, so that they are not seen where containers are inspected.
fn secrets_in_environment(service: &Json) -> Vec<String> {
    let variables = service["environment"].as_object().into_iter().flatten();
    let shown = variables.filter(|(name, value)| {
        let named = ["PASSWORD", "SECRET", "TOKEN", "SEAL_KEY"].iter().any(|word| name.contains(word));
        let place = name.ends_with("_FILE") || name.ends_with("_DIR");
        let value = value.as_str().unwrap_or_default();
        let authority = value.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or(rest));
        let user = authority.and_then(|authority| authority.rsplit_once('@')).map(|(user, _)| user);
        (named && !place && !value.is_empty()) || user.is_some_and(|user| user.contains(':'))
    });
    shown.map(|(name, _)| format!("{name} is a secret in the environment")).collect()
}

/// What is published is published to this machine, unless somebody says otherwise.
fn open_ports(service: &Json) -> Vec<String> {
    let ports = service["ports"].as_array().into_iter().flatten();
    let open = ports.filter(|port| port["host_ip"] != "127.0.0.1");
    open.map(|port| format!("port {} is published to everybody", port["target"])).collect()
}

/// Configurations are files of the repository: compose can't write them into a container that is read-only.
fn missing_files(project: &Json) -> Vec<String> {
    let configs = project["configs"].as_object().into_iter().flatten();
    let wrong = configs.filter_map(|(name, config)| match config["file"].as_str() {
        Some(file) if Path::new(file).is_file() => None,
        Some(file) => Some(format!("the configuration {name} is a file that is not there: {file}")),
        None => Some(format!("the configuration {name} is no file, so a read-only container can't have it")),
    });
    wrong.collect()
}

/// Where there is a Prometheus, it asks every node.
fn not_scraped(project: &Json) -> Vec<String> {
    let file = project["configs"]["prometheus"]["file"].as_str();
    let Some(targets) = file.and_then(|file| std::fs::read_to_string(file).ok()) else { return Vec::new() };
    services(project)
        .filter(|(_, service)| is_ours(service) && service["restart"] != "no")
        .map(|(name, _)| format!("{name}:9600"))
        .filter(|target| !targets.contains(target))
        .map(|target| format!("prometheus does not ask {target}"))
        .collect()
}

/// Where there is a collector, every node sends its spans there.
fn not_traced(project: &Json) -> Vec<String> {
    let sends = |service: &Json| {
        service["environment"]["SWITCHBOARD__TELEMETRY__OTLP_ENDPOINT"] == "http://collector:4318"
    };
    services(project)
        .filter(|_| project["services"]["collector"].is_object())
        .filter(|(_, service)| is_ours(service) && service["restart"] != "no" && !sends(service))
        .map(|(name, _)| format!("{name} sends no spans to the collector"))
        .collect()
}

#[cfg(test)]
mod tests;
