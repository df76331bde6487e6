//! Every role in one process.

use std::fmt::Display;
use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;

use domain::NodeId;
use node::{App, BuildError, ClusterMode, Faces, NoDatabase, Node, RoleName, Settings};
use process::http::{ServeSettings, Server};
use process::settings::{Loaded, Source};
use process::supervise::Phase;

use crate::conversation::{self, Entrance};
use crate::embedded::{Demo, Folder, greeting};

const NOT_SHARED: &str = "single on the embedded database, which no other process can share; for more nodes name a PostgreSQL (database.url)";

/// What a fresh embedded database begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// The demo people, their room and the demo agent.
    Demo,
    /// Nothing.
    Bare,
}

/// Serves everything on `http.listen`, and prints where.
pub(super) fn run(loaded: Loaded<Settings>, beginning: Beginning) -> ExitCode {
    // One process: nobody to notify, nobody to hear, unless somebody says that there are others.
    let alone = loaded.source("cluster.mode") == Source::Default;
    if loaded.settings.is_embedded() && !alone && loaded.settings.cluster.mode == ClusterMode::Multi {
        eprintln!("switchboard: {}", loaded.refuse("cluster.mode", NOT_SHARED));
        return ExitCode::from(2);
    }
    let mut settings = loaded.settings;
    if alone {
        settings.cluster.mode = ClusterMode::Single;
    }
    if settings.is_embedded() {
        return embedded(&settings, beginning);
    }
    node::app::main(&settings, RoleName::All, on_postgres, std::future::pending::<()>())
}

fn embedded(settings: &Settings, beginning: Beginning) -> ExitCode {
    let folder = match Folder::take(&settings.embedded.file) {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("switchboard: {error}");
            return ExitCode::FAILURE;
        }
    };
    if beginning == Beginning::Demo
        && !folder.was_there()
        && let Err(why) = Demo::promise(&folder)
    {
        eprintln!("switchboard: {why}");
        return ExitCode::FAILURE;
    }
    let build = async |settings: &Settings, id| on_file(settings, id, &folder, beginning).await;
    let code = node::app::main(settings, RoleName::All, build, std::future::pending::<()>());
    // Of one that did not come to serve there is nothing to be said but why.
    if code == ExitCode::SUCCESS
        && let Err(error) = store::sqlite::rest(&settings.embedded.file)
    {
        // Not worth an exit code: what was acknowledged is kept, and the next start copes.
        eprintln!("switchboard: {error}; the database was not put to rest");
    }
    code
}

async fn on_file(
    settings: &Settings,
    id: NodeId,
    folder: &Folder,
    beginning: Beginning,
) -> Result<App, BuildError> {
    let (node, address) = assemble(settings, id).await?;
    let demo = match beginning {
        Beginning::Bare => Ok(None),
        Beginning::Demo => Demo::find(folder, &*node.store, &settings.auth).await,
    };
    let demo = demo.unwrap_or_else(|why| {
        tracing::warn!(why, "no demo");
        None
    });
    if folder.is_open() {
        tracing::warn!(
            "others of this machine can enter the folder of the database, where its keys are: chmod 700"
        );
    }
    if let Some(at) = folder.exported() {
        tracing::warn!(
            at,
            "everything here was exported: when it is served elsewhere by now, stop this process, or people will be signed out of one of the two; \
             when it is not, remove the file `exported` beside the database"
        );
    }
    if let Some(demo) = &demo {
        let drain = node.supervisor.at(Phase::Drain);
        drain.transient("demo agent", demo.serve(format!("ws://{address}/v1/gateway"), drain.token()));
    }
    let health = settings.admin.listen.to_string();
    tell(greeting(folder, demo.as_ref(), &address.to_string(), &health, node::VERSION));
    Ok(served(node, address))
}

async fn on_postgres(settings: &Settings, id: NodeId) -> Result<App, BuildError> {
    if let Err(error) = store::postgres::migrate(&settings.database).await {
        return Err(NoDatabase::explain(&settings.database, error).await.into());
    }
    let (node, address) = assemble(settings, id).await?;
    tell(conversation(settings, &address.to_string()));
    Ok(served(node, address))
}

/// A node with every role, bound and wired, and where it listens.
async fn assemble(settings: &Settings, id: NodeId) -> Result<(Node, SocketAddr), BuildError> {
    let listener = node::bind("http.listen", settings.http.listen).await?;
    let admin = node::bind("admin.listen", settings.admin.listen).await?;
    let listen = |error| BuildError::Listen { key: "http.listen", address: settings.http.listen, error };
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
    Ok((node, address))
}

fn served(node: Node, address: SocketAddr) -> App {
    App::new(node, vec![("HTTP, event streams and WebSockets", address)])
}

/// Whoever started it may not listen; that is no reason to stop.
fn tell(text: impl Display) {
    let _told = writeln!(std::io::stdout(), "{text}");
}

fn conversation(settings: &Settings, address: &str) -> String {
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
