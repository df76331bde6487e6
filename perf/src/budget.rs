//! Budgets: what figures of a result must be, best as ratios to what was measured in the same run.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::Failure;
use crate::result::{Number, Run};

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
}

/// How a budget stands.
#[derive(Debug, Clone, PartialEq)]
enum Standing {
    Kept(f64),
    Missed(f64),
    /// What is not in the result.
    NotMeasured(String),
}

impl Budget {
    fn check(&self, numbers: &BTreeMap<String, Number>) -> Standing {
        let Some(figure) = numbers.get(&self.figure) else {
            return Standing::NotMeasured(self.figure.clone());
        };
        let mut value = figure.value;
        if !self.of.is_empty() {
            let measured = self.of.iter().filter_map(|name| numbers.get(name)).map(|number| number.value);
            // The best of them: the least when the figure should be small.
            let best = if self.at_most.is_some() {
                measured.min_by(f64::total_cmp)
            } else {
                measured.max_by(f64::total_cmp)
            };
            let Some(best) = best else { return Standing::NotMeasured(self.of.join(", ")) };
            value /= best;
        }
        let kept =
            self.at_most.is_none_or(|most| value <= most) && self.at_least.is_none_or(|least| value >= least);
        if kept { Standing::Kept(value) } else { Standing::Missed(value) }
    }
}

/// All budgets of a file, by name.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, Budget>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text).map_err(|error| format!("{}: {error}", path.display()).into())
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

/// Compares a result with budgets: a table in Markdown, and the names of those that are missed.
pub(crate) fn check(run: &Run, budgets: &BTreeMap<String, Budget>) -> (String, Vec<String>) {
    let numbers = run.numbers();
    let mut table = "| budget | allowed | found | |\n|---|---|---|---|\n".to_owned();
    let mut missed = Vec::new();
    for (name, budget) in budgets {
        let (sign, limit) = match (budget.at_most, budget.at_least) {
            (Some(most), _) => ("at most", most),
            (_, least) => ("at least", least.unwrap_or_default()),
        };
        let ratio = if budget.of.is_empty() { "" } else { " of the best" };
        let why = &budget.why;
        let (found, verdict) = match budget.check(&numbers) {
            Standing::Kept(value) => (format!("{value:.3}"), "kept".to_owned()),
            Standing::Missed(value) => {
                missed.push(name.clone());
                (format!("{value:.3}"), format!("MISSED: {why}"))
            }
            Standing::NotMeasured(what) => (String::new(), format!("not measured: {what}")),
        };
        table += &format!("| {name} | {sign} {limit}{ratio} | {found} | {verdict} |\n");
    }
    (table, missed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Unit;
    use crate::result::tests::run;

    const BUDGETS: &str = r#"
        [latency]
        figure = "fanout.own.p99"
        of = ["fanout.a.p99", "fanout.b.p99", "fanout.gone.p99"]
        at_most = 0.5
        why = "half of the best peer"
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
        check(&result, &parse(BUDGETS).expect("budgets")).1
    }

    #[test]
    fn ratios_go_by_the_best_that_was_measured() {
        assert!(standing(4.0, 100.0).is_empty());
        assert_eq!(standing(4.1, 100.0), ["latency"], "a half of 10, but not of 8");
        assert_eq!(standing(4.0, 99.0), ["rate"]);
    }

    #[test]
    fn what_was_not_measured_is_said_and_not_missed() {
        let (table, missed) = check(&run("sends", &[]), &parse(BUDGETS).expect("budgets"));
        assert!(missed.is_empty());
        assert!(table.contains("not measured: fanout.own.p99"), "{table}");
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
        for (name, budget) in budgets {
            for figure in std::iter::once(&budget.figure).chain(&budget.of) {
                let (scenario, _) = figure.split_once('.').expect("a scenario and a figure");
                assert!(crate::arguments::SCENARIOS.contains(&scenario), "{name}: {figure}");
            }
        }
    }
}
