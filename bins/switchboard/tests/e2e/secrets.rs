//! What is secret is in no line and in no span, whatever a cluster is doing.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use crate::busy::Busy;
use crate::traces::lines;

/// The forms in which a secret may stand somewhere.
fn forms(secret: &str) -> Vec<String> {
    let percent = |keep: &str| -> String {
        let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || keep.as_bytes().contains(&byte);
        let one = |byte: u8| if is_kept(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") };
        secret.bytes().map(one).collect()
    };
    let hex = |byte: u8| format!("{byte:02x}");
    let mut forms = vec![
        secret.to_owned(),
        percent("-_.~"),
        percent("-_.~ ").replace(' ', "+"),
        STANDARD_NO_PAD.encode(secret),
        URL_SAFE_NO_PAD.encode(secret),
        secret.bytes().map(hex).collect(),
        // As JSON writes it within a text.
        serde_json::Value::from(secret).to_string().trim_matches('"').to_owned(),
        // As `Debug` writes bytes.
        format!("{:?}", secret.as_bytes()).trim_matches(['[', ']']).to_owned(),
    ];
    forms.sort();
    forms.dedup();
    forms
}

/// The place of a secret in a text, in whatever form.
fn found<'t>(text: &'t str, secret: &str) -> Option<&'t str> {
    let at = forms(secret).iter().find_map(|form| text.find(form.as_str()))?;
    let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[begin..].lines().next()
}

#[test]
fn a_secret_is_found_in_each_form() {
    let secret = "pass word/=?";
    for text in [
        "a\nb pass word/=? c\nd",
        "?key=pass%20word%2F%3D%3F&more",
        "key=pass+word%2F%3D%3F",
        r#"{"authorization":"Basic cGFzcyB3b3JkLz0_"}"#,
        "0x7061737320776f72642f3d3f",
        "[112, 97, 115, 115, 32, 119, 111, 114, 100, 47, 61, 63]",
    ] {
        assert!(found(text, secret).is_some(), "{text}");
    }
    assert_eq!(found("pass wordless", secret), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_no_secret_is_in_a_log_or_a_trace() {
    let mut busy = Busy::start().await;
    busy.round("one").await;
    // What is said when the database goes away is said with care as well.
    let nodes: Vec<String> = busy.world.cluster.names().into_iter().map(str::to_owned).collect();
    for node in &nodes {
        busy.world.cluster.database_of(node).refuse();
        busy.world.cluster.database_of(node).cut();
    }
    for node in &nodes {
        busy.world.cluster.until_not_ready(node).await;
        busy.world.cluster.database_of(node).accept();
    }
    for node in &nodes {
        busy.world.cluster.until_ready(node).await;
    }
    for node in &nodes {
        assert!(busy.world.cluster.stop(node).await.success());
    }

    for node in &nodes {
        let log = busy.world.cluster.log(node);
        for (what, secret) in &busy.secrets {
            assert_eq!(found(&log, secret), None, "{what} is in the log of {node}");
        }
    }
    // One of two workers may have had nothing to do, so not each node has something to say at this level.
    for role in ["api", "gateway", "worker"] {
        let mut of_role =
            nodes.iter().filter(|node| node.starts_with(role)).flat_map(|node| lines(&busy.world, node));
        assert!(of_role.any(|line| line["level"] == "DEBUG"), "{role} says everything");
    }
    let bodies = busy.collector.bodies();
    let spans = busy.collector.spans();
    for role in ["switchboard-api", "switchboard-gateway", "switchboard-worker"] {
        assert!(spans.iter().any(|span| span.resource["service.name"] == role), "{role} is traced");
    }
    for body in bodies {
        let body = String::from_utf8_lossy(&body);
        for (what, secret) in &busy.secrets {
            assert_eq!(found(&body, secret), None, "{what} is in a trace");
        }
    }
}
