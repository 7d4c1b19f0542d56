//! Points of BLS12-381 G1 and their sums, on tables.

use ark_bls12_381::{Fq, G1Affine};
use ark_ff::{AdditiveGroup, BigInt, Field, PrimeField};
use evergrove_multilinear::circuit::{Builder, Circuit, Fault, Witness};
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Goldilocks, Quadratic};
use evergrove_primitives::lanes::available;
use evergrove_verifier::tables::congruence::{LIMBS, MODULUS};
use evergrove_verifier::tables::point::NUMBERS;
use evergrove_verifier::tables::{RANGE, TUPLE, Table, addition, congruence, point};

use crate::circuit::tables;
use crate::proof::Example;

type Point = Option<(Fq, Fq)>;

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;
const HALF: Goldilocks = Goldilocks::new(Goldilocks::ORDER.div_ceil(2));

/// The chord of two points.
fn chord(operands: [[u64; 6]; 4]) -> Option<[[u64; 6]; 3]> {
    let [x1, y1, x2, y2] = operands.map(|words| Fq::from_le_bytes_mod_order(&words.map(u64::to_le_bytes).concat()));
    let slope = match x1 == x2 {
        true if y1 == y2 => x1.square() * Fq::from(3_u64) * y1.double().inverse()?,
        true => return None,
        false => (y2 - y1) * (x2 - x1).inverse()?,
    };
    let x3 = slope.square() - x1 - x2;
    Some([slope, x3, slope * (x1 - x3) - y1].map(|x| x.into_bigint().0))
}

fn add(p: Point, q: Point) -> Point {
    let (Some((x1, y1)), Some((x2, y2))) = (p, q) else { return p.or(q) };
    let [_, x, y] = chord([x1, y1, x2, y2].map(|x| x.into_bigint().0))?.map(|words| Fq::new(BigInt(words)));
    Some((x, y))
}

/// The n-th of some points.
fn sample(n: u64) -> Point {
    let points = (n * 1000..).filter_map(|x| {
        G1Affine::get_ys_from_x_unchecked(Fq::from(x + 1).pow([977])).map(|(y, _)| (Fq::from(x + 1).pow([977]), y))
    });
    points.clone().next()
}

fn negative(p: Point) -> Point {
    p.map(|(x, y)| (x, -y))
}

fn bits(words: &[u64; 6], from: usize, count: usize) -> u64 {
    (from..(from + count).min(384)).map(|i| (words[i / 64] >> (i % 64) & 1) << (i - from)).sum()
}

/// The numbers of a point, seven a coordinate.
fn numbers(p: Point) -> [Goldilocks; NUMBERS] {
    let (x, y) = p.unwrap_or_default();
    numbers_of([x, y].map(|x| x.into_bigint().0))
}
fn numbers_of(words: [[u64; 6]; 2]) -> [Goldilocks; NUMBERS] {
    core::array::from_fn(|i| Goldilocks::new(bits(&words[i / 7], 56 * (i % 7), 56)))
}

fn limbs(p: Point) -> Vec<Goldilocks> {
    let (x, y) = p.unwrap_or_default();
    let words = [x, y].map(|x| x.into_bigint().0);
    (0..2 * LIMBS).map(|i| Goldilocks::new(bits(&words[i / LIMBS], 16 * (i % LIMBS), 16))).collect()
}

/// Points that are free data, first those whose numbers are words, then those whose numbers are apart; sums of neighbours, in pairs; what is expected is free data, too.
struct Sums<K> {
    circuit: Circuit<K>,
}

