//! One worker process of ours.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::process::{Child, Command};

use crate::{Failure, child, metrics};

/// How long a process may take to start answering, and to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// A worker process with the address of its metrics.
pub(super) struct Worker {
    child: Child,
    admin: SocketAddr,
}

impl Worker {
    /// Starts it, with a free port for its metrics.
    pub(super) async fn start(mut command: Command) -> Result<Self, Failure> {
        let free = std::net::TcpListener::bind("127.0.0.1:0")?;
        let admin = free.local_addr()?;
        drop(free);
        command.env("SWITCHBOARD__ADMIN__LISTEN", admin.to_string());
        Ok(Self { child: child::spawn(command).await?, admin })
    }

    /// The process, while it has not ended.
    pub(super) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// A metric as it stands, by its name and labels; zero while it is not there. Waits until the process answers.
    pub(super) async fn metric(&self, name: &str) -> Result<f64, Failure> {
        let answer = tokio::time::timeout(PATIENCE, async {
            loop {
                match metrics::metric(self.admin, name).await {
                    Ok(value) => break value,
                    // It is being started.
                    Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        });
        Ok(answer.await.map_err(|_| format!("a worker did not answer within {PATIENCE:?}"))?)
    }

    /// Stops it in order.
    pub(super) async fn stop(mut self) -> Result<(), Failure> {
        if self.child.try_wait()?.is_some() {
            return Err("a worker ended by itself".into());
        }
        let in_order = child::end(self.child, PATIENCE).await?;
        if in_order { Ok(()) } else { Err(format!("a worker did not stop within {PATIENCE:?}").into()) }
    }
}
