//! Plots of latencies: one SVG for each scenario, a line for each thing that was measured, from the fastest to the slowest.
//!
//! Dark on white whatever surrounds them, so that they can be read in a dark page and be printed. Lines differ by colour and by
//! dash, so that they can be told apart in grey too; colours are those of Okabe and Ito, which most people can tell apart.

use std::fmt::Write as _;
use std::time::Duration;

use crate::report::Latencies;
use crate::result::{Outcome, Run};

/// The size of the field of lines.
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 420.0;
/// What is left of it, above it, and between it and the legend.
const LEFT: f64 = 86.0;
const TOP: f64 = 66.0;
const BELOW: f64 = 74.0;
/// The whole picture's width.
const WHOLE: f64 = LEFT + WIDTH + 34.0;
/// One line of the legend.
const LEGEND: f64 = 20.0;
/// A character of the legend at most, on average, in the font that is there.
const CHARACTER: f64 = 6.6;
/// Where the columns of the legend end.
const COLUMNS: [(&str, f64); 5] =
    [("p50", 560.0), ("p99", 650.0), ("p99.9", 740.0), ("most", 830.0), ("samples", 926.0)];

const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#333333"];
/// Each time when the colours begin again.
const DASHES: [&str; 4] = ["", "7 3", "2 3", "10 3 2 3"];

/// Quantiles that are marked, as shares of one, each with one nine more.
const MARKS: [(f64, &str); 6] =
    [(0.0, "0%"), (0.9, "90%"), (0.99, "99%"), (0.999, "99.9%"), (0.9999, "99.99%"), (0.99999, "99.999%")];

/// The plot of one scenario of a run; none where there are no latencies.
pub(crate) fn svg(run: &Run, outcome: &Outcome) -> Option<String> {
    let all: Vec<&Latencies> = outcome.report.latencies.iter().filter(|one| one.samples > 0).collect();
    let scale = Scale::of(&all)?;
    let height = TOP + HEIGHT + BELOW + LEGEND * (all.len() + 1) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WHOLE}\" height=\"{height}\" viewBox=\"0 0 {WHOLE} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    text(&mut svg, [LEFT, 26.0], "start", "font-size=\"17\" font-weight=\"bold\"", &heading(outcome));
    text(&mut svg, [LEFT, 46.0], "start", "fill=\"#555\"", &on_what(run, outcome));
    grid(&mut svg, &scale);
    for (n, latencies) in all.iter().enumerate() {
        let points = points(latencies, &scale);
        let _ = writeln!(svg, "<polyline {} points=\"{points}\"/>", stroke(n));
    }
    legend(&mut svg, &all);
    svg.push_str("</svg>\n");
    Some(svg)
}

fn heading(outcome: &Outcome) -> String {
    format!("{}: latencies", outcome.scenario)
}

/// When, on what, and of what.
fn on_what(run: &Run, outcome: &Outcome) -> String {
    // Of a deployment elsewhere the version is not known.
    let version = run.versions.get("switchboard").map(|version| format!("{version}, ")).unwrap_or_default();
    let [before, _] = outcome.load;
    let day = run.at.strftime("%Y-%m-%d");
    format!("{version}{day}, {}, load {before:.1} before it", run.machine.written())
}

fn stroke(n: usize) -> String {
    let dash = DASHES[n / COLOURS.len() % DASHES.len()];
    let colour = COLOURS[n % COLOURS.len()];
    format!(
        "fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\" stroke-dasharray=\"{dash}\""
    )
}

/// Where things are: quantiles by how few are slower, times by their size, both logarithmic.
struct Scale {
    /// Decimal logarithms of microseconds.
    least: f64,
    most: f64,
    /// Nines at the right end.
    nines: f64,
}

impl Scale {
    fn of(all: &[&Latencies]) -> Option<Self> {
        let least = all.iter().filter_map(|one| one.counts.first()).map(|(micros, _)| *micros).min()?.max(1);
        let most = all.iter().map(|one| one.max).max()?.max(least + 1);
        let samples = all.iter().map(|one| one.samples).max()?;
        let steps = steps();
        let below = steps.iter().rev().find(|step| **step <= least).copied().unwrap_or(1);
        let above = steps.iter().find(|step| **step >= most).copied().unwrap_or(most);
        // As many nines as there are samples for, and two at least, or the marks would be few.
        let nines = decade(samples).ceil().clamp(2.0, 5.0);
        Some(Self { least: decade(below), most: decade(above), nines })
    }

