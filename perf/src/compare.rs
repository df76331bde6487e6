//! Two results side by side, as ratios.

use crate::report::Better;
use crate::result::Run;

/// Ratios this near to one are no difference.
const NOISE: f64 = 0.05;

/// A table in Markdown: each number that both have, the second divided by the first.
pub(crate) fn table(first: &Run, second: &Run) -> String {
    let (before, after) = (first.numbers(), second.numbers());
    let mut table = "| figure | first | second | ratio | |\n|---|---|---|---|---|\n".to_owned();
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
            table += &format!("\n{only} figures are in the {which} only.\n");
        }
    }
    if first.machine.processor != second.machine.processor || first.machine.cores != second.machine.cores {
        let (first, second) = (first.machine.written(), second.machine.written());
        table += &format!("\nThe machines differ: {first}; {second}.\n");
    }
    table
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
        assert!(table.contains("1 figures are in the first only"), "{table}");
    }
}
