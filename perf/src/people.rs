//! People, rooms and sockets for scenarios.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use client::api::{NewDevice, NewRoom};
use client::socket::Outgoing;
use client::{Api, Credential, Socket};
use domain::{DeviceId, DeviceKind, RoomId, UserId};
use protocol::frame::{Cursors, Identify, Slot};
use protocol::{ClientFrame, Encoding, ServerFrame};
use tokio::task::JoinHandle;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::Failure;

/// A person who is signed in.
pub(crate) struct Person {
    pub(crate) api: Api,
    pub(crate) id: UserId,
    pub(crate) device: DeviceId,
}

/// Tells people of one run from those of others.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A handle that nobody has.
pub(crate) fn handle() -> String {
    static RUN: OnceLock<String> = OnceLock::new();
    // The random end of the id: runs that begin at the same moment differ.
    let run = RUN.get_or_init(|| Uuid::now_v7().simple().to_string()[24..].to_owned());
    format!("perf-{run}-{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// Registers a person with one device; all that are registered so share connections to the api.
pub(crate) async fn register(api: &Api, kind: DeviceKind) -> Result<Person, Failure> {
    let api = api.signed_out();
    let device = NewDevice { kind, name: "perf".into() };
    let signed_in = api.register(&handle(), "correct horse battery", None, Some(&device)).await?;
    let id = signed_in.user.ok_or("register answered without the user")?.id;
    let device = signed_in.device_id.ok_or("register answered without the device")?;
    Ok(Person { api, id, device })
}

/// The person who is signed in already, with one more device.
pub(crate) async fn again(api: &Api, kind: DeviceKind) -> Result<Person, Failure> {
    let id = api.me().await?.id;
    let device = api.add_device(&NewDevice { kind, name: "perf".into() }).await?.id;
    Ok(Person { api: api.clone(), id, device })
}

/// Creates a group of these people, owned by the first; one who is there several times is a member once.
pub(crate) async fn room(people: &[&Person]) -> Result<RoomId, Failure> {
    let (owner, others) = people.split_first().ok_or("a room needs people")?;
    let mut members: Vec<_> = others.iter().map(|person| person.id).filter(|id| *id != owner.id).collect();
    members.sort_unstable();
    members.dedup();
    Ok(owner.api.create_room(&NewRoom::group("perf", members), None).await?.id)
}

/// The room of these two.
pub(crate) async fn pair(first: &Person, second: &Person) -> Result<RoomId, Failure> {
    Ok(first.api.create_room(&NewRoom::dm(second.id), None).await?.id)
}

/// Connects a device to a gateway and waits until it is live.
pub(crate) async fn connect(person: &Person, gateway: &str, device: DeviceId) -> Result<Socket, Failure> {
    Ok(live(person, gateway, device).await?.0)
}

/// The same, with how often the gateway wants to be pinged.
async fn live(person: &Person, gateway: &str, device: DeviceId) -> Result<(Socket, Duration), Failure> {
    let token = person.api.access_token().ok_or("not signed in")?;
    let mut socket = Socket::connect(gateway, &Credential::Bearer(token), Encoding::Json).await?;
    socket
        .send(&ClientFrame::Identify(Identify {
            slot: Slot::Device(device.0),
            cursors: Cursors::default(),
            log_epoch: None,
        }))
        .await?;
    let mut heartbeat = Duration::from_secs(20);
    loop {
        match socket.receive().await? {
            ServerFrame::Hello(hello) => heartbeat = Duration::from_millis(hello.heartbeat_interval_ms),
            ServerFrame::Live => return Ok((socket, heartbeat)),
            ServerFrame::Error(error) => return Err(format!("{}: {}", error.code, error.detail).into()),
            _ => {}
        }
    }
}

/// How long everybody may take to be known as there.
const PATIENCE: Duration = Duration::from_secs(180);

/// Waits until the database has as many live connections of these people as there are of them.
pub(crate) async fn until_known(
    client: &Client,
    people: impl Iterator<Item = UserId>,
) -> Result<(), Failure> {
    let people: Vec<Uuid> = people.map(Uuid::from).collect();
    let all = i64::try_from(people.len())?;
    let end = Instant::now() + PATIENCE;
    loop {
        let row = client.query_one(include_str!("../sql/own/presence.sql"), &[&people]).await?;
        let known: i64 = row.try_get(0)?;
        if known >= all {
            return Ok(());
        }
        if Instant::now() >= end {
            return Err(format!("{known} of {all} connections are known after {PATIENCE:?}").into());
        }
        // There is no bell for it.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// A live connection that is read and kept alive until it is dropped.
pub(crate) struct Attended {
    pub(crate) outgoing: Outgoing,
    driving: JoinHandle<()>,
}

impl Attended {
    /// Connects a person's device; `seen` gets every frame after `live`.
    pub(crate) async fn connect(
        person: &Person,
        gateway: &str,
        mut seen: impl FnMut(ServerFrame) + Send + 'static,
    ) -> Result<Self, Failure> {
        let (socket, heartbeat) = live(person, gateway, person.device).await?;
        let (outgoing, mut incoming) = socket.split();
        let pinging = outgoing.clone();
        let driving = tokio::spawn(async move {
            let mut beats = tokio::time::interval(heartbeat);
            loop {
                tokio::select! {
                    frame = incoming.receive() => match frame {
                        Ok(frame) => seen(frame),
                        Err(error) => return eprintln!("perf: a connection ended: {error}"),
                    },
                    _ = beats.tick() => {
                        if let Err(error) = pinging.send(&ClientFrame::Ping).await {
                            return eprintln!("perf: a connection ended: {error}");
                        }
                    }
                }
            }
        });
        Ok(Self { outgoing, driving })
    }

    /// Fails when the connection is over.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.driving.is_finished() {
            return Err("a connection was lost while it was measured".into());
        }
        Ok(())
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.driving.abort();
    }
}
