//! The gates of the circuits as formulas, for `scripts/test_smt.py`: see docs/math/gates.md.

mod batch;
mod keccak;
mod points;
mod tables;
mod wires;

use std::path::Path;

use evergrove_multilinear::circuit::wires::{Base, Offers, Word};
use evergrove_multilinear::circuit::{Builder, Circuit};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Quadratic;
use evergrove_primitives::field::extension::Extension;
use evergrove_testkit::gates::poly::Poly;
use evergrove_testkit::gates::rows::Marks;
use evergrove_testkit::gates::{Formula, Gate, rows, smt};
use evergrove_verifier::tables::{Table, Tables, bits, query};

/// H in the gates: numbers are below 2^27.
pub(crate) const HEIGHT: usize = 27;

/// The tables that gates have.
pub(crate) fn tables<K: Extension>() -> Tables<K> {
    let zeros = vec![HEIGHT..64, 63..64, 8..64, 56..64, 0..16];
    Tables::new(query::Parameters { bits: 20, variables: 16 }, bits::Parameters::new(vec![bits::CHUNK], zeros))
}

/// A builder that marks what a circuit receives and sends.
pub(crate) struct Marked {
    pub(crate) b: Builder<Quadratic>,
    marks: [Offers; 2],
}

impl Marked {
    pub(crate) fn new() -> Self {
        let mut b = Builder::new(tables());
        let marks = [b.offers(), b.offers()];
        Self { b, marks }
    }
    /// An element that the circuit receives.
    pub(crate) fn input(&mut self) -> Base {
        let x = self.b.any();
        mark(&mut self.b, self.marks[0], base(x));
        x
    }
    /// A bit that it receives.
    pub(crate) fn bit(&mut self) -> evergrove_multilinear::circuit::wires::Bool {
        let bit = self.b.bit();
        mark(&mut self.b, self.marks[0], base(bit.into()));
        bit
    }
    /// A word that it receives.
    pub(crate) fn word(&mut self) -> Word {
        let [word, _] = crate::circuit::free(&mut self.b);
        mark(&mut self.b, self.marks[0], word);
        word
    }
    /// Marks a word that it receives.
    pub(crate) fn received(&mut self, word: Word) {
        mark(&mut self.b, self.marks[0], word);
    }
    /// What it sends.
    pub(crate) fn output(&mut self, word: impl Into<Word>) {
        mark(&mut self.b, self.marks[1], word.into());
    }
    /// The gate of the circuit.
    pub(crate) fn gate(self, name: &str, about: &str) -> (Gate, Marks) {
        of(&self.b.finish(), name, about)
    }
}

/// An element of F as a word.
pub(crate) fn base(x: Base) -> Word {
    evergrove_multilinear::circuit::wires::Element::from(x).into()
}

fn mark(b: &mut Builder<Quadratic>, marks: Offers, word: Word) {
    let zero = b.zero();
    b.offer(marks, zero, zero, word);
}

/// The gate of a circuit's rows.
fn of(circuit: &Circuit<Quadratic>, name: &str, about: &str) -> (Gate, Marks) {
    let rows = Table::ALL.into_iter().flat_map(|table| {
        (0..circuit.rows(table)).map(move |number| rows::Fixed {
            table,
            number,
            columns: circuit.fixed(table, number),
            free: &[],
        })
    });
    rows::of_circuit(name, about, circuit.tables(), rows, |table| circuit.layout().starts(table))
}

/// The size of circuits with this H.
pub(crate) fn size() -> crate::circuit::Size {
    crate::circuit::Size { height_max: HEIGHT as u8, capacity: 2 }
}

/// A small number as a polynomial.
pub(crate) fn number(x: u64) -> Poly {
    Poly::number(x)
}
/// 1 - x.
pub(crate) fn not(x: &Poly) -> Poly {
    &number(1) - x
}
/// x = n.
pub(crate) fn is(x: &Poly, n: u64) -> Formula {
    Formula::equal(x, &number(n))
}
/// Elements of Goldilocks.
pub(crate) fn fixed(values: &[u64]) -> Vec<Goldilocks> {
    values.iter().map(|&x| Goldilocks::new(x)).collect()
}

fn all() -> Vec<Gate> {
    [tables::gates(), wires::gates(), batch::gates(), keccak::gates(), points::gates(), crate::mpt::gates::gates()]
        .concat()
}

#[test]
#[ignore = "smt: writes the gates, for scripts/test_smt.py to prove"]
fn gates_are_written() {
    let folder = std::env::var("EVERGROVE_GATES").expect("EVERGROVE_GATES, a folder");
    let mut names = std::collections::BTreeSet::new();
    for (name, about, constraints) in points::unstated() {
        let path = Path::new(&folder).join(format!("{name}.unstated"));
        std::fs::write(&path, format!("{constraints} {about}\n")).expect("a file in the folder");
    }
    for gate in all() {
        assert!(names.insert(gate.name.clone()), "two gates are named {}", gate.name);
        let (determined, specified) = (smt::determined(&gate), smt::specified(&gate));
        assert!(determined.is_some() || specified.is_some(), "{} claims nothing", gate.name);
        for (kind, text) in [("determined", determined), ("specified", specified)] {
            if let Some(text) = text {
                let path = Path::new(&folder).join(format!("{}.{kind}.smt2", gate.name));
                std::fs::write(&path, text).expect("a file in the folder");
            }
        }
    }
}
