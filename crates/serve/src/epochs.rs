//! The thread that commits epochs.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evergrove::store::{self, Changes, Epoch, Error, ErrorClass, Outcome, Store};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};

use crate::Event;
use crate::access::Record;
use crate::change::{self, Request};
use crate::problem::Problem;
use crate::service::Shared;

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

/// Commits the requests in the queue.
///
/// ```text
///              requests in the queue          on disk: they are answered
///   waiting ───────────────────────▶ commit ─────────────────────────────▶ waiting
///      │
///      │ the queue is closed and empty
///      ▼
///     end
/// ```
///
/// An answer to a request means that its epoch is in the store's database, synced to disk. [`Refresher`] makes the
/// proofs meanwhile, unless each epoch has to be proven before the next one is committed.
///
/// [`Refresher`]: crate::refresh::Refresher
pub(crate) struct Epochs {
    shared: Arc<Shared>,
    queue: mpsc::Receiver<Waiting>,
    runtime: Handle,
    /// Number of turns that called for a refresh: commits, and commits that found no room.
    turns: watch::Sender<u64>,
    /// Number of these turns before the last refresh that has ended.
    refreshed: watch::Receiver<u64>,
    /// A request that does not fit the group before it. It is the first of the next group.
    held: Option<Submission>,
}

impl Epochs {
    pub(crate) fn new(
        shared: Arc<Shared>,
        queue: mpsc::Receiver<Waiting>,
        runtime: Handle,
        turns: watch::Sender<u64>,
        refreshed: watch::Receiver<u64>,
    ) -> Self {
        Self { shared, queue, runtime, turns, refreshed, held: None }
    }

    /// Runs until the queue is closed and empty.
    ///
    /// # Errors
    /// If the store fails. Requests that were not committed get an error as answer.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        self.wait_for_proofs();
        while let Some(group) = self.next() {
            let started = Instant::now();
            self.commit(group)?;
            self.wait_for_proofs();
            self.shared.cycle_took(started.elapsed());
        }
        Ok(())
    }

    /// If each epoch is proven, waits until the proofs of the current one are made or have failed.
    fn wait_for_proofs(&mut self) {
        if self.shared.config.prove_each_epoch {
            let turns = *self.turns.borrow();
            // An error means that the thread of proofs has ended, which ends the service.
            let _ = self.runtime.block_on(self.refreshed.wait_for(|refreshed| *refreshed >= turns));
        }
    }

    /// The requests of the next epoch. `None` at the end of the queue.
    fn next(&mut self) -> Option<Vec<Submission>> {
        let first = match self.held.take() {
            Some(held) => held,
            None => loop {
                let waiting = self.wait()?;
                if let Some(first) = self.read(waiting) {
                    break first;
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
        Some(group)
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

    /// The next request. `None` at the end of the queue.
    fn wait(&mut self) -> Option<Waiting> {
        let (queue, shared) = (&mut self.queue, &self.shared);
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                request = queue.recv() => return request,
                () = shared.draining() => {}
            }
            queue.close();
            queue.recv().await
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
            match self.shared.read(|store| self.known(store, &one)) {
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
    fn known(&self, store: &Store, one: &Submission) -> Result<Option<Result<Done, Problem>>, Error> {
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
        let started = Instant::now();
        match self.apply(&changes) {
            Ok(epoch) => {
                self.committed(&changes, &epoch, started.elapsed());
                self.answer_all(group, epoch);
                Ok(())
            }
            Err(e) if e.is_full() => {
                group.into_iter().for_each(|s| self.shared.answer(s.asker, Err(Problem::full())));
                // The refresh has no new epoch, but it prunes.
                self.turns.send_modify(|turns| *turns += 1);
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

    /// Commits changes as the next epoch. If the database has failed, opens it again. Then the epoch may be committed,
    /// because only later steps have failed; if not, this tries again once, because the failed write may be that of
    /// another thread.
    fn apply(&self, changes: &Changes) -> Result<Epoch, Error> {
        let before = self.shared.read(Store::epoch)?.number;
        let mut is_last = false;
        loop {
            let (applied, failed) = {
                let store = self.shared.store();
                let applied = store.apply(changes);
                let failed = applied.is_err() && store.has_failed();
                (applied, failed)
            };
            let e = match applied {
                Ok(report) => {
                    self.shared.set_full_for_epochs(false);
                    return Ok(report.after);
                }
                Err(e) if e.is_full() || failed => e,
                Err(e) => return Err(e),
            };
            tracing::warn!(error = %e, "an epoch could not be written");
            if e.is_full() {
                self.shared.set_full_for_epochs(true);
            }
            self.shared.recover()?;
            let now = self.shared.read(Store::epoch)?;
            if now.number > before {
                return Ok(now);
            }
            if e.is_full() || is_last {
                return Err(e);
            }
            is_last = true;
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
        self.shared.publish(Event::of_epoch(epoch, set, deleted));
        self.turns.send_modify(|turns| *turns += 1);
    }
}
