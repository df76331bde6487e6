//! Running scenarios: one after the other, with their results kept as they come.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::arguments::{Place, Scenario};
use crate::cluster::{Cluster, Shape, Target, program_of_choice};
use crate::failure::Unusable;
use crate::ground::Ground;
use crate::machine::{Machine, load, version_of};
use crate::report::Report;
use crate::result::{Outcome, Run};
use crate::{Failure, beside_the_sources, plot, scenario};

/// Runs them, each on its own; one that fails does not keep the others from being run.
pub(crate) async fn run(place: &Place, what: &str, scenarios: Vec<Scenario>) -> Result<(), Failure> {
    let ground = if place.target_gateway.is_empty() {
        Ground::Own(program_of_choice(place.switchboard.as_deref())?)
    } else {
        let (api, gateway) = (place.target_api.clone(), place.target_gateway.clone());
        let target = Target { api, gateway, token: place.target_token.clone() };
        target.look().await?;
        Ground::There(target)
    };
    all_on(&ground, place, what, scenarios).await
}

/// Runs them on one cluster.
pub(crate) async fn smoke(place: &Place, scenarios: Vec<Scenario>) -> Result<(), Failure> {
    if !place.target_gateway.is_empty() {
        return Err(Unusable::because(
            "--target-gateway: smoke has a cluster of its own; name scenarios instead",
        ));
    }
    let program = program_of_choice(place.switchboard.as_deref())?;
    let quick = [("SWITCHBOARD__PUSH__DELAY", "1s"), ("SWITCHBOARD__SHUTDOWN__SPREAD", "500ms")];
    let settings = quick.map(|(key, value)| (key, value.to_owned())).to_vec();
    let shape = Shape { worker: 1, settings, ..Shape::default() };
    let cluster = Cluster::start(&program, &shape).await?;
    let ground = Ground::Shared(program, Box::new(cluster));
    let ran = all_on(&ground, place, "smoke", scenarios).await;
    ground.stop().await.and(ran)
}

async fn all_on(ground: &Ground, place: &Place, what: &str, scenarios: Vec<Scenario>) -> Result<(), Failure> {
    let machine = Machine::here();
    eprintln!("{}; load {:.1}", machine.written(), load());
    for warning in warnings(&machine, load()) {
        eprintln!("note: {warning}");
    }
    let mut run = Run::begun(machine, versions(ground));
    let directory = place.results.clone().unwrap_or_else(|| beside_the_sources("results"));
    writable(&directory)?;
    let path = run.path(&directory, what);
    let (mut failed, count) = (Vec::new(), scenarios.len());
    for (number, scenario) in (1..).zip(scenarios) {
        let name = scenario.name();
        eprintln!("== {name}{}", if count > 1 { format!(" ({number} of {count})") } else { String::new() });
        let (began, before) = (Instant::now(), load());
        let settings = serde_json::to_value(&scenario)?;
        let mut report = Report::default();
        if let Err(error) = scenario::measure(ground, &scenario, &mut report).await {
            if count == 1 && error.is::<Unusable>() {
                return Err(error);
            }
            eprintln!("{name}: {error}");
            report.note(format!("{name} failed"), error.to_string());
            failed.push(name);
        }
        let seconds = began.elapsed().as_secs_f64();
        eprintln!("== {name}: {seconds:.1} s");
        run.scenarios.push(Outcome {
            scenario: name.to_owned(),
            settings,
            seconds,
            load: [before, load()],
            report,
        });
        // What is there is kept, whatever comes after it.
        run.write(&path)?;
    }
    for outcome in &run.scenarios {
        println!("\n## {}\n\n{}", outcome.scenario, outcome.report.written());
    }
    plot(&run, &path, None)?;
    eprintln!("{}", closing(what, &path));
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", ")).into()) }
}

