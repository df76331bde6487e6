//! Results: a table at the end.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Rows of the table.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<(String, String)>,
    tables: Vec<String>,
}

impl Report {
    pub(crate) fn row(&mut self, what: impl Into<String>, figure: impl Into<String>) {
        let (what, figure) = (what.into(), figure.into());
        eprintln!("{what}: {figure}");
        self.rows.push((what, figure));
    }

    pub(crate) fn latencies(&mut self, what: &str, histogram: &Histogram<u64>) {
        let at = |quantile| Duration::from_micros(histogram.value_at_quantile(quantile));
        self.row(
            what,
            format!(
                "p50 {:.2?}, p99 {:.2?}, p99.9 {:.2?}, most {:.2?} ({} samples)",
                at(0.5),
                at(0.99),
                at(0.999),
                Duration::from_micros(histogram.max()),
                histogram.len()
            ),
        );
    }

    /// A table of its own, in Markdown.
    pub(crate) fn table(&mut self, table: String) {
        self.tables.push(table);
    }

    pub(crate) fn print(&self) {
        if !self.rows.is_empty() {
            println!("| what | figure |\n|---|---|");
        }
        for (what, figure) in &self.rows {
            println!("| {what} | {figure} |");
        }
        for table in &self.tables {
            println!("\n{table}");
        }
    }
}

/// A histogram of microseconds, up to ten minutes.
#[expect(clippy::expect_used, reason = "the bounds are constants that HDR takes")]
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 600_000_000, 3).expect("constant bounds")
}
