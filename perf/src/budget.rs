//! Budgets: what figures of a result must be, best as ratios to what was measured in the same run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use crate::arguments::Scenario;
use crate::compare::differences;
use crate::failure::{Failure, Unusable};
use crate::report::Unit;
use crate::result::{Number, Outcome, Run};

/// One named budget of `perf/budgets.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    /// The figure.
    figure: String,
    /// It is divided by the best of these that were measured; an absolute value without them.
    #[serde(default)]
    of: Vec<String>,
    at_most: Option<f64>,
    at_least: Option<f64>,
    /// Why it is so much.
    why: String,
    /// The place in the documentation that says why it is missed, where that is known.
    known_miss: Option<String>,
}

/// How a budget stands.
#[derive(Debug, Clone, PartialEq)]
enum Standing {
    Reached(Found),
    Missed(Found),
    /// What is not in the result, all of it.
    NotMeasured(Vec<String>),
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
struct Found {
    value: f64,
    /// By what it was divided.
    of: Option<String>,
    /// How many of those by whose best it could have been divided were measured, when it was not all of them.
    of_some: Option<[usize; 2]>,
    unit: Unit,
}

impl Found {
    fn written(&self) -> String {
        let Self { value, of, of_some, unit } = self;
        let number = match of {
            Some(of) => format!("{value:.2} times {of}"),
            None => unit.written(*value),
        };
        match of_some {
            Some([some, all]) => format!("{number} (only {some} of {all} were measured)"),
            None => number,
        }
    }
}

impl Budget {
    fn check(&self, numbers: &BTreeMap<String, Number>) -> Standing {
        let Some(figure) = numbers.get(&self.figure) else {
            return Standing::NotMeasured(vec![self.figure.clone()]);
        };
        let mut found = Found { value: figure.value, of: None, of_some: None, unit: figure.unit };
        if !self.of.is_empty() {
            // What is zero is no measure of anything.
            let measured = self.of.iter().filter_map(|name| Some((numbers.get(name)?.value, name)));
            let measured: Vec<(f64, &String)> = measured.filter(|(value, _)| *value > 0.0).collect();
            let by_value = |one: &&(f64, &String), other: &&(f64, &String)| one.0.total_cmp(&other.0);
            // The best of them: the least when the figure should be small.
            let best = if self.at_most.is_some() {
                measured.iter().min_by(by_value)
            } else {
                measured.iter().max_by(by_value)
            };
            let Some((best, name)) = best else { return Standing::NotMeasured(self.of.clone()) };
            let counts = [measured.len(), self.of.len()];
            found = Found {
                value: figure.value / best,
                of: Some((*name).clone()),
                of_some: (counts[0] < counts[1]).then_some(counts),
                unit: Unit::Count,
            };
        }
        let value = found.value;
        let reached =
            self.at_most.is_none_or(|most| value <= most) && self.at_least.is_none_or(|least| value >= least);
        if reached { Standing::Reached(found) } else { Standing::Missed(found) }
    }

