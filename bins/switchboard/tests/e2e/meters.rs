//! Metrics of all roles after a busy time: those that are promised, with labels that nobody can make up.

use std::collections::{BTreeMap, BTreeSet};

use protocol::CloseCode;
use serde_json::Value;

use crate::busy::Busy;

/// What is promised whatever else there is, with the names of the labels.
const PROMISED: &[(&str, &[&str])] = &[
    ("connections", &["role", "kind"]),
    ("fanout_seconds", &["path"]),
    ("notify_sent_total", &[]),
    ("notify_batch_size", &[]),
    ("notify_received_total", &["kind"]),
    ("notify_unknown_total", &[]),
    ("relay_load_seconds", &[]),
    ("relay_dirty_streams", &[]),
    ("sweep_recovered_total", &[]),
    ("listener_connected", &[]),
    ("append_batch_size", &[]),
    ("append_seconds", &[]),
    ("behind_connections", &[]),
    ("closed_total", &["code"]),
    ("presence_rows_written_total", &[]),
    ("presence_write_errors_total", &[]),
    ("tasks_claimed_total", &[]),
    ("task_lateness_seconds", &[]),
    ("tasks_lost_total", &[]),
    ("push_sent_total", &["result"]),
    ("push_decisions_total", &["reason"]),
    ("rate_limited_total", &[]),
    ("rate_limit_fail_open_total", &[]),
    ("tickets_issued_total", &[]),
    ("signing_keys", &["state"]),
    ("signing_keys", &["state"]),
    ("db_pool_wait_seconds", &[]),
    ("node_info", &["role", "version"]),
];

/// A metric: its type, and each set of labels that it was seen with.
#[derive(Debug, Default)]
struct Metric {
    kind: String,
    series: BTreeSet<BTreeMap<String, String>>,
}

/// The metrics in Prometheus' text.
fn read(text: &str) -> BTreeMap<String, Metric> {
    let mut metrics: BTreeMap<String, Metric> = BTreeMap::new();
    for line in text.lines() {
        if let Some(typed) = line.strip_prefix("# TYPE ") {
            let (name, kind) = typed.split_once(' ').expect("a type");
            metrics.entry(name.to_owned()).or_default().kind = kind.to_owned();
        } else if !line.starts_with('#') {
            let (series, _) = line.rsplit_once(' ').expect("a value");
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            let own = |suffix| name.strip_suffix(suffix).filter(|name| metrics.contains_key(*name));
            let name = ["_bucket", "_sum", "_count"].into_iter().find_map(own).unwrap_or(name).to_owned();
            let mut labels = labels_of(labels.trim_end_matches('}'));
            labels.remove("le");
            metrics.entry(name).or_default().series.insert(labels);
        }
    }
    metrics
}

fn labels_of(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split("\",").filter_map(|pair| pair.trim_end_matches('"').split_once("=\""));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The metrics on the page: type and names of labels.
fn documented() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let page = include_str!("../../../../docs/metrics.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let read = |row: &str| {
        let (metric, rest) = row.split_once("` | ")?;
        let (name, labels) = metric.split_once('{').unwrap_or((metric, "}"));
        let labels = labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty());
        let kind = rest.split(' ').next()?.to_owned();
        Some((name.to_owned(), (kind, labels.map(str::to_owned).collect())))
    };
    rows.filter_map(read).collect()
}

/// What the values of labels are taken from.
struct Known {
    routes: BTreeSet<String>,
    statements: BTreeSet<String>,
}

impl Known {
    fn new(openapi: &Value) -> Self {
        let routes = openapi["paths"].as_object().expect("paths").keys().cloned();
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../libs/store/sql/postgres");
        let mut statements = BTreeSet::new();
        for subject in std::fs::read_dir(root).expect("statements") {
            let subject = subject.expect("a directory");
            for file in std::fs::read_dir(subject.path()).expect("statements") {
                let name = file.expect("a file").file_name().to_string_lossy().replace(".sql", "");
                statements.insert(format!("{}/{name}", subject.file_name().to_string_lossy()));
            }
        }
        let more = ["none", "/", "/v1/openapi.json"].map(str::to_owned);
        Self { routes: routes.chain(more).collect(), statements }
    }

