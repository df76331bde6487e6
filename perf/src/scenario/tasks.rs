//! Tasks beside their peers, in one run on one PostgreSQL: jobs that do nothing, how many a second, and how soon one begins; and the
//! same while another session holds a snapshot.

mod arm;
mod database;
mod own;
mod peers;
mod table;
mod worker;

use std::path::{Path, PathBuf};

use arm::Figures;
use clap::Args;
use database::Database;
use own::OwnArm;
use peers::{PEERS, Peer, PeerArm};
use serde::Serialize;

use crate::Failure;
use crate::ground::Ground;
use crate::report::Report;
use crate::whole::{RATE, SECONDS, whole};

/// What is measured.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Settings {
    /// Jobs that are queued before workers are started.
    #[arg(long, default_value_t = 200_000, value_parser = whole::<u32>(1..=10_000_000))]
    jobs: u32,
    /// How often that is done; the best counts.
    #[arg(long, default_value_t = 3, value_parser = whole::<u32>(1..=100))]
    rounds: u32,
    /// Jobs per second that come one by one.
    #[arg(long, default_value_t = 200, value_parser = whole::<u32>(RATE))]
    rate: u32,
    /// How long they come, in seconds.
    #[arg(long, default_value_t = 20, value_parser = whole::<u32>(SECONDS))]
    seconds: u32,
    /// How long is worked at full rate while a snapshot is held, in seconds, before all is measured again.
    #[arg(long, default_value_t = 60, value_parser = whole::<u64>(SECONDS))]
    held: u64,
    /// Where the peers are; default: beside the sources of this program; `none`: nowhere.
    #[arg(long)]
    #[serde(skip)]
    peers: Option<PathBuf>,
}

/// Measures us and every peer that is there.
pub(crate) async fn tasks(ground: &Ground, settings: &Settings, report: &mut Report) -> Result<(), Failure> {
    let peers = crate::peers_of_choice(settings.peers.as_deref())?;
    let database = ground.database().await?;
    let mut all = vec![own(ground.program()?, &database, settings).await?];
    for peer in &PEERS {
        match measured(peer, &peers, &database, settings).await {
            Ok(figures) => all.push(figures),
            // What is wrong with a peer is nothing that keeps the others from being measured.
            Err(error) => report.note(format!("{}: not measured", peer.name), error.to_string()),
        }
    }
    database.stop().await?;
    for figures in &all {
        figures.report(report);
    }
    report.table(table::table(&all));
    Ok(())
}

async fn own(program: &Path, database: &Database, settings: &Settings) -> Result<Figures, Failure> {
    let url = database.renewed().await?;
    let mut arm = OwnArm::prepare(program, &url, settings.jobs.max(arm::chunk(settings) * 4)).await?;
    arm::measure(["switchboard", "Switchboard"], &mut arm, &url, settings).await
}

async fn measured(
    peer: &Peer,
    peers: &Path,
    database: &Database,
    settings: &Settings,
) -> Result<Figures, Failure> {
    let missing = || format!("it is not there: {}", peer.missing);
    let command = peer.found(peers).ok_or_else(missing)?;
    let url = database.renewed().await?;
    let mut arm = PeerArm::prepare(peer, command, &url).await?;
    arm::measure([peer.id, peer.name], &mut arm, &url, settings).await
}
