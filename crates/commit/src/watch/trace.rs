//! A record of proofs: as a table of phases, and as a trace in Chrome's JSON format.
//!
//! docs/formats.md specifies the JSON. Times come from the caller's clock.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Map, Value, json};

use super::{Category, Observer, Step, Work};

/// Version of the JSON.
pub const TRACE_VERSION: u32 = 1;

/// Groups of spans in the trace, each with its own tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Tasks of an engine, from their start to the storing of the result.
    Tasks,
    /// Proofs with their steps.
    Proofs,
}

impl Level {
    const ALL: [Self; 2] = [Self::Tasks, Self::Proofs];

    const fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Proofs => "proofs",
        }
    }
}

/// Spans of time, and the steps of every proof.
///
/// A span is put on the first track of its level that is free when it begins, so the spans of a track follow each other
/// or lie within each other.
#[derive(Clone)]
pub struct Trace(Arc<Inner>);

struct Inner {
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
    recorded: Mutex<Recorded>,
}

#[derive(Default)]
struct Recorded {
    spans: Vec<Span>,
    /// The tracks in use, by level.
    tracks: [Vec<bool>; 2],
    totals: BTreeMap<Category, Total>,
    proofs: usize,
}

struct Span {
    name: String,
    category: &'static str,
    level: Level,
    track: usize,
    start: Duration,
    end: Duration,
    args: Map<String, Value>,
}

#[derive(Clone, Copy, Default)]
struct Total {
    time: Duration,
    work: Work,
}

/// A span that has begun. Ending it records it; dropping it leaves no trace.
pub struct Running {
    trace: Trace,
    level: Level,
    track: usize,
    start: Duration,
}

impl Trace {
    /// An empty record; `clock` gives the time since some instant.
    pub fn new(clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner { clock: Box::new(clock), recorded: Mutex::default() }))
    }

    /// Begins a span.
    pub fn begin(&self, level: Level) -> Running {
        let start = (self.0.clock)();
        let mut recorded = self.recorded();
        let tracks = &mut recorded.tracks[level as usize];
        let track = tracks.iter().position(|taken| !taken).unwrap_or(tracks.len());
        if track == tracks.len() {
            tracks.push(false);
        }
        tracks[track] = true;
        drop(recorded);
        Running { trace: self.clone(), level, track, start }
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        // Whole between any two of our statements.
        self.0.recorded.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Seconds and work of a category, over all proofs.
    pub fn total(&self, category: Category) -> (f64, Work) {
        let total = self.recorded().totals.get(&category).copied().unwrap_or_default();
        (total.time.as_secs_f64(), total.work)
    }

    /// The trace as JSON, with `about` among its properties.
    pub fn to_json(&self, about: Map<String, Value>) -> Value {
        let recorded = self.recorded();
        let mut other = about;
        other.insert("format".into(), "evergrove-trace".into());
        other.insert("version".into(), TRACE_VERSION.into());
        let levels = Level::ALL.map(|level| {
            json!({"ph": "M", "name": "process_name", "pid": level as usize, "tid": 0, "args": {"name": level.name()}})
        });
        let microseconds = |t: Duration| t.as_nanos() as f64 / 1e3;
        let spans = recorded.spans.iter().map(|s| {
            json!({
                "ph": "X", "name": s.name, "cat": s.category, "pid": s.level as usize, "tid": s.track,
                "ts": microseconds(s.start), "dur": microseconds(s.end - s.start), "args": s.args,
            })
        });
        let events: Vec<Value> = levels.into_iter().chain(spans).collect();
        json!({"displayTimeUnit": "ms", "otherData": other, "traceEvents": events})
    }
}

