//! A prover for STARKs in `starky`'s format on our kernels.
//!
//! The flow is that of `starky::prover`, and so are challenges, caps, openings and final polynomial; the proof-of-work
//! witness may differ, as for circuits. The trace is extended and hashed eight columns at a time, constraints are
//! evaluated at eight points at a time ([`Air::constraints`] over vectors), and the rest is shared with the prover of
//! circuits.

mod quotient;
mod vanishing;

use core::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::ensure;
use evergrove_kernels::ntt::{Row, ZERO_ROW, groups};
use evergrove_kernels::oracle::{Domain, Keep, Oracle, Workspace};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::{Isa, LANES};
use plonky2::field::types::Field;
use plonky2::fri::FriParams;
use plonky2::hash::hash_types::HashOut;
use rayon::prelude::*;
use starky::config::StarkConfig;
use starky::proof::{StarkOpeningSet, StarkProof, StarkProofWithPublicInputs};

use super::fri::{divide, prove_low_degree, weigh};
use super::openings::{combine, evaluate, powers};
use super::oracle::{open, plonky_cap};
use super::tables::{Layer, QuotientTables, bit_reversed_powers, layers};
use super::transcript::Transcript;
use super::{E, Unsupported};
use crate::circuit::{C, D, F, from_plonky, to_plonky};
use crate::stark::{Air, Exposed};

type Proof = StarkProofWithPublicInputs<F, C, D>;

/// The values of a table, in groups of eight columns.
pub trait TraceRows: Sync {
    /// Rows, a power of two.
    fn rows(&self) -> usize;
    /// Columns 8 `group` to 8 `group` + 7 of a row; those beyond the last column do not matter.
    fn group(&self, row: usize, group: usize) -> Row;
}

/// A challenge that combines the columns of a record to gamma + record(beta).
#[derive(Clone, Copy, Debug)]
struct Combination {
    beta: Goldilocks,
    gamma: Goldilocks,
}

/// Buffers of a proof.
struct Buffers {
    trace: Workspace,
    /// The sums of records, if there are any.
    sums: Option<Workspace>,
    quotient: Workspace,
}

/// The tables of an [`Air`] of one size and configuration. Buffers are kept from proof to proof.
pub struct StarkProver<A> {
    isa: Isa,
    config: StarkConfig,
    params: FriParams,
    domain: Arc<Domain>,
    layers: Vec<Layer>,
    quotient: QuotientTables,
    /// The points of the trace domain, in bit-reversed order.
    subgroup: Vec<Goldilocks>,
    /// Chunks of n coefficients of a quotient.
    chunks: usize,
    exposed: Option<Exposed>,
    idle: Mutex<Vec<Buffers>>,
    air: PhantomData<fn() -> A>,
}

impl<A: Air> StarkProver<A> {
    /// The prover of tables of 2^`log_rows` rows.
    ///
    /// # Errors
    /// For fewer than 2^3 rows or too few for the configuration's folds, for a degree of more than nine or of more than the
    /// rate has room for, for more than eight challenges, and for sizes that have no transform or tree.
    pub fn new(config: &StarkConfig, log_rows: u32) -> Result<Self, Unsupported> {
        Self::on(Isa::detect(), config, log_rows)
    }

    /// [`StarkProver::new`] with another instruction set than the best, for tests and comparisons.
    ///
    /// # Panics
    /// When used on a CPU that lacks it.
    pub fn on(isa: Isa, config: &StarkConfig, log_rows: u32) -> Result<Self, Unsupported> {
        let chunks = A::DEGREE.saturating_sub(1).max(1);
        let rate_bits = config.fri_config.rate_bits;
        let params = config.fri_params(log_rows as usize);
        let Some(root) = Goldilocks::root_of_unity(log_rows).filter(|_| log_rows >= LANES.ilog2()) else {
            return Err(Unsupported(format!("2^{log_rows} rows: from 2^3 to 2^32 are")));
        };
        if chunks > LANES || chunks.next_power_of_two() > 1 << rate_bits {
            return Err(Unsupported(format!("constraints of degree {} at a rate of 2^-{rate_bits}", A::DEGREE)));
        }
        if config.num_challenges > LANES {
            return Err(Unsupported(format!("{} challenges", config.num_challenges)));
        }
        if params.total_arities() + config.fri_config.cap_height > log_rows as usize + rate_bits {
            return Err(Unsupported(format!("folding 2^{log_rows} rows by {} bits", params.total_arities())));
        }
        let domain = Domain::on(isa, log_rows, rate_bits as u32).map_err(|e| Unsupported(e.to_string()))?;
        let layers = layers(isa, &params).map_err(|e| Unsupported(e.to_string()))?;
        let subgroup = bit_reversed_powers(root, log_rows as usize);
        let prover = Self {
            isa,
            config: config.clone(),
            params,
            domain: Arc::new(domain),
            layers,
            quotient: QuotientTables::new(&subgroup, chunks),
            subgroup,
            chunks,
            exposed: A::exposed(),
            idle: Mutex::new(Vec::new()),
            air: PhantomData,
        };
        let buffers = prover.buffers()?;
        prover.keep(buffers);
        Ok(prover)
    }

