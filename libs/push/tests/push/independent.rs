//! What we send, read by another implementation: `http-ece` and `cryptography` of PyPI, which share no code with us.

use std::io::Write as _;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use push::{Driver as _, MAX_PLAINTEXT, Outcome};
use serde_json::{Value, json};
use testkit::push::{FakePush, FakeSubscription, Push};

use super::{drivers, message, open, target};

/// Where `cargo xtask tools` puts it, below the target directory.
const PYTHON: &str = "tools/http-ece-1.2.1/bin/python";

/// Plaintext and claims of each, as Python reads them.
fn read_by_python(pushes: &[(FakeSubscription, Push)]) -> Vec<(String, Value)> {
    let python = testkit::workspace::target_dir().join(PYTHON);
    assert!(python.exists(), "{} is missing; `cargo xtask tools` installs it", python.display());
    let given: Vec<Value> = pushes
        .iter()
        .map(|(subscription, push)| {
            json!({
                "private_key": URL_SAFE_NO_PAD.encode(subscription.private_key()),
                "auth": subscription.auth,
                "body": URL_SAFE_NO_PAD.encode(&push.body),
                "authorization": push.authorization,
            })
        })
        .collect();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/push/independent.py");
    let mut process = Command::new(python);
    let mut child =
        process.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(json!(given).to_string().as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", output.status);
    let read: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    read.into_iter()
        .map(|one| {
            let plain = URL_SAFE_NO_PAD.decode(one["plaintext"].as_str().expect("text")).expect("base64url");
            (String::from_utf8(plain).expect("text"), one["claims"].clone())
        })
        .collect()
}

#[tokio::test]
async fn another_implementation_reads_what_we_send() {
    let service = FakePush::start().await;
    let drivers = drivers(&open()).await;
    let payloads =
        [String::new(), "{}".to_owned(), r#"{"title":"caf\u00e9 ☕"}"#.to_owned(), "a".repeat(MAX_PLAINTEXT)];
    let mut pushes = Vec::new();
    for payload in &payloads {
        let subscription = service.subscribe();
        let verdict = drivers.send(&target(&subscription), &message(payload)).await;
        assert_eq!(verdict.outcome, Outcome::Sent, "{verdict:?}");
        pushes.push((subscription, service.next().await));
    }
    let read = read_by_python(&pushes);
    assert_eq!(read.iter().map(|(plain, _)| plain).collect::<Vec<_>>(), payloads.iter().collect::<Vec<_>>());
    for ((_, claims), (_, push)) in read.iter().zip(&pushes) {
        let expected = json!({
            "aud": service.origin(),
            "exp": push.sender.expires_at,
            "sub": "mailto:alex@example.com",
        });
        assert_eq!(*claims, expected);
    }
}
