//! Final proofs of the current and of past epochs.

use evergrove_commit::batch::Batch;
use evergrove_jobs::Key;
use evergrove_verifier::{Commitment, NodeKind};

use super::{batch_error, class_of, proof_key, work};
use crate::store::BatchRecord;
use crate::{Epoch, Error, Store};

/// The final proof of a batch, as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofFile {
    /// The proven epoch.
    pub epoch: u64,
    /// The commitment of that epoch.
    pub commitment: Commitment,
    /// Its content key, which names the statement.
    pub key: Key,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
}

impl Store {
    /// The members of a batch in an epoch, and that epoch. `None` means the epoch of the batch's last finished proof. A
    /// verifier of [`Self::proof_at`] needs the rows of these members.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::UnknownEpoch`]; [`Error::NotProven`] if the batch was never proven, or did not
    /// have these members yet; [`Error::AllRows`] if it covers all rows, because verifiers then take no rows.
    pub fn members_at(&self, name: &str, epoch: Option<u64>) -> Result<(Epoch, Vec<u64>), Error> {
        let (record, members) = self.record(name)?;
        if record.is_complete() {
            return Err(Error::AllRows(name.into()));
        }
        let current = self.epoch()?.number;
        let epoch = epoch.or(record.proven.as_ref().map(|p| p.epoch)).unwrap_or(current);
        if record.proven.is_none() || record.since > epoch {
            return Err(Error::NotProven { name: name.into(), epoch });
        }
        Ok((*self.view_at(epoch)?.epoch(), members))
    }

    /// The final proof of a batch for an epoch. `None` means the last finished proof. During a refresh, this is the
    /// proof of an earlier epoch than the current one.
    ///
    /// The record of the batch names its last proof. To find another proof, its statement is computed: O(members)
    /// hashes.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::UnknownEpoch`]; [`Error::NotProven`] if the batch has no proof of that epoch;
    /// [`Error::LostProof`] if the proof's object is missing or damaged.
    pub fn proof_at(&self, name: &str, epoch: Option<u64>) -> Result<ProofFile, Error> {
        let read = |record: &BatchRecord| {
            let last = record.proven.clone().filter(|p| epoch.is_none_or(|e| e == p.epoch));
            last.map(|proven| Ok((self.stored_proof(name, &proven)?, proven))).transpose()
        };
        let (mut record, mut members) = self.record(name)?;
        let last = match read(&record) {
            // Meanwhile a later proof may have been recorded, and this one pruned.
            Err(Error::LostProof { .. }) => {
                (record, members) = self.record(name)?;
                read(&record)?
            }
            last => last?,
        };
        let current = self.epoch()?.number;
        let missing = |epoch| Error::NotProven { name: name.into(), epoch };
        if let Some((bytes, proven)) = last {
            let key = Key(proven.key);
            let commitment = proven.commitment();
            let commitment =
                commitment.ok_or_else(|| Error::corrupt(self.dir(), format!("record of batch {name:?}")))?;
            return Ok(ProofFile { epoch: proven.epoch, commitment, key, bytes });
        }
        let Some(epoch) = epoch else { return Err(missing(current)) };
        let view = self.view_at(epoch)?;
        let spec = record.backend.spec().filter(|s| s.class == class_of(view.commitment()));
        let Some(spec) = spec.filter(|_| record.since <= epoch) else { return Err(missing(epoch)) };
        let batch = Batch::build_as(&view.vector()?, &members, spec.structure());
        let batch = batch.map_err(batch_error(self.dir(), name))?;
        let kind = if spec.wraps { NodeKind::Wrap } else { batch.root().kind() };
        let key = proof_key(&spec, kind, batch.statement());
        let bytes = self.objects().get(&key)?.ok_or_else(|| missing(epoch))?;
        match work::decode(&spec, &bytes) {
            Ok((found, _)) if found == key => Ok(ProofFile { epoch, commitment: view.commitment(), key, bytes }),
            _ => Err(Error::LostProof { name: name.into(), place: self.objects().place(&key), found: true }),
        }
    }
}
