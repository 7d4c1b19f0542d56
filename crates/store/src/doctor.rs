//! Searching a store for damage, without repairs.

use std::collections::HashSet;

use evergrove_commit::page::{PAGE_LEVELS, Page};
use evergrove_commit::{BackendChoice, BackendSpec, PageId, Store as _, Vector};
use evergrove_jobs::Key;
use evergrove_primitives::Digest;
use evergrove_verifier::tree::{leaf_digest, node_digest};
use evergrove_verifier::{BatchProof, UnknownScheme};
use rayon::prelude::*;

use crate::prove::node_proof;
use crate::store::{View, split_slot};
use crate::{Backends, Error, Store, proof_key};

/// Something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub what: String,
    /// The remedy.
    pub repair: Repair,
}

/// The remedy for a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repair {
    /// Nothing to do: the database has repaired itself.
    Done,
    /// Using an earlier copy of the store, or making a new store of the table.
    Restore,
    /// Proving the batch again.
    Prove,
    /// Deleting the file, then proving again every batch that uses it.
    Delete,
    /// Moving the file out of the store.
    Move,
}

/// What [`Store::doctor`] has checked and found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DoctorReport {
    /// Epochs whose pages were compared with their commitment's root.
    pub epochs: usize,
    /// Pages of the current epoch whose nodes were hashed again.
    pub pages: usize,
    /// Slots whose row, value and leaf were compared.
    pub slots: u64,
    /// Number of batches.
    pub batches: usize,
    /// Proofs that were decoded and verified.
    pub proofs: usize,
    /// Proofs that were decoded but not verified, because their backend is missing.
    pub unverified: usize,
    /// Proofs that no batch refers to. [`Store::prune`] deletes them.
    pub orphans: Vec<Key>,
    /// Files of interrupted commands. [`Store::prune`] deletes them.
    pub leftovers: Vec<String>,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

impl DoctorReport {
    /// True if nothing is wrong. Orphans and leftovers are harmless.
    pub fn healthy(&self) -> bool {
        self.findings.is_empty()
    }

    fn find(&mut self, what: impl Into<String>, repair: Repair) {
        self.findings.push(Finding { what: what.into(), repair });
    }

    fn note<T>(&mut self, result: Result<T, Error>, repair: Repair) -> Option<T> {
        result.map_err(|e| self.find(e.to_string(), repair)).ok()
    }
}

/// Slots that are checked together, on all cores.
const SLOTS_AT_ONCE: usize = 1 << 13;

impl Store {
    /// Checks everything: the database's checksums, the root of every epoch, every page of the current epoch against
    /// its parent and children, every slot's row against its value and leaf, every batch, every request, and
    /// every stored proof. Repairs nothing. Only the database may repair its own bookkeeping, which is then a finding.
    ///
    /// Reads the whole store. Takes about 2 permutations per filled slot and one verification per proof.
    ///
    /// # Errors
    /// If the store cannot be read at all. Damage is a finding, not an error.
    pub fn doctor(&mut self, backends: &Backends) -> Result<DoctorReport, Error> {
        self.doctor_watched(backends, &mut |_, _| ())
    }

    /// As [`Store::doctor`]. Before each proof, calls `looked` with the number of proofs checked so far and the number
    /// of all proofs: proofs take most of the time.
    ///
    /// # Errors
    /// Those of [`Store::doctor`].
    pub fn doctor_watched(
        &mut self,
        backends: &Backends,
        looked: &mut dyn FnMut(usize, usize),
    ) -> Result<DoctorReport, Error> {
        let mut report = DoctorReport::default();
        match self.check_integrity() {
            Ok(true) => {}
            Ok(false) => report.find("the database's bookkeeping was not in order", Repair::Done),
            Err(e) => {
                report.find(e.to_string(), Repair::Restore);
                return Ok(report);
            }
        }
        self.check_tables(&mut report)?;
        self.check_proofs(backends, looked, &mut report)?;
        report.leftovers = self.leftovers();
        Ok(report)
    }

    /// The first damage of the epochs, the pages, the rows, the batches and the requests, if any. A missing or damaged
    /// proof is not damage: its batch is stale.
    pub(crate) fn check_content(&self) -> Result<Option<String>, Error> {
        let mut report = DoctorReport::default();
        self.check_tables(&mut report)?;
        Ok(report.findings.into_iter().find(|f| f.repair == Repair::Restore).map(|f| f.what))
    }

    /// Checks the epochs, the pages, the rows, the batches and the requests.
    fn check_tables(&self, report: &mut DoctorReport) -> Result<(), Error> {
        self.check_epochs(report)?;
        let view = self.view()?;
        check_tree(&view, report)?;
        check_slots(&view, report)?;
        self.check_batches(&view, report)?;
        for what in report.note(self.check_requests(), Repair::Restore).unwrap_or_default() {
            report.find(what, Repair::Restore);
        }
        Ok(())
    }

