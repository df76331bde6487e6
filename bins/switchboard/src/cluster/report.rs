//! What a local cluster says: to people on standard error and output, to programs as one line of JSON.

use std::io::Write as _;
use std::path::Path;

use domain::AgentId;
use serde_json::{Value, json};

use super::database::Database;
use super::home::Home;
use super::member::Ended;
use super::plan::{Role, Spec};
use super::supervisor::Member;
use crate::conversation::{self, Entrance};
use crate::demo::HANDLE;

/// Tells people what happens. Standard output is for the answer alone. Whoever read it may be gone,
/// which is no reason to end.
pub(super) fn say(text: &str) {
    let _told = writeln!(std::io::stderr(), "switchboard: {text}");
}

/// `{"database_url", "api": [{"url", "admin", "node", "pid"}], "gateway": [...], "worker": [...]}`. A node that is
/// down has no pid. With a demo agent also `"demo_agent": {"id", "handle"}`.
pub(super) fn json(database: &Database, members: &[Member], agent: Option<AgentId>) -> Value {
    let of = |role: Role| -> Vec<Value> {
        members.iter().filter(|member| member.spec.role == role).map(node).collect()
    };
    let mut told = json!({
        "database_url": database.url(),
        "api": of(Role::Api),
        "gateway": of(Role::Gateway),
        "worker": of(Role::Worker),
    });
    if let Some(agent) = agent {
        told["demo_agent"] = json!({ "id": agent, "handle": HANDLE });
    }
    told
}

fn node(member: &Member) -> Value {
    let mut node = json!({
        "admin": member.spec.admin_url(),
        "node": member.spec.name,
        "pid": member.pid(),
    });
    if let Some(url) = member.spec.url() {
        node["url"] = url.into();
    }
    node
}

/// Where everything is, and what to try next.
pub(super) fn text(home: &Home, database: &Database, members: &[Member], agent: Option<AgentId>) -> String {
    let count = |role| members.iter().filter(|member| member.spec.role == role).count();
    let mut text = String::new();
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    line(&format!(
        "Switchboard runs on this machine: {} api, {} gateway and {} worker processes on {}.",
        count(Role::Api),
        count(Role::Gateway),
        count(Role::Worker),
        if database.is_private() { "a PostgreSQL of their own" } else { "the given PostgreSQL" },
    ));
    line("");
    for member in members {
        let Spec { name, .. } = &member.spec;
        let url = member.spec.url().unwrap_or_default();
        line(&format!("  {name:<12} {url:<40} admin {}", member.spec.admin_url()));
    }
    let first = |role: Role| members.iter().find(|member| member.spec.role == role)?.spec.url();
    if let (Some(api), Some(gateway)) = (first(Role::Api), first(Role::Gateway)) {
        line("");
        line(&conversation::text(&api, &gateway, Entrance::Open));
        if let Some(agent) = agent {
            line("");
            line(&conversation::with_agent(&api, agent, HANDLE));
            line(&format!("Its token is in {}.", home.demo_token().path().display()));
        }
    }
    line("");
    line("Try faults, from another terminal (NODE is a name from above, or postgres):");
    line("");
    let dir = home.dir().display();
    for what in ["kill NODE", "restart NODE", "add gateway"] {
        line(&format!("  switchboard cluster {what} --data-dir {dir}"));
    }
    line("");
    line(&format!("Look into it: switchboard nodes --data-dir {dir}; the same with doctor and keys list."));
    line(&format!("Logs: {dir}/logs. What runs where, with the database's URL: {dir}/state.json."));
    line("Ctrl-c drains and stops all of it; the data stays.");
    text
}

/// That a node ended by itself.
pub(super) fn node_ended(dir: &Path, ended: &Ended, log: &Path, tail: &str) -> String {
    let Ended { name, how, .. } = ended;
    format!(
        "{name} ended by itself ({how}). The end of its log, {}:\n{tail}\n\
         Start it again: switchboard cluster restart {name} --data-dir {}",
        log.display(),
        dir.display()
    )
}

/// That the private server ended by itself.
pub(super) fn database_ended(dir: &Path, how: &str) -> String {
    let dir = dir.display();
    format!(
        "PostgreSQL ended by itself ({how}); its log is {dir}/postgres/server.log.\n\
         Start it again: switchboard cluster restart postgres --data-dir {dir}"
    )
}
