//! The prover of any circuit: the bytes of [`reference`](mod@crate::reference), in lanes and on all threads.
//!
//! **What.** [`Prover`] keeps the data that proofs of one circuit share; [`Prover::prove`] takes a witness. Its steps
//! are those of the protocol: it commits to the stack ([`whir`]), adds up the bus and proves the sums (`bus`), runs one
//! SumCheck over the rows of all tables (`rows`), and opens the stack.

mod bus;
mod claims;
mod columns;
mod count;
mod memory;
mod polynomial;
mod rows;

use std::sync::Arc;

use evergrove_kernels::multilinear::mle::eq_table_vec;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Quadratic};
use evergrove_primitives::lanes::Isa;

use crate::circuit::{Circuit, Witness};
use crate::count::Count;
use crate::whir::{self, Oracles, chunk_sums};
use crate::writer::Writer;
pub use claims::reduce;
use columns::Columns;
use evergrove_verifier::argument::points::{Coordinates, horner};
use evergrove_verifier::argument::rows::{Bus, place_weights};
use evergrove_verifier::argument::transcript::Word;
use evergrove_verifier::argument::{Parameters, Reader, Statement, tags};
use evergrove_verifier::tables::{BLOCK, BLOCK_LOG, PUBLIC, TUPLE, WORD};
use memory::Memory;
use polynomial::Symbolic;

/// The data that proofs of a circuit share.
#[derive(Debug)]
pub struct Prover<K> {
    parameters: Parameters<K>,
    /// The stack of fixed columns.
    fixed: Vec<Goldilocks>,
    /// For each table with rows.
    symbols: Vec<Symbolic>,
    numbers: Vec<Goldilocks>,
    shared: Arc<Shared>,
    /// The work of the bus and of the SumCheck over rows.
    counts: [Count; 2],
}

/// The data that proofs of both circuits of a key share.
#[derive(Debug)]
struct Shared {
    oracles: Oracles,
    memory: Memory,
}

/// A step of a proof that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The stack, from the columns.
    Stack,
    /// A part of the commitment to the stack, or of its opening.
    Whir(whir::Step),
    /// Fractions, their sums and SumChecks.
    Bus(Count),
    /// The SumCheck over rows, and the values of columns.
    Rows(Count),
}

/// A field for proofs. Its prover is compiled once in this crate, and not in every crate that uses it: that takes a
/// minute.
pub trait ProofField: Extension {
    /// [`Prover::write`].
    fn write(
        prover: &Prover<Self>,
        isa: Isa,
        writer: Writer<Self>,
        statement: &Statement<Word, bool>,
        witness: &Witness,
        ended: &mut dyn FnMut(Step),
    ) -> Vec<Goldilocks>;
}

macro_rules! proof_field {
    ($field:ty) => {
        impl ProofField for $field {
            fn write(
                prover: &Prover<Self>,
                isa: Isa,
                writer: Writer<Self>,
                statement: &Statement<Word, bool>,
                witness: &Witness,
                ended: &mut dyn FnMut(Step),
            ) -> Vec<Goldilocks> {
                prover.steps(isa, writer, statement, witness, ended)
            }
        }
    };
}

proof_field!(Quadratic);
proof_field!(Cubic);

impl<K: ProofField> Prover<K> {
    /// The prover of a circuit that has the tables and the layout of the parameters.
    ///
    /// # Panics
    /// If the circuit does not have them.
    pub fn new(circuit: &Circuit<K>, parameters: &Parameters<K>) -> Self {
        let shared = Shared { oracles: Oracles::new(parameters.schedule()), memory: Memory::default() };
        Self::sharing(circuit, parameters, Arc::new(shared))
    }

    /// The prover of another circuit of the same parameters, which shares the memory of this one.
    ///
    /// # Panics
    /// If the circuit does not have their tables and layout.
    pub fn beside(&self, circuit: &Circuit<K>) -> Self {
        Self::sharing(circuit, &self.parameters, Arc::clone(&self.shared))
    }

    fn sharing(circuit: &Circuit<K>, parameters: &Parameters<K>, shared: Arc<Shared>) -> Self {
        assert_eq!(circuit.layout(), parameters.layout(), "the parameters of the circuit");
        assert_eq!(circuit.tables(), parameters.tables(), "the parameters of the circuit");
        let layout = circuit.layout();
        let symbols: Vec<Symbolic> =
            layout.heights().map(|(table, _)| Symbolic::new(circuit.tables(), table, &layout.starts(table))).collect();
        let rows = layout.heights().map(|(_, shape)| shape.rows()).max().unwrap_or(0);
        let numbers = (0..rows as u64).map(Goldilocks::new).collect();
        let counts = [count::bus::<K>(layout, &symbols), count::rows::<K>(layout, &symbols)];
        Self { parameters: parameters.clone(), fixed: circuit.fixed_stack(), symbols, numbers, shared, counts }
    }

