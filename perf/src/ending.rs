//! Being told to stop: what was started is stopped before this process ends.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What this process is told to stop by. From the first one on it does not end by itself.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

/// One that came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    pub(crate) name: &'static str,
    /// As shells have it: 128 and the number of the signal.
    pub(crate) exit_code: u8,
}

impl Signals {
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.interrupt.recv() => Told { name: "SIGINT", exit_code: 130 },
            _ = self.terminate.recv() => Told { name: "SIGTERM", exit_code: 143 },
            _ = self.hang_up.recv() => Told { name: "SIGHUP", exit_code: 129 },
        }
    }
}
