//! Measurements of Switchboard as its clients see it.
//!
//! `cargo run --release -p perf -- list` names the scenarios. Each starts a local cluster of its own
//! (`switchboard cluster`, built beside this program) or goes to a deployment that runs (`--target-api`, `--target-gateway`), measures through real sockets,
//! prints a table and writes a result. Latencies count from the moment at which a send was due, not from when it could be made.
//!
//! This process makes the load and does nothing else, so its processor time can be told from that of what is measured.

mod aligned;
mod arguments;
mod bare;
mod budget;
mod child;
mod cluster;
mod compare;
mod database;
mod ending;
mod failure;
mod ground;
mod growth;
mod machine;
mod metrics;
mod people;
mod plot;
mod report;
mod result;
mod run;
mod scenario;
mod usage;
mod whole;
mod wire;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::aligned::aligned;
use crate::arguments::{Arguments, Command, Scenario};
use crate::ending::Signals;
use crate::failure::{Failure, Unusable};
use crate::result::Run;

fn main() -> ExitCode {
    let arguments = Arguments::read();
    usage::raise_open_files();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("perf: can't start the runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(until_told(arguments));
    // A thread that reads stdin is not waited for.
    runtime.shutdown_background();
    code
}

/// Does what is asked for, until it is told to stop.
async fn until_told(arguments: Arguments) -> ExitCode {
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            eprintln!("perf: can't hear of signals: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut work = Box::pin(execute(arguments));
    tokio::select! {
        ended = &mut work => match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("perf: {failure}");
                failure::exit_code(&failure)
            }
        },
        told = signals.next() => {
            eprintln!("perf: {}: stopping what was started (once more: at once) ...", told.name);
            tokio::spawn(async move { std::process::exit(signals.next().await.exit_code.into()) });
            drop(work);
            ExitCode::from(told.exit_code)
        }
    }
}

async fn execute(Arguments { place, command }: Arguments) -> Result<(), Failure> {
    match command {
        Command::List => {
            print!("{}", arguments::list());
            Ok(())
        }
        Command::All => run::run(&place, "all", Scenario::all()?).await,
        Command::Smoke => run::smoke(&place, Scenario::smoke()?).await,
        Command::Scenario(scenario) => run::run(&place, scenario.name(), vec![scenario.clone()]).await,
        Command::Bare(options) => bare::serve(&options).await,
        Command::Compare { first, second } => {
            print!("{}", aligned(&compare::table(&Run::read(&first)?, &Run::read(&second)?)));
            Ok(())
        }
        Command::Check { files, budgets } => check(&files, budgets.as_deref()),
        Command::Growth(asked) => {
            print!("{}", aligned(&growth::table(&asked).map_err(Unusable::because)?));
            Ok(())
        }
        Command::Plot { result } => run::plot(&Run::read(&result)?, &result, place.results.as_deref()),
    }
}

fn check(files: &[PathBuf], budgets: Option<&Path>) -> Result<(), Failure> {
    let (first, others) = files.split_first().ok_or("no result is named")?;
    let mut run = Run::read(first)?;
    for other in others {
        run.scenarios.extend(Run::read(other)?.scenarios);
    }
    let budgets = budgets.map_or_else(|| beside_the_sources("budgets.toml"), Path::to_owned);
    let checked = budget::check(&run, &budget::read(&budgets)?);
    print!("{}", aligned(&checked.table));
    if !run.machine.optimised {
        println!("\nThis is of a debug build: good for trying, not for judging.");
    }
    if checked.missed.is_empty() {
        Ok(())
    } else {
        Err(format!("missed: {}", checked.missed.join(", ")).into())
    }
}

/// In place of where peers are: there are none.
const NO_PEERS: &str = "none";

/// Where peers are. One of them that is not built is named where it would be measured; a place without any is a mistake.
fn peers_of_choice(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(given) = given else { return Ok(beside_the_sources("peers")) };
    if given == Path::new(NO_PEERS) {
        return Ok(given.to_owned());
    }
    if ["socket.io", "graphile-worker", "graphile_worker"].iter().any(|peer| given.join(peer).is_dir()) {
        return Ok(given.to_owned());
    }
    Err(Unusable::because(format!(
        "--peers {}: there is none of socket.io, graphile-worker and graphile_worker in it (`none` is for no peers)",
        given.display()
    )))
}

fn beside_the_sources(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_peers_is_a_mistake() {
        let place = tempfile::tempdir().expect("a directory");
        let refused = peers_of_choice(Some(place.path())).expect_err("nothing is in it");
        assert!(refused.is::<Unusable>() && refused.to_string().starts_with("--peers "), "{refused}");
        std::fs::create_dir(place.path().join("socket.io")).expect("made");
        assert_eq!(peers_of_choice(Some(place.path())).expect("one of them"), place.path());
        peers_of_choice(Some(Path::new(NO_PEERS))).expect("nobody is asked for");
    }
}
