//! A prover for plonky2's circuits on our kernels.
//!
//! **What.** [`Prover::new`] makes the tables of a circuit. [`Prover::prove`] does the same as `CircuitData::prove`:
//! the same witness gives the same caps, openings and final polynomial, and plonky2's verifier accepts the proof. Only
//! the proof-of-work witness may differ, and hence the queries: plonky2 uses any that its threads find, this prover the
//! least.
//!
//! **When.** For circuits over Goldilocks with [`PoseidonConfig`](crate::circuit::PoseidonConfig), without zero
//! knowledge and lookups. [`Unsupported`] names the unsupported feature; use plonky2's own prover then.
//!
//! **How.** Columns are stored in groups of eight (`evergrove_kernels::ntt`), so transforms and trees process eight at
//! a time; a coset of the extension is transformed and hashed before the next. Constraints are evaluated at eight
//! points at a time: in `gates` for the gates of recursive circuits, by plonky2's code for others. The witness is
//! generated in a recorded order (`witness`). Data that depends only on the circuit is in `tables`, built once and
//! shared by threads; buffers are kept from proof to proof (`workspace`).

mod choice;
#[cfg(test)]
mod faults;
mod fri;
mod gates;
mod openings;
mod oracle;
mod permutation;
mod poseidon;
mod quotient;
pub(crate) mod stark;
mod tables;
mod transcript;
mod witness;
mod workspace;

use std::sync::OnceLock;

use anyhow::ensure;
use evergrove_commit::watch::{Matrix, Phase, Step, Work};
use evergrove_kernels::oracle::{Keep, Oracle, Stage, Workspace as Columns};
use evergrove_primitives::lanes::{Isa, LANES};
use plonky2::field::extension::quadratic::QuadraticExtension;
use plonky2::field::types::Field;
use plonky2::hash::hash_types::HashOut;
use plonky2::iop::witness::{PartialWitness, PartitionWitness};
use plonky2::plonk::circuit_data::CircuitData;
use plonky2::plonk::config::Hasher;
use plonky2::plonk::proof::{OpeningSet, Proof, ProofWithPublicInputs};
use rayon::prelude::*;

use self::fri::Opened;
use self::permutation::Challenges;
use self::tables::Tables;
use self::witness::{Generated, Schedule};
use self::workspace::Workspace;
use crate::circuit::{C, D, F, PlonkyProof, Poseidon};

pub use self::choice::{CircuitProver, ProverKind, UnknownProver};
pub(crate) use self::tables::{Selector, selectors};
pub(crate) use self::transcript::Transcript;

type E = QuadraticExtension<F>;

/// Products of a multiplication in the extension, as they are counted.
const EXTENSION_PRODUCTS: u64 = 4;

/// Rows that a task copies.
const COPY: usize = 1 << 12;

/// A circuit that this prover does not prove, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this prover does not support {0}")]
pub struct Unsupported(pub(crate) String);

/// The tables of a circuit.
///
/// Buffers are kept from proof to proof, and shared by the provers of all circuits of the same shape. A proof that fails drops
/// its own.
pub struct Prover {
    digest: HashOut<F>,
    tables: Tables,
    schedule: OnceLock<Schedule>,
}

impl Prover {
    /// The prover of a circuit: tenths of a second, and some 130 words per row.
    ///
    /// # Errors
    /// For circuits with zero knowledge, lookups, fewer than 2^5 rows, a lower rate than their degree needs or unusual
    /// parameters.
    pub fn new(circuit: &CircuitData<F, C, D>) -> Result<Self, Unsupported> {
        Self::on(Isa::detect(), Keep::Values, circuit)
    }

    /// [`Prover::new`] for large circuits: with [`Keep::Coefficients`] extensions are not kept but made twice, and nothing is
    /// kept for the next proof. It works in half the memory. Other instruction sets than the best are for tests and comparisons.
    ///
    /// # Panics
    /// When used on a CPU that lacks the instructions.
    pub fn on(isa: Isa, keep: Keep, circuit: &CircuitData<F, C, D>) -> Result<Self, Unsupported> {
        Ok(Self {
            digest: circuit.verifier_only.circuit_digest,
            tables: Tables::new(isa, keep, circuit)?,
            schedule: OnceLock::new(),
        })
    }

    /// Bytes of the tables, and of the buffers of one proof; without the witness, 16 for every wire.
    pub fn memory(&self) -> [usize; 2] {
        [self.tables.bytes(), self.tables.shared.bytes()[1]]
    }