    /// A proof for [`verify`](evergrove_verifier::argument::verify). A proof from an invalid witness is refused.
    pub fn prove(&self, statement: &Statement<Word, bool>, witness: &Witness) -> Vec<Goldilocks> {
        self.prove_on(Isa::detect(), statement, witness)
    }

    /// [`Prover::prove`] with the SumChecks on a given instruction set.
    ///
    /// # Panics
    /// If this CPU lacks the instruction set.
    pub fn prove_on(&self, isa: Isa, statement: &Statement<Word, bool>, witness: &Witness) -> Vec<Goldilocks> {
        self.write(isa, Writer::new(tags::TRANSCRIPT), statement, witness, &mut |_| ())
    }

    /// [`Prover::prove_on`] into a proof that has no elements yet, and whose transcript is at its beginning. Reports
    /// the end of each step; steps follow each other without a gap.
    ///
    /// # Panics
    /// If this CPU lacks the instruction set.
    pub fn write(
        &self,
        isa: Isa,
        writer: Writer<K>,
        statement: &Statement<Word, bool>,
        witness: &Witness,
        ended: &mut dyn FnMut(Step),
    ) -> Vec<Goldilocks> {
        K::write(self, isa, writer, statement, witness, ended)
    }
}

impl<K: Extension> Prover<K> {
    fn steps(
        &self,
        isa: Isa,
        mut t: Writer<K>,
        statement: &Statement<Word, bool>,
        witness: &Witness,
        ended: &mut dyn FnMut(Step),
    ) -> Vec<Goldilocks> {
        let parameters = &self.parameters;
        let (tables, layout) = (parameters.tables(), parameters.layout());
        t.observe(&[statement.key, statement.public]);
        t.observe_elements(&[if statement.circuit { K::ONE } else { K::ZERO }]);
        let Shared { oracles, memory } = &*self.shared;
        let mut committed = memory.take(layout.committed().elements());
        witness.write_stack(tables, layout, &mut committed);
        ended(Step::Stack);
        let mut part = |step| ended(Step::Whir(step));
        let commitment = whir::commit_observed(oracles, layout.committed(), &committed, &mut part).send(&mut t);
        let samples = parameters.schedule().rounds[0].samples;
        if samples > 0 {
            part(whir::Step::Products(Count::chunk_sums::<K>(samples, committed.len())));
        }

        let (alpha, beta) = (t.challenge(), t.challenge());
        let ones = [Goldilocks::ONE; BLOCK];
        let stacks = [&committed[..], &self.fixed[..]];
        let columns: Vec<Columns<'_>> = layout
            .heights()
            .map(|(table, _)| Columns::new(tables, layout, table, stacks, &self.numbers, &ones))
            .collect();
        let leaves = bus::Leaves::new(isa, layout, &columns, &self.symbols, alpha, beta, memory);
        let mut reader = Reader::<K>::new(&[]);
        let public = {
            let mut tuple = [K::ZERO; TUPLE];
            tuple[0] = PUBLIC.into();
            tuple[TUPLE - WORD..].copy_from_slice(&statement.public.map(K::from));
            alpha - horner(&mut reader, &tuple, beta)
        };
        let rho = bus::prove(isa, &mut t, leaves, public, memory);
        ended(Step::Bus(self.counts[0]));

        let bus = Bus { alpha, beta, lambda: t.challenge() };
        let places = place_weights(&mut reader, parameters, &Coordinates::new(&mut Reader::<K>::new(&[]), rho.clone()));
        let mut power = bus.lambda * bus.lambda;
        let sums =
            self.symbols.iter().zip(&places).map(|(symbols, places)| symbols.sum(places, &bus, &mut power)).collect();
        let r = rows::prove(isa, &mut t, &columns, sums, &rho, layout.row_variables(), memory);

        let sums = commitment.sums(&r);
        let within = eq_table_vec(&r[..BLOCK_LOG]).expect("few coordinates");
        let fixed = chunk_sums(isa, &self.fixed, &within);
        let mut values = Vec::new();
        for columns in &columns {
            let blocks = eq_table_vec(&r[BLOCK_LOG..columns.shape.variables()]).expect("few coordinates");
            values.extend(columns.values(true, &sums, &blocks));
            values.extend(columns.values(false, &fixed, &blocks));
        }
        t.send(&values);
        let eta = t.challenge();
        ended(Step::Rows(self.counts[1]));

        let mut part = |step| ended(Step::Whir(step));
        commitment.open_observed(|table| layout.shape(table), &r, eta, sums, &mut t, &mut part);
        memory.give(committed);
        t.finish()
    }
}
