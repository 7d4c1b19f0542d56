//! Metrics of a service, besides those of its tasks.

use std::time::Duration;

use evergrove::jobs::metrics::{Metrics, add, add_with_unit};
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
}

/// The label of a batch.
pub(crate) fn of_batch(name: &str) -> Label {
    [("batch", name.into())]
}

impl ServiceMetrics {
    /// Registers the service's own metrics. `registry` already has those of `tasks`.
    pub(crate) fn new(registry: &mut Registry, tasks: Metrics, config: &Config) -> Self {
        let seconds: fn() -> _ = || Histogram::new(SECONDS);
        let r = registry.sub_registry_with_prefix("evergrove");
        // Metrics are published in this order.
        let made = Self {
            tasks,
            epoch: add(r, "epoch", "The current epoch"),
            epochs: add(r, "epochs", "Epochs committed since the start"),
            proven: add(
                r,
                "proven_epoch",
                "The last epoch at which a batch was proven, 0 for one that was never proven",
            ),
            changes: add(r, "changes", "Changes committed, by kind"),
            waiting: add(r, "requests_waiting", "Requests with changes that wait for an epoch"),
            full: add(r, "requests_turned_away", "Requests that found the queue full"),
            refused: add(r, "requests_refused", "Requests whose changes could not be made"),
            commit: add_with_unit(r, "commit", "Time to commit an epoch", Unit::Seconds, seconds()),
            refresh: add_with_unit(
                r,
                "refresh",
                "Time to refresh a batch",
                Unit::Seconds,
                Family::new_with_constructor(seconds),
            ),
            failures: add(r, "refresh_failures", "Refreshes that failed, by batch"),
            stalled: add(r, "stalled", "1 while nobody proves and epochs are committed without proofs, else 0"),
            disk_full: add(r, "disk_full", "1 since a write found no room on the disk, until one succeeds, else 0"),
            backups: add(r, "backups", "Backups since the start, by outcome"),
            answers: add(r, "http_answers", "Answers, by route and status"),
            http: add_with_unit(
                r,
                "http",
                "Time from the head of a request to the head of its answer, by route and class of status",
                Unit::Seconds,
                Family::new_with_constructor(seconds),
            ),
            connections: add(r, "connections", "Connections that are open"),
            streams: add(r, "streams", "Streams of events that are open"),
            store_bytes: add_with_unit(r, "store", "Size of the database's file", Unit::Bytes, Gauge::default()),
            proofs_bytes: add_with_unit(r, "proofs", "Size of the proofs that are kept", Unit::Bytes, Gauge::default()),
            free_bytes: add_with_unit(
                r,
                "free",
                "Free space of the file system of the store",
                Unit::Bytes,
                Gauge::default(),
            ),
        };
        let build: Family<Label, Gauge> = add(r, "build_info", "1, with the version of the program");
        build.get_or_create(&[("version", env!("CARGO_PKG_VERSION").into())]).set(1);
        if let Some(tls) = &config.tls {
            let help = "End of the certificate, from 1970-01-01";
            r.register_with_unit("certificate_expiry", help, Unit::Seconds, tls.expiry().clone());
        }
        if let Some(log) = &config.access {
            let help = "Lines of the log of requests that could not be written";
            r.register("access_lines_dropped", help, log.dropped().clone());
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
