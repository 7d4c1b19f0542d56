//! The operations that the transforms need of the field: on eight elements at a time, or on one where there are no
//! vectors.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::{Canonical, Factor, GoldilocksLanes, Loose};
use evergrove_primitives::lanes::{LANES, Lanes};

use super::Row;

/// Operations on `WIDTH` neighbouring elements of a row.
pub(super) trait Field: Copy {
    /// Elements at a time: 1 or 8.
    const WIDTH: usize;
    /// Not reduced.
    type Loose: Copy;
    /// Reduced.
    type Canonical: Copy + Into<Self::Loose>;
    /// An operand of products.
    type Factor: Copy;

    /// `x` for every element.
    fn factor(self, x: Goldilocks) -> Self::Factor;
    /// The elements from `lane` on.
    fn load(self, row: &Row, lane: usize) -> Self::Loose;
    /// The elements from `lane` on.
    fn store(self, x: Self::Loose, row: &mut Row, lane: usize);
    fn reduce(self, x: Self::Loose) -> Self::Canonical;
    fn add(self, a: Self::Loose, b: Self::Canonical) -> Self::Loose;
    fn sub(self, a: Self::Loose, b: Self::Canonical) -> Self::Loose;
    fn mul(self, a: Self::Loose, b: Self::Factor) -> Self::Loose;
    /// 2^S a, S < 96.
    fn mul_power_of_two<const S: u32>(self, a: Self::Loose) -> Self::Loose;
}

impl<L: Lanes> Field for GoldilocksLanes<L> {
    const WIDTH: usize = LANES;
    type Loose = Loose<L::V>;
    type Canonical = Canonical<L::V>;
    type Factor = Factor<L::V>;

    #[inline(always)]
    fn factor(self, x: Goldilocks) -> Factor<L::V> {
        GoldilocksLanes::factor(self, self.splat(x))
    }
    #[inline(always)]
    fn load(self, row: &Row, _lane: usize) -> Loose<L::V> {
        GoldilocksLanes::load(self, row).into()
    }
    #[inline(always)]
    fn store(self, x: Loose<L::V>, row: &mut Row, _lane: usize) {
        GoldilocksLanes::store(self, GoldilocksLanes::reduce(self, x), row);
    }
    #[inline(always)]
    fn reduce(self, x: Loose<L::V>) -> Canonical<L::V> {
        GoldilocksLanes::reduce(self, x)
    }
    #[inline(always)]
    fn add(self, a: Loose<L::V>, b: Canonical<L::V>) -> Loose<L::V> {
        GoldilocksLanes::add(self, a, b)
    }
    #[inline(always)]
    fn sub(self, a: Loose<L::V>, b: Canonical<L::V>) -> Loose<L::V> {
        GoldilocksLanes::sub(self, a, b)
    }
    #[inline(always)]
    fn mul(self, a: Loose<L::V>, b: Factor<L::V>) -> Loose<L::V> {
        self.mul_by(a, b)
    }
    #[inline(always)]
    fn mul_power_of_two<const S: u32>(self, a: Loose<L::V>) -> Loose<L::V> {
        GoldilocksLanes::mul_power_of_two::<S>(self, a)
    }
}

/// One element at a time. Without vectors, eight at a time would not stay in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements;

impl Field for Elements {
    const WIDTH: usize = 1;
    type Loose = Goldilocks;
    type Canonical = Goldilocks;
    type Factor = Goldilocks;

    #[inline(always)]
    fn factor(self, x: Goldilocks) -> Goldilocks {
        x
    }
    #[inline(always)]
    fn load(self, row: &Row, lane: usize) -> Goldilocks {
        row[lane]
    }
    #[inline(always)]
    fn store(self, x: Goldilocks, row: &mut Row, lane: usize) {
        row[lane] = x;
    }
    #[inline(always)]
    fn reduce(self, x: Goldilocks) -> Goldilocks {
        x
    }
    #[inline(always)]
    fn add(self, a: Goldilocks, b: Goldilocks) -> Goldilocks {
        a + b
    }
    #[inline(always)]
    fn sub(self, a: Goldilocks, b: Goldilocks) -> Goldilocks {
        a - b
    }
    #[inline(always)]
    fn mul(self, a: Goldilocks, b: Goldilocks) -> Goldilocks {
        a * b
    }
    #[inline(always)]
    fn mul_power_of_two<const S: u32>(self, a: Goldilocks) -> Goldilocks {
        if S == 0 {
            return a;
        }
        // 2^64 = 2^32 - 1 modulo p.
        a * const { Goldilocks::new(if S < 64 { 1 << S } else { 0xffff_ffff << (S - 64) }) }
    }
}
