//! Ports that stay one test's own, even while nothing listens on them.
//!
//! A node that is killed must come back at the same address. Between the two, its port is free for the kernel to give
//! away: to an outgoing connection, or to another test that asks for port 0. So these ports lie below the range
//! that the kernel gives away, and each is held by a lock on a file, shared by all tests of this user, that
//! ends with its owner.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;

use rand::Rng;

use crate::workspace::{open_lock, user};

const PORTS: std::ops::Range<u16> = 10_000..20_000;

/// A port of 127.0.0.1 that no other test gets while this lives.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    /// Takes one that is free.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[must_use]
    pub fn reserve() -> Self {
        let dir = locks();
        fs::create_dir_all(&dir).unwrap_or_else(|error| panic!("cannot make {}: {error}", dir.display()));
        for _ in 0..1000 {
            let number = rand::rng().random_range(PORTS);
            let lock = open_lock(&dir.join(number.to_string()));
            if let Ok(lock) = lock
                && lock.try_lock().is_ok()
                && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok()
            {
                return Self { number, _lock: lock };
            }
        }
        panic!("no free port in {PORTS:?}, or {} cannot be written", dir.display())
    }

    /// Its number.
    #[must_use]
    pub const fn number(&self) -> u16 {
        self.number
    }

    /// Its address.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.number).into()
    }
}

/// Where the locks are: one directory for each user, who could not open another's.
fn locks() -> PathBuf {
    std::env::temp_dir().join(format!("switchboard-testkit-ports-{}", user()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_port_is_nobody_elses() {
        let ports: Vec<_> = (0..50).map(|_| Port::reserve()).collect();
        let mut numbers: Vec<_> = ports.iter().map(Port::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), ports.len());
        let taken = locks().join(numbers[0].to_string());
        assert!(open_lock(&taken).expect("a file").try_lock().is_err());
        drop(ports);
        open_lock(&taken).expect("a file").try_lock().expect("free again");
    }
}
