//! The thread that proves epochs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evergrove::jobs::Observer;
use evergrove::jobs::watch::Watch;
use evergrove::store::{Error, Prover, Store};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::Event;
use crate::metrics::of_batch;
use crate::service::{Failing, RECENT, Shared};
use crate::stall::{StallWatch, sleep_if};

/// The first and the longest wait before failed proofs are tried again.
const RETRY: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// Refreshes every batch after each commit. Epochs that are committed during a refresh share the next one, which proves
/// the last of them.
///
/// ```text
///              an epoch was committed              every batch is proven
///   waiting ────────────────────────▶ refresh ──────────────────────────────▶ waiting
///      │                               │  ▲ ▲                                    │
///      │ no more epochs  a batch fails │  │ └────────────────────────────────────┘
///      ▼                               ▼  │ after a while, or after the next commit
///     end                             stale
/// ```
pub(crate) struct Refresher {
    shared: Arc<Shared>,
    runtime: Handle,
    /// Number of turns that called for a refresh.
    turns: watch::Receiver<u64>,
    /// Number of these turns before the last refresh that has ended.
    refreshed: watch::Sender<u64>,
    /// How long to wait before failed proofs are tried again.
    retry: Option<Duration>,
    /// The last epoch at which lost proofs were looked for.
    looked: u64,
    /// True if a proof of the current refresh found no room on the disk.
    found_no_room: bool,
    /// True if the store was compacted since the disk is full.
    compacted: bool,
}

/// Batches that are fresh by their records, but whose last proof is missing, damaged or cannot be read. Reads the last
/// proof of each fresh batch.
pub(crate) fn lost(store: &Store) -> Result<BTreeSet<String>, Error> {
    let mut lost = BTreeSet::new();
    for batch in store.batches()?.into_iter().filter(|batch| batch.fresh) {
        if let Err(e) = store.export(&batch.name) {
            tracing::warn!(batch = batch.name, error = %e, "the last proof is lost, and is made again");
            lost.insert(batch.name);
        }
    }
    Ok(lost)
}

impl Refresher {
    /// A refresher whose caller has looked for lost proofs at the epoch `looked`.
    pub(crate) fn new(
        shared: Arc<Shared>,
        runtime: Handle,
        looked: u64,
        turns: watch::Receiver<u64>,
        refreshed: watch::Sender<u64>,
    ) -> Self {
        Self { shared, runtime, turns, refreshed, retry: None, looked, found_no_room: false, compacted: false }
    }

