//! Points and scalars.

use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::UniformRand;
use evergrove_curves::Curve;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// n different points: an arithmetic progression from a random start by a random step.
pub(crate) fn points<C: Curve>(n: usize, seed: u64) -> Vec<Affine<C>> {
    let mut rng = rng(seed);
    let scalar = C::ScalarField::rand(&mut rng);
    let step = (Affine::<C>::generator() * C::ScalarField::rand(&mut rng)).into_affine();
    let mut point = Affine::<C>::generator() * scalar;
    let points: Vec<Projective<C>> = (0..n)
        .map(|_| {
            let this = point;
            point += step;
            this
        })
        .collect();
    Projective::normalize_batch(&points)
}

pub(crate) fn scalars<C: Curve>(n: usize, seed: u64) -> Vec<C::ScalarField> {
    let mut rng = rng(seed);
    (0..n).map(|_| C::ScalarField::rand(&mut rng)).collect()
}
