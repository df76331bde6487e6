//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use serde::Serialize;

use crate::scenario::{agents, fanout, hints, idle, notify, presence, restart, sends, storm, tasks};
use crate::{Failure, bare};

/// Measures Switchboard on this machine.
#[derive(Debug, Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What is measured, and where results go.
#[derive(Debug, Clone, Args)]
pub(crate) struct Place {
    /// The `switchboard` program; default: the one built beside this one.
    #[arg(long, global = true)]
    pub(crate) switchboard: Option<PathBuf>,
    /// Where results are written; default: `results` beside the sources of this program.
    #[arg(long, global = true)]
    pub(crate) results: Option<PathBuf>,
    /// Addresses of the api nodes of a deployment that runs already: http://...
    #[arg(long, global = true, value_delimiter = ',', requires = "target_gateway")]
    pub(crate) target_api: Vec<String>,
    /// Addresses of its gateways: ws://.../v1/gateway
    #[arg(long, global = true, value_delimiter = ',', requires = "target_api")]
    pub(crate) target_gateway: Vec<String>,
    /// An access token of the person in whose name all is done; without it people are registered.
    #[arg(long, global = true, env = "PERF_TOKEN", hide_env_values = true)]
    pub(crate) target_token: Option<String>,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Names the scenarios.
    List,
    /// Every scenario, with its defaults.
    All,
    /// Every scenario with tiny numbers on one cluster, to see that it runs.
    Smoke,
    /// Two results as ratios.
    Compare {
        /// A result.
        first: PathBuf,
        /// Another one, which is divided by it.
        second: PathBuf,
    },
    /// Compares results with the budgets; fails when one is missed.
    Check {
        /// Results; what they have is taken together.
        #[arg(required = true)]
        results: Vec<PathBuf>,
        /// The budgets; default: `budgets.toml` beside the sources of this program.
        #[arg(long)]
        budgets: Option<PathBuf>,
    },
    /// Draws the latencies of a result again.
    Plot {
        /// A result.
        result: PathBuf,
    },
    /// A process of the bare minimum that others are compared with.
    #[command(hide = true)]
    Bare(bare::Options),
    #[command(flatten)]
    Scenario(Scenario),
}

/// The scenarios; their names are those of the command line, of results and of budgets.
#[derive(Debug, Clone, Subcommand, Serialize)]
#[command(rename_all = "snake_case")]
#[serde(untagged)]
pub(crate) enum Scenario {
    /// Messages sent and received on one gateway.
    GatewayFanout(fanout::Settings),
    /// Messages sent on gateway 1 and received on gateway 2, beside peers and the bare minimum.
    GatewayFanoutMulti(fanout::MultiSettings),
    /// Durable sends, as fast as they are acknowledged.
    Sends(sends::Settings),
    /// Resident memory of a gateway for each idle connection.
    IdleConnections(idle::Settings),
    /// All clients of a gateway lose their connections at once, and resume.
    ReconnectStorm(storm::Settings),
    /// Words of a run on gateway 1, seen by watchers on gateway 2.
    LiveBox(agents::LiveBox),
    /// What it costs that everybody's presence is known, and how soon others see it change.
    PresenceWrites(presence::Settings),
    /// Tasks that do nothing, side by side with other queues on PostgreSQL.
    Tasks(tasks::Settings),
    /// Commits and notifications a second as sends and nodes grow.
    Notify(notify::Settings),
    /// Every gateway is restarted while clients talk: the longest gap, and what is lost.
    RollingRestart(restart::Settings),
    /// Tools called on gateway 1 and answered on gateway 2, one at a time.
    Tools(agents::Tools),
    /// From a direct message at api 1 to the hint on a desktop at gateway 2.
    Hints(hints::Settings),
}

/// Their names, in the order in which `all` runs them.
pub(crate) const SCENARIOS: [&str; 12] = [
    "gateway_fanout",
    "gateway_fanout_multi",
    "sends",
    "idle_connections",
    "reconnect_storm",
    "live_box",
    "presence_writes",
    "tasks",
    "notify",
    "rolling_restart",
    "tools",
    "hints",
];

