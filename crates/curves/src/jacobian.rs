//! Eight points in Jacobian coordinates: (X / Z^2, Y / Z^3) on a curve with a = 0, infinity where Z = 0.
//!
//! Formulas dbl-2009-l and madd of the Explicit-Formulas Database. They are not complete: they never return from
//! infinity, and give infinity for a sum of equal points. So Z is not 0 if and only if no step met infinity or equal
//! points.

use evergrove_primitives::field::prime::PrimeLanes;
use evergrove_primitives::lanes::Body;

/// Eight points.
#[derive(Clone, Copy)]
pub(super) struct Jacobian<A: PrimeLanes> {
    pub(super) x: A::V,
    pub(super) y: A::V,
    pub(super) z: A::V,
}

/// A product in a separate function, where speed does not matter.
pub(super) struct Product<'a, A: PrimeLanes>(pub(super) &'a A::V, pub(super) &'a A::V);

impl<A: PrimeLanes> Body<A> for Product<'_, A> {
    type Output = A::V;

    #[inline(always)]
    fn run(self, f: A) -> A::V {
        f.mul(*self.0, *self.1)
    }
}

/// Doubles eight points: seven products and squares.
pub(super) struct Double<'a, A: PrimeLanes>(pub(super) &'a mut Jacobian<A>);

impl<A: PrimeLanes> Body<A> for Double<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self, f: A) {
        let Jacobian { x, y, z } = *self.0;
        let (xx, yy) = (f.square(x), f.square(y));
        let yy2 = f.double(yy);
        let d = f.double(f.mul(x, yy2));
        let e = f.add(f.double(xx), xx);
        let out = f.sub_sum(f.square(e), d, d);
        let yyyy8 = f.double(f.square(yy2));
        self.0.z = f.double(f.mul(y, z));
        self.0.y = f.sub(f.mul_difference(f.difference(d, out), e), yyyy8);
        self.0.x = out;
    }
}

/// Adds eight affine points: eight products and three squares.
pub(super) struct Add<'a, A: PrimeLanes>(pub(super) &'a mut Jacobian<A>, pub(super) &'a [A::V; 2]);

impl<A: PrimeLanes> Body<A> for Add<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self, f: A) {
        let (Jacobian { x, y, z }, [bx, by]) = (*self.0, *self.1);
        let zz = f.square(z);
        let h = f.sub(f.mul(bx, zz), x);
        let r = f.sub(f.mul(by, f.mul(z, zz)), y);
        let hh = f.square(h);
        let hhh = f.mul(h, hh);
        let v = f.mul(x, hh);
        let out = f.sub(f.sub_sum(f.square(r), v, v), hhh);
        self.0.z = f.mul(z, h);
        self.0.y = f.sub(f.mul_difference(f.difference(v, out), r), f.mul(y, hhh));
        self.0.x = out;
    }
}
