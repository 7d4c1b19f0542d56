//! The thread that commits epochs and then proves them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evergrove::jobs::Observer;
use evergrove::jobs::watch::Watch;
use evergrove::store::{self, Changes, Epoch, Error, ErrorClass, Outcome, Prover, Store};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::Event;
use crate::access::Record;
use crate::change::{self, Request};
use crate::metrics::of_batch;
use crate::problem::Problem;
use crate::service::{Failing, Shared};
use crate::stall::StallWatch;

/// The first and the longest wait before failed proofs are tried again.
const RETRY: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// An epoch with this many bytes of requests accepts no further ones: changes take several times as much memory.
const EPOCH_BYTES: usize = 8 << 20;

/// A request in the queue, whose changes are well-formed.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) body: Vec<u8>,
    /// The idempotency key from the caller.
    pub(crate) key: Option<store::Request>,
    /// The epoch that the table must be in.
    pub(crate) if_match: Option<u64>,
    pub(crate) asker: Asker,
}

/// The caller that waits for the outcome of a request.
pub(crate) struct Asker {
    pub(crate) answer: oneshot::Sender<Result<Done, Problem>>,
    /// The line of the request in the log of requests.
    pub(crate) record: Option<Arc<Record>>,
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asker").finish_non_exhaustive()
    }
}

/// A request with parsed changes.
#[derive(Debug)]
struct Submission {
    request: Request,
    /// Size of the body in bytes.
    bytes: usize,
    if_match: Option<u64>,
    asker: Asker,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    /// The epoch with the changes.
    pub(crate) epoch: Epoch,
    /// Number of changes.
    pub(crate) changes: u64,
    /// True if the request had been made before.
    pub(crate) replayed: bool,
}

impl Submission {
    fn key(&self) -> Option<&store::Request> {
        self.request.changes.requests.first()
    }

    /// True when both requests can be part of one epoch, `next` after `self`.
    fn fits(&self, next: &Self) -> bool {
        let key = |one: &Self| one.key().map(|request| request.key.clone());
        next.if_match.is_none() && (key(self).is_none() || key(self) != key(next))
    }
}

/// Commits the requests in the queue, then refreshes every batch.
///
/// ```text
///              requests in the queue          committed: they are answered
///   waiting ───────────────────────▶ commit ───────────────────────────────▶ refresh ──▶ waiting
///      │                                                                        │  ▲
///      │ the queue is closed and empty                             a batch fails│  │ after a while,
///      ▼                                                                        ▼  │ or with the next epoch
///     end                                                                     stale
/// ```
///
/// An answer to a request means that its epoch is in the store's database, synced to disk. Proofs come later. The
/// proofs of an epoch are finished before the next commit, so each epoch has its proofs; meanwhile requests gather in
/// the queue.
pub(crate) struct Epochs {
    shared: Arc<Shared>,
    queue: mpsc::Receiver<Waiting>,
    runtime: Handle,
    /// A request that does not fit the group before it. It is the first of the next group.
    held: Option<Submission>,
    /// How long to wait before failed proofs are tried again.
    retry: Option<Duration>,
    /// The last epoch at which lost proofs were looked for.
    looked: Option<u64>,
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

/// The next step.
enum Next {
    Commit(Vec<Submission>),
    Retry,
    End,
}

impl Epochs {
    pub(crate) fn new(shared: Arc<Shared>, queue: mpsc::Receiver<Waiting>, runtime: Handle) -> Self {
        Self { shared, queue, runtime, held: None, retry: None, looked: None }
    }

    /// Runs until the queue is closed and empty.
    ///
    /// # Errors
    /// If the store fails. Requests that were not committed get an error as answer.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        // The service has looked for lost proofs before it answered its first caller.
        self.looked = Some(self.shared.store().epoch()?.number);
        // An earlier process may have left stale batches.
        self.refresh()?;
        loop {
            let started = Instant::now();
            match self.next() {
                Next::Commit(group) => self.commit(group)?,
                Next::Retry => {}
                Next::End => return Ok(()),
            }
            self.refresh()?;
            self.prune()?;
            self.shared.cycle_took(started.elapsed());
        }
    }

