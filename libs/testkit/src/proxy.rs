//! A TCP proxy with faults, for anything that speaks TCP: PostgreSQL, WebSockets, HTTP.
//!
//! A proxy runs on a thread of its own, so that it works on while the test blocks. Each call returns when
//! it has taken effect: after [`Proxy::stall`] not one more byte passes, after [`Proxy::cut`] every connection has been
//! reset, after [`Proxy::refuse`] nothing listens.

mod acceptor;
mod pump;

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc as async_mpsc, watch};

use crate::port::Port;

/// How long the proxy may take to do as it is told, and a count to become what is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What happens to those who connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrivals {
    Passed,
    Swallowed,
    Refused,
}

/// How the proxy behaves right now.
#[derive(Debug, Clone)]
struct Behaviour {
    upstream: SocketAddr,
    arrivals: Arrivals,
    stalled: bool,
    latency: Duration,
    bytes_per_second: Option<NonZeroU64>,
}

/// How many connections there are and were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    open: usize,
    accepted: u64,
}

struct Order {
    what: What,
    done: mpsc::SyncSender<()>,
}

enum What {
    Change(Box<dyn FnOnce(&mut Behaviour) + Send>),
    Cut,
    Strand,
}

/// A proxy; dropping it resets what goes through it.
#[derive(Debug)]
pub struct Proxy {
    port: Port,
    orders: Option<async_mpsc::Sender<Order>>,
    counts: watch::Receiver<Counts>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy to `upstream`, at first without faults.
    ///
    /// # Panics
    ///
    /// When it can't listen.
    #[must_use]
    pub fn start(upstream: SocketAddr) -> Self {
        let port = Port::reserve();
        let behaviour = Behaviour {
            upstream,
            arrivals: Arrivals::Passed,
            stalled: false,
            latency: Duration::ZERO,
            bytes_per_second: None,
        };
        let (orders, queue) = async_mpsc::channel(64);
        let (counting, counts) = watch::channel(Counts::default());
        let (listening, is_listening) = mpsc::sync_channel(1);
        let addr = port.addr();
        let thread = std::thread::Builder::new().name("fault-proxy".to_owned()).spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(acceptor::run(addr, behaviour, queue, counting, listening));
        });
        is_listening.recv_timeout(PATIENCE).expect("the proxy listens");
        Self { port, orders: Some(orders), counts, thread: Some(thread.expect("a thread")) }
    }

    /// Where to connect instead of the upstream. Stays the same.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    /// `url` with the proxy's address instead of its own.
    #[must_use]
    pub fn url(&self, url: &str) -> String {
        let start = url.find("://").map_or(0, |at| at + 3);
        let end = url[start..].find(['/', '?']).map_or(url.len(), |at| start + at);
        let host = url[start..end].rfind('@').map_or(start, |at| start + at + 1);
        format!("{}{}{}", &url[..host], self.addr(), &url[end..])
    }

    /// Resets every connection; new ones are taken as before.
    pub fn cut(&self) {
        self.order(What::Cut);
    }

    /// Stops passing bytes in either direction, ends of connections included, while everything stays open: a half-open
    /// network. New connections are taken, and stall as well.
    pub fn stall(&self) {
        self.change(|behaviour| behaviour.stalled = true);
    }

    /// Connections that are open now pass nothing any more, for good, while new ones are passed as before: a firewall that
    /// forgot them. Nobody is told.
    pub fn strand(&self) {
        self.order(What::Strand);
    }

    /// Passes bytes again; what waited comes first.
    pub fn resume(&self) {
        self.change(|behaviour| behaviour.stalled = false);
    }

    /// New connections are taken and then never get an answer. Those that are open are not touched.
    pub fn blackhole(&self) {
        self.change(|behaviour| behaviour.arrivals = Arrivals::Swallowed);
    }

    /// New connections are refused. Those that are open are not touched.
    pub fn refuse(&self) {
        self.change(|behaviour| behaviour.arrivals = Arrivals::Refused);
    }

    /// New connections are passed on again, after [`Proxy::refuse`] or [`Proxy::blackhole`]. Those that were swallowed
    /// stay so.
    pub fn accept(&self) {
        self.change(|behaviour| behaviour.arrivals = Arrivals::Passed);
    }

    /// Limits each connection to so many bytes a second in each direction.
    pub fn slow(&self, bytes_per_second: NonZeroU64) {
        self.change(move |behaviour| behaviour.bytes_per_second = Some(bytes_per_second));
    }

    /// No limit any more.
    pub fn full_speed(&self) {
        self.change(|behaviour| behaviour.bytes_per_second = None);
    }

    /// Delays what is sent from now on by so much in each direction.
    pub fn latency(&self, latency: Duration) {
        self.change(move |behaviour| behaviour.latency = latency);
    }

    /// Passes new connections to another address.
    pub fn set_upstream(&self, upstream: SocketAddr) {
        self.change(move |behaviour| behaviour.upstream = upstream);
    }

    /// How many connections are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.counts.borrow().open
    }

    /// How many connections there ever were.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.counts.borrow().accepted
    }

    /// Waits until exactly `open` connections are open.
    ///
    /// # Panics
    ///
    /// After half a minute.
    pub async fn until_open(&self, open: usize) {
        self.until(&format!("{open} open"), |counts| counts.open == open).await;
    }

    /// Waits until there were at least `accepted` connections, ever.
    ///
    /// # Panics
    ///
    /// After half a minute.
    pub async fn until_accepted(&self, accepted: u64) {
        self.until(&format!("{accepted} accepted"), |counts| counts.accepted >= accepted).await;
    }

    async fn until(&self, what: &str, holds: impl Fn(&Counts) -> bool) {
        let mut counts = self.counts.clone();
        let waited = tokio::time::timeout(PATIENCE, counts.wait_for(|counts| holds(counts))).await;
        let reached = matches!(waited, Ok(Ok(_)));
        assert!(reached, "the proxy does not reach {what}: {:?}", *self.counts.borrow());
    }

    fn change(&self, change: impl FnOnce(&mut Behaviour) + Send + 'static) {
        self.order(What::Change(Box::new(change)));
    }

    fn order(&self, what: What) {
        let (done, is_done) = mpsc::sync_channel(1);
        let order = Order { what, done };
        let sent = self.orders.as_ref().is_some_and(|orders| orders.try_send(order).is_ok());
        assert!(sent && is_done.recv_timeout(PATIENCE).is_ok(), "the proxy at {} is gone", self.addr());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
