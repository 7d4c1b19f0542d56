//! Progress of the proofs of each batch.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::time::Instant;

use evergrove::jobs::Event;
use serde::Serialize;
use utoipa::ToSchema;

/// Number of changes of a batch that are kept for slow streams. A stream that missed more sees this in `from` of a
/// [`Progress`].
const KEPT: usize = 8192;

/// Greatest number of names of workers that are kept for a run, and the greatest length of a name in bytes.
const NAMES: usize = 256;
const NAME_BYTES: usize = 64;

/// The state of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProofState {
    /// The proof must be made.
    Stale,
    /// The proof is being made.
    Proving,
    /// This process made the proof for the epoch.
    Proven,
    /// The proof existed before, from another epoch or another process.
    Reused,
}

/// Changed states of some proofs of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Progress {
    /// The batch.
    pub batch: String,
    /// The process that counts the changes. Another process starts from 0.
    pub process: String,
    /// The epoch that is being proven.
    pub epoch: u64,
    /// Number of changes of this batch before these changes.
    pub from: u64,
    /// Number of changes including these.
    pub to: u64,
    /// Number of proofs that the run has made.
    pub proofs_made: usize,
    /// Number of proofs that the run makes in total.
    pub proofs_to_make: usize,
    /// Estimate of the remaining time in seconds, if there is one.
    pub seconds_left: Option<f64>,
    /// Number and last state of each changed proof.
    pub proofs: Vec<(usize, ProofState)>,
    /// Number and worker of each changed proof that a named worker made.
    pub workers: Vec<(usize, String)>,
}

/// What a stream already knows of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    batch: String,
    epoch: u64,
    seen: u64,
}

/// The last run of each batch.
#[derive(Debug)]
pub(crate) struct Runs {
    /// A random name that tells the changes of this process from those of another one.
    process: String,
    runs: BTreeMap<String, Run>,
}

impl Default for Runs {
    fn default() -> Self {
        Self { process: format!("{:016x}", RandomState::new().hash_one(())), runs: BTreeMap::new() }
    }
}

/// The last run of a batch: one byte for each proof, and the last changes.
#[derive(Debug)]
pub(crate) struct Run {
    epoch: u64,
    states: Vec<Option<ProofState>>,
    made: usize,
    to_make: usize,
    began: Instant,
    is_over: bool,
    /// Number of changes of the batch so far, including those of earlier runs.
    changes: u64,
    /// Number of plans of the batch and of ends of its runs.
    turns: u64,
    /// The last changes. `None` marks the end of the run.
    last: VecDeque<Option<(usize, ProofState)>>,
    names: Vec<String>,
    /// Proofs by named workers: the number of the proof, and the index of the name in `names`.
    by: HashMap<usize, u16>,
}

impl Runs {
    /// Records an event of a run.
    pub(crate) fn event(&mut self, batch: &str, epoch: u64, event: &Event<'_>) {
        if let Event::Planned { tasks, to_run } = event {
            let before = self.runs.remove(batch);
            let (changes, turns) = before.as_ref().map_or((0, 0), |run| (run.changes, run.turns));
            // Another attempt at the same proofs: the proofs that were made still exist.
            let states = before.filter(|run| run.epoch == epoch && run.states.len() == *tasks).map(|run| run.states);
            let states = states.map_or_else(
                || vec![None; *tasks],
                |states| states.into_iter().map(|s| s.filter(|s| *s == ProofState::Proven)).collect(),
            );
            let (began, last) = (Instant::now(), VecDeque::new());
            // The plan itself is a change: it says which proofs must be made.
            let (changes, turns) = (changes + 1, turns + 1);
            let (names, by) = (Vec::new(), HashMap::new());
            let (made, to_make, is_over) = (0, *to_run, false);
            let run = Run { epoch, states, made, to_make, began, is_over, changes, turns, last, names, by };
            self.runs.insert(batch.into(), run);
            return;
        }
        let Some(run) = self.runs.get_mut(batch) else { return };
        let (id, state) = match event {
            Event::Started { id, .. } => (id, ProofState::Proving),
            Event::Finished { id, done, by, .. } => {
                run.made = *done;
                if let Some(by) = by {
                    run.made_by(id.0, by);
                }
                (id, ProofState::Proven)
            }
            Event::Retrying { id, .. } | Event::Postponed { id, .. } | Event::Failed { id, .. } => {
                (id, ProofState::Stale)
            }
            _ => return,
        };
        run.change(id.0, state);
    }

