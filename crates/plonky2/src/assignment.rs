//! Assignments that a dishonest prover sets as it likes, for tests of the constraints of circuits.
//!
//! An attack here is an assignment, not a witness that a generator may refuse. [`Assignment::complete`] takes the
//! values that the attacker insists on, and lets the generators fill in the rest without ever overruling one.
//! [`Assignment::violations`] then evaluates every gate of every row. Wires that the circuit connects share one value
//! by construction, so a broken connection shows as a broken gate at one of its ends. An attack counts as a test of one
//! constraint if everything else holds: therefore tests bound the violations from above as well as from below.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use plonky2::field::extension::FieldExtension;
use plonky2::field::extension::quadratic::QuadraticExtension;
use plonky2::field::types::{Field, PrimeField64};
use plonky2::iop::generator::GeneratedValues;
use plonky2::iop::target::Target;
use plonky2::iop::witness::{MatrixWitness, PartialWitness, PartitionWitness, Witness, WitnessWrite};
use plonky2::plonk::circuit_data::CircuitData;
use plonky2::plonk::config::Hasher;
use plonky2::plonk::vars::EvaluationVars;

use crate::circuit::{C, D, F, Poseidon};

/// A value for every wire of a circuit.
pub struct Assignment<'a> {
    data: &'a CircuitData<F, C, D>,
    public_inputs: Vec<F>,
    wires: MatrixWitness<F>,
}

impl<'a> Assignment<'a> {
    /// `forced` wins over `honest`, which wins over the generators. Wires that nobody sets are zero.
    pub fn complete(data: &'a CircuitData<F, C, D>, forced: &[(Target, F)], honest: PartialWitness<F>) -> Self {
        let mut partition = PartitionWitness::new(
            data.common.config.num_wires,
            data.common.degree(),
            &data.prover_only.representative_map,
        );
        let set = |partition: &mut PartitionWitness<'_, F>, target: Target, value: F| {
            if partition.try_get_target(target).is_none() {
                partition.set_target(target, value).expect("the target was unset");
                return true;
            }
            false
        };
        for (target, value) in forced {
            assert!(set(&mut partition, *target, *value), "the attack forces {target:?} twice");
        }
        for (target, value) in honest.target_values {
            set(&mut partition, target, value);
        }
        let generators = &data.prover_only.generators;
        let mut pending: Vec<usize> = (0..generators.len()).collect();
        loop {
            let before = pending.len();
            let mut buffer = GeneratedValues::empty();
            let mut progress = false;
            pending.retain(|k| {
                // A generator may panic on values that no honest witness has; it then stays unrun.
                let done =
                    catch_unwind(AssertUnwindSafe(|| generators[*k].0.run(&partition, &mut buffer))).unwrap_or(true);
                for (target, value) in buffer.target_values.drain(..) {
                    progress |= set(&mut partition, target, value);
                }
                !done
            });
            if pending.len() == before && !progress {
                break;
            }
        }
        let public_inputs =
            data.prover_only.public_inputs.iter().map(|t| partition.try_get_target(*t).unwrap_or(F::ZERO)).collect();
        Self { data, public_inputs, wires: partition.full_witness() }
    }

    /// The public inputs.
    pub fn public_inputs(&self) -> &[F] {
        &self.public_inputs
    }

    /// True if some row has these values side by side, in this order.
    pub fn has(&self, values: &[F]) -> bool {
        let common = &self.data.common;
        (0..common.degree()).any(|row| {
            let wires: Vec<F> = (0..common.config.num_wires).map(|w| self.wires.get_wire(row, w)).collect();
            wires.windows(values.len()).any(|window| window == values)
        })
    }

    /// Every row at which a gate's constraints do not hold, with the gate's name.
    pub fn violations(&self) -> BTreeSet<(usize, String)> {
        let common = &self.data.common;
        let selectors = common.selectors_info.num_selectors();
        let constants: Vec<Vec<F>> = self.data.prover_only.constants_sigmas_commitment.polynomials
            [..common.num_constants]
            .iter()
            .map(|p| p.clone().fft().values)
            .collect();
        let public_inputs_hash = Poseidon::hash_no_pad(&self.public_inputs);
        let mut out = BTreeSet::new();
        for row in 0..common.degree() {
            // The only selector in use at this row holds the number of the row's gate.
            let in_use: Vec<u64> = constants[..selectors]
                .iter()
                .map(|c| c[row].to_canonical_u64())
                .filter(|v| *v != u64::from(u32::MAX))
                .collect();
            let [gate] = in_use[..] else { panic!("row {row} has {} gates", in_use.len()) };
            let gate = &common.gates[gate as usize].0;
            let lift = <QuadraticExtension<F> as FieldExtension<D>>::from_basefield;
            let local_constants: Vec<_> = constants[selectors..].iter().map(|c| lift(c[row])).collect();
            let local_wires: Vec<_> = (0..common.config.num_wires).map(|w| lift(self.wires.get_wire(row, w))).collect();
            let vars = EvaluationVars {
                local_constants: &local_constants,
                local_wires: &local_wires,
                public_inputs_hash: &public_inputs_hash,
            };
            if gate.eval_unfiltered(vars).iter().any(|c| !c.is_zero()) {
                let name = gate.id();
                let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
                out.insert((row, name));
            }
        }
        out
    }
}

/// Asserts that the assignment breaks something, but at most `most` rows: everything else in the attack holds.
#[track_caller]
pub fn assert_refused(assignment: &Assignment<'_>, most: usize) {
    let violations = assignment.violations();
    assert!(!violations.is_empty(), "the constraints accept the attack");
    let some: Vec<_> = violations.iter().take(8).collect();
    assert!(
        violations.len() <= most,
        "the attack breaks {} rows, not only what it is about: {some:?}",
        violations.len()
    );
}

/// Asserts that the assignment breaks something. For attacks on a connection of wires that a child's transcript
/// absorbs: connected wires have one value, so one of the two ends breaks, and with it the verification of a whole
/// child.
#[track_caller]
pub fn assert_refused_at_a_child(assignment: &Assignment<'_>) {
    assert!(!assignment.violations().is_empty(), "the constraints accept the attack");
}
