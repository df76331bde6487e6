//! One worker process of ours.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::Failure;

/// How long a process may take to start answering, and to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// A worker process with the address of its metrics.
pub(super) struct Worker {
    child: Child,
    admin: SocketAddr,
}

impl Worker {
    /// Starts it, with a free port for its metrics.
    pub(super) fn start(mut command: Command) -> Result<Self, Failure> {
        let free = std::net::TcpListener::bind("127.0.0.1:0")?;
        let admin = free.local_addr()?;
        drop(free);
        let child =
            command.env("SWITCHBOARD__ADMIN__LISTEN", admin.to_string()).kill_on_drop(true).spawn()?;
        Ok(Self { child, admin })
    }

    /// A metric as it stands, by its name and labels; zero while it is not there. Waits until the process answers.
    pub(super) async fn metric(&self, name: &str) -> Result<f64, Failure> {
        let answer = tokio::time::timeout(PATIENCE, async {
            loop {
                match self.ask().await {
                    Ok(answer) => break answer,
                    // It is being started.
                    Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        });
        let answer = answer.await.map_err(|_| format!("a worker did not answer within {PATIENCE:?}"))?;
        Ok(value(&answer, name).unwrap_or_default())
    }

    async fn ask(&self) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(self.admin).await?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: worker\r\nconnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }

    /// Stops it in order.
    pub(super) async fn stop(mut self) -> Result<(), Failure> {
        let Some(pid) = self.child.id() else { return Err("a worker ended by itself".into()) };
        Command::new("kill").args(["-TERM", &pid.to_string()]).status().await?;
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        ended.map_err(|_| format!("a worker did not stop within {PATIENCE:?}"))??;
        Ok(())
    }
}

/// The value of a metric in the text format of Prometheus.
fn value(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_found_by_its_whole_name() {
        let text = "# TYPE done counter\ndone_more 1\ndone{status=\"failed\"} 2\ndone{status=\"succeeded\"} 35\nall 7\n";
        assert_eq!(value(text, r#"done{status="succeeded"}"#), Some(35.0));
        assert_eq!(value(text, "all"), Some(7.0));
        assert_eq!(value(text, "done"), None);
    }
}