impl Running {
    /// Ends the span under this name and category, with further properties.
    pub fn end(self, name: impl Into<String>, category: &'static str, args: Map<String, Value>) {
        let end = (self.trace.0.clock)();
        self.trace.recorded().spans.push(Span {
            name: name.into(),
            category,
            level: self.level,
            track: self.track,
            start: self.start,
            end,
            args,
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.trace.recorded().tracks[self.level as usize][self.track] = false;
    }
}

/// A proof in progress.
struct Watched {
    running: Option<Running>,
    name: &'static str,
    rows: usize,
    last: Duration,
    work: Work,
}

impl Watched {
    fn step(&mut self, step: Step) {
        let Some(running) = &self.running else { return };
        let (trace, track) = (&running.trace, running.track);
        let end = (trace.0.clock)();
        let Work { rows, columns, hashes, multiplications, bytes, rounds } = step.work;
        let mut args = json!({
            "rows": rows, "columns": columns, "hashes": hashes, "multiplications": multiplications, "bytes": bytes,
        });
        if rounds > 0 {
            args["rounds"] = rounds.into();
        }
        let (category, start) = (step.category(), core::mem::replace(&mut self.last, end));
        let mut recorded = trace.recorded();
        recorded.spans.push(Span {
            name: step.name(),
            category: category.name(),
            level: Level::Proofs,
            track,
            start,
            end,
            args: object(args),
        });
        let total = recorded.totals.entry(category).or_default();
        total.time += end.saturating_sub(start);
        total.work = total.work + step.work;
        drop(recorded);
        self.work = self.work + step.work;
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let Some(running) = self.running.take() else { return };
        running.trace.recorded().proofs += 1;
        let Work { hashes, multiplications, bytes, .. } = self.work;
        let args = json!({"rows": self.rows, "hashes": hashes, "multiplications": multiplications, "bytes": bytes});
        running.end(self.name, "proof", object(args));
    }
}

impl Observer for Trace {
    fn proof(&self, name: &'static str, rows: usize) -> Box<dyn FnMut(Step)> {
        let running = self.begin(Level::Proofs);
        let last = running.start;
        let mut watched = Watched { running: Some(running), name, rows, last, work: Work::default() };
        Box::new(move |step| watched.step(step))
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// The table of phases: seconds over all proofs, and their work.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let recorded = self.recorded();
        let all: f64 = recorded.totals.values().map(|t| t.time.as_secs_f64()).sum();
        let million = |x: u64| x as f64 / 1e6;
        writeln!(f, "{} proofs      seconds  share  M hashes  M products        MB", recorded.proofs)?;
        for category in Category::ALL {
            let Some(Total { time, work }) = recorded.totals.get(&category) else { continue };
            let seconds = time.as_secs_f64();
            writeln!(
                f,
                "{:12} {seconds:9.3} {:5.1}% {:9.2} {:11.1} {:9.1}",
                category.name(),
                100.0 * seconds / all.max(f64::MIN_POSITIVE),
                million(work.hashes),
                million(work.multiplications),
                million(work.bytes),
            )?;
        }
        write!(f, "{:12} {all:9.3}", "all")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::{Matrix, Phase};
    use super::*;

    /// A trace with a clock that every reading advances by a millisecond.
    fn trace() -> Trace {
        let now = AtomicU64::new(0);
        Trace::new(move || Duration::from_millis(now.fetch_add(1, Ordering::Relaxed)))
    }

    #[test]
    fn spans_lie_on_free_tracks_and_within_their_proofs() {
        let trace = trace();
        let step = |matrix, phase, work| Step { phase, matrix, work };
        let mut first = trace.proof("bucket", 64);
        let mut second = trace.proof("merge", 32);
        first(step(None, Phase::Witness, Work { hashes: 3, ..Work::default() }));
        second(step(Some(Matrix::Layer), Phase::Hashing, Work::leaves(64, 32)));
        first(step(Some(Matrix::Wires), Phase::Hashing, Work::leaves(64, 135)));
        drop(first);
        let third = trace.proof("wrap", 16);
        drop((second, third));
        let task = trace.begin(Level::Tasks);
        drop(trace.begin(Level::Tasks));
        task.end("bucket", "task", Map::new());

        let json = trace.to_json(Map::from_iter([("threads".into(), 2.into())]));
        assert_eq!(json["otherData"], json!({"format": "evergrove-trace", "threads": 2, "version": 1}));
        let events = json["traceEvents"].as_array().unwrap();
        let spans: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
        let named = |name: &str| *spans.iter().find(|e| e["name"] == name).unwrap();
        let times = |e: &Value| [e["ts"].as_f64().unwrap(), e["ts"].as_f64().unwrap() + e["dur"].as_f64().unwrap()];
        let (bucket, wires) = (named("bucket"), named("wires.hashing"));
        assert_eq!((&bucket["tid"], &wires["tid"], &named("merge")["tid"]), (&json!(0), &json!(0), &json!(1)));
        assert_eq!(named("wrap")["tid"], 0, "the first track is free again");
        let ([from, to], [start, end]) = (times(bucket), times(wires));
        assert!(from <= start && start < end && end <= to);
        assert_eq!(times(named("witness"))[1], start, "steps follow each other");
        assert_eq!(wires["args"]["hashes"], 17 * 64);
        assert_eq!(bucket["args"]["hashes"], 17 * 64 + 3);
        assert_eq!(named("fri.hashing")["cat"], "fri");
        assert_eq!(spans.iter().filter(|e| e["cat"] == "task").count(), 1, "what is not ended leaves no trace");
        assert_eq!(trace.total(Category::Hashing).1, Work::leaves(64, 135));
        let table = trace.to_string();
        assert!(table.starts_with("3 proofs") && table.contains("\nhashing "), "{table}");
    }
}
