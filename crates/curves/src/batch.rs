//! Additions of affine points, a batch at a time, with one inversion for the batch.
//!
//! With d = x_b - x_a and l = (y_b - y_a) / d, the sum of a and b is x = l^2 - x_a - x_b, y = l (x_a - x) - y_a. The
//! inverses of all d come from the inverse of their product (Montgomery's trick), so a sum costs five products and a
//! square. Two chains of products, each of eight lanes, keep the multipliers busy.

use ark_ec::short_weierstrass::Affine;
use ark_ff::{AdditiveGroup, Field};
use evergrove_primitives::field::prime::PrimeLanes;
use evergrove_primitives::lanes::{Body, LANES};

use super::Curve;

/// Sums that are computed together: two chains of lanes.
pub(super) const STEP: usize = 2 * LANES;

/// The location of an operand: bits of an index.
pub(super) const SLOT: u32 = 1 << 30;
/// The operand is the negative of the point at its index.
pub(super) const NEGATIVE: u32 = 1 << 31;
/// The index itself.
pub(super) const INDEX: u32 = SLOT - 1;

/// Slots of the sums that fill up a batch: (0, 0) + (1, 1), to separate places.
pub(super) const DUMMIES: u32 = 2 + STEP as u32;

/// Sums to be computed: parallel arrays.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    /// The first operand, whose sign the sum gets.
    pub(super) a: Vec<u32>,
    /// The second operand.
    pub(super) b: Vec<u32>,
    /// The slot of the sum.
    pub(super) out: Vec<u32>,
    /// The bucket that it belongs to.
    pub(super) bucket: Vec<u32>,
    /// The highest bit is set where the signs of the operands differ.
    pub(super) signs: Vec<u64>,
}

impl Jobs {
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.a.len()
    }

    pub(super) fn clear(&mut self) {
        let Self { a, b, out, bucket, signs } = self;
        for list in [a, b, out, bucket] {
            list.clear();
        }
        signs.clear();
    }

    #[inline(always)]
    pub(super) fn push(&mut self, a: u32, b: u32, out: u32, bucket: u32) {
        self.a.push(a);
        self.b.push(b);
        self.out.push(out);
        self.bucket.push(bucket);
        self.signs.push(u64::from((a ^ b) & NEGATIVE) << 32);
    }

    /// Fills up the last step with sums of dummies that belong to no bucket.
    pub(super) fn pad(&mut self) {
        while !self.len().is_multiple_of(STEP) {
            self.push(SLOT, SLOT | 1, 2 + (self.len() % STEP) as u32, u32::MAX);
        }
    }
}

/// The values that eight sums need after the products are known.
#[derive(Clone, Copy)]
pub(super) struct Operands<A: PrimeLanes> {
    xa: A::V,
    ya: A::V,
    xb: A::V,
    /// x_b - x_a, or the denominator of a tangent.
    dx: A::Difference,
    /// y_b - y_a, or the numerator of a tangent.
    dy: A::Difference,
    /// The product of the denominators before.
    before: A::V,
}

impl<A: PrimeLanes> Operands<A> {
    #[inline(always)]
    pub(super) fn empty(f: A) -> Self {
        let zero = f.zero();
        Self { xa: zero, ya: zero, xb: zero, dx: zero.into(), dy: zero.into(), before: zero }
    }
}

/// A batch of whole steps. The output is the jobs whose sum is the point at infinity.
pub(super) struct Batch<'a, C: Curve, A: PrimeLanes> {
    pub(super) points: &'a [Affine<C>],
    pub(super) slots: &'a mut [Affine<C>],
    pub(super) jobs: &'a Jobs,
    pub(super) operands: &'a mut [Operands<A>],
}

#[inline(always)]
fn operand<'a, C: Curve>(points: &'a [Affine<C>], slots: &'a [Affine<C>], id: u32) -> &'a Affine<C> {
    let index = (id & INDEX) as usize;
    if id & SLOT != 0 { &slots[index] } else { &points[index] }
}

/// Vector `at` of a list of whole vectors.
#[inline(always)]
fn vector<T>(list: &[T], at: usize) -> &[T; LANES] {
    &list.as_chunks().0[at]
}