    /// Rows of the table.
    pub fn rows(&self) -> usize {
        self.subgroup.len()
    }

    /// The configuration.
    pub fn config(&self) -> &StarkConfig {
        &self.config
    }

    /// Bytes of the buffers of one proof, the digests of its trees aside.
    pub fn memory(&self) -> usize {
        let rows = self.rows() + self.domain.lde().extended_size();
        self.columns().map(|c| groups(c) * rows * size_of::<Row>()).iter().sum()
    }

    /// A proof of a table, as `starky::prover::prove` makes it.
    ///
    /// # Errors
    /// For a table of another size, another number of public inputs, or an air that exposes records; and where it shows
    /// that the constraints do not hold. Where it does not show, the proof is one that does not verify.
    pub fn prove(&self, trace: &dyn TraceRows, public_inputs: &[Goldilocks]) -> anyhow::Result<Proof> {
        ensure!(self.exposed.is_none(), "the table exposes records: their binding is missing");
        self.prove_in(trace, public_inputs, None)
    }

    /// A proof of a table that exposes records; `binding` is a digest of the data that they will be compared with.
    ///
    /// # Errors
    /// As [`StarkProver::prove`]; and, with a probability of the order of 2^-50, for a record that combines to zero.
    pub fn prove_bound(
        &self,
        trace: &dyn TraceRows,
        public_inputs: &[Goldilocks],
        binding: HashOut<F>,
    ) -> anyhow::Result<Proof> {
        ensure!(self.exposed.is_some(), "the table exposes no records");
        self.prove_in(trace, public_inputs, Some(binding))
    }

    /// Columns of the oracles.
    fn columns(&self) -> [usize; 3] {
        let nc = self.config.num_challenges;
        [A::COLUMNS, if self.exposed.is_some() { nc } else { 0 }, nc * self.chunks]
    }

    fn buffers(&self) -> Result<Buffers, Unsupported> {
        let room = |columns| {
            let cap = self.config.fri_config.cap_height as u32;
            Workspace::new(Arc::clone(&self.domain), columns, cap, Keep::Values).map_err(|e| Unsupported(e.to_string()))
        };
        let [trace, sums, quotient] = self.columns();
        let sums = if sums > 0 { Some(room(sums)?) } else { None };
        Ok(Buffers { trace: room(trace)?, sums, quotient: room(quotient)? })
    }

