//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::cluster::Role;

/// Where a local cluster lies unless it is told otherwise.
pub const DATA_DIR: &str = ".switchboard/cluster";

/// A self-hosted realtime backend: rooms and direct messages for people, each event once and in order.
///
/// Without a command: every role in one process, on the PostgreSQL of `--database-url`.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub common: Common,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Configuration file (TOML); otherwise the one that SWITCHBOARD_CONFIG names.
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// PostgreSQL: postgres://user:password@host/database; the key `database.url`. Others on this machine see
    /// arguments; they do not see SWITCHBOARD__DATABASE__URL.
    #[arg(long, value_name = "URL", global = true)]
    pub database_url: Option<String>,
    /// Check the configuration and stop.
    #[arg(long, global = true)]
    pub check_config: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A real cluster on this machine: PostgreSQL, api, gateway and worker processes; ctrl-c stops all of it.
    Cluster(ClusterArgs),
    /// Brings the database up to this release.
    Migrate {
        /// Begins a new log epoch: after a restore, so that clients do not take old numbers for new ones.
        #[arg(long)]
        new_log_epoch: bool,
        /// Which database.
        #[command(flatten)]
        administered: Administered,
    },
    /// People.
    #[command(subcommand)]
    User(UserCommand),
    /// Signing keys.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// The nodes that run, as the database knows them.
    Nodes(Administered),
    /// Looks for what is wrong with database, listener, clocks and keys, and says what to do.
    Doctor(Administered),
    /// One node of a role, as `cluster` starts it.
    #[command(hide = true)]
    Node {
        /// Which role.
        role: Role,
        /// Drains and ends when standard input ends.
        #[arg(long)]
        tethered: bool,
    },
}

impl Command {
    /// What a command of an administrator is about; none for what is no such command.
    #[must_use]
    pub const fn administered(&self) -> Option<&Administered> {
        match self {
            Self::Cluster(_) | Self::Node { .. } => None,
            Self::Nodes(administered)
            | Self::Doctor(administered)
            | Self::Keys(KeysCommand::List(administered))
            | Self::User(UserCommand::Add { administered, .. })
            | Self::Migrate { administered, .. } => Some(administered),
        }
    }
}

/// What a command of an administrator is about: the database and keys of the configuration, or those of a local cluster.
#[derive(Debug, Args)]
pub struct Administered {
    /// The data directory of a local cluster that runs, whose database and keys are meant. Without it, and without a
    /// database in the configuration, the one that runs on .switchboard/cluster is.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

/// A cluster, or something done to the one that runs.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ClusterArgs {
    /// Something to do to the running cluster.
    #[command(subcommand)]
    pub action: Option<ClusterAction>,
    /// Api nodes.
    #[arg(long, value_name = "N", default_value = "2", value_parser = at_least_one)]
    pub api: usize,
    /// Gateway nodes.
    #[arg(long, value_name = "N", default_value = "2", value_parser = at_least_one)]
    pub gateway: usize,
    /// Worker nodes; without any, nothing is removed that is past its time.
    #[arg(long, value_name = "N", default_value = "2", value_parser = at_most)]
    pub worker: usize,
    /// The first port: nodes take two each, in order; free ones otherwise.
    #[arg(long, value_name = "PORT")]
    pub port_base: Option<u16>,
    /// Where database, keys and logs are kept.
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    pub data_dir: PathBuf,
    /// One JSON object with every URL on the first line of standard output, once all nodes are ready.
    #[arg(long)]
    pub json: bool,
}

/// Something to do to the running cluster.
#[derive(Debug, Subcommand)]
pub enum ClusterAction {
    /// Kills a node with SIGKILL; it stays down.
    Kill(NodeName),
    /// Starts a node again at its addresses, draining it first if it runs.
    Restart(NodeName),
    /// Adds a node.
    Add {
        /// Of which role.
        role: Role,
        /// The data directory of the cluster.
        #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
        data_dir: PathBuf,
    },
}

/// A node of a running cluster.
#[derive(Debug, Args)]
pub struct NodeName {
    /// Its name, such as gateway-1; or postgres.
    pub node: String,
    /// The data directory of the cluster.
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    pub data_dir: PathBuf,
}

/// People.
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Adds a person; works also while registration is closed.
    Add {
        /// The unique handle.
        handle: String,
        /// The name that people read; the handle otherwise.
        #[arg(long)]
        display_name: Option<String>,
        /// May use /v1/admin.
        #[arg(long)]
        admin: bool,
        /// Reads the password from the first line of standard input; otherwise one is made and shown once.
        #[arg(long)]
        password_stdin: bool,
        /// Where.
        #[command(flatten)]
        administered: Administered,
    },
}

/// Signing keys.
#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// The keys of `secrets.signing_key_dir`.
    List(Administered),
}

/// How many nodes of a role one machine is asked to run.
const MOST_NODES: usize = 50;

fn at_most(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| *count <= MOST_NODES);
    count.ok_or_else(|| format!("allowed is 0 to {MOST_NODES}"))
}

/// Without a node of these roles clients could do nothing.
fn at_least_one(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=MOST_NODES).contains(count));
    count.ok_or_else(|| format!("allowed is 1 to {MOST_NODES}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn what_the_documents_show_is_taken() {
        for line in [
            "switchboard",
            "switchboard --database-url postgres://localhost/switchboard",
            "switchboard cluster --port-base 7100",
            "switchboard cluster --api 1 --gateway 1 --worker 1 --data-dir d --json",
            "switchboard cluster kill gateway-2 --data-dir d",
            "switchboard cluster restart postgres",
            "switchboard cluster add gateway",
            "switchboard migrate --new-log-epoch",
            "switchboard user add alex --admin --password-stdin",
            "switchboard keys list",
            "switchboard nodes --database-url postgres://localhost/switchboard",
            "switchboard doctor --config c.toml",
            "switchboard doctor --data-dir d",
            "switchboard keys list --data-dir d",
            "switchboard node api --tethered",
        ] {
            if let Err(error) = Cli::try_parse_from(line.split(' ')) {
                panic!("{line}: {error}");
            }
        }
    }
}
