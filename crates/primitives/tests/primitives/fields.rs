//! The lanes of every field compared with single elements, on every instruction set.

use evergrove_primitives::field::{Field, FieldLanes};
use evergrove_primitives::lanes::{Body, Kernel, LANES, Lanes, available, dispatch_on};

/// The results of the operations on three vectors, in the order of [`expected`].
struct Operations<'a, F>(&'a [F; LANES], &'a [F; LANES], &'a [F; LANES]);

impl<F: Field> Kernel for Operations<'_, F> {
    type Output = Vec<[F; LANES]>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Self::Output {
        let f = F::on(lanes);
        let (a, b, c) = (f.load(self.0), f.load(self.1), f.load(self.2));
        let k = f.to_factor(c);
        let mut sum = f.empty();
        f.accumulate(&mut sum, a.into(), b.into());
        f.accumulate(&mut sum, f.lazy_sub(a, c), f.extend(b, c));
        let out = [
            a,
            f.zero(),
            f.splat(&self.0[3]),
            f.add(a, b),
            f.sub(a, b),
            f.neg(a),
            f.double(a),
            f.mul(a, b),
            f.square(a),
            f.reduce(f.lazy_add(a, b)),
            f.reduce(f.lazy_sub(a, b)),
            f.reduce(f.extend(a, b)),
            f.scale(a.into(), f.factor(&self.1[5])),
            f.scale(f.extend(a, b), k),
            f.line(a, b, k),
            f.finish(f.empty()),
            f.finish(sum),
            // Values that were not stored in between.
            f.mul(f.add(f.mul(a, b), f.neg(c)), f.sub(f.double(f.double(a)), f.square(b))),
            f.outline(Cube(a)),
        ];
        out.into_iter().map(|v| f.to_array(v)).collect()
    }
}

struct Cube<V>(V);

impl<A: FieldLanes> Body<A> for Cube<A::V> {
    type Output = A::V;

    #[inline(always)]
    fn run(self, f: A) -> A::V {
        f.mul(f.square(self.0), self.0)
    }
}

fn expected<F: Field>(a: &[F; LANES], b: &[F; LANES], c: &[F; LANES]) -> Vec<[F; LANES]> {
    let each = |g: &dyn Fn(F, F, F) -> F| core::array::from_fn(|i| g(a[i], b[i], c[i]));
    vec![
        *a,
        [F::ZERO; LANES],
        [a[3]; LANES],
        each(&|a, b, _| a + b),
        each(&|a, b, _| a - b),
        each(&|a, _, _| -a),
        each(&|a, _, _| a + a),
        each(&|a, b, _| a * b),
        each(&|a, _, _| a * a),
        each(&|a, b, _| a + b),
        each(&|a, b, _| a - b),
        each(&|a, b, _| b + b - a),
        each(&|a, _, _| a * b[5]),
        each(&|a, b, c| (b + b - a) * c),
        each(&|a, b, c| a + c * (b - a)),
        [F::ZERO; LANES],
        each(&|a, b, c| a * b + (a - c) * (c + c - b)),
        each(&|a, b, c| (a * b - c) * (a + a + a + a - b * b)),
        each(&|a, _, _| a * a * a),
    ]
}

/// Chunks, strides, pairs and stores move every element to its place.
struct Moves<'a, F>(&'a [F; 2 * LANES]);

impl<F: Field> Kernel for Moves<'_, F> {
    type Output = [[F; LANES]; 4];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Self::Output {
        let f = F::on(lanes);
        let [even, odd] = f.load_pairs(self.0);
        let mut both = *self.0;
        f.store_pairs(odd, even, &mut both);
        let [first, second] = *both.as_chunks::<LANES>().0 else { unreachable!("sixteen elements") };
        let mut stored = first;
        f.store(f.gather([3, 1, 4, 1, 5, 9, 2, 6].map(|i| &self.0[i])), &mut stored);
        [first, second, stored, f.to_array(f.splat(&f.sum_lanes(even)))]
    }
}

/// All operations of three vectors, and the moves of two.
pub(super) fn check<F: Field>(a: &[F; LANES], b: &[F; LANES], c: &[F; LANES]) {
    let expected = expected(a, b, c);
    let mut sixteen = [F::ZERO; 2 * LANES];
    sixteen[..LANES].copy_from_slice(a);
    sixteen[LANES..].copy_from_slice(b);
    let swapped: [F; 2 * LANES] = core::array::from_fn(|i| sixteen[i ^ 1]);
    let even: F = sixteen.iter().step_by(2).copied().sum();
    for isa in available() {
        let found = dispatch_on(isa, Operations(a, b, c));
        assert_eq!(found.len(), expected.len());
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            // Elements are compared as they are in memory, so one that is not canonical is not equal.
            assert_eq!(found, expected, "operation {i} on {isa}");
        }
        let [first, second, gathered, sum] = dispatch_on(isa, Moves(&sixteen));
        assert_eq!(&first[..], &swapped[..LANES], "{isa}");
        assert_eq!(&second[..], &swapped[LANES..], "{isa}");
        assert_eq!(gathered, [3, 1, 4, 1, 5, 9, 2, 6].map(|i| sixteen[i]), "{isa}");
        assert_eq!(sum, [even; LANES], "{isa}");
    }
}

/// A long sum of products at the ends of all bounds.
struct LongSum<'a, F>(&'a [F], &'a [F], usize);

impl<F: Field> Kernel for LongSum<'_, F> {
    type Output = [F; LANES];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Self::Output {
        let f = F::on(lanes);
        let mut sum = f.empty();
        for i in 0..self.2 {
            let x = f.splat(&self.0[i % self.0.len()]);
            let y = f.splat(&self.1[i % self.1.len()]);
            let (x, y) = (f.extend(f.zero(), x), f.extend(f.zero(), y));
            f.accumulate(&mut sum, x, y);
            if i % <F::On<L> as FieldLanes>::TERMS == <F::On<L> as FieldLanes>::TERMS - 1 {
                f.carry(&mut sum);
            }
        }
        f.to_array(f.finish(sum))
    }
}

/// Sums of 4 x y, as long as they may be.
pub(super) fn long_sums<F: Field>(x: &[F], y: &[F]) {
    for terms in [1, 127, 128, 129, 1 << 15] {
        let dot: F = (0..terms).map(|i| x[i % x.len()] * y[i % y.len()] * F::from_u64(4)).sum();
        for isa in available() {
            assert_eq!(dispatch_on(isa, LongSum(x, y, terms)), [dot; LANES], "{terms} terms on {isa}");
        }
    }
}