    fn next(&mut self) -> Next {
        let first = match self.held.take() {
            Some(held) => held,
            None => loop {
                match self.wait().map(|waiting| waiting.map(|waiting| self.read(waiting))) {
                    Ok(Some(Some(first))) => break first,
                    Ok(Some(None)) => {}
                    Ok(None) => return Next::End,
                    Err(()) => return Next::Retry,
                }
            },
        };
        let mut named = first.request.named.clone();
        let mut bytes = first.bytes;
        let mut group = vec![first];
        let until = Instant::now() + self.shared.config.gather;
        while group.len() < self.shared.config.queue && bytes < EPOCH_BYTES {
            let Some(next) = self.more(until) else { break };
            let Some(next) = self.read(next) else { continue };
            if !named.fits(&next.request.named) || !group.iter().all(|one: &Submission| one.fits(&next)) {
                self.held = Some(next);
                break;
            }
            named.extend(&next.request.named);
            bytes += next.bytes;
            group.push(next);
        }
        Next::Commit(group)
    }

    /// Parses the changes of a request. Answers a request with invalid changes, and returns `None`.
    fn read(&self, waiting: Waiting) -> Option<Submission> {
        let Waiting { body, key, if_match, asker } = waiting;
        match Request::parse(&self.shared.schema, &body, self.shared.config.grow) {
            Ok(mut request) => {
                request.changes.requests.extend(key);
                Some(Submission { request, bytes: body.len(), if_match, asker })
            }
            Err(e) => {
                self.shared.answer(asker, Err(e.into()));
                None
            }
        }
    }