    /// Records the end of a run: proofs that were being made are stale. The end itself is a change too, because proofs
    /// that a complete run has not touched count as reused.
    pub(crate) fn end(&mut self, batch: &str) {
        let Some(run) = self.runs.get_mut(batch).filter(|run| !run.is_over) else { return };
        run.is_over = true;
        run.turns += 1;
        let open = run.states.iter().enumerate().filter(|(_, state)| **state == Some(ProofState::Proving));
        for number in open.map(|(number, _)| number).collect::<Vec<_>>() {
            run.change(number, ProofState::Stale);
        }
        run.note(None);
    }

    /// The run of a batch for an epoch, if there was one.
    pub(crate) fn of(&self, batch: &str, epoch: u64) -> Option<&Run> {
        self.runs.get(batch).filter(|run| run.epoch == epoch)
    }

    /// Number of changes of a batch so far.
    pub(crate) fn changes(&self, batch: &str) -> u64 {
        self.runs.get(batch).map_or(0, |run| run.changes)
    }

    /// Number of plans of a batch and of ends of its runs. After each of them, the set of stored proofs must be read
    /// again.
    pub(crate) fn turns(&self, batch: &str) -> u64 {
        self.runs.get(batch).map_or(0, |run| run.turns)
    }

    /// The random name that tells the changes of this process from those of another one.
    pub(crate) fn process(&self) -> &str {
        &self.process
    }

    /// A follower of the changes from now on.
    pub(crate) fn follow(&self, batch: String) -> Follower {
        let run = self.runs.get(&batch);
        let (epoch, seen) = run.map_or((0, 0), |run| (run.epoch, run.changes));
        Follower { batch, epoch, seen }
    }

    /// The changes since the last call for this follower.
    pub(crate) fn news(&self, follower: &mut Follower) -> Option<Progress> {
        let run = self.runs.get(&follower.batch).filter(|run| run.changes != follower.seen)?;
        let oldest = run.changes - run.last.len() as u64;
        // If changes were dropped or belong to another run, `from` exceeds what the follower has seen: it must read all
        // states.
        let from = follower.seen.max(oldest);
        let from = if follower.epoch == run.epoch { from } else { oldest };
        let skipped = usize::try_from(from - oldest).unwrap_or(usize::MAX);
        let latest: HashMap<usize, ProofState> = run.last.iter().skip(skipped).flatten().copied().collect();
        let mut proofs: Vec<_> = latest.into_iter().collect();
        proofs.sort_unstable_by_key(|(number, _)| *number);
        let by = |(number, _): &(usize, _)| run.worker(*number).map(|name| (*number, name.to_owned()));
        let workers = proofs.iter().filter_map(by).collect();
        (follower.epoch, follower.seen) = (run.epoch, run.changes);
        Some(Progress {
            batch: follower.batch.clone(),
            process: self.process.clone(),
            epoch: run.epoch,
            from,
            to: run.changes,
            proofs_made: run.made,
            proofs_to_make: run.to_make,
            seconds_left: run.seconds_left(),
            proofs,
            workers,
        })
    }
}

impl Run {
    fn change(&mut self, number: usize, state: ProofState) {
        let Some(place) = self.states.get_mut(number) else { return };
        *place = Some(state);
        self.note(Some((number, state)));
    }

    fn note(&mut self, change: Option<(usize, ProofState)>) {
        self.changes += 1;
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(change);
    }

    fn made_by(&mut self, number: usize, name: &str) {
        let known = self.names.iter().position(|of| of == name);
        let place = match known {
            Some(place) => place,
            None if self.names.len() < NAMES && name.len() <= NAME_BYTES => {
                self.names.push(name.into());
                self.names.len() - 1
            }
            None => return,
        };
        self.by.insert(number, place as u16);
    }

    /// The name of the worker that made a proof, if it is known.
    pub(crate) fn worker(&self, number: usize) -> Option<&str> {
        self.by.get(&number).and_then(|place| self.names.get(usize::from(*place))).map(String::as_str)
    }

    /// The state of a proof, if the run has touched it.
    pub(crate) fn state(&self, number: usize) -> Option<ProofState> {
        self.states.get(number).copied().flatten()
    }

