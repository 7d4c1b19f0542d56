//! The sum of keys, as rows of the engine's tables.
//!
//! A leaf costs two rows of sponges, a [point](evergrove_verifier::tables::point) and an
//! [addition](evergrove_verifier::tables::addition). Sums between the slots need not be below p. The output of a
//! circuit is in canonical form: its limbs of 16 bits are converted to the 28 bits of outputs, with each coordinate
//! below p.

use core::array;

use ark_ff::PrimeField;
use evergrove_commit::schema::Schema;
use evergrove_grove::application::{Circuits, Slot};
use evergrove_multilinear::circuit::Arithmetic;
use evergrove_multilinear::circuit::wires::{Base, Point as PointWires, Word};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::tables::WORD;
use evergrove_verifier::tables::point::NUMBERS;

use super::limbs::{LIMB_BITS, LIMBS, MODULUS};
use super::point::{POINT_ELEMENTS, chord, slope};
use super::{BlsKeys, OUTPUT_ELEMENTS, table};
use crate::tables::open_row;

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;

/// The number of keys in a sync committee.
const COMMITTEE: usize = 512;
/// Bits per number of a point.
const NUMBER: usize = 2 * LIMB_BITS;
/// Numbers per coordinate.
const EACH: usize = NUMBERS / 2;
/// Words per coordinate.
const COORDINATE: usize = 6;
/// Bits of half a limb in the words of points.
const BYTE: usize = 8;

/// 2^n.
const fn power(n: usize) -> Goldilocks {
    Goldilocks::new(1 << n)
}

impl Circuits for BlsKeys {
    fn inputs(&self) -> Vec<Goldilocks> {
        Vec::new()
    }

    fn bounds(&self) -> Vec<usize> {
        vec![LIMB_BITS, NUMBER, BYTE]
    }

    /// A bucket holds one committee, which is also a block of rows of points.
    fn most(&self) -> usize {
        COMMITTEE
    }

    fn fold(&self, b: &mut dyn Arithmetic, _inputs: &[Base], slots: &[Slot]) -> Vec<Base> {
        let schema = table::schema();
        let keys: Vec<PointWires> = slots.iter().map(|slot| open(b, slot, &schema)).collect();
        let sum = keys.into_iter().reduce(|sum, key| b.add_points(sum, key, line)).expect("a slot");
        let zero = b.zero();
        let count = slots.iter().fold(zero, |count, slot| b.add(count, slot.active.into()));
        output(b, sum, count)
    }

    fn reduce(&self, b: &mut dyn Arithmetic, left: &[Base], right: &[Base]) -> Vec<Base> {
        let [p, q] = [left, right].map(|operand| of_output(b, operand));
        let sum = b.add_points(p, q, line);
        let count = b.add(left[POINT_ELEMENTS], right[POINT_ELEMENTS]);
        output(b, sum, count)
    }
}

/// The key of an active slot, whose numbers hash to the slot's value; the identity for an inactive slot.
fn open(b: &mut dyn Arithmetic, slot: &Slot, schema: &Schema) -> PointWires {
    let numbers = open_row(b, slot, schema);
    let words = array::from_fn(|i| numbers[i * WORD].0);
    b.point(words, slot.active)
}

/// The point of an output. The elements of outputs are below 2^28.
fn of_output(b: &mut dyn Arithmetic, output: &[Base]) -> PointWires {
    let limbs = &output[..POINT_ELEMENTS];
    let numbers = array::from_fn(|i| b.scale_add(power(LIMB_BITS), limbs[2 * i + 1], limbs[2 * i]));
    // The identity is all zeros, and only the identity is: no point of the curve has only zeros.
    let zero = b.zero();
    let sum = limbs.iter().fold(zero, |sum, limb| b.add(sum, *limb));
    let finite = b.bit_of(&[sum], |x| Goldilocks::new((x[0] != ZERO).into()));
    b.check([-ONE, ONE, ZERO], sum, finite.into(), zero, zero);
    b.point_of(numbers, finite)
}

