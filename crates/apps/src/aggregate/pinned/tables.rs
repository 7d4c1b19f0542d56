//! The circuits of the fixed set: inputs decide here what a plan decides in other circuits.
//!
//! The verifier chooses the inputs, so no constraint demands that one-hot vectors are one-hot or that bits are bits.

use evergrove_commit::schema::NULL;
use evergrove_grove::application::Slot;
use evergrove_multilinear::circuit::Arithmetic;
use evergrove_multilinear::circuit::wires::{Base, Word};
use evergrove_primitives::Goldilocks;

use super::{CONTENT, CONTENTS, COUNTS, EXTREMA, GREATEST, NUMBERS, ONE, RowWidth, SUMS, TESTS, ZERO};
use crate::aggregate::tables::{LIMB, Number, Sum, all_equal, at_least};

/// The inputs as wires, in order.
pub(in crate::aggregate) struct Wires {
    width: RowWidth,
    tag: Option<Base>,
    used: Vec<Base>,
    numbers: Vec<Choice>,
    contents: Vec<Choice>,
    /// The bounds of the conditions on numbers, and the coefficients of their truth.
    tests: Vec<([Number; 2], Truth)>,
    /// The contents that the other conditions compare with, and the coefficients of their truth.
    equalities: Vec<(Vec<Base>, Truth)>,
    /// The coefficients of the filter's polynomial.
    passes: Vec<Base>,
    /// For the last count: 1 if it has no column, and the column that it has, one-hot.
    count: (Base, Vec<Base>),
    /// a and b for each extremum: the extremum is where a x + b (2^63 - 1) is greatest.
    extrema: Vec<[Base; 2]>,
}

/// A column that is read: the place of its first element, one-hot, and whether the column may be null.
struct Choice {
    places: Vec<Base>,
    nullable: Base,
}

/// The value of a condition is null + known (fails - null + within (holds - fails)).
struct Truth {
    holds_less_fails: Base,
    fails_less_null: Base,
    null: Base,
}

/// The cell of a column of numbers.
struct Cell {
    number: Number,
    known: Base,
}

impl Wires {
    pub(in crate::aggregate) fn new(b: &mut dyn Arithmetic, width: RowWidth, inputs: &[Base]) -> Self {
        let mut rest = inputs.iter().copied();
        let mut take = |n: usize| rest.by_ref().take(n).collect::<Vec<Base>>();
        let tag = if width == RowWidth::W4 { None } else { take(1).pop() };
        let used = take(width.elements() - width.fewest());
        let mut choices = |n: usize, places: usize| -> Vec<Choice> {
            (0..n).map(|_| Choice { places: take(places), nullable: take(1)[0] }).collect()
        };
        let numbers = choices(NUMBERS, width.elements());
        let contents = choices(CONTENTS, width.starts());
        let mut conditions = |n: usize, constants: usize| -> Vec<(Vec<Base>, Truth)> {
            let mut condition = || {
                let (constants, of) = (take(constants), take(3));
                (constants, Truth { holds_less_fails: of[0], fails_less_null: of[1], null: of[2] })
            };
            (0..n).map(|_| condition()).collect()
        };
        let tests = conditions(TESTS, 2);
        let equalities = conditions(CONTENTS, CONTENT);
        let passes = take(1 << (TESTS + CONTENTS));
        let count = (take(1)[0], take(NUMBERS + CONTENTS));
        let extrema = (0..EXTREMA).map(|_| take(2)).map(|of| [of[0], of[1]]).collect();
        assert!(rest.next().is_none(), "an input is left over");
        let tests = tests.into_iter().map(|(of, truth)| ([of[0], of[1]].map(|x| Number::new(b, x)), truth)).collect();
        Self { width, tag, used, numbers, contents, tests, equalities, passes, count, extrema }
    }

    /// The output of the slots. There must be few enough slots that sums need no carries.
    pub(in crate::aggregate) fn output(&self, b: &mut dyn Arithmetic, slots: &[Slot]) -> Vec<Base> {
        let zero = b.zero();
        let mut counts = [zero; COUNTS];
        let mut sums = [[zero; 3]; SUMS];
        let mut extrema: [(Vec<(Base, Base)>, Base); EXTREMA] = core::array::from_fn(|_| (Vec::new(), zero));
        for slot in slots {
            let elements = self.open(b, slot);
            let numbers: Vec<Cell> = self.numbers.iter().map(|choice| choice.number(b, &elements)).collect();
            let contents: Vec<(Vec<Base>, Base)> =
                self.contents.iter().map(|choice| choice.content(b, &elements)).collect();
            let passes = self.passes(b, &numbers, &contents);
            let passes = b.mul(slot.active.into(), passes);
            let (_, read) = numbers.split_at(TESTS);
            let masks: Vec<Base> = read.iter().map(|cell| b.mul(passes, cell.known)).collect();
            let known = numbers.iter().map(|number| number.known).chain(contents.iter().map(|content| content.1));
            let (all, which) = &self.count;
            let counted = which.iter().zip(known).fold(*all, |sum, (which, known)| b.mul_add(*which, known, sum));
            let last = b.mul(passes, counted);
            for (count, mask) in counts.iter_mut().zip([passes, masks[0], masks[1], last]) {
                *count = b.add(*count, mask);
            }
            for ((sum, cell), mask) in sums.iter_mut().zip(read).zip(&masks) {
                for (sum, limb) in sum.iter_mut().zip(cell.number.limbs) {
                    *sum = b.mul_add(*mask, limb, *sum);
                }
            }
            let rest = read.iter().zip(&masks).skip(SUMS);
            for (((rows, count), [sign, least]), (cell, mask)) in extrema.iter_mut().zip(&self.extrema).zip(rest) {
                let mut chosen = |x: Base, greatest: u64| {
                    let turned = b.mul(*sign, x);
                    let turned = b.scale_add(Goldilocks::new(greatest), *least, turned);
                    let greatest = b.constant(Goldilocks::new(greatest));
                    b.combine([-ONE, ZERO, ONE], *mask, turned, greatest)
                };
                rows.push((chosen(cell.number.x, GREATEST), chosen(cell.number.top(), (1 << LIMB) - 1)));
                *count = b.add(*count, *mask);
            }
        }
        let counts = counts.into_iter().map(Sum::Count);
        let sums = sums.into_iter().map(Sum::Numbers);
        let extrema = extrema.into_iter().map(|(rows, count)| Sum::Least(rows, count));
        counts.chain(sums).chain(extrema).flat_map(|sum| sum.output(b)).collect()
    }

