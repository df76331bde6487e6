//! One node of a role, as the local cluster starts it.

use std::os::fd::AsFd;
use std::process::ExitCode;

use domain::NodeId;
use node::{App, BuildError, Settings};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use crate::cluster::Role;
use crate::commands::role_name;

pub(super) fn run(settings: &Settings, role: Role, tethered: bool) -> ExitCode {
    let build = async |settings: &Settings, id: NodeId| -> Result<App, BuildError> {
        let admin = node::bind("admin.listen", settings.admin.listen).await?;
        match role {
            Role::Api => {
                api::build(settings, id, node::bind("http.listen", settings.http.listen).await?, admin).await
            }
            Role::Gateway => {
                gateway::build(
                    settings,
                    id,
                    node::bind("gateway.listen", settings.gateway.listen).await?,
                    admin,
                )
                .await
            }
            Role::Worker => worker::build(settings, id, admin).await,
        }
    };
    let let_go = async move {
        if tethered {
            end_of_input().await;
        } else {
            std::future::pending::<()>().await;
        }
    };
    node::app::main(settings, role_name(role), build, let_go)
}

/// Resolves when standard input ends: whoever started this node is gone.
async fn end_of_input() {
    let input = std::io::stdin().as_fd().try_clone_to_owned().and_then(pipe::Receiver::from_owned_fd);
    match input {
        Ok(mut input) => {
            let mut buffer = [0; 64];
            while matches!(input.read(&mut buffer).await, Ok(read) if read > 0) {}
            tracing::info!("whoever started this node is gone");
        }
        Err(error) => {
            tracing::warn!(%error, "standard input is no pipe; this node stays when its parent goes");
            std::future::pending::<()>().await;
        }
    }
}
