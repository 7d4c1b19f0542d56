//! Runs a design on random data and compares its results with the kernels', and its cycles with those of timing only.

use ark_bls12_377::{Fr as Scalar377, G1Affine, G1Projective};
use ark_bls12_381::Fr;
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{PrimeField, Zero};
use evergrove_curves::{CheckedPoints, msm_with};
use evergrove_kernels::merkle::{Arity, Keccak, Poseidon, Shape, cap_vec};
use evergrove_kernels::ntt::reference;
use evergrove_kernels::tree::ops::{BuildMle, Combine, EvaluateMle, Expand, Merkle, Product, expand, reduce_levels};
use evergrove_kernels::tree::schedule::{Plan, Schedule, Tree};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::keccak::Function;
use serde::Serialize;

use crate::LabError;
use crate::error::{field, within};
use crate::msm::{self, Group};
use crate::mtu::{self, Expanding, Reducing, Workload};
use crate::poseidon::{self, Convention, Matrix, transform};

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Compared results: nodes, leaves, digests of the cap, or the sum.
    pub results: u64,
    /// Results that are equal.
    pub equal: u64,
    /// Cycles of the run on data.
    pub cycles: u64,
    /// Cycles of the run for timing only.
    pub timing_cycles: u64,
}

impl Check {
    /// Whether all results equal the kernels' and the cycles equal those of timing only.
    pub fn holds(&self) -> bool {
        self.results > 0 && self.equal == self.results && self.cycles == self.timing_cycles
    }
    fn new<T: PartialEq>(found: &[Option<T>], expected: &[T], cycles: u64, timing_cycles: u64) -> Self {
        let equal = found.iter().zip(expected).filter(|(f, e)| f.as_ref() == Some(e)).count() as u64;
        Self { results: expected.len().max(found.len()) as u64, equal, cycles, timing_cycles }
    }
}

/// A fixed sequence of pseudorandom words below 2^63.
fn words() -> impl FnMut() -> u64 {
    let mut words = msm::random_words();
    move || words() >> 1
}

/// Limits of a comparison: log2 of the leaves, log2 of the points, and the words of a matrix.
const MOST_LEAVES: u64 = 20;
const MOST_POINTS: u64 = 16;
const MOST_WORDS: u64 = 1 << 26;

/// Checks a tree unit.
///
/// # Errors
/// If the model refuses the parameters, or the tree has more than 2^20 leaves.
pub fn mtu(p: &mtu::Params) -> Result<Check, LabError> {
    p.check()?;
    within("log_size", u64::from(p.log_size), 1..=MOST_LEAVES)?;
    let mut words = words();
    let mut element = || Fr::from(words()) * Fr::from(words()) + Fr::from(words());
    let point: Vec<Fr> = (0..p.log_size).map(|_| element()).collect();
    match p.workload {
        Workload::BuildMle => grow(p, &BuildMle::new(&point)),
        Workload::MerkleTree => {
            let mut word = self::words();
            let leaves: Vec<[u8; 32]> =
                (0..p.leaves()).map(|_| std::array::from_fn(|_| (word() >> 20) as u8)).collect();
            reduce(p, &Merkle(Keccak(Function::Sha3_256)), &leaves)
        }
        workload => {
            let leaves: Vec<Fr> = (0..p.leaves()).map(|_| element()).collect();
            if workload == Workload::MleEvaluation {
                return reduce(p, &EvaluateMle::new(&point), &leaves);
            }
            reduce(p, &Product::<Fr>::new(), &leaves)
        }
    }
}

/// The kernels' plan of a tree. The caller has checked `log_size`.
fn plan(tree: Tree, log_size: u32) -> Result<Plan, LabError> {
    Plan::new(tree, log_size, Schedule::HYBRID).map_err(|e| field("log_size", log_size, e))
}

fn reduce<O: Combine>(p: &mtu::Params, op: &O, leaves: &[O::Node]) -> Result<Check, LabError> {
    let mut expected = vec![leaves[0]; leaves.len() - 1];
    let plan = plan(Tree::ReduceLevels, p.log_size)?;
    reduce_levels(op, &plan, leaves, &mut expected).unwrap_or_else(|e| unreachable!("lengths agree: {e}"));
    let mut work = Reducing::new(op, leaves);
    let report = mtu::reduce(p, &mut work)?;
    Ok(Check::new(&work.nodes, &expected, report.cycles, mtu::run(p)?.cycles))
}

fn grow<O: Expand>(p: &mtu::Params, op: &O) -> Result<Check, LabError> {
    let plan = plan(Tree::Expand, p.log_size)?;
    let mut scratch = vec![op.root(); plan.scratch()];
    let mut expected = vec![op.root(); plan.leaves()];
    expand(op, &plan, &mut scratch, &mut expected).unwrap_or_else(|e| unreachable!("lengths agree: {e}"));
    let mut work = Expanding::new(op, p.log_size);
    let report = mtu::grow(p, &mut work)?;
    Ok(Check::new(&work.leaves, &expected, report.cycles, mtu::run(p)?.cycles))
}

