//! Multilinear extensions: evaluation, and the table of eq.
//!
//! Index i of a table of 2^mu values belongs to the point of the hypercube whose coordinate k is bit k of i: coordinate 0 is
//! the lowest bit, as in arkworks and HyperPlonk. So the nodes of level k >= 1 fix coordinate k - 1.

use core::ops::RangeInclusive;

use evergrove_primitives::field::{Field, FieldLanes};
use evergrove_primitives::lanes::{Isa, LANES, Lanes};

use super::{Combine, Expand, NodeOp};
use crate::tree::count::Arithmetic;

/// The coordinates of some levels, as multipliers.
pub struct Coordinates<K> {
    first: u32,
    factors: Vec<K>,
}

impl<K: Copy> Coordinates<K> {
    #[inline(always)]
    fn new<F: Field, L: Lanes>(lanes: L, point: &[F], levels: RangeInclusive<u32>) -> Self
    where
        F::On<L>: FieldLanes<Element = F, Factor = K>,
    {
        let first = *levels.start();
        let f = F::on(lanes);
        let mut factors = Vec::with_capacity(levels.clone().count());
        for level in levels {
            factors.push(f.factor(&point[level as usize - 1]));
        }
        Self { first, factors }
    }
    #[inline(always)]
    fn at(&self, level: u32) -> K {
        self.factors[(level - self.first) as usize]
    }
}

/// The value of a multilinear extension at a point: a node is a + r (b - a), over children a and b on level k - 1, for the
/// point's coordinate r = r_(k-1) (MTU paper, equation 6).
///
/// 2^mu - 1 multiplications for 2^mu values. [`crate::multilinear::mle::evaluate`] is faster: it delays reductions.
#[derive(Clone, Copy, Debug)]
pub struct EvaluateMle<'a, F> {
    point: &'a [F],
}

impl<'a, F> EvaluateMle<'a, F> {
    /// Evaluation at `point`, for trees of its height.
    pub fn new(point: &'a [F]) -> Self {
        Self { point }
    }
}

impl<F: Field> NodeOp for EvaluateMle<'_, F> {
    type Node = F;
    type Vector<L: Lanes> = <F::On<L> as FieldLanes>::V;
    type Prepared<L: Lanes> = Coordinates<<F::On<L> as FieldLanes>::Factor>;

    fn isa(&self) -> Isa {
        F::isa()
    }

    #[inline(always)]
    fn prepare<L: Lanes>(&self, lanes: L, levels: RangeInclusive<u32>) -> Self::Prepared<L> {
        Coordinates::new(lanes, self.point, levels)
    }
    #[inline(always)]
    fn load<L: Lanes>(&self, lanes: L, nodes: [&F; LANES]) -> Self::Vector<L> {
        F::on(lanes).gather(nodes)
    }
    #[inline(always)]
    fn store<L: Lanes>(&self, lanes: L, nodes: Self::Vector<L>, to: [&mut F; LANES]) {
        F::on(lanes).scatter(nodes, to);
    }
    fn arithmetic(&self, _: u32, _: u32) -> Arithmetic {
        Arithmetic::field(1, 2)
    }
    fn height(&self) -> Option<u32> {
        Some(self.point.len() as u32)
    }
}

impl<F: Field> Combine for EvaluateMle<'_, F> {
    #[inline(always)]
    fn combine<L: Lanes>(
        &self,
        lanes: L,
        prepared: &Self::Prepared<L>,
        level: u32,
        left: Self::Vector<L>,
        right: Self::Vector<L>,
    ) -> Self::Vector<L> {
        F::on(lanes).line(left, right, prepared.at(level))
    }
    fn node(&self, level: u32, left: &F, right: &F) -> F {
        *left + (*right - *left) * self.point[level as usize - 1]
    }
}

/// The table of eq(x, r) for all x of the hypercube, times a scale: the children of v on level k are v - v r and v r, for
/// r = r_(k-1) (MTU paper, equation 4).
///
/// 2^mu - 2 multiplications for 2^mu values, one more with a scale.
#[derive(Clone, Copy, Debug)]
pub struct BuildMle<'a, F> {
    point: &'a [F],
    scale: Option<F>,
}

impl<'a, F> BuildMle<'a, F> {
    /// eq(x, `point`), for trees of the point's height.
    pub fn new(point: &'a [F]) -> Self {
        Self { point, scale: None }
    }
    /// `scale` eq(x, `point`).
    pub fn scaled(point: &'a [F], scale: F) -> Self {
        Self { point, scale: Some(scale) }
    }
}

impl<F: Field> NodeOp for BuildMle<'_, F> {
    type Node = F;
    type Vector<L: Lanes> = <F::On<L> as FieldLanes>::V;
    type Prepared<L: Lanes> = Coordinates<<F::On<L> as FieldLanes>::Factor>;

    fn isa(&self) -> Isa {
        F::isa()
    }

    #[inline(always)]
    fn prepare<L: Lanes>(&self, lanes: L, levels: RangeInclusive<u32>) -> Self::Prepared<L> {
        Coordinates::new(lanes, self.point, levels)
    }
    #[inline(always)]
    fn load<L: Lanes>(&self, lanes: L, nodes: [&F; LANES]) -> Self::Vector<L> {
        F::on(lanes).gather(nodes)
    }
    #[inline(always)]
    fn store<L: Lanes>(&self, lanes: L, nodes: Self::Vector<L>, to: [&mut F; LANES]) {
        F::on(lanes).scatter(nodes, to);
    }
    fn arithmetic(&self, level: u32, height: u32) -> Arithmetic {
        // Under the root 1 the children are 1 - r and r.
        Arithmetic::field(u64::from(level < height || self.scale.is_some()), 1)
    }
    fn height(&self) -> Option<u32> {
        Some(self.point.len() as u32)
    }
}

impl<F: Field> Expand for BuildMle<'_, F> {
    fn root(&self) -> F {
        self.scale.unwrap_or(F::ONE)
    }
    #[inline(always)]
    fn expand<L: Lanes>(
        &self,
        lanes: L,
        prepared: &Self::Prepared<L>,
        level: u32,
        nodes: Self::Vector<L>,
    ) -> [Self::Vector<L>; 2] {
        let f = F::on(lanes);
        let right = f.scale(nodes.into(), prepared.at(level));
        [f.sub(nodes, right), right]
    }
    fn children(&self, level: u32, node: &F) -> [F; 2] {
        let r = self.point[level as usize - 1];
        let is_unit = self.scale.is_none() && level as usize == self.point.len();
        let right = if is_unit { r } else { *node * r };
        [*node - right, right]
    }
}