    /// Refreshes until no more epochs are committed. Begins with batches that an earlier process left stale.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        loop {
            let turns = *self.turns.borrow_and_update();
            let done = self.refresh()?;
            if done || self.shared.is_full() {
                self.prune()?;
            }
            if !done {
                continue;
            }
            self.refreshed.send_replace(turns);
            if !self.wait() {
                return Ok(());
            }
        }
    }

    /// Waits for a further epoch, or until it is time to try failed proofs again. False if no more epochs come.
    fn wait(&mut self) -> bool {
        let (retry, turns) = (self.retry, &mut self.turns);
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                more = turns.changed() => more.is_ok(),
                () = sleep_if(retry) => true,
            }
        })
    }

    /// Proves every batch that is not fresh, or whose last proof is lost. Returns false if the database was opened again
    /// instead.
    fn refresh(&mut self) -> Result<bool, Error> {
        let stall_watch = StallWatch::new(&self.shared, &self.runtime);
        let shared = self.shared.clone();
        shared.wait_for_recovery();
        self.found_no_room = false;
        let refreshed = {
            let store = shared.store();
            shared.set_refreshing(Some(stall_watch.cancel()));
            // A thread that opens the store again, and looked for a refresh before this one, would not stop it.
            let must_wait = store.has_failed() || shared.is_recovering();
            let outcome = if must_wait { None } else { Some(self.refresh_batches(&store, &stall_watch)) };
            match outcome {
                Some(Err(e)) if !store.has_failed() => return Err(e),
                outcome => outcome,
            }
        };
        let interrupted = shared.set_refreshing(None);
        if self.found_no_room {
            shared.set_full_for_proofs(true);
        }
        shared.recover()?;
        let (failing, done) = match refreshed {
            None => return Ok(false),
            Some(_) if interrupted && !shared.is_aborting() => return Ok(false),
            Some(Ok(failing)) => {
                let done = failing.is_empty();
                (failing, done)
            }
            Some(Err(e)) => {
                tracing::warn!(error = %e, "nothing is proven");
                (Vec::new(), false)
            }
        };
        self.retry = match (done, self.retry) {
            (true, _) => None,
            (false, None) => Some(RETRY[0]),
            (false, Some(last)) => Some((last * 2).min(RETRY[1])),
        };
        if done {
            // No proof is missing, so no room is missing for one.
            shared.set_full_for_proofs(false);
        }
        let retry_after = self.retry.map_or(0, |pause| pause.as_secs());
        shared.set_failing(failing.clone());
        for Failing { batch, epoch, cause } in failing {
            shared.publish(Event::Failure { batch, epoch, cause, retry_after });
        }
        Ok(true)
    }

    /// Proves every batch that needs it. If a batch fails, the others are still tried. Returns those that failed.
    fn refresh_batches(&mut self, store: &Store, stall_watch: &StallWatch) -> Result<Vec<Failing>, Error> {
        let epoch = store.epoch()?.number;
        if self.looked != epoch {
            self.shared.set_lost(lost(store)?);
            self.looked = epoch;
        }
        let (mut failing, mut is_whole) = (Vec::new(), true);
        for batch in store.batches()? {
            // A batch that was never proven has a gauge too.
            let proven = batch.proven.as_ref().map_or(0, |proven| proven.epoch);
            let proven = i64::try_from(proven).unwrap_or(i64::MAX);
            self.shared.metrics.proven.get_or_create(&of_batch(&batch.name)).set(proven);
            if self.shared.is_fresh(&batch) {
                continue;
            }
            match self.prove(store, &batch.name, stall_watch) {
                Ok(is_recorded) => is_whole &= is_recorded,
                Err((epoch, cause)) => failing.push(Failing { batch: batch.name, epoch, cause }),
            }
            if store.has_failed() {
                break;
            }
        }
        if failing.is_empty() && is_whole {
            self.shared.proven_to(epoch);
        }
        Ok(failing)
    }

    /// Proves a batch at the current epoch. Returns false if the batch has other members since, so that the proof does
    /// not count. The error has the epoch, and says why the proof was not made.
    fn prove(&mut self, store: &Store, name: &str, stall_watch: &StallWatch) -> Result<bool, (u64, String)> {
        let shared = self.shared.clone();
        let epoch = store.epoch().map_err(|e| (self.looked, e.to_string()))?.number;
        if stall_watch.is_over() {
            return Err((epoch, shared.stop_reason()));
        }
        let _span = tracing::info_span!("refresh", batch = name, epoch).entered();
        let started = Instant::now();
        let watch = Watch::new(shared.metrics.tasks.clone());
        let progress = |batch: &str, event: &evergrove::jobs::Event<'_>| {
            watch.event(event);
            stall_watch.event(event);
            shared.progress(batch, epoch, event);
        };
        let prover = Prover::new(store, shared.backends(), shared.engine()).with_progress(&progress);
        let outcome = prover.with_cancel(stall_watch.cancel()).prove_at(name, epoch);
        shared.end_progress(name);
        let superseded = store.batch(name).is_ok_and(|batch| batch.since > epoch);
        match outcome {
            Ok(_) | Err(Error::EmptySlot { .. } | Error::OutOfRange { .. }) if superseded => {
                tracing::info!("the members of the batch have changed meanwhile: the next refresh proves the new ones");
                Ok(false)
            }
            Ok(report) => {
                let seconds = started.elapsed().as_secs_f64();
                shared.metrics.refresh.get_or_create(&of_batch(name)).observe(seconds);
                let gauge = shared.metrics.proven.get_or_create(&of_batch(name));
                gauge.set(i64::try_from(report.epoch).unwrap_or(i64::MAX));
                tracing::info!(made = report.made, total = report.total, seconds, "proven");
                shared.set_stalled(false);
                shared.count_proof();
                shared.found(name);
                shared.publish(Event::of_proof(&report, seconds));
                Ok(true)
            }
            Err(e) => {
                if shared.is_aborting() {
                    tracing::info!("stopped: the next start continues with the proofs that exist");
                    return Err((epoch, e.to_string()));
                }
                self.found_no_room |= e.is_full();
                if shared.is_interrupted() {
                    tracing::info!("stopped: the database is opened again first");
                    return Err((epoch, e.to_string()));
                }
                let cause = if stall_watch.is_over() { shared.stop_reason() } else { e.to_string() };
                shared.metrics.failures.get_or_create(&of_batch(name)).inc();
                tracing::warn!(error = cause, "not proven");
                Err((epoch, cause))
            }
        }
    }

    /// Removes old epochs when twice as many are kept as configured, or when the disk is full. Keeps the epochs of the
    /// last proofs too, if they are among the last [`RECENT`]. A running backup postpones this, except on a full disk.
    fn prune(&mut self) -> Result<(), Error> {
        let Some(keep) = self.shared.config.keep else { return Ok(()) };
        let shared = self.shared.clone();
        let (epochs, newest) = shared.read(|store| Ok((store.epochs()?.len() as u64, store.epoch()?.number)))?;
        let batches = shared.read(Store::batches)?;
        let proofs = batches.iter().filter_map(|batch| batch.proven.as_ref());
        let behind = proofs.map(|proven| newest.saturating_sub(proven.epoch) + 1).max().unwrap_or(0);
        let is_full = shared.is_full();
        // On a full disk no proof can be stored, so none would ever let older epochs go.
        let kept = if is_full { keep } else { keep.max(behind.min(RECENT as u64)) };
        self.compacted &= is_full;
        if epochs <= kept || (epochs < kept.saturating_mul(2) && !is_full) {
            return Ok(());
        }
        let (pruned, failed) = if is_full && !self.compacted {
            self.compacted = true;
            let mut store = shared.store_alone();
            // A backup may still need the proofs of its epoch. On a full disk, free space matters more.
            shared.backups().break_off();
            let pruned = store.prune(kept, false);
            (pruned, store.has_failed())
        } else if !is_full && shared.backups().is_running() {
            return Ok(());
        } else {
            let store = shared.store();
            let pruned = store.prune_in_use(kept);
            let failed = pruned.is_err() && store.has_failed();
            (pruned, failed)
        };
        match pruned {
            Ok(report) => tracing::info!(epochs = report.epochs, proofs = report.objects, "pruned"),
            Err(e) if e.is_full() || failed => {
                tracing::warn!(error = %e, "not pruned");
                if e.is_full() {
                    shared.set_full_for_epochs(true);
                }
                shared.recover()?;
            }
            Err(e) => return Err(e),
        }
        Ok(())
    }
}