    fn x(&self, quantile: f64) -> f64 {
        // 0 is at the left.
        let nines = -(1.0 - quantile).max(1e-9).log10();
        LEFT + (nines / self.nines).min(1.0) * WIDTH
    }

    fn y(&self, micros: u64) -> f64 {
        let share = (decade(micros.max(1)) - self.least) / (self.most - self.least).max(1e-9);
        TOP + HEIGHT - share.clamp(0.0, 1.0) * HEIGHT
    }
}

/// 1, 2, 5, 10 ... microseconds, up to some hours.
fn steps() -> Vec<u64> {
    (0..11).flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.pow(power))).collect()
}

fn decade(micros: u64) -> f64 {
    (micros as f64).log10()
}

fn grid(svg: &mut String, scale: &Scale) {
    let (right, bottom) = (LEFT + WIDTH, TOP + HEIGHT);
    let marks = MARKS.iter().chain([&(0.5, "50%")]).filter(|(quantile, _)| {
        // The one at the end too, whatever its logarithm is rounded to.
        -(1.0 - quantile).log10() <= scale.nines + 1e-6
    });
    for (quantile, name) in marks {
        let x = scale.x(*quantile);
        line(svg, [x, TOP, x, bottom], "#ddd");
        text(svg, [x, bottom + 18.0], "middle", "", name);
    }
    for micros in steps() {
        if !(scale.least - 1e-6..=scale.most + 1e-6).contains(&decade(micros)) {
            continue;
        }
        let y = scale.y(micros);
        line(svg, [LEFT, y, right, y], if decade(micros).fract() == 0.0 { "#ccc" } else { "#eee" });
        text(svg, [LEFT - 8.0, y + 4.0], "end", "", &written(micros));
    }
    let across = "share of the samples that took at most so long (from 90% on, each step leaves a tenth)";
    text(svg, [LEFT + WIDTH / 2.0, bottom + 40.0], "middle", "fill=\"#555\"", across);
    let middle = TOP + HEIGHT / 2.0;
    let turned = format!("fill=\"#555\" transform=\"rotate(-90 18 {middle})\"");
    text(svg, [18.0, middle], "middle", &turned, "latency (logarithmic)");
}

fn legend(svg: &mut String, all: &[&Latencies]) {
    let mut y = TOP + HEIGHT + BELOW;
    for (column, x) in COLUMNS {
        text(svg, [x, y], "end", "fill=\"#555\"", column);
    }
    for (n, latencies) in all.iter().enumerate() {
        y += LEGEND;
        let (from, to, above) = (20.0, 52.0, y - 4.0);
        let _ = writeln!(svg, "<polyline {} points=\"{from},{above} {to},{above}\"/>", stroke(n));
        // Whoever reads of something with a longer name finds all of it in the result.
        let most = ((COLUMNS[0].1 - 60.0 - 62.0) / CHARACTER) as usize;
        text(svg, [62.0, y], "start", "", &shortened(&latencies.what, most));
        let Latencies { p50, p99, p999, max, samples, .. } = *latencies;
        let cells = [written(*p50), written(*p99), written(*p999), written(*max), grouped(*samples)];
        for ((_, x), cell) in COLUMNS.iter().zip(cells) {
            text(svg, [*x, y], "end", "", &cell);
        }
    }
}

