//! `switchboard cluster`: a real cluster on this machine.
//!
//! A private PostgreSQL, or one that is given, and api, gateway and worker processes of this very executable.
//! `plan` names nodes and gives them addresses, `member` is the process of one, `supervisor` looks after all
//! of them, `control` takes orders from other terminals, `home` is the directory in which it all lies.
//!
//! What happens when this process dies: nodes notice that their standard input ended, drain and stop;
//! PostgreSQL is stopped by the kernel's parent-death signal. What was left lying about is put in order at the next
//! start.

mod control;
mod database;
mod demo;
mod error;
mod found;
mod home;
mod leftovers;
mod logins;
mod member;
mod plan;
mod readiness;
mod report;
mod supervisor;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use error::ClusterError;
pub use found::Found;
pub use plan::Role;

use node::NoDatabase;
use store::postgres::DatabaseSettings;

use auth::AuthSettings;
use control::{Control, Request};
use database::Database;
use demo::DemoAgent;
use error::Context;
use home::Home;
use logins::Logins;
use member::Launcher;
use plan::{Counts, Plan, Spec};
use supervisor::{GRACE, Supervisor};

use crate::signals::Signals;

/// How the cluster tells what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// For people.
    Text,
    /// One JSON object on the first line of standard output.
    Json,
}

/// What a cluster is to be.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many nodes of each role.
    pub counts: Counts,
    /// The first port; free ones otherwise.
    pub port_base: Option<u16>,
    /// Where everything is kept.
    pub data_dir: PathBuf,
    /// What is printed.
    pub output: Output,
    /// A database that is there already, with how patient we are with it.
    pub database: DatabaseSettings,
    /// `shutdown.deadline` of the nodes.
    pub shutdown_deadline: Duration,
    /// A configuration file that every node reads.
    pub config: Option<PathBuf>,
    /// The executable that has the hidden subcommand `node`.
    pub program: PathBuf,
    /// Whether there is to be a demo agent, and how the password of its owner is kept.
    pub agent: Option<AuthSettings>,
}

/// Runs a cluster from its start until a signal has stopped the last of it.
///
/// # Errors
///
/// Each [`ClusterError`] says what to do about it.
pub async fn run(options: Options) -> Result<(), ClusterError> {
    let mut signals = Signals::listen().context(|| "can't listen for signals".to_owned())?;
    let home = Home::take(&options.data_dir)?;
    let (plan, nodes, database) = tokio::select! {
        // What was begun is ended when it is dropped.
        _ = signals.next() => return Err(ClusterError::Interrupted),
        prepared = prepared(&options, &home) => prepared?,
    };
    let settings = DatabaseSettings { url: database.url().to_owned(), ..options.database.clone() };
    let logins = match migrated(&settings, &database).await {
        Ok(logins) => logins,
        Err(error) => {
            database.stop().await?;
            return Err(error);
        }
    };
    let launcher = Launcher::new(options.program.clone(), options.config.as_deref(), told(&home), logins);
    let mut supervisor = Supervisor::new(home, database, plan, launcher, options.shutdown_deadline);
    let outcome = started(&mut supervisor, nodes, &options, &settings, &mut signals).await;
    let stopped = supervisor.stop(&mut signals).await;
    outcome.and(stopped)
}

/// Starts the nodes and serves until told to stop.
async fn started(
    supervisor: &mut Supervisor,
    nodes: Vec<Spec>,
    options: &Options,
    database: &DatabaseSettings,
    signals: &mut Signals,
) -> Result<(), ClusterError> {
    supervisor.start(nodes, signals).await?;
    let (control, mut requests) = Control::open(supervisor.dir())?;
    let mut demo = match &options.agent {
        Some(auth) => DemoAgent::begin(database, auth, supervisor.home(), supervisor.gateways()).await,
        None => None,
    };
    if let Some(demo) = &demo {
        supervisor.has_agent(demo.id);
    }
    let told = match options.output {
        Output::Json => supervisor.json(),
        Output::Text => supervisor.text(),
    };
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "{told}").and_then(|()| out.flush());
    drop(out);
    written.context(|| "can't write to standard output".to_owned())?;
    let working = async {
        match &mut demo {
            Some(demo) => demo.run().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = control.run() => {}
        () = supervisor.serve(&mut requests, signals) => {}
        () = working => {}
    }
    // While its gateway is there, so that its runs are given back at once.
    if let Some(demo) = demo {
        demo.stop().await;
    }
    Ok(())
}

/// Everything that nodes need before they are started. What needs least comes first.
async fn prepared(options: &Options, home: &Home) -> Result<(Plan, Vec<Spec>, Database), ClusterError> {
    if options.counts.contains(&(Role::Worker, 0)) {
        report::say(
            "no worker (--worker 0): what is past its time (events, sign-ins, nodes that died) stays in the database",
        );
    }
    let patience = options.shutdown_deadline + GRACE;
    let (plan, nodes) = Plan::first(options.port_base, options.counts, &home.leftovers(), patience).await?;
    Ok((plan, nodes, database(options, home).await?))
}

async fn database(options: &Options, home: &Home) -> Result<Database, ClusterError> {
    if !options.database.url.is_empty() {
        return Ok(Database::given(options.database.url.clone()));
    }
    report::say("starting PostgreSQL");
    let nodes = options.counts.iter().map(|(_, count)| count).sum();
    Database::private(&home.postgres(), nodes).await
}

/// Migrates the database. In a private one nodes have users of their own from then on.
async fn migrated(settings: &DatabaseSettings, database: &Database) -> Result<Logins, ClusterError> {
    let migrate = async {
        if database.is_private() {
            store::postgres::create_roles(settings).await?;
        }
        store::postgres::migrate(settings).await
    };
    if let Err(error) = migrate.await {
        return Err(NoDatabase::explain(settings, error).await.into());
    }
    Logins::of(database).await
}

/// What every node is told.
fn told(home: &Home) -> Vec<(&'static str, String)> {
    vec![
        ("cluster.mode", "multi".to_owned()),
        ("secrets.signing_key_dir", home.keys().display().to_string()),
        ("push.vapid_key_dir", home.push().display().to_string()),
        ("auth.registration", "open".to_owned()),
    ]
}

/// Kills a node of the cluster that runs on `data_dir`; it stays down.
///
/// # Errors
///
/// No cluster runs there, or it refuses.
pub async fn kill(data_dir: &Path, node: &str) -> Result<String, ClusterError> {
    control::ask(data_dir, &Request::Kill(node.to_owned())).await
}

/// Starts a node of the cluster that runs on `data_dir` again, at the same addresses.
///
/// # Errors
///
/// As [`kill`], and when it does not become ready.
pub async fn restart(data_dir: &Path, node: &str) -> Result<String, ClusterError> {
    control::ask(data_dir, &Request::Restart(node.to_owned())).await
}

/// Adds a node to the cluster that runs on `data_dir`.
///
/// # Errors
///
/// As [`restart`].
pub async fn add(data_dir: &Path, role: Role) -> Result<String, ClusterError> {
    control::ask(data_dir, &Request::Add(role)).await
}
