//! What a scenario found: figures with names, latencies, and what is to be said beside them.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::aligned::aligned;

/// What a number counts, which also says whether less or more of it is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// Microseconds of waiting.
    Micros,
    /// Milliseconds of waiting.
    Millis,
    /// What is done in a second.
    PerSecond,
    /// Bytes of memory.
    Bytes,
    /// Processor seconds for a million of what is done.
    SecondsPerMillion,
    /// Hundredths of one core.
    PercentOfCore,
    /// Hundredths of something that should be kept.
    Percent,
    /// What should not be: events lost, time-outs.
    Faults,
    /// Anything else; neither is better.
    Count,
}

/// Which of two numbers is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    Less,
    More,
    Neither,
}

impl Unit {
    pub(crate) const fn better(self) -> Better {
        match self {
            Self::Micros
            | Self::Millis
            | Self::Bytes
            | Self::SecondsPerMillion
            | Self::PercentOfCore
            | Self::Faults => Better::Less,
            Self::PerSecond | Self::Percent => Better::More,
            Self::Count => Better::Neither,
        }
    }

    /// A value as people read it.
    pub(crate) fn written(self, value: f64) -> String {
        let whole = || {
            if value != 0.0 && value.abs() < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") }
        };
        match self {
            Self::Micros => format!("{:.2?}", Duration::from_nanos((value.max(0.0) * 1000.0) as u64)),
            Self::Millis => format!("{value:.0} ms"),
            Self::SecondsPerMillion => format!("{value:.2} s"),
            Self::PercentOfCore => format!("{value:.2}% of a core"),
            Self::Percent => format!("{value:.0}%"),
            Self::Bytes => format!("{} bytes", whole()),
            Self::PerSecond | Self::Faults | Self::Count => whole(),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Micros => "us",
            Self::Millis => "ms",
            Self::PerSecond => "/s",
            Self::Bytes => "bytes",
            Self::SecondsPerMillion => "s per million",
            Self::PercentOfCore => "% of a core",
            Self::Percent => "%",
            Self::Faults => "faults",
            Self::Count => "",
        })
    }
}

/// One number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figure {
    /// By which budgets and comparisons know it, below the name of its scenario.
    pub(crate) name: String,
    /// For people.
    pub(crate) what: String,
    pub(crate) value: f64,
    pub(crate) unit: Unit,
}

/// How long something took, each time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latencies {
    /// As that of a [`Figure`]; `NAME.p99` is one.
    pub(crate) name: String,
    pub(crate) what: String,
    pub(crate) p50: u64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    pub(crate) max: u64,
    pub(crate) samples: u64,
    /// The HDR histogram (three digits): microseconds, and how often.
    pub(crate) counts: Vec<(u64, u64)>,
}

impl Latencies {
    fn of(name: &str, what: &str, histogram: &Histogram<u64>) -> Self {
        let at = |quantile| histogram.value_at_quantile(quantile);
        Self {
            name: name.to_owned(),
            what: what.to_owned(),
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: histogram.max(),
            samples: histogram.len(),
            counts: histogram
                .iter_recorded()
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect(),
        }
    }

    /// What stands for it where single numbers are looked at.
    pub(crate) fn quantiles(&self) -> [(&'static str, u64); 4] {
        [("p50", self.p50), ("p99", self.p99), ("p999", self.p999), ("max", self.max)]
    }

    fn written(&self) -> String {
        let [p50, p99, p999, max] = self.quantiles().map(|(_, micros)| Duration::from_micros(micros));
        let samples = self.samples;
        format!("p50 {p50:.2?}, p99 {p99:.2?}, p99.9 {p999:.2?}, most {max:.2?} ({samples} samples)")
    }
}

/// What one scenario found, filled while it runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) figures: Vec<Figure>,
    pub(crate) latencies: Vec<Latencies>,
    /// What was not measured and why, and what a reader has to know.
    pub(crate) notes: Vec<(String, String)>,
    /// Tables of their own, in Markdown.
    pub(crate) tables: Vec<String>,
    /// Rows of the table at the end, in the order in which they came.
    rows: Vec<(String, String)>,
}

impl Report {
    /// A number that budgets and comparisons know by its name.
    pub(crate) fn figure(
        &mut self,
        name: impl Into<String>,
        what: impl Into<String>,
        value: f64,
        unit: Unit,
    ) {
        let figure = Figure { name: name.into(), what: what.into(), value, unit };
        self.row(figure.what.clone(), unit.written(value));
        self.figures.push(figure);
    }

    /// Latencies, with their histogram.
    pub(crate) fn latencies(&mut self, name: &str, what: &str, histogram: &Histogram<u64>) {
        let latencies = Latencies::of(name, what, histogram);
        self.row(what.to_owned(), latencies.written());
        self.latencies.push(latencies);
    }

    /// Something to be read, not compared.
    pub(crate) fn note(&mut self, what: impl Into<String>, text: impl Into<String>) {
        let note = (what.into(), text.into());
        self.row(note.0.clone(), note.1.clone());
        self.notes.push(note);
    }

    fn row(&mut self, what: String, written: String) {
        eprintln!("{what}: {written}");
        self.rows.push((what, written));
    }

    /// A table of its own, in Markdown.
    pub(crate) fn table(&mut self, table: String) {
        self.tables.push(table);
    }

    /// The tables at the end, in Markdown: what was found, then those that it made.
    pub(crate) fn written(&self) -> String {
        let mut text = String::new();
        if !self.rows.is_empty() {
            text += "| what | figure |\n|---|---|\n";
        }
        for (what, written) in &self.rows {
            text += &format!("| {what} | {written} |\n");
        }
        for table in &self.tables {
            text += &format!("\n{}\n", table.trim_end());
        }
        aligned(&text)
    }
}

/// A histogram of microseconds, up to ten minutes.
#[expect(clippy::expect_used, reason = "the bounds are constants that HDR takes")]
pub(crate) fn histogram() -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, 600_000_000, 3).expect("constant bounds");
    histogram.auto(true);
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_keep_every_sample() {
        let mut seen = histogram();
        for micros in [100, 100, 200, 5000] {
            seen.record(micros).expect("in range");
        }
        let mut report = Report::default();
        report.latencies("a", "something", &seen);
        let [latencies] = report.latencies.as_slice() else { panic!("one is there") };
        assert_eq!((latencies.p50, latencies.samples), (100, 4));
        assert_eq!(latencies.counts.iter().map(|(_, count)| count).sum::<u64>(), 4);
        assert_eq!(latencies.counts[0], (100, 2));
    }

    #[test]
    fn small_numbers_keep_their_digits() {
        assert_eq!(Unit::PerSecond.written(0.5), "0.50");
        assert_eq!(Unit::Bytes.written(7080.2), "7080 bytes");
        assert_eq!(Unit::PerSecond.written(19_300.4), "19300");
        assert_eq!(Unit::Micros.written(880.0), "880.00\u{b5}s");
    }
}
