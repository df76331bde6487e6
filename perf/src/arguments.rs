//! The command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use serde::Serialize;

use crate::failure::Failure;
use crate::scenario::{agents, fanout, hints, idle, notify, presence, restart, sends, storm, tasks};
use crate::{bare, growth};

/// Measures Switchboard on this machine.
///
/// Begin with `smoke`, which takes a minute, or with one scenario: `perf gateway_fanout`. `perf SCENARIO --help` has its numbers.
#[derive(Debug, Parser)]
#[command(
    name = "perf",
    arg_required_else_help = true,
    after_help = "It ends with 0; with 1 when a scenario failed or a budget is missed; with 2 when it can't do what it is told: \
                  a wrong option, a file that is no result, a deployment that is not there; with 128 and the number of the \
                  signal that stopped it."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What is measured, and where results go.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What is measured, and where results go")]
pub(crate) struct Place {
    /// The `switchboard` program; default: the one built beside this one.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) switchboard: Option<PathBuf>,
    /// Where results are written; default: `results` beside the sources of this program.
    #[arg(long, global = true, value_name = "DIRECTORY")]
    pub(crate) results: Option<PathBuf>,
    /// Addresses of the api nodes of a deployment that runs already: http://...
    #[arg(long, global = true, value_name = "URL", value_delimiter = ',', requires = "target_gateway")]
    #[arg(value_parser = address(["http://", "https://"]))]
    pub(crate) target_api: Vec<String>,
    /// Addresses of its gateways: ws://.../v1/gateway
    #[arg(long, global = true, value_name = "URL", value_delimiter = ',', requires = "target_api")]
    #[arg(value_parser = address(["ws://", "wss://"]))]
    pub(crate) target_gateway: Vec<String>,
    /// An access token of the person in whose name all is done; without it people are registered.
    #[arg(long, global = true, value_name = "TOKEN", env = "PERF_TOKEN", hide_env_values = true)]
    pub(crate) target_token: Option<String>,
}

/// Reads an address that begins with one of these.
fn address(
    schemes: [&'static str; 2],
) -> impl Fn(&str) -> Result<String, String> + Clone + Send + Sync + 'static {
    move |given| {
        let host = schemes.iter().find_map(|scheme| given.strip_prefix(scheme));
        match host {
            Some(host) if !host.is_empty() && !host.starts_with('/') => Ok(given.to_owned()),
            _ => Err(format!(
                "an address that begins with {} and names a host is allowed",
                schemes.join(" or ")
            )),
        }
    }
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Names the scenarios, with what each measures.
    List,
    /// Every scenario, with its defaults: the better part of an hour. Other numbers are set one scenario at a time.
    All,
    /// Every scenario with tiny numbers on one cluster, to see that it runs: a minute.
    Smoke,
    /// Two results as ratios, the second divided by the first.
    Compare {
        /// A result.
        first: PathBuf,
        /// Another one, which is divided by it.
        second: PathBuf,
    },
    /// Compares results with the budgets: reached, missed or not measured, and why; ends with 1 when one is missed.
    Check {
        /// Results; what they have is taken together.
        #[arg(required = true, value_name = "RESULT")]
        files: Vec<PathBuf>,
        /// The budgets; default: `budgets.toml` beside the sources of this program.
        #[arg(long)]
        budgets: Option<PathBuf>,
    },
    /// Draws the latencies of a result again.
    Plot {
        /// A result.
        result: PathBuf,
    },
    /// What a deployment of some size would take, computed from what one thing costs; nothing is measured.
    Growth(growth::Asked),
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

impl Arguments {
    /// The command line of this process, or else its end with what is wrong with it.
    pub(crate) fn read() -> Self {
        let mut matches = command().get_matches();
        Self::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.exit())
    }

    fn try_read<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Self, clap::Error> {
        let all = std::iter::once("perf").chain(arguments);
        Self::from_arg_matches(&command().try_get_matches_from(all)?)
    }
}

