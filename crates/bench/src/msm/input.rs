//! Points and scalars, with a known sum.

use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{AdditiveGroup, UniformRand};
use clap::ValueEnum;
use evergrove_curves::Curve;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Points that a thread makes at a time.
const CHUNK: usize = 1 << 10;

/// Where scalars come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scalars {
    /// Uniform in the field.
    Random,
    /// 0 or 1.
    Bits,
    /// Below 2^8.
    Bytes,
    /// Below 2^64.
    Words,
    /// The same random one.
    Equal,
    /// Random ones among 1,023 zeros each.
    Sparse,
    /// Small ones by half, random ones by half.
    Mixed,
}

impl Scalars {
    /// The scalars, the same in every run.
    pub(crate) fn take<C: Curve>(self, size: usize) -> Vec<C::ScalarField> {
        let mut rng = ChaCha8Rng::seed_from_u64(377);
        let equal = C::ScalarField::rand(&mut rng);
        let scalar = |i| match self {
            Self::Bits => C::ScalarField::from(rng.r#gen::<bool>()),
            Self::Bytes => C::ScalarField::from(rng.r#gen::<u8>()),
            Self::Words => C::ScalarField::from(rng.r#gen::<u64>()),
            Self::Equal => equal,
            Self::Sparse if i % 1024 != 0 => C::ScalarField::from(0u64),
            Self::Mixed if i % 2 == 0 => C::ScalarField::from(rng.r#gen::<bool>()),
            Self::Random | Self::Sparse | Self::Mixed => C::ScalarField::rand(&mut rng),
        };
        (0..size).map(scalar).collect()
    }
}

/// The input of a multi-scalar multiplication.
pub(crate) struct Input<'a, C: Curve> {
    pub(crate) points: &'a [Affine<C>],
    pub(crate) scalars: &'a [C::ScalarField],
}

impl<C: Curve> Clone for Input<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Curve> Copy for Input<'_, C> {}

/// Distinct points: an arithmetic progression with a random start and a random step, the same in every run.
pub(crate) struct Progression<C: Curve> {
    start: C::ScalarField,
    step: C::ScalarField,
}

impl<C: Curve> Progression<C> {
    pub(crate) fn new() -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(378);
        let start = C::ScalarField::rand(&mut rng);
        Self { start, step: C::ScalarField::rand(&mut rng) }
    }

    /// `size` points, starting with number `first`.
    pub(crate) fn points(&self, first: usize, size: usize) -> Vec<Affine<C>> {
        let generator = Affine::<C>::generator();
        let (start, step) = (generator * self.start, (generator * self.step).into_affine());
        let chunks = (0..size.div_ceil(CHUNK)).into_par_iter().flat_map_iter(|chunk| {
            let mut point = start + step * C::ScalarField::from((first + chunk * CHUNK) as u64);
            let points: Vec<Projective<C>> = (0..CHUNK.min(size - chunk * CHUNK))
                .map(|_| {
                    let this = point;
                    point += step;
                    this
                })
                .collect();
            Projective::normalize_batch(&points)
        });
        chunks.collect()
    }

    /// The sum of scalars times points, from two sums of scalars.
    pub(crate) fn sum(&self, scalars: &[C::ScalarField]) -> Projective<C> {
        let (mut plain, mut weighted) = (C::ScalarField::ZERO, C::ScalarField::ZERO);
        // The sum of i k_i is the sum, over all places, of the scalars after that place.
        for k in scalars.iter().rev() {
            weighted += plain;
            plain += k;
        }
        Affine::<C>::generator() * (self.start * plain + self.step * weighted)
    }
}
