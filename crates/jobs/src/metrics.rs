//! Counters of engines, workers and services, for Prometheus.

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
use prometheus_client::registry::{Metric, Registry, Unit};

/// Largest number and length in bytes of kinds with a label of their own. The kinds of a worker's jobs come from the
/// queue.
const KINDS: usize = 32;
const KIND_BYTES: usize = 32;
/// The label of all other kinds.
const OTHER: &str = "other";

type Label = [(&'static str, String); 1];

/// A gauge without a value while its number is unknown. Clones share one value.
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

/// Registers a metric that starts at zero, and returns it.
pub fn add<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

/// Registers a metric whose name ends with its unit, and returns it.
pub fn add_with_unit<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, unit: Unit, metric: M) -> M {
    registry.register_with_unit(name, help, unit, metric.clone());
    metric
}

/// Counts tasks by kind and state, their seconds and bytes by kind, and the tasks and workers of a queue.
///
/// Clones share their counts. The registry belongs to the caller, who also publishes it. The caller
/// reports each attempt with [`Self::started`], and its end with one of [`Self::done`], [`Self::retried`],
/// [`Self::failed`] and [`Self::dropped`], so the gauge of running tasks is always correct. Memory is bounded: kinds
/// after the first 32, and kinds longer than 32 bytes, share the label `other`.
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
    /// Registers metrics that start at zero in `registry`. Their names begin with `evergrove_`.
    pub fn new(registry: &mut Registry) -> Self {
        // From one millisecond, for native tasks, to minutes.
        let seconds: fn() -> _ = || Histogram::new(exponential_buckets(0.001, 2.5, 14));
        let r = registry.sub_registry_with_prefix("evergrove");
        // Metrics are published in this order.
        Self {
            kinds: Arc::default(),
            running: add(r, "tasks_running", "Tasks that run now, by kind"),
            done: add(r, "tasks_done", "Tasks whose result was stored, by kind"),
            retried: add(r, "tasks_retried", "Attempts that failed and were followed by another"),
            failed: add(r, "tasks_failed", "Tasks that failed for good, by kind"),
            skipped: add(r, "tasks_skipped", "Tasks whose result was there before"),
            stalled: add(r, "tasks_stalled", "Tasks taken from a worker that was gone"),
            seconds: {
                let help = "Time of attempts whose result was stored, by kind";
                add_with_unit(r, "task", help, Unit::Seconds, Family::new_with_constructor(seconds))
            },
            bytes: {
                let help = "Size of the results that were stored, by kind";
                add_with_unit(r, "results", help, Unit::Bytes, Family::default())
            },
            up: add(r, "queue_up", "1 while the queue answers, otherwise 0"),
            queue: add(r, "queue_tasks", "Tasks in the queue, by state"),
            workers: add(r, "queue_workers", "Workers that share the queue"),
        }
    }

    /// An attempt at a task of this kind begins.
    pub fn started(&self, kind: &str) {
        self.running.get_or_create(&self.of_kind(kind)).inc();
    }

    /// An attempt ends with a stored result of `bytes` bytes.
    pub fn done(&self, kind: &str, took: Duration, bytes: usize) {
        let label = self.of_kind(kind);
        self.running.get_or_create(&label).dec();
        self.done.get_or_create(&label).inc();
        self.seconds.get_or_create(&label).observe(took.as_secs_f64());
        self.bytes.get_or_create(&label).inc_by(bytes as u64);
    }

    /// An attempt ends without a result, and another attempt follows.
    pub fn retried(&self, kind: &str) {
        self.running.get_or_create(&self.of_kind(kind)).dec();
        self.retried.get_or_create(&self.of_kind(kind)).inc();
    }

    /// The last attempt at a task ends without a result.
    pub fn failed(&self, kind: &str) {
        self.running.get_or_create(&self.of_kind(kind)).dec();
        self.failed.get_or_create(&self.of_kind(kind)).inc();
    }

    /// An attempt ends and is not counted: its run was stopped, or the task was postponed.
    pub fn dropped(&self, kind: &str) {
        self.running.get_or_create(&self.of_kind(kind)).dec();
    }

    /// `tasks` tasks had a result before the run.
    pub fn skipped(&self, tasks: usize) {
        self.skipped.inc_by(tasks as u64);
    }

    /// `tasks` tasks were taken from workers that stopped responding.
    pub fn stalled(&self, tasks: usize) {
        self.stalled.inc_by(tasks as u64);
    }

    /// The queue now has `tasks` tasks in this state.
    pub fn queue(&self, state: &'static str, tasks: usize) {
        let tasks = i64::try_from(tasks).unwrap_or(i64::MAX);
        self.queue.get_or_create(&[("state", state.into())]).set(tasks);
    }

    /// `workers` workers now share the queue.
    pub fn workers(&self, workers: usize) {
        self.workers.set(Some(i64::try_from(workers).unwrap_or(i64::MAX)));
    }

    /// Number of running attempts.
    pub fn running_now(&self) -> u64 {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let running = |kind: &String| self.running.get(&[("kind", kind.clone())]).map_or(0, |gauge| gauge.get());
        kinds.iter().map(|kind| u64::try_from(running(kind)).unwrap_or(0)).sum()
    }

    /// Number of workers that share the queue. `None` without a queue, or if the queue does not answer.
    pub fn workers_now(&self) -> Option<u64> {
        self.workers.get().and_then(|workers| u64::try_from(workers).ok())
    }

    /// Records whether the queue answers. If it does not, the numbers of its tasks and workers are unknown and have no
    /// value.
    pub fn queue_up(&self, up: bool) {
        self.up.set(Some(up.into()));
        if !up {
            self.queue.clear();
            self.workers.set(None);
        }
    }

    /// The label of a kind, which does not change later.
    fn of_kind(&self, kind: &str) -> Label {
        // A panic elsewhere does not damage the set: a kind is in it or not.
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
