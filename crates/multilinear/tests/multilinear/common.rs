//! Elements for the tests, and the sum of combined constraints.

use evergrove_multilinear::poseidon::Combined;
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

/// The sum of combined constraints at a point, where a constant is multiplied by `activity`: 1 on a row.
pub(crate) fn combined_at<K: Extension, V: Copy + Into<K>>(combined: &Combined<K>, values: &[V], activity: K) -> K {
    assert_eq!(values.len(), combined.columns.len(), "a value of each column");
    let linear: K = combined.columns.iter().zip(values).map(|(&weight, &x)| weight * x.into()).sum();
    let boxes = combined.sboxes.iter().zip(&combined.shifts).zip(values);
    let powers: K = boxes.map(|((&weight, &shift), &x)| weight * (x.into() + activity * shift).pow(7)).sum();
    linear + powers + combined.constant * activity
}
