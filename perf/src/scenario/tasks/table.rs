//! Everyone who was measured, side by side.

use hdrhistogram::Histogram;

use super::arm::{self, Figures, Pace};

/// A row: what it is, where it comes from (not everyone has everything), and how it is written.
type Row = (&'static str, fn(&Figures) -> Option<f64>, fn(f64) -> String);

const ROWS: [Row; 16] = [
    ("no-op jobs/s", |of| Some(of.free.rate), per_second),
    ("processor time of the database for a job", |of| processor(of, arm::DATABASE), micros),
    ("processor time of the workers for a job", |of| processor(of, arm::WORKERS), micros),
    ("queued to started, p50", |of| Some(started(&of.free, 0.5)), millis),
    ("queued to started, p95", |of| Some(started(&of.free, 0.95)), millis),
    ("queued to started, p99", |of| Some(started(&of.free, 0.99)), millis),
    ("queued to recorded as done, p50", |of| recorded(&of.free, 0.5), millis),
    ("queued to recorded as done, p99", |of| recorded(&of.free, 0.99), millis),
    ("no-op jobs/s as they come, snapshot held meanwhile", |of| Some(of.flood), per_second),
    ("no-op jobs/s after that, snapshot still held", |of| Some(of.held.rate), per_second),
    ("jobs/s kept", |of| Some(of.held.rate / of.free.rate * 100.0), percent),
    ("queued to started, p50, snapshot held", |of| Some(started(&of.held, 0.5)), millis),
    ("queued to started, p95, snapshot held", |of| Some(started(&of.held, 0.95)), millis),
    ("queued to started, p99, snapshot held", |of| Some(started(&of.held, 0.99)), millis),
    ("queued to recorded as done, p50, snapshot held", |of| recorded(&of.held, 0.5), millis),
    ("queued to recorded as done, p99, snapshot held", |of| recorded(&of.held, 0.99), millis),
];

/// The table: a column for each, and after each but the first the first one's figure divided by it.
pub(super) fn table(all: &[Figures]) -> String {
    let Some((first, others)) = all.split_first() else { return "nobody was measured\n".to_owned() };
    let mut head = format!("| | {} |", first.name);
    let mut line = "|---|---|".to_owned();
    for other in others {
        head += &format!(" {} | ratio |", other.name);
        line += "---|---|";
    }
    let mut table = format!("{head}\n{line}\n");
    for (what, figure, written) in ROWS {
        let written = |figure: Option<f64>| figure.map(written).unwrap_or_default();
        let of_first = figure(first);
        table += &format!("| {what} | {} |", written(of_first));
        for other in others {
            let figure = figure(other);
            let ratio = of_first.zip(figure).map(|(first, other)| format!("{:.2}", first / other));
            table += &format!(" {} | {} |", written(figure), ratio.unwrap_or_default());
        }
        table.push('\n');
    }
    table
}

fn processor(of: &Figures, who: &str) -> Option<f64> {
    of.free.processor.iter().find(|(name, _)| *name == who).map(|(_, micros)| *micros)
}

fn started(pace: &Pace, quantile: f64) -> f64 {
    in_millis(&pace.waits.started, quantile)
}

fn recorded(pace: &Pace, quantile: f64) -> Option<f64> {
    pace.waits.recorded.as_ref().map(|recorded| in_millis(recorded, quantile))
}

fn in_millis(micros: &Histogram<u64>, quantile: f64) -> f64 {
    micros.value_at_quantile(quantile) as f64 / 1000.0
}

fn per_second(figure: f64) -> String {
    format!("{figure:.0}")
}

fn micros(figure: f64) -> String {
    format!("{figure:.1} us")
}

fn millis(figure: f64) -> String {
    format!("{figure:.2} ms")
}

fn percent(figure: f64) -> String {
    format!("{figure:.0}%")
}

#[cfg(test)]
mod tests {
    use super::super::arm::Waits;
    use super::*;
    use crate::report::histogram;

    fn figures(name: &str, rate: f64, wait: u64, recorded: bool) -> Figures {
        let pace = |rate| {
            let mut started = histogram();
            started.record(wait).expect("in range");
            let recorded = recorded.then(|| started.clone());
            Pace { rate, processor: vec![("database", 20.0)], waits: Waits { started, recorded } }
        };
        Figures {
            id: name.to_lowercase(),
            name: name.to_owned(),
            free: pace(rate),
            flood: rate / 2.0,
            held: pace(rate / 4.0),
        }
    }

    #[test]
    fn each_is_set_against_the_first() {
        let table = table(&[figures("A", 1000.0, 2000, true), figures("B", 500.0, 1000, false)]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "| | A | B | ratio |");
        assert_eq!(lines[1], "|---|---|---|---|");
        assert_eq!(lines[2], "| no-op jobs/s | 1000 | 500 | 2.00 |");
        assert_eq!(lines[3], "| processor time of the database for a job | 20.0 us | 20.0 us | 1.00 |");
        assert_eq!(lines[4], "| processor time of the workers for a job |  |  |  |");
        assert_eq!(lines[5], "| queued to started, p50 | 2.00 ms | 1.00 ms | 2.00 |");
        assert_eq!(lines[8], "| queued to recorded as done, p50 | 2.00 ms |  |  |");
        assert_eq!(lines[12], "| jobs/s kept | 25% | 25% | 1.00 |");
        assert_eq!(lines.len(), 2 + ROWS.len());
    }

    #[test]
    fn nobody_is_no_table() {
        assert_eq!(table(&[]), "nobody was measured\n");
    }
}
