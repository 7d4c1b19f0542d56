//! The changes of one epoch.

use std::collections::{BTreeMap, HashSet};

use evergrove_commit::Vector;
use evergrove_commit::schema::Row;
use evergrove_verifier::tree::Value;
use evergrove_verifier::{Commitment, HEIGHT_MAX};

use super::requests::{self, Request};
use super::{Epoch, Store, WriteView};
use crate::Error;

/// Changes that together form one epoch.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Slots that get a row, filled or empty before.
    pub set: Vec<(u64, Row)>,
    /// Filled slots that become empty. A slot must leave its batches before, or in the same epoch.
    pub clear: Vec<u64>,
    /// Indices to add to batches.
    pub add: Vec<(String, Vec<u64>)>,
    /// Indices to remove from batches.
    pub remove: Vec<(String, Vec<u64>)>,
    /// Doubles the vector until it has the indices of `set`. Without this, an index outside the vector is an error.
    pub grow: bool,
    /// The requests with keys that asked for these changes. [`Store::request`] returns their outcome.
    pub requests: Vec<Request>,
}

impl Changes {
    /// True if nothing would change.
    pub fn is_empty(&self) -> bool {
        let none = |joins: &[(String, Vec<u64>)]| joins.iter().all(|(_, indices)| indices.is_empty());
        self.set.is_empty() && self.clear.is_empty() && none(&self.add) && none(&self.remove)
    }
}

/// The outcome of committing changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochReport {
    /// The epoch before.
    pub before: Epoch,
    /// The new epoch. Equal to `before` if there were no changes.
    pub after: Epoch,
    /// Number of slots set.
    pub set: usize,
    /// Number of slots emptied.
    pub cleared: usize,
    /// Names of the batches whose members have changed.
    pub batches: Vec<String>,
}

impl Store {
    /// Commits changes as the next epoch in one transaction: all changes, or none after an error. Empty changes make no
    /// epoch. Does not refresh proofs; [`crate::Prover::update`] does both.
    ///
    /// Reads and writes at most ceil(H / 7) pages per changed slot.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::TooHigh`], [`Error::Duplicate`], [`Error::Row`], [`Error::EmptySlot`],
    /// [`Error::InBatch`], [`Error::UnknownBatch`], [`Error::AlreadyMember`], [`Error::NotMember`],
    /// [`Error::EmptyBatch`], [`Error::AllRows`], [`Error::RequestKey`], [`Error::Repeated`].
    pub fn apply(&self, changes: &Changes) -> Result<EpochReport, Error> {
        let _span = tracing::info_span!("commit", set = changes.set.len(), deleted = changes.clear.len()).entered();
        self.write(1, |view, current| {
            let report = stage(view, current, changes)?;
            let changed = report.before != report.after;
            Ok((report, changed))
        })
    }
}

/// Writes changes into a view of the next epoch.
pub(crate) fn stage(view: &mut WriteView<'_>, current: &Epoch, changes: &Changes) -> Result<EpochReport, Error> {
    let mut after = *current;
    let mut report = EpochReport { before: *current, after, set: 0, cleared: 0, batches: Vec::new() };
    if changes.is_empty() {
        return Ok(report);
    }
    let members = stage_members(view, changes)?;
    check_cleared(view, changes, &members)?;
    let slots = stage_slots(view, changes, current.commitment.height, &mut after.filled)?;
    after.commitment = stage_tree(view, &slots, current.commitment, changes)?;
    for (name, indices) in &members {
        if let Some(index) = first_empty(view, indices)? {
            check_range(index, after.commitment.height, false)?;
            return Err(Error::EmptySlot { index, batch: Some(name.clone()) });
        }
        let mut record = view.batch(name)?.ok_or_else(|| unknown(name, view))?;
        record.len = indices.len() as u64;
        record.span = (indices[0], indices[indices.len() - 1]);
        record.since = view.epoch;
        view.put_batch(name, &record)?;
        view.put_members(name, indices)?;
    }
    after.number = view.epoch;
    view.put_epoch(&after)?;
    requests::stage(view, &after, &changes.requests)?;
    report.after = after;
    (report.set, report.cleared) = (changes.set.len(), changes.clear.len());
    report.batches = members.into_keys().collect();
    Ok(report)
}

/// The first of `indices` whose slot is empty.
pub(crate) fn first_empty(view: &WriteView<'_>, indices: &[u64]) -> Result<Option<u64>, Error> {
    for index in indices {
        if !view.is_filled(*index)? {
            return Ok(Some(*index));
        }
    }
    Ok(None)
}

