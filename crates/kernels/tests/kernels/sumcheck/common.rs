//! Tables, shapes and transcripts for the tests.

use evergrove_kernels::multilinear::sumcheck::{Order, ProverTranscript, Term, Transcript, VirtualPolynomial};
use evergrove_primitives::field::Field;
use evergrove_primitives::lanes::Isa;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::fields::Sample;

pub(crate) const ORDERS: [Order; 2] = [Order::LowFirst, Order::HighFirst];

/// Field elements, a third of them at the edges.
pub(crate) struct Elements(ChaCha8Rng);

impl Elements {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub(crate) fn random<F: Sample>(&mut self) -> F {
        F::sample([(); 6].map(|()| self.0.next_u64()))
    }

    pub(crate) fn element<F: Sample>(&mut self) -> F {
        match self.0.next_u32() % 12 {
            0 => F::ZERO,
            1 => F::ONE,
            2 => -F::ONE,
            3 => -F::ONE - F::ONE,
            _ => self.random(),
        }
    }

    pub(crate) fn table<F: Sample>(&mut self, variables: usize) -> Vec<F> {
        (0..1 << variables).map(|_| self.element()).collect()
    }

    pub(crate) fn tables<F: Sample>(&mut self, variables: usize, count: usize) -> Vec<Vec<F>> {
        (0..count).map(|_| self.table(variables)).collect()
    }
}

pub(crate) fn slices<F>(tables: &[Vec<F>]) -> Vec<&[F]> {
    tables.iter().map(Vec::as_slice).collect()
}

/// Polynomials of different degrees, with shared and repeated factors, constants and unused tables.
pub(crate) fn shapes<F: Field>(variables: usize) -> Vec<VirtualPolynomial<F>> {
    let five = F::from_u64(5);
    let terms = [
        (1, vec![Term::new(F::ONE, [0])]),
        (2, vec![Term::new(F::ONE, [0, 1])]),
        (3, vec![Term::new(five, [0, 1, 2])]),
        (3, vec![Term::new(F::ONE, [2]), Term::new(-F::ONE, [0, 1])]),
        (2, vec![Term::new(five, [0, 0, 1, 1]), Term::new(-five, [0, 1]), Term::new(F::from_u64(7), [])]),
        (4, vec![Term::new(F::ONE, [3, 0, 1, 3, 0]), Term::new(-five, [1, 0, 3])]),
        (8, vec![Term::new(F::ONE, (0..8).collect::<Vec<_>>())]),
    ];
    terms.into_iter().map(|(tables, terms)| VirtualPolynomial::new(variables, tables, terms).unwrap()).collect()
}

/// The value of a multilinear polynomial, by binding one variable after the other.
pub(crate) fn mle<F: Field>(table: &[F], point: &[F]) -> F {
    let mut table = table.to_vec();
    for &r in point {
        table = table.as_chunks::<2>().0.iter().map(|[zero, one]| *zero + r * (*one - *zero)).collect();
    }
    table[0]
}

/// A transcript whose challenges depend on their number alone, and which keeps the messages.
#[derive(Debug, PartialEq)]
pub(crate) struct Recorder<F> {
    pub(crate) messages: Vec<Vec<F>>,
    challenges: u64,
}

impl<F> Default for Recorder<F> {
    fn default() -> Self {
        Self { messages: Vec::new(), challenges: 0 }
    }
}

impl<F: Sample> Transcript<F> for Recorder<F> {
    fn public_bytes(&mut self, _bytes: &[u8]) {}
    fn public(&mut self, _elements: &[F]) {}
    fn challenge(&mut self) -> F {
        self.challenges += 1;
        F::sample([self.challenges; 6]).pow(1000)
    }
}

impl<F: Sample> ProverTranscript<F> for Recorder<F> {
    fn send(&mut self, message: &[F]) {
        self.messages.push(message.to_vec());
    }
}

pub(crate) fn isas() -> Vec<Isa> {
    evergrove_primitives::lanes::available().collect()
}