    /// Proves `circuit`, which must be that of [`Prover::new`], with all threads of the current rayon pool.
    ///
    /// The first proof records the order of witness generation.
    ///
    /// # Errors
    /// For another circuit, and when `inputs` contradict it or leave something open.
    pub fn prove(&self, circuit: &CircuitData<F, C, D>, inputs: PartialWitness<F>) -> anyhow::Result<PlonkyProof> {
        self.prove_observed(circuit, inputs, &mut |_| ())
    }

    /// [`Prover::prove`] that reports the end of each step. Steps follow each other without a gap.
    pub fn prove_observed(
        &self,
        circuit: &CircuitData<F, C, D>,
        inputs: PartialWitness<F>,
        ended: &mut dyn FnMut(Step),
    ) -> anyhow::Result<PlonkyProof> {
        ensure!(circuit.verifier_only.circuit_digest == self.digest, "this is the prover of another circuit");
        let mut workspace = self.tables.shared.take();
        let generated = self.generate(circuit, inputs, core::mem::take(&mut workspace.values))?;
        let hashes = generated.permutations();
        ended(Step::new(Phase::Witness, Work { hashes, ..self.tables.trace_work() }));
        self.prove_in(circuit, generated, workspace, ended)
    }

    /// [`Prover::prove`] from a complete witness.
    pub fn prove_with_partition_witness(
        &self,
        circuit: &CircuitData<F, C, D>,
        witness: PartitionWitness<'_, F>,
    ) -> anyhow::Result<PlonkyProof> {
        ensure!(circuit.verifier_only.circuit_digest == self.digest, "this is the prover of another circuit");
        self.prove_in(circuit, Generated::complete(witness), self.tables.shared.take(), &mut |_| ())
    }

    /// The witness, by the recorded order if it applies.
    fn generate<'a>(
        &self,
        circuit: &'a CircuitData<F, C, D>,
        inputs: PartialWitness<F>,
        buffer: Vec<Option<F>>,
    ) -> anyhow::Result<Generated<'a>> {
        let Some(schedule) = self.schedule.get() else {
            let (schedule, generated) = Schedule::record(circuit, &inputs)?;
            // Another thread may have been first; its order is as good.
            let _ = self.schedule.set(schedule);
            return Ok(generated);
        };
        match schedule.replay(self.tables.isa, circuit, &inputs, buffer)? {
            Some(generated) => Ok(generated),
            None => Generated::by_plonky2(circuit, inputs),
        }
    }

    fn prove_in(
        &self,
        circuit: &CircuitData<F, C, D>,
        generated: Generated<'_>,
        workspace: Workspace,
        ended: &mut dyn FnMut(Step),
    ) -> anyhow::Result<PlonkyProof> {
        let tables = &self.tables;
        let prover_data = &circuit.prover_only;
        let Workspace { mut trace, oracles: [mut wires, mut zs, mut quotient], .. } = workspace;

        let public_inputs = witness::public_inputs(circuit, &generated.partition)?;
        let public_inputs_hash = Poseidon::hash_no_pad(&public_inputs);
        generated.fill(self.schedule.get(), wires.coefficients_mut());
        let mut values = generated.partition.values;
        if !tables.shared.keeps() {
            values = Vec::new();
        }
        // Z is computed from the wires' values, which interpolation overwrites; the wires' cap comes before its challenges.
        let routed = &wires.coefficients_mut()[..trace.len()];
        trace.par_chunks_mut(COPY).zip(routed.par_chunks(COPY)).for_each(|(to, from)| to.copy_from_slice(from));
        ended(Step::new(Phase::Trace, tables.trace_work()));
        #[cfg(test)]
        faults::strike_row(faults::Fault::Wires, wires.coefficients_mut());

        let mut transcript = Transcript::default();
        transcript.observe_params(&circuit.common.fri_params);
        transcript.observe_base(&self.digest.elements);
        transcript.observe_base(&public_inputs_hash.elements);
        let mut wires = commit(wires, Matrix::Wires, true, ended);
        transcript.observe_cap(wires.cap());

        let permutation = Challenges::new(tables, &mut transcript);
        permutation::fill(tables, &prover_data.sigmas, &trace, &permutation, &mut zs)?;
        if !tables.shared.keeps() {
            trace = Vec::new();
        }
        ended(Step::new(Phase::Permutation, tables.permutation_work()));
        #[cfg(test)]
        faults::strike_row(faults::Fault::PartialProducts, zs.coefficients_mut());
        let mut zs = commit(zs, Matrix::PartialProducts, true, ended);
        transcript.observe_cap(zs.cap());

        let alphas = transcript.challenges(tables.challenges);
        let inputs = quotient::Inputs {
            tables,
            preprocessed: &prover_data.constants_sigmas_commitment.merkle_tree.leaves,
            permutation: &permutation,
            alphas: &alphas,
            public_inputs_hash: &public_inputs_hash,
        };
        quotient::fill(&inputs, [&mut wires, &mut zs], &mut quotient)?;
        ended(Step::new(Phase::Constraints, tables.constraints_work()));
        #[cfg(test)]
        faults::strike_row(faults::Fault::Quotient, quotient.coefficients_mut());
        let quotient = commit(quotient, Matrix::Quotient, false, ended);
        transcript.observe_cap(quotient.cap());

        let zeta = transcript.extension_challenge();
        let degree_bits = circuit.common.degree_bits();
        ensure!(zeta.exp_power_of_2(degree_bits) != E::ONE, "opening point is in the subgroup");
        let opened = Opened {
            tables,
            preprocessed: &prover_data.constants_sigmas_commitment,
            oracles: [&wires, &zs, &quotient],
            zeta,
            zeta_next: E::primitive_root_of_unity(degree_bits) * zeta,
        };
        let openings = open(&opened);
        #[cfg(test)]
        let openings = faults::strike_openings(openings);
        for batch in [
            &openings.constants,
            &openings.plonk_sigmas,
            &openings.wires,
            &openings.plonk_zs,
            &openings.partial_products,
            &openings.quotient_polys,
            &openings.plonk_zs_next,
        ] {
            transcript.observe_extension(batch);
        }
        ended(Step::new(Phase::Openings, tables.openings_work()));
        let opening_proof = fri::prove(&opened, &circuit.common.fri_params, &mut transcript, ended)?;
        let proof = Proof {
            wires_cap: oracle::plonky_cap(wires.cap()),
            plonk_zs_partial_products_cap: oracle::plonky_cap(zs.cap()),
            quotient_polys_cap: oracle::plonky_cap(quotient.cap()),
            openings,
            opening_proof,
        };
        let oracles = [wires, zs, quotient].map(Oracle::into_workspace);
        tables.shared.keep(Workspace { values, trace, oracles });
        Ok(ProofWithPublicInputs { proof, public_inputs })
    }
}

