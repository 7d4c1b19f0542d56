//! A plan's map and reduction, as constraints.
//!
//! A row costs one permutation for each 8 of its elements, 2 rows of gates for each column of numbers that is read, up to 2 for
//! each bound that it is compared with, and 2 for each minimum or maximum. Sums are added limb by limb without carries over
//! all rows of a bucket ([`fold`]) and brought into range once.

#[cfg(test)]
mod attacks;
mod number;
mod row;

use evergrove_apps::aggregate::{Accumulator, Aggregate, ColumnIndex, Kind, PRODUCTS, Plan, Width};
use plonky2::field::types::Field;
use plonky2::iop::target::{BoolTarget, Target};

use self::number::{LIMB_BITS, least_of, normalise, reduce_limbs};
use self::row::RowTargets;
use crate::apps::{LeafTargets, Plonky2Circuits};
use crate::circuit::{Builder, F};

/// Rows whose limbs are added before any carry, so that limbs of products stay below 2^62.
const MAX_UNREDUCED: usize = 1 << 12;

impl Plonky2Circuits for Aggregate {
    fn map_circuit(&self, b: &mut Builder, leaf: &LeafTargets) -> Vec<Target> {
        fold(self.plan(), b, std::slice::from_ref(leaf))
    }

    fn reduce_circuit(&self, b: &mut Builder, left: &[Target], right: &[Target]) -> Vec<Target> {
        reduce(self.plan(), b, left, right)
    }

    fn fold_circuit(&self, b: &mut Builder, slots: &[LeafTargets]) -> Vec<Target> {
        fold(self.plan(), b, slots)
    }
}

/// The output of all active leaves; the other slots contribute nothing, whatever they hold.
///
/// # Panics
/// If there are no leaves.
fn fold(plan: &Plan, b: &mut Builder, leaves: &[LeafTargets]) -> Vec<Target> {
    assert!(!leaves.is_empty(), "at least one leaf");
    let mut output: Option<Vec<Target>> = None;
    for chunk in leaves.chunks(MAX_UNREDUCED) {
        let next = fold_chunk(plan, b, chunk);
        output = Some(match output {
            Some(before) => reduce(plan, b, &before, &next),
            None => next,
        });
    }
    output.unwrap_or_default()
}

fn fold_chunk(plan: &Plan, b: &mut Builder, leaves: &[LeafTargets]) -> Vec<Target> {
    let mut rows: Vec<(RowTargets, BoolTarget)> = leaves
        .iter()
        .map(|leaf| {
            let mut row = RowTargets::open(plan, b, leaf);
            let passes = row.passes(b);
            let counts = b.and(leaf.active, passes);
            (row, counts)
        })
        .collect();
    let mut output = Vec::with_capacity(plan.output_len());
    for accumulator in plan.accumulators() {
        let parts: Vec<Vec<Target>> =
            rows.iter_mut().map(|(row, counts)| contribution(b, row, *counts, accumulator)).collect();
        match accumulator.kind() {
            Kind::Count => output.push(b.add_many(parts.iter().map(|p| p[0]))),
            Kind::Limbs(width) => output.extend(sum(b, width, &parts)),
            Kind::Least => {
                let mut least = [parts[0][0], parts[0][1]];
                for part in &parts[1..] {
                    least = least_of(b, least, [part[0], part[1]]);
                }
                output.extend(least);
            }
        }
    }
    output
}

/// The output of two outputs.
fn reduce(plan: &Plan, b: &mut Builder, left: &[Target], right: &[Target]) -> Vec<Target> {
    let mut output = Vec::with_capacity(plan.output_len());
    for (_, kind, at) in plan.slots() {
        let (l, r) = (&left[at.clone()], &right[at]);
        match kind {
            Kind::Count => output.push(b.add(l[0], r[0])),
            Kind::Limbs(width) => output.extend(reduce_limbs(b, width, l, r)),
            Kind::Least => output.extend(least_of(b, [l[0], l[1]], [r[0], r[1]])),
        }
    }
    output
}

/// The limbs, without carries, that a row adds to an accumulator if it `counts`; zeros if it does not.
fn contribution(b: &mut Builder, row: &mut RowTargets, counts: BoolTarget, accumulator: &Accumulator) -> Vec<Target> {
    match accumulator {
        Accumulator::Count { known, at_least } => {
            let mut mask = masked(b, row, counts, known);
            if let Some((column, bound)) = at_least {
                let reaches = row.at_least(b, *column, *bound);
                mask = b.and(mask, reaches);
            }
            vec![mask.target]
        }
        Accumulator::Sum { column, known } => {
            let mask = masked(b, row, counts, known);
            row.number(b, *column).map(|limb| b.mul(mask.target, limb)).to_vec()
        }
        Accumulator::Product { left, right } => {
            let mask = masked(b, row, counts, &[*left, *right]);
            let left = row.factor(b, *left).map(|limb| b.mul(mask.target, limb));
            let right = row.factor(b, *right);
            let zero = b.zero();
            let mut limbs = vec![zero; left.len() + right.len() - 1];
            for (i, l) in left.iter().enumerate() {
                for (j, r) in right.iter().enumerate() {
                    limbs[i + j] = b.mul_add(*l, *r, limbs[i + j]);
                }
            }
            limbs
        }
        Accumulator::Min { column } => {
            let mask = masked(b, row, counts, &[*column]);
            let limbs = row.number(b, *column);
            or_none(b, mask, limbs)
        }
        Accumulator::Max { column } => {
            let mask = masked(b, row, counts, &[*column]);
            let [low, high] = row.number(b, *column);
            // 2^63 - 1 - x: all bits of x turned.
            let greatest =
                [(1 << LIMB_BITS) - 1, (1 << (LIMB_BITS - 1)) - 1].map(|g| b.constant(F::from_canonical_u64(g)));
            let limbs = [b.sub(greatest[0], low), b.sub(greatest[1], high)];
            or_none(b, mask, limbs)
        }
    }
}

/// Whether the row counts, and no such column is null.
fn masked(b: &mut Builder, row: &mut RowTargets, counts: BoolTarget, known: &[ColumnIndex]) -> BoolTarget {
    known.iter().fold(counts, |mask, &column| match row.known(b, column) {
        Some(known) => b.and(mask, known),
        None => mask,
    })
}

/// The limbs if the mask holds, otherwise those of 2^63.
fn or_none(b: &mut Builder, mask: BoolTarget, limbs: [Target; 2]) -> Vec<Target> {
    let none = [F::ZERO, F::from_canonical_u64(1 << (LIMB_BITS - 1))];
    limbs
        .iter()
        .zip(none)
        .map(|(limb, none)| {
            let none = b.constant(none);
            b.select(mask, *limb, none)
        })
        .collect()
}

/// The sum of limbs without carries, in range.
fn sum(b: &mut Builder, width: Width, parts: &[Vec<Target>]) -> Vec<Target> {
    if let [only] = parts
        && width != PRODUCTS
    {
        let zero = b.zero();
        let mut limbs = only.clone();
        limbs.resize(width.limbs, zero);
        return limbs;
    }
    let columns: Vec<Target> = (0..parts[0].len()).map(|k| b.add_many(parts.iter().map(|p| p[k]))).collect();
    normalise(b, width, &columns)
}