pub(crate) fn unknown(name: &str, view: &WriteView<'_>) -> Error {
    Error::UnknownBatch { name: name.into(), known: view.batch_names().unwrap_or_default() }
}

/// The new members of the batches that change. Refuses a batch without members.
fn stage_members(view: &WriteView<'_>, changes: &Changes) -> Result<BTreeMap<String, Vec<u64>>, Error> {
    let mut moves: BTreeMap<&str, (HashSet<u64>, HashSet<u64>)> = BTreeMap::new();
    let mut seen = HashSet::new();
    for (which, list) in [(0, &changes.add), (1, &changes.remove)] {
        for (name, indices) in list.iter().filter(|(_, i)| !i.is_empty()) {
            let batch = moves.entry(name).or_default();
            for index in indices {
                if !seen.insert((name, *index)) {
                    return Err(Error::Duplicate(*index));
                }
                if which == 0 { &mut batch.0 } else { &mut batch.1 }.insert(*index);
            }
        }
    }
    let mut out = BTreeMap::new();
    for (name, (add, remove)) in moves {
        match view.batch(name)? {
            None => return Err(unknown(name, view)),
            Some(record) if record.is_complete() => return Err(Error::AllRows(name.into())),
            Some(_) => {}
        }
        let old = view.members(name)?;
        let batch = || name.to_owned();
        if let Some(index) = add.iter().filter(|i| old.binary_search(i).is_ok()).min() {
            return Err(Error::AlreadyMember { index: *index, batch: batch() });
        }
        if let Some(index) = remove.iter().filter(|i| old.binary_search(i).is_err()).min() {
            return Err(Error::NotMember { index: *index, batch: batch() });
        }
        let mut new: Vec<u64> = old.into_iter().filter(|i| !remove.contains(i)).chain(add).collect();
        new.sort_unstable();
        if new.is_empty() {
            return Err(Error::EmptyBatch(batch()));
        }
        out.insert(batch(), new);
    }
    Ok(out)
}

/// Refuses to empty a slot that is in a batch after the changes.
fn check_cleared(view: &WriteView<'_>, changes: &Changes, members: &BTreeMap<String, Vec<u64>>) -> Result<(), Error> {
    if changes.clear.is_empty() {
        return Ok(());
    }
    for name in view.batch_names()? {
        let held = match members.get(&name) {
            Some(new) => new.clone(),
            None => view.members(&name)?,
        };
        if let Some(index) = changes.clear.iter().filter(|i| held.binary_search(i).is_ok()).min() {
            return Err(Error::InBatch { index: *index, batch: name });
        }
    }
    Ok(())
}

/// Writes rows outside the tree and counts filled slots. Returns the changes of the tree.
fn stage_slots(
    view: &mut WriteView<'_>,
    changes: &Changes,
    height: u8,
    filled: &mut u64,
) -> Result<Vec<(u64, Option<Value>)>, Error> {
    let mut seen = HashSet::new();
    let mut slots = Vec::with_capacity(changes.set.len() + changes.clear.len());
    for (index, row) in &changes.set {
        check_range(*index, height, changes.grow)?;
        if !seen.insert(*index) {
            return Err(Error::Duplicate(*index));
        }
        *filled += u64::from(!view.is_filled(*index)?);
        slots.push((*index, Some(view.put_row(*index, row)?)));
    }
    for index in &changes.clear {
        check_range(*index, height, false)?;
        if !seen.insert(*index) {
            return Err(Error::Duplicate(*index));
        }
        if !view.is_filled(*index)? {
            return Err(Error::EmptySlot { index: *index, batch: None });
        }
        *filled -= 1;
        slots.push((*index, None));
    }
    Ok(slots)
}

fn check_range(index: u64, height: u8, grow: bool) -> Result<(), Error> {
    if index >> HEIGHT_MAX != 0 {
        Err(Error::TooHigh(index))
    } else if index >> height != 0 && !grow {
        Err(Error::OutOfRange { index, height })
    } else {
        Ok(())
    }
}

/// Grows the vector as needed, and puts the slots into the tree.
fn stage_tree(
    view: &mut WriteView<'_>,
    slots: &[(u64, Option<Value>)],
    before: Commitment,
    changes: &Changes,
) -> Result<Commitment, Error> {
    let dir = view.dir.clone();
    let last = changes.set.iter().map(|(i, _)| *i).max().unwrap_or(0);
    let mut commitment = before;
    let mut vector = Vector::new(before.height, view).map_err(Error::vector(&dir))?;
    while last >> commitment.height != 0 {
        commitment = vector.grow().map_err(Error::vector(&dir))?;
    }
    if slots.is_empty() {
        return Ok(commitment);
    }
    vector.apply(slots).map_err(Error::vector(&dir))
}
