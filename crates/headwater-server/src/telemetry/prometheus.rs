//! Metrics in the Prometheus text format, collected through the `metrics` facade.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt::{self, Write as _},
    sync::{
        Arc, OnceLock, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use metrics::{
    Counter, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Label, Metadata, Recorder, SharedString,
    Unit,
};

/// The metrics of this crate and of the runtime: name, kind, description.
pub const METRICS: &[(&str, &str, &str)] = &[
    ("headwater_requests_total", "counter", "Requests that were answered, by method, route and status."),
    ("headwater_streams_open", "gauge", "Streams that are open, by dialect."),
    ("headwater_stream_frames_total", "counter", "Frames that were sent in streams, by dialect."),
    ("headwater_stream_bytes_total", "counter", "Bytes that were sent in streams, by dialect."),
    (
        "headwater_connections_refused_total",
        "counter",
        "Connections that were refused because too many were open.",
    ),
    ("headwater_stream_bytes_held", "gauge", "Bytes that are kept for readers of the same stream."),
    ("headwater_runs_started_total", "counter", "Runs that were begun, by agent."),
    ("headwater_runs_resumed_total", "counter", "Runs resumed after a wait or a crash, by agent."),
    ("headwater_runs_waited_total", "counter", "How often a run started to wait for a person, by agent."),
    (
        "headwater_runs_waiting",
        "gauge",
        "Runs in the store that wait for a person, by agent. Includes runs of other processes; refreshed every few seconds.",
    ),
    ("headwater_runs_ended_total", "counter", "Runs that ended: finished, failed or cancelled, by agent."),
    ("headwater_runs_active", "gauge", "Runs that this process drives, by agent."),
    ("headwater_model_calls_total", "counter", "Calls of models: answered, failed or stopped, by model."),
    ("headwater_model_tokens_total", "counter", "Tokens: input, output, reasoning, cached-input, by model."),
    ("headwater_model_first_token_seconds", "histogram", "Time to the first token, by model."),
    ("headwater_model_call_seconds", "histogram", "Time of a call, by model."),
    ("headwater_tool_calls_total", "counter", "Calls of tools: output, failed, denied or stopped, by tool."),
    ("headwater_store_errors_total", "counter", "Runs abandoned because the store failed, by code."),
    (DROPPED, "counter", "Updates that were not counted because there are 10,000 series of their kind."),
];

/// The upper ends of a histogram's buckets, in seconds.
const BUCKETS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];

/// Maximum number of series of a kind. Updates of further ones are dropped and counted.
const MOST: usize = 10_000;

/// The series that counts dropped updates.
const DROPPED: &str = "headwater_metrics_dropped_total";

/// The metrics of this process, served at `/metrics`.
///
/// ```
/// use headwater_server::{Metrics, Options};
///
/// let mut options = Options::default();
/// if let Some(metrics) = Metrics::install() {
///     options = options.metrics(metrics);
/// }
/// ```
#[derive(Clone)]
pub struct Metrics(Arc<Registry>);

#[derive(Default)]
struct Registry {
    counters: Series<AtomicU64>,
    /// Bits of floating point numbers.
    gauges: Series<AtomicU64>,
    histograms: Series<Buckets>,
    dropped: AtomicU64,
}

type Series<T> = RwLock<HashMap<Key, Arc<T>>>;

#[derive(Default)]
struct Buckets {
    counts: [AtomicU64; BUCKETS.len() + 1],
    /// The bits of a floating point number.
    sum: AtomicU64,
}

impl Metrics {
    /// Installs the recorder of the process. Returns the same one when called again, and `None` if the
    /// application has its own recorder, which then gets all metrics.
    #[must_use]
    pub fn install() -> Option<Self> {
        static INSTALLED: OnceLock<Option<Metrics>> = OnceLock::new();
        let installed = INSTALLED.get_or_init(|| {
            let metrics = Self(Arc::default());
            metrics::set_global_recorder(metrics.clone()).ok().map(|()| metrics)
        });
        installed.clone()
    }

