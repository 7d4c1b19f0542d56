//! Metrics of a service, besides those of its tasks.

use std::time::Duration;

use evergrove::jobs::metrics::Metrics;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::Config;

/// Labels of an answered request: route and status, or route and class of the status.
type Route = [(&'static str, String); 2];
pub(crate) type Label = [(&'static str, String); 1];

/// Upper bounds of the histograms' buckets in seconds. Alerts compare times with one second, so 1.0 must be a bound.
const SECONDS: [f64; 17] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 60.0, 150.0, 600.0];

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
    pub(crate) http: Family<Route, Histogram>,
    pub(crate) connections: Gauge,
    pub(crate) streams: Gauge,
    pub(crate) store_bytes: Gauge,
    pub(crate) proofs_bytes: Gauge,
    pub(crate) free_bytes: Gauge,
    build: Family<Label, Gauge>,
    certificate_expiry: Gauge,
    access_lines_dropped: Counter,
}

/// The label of a batch.
pub(crate) fn of_batch(name: &str) -> Label {
    [("batch", name.into())]
}

impl ServiceMetrics {
    /// Registers the service's own metrics. `registry` already has those of `tasks`.
    pub(crate) fn new(registry: &mut Registry, tasks: Metrics, config: &Config) -> Self {
        let seconds = || Histogram::new(SECONDS);
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
            http: Family::new_with_constructor(seconds),
            connections: Gauge::default(),
            streams: Gauge::default(),
            store_bytes: Gauge::default(),
            proofs_bytes: Gauge::default(),
            free_bytes: Gauge::default(),
            build: Family::default(),
            certificate_expiry: config.tls.as_ref().map(|tls| tls.expiry().clone()).unwrap_or_default(),
            access_lines_dropped: config.access.as_ref().map(|log| log.dropped().clone()).unwrap_or_default(),
        };
        let r = registry.sub_registry_with_prefix("evergrove");
        r.register("epoch", "The current epoch", made.epoch.clone());
        r.register("epochs", "Epochs committed since the start", made.epochs.clone());
        r.register(
            "proven_epoch",
            "The last epoch at which a batch was proven, 0 for one that was never proven",
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
        r.register_with_unit(
            "http",
            "Time from the head of a request to the head of its answer, by route and class of status",
            Unit::Seconds,
            made.http.clone(),
        );
        r.register("connections", "Connections that are open", made.connections.clone());
        r.register("streams", "Streams of events that are open", made.streams.clone());
        r.register_with_unit("store", "Size of the database's file", Unit::Bytes, made.store_bytes.clone());
        r.register_with_unit("proofs", "Size of the proofs that are kept", Unit::Bytes, made.proofs_bytes.clone());
        r.register_with_unit(
            "free",
            "Free space of the file system of the store",
            Unit::Bytes,
            made.free_bytes.clone(),
        );
        r.register("build_info", "1, with the version of the program", made.build.clone());
        made.build.get_or_create(&[("version", env!("CARGO_PKG_VERSION").into())]).set(1);
        if config.tls.is_some() {
            r.register_with_unit(
                "certificate_expiry",
                "End of the certificate, from 1970-01-01",
                Unit::Seconds,
                made.certificate_expiry.clone(),
            );
        }
        if config.access.is_some() {
            r.register(
                "access_lines_dropped",
                "Lines of the log of requests that could not be written",
                made.access_lines_dropped.clone(),
            );
        }
        made
    }

    /// Counts an answer and records the time until it.
    pub(crate) fn answered(&self, route: &str, status: u16, took: Duration) {
        let label = [("route", route.to_owned()), ("status", status.to_string())];
        self.answers.get_or_create(&label).inc();
        let label = [("route", route.to_owned()), ("class", format!("{}xx", status / 100))];
        self.http.get_or_create(&label).observe(took.as_secs_f64());
    }
}

/// Counts one in a gauge until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted(Gauge);

impl Counted {
    pub(crate) fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}