fn rows<K: Extension>(b: &mut Builder<K>, pairs: usize) {
    let tag = b.tag(Goldilocks::new(7));
    for pair in 0..pairs {
        let active = [(); 2].map(|()| b.bit());
        let operands = active.map(|active| {
            if pair % 2 == 0 {
                let words: Vec<_> = (0..2).flat_map(|_| b.hash_free(tag).1).collect();
                b.point([words[0], words[1], words[2], words[3]], active)
            } else {
                let numbers = core::array::from_fn(|_| b.any());
                b.point_of(numbers, active)
            }
        });
        let sum = b.add_points(operands[0], operands[1], chord);
        let again = b.add_points(sum, operands[1], chord);
        for word in [sum, again].iter().flat_map(|point| point.words()) {
            for limb in 0..4 {
                let (found, due) = (b.limb(word, limb), b.any());
                b.check([ZERO, ONE, ZERO], found.into(), found.into(), found.into(), due.into());
            }
        }
    }
}

fn free(pairs: &[[Point; 2]]) -> Vec<Goldilocks> {
    let mut free = Vec::new();
    for (i, pair) in pairs.iter().enumerate() {
        free.extend(pair.map(|p| Goldilocks::new(p.is_some().into())));
        for p in pair {
            free.extend(numbers(*p));
            // Anything after the last number in its word.
            free.extend_from_slice(&[Goldilocks::new(77), -ONE][..2 * usize::from(i % 2 == 0)]);
        }
        let sum = add(pair[0], pair[1]);
        free.extend(limbs(sum));
        free.extend(limbs(add(sum, pair[1])));
    }
    free
}

impl<K: Extension> Sums<K> {
    fn new(pairs: usize) -> Self {
        let mut builder = Builder::new(tables());
        rows(&mut builder, pairs);
        Self { circuit: builder.finish() }
    }
    fn witness(&self, pairs: &[[Point; 2]]) -> Witness {
        self.circuit.witness(&free(pairs)).unwrap()
    }
    fn faults(&self, witness: &Witness) -> Vec<Fault> {
        witness.faults(&self.circuit)
    }
}

/// Every kind of pair.
fn pairs() -> Vec<[Point; 2]> {
    let (p, q) = (sample(1), sample(2));
    let inverses = [sample(3), negative(sample(3))];
    let mut pairs = vec![[p, q], [p, p], inverses, [None, p], [p, None], [None, None], [add(p, p), negative(p)]];
    pairs.extend(alike());
    // Those whose numbers are words, and those whose numbers are apart.
    pairs.iter().flat_map(|pair| [*pair; 2]).collect()
}

/// Pairs for which the second congruence leaves any slope: x1^2 + x1 x2 + x2^2 = 0 and y1 + y2 = 0.
fn alike() -> Vec<[Point; 2]> {
    let root = Fq::from(2_u64).pow((-Fq::from(1_u64) / Fq::from(3_u64)).into_bigint().0);
    assert!(root != Fq::from(1_u64) && root.square() * root == Fq::from(1_u64), "a third root of one");
    let (x, y) = sample(1).unwrap();
    let three = Fq::from(2_u64);
    vec![
        [Some((x, y)), Some((root * x, -y))],
        [Some((x, y)), Some((root.square() * x, -y))],
        [Some((Fq::ZERO, three)), Some((Fq::ZERO, three))],
        [Some((Fq::ZERO, three)), Some((Fq::ZERO, -three))],
    ]
}

#[test]
fn sums_are_those_of_the_curve() {
    let pairs = pairs();
    let sums = Sums::<Quadratic>::new(pairs.len());
    assert_eq!(sums.faults(&sums.witness(&pairs)), []);
    let sums = Sums::<Cubic>::new(2);
    assert_eq!(sums.faults(&sums.witness(&pairs[..2])), []);
    assert_eq!(sums.circuit.rows(Table::Range), 1 << 16);
    // A sum with other coordinates is none.
    let mut data = free(&pairs[..2]);
    let last = data.len() - 1;
    data[last] += ONE;
    assert!(!sums.faults(&sums.circuit.witness(&data).unwrap()).is_empty());
}

/// Limbs of a number in a row.
fn set(row: &mut [Goldilocks], first: usize, x: Fq) {
    set_words(row, first, x.into_bigint().0);
}
fn set_words(row: &mut [Goldilocks], first: usize, words: [u64; 6]) {
    for i in 0..LIMBS {
        row[first + i] = Goldilocks::new(bits(&words, 16 * i, 16));
    }
}

