//! The steps of a test run, with their times.

use std::io::Write;
use std::process::Command as Process;
use std::time::{Duration, Instant};

use crate::repo::Repo;
use crate::{Command, Outcome, chart, compose, conformance, image, layers, tidy, tools};

/// The test run, in order: what is quick and often wrong comes first.
const TEST: &[Command] = &[
    Command::Tools,
    Command::Fmt,
    Command::Tidy,
    Command::Layers,
    Command::Image,
    Command::Compose,
    Command::Lint,
    Command::Unit,
    Command::Doc,
    Command::Conformance,
    Command::Chart,
];

/// Runs one command.
pub(crate) fn run(command: Command) -> Outcome {
    let repo = Repo::find()?;
    if command == Command::Test { test(&repo) } else { step(&repo, command) }
}

fn test(repo: &Repo) -> Outcome {
    let mut times = Vec::new();
    let began = Instant::now();
    for command in TEST {
        let name = name(*command);
        say(&format!("== {name}"));
        let began = Instant::now();
        let outcome = step(repo, *command);
        times.push((name, began.elapsed()));
        say(&format!(
            "== {name} {} after {}",
            if outcome.is_ok() { "passed" } else { "failed" },
            seconds(began.elapsed())
        ));
        outcome.map_err(|reason| format!("{reason}\n\n{name} failed; `cargo xtask {name}` runs it alone"))?;
    }
    say("");
    for (name, time) in times {
        say(&format!("{name:12} {:>8}", seconds(time)));
    }
    say(&format!("{:12} {:>8}", "all passed", seconds(began.elapsed())));
    Ok(())
}

fn step(repo: &Repo, command: Command) -> Outcome {
    match command {
        Command::Test => test(repo),
        Command::Tools => tools::prepare(repo),
        Command::Fmt => cargo(repo, &["fmt", "--all", "--check"]),
        Command::Lint => cargo(repo, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        Command::Tidy => tidy::check(repo),
        Command::Layers => layers::check(repo),
        Command::Image => image::check(repo),
        Command::Compose => compose::check(repo),
        Command::Unit => cargo(repo, &["nextest", "run", "--workspace"]),
        Command::Doc => cargo(repo, &["test", "--doc", "--workspace"]),
        Command::Conformance => conformance::check(repo),
        Command::Chart => chart::check(repo),
        Command::Deny => cargo(repo, &["deny", "check", "bans", "licenses", "sources"]),
    }
}

fn name(command: Command) -> &'static str {
    match command {
        Command::Test => "test",
        Command::Tools => "tools",
        Command::Fmt => "fmt",
        Command::Lint => "lint",
        Command::Tidy => "tidy",
        Command::Layers => "layers",
        Command::Image => "image",
        Command::Compose => "compose",
        Command::Unit => "unit",
        Command::Doc => "doc",
        Command::Conformance => "conformance",
        Command::Chart => "chart",
        Command::Deny => "deny",
    }
}

fn cargo(repo: &Repo, arguments: &[&str]) -> Outcome {
    passes(Process::new("cargo").args(arguments).current_dir(&repo.root))
}

/// Runs a program to its end; anything but success is an error that shows the command.
pub(crate) fn passes(process: &mut Process) -> Outcome {
    let shown = shown(process);
    match process.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` failed ({status})")),
        Err(error) => Err(format!("`{shown}` can't be run: {error}")),
    }
}

/// The command as one would type it.
pub(crate) fn shown(process: &Process) -> String {
    let words = std::iter::once(process.get_program()).chain(process.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// A line for whoever watches the run.
pub(crate) fn say(line: &str) {
    // Who closed our output does not want to read it.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::Cli;

    #[test]
    fn every_step_of_the_test_run_is_a_command_of_that_name() {
        for command in TEST {
            let parsed = Cli::try_parse_from(["xtask", name(*command)]).expect("a command");
            assert_eq!(parsed.command, *command);
        }
        let count = Cli::command().get_subcommands().count();
        assert_eq!(
            count,
            TEST.len() + 2,
            "a new command belongs into the test run, or here beside test and deny"
        );
    }

    #[test]
    fn what_fails_is_shown_as_typed() {
        let error = passes(Process::new("false").arg("an argument")).expect_err("false fails");
        assert!(error.starts_with("`false an argument` failed"), "{error}");
        let error = passes(&mut Process::new("no-such-program")).expect_err("there is none");
        assert!(error.contains("can't be run"), "{error}");
    }
}
