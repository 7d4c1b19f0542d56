//! What engines, workers and services count, for Prometheus.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// Kinds that are counted under their own names, and the longest of these: a worker's jobs are of whatever kind the queue has.
const KINDS: usize = 32;
const KIND_BYTES: usize = 32;
/// What the others are counted under.
const OTHER: &str = "other";

/// A label: its name and its value.
type Label = [(&'static str, String); 1];

/// A number that is not always known: it has no value then. Clones are the same.
#[derive(Clone, Debug, Default)]
struct Known(Arc<Mutex<Option<i64>>>);

impl Known {
    fn get(&self) -> Option<i64> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, value: Option<i64>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

impl EncodeMetric for Known {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        self.get().map_or(Ok(()), |value| encoder.encode_gauge(&value))
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

/// Tasks by kind and state, their seconds and bytes by kind, and the depth of queues.
///
/// Clones count together. The registry, and with it the address under which all is read, belongs to the caller. An attempt is
/// [`Self::started`] and ends as [`Self::done`], [`Self::retried`] or [`Self::failed`], so that the gauge of running
/// tasks is right at any time. After 32 kinds, and of names beyond 32 bytes, all are `other`: memory does not grow with what is counted.
#[derive(Clone, Debug)]
pub struct Metrics {
    kinds: Arc<Mutex<BTreeSet<String>>>,
    running: Family<Label, Gauge>,
    done: Family<Label, Counter>,
    retried: Family<Label, Counter>,
    failed: Family<Label, Counter>,
    skipped: Counter,
    stalled: Counter,
    seconds: Family<Label, Histogram>,
    bytes: Family<Label, Counter>,
    up: Known,
    queue: Family<Label, Gauge>,
    workers: Known,
}

impl Metrics {
    /// Metrics that start at zero, in `registry`, with names that start with `evergrove_`.
    pub fn new(registry: &mut Registry) -> Self {
        // From milliseconds, as native tasks take, to minutes.
        let seconds = || Histogram::new(exponential_buckets(0.001, 2.5, 14));
        let made = Self {
            kinds: Arc::default(),
            running: Family::default(),
            done: Family::default(),
            retried: Family::default(),
            failed: Family::default(),
            skipped: Counter::default(),
            stalled: Counter::default(),
            seconds: Family::new_with_constructor(seconds),
            bytes: Family::default(),
            up: Known::default(),
            queue: Family::default(),
            workers: Known::default(),
        };
        let registry = registry.sub_registry_with_prefix("evergrove");
        registry.register("tasks_running", "Tasks that run now, by kind", made.running.clone());
        registry.register("tasks_done", "Tasks whose result was stored, by kind", made.done.clone());
        registry.register("tasks_retried", "Attempts that failed and were followed by another", made.retried.clone());
        registry.register("tasks_failed", "Tasks that failed for good, by kind", made.failed.clone());
        registry.register("tasks_skipped", "Tasks whose result was there before", made.skipped.clone());
        registry.register("tasks_stalled", "Tasks taken from a worker that was gone", made.stalled.clone());
        let help = "Time of attempts whose result was stored, by kind";
        registry.register_with_unit("task", help, Unit::Seconds, made.seconds.clone());
        let help = "Size of the results that were stored, by kind";
        registry.register_with_unit("results", help, Unit::Bytes, made.bytes.clone());
        registry.register("queue_up", "1 while the queue answers, else 0", made.up.clone());
        registry.register("queue_tasks", "Tasks in the queue, by state", made.queue.clone());
        registry.register("queue_workers", "Workers that share the queue", made.workers.clone());
        made
    }

    /// An attempt at a task of this kind begins.
    pub fn started(&self, kind: &str) {
        self.running.get_or_create(&self.of_kind(kind)).inc();
    }

    /// An attempt ends with a result of so many bytes, which is stored.
    pub fn done(&self, kind: &str, took: Duration, bytes: usize) {
        let label = self.of_kind(kind);
        self.running.get_or_create(&label).dec();
        self.done.get_or_create(&label).inc();
        self.seconds.get_or_create(&label).observe(took.as_secs_f64());
        self.bytes.get_or_create(&label).inc_by(bytes as u64);
    }

    /// An attempt ends without a result, and there will be another.
    pub fn retried(&self, kind: &str) {
        self.running.get_or_create(&self.of_kind(kind)).dec();
        self.retried.get_or_create(&self.of_kind(kind)).inc();
    }

    /// An attempt ends without a result, and it was the last.
    pub fn failed(&self, kind: &str) {
        self.running.get_or_create(&self.of_kind(kind)).dec();
        self.failed.get_or_create(&self.of_kind(kind)).inc();
    }

    /// An attempt ends that does not count: its run was stopped, or it was put off.
    pub fn dropped(&self, kind: &str) {
        self.running.get_or_create(&self.of_kind(kind)).dec();
    }

    /// So many tasks had their result before the run.
    pub fn skipped(&self, tasks: usize) {
        self.skipped.inc_by(tasks as u64);
    }

    /// So many tasks were taken from workers that are gone.
    pub fn stalled(&self, tasks: usize) {
        self.stalled.inc_by(tasks as u64);
    }

    /// So many tasks are in this state of the queue now.
    pub fn queue(&self, state: &'static str, tasks: usize) {
        let tasks = i64::try_from(tasks).unwrap_or(i64::MAX);
        self.queue.get_or_create(&[("state", state.into())]).set(tasks);
    }

    /// So many workers share the queue now.
    pub fn workers(&self, workers: usize) {
        self.workers.set(Some(i64::try_from(workers).unwrap_or(i64::MAX)));
    }

    /// Attempts that are under way.
    pub fn running_now(&self) -> u64 {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let running = |kind: &String| self.running.get(&[("kind", kind.clone())]).map_or(0, |gauge| gauge.get());
        kinds.iter().map(|kind| u64::try_from(running(kind)).unwrap_or(0)).sum()
    }

    /// Workers that share the queue; `None` without a queue, and where it does not answer.
    pub fn workers_now(&self) -> Option<u64> {
        self.workers.get().and_then(|workers| u64::try_from(workers).ok())
    }

    /// The queue answers, or not: what it held and who shared it is unknown then, and not told.
    pub fn queue_up(&self, up: bool) {
        self.up.set(Some(up.into()));
        if !up {
            self.queue.clear();
            self.workers.set(None);
        }
    }

    /// The same label of a kind each time.
    fn of_kind(&self, kind: &str) -> Label {
        // A kind is in the set or not, whatever panicked.
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let may_be_new = kinds.len() < KINDS && kind.len() <= KIND_BYTES;
        let own = kinds.contains(kind) || (may_be_new && kinds.insert(kind.into()));
        [("kind", if own { kind } else { OTHER }.into())]
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn every_state_is_counted() {
        let mut registry = Registry::default();
        let metrics = Metrics::new(&mut registry);
        for _ in 0..5 {
            metrics.started("merge");
        }
        metrics.done("merge", Duration::from_millis(250), 1000);
        metrics.retried("merge");
        metrics.clone().failed("merge");
        metrics.dropped("merge");
        metrics.skipped(7);
        metrics.stalled(2);
        let text = || {
            let mut text = String::new();
            encode(&mut text, &registry).unwrap();
            text
        };
        assert!(!text().contains("\nevergrove_queue_"), "without a queue, no gauges of one");
        metrics.queue_up(true);
        metrics.queue("wait", 3);
        metrics.workers(4);
        let before = text();
        metrics.queue_up(false);
        let after = text();
        let queue: Vec<_> = after.lines().filter(|line| line.starts_with("evergrove_queue_")).collect();
        assert_eq!(queue, ["evergrove_queue_up 0"], "what is not known is not told");
        let text = before;
        for line in [
            "evergrove_tasks_running{kind=\"merge\"} 1",
            "evergrove_tasks_done_total{kind=\"merge\"} 1",
            "evergrove_tasks_retried_total{kind=\"merge\"} 1",
            "evergrove_tasks_failed_total{kind=\"merge\"} 1",
            "evergrove_tasks_skipped_total 7",
            "evergrove_tasks_stalled_total 2",
            "evergrove_task_seconds_sum{kind=\"merge\"} 0.25",
            "evergrove_task_seconds_count{kind=\"merge\"} 1",
            "evergrove_results_bytes_total{kind=\"merge\"} 1000",
            "evergrove_queue_tasks{state=\"wait\"} 3",
            "evergrove_queue_workers 4",
            "evergrove_queue_up 1",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn kinds_without_end_share_a_label() {
        let mut registry = Registry::default();
        let metrics = Metrics::new(&mut registry);
        let long = "x".repeat(KIND_BYTES + 1);
        metrics.failed(&long);
        for kind in 0..KINDS + 8 {
            metrics.started(&format!("kind{kind}"));
        }
        metrics.failed("kind0");
        metrics.failed(&format!("kind{}", KINDS + 7));
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let running: Vec<_> = text.lines().filter(|l| l.starts_with("evergrove_tasks_running{")).collect();
        assert_eq!(running.len(), KINDS + 1, "{text}");
        for line in [
            "evergrove_tasks_running{kind=\"kind0\"} 0",
            "evergrove_tasks_running{kind=\"kind31\"} 1",
            "evergrove_tasks_running{kind=\"other\"} 6",
            "evergrove_tasks_failed_total{kind=\"kind0\"} 1",
            "evergrove_tasks_failed_total{kind=\"other\"} 2",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
    }
}