/// Draws each scenario beside the result.
pub(crate) fn plot(run: &Run, path: &Path, directory: Option<&Path>) -> Result<(), Failure> {
    let path = match (directory, path.file_name()) {
        (Some(directory), Some(name)) => {
            writable(directory)?;
            directory.join(name)
        }
        _ => path.to_owned(),
    };
    for outcome in &run.scenarios {
        if let Some(svg) = plot::svg(run, outcome) {
            let drawn = path.with_extension(format!("{}.svg", outcome.scenario));
            fs::write(&drawn, svg)
                .map_err(|error| format!("{} can't be written: {error}", drawn.display()))?;
            eprintln!("drawn: {}", drawn.display());
        }
    }
    Ok(())
}

/// What a reader of the figures should know before they come.
fn warnings(machine: &Machine, load: f64) -> Vec<String> {
    let mut all = Vec::new();
    if !machine.optimised {
        all.push(
            "this is a debug build, good for trying, not for judging: cargo run --release -p perf".to_owned(),
        );
    }
    if load > machine.cores as f64 / 4.0 {
        all.push(format!(
            "something else keeps this machine busy (load {load:.1}): figures will be worse than it can"
        ));
    }
    all
}

/// That results can be kept is known before anything is measured.
fn writable(directory: &Path) -> Result<(), Failure> {
    let made = fs::create_dir_all(directory).and_then(|()| tempfile::tempfile_in(directory));
    match made {
        Ok(_) => Ok(()),
        Err(error) => Err(Unusable::because(format!("--results {}: {error}", directory.display()))),
    }
}

/// Where the result is, and what can be done with it.
fn closing(what: &str, path: &Path) -> String {
    let path = path.display();
    if what == "smoke" {
        return format!(
            "written: {path}\nIts numbers are too small to say anything: it runs, and that is all."
        );
    }
    format!(
        "written: {path}\nnext, against the budgets:     cargo run --release -p perf -- check {path}\n\
         or, against an earlier result: cargo run --release -p perf -- compare BEFORE.json {path}"
    )
}

/// Whose version is which, as far as programs of this machine say it.
fn versions(ground: &Ground) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    let mut add = |name: &str, version: Option<String>| {
        if let Some(version) = version {
            versions.insert(name.to_owned(), version);
        }
    };
    if let Ok(program) = ground.program() {
        add("switchboard", version_of(program, &["--version"]));
    }
    // Of this program, which is built with the other one.
    add("commit", option_env!("PERF_COMMIT").map(str::to_owned));
    if let Ok(postgres) = localpg::Binaries::find() {
        add("postgres", version_of(&postgres.program("postgres"), &["--version"]));
    }
    add("redis", version_of(Path::new("redis-server"), &["--version"]));
    for peer in ["socket.io", "graphile-worker"] {
        let node = beside_the_sources("peers").join(peer).join("node_modules/.bin/node");
        add(&format!("{peer} node"), version_of(&node, &["--version"]));
        if let Ok(package) = fs::read_to_string(beside_the_sources("peers").join(peer).join("package.json"))
            && let Ok(package) = serde_json::from_str::<serde_json::Value>(&package)
        {
            add(peer, package.get("dependencies").map(ToString::to_string));
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debug_build_and_a_busy_machine_are_said() {
        let machine = Machine { cores: 4, optimised: true, ..Machine::default() };
        assert!(warnings(&machine, 1.0).is_empty());
        assert!(warnings(&machine, 1.2)[0].contains("load 1.2"));
        assert!(warnings(&Machine { optimised: false, ..machine }, 0.0)[0].contains("--release"));
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_measured() {
        let place = tempfile::tempdir().expect("a directory");
        writable(&place.path().join("new/results")).expect("made");
        let file = place.path().join("file");
        fs::write(&file, "").expect("written");
        let failure = writable(&file).expect_err("no directory");
        assert!(failure.is::<Unusable>() && failure.to_string().starts_with("--results "), "{failure}");
    }
}