/// Checks a Poseidon engine with Plonky2's sponge. With a transform in front, engine and kernels each extend the trace
/// with their own code.
///
/// # Errors
/// If the model refuses the parameters, the rate is not 8, or the matrix has more than 2^26 words.
pub fn poseidon(p: &poseidon::Params) -> Result<Check, LabError> {
    p.check()?;
    let most = MOST_WORDS / u64::from(p.columns).next_power_of_two();
    within("log_rows", u64::from(p.log_rows), 1..=u64::from(most.max(2).ilog2()))?;
    let mut words = words();
    let (rows, columns) = (p.rows() as usize, p.columns as usize);
    let (matrix, expected): (Vec<Goldilocks>, Vec<Goldilocks>) = if p.log_blowup == 0 {
        let matrix: Vec<Goldilocks> = (0..rows * columns).map(|_| Goldilocks::new(words())).collect();
        (matrix.clone(), matrix)
    } else {
        let trace: Vec<Vec<Goldilocks>> =
            (0..columns).map(|_| (0..rows >> p.log_blowup).map(|_| Goldilocks::new(words())).collect()).collect();
        let extended = trace.iter().map(|values| {
            let coefficients = reference::interpolate(values, Goldilocks::ONE);
            reference::extend(&coefficients, p.log_blowup, Goldilocks::GENERATOR)
        });
        let extended: Vec<Vec<Goldilocks>> = extended.collect();
        let by_rows = (0..rows).flat_map(|row| extended.iter().map(move |column| column[row])).collect();
        (transform::extend(&trace, p.log_blowup), by_rows)
    };
    let arity = match p.arity {
        2 => Arity::Two,
        4 => Arity::Four,
        _ => Arity::Eight,
    };
    let wrong = |e: &dyn std::fmt::Display| field("cap_height", p.cap_height, e);
    let shape = Shape::complete(rows, columns, arity, p.cap_height / p.arity.ilog2()).map_err(|e| wrong(&e))?;
    let cap = cap_vec(Poseidon, &shape, &expected).map_err(|e| wrong(&e))?;
    let outcome = poseidon::run_on(p, &mut Matrix::new(&matrix, columns, Convention::Plonky2))?;
    let found: Vec<_> = outcome.cap.into_iter().map(Some).collect();
    let expected = cap.repeat(p.trees as usize);
    Ok(Check::new(&found, &expected, outcome.report.cycles, poseidon::run(p)?.cycles))
}

/// The group of BLS12-377 for the multiplier.
struct Curve;

impl Group for Curve {
    type Point = G1Projective;
    fn identity(&self) -> G1Projective {
        G1Projective::zero()
    }
    fn add(&self, a: &G1Projective, b: &G1Projective) -> G1Projective {
        *a + b
    }
    fn negate(&self, a: &G1Projective) -> G1Projective {
        -*a
    }
}

/// Checks a multiplier on multiples of BLS12-377's generator. The kernels use the same windows.
///
/// # Errors
/// If the model refuses the parameters or ignores aggregation or hazards, or if there are more than 2^16 points.
pub fn msm(p: &msm::Params) -> Result<Check, LabError> {
    p.check()?;
    within("log_points", u64::from(p.log_points), 0..=MOST_POINTS)?;
    if p.aggregation == msm::Aggregation::Free || p.hazards == msm::Hazards::Ignored {
        return Err(field("aggregation, hazards", "free or ignored", "what a machine can do, to run on points"));
    }
    let scalars = msm::scalars(p);
    let generator = G1Affine::generator();
    // Each point adds earlier points, which hides any regular order.
    let mut points = vec![generator.into_group()];
    for i in 1..scalars.len() {
        let sum = points[i - 1] + points[i / 3] + generator;
        points.push(sum);
    }
    let affine = G1Projective::normalize_batch(&points);
    // The scalars are integers of up to 256 bits; reduction modulo the group order does not change the products.
    let bytes = |s: &msm::Scalar| s.map(u64::to_le_bytes).concat();
    let reduced: Vec<Scalar377> = scalars.iter().map(|s| Scalar377::from_le_bytes_mod_order(&bytes(s))).collect();
    let expected = msm_with(&p.plan(), CheckedPoints::trusted(&affine), &reduced)
        .map_err(|e| field("windows", format_args!("{:?}", p.windows), e))?;
    let outcome = msm::run_on(p, &Curve, &scalars, &points)?;
    Ok(Check::new(&[Some(outcome.sum)], &[expected], outcome.report.cycles, msm::run(p)?.cycles))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_hold_and_a_wrong_result_or_cycle_does_not() {
        for workload in Workload::ALL {
            let check = mtu(&mtu::Params { workload, log_size: 7, pes: 4, ..mtu::Params::default() }).expect("a check");
            assert!(check.holds() && check.results >= 127, "{workload:?}: {check:?}");
        }
        let engine = poseidon::Params { log_rows: 4, columns: 20, arity: 4, trees: 2, ..poseidon::Params::default() };
        let check = poseidon(&engine).expect("a check");
        assert!(check.holds() && check.results == 2, "{check:?}");
        let extended = poseidon::Params { arity: 2, trees: 1, log_blowup: 1, by_columns: true, ..engine };
        let check = poseidon(&poseidon::Params { columns: 8, ..extended }).expect("a check");
        assert!(check.holds() && check.results == 1, "{check:?}");
        let multiplier =
            msm::Params { log_points: 4, windows: vec![4; 64], parallel_windows: 8, ..msm::Params::default() };
        let check = msm(&multiplier).expect("a check");
        assert!(check.holds() && check.results == 1, "{check:?}");
        assert!(!Check { cycles: 3, ..check.clone() }.holds() && !Check { equal: 0, ..check }.holds());
        assert!(!Check::new(&[Some(1), None], &[1, 2], 5, 5).holds());
        assert!(!Check::new::<u8>(&[], &[], 5, 5).holds());
        assert!(msm(&msm::Params { aggregation: msm::Aggregation::Free, ..multiplier }).is_err());
        assert!(poseidon(&poseidon::Params::default()).is_err_and(|e| e.to_string().contains("log_rows = 24")));
    }
}
