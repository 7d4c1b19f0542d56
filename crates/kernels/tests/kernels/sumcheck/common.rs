//! Tables, shapes and transcripts for the tests.

use ark_bls12_381::Fr;
use ark_ff::{Field, PrimeField, Zero};
use evergrove_kernels::sumcheck::{Order, ProverTranscript, Term, Transcript, VirtualPolynomial};
use evergrove_primitives::lanes::Isa;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

pub(crate) const ORDERS: [Order; 2] = [Order::LowFirst, Order::HighFirst];

/// Field elements, a third of them at the edges.
pub(crate) struct Elements(ChaCha8Rng);

impl Elements {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub(crate) fn random(&mut self) -> Fr {
        let mut bytes = [0; 48];
        self.0.fill_bytes(&mut bytes);
        Fr::from_le_bytes_mod_order(&bytes)
    }

    pub(crate) fn element(&mut self) -> Fr {
        match self.0.next_u32() % 12 {
            0 => Fr::zero(),
            1 => Fr::ONE,
            2 => -Fr::ONE,
            3 => -Fr::ONE - Fr::ONE,
            _ => self.random(),
        }
    }

    pub(crate) fn table(&mut self, variables: usize) -> Vec<Fr> {
        (0..1 << variables).map(|_| self.element()).collect()
    }

    pub(crate) fn tables(&mut self, variables: usize, count: usize) -> Vec<Vec<Fr>> {
        (0..count).map(|_| self.table(variables)).collect()
    }
}

pub(crate) fn slices(tables: &[Vec<Fr>]) -> Vec<&[Fr]> {
    tables.iter().map(Vec::as_slice).collect()
}

/// Polynomials of different degrees, with shared and repeated factors, constants and unused tables.
pub(crate) fn shapes(variables: usize) -> Vec<VirtualPolynomial<Fr>> {
    let five = Fr::from(5);
    let terms = [
        (1, vec![Term::new(Fr::ONE, [0])]),
        (2, vec![Term::new(Fr::ONE, [0, 1])]),
        (3, vec![Term::new(five, [0, 1, 2])]),
        (3, vec![Term::new(Fr::ONE, [2]), Term::new(-Fr::ONE, [0, 1])]),
        (2, vec![Term::new(five, [0, 0, 1, 1]), Term::new(-five, [0, 1]), Term::new(Fr::from(7), [])]),
        (4, vec![Term::new(Fr::ONE, [3, 0, 1, 3, 0]), Term::new(-five, [1, 0, 3])]),
        (8, vec![Term::new(Fr::ONE, (0..8).collect::<Vec<_>>())]),
    ];
    terms.into_iter().map(|(tables, terms)| VirtualPolynomial::new(variables, tables, terms).unwrap()).collect()
}

/// The value of a multilinear polynomial, by binding one variable after the other.
pub(crate) fn mle(table: &[Fr], point: &[Fr]) -> Fr {
    let mut table = table.to_vec();
    for &r in point {
        table = table.as_chunks::<2>().0.iter().map(|[zero, one]| *zero + r * (*one - zero)).collect();
    }
    table[0]
}

/// A transcript whose challenges depend on their number alone, and which keeps the messages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Recorder {
    pub(crate) messages: Vec<Vec<Fr>>,
    challenges: u64,
}

impl Transcript<Fr> for Recorder {
    fn public_bytes(&mut self, _bytes: &[u8]) {}
    fn public(&mut self, _elements: &[Fr]) {}
    fn challenge(&mut self) -> Fr {
        self.challenges += 1;
        Fr::from(self.challenges).pow([1000])
    }
}

impl ProverTranscript<Fr> for Recorder {
    fn send(&mut self, message: &[Fr]) {
        self.messages.push(message.to_vec());
    }
}

pub(crate) fn isas() -> Vec<Isa> {
    evergrove_primitives::lanes::available().collect()
}
