//! A listener that nobody hears any more.

use std::time::Duration;

use client::session::{SessionSettings, SignIn};
use client::{Api, Session, State, Update};
use domain::DeviceKind;
use protocol::frame::Slot;
use testkit::cluster::{ClusterOptions, TestCluster};
use testkit::postgres::OwnServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_listener_that_was_cut_silently_is_noticed_and_what_was_missed_arrives() {
    let server = OwnServer::fast().await;
    let database = server.database("listener").await.expect("a database");
    let options = ClusterOptions::at(database)
        .binary_at(env!("CARGO_BIN_EXE_switchboard"))
        .nodes(1, 2, 0)
        .database_through_proxies()
        .setting("auth.registration", "open")
        .setting("listener.check_interval", "500ms")
        .setting("listener.check_timeout", "500ms")
        // Only the listener may find what was missed: the sweep comes too late for this test.
        .setting("relay.sweep_interval", "1h");
    let mut cluster = TestCluster::start(options).await;
    let api = Api::new(&cluster.api_url(1)).expect("an address").signed_out();
    let device = client::api::NewDevice { kind: DeviceKind::Web, name: "here".into() };
    let signed_in =
        api.register("alex", "correct horse battery", None, Some(&device)).await.expect("registered");
    let room =
        api.create_room(&client::api::NewRoom::group("room", Vec::new()), None).await.expect("a room").id;
    let there = api.add_device(&device).await.expect("a device").id;
    let open = |gateway: usize, device: uuid::Uuid| {
        Session::open(SessionSettings::new(
            vec![cluster.gateway_url(gateway)],
            SignIn::Tickets(vec![api.clone()]),
            Slot::Device(device),
        ))
    };
    let (sender, _updates) = open(1, signed_in.device_id.expect("a device").0);
    let (_receiver, mut updates) = open(2, there.0);
    sender.live().await.expect("live");
    while !matches!(updates.next().await.expect("the session goes on"), Update::State(State::Live)) {}

    // Every connection of the node to the database goes silent, and nobody tells it.
    cluster.database_of("gateway-2").strand();
    for number in 0..20 {
        sender.send(room, format!("message {number}")).await.expect("acknowledged");
    }
    let arrived = async {
        let mut bodies = 0;
        while bodies < 20 {
            match updates.next().await.expect("the session goes on") {
                Update::Event(event) if event.kind == "message.created" => {
                    assert!(
                        event.data.get().contains(&format!("message {bodies}\"")),
                        "{}",
                        event.data.get()
                    );
                    bodies += 1;
                }
                Update::State(state) if !matches!(state, State::Live) => {
                    panic!("the client had to act: {state:?}")
                }
                Update::Fault(fault) => panic!("{fault:?}"),
                _ => {}
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), arrived).await.expect("what was missed arrives");
    cluster.until_ready("gateway-2").await;
    let (_, metrics) = cluster.admin("gateway-2", "/metrics").await.expect("metrics");
    assert!(metrics.contains("switchboard_listener_connected 1"), "{metrics}");
}
