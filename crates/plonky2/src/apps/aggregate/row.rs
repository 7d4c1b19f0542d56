//! One row in a circuit: opened, and its columns read as the plan needs them.

use std::collections::HashMap;

use evergrove_commit::schema::{Column, INLINE_ELEMENTS, NULL};
use evergrove_primitives::Goldilocks;
use plonky2::field::types::Field;
use plonky2::hash::hashing::PlonkyPermutation;
use plonky2::iop::target::{BoolTarget, Target};
use plonky2::plonk::config::AlgebraicHasher;

use evergrove_apps::aggregate::Plan;
use evergrove_apps::aggregate::{ColumnIndex, NUMBER_END, Test};
use evergrove_apps::aggregate::{FACTOR_LIMBS, PRODUCTS};

use super::number::{LIMB_BITS, at_least, at_least_constant};
use crate::apps::LeafTargets;
use crate::circuit::{Builder, F, Poseidon, to_plonky};

/// Bits of a number of a column.
const NUMBER_BITS: usize = 63;

/// A row, and the wires derived from it: each is constrained once.
pub(super) struct RowTargets<'a> {
    plan: &'a Plan,
    elements: Vec<Target>,
    known: HashMap<ColumnIndex, Option<BoolTarget>>,
    numbers: HashMap<ColumnIndex, [Target; 2]>,
    factors: HashMap<ColumnIndex, [Target; FACTOR_LIMBS]>,
    bounds: HashMap<(ColumnIndex, u64), BoolTarget>,
}

impl<'a> RowTargets<'a> {
    /// The row of an active leaf: its elements encode to the leaf's value, and columns of numbers that the plan reads
    /// hold numbers, or null if allowed. For an inactive leaf only the latter is demanded, which zeros satisfy.
    pub(super) fn open(plan: &'a Plan, b: &mut Builder, leaf: &LeafTargets) -> Self {
        let schema = plan.schema();
        let columns = plan.columns();
        let elements =
            if columns.is_empty() || schema.is_inline() { leaf.value.to_vec() } else { leaf.opening.clone() };
        let differences = if columns.is_empty() {
            vec![]
        } else if schema.is_inline() {
            leaf.value[schema.elements_per_row()..INLINE_ELEMENTS].to_vec()
        } else {
            let digest = sponge(b, &elements, to_plonky(schema.row_tag()));
            digest.iter().zip(leaf.value).map(|(d, v)| b.sub(*d, v)).collect()
        };
        for difference in differences {
            let violation = b.mul(leaf.active.target, difference);
            b.assert_zero(violation);
        }
        let mut row = Self {
            plan,
            elements,
            known: HashMap::new(),
            numbers: HashMap::new(),
            factors: HashMap::new(),
            bounds: HashMap::new(),
        };
        for column in columns {
            if row.column(column).kind.is_number() {
                row.number(b, column);
            }
        }
        row
    }

