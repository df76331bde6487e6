//! What the commands do.

mod administered;
mod agent;
mod all;
mod backup;
mod demo_agent;
mod doctor;
mod export;
mod healthcheck;
mod import;
mod key_files;
mod keys;
mod local_cluster;
mod migrate;
mod nodes;
mod one_node;
mod transfer;
mod user;

use std::fmt::Display;
use std::future::Future;
use std::io::Write;
use std::process::ExitCode;

use domain::Role;
use node::{RoleName, Settings};
use process::settings::{Loaded, Loader};

use crate::cli::{Cli, Command, KeysCommand, UserCommand};

/// Why a command failed, in words for whoever ran it.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Runs a command line to its exit code: 0 done, 1 failed, 2 bad configuration.
#[must_use]
pub fn run(cli: Cli) -> ExitCode {
    let loaded = match load(&cli) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    if cli.common.check_config {
        return finish(async { say("the configuration is good") });
    }
    let Some(command) = cli.command else {
        let beginning = if cli.no_demo { all::Beginning::Bare } else { all::Beginning::Demo };
        return all::run(loaded, beginning);
    };
    let settings = loaded.settings;
    match command {
        Command::Node { role, tethered } => one_node::run(&settings, role, tethered),
        Command::Cluster(arguments) => finish(local_cluster::run(arguments, cli.common.config, settings)),
        Command::Migrate { new_log_epoch, create_roles, .. } => {
            finish(migrate::run(settings, migrate::Extras { new_log_epoch, create_roles }))
        }
        Command::User(UserCommand::Add { handle, display_name, admin, password_stdin, .. }) => {
            let role = if admin { Role::Admin } else { Role::User };
            let password = if password_stdin { user::Password::Given } else { user::Password::Made };
            finish(user::add(settings, user::NewUser { handle, display_name, role, password }))
        }
        Command::Keys(KeysCommand::List(_)) => finish(keys::list(settings)),
        Command::Keys(KeysCommand::Rotate(_)) => finish(keys::rotate(settings)),
        Command::Keys(KeysCommand::Retire { kid, at_once: false, .. }) => finish(keys::retire(settings, kid)),
        Command::Keys(KeysCommand::Retire { kid, at_once: true, .. }) => finish(keys::expel(settings, kid)),
        Command::Nodes(_) => finish(nodes::run(settings)),
        Command::Backup { dir } => finish(backup::run(settings, dir)),
        Command::Export { dir, while_served } => {
            let when = if while_served { export::When::EvenServed } else { export::When::Stopped };
            finish(export::run(settings, dir, when))
        }
        Command::Import { dir } => finish(import::run(settings, dir)),
        Command::Doctor { role, .. } => finish(doctor::run(settings, role)),
        Command::Healthcheck { about } => finish(healthcheck::run(settings, about)),
        Command::Agent(arguments) => finish(agent::run(arguments, settings)),
        Command::DemoAgent(arguments) => finish(demo_agent::run(arguments, settings)),
    }
}

fn load(cli: &Cli) -> Result<Loaded<Settings>, ExitCode> {
    let loader = Loader::of_process().file(cli.common.config.as_deref());
    let loader = match &cli.common.database_url {
        Some(url) => loader.flag("database.url", url),
        None => loader,
    };
    let loaded = match role_of(cli.command.as_ref()) {
        Some(role) => Settings::load_for(&loader, role),
        None => Settings::load(&loader),
    };
    let loaded = node::app::checked(loaded)?;
    let Some(administered) = cli.command.as_ref().and_then(Command::administered) else { return Ok(loaded) };
    if administered.data_dir.is_some() && cli.common.database_url.is_some() {
        eprintln!("switchboard: --data-dir and --database-url each name a database: give one of them");
        return Err(ExitCode::from(2));
    }
    if cli.common.check_config { Ok(loaded) } else { administered::settings(administered, loaded, loader) }
}

/// The role of the node that a command runs in this process, if it runs one.
const fn role_of(command: Option<&Command>) -> Option<RoleName> {
    match command {
        None => Some(RoleName::All),
        Some(Command::Node { role, .. }) => Some(role_name(*role)),
        Some(_) => None,
    }
}

/// Runs a command that ends by itself.
fn finish(command: impl Future<Output = Result<(), Failure>>) -> ExitCode {
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::from)
        .and_then(|runtime| runtime.block_on(command));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("switchboard: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints one line of a command's answer.
fn say(line: impl Display) -> Result<(), Failure> {
    match writeln!(std::io::stdout(), "{line}") {
        // Whoever read it has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Commands that need a database say how to give one.
fn require_database(settings: &Settings) -> Result<(), Failure> {
    if settings.is_embedded() {
        return Err(
            "there is no database: start `switchboard`, which makes one of its own (.switchboard/), or give --database-url postgres://user:password@host/database, the key \
                    database.url, or the --data-dir of a cluster that runs on this machine"
                .into(),
        );
    }
    Ok(())
}

/// The store, for a command that serves nobody.
async fn store(settings: &Settings) -> Result<std::sync::Arc<dyn store::Store>, Failure> {
    // One that is not there is made by who serves it, not by a look at it.
    if !settings.embedded.file.exists() {
        require_database(settings)?;
    }
    Ok(node::join_store(settings, &prometheus::Registry::new()).await?)
}

/// The role by its name on the command line.
const fn role_name(role: crate::cluster::Role) -> RoleName {
    match role {
        crate::cluster::Role::Api => RoleName::Api,
        crate::cluster::Role::Gateway => RoleName::Gateway,
        crate::cluster::Role::Worker => RoleName::Worker,
    }
}