/// The output of a sum. Demands that each coordinate be below p.
fn output(b: &mut dyn Arithmetic, sum: PointWires, count: Base) -> Vec<Base> {
    let words = sum.words();
    let mut out = Vec::with_capacity(OUTPUT_ELEMENTS);
    for words in words.chunks_exact(COORDINATE) {
        let numbers = numbers(b, words);
        for &number in &numbers {
            let low = b.any_of(&[number], |x| Goldilocks::new(x[0].as_u64() & ((1 << LIMB_BITS) - 1)));
            let less = b.sub(number, low);
            let zero = b.zero();
            let high = b.scale_add(inverse(LIMB_BITS), less, zero);
            for limb in [low, high] {
                b.below(limb, LIMB_BITS);
                out.push(limb);
            }
        }
        below_modulus(b, &numbers);
    }
    out.push(count);
    out
}

/// 1 / 2^n.
fn inverse(n: usize) -> Goldilocks {
    power(n).inverse().expect("not zero")
}

/// The numbers of 56 bits of a coordinate. Each of the limbs 3, 10 and 17 is split between two numbers, a byte each.
fn numbers(b: &mut dyn Arithmetic, words: &[Word]) -> [Base; EACH] {
    // The sum of limbs, each times a power of two.
    let weighed = |b: &mut dyn Arithmetic, limbs: &[(usize, usize)], rest: Base| {
        let mut sum = rest;
        let mut limbs = limbs.iter().peekable();
        while let Some(&(limb, bits)) = limbs.next() {
            let mut weights = [ZERO; WORD];
            weights[limb % WORD] = power(bits);
            while let Some((next, bits)) = limbs.next_if(|(next, _)| next / WORD == limb / WORD) {
                weights[next % WORD] = power(*bits);
            }
            let part = b.weighed(words[limb / WORD], weights);
            sum = b.add(sum, part);
        }
        sum
    };
    let zero = b.zero();
    let mut numbers = [zero; EACH];
    for split in 0..EACH / 2 {
        let first = EACH * split;
        let limb = b.limb(words[(first + 3) / WORD], (first + 3) % WORD);
        let low = b.any_of(&[limb], |x| Goldilocks::new(x[0].as_u64() & 0xff));
        let less = b.sub(limb, low);
        let high = b.scale_add(inverse(BYTE), less, zero);
        for byte in [low, high] {
            b.below(byte, BYTE);
        }
        let low = b.scale_add(power(48), low, zero);
        numbers[2 * split] = weighed(b, &[(first, 0), (first + 1, 16), (first + 2, 32)], low);
        numbers[2 * split + 1] = weighed(b, &[(first + 4, 8), (first + 5, 24), (first + 6, 40)], high);
    }
    numbers[EACH - 1] = weighed(b, &[(21, 0), (22, 16), (23, 32)], zero);
    numbers
}

/// Demands that a coordinate in numbers of 56 bits be below p: x + t = p - 1 for a t in numbers of 56 bits, with
/// carries of one bit.
fn below_modulus(b: &mut dyn Arithmetic, numbers: &[Base; EACH]) {
    let one = b.one();
    let mut before = b.zero();
    for (i, &number) in numbers.iter().enumerate() {
        // Subtracting 1 does not borrow, because p is odd.
        let due = MODULUS[2 * i] + (MODULUS[2 * i + 1] << LIMB_BITS) - u64::from(i == 0);
        let due = b.constant(Goldilocks::new(due));
        let sum = b.add(number, before);
        let rest = b.sub(due, sum);
        let complement = if i + 1 < EACH {
            let carry = b.bit_of(&[due, sum], |x| Goldilocks::new((x[1].as_u64() > x[0].as_u64()).into()));
            before = carry.into();
            b.scale_add(power(NUMBER), before, rest)
        } else {
            b.combine([ZERO, ONE, ZERO], rest, one, one)
        };
        b.below(complement, NUMBER);
    }
}

/// The slope and the third point of the line through two points, as a prover computes them.
fn line(operands: [[u64; 6]; 4]) -> Option<[[u64; 6]; 3]> {
    let [x1, y1, x2, y2] = operands.map(|words| {
        let bytes = words.map(u64::to_le_bytes);
        ark_bls12_381::Fq::from_le_bytes_mod_order(bytes.as_flattened())
    });
    let slope = slope((x1, y1), (x2, y2))?;
    let (x3, y3) = chord(slope, (x1, y1), x2);
    Some([slope, x3, y3].map(|x| x.into_bigint().0))
}

const _: () = assert!(POINT_ELEMENTS == 2 * NUMBERS && LIMBS == 2 * EACH);
