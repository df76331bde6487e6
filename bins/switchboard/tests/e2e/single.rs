//! Every role in one process, at one address.

use std::process::Stdio;

use client::api::{NewDevice, NewMessage, NewRoom};
use client::{Api, Credential};
use domain::DeviceKind;
use localpg::tether::{self, OnParentDeath};
use protocol::Encoding;
use rustix::process::{Pid, Signal, kill_process};
use testkit::http;
use testkit::port::Port;
use testkit::postgres::TestDatabase;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::time::timeout;

use crate::program::{program, run};
use crate::wire::Wire;
use crate::world::{PASSWORD, PATIENCE};

/// Starts it; gives back its first line once it has printed it.
async fn start(
    database: &TestDatabase,
    listen: &Port,
    admin: &Port,
    keys: &std::path::Path,
    errors: Stdio,
) -> (Child, String) {
    start_with(database, listen, admin, keys, errors, &[]).await
}

/// As [`start`], with settings: variables and their values.
pub(crate) async fn start_with(
    database: &TestDatabase,
    listen: &Port,
    admin: &Port,
    keys: &std::path::Path,
    errors: Stdio,
    settings: &[(&str, &str)],
) -> (Child, String) {
    let mut command = tether::command(env!("CARGO_BIN_EXE_switchboard"), OnParentDeath::Kill);
    for (name, value) in program("").get_envs() {
        if value.is_none() {
            command.env_remove(name);
        }
    }
    command
        .env("SWITCHBOARD__DATABASE__URL", database.url())
        .env("SWITCHBOARD__HTTP__LISTEN", listen.addr().to_string())
        .env("SWITCHBOARD__ADMIN__LISTEN", admin.addr().to_string())
        .env("SWITCHBOARD__SECRETS__SIGNING_KEY_DIR", keys)
        .env("SWITCHBOARD__AUTH__REGISTRATION", "open")
        .env("SWITCHBOARD__PUSH__VAPID_KEY_DIR", keys.with_extension("push"))
        .env("SWITCHBOARD__SHUTDOWN__SPREAD", "0s")
        .envs(settings.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors);
    let mut child = tether::spawn(command).await.expect("the program runs");
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    timeout(PATIENCE, out.read_line(&mut line)).await.expect("in time").expect("readable");
    child.stdout = Some(out.into_inner());
    (child, line)
}

#[tokio::test]
async fn cluster_of_one_process_serves_everything_at_one_address() {
    let (database, keys) = (TestDatabase::empty().await, tempfile::tempdir().expect("a directory"));
    let (listen, admin) = (Port::reserve(), Port::reserve());
    let (mut child, line) =
        start(&database, &listen, &admin, &keys.path().join("keys"), Stdio::inherit()).await;
    let (base, gateway) = (format!("http://{}", listen.addr()), format!("ws://{}/v1/gateway", listen.addr()));
    assert!(line.contains(&base) && line.contains(&gateway), "{line}");

    let device = NewDevice { kind: DeviceKind::Web, name: "a page".to_owned() };
    let api = Api::new(&base).expect("a URL");
    let alex = api.register("alex", PASSWORD, None, Some(&device)).await.expect("registered");
    let room = api.create_room(&NewRoom::group("Lunch", vec![]), None).await.expect("a room").id;
    let ticket = Credential::Ticket(api.ticket().await.expect("a ticket").ticket);
    let mut wire = Wire::open(&gateway, &ticket, Encoding::Json).await.expect("the gateway");
    wire.identify(alex.device_id.expect("the device")).await;
    wire.until_live().await;
    let sent = api.send_message(room, &NewMessage::new("soup?")).await.expect("sent");
    let event = wire.event_of("message.created").await;
    assert_eq!((event.id, event.seq), (sent.event.id, sent.event.seq));

    let (status, metrics) = http::get(admin.addr(), "/metrics").await.expect("metrics");
    assert_eq!(status, 200);
    for part in [
        "switchboard_node_info{role=\"all\"",
        "switchboard_retention_removed_total",
        "switchboard_fanout_seconds",
    ] {
        assert!(metrics.contains(part), "{part}");
    }
    let mut nodes = program("nodes");
    nodes.env("SWITCHBOARD__DATABASE__URL", database.url());
    assert!(run(nodes).await.good().out.contains("all "), "it is known as a node");

    let pid = child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)).expect("it runs");
    kill_process(pid, Signal::TERM).expect("told");
    let ended = timeout(PATIENCE, child.wait()).await.expect("in time").expect("its end");
    assert!(ended.success(), "{ended}");
}

/// A full disk, or a reader of the log that is gone, costs the lines and nothing else.
#[tokio::test]
async fn cluster_of_one_process_whose_log_can_not_be_written_serves_all_the_same() {
    let (database, keys) = (TestDatabase::empty().await, tempfile::tempdir().expect("a directory"));
    let (listen, admin) = (Port::reserve(), Port::reserve());
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
    let (mut child, line) =
        start(&database, &listen, &admin, &keys.path().join("keys"), Stdio::from(full)).await;
    let api = Api::new(&format!("http://{}", listen.addr())).expect("a URL");
    api.register("alex", PASSWORD, None, None).await.expect("registered");
    assert!(line.contains("http://"), "{line}");
    assert!(child.try_wait().expect("a child").is_none(), "it goes on");
    child.kill().await.expect("killed");
}