/// x + p.
fn plus_modulus(x: Fq) -> [u64; 6] {
    let mut carry = 0;
    let words = x.into_bigint().0;
    core::array::from_fn(|i| {
        let sum = u128::from(words[i]) + u128::from(Fq::MODULUS.0[i]) + carry;
        carry = sum >> 64;
        sum as u64
    })
}

/// Flags of an addition.
const FLAGS: usize = addition::FLAGS;
const P: usize = FLAGS;
const Q: usize = FLAGS + 2;
const INVERSE: usize = FLAGS + 4;
const BOTH: usize = FLAGS + 5;
const GENERIC: usize = FLAGS + 6;

#[test]
fn an_addition_has_one_sum() {
    let (p, q) = (sample(1), sample(2));
    let pairs = [[p, q], [p, p], [p, negative(p)], [None, p]];
    let sums = Sums::<Quadratic>::new(pairs.len());
    let right = sums.witness(&pairs);
    assert_eq!(sums.faults(&right), []);
    let tables = sums.circuit.tables().clone();
    // The row of the addition of a pair, and what a prover does there; all else that it can follows.
    let attack = |what: &str, pair: usize, change: &dyn Fn(&mut [Goldilocks])| {
        let mut witness = right.clone();
        change(witness.row_mut(&tables, Table::Addition, 2 * pair));
        sums.circuit.fill_points(&mut witness);
        let faults = sums.faults(&witness);
        assert!(!faults.is_empty(), "{what}");
        // Ranges are counted again, so that not only they refuse, except for numbers in no range.
        faults
    };
    let constraint = |fault: &Fault| matches!(fault, Fault::Constraint { table: Table::Addition, .. });
    let other = Fq::from(123_456_u64);
    let (x1, y1) = p.unwrap();
    for pair in 0..2 {
        let faults = attack("another slope", pair, &|row| {
            set(row, addition::SLOPE, other);
            let x3 = other.square() - x1 - if pair == 0 { q.unwrap().0 } else { x1 };
            set(row, addition::CHORD, x3);
            set(row, addition::CHORD + LIMBS, other * (x1 - x3) - y1);
        });
        assert!(faults.iter().any(constraint), "another slope");
        let faults = attack("said to be inverses", pair, &|row| {
            row[INVERSE] = ONE;
            row[GENERIC] = ZERO;
            set(row, addition::SLOPE, Fq::from(1_u64));
            set(row, addition::CHORD, x1);
        });
        assert!(faults.iter().any(constraint), "said to be inverses");
    }
    for slope in [other, Fq::ZERO, Fq::from(1_u64)] {
        let faults = attack("inverses with a chord", 2, &|row| {
            row[INVERSE] = ZERO;
            row[GENERIC] = ONE;
            set(row, addition::SLOPE, slope);
            let x3 = slope.square() - x1.double();
            set(row, addition::CHORD, x3);
            set(row, addition::CHORD + LIMBS, slope * (x1 - x3) - y1);
        });
        assert!(faults.iter().any(constraint), "inverses with a chord");
        let faults = attack("inverses of another slope", 2, &|row| set(row, addition::SLOPE, slope + Fq::from(7_u64)));
        assert!(faults.iter().any(constraint), "inverses of another slope");
    }
    // Each of the last two congruences separately.
    let (sum_x, sum_y) = add(p, q).unwrap();
    let [slope, ..] =
        chord([x1, y1, q.unwrap().0, q.unwrap().1].map(|x| x.into_bigint().0)).unwrap().map(|x| Fq::new(BigInt(x)));
    for (what, x, y) in [
        ("another y", sum_x, sum_y + Fq::from(1_u64)),
        ("the third point itself", sum_x, -sum_y),
        ("another x on the line", other, slope * (x1 - other) - y1),
    ] {
        let faults = attack(what, 0, &|row| {
            set(row, addition::CHORD, x);
            set(row, addition::CHORD + LIMBS, y);
        });
        assert!(faults.iter().any(constraint), "{what}");
    }
    for (what, pair, column) in [("first not finite", 0, P), ("second not finite", 0, Q), ("identity is finite", 3, P)]
    {
        for inverse in [ZERO, ONE] {
            let faults = attack(what, pair, &|row| {
                row[column] = ONE - row[column];
                row[column + 1] = inverse;
                row[BOTH] = row[P] * row[Q];
                row[GENERIC] = row[BOTH] * (ONE - row[INVERSE]);
            });
            assert!(faults.iter().any(constraint), "{what}");
        }
    }
    for (what, column, value) in
        [("half both", BOTH, HALF), ("half inverse", INVERSE, HALF), ("twice generic", GENERIC, Goldilocks::new(2))]
    {
        let faults = attack(what, 0, &|row| row[column] = value);
        assert!(faults.iter().any(constraint), "{what}");
    }
    // The first congruence separately: the second leaves these pairs any slope.
    for (i, pair) in alike().into_iter().enumerate() {
        let sums = Sums::<Quadratic>::new(1);
        let mut witness = sums.witness(&[pair]);
        assert_eq!(sums.faults(&witness), [], "pair {i}");
        let ((x1, y1), (x2, _)) = (pair[0].unwrap(), pair[1].unwrap());
        let row = witness.row_mut(&tables, Table::Addition, 0);
        row[INVERSE] = ZERO;
        row[GENERIC] = ONE;
        set(row, addition::SLOPE, other);
        let x3 = other.square() - x1 - x2;
        set(row, addition::CHORD, x3);
        set(row, addition::CHORD + LIMBS, other * (x1 - x3) - y1);
        sums.circuit.fill_points(&mut witness);
        assert!(sums.faults(&witness).iter().any(constraint), "pair {i}");
    }
    // The same number, by limbs out of range.
    let within = |fault: &Fault| matches!(fault, Fault::Tuple { tuple, .. } if tuple[0] == RANGE);
    for first in [addition::SLOPE, addition::CHORD, addition::CHORD + LIMBS] {
        let faults = attack("a limb out of range", 0, &|row| {
            row[first] += Goldilocks::new(1 << 16);
            row[first + 1] -= ONE;
        });
        assert!(faults.iter().any(within), "a limb out of range");
    }
    // Adding p gives the same point: this deceives nobody, and the circuits that state a point ensure that coordinates
    // are below p.
    let mut witness = right.clone();
    let sum = add(p, q).unwrap();
    set_words(witness.row_mut(&tables, Table::Addition, 0), addition::CHORD, plus_modulus(sum.0));
    sums.circuit.fill_points(&mut witness);
    assert!(!sums.faults(&witness).iter().any(constraint));
}

