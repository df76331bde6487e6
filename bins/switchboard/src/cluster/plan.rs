//! What a local cluster consists of: names, roles and addresses.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::error::ClusterError;
use super::leftovers::Leftovers;
use super::report;

/// Free ports are taken from below the range that the kernel gives to outgoing connections (32768 and up on Linux),
/// so that nobody is likely to have the port when a node comes back to it.
const PORTS: Range<u16> = 20_000..32_000;

/// How many random ports are tried.
const TRIES: usize = 200;

/// How often a port is tried that a node of the run before still has.
const TRY: Duration = Duration::from_millis(100);

/// How many nodes of each role.
pub(super) type Counts = [(Role, usize); Role::ALL.len()];

/// What a node of a cluster does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Role {
    /// REST and SSE.
    Api,
    /// WebSockets.
    Gateway,
    /// Work that nobody waits for.
    Worker,
}

impl Role {
    /// Every role, in the order in which nodes are shown.
    pub const ALL: [Self; 3] = [Self::Api, Self::Gateway, Self::Worker];

    /// The name on the command line, in names of nodes and in settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Gateway => "gateway",
            Self::Worker => "worker",
        }
    }

    /// The setting that says where clients reach it.
    pub(super) const fn listen_key(self) -> Option<&'static str> {
        match self {
            Self::Api => Some("http.listen"),
            Self::Gateway => Some("gateway.listen"),
            Self::Worker => None,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A node to be: its addresses stay the same however often it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spec {
    /// `api-1`, `gateway-2`.
    pub(super) name: String,
    pub(super) role: Role,
    /// Where clients reach it; none for a worker.
    pub(super) listen: Option<SocketAddr>,
    /// Health and metrics.
    pub(super) admin: SocketAddr,
}

impl Spec {
    /// The URL that clients use.
    pub(super) fn url(&self) -> Option<String> {
        let listen = self.listen?;
        match self.role {
            Role::Api => Some(format!("http://{listen}")),
            Role::Gateway => Some(format!("ws://{listen}/v1/gateway")),
            Role::Worker => None,
        }
    }

    /// The URL of health and metrics.
    pub(super) fn admin_url(&self) -> String {
        format!("http://{}", self.admin)
    }

    /// What its environment says beside what all nodes are told.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings =
            vec![("cluster.node_name", self.name.clone()), ("admin.listen", self.admin.to_string())];
        if let (Some(key), Some(listen)) = (self.role.listen_key(), self.listen) {
            settings.push((key, listen.to_string()));
        }
        settings
    }
}

/// Gives out names and addresses. Their ports are held, so that nobody else gets them, until they are let go for the nodes.
#[derive(Debug)]
pub(super) struct Plan {
    ports: Ports,
    given: [usize; Role::ALL.len()],
}

impl Plan {
    /// With ports from `base` on, one after the other, or with free ones.
    pub(super) fn new(base: Option<u16>) -> Self {
        let ports = Ports { next: base.map(u32::from), taken: Vec::new(), held: Vec::new() };
        Self { ports, given: [0; Role::ALL.len()] }
    }

    /// The first nodes of a cluster. Waits for ports that nodes of the run before still have, until they let go or
    /// `patience` is over.
    pub(super) async fn first(
        base: Option<u16>,
        counts: Counts,
        leftovers: &Leftovers,
        patience: Duration,
    ) -> Result<(Self, Vec<Spec>), ClusterError> {
        let deadline = Instant::now() + patience;
        let mut told = None;
        loop {
            let mut plan = Self::new(base);
            let roles = counts.iter().flat_map(|&(role, count)| std::iter::repeat_n(role, count));
            let error = match roles.map(|role| plan.node(role)).collect() {
                Ok(nodes) => return Ok((plan, nodes)),
                Err(error) => error,
            };
            let ClusterError::PortTaken { port, .. } = error else { return Err(error) };
            let Some(holder) = leftovers.holder(port) else { return Err(error) };
            let (name, pid, seconds) = (&holder.name, holder.pid, patience.as_secs());
            if Instant::now() >= deadline {
                return Err(ClusterError::PortKept { port, name: name.clone(), pid, seconds });
            }
            if told != Some(pid) {
                told = Some(pid);
                report::say(&format!(
                    "port {port} is still used by {name} of the run before (process {pid}), which drains; \
                     waiting for it, at most {seconds} s in all"
                ));
            }
            sleep(TRY).await;
        }
    }

