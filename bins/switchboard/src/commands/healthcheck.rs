//! `switchboard healthcheck`: how the node of this configuration is, for whoever looks after its container.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use node::Settings;

use crate::ask::ask;
use crate::cli::Health;
use crate::commands::{Failure, say};

/// Asks the node that runs beside this command.
pub(super) async fn run(settings: Settings, health: Health) -> Result<(), Failure> {
    let admin = settings.admin.listen;
    let (path, is) = match health {
        Health::Live => ("/healthz/live", "live"),
        Health::Ready => ("/healthz/ready", "ready"),
    };
    match ask(reachable(admin), path).await {
        Ok(()) => say(is),
        Err(answer) => Err(format!("the node on admin.listen ({admin}) is not {is}: {answer}").into()),
    }
}

/// Who listens everywhere is asked on the loopback.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_asked_where_it_can_be_reached_from_beside_it() {
        for (listen, asked) in [
            ("0.0.0.0:9600", "127.0.0.1:9600"),
            ("[::]:9600", "[::1]:9600"),
            ("192.0.2.7:9600", "192.0.2.7:9600"),
        ] {
            let listen = listen.parse().expect("an address");
            assert_eq!(reachable(listen).to_string(), asked);
        }
    }
}
