//! What a service counts, beside its tasks.

use evergrove::jobs::metrics::Metrics;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// Labels of an answered request: route and status.
type Route = [(&'static str, String); 2];
pub(crate) type Label = [(&'static str, String); 1];

/// The metrics of a service.
#[derive(Clone, Debug)]
pub(crate) struct ServiceMetrics {
    pub(crate) tasks: Metrics,
    pub(crate) epoch: Gauge,
    pub(crate) epochs: Counter,
    pub(crate) proven: Family<Label, Gauge>,
    pub(crate) changes: Family<Label, Counter>,
    pub(crate) waiting: Gauge,
    pub(crate) full: Counter,
    pub(crate) refused: Counter,
    pub(crate) commit: Histogram,
    pub(crate) refresh: Family<Label, Histogram>,
    pub(crate) failures: Family<Label, Counter>,
    pub(crate) stalled: Gauge,
    pub(crate) disk_full: Gauge,
    pub(crate) backups: Family<Label, Counter>,
    pub(crate) answers: Family<Route, Counter>,
}

/// The label of a batch.
pub(crate) fn of_batch(name: &str) -> Label {
    [("batch", name.into())]
}

impl ServiceMetrics {
    /// Those of `tasks`, which is in `registry` already, and the service's own.
    pub(crate) fn new(registry: &mut Registry, tasks: Metrics) -> Self {
        let seconds = || Histogram::new(exponential_buckets(0.001, 2.5, 14));
        let made = Self {
            tasks,
            epoch: Gauge::default(),
            epochs: Counter::default(),
            proven: Family::default(),
            changes: Family::default(),
            waiting: Gauge::default(),
            full: Counter::default(),
            refused: Counter::default(),
            commit: seconds(),
            refresh: Family::new_with_constructor(seconds),
            failures: Family::default(),
            stalled: Gauge::default(),
            disk_full: Gauge::default(),
            backups: Family::default(),
            answers: Family::default(),
        };
        let r = registry.sub_registry_with_prefix("evergrove");
        r.register("epoch", "The current epoch", made.epoch.clone());
        r.register("epochs", "Epochs committed since the start", made.epochs.clone());
        r.register(
            "proven_epoch",
            "The last epoch at which a batch was proven, 0 of one that never was",
            made.proven.clone(),
        );
        r.register("changes", "Changes committed, by kind", made.changes.clone());
        r.register("requests_waiting", "Requests with changes that wait for an epoch", made.waiting.clone());
        r.register("requests_turned_away", "Requests that found the queue full", made.full.clone());
        r.register("requests_refused", "Requests whose changes could not be made", made.refused.clone());
        r.register_with_unit("commit", "Time to commit an epoch", Unit::Seconds, made.commit.clone());
        r.register_with_unit("refresh", "Time to refresh a batch", Unit::Seconds, made.refresh.clone());
        r.register("refresh_failures", "Refreshes that failed, by batch", made.failures.clone());
        r.register(
            "stalled",
            "1 while nobody proves and epochs are committed without proofs, else 0",
            made.stalled.clone(),
        );
        r.register(
            "disk_full",
            "1 since a write found no room on the disk, until one succeeds, else 0",
            made.disk_full.clone(),
        );
        r.register("backups", "Backups since the start, by outcome", made.backups.clone());
        r.register("http_answers", "Answers, by route and status", made.answers.clone());
        made
    }

    /// A request was answered.
    pub(crate) fn answered(&self, route: &str, status: u16) {
        let label = [("route", route.to_owned()), ("status", status.to_string())];
        self.answers.get_or_create(&label).inc();
    }
}
