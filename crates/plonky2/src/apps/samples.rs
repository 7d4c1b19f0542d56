//! The circuits of the two small applications of `evergrove_apps::samples`.

use evergrove_apps::samples::{Sequence, Tally};
use plonky2::field::types::Field;
use plonky2::iop::target::Target;

use crate::apps::{LeafTargets, Plonky2Circuits};
use crate::circuit::{Builder, F};

impl Plonky2Circuits for Tally {
    fn map_circuit(&self, b: &mut Builder, leaf: &LeafTargets) -> Vec<Target> {
        let checked = b.mul(leaf.active.target, leaf.value[0]);
        b.range_check(checked, self.bits().into());
        vec![b.one(), leaf.value[0]]
    }

    fn reduce_circuit(&self, b: &mut Builder, left: &[Target], right: &[Target]) -> Vec<Target> {
        left.iter().zip(right).map(|(l, r)| b.add(*l, *r)).collect()
    }
}

impl Plonky2Circuits for Sequence {
    fn map_circuit(&self, b: &mut Builder, leaf: &LeafTargets) -> Vec<Target> {
        vec![b.constant(F::from_canonical_u64(Self::BASE)), leaf.value[0]]
    }

    fn reduce_circuit(&self, b: &mut Builder, left: &[Target], right: &[Target]) -> Vec<Target> {
        vec![b.mul(left[0], right[0]), b.mul_add(left[1], right[0], right[1])]
    }
}
