//! Where on this machine is what has an address or a path in containers.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::port::Port;

use super::project::{Service, text};

/// Ports that nodes listen on in their containers.
const PORTS: [u16; 3] = [8080, 8081, 9600];

/// Addresses and directories in place of those of containers.
pub(crate) struct Places {
    dir: PathBuf,
    addresses: BTreeMap<(String, u16), SocketAddr>,
    /// Fixed addresses in the networks, by service.
    fixed: BTreeMap<String, String>,
    _ports: Vec<Port>,
}

impl Places {
    /// Takes a free port for each one that a node may listen on, and makes a directory for each volume.
    pub(crate) fn of(json: &Value, dir: &Path) -> Self {
        let mut places = Self {
            dir: dir.to_owned(),
            addresses: BTreeMap::new(),
            fixed: BTreeMap::new(),
            _ports: Vec::new(),
        };
        for (name, service) in json["services"].as_object().into_iter().flatten() {
            for port in PORTS {
                let own = Port::reserve();
                places.addresses.insert((name.clone(), port), own.addr());
                places._ports.push(own);
            }
            let networks = service["networks"].as_object().into_iter().flatten();
            for (_, network) in networks.filter(|(_, network)| !network["ipv4_address"].is_null()) {
                places.fixed.insert(name.clone(), text(&network["ipv4_address"]).to_owned());
            }
        }
        for (name, _) in json["volumes"].as_object().into_iter().flatten() {
            // As the image has what they are mounted on.
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(places.volume(name));
            made.expect("a directory of ours");
        }
        places
    }

    /// Says where a port of a service is.
    pub(crate) fn put(&mut self, service: &str, port: u16, address: SocketAddr) {
        self.addresses.insert((service.to_owned(), port), address);
    }

    /// The environment of a service, as it would be here.
    pub(crate) fn environment(&self, service: &Service<'_>) -> Vec<(String, String)> {
        service.environment().map(|(name, value)| (name.to_owned(), self.here(service, value))).collect()
    }

    /// The value of a setting, or the text of a configuration, as it would be here.
    pub(crate) fn here(&self, service: &Service<'_>, text: &str) -> String {
        let mut text = text.replace("/run/secrets/", &format!("{}/secrets/", self.dir.display()));
        for ((name, port), address) in &self.addresses {
            text = text.replace(&format!("{name}:{port}"), &address.to_string());
            if name == service.name {
                text = text.replace(&format!("0.0.0.0:{port}"), &address.to_string());
            }
        }
        for address in self.fixed.values() {
            text = text.replace(&format!("{address}/32"), "127.0.0.1/32");
        }
        for (source, target) in service.volumes() {
            text = text.replace(target, &self.volume(source).display().to_string());
        }
        // What is not mounted is on the read-only root of the container.
        text.replace("/var/lib/switchboard", &self.read_only_root(service.name).display().to_string())
    }

    /// Where a service would write if it wrote to its root, which it can't in a container.
    pub(crate) fn read_only_root(&self, service: &str) -> PathBuf {
        self.dir.join("roots").join(service)
    }

    /// Fails unless a service finds each of these hosts (`name=address`) where the network has it.
    pub(crate) fn are_right(&self, hosts: &Value) {
        let hosts = hosts.as_array().expect("names and addresses");
        for host in hosts {
            let (name, address) = text(host).split_once('=').expect("a name and an address");
            assert_eq!(self.fixed.get(name).map(String::as_str), Some(address), "{name}");
        }
    }

    fn volume(&self, name: &str) -> PathBuf {
        self.dir.join("volumes").join(name)
    }
}
