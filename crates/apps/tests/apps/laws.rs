//! The sample applications satisfy the laws, and applications that break one are found.

use std::panic::catch_unwind;

use evergrove_apps::laws::{Case, check, refuses_leaf};
use evergrove_apps::samples::{Sequence, Tally};
use evergrove_apps::{AppId, Leaf, LeafTargets, MapReduce, MapReduceError, Plonky2Circuits};
use evergrove_primitives::Goldilocks;
use evergrove_recursion::circuit::Builder;
use plonky2::iop::target::Target;

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

#[test]
fn parameters_make_another_application() {
    let [a, b] = [Tally::new(20).id(), Tally::new(21).id()];
    assert_ne!(a, b);
    assert_eq!(a, AppId::new("tally", &[20]));
    assert_ne!(AppId::new("tally", &[]), AppId::new("tally", &[0]));
    assert!(a.to_string().starts_with("tally:") && a.to_string().len() == 6 + 64);
}

/// A [`Tally`] that breaks one law.
enum Broken {
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
        Sequence.reduce(left, right)
    }
    fn is_commutative(&self) -> bool {
        matches!(self, Self::Commutes)
    }

    fn on_plonky2(&self) -> Option<&dyn Plonky2Circuits> {
        Some(self)
    }
}

impl Plonky2Circuits for Broken {
    fn map_circuit(&self, b: &mut Builder, leaf: &LeafTargets) -> Vec<Target> {
        Sequence.map_circuit(b, leaf)
    }
    fn reduce_circuit(&self, b: &mut Builder, left: &[Target], right: &[Target]) -> Vec<Target> {
        match self {
            Self::ReduceCircuit => Sequence.reduce_circuit(b, right, left),
            Self::FreeOutput => b.add_virtual_targets(2),
            _ => Sequence.reduce_circuit(b, left, right),
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
