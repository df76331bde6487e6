//! Which addresses may be connected to.
//!
//! Of IPv4 all that the registry of special addresses (RFC 6890 and its successors at IANA) does not give to the whole
//! internet is closed. Of IPv6 only what is given out for the whole internet (`2000::/3`) is open, but for the special
//! parts of it, so what will be assigned tomorrow is closed today. Addresses that stand for an IPv4 address are
//! judged by that.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

const CLOSED_V4: [Ipv4Net; 16] = [
    v4([0, 0, 0, 0], 8),        // this network; connecting to 0.0.0.0 reaches this machine
    v4([10, 0, 0, 0], 8),       // private
    v4([100, 64, 0, 0], 10),    // carrier-grade NAT, and the metadata service of Alibaba Cloud
    v4([127, 0, 0, 0], 8),      // this machine
    v4([168, 63, 129, 16], 32), // looks public, and is the host below a virtual machine of Azure
    v4([169, 254, 0, 0], 16),   // link-local, and the metadata service of most clouds
    v4([172, 16, 0, 0], 12),    // private
    v4([192, 0, 0, 0], 24),     // protocols, and the metadata service of Oracle Cloud
    v4([192, 0, 2, 0], 24),     // documentation
    v4([192, 88, 99, 0], 24),   // relays of 6to4
    v4([192, 168, 0, 0], 16),   // private
    v4([198, 18, 0, 0], 15),    // benchmarking
    v4([198, 51, 100, 0], 24),  // documentation
    v4([203, 0, 113, 0], 24),   // documentation
    v4([224, 0, 0, 0], 4),      // multicast
    v4([240, 0, 0, 0], 4),      // reserved, and broadcast
];

/// The part of IPv6 that is given out for the whole internet.
const OPEN_V6: Ipv6Net = v6([0x2000, 0, 0], 3);

const CLOSED_V6: [Ipv6Net; 4] = [
    v6([0x2001, 0, 0], 23), // protocols: Teredo (an IPv4 address inside), benchmarking, ORCHID
    v6([0x2001, 0xdb8, 0], 32), // documentation
    v6([0x2002, 0, 0], 16), // 6to4: an IPv4 address inside, and nobody's any more
    v6([0x3fff, 0, 0], 20), // documentation
];

/// Addresses of NAT64 (RFC 6052): the last 32 bits are an IPv4 address. Networks of IPv6 alone see the rest of the
/// internet under these.
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0], 96);

/// Decides about addresses: public ones, and those that the operator allows.
#[derive(Debug, Clone)]
pub(crate) struct Guard(Arc<[IpNet]>);

impl Guard {
    pub(crate) fn new(allowed: &[IpNet]) -> Self {
        Self(allowed.into())
    }

    /// Whether this address may be connected to.
    pub(crate) fn permits(&self, address: IpAddr) -> bool {
        let target = target(address);
        let is_allowed = self.0.iter().any(|network| network.contains(&target) || network.contains(&address));
        is_allowed || is_public(target)
    }
}

/// What is reached in the end.
fn target(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) if NAT64.contains(&six) => IpAddr::V4(last_bits(six)),
        other => other.to_canonical(),
    }
}

