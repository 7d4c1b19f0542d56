//! Proofs of tables that expose records, and their check.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::LANES;
use plonky2::field::polynomial::PolynomialValues;
use plonky2::field::types::Field;
use plonky2::fri::oracle::PolynomialBatch;
use plonky2::hash::hash_types::HashOut;
use plonky2::iop::challenger::Challenger;
use plonky2::util::timing::TimingTree;
use starky::config::StarkConfig;
use starky::cross_table_lookup::{CrossTableLookup, CtlCheckVars, TableWithColumns, get_ctl_data};
use starky::lookup::{
    Column, Filter, GrandProductChallenge, GrandProductChallengeSet, get_grand_product_challenge_set,
};
use starky::proof::StarkProofWithPublicInputs;
use starky::prover::prove_with_commitment;
use starky::verifier::verify_stark_proof_with_challenges;

use super::{Air, AirStark, Exposed, TraceRows};
use crate::circuit::{C, D, F, Poseidon, to_plonky};

/// A proof of a table that exposes records.
pub type RecordedProof = StarkProofWithPublicInputs<F, C, D>;

/// The side of `starky`'s argument that is a table.
pub(crate) fn looked_up(exposed: &Exposed) -> CrossTableLookup<F> {
    let columns = Column::singles(&exposed.columns).collect();
    CrossTableLookup::new(vec![], TableWithColumns::new(0, columns, Filter::new_simple(Column::single(exposed.filter))))
}

/// The sum of 1 / (gamma + record(beta)), beta's powers in order: the table's first sum for exactly these records.
///
/// `None` if a denominator is zero.
pub fn sum_of_records(records: &[Vec<F>], challenge: &GrandProductChallenge<F>) -> Option<F> {
    let mut sum = F::ZERO;
    for record in records {
        sum += challenge.combine::<F, F, _, 1>(record).try_inverse()?;
    }
    Some(sum)
}

/// Checks a proof that was made with `binding` over exactly `records`, in any order.
///
/// `starky`'s verifier on challenges that have absorbed `binding`, the public inputs and the trace's cap, in that order.
/// `starky` 1.1.0 itself accepts proofs without a quotient's cap, whose openings nothing then binds, and indexes lists that it
/// does not measure: the shape of a table of 2^`log_rows` rows is checked here, before it.
///
/// # Errors
/// When the proof is not of the shape, does not verify, or is of other records.
pub fn verify<A: Air>(
    config: &StarkConfig,
    log_rows: usize,
    proof: &RecordedProof,
    binding: HashOut<F>,
    records: &[Vec<Goldilocks>],
) -> anyhow::Result<()> {
    let exposed = A::exposed().ok_or_else(|| anyhow::anyhow!("the table exposes nothing"))?;
    check_shape(config, log_rows, proof)?;
    let stark = AirStark::<A>::default();
    let mut challenger = Challenger::<F, Poseidon>::new();
    challenger.observe_hash::<Poseidon>(binding);
    challenger.observe_elements(&proof.public_inputs);
    challenger.observe_cap(&proof.proof.trace_cap);
    let set: GrandProductChallengeSet<F> = get_grand_product_challenge_set(&mut challenger, config.num_challenges);
    let lookups = [looked_up(&exposed)];
    let sums = proof.proof.openings.ctl_zs_first.as_deref().unwrap_or_default();
    anyhow::ensure!(sums.len() == set.challenges.len(), "{} sums for {} challenges", sums.len(), set.challenges.len());
    let records: Vec<Vec<F>> = records.iter().map(|r| r.iter().copied().map(to_plonky).collect()).collect();
    for (sum, challenge) in sums.iter().zip(&set.challenges) {
        anyhow::ensure!(sum_of_records(&records, challenge) == Some(*sum), "the table is one of other records");
    }
    let vars = CtlCheckVars::from_proof(0, &proof.proof, &lookups, &set, 0, 0, &[0]);
    let challenges = proof.proof.get_challenges::<AirStark<A>>(
        &stark,
        &proof.public_inputs,
        &mut challenger,
        Some(&set),
        Some(&vars),
        true,
        config,
        None,
    );
    verify_stark_proof_with_challenges(&stark, &proof.proof, &challenges, Some(&vars), &proof.public_inputs, config)
}

/// Checks the parts of the shape that `starky`'s own check leaves open.
fn check_shape(config: &StarkConfig, log_rows: usize, proof: &RecordedProof) -> anyhow::Result<()> {
    let proof = &proof.proof;
    let (fri, found) = (config.fri_params(log_rows), &proof.opening_proof);
    anyhow::ensure!(proof.quotient_polys_cap.is_some(), "the proof has no cap of its quotient");
    anyhow::ensure!(proof.auxiliary_polys_cap.is_some(), "the proof has no cap of its sums");
    let openings = [&proof.openings.auxiliary_polys, &proof.openings.auxiliary_polys_next];
    anyhow::ensure!(
        openings.into_iter().all(|o| o.as_ref().is_some_and(|o| o.len() == config.num_challenges)),
        "the proof does not open {} sums",
        config.num_challenges
    );
    let (queries, layers) = (found.query_round_proofs.len(), found.commit_phase_merkle_caps.len());
    anyhow::ensure!(queries == fri.config.num_query_rounds, "{queries} queries, not {}", fri.config.num_query_rounds);
    anyhow::ensure!(
        layers == fri.reduction_arity_bits.len(),
        "{layers} layers, not {}",
        fri.reduction_arity_bits.len()
    );
    let first = found.query_round_proofs.first().and_then(|round| round.initial_trees_proof.evals_proofs.first());
    let path = first.map(|(_, path)| path.siblings.len());
    let height = fri.lde_bits() - fri.config.cap_height;
    anyhow::ensure!(path == Some(height), "the proof is not of a table of 2^{log_rows} rows");
    Ok(())
}

/// The proof by `starky`'s own prover, for comparison.
///
/// # Errors
/// As `starky`'s.
pub fn starky_proof<A: Air>(
    config: &StarkConfig,
    trace: &dyn TraceRows,
    binding: HashOut<F>,
) -> anyhow::Result<RecordedProof> {
    let exposed = A::exposed().ok_or_else(|| anyhow::anyhow!("the table exposes nothing"))?;
    let value = |row: usize, c: usize| to_plonky(trace.group(row, c / LANES)[c % LANES]);
    let column = |c: usize| PolynomialValues::new((0..trace.rows()).map(|row| value(row, c)).collect());
    let columns = [(0..A::COLUMNS).map(column).collect::<Vec<_>>()];
    let mut timing = TimingTree::default();
    let fri = &config.fri_config;
    let commitment = PolynomialBatch::<F, C, D>::from_values(
        columns[0].clone(),
        fri.rate_bits,
        false,
        fri.cap_height,
        &mut timing,
        None,
    );
    let mut challenger = Challenger::<F, Poseidon>::new();
    challenger.observe_hash::<Poseidon>(binding);
    challenger.observe_cap(&commitment.merkle_tree.cap);
    let lookups = [looked_up(&exposed)];
    let (set, [data]) = get_ctl_data::<F, C, D, 1>(config, &columns, &lookups, &mut challenger, A::DEGREE);
    config.observe(&mut challenger);
    prove_with_commitment(
        &AirStark::<A>::default(),
        config,
        &columns[0],
        &commitment,
        Some(&data),
        Some(&set),
        &mut challenger,
        &[],
        None,
        None,
        &mut timing,
    )
}
