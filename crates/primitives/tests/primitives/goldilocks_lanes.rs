//! Every operation of eight Goldilocks elements, on every instruction set, compared with the same on single elements.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::{GoldilocksLanes, Loose};
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, available, dispatch_on};
use proptest::prelude::*;

type Words = [u64; LANES];

const P: u64 = Goldilocks::ORDER;
const EDGES: [u64; 16] = [
    0,
    1,
    2,
    0xffff_fffe,
    0xffff_ffff,
    1 << 32,
    (1 << 52) - 1,
    1 << 52,
    1 << 63,
    0xffff_ffff_0000_0000,
    P,
    P - 1,
    P + 1,
    P + 0xffff,
    u64::MAX - 1,
    u64::MAX,
];

/// The operations on three vectors of any words, in the order of [`expected`].
struct Operations(Words, Words, Words);

impl Kernel for Operations {
    type Output = Vec<Words>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Vec<Words> {
        let f = GoldilocksLanes::new(lanes);
        let (a, b, c) = (f.load_words(&self.0), f.load_words(&self.1), f.load_words(&self.2));
        let (bc, cc) = (f.reduce(b), f.reduce(c));
        let product = f.mul_extension([a, b], [c, a]);
        let results: [Loose<L::V>; 22] = [
            f.add(a, bc),
            f.add(bc, cc),
            f.sub(a, bc),
            f.sub(bc, cc),
            f.neg(bc),
            f.double(bc),
            f.mul(a, b),
            f.mul(a, a),
            f.mul_by(b, f.factor(c)),
            f.square(a),
            f.mul_power_of_two::<0>(a),
            f.mul_power_of_two::<1>(a),
            f.mul_power_of_two::<12>(a),
            f.mul_power_of_two::<32>(a),
            f.mul_power_of_two::<33>(a),
            f.mul_power_of_two::<48>(a),
            f.mul_power_of_two::<63>(a),
            f.mul_power_of_two::<64>(a),
            f.mul_power_of_two::<84>(a),
            f.mul_power_of_two::<95>(a),
            product[0],
            product[1],
        ];
        let mut out: Vec<Words> = results
            .into_iter()
            .map(|x| {
                let mut words = [0; LANES];
                f.store_words(x, &mut words);
                words
            })
            .collect();
        let rows = f.transpose([f.reduce(a), bc, cc, f.reduce(a), bc, cc, bc, bc]);
        // Values that must be canonical are compared as they are.
        for x in [
            f.reduce(a),
            f.reduce(f.mul(a, b)),
            f.splat(Goldilocks::new(P - 1)),
            f.load(&[Goldilocks::ONE; LANES]),
            rows[5],
        ] {
            let mut elements = [Goldilocks::ZERO; LANES];
            f.store(x, &mut elements);
            out.push(elements.map(Goldilocks::as_u64));
        }
        out
    }
}

fn expected(a: Words, b: Words, c: Words) -> Vec<Words> {
    let each = |f: &dyn Fn(Goldilocks, Goldilocks, Goldilocks) -> Goldilocks| -> Words {
        core::array::from_fn(|i| {
            f(Goldilocks::reduce(a[i]), Goldilocks::reduce(b[i]), Goldilocks::reduce(c[i])).as_u64()
        })
    };
    let power = |s: u64| each(&|a, _, _| a * Goldilocks::new(2).pow(s));
    let seven = Goldilocks::new(7);
    vec![
        each(&|a, b, _| a + b),
        each(&|_, b, c| b + c),
        each(&|a, b, _| a - b),
        each(&|_, b, c| b - c),
        each(&|_, b, _| -b),
        each(&|_, b, _| b + b),
        each(&|a, b, _| a * b),
        each(&|a, _, _| a * a),
        each(&|_, b, c| b * c),
        each(&|a, _, _| a * a),
        power(0),
        power(1),
        power(12),
        power(32),
        power(33),
        power(48),
        power(63),
        power(64),
        power(84),
        power(95),
        each(&|a, b, c| a * c + seven * a * b),
        each(&|a, b, c| a * a + b * c),
        each(&|a, _, _| a),
        each(&|a, b, _| a * b),
        [P - 1; LANES],
        [1; LANES],
        [a[5], b[5], c[5], a[5], b[5], c[5], b[5], b[5]].map(|x| Goldilocks::reduce(x).as_u64()),
    ]
}

