//! What `export` and `import` say while they are at it.

use std::time::{Duration, Instant};

use store::transfer::{Progress, Step};

use crate::commands::say;

/// A table that takes longer is told of in between.
const INTERVAL: Duration = Duration::from_secs(2);

/// Prints a line when a table is done, and now and then before that; nothing for tables without rows.
pub(super) fn teller() -> impl FnMut(Progress) + Send {
    let mut last = Instant::now();
    move |progress| {
        let is_done = progress.rows == progress.of;
        if progress.of == 0 || (!is_done && last.elapsed() < INTERVAL) {
            return;
        }
        last = Instant::now();
        // Nobody may listen; that is no reason to stop.
        let _told = say(line(&progress));
    }
}

fn line(progress: &Progress) -> String {
    let Progress { step, table, rows, of, here, took } = progress;
    let step = match step {
        Step::Written => "exported",
        Step::Loaded => "loaded",
        Step::Compared => "compared",
    };
    let seconds = took.as_secs_f64();
    let counted = if rows == of { format!("{rows} rows") } else { format!("{rows} of {of} rows") };
    // Of a moment no rate can be told.
    let rate = if seconds < 0.1 { String::new() } else { format!(", {:.0} rows/s", *here as f64 / seconds) };
    format!("{step:<8} {table:<25} {counted} ({seconds:.1} s{rate})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is() {
        let progress = Progress {
            step: Step::Loaded,
            table: "events",
            rows: 50_000,
            of: 200_000,
            here: 20_000,
            took: Duration::from_millis(2000),
        };
        assert_eq!(
            line(&progress),
            "loaded   events                    50000 of 200000 rows (2.0 s, 10000 rows/s)"
        );
        let done =
            Progress { step: Step::Compared, rows: 3, of: 3, here: 3, took: Duration::ZERO, ..progress };
        assert_eq!(line(&done), "compared events                    3 rows (0.0 s)");
    }
}