/// A negative number is a wrong value, not an unknown option.
fn command() -> clap::Command {
    Arguments::command().mut_subcommands(|scenario| {
        scenario.mut_args(|option| {
            let takes_values = option.get_action().takes_values() && !option.is_positional();
            option.allow_negative_numbers(takes_values)
        })
    })
}

/// What each scenario measures, a line for each.
pub(crate) fn list() -> String {
    let all = command();
    let line = |name: &&str| {
        let about = all.find_subcommand(name).and_then(clap::Command::get_about);
        format!("{name:<22}{}\n", about.map(ToString::to_string).unwrap_or_default())
    };
    SCENARIOS.iter().map(line).collect()
}

impl Scenario {
    /// A scenario by its name, with its defaults or these options.
    fn parse(arguments: &[&str]) -> Result<Self, Failure> {
        let parsed = Arguments::try_read(arguments.iter().copied())?;
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
        command().debug_assert();
    }

    #[test]
    fn results_to_be_checked_and_where_results_go_are_two_things() {
        for arguments in [
            ["--results=there", "check", "one.json", "two.json"],
            ["check", "one.json", "two.json", "--results=there"],
        ] {
            let Arguments { place, command } = Arguments::try_read(arguments).expect("read");
            let Command::Check { files, .. } = command else { panic!("{command:?}") };
            assert_eq!(
                (files, place.results),
                (vec!["one.json".into(), "two.json".into()], Some("there".into()))
            );
        }
    }

    #[test]
    fn a_target_needs_both_kinds_of_nodes() {
        let parse = |more: &[&'static str]| {
            Arguments::try_read(["sends"].iter().chain(more).copied()).map(|parsed| parsed.place)
        };
        assert!(parse(&["--target-api=http://example.com"]).is_err());
        let both =
            parse(&["--target-api=http://example.com", "--target-gateway=ws://example.com/v1/gateway"]);
        assert_eq!(both.expect("both are there").target_gateway, ["ws://example.com/v1/gateway"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_option_and_with_what_is_allowed() {
        for (arguments, expected) in [
            (vec!["gateway_fanout", "--rate=0"], ["--rate", "'0'", "1 to 100000"]),
            (vec!["gateway_fanout", "--rate", "-5"], ["--rate", "'-5'", "1 to 100000"]),
            (vec!["sends", "--senders=8,0"], ["--senders", "'0'", "1 to 100000"]),
            (vec!["sends", "--seconds=86400"], ["--seconds", "'86400'", "1 to 3600"]),
            (vec!["notify", "--gateways", "51"], ["--gateways", "'51'", "1 to 50"]),
            (vec!["tasks", "--jobs=many"], ["--jobs", "'many'", "1 to 10000000"]),
            (
                vec!["gateway_fanout_multi", "--arms=switchboard,mqtt"],
                ["--arms", "'mqtt'", "socketio_redis_durable"],
            ),
            (
                vec!["sends", "--target-api=example.com", "--target-gateway=ws://b"],
                ["--target-api", "'example.com'", "http://"],
            ),
            (
                vec!["sends", "--target-api=http://a", "--target-gateway=http://b"],
                ["--target-gateway", "'http://b'", "ws://"],
            ),
            (vec!["sendz"], ["unrecognized", "'sendz'", "'sends'"]),
        ] {
            let said = Arguments::try_read(arguments.iter().copied()).expect_err("refused").to_string();
            assert!(expected.iter().all(|part| said.contains(part)), "{arguments:?}: {said}");
        }
    }

    #[test]
    fn every_number_of_every_scenario_has_a_range() {
        for name in SCENARIOS {
            let all = command();
            let scenario = all.find_subcommand(name).expect("a scenario");
            for option in scenario.get_arguments().filter_map(clap::Arg::get_long) {
                if ["arms", "peers", "switchboard", "results", "help"].contains(&option) {
                    continue;
                }
                let huge = format!("--{option}=99999999999");
                let said = Arguments::try_read([name, huge.as_str()]).expect_err(option).to_string();
                assert!(said.contains("a whole number from"), "{name} {huge}: {said}");
            }
        }
    }
}
