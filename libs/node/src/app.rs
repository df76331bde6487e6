//! A node that is built, and what the mains of all roles do with it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use domain::NodeId;
use process::settings::{Loader, SettingsError};
use process::supervise::{Failure, signal};
use process::telemetry;

use crate::node::{BuildError, Node, RoleName};
use crate::settings::{ClusterMode, Settings};

/// A node with its role installed: bound and wired; [`App::run`] serves.
pub struct App {
    /// Where it listens for clients, by the name of what is served there. A worker has none.
    pub addresses: Vec<(&'static str, SocketAddr)>,
    node: Node,
}

impl App {
    /// A node that serves these addresses.
    #[must_use]
    pub const fn new(node: Node, addresses: Vec<(&'static str, SocketAddr)>) -> Self {
        Self { addresses, node }
    }

    /// The node itself.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// Serves until `stop` resolves, then stops in order.
    ///
    /// # Errors
    ///
    /// The task that ended although it never may.
    pub async fn run(self, stop: impl Future) -> Result<(), Failure> {
        for (what, address) in &self.addresses {
            tracing::info!(%address, "serving {what}");
        }
        self.node.run(stop).await
    }
}

/// The command line of the role binaries: one node of a Switchboard cluster.
#[derive(Debug, Parser)]
#[command(name = "switchboard", version)]
pub struct Arguments {
    /// Configuration file (TOML); otherwise the one that SWITCHBOARD_CONFIG names.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Check the configuration and stop.
    #[arg(long)]
    check_config: bool,
}

/// The main of a role binary: reads the command line and the configuration, then runs the node.
pub fn role_main<B>(role: RoleName, build: B) -> ExitCode
where
    B: AsyncFnOnce(&Settings, NodeId) -> Result<App, BuildError>,
{
    let arguments = Arguments::parse();
    let loader = Loader::of_process().file(arguments.config.as_deref());
    let settings = match checked(Settings::load_for(&loader, role)) {
        Ok(loaded) => loaded.settings,
        Err(code) => return code,
    };
    if arguments.check_config {
        println!("the configuration is good");
        return ExitCode::SUCCESS;
    }
    main(&settings, role, build, std::future::pending::<()>())
}

/// Settings that were loaded, or the exit code after telling why they could not be.
///
/// # Errors
///
/// The exit code for bad settings: 2.
pub fn checked<S>(loaded: Result<S, SettingsError>) -> Result<S, ExitCode> {
    loaded.map_err(|error| {
        eprintln!("switchboard: {error}");
        ExitCode::from(2)
    })
}

/// Runs a node of a role to its end: logs, runtime, signals, exit code.
///
/// `build` gets the settings and the id that logs carry; `stop` resolves when the node should end beside the signals.
pub fn main<B, S>(settings: &Settings, role: RoleName, build: B, stop: S) -> ExitCode
where
    B: AsyncFnOnce(&Settings, NodeId) -> Result<App, BuildError>,
    S: Future,
{
    let id = NodeId::new();
    let telemetry = match telemetry::init(&settings.log, &settings.telemetry, role.as_str(), id) {
        Ok(telemetry) => telemetry,
        Err(error) => {
            eprintln!("switchboard: {error}");
            return ExitCode::from(2);
        }
    };
    if settings.cluster.mode == ClusterMode::Single && role != RoleName::All {
        tracing::warn!(
            "cluster.mode is single: this node tells no other node and hears none; where it is not alone on its database, set multi"
        );
    }
    let code = run(settings, id, build, stop);
    telemetry.finish();
    code
}

fn run<B, S>(settings: &Settings, id: NodeId, build: B, stop: S) -> ExitCode
where
    B: AsyncFnOnce(&Settings, NodeId) -> Result<App, BuildError>,
    S: Future,
{
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "can't start the runtime");
            return ExitCode::FAILURE;
        }
    };
    runtime.block_on(async {
        let told = async {
            tokio::select! {
                signalled = signal() => match signalled {
                    Ok(name) => tracing::info!(signal = name, "told to stop"),
                    Err(error) => tracing::error!(%error, "can't listen for signals"),
                },
                _ = stop => {}
            }
        };
        // Heard from here on: who is told to stop while it starts stops too, and leaves nothing.
        let mut told = std::pin::pin!(told);
        let built = tokio::select! {
            biased;
            () = &mut told => return ExitCode::SUCCESS,
            built = build(settings, id) => built,
        };
        let app = match built {
            Ok(app) => app,
            Err(error) => {
                tracing::error!(%error, "the node can't start");
                return ExitCode::from(error.exit_code());
            }
        };
        match app.run(told).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                tracing::error!(%failure, "the node failed");
                ExitCode::FAILURE
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[tokio::test]
    async fn a_port_that_is_taken_is_named_with_its_setting() {
        let taken = crate::bind("http.listen", ([127, 0, 0, 1], 0).into()).await.expect("a free port");
        let address = taken.local_addr().expect("an address");
        let refused = crate::bind("http.listen", address).await.expect_err("it is taken");
        let text = refused.to_string();
        assert!(text.starts_with(&format!("http.listen: can't listen on {address}: ")), "{text}");
        assert_eq!(refused.exit_code(), 1);
    }

    #[test]
    fn bad_settings_end_with_two_and_faults_with_one() {
        let invalid = || domain::Invalid::new("scheduler.lease", "0ms", "at least 1s");
        let settings = || store::StoreError::Settings(invalid());
        for bad in [
            BuildError::Invalid(invalid()),
            BuildError::Auth(invalid().into()),
            BuildError::Auth(settings().into()),
            BuildError::Store(settings()),
            BuildError::Database(crate::NoDatabase::Other(settings())),
        ] {
            assert_eq!(bad.exit_code(), 2, "{bad:?}");
        }
        let away = || store::StoreError::Unavailable("no connection".into());
        for fault in [
            BuildError::Store(away()),
            BuildError::Database(crate::NoDatabase::Other(away())),
            BuildError::Metrics("twice".into()),
        ] {
            assert_eq!(fault.exit_code(), 1, "{fault:?}");
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }
}
