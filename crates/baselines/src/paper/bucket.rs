//! The circuit of a block: 2^h adjacent leaves, hashed to C and, if they are members, to d (section 3.7).

use evergrove_commit::BlockWitness;
use evergrove_primitives::Digest;
use plonky2::iop::target::BoolTarget;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};

use super::gadgets::{Side, assert_member_is_leaf};
use evergrove_plonky2::circuit::{Builder, DigestTarget, F, to_hash};

/// The wires of a block that a prover sets; the generators derive all others.
///
/// The circuit holds for exactly these statements (C, d): there are 2^h digests whose Merkle root is C, and d is the
/// canonical digest of those that a prover marks. The circuit does not state what the digests are digests of, nor their
/// indices.
pub struct BlockTargets {
    /// The digests of the slots.
    pub leaves: Vec<DigestTarget>,
    /// Their canonical digests: zero, or the slot's digest.
    pub canonicals: Vec<DigestTarget>,
    /// Derived: the canonical digest of a slot is not zero.
    pub members: Vec<BoolTarget>,
    /// Derived, public: C.
    pub root: DigestTarget,
    /// Derived, public: d.
    pub canonical: DigestTarget,
}

impl BlockTargets {
    /// Adds the constraints of a block of 2^`height` slots.
    pub(crate) fn build(b: &mut Builder, height: u8) -> Self {
        let (mut leaves, mut canonicals, mut members) = (vec![], vec![], vec![]);
        let mut level: Vec<Side> = vec![];
        for _ in 0..1usize << height {
            let (leaf, canonical) = (b.add_virtual_target_arr::<4>(), b.add_virtual_target_arr::<4>());
            let side = Side::new(b, leaf, canonical);
            assert_member_is_leaf(b, &side);
            leaves.push(leaf);
            canonicals.push(canonical);
            members.push(side.present);
            level.push(side);
        }
        while level.len() > 1 {
            level = level.chunks(2).map(|pair| Side::parent(b, &pair[0], &pair[1])).collect();
        }
        let (root, canonical) = (level[0].root, level[0].canonical);
        b.register_public_inputs(&root);
        b.register_public_inputs(&canonical);
        Self { leaves, canonicals, members, root, canonical }
    }

    /// Sets every free wire for `witness`. Returns an error text if the witness does not have the circuit's shape.
    pub fn assign(&self, witness: &BlockWitness) -> Result<PartialWitness<F>, anyhow::Error> {
        let (slots, leaves, members) = (self.leaves.len(), witness.leaves.len(), witness.members.len());
        anyhow::ensure!(leaves == slots && members == slots, "{leaves} leaves and {members} flags for {slots} slots");
        let mut pw = PartialWitness::new();
        for (k, (leaf, member)) in witness.leaves.iter().zip(&witness.members).enumerate() {
            pw.set_target_arr(&self.leaves[k], &to_hash(leaf).elements)?;
            let canonical = if *member { *leaf } else { Digest::ZERO };
            pw.set_target_arr(&self.canonicals[k], &to_hash(&canonical).elements)?;
        }
        Ok(pw)
    }
}