    /// Whether a label may have this value: one of few, that no caller chooses.
    fn allows(&self, label: &str, value: &str) -> bool {
        let is_word = || {
            value.len() <= 30
                && value.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte == b'.')
        };
        match label {
            "role" => ["api", "gateway", "worker"].contains(&value),
            "version" => value == env!("CARGO_PKG_VERSION"),
            "path" => ["local", "remote"].contains(&value),
            "method" => {
                ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"].contains(&value)
            }
            "status" => is_word() || value.parse::<u16>().is_ok_and(|status| (100..600).contains(&status)),
            "code" => {
                let code = value.parse::<u16>().ok();
                value == "other"
                    || code.is_some_and(|code| {
                        [1005, 1006].contains(&code) || CloseCode::from_code(code).is_some()
                    })
            }
            "route" => self.routes.contains(value),
            "statement" => self.statements.contains(value),
            // Words of the code. People of the test have names with a dot and a number.
            "kind" | "result" | "reason" | "what" | "part" | "state" => is_word(),
            _ => false,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_metrics_are_those_that_are_promised_with_labels_that_nobody_makes_up() {
    let mut busy = Busy::start().await;
    busy.round("r1").await;
    busy.round("r2").await;
    let mut seen: BTreeMap<String, Metric> = BTreeMap::new();
    for node in busy.world.cluster.names() {
        let (status, text) = busy.world.cluster.admin(node, "/metrics").await.expect("metrics");
        assert_eq!(status, 200);
        for (name, metric) in read(&text) {
            let all = seen.entry(name).or_default();
            all.kind = metric.kind;
            all.series.extend(metric.series);
        }
    }
    let names = |labels: &BTreeMap<String, String>| labels.keys().cloned().collect::<BTreeSet<String>>();

    for (name, labels) in PROMISED {
        let metric = seen.get(&format!("switchboard_{name}")).unwrap_or_else(|| panic!("no node has {name}"));
        let expected: BTreeSet<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        assert!(metric.series.iter().all(|series| names(series) == expected), "{name}: {metric:?}");
        assert!(!metric.series.is_empty(), "{name} has no values");
    }

    let documented = documented();
    for (name, metric) in &seen {
        let (kind, labels) = documented.get(name).unwrap_or_else(|| panic!("docs/metrics.md lacks {name}"));
        assert_eq!(kind, &metric.kind, "{name}");
        for series in &metric.series {
            assert_eq!(&names(series), labels, "{name}");
        }
    }

    let openapi =
        reqwest::get(format!("{}/v1/openapi.json", busy.world.cluster.api_url(1))).await.expect("an answer");
    let known = Known::new(&openapi.json().await.expect("JSON"));
    for (name, metric) in &seen {
        for (label, value) in metric.series.iter().flatten() {
            assert!(known.allows(label, value), "{name}{{{label}={value:?}}}");
        }
        assert!(metric.series.len() <= 1000, "{name} has {} series", metric.series.len());
    }
}

#[test]
fn what_callers_make_up_is_no_value_of_a_label() {
    let known = Known::new(&serde_json::json!({ "paths": { "/v1/rooms/{id}": {} } }));
    for (label, good, bad) in [
        ("route", "/v1/rooms/{id}", "/v1/rooms/019a"),
        ("method", "other", "ODD"),
        ("code", "4011", "4999"),
        ("reason", "push_offline", "0af7"),
        ("statement", "log/append", "log/nothing"),
        ("status", "404", "4040"),
    ] {
        assert!(known.allows(label, good) && !known.allows(label, bad), "{label}");
    }
    assert!(!known.allows("user", "alex"), "an unknown label");
    let text = "# TYPE a histogram\na_bucket{path=\"x\",le=\"1\"} 1\na_sum{path=\"x\"} 2\na_count{path=\"x\"} 1\n# TYPE b_count counter\nb_count 1\n";
    let metrics = read(text);
    assert_eq!(metrics.keys().collect::<Vec<_>>(), ["a", "b_count"]);
    assert_eq!(metrics["a"].series.len(), 1);
}
