//! The scenarios.

pub(crate) mod agents;
pub(crate) mod fanout;
pub(crate) mod hints;
pub(crate) mod idle;
mod limits;
pub(crate) mod notify;
pub(crate) mod presence;
pub(crate) mod restart;
pub(crate) mod sends;
pub(crate) mod storm;
pub(crate) mod tasks;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::RoomId;
use protocol::ClientFrame;
use protocol::frame::Send;
use uuid::Uuid;

use crate::Failure;
use crate::arguments::Scenario;
use crate::cluster::Shape;
use crate::ground::Ground;
use crate::report::Report;

/// Measures one.
pub(crate) async fn measure(
    ground: &Ground,
    scenario: &Scenario,
    report: &mut Report,
) -> Result<(), Failure> {
    match scenario {
        Scenario::GatewayFanout(settings) => fanout::one_node(ground, settings, report).await,
        Scenario::GatewayFanoutMulti(settings) => fanout::two_nodes(ground, settings, report).await,
        Scenario::Sends(settings) => sends::sends(ground, settings, report).await,
        Scenario::IdleConnections(settings) => idle::idle(ground, settings, report).await,
        Scenario::ReconnectStorm(settings) => storm::storm(ground, settings, report).await,
        Scenario::LiveBox(settings) => {
            let live_box = async |cluster: &_| agents::live_box(cluster, settings, report).await;
            ground.on_cluster(&Shape::default(), live_box).await
        }
        Scenario::PresenceWrites(settings) => presence::presence(ground, settings, report).await,
        Scenario::Tasks(settings) => tasks::tasks(ground, settings, report).await,
        Scenario::Notify(settings) => notify::notify(ground, settings, report).await,
        Scenario::RollingRestart(settings) => restart::restart(ground, settings, report).await,
        Scenario::Tools(settings) => {
            let tools = async |cluster: &_| agents::tools(cluster, settings, report).await;
            ground.on_cluster(&Shape::default(), tools).await
        }
        Scenario::Hints(settings) => hints::hints(ground, settings, report).await,
    }
}

/// A message as a frame, with a nonce of its own.
fn message(room: RoomId, body: String) -> ClientFrame {
    let nonce = Uuid::now_v7().simple().to_string();
    ClientFrame::Send(Send { room_id: room.0, body, nonce, reply_to: None })
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Microseconds since 1970, by the clock that all processes of the machine have.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