#[inline(always)]
fn gather_x<C: Curve, A: PrimeLanes<Element = C::BaseField>>(f: A, p: [&Affine<C>; LANES]) -> A::V {
    let [a, b, c, d, e, g, h, i] = p;
    f.gather([&a.x, &b.x, &c.x, &d.x, &e.x, &g.x, &h.x, &i.x])
}

#[inline(always)]
fn gather_y<C: Curve, A: PrimeLanes<Element = C::BaseField>>(f: A, p: [&Affine<C>; LANES]) -> A::V {
    let [a, b, c, d, e, g, h, i] = p;
    f.gather([&a.y, &b.y, &c.y, &d.y, &e.y, &g.y, &h.y, &i.y])
}

/// The canonical coordinates of a parked point.
pub(super) struct Canonical<'a, C: Curve>(pub(super) &'a Affine<C>);

impl<C: Curve, A: PrimeLanes<Element = C::BaseField>> Body<A> for Canonical<'_, C> {
    type Output = Affine<C>;

    #[inline(always)]
    fn run(self, f: A) -> Affine<C> {
        let canonical = |v: A::V| f.to_array(v)[0];
        Affine::new_unchecked(canonical(gather_x(f, [self.0; LANES])), canonical(gather_y(f, [self.0; LANES])))
    }
}

impl<C: Curve, A: PrimeLanes<Element = C::BaseField>> Batch<'_, C, A> {
    /// Gathers eight jobs.
    #[inline(always)]
    fn load(&self, f: A, at: usize, s: &mut Operands<A>) {
        let mut a = [&self.slots[0]; LANES];
        for (a, id) in a.iter_mut().zip(vector(&self.jobs.a, at)) {
            *a = operand(self.points, self.slots, *id);
        }
        let mut b = a;
        for (b, id) in b.iter_mut().zip(vector(&self.jobs.b, at)) {
            *b = operand(self.points, self.slots, *id);
        }
        s.xa = gather_x(f, a);
        s.xb = gather_x(f, b);
        s.dx = f.difference(s.xb, s.xa);
        s.ya = gather_y(f, a);
        s.dy = f.signed_difference(gather_y(f, b), s.ya, vector(&self.jobs.signs, at));
    }

    /// The products of the denominators of both chains.
    #[inline(always)]
    fn chain(f: A, operands: &mut [Operands<A>]) -> [A::V; 2] {
        let one = f.splat(&C::BaseField::ONE);
        let mut products = [one; 2];
        for [s, t] in operands.as_chunks_mut().0 {
            (s.before, t.before) = (products[0], products[1]);
            f.outline(Products([&s.dx, &t.dx], &mut products));
        }
        products
    }

    /// Makes every denominator a unit: tangents for doublings, and 1 for sums that are infinite, whose jobs are returned.
    #[inline(never)]
    fn unit_denominators(f: A, operands: &mut [Operands<A>]) -> Vec<u32> {
        let one = f.splat(&C::BaseField::ONE);
        let mut infinite = Vec::new();
        for (at, s) in operands.iter_mut().enumerate() {
            let mut dx = f.outline(Times(s.dx, one));
            if !dx.contains(&C::BaseField::ZERO) {
                continue;
            }
            let mut dy = f.outline(Times(s.dy, one));
            let (xa, ya) = (f.outline(Times(s.xa.into(), one)), f.outline(Times(s.ya.into(), one)));
            for lane in (0..LANES).filter(|&lane| dx[lane] == C::BaseField::ZERO).collect::<Vec<_>>() {
                if dy[lane] == C::BaseField::ZERO && ya[lane] != C::BaseField::ZERO {
                    let square = xa[lane].square();
                    dx[lane] = ya[lane].double();
                    dy[lane] = square.double() + square + C::COEFF_A;
                } else {
                    dx[lane] = C::BaseField::ONE;
                    infinite.push((at * LANES + lane) as u32);
                }
            }
            (s.dx, s.dy) = (f.outline(Load(&dx)), f.outline(Load(&dy)));
        }
        infinite
    }
}

