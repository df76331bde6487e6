//! Two results side by side, as ratios.

use serde_json::Value;

use crate::report::Better;
use crate::result::Run;

/// Ratios this near to one are no difference.
const NOISE: f64 = 0.05;

/// A table in Markdown: each number that both have, the second divided by the first.
pub(crate) fn table(first: &Run, second: &Run) -> String {
    let (before, after) = (first.numbers(), second.numbers());
    let mut table = format!("first: {}\nsecond: {}\n\n", described(first), described(second));
    if !before.keys().any(|name| after.contains_key(name)) {
        table += "They have no figure in common.\n";
        return table;
    }
    table += "| figure | first | second | ratio | |\n|---|---|---|---|---|\n";
    for (name, one) in &before {
        let Some(other) = after.get(name) else { continue };
        let ratio = other.value / one.value;
        let (ratio, verdict) = if ratio.is_finite() {
            (format!("{ratio:.2}"), verdict(one.unit.better(), ratio))
        } else {
            (String::new(), "")
        };
        let [one, other] = [one, other].map(|number| number.unit.written(number.value));
        table += &format!("| {name} | {one} | {other} | {ratio} | {verdict} |\n");
    }
    for (have, lack, which) in [(&before, &after, "first"), (&after, &before, "second")] {
        let only = have.keys().filter(|name| !lack.contains_key(*name)).count();
        if only > 0 {
            let are = if only == 1 { "figure is" } else { "figures are" };
            table += &format!("\n{only} {are} in the {which} only.\n");
        }
    }
    for outcome in &first.scenarios {
        let Some(other) = second.outcome(&outcome.scenario) else { continue };
        let differences = differences(&outcome.settings, &other.settings);
        if !differences.is_empty() {
            let written = differences.iter().map(|[name, one, other]| format!("{name} {one} and {other}"));
            let written = written.collect::<Vec<_>>().join(", ");
            table += &format!("\nThe settings of {} differ: {written}.\n", outcome.scenario);
        }
    }
    if first.machine.processor != second.machine.processor || first.machine.cores != second.machine.cores {
        let (first, second) = (first.machine.written(), second.machine.written());
        table += &format!("\nThe machines differ: {first}; {second}.\n");
    }
    table
}

fn described(run: &Run) -> String {
    let loads = run.scenarios.iter().map(|outcome| outcome.load[0]);
    let load = loads.reduce(f64::max).unwrap_or_default();
    let commit = run
        .versions
        .get("commit")
        .map_or("of an unknown commit", |commit| commit.get(..12).unwrap_or(commit));
    let build = if run.machine.optimised { "" } else { ", a debug build" };
    format!("{}, {commit}, load up to {load:.1} before it{build}", run.at.strftime("%Y-%m-%d %H:%M UTC"))
}

/// What of the settings is not the same: its name, and what it is in the first and in the second. What only one has is not compared.
pub(crate) fn differences(first: &Value, second: &Value) -> Vec<[String; 3]> {
    let (Some(first), Some(second)) = (first.as_object(), second.as_object()) else { return Vec::new() };
    let both = first.iter().filter_map(|(name, one)| Some((name, one, second.get(name)?)));
    both.filter(|(_, one, other)| one != other)
        .map(|(name, one, other)| [name.clone(), plain(one), plain(other)])
        .collect()
}

/// A setting as it is given on the command line.
fn plain(value: &Value) -> String {
    match value {
        Value::Array(all) => all.iter().map(plain).collect::<Vec<_>>().join(","),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn verdict(better: Better, ratio: f64) -> &'static str {
    let less = ratio < 1.0 - NOISE;
    let more = ratio > 1.0 + NOISE;
    match (better, less, more) {
        (Better::Less, true, _) | (Better::More, _, true) => "better",
        (Better::Less, _, true) | (Better::More, true, _) => "worse",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Unit;
    use crate::result::tests::run;

    #[test]
    fn what_is_better_goes_by_the_unit() {
        let first = run(
            "sends",
            &[
                ("rate", 100.0, Unit::PerSecond),
                ("wait", 100.0, Unit::Micros),
                ("rooms", 1.0, Unit::Count),
                ("lost", 0.0, Unit::Faults),
                ("gone", 1.0, Unit::Count),
            ],
        );
        let second = run(
            "sends",
            &[
                ("rate", 50.0, Unit::PerSecond),
                ("wait", 50.0, Unit::Micros),
                ("rooms", 2.0, Unit::Count),
                ("lost", 3.0, Unit::Faults),
            ],
        );
        let table = table(&first, &second);
        assert!(table.contains("| sends.rate | 100 | 50 | 0.50 | worse |"), "{table}");
        assert!(table.contains("| sends.wait | 100.00\u{b5}s | 50.00\u{b5}s | 0.50 | better |"), "{table}");
        assert!(table.contains("| sends.rooms | 1.00 | 2.00 | 2.00 |  |"), "{table}");
        assert!(table.contains("| sends.lost | 0 | 3.00 |  |  |"), "nothing to divide by: {table}");
        assert!(table.contains("1 figure is in the first only"), "{table}");
    }

    #[test]
    fn two_that_can_not_be_compared_say_so() {
        let table =
            table(&run("sends", &[("rate", 1.0, Unit::Count)]), &run("tools", &[("rate", 1.0, Unit::Count)]));
        assert!(table.contains("They have no figure in common."), "{table}");
    }

    #[test]
    fn other_settings_are_said() {
        let [first, second] = [("1,8", 10), ("1,64", 2)].map(|(senders, seconds)| {
            let mut one = run("sends", &[("rate", 1.0, Unit::Count)]);
            let senders: Vec<u32> =
                senders.split(',').map(|number| number.parse().expect("a number")).collect();
            one.scenarios[0].settings =
                serde_json::json!({"senders": senders, "seconds": seconds, "rooms": 50});
            one
        });
        let table = table(&first, &second);
        assert!(
            table.contains("The settings of sends differ: seconds 10 and 2, senders 1,8 and 1,64."),
            "{table}"
        );
    }
}
