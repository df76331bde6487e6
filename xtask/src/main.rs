//! Repo rules that run: `cargo xtask test` is the whole test run, the other commands are its steps.
//!
//! Here lives what checks or drives the repository itself: the order of a test run, the tools it needs, the rules of
//! tidiness and of layers, the conformance run. What never lives here: anything that the product needs.

mod chart;
mod compose;
mod conformance;
mod image;
mod layers;
mod lexer;
mod repo;
mod steps;
mod tidy;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What a command gives back: nothing, or what is wrong in words for people.
type Outcome<T = ()> = Result<T, String>;

/// The rules and the test run of this repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
enum Command {
    /// The whole test run: tools, then every step below, stopping at the first that fails
    Test,
    /// Installs what the test run lacks, or says what is missing
    Tools,
    /// Formatting
    Fmt,
    /// Lints: clippy over every target, warnings are errors
    Lint,
    /// Text rules: sizes, dashes, unfinished marks, SQL in its place, documented codes and metrics
    Tidy,
    /// Dependencies point down only, and none is unused
    Layers,
    /// The container image: hadolint, pinned bases, nobody's root
    Image,
    /// The compose files, read by the real parser: every service confined, limited, watched, and stopped in order
    Compose,
    /// Unit and integration tests
    Unit,
    /// Examples in documentation
    Doc,
    /// The WebSocket layer against Autobahn's cases
    Conformance,
    /// The chart for Kubernetes, its alert rules and its dashboard
    Chart,
    /// Licences, bans and sources of dependencies (needs cargo-deny; not part of the test run)
    Deny,
}

fn main() -> ExitCode {
    match steps::run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_defined() {
        super::Cli::command().debug_assert();
    }
}