#[test]
fn a_point_has_one_form() {
    let sums = Sums::<Quadratic>::new(2);
    let (p, q) = (sample(1), sample(2));
    let right = free(&[[p, q], [q, p]]);
    let faults = |data: &[Goldilocks]| sums.faults(&sums.circuit.witness(data).unwrap());
    assert_eq!(faults(&right), []);
    let here = |fault: &Fault| matches!(fault, Fault::Constraint { table: Table::Point, .. });
    let (x, y) = p.unwrap();
    // Coordinates of p and more; off the curve; the cofactor's points are on it.
    let words = [x, y].map(|x| x.into_bigint().0);
    for other in [
        [plus_modulus(x), words[1]],
        [words[0], plus_modulus(y)],
        [words[0], (y + Fq::from(1_u64)).into_bigint().0],
        [words[1], words[0]],
        [[0; 6], Fq::from(2_u64).into_bigint().0].map(|w| if w == [0; 6] { Fq::MODULUS.0 } else { w }),
    ] {
        let mut data = right.clone();
        data[2..2 + NUMBERS].copy_from_slice(&numbers_of(other));
        assert!(faults(&data).iter().any(here));
    }
    // A number of more than 56 bits whose low bits are right.
    for i in [0, 1, 6, 13] {
        let mut data = right.clone();
        data[2 + i] += Goldilocks::new(1 << 56);
        assert!(!faults(&data).is_empty(), "{i}");
    }
    // An active identity, and a value that is not a bit.
    let mut data = right.clone();
    data[2..2 + NUMBERS].fill(ZERO);
    assert!(faults(&data).iter().any(here));
    let mut data = right.clone();
    data[0] = Goldilocks::new(2);
    assert!(!faults(&data).is_empty());
    // The same coordinates by other numbers: a byte of 256 and more, and one less in the next number.
    let honest = sums.circuit.witness(&right).unwrap();
    let tables = sums.circuit.tables().clone();
    let within = |fault: &Fault| matches!(fault, Fault::Tuple { tuple, .. } if tuple[0] == RANGE);
    for split in 0..3 {
        let mut data = right.clone();
        data[2 + 2 * split] += Goldilocks::new(1 << 56);
        data[2 + 2 * split + 1] -= ONE;
        // The words of the numbers are halves of hashes.
        let (mut witness, others) = (honest.clone(), sums.circuit.witness(&data).unwrap());
        for i in 0..sums.circuit.rows(Table::Permutation) {
            let other = others.row(&tables, Table::Permutation, i);
            witness.row_mut(&tables, Table::Permutation, i).copy_from_slice(other);
        }
        let row = witness.row_mut(&tables, Table::Point, 0);
        row[3 + 7 * split] += Goldilocks::new(1 << 8);
        row[LIMBS + split] -= ONE;
        sums.circuit.fill_points(&mut witness);
        let faults = sums.faults(&witness);
        assert!(!faults.is_empty() && faults.iter().all(within), "{split}: {faults:?}");
    }
    // x + p, whose complement has limbs that are out of range.
    let mut data = right.clone();
    data[2..2 + NUMBERS].copy_from_slice(&numbers_of([plus_modulus(x), words[1]]));
    let mut witness = sums.circuit.witness(&data).unwrap();
    let row = witness.row_mut(&tables, Table::Point, 0);
    for i in 0..LIMBS {
        let limb = bits(&plus_modulus(x), 16 * i, 16);
        row[point::COMPLEMENTS + i] = Goldilocks::new(MODULUS[i] - u64::from(i == 0)) - Goldilocks::new(limb);
    }
    row[point::COMPLEMENTS + LIMBS..][..7].fill(ZERO);
    sums.circuit.count_ranges(&mut witness);
    let faults = sums.faults(&witness);
    assert!(!faults.is_empty() && faults.iter().all(within), "{faults:?}");
    // Off the curve, with the square that fits the second congruence: the first refuses it.
    let off = y + Fq::from(1_u64);
    let mut data = right.clone();
    data[2..2 + NUMBERS].copy_from_slice(&numbers_of([x, off].map(|x| x.into_bigint().0)));
    let mut witness = sums.circuit.witness(&data).unwrap();
    let row = witness.row_mut(&tables, Table::Point, 0);
    set(row, point::SQUARE, (off.square() - Fq::from(4_u64)) * x.inverse().unwrap());
    sums.circuit.fill_points(&mut witness);
    let first = |fault: &Fault| matches!(fault, Fault::Constraint { table: Table::Point, constraint, .. } if (33..57).contains(constraint));
    let faults: Vec<Fault> = sums.faults(&witness).into_iter().filter(here).collect();
    assert!(!faults.is_empty() && faults.iter().all(first), "{faults:?}");
}