/// The oracle of the columns, from their coefficients or from their values on the trace's domain.
fn commit(mut columns: Columns, matrix: Matrix, values: bool, ended: &mut dyn FnMut(Step)) -> Oracle {
    let [rows, extended, width, cap] = columns.dimensions();
    let transform = Work::transform(rows, width);
    if values {
        columns.interpolate();
        ended(Step::of(matrix, Phase::Interpolation, transform));
    }
    columns.commit_observed(&mut |stage| {
        ended(match stage {
            Stage::Extension => Step::of(matrix, Phase::Extension, transform),
            Stage::Leaves => Step::of(matrix, Phase::Hashing, Work::leaves(rows, width)),
            Stage::Levels => Step::of(matrix, Phase::Hashing, Work::levels(extended, cap)),
        });
    })
}

/// The values of all polynomials at zeta, and of Z at the next point.
fn open(opened: &Opened<'_>) -> OpeningSet<F, D> {
    let tables = opened.tables;
    let (n, isa) = (tables.size(), tables.isa);
    let mut groups: Vec<&[_]> = tables.preprocessed.chunks_exact(n).collect();
    for oracle in opened.oracles {
        groups.extend(oracle.coefficients().chunks_exact(n));
    }
    let values = openings::evaluate(isa, &groups, &openings::powers(opened.zeta, n));
    let zs = &opened.oracles[1].coefficients()[..n];
    let next = openings::evaluate(isa, &[zs], &openings::powers(opened.zeta_next, n));
    let mut rest = &values[..];
    let mut take = |columns: usize| -> Vec<E> {
        let (batch, after) = rest.split_at(columns.div_ceil(LANES));
        rest = after;
        batch.iter().flatten().copied().take(columns).collect()
    };
    let mut constants = take(tables.constants + tables.routed);
    let plonk_sigmas = constants.split_off(tables.constants);
    let [wires, mut plonk_zs, quotient_polys] = opened.oracles.map(|o| take(o.columns()));
    let partial_products = plonk_zs.split_off(tables.challenges);
    OpeningSet {
        constants,
        plonk_sigmas,
        wires,
        plonk_zs,
        plonk_zs_next: next[0][..tables.challenges].to_vec(),
        partial_products,
        quotient_polys,
        lookup_zs: vec![],
        lookup_zs_next: vec![],
    }
}
