//! Everyone who was measured, side by side.

use super::arm::Figures;

/// A row: what it is, where it comes from, and how it is written.
type Row = (&'static str, fn(&Figures) -> f64, fn(f64) -> String);

const ROWS: [Row; 9] = [
    ("no-op jobs/s", |of| of.free.rate, per_second),
    ("queued to started, p50", |of| quantile(of, 0.5, false), millis),
    ("queued to started, p95", |of| quantile(of, 0.95, false), millis),
    ("queued to started, p99", |of| quantile(of, 0.99, false), millis),
    ("no-op jobs/s, snapshot held", |of| of.held.rate, per_second),
    ("jobs/s kept", |of| of.held.rate / of.free.rate * 100.0, percent),
    ("queued to started, p50, snapshot held", |of| quantile(of, 0.5, true), millis),
    ("queued to started, p95, snapshot held", |of| quantile(of, 0.95, true), millis),
    ("queued to started, p99, snapshot held", |of| quantile(of, 0.99, true), millis),
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
        let of_first = figure(first);
        table += &format!("| {what} | {} |", written(of_first));
        for other in others {
            let figure = figure(other);
            table += &format!(" {} | {:.2} |", written(figure), of_first / figure);
        }
        table.push('\n');
    }
    table
}

fn quantile(of: &Figures, quantile: f64, held: bool) -> f64 {
    let pace = if held { &of.held } else { &of.free };
    pace.waits.value_at_quantile(quantile) as f64 / 1000.0
}

fn per_second(figure: f64) -> String {
    format!("{figure:.0}")
}

fn millis(figure: f64) -> String {
    format!("{figure:.2} ms")
}

fn percent(figure: f64) -> String {
    format!("{figure:.0}%")
}

#[cfg(test)]
mod tests {
    use super::super::arm::Pace;
    use super::*;
    use crate::report::histogram;

    fn figures(name: &str, rate: f64, wait: u64) -> Figures {
        let pace = |rate| {
            let mut waits = histogram();
            waits.record(wait).expect("in range");
            Pace { rate, waits }
        };
        Figures { name: name.to_owned(), free: pace(rate), held: pace(rate / 4.0) }
    }

    #[test]
    fn each_is_set_against_the_first() {
        let table = table(&[figures("A", 1000.0, 2000), figures("B", 500.0, 1000)]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "| | A | B | ratio |");
        assert_eq!(lines[1], "|---|---|---|---|");
        assert_eq!(lines[2], "| no-op jobs/s | 1000 | 500 | 2.00 |");
        assert_eq!(lines[3], "| queued to started, p50 | 2.00 ms | 1.00 ms | 2.00 |");
        assert_eq!(lines[7], "| jobs/s kept | 25% | 25% | 1.00 |");
        assert_eq!(lines.len(), 11);
    }

    #[test]
    fn nobody_is_no_table() {
        assert_eq!(table(&[]), "nobody was measured\n");
    }
}