/// The greatest value of a column.
#[test]
fn ranges_are_exact() {
    let sums = Sums::<Quadratic>::new(1);
    let right = sums.witness(&[[sample(1), sample(2)]]);
    let tables = sums.circuit.tables().clone();
    let (limb, byte, high) = ((1 << 16) - 1, (1 << 8) - 1, (1 << 9) - 1);
    let congruence = |first: usize| {
        let carries =
            (0..2 * congruence::CARRIES).map(move |i| (first + LIMBS + i, if i % 2 == 0 { limb } else { high }));
        (0..LIMBS).map(move |i| (first + i, limb)).chain(carries)
    };
    let mut point: Vec<(usize, u64)> = Vec::new();
    for first in [0, LIMBS + 3] {
        point.extend((0..LIMBS).map(|i| (first + i, if [3, 10, 17].contains(&i) { byte } else { limb })));
        point.extend((LIMBS..LIMBS + 3).map(|i| (first + i, byte)));
    }
    for first in [point::COMPLEMENTS, point::COMPLEMENTS + LIMBS + 7, point::SQUARE] {
        point.extend((first..first + LIMBS).map(|i| (i, limb)));
    }
    point.extend((0..2).flat_map(|i| congruence(point::CONGRUENCES + i * congruence::COLUMNS)));
    let mut addition: Vec<(usize, u64)> = (addition::SLOPE..addition::FLAGS).map(|i| (i, limb)).collect();
    addition.extend((0..4).flat_map(|i| congruence(addition::CONGRUENCES + i * congruence::COLUMNS)));
    for (table, columns) in [(Table::Point, point), (Table::Addition, addition)] {
        for greatest in [false, true] {
            // All columns at once: a fault for each that is out of range, and none otherwise.
            let mut witness = right.clone();
            let row = witness.row_mut(&tables, table, 1);
            for (i, &(column, most)) in columns.iter().enumerate() {
                // Numbers of their own, so that each has a tuple.
                row[column] = Goldilocks::new(if greatest { most } else { most + 1 + i as u64 * (most + 1) * 4 });
            }
            sums.circuit.count_ranges(&mut witness);
            let out = |fault: &Fault| matches!(fault, Fault::Tuple { tuple, .. } if tuple[0] == RANGE);
            let faults = sums.faults(&witness).into_iter().filter(out).count();
            let expected = if greatest { 0 } else { columns.len() };
            assert!(faults >= expected && (expected > 0 || faults == 0), "{}: {faults} of {expected}", table.name());
        }
    }
}