    /// The next request; `None` at the end of the queue. An error means that it is time to try failed proofs again.
    fn wait(&mut self) -> Result<Option<Waiting>, ()> {
        let (retry, queue, shared) = (self.retry, &mut self.queue, &self.shared);
        self.runtime.block_on(async {
            let pause = async {
                match retry {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            let received = async {
                tokio::select! {
                    biased;
                    request = queue.recv() => return request,
                    () = shared.draining() => {}
                }
                queue.close();
                queue.recv().await
            };
            tokio::select! {
                biased;
                request = received => Ok(request),
                () = pause => Err(()),
            }
        })
    }

    /// A further request that is in the queue or arrives before `until`.
    fn more(&mut self, until: Instant) -> Option<Waiting> {
        if let Ok(next) = self.queue.try_recv() {
            return Some(next);
        }
        let (queue, shared) = (&mut self.queue, &self.shared);
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                next = queue.recv() => next,
                () = tokio::time::sleep_until(until.into()) => None,
                () = shared.draining() => None,
            }
        })
    }

    /// Answers the requests that need no epoch, and commits the others as one epoch. If some changes cannot be made,
    /// each request becomes an epoch of its own.
    fn commit(&self, group: Vec<Submission>) -> Result<(), Error> {
        let mut wanted = Vec::with_capacity(group.len());
        for one in group {
            match self.known(&one) {
                Ok(None) => wanted.push(one),
                Ok(Some(known)) => self.shared.answer(one.asker, known),
                Err(e) => {
                    wanted.into_iter().chain([one]).for_each(|s| self.shared.answer(s.asker, Err(Problem::store())));
                    return Err(e);
                }
            }
        }
        if wanted.is_empty() { Ok(()) } else { self.commit_all(wanted) }
    }

    /// The answer to a request that needs no epoch: it was made before, its caller has disconnected, or the table is
    /// not in the epoch of `if_match`.
    fn known(&self, one: &Submission) -> Result<Option<Result<Done, Problem>>, Error> {
        let store = self.shared.store();
        if let Some(key) = one.key() {
            match store.request(&key.key) {
                Ok(None) => {}
                Ok(Some(Outcome { epoch, digest, changes })) => {
                    let done = Done { epoch, changes, replayed: true };
                    return Ok(Some(if digest == key.digest { Ok(done) } else { Err(Problem::key_reused(&key.key)) }));
                }
                // Nobody can tell whether this request was made. Requests with other keys are not affected.
                Err(e @ Error::Corrupt { .. }) if !store.has_failed() => {
                    tracing::error!(error = %e, "a request is refused");
                    return Ok(Some(Err(Problem::store())));
                }
                Err(e) => return Err(e),
            }
        }
        if one.asker.answer.is_closed() {
            tracing::debug!("a caller is gone, and its request is dropped");
            return Ok(Some(Err(Problem::stopping())));
        }
        let Some(expected) = one.if_match else { return Ok(None) };
        let found = store.epoch()?.number;
        Ok((found != expected).then(|| Err(Problem::changed(expected, found))))
    }

    fn commit_all(&self, group: Vec<Submission>) -> Result<(), Error> {
        let mut changes = Changes::default();
        group.iter().for_each(|s| change::merge(&mut changes, &s.request.changes));
        // A request that may not grow the table keeps the group from growing it. Its own changes are then refused
        // alone.
        changes.grow = group.iter().all(|s| s.request.changes.grow);
        let before = self.shared.store().epoch()?.number;
        let started = Instant::now();
        let applied = self.shared.store().apply(&changes);
        match applied {
            Ok(report) => {
                self.shared.set_full(false);
                self.committed(&changes, &report.after, started.elapsed());
                self.answer_all(group, report.after);
                Ok(())
            }
            Err(e) if e.is_full() => {
                tracing::warn!(error = %e, "no room for an epoch");
                self.shared.set_full(true);
                self.shared.recover()?;
                let now = self.shared.store().epoch()?;
                if now.number > before {
                    // The epoch is committed. Only the steps after the commit found no space.
                    self.committed(&changes, &now, started.elapsed());
                    self.answer_all(group, now);
                } else {
                    group.into_iter().for_each(|s| self.shared.answer(s.asker, Err(Problem::full())));
                }
                Ok(())
            }
            Err(e) if e.class() == ErrorClass::Usage && group.len() > 1 => {
                group.into_iter().try_for_each(|one| self.commit_all(vec![one]))
            }
            Err(e) if e.class() == ErrorClass::Usage => {
                for Submission { asker, .. } in group {
                    self.shared.metrics.refused.inc();
                    self.shared.answer(asker, Err(Problem::refused(e.to_string())));
                }
                Ok(())
            }
            Err(e) => {
                for Submission { asker, .. } in group {
                    self.shared.answer(asker, Err(Problem::store()));
                }
                Err(e)
            }
        }
    }

    fn answer_all(&self, group: Vec<Submission>, epoch: Epoch) {
        for Submission { request, asker, .. } in group {
            tracing::debug!(epoch = epoch.number, lines = request.lines, "committed");
            self.shared.answer(asker, Ok(Done { epoch, changes: request.lines as u64, replayed: false }));
        }
    }

    /// Counts an epoch and publishes its event.
    fn committed(&self, changes: &Changes, epoch: &Epoch, took: Duration) {
        let metrics = &self.shared.metrics;
        metrics.commit.observe(took.as_secs_f64());
        metrics.epochs.inc();
        metrics.epoch.set(i64::try_from(epoch.number).unwrap_or(i64::MAX));
        for (kind, count) in change::counts(changes) {
            metrics.changes.get_or_create(&[("kind", kind.into())]).inc_by(count as u64);
        }
        let (set, deleted) = (changes.set.len(), changes.clear.len());
        tracing::info!(epoch = epoch.number, commitment = %epoch.commitment, set, deleted, "epoch");
        self.shared.count_epoch();
        self.shared.publish(Event::of_epoch(epoch, set, deleted));
    }

    /// Proves every batch that is not fresh, or whose last proof is lost. If a batch fails, the others are still tried.
    fn refresh(&mut self) -> Result<(), Error> {
        let store = self.shared.store();
        let epoch = store.epoch()?.number;
        self.shared.metrics.epoch.set(i64::try_from(epoch).unwrap_or(i64::MAX));
        let stall_watch = StallWatch::new(&self.shared, &self.runtime);
        let mut failing = Vec::new();
        // Answers that commit nothing, such as those to requests that were already made, read no proofs.
        if self.looked != Some(epoch) {
            self.shared.set_lost(lost(&store)?);
            self.looked = Some(epoch);
        }
        for batch in store.batches()? {
            // A batch that was never proven has a gauge too.
            let proven = batch.proven.as_ref().map_or(0, |proven| proven.epoch);
            let gauge = self.shared.metrics.proven.get_or_create(&of_batch(&batch.name));
            gauge.set(i64::try_from(proven).unwrap_or(i64::MAX));
            if self.shared.is_fresh(&batch) {
                continue;
            }
            if let Err(cause) = self.prove(&store, &batch.name, epoch, &stall_watch) {
                failing.push((batch.name, cause));
            }
            if store.has_failed() {
                break;
            }
        }
        drop(store);
        self.shared.recover()?;
        self.retry = match (failing.is_empty(), self.retry) {
            (true, _) => None,
            (false, None) => Some(RETRY[0]),
            (false, Some(last)) => Some((last * 2).min(RETRY[1])),
        };
        let retry_after = self.retry.map_or(0, |pause| pause.as_secs());
        let failures = failing.iter().cloned().map(|(batch, cause)| Failing { batch, epoch, cause });
        self.shared.set_failing(failures.collect());
        for (batch, cause) in failing {
            self.shared.publish(Event::Failure { batch, epoch, cause, retry_after });
        }
        Ok(())
    }

    /// Proves a batch. The error says why this failed.
    fn prove(&self, store: &Store, name: &str, epoch: u64, stall_watch: &StallWatch) -> Result<(), String> {
        if stall_watch.is_over() {
            return Err(self.shared.stop_reason());
        }
        let _span = tracing::info_span!("refresh", batch = name, epoch).entered();
        let started = Instant::now();
        let shared = &self.shared;
        let watch = Watch::new(shared.metrics.tasks.clone());
        let progress = |batch: &str, event: &evergrove::jobs::Event<'_>| {
            watch.event(event);
            stall_watch.event(event);
            shared.progress(batch, epoch, event);
        };
        let prover = Prover::new(store, shared.backends(), shared.engine()).with_progress(&progress);
        let outcome = prover.with_cancel(stall_watch.cancel()).prove(name);
        shared.end_progress(name);
        match outcome {
            Ok(report) => {
                let seconds = started.elapsed().as_secs_f64();
                shared.metrics.refresh.get_or_create(&of_batch(name)).observe(seconds);
                let gauge = shared.metrics.proven.get_or_create(&of_batch(name));
                gauge.set(i64::try_from(report.epoch).unwrap_or(i64::MAX));
                tracing::info!(made = report.made, total = report.total, seconds, "proven");
                shared.set_stalled(false);
                shared.set_full(false);
                shared.count_proof();
                shared.found(name);
                shared.publish(Event::of_proof(&report, seconds));
                Ok(())
            }
            Err(e) => {
                if shared.is_aborting() {
                    tracing::info!("stopped: the next start continues with the proofs that exist");
                    return Err(e.to_string());
                }
                if e.is_full() {
                    shared.set_full(true);
                }
                let cause = if stall_watch.is_over() { shared.stop_reason() } else { e.to_string() };
                shared.metrics.failures.get_or_create(&of_batch(name)).inc();
                tracing::warn!(error = cause, "not proven");
                Err(cause)
            }
        }
    }

    /// Removes old epochs when twice as many are kept as configured, or when the disk is full. A running backup
    /// postpones this, except on a full disk.
    fn prune(&self) -> Result<(), Error> {
        let Some(keep) = self.shared.config.keep else { return Ok(()) };
        let kept = self.shared.store().epochs()?.len() as u64;
        if kept > keep && (kept >= keep.saturating_mul(2) || self.shared.is_full()) {
            let pruned = {
                let mut store = self.shared.store_alone();
                // A backup may still need the proofs of its epoch. On a full disk, free space matters more.
                if self.shared.is_full() {
                    self.shared.backups().break_off();
                } else if self.shared.backups().is_running() {
                    return Ok(());
                }
                store.prune(keep, false)
            };
            match pruned {
                Ok(report) => tracing::info!(epochs = report.epochs, proofs = report.objects, "pruned"),
                Err(e) if e.is_full() => {
                    tracing::warn!(error = %e, "no room to prune");
                    self.shared.set_full(true);
                    self.shared.recover()?;
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}
