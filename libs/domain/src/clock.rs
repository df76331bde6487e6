//! Where the time comes from.

use jiff::Timestamp;

/// A source of the present time, in UTC.
///
/// Times that several nodes must agree on (leases, tickets, presence) come from the database
/// instead; this clock is for what one node decides alone.
pub trait Clock: Send + Sync + 'static {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