    /// The elements of a row, which must encode to the slot's value if the slot is active. Behind the end of the row
    /// there are zeros, or a sponge's state.
    fn open(&self, b: &mut dyn Arithmetic, slot: &Slot) -> Vec<(Word, usize)> {
        match self.tag {
            None => {
                let zero = b.zero();
                for (used, (word, limb)) in self.used.iter().zip(&slot.value[self.width.fewest()..]) {
                    let element = b.limb(*word, *limb);
                    b.check([-ONE, ONE, ZERO], element, *used, zero, zero);
                }
                slot.value.to_vec()
            }
            Some(tag) => {
                let (digest, words) = b.sponge_of_some(tag, self.width.steps(), &self.used);
                let digest: Vec<_> = (0..CONTENT).map(|i| (digest, i)).collect();
                b.equal_limbs(slot.active, &digest, &slot.value);
                words.iter().flat_map(|word| (0..CONTENT).map(|i| (*word, i))).collect()
            }
        }
    }

    /// 1 if a row passes the filter.
    fn passes(&self, b: &mut dyn Arithmetic, numbers: &[Cell], contents: &[(Vec<Base>, Base)]) -> Base {
        let mut truths = Vec::with_capacity(TESTS + CONTENTS);
        for (([low, high], truth), cell) in self.tests.iter().zip(numbers) {
            let (above, below) = (at_least(b, &cell.number, low), at_least(b, high, &cell.number));
            let within = b.and(above, below);
            truths.push(truth.of(b, within.into(), cell.known));
        }
        for ((content, truth), (elements, known)) in self.equalities.iter().zip(contents) {
            let equal = all_equal(b, elements, content);
            truths.push(truth.of(b, equal.into(), *known));
        }
        let mut coefficients = self.passes.clone();
        while let Some(truth) = truths.pop() {
            let high = coefficients.split_off(coefficients.len() / 2);
            for (low, high) in coefficients.iter_mut().zip(high) {
                *low = b.mul_add(truth, high, *low);
            }
        }
        coefficients[0]
    }
}

impl Truth {
    fn of(&self, b: &mut dyn Arithmetic, within: Base, known: Base) -> Base {
        let of_known = b.mul_add(within, self.holds_less_fails, self.fails_less_null);
        b.mul_add(known, of_known, self.null)
    }
}

impl Choice {
    /// The element at the chosen place plus `behind`.
    fn element(&self, b: &mut dyn Arithmetic, elements: &[(Word, usize)], behind: usize) -> Base {
        let zero = b.zero();
        let (mut words, mut weights) = (Vec::new(), Vec::new());
        for ((word, limb), place) in elements[behind..].iter().zip(&self.places) {
            if words.last() != Some(word) {
                words.push(*word);
                weights.extend([zero; CONTENT]);
            }
            let at = weights.len() - CONTENT + limb;
            weights[at] = *place;
        }
        b.dot_base(&words, &weights)
    }

    /// 1 if the column is not null.
    fn known(&self, b: &mut dyn Arithmetic, cell: &[Base]) -> Base {
        let null: Vec<Base> = (0..cell.len()).map(|i| b.constant(if i == 0 { NULL } else { ZERO })).collect();
        let is_null = all_equal(b, cell, &null);
        // 1 - nullable is_null.
        let one = b.one();
        b.combine([-ONE, ZERO, ONE], self.nullable, is_null.into(), one)
    }

    /// The number in a column; 0 for null.
    fn number(&self, b: &mut dyn Arithmetic, elements: &[(Word, usize)]) -> Cell {
        let cell = self.element(b, elements, 0);
        let known = self.known(b, &[cell]);
        let x = b.mul(known, cell);
        Cell { number: Number::new(b, x), known }
    }

    /// The elements of a content, and 1 if it is not null.
    fn content(&self, b: &mut dyn Arithmetic, elements: &[(Word, usize)]) -> (Vec<Base>, Base) {
        let cell: Vec<Base> = (0..CONTENT).map(|behind| self.element(b, elements, behind)).collect();
        let known = self.known(b, &cell);
        (cell, known)
    }
}