    fn column(&self, column: ColumnIndex) -> &'a Column {
        &self.plan.schema().columns()[column as usize]
    }

    fn cell(&self, column: ColumnIndex) -> Vec<Target> {
        let at = self.plan.offset(column);
        self.elements[at..at + self.column(column).kind.elements()].to_vec()
    }

    /// Whether the column is not null; `None` if it never is.
    pub(super) fn known(&mut self, b: &mut Builder, column: ColumnIndex) -> Option<BoolTarget> {
        if let Some(known) = self.known.get(&column) {
            return *known;
        }
        let known = self.column(column).nullable.then(|| {
            let mut null = vec![NULL];
            let cell = self.cell(column);
            null.resize(cell.len(), Goldilocks::ZERO);
            let null: Vec<Target> = null.into_iter().map(|x| b.constant(to_plonky(x))).collect();
            let is_null = all_equal(b, &cell, &null);
            b.not(is_null)
        });
        self.known.insert(column, known);
        known
    }

    /// The encoded number of a column as limbs of 32 and 31 bits, lowest first; 0 of null.
    pub(super) fn number(&mut self, b: &mut Builder, column: ColumnIndex) -> [Target; 2] {
        if let Some(limbs) = self.numbers.get(&column) {
            return *limbs;
        }
        let x = self.known_element(b, column);
        let (low, high) = b.split_low_high(x, LIMB_BITS, NUMBER_BITS);
        self.numbers.insert(column, [low, high]);
        [low, high]
    }

    /// The encoded number of a column as limbs of 24 bits, lowest first; 0 of null. Four rows.
    pub(super) fn factor(&mut self, b: &mut Builder, column: ColumnIndex) -> [Target; FACTOR_LIMBS] {
        if let Some(limbs) = self.factors.get(&column) {
            return *limbs;
        }
        let x = self.known_element(b, column);
        let (low, rest) = b.split_low_high(x, PRODUCTS.limb_bits, NUMBER_BITS);
        let (middle, high) = b.split_low_high(rest, PRODUCTS.limb_bits, NUMBER_BITS - PRODUCTS.limb_bits);
        self.factors.insert(column, [low, middle, high]);
        [low, middle, high]
    }

    /// The element of a column of numbers; 0 of null.
    fn known_element(&mut self, b: &mut Builder, column: ColumnIndex) -> Target {
        let x = self.cell(column)[0];
        match self.known(b, column) {
            Some(known) => b.mul(known.target, x),
            None => x,
        }
    }

    /// The encoded number is at least `bound`; of null, which counts as 0 here, the caller knows.
    pub(super) fn at_least(&mut self, b: &mut Builder, column: ColumnIndex, bound: u64) -> BoolTarget {
        if let Some(reaches) = self.bounds.get(&(column, bound)) {
            return *reaches;
        }
        let limbs = self.number(b, column);
        let reaches = match bound {
            0 => b._true(),
            1..NUMBER_END => at_least_constant(b, limbs, bound),
            NUMBER_END.. => b._false(),
        };
        self.bounds.insert((column, bound), reaches);
        reaches
    }

    /// The row passes the plan's filter.
    pub(super) fn passes(&mut self, b: &mut Builder) -> BoolTarget {
        let plan = self.plan;
        plan.filter().run(
            &mut (self, b),
            |(row, b), test, negated| row.test(b, test, negated),
            |(_, b), truths, all| {
                if all {
                    truths.iter().fold(b._true(), |acc, t| b.and(acc, *t))
                } else {
                    truths.iter().fold(b._false(), |acc, t| b.or(acc, *t))
                }
            },
        )
    }

    /// The test, or its negation, is true.
    fn test(&mut self, b: &mut Builder, test: &Test, negated: bool) -> BoolTarget {
        let truth = match *test {
            Test::Null { column } => {
                let known = self.known(b, column).unwrap_or_else(|| b._true());
                return if negated { known } else { b.not(known) };
            }
            Test::Within { column, low, high } if low == high => {
                let x = self.known_element(b, column);
                let constant = b.constant(F::from_canonical_u64(low));
                b.is_equal(x, constant)
            }
            Test::Within { column, low, high } => {
                let reaches = self.at_least(b, column, low);
                let exceeds = self.at_least(b, column, high + 1);
                let not_beyond = b.not(exceeds);
                b.and(reaches, not_beyond)
            }
            Test::Content { column, digest } => {
                let digest: Vec<Target> = digest.map(|x| b.constant(F::from_canonical_u64(x))).to_vec();
                let cell = self.cell(column);
                all_equal(b, &cell, &digest)
            }
            Test::Less { left, right } => {
                let (left, right) = (self.number(b, left), self.number(b, right));
                let reaches = at_least(b, left, right);
                b.not(reaches)
            }
            Test::Equal { left, right } => {
                let (left, right) = (self.cell(left), self.cell(right));
                all_equal(b, &left, &right)
            }
        };
        let truth = if negated { b.not(truth) } else { truth };
        test.columns().fold(truth, |truth, column| match self.known(b, column) {
            Some(known) => b.and(truth, known),
            None => truth,
        })
    }
}

/// All elements of two lists are equal.
fn all_equal(b: &mut Builder, left: &[Target], right: &[Target]) -> BoolTarget {
    let mut all = b._true();
    for (l, r) in left.iter().zip(right) {
        let equal = b.is_equal(*l, *r);
        all = b.and(all, equal);
    }
    all
}

/// The sponge of the formats' description over `elements`, with the tag in its capacity.
fn sponge(b: &mut Builder, elements: &[Target], tag: F) -> Vec<Target> {
    type Permutation = <Poseidon as AlgebraicHasher<F>>::AlgebraicPermutation;
    let (zero, tag) = (b.zero(), b.constant(tag));
    let mut state = [zero; Permutation::WIDTH];
    state[Permutation::RATE] = tag;
    let mut state = Permutation::new(state);
    for block in elements.chunks(Permutation::RATE) {
        state.set_from_slice(block, 0);
        state = b.permute::<Poseidon>(state);
    }
    state.squeeze()[..INLINE_ELEMENTS].to_vec()
}
