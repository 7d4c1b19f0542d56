//! Lies about sums of keys. The lines that open rows are those of queries too, and are not counted again.

use ark_bls12_381::Fq;
use ark_ff::PrimeField;
use blst::min_pk::SecretKey;
use evergrove_apps::bls::limbs::{LIMBS, MODULUS};
use evergrove_apps::bls::{BlsKeys, Point, chord, slope, table};
use evergrove_multilinear::circuit::wires::{Bool, Point as PointWires, Word};
use evergrove_multilinear::circuit::{Hint, Line};
use evergrove_verifier::tables::addition::Chord;
use evergrove_verifier::tables::point;

use super::*;

const FILES: &str = "crates/apps/src/bls/";

/// Bits of a number of a coordinate.
const NUMBER: u32 = 56;
/// Numbers of a coordinate.
const EACH: usize = LIMBS / 2;
/// The hints of a sum: the low bytes of three limbs of x, then the low limbs of its numbers, then its carries.
const LOWS: usize = 3;
const CARRIES: usize = LOWS + EACH;

/// Slope and third point of a line, as [`Chord`] has them, with x + p instead of x.
fn beyond(operands: [[u64; 6]; 4]) -> Option<[[u64; 6]; 3]> {
    let [x1, y1, x2, y2] =
        operands.map(|words| Fq::from_le_bytes_mod_order(words.map(u64::to_le_bytes).as_flattened()));
    let slope = slope((x1, y1), (x2, y2))?;
    let (x3, y3) = chord(slope, (x1, y1), x2);
    let [slope, mut x3, y3] = [slope, x3, y3].map(|x| x.into_bigint().0);
    let mut carry = 0;
    for (word, p) in x3.iter_mut().zip(Fq::MODULUS.0) {
        carry += u128::from(*word) + u128::from(p);
        *word = carry as u64;
        carry >>= 64;
    }
    Some([slope, x3, y3])
}

/// The same rows, filled by a prover who adds p to x in sums.
struct Beyond<'a>(&'a mut Builder<Quadratic>);

impl Arithmetic for Beyond<'_> {
    fn constant(&mut self, x: Goldilocks) -> Base {
        self.0.constant(x)
    }
    fn word(&mut self, word: [Goldilocks; 4]) -> Word {
        self.0.word(word)
    }
    fn combine(&mut self, q: [Goldilocks; 3], a: Base, b: Base, c: Base) -> Base {
        self.0.combine_base(q, a, b, c)
    }
    fn check_at(&mut self, line: Line, q: [Goldilocks; 3], a: Base, b: Base, c: Base, d: Base) {
        self.0.check_at(line, q, a, b, c, d);
    }
    fn boolean_at(&mut self, line: Line, x: Base) -> Bool {
        self.0.boolean_at(line, x)
    }
    fn bit_of_at(&mut self, line: Line, of: &[Base], hint: Hint) -> Bool {
        self.0.bit_of_at(line, of, hint)
    }
    fn any_of(&mut self, of: &[Base], hint: Hint) -> Base {
        self.0.any_of(of, hint)
    }
    fn any(&mut self) -> Base {
        self.0.any()
    }
    fn limb(&mut self, word: Word, i: usize) -> Base {
        self.0.limb(word, i)
    }
    fn limbs_at(&mut self, line: Line, x: Base) -> [Base; bits::INDICES] {
        self.0.limbs_at(line, x)
    }
    fn below_at(&mut self, line: Line, x: Base, bits: usize) {
        self.0.below_at(line, x, bits);
    }
    fn sponge_at(&mut self, line: Line, tag: Goldilocks, elements: usize) -> (Word, Vec<Word>) {
        self.0.sponge_at(line, tag, elements)
    }
    fn sponge_of_some_at(&mut self, line: Line, tag: Base, steps: usize, used: &[Base]) -> (Word, Vec<Word>) {
        self.0.sponge_of_some_at(line, tag, steps, used)
    }
    fn equal_limbs_at(&mut self, line: Line, bit: Bool, left: &[(Word, usize)], right: &[(Word, usize)]) {
        self.0.equal_limbs_at(line, bit, left, right);
    }
    fn point(&mut self, numbers: [Word; 4], active: Bool) -> PointWires {
        self.0.point(numbers, active)
    }
    fn point_of(&mut self, numbers: [Base; point::NUMBERS], active: Bool) -> PointWires {
        self.0.point_of(numbers, active)
    }
    fn add_points(&mut self, p: PointWires, q: PointWires, _: Chord) -> PointWires {
        self.0.add_points(p, q, beyond)
    }
    fn dot_base(&mut self, words: &[Word], weights: &[Base]) -> Base {
        self.0.dot_base(words, weights)
    }
    fn weighed(&mut self, word: Word, weights: [Goldilocks; 4]) -> Base {
        self.0.weighed(word, weights)
    }
}

