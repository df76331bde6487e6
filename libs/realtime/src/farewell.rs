//! What a node that goes says to those it sends away.

use std::time::Duration;

use protocol::ServerFrame;
use protocol::frame::Drain;

/// Longest delay that `drain` asks for.
///
/// Connections are sent away one after the other over `shutdown.spread`, so the delay need not part them again as
/// `gateway.reconnect_jitter` does those that were lost all at once.
const LONGEST: Duration = Duration::from_millis(250);

/// `drain`, with a random delay for this one connection, never longer than the jitter of reconnects.
#[must_use]
pub fn farewell(reconnect_jitter: Duration) -> ServerFrame {
    let delay = rand::random_range(Duration::ZERO..=reconnect_jitter.min(LONGEST));
    ServerFrame::Drain(Drain { after_ms: u64::try_from(delay.as_millis()).unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay(jitter: Duration) -> u64 {
        match farewell(jitter) {
            ServerFrame::Drain(drain) => drain.after_ms,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_delay_is_short_and_another_for_each() {
        let delays: std::collections::BTreeSet<u64> =
            (0..100).map(|_| delay(Duration::from_secs(3))).collect();
        assert!(delays.len() > 10 && delays.iter().all(|delay| *delay <= 250), "{delays:?}");
        assert_eq!(delay(Duration::ZERO), 0);
    }
}