    fn take(&self) -> Result<Buffers, Unsupported> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| self.buffers(), Ok)
    }

    fn keep(&self, buffers: Buffers) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(buffers);
    }

    fn prove_in(
        &self,
        trace: &dyn TraceRows,
        public_inputs: &[Goldilocks],
        binding: Option<HashOut<F>>,
    ) -> anyhow::Result<Proof> {
        let n = self.rows();
        ensure!(trace.rows() == n, "a table of {} rows, for a prover of {n}", trace.rows());
        ensure!(
            public_inputs.len() == A::PUBLIC_INPUTS,
            "{} public inputs of {}",
            public_inputs.len(),
            A::PUBLIC_INPUTS
        );
        let nc = self.config.num_challenges;
        let Buffers { trace: mut values, sums, quotient: mut chunks } = self.take()?;
        values.coefficients_mut().par_chunks_mut(n).enumerate().for_each(|(group, rows)| {
            for (i, row) in rows.iter_mut().enumerate() {
                *row = trace.group(self.reverse(i), group);
            }
        });
        values.interpolate();
        let committed = values.commit();

        let mut transcript = Transcript::default();
        transcript.observe_base(&binding.map_or(vec![], |b| b.elements.to_vec()));
        public_inputs.iter().for_each(|x| transcript.observe(*x));
        let mut combinations = vec![];
        if binding.is_some() {
            transcript.observe_cap(committed.cap());
            for _ in 0..nc {
                let beta = transcript.challenge();
                combinations.push(Combination { beta, gamma: transcript.challenge() });
            }
            self.observe_config(&mut transcript);
        } else {
            self.observe_config(&mut transcript);
            transcript.observe_cap(committed.cap());
        }
        let mut first_sums = vec![];
        let sums = match (sums, &self.exposed) {
            (Some(mut workspace), Some(exposed)) => {
                first_sums = self.fill_sums(trace, exposed, &combinations, workspace.coefficients_mut())?;
                workspace.interpolate();
                let sums = workspace.commit();
                transcript.observe_cap(sums.cap());
                Some(sums)
            }
            _ => None,
        };

        let trial = transcript.challenges(nc);
        let trial = vanishing::at_dummies::<A>(self, &combinations, public_inputs, &trial, &mut transcript);
        transcript.observe_extension(&trial);
        let alphas = transcript.challenges(nc);
        let inputs = quotient::Inputs {
            prover: self,
            trace: &committed,
            sums: sums.as_ref(),
            combinations: &combinations,
            alphas: &alphas,
            public_inputs,
        };
        quotient::fill(&inputs, &mut chunks)?;
        let quotient = chunks.commit();
        transcript.observe_cap(quotient.cap());

        let zeta = transcript.extension_challenge();
        let degree_bits = self.params.degree_bits;
        ensure!(zeta.exp_power_of_2(degree_bits) != E::ONE, "opening point is in the subgroup");
        let zeta_next = E::primitive_root_of_unity(degree_bits) * zeta;
        let openings = self.open(&committed, sums.as_ref(), &quotient, [zeta, zeta_next], &first_sums);
        let batches = openings.local_values.iter().chain(openings.auxiliary_polys.iter().flatten());
        let batches = batches.chain(openings.quotient_polys.iter().flatten()).chain(&openings.next_values);
        let batches: Vec<E> = batches.chain(openings.auxiliary_polys_next.iter().flatten()).copied().collect();
        transcript.observe_extension(&batches);
        let first: Vec<E> = first_sums.iter().map(|x| to_plonky(*x).into()).collect();
        transcript.observe_extension(&first);

        let alpha = transcript.extension_challenge();
        let combined = self.combined(&committed, sums.as_ref(), &quotient, [zeta, zeta_next], alpha);
        let initial = |index: usize| {
            [Some(&committed), sums.as_ref(), Some(&quotient)].into_iter().flatten().map(|o| open(o, index)).collect()
        };
        let opening_proof =
            prove_low_degree(self.isa, &self.layers, &self.params, combined, initial, &mut transcript, &mut |_| ())?;
        let proof = StarkProof {
            trace_cap: plonky_cap(committed.cap()),
            auxiliary_polys_cap: sums.as_ref().map(|o| plonky_cap(o.cap())),
            quotient_polys_cap: Some(plonky_cap(quotient.cap())),
            openings,
            opening_proof,
        };
        self.keep(Buffers {
            trace: committed.into_workspace(),
            sums: sums.map(Oracle::into_workspace),
            quotient: quotient.into_workspace(),
        });
        Ok(Proof { proof, public_inputs: public_inputs.iter().copied().map(to_plonky).collect() })
    }

    fn observe_config(&self, transcript: &mut Transcript) {
        let numbers = [self.config.security_bits, self.config.num_challenges];
        transcript.observe_base(&numbers.map(F::from_canonical_usize));
        transcript.observe_config(&self.config.fri_config);
    }

    /// The row at a position of bit-reversed order, and vice versa.
    fn reverse(&self, i: usize) -> usize {
        i.reverse_bits() >> (usize::BITS - self.rows().ilog2())
    }

    /// The sums of 1 / (gamma + record(beta)) from a row to the last, a column for each challenge; returns the first row.
    fn fill_sums(
        &self,
        trace: &dyn TraceRows,
        exposed: &Exposed,
        combinations: &[Combination],
        rows: &mut [Row],
    ) -> anyhow::Result<Vec<Goldilocks>> {
        let at = |row: usize, column: usize| trace.group(row, column / LANES)[column % LANES];
        let with_record: Vec<usize> =
            (0..self.rows()).into_par_iter().filter(|row| at(*row, exposed.filter) != Goldilocks::ZERO).collect();
        let records: Vec<Vec<Goldilocks>> =
            with_record.par_iter().map(|row| exposed.columns.iter().map(|c| at(*row, *c)).collect()).collect();
        let mut terms = vec![ZERO_ROW; records.len()];
        for (c, challenge) in combinations.iter().enumerate() {
            let combined = |record: &Vec<Goldilocks>| {
                let value = record.iter().rev().fold(Goldilocks::ZERO, |sum, x| sum * challenge.beta + *x);
                to_plonky(value + challenge.gamma)
            };
            let combined: Vec<F> = records.par_iter().map(combined).collect();
            ensure!(combined.iter().all(|x| *x != F::ZERO), "a record combines to zero");
            for (term, inverse) in terms.iter_mut().zip(F::batch_multiplicative_inverse(&combined)) {
                term[c] = from_plonky(inverse);
            }
        }
        let (mut sum, mut next) = (ZERO_ROW, with_record.len());
        for row in (0..self.rows()).rev() {
            if next > 0 && with_record[next - 1] == row {
                next -= 1;
                for (sum, term) in sum.iter_mut().zip(&terms[next]) {
                    *sum += *term;
                }
            }
            rows[self.reverse(row)] = sum;
        }
        Ok(sum[..combinations.len()].to_vec())
    }

    fn open(
        &self,
        trace: &Oracle,
        sums: Option<&Oracle>,
        quotient: &Oracle,
        points: [E; 2],
        first_sums: &[Goldilocks],
    ) -> StarkOpeningSet<F, D> {
        let n = self.rows();
        let [powers, next_powers] = points.map(|x| powers(x, n));
        let values = |oracle: &Oracle, powers: &[[Goldilocks; 2]]| -> Vec<E> {
            let groups: Vec<&[Row]> = oracle.coefficients().chunks_exact(n).collect();
            evaluate(self.isa, &groups, powers).into_iter().flatten().take(oracle.columns()).collect()
        };
        StarkOpeningSet {
            local_values: values(trace, &powers),
            next_values: values(trace, &next_powers),
            auxiliary_polys: sums.map(|o| values(o, &powers)),
            auxiliary_polys_next: sums.map(|o| values(o, &next_powers)),
            ctl_zs_first: sums.map(|_| first_sums.iter().copied().map(to_plonky).collect()),
            quotient_polys: Some(values(quotient, &powers)),
        }
    }

    /// The polynomial that FRI proves to be of low degree: all polynomials opened at zeta, trace and sums opened at the next
    /// point, and sums opened at 1.
    fn combined(
        &self,
        trace: &Oracle,
        sums: Option<&Oracle>,
        quotient: &Oracle,
        [zeta, zeta_next]: [E; 2],
        alpha: E,
    ) -> Vec<E> {
        let n = self.rows();
        let all = [Some(trace), sums, Some(quotient)].map(|o| o.map(|o| (o.coefficients(), o.columns())));
        let mut batches = vec![(&all[..], zeta), (&all[..2], zeta_next)];
        if sums.is_some() {
            batches.push((&all[1..2], E::ONE));
        }
        let quotients: Vec<(Vec<E>, usize)> = batches
            .into_par_iter()
            .map(|(matrices, point)| {
                let matrices: Vec<(&[Row], usize)> = matrices.iter().copied().flatten().collect();
                let columns = matrices.iter().map(|m| m.1).sum();
                (divide(&combine(self.isa, &weigh(&matrices, n, alpha), n), point), columns)
            })
            .collect();
        let mut sum = vec![E::ZERO; n];
        for (quotient, columns) in quotients {
            let shift = alpha.exp_u64(columns as u64);
            sum.par_iter_mut().zip(&quotient).for_each(|(sum, x)| *sum = *sum * shift + *x);
        }
        sum
    }
}
