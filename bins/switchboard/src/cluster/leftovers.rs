//! Nodes of a cluster whose owner was killed: they drain for a while, on ports that the next run may want.

use rustix::process::{Pid, test_kill_process};
use serde_json::Value;

use super::plan::Role;

/// The nodes that the run before left.
#[derive(Debug, Default)]
pub(super) struct Leftovers(Vec<Leftover>);

/// One of them.
#[derive(Debug)]
pub(super) struct Leftover {
    pub(super) name: String,
    pub(super) pid: u32,
    ports: Vec<u16>,
}

impl Leftovers {
    /// Those that a state names which was left behind.
    pub(super) fn of(state: &Value) -> Self {
        let nodes = Role::ALL.iter().filter_map(|role| state[role.as_str()].as_array()).flatten();
        Self(nodes.filter_map(Leftover::read).collect())
    }

    /// The one that this port was of, while it runs.
    pub(super) fn holder(&self, port: u16) -> Option<&Leftover> {
        self.0.iter().find(|left| left.ports.contains(&port) && left.runs())
    }
}

impl Leftover {
    fn read(node: &Value) -> Option<Self> {
        let ports = ["url", "admin"].iter().filter_map(|url| port(node[url].as_str()?)).collect();
        let pid = node["pid"].as_u64()?.try_into().ok()?;
        Some(Self { name: node["node"].as_str()?.to_owned(), pid, ports })
    }

    fn runs(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| test_kill_process(pid).is_ok())
    }
}

/// The port of a URL.
fn port(url: &str) -> Option<u16> {
    let address = url.split("://").nth(1)?.split('/').next()?;
    address.rsplit(':').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_port_is_held_by_the_node_that_had_it_while_it_runs() {
        // No process has the highest number that there could be.
        let (ours, none) = (std::process::id(), i32::MAX);
        let left = Leftovers::of(&json!({
            "database_url": "postgres://localhost:7000/switchboard",
            "api": [{ "node": "api-1", "url": "http://127.0.0.1:7100", "admin": "http://127.0.0.1:7101", "pid": ours }],
            "gateway": [
                { "node": "gateway-1", "url": "ws://127.0.0.1:7102/v1/gateway", "admin": "http://127.0.0.1:7103", "pid": none },
                { "node": "gateway-2", "url": "ws://127.0.0.1:7104/v1/gateway", "admin": "http://127.0.0.1:7105", "pid": null },
            ],
            "worker": [{ "node": "worker-1", "admin": "http://127.0.0.1:7106", "pid": ours }],
        }));
        let holder = |port| left.holder(port).map(|left| (left.name.as_str(), left.pid));
        assert_eq!(holder(7100), Some(("api-1", ours)));
        assert_eq!(holder(7101), Some(("api-1", ours)));
        assert_eq!(holder(7106), Some(("worker-1", ours)));
        for port in [7000, 7102, 7103, 7104, 7107] {
            assert_eq!(holder(port), None, "{port}");
        }
        assert!(Leftovers::of(&json!("no state")).holder(7100).is_none());
    }
}
