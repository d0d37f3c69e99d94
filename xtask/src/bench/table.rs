//! The table: each measurement of ours beside serde_json and the vendor, and whether it reaches its aim.

use std::fmt::Write;

use super::measurement::Measurement;

/// The least that we want to be, as multiples of the others' speed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SpeedAim {
    serde_json: Option<f64>,
    vendor: Option<f64>,
}

/// serde_json is the limit of what can be had, since every payload goes through it; the vendor's own code is what
/// our users would otherwise run.
fn aim(ours: &Measurement) -> Option<SpeedAim> {
    match (ours.what.as_str(), ours.dialect.as_str()) {
        // At most 1.5 times the time of serde_json alone.
        ("encode", "ai-sdk" | "mui") => Some(SpeedAim { serde_json: Some(1.0 / 1.5), vendor: Some(20.0) }),
        ("encode", "tanstack") => Some(SpeedAim { serde_json: Some(1.0 / 1.5), vendor: Some(10.0) }),
        ("encode", _) => Some(SpeedAim { serde_json: Some(1.0 / 1.5), vendor: None }),
        ("decode+reduce", "ai-sdk" | "mui" | "tanstack") => {
            Some(SpeedAim { serde_json: None, vendor: Some(15.0) })
        }
        _ => None,
    }
}

/// How much the time per event may differ between the shortest and the longest stream.
const FLAT_WITHIN: f64 = 0.10;

/// One measurement of ours, with what it is compared to.
#[derive(Debug, PartialEq)]
pub(super) struct SpeedRow<'a> {
    ours: &'a Measurement,
    times_serde_json: Option<f64>,
    times_vendor: Option<f64>,
    aim: Option<SpeedAim>,
}

/// Puts the measurements of one run together.
pub(super) fn rows(measured: &[Measurement]) -> Vec<SpeedRow<'_>> {
    let ours = measured.iter().filter(|m| is_ours(m) && m.size().is_none());
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
        SpeedRow {
            ours,
            times_serde_json: times(format!("serde_json {what}"))
                .or_else(|| times(format!("serde_json {parsing}"))),
            times_vendor: times(format!("vendor {what}")),
            aim: aim(ours),
        }
    })
    .collect()
}

/// How the time per event at the end of a long stream stands to that at its beginning: `text@10000`, `text@1000000`.
pub(super) fn flatness(measured: &[Measurement]) -> Vec<Flatness<'_>> {
    let mut all = Vec::new();
    for first in measured.iter().filter(|m| is_ours(m) && m.size().is_some()) {
        let same = |m: &&Measurement| {
            m.dialect == first.dialect
                && m.what == first.what
                && m.size().is_some()
                && m.kind() == first.kind()
        };
        let sizes: Vec<_> = measured.iter().filter(same).collect();
        let shortest = sizes.iter().min_by_key(|m| m.size());
        let longest = sizes.iter().max_by_key(|m| m.size());
        if let (Some(shortest), Some(longest)) = (shortest, longest)
            && shortest.size() == first.size()
        {
            let ratio = shortest.events_per_second() / longest.events_per_second();
            all.push(Flatness { shortest, longest, ratio });
        }
    }
    all
}

/// How the time per event changes with the length of the stream.
#[derive(Debug, PartialEq)]
pub(super) struct Flatness<'a> {
    shortest: &'a Measurement,
    longest: &'a Measurement,
    ratio: f64,
}

impl Flatness<'_> {
    /// Whether longer streams cost more per event than they may.
    pub(super) fn misses(&self) -> bool {
        self.ratio > 1.0 + FLAT_WITHIN
    }
}

impl std::fmt::Display for Flatness<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { shortest, longest, ratio } = self;
        let verdict = if self.misses() { "miss" } else { "ok" };
        let (dialect, kind, what) = (&shortest.dialect, shortest.kind(), &shortest.what);
        let (few, many) = (shortest.size().unwrap_or(0), longest.size().unwrap_or(0));
        write!(f, "{dialect} {kind}, {what}: event {many} costs {ratio:.2} of event {few}  {verdict}")
    }
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

impl SpeedRow<'_> {
    /// Whether a ratio that was measured is below its aim.
    pub(super) fn misses(&self) -> bool {
        let Some(aim) = self.aim else { return false };
        let below = |times: Option<f64>, least: Option<f64>| {
            times.zip(least).is_some_and(|(times, least)| times < least)
        };
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
        let aim = self.aim.map(|aim| format!("{} / {}", times(aim.serde_json), times(aim.vendor)));
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
pub(super) fn render(rows: &[SpeedRow<'_>]) -> String {
    let headings = ["dialect", "stream", "what", "events/s", "×serde_json", "×vendor", "aim", ""];
    let mut lines = vec![headings.map(str::to_owned)];
    lines.extend(rows.iter().map(SpeedRow::cells));
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
            measured("vendor encode", 0.02),
            measured("decode+reduce", 0.01),
            measured("serde_json decode", 0.001),
            measured("vendor decode+reduce", 0.1),
        ];
        let rows = rows(&all);
        let text = render(&rows);
        let lines: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            lines[1],
            ["mui", "text", "encode", "1000000", "0.80", "20.00", "0.67", "/", "20.00", "ok"]
        );
        assert_eq!(
            lines[2],
            ["mui", "text", "decode+reduce", "100000", "0.10", "10.00", "-", "/", "15.00", "miss"]
        );
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn longer_stream_may_not_cost_more_per_event() {
        let sized = |stream: &str, events: f64, seconds: f64| Measurement {
            stream: stream.into(),
            events,
            ..measured("encode", seconds)
        };
        let all = [
            sized("text@10", 10.0, 1.0),
            sized("text@1000", 1000.0, 105.0),
            sized("tool@10", 10.0, 1.0),
            sized("tool@1000", 1000.0, 120.0),
        ];
        let flatness = flatness(&all);
        let verdicts: Vec<_> = flatness.iter().map(Flatness::misses).collect();
        assert_eq!(verdicts, [false, true]);
        assert!(rows(&all).is_empty());
    }

    #[test]
    fn ratio_that_was_not_measured_misses_nothing() {
        let all = [measured("encode", 0.001), measured("lint", 0.001)];
        assert!(rows(&all).iter().all(|row| !row.misses() && row.verdict() == "-"));
    }
}