/// A time with its unit and three digits at most.
fn written(micros: u64) -> String {
    let time = Duration::from_micros(micros);
    let (value, unit) = match micros {
        0..1000 => (micros as f64, "\u{b5}s"),
        1000..1_000_000 => (time.as_secs_f64() * 1e3, "ms"),
        _ => (time.as_secs_f64(), "s"),
    };
    let digits = match value {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    let number = format!("{value:.digits$}");
    let number = if digits > 0 { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
    format!("{number} {unit}")
}

/// With a comma between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let groups =
        digits.as_bytes()[first..].chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let groups = (first > 0).then(|| digits[..first].to_owned()).into_iter().chain(groups);
    groups.collect::<Vec<_>>().join(",")
}

fn shortened(what: &str, most: usize) -> String {
    if what.chars().count() <= most {
        return what.to_owned();
    }
    let kept: String = what.chars().take(most.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}

fn line(svg: &mut String, [x1, y1, x2, y2]: [f64; 4], colour: &str) {
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"
    );
}

fn text(svg: &mut String, [x, y]: [f64; 2], anchor: &str, more: &str, text: &str) {
    let text = escaped(text);
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {more}>{text}</text>");
}

fn points(latencies: &Latencies, scale: &Scale) -> String {
    let (mut points, mut below) = (String::new(), 0);
    for (micros, count) in &latencies.counts {
        let quantile = below as f64 / latencies.samples as f64;
        let _ = write!(points, "{:.1},{:.1} ", scale.x(quantile), scale.y(*micros));
        below += count;
    }
    points
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::histogram;
    use crate::result::tests::run;

    fn drawn(measured: &[(&str, &[u64])]) -> Option<String> {
        let mut result = run("fanout", &[]);
        for (what, samples) in measured {
            let mut seen = histogram();
            samples.iter().for_each(|micros| seen.record(*micros).expect("in range"));
            result.scenarios[0].report.latencies("a", what, &seen);
        }
        svg(&result, &result.scenarios[0])
    }

    fn attribute<'a>(line: &'a str, name: &str) -> &'a str {
        let (_, rest) = line.split_once(&format!(" {name}=\"")).expect("the attribute");
        rest.split_once('"').expect("its end").0
    }

    #[test]
    fn each_measured_thing_is_a_line_that_rises() {
        assert_eq!(drawn(&[]), None, "nothing to draw");
        let drawn = drawn(&[("A & <B>", &[120, 450, 9000])]).expect("a plot");
        assert!(drawn.contains("A &amp; &lt;B&gt;"));
        let line = drawn.lines().find(|line| line.starts_with("<polyline")).expect("a line");
        let points: Vec<(f64, f64)> = attribute(line, "points")
            .split_whitespace()
            .filter_map(|point| point.split_once(','))
            .map(|(x, y)| (x.parse().expect("x"), y.parse().expect("y")))
            .collect();
        assert_eq!(points.len(), 3);
        // In SVG, up is less.
        assert!(points.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 > two[1].1), "{points:?}");
        assert!(
            points.iter().all(|(x, y)| (LEFT..=LEFT + WIDTH).contains(x) && (TOP..=TOP + HEIGHT).contains(y))
        );
    }

    #[test]
    fn nothing_is_drawn_outside_of_the_picture() {
        let long = "name ".repeat(60);
        let measured: Vec<(&str, &[u64])> =
            (0..12).map(|_| (long.as_str(), [1, 50_000_000].as_slice())).collect();
        let drawn = drawn(&measured).expect("a plot");
        let height: f64 = attribute(&drawn, "height").parse().expect("a number");
        for line in drawn.lines().filter(|line| line.starts_with("<text")) {
            let at = |name| attribute(line, name).parse::<f64>().expect("a number");
            assert!(
                (0.0..=WHOLE).contains(&at("x")) && (0.0..height).contains(&at("y")),
                "{line} in {height}"
            );
        }
        assert_eq!(drawn.matches("...</text>").count(), 12, "no name runs into the numbers");
    }

    #[test]
    fn no_two_lines_look_alike() {
        let measured: Vec<(&str, &[u64])> =
            (0..COLOURS.len() * DASHES.len()).map(|_| ("a", [9].as_slice())).collect();
        let drawn = drawn(&measured).expect("a plot");
        let lines = drawn.lines().filter(|line| line.starts_with("<polyline"));
        let looks: std::collections::BTreeMap<_, u32> = lines.fold(Default::default(), |mut looks, line| {
            *looks.entry((attribute(line, "stroke"), attribute(line, "stroke-dasharray"))).or_default() += 1;
            looks
        });
        assert_eq!(looks.len(), measured.len());
        assert!(looks.values().all(|count| *count == 2), "in the field and in the legend: {looks:?}");
    }

    #[test]
    fn times_have_their_unit() {
        for (micros, expected) in [
            (7, "7 \u{b5}s"),
            (100, "100 \u{b5}s"),
            (1000, "1 ms"),
            (1060, "1.06 ms"),
            (20_000, "20 ms"),
            (2_500_000, "2.5 s"),
        ] {
            assert_eq!(written(micros), expected);
        }
        for (number, expected) in [(7, "7"), (120, "120"), (1000, "1,000"), (1_157_400, "1,157,400")] {
            assert_eq!(grouped(number), expected);
        }
    }
}