fn last_bits(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

fn is_public(target: IpAddr) -> bool {
    match target {
        IpAddr::V4(four) => !CLOSED_V4.iter().any(|network| network.contains(&four)),
        IpAddr::V6(six) => OPEN_V6.contains(&six) && !CLOSED_V6.iter().any(|network| network.contains(&six)),
    }
}

const fn v4([a, b, c, d]: [u8; 4], prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6([a, b, c]: [u16; 3], prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn strict() -> Guard {
        Guard::new(&[])
    }

    fn permits(guard: &Guard, address: &str) -> bool {
        guard.permits(address.parse().expect(address))
    }

    #[test]
    fn what_is_not_public_is_refused_from_its_first_address_to_its_last() {
        for (first, last) in [
            ("0.0.0.0", "0.255.255.255"),
            ("10.0.0.0", "10.255.255.255"),
            ("100.64.0.0", "100.127.255.255"),
            ("127.0.0.0", "127.255.255.255"),
            ("168.63.129.16", "168.63.129.16"),
            ("169.254.0.0", "169.254.255.255"),
            ("172.16.0.0", "172.31.255.255"),
            ("192.0.0.0", "192.0.0.255"),
            ("192.0.2.0", "192.0.2.255"),
            ("192.88.99.0", "192.88.99.255"),
            ("192.168.0.0", "192.168.255.255"),
            ("198.18.0.0", "198.19.255.255"),
            ("198.51.100.0", "198.51.100.255"),
            ("203.0.113.0", "203.0.113.255"),
        ] {
            let beside = |address: &str, step: i64| {
                let bits = i64::from(u32::from(address.parse::<Ipv4Addr>().unwrap())) + step;
                u32::try_from(bits).ok().map(Ipv4Addr::from).map(|address| address.to_string())
            };
            for refused in [first, last] {
                assert!(!permits(&strict(), refused), "{refused}");
            }
            for public in [beside(first, -1), beside(last, 1)].into_iter().flatten() {
                assert!(permits(&strict(), &public), "{public}");
            }
        }
        for refused in ["224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.254", "255.255.255.255"] {
            assert!(!permits(&strict(), refused), "{refused}");
        }
        for refused in [
            "::",
            "::1",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:8.8.8.8",
            "64:ff9b::10.0.0.1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::8.8.8.8",
            "100::1",
            "2001::1",
            "2001:1ff:ffff::",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:808:808::1",
            "3fff::1",
            "3fff:fff:ffff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fdff:ffff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "ffff::1",
            "1fff::1",
        ] {
            assert!(!permits(&strict(), refused), "{refused}");
        }
    }

    #[test]
    fn what_is_public_is_let_through() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "168.63.129.15",
            "168.63.129.17",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2606:4700:4700::1111",
            "2a00:1450::1",
            "3ffe::1",
            "3fff:1000::1",
        ] {
            assert!(permits(&strict(), public), "{public}");
        }
    }

    #[test]
    fn a_network_that_is_allowed_is_let_through_and_no_other() {
        let guard = Guard::new(&["10.1.0.0/16".parse().unwrap(), "fd00:1::/32".parse().unwrap()]);
        for allowed in
            ["10.1.0.0", "10.1.255.255", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "fd00:1::5", "8.8.8.8"]
        {
            assert!(permits(&guard, allowed), "{allowed}");
        }
        for refused in ["10.0.255.255", "10.2.0.0", "::ffff:10.2.0.0", "fd00:2::5", "127.0.0.1", "::1"] {
            assert!(!permits(&guard, refused), "{refused}");
        }
        let mapped = Guard::new(&["::ffff:10.1.0.0/112".parse().unwrap()]);
        assert!(permits(&mapped, "::ffff:10.1.2.3"));
    }

    proptest! {
        #[test]
        fn however_an_ipv4_address_is_written_it_is_judged_the_same(bits in any::<u32>()) {
            let address = Ipv4Addr::from(bits);
            let permitted = strict().permits(address.into());
            prop_assert_eq!(strict().permits(address.to_ipv6_mapped().into()), permitted);
            let nat64 = Ipv6Addr::from((0x64_ff9b_u128 << 96) | u128::from(bits));
            prop_assert_eq!(strict().permits(nat64.into()), permitted);
            // Other ways of standing for it are refused, whatever it is.
            let six_to_four = Ipv6Addr::from((0x2002_u128 << 112) | (u128::from(bits) << 80));
            prop_assert!(!strict().permits(six_to_four.into()));
            prop_assert!(!strict().permits(Ipv6Addr::from(u128::from(bits)).into()));
        }

        #[test]
        fn what_the_standard_library_knows_to_be_special_is_refused(
            bits in any::<u32>(),
            start in proptest::sample::select(vec![0_u8, 10, 100, 127, 169, 172, 192, 198, 203, 224, 240, 255]),
        ) {
            for address in [bits, (bits & 0x00ff_ffff) | (u32::from(start) << 24)].map(Ipv4Addr::from) {
                let is_special = address.is_private()
                    || address.is_loopback()
                    || address.is_link_local()
                    || address.is_unspecified()
                    || address.is_broadcast()
                    || address.is_documentation()
                    || address.is_multicast();
                prop_assert!(!(is_special && strict().permits(address.into())), "{}", address);
            }
        }

        #[test]
        fn outside_of_the_internets_part_of_ipv6_nothing_is_let_through(bits in any::<u128>()) {
            let address = Ipv6Addr::from(bits);
            let is_outside = address.segments()[0] >> 13 != 1;
            let stands_for_v4 = address.to_ipv4_mapped().is_some() || NAT64.contains(&address);
            prop_assume!(is_outside && !stands_for_v4);
            prop_assert!(!strict().permits(address.into()), "{}", address);
        }
    }
}
