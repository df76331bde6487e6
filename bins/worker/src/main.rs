//! `switchboard-worker`: one node of role worker.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use node::{RoleName, Settings};
use process::settings::Loader;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// One worker node of a Switchboard cluster: removes what is no longer kept.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Configuration file (TOML).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Check the configuration and stop.
    #[arg(long)]
    check_config: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let loader = Loader::of_process().file(arguments.config.as_deref());
    let settings = match node::app::checked(loader.load::<Settings>()) {
        Ok(loaded) => loaded.settings,
        Err(code) => return code,
    };
    if arguments.check_config {
        println!("the configuration is good");
        return ExitCode::SUCCESS;
    }
    let build = async |settings: &Settings, id| {
        let admin = node::bind(settings.admin.listen).await?;
        worker::build(settings, id, admin).await
    };
    node::app::main(&settings, RoleName::Worker, build, std::future::pending::<()>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