fn check(isa: Isa, a: Words, b: Words, c: Words) {
    let found = dispatch_on(isa, Operations(a, b, c));
    let expected = expected(a, b, c);
    assert_eq!(found.len(), expected.len());
    let canonical = found.len() - 5;
    for (i, (found, expected)) in found.into_iter().zip(expected).enumerate() {
        let found = if i < canonical { found.map(|x| Goldilocks::reduce(x).as_u64()) } else { found };
        assert_eq!(found, expected, "operation {i} on {isa} of {a:x?}, {b:x?}, {c:x?}");
    }
}

#[test]
fn edges_in_every_pair_of_operands() {
    let n = EDGES.len();
    for isa in available() {
        for (i, x) in EDGES.into_iter().enumerate() {
            for (j, y) in EDGES.into_iter().enumerate() {
                let at = |k: usize| core::array::from_fn(|lane| EDGES[(k + lane * (lane + 1)) % n]);
                check(isa, at(i), at(j), at(i + j));
                check(isa, [x; LANES], [y; LANES], at(i));
            }
        }
    }
}

proptest! {
    #[test]
    fn operations_are_those_of_elements(
        a in prop::array::uniform8(any::<u64>()),
        b in prop::array::uniform8(any::<u64>()),
        c in prop::array::uniform8(any::<u64>()),
    ) {
        for isa in available() {
            check(isa, a, b, c);
        }
    }
}

#[test]
fn roots_of_unity_have_their_order() {
    for log in 0..=Goldilocks::TWO_ADICITY {
        let root = Goldilocks::root_of_unity(log).unwrap();
        assert_eq!(root.pow(1 << log), Goldilocks::ONE);
        assert!(log == 0 || root.pow(1 << (log - 1)) == -Goldilocks::ONE, "2^{log}");
        if (1..=6).contains(&log) {
            assert_eq!(root, Goldilocks::new(2).pow(192 >> log));
        }
    }
    assert_eq!(Goldilocks::root_of_unity(33), None);
    let cofactor = (P - 1) >> Goldilocks::TWO_ADICITY;
    assert_eq!(Some(Goldilocks::GENERATOR.pow(cofactor)), Goldilocks::root_of_unity(32));
    // p - 1 = 2^32 3 5 17 257 65537.
    for prime in [2, 3, 5, 17, 257, 65537] {
        assert_ne!(Goldilocks::GENERATOR.pow((P - 1) / prime), Goldilocks::ONE);
    }
}

/// The sum of the products of the given terms, repeated the given number of times.
struct Sums<'a>(&'a [[Words; 2]], u64);

impl Kernel for Sums<'_> {
    type Output = Words;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Words {
        let f = GoldilocksLanes::new(lanes);
        let mut sum = f.product_sum();
        for turn in 0..self.1 {
            if turn > 0 {
                f.carry_sum(&mut sum);
            }
            for [a, b] in self.0 {
                f.accumulate(&mut sum, f.factor(f.load_words(a)), f.factor(f.load_words(b)));
            }
        }
        let mut words = [0; LANES];
        f.store_words(f.from_vector(f.to_vector(f.reduce(f.reduce_sum(sum)))), &mut words);
        words
    }
}

#[test]
fn sums_of_products() {
    let most = GoldilocksLanes::<evergrove_primitives::lanes::Portable>::MAX_TERMS;
    let edge = |i: usize| -> [Words; 2] {
        [0, 1].map(|e| core::array::from_fn(|lane| EDGES[(i * (3 + 4 * e) + lane * (1 + e)) % EDGES.len()]))
    };
    let mut cases: Vec<Vec<[Words; 2]>> = vec![vec![], vec![[[u64::MAX; LANES]; 2]; most]];
    cases.extend([1, 2, 17, most].map(|n| (0..n).map(edge).collect()));
    // The least digits at either end of a product, and the greatest.
    cases.extend([1, u64::MAX >> 32].map(|b| vec![[[u64::MAX >> 32; LANES], [b; LANES]]; most]));
    for (terms, turns) in cases.iter().flat_map(|terms| [(terms, 1), (terms, (1 << 20) / most as u64)]) {
        let mut expected = [Goldilocks::ZERO; LANES];
        for [a, b] in terms {
            for lane in 0..LANES {
                expected[lane] += Goldilocks::reduce(a[lane]) * Goldilocks::reduce(b[lane]);
            }
        }
        let expected = expected.map(|sum| (sum * Goldilocks::new(turns)).as_u64());
        for isa in available() {
            let found = dispatch_on(isa, Sums(terms, turns));
            assert_eq!(found, expected, "{isa}, {} terms {turns} times", terms.len());
        }
    }
}
