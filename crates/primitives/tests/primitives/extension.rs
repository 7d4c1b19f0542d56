//! The Goldilocks field and its extensions: that they are fields, and their lanes on every instruction set.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Field, FieldLanes, Quadratic, invert_all};
use evergrove_primitives::lanes::{Kernel, LANES, Lanes, available, dispatch_on};
use proptest::prelude::*;

use super::fields;

const P: u64 = Goldilocks::ORDER;

fn coefficient() -> impl Strategy<Value = Goldilocks> {
    const EDGES: [u64; 12] =
        [0, 1, 2, 7, 0xffff_fffe, 0xffff_ffff, 1 << 32, (1 << 52) - 1, 1 << 52, 1 << 63, P - 2, P - 1];
    prop_oneof![
        2 => any::<u64>().prop_map(Goldilocks::reduce),
        1 => prop::sample::select(&EDGES[..]).prop_map(Goldilocks::new),
    ]
}

fn base() -> impl Strategy<Value = Goldilocks> {
    coefficient()
}
fn quadratic() -> impl Strategy<Value = Quadratic> {
    prop::array::uniform2(coefficient()).prop_map(Quadratic)
}
fn cubic() -> impl Strategy<Value = Cubic> {
    prop::array::uniform3(coefficient()).prop_map(Cubic)
}

/// The product of two polynomials, with powers of X from `modulus.len()` on replaced by `modulus`.
fn by_polynomials(a: &[Goldilocks], b: &[Goldilocks], modulus: &[Goldilocks]) -> Vec<Goldilocks> {
    let mut product = vec![Goldilocks::ZERO; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            product[i + j] += *x * *y;
        }
    }
    while product.len() > modulus.len() {
        let top = product.pop().expect("longer than the modulus");
        let low = product.len() - modulus.len();
        for (i, m) in modulus.iter().enumerate() {
            product[low + i] += top * *m;
        }
    }
    product
}

fn laws<K: Extension>(modulus: &[u64], [a, b, c]: [K; 3]) {
    let modulus: Vec<Goldilocks> = modulus.iter().map(|x| Goldilocks::new(*x)).collect();
    assert_eq!((a * b).as_ref(), by_polynomials(a.as_ref(), b.as_ref(), &modulus));
    assert_eq!(K::from_coefficients(a.as_ref()), Some(a));
    assert_eq!(K::from_coefficients(&a.as_ref()[1..]), None);
    assert_eq!((a + b) * c, a * c + b * c);
    assert_eq!(a - b, a + -b);
    let x = b.as_ref()[0];
    assert_eq!(a * x, a * K::from(x));
    match a.inverse() {
        Some(inverse) => assert_eq!(a * inverse, K::ONE),
        None => assert_eq!(a, K::ZERO),
    }
    let mut inverses = [a, K::ZERO, b, c];
    invert_all(&mut inverses);
    assert_eq!(inverses, [a, K::ZERO, b, c].map(|x| x.inverse().unwrap_or(K::ZERO)));
}

const QUADRATIC: [u64; 2] = [7, 0];
const CUBIC: [u64; 3] = [1, 1, 0];

proptest! {
    #[test]
    fn scalars(a in prop::array::uniform3(quadratic()), b in prop::array::uniform3(cubic())) {
        laws(&QUADRATIC, a);
        laws(&CUBIC, b);
    }

    #[test]
    fn lanes_of_the_base_field(v in prop::array::uniform3(prop::array::uniform8(base()))) {
        fields::check(&v[0], &v[1], &v[2]);
    }

    #[test]
    fn lanes_of_the_quadratic_extension(v in prop::array::uniform3(prop::array::uniform8(quadratic()))) {
        fields::check(&v[0], &v[1], &v[2]);
        over_base(&v[0], &v[1]);
    }

    #[test]
    fn lanes_of_the_cubic_extension(v in prop::array::uniform3(prop::array::uniform8(cubic()))) {
        fields::check(&v[0], &v[1], &v[2]);
        over_base(&v[0], &v[1]);
    }
}

#[test]
fn long_sums() {
    let last = -Goldilocks::ONE;
    fields::long_sums(&[last, Goldilocks::new(1 << 63), last], &[last, last]);
    fields::long_sums(&[Quadratic([last; 2])], &[Quadratic([last; 2]), Quadratic([Goldilocks::ZERO, last])]);
    fields::long_sums(&[Cubic([last; 3])], &[Cubic([last; 3]), Cubic([Goldilocks::ZERO, last, last])]);
}

/// Products with the base field.
struct OverBase<'a, K>(&'a [K; LANES], &'a [Goldilocks; LANES]);

impl<K: Extension> Kernel for OverBase<'_, K> {
    type Output = [[K; LANES]; 3];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Self::Output {
        let (f, g) = (K::on(lanes), <Goldilocks as Field>::on(lanes));
        let (a, k) = (f.load(self.0), FieldLanes::load(g, self.1));
        let mut sum = f.empty();
        f.accumulate_base(&mut sum, f.term(a.into()), g.term(k.into()));
        f.accumulate(&mut sum, a.into(), a.into());
        [f.embed(k), f.scale_base(a.into(), g.to_factor(k)), f.finish(sum)].map(|v| f.to_array(v))
    }
}

fn over_base<K: Extension>(a: &[K; LANES], b: &[K; LANES]) {
    let k = b.map(|b| b.as_ref()[0]);
    let expected =
        [k.map(K::from), core::array::from_fn(|i| a[i] * k[i]), core::array::from_fn(|i| a[i] * k[i] + a[i] * a[i])];
    for isa in available() {
        assert_eq!(dispatch_on(isa, OverBase(a, &k)), expected, "{isa}");
    }
}

/// `x^p`.
fn frobenius<K: Extension>(x: K) -> K {
    x.pow(P)
}

/// X^p is not X, but X^(p^d) is: the polynomials have no factor of degree one, and have degrees two and three, so they have none.
#[test]
fn the_moduli_are_irreducible() {
    let x = Quadratic([0, 1].map(Goldilocks::new));
    assert_eq!(frobenius(x), -x, "7 is not a square");
    let x = Cubic([0, 1, 0].map(Goldilocks::new));
    let conjugate = frobenius(x);
    // A root in F would be a zero of X^p - X modulo X^3 - X - 1, which would then have no inverse.
    assert!((conjugate - x).inverse().is_some());
    assert_eq!(frobenius(frobenius(conjugate)), x);
}
