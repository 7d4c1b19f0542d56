//! Products: multiplication tree and product MLE.

use core::marker::PhantomData;
use core::ops::RangeInclusive;

use evergrove_primitives::field::{Field, FieldLanes};
use evergrove_primitives::lanes::{Isa, LANES, Lanes};

use super::{Combine, NodeOp};
use crate::tree::count::Arithmetic;

/// A node is the product of its children: 2^mu - 1 multiplications for 2^mu leaves.
///
/// The root is the product of all leaves (the multiplication tree); all levels together are the product MLE of HyperPlonk
/// (MTU paper, section 3.1.4).
#[derive(Clone, Copy, Debug)]
pub struct Product<F>(PhantomData<F>);

impl<F> Product<F> {
    /// Products of elements of `F`.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<F> Default for Product<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Field> NodeOp for Product<F> {
    type Node = F;
    type Vector<L: Lanes> = <F::On<L> as FieldLanes>::V;
    type Prepared<L: Lanes> = ();

    fn isa(&self) -> Isa {
        F::isa()
    }

    #[inline(always)]
    fn prepare<L: Lanes>(&self, _: L, _: RangeInclusive<u32>) {}
    #[inline(always)]
    fn load<L: Lanes>(&self, lanes: L, nodes: [&F; LANES]) -> Self::Vector<L> {
        F::on(lanes).gather(nodes)
    }
    #[inline(always)]
    fn store<L: Lanes>(&self, lanes: L, nodes: Self::Vector<L>, to: [&mut F; LANES]) {
        F::on(lanes).scatter(nodes, to);
    }
    fn arithmetic(&self, _: u32, _: u32) -> Arithmetic {
        Arithmetic::field(1, 0)
    }
}

impl<F: Field> Combine for Product<F> {
    #[inline(always)]
    fn combine<L: Lanes>(
        &self,
        lanes: L,
        _: &(),
        _: u32,
        left: Self::Vector<L>,
        right: Self::Vector<L>,
    ) -> Self::Vector<L> {
        F::on(lanes).mul(left, right)
    }
    fn node(&self, _: u32, left: &F, right: &F) -> F {
        *left * *right
    }
}
