//! Everyone side by side.

use std::time::Duration;

use crate::report::{Report, Unit};

/// A row for each of these that was measured, in Markdown; none where there is nobody to stand beside.
pub(super) fn table(report: &Report, arms: &[String]) -> Option<String> {
    let figure = |name: String| {
        let figure = report.figures.iter().find(|figure| figure.name == name);
        figure.map(|figure| figure.unit.written(figure.value)).unwrap_or_default()
    };
    let latencies = |name: String| {
        let latencies = report.latencies.iter().find(|latencies| latencies.name == name)?;
        let [p50, p99] = [latencies.p50, latencies.p99].map(|micros| written(Duration::from_micros(micros)));
        Some(format!("{p50} and {p99}"))
    };
    let rows: Vec<String> = arms
        .iter()
        .filter_map(|arm| {
            let one_at_a_time = latencies(format!("{arm}.one_at_a_time"))?;
            let steady = latencies(format!("{arm}.steady")).unwrap_or_default();
            let [rate, lost, processor] = ["deliveries_per_second", "late_or_lost", "cpu.total"]
                .map(|name| figure(format!("{arm}.{name}")));
            Some(format!("| {arm} | {one_at_a_time} | {steady} | {rate} | {lost} | {processor} |\n"))
        })
        .collect();
    let head = "| who | one at a time, p50 and p99 | at the steady rate, p50 and p99 | deliveries/s | late or lost \
                | processor time for a million deliveries |\n|---|---|---|---|---|---|\n";
    (rows.len() > 1).then(|| format!("{head}{}", rows.concat()))
}

fn written(time: Duration) -> String {
    Unit::Micros.written(time.as_secs_f64() * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::histogram;

    #[test]
    fn whoever_was_measured_has_a_row() {
        let mut report = Report::default();
        let arms = ["bare", "gone", "switchboard"].map(str::to_owned);
        for (arm, micros) in [("switchboard", 900), ("bare", 200)] {
            let mut seen = histogram();
            seen.record(micros).expect("in range");
            report.latencies(&format!("{arm}.one_at_a_time"), "", &seen);
            assert_eq!(table(&report, &arms).is_some(), arm == "bare", "one alone stands beside nobody");
        }
        report.figure("bare.deliveries_per_second", "", 100_000.0, Unit::PerSecond);
        let table = table(&report, &arms).expect("two were measured");
        let rows: Vec<&str> = table.lines().skip(2).collect();
        let expected = [
            "| bare | 200.00\u{b5}s and 200.00\u{b5}s |  | 100000 |  |  |",
            "| switchboard | 900.00\u{b5}s and 900.00\u{b5}s |  |  |  |  |",
        ];
        assert_eq!(rows, expected);
    }
}