/// Numbers out of range satisfy any congruence: only ranges refuse a false sum.
#[test]
fn ranges_make_congruences_identities_of_integers() {
    let sums = Sums::<Quadratic>::new(1);
    let (p, q) = (sample(1), sample(2));
    let mut witness = sums.witness(&[[p, q]]);
    let tables = sums.circuit.tables().clone();
    let row = witness.row_mut(&tables, Table::Addition, 0);
    row[addition::CHORD + LIMBS] += ONE;
    // The last congruence in F: quotient (q0, 0, 0, ..) and carries as the equations want them.
    let first = addition::CONGRUENCES + 3 * congruence::COLUMNS;
    let limb = |row: &[Goldilocks], first: usize, i: usize| if i < LIMBS { row[first + i] } else { ZERO };
    let last = |row: &mut [Goldilocks], q0: Goldilocks| {
        let e: Vec<Goldilocks> = (0..2 * LIMBS)
            .map(|k| {
                let products: Goldilocks = (0..=k)
                    .map(|i| limb(row, addition::SLOPE, i) * (limb(row, 0, k - i) - limb(row, addition::CHORD, k - i)))
                    .sum();
                let linear = limb(row, LIMBS, k) + limb(row, addition::CHORD + LIMBS, k);
                products - linear - q0 * Goldilocks::new(MODULUS.get(k).copied().unwrap_or(0))
            })
            .collect();
        for i in 0..LIMBS {
            row[first + i] = Goldilocks::new(1 << 15) + if i == 0 { q0 } else { ZERO };
        }
        let mut carry = ZERO;
        for j in 0..LIMBS {
            let sum = e[2 * j] + Goldilocks::new(1 << 16) * e[2 * j + 1] + carry;
            if j + 1 == LIMBS {
                return sum;
            }
            carry = sum * evergrove_primitives::field::Field::inverse(Goldilocks::new(1 << 32)).unwrap();
            row[first + LIMBS + 2 * j] = carry + Goldilocks::new(1 << 24);
            row[first + LIMBS + 2 * j + 1] = ZERO;
        }
        unreachable!("the last equation has no carry")
    };
    let (zero, one) = (last(row, ZERO), last(row, ONE));
    let q0 = zero * evergrove_primitives::field::Field::inverse(zero - one).unwrap();
    assert_eq!(last(row, q0), ZERO);
    // The third line of the sum's use is another row's: it follows.
    sums.circuit.count_ranges(&mut witness);
    let faults = sums.faults(&witness);
    let row_0 = |fault: &Fault| matches!(fault, Fault::Constraint { table: Table::Addition, row: 0, .. });
    let within = |fault: &Fault| matches!(fault, Fault::Tuple { tuple, .. } if tuple[0] == RANGE);
    assert!(!faults.iter().any(row_0), "{faults:?}");
    assert!(faults.iter().any(within));
}

