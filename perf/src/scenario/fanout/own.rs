//! Ours: a room with the sender and everybody who receives.

use std::sync::Arc;
use std::time::Duration;

use domain::{DeviceKind, RoomId};
use futures_util::{StreamExt, TryStreamExt, stream};
use protocol::frame::{Cursors, Identify, Send, Slot};
use protocol::{ClientFrame, Encoding, ServerFrame, decode_server, encode_client};
use uuid::Uuid;

use super::arm::{Arm, Sender, Stage};
use crate::Failure;
use crate::cluster::Cluster;
use crate::people::{self, Person};
use crate::usage::Counted;
use crate::wire::{self, Reader, Writer};

/// Between two heartbeats; a gateway wants them more seldom.
const BEAT: Duration = Duration::from_secs(10);

/// A cluster or a deployment elsewhere.
pub(crate) struct OwnArm<'a> {
    cluster: &'a Cluster,
    /// Gateways at which is sent and received.
    between: [usize; 2],
    processes: Vec<Counted>,
}

impl<'a> OwnArm<'a> {
    pub(crate) async fn new(cluster: &'a Cluster, between: [usize; 2]) -> Result<Self, Failure> {
        Ok(Self { cluster, between, processes: cluster.processes().await? })
    }
}

impl Arm for OwnArm<'_> {
    async fn stage(&mut self, senders: usize, receivers: usize) -> Result<Stage, Failure> {
        let [from, to] = self.between.map(|node| self.cluster.gateway[node].url.as_str());
        let sender = self.cluster.person(0, DeviceKind::Web).await?;
        let others: Vec<Person> = stream::iter(0..receivers)
            .map(|n| self.cluster.person(n, DeviceKind::Web))
            .buffered(8)
            .try_collect()
            .await?;
        let members: Vec<&Person> = std::iter::once(&sender).chain(&others).collect();
        let room = people::room(&members).await?;
        let mut receiving = Vec::new();
        for person in &others {
            receiving.push(live(person, to).await?);
        }
        let (mut sending, mut idle) = (Vec::new(), Vec::new());
        for _ in 0..senders {
            let device = people::again(&sender.api, DeviceKind::Web).await?;
            let (reader, writer) = live(&device, from).await?;
            sending.push(Sender { writer, frame: Arc::new(move |body| frame(room, body)) });
            idle.push(reader);
        }
        let beat = text(&ClientFrame::Ping)?;
        Ok(Stage::new(sending, receiving, idle, Some((beat, BEAT))))
    }

    fn processes(&self) -> &[Counted] {
        &self.processes
    }
}

fn frame(room: RoomId, body: &str) -> String {
    let nonce = Uuid::now_v7().simple().to_string();
    let send = Send { room_id: room.0, body: body.to_owned(), nonce, reply_to: None };
    // JSON is text.
    text(&ClientFrame::Send(send)).unwrap_or_default()
}

fn text(frame: &ClientFrame) -> Result<String, Failure> {
    Ok(String::from_utf8(encode_client(frame, Encoding::Json).to_vec())?)
}

/// Connects a person's device and waits until it is live.
async fn live(person: &Person, gateway: &str) -> Result<(Reader, Writer), Failure> {
    let token = person.api.access_token().ok_or("not signed in")?;
    let bearer = format!("Bearer {token}");
    let headers =
        [("authorization", bearer.as_str()), ("sec-websocket-protocol", Encoding::Json.subprotocol())];
    let (mut reader, writer) = wire::connect(gateway, &headers).await?;
    let identify =
        Identify { slot: Slot::Device(person.device.0), cursors: Cursors::default(), log_epoch: None };
    writer.text(&text(&ClientFrame::Identify(identify))?).await?;
    reader
        .find(|message| match decode_server(message, Encoding::Json) {
            Ok(ServerFrame::Live) => Some(Ok(())),
            Ok(ServerFrame::Error(error)) => Some(Err(error.detail)),
            _ => None,
        })
        .await??;
    Ok((reader, writer))
}