/// What `smoke` runs: what stops nodes comes last.
const SMOKE: [&[&str]; 12] = [
    &["gateway_fanout", "--events=10", "--rate=50", "--receivers=3", "--seconds=1", "--warm-up=0"],
    &[
        "gateway_fanout_multi",
        "--events=10",
        "--rate=50",
        "--receivers=3",
        "--seconds=1",
        "--warm-up=0",
        "--arms=switchboard,bare",
    ],
    &["sends", "--senders=4", "--rooms=2", "--seconds=1", "--one-by-one=0", "--batches=8"],
    &["idle_connections", "--connections=20", "--settle=0"],
    &["live_box", "--words=3", "--rate=20", "--watchers=2", "--seconds=1"],
    &["tools", "--calls=10"],
    &["notify", "--rates=50", "--rooms=5", "--seconds=1", "--gateways=2", "--writers=2"],
    &["presence_writes", "--connections=10", "--settle=0", "--seconds=2", "--rare=0", "--changes=2"],
    &["hints", "--people=3", "--events=10", "--rate=10", "--seconds=1", "--burst=20"],
    &["tasks", "--jobs=100", "--rounds=1", "--rate=50", "--seconds=1", "--held=1", "--peers=none"],
    &["reconnect_storm", "--connections=20", "--missed=2"],
    &["rolling_restart", "--clients=4", "--rate=20", "--settle=0"],
];

impl Scenario {
    /// A scenario by its name, with its defaults or these options.
    fn parse(arguments: &[&str]) -> Result<Self, Failure> {
        let parsed = Arguments::try_parse_from(std::iter::once("perf").chain(arguments.iter().copied()))?;
        match parsed.command {
            Command::Scenario(scenario) => Ok(scenario),
            _ => Err(format!("{arguments:?} is no scenario").into()),
        }
    }

    /// Each with its defaults.
    pub(crate) fn all() -> Result<Vec<Self>, Failure> {
        SCENARIOS.iter().map(|name| Self::parse(&[name])).collect()
    }

    /// Each with tiny numbers.
    pub(crate) fn smoke() -> Result<Vec<Self>, Failure> {
        SMOKE.iter().map(|arguments| Self::parse(arguments)).collect()
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::GatewayFanout(_) => "gateway_fanout",
            Self::GatewayFanoutMulti(_) => "gateway_fanout_multi",
            Self::Sends(_) => "sends",
            Self::IdleConnections(_) => "idle_connections",
            Self::ReconnectStorm(_) => "reconnect_storm",
            Self::LiveBox(_) => "live_box",
            Self::PresenceWrites(_) => "presence_writes",
            Self::Tasks(_) => "tasks",
            Self::Notify(_) => "notify",
            Self::RollingRestart(_) => "rolling_restart",
            Self::Tools(_) => "tools",
            Self::Hints(_) => "hints",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_has_its_name_and_a_smoke() {
        let all = Scenario::all().expect("they parse");
        assert_eq!(all.iter().map(Scenario::name).collect::<Vec<_>>(), SCENARIOS);
        let mut tiny: Vec<_> = Scenario::smoke().expect("they parse").iter().map(Scenario::name).collect();
        tiny.sort_unstable();
        let mut names = SCENARIOS;
        names.sort_unstable();
        assert_eq!(tiny, names);
    }

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory as _;
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_target_needs_both_kinds_of_nodes() {
        let parse = |more: &[&str]| {
            Arguments::try_parse_from(["perf", "sends"].iter().chain(more)).map(|parsed| parsed.place)
        };
        assert!(parse(&["--target-api=http://example.com"]).is_err());
        let both =
            parse(&["--target-api=http://example.com", "--target-gateway=ws://example.com/v1/gateway"]);
        assert_eq!(both.expect("both are there").target_gateway, ["ws://example.com/v1/gateway"]);
    }
}
