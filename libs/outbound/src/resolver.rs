//! Looks names up for the connector, and gives back nothing that may not be connected to.
//!
//! The connector asks for names only; hosts that are addresses are judged when the URL is.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::addresses::Guard;

/// Names looked up at one time. A lookup holds a thread, for as long as a slow name server likes.
const LOOKUPS: usize = 64;

/// Asks for the addresses of a name, and may block.
pub(crate) type Lookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// As the operating system looks names up.
pub(crate) fn system() -> Lookup {
    Arc::new(|name| Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect()))
}

/// Why there is no address to connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unresolved {
    /// One of its addresses is not public.
    #[error("not public")]
    NotPublic,
    /// It has no address.
    #[error("no such name")]
    Unknown,
}

pub(crate) struct Resolver {
    guard: Guard,
    lookup: Lookup,
    places: Arc<Semaphore>,
}

impl Resolver {
    pub(crate) fn new(guard: Guard, lookup: Lookup) -> Self {
        Self { guard, lookup, places: Arc::new(Semaphore::new(LOOKUPS)) }
    }

    /// The addresses of a name, all of which may be connected to.
    pub(crate) fn find(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<Vec<IpAddr>, Unresolved>> + Send + use<> {
        let (guard, lookup, places) = (self.guard.clone(), self.lookup.clone(), self.places.clone());
        let name = name.to_owned();
        async move {
            // Who gives up waiting leaves the thread behind: the place is the thread's. It is never closed, and a lookup that
            // panics has found nothing.
            let place = places.acquire_owned().await.map_err(|_| Unresolved::Unknown)?;
            let found = spawn_blocking(move || {
                let found = lookup(&name);
                drop(place);
                found
            });
            judge(&guard, found.await.map_err(|_| Unresolved::Unknown)?.unwrap_or_default())
        }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.find(name.as_str());
        Box::pin(async move {
            // The connector puts the port of the URL in place of 0.
            let addresses = found.await?.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

/// All addresses or none: a name with one foot inside is not half as dangerous.
fn judge(guard: &Guard, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, Unresolved> {
    if found.is_empty() {
        return Err(Unresolved::Unknown);
    }
    if !found.iter().all(|address| guard.permits(*address)) {
        return Err(Unresolved::NotPublic);
    }
    Ok(found)
}
