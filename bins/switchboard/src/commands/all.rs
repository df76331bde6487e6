//! Every role in one process.

use std::io::Write;
use std::process::ExitCode;

use domain::NodeId;
use node::{App, BuildError, ClusterMode, Faces, NoDatabase, Node, RoleName, Settings};
use process::http::{ServeSettings, Server};
use process::settings::{Loaded, Source};

use crate::conversation::{self, Entrance};

const NO_DATABASE: &str = "\
switchboard: there is no database. The embedded one comes with a later release; until then

  switchboard cluster                                      brings up a cluster with a PostgreSQL of its own
  switchboard --database-url postgres://user:password@host/database
                                                           uses one that you have";

/// Migrates the database, serves everything on `http.listen`, and prints where.
pub(super) fn run(loaded: Loaded<Settings>) -> ExitCode {
    // One process: nobody to notify, nobody to hear, unless somebody says that there are others.
    let alone = loaded.source("cluster.mode") == Source::Default;
    let mut settings = loaded.settings;
    if settings.database.url.is_empty() {
        eprintln!("{NO_DATABASE}");
        return ExitCode::from(2);
    }
    if alone {
        settings.cluster.mode = ClusterMode::Single;
    }
    node::app::main(&settings, RoleName::All, build, std::future::pending::<()>())
}

async fn build(settings: &Settings, id: NodeId) -> Result<App, BuildError> {
    if let Err(error) = store::postgres::migrate(&settings.database).await {
        return Err(NoDatabase::explain(&settings.database, error).await.into());
    }
    let listener = node::bind(settings.http.listen).await?;
    let admin = node::bind(settings.admin.listen).await?;
    let listen = |error| BuildError::Listen(settings.http.listen.to_string(), error);
    let address = listener.local_addr().map_err(listen)?;
    let info = node::describe(settings, RoleName::All, id, &address.to_string());
    let node = Node::build(settings, info).await?;
    let (faces, keeper) = Faces::keeping(&node, settings).await?;
    let routes = api::api(&node, &faces, keeper, settings).await?;
    let routes = routes.merge(gateway::gateway(&node, &faces, settings)?.router());
    worker::install(&node, settings)?;
    let serve = ServeSettings {
        header_read_timeout: settings.http.header_read_timeout,
        peer_timeout: settings.http.peer_timeout,
        max_connections: settings.http.max_connections.saturating_add(settings.gateway.max_connections),
    };
    let server = Server::new("http", listener, routes, serve);
    node.serve_http("http listener", server, settings.shutdown.deadline);
    node.serve_admin(admin);
    node.drain_connections(settings.shutdown.spread);
    // Whoever started it may not listen; that is no reason to stop.
    let _told = writeln!(std::io::stdout(), "{}", greeting(settings, &address.to_string()));
    Ok(App::new(node, vec![("HTTP, event streams and WebSockets", address)]))
}

fn greeting(settings: &Settings, address: &str) -> String {
    let (people, entrance) = match settings.auth.registration {
        auth::RegistrationMode::Open => ("open", Entrance::Open),
        auth::RegistrationMode::Closed => {
            ("closed: people are added by `switchboard user add`", Entrance::Closed)
        }
    };
    let (api, gateway) = (format!("http://{address}"), format!("ws://{address}/v1/gateway"));
    format!(
        "Switchboard serves {api} (OpenAPI at /v1/openapi.json) and {gateway}.\n\
         Health and metrics: http://{}/healthz/ready, /metrics. Registration is {people}.\n\n{}",
        settings.admin.listen,
        conversation::text(&api, &gateway, entrance)
    )
}
