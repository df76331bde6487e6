//! People, rooms and sockets for scenarios.

use client::api::{NewDevice, NewRoom};
use client::{Api, Credential, Socket};
use domain::{DeviceId, DeviceKind, RoomId, UserId};
use protocol::frame::{Cursors, Identify, Slot};
use protocol::{ClientFrame, Encoding, ServerFrame};

use crate::Failure;

/// A person who is signed in.
pub(crate) struct Person {
    pub(crate) api: Api,
    pub(crate) id: UserId,
    pub(crate) device: DeviceId,
}

/// Registers a person with one device.
pub(crate) async fn person(api_url: &str, handle: &str) -> Result<Person, Failure> {
    let api = Api::new(api_url)?.signed_out();
    let device = NewDevice { kind: DeviceKind::Web, name: "perf".into() };
    let signed_in = api.register(handle, "correct horse battery", None, Some(&device)).await?;
    let id = signed_in.user.ok_or("register answered without the user")?.id;
    let device = signed_in.device_id.ok_or("register answered without the device")?;
    Ok(Person { api, id, device })
}

/// Creates a group of these people, owned by the first.
pub(crate) async fn room(people: &[&Person]) -> Result<RoomId, Failure> {
    let (owner, others) = people.split_first().ok_or("a room needs people")?;
    let room = NewRoom::group("perf", others.iter().map(|person| person.id).collect::<Vec<_>>());
    Ok(owner.api.create_room(&room, None).await?.id)
}

/// Connects a device to a gateway and waits until it is live.
pub(crate) async fn connect(person: &Person, gateway: &str, device: DeviceId) -> Result<Socket, Failure> {
    let token = person.api.access_token().ok_or("not signed in")?;
    let mut socket = Socket::connect(gateway, &Credential::Bearer(token), Encoding::Json).await?;
    socket
        .send(&ClientFrame::Identify(Identify {
            slot: Slot::Device(device.0),
            cursors: Cursors::default(),
            log_epoch: None,
        }))
        .await?;
    loop {
        match socket.receive().await? {
            ServerFrame::Live => return Ok(socket),
            ServerFrame::Error(error) => return Err(format!("{}: {}", error.code, error.detail).into()),
            _ => {}
        }
    }
}
