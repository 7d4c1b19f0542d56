//! The common part of block and level: the two hashes of a node.

use plonky2::iop::target::BoolTarget;

use evergrove_plonky2::circuit::gadgets::{assert_zero_if, parent};
use evergrove_plonky2::circuit::{Builder, DigestTarget};

/// A node as its parent sees it.
pub(super) struct Side {
    pub(super) root: DigestTarget,
    pub(super) canonical: DigestTarget,
    /// `[canonical != 0]`: there is a member below.
    pub(super) present: BoolTarget,
}

impl Side {
    pub(super) fn new(b: &mut Builder, root: DigestTarget, canonical: DigestTarget) -> Self {
        let zero = b.zero();
        let [x0, x1, x2, x3] = canonical.map(|x| b.is_equal(x, zero));
        let (low, high) = (b.and(x0, x1), b.and(x2, x3));
        let absent = b.and(low, high);
        Self { root, canonical, present: b.not(absent) }
    }

    /// Lines (1) and (2) of Figs. 2 and 4: C = H(C_L || C_R); d = H(d_L || d_R) if both are not zero, otherwise d_L +
    /// d_R.
    pub(super) fn parent(b: &mut Builder, left: &Self, right: &Self) -> Self {
        let no = b._false();
        let root = parent(b, left.root, right.root, no);
        let hash = parent(b, left.canonical, right.canonical, no);
        let both = b.and(left.present, right.present);
        let canonical = core::array::from_fn(|e| {
            let sum = b.add(left.canonical[e], right.canonical[e]);
            b.select(both, hash[e], sum)
        });
        Self::new(b, root, canonical)
    }
}

/// Lines (3) and (4) of circuit B_1: a canonical digest that is not zero is the leaf's digest.
pub(super) fn assert_member_is_leaf(b: &mut Builder, leaf: &Side) {
    for e in 0..4 {
        let difference = b.sub(leaf.canonical[e], leaf.root[e]);
        assert_zero_if(b, leaf.present, difference);
    }
}
