//! Plots of latencies: one SVG for each scenario, a line for each thing that was measured, from the median to the slowest.

use std::fmt::Write as _;

use crate::report::Latencies;
use crate::result::Outcome;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 40.0;
/// One line of the legend.
const LEGEND: f64 = 18.0;

const COLOURS: [&str; 8] =
    ["#0b6e99", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#5d6d7e", "#a04000", "#148f77"];

/// Quantiles that are marked, as shares of one.
const MARKS: [(f64, &str); 6] =
    [(0.0, "0"), (0.5, "50%"), (0.9, "90%"), (0.99, "99%"), (0.999, "99.9%"), (0.9999, "99.99%")];

/// The plot; none where there are no latencies.
pub(crate) fn svg(outcome: &Outcome) -> Option<String> {
    let all: Vec<&Latencies> = outcome.report.latencies.iter().filter(|one| one.samples > 0).collect();
    let least = all.iter().filter_map(|one| one.counts.first()).map(|(micros, _)| *micros).min()?.max(1);
    let most = all.iter().map(|one| one.max).max()?.max(least + 1);
    let scale = Scale { least: decade(least).floor(), most: decade(most).ceil() };
    let height = HEIGHT + 70.0 + LEGEND * all.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"16\">{}</text>\n",
        LEFT + WIDTH + 30.0,
        escaped(&outcome.scenario)
    );
    grid(&mut svg, &scale);
    for (n, latencies) in all.iter().enumerate() {
        let colour = COLOURS[n % COLOURS.len()];
        let points = points(latencies, &scale);
        let _ = writeln!(svg, "<polyline fill=\"none\" stroke=\"{colour}\" points=\"{points}\"/>");
        let y = TOP + HEIGHT + 55.0 + LEGEND * n as f64;
        let what = escaped(&latencies.what);
        let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"{y:.0}\" fill=\"{colour}\">{what}</text>");
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

/// Where things are: quantiles by how few are slower, times by their size, both logarithmic.
struct Scale {
    /// Powers of ten of microseconds.
    least: f64,
    most: f64,
}

impl Scale {
    fn x(quantile: f64) -> f64 {
        // 0 is at the left; five nines at the right.
        let nines = -(1.0 - quantile).max(1e-5).log10();
        LEFT + nines / 5.0 * WIDTH
    }

    fn y(&self, micros: u64) -> f64 {
        let share = (decade(micros.max(1)) - self.least) / (self.most - self.least).max(1.0);
        TOP + HEIGHT - share * HEIGHT
    }
}

fn decade(micros: u64) -> f64 {
    (micros as f64).log10()
}

fn grid(svg: &mut String, scale: &Scale) {
    for (quantile, name) in MARKS {
        let x = Scale::x(quantile);
        let (end, below) = (TOP + HEIGHT, TOP + HEIGHT + 18.0);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{end}\" stroke=\"#ddd\"/>\
             <text x=\"{x:.1}\" y=\"{below}\" text-anchor=\"middle\">{name}</text>"
        );
    }
    let mut power = scale.least as i32;
    while f64::from(power) <= scale.most {
        let micros = 10_u64.pow(u32::try_from(power).unwrap_or_default());
        let (y, end, before) = (scale.y(micros), LEFT + WIDTH, LEFT - 6.0);
        let name = format!("{:?}", std::time::Duration::from_micros(micros));
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{end}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{before}\" y=\"{y:.1}\" text-anchor=\"end\" dominant-baseline=\"middle\">{name}</text>"
        );
        power += 1;
    }
}

fn points(latencies: &Latencies, scale: &Scale) -> String {
    let (mut points, mut below) = (String::new(), 0);
    for (micros, count) in &latencies.counts {
        let quantile = below as f64 / latencies.samples as f64;
        let _ = write!(points, "{:.1},{:.1} ", Scale::x(quantile), scale.y(*micros));
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

    #[test]
    fn each_measured_thing_is_a_line_that_rises() {
        let mut outcome = run("fanout", &[]).scenarios.remove(0);
        assert_eq!(svg(&outcome), None, "nothing to draw");
        let mut seen = histogram();
        for micros in [120, 450, 9000] {
            seen.record(micros).expect("in range");
        }
        outcome.report.latencies("a", "A & <B>", &seen);
        let drawn = svg(&outcome).expect("a plot");
        assert!(drawn.contains("A &amp; &lt;B&gt;"));
        let line = drawn.lines().find_map(|line| line.split("points=\"").nth(1)).expect("a line");
        let points: Vec<(f64, f64)> = line
            .trim_end_matches("\"/>")
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
}
