//! FRI: the combination of all openings, its commitments, grinding and queries.

use anyhow::anyhow;
use evergrove_kernels::merkle::{self, Shape};
use evergrove_kernels::ntt::{Row, ZERO_ROW};
use evergrove_kernels::oracle::Oracle;
use evergrove_primitives::lanes::{Isa, LANES};
use evergrove_primitives::{Digest, Goldilocks};
use plonky2::field::polynomial::PolynomialCoeffs;
use plonky2::field::types::{Field, PrimeField64};
use plonky2::fri::FriParams;
use plonky2::fri::oracle::PolynomialBatch;
use plonky2::fri::proof::{FriInitialTreeProof, FriProof, FriQueryRound, FriQueryStep};
use plonky2::hash::merkle_proofs::MerkleProof;
use rayon::prelude::*;

#[cfg(test)]
use super::faults;
use super::openings::{Weighted, combine, extension, pair, powers};
use super::oracle::{open, path, plonky_cap};
use super::tables::{Layer, Tables};
use super::transcript::Transcript;
use super::{E, EXTENSION_PRODUCTS, F, Matrix, Phase, Step, Work};
use crate::circuit::{C, D, Poseidon};

/// The openings.
pub(super) struct Opened<'a> {
    pub(super) tables: &'a Tables,
    pub(super) preprocessed: &'a PolynomialBatch<F, C, D>,
    /// Wires, Z and partial products, quotient chunks.
    pub(super) oracles: [&'a Oracle; 3],
    pub(super) zeta: E,
    /// The next row's point.
    pub(super) zeta_next: E,
}

/// A committed layer.
struct Committed {
    /// Leaves of 2^arity elements, one after the other.
    leaves: Vec<Goldilocks>,
    shape: Shape,
    nodes: Vec<Digest>,
    arity_bits: usize,
}

impl Committed {
    fn cap(&self) -> &[Digest] {
        &self.nodes[self.shape.level(self.shape.levels() - 1)]
    }
}

/// Proves the openings.
pub(super) fn prove(
    opened: &Opened<'_>,
    params: &FriParams,
    transcript: &mut Transcript,
    ended: &mut dyn FnMut(Step),
) -> anyhow::Result<FriProof<F, Poseidon, D>> {
    let tables = opened.tables;
    let alpha = transcript.extension_challenge();
    let coefficients = batch(opened, alpha);
    ended(Step::new(Phase::Combination, tables.combination_work()));
    let tree = &opened.preprocessed.merkle_tree;
    let initial = |index: usize| {
        let mut openings = vec![(tree.get(index).to_vec(), tree.prove(index))];
        openings.extend(opened.oracles.iter().map(|o| open(o, index)));
        openings
    };
    prove_low_degree(tables.isa, &tables.layers, params, coefficients, initial, transcript, ended)
}

/// A row of an oracle with its path.
pub(super) type Opening = (Vec<F>, MerkleProof<F, Poseidon>);

/// Proves that a polynomial is of low degree. `initial` opens the oracles that it is combined from at a leaf.
pub(super) fn prove_low_degree(
    isa: Isa,
    tables: &[Layer],
    params: &FriParams,
    coefficients: Vec<E>,
    initial: impl Fn(usize) -> Vec<Opening> + Sync,
    transcript: &mut Transcript,
    ended: &mut dyn FnMut(Step),
) -> anyhow::Result<FriProof<F, Poseidon, D>> {
    let mut coefficients = coefficients;
    #[cfg(test)]
    faults::strike_element(faults::Fault::Combination, &mut coefficients);
    let mut layers = Vec::with_capacity(tables.len());
    for layer in tables {
        let committed = commit(params, layer, &coefficients, ended);
        transcript.observe_cap(committed.cap());
        layers.push(committed);
        let beta = transcript.extension_challenge();
        let products = EXTENSION_PRODUCTS * coefficients.len() as u64;
        let folded =
            Work::products(coefficients.len(), D, products, ((D * coefficients.len()) >> layer.arity_bits) as u64);
        coefficients = (coefficients.par_chunks_exact(1 << layer.arity_bits))
            .map(|chunk| chunk.iter().rev().fold(E::ZERO, |sum, x| sum * beta + *x))
            .collect();
        ended(Step::of(Matrix::Layer, Phase::Folding, folded));
        #[cfg(test)]
        faults::strike_element(faults::Fault::Folding, &mut coefficients);
    }
    transcript.observe_extension(&coefficients);
    #[cfg(test)]
    faults::strike_element(faults::Fault::FinalPolynomial, &mut coefficients);
    let bits = params.config.proof_of_work_bits;
    let pow_witness = transcript.grind(isa, bits).ok_or_else(|| anyhow!("no proof of work of {bits} bits"))?;
    let tried = pow_witness.to_canonical_u64() + 1;
    ended(Step::new(Phase::Grinding, Work { hashes: tried, ..Work::default() }));
    let queries = transcript.queries(params.config.num_query_rounds, params.lde_bits());
    let proof = FriProof {
        commit_phase_merkle_caps: layers.iter().map(|l| plonky_cap(l.cap())).collect(),
        query_round_proofs: queries.into_par_iter().map(|q| query(initial(q), &layers, q)).collect(),
        final_poly: PolynomialCoeffs::new(coefficients),
        pow_witness,
    };
    #[cfg(test)]
    let proof = faults::strike_answers(proof);
    ended(Step::new(Phase::Queries, answers(&proof)));
    Ok(proof)
}

