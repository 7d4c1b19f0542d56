//! Elements for the tests.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Elements at random.
pub(crate) struct Elements(ChaCha8Rng);

impl Elements {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }
    pub(crate) fn base(&mut self) -> Goldilocks {
        Goldilocks::reduce(self.0.next_u64())
    }
    pub(crate) fn bases(&mut self, n: usize) -> Vec<Goldilocks> {
        (0..n).map(|_| self.base()).collect()
    }
    pub(crate) fn element<K: Extension>(&mut self) -> K {
        K::from_coefficients(&self.bases(K::DEGREE)).expect("its coefficients")
    }
    pub(crate) fn elements<K: Extension>(&mut self, n: usize) -> Vec<K> {
        (0..n).map(|_| self.element()).collect()
    }
}