    /// From here on the nodes take their ports.
    pub(super) fn let_go(&mut self) {
        self.ports.held.clear();
    }

    /// The next node of a role.
    pub(super) fn node(&mut self, role: Role) -> Result<Spec, ClusterError> {
        let number = &mut self.given[role as usize];
        *number += 1;
        let name = format!("{role}-{number}");
        let listen = match role.listen_key() {
            Some(_) => Some(self.ports.take(&name)?),
            None => None,
        };
        let admin = self.ports.take(&name)?;
        Ok(Spec { name, role, listen, admin })
    }
}

#[derive(Debug)]
struct Ports {
    /// Wider than a port, to count past the last one.
    next: Option<u32>,
    taken: Vec<u16>,
    held: Vec<TcpListener>,
}

impl Ports {
    fn take(&mut self, node: &str) -> Result<SocketAddr, ClusterError> {
        let (port, held) = match &mut self.next {
            Some(next) => {
                let port = u16::try_from(*next).map_err(|_| ClusterError::PortsEnd(node.to_owned()))?;
                *next += 1;
                let taken = |source| ClusterError::PortTaken { port, node: node.to_owned(), source };
                (port, hold(port).map_err(taken)?)
            }
            None => (0..TRIES)
                .map(|_| rand::random_range(PORTS))
                .filter(|port| !self.taken.contains(port))
                .find_map(|port| Some((port, hold(port).ok()?)))
                .ok_or(ClusterError::NoPort)?,
        };
        self.taken.push(port);
        self.held.push(held);
        Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }
}

fn hold(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_named_and_numbered_by_role_and_have_addresses_of_their_own() {
        let mut plan = Plan::new(None);
        let nodes: Vec<Spec> = [Role::Api, Role::Worker, Role::Api, Role::Gateway]
            .into_iter()
            .map(|role| plan.node(role).expect("free ports"))
            .collect();
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["api-1", "worker-1", "api-2", "gateway-1"]);
        assert_eq!(nodes[1].listen, None);
        let mut addresses: Vec<_> =
            nodes.iter().flat_map(|node| node.listen.into_iter().chain([node.admin])).collect();
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), 7);
    }

    #[test]
    fn ports_count_up_from_the_base_and_a_taken_one_is_named() {
        // Somewhere two ports in a row are free.
        let (base, mut plan) = (0..100)
            .find_map(|_| {
                let base = rand::random_range(PORTS);
                let mut plan = Plan::new(Some(base));
                let node = plan.node(Role::Gateway).ok()?;
                assert_eq!(node.listen.map(|listen| listen.port()), Some(base));
                assert_eq!(node.admin.port(), base + 1);
                Some((base, plan))
            })
            .expect("two free ports");
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, base + 2));
        let refused = plan.node(Role::Worker).expect_err("its port is taken").to_string();
        assert!(refused.contains("worker-1") && refused.contains(&(base + 2).to_string()), "{refused}");
    }

    #[test]
    fn a_base_too_near_to_the_last_port_is_told() {
        let mut plan = Plan::new(Some(u16::MAX));
        // The last port itself is good, unless somebody has it.
        let first = plan.node(Role::Worker).map(|node| node.admin.port());
        assert!(matches!(first, Ok(u16::MAX) | Err(ClusterError::PortTaken { .. })), "{first:?}");
        let refused = plan.node(Role::Api).expect_err("no port is left").to_string();
        assert!(refused.contains("api-1") && refused.contains("--port-base"), "{refused}");
    }

    #[test]
    fn a_node_is_told_its_name_and_its_addresses() {
        let node = Plan::new(None).node(Role::Gateway).expect("free ports");
        let settings = node.settings();
        let keys: Vec<&str> = settings.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ["cluster.node_name", "admin.listen", "gateway.listen"]);
        assert!(node.url().is_some_and(|url| url.starts_with("ws://") && url.ends_with("/v1/gateway")));
    }
}