/// The polynomial that FRI proves to be of low degree: all polynomials opened at zeta and Z opened at the next point, each
/// batch less its value and divided by X minus the point.
fn batch(opened: &Opened<'_>, alpha: E) -> Vec<E> {
    let tables = opened.tables;
    let (n, nc, isa) = (tables.size(), tables.challenges, tables.isa);
    let columns = tables.constants + tables.routed;
    let [wires, zs, quotient] = opened.oracles.map(|o| (o.coefficients(), o.columns()));
    let all = [(&tables.preprocessed[..], columns), wires, zs, quotient];
    let weighted = weigh(&all, n, alpha);
    let next = weigh(&[(&zs.0[..n], nc)], n, alpha);
    let (first, second) = rayon::join(
        || divide(&combine(isa, &weighted, n), opened.zeta),
        || divide(&combine(isa, &next, n), opened.zeta_next),
    );
    let shift = alpha.exp_u64(nc as u64);
    first.par_iter().zip(&second).map(|(a, b)| *a * shift + *b).collect()
}

/// The columns of some matrices, each in groups of n rows and with its number of columns, times the powers of alpha in order.
pub(super) fn weigh<'a>(matrices: &[(&'a [Row], usize)], n: usize, alpha: E) -> Vec<Weighted<'a>> {
    let mut weights = powers(alpha, matrices.iter().map(|m| m.1).sum()).into_iter();
    let mut weighted = Vec::new();
    for (coefficients, columns) in matrices {
        for (g, rows) in coefficients.chunks_exact(n).enumerate() {
            let mut group = [ZERO_ROW; 2];
            let [re, im] = &mut group;
            for ((re, im), weight) in re.iter_mut().zip(im).take(columns - LANES * g).zip(&mut weights) {
                [*re, *im] = weight;
            }
            weighted.push(Weighted { rows, weights: group });
        }
    }
    weighted
}

/// (p(X) - p(z)) / (X - z).
pub(super) fn divide(p: &[E], z: E) -> Vec<E> {
    let mut out = vec![E::ZERO; p.len()];
    let mut sum = E::ZERO;
    for i in (1..p.len()).rev() {
        sum = sum * z + p[i];
        out[i - 1] = sum;
    }
    out
}

/// Rows and paths that are looked up.
fn answers(proof: &FriProof<F, Poseidon, D>) -> Work {
    let digests = |path: &MerkleProof<F, Poseidon>| 4 * path.siblings.len();
    let query = |round: &FriQueryRound<F, Poseidon, D>| -> usize {
        let rows = round.initial_trees_proof.evals_proofs.iter().map(|(row, path)| row.len() + digests(path));
        let steps = round.steps.iter().map(|step| D * step.evals.len() + digests(&step.merkle_proof));
        rows.chain(steps).sum()
    };
    let rounds = &proof.query_round_proofs;
    let words: usize = rounds.iter().map(query).sum();
    Work::products(rounds.len(), words / rounds.len().max(1), 0, words as u64)
}

/// Extends a polynomial and commits to its values, 2^arity to a leaf.
fn commit(params: &FriParams, layer: &Layer, coefficients: &[E], ended: &mut dyn FnMut(Step)) -> Committed {
    let (n, cosets) = (coefficients.len(), 1 << params.config.rate_bits);
    let parts: Vec<[Goldilocks; 2]> = coefficients.iter().map(|x| pair(*x)).collect();
    // Real and imaginary parts by eight cosets, each interleaved.
    let groups: Vec<Vec<Row>> = (layer.shift.par_chunks_exact(n))
        .flat_map(|shift| (0..2).into_par_iter().map(move |part| (shift, part)))
        .map(|(shift, part)| {
            let shifted = shift.iter().zip(&parts).map(|(shift, x)| shift.map(|s| s * x[part]));
            let mut rows: Vec<Row> = shifted.collect();
            layer.forward.transform_in_place(&mut rows).expect("rows of the layer's size");
            rows
        })
        .collect();
    let arity = 1 << layer.arity_bits;
    let mut leaves = vec![Goldilocks::ZERO; 2 * n * cosets];
    leaves.par_chunks_mut(2 * n).enumerate().for_each(|(coset, leaves)| {
        let [real, imaginary] = [0, 1].map(|part| &groups[2 * (coset / LANES) + part]);
        for ((pair, re), im) in leaves.as_chunks_mut::<2>().0.iter_mut().zip(real).zip(imaginary) {
            *pair = [re[coset % LANES], im[coset % LANES]];
        }
    });
    let extension = Work::transform(n, D * cosets);
    let shifts = (D * n * cosets) as u64;
    let work = Work { multiplications: extension.multiplications + shifts, ..extension };
    ended(Step::of(Matrix::Layer, Phase::Extension, work));
    let shape = Shape::new(n * cosets / arity, 2 * arity, params.config.cap_height as u32).expect("plonky2's tree");
    let nodes = merkle::build_vec(merkle::Poseidon, &shape, &leaves).expect("a tree of this shape");
    let (rows, cap) = (n * cosets / arity, shape.level(shape.levels() - 1).len());
    ended(Step::of(Matrix::Layer, Phase::Hashing, Work::leaves(rows, D * arity) + Work::levels(rows, cap)));
    Committed { leaves, shape, nodes, arity_bits: layer.arity_bits }
}

/// The openings of all trees for one query.
fn query(initial: Vec<Opening>, layers: &[Committed], index: usize) -> FriQueryRound<F, Poseidon, D> {
    let mut index = index;
    let steps = layers.iter().map(|layer| {
        index >>= layer.arity_bits;
        let leaf = layer.leaves.as_chunks::<2>().0.chunks_exact(1 << layer.arity_bits).nth(index);
        let evals = leaf.expect("a leaf per index").iter().map(|x| extension(*x)).collect();
        FriQueryStep { evals, merkle_proof: path(&layer.shape, &layer.nodes, index) }
    });
    let steps = steps.collect();
    FriQueryRound { initial_trees_proof: FriInitialTreeProof { evals_proofs: initial }, steps }
}