#[test]
fn every_column_of_a_point_counts() {
    let pairs = [[sample(1), sample(2)]];
    let sums = Sums::<Quadratic>::new(1);
    let right = sums.witness(&pairs);
    let tables = sums.circuit.tables().clone();
    let numbers = |fault: &Fault| matches!(fault, Fault::Tuple { tuple, .. } if tuple[0] == RANGE);
    for (table, columns) in [(Table::Point, point::COLUMNS), (Table::Addition, addition::COLUMNS)] {
        for column in (0..columns).step_by(5).chain(columns.saturating_sub(5)..columns) {
            let mut witness = right.clone();
            witness.row_mut(&tables, table, 1)[column] += ONE;
            sums.circuit.count_ranges(&mut witness);
            // Refused by more than ranges.
            assert!(sums.faults(&witness).iter().any(|fault| !numbers(fault)), "{} {column}", table.name());
        }
    }
    let mut witness = right;
    witness.row_mut(&tables, Table::Range, 77)[0] += ONE;
    assert!(sums.faults(&witness).iter().all(numbers));
}

#[test]
fn the_modulus_is_that_of_the_field() {
    let words = Fq::MODULUS.0;
    assert_eq!(MODULUS, core::array::from_fn(|i| bits(&words, 16 * i, 16)));
    assert_eq!(congruence::EQUATIONS, LIMBS);
    assert_eq!(TUPLE, 7);
}

/// The sizes of rows of points: the snapshot of the circuits' counts.
#[test]
fn counts() {
    assert_eq!((point::COLUMNS, point::PORTS, point::FIXED), (284, 355, 28));
    assert_eq!((addition::COLUMNS, addition::PORTS, addition::FIXED), (455, 480, 36));
}

fn proofs_are_those_of_the_definition<K: Extension + evergrove_multilinear::prover::ProofField>() {
    let pairs = [[sample(1), sample(2)], [sample(3), negative(sample(3))]];
    let mut builder = Builder::<K>::new(tables());
    rows(&mut builder, pairs.len());
    let example = Example::made(builder, &free(&pairs), 9);
    let expected = example.proof(&example.witness);
    assert_eq!(example.check(&example.statement, &expected), Ok(true));
    let prover = evergrove_multilinear::prover::Prover::new(&example.circuit, &example.parameters);
    for isa in available() {
        assert_eq!(prover.prove_on(isa, &example.statement, &example.witness), expected, "{isa:?}");
    }
}

#[test]
fn proofs_are_those_of_the_definition_over_the_quadratic_extension() {
    proofs_are_those_of_the_definition::<Quadratic>();
}

#[test]
fn proofs_are_those_of_the_definition_over_the_cubic_extension() {
    proofs_are_those_of_the_definition::<Cubic>();
}
