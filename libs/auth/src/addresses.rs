//! The address of a client, also behind proxies.
//!
//! `X-Forwarded-For` is a claim. Each proxy appends whom it heard from, so the list is read from its end: as
//! long as the one who speaks is a trusted proxy, its word about the hop before is taken. The first
//! hop that is no trusted proxy is the client; what stands left of it, the client may have made up.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use domain::Invalid;
use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize};

/// The networks whose `X-Forwarded-For` is believed (`http.trusted_proxies`): a list of CIDRs or
/// single addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Of these networks.
    #[must_use]
    pub const fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    /// The client's address: `peer` is the other end of the socket, `forwarded` the values of all
    /// `X-Forwarded-For` headers in the order they stood.
    #[must_use]
    pub fn client<'a>(&self, peer: IpAddr, forwarded: impl IntoIterator<Item = &'a str>) -> IpAddr {
        let mut speaker = peer.to_canonical();
        if !self.trusts(speaker) {
            return speaker;
        }
        let hops: Vec<&str> = forwarded.into_iter().flat_map(|value| value.split(',')).collect();
        for hop in hops.into_iter().rev() {
            // An unreadable hop (`unknown`) ends what is vouched for.
            let Some(address) = parse_hop(hop) else { return speaker };
            speaker = address;
            if !self.trusts(speaker) {
                return speaker;
            }
        }
        speaker
    }

    /// Whether this is the address of a proxy whose word is taken.
    #[must_use]
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

impl<'de> Deserialize<'de> for TrustedProxies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<String>::deserialize(deserializer)?
            .iter()
            .map(|text| parse_network(text).map_err(serde::de::Error::custom))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

fn parse_network(text: &str) -> Result<IpNet, Invalid> {
    IpNet::from_str(text).or_else(|_| IpAddr::from_str(text).map(IpNet::from)).map_err(|_| {
        Invalid::new("http.trusted_proxies", text, "networks such as 10.0.0.0/8, fd00::/8 or 192.0.2.7")
    })
}

/// A hop as proxies write it: an address, with a port or without.
fn parse_hop(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let address = if let Some(rest) = text.strip_prefix('[') {
        rest.split_once(']')?.0.parse().ok()?
    } else if let Ok(address) = text.parse() {
        address
    } else {
        text.rsplit_once(':')?.0.parse().ok()?
    };
    Some(IpAddr::to_canonical(&address))
}

/// What a client is counted by: an IPv4 address, or the /64 of an IPv6 address (the least that one
/// household is given, so that nobody has 2^64 buckets).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientKey(IpAddr);

impl From<IpAddr> for ClientKey {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(v6) => {
                let network = u128::from(v6) >> 64 << 64;
                IpAddr::V6(Ipv6Addr::from(network))
            }
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

impl fmt::Display for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(v4) => v4.fmt(f),
            IpAddr::V6(v6) => write!(f, "{v6}/64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect(text)
    }

    fn proxies() -> TrustedProxies {
        serde_json::from_str(r#"["10.0.0.0/8", "fd00::/8", "192.0.2.7"]"#).expect("networks")
    }

    #[test]
    fn the_first_hop_nobody_trusted_vouches_for_is_the_client() {
        let cases: [(&str, &[&str], &str); 10] = [
            // A stranger's claims count nothing.
            ("203.0.113.9", &["198.51.100.1"], "203.0.113.9"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            // What the client put in front is not believed.
            ("10.0.0.1", &["1.2.3.4, 198.51.100.1"], "198.51.100.1"),
            // Two trusted proxies, in one header or two.
            ("10.0.0.1", &["198.51.100.1, 10.0.0.2"], "198.51.100.1"),
            ("10.0.0.1", &["198.51.100.1", "10.0.0.2, 192.0.2.7"], "198.51.100.1"),
            // Everybody is trusted: the first of them.
            ("10.0.0.1", &["10.9.9.9, 10.0.0.2"], "10.9.9.9"),
            // Unreadable: the last one known.
            ("10.0.0.1", &["198.51.100.1, unknown, 10.0.0.2"], "10.0.0.2"),
            ("::ffff:10.0.0.1", &["198.51.100.1:4711"], "198.51.100.1"),
            ("fd00::1", &["[2001:db8::1]:4711"], "2001:db8::1"),
        ];
        for (peer, forwarded, client) in cases {
            let found = proxies().client(ip(peer), forwarded.iter().copied());
            assert_eq!(found, ip(client), "{peer} {forwarded:?}");
        }
    }

    #[test]
    fn without_trusted_proxies_the_socket_decides() {
        assert_eq!(TrustedProxies::default().client(ip("10.0.0.1"), ["198.51.100.1"]), ip("10.0.0.1"));
    }

    #[test]
    fn a_household_has_one_key() {
        let key = |text| ClientKey::from(ip(text));
        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::9"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_eq!(key("2001:db8:1:2::1").to_string(), "2001:db8:1:2::/64");
        assert_eq!(key("::ffff:192.0.2.7"), key("192.0.2.7"));
        assert_ne!(key("192.0.2.7"), key("192.0.2.8"));
    }

    #[test]
    fn what_is_no_network_is_named() {
        let refused = serde_json::from_str::<TrustedProxies>(r#"["everybody"]"#).expect_err("no network");
        assert!(refused.to_string().contains("http.trusted_proxies"), "{refused}");
    }

    proptest::proptest! {
        #[test]
        fn nothing_a_stranger_sends_changes_who_they_are(header in ".{0,80}") {
            proptest::prop_assert_eq!(proxies().client(ip("203.0.113.9"), [header.as_str()]), ip("203.0.113.9"));
        }
    }
}