impl<C: Curve, A: PrimeLanes<Element = C::BaseField>> Body<A> for Batch<'_, C, A> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn run(mut self, f: A) -> Vec<u32> {
        let vectors = self.jobs.len() / LANES;
        let operands = core::mem::take(&mut self.operands);
        let operands = &mut operands[..vectors];
        for (at, s) in operands.iter_mut().enumerate() {
            self.load(f, at, s);
        }
        let mut products = Self::chain(f, operands);
        let mut infinite = Vec::new();
        let inverse = match f.invert(f.mul(products[0], products[1])) {
            Some(inverse) => inverse,
            None => {
                infinite = Self::unit_denominators(f, operands);
                products = Self::chain(f, operands);
                f.invert(f.mul(products[0], products[1])).expect("every denominator is a unit now")
            }
        };
        let mut inverses = [f.mul(inverse, products[1]), f.mul(inverse, products[0])];
        let mut sums = [[inverse; 2]; 2];
        for (at, pair) in operands.as_chunks().0.iter().enumerate().rev() {
            f.outline(Sums(pair, &mut inverses, &mut sums));
            for (k, [x, y]) in sums.iter().enumerate() {
                let out = vector(&self.jobs.out, 2 * at + k).map(|i| i as usize);
                let out = self.slots.get_disjoint_mut(out).expect("a slot of its own for each sum");
                let [a, b, c, d, e, g, h, i] = out;
                f.park(*x, [&mut a.x, &mut b.x, &mut c.x, &mut d.x, &mut e.x, &mut g.x, &mut h.x, &mut i.x]);
                f.park(*y, [&mut a.y, &mut b.y, &mut c.y, &mut d.y, &mut e.y, &mut g.y, &mut h.y, &mut i.y]);
            }
        }
        infinite
    }
}

/// The canonical elements of a product.
struct Times<A: PrimeLanes>(A::Difference, A::V);

impl<A: PrimeLanes> Body<A> for Times<A> {
    type Output = [A::Element; LANES];

    #[inline(always)]
    fn run(self, f: A) -> Self::Output {
        f.to_array(f.mul_difference(self.0, self.1))
    }
}

/// Eight elements.
struct Load<'a, F>(&'a [F; LANES]);

impl<A: PrimeLanes> Body<A> for Load<'_, A::Element> {
    type Output = A::Difference;

    #[inline(always)]
    fn run(self, f: A) -> A::Difference {
        f.load(self.0).into()
    }
}

/// Multiplies two vectors by two others.
struct Products<'a, A: PrimeLanes>([&'a A::Difference; 2], &'a mut [A::V; 2]);

impl<A: PrimeLanes> Body<A> for Products<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self, f: A) {
        let Self([a, b], [c, d]) = self;
        (*c, *d) = (f.mul_difference(*a, *c), f.mul_difference(*b, *d));
    }
}

/// Two vectors of sums, from the inverses of the products so far, which become those of the products before.
struct Sums<'a, A: PrimeLanes>(&'a [Operands<A>; 2], &'a mut [A::V; 2], &'a mut [[A::V; 2]; 2]);

impl<A: PrimeLanes> Body<A> for Sums<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self, f: A) {
        let Self([s, t], inverses, [[xs, ys], [xt, yt]]) = self;
        let inverse = [f.mul(inverses[0], s.before), f.mul(inverses[1], t.before)];
        *inverses = [f.mul_difference(s.dx, inverses[0]), f.mul_difference(t.dx, inverses[1])];
        let slope = [f.mul_difference(s.dy, inverse[0]), f.mul_difference(t.dy, inverse[1])];
        let square = [f.square(slope[0]), f.square(slope[1])];
        (*xs, *xt) = (f.sub_sum(square[0], s.xa, s.xb), f.sub_sum(square[1], t.xa, t.xb));
        let (d, e) = (f.difference(s.xa, *xs), f.difference(t.xa, *xt));
        let y = [f.mul_difference(d, slope[0]), f.mul_difference(e, slope[1])];
        (*ys, *yt) = (f.sub(y[0], s.ya), f.sub(y[1], t.ya));
    }
}