    fn allowed(&self, numbers: &BTreeMap<String, Number>) -> String {
        let (sign, limit) = match (self.at_most, self.at_least) {
            (Some(most), _) => ("at most", most),
            (_, least) => ("at least", least.unwrap_or_default()),
        };
        match self.of.len() {
            0 => {
                let quantiles = [".p50", ".p99", ".p999", ".max"];
                let is_latency = quantiles.iter().any(|quantile| self.figure.ends_with(quantile));
                let guess = if is_latency { Unit::Micros } else { Unit::Count };
                let unit = numbers.get(&self.figure).map_or(guess, |figure| figure.unit);
                format!("{sign} {}", unit.written(limit))
            }
            1 => format!("{sign} {limit} times {}", self.of.concat()),
            _ => format!("{sign} {limit} times the best peer"),
        }
    }
}

/// All budgets of a file, by name.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, Budget>, Failure> {
    let bad = |why: String| Unusable::because(format!("the budgets {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    parse(&text).map_err(|error| bad(error.to_string()))
}

fn parse(text: &str) -> Result<BTreeMap<String, Budget>, Failure> {
    let budgets: BTreeMap<String, Budget> = toml::from_str(text)?;
    for (name, budget) in &budgets {
        if budget.at_most.is_some() == budget.at_least.is_some() {
            return Err(format!("{name} needs either at_most or at_least").into());
        }
    }
    Ok(budgets)
}

/// How a result stands to budgets.
pub(crate) struct Checked {
    /// In Markdown: a row for each, then why those that are not reached are not.
    pub(crate) table: String,
    /// The names of those that are missed.
    pub(crate) missed: Vec<String>,
}

/// Compares a result with budgets.
pub(crate) fn check(run: &Run, budgets: &BTreeMap<String, Budget>) -> Checked {
    let numbers = run.numbers();
    let mut table = "| budget | allowed | found | |\n|---|---|---|---|\n".to_owned();
    let (mut reasons, mut missed, mut reached, mut known) = (String::new(), Vec::new(), 0, 0);
    let mut lacking = BTreeMap::<String, Vec<&str>>::new();
    for (name, budget) in budgets {
        let (found, verdict) = match budget.check(&numbers) {
            Standing::Reached(found) => {
                reached += 1;
                (found.written(), "reached")
            }
            Standing::Missed(found) => {
                missed.push(name.clone());
                known += u32::from(budget.known_miss.is_some());
                let _ = writeln!(reasons, "- {name} is missed: {}. {}", budget.why, cause(run, budget));
                (found.written(), "MISSED")
            }
            Standing::NotMeasured(what) => {
                lacking.entry(lack(run, &what)).or_default().push(name);
                (String::new(), "not measured")
            }
        };
        let _ = writeln!(table, "| {name} | {} | {found} | {verdict} |", budget.allowed(&numbers));
    }
    let unmeasured = budgets.len() - reached - missed.len();
    let _ = writeln!(
        table,
        "\n{} budgets: {reached} reached, {} missed ({known} of them for a known reason), {unmeasured} not measured",
        budgets.len(),
        missed.len()
    );
    for (why, names) in lacking {
        let _ = writeln!(reasons, "- not measured: {}: {why}", names.join(", "));
    }
    if !reasons.is_empty() {
        let _ = write!(table, "\n{reasons}");
    }
    for other in run.scenarios.iter().filter_map(other_settings) {
        let _ = write!(table, "\n- {other}\n");
    }
    Checked { table, missed }
}

/// Why a budget is missed, as far as that can be said.
fn cause(run: &Run, budget: &Budget) -> String {
    let load = run.outcome(scenario_of(&budget.figure)).map_or(0.0, |outcome| outcome.load[0]);
    let busy = if load > 0.5 { format!(" Load before it: {load:.1}.") } else { String::new() };
    match &budget.known_miss {
        Some(place) => format!("The cause is known: {place}.{busy}"),
        None => format!("No cause is known.{busy}"),
    }
}

/// Why figures are not in a result, and what to do about it.
fn lack(run: &Run, figures: &[String]) -> String {
    let Some(first) = figures.first() else { return String::new() };
    let scenario = scenario_of(first);
    let Some(outcome) = run.outcome(scenario) else { return format!("run `perf {scenario}`") };
    let notes = outcome.report.notes.iter();
    let notes = notes.filter(|(what, _)| what.ends_with(" failed") || what.ends_with(": not measured"));
    let notes: Vec<String> = notes.map(|(what, text)| format!("{what}: {text}")).collect();
    let figures = figures.join(", ");
    if notes.is_empty() {
        format!("{scenario} was run without {figures}")
    } else {
        format!("{scenario} was run without {figures} ({})", notes.join("; "))
    }
}

/// What was set otherwise than it is by default, which is what budgets are made for.
fn other_settings(outcome: &Outcome) -> Option<String> {
    let default = Scenario::all().ok()?.into_iter().find(|scenario| scenario.name() == outcome.scenario)?;
    let differences = differences(&serde_json::to_value(default).ok()?, &outcome.settings);
    (!differences.is_empty()).then(|| {
        let written =
            differences.iter().map(|[name, default, given]| format!("{name} {given} (by default {default})"));
        let written = written.collect::<Vec<_>>().join(", ");
        format!("{} was run with other numbers than the budgets are made for: {written}", outcome.scenario)
    })
}

fn scenario_of(figure: &str) -> &str {
    figure.split_once('.').map_or(figure, |(scenario, _)| scenario)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::tests::run;

    const BUDGETS: &str = r#"
        [latency]
        figure = "fanout.own.p99"
        of = ["fanout.a.p99", "fanout.b.p99", "fanout.gone.p99"]
        at_most = 0.5
        why = "half of the best peer"
        known_miss = "docs/performance.md#why"
        [rate]
        figure = "fanout.rate"
        at_least = 100.0
        why = "what was promised"
    "#;

    fn standing(own: f64, rate: f64) -> Vec<String> {
        let result = run(
            "fanout",
            &[
                ("own.p99", own, Unit::Micros),
                ("a.p99", 10.0, Unit::Micros),
                ("b.p99", 8.0, Unit::Micros),
                ("rate", rate, Unit::PerSecond),
            ],
        );
        check(&result, &parse(BUDGETS).expect("budgets")).missed
    }

    #[test]
    fn ratios_go_by_the_best_that_was_measured() {
        assert!(standing(4.0, 100.0).is_empty());
        assert_eq!(standing(4.1, 100.0), ["latency"], "a half of 10, but not of 8");
        assert_eq!(standing(4.0, 99.0), ["rate"]);
    }

    #[test]
    fn what_was_not_measured_is_said_and_not_missed() {
        let Checked { table, missed } = check(&run("sends", &[]), &parse(BUDGETS).expect("budgets"));
        assert!(missed.is_empty());
        assert!(table.contains("| latency | at most 0.5 times the best peer |  | not measured |"), "{table}");
        assert!(table.contains("- not measured: latency, rate: run `perf fanout`"), "{table}");
        assert!(
            table.contains("2 budgets: 0 reached, 0 missed (0 of them for a known reason), 2 not measured"),
            "{table}"
        );

        let mut ran = run("fanout", &[("own.p99", 1.0, Unit::Micros), ("a.p99", 0.0, Unit::Micros)]);
        let report = &mut ran.scenarios[0].report;
        report.note("b: not measured", "it is not there: npm ci");
        report.note("c", "something else");
        let Checked { table, .. } = check(&ran, &parse(BUDGETS).expect("budgets"));
        let why = "- not measured: latency: fanout was run without fanout.a.p99, fanout.b.p99, fanout.gone.p99 \
                   (b: not measured: it is not there: npm ci)";
        assert!(table.contains(why), "a latency of zero is none: {table}");
        assert!(table.contains("- not measured: rate: fanout was run without fanout.rate (b: "), "{table}");
    }

    #[test]
    fn a_miss_says_by_what_and_where_its_cause_is_explained() {
        let mut result = run(
            "fanout",
            &[("own.p99", 8.0, Unit::Micros), ("a.p99", 10.0, Unit::Micros), ("rate", 1.0, Unit::PerSecond)],
        );
        result.scenarios[0].load = [2.5, 3.0];
        let Checked { table, missed } = check(&result, &parse(BUDGETS).expect("budgets"));
        assert_eq!(missed, ["latency", "rate"]);
        assert!(
            table
                .contains("| latency | at most 0.5 times the best peer | 0.80 times fanout.a.p99 (only 1 of 3 were measured) | MISSED |"),
            "{table}"
        );
        let known = "- latency is missed: half of the best peer. The cause is known: docs/performance.md#why. Load before it: 2.5.";
        assert!(table.contains(known), "{table}");
        assert!(
            table.contains("- rate is missed: what was promised. No cause is known. Load before it: 2.5."),
            "{table}"
        );
        assert!(table.contains("2 missed (1 of them for a known reason)"), "{table}");
    }

    #[test]
    fn other_numbers_than_those_that_budgets_are_made_for_are_said() {
        let mut result = run("tools", &[]);
        result.scenarios[0].settings = serde_json::json!({"calls": 10});
        let Checked { table, .. } = check(&result, &BTreeMap::new());
        assert!(
            table.contains(
                "tools was run with other numbers than the budgets are made for: calls 10 (by default 1000)"
            ),
            "{table}"
        );
        result.scenarios[0].settings = serde_json::json!({"calls": 1000});
        assert!(!check(&result, &BTreeMap::new()).table.contains("other numbers"));
    }

    #[test]
    fn a_budget_has_one_limit() {
        let none = "[a]\nfigure = \"x.y\"\nwhy = \"w\"\n";
        assert!(parse(none).is_err());
        assert!(parse(&format!("{none}at_most = 1\nat_least = 1\n")).is_err());
        assert!(parse(&format!("{none}at_mots = 1\n")).is_err());
    }

    #[test]
    fn the_budgets_of_this_project_can_be_read() {
        let budgets = read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/budgets.toml")));
        let budgets = budgets.expect("they are well formed");
        let headings: Vec<String> = include_str!("../../docs/performance.md")
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .map(|heading| heading.to_lowercase().replace(' ', "-").replace('.', ""))
            .collect();
        for (name, budget) in budgets {
            if let Some(place) = &budget.known_miss {
                let heading =
                    place.strip_prefix("docs/performance.md#").expect("a place in the documentation");
                assert!(
                    headings.iter().any(|known| known == heading),
                    "{name}: no {heading} in {headings:?}"
                );
            }
            for figure in std::iter::once(&budget.figure).chain(&budget.of) {
                let (scenario, _) = figure.split_once('.').expect("a scenario and a figure");
                assert!(crate::arguments::SCENARIOS.contains(&scenario), "{name}: {figure}");
            }
        }
    }
}
