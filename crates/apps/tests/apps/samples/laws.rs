//! The sample applications satisfy the laws, and applications that break a law are detected. This crate tests circuits
//! on tables. The tests of `evergrove-plonky2` include this file for the circuits of Plonky2.

use std::panic::catch_unwind;

use evergrove_apps::laws::Case;
use evergrove_apps::samples::{Sequence, Tally};
use evergrove_apps::tables::{Arithmetic, Base, Circuits, Slot};
use evergrove_apps::{Leaf, MapReduce, MapReduceError};
use evergrove_primitives::Goldilocks;

use super::circuits::{check, refuses_leaf};

fn case(index: u64, first: u64) -> Case {
    let rest = [first ^ index, Goldilocks::ORDER - 1, 7].map(Goldilocks::reduce);
    Case { index, value: [Goldilocks::new(first), rest[0], rest[1], rest[2]], opening: vec![] }
}

#[test]
fn the_samples_satisfy_the_laws() {
    let edges = [0, 1, (1 << 20) - 1, 5, 0];
    let cases: Vec<Case> = edges.into_iter().zip([0, 1, 5, 1 << 39, (1 << 40) - 1]).map(|(v, i)| case(i, v)).collect();
    check(&Tally::new(20), &cases);
    let cases: Vec<Case> = (0..5).map(|i| case(i * i, Goldilocks::ORDER - 1 - 3 * i)).collect();
    check(&Sequence, &cases);
}

#[test]
fn a_value_out_of_range_is_refused_on_both_sides() {
    for value in [1 << 20, 1 << 21, Goldilocks::ORDER - 1] {
        refuses_leaf(&Tally::new(20), &case(3, value));
    }
}

/// A [`Sequence`] that breaks one law.
pub(super) enum Broken {
    Commutes,
    Map,
    ReduceCircuit,
    FreeOutput,
}

impl MapReduce for Broken {
    fn name(&self) -> &str {
        "broken"
    }
    fn parameters(&self) -> Vec<u8> {
        vec![]
    }
    fn opening_len(&self) -> usize {
        0
    }
    fn output_len(&self) -> usize {
        2
    }
    fn identity(&self) -> Vec<Goldilocks> {
        Sequence.identity()
    }
    fn map(&self, leaf: &Leaf<'_>) -> Result<Vec<Goldilocks>, MapReduceError> {
        let mut out = Sequence.map(leaf)?;
        if matches!(self, Self::Map) {
            out[1] += Goldilocks::ONE;
        }
        Ok(out)
    }
    fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, MapReduceError> {
        MapReduce::reduce(&Sequence, left, right)
    }
    fn is_commutative(&self) -> bool {
        matches!(self, Self::Commutes)
    }

    fn on_tables(&self) -> Option<&dyn Circuits> {
        Some(self)
    }
}

impl Circuits for Broken {
    fn inputs(&self) -> Vec<Goldilocks> {
        Vec::new()
    }

    fn bounds(&self) -> Vec<usize> {
        Vec::new()
    }

    fn fold(&self, b: &mut dyn Arithmetic, inputs: &[Base], slots: &[Slot]) -> Vec<Base> {
        Circuits::fold(&Sequence, b, inputs, slots)
    }

    fn reduce(&self, b: &mut dyn Arithmetic, left: &[Base], right: &[Base]) -> Vec<Base> {
        match self {
            Self::ReduceCircuit => Circuits::reduce(&Sequence, b, right, left),
            Self::FreeOutput => {
                let honest = Circuits::reduce(&Sequence, b, left, right);
                honest.into_iter().map(|x| b.any_of(&[x], |x| x[0])).collect()
            }
            _ => Circuits::reduce(&Sequence, b, left, right),
        }
    }
}

#[test]
fn a_broken_law_is_found() {
    let cases: Vec<Case> = (1..5).map(|i| case(i, 10 * i)).collect();
    for app in [Broken::Commutes, Broken::Map, Broken::ReduceCircuit, Broken::FreeOutput] {
        assert!(catch_unwind(std::panic::AssertUnwindSafe(|| check(&app, &cases))).is_err());
    }
}
