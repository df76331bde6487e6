//! Metrics of nodes, as their admin listeners show them.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A metric as it stands, by its name and labels; zero while it is not there.
pub(crate) async fn metric(admin: SocketAddr, name: &str) -> std::io::Result<f64> {
    let mut stream = TcpStream::connect(admin).await?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: node\r\nconnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(value(&answer, name).unwrap_or_default())
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