    /// All that was counted, in the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        let mut families: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let number = |series: &Series<AtomicU64>, write: &dyn Fn(u64) -> String| {
            let series = series.read().unwrap_or_else(PoisonError::into_inner);
            let lines: Vec<_> = series
                .iter()
                .map(|(key, value)| {
                    let line = format!(
                        "{}{} {}",
                        key.name(),
                        labels(key, None),
                        write(value.load(Ordering::Relaxed))
                    );
                    (key.name().to_owned(), line)
                })
                .collect();
            lines
        };
        let counters = number(&self.0.counters, &|value| value.to_string());
        let gauges = number(&self.0.gauges, &|bits| f64::from_bits(bits).to_string());
        for (name, line) in counters.into_iter().chain(gauges) {
            families.entry(name).or_default().push(line);
        }
        let histograms = self.0.histograms.read().unwrap_or_else(PoisonError::into_inner);
        for (key, buckets) in histograms.iter() {
            families.entry(key.name().to_owned()).or_default().push(buckets.render(key));
        }
        drop(histograms);
        let dropped = self.0.dropped.load(Ordering::Relaxed);
        families.insert(DROPPED.to_owned(), vec![format!("{DROPPED} {dropped}")]);
        let mut text = String::new();
        for (name, mut lines) in families {
            if let Some((_, kind, help)) = METRICS.iter().find(|(known, ..)| *known == name) {
                let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
            }
            lines.sort_unstable();
            for line in lines {
                text.push_str(&line);
                text.push('\n');
            }
        }
        text
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Buckets {
    fn render(&self, key: &Key) -> String {
        let name = key.name();
        let mut text = String::new();
        let mut count = 0;
        let ends = BUCKETS.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
        for (end, bucket) in ends.zip(&self.counts) {
            count += bucket.load(Ordering::Relaxed);
            let _ = writeln!(text, "{name}_bucket{} {count}", labels(key, Some(&end)));
        }
        let labels = labels(key, None);
        let sum = f64::from_bits(self.sum.load(Ordering::Relaxed));
        let _ = write!(text, "{name}_sum{labels} {sum}\n{name}_count{labels} {count}");
        text
    }
}

impl HistogramFn for Buckets {
    fn record(&self, value: f64) {
        let at = BUCKETS.iter().position(|end| value <= *end).unwrap_or(BUCKETS.len());
        if let Some(bucket) = self.counts.get(at) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        GaugeFn::increment(&self.sum, value);
    }
}

/// The labels of a series, escaped.
fn labels(key: &Key, end: Option<&str>) -> String {
    let mut pairs: Vec<(&str, &str)> = key.labels().map(|label| (label.key(), label.value())).collect();
    pairs.sort_unstable();
    pairs.extend(end.map(|end| ("le", end)));
    if pairs.is_empty() {
        return String::new();
    }
    let escaped = pairs.iter().map(|(name, value)| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    });
    format!("{{{}}}", escaped.collect::<Vec<_>>().join(","))
}

/// A name valid in Prometheus: letters, digits and `_`, in names of metrics also `:`, and no digit first. An
/// invalid one would make it reject the whole response.
fn allowed_name(name: &str, colons: bool) -> Cow<'_, str> {
    let allowed = |char: char| char.is_ascii_alphanumeric() || char == '_' || colons && char == ':';
    let digit = name.starts_with(|char: char| char.is_ascii_digit());
    if !name.is_empty() && !digit && name.chars().all(allowed) {
        return Cow::Borrowed(name);
    }
    let rest = name.chars().map(|char| if allowed(char) { char } else { '_' });
    let first = (digit || name.is_empty()).then_some('_');
    Cow::Owned(first.into_iter().chain(rest).collect())
}

/// A key with valid names, so that keys with equal names are one series.
fn allowed(key: &Key) -> Cow<'_, Key> {
    let name = allowed_name(key.name(), true);
    let labels: BTreeMap<_, _> =
        key.labels().map(|label| (allowed_name(label.key(), false), label.value())).collect();
    let same = matches!(name, Cow::Borrowed(_))
        && labels.len() == key.labels().len()
        && labels.keys().all(|name| matches!(name, Cow::Borrowed(_)));
    if same {
        return Cow::Borrowed(key);
    }
    let labels: Vec<_> =
        labels.into_iter().map(|(name, value)| Label::new(name.into_owned(), value.to_owned())).collect();
    Cow::Owned(Key::from_parts(name.into_owned(), labels))
}

