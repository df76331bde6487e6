//! Measurements of Switchboard as its clients see it.
//!
//! `cargo run --release -p perf -- list` names the scenarios. Each starts a local cluster of its own
//! (`switchboard cluster`, built beside this program), measures through real sockets, and prints a
//! table. Latencies count from the moment at which a send was due, not from when it could be made.

mod cluster;
mod people;
mod report;
mod scenario;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::cluster::Cluster;
use crate::report::Report;

/// Measures Switchboard on this machine.
#[derive(Debug, Parser)]
struct Arguments {
    /// The `switchboard` program; default: the one built beside this one.
    #[arg(long, global = true)]
    switchboard: Option<std::path::PathBuf>,
    #[command(subcommand)]
    scenario: Scenario,
}

#[derive(Debug, Clone, Subcommand)]
enum Scenario {
    /// Names the scenarios.
    List,
    /// Every scenario, with its defaults.
    All,
    /// One event at a time, sent on gateway 1, received on gateway 2.
    OneAtATime {
        /// Events that are measured.
        #[arg(long, default_value_t = 2000)]
        events: u32,
    },
    /// Sends at a steady rate on gateway 1, every event received by many on gateway 2.
    Fanout {
        /// Sends per second.
        #[arg(long, default_value_t = 1000)]
        rate: u32,
        /// Connections that receive each event.
        #[arg(long, default_value_t = 100)]
        receivers: usize,
        /// How long, in seconds.
        #[arg(long, default_value_t = 10)]
        seconds: u32,
    },
    /// Durable sends, as fast as they are acknowledged.
    Sends {
        /// Senders, each with one send under way.
        #[arg(long, default_value_t = 64)]
        senders: usize,
        /// Rooms they write to.
        #[arg(long, default_value_t = 50)]
        rooms: usize,
        /// How long, in seconds.
        #[arg(long, default_value_t = 10)]
        seconds: u32,
    },
    /// Words of a run on gateway 1, seen by watchers on gateway 2.
    Patches {
        /// Words per second.
        #[arg(long, default_value_t = 100)]
        rate: u32,
        /// Connections that watch.
        #[arg(long, default_value_t = 50)]
        watchers: usize,
        /// How long, in seconds.
        #[arg(long, default_value_t = 10)]
        seconds: u32,
    },
    /// Tools called on gateway 1 and answered on gateway 2, one at a time.
    Tools {
        /// Calls that are made.
        #[arg(long, default_value_t = 1000)]
        calls: u32,
    },
    /// Tasks that do nothing, side by side with other queues on PostgreSQL.
    Tasks {
        /// Jobs that are queued before workers are started.
        #[arg(long, default_value_t = 200_000)]
        jobs: u32,
        /// How often that is done; the best counts.
        #[arg(long, default_value_t = 3)]
        rounds: u32,
        /// Jobs per second that come one by one.
        #[arg(long, default_value_t = 200)]
        rate: u32,
        /// How long they come, in seconds.
        #[arg(long, default_value_t = 20)]
        seconds: u32,
        /// How long is worked at full rate while a snapshot is held, in seconds, before all is measured again.
        #[arg(long, default_value_t = 60)]
        held: u32,
        /// Where the peers are; default: beside the sources of this program.
        #[arg(long)]
        peers: Option<std::path::PathBuf>,
    },
    /// Resident memory of a gateway for each idle connection.
    Idle {
        /// Connections that are opened.
        #[arg(long, default_value_t = 5000)]
        connections: usize,
    },
}

/// What a scenario may fail with: shown, and the program ends.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("perf: can't start the runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("perf: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<(), Failure> {
    let all = [
        Scenario::OneAtATime { events: 2000 },
        Scenario::Fanout { rate: 1000, receivers: 100, seconds: 10 },
        Scenario::Sends { senders: 64, rooms: 50, seconds: 10 },
        Scenario::Patches { rate: 100, watchers: 50, seconds: 10 },
        Scenario::Tools { calls: 1000 },
        Scenario::Tasks { jobs: 200_000, rounds: 3, rate: 200, seconds: 20, held: 60, peers: None },
        Scenario::Idle { connections: 5000 },
    ];
    let scenarios = match &arguments.scenario {
        Scenario::List => {
            println!("one-at-a-time\nfanout\nsends\npatches\ntools\ntasks\nidle\nall");
            return Ok(());
        }
        Scenario::All => all.to_vec(),
        one => vec![one.clone()],
    };
    let mut report = Report::default();
    for scenario in scenarios {
        if let Scenario::Tasks { jobs, rounds, rate, seconds, held, peers } = scenario {
            let peers = peers.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/peers").into());
            let held = Duration::from_secs(held.into());
            let settings = scenario::tasks::Settings { jobs, rounds, rate, seconds, held, peers };
            let program = cluster::program_of_choice(arguments.switchboard.as_deref())?;
            scenario::tasks::tasks(&program, &settings, &mut report).await?;
            continue;
        }
        // A cluster for each: what one leaves behind must not weigh on the next.
        let cluster = Cluster::start(arguments.switchboard.as_deref()).await?;
        match scenario {
            Scenario::List | Scenario::All | Scenario::Tasks { .. } => {}
            Scenario::OneAtATime { events } => scenario::one_at_a_time(&cluster, events, &mut report).await?,
            Scenario::Fanout { rate, receivers, seconds } => {
                scenario::fanout(&cluster, rate, receivers, seconds, &mut report).await?;
            }
            Scenario::Sends { senders, rooms, seconds } => {
                scenario::sends(&cluster, senders, rooms, seconds, &mut report).await?;
            }
            Scenario::Patches { rate, watchers, seconds } => {
                scenario::agents::patches(&cluster, rate, watchers, seconds, &mut report).await?;
            }
            Scenario::Tools { calls } => scenario::agents::tools(&cluster, calls, &mut report).await?,
            Scenario::Idle { connections } => scenario::idle(&cluster, connections, &mut report).await?,
        }
        cluster.stop().await?;
    }
    report.print();
    Ok(())
}
