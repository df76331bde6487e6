//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::cluster::Role;

/// Where a local cluster lies unless it is told otherwise.
pub const DATA_DIR: &str = ".switchboard/cluster";

/// A self-hosted realtime backend: rooms and direct messages for people, each event once and in order.
///
/// Without a command: every role in one process, on an embedded database under ./.switchboard/, or on the PostgreSQL of
/// `--database-url`.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub common: Common,
    /// Makes no demo people, room and agent at the first start on the embedded database, and runs none.
    #[arg(long)]
    pub no_demo: bool,
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
        /// Makes the database roles switchboard_api, switchboard_gateway and switchboard_worker, which may do what nodes of that role do; wants
        /// a user with CREATEROLE. Users of nodes are made members of them.
        #[arg(long)]
        create_roles: bool,
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
    /// Looks for what is wrong with database, rights, listener, clocks and keys, and says what to do.
    Doctor {
        /// Looks whether the user of the database may do what nodes of this role do, and nothing else.
        #[arg(long)]
        role: Option<Role>,
        /// Which database.
        #[command(flatten)]
        administered: Administered,
    },
    /// Copies the embedded database and the keys into a new folder, while they are in use.
    Backup {
        /// The folder; it must not be there yet.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Writes everything of the embedded database, and the keys, into a new folder, to be taken to PostgreSQL by `import`.
    Export {
        /// The folder; it must not be there yet.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Exports although a process serves the database, to try the move out: what is written from then on is not in it.
        #[arg(long)]
        while_served: bool,
    },
    /// Puts an export into the PostgreSQL of `database.url`, which is migrated and was never served. Cut off, it goes on when it is run again.
    Import {
        /// The folder that `export` wrote.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Asks the node of this configuration, at its `admin.listen`, whether it is well: for health checks of containers.
    Healthcheck {
        /// What is asked.
        #[arg(value_enum, default_value = "ready")]
        about: Health,
    },
    /// An agent that answers with a language model behind any OpenAI-compatible API. The API's key, if it wants one, comes
    /// from SWITCHBOARD_OPENAI_API_KEY, OPENAI_API_KEY, or a file.
    Agent(AgentArgs),
    /// An agent that needs no model: it repeats, counts (`count to 10 slowly`), tells the time by a tool call of the
    /// browser (`time_zone`), and completes `/demo`.
    DemoAgent(DemoAgentArgs),
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
            Self::Cluster(_)
            | Self::Node { .. }
            | Self::Healthcheck { .. }
            | Self::Backup { .. }
            | Self::Export { .. }
            | Self::Import { .. }
            | Self::Agent(_)
            | Self::DemoAgent(_) => None,
            Self::Nodes(administered)
            | Self::Doctor { administered, .. }
            | Self::Keys(
                KeysCommand::List(administered)
                | KeysCommand::Rotate(administered)
                | KeysCommand::Retire { administered, .. },
            )
            | Self::User(UserCommand::Add { administered, .. })
            | Self::Migrate { administered, .. } => Some(administered),
        }
    }
}

/// What a health check asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Health {
    /// Whether the process answers; nothing outside of it is asked. Whoever restarts what is not well asks this.
    Live,
    /// Whether it can serve: its database answers, other nodes are heard, it does not stop. Whoever sends requests asks this.
    Ready,
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
    /// Makes an agent with the handle `demo`, owned by a person `demo-owner`, and runs it.
    #[arg(long)]
    pub demo_agent: bool,
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

