//! `switchboard-next`: the program as a later release may be. See the feature `next` of `protocol`.

use std::process::ExitCode;

use clap::Parser;
use switchboard::cli::Cli;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    switchboard::commands::run(Cli::parse())
}
