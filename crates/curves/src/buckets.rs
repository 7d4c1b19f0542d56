//! The buckets of some windows over some points, and their weighted sums.
//!
//! The sum of j S_j over j from 1 to n reduces to sums of rows and columns. With j = u 2^h + v it is 2^h times the sum
//! of u R_u, where R_u are the sums of rows, plus the sum of v C_v, where C_v are the sums of columns. This takes 2 n
//! additions by the same [`Adder`], again in full batches, and leaves two problems of the size of a square root.

use core::ops::Range;

use ark_ec::CurveGroup;
use ark_ec::short_weierstrass::{Affine, Projective};
use ark_ff::AdditiveGroup;
use evergrove_primitives::field::prime::PrimeElement;
use evergrove_primitives::lanes::{Kernel, Lanes};

use super::Curve;
use super::adder::{Adder, Workspace};
use super::digits::Reader;
use super::plan::{Pass, Plan};
use super::words::Words;

/// Up to this number of buckets, [`combine`] makes the sums.
const FEW: usize = 2;

/// A sum that must be multiplied by 2^shift.
pub(super) type Shifted<C> = (u32, Affine<C>);

/// Buckets with weights 1, 2, .. of a problem whose result must be multiplied by 2^shift.
#[derive(Clone, Copy, Debug)]
struct Family {
    first: usize,
    buckets: usize,
    shift: u32,
}

/// See the module.
pub(super) struct Buckets<'a, C: Curve> {
    /// All points, followed by their multiples, if there are any.
    pub(super) points: &'a [Affine<C>],
    /// All scalars.
    pub(super) scalars: &'a [Words],
    /// The scalars of this part.
    pub(super) part: Range<usize>,
    pub(super) plan: &'a Plan,
    pub(super) pass: Pass,
    pub(super) memory: &'a mut Workspace<C>,
}

impl<C: Curve> Kernel for Buckets<'_, C> {
    type Output = Vec<Shifted<C>>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Self::Output {
        let f = C::BaseField::on(lanes);
        let windows = self.plan.windows();
        let mut families = Vec::new();
        let mut readers = Vec::new();
        let mut first = 0;
        for at in self.pass.range() {
            let window = windows[at];
            families.push(Family { first, buckets: window.buckets(), shift: window.offset });
            for (multiple, at) in (at..windows.len()).step_by(self.plan.stride()).enumerate() {
                readers.push((first, multiple * self.scalars.len(), Reader::new(windows, at)));
            }
            first += window.buckets();
        }
        let mut adder = Adder::new(f, self.points, first, self.plan.batch(), self.memory);
        for i in self.part {
            let k = &self.scalars[i];
            for (bucket, point, reader) in &readers {
                let (magnitude, negative) = reader.digit(k);
                if magnitude != 0 {
                    adder.add_point(bucket + magnitude - 1, point + i, negative);
                }
            }
        }
        reduce(adder, families)
    }
}

/// The weighted sums of families of buckets.
fn reduce<C, A>(mut adder: Adder<'_, C, A>, mut families: Vec<Family>) -> Vec<Shifted<C>>
where
    C: Curve,
    A: evergrove_primitives::field::prime::PrimeLanes<Element = C::BaseField>,
{
    let mut out = Vec::new();
    loop {
        let mut halves = Vec::new();
        let mut first = 0;
        for family in &families {
            if family.buckets <= FEW {
                continue;
            }
            let low = (family.buckets + 1).ilog2().div_ceil(2);
            for (buckets, shift) in [(family.buckets >> low, family.shift + low), ((1 << low) - 1, family.shift)] {
                halves.push(Family { first, buckets, shift });
                first += buckets;
            }
        }
        let sums = adder.next(first);
        let mut pairs = halves.chunks_exact(2);
        for family in &families {
            let sums = &sums[family.first..][..family.buckets];
            if family.buckets <= FEW {
                // The weights are 1 and 2.
                out.extend((family.shift..).zip(sums).map(|(shift, sum)| (shift, adder.sum(*sum))));
                continue;
            }
            let [rows, columns] = pairs.next().and_then(|p| p.as_array()).expect("two of each");
            let low = rows.shift - columns.shift;
            for (j, sum) in (1..).zip(sums) {
                let (u, v) = (j >> low, j & ((1 << low) - 1));
                if u > 0 {
                    adder.add_sum(rows.first + u - 1, *sum);
                }
                if v > 0 {
                    adder.add_sum(columns.first + v - 1, *sum);
                }
            }
        }
        if halves.is_empty() {
            return out;
        }
        families = halves;
    }
}

/// The sum of shifted sums.
pub(super) fn combine<C: Curve>(mut sums: Vec<Shifted<C>>) -> Affine<C> {
    sums.sort_by_key(|sum| core::cmp::Reverse(sum.0));
    let mut total = Projective::<C>::ZERO;
    let mut at = sums.first().map_or(0, |sum| sum.0);
    for (shift, sum) in sums {
        for _ in shift..at {
            total.double_in_place();
        }
        at = shift;
        total += sum;
    }
    for _ in 0..at {
        total.double_in_place();
    }
    total.into_affine()
}