/// How an agent reaches Switchboard and says who it is. Its token is never an argument, which others on the machine would see.
#[derive(Debug, Args)]
pub struct AgentAccess {
    /// Where Switchboard is: the URL of an api node, or of everything in one process.
    #[arg(long, value_name = "URL", env = "SWITCHBOARD_URL", default_value = "http://127.0.0.1:8080")]
    pub url: String,
    /// A gateway, ws://.../v1/gateway, where it is not at the same address; several are tried in turn.
    #[arg(long, value_name = "URL", env = "SWITCHBOARD_GATEWAY_URL", value_delimiter = ',')]
    pub gateway_url: Vec<String>,
    /// A file with the agent's token; otherwise SWITCHBOARD_AGENT_TOKEN has it.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

/// A bridge to a language model.
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// How it reaches Switchboard.
    #[command(flatten)]
    pub access: AgentAccess,
    /// The name of its connection: the newest one of a name holds it.
    #[arg(long, value_name = "NAME", default_value = "bridge")]
    pub consumer: String,
    /// Where the API of the model is, such as https://api.example.com/v1.
    #[arg(long, value_name = "URL")]
    pub openai_base_url: String,
    /// The name of the model.
    #[arg(long, value_name = "NAME")]
    pub model: String,
    /// A file with the key of that API.
    #[arg(long, value_name = "FILE")]
    pub api_key_file: Option<PathBuf>,
    /// What the model is told first.
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// How many messages and answers of the room the model is given.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u16).range(1..=500))]
    pub history: u16,
    /// Tools of the browser that the model may call: a JSON file with an array of OpenAI function definitions.
    #[arg(long, value_name = "FILE")]
    pub tools: Option<PathBuf>,
    /// How long the model may say nothing before the answer is given up.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub stall_timeout: Duration,
}

/// The demo agent.
#[derive(Debug, Args)]
pub struct DemoAgentArgs {
    /// How it reaches Switchboard.
    #[command(flatten)]
    pub access: AgentAccess,
    /// The name of its connection: the newest one of a name holds it.
    #[arg(long, value_name = "NAME", default_value = "demo")]
    pub consumer: String,
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
    /// All keys, and where each is on its way.
    List(Administered),
    /// Makes a key. It signs when every node has had the time to read it (`signing_key.cache_ttl`); the one before it retires then, and
    /// goes when its last token is past its time.
    Rotate(Administered),
    /// Takes a key out that does not sign yet; with `--at-once` any: one that got out, or one that is lost.
    Retire {
        /// Its id, as `keys list` shows it.
        kid: String,
        /// It got out, or its private part is lost: what it signed is refused by each node that hears of it, and the key that was to
        /// follow it signs now. Rotate first.
        #[arg(long)]
        at_once: bool,
        /// Where.
        #[command(flatten)]
        administered: Administered,
    },
}

/// How many nodes of a role one machine is asked to run.
const MOST_NODES: usize = 50;

fn duration(text: &str) -> Result<Duration, String> {
    let given = domain::duration::parse(text).map_err(|error| error.to_string())?;
    if given.is_zero() { Err("allowed is more than 0s".to_owned()) } else { Ok(given) }
}

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
            "switchboard --no-demo",
            "switchboard --database-url postgres://localhost/switchboard",
            "switchboard cluster --port-base 7100",
            "switchboard cluster --api 1 --gateway 1 --worker 1 --data-dir d --json",
            "switchboard cluster kill gateway-2 --data-dir d",
            "switchboard cluster restart postgres",
            "switchboard cluster add gateway",
            "switchboard migrate --new-log-epoch",
            "switchboard migrate --create-roles",
            "switchboard user add alex --admin --password-stdin",
            "switchboard keys list",
            "switchboard keys rotate",
            "switchboard keys retire 0198c0de --at-once --data-dir d",
            "switchboard nodes --database-url postgres://localhost/switchboard",
            "switchboard doctor --config c.toml",
            "switchboard doctor --data-dir d",
            "switchboard doctor --role gateway",
            "switchboard keys list --data-dir d",
            "switchboard backup copy",
            "switchboard export move",
            "switchboard export move --while-served",
            "switchboard import move --database-url postgres://localhost/switchboard",
            "switchboard healthcheck",
            "switchboard healthcheck live",
            "switchboard node api --tethered",
            "switchboard cluster --demo-agent",
            "switchboard demo-agent --url https://chat.example.com --token-file token",
            "switchboard agent --openai-base-url https://api.example.com/v1 --model m --system Hi --history 5 --tools t.json",
            "switchboard agent --openai-base-url http://h/v1 --model m --stall-timeout 90s --gateway-url ws://a/v1/gateway,ws://b/v1/gateway",
        ] {
            if let Err(error) = Cli::try_parse_from(line.split(' ')) {
                panic!("{line}: {error}");
            }
        }
    }
}