/// A leaf with the key of this seed.
fn leaf(seed: u8) -> Case {
    let key = &Point::of_key(&SecretKey::key_gen(&[seed; 32], &[]).unwrap().sk_to_pk());
    let opening = table::numbers(key).unwrap().map(Goldilocks::new).to_vec();
    Case { index: seed.into(), value: table::schema().value(&table::row(key).unwrap()).unwrap(), opening }
}

/// Carries that are not bits, with which a coordinate of x + p seems to be below p: the complements are numbers of 56
/// bits, of which all but the first two are 0.
fn carries(numbers: [Goldilocks; EACH]) -> Vec<Goldilocks> {
    let base = Goldilocks::new(1 << NUMBER);
    let due: [Goldilocks; EACH] = core::array::from_fn(|i| {
        Goldilocks::new(MODULUS[2 * i] + (MODULUS[2 * i + 1] << (NUMBER / 2)) - u64::from(i == 0))
    });
    let difference = (0..EACH).rev().fold(ZERO, |sum, i| sum * base + due[i] - numbers[i]);
    let (first, second) = (difference.as_u64() & ((1 << NUMBER) - 1), difference.as_u64() >> NUMBER);
    let mut before = ZERO;
    let carries = (0..EACH - 1).map(|i| {
        let complement = Goldilocks::new([first, second].get(i).copied().unwrap_or(0));
        before = (complement - due[i] + numbers[i] + before) * base.inverse().unwrap();
        before
    });
    carries.collect()
}

/// Sums of the keys in slots.
fn folds(report: &mut Report) {
    let leaves = [1, 3].map(leaf);
    let part = Part::fold(report, FILES, BlsKeys, &leaves);
    let subject = &part.subject;
    let hint = |i: usize| subject.count(&subject.sound, part.hints[i]);
    let limb = part.choose(&[(LOWS, hint(LOWS) + Goldilocks::new(1 << 28))]);
    limb.refused_by(report, "tables.rs: Zeros: b.below(limb, LIMB_BITS);");
    // 2^144 is 1 / 2^48: the first number has 1 more, and the second 2^40 more.
    let byte = part.choose(&[(0, hint(0) - Goldilocks::new(1 << 48))]);
    byte.refused_by(report, "tables.rs: Zeros: b.below(byte, BYTE);");
    let (twin, _) = circuit(&BlsKeys, |b| {
        let (slots, _) = fold_rows(&BlsKeys, leaves.len(), b);
        BlsKeys.on_tables().unwrap().fold(&mut Beyond(b), &[], &slots)
    });
    let filled = |chosen: &HashMap<u32, Goldilocks>| twin.witness_with(&subject.free, chosen).unwrap();
    let honest = filled(&HashMap::new());
    let beyond = part.lie().change(|columns| columns.clone_from(&honest));
    beyond.refused_by(report, "tables.rs: Zeros: b.below(complement, NUMBER);");
    // The limbs of x + p are the first elements of the output, whose copies are the last rows of tuples.
    let first = subject.circuit.choices().nth(part.hints.len()).unwrap();
    let limbs: Vec<Goldilocks> = (first..).take(LIMBS).map(|row| subject.count(&honest, row)).collect();
    let numbers = core::array::from_fn(|i| limbs[2 * i] + limbs[2 * i + 1] * Goldilocks::new(1 << (NUMBER / 2)));
    let chosen = carries(numbers).into_iter().zip(CARRIES..).map(|(carry, i)| (part.hints[i], carry)).collect();
    let filled = filled(&chosen);
    part.lie().change(|columns| columns.clone_from(&filled)).refused_by(
        report,
        "tables.rs: Bit: let carry = b.bit_of(&[due, sum], |x| Goldilocks::new((x[1].as_u64() > x[0].as_u64()).into()));",
    );
}

/// Sums of two outputs.
fn reductions(report: &mut Report) {
    let [left, right] = [1, 3].map(|seed| BlsKeys.map(&leaf(seed).leaf()).unwrap());
    let part = Part::reduce(report, FILES, BlsKeys, &left, &right);
    let without = part.choose(&[(0, ZERO)]);
    without.refused_by(report, "tables.rs: Equation: b.check([-ONE, ONE, ZERO], sum, finite.into(), zero, zero);");
}

#[test]
fn the_line_of_each_lie_about_keys_alone_refuses_it() {
    let mut report = Report::new(argued::KEYS);
    folds(&mut report);
    reductions(&mut report);
    judge("keys", &report);
}