impl Registry {
    /// The series of a key, if there are not too many.
    fn series<T: Default>(&self, all: &Series<T>, key: &Key) -> Option<Arc<T>> {
        let key = allowed(key);
        if let Some(known) = all.read().unwrap_or_else(PoisonError::into_inner).get(&*key) {
            return Some(known.clone());
        }
        let mut all = all.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST && !all.contains_key(&*key) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(all.entry(key.into_owned()).or_default().clone())
    }
}

impl Recorder for Metrics {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let as_counter = |series: Arc<AtomicU64>| Counter::from_arc::<AtomicU64>(series);
        self.0.series(&self.0.counters, key).map_or_else(Counter::noop, as_counter)
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.0.series(&self.0.gauges, key).map_or_else(Gauge::noop, Gauge::from_arc::<AtomicU64>)
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.0.series(&self.0.histograms, key).map_or_else(Histogram::noop, Histogram::from_arc::<Buckets>)
    }
}

#[cfg(test)]
mod tests {
    use metrics::{counter, gauge, histogram, with_local_recorder};

    use super::*;

    #[test]
    fn metrics_are_shown_in_the_text_format() {
        let metrics = Metrics(Arc::default());
        with_local_recorder(&metrics, || {
            counter!("headwater_runs_started_total", "agent" => "a \"b\" \\ c\n").increment(2);
            gauge!("headwater_streams_open", "dialect" => "native").increment(3.0);
            gauge!("headwater_streams_open", "dialect" => "native").decrement(1.0);
            for seconds in [0.004, 0.2, 500.0] {
                histogram!("headwater_model_first_token_seconds", "model" => "m").record(seconds);
            }
        });
        let text = metrics.render();
        for line in [
            "# TYPE headwater_runs_started_total counter",
            "headwater_runs_started_total{agent=\"a \\\"b\\\" \\\\ c\\n\"} 2",
            "headwater_streams_open{dialect=\"native\"} 2",
            "headwater_model_first_token_seconds_bucket{model=\"m\",le=\"0.005\"} 1",
            "headwater_model_first_token_seconds_bucket{model=\"m\",le=\"0.1\"} 1",
            "headwater_model_first_token_seconds_bucket{model=\"m\",le=\"0.25\"} 2",
            "headwater_model_first_token_seconds_bucket{model=\"m\",le=\"+Inf\"} 3",
            "headwater_model_first_token_seconds_count{model=\"m\"} 3",
        ] {
            assert!(text.lines().any(|shown| shown == line), "no `{line}` in\n{text}");
        }
    }

    #[test]
    fn invented_labels_cannot_fill_the_memory() {
        let metrics = Metrics(Arc::default());
        with_local_recorder(&metrics, || {
            for number in 0..MOST + 100 {
                counter!("headwater_requests_total", "route" => number.to_string()).increment(1);
            }
        });
        let text = metrics.render();
        assert_eq!(text.lines().filter(|line| line.starts_with("headwater_requests_total{")).count(), MOST);
        assert!(text.contains("\nheadwater_metrics_dropped_total 100\n"), "{DROPPED} is not 100");
    }

    #[test]
    fn names_that_prometheus_refuses_are_rewritten() {
        let metrics = Metrics(Arc::default());
        with_local_recorder(&metrics, || {
            counter!("a.b", "x.y" => "1").increment(1);
            counter!("a_b", "x_y" => "1").increment(1);
            counter!("9 \n} 1", "0" => "z", "le gal" => "\n").increment(3);
            gauge!("", "" => "").set(4.0);
            counter!("two", "l.m" => "1", "l_m" => "2").increment(5);
        });
        let text = metrics.render();
        for line in ["a_b{x_y=\"1\"} 2", "_9____1{_0=\"z\",le_gal=\"\\n\"} 3", "_{_=\"\"} 4"] {
            assert!(text.lines().any(|shown| shown == line), "no `{line}` in\n{text}");
        }
        let two: Vec<_> = text.lines().filter(|line| line.starts_with("two{")).collect();
        assert_eq!(two, ["two{l_m=\"2\"} 5"], "a label is there once");
        let word = |text: &str| {
            text.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
                && text.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
        };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            assert!(word(line.split(['{', ' ']).next().unwrap()), "{line}");
        }
    }
}