    /// True when the run is over and has made all missing proofs.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_over && self.made == self.to_make
    }

    /// Number of proofs.
    pub(crate) fn proofs(&self) -> usize {
        self.states.len()
    }

    /// Estimate of the remaining time in seconds, at the pace so far. `None` before the first proof and after the run.
    pub(crate) fn seconds_left(&self) -> Option<f64> {
        let left = self.to_make.saturating_sub(self.made);
        match (left, self.made) {
            _ if self.is_over => None,
            (0, _) => Some(0.0),
            (_, 0) => None,
            (left, made) => Some(self.began.elapsed().as_secs_f64() * left as f64 / made as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use evergrove::jobs::{Key, Task, TaskId};

    use super::*;

    fn task() -> Task {
        Task { key: Key([0; 32]), kind: "bucket", priority: 0, deps: Vec::new() }
    }

    #[test]
    fn a_follower_is_told_the_last_state_of_what_changed() {
        let (mut runs, task) = (Runs::default(), task());
        let started = |n| Event::Started { id: TaskId(n), task: &task, attempt: 1 };
        let finished = |n, done| Event::Finished { id: TaskId(n), task: &task, bytes: 1, done, by: Some("w1") };
        let mut follower = runs.follow("b".into());
        assert_eq!(runs.news(&mut follower), None);
        runs.event("b", 2, &Event::Planned { tasks: 3, to_run: 2 });
        for event in [started(0), finished(0, 1), started(2)] {
            runs.event("b", 2, &event);
        }
        let news = runs.news(&mut follower).unwrap();
        assert_eq!(news.proofs, [(0, ProofState::Proven), (2, ProofState::Proving)]);
        assert_eq!((news.epoch, news.from, news.to, news.proofs_made, news.proofs_to_make), (2, 1, 4, 1, 2));
        assert!(news.seconds_left.is_some_and(|s| s < 60.0));
        assert_eq!(news.workers, [(0, "w1".into())]);
        assert_eq!(runs.news(&mut follower), None);
        assert_eq!(
            [0, 1, 2].map(|n| runs.of("b", 2).unwrap().state(n)),
            [Some(ProofState::Proven), None, Some(ProofState::Proving)]
        );
        assert!(runs.of("b", 1).is_none());

        // The run ends without its last proof. Another attempt knows the first one.
        runs.end("b");
        let news = runs.news(&mut follower).unwrap();
        assert_eq!((news.from, news.to, news.seconds_left), (4, 6, None));
        assert_eq!(news.proofs, [(2, ProofState::Stale)]);
        assert!(!runs.of("b", 2).unwrap().is_whole());
        runs.event("b", 2, &Event::Planned { tasks: 3, to_run: 1 });
        let run = runs.of("b", 2).unwrap();
        assert_eq!([0, 2].map(|n| run.state(n)), [Some(ProofState::Proven), None]);
        runs.event("b", 2, &finished(2, 1));
        runs.news(&mut follower);
        let before = (runs.changes("b"), runs.turns("b"));
        runs.end("b");
        runs.end("b");
        assert!(runs.of("b", 2).unwrap().is_whole());
        assert_eq!((runs.changes("b"), runs.turns("b")), (before.0 + 1, before.1 + 1), "the end counts once");
        let news = runs.news(&mut follower).unwrap();
        assert_eq!((news.from, news.to, news.proofs.len()), (before.0, before.0 + 1, 0));
        runs.event("b", 3, &Event::Planned { tasks: 3, to_run: 1 });
        assert_eq!(runs.of("b", 3).unwrap().state(0), None);
    }

    #[test]
    fn a_follower_that_has_missed_changes_sees_that_by_their_number() {
        let (mut runs, task) = (Runs::default(), task());
        runs.event("b", 2, &Event::Planned { tasks: KEPT + 10, to_run: KEPT + 10 });
        let mut follower = runs.follow("b".into());
        let seen = runs.changes("b");
        for n in 0..KEPT + 5 {
            runs.event("b", 2, &Event::Started { id: TaskId(n), task: &task, attempt: 1 });
        }
        let news = runs.news(&mut follower).unwrap();
        assert_eq!((news.from, news.to, news.proofs.len()), (seen + 5, seen + 5 + KEPT as u64, KEPT));
    }
}
