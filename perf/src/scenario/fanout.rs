//! Fan-out: messages sent on one node, each received by many connections of the same or another one.
//!
//! The same lines make the load for us, for peers, and for the bare minimum that the machine allows.

mod arm;
mod bare;
mod measure;
mod own;
mod socket_io;
mod table;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use self::own::OwnArm;
use super::limits;
use crate::cluster::Shape;
use crate::database::Database;
use crate::ground::Ground;
use crate::report::Report;
use crate::whole::{CLIENTS, COUNT, PAUSE, RATE, SECONDS, whole};
use crate::{Failure, usage};

/// What is measured on one gateway.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Settings {
    /// Messages that are sent one at a time.
    #[arg(long, default_value_t = 2000, value_parser = whole::<u32>(COUNT))]
    pub(crate) events: u32,
    /// Sends a second after that.
    #[arg(long, default_value_t = 1000, value_parser = whole::<u32>(RATE))]
    pub(crate) rate: u32,
    /// Connections that receive each of them.
    #[arg(long, default_value_t = 100, value_parser = whole::<usize>(CLIENTS))]
    pub(crate) receivers: usize,
    /// How long, in seconds.
    #[arg(long, default_value_t = 10, value_parser = whole::<u32>(SECONDS))]
    pub(crate) seconds: u32,
    /// How long the same load is on before it is measured, in seconds.
    #[arg(long, default_value_t = 3, value_parser = whole::<u32>(PAUSE))]
    pub(crate) warm_up: u32,
}

/// What is measured over two gateways, side by side with others.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct MultiSettings {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) load: Settings,
    /// Who is measured.
    #[arg(long, value_delimiter = ',', default_values = ARMS, value_parser = ARMS)]
    pub(crate) arms: Vec<String>,
    /// Where the peers are; default: beside the sources of this program; `none`: nowhere.
    #[arg(long)]
    #[serde(skip)]
    pub(crate) peers: Option<PathBuf>,
}

/// Everyone who can be measured.
const ARMS: [&str; 6] =
    [OWN, BARE, "socketio_postgres", "socketio_postgres_durable", "socketio_redis", "socketio_redis_durable"];
const OWN: &str = "switchboard";
const BARE: &str = "bare";

/// Sends and receives on one gateway; beside it, what an echo costs.
pub(crate) async fn one_node(
    ground: &Ground,
    settings: &Settings,
    report: &mut Report,
) -> Result<(), Failure> {
    usage::enough_files("--receivers", settings.receivers)?;
    let shape = Shape { api: 1, gateway: 1, worker: 1, ..Shape::default() };
    ground
        .on_cluster(&shape, async |cluster| {
            let mut arm = OwnArm::new(cluster, [0, 0]).await?;
            measure::measure(OWN, &mut arm, settings, report).await
        })
        .await?;
    limits::echo(settings.events, Duration::from_secs(settings.seconds.into()), report).await
}

/// Sends on the first node, receives on the second: of ours, then of everyone else, one after the other.
pub(crate) async fn two_nodes(
    ground: &Ground,
    settings: &MultiSettings,
    report: &mut Report,
) -> Result<(), Failure> {
    usage::enough_files("--receivers", settings.load.receivers)?;
    let peers = crate::peers_of_choice(settings.peers.as_deref())?;
    let (own, others): (Vec<&String>, Vec<&String>) = settings.arms.iter().partition(|arm| *arm == OWN);
    if !own.is_empty() {
        ground
            .on_cluster(&Shape::default(), async |cluster| {
                let mut arm = OwnArm::new(cluster, [0, 1]).await?;
                measure::measure(OWN, &mut arm, &settings.load, report).await
            })
            .await?;
    }
    if others.is_empty() {
        return Ok(());
    }
    let database = ground.database().await?;
    for name in others {
        // What is wrong with a peer is nothing that keeps the others from being measured.
        if let Err(error) = other(name, &database, &peers, settings, report).await {
            report.note(format!("{name}: not measured"), error.to_string());
        }
    }
    database.stop().await?;
    table::table(report, &settings.arms).into_iter().for_each(|table| report.table(table));
    Ok(())
}

async fn other(
    name: &str,
    database: &Database,
    peers: &Path,
    settings: &MultiSettings,
    report: &mut Report,
) -> Result<(), Failure> {
    let url = database.renewed().await?;
    if name == BARE {
        let mut arm = bare::BareArm::start(database, &url).await?;
        let measured = measure::measure(name, &mut arm, &settings.load, report).await;
        return arm.stop().await.and(measured);
    }
    let set_up = socket_io::SetUp::named(name).ok_or("nobody of that name")?;
    let mut arm = socket_io::SocketIoArm::start(set_up, peers, database, &url).await?;
    let measured = measure::measure(name, &mut arm, &settings.load, report).await;
    arm.stop().await.and(measured)
}
