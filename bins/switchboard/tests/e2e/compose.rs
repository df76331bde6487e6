//! The cluster of `compose.yaml`, without an engine: the same services in the same order with the same environment, files, health checks and
//! proxy, as processes of this machine. What their addresses and places are in containers is put where it is here.

mod places;
mod project;
mod service;

use client::api::{NewDevice, NewMessage, NewRoom};
use client::{Api, Credential};
use domain::{DeviceId, DeviceKind, UserId};
use protocol::Encoding;

use crate::program::{program, run};
use crate::wire::{Wire, body, stream};
use crate::world::PASSWORD;
use project::Project;
use service::Stack;

const OPEN: (&str, &str) = ("SWITCHBOARD_REGISTRATION", "open");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_of_the_compose_file_carries_a_conversation_through_its_proxy() {
    let mut stack = Stack::up(Project::read(&["compose.yaml"], &[OPEN])).await;
    let told = run(stack.command("api-2", &["nodes"])).await.good().out;
    for node in ["api-1", "api-2", "gateway-1", "gateway-2", "worker-1", "worker-2"] {
        assert!(told.contains(node), "{node} is not among {told}");
    }
    // Each works as a user of the database who may do what its role does, and nothing else.
    for role in ["api", "gateway", "worker"] {
        let told = run(stack.command(&format!("{role}-1"), &["doctor", "--role", role])).await.good().out;
        assert!(told.lines().any(|line| line.starts_with("ok     rights")), "{role}: {told}");
    }

    let (alex, sam) = (stack.person("alex").await, stack.person("sam").await);
    let room = alex.api.create_room(&NewRoom::group("Lunch", vec![sam.id]), None).await.expect("a room").id;
    let mut wire = stack.connect(&sam).await;
    wire.identify(sam.device).await;
    wire.until_live().await;
    alex.api.send_message(room, &NewMessage::new("Soup at noon?")).await.expect("sent");
    let heard = wire.next_in(room, "message.created").await;
    assert_eq!(body(&heard), "Soup at noon?");

    // One node of each role dies. The proxy passes them by, and the clients of the gateway that is left go on.
    for node in ["api-1", "gateway-1", "worker-1"] {
        stack.kill(node).await;
    }
    drop(wire);
    // Any answer is one after the proxy has seen that connections are gone.
    alex.api.me().await.expect("an answer");
    for n in 0..4 {
        alex.api.send_message(room, &NewMessage::new(format!("Or at {n}?"))).await.expect("sent");
    }
    let mut wire = stack.connect(&sam).await;
    let mut cursors = protocol::frame::Cursors::default();
    cursors.insert(stream(room), heard.seq).expect("a stream");
    wire.identify_from(sam.device, cursors, None).await;
    for n in 0..4 {
        assert_eq!(body(&wire.next_in(room, "message.created").await), format!("Or at {n}?"));
    }
    stack.down().await;
}

#[tokio::test]
async fn every_configuration_of_the_compose_files_is_good() {
    let project = Project::read(&["compose.yaml", "compose.observability.yaml"], &[]);
    let mut checked = 0;
    for service in project.services().filter(project::Service::is_ours) {
        let mut command = program("--check-config");
        command.envs(project.places().environment(&service));
        let ran = run(command).await;
        assert_eq!(ran.code, 0, "{}: {ran:?}", service.name);
        checked += 1;
    }
    assert_eq!(checked, 7);
}

/// Somebody who talks through the proxy.
struct Person {
    api: Api,
    id: UserId,
    device: DeviceId,
}

impl Stack {
    async fn person(&self, handle: &str) -> Person {
        let api = Api::new(&format!("http://{}", self.proxy())).expect("an address");
        let device = NewDevice { kind: DeviceKind::Desktop, name: "desk".to_owned() };
        let signed_in = api.register(handle, PASSWORD, None, Some(&device)).await.expect("registered");
        let (id, device) = (signed_in.user.expect("a person").id, signed_in.device_id.expect("a device"));
        Person { api, id, device }
    }

    /// A socket that has had `hello`.
    async fn connect(&self, person: &Person) -> Wire {
        let ticket = Credential::Ticket(person.api.ticket().await.expect("a ticket").ticket);
        let url = format!("ws://{}/v1/gateway", self.proxy());
        Wire::open(&url, &ticket, Encoding::Json)
            .await
            .unwrap_or_else(|error| panic!("no connection: {error}"))
    }
}
