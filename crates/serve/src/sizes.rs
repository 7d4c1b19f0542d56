//! Sizes of the store on disk, for the metrics.

use std::path::PathBuf;
use std::time::Duration;

use evergrove::store::{Space, Store};
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::{MissedTickBehavior, interval};

use crate::metrics::ServiceMetrics;

/// Time between two measurements.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// One measurement in this many includes the proofs, because it takes a system call for each of their files.
const PROOFS_EVERY: u32 = 20;

/// Measures the sizes of a store.
#[derive(Clone)]
pub(crate) struct Sizes {
    space: Space,
    dir: PathBuf,
    metrics: ServiceMetrics,
}

impl Sizes {
    /// The sizes of a store, measured at once except for the proofs.
    pub(crate) fn of(store: &Store, metrics: &ServiceMetrics) -> Self {
        let sizes = Self { space: store.space(), dir: store.dir().into(), metrics: metrics.clone() };
        sizes.look(false);
        sizes
    }

    /// Measures every [`LOOK_EVERY`], and never ends.
    pub(crate) async fn watch(self) {
        let mut ticks = interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for look in (0..PROOFS_EVERY).cycle() {
            ticks.tick().await;
            let sizes = self.clone();
            // A measurement that panics is repeated at the next tick.
            let _ = tokio::task::spawn_blocking(move || sizes.look(look == 0)).await;
        }
    }

    fn look(&self, proofs: bool) {
        let set = |gauge: &Gauge, bytes: u64| {
            gauge.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        };
        set(&self.metrics.store_bytes, self.space.database_bytes());
        match fs4::available_space(&self.dir) {
            Ok(bytes) => set(&self.metrics.free_bytes, bytes),
            Err(e) => tracing::debug!(error = %e, "the free space is not known"),
        }
        if proofs {
            match self.space.proofs() {
                Ok((_, bytes)) => set(&self.metrics.proofs_bytes, bytes),
                Err(e) => tracing::debug!(error = %e, "the size of the proofs is not known"),
            }
        }
    }
}
