//! A cluster on this machine, and what is done to it.

use std::path::PathBuf;

use node::Settings;

use crate::cli::{ClusterAction, ClusterArgs};
use crate::cluster::{self, Options, Output, Role};
use crate::commands::{Failure, say};

pub(super) async fn run(
    arguments: ClusterArgs,
    config: Option<PathBuf>,
    settings: Settings,
) -> Result<(), Failure> {
    let told = match &arguments.action {
        Some(ClusterAction::Kill(node)) => cluster::kill(&node.data_dir, &node.node).await?,
        Some(ClusterAction::Restart(node)) => cluster::restart(&node.data_dir, &node.node).await?,
        Some(ClusterAction::Add { role, data_dir }) => cluster::add(data_dir, *role).await?,
        None => return start(arguments, config, settings).await,
    };
    say(told)
}

async fn start(arguments: ClusterArgs, config: Option<PathBuf>, settings: Settings) -> Result<(), Failure> {
    let options = Options {
        counts: [
            (Role::Api, arguments.api),
            (Role::Gateway, arguments.gateway),
            (Role::Worker, arguments.worker),
        ],
        port_base: arguments.port_base,
        data_dir: arguments.data_dir,
        output: if arguments.json { Output::Json } else { Output::Text },
        database: settings.database,
        shutdown_deadline: settings.shutdown.deadline,
        config,
        program: std::env::current_exe()?,
        agent: if arguments.demo_agent { Some(settings.auth) } else { None },
    };
    Ok(cluster::run(options).await?)
}
