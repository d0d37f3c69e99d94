//! The table: each measurement of ours beside serde_json and the vendor, and whether it reaches its aim.

use std::fmt::Write;

use super::measurement::Measurement;

/// The least that we want to be, as multiples of the others' speed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Aim {
    what: &'static str,
    serde_json: f64,
    vendor: f64,
}

/// serde_json is the floor of what can be had, since every payload goes through it, and reducing comes on top;
/// the vendor's own code is what our users would otherwise run.
const AIMS: &[Aim] = &[
    Aim { what: "encode", serde_json: 0.5, vendor: 5.0 },
    Aim { what: "decode", serde_json: 0.5, vendor: 5.0 },
    Aim { what: "decode+reduce", serde_json: 0.3, vendor: 5.0 },
];

/// One measurement of ours, with what it is compared to.
#[derive(Debug, PartialEq)]
pub(super) struct Row<'a> {
    ours: &'a Measurement,
    times_serde_json: Option<f64>,
    times_vendor: Option<f64>,
    aim: Option<Aim>,
}

/// Puts the measurements of one run together.
pub(super) fn rows(measured: &[Measurement]) -> Vec<Row<'_>> {
    let ours = measured.iter().filter(|m| is_ours(m));
    ours.map(|ours| {
        let times = |other: String| {
            let other = measured
                .iter()
                .find(|m| m.dialect == ours.dialect && m.stream == ours.stream && m.what == other)?;
            Some(ours.events_per_second() / other.events_per_second())
        };
        let what = &ours.what;
        // serde_json has no reducer: with or without ours, its share is to parse.
        let parsing = what.split('+').next().unwrap_or(what);
        Row {
            ours,
            times_serde_json: times(format!("serde_json {what}"))
                .or_else(|| times(format!("serde_json {parsing}"))),
            times_vendor: times(format!("vendor {what}")),
            aim: AIMS.iter().find(|aim| aim.what == *what).copied(),
        }
    })
    .collect()
}

fn is_ours(measured: &Measurement) -> bool {
    !measured.what.starts_with("vendor ") && !measured.what.starts_with("serde_json ")
}

/// What the ratios stand on, since a vendor may have been measured on a part of the stream only.
pub(super) fn others(measured: &[Measurement]) -> String {
    let mut text = String::new();
    for other in measured.iter().filter(|m| !is_ours(m)) {
        let Measurement { dialect, stream, what, events, .. } = other;
        let speed = other.events_per_second();
        let _ = writeln!(text, "{dialect} {stream}, {what}: {speed:.0} events/s over {events} events");
    }
    text
}

impl Row<'_> {
    /// Whether a ratio that was measured is below its aim.
    pub(super) fn misses(&self) -> bool {
        let Some(aim) = self.aim else { return false };
        let below = |times: Option<f64>, least| times.is_some_and(|times| times < least);
        below(self.times_serde_json, aim.serde_json) || below(self.times_vendor, aim.vendor)
    }

    fn verdict(&self) -> &'static str {
        match (self.aim, self.times_serde_json.or(self.times_vendor)) {
            (None, _) | (_, None) => "-",
            _ if self.misses() => "miss",
            _ => "ok",
        }
    }

    fn cells(&self) -> [String; 8] {
        let times = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        let aim = self.aim.map(|aim| format!("{} / {}", aim.serde_json, aim.vendor));
        [
            self.ours.dialect.clone(),
            self.ours.stream.clone(),
            self.ours.what.clone(),
            format!("{:.0}", self.ours.events_per_second()),
            times(self.times_serde_json),
            times(self.times_vendor),
            aim.unwrap_or_else(|| "-".to_owned()),
            self.verdict().to_owned(),
        ]
    }
}

/// The rows under their headings, in columns.
pub(super) fn render(rows: &[Row<'_>]) -> String {
    let headings = ["dialect", "stream", "what", "events/s", "×serde_json", "×vendor", "aim", ""];
    let mut lines = vec![headings.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let mut widths = [0; 8];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for line in &lines {
        for (column, (cell, width)) in line.iter().zip(widths).enumerate() {
            // Numbers end in line, names begin in line.
            let _ = match column {
                3..=5 => write!(text, "{cell:>width$}  "),
                _ => write!(text, "{cell:<width$}  "),
            };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(what: &str, seconds: f64) -> Measurement {
        Measurement {
            dialect: "mui".into(),
            stream: "text".into(),
            what: what.into(),
            events: 1000.0,
            seconds,
        }
    }

    #[test]
    fn ours_is_put_beside_the_same_stream_of_the_others() {
        let all = [
            measured("encode", 0.001),
            measured("serde_json encode", 0.0008),
            measured("vendor encode", 0.01),
            measured("decode+reduce", 0.01),
            measured("serde_json decode", 0.001),
            measured("vendor decode+reduce", 0.1),
        ];
        let rows = rows(&all);
        let text = render(&rows);
        let lines: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["mui", "text", "encode", "1000000", "0.80", "10.00", "0.5", "/", "5", "ok"]);
        assert_eq!(
            lines[2],
            ["mui", "text", "decode+reduce", "100000", "0.10", "10.00", "0.3", "/", "5", "miss"]
        );
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn a_ratio_that_was_not_measured_misses_nothing() {
        let all = [measured("encode", 0.001), measured("lint", 0.001)];
        assert!(rows(&all).iter().all(|row| !row.misses() && row.verdict() == "-"));
    }
}