    fn check_epochs(&self, report: &mut DoctorReport) -> Result<(), Error> {
        for epoch in self.epochs()? {
            let view = self.view_at(epoch.number)?;
            let root = view.vector().and_then(|v| v.root().map_err(Error::store(self.dir())));
            match report.note(root, Repair::Restore) {
                Some(root) if root != epoch.commitment.root => report.find(
                    format!("epoch {}: the pages have another root than the commitment", epoch.number),
                    Repair::Restore,
                ),
                _ => {}
            }
            report.epochs += 1;
        }
        Ok(())
    }

    fn check_batches(&self, view: &View, report: &mut DoctorReport) -> Result<(), Error> {
        for name in self.members_without_record()? {
            report.find(format!("table \"members\": there is no batch {name:?}"), Repair::Restore);
        }
        for (name, record) in self.records()? {
            report.batches += 1;
            let Some((_, members)) = report.note(self.record(&name), Repair::Restore) else { continue };
            let span = members.first().copied().zip(members.last().copied()).unwrap_or_default();
            if record.span != span || record.backend.spec().is_none() {
                report.find(format!("batch {name:?}: its record does not fit its members"), Repair::Restore);
            }
            report.note(
                view.leaves(&members).map_err(|e| Error::corrupt(self.dir(), format!("batch {name:?}: {e}"))),
                Repair::Restore,
            );
            let Some(proven) = &record.proven else { continue };
            let bytes = report.note(self.objects().get(&Key(proven.key)).map_err(Error::from), Repair::Prove).flatten();
            match bytes.map(|b| *blake3::hash(&b).as_bytes()) {
                None => report
                    .find(format!("batch {name:?}: its proof of epoch {} is missing", proven.epoch), Repair::Prove),
                Some(found) if found != proven.checksum => report.find(
                    format!("batch {name:?}: its proof of epoch {} is not what was stored", proven.epoch),
                    Repair::Prove,
                ),
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn check_proofs(
        &self,
        backends: &Backends,
        looked: &mut dyn FnMut(usize, usize),
        report: &mut DoctorReport,
    ) -> Result<(), Error> {
        let wanted: Option<HashSet<Key>> = report.note(self.referenced(), Repair::Restore);
        let (objects, others) = self.objects().list()?;
        let all = objects.len();
        for (i, object) in objects.into_iter().enumerate() {
            looked(i, all);
            let Some(bytes) =
                report.note(self.objects().get(&object.key).map_err(Error::from), Repair::Delete).flatten()
            else {
                continue;
            };
            match judge(&object.key, &bytes, backends) {
                Ok(true) => report.proofs += 1,
                Ok(false) => report.unverified += 1,
                Err(what) => {
                    report.find(format!("{}: {what}", self.objects().place(&object.key).display()), Repair::Delete)
                }
            }
            if wanted.as_ref().is_some_and(|w| !w.contains(&object.key)) {
                report.orphans.push(object.key);
            }
        }
        for name in others {
            report.find(format!("{name} is not a proof"), Repair::Move);
        }
        Ok(())
    }
}

/// `Ok(true)` if a stored proof was verified, `Ok(false)` if its backend is missing, an error if it is not the proof of
/// its key.
fn judge(key: &Key, bytes: &[u8], backends: &Backends) -> Result<bool, String> {
    let file = BatchProof::decode(bytes).map_err(|e| e.to_string())?;
    let scheme = file.scheme.parse().map_err(|e: UnknownScheme| e.to_string())?;
    // A proof does not contain the parameters of its application. They come with its backend.
    let known = backends.spec_of(&file, scheme).filter(|known| known.id() == file.backend);
    let named = match known {
        Some(known) => known.clone(),
        None if scheme.has_app() => return Ok(false),
        None => {
            let choice = BackendChoice::new(file.backend.name.clone(), file.profile).with_scheme(scheme);
            let (version, class) = (file.backend.version, file.class);
            BackendSpec { choice, version, class, capacity: 1, wraps: false }
        }
    };
    if proof_key(&named, file.kind, &file.statement) != *key {
        return Err("it is the proof of another statement".into());
    }
    if known.is_none() {
        return Ok(false);
    }
    let backend = backends.of(&file, scheme).map_err(|e| e.to_string())?;
    backend.verify(&node_proof(file)).map(|()| true).map_err(|e| e.to_string())
}

fn check_tree(view: &View, report: &mut DoctorReport) -> Result<(), Error> {
    let vector = view.vector()?;
    let ids = view.page_ids()?;
    let judged = ids.par_iter().filter_map(|id| match view.page(*id) {
        Ok(None) => None,
        Ok(Some(page)) => Some(
            check_page(view, &vector, *id, &page)
                .map_err(|what| format!("page {} of tier {}: {what}", id.position, id.tier)),
        ),
        Err(e) => Some(Err(e.source.to_string())),
    });
    for outcome in judged.collect::<Vec<_>>() {
        report.pages += 1;
        if let Err(what) = outcome {
            report.find(what, Repair::Restore);
        }
    }
    Ok(())
}

/// Hashes a page again: each node is the hash of its children, the root is the node of the page above, and each bottom
/// node has a page below it.
fn check_page(view: &View, vector: &Vector<&View>, id: PageId, page: &Page) -> Result<(), String> {
    let height = vector.height();
    let low = PAGE_LEVELS * id.tier;
    if low >= height {
        return Err(format!("a vector of height {height} has no such page"));
    }
    let levels = PAGE_LEVELS.min(height - low);
    if id.position >> (height - low - levels) != 0 || (levels..PAGE_LEVELS).any(|l| page.positions(l).next().is_some())
    {
        return Err(format!("a vector of height {height} has no such page"));
    }
    let node =
        |level: u8, position: u64| page.get(level, position).copied().unwrap_or(vector.nulls()[(low + level) as usize]);
    let parent = |level: u8, position: u64| -> Digest {
        let (left, right) = (node(level, 2 * position), node(level, 2 * position + 1));
        let null = vector.nulls()[(low + level) as usize];
        if (left, right) == (null, null) {
            vector.nulls()[(low + level + 1) as usize]
        } else {
            node_digest(&left, &right)
        }
    };
    for level in 1..levels {
        let above = page.positions(level).chain(page.positions(level - 1).map(|p| p / 2));
        for position in above.collect::<HashSet<_>>() {
            if parent(level - 1, position) != node(level, position) {
                return Err(format!("node {position} of level {} is not the hash of its children", low + level));
            }
        }
    }
    let above = if low + levels == height {
        view.commitment().root
    } else {
        vector.node(low + levels, id.position).map_err(|e| e.source.to_string())?
    };
    if parent(levels - 1, 0) != above {
        return Err("its root is not what the page above holds".into());
    }
    let Some(tier) = id.tier.checked_sub(1) else { return Ok(()) };
    for position in page.positions(0) {
        let below = PageId { tier, position: id.position << PAGE_LEVELS | position };
        if view.page(below).is_ok_and(|p| p.is_none()) {
            return Err(format!("the page below its node {position} is missing"));
        }
    }
    Ok(())
}

fn check_slots(view: &View, report: &mut DoctorReport) -> Result<(), Error> {
    let vector = view.vector()?;
    let mut filled = 0;
    let mut some = Vec::with_capacity(SLOTS_AT_ONCE);
    let mut judge = |some: &mut Vec<(u64, Vec<u8>)>| {
        filled += some.len() as u64;
        let wrong = some.par_iter().filter_map(|(index, bytes)| check_slot(view, &vector, *index, bytes).err());
        wrong.collect::<Vec<_>>().into_iter().for_each(|what| report.find(what, Repair::Restore));
        some.clear();
    };
    view.for_each_slot(|index, bytes| {
        some.push((index, bytes.to_vec()));
        if some.len() == SLOTS_AT_ONCE {
            judge(&mut some);
        }
        Ok(())
    })?;
    judge(&mut some);
    report.slots = filled;
    let leaves = vector.occupied().try_fold(0, |n, index| index.map(|_| n + 1)).map_err(Error::store(view.dir()));
    let Some(leaves) = report.note(leaves, Repair::Restore) else { return Ok(()) };
    let noted = view.epoch().filled;
    if (leaves, noted) != (filled, filled) {
        report.find(
            format!("{filled} slots are filled, the tree has {leaves} leaves, {noted} are noted"),
            Repair::Restore,
        );
    }
    Ok(())
}

/// Compares the row of a slot with its value, and the value with its leaf.
fn check_slot(view: &View, vector: &Vector<&View>, index: u64, bytes: &[u8]) -> Result<(), String> {
    let (value, row) = split_slot(bytes).ok_or_else(|| format!("slot {index} holds no value"))?;
    let schema = view.schema();
    if !schema.is_raw() {
        let again = schema.decode_row(row).and_then(|r| schema.value(&r));
        if again.as_ref() != Ok(&value) {
            let why = again.err().map_or("has another value".into(), |e| e.to_string());
            return Err(format!("slot {index}: the row {why}"));
        }
    }
    let leaf = if index >> vector.height() == 0 { vector.node(0, index).ok() } else { None };
    if leaf != Some(leaf_digest(index, &value)) {
        return Err(format!("slot {index}: the value is not that of its leaf"));
    }
    Ok(())
}
