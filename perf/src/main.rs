//! Measurements of Switchboard as its clients see it.
//!
//! `cargo run --release -p perf -- list` names the scenarios. Each starts a local cluster of its own
//! (`switchboard cluster`, built beside this program), measures through real sockets, and prints a
//! table. Latencies count from the moment at which a send was due, not from when it could be made.

mod cluster;
mod database;
mod metrics;
mod people;
mod report;
mod scenario;
mod usage;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::cluster::{Cluster, Shape};
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
    /// What it costs that everybody's presence is known, and how soon others see it change.
    Presence {
        /// Live connections of people; each number is measured by itself.
        #[arg(long, value_delimiter = ',', default_value = "5000,10000")]
        connections: Vec<usize>,
        /// How long nothing happens before it is measured, in seconds.
        #[arg(long, default_value_t = 20)]
        settle: u32,
        /// How long it is measured, in seconds.
        #[arg(long, default_value_t = 120)]
        seconds: u32,
        /// Seconds between two flushes of what it is compared with, at most a minute.
        #[arg(long, default_value_t = 60)]
        rare: u32,
        /// People who fall idle and come back, seen by one person.
        #[arg(long, default_value_t = 150)]
        changes: usize,
    },
    /// From a direct message at api 1 to the hint on a desktop at gateway 2.
    Hints {
        /// People with a desktop in use.
        #[arg(long, default_value_t = 100)]
        people: usize,
        /// Messages that are sent one at a time.
        #[arg(long, default_value_t = 500)]
        events: u32,
        /// Messages per second after that.
        #[arg(long, default_value_t = 200)]
        rate: u32,
        /// How long, in seconds.
        #[arg(long, default_value_t = 20)]
        seconds: u32,
        /// Notifications that wait for a worker at once.
        #[arg(long, default_value_t = 5000)]
        burst: usize,
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
        Scenario::Presence {
            connections: vec![5000, 10_000],
            settle: 20,
            seconds: 120,
            rare: 60,
            changes: 150,
        },
        Scenario::Hints { people: 100, events: 500, rate: 200, seconds: 20, burst: 5000 },
        Scenario::Idle { connections: 5000 },
    ];
    let scenarios = match &arguments.scenario {
        Scenario::List => {
            println!("one-at-a-time\nfanout\nsends\npatches\ntools\ntasks\npresence\nhints\nidle\nall");
            return Ok(());
        }
        Scenario::All => all.to_vec(),
        one => vec![one.clone()],
    };
    let program = cluster::program_of_choice(arguments.switchboard.as_deref())?;
    let mut report = Report::default();
    for scenario in scenarios {
        measure(&program, scenario, &mut report).await?;
    }
    report.print();
    Ok(())
}

/// Measures one.
async fn measure(program: &Path, scenario: Scenario, report: &mut Report) -> Result<(), Failure> {
    let seconds_of = |seconds: u32| Duration::from_secs(seconds.into());
    match scenario {
        Scenario::List | Scenario::All => Ok(()),
        Scenario::OneAtATime { events } => {
            on_a_cluster(program, async |cluster| scenario::one_at_a_time(cluster, events, report).await)
                .await
        }
        Scenario::Fanout { rate, receivers, seconds } => {
            let fanout =
                async |cluster: &_| scenario::fanout(cluster, rate, receivers, seconds, report).await;
            on_a_cluster(program, fanout).await
        }
        Scenario::Sends { senders, rooms, seconds } => {
            let sends = async |cluster: &_| scenario::sends(cluster, senders, rooms, seconds, report).await;
            on_a_cluster(program, sends).await
        }
        Scenario::Patches { rate, watchers, seconds } => {
            let patches =
                async |cluster: &_| scenario::agents::patches(cluster, rate, watchers, seconds, report).await;
            on_a_cluster(program, patches).await
        }
        Scenario::Tools { calls } => {
            on_a_cluster(program, async |cluster| scenario::agents::tools(cluster, calls, report).await).await
        }
        Scenario::Tasks { jobs, rounds, rate, seconds, held, peers } => {
            let peers = peers.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/peers").into());
            let held = seconds_of(held);
            let settings = scenario::tasks::Settings { jobs, rounds, rate, seconds, held, peers };
            scenario::tasks::tasks(program, &settings, report).await
        }
        Scenario::Presence { connections, settle, seconds, rare, changes } => {
            let [settle, time, rare] = [settle, seconds, rare].map(seconds_of);
            let settings = scenario::presence::Settings { settle, time, rare, changes };
            for connections in connections {
                scenario::presence::presence(program, connections, &settings, report).await?;
            }
            Ok(())
        }
        Scenario::Hints { people, events, rate, seconds, burst } => {
            let settings = scenario::hints::Settings { people, events, rate, seconds, burst };
            scenario::hints::hints(program, &settings, report).await
        }
        Scenario::Idle { connections } => {
            on_a_cluster(program, async |cluster| scenario::idle(cluster, connections, report).await).await
        }
    }
}

/// Measures on a cluster of its own: what one scenario leaves behind must not weigh on the next.
async fn on_a_cluster(
    program: &Path,
    measured: impl AsyncFnOnce(&Cluster) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let cluster = Cluster::start(program, &Shape::default()).await?;
    measured(&cluster).await?;
    cluster.stop().await
}
