//! Tasks beside their peers, in one run on one PostgreSQL: jobs that do nothing, how many a second, and how soon one begins; and the
//! same while another session holds a snapshot.

mod arm;
mod database;
mod own;
mod peers;
mod table;
mod worker;

use std::path::{Path, PathBuf};
use std::time::Duration;

use arm::Figures;
use database::Database;
use own::OwnArm;
use peers::{PEERS, Peer, PeerArm};

use crate::Failure;
use crate::report::Report;

/// What is measured.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Jobs that are queued before workers are started.
    pub(crate) jobs: u32,
    /// How often that is done; the best counts.
    pub(crate) rounds: u32,
    /// Jobs a second that come one by one.
    pub(crate) rate: u32,
    /// For how long, in seconds.
    pub(crate) seconds: u32,
    /// How long is worked under the snapshot before it is measured.
    pub(crate) held: Duration,
    /// Where the peers are.
    pub(crate) peers: PathBuf,
}

/// Measures us and every peer that is there; `program` is `switchboard`.
pub(crate) async fn tasks(program: &Path, settings: &Settings, report: &mut Report) -> Result<(), Failure> {
    let database = Database::start().await?;
    let mut all = vec![own(program, &database, settings).await?];
    for peer in &PEERS {
        match measured(peer, &database, settings).await {
            Ok(figures) => all.push(figures),
            // What is wrong with a peer is nothing that keeps the others from being measured.
            Err(error) => report.row(format!("{}: not measured", peer.name), error.to_string()),
        }
    }
    database.stop().await?;
    report.table(table::table(&all));
    Ok(())
}

async fn own(program: &Path, database: &Database, settings: &Settings) -> Result<Figures, Failure> {
    let url = database.renewed().await?;
    let mut arm = OwnArm::prepare(program, &url, settings.jobs.max(arm::CHUNK * 4)).await?;
    arm::measure("Switchboard", &mut arm, &url, settings).await
}

async fn measured(peer: &Peer, database: &Database, settings: &Settings) -> Result<Figures, Failure> {
    let missing = || format!("it is not there: {}", peer.missing);
    let command = peer.found(&settings.peers).ok_or_else(missing)?;
    let url = database.renewed().await?;
    let mut arm = PeerArm::prepare(peer, command, &url).await?;
    arm::measure(peer.name, &mut arm, &url, settings).await
}
