//! The laws of circuits on the engine's tables, for [`super::check`] and the refusals.

use std::collections::HashMap;

use evergrove_grove::application::{Circuits, Slot};
use evergrove_multilinear::circuit::wires::Base;
use evergrove_multilinear::circuit::{Builder, Circuit, Witness};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Quadratic;
use evergrove_verifier::tables::{Table, Tables, bits, query, tuple};

use super::{Case, Reduction, folds};
use crate::MapReduce;

const ZERO: Goldilocks = Goldilocks::ZERO;
/// The greatest number of the prover's choices that are changed.
const ATTACKS: usize = 40;

/// Checks that the circuits compute what the code computes: the reductions, and folds of the cases.
pub(super) fn check(
    app: &dyn MapReduce,
    circuits: &dyn Circuits,
    cases: &[Case],
    mapped: &[Vec<Goldilocks>],
    reductions: &[Reduction],
) {
    let name = app.name();
    let circuit = OnTables::reduce(app, circuits);
    for Reduction { left, right, output } in reductions {
        circuit.gives(&[&left[..], right].concat(), output, &format!("{name}: {left:?} and {right:?}"));
    }
    let first = app.reduce(&mapped[0], &mapped[1]).unwrap_or_else(|e| panic!("{name}: {e}"));
    circuit.determines(&[&mapped[0][..], &mapped[1]].concat(), &first, name);

    let (circuit, dummy) = (OnTables::fold(app, circuits, cases.len()), Case::dummy(app));
    for (k, fold) in folds(app, cases, &dummy, mapped).iter().enumerate() {
        let free = OnTables::slots(app, circuits, &fold.slots);
        circuit.gives(&free, &fold.output, &fold.what);
        if k == 0 {
            // All slots are active in the first fold.
            circuit.determines(&free, &fold.output, name);
        }
    }
}

/// A circuit of an application alone, with its output.
pub(super) struct OnTables {
    circuit: Circuit<Quadratic>,
    /// The rows of choices that copy the output.
    output: Vec<u32>,
}

impl OnTables {
    /// The fold over `n` slots.
    pub(super) fn fold(app: &dyn MapReduce, circuits: &dyn Circuits, n: usize) -> Self {
        Self::new(circuits, |b| {
            let tag = b.tag(ZERO);
            let slots: Vec<Slot> = (0..n)
                .map(|_| {
                    let (_, [first, second]) = b.hash_free(tag);
                    let index = Builder::limb(b, first, 0);
                    let value = [(first, 1), (first, 2), (first, 3), (second, 0)];
                    Slot { active: b.bit(), index, value }
                })
                .collect();
            let inputs: Vec<Base> = circuits.inputs().iter().map(|_| Builder::any(b)).collect();
            let output = circuits.fold(b, &inputs, &slots);
            assert_eq!(output.len(), app.output_len(), "elements of a fold");
            output
        })
    }
    /// The reduction.
    pub(super) fn reduce(app: &dyn MapReduce, circuits: &dyn Circuits) -> Self {
        Self::new(circuits, |b| {
            let [left, right] = [(); 2].map(|()| (0..app.output_len()).map(|_| Builder::any(b)).collect::<Vec<_>>());
            let output = circuits.reduce(b, &left, &right);
            assert_eq!(output.len(), app.output_len(), "elements of a reduction");
            output
        })
    }
    fn new(circuits: &dyn Circuits, rows: impl FnOnce(&mut Builder<Quadratic>) -> Vec<Base>) -> Self {
        let limbs = bits::INDICES * bits::CHUNK..bits::COLUMNS;
        let bounds = circuits.bounds().into_iter().map(|end| end..bits::COLUMNS).collect();
        let modes = bits::Parameters::new(vec![bits::CHUNK], [vec![limbs], bounds].concat());
        let mut builder = Builder::new(Tables::new(query::Parameters { bits: 1, variables: 1 }, modes));
        let output = rows(&mut builder);
        let output = output
            .into_iter()
            .map(|x| {
                let copy = Builder::any_of(&mut builder, &[x], |x| x[0]);
                builder.equal(copy, x);
                builder.rows(Table::Tuple) as u32 - 1
            })
            .collect();
        Self { circuit: builder.finish(), output }
    }

    /// The free data for slots with leaves, active or not.
    pub(super) fn slots(app: &dyn MapReduce, circuits: &dyn Circuits, slots: &[(bool, &Case)]) -> Vec<Goldilocks> {
        let mut free = Vec::new();
        for (active, Case { index, value, .. }) in slots {
            free.extend([&[Goldilocks::reduce(*index)], &value[..], &[ZERO; 3]].concat());
            free.push(Goldilocks::new((*active).into()));
        }
        free.extend(circuits.inputs());
        for (_, case) in slots.iter().filter(|_| app.opening_len() > 0) {
            free.extend(circuits.free(case.opening.clone()));
        }
        free
    }

    fn output_of(&self, witness: &Witness) -> Vec<Goldilocks> {
        let count = |row: &u32| witness.row(self.circuit.tables(), Table::Tuple, *row as usize)[tuple::COUNT];
        self.output.iter().map(count).collect()
    }

    /// Checks that the circuit computes this output for this free data.
    pub(super) fn gives(&self, free: &[Goldilocks], output: &[Goldilocks], what: &str) {
        let witness = self.circuit.witness(free).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(witness.faults(&self.circuit), [], "{what}: on tables");
        assert_eq!(self.output_of(&witness), output, "{what}: on tables");
    }

    /// Checks that the honest witness for this free data is refused.
    pub(super) fn refuses(&self, free: &[Goldilocks], what: &str) {
        let witness = self.circuit.witness(free).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(!witness.faults(&self.circuit).is_empty(), "{what}: accepted on tables");
    }

    /// Changes a choice in a row. Checks that the circuit then refuses the witness, or that the output is the same.
    pub(super) fn determines(&self, free: &[Goldilocks], output: &[Goldilocks], what: &str) {
        let honest = self.circuit.witness(free).unwrap_or_else(|e| panic!("{what}: {e}"));
        let choices: Vec<u32> = self.circuit.choices().filter(|row| !self.output.contains(row)).collect();
        let step = choices.len().div_ceil(ATTACKS).max(1);
        for (i, row) in choices.iter().copied().enumerate().step_by(step) {
            let chosen = honest.row(self.circuit.tables(), Table::Tuple, row as usize)[tuple::COUNT];
            let one = Goldilocks::ONE;
            let others = [chosen + one, one - chosen, chosen - one, ZERO, chosen + Goldilocks::new(1 << 32), -chosen];
            let other = others[i / step % others.len()];
            for other in [others[0], other].into_iter().filter(|other| *other != chosen) {
                let chosen = HashMap::from([(row, other)]);
                let witness = self.circuit.witness_with(free, &chosen).unwrap_or_else(|e| panic!("{what}: {e}"));
                if witness.faults(&self.circuit).is_empty() {
                    assert_eq!(self.output_of(&witness), output, "{what}: on tables, choice {row} {other}");
                }
            }
        }
    }
}
