//! Metrics of nodes, as their admin listeners show them.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// All metrics of a node, as they stood.
#[derive(Debug, Clone)]
pub(crate) struct Page(String);

impl Page {
    /// A metric by its name and labels.
    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        value(&self.0, name)
    }

    /// How many a histogram counted, and their sum.
    pub(crate) fn histogram(&self, name: &str) -> (f64, f64) {
        let part = |part| self.value(&format!("{name}_{part}")).unwrap_or_default();
        (part("count"), part("sum"))
    }

    /// The upper bound below which all that a histogram counted are, since `before`; infinite when it has none so large.
    pub(crate) fn most_since(&self, before: &Self, name: &str) -> f64 {
        let head = format!("{name}_bucket{{le=\"");
        let buckets = self.0.lines().filter_map(|line| line.strip_prefix(&head)?.split_once("\"} "));
        let all = self.histogram(name).0 - before.histogram(name).0;
        let new = |bound: &str, count: &str| {
            let earlier = before.value(&format!("{head}{bound}\"}}")).unwrap_or_default();
            count.trim().parse::<f64>().unwrap_or_default() - earlier
        };
        buckets
            .filter(|(bound, count)| new(bound, count) >= all)
            .filter_map(|(bound, _)| bound.parse().ok())
            .fold(f64::INFINITY, f64::min)
    }
}

/// A metric as it stands, by its name and labels; zero while it is not there.
pub(crate) async fn metric(admin: SocketAddr, name: &str) -> std::io::Result<f64> {
    Ok(page(admin).await?.value(name).unwrap_or_default())
}

/// All metrics of a node.
pub(crate) async fn page(admin: SocketAddr) -> std::io::Result<Page> {
    let mut stream = TcpStream::connect(admin).await?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: node\r\nconnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(Page(answer))
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

    #[test]
    fn the_slowest_of_a_histogram_is_known_by_its_bucket() {
        let page = |counts: [u32; 3]| {
            let [one, two, all] = counts;
            Page(format!(
                "wait_bucket{{le=\"0.1\"}} {one}\nwait_bucket{{le=\"1\"}} {two}\nwait_bucket{{le=\"+Inf\"}} {all}\nwait_sum 3\nwait_count {all}\n"
            ))
        };
        let before = page([1, 1, 2]);
        assert!(
            (page([3, 4, 5]).most_since(&before, "wait") - 1.0).abs() < f64::EPSILON,
            "one took long before"
        );
        assert!(page([3, 4, 6]).most_since(&before, "wait").is_infinite());
        assert_eq!(page([3, 4, 6]).histogram("wait"), (6.0, 3.0));
    }
}
