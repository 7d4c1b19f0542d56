//! A plan's map and reduction, as rows of the engine's tables.
//!
//! **Inputs.** The constants of a query (bounds, numbers and contents that columns are compared with) are wires. A
//! statement has their digest. The circuits therefore depend only on the plan's shape: its columns, the form of its
//! condition, its accumulators.
//!
//! **Costs.** A row of the table costs one permutation for every eight of its elements, one row of bits for each column
//! of numbers, for each comparison and for each least or greatest number, and some operations. Sums are added in limbs
//! of 21 bits without carries, and converted to the limbs of outputs once per bucket.
//!
//! **No wraps.** By their limbs, numbers are below 2^63. A difference of two numbers may be any element of F, so a
//! comparison checks the highest limbs as well ([`at_least`]).

use std::collections::HashMap;

use evergrove_commit::schema::{ColumnType, NULL};
use evergrove_grove::application::{Circuits, LARGER, Slot};
use evergrove_multilinear::circuit::Arithmetic;
use evergrove_multilinear::circuit::wires::{Base, Bool, Word};
use evergrove_primitives::Goldilocks;

use super::limbs::{FACTOR_LIMBS, PRODUCTS, Width};
use super::pinned::{self, tables::Wires};
use super::plan::Kind;
use super::query::{Accumulator, ColumnIndex, Filter, NUMBER_END, Test};
use super::{Aggregate, Plan};
use crate::tables::open_row;

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;
const TWO: Goldilocks = Goldilocks::new(2);

/// Bits per limb of a number.
pub(super) const LIMB: u32 = 21;
/// The greatest encoded number.
const GREATEST: u64 = NUMBER_END - 1;
/// The number of rows whose products are added before any carry: limbs of sums of products stay below 2^62.
const MAX_UNREDUCED: usize = 1 << 12;
/// Bits of the low half of an extremum, and of a limb of a sum.
const HALF: usize = 32;

/// 2^n.
const fn power(n: u32) -> Goldilocks {
    Goldilocks::new(1 << n)
}

impl Circuits for Aggregate {
    fn inputs(&self) -> Vec<Goldilocks> {
        if self.plan.width().is_some() {
            return self.plan.pinned_inputs();
        }
        let filters = [self.plan.filter()].into_iter().chain(self.plan.conditions());
        let tests = filters.flat_map(Filter::tests).flat_map(constants);
        let bounds = self.plan.accumulators().iter().filter_map(|a| match a {
            Accumulator::Count { at_least: Some((_, bound)), .. } => Some(*bound),
            _ => None,
        });
        tests.chain(bounds).map(Goldilocks::new).collect()
    }

    fn bounds(&self) -> Vec<usize> {
        vec![HALF, HALF - 1, PRODUCTS.limb_bits, CARRY]
    }

    fn larger(&self) -> f64 {
        if self.plan.width().is_some() { pinned::LARGER } else { LARGER }
    }

    fn free(&self, opening: Vec<Goldilocks>) -> Vec<Goldilocks> {
        self.plan.free(opening)
    }

    fn fold(&self, b: &mut dyn Arithmetic, inputs: &[Base], slots: &[Slot]) -> Vec<Base> {
        let mut numbers = HashMap::new();
        let wires = self.plan.width().map(|width| Wires::new(b, width, inputs));
        let mut output: Option<Vec<Base>> = None;
        for chunk in slots.chunks(MAX_UNREDUCED) {
            let next = match &wires {
                Some(wires) => wires.output(b, chunk),
                None => Fold { plan: &self.plan, inputs, numbers: &mut numbers }.output(b, chunk),
            };
            output = Some(output.map_or(next.clone(), |before| self.reduce(b, &before, &next)));
        }
        output.expect("a slot")
    }

    fn reduce(&self, b: &mut dyn Arithmetic, left: &[Base], right: &[Base]) -> Vec<Base> {
        let mut output = Vec::with_capacity(self.plan.output_len());
        for (_, kind, at) in self.plan.slots() {
            let (l, r) = (&left[at.clone()], &right[at]);
            match kind {
                Kind::Count => output.push(b.add(l[0], r[0])),
                Kind::Limbs(width) => output.extend(reduce_limbs(b, width, l, r)),
                Kind::Least => output.extend(least_of(b, [l[0], l[1]], [r[0], r[1]])),
            }
        }
        output
    }
}

/// The constants of a test. The bounds 0 and the greatest number exclude nothing: they are not constants, but part of
/// the shape.
fn constants(test: &Test) -> Vec<u64> {
    match *test {
        Test::Within { low, high, .. } if low == high => vec![low],
        Test::Within { low, high, .. } => {
            let bounds = [(low > 0).then_some(low), (high < GREATEST).then_some(high + 1)];
            bounds.into_iter().flatten().collect()
        }
        Test::Content { digest, .. } => digest.to_vec(),
        Test::Null { .. } | Test::Less { .. } | Test::Equal { .. } => Vec::new(),
    }
}

/// The test with other values for its [`constants`].
pub(super) fn without_constants(test: &Test) -> Test {
    match *test {
        Test::Within { column, low, high } if low == high => Test::Within { column, low: 0, high: 0 },
        Test::Within { column, low, high } => {
            Test::Within { column, low: low.min(1), high: if high < GREATEST { GREATEST - 1 } else { high } }
        }
        Test::Content { column, .. } => Test::Content { column, digest: [0; 4] },
        Test::Null { .. } | Test::Less { .. } | Test::Equal { .. } => test.clone(),
    }
}

/// A number below 2^63, with its limbs.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub(super) x: Base,
    pub(super) limbs: [Base; 3],
}

impl Number {
    pub(super) fn new(b: &mut dyn Arithmetic, x: Base) -> Self {
        Self { x, limbs: b.limbs(x) }
    }
    /// The highest limb.
    pub(super) fn top(&self) -> Base {
        self.limbs[2]
    }
}

/// Whether left >= right.
///
/// The result is a bit t. For t = 1 let e = left - right, and for t = 0 let e = right - left - 1. By its limbs, e is
/// below 2^63. The difference of the operands' highest limbs, in the order of e, minus the highest limb of e must be 0
/// or 1, because it is the borrow of the lower limbs. Therefore e is that difference as an integer, and not that
/// integer plus p.
pub(super) fn at_least(b: &mut dyn Arithmetic, left: &Number, right: &Number) -> Bool {
    let t = b.bit_of(&[left.x, right.x], |x| Goldilocks::new((x[0].as_u64() >= x[1].as_u64()).into()));
    let not = b.not(t);
    let difference = b.sub(left.x, right.x);
    let e = b.combine([TWO, -ONE, -ONE], difference, t.into(), not.into());
    let top = Number::new(b, e).top();
    let tops = b.sub(left.top(), right.top());
    let borrow = b.combine([TWO, -ONE, -ONE], tops, t.into(), top);
    b.boolean(borrow);
    t
}

/// Whether all elements of two lists are equal.
pub(super) fn all_equal(b: &mut dyn Arithmetic, left: &[Base], right: &[Base]) -> Bool {
    let differences: Vec<Base> = left.iter().zip(right).map(|(l, r)| b.sub(*l, *r)).collect();
    let t = b.bit_of(&differences, |x| Goldilocks::new(x.iter().all(|x| *x == ZERO).into()));
    let (zero, one) = (b.zero(), b.one());
    // t plus the sum of the differences times factors that the prover chooses is 1. If t is 1, all differences are 0.
    let mut sum: Base = t.into();
    for (i, &difference) in differences.iter().enumerate() {
        b.check([ONE, ZERO, ZERO], difference, t.into(), zero, zero);
        let which = b.constant(Goldilocks::new(i as u64));
        let of = [&[which], &differences[..]].concat();
        // The inverse of the first nonzero difference.
        let factor = b.any_of(&of, |x| {
            let first = x[1..].iter().position(|x| *x != ZERO);
            let chosen = first.filter(|first| *first as u64 == x[0].as_u64());
            chosen.and_then(|i| x[1 + i].inverse()).unwrap_or(ZERO)
        });
        sum = b.mul_add(difference, factor, sum);
    }
    b.equal(sum, one);
    t
}

/// Splits an element below 2^63 into low + 2^`bits` high. Does not check the ranges of the parts.
fn split(b: &mut dyn Arithmetic, x: Base, bits: u32) -> [Base; 2] {
    let width = b.constant(Goldilocks::new(bits.into()));
    let low = b.any_of(&[x, width], |x| Goldilocks::new(x[0].as_u64() & ((1 << x[1].as_u64()) - 1)));
    let high = b.any_of(&[x, width], |x| Goldilocks::new(x[0].as_u64() >> x[1].as_u64()));
    b.check([ZERO, power(bits), ONE], high, high, low, x);
    [low, high]
}

/// Splits an element below 2^63 into low + 2^32 high, and checks that the halves have 32 and 31 bits.
fn halves(b: &mut dyn Arithmetic, x: Base) -> [Base; 2] {
    let [low, high] = split(b, x, HALF as u32);
    b.below(low, HALF);
    b.below(high, HALF - 1);
    [low, high]
}

/// A fold of slots.
struct Fold<'a> {
    plan: &'a Plan,
    /// The inputs; below, those that were used as numbers, with their limbs.
    inputs: &'a [Base],
    numbers: &'a mut HashMap<usize, Number>,
}

impl Fold<'_> {
    /// A bound of the query, as a number.
    fn bound(&mut self, b: &mut dyn Arithmetic, input: usize) -> Number {
        let x = self.inputs[input];
        *self.numbers.entry(input).or_insert_with(|| Number::new(b, x))
    }

    fn output(mut self, b: &mut dyn Arithmetic, slots: &[Slot]) -> Vec<Base> {
        let plan = self.plan;
        let mut sums: Vec<Sum> = plan.accumulators().iter().map(|a| Sum::new(b, a)).collect();
        let distinct = plan.conditions();
        for slot in slots {
            let mut row = Row::open(plan, b, slot);
            let (passes, mut input) = self.passes(b, &mut row, plan.filter(), 0);
            let counts = b.and(slot.active, passes);
            let mut conditions = Vec::with_capacity(distinct.len());
            for &condition in &distinct {
                let (passes, end) = self.passes(b, &mut row, condition, input);
                conditions.push((condition, b.and(counts, passes)));
                input = end;
            }
            for (i, (sum, accumulator)) in sums.iter_mut().zip(plan.accumulators()).enumerate() {
                let own = plan.condition(i).and_then(|own| conditions.iter().find(|(condition, _)| *condition == own));
                let counts = own.map_or(counts, |(_, counts)| *counts);
                let mut mask = accumulator.masks().into_iter().fold(counts, |mask, column| row.masked(b, mask, column));
                if let Accumulator::Count { at_least: Some((column, _)), .. } = accumulator {
                    let (number, bound) = (row.number(b, *column), self.bound(b, input));
                    input += 1;
                    let reaches = at_least(b, &number, &bound);
                    mask = b.and(mask, reaches);
                }
                sum.add(b, &mut row, accumulator, mask);
            }
        }
        sums.into_iter().flat_map(|sum| sum.output(b)).collect()
    }

    /// Whether a row passes a filter. The filter's constants are the inputs from `first` on; also returns the end of
    /// these.
    fn passes(&mut self, b: &mut dyn Arithmetic, row: &mut Row<'_>, filter: &Filter, first: usize) -> (Bool, usize) {
        let mut world = (self, b, row, first);
        let passes = filter.run(
            &mut world,
            |(fold, b, row, input), test, negated| {
                let truth = fold.test(*b, row, test, *input);
                *input += constants(test).len();
                let truth = if negated { b.not(truth) } else { truth };
                if matches!(test, Test::Null { .. }) {
                    return truth;
                }
                test.columns().fold(truth, |truth, column| row.masked(*b, truth, column))
            },
            |(_, b, _, _), truths, all| {
                let first = truths.iter().copied().reduce(|x, y| if all { b.and(x, y) } else { b.or(x, y) });
                first.unwrap_or_else(|| {
                    let constant = b.constant(Goldilocks::new(all.into()));
                    b.boolean(constant)
                })
            },
        );
        (passes, world.3)
    }

    /// The result of a test, which treats null like any other value.
    fn test(&mut self, b: &mut dyn Arithmetic, row: &mut Row<'_>, test: &Test, input: usize) -> Bool {
        match *test {
            Test::Null { column } => {
                let known = row.known(b, column).expect("a plan tests nullable columns alone for null");
                b.not(known)
            }
            Test::Within { column, low, high } if low == high => {
                let x = row.number(b, column).x;
                all_equal(b, &[x], &self.inputs[input..=input])
            }
            Test::Within { column, low, high } => {
                let number = row.number(b, column);
                let mut input = input;
                let mut reaches = |fold: &mut Self, b: &mut dyn Arithmetic| {
                    let bound = fold.bound(b, input);
                    input += 1;
                    at_least(b, &number, &bound)
                };
                let above = (low > 0).then(|| reaches(self, b));
                let beyond = (high < GREATEST).then(|| reaches(self, b));
                let below = beyond.map(|beyond| b.not(beyond));
                match (above, below) {
                    (Some(above), Some(below)) => b.and(above, below),
                    (Some(bit), None) | (None, Some(bit)) => bit,
                    (None, None) => {
                        let one = b.one();
                        b.boolean(one)
                    }
                }
            }
            Test::Content { column, .. } => {
                let cell = row.cell(b, column);
                all_equal(b, &cell, &self.inputs[input..input + cell.len()])
            }
            Test::Less { left, right } => {
                let (left, right) = (row.number(b, left), row.number(b, right));
                let reaches = at_least(b, &left, &right);
                b.not(reaches)
            }
            Test::Equal { left, right } => {
                let (left, right) = (row.cell(b, left), row.cell(b, right));
                all_equal(b, &left, &right)
            }
        }
    }
}

impl Accumulator {
    /// The columns that must not be null for a row to count.
    fn masks(&self) -> Vec<ColumnIndex> {
        match self {
            Self::Count { known, .. } | Self::Sum { known, .. } => known.clone(),
            Self::Product { left, right } => vec![*left, *right],
            Self::Min { column } | Self::Max { column } => vec![*column],
        }
    }
}

/// A row of the table, and the values derived from it. Each value is constrained once.
struct Row<'a> {
    plan: &'a Plan,
    elements: Vec<(Word, usize)>,
    cells: HashMap<usize, Base>,
    known: HashMap<ColumnIndex, Option<Bool>>,
    numbers: HashMap<ColumnIndex, Number>,
    factors: HashMap<ColumnIndex, [Base; FACTOR_LIMBS]>,
}

impl<'a> Row<'a> {
    /// The row of an active slot: its elements encode to the slot's value, and the columns of numbers that the plan
    /// reads hold numbers, or null if they are nullable. For an inactive slot only the latter is demanded, and zeros
    /// satisfy it.
    fn open(plan: &'a Plan, b: &mut dyn Arithmetic, slot: &Slot) -> Self {
        let (schema, columns) = (plan.schema(), plan.columns());
        // A plan without columns reads nothing.
        let elements = if columns.is_empty() { slot.value.to_vec() } else { open_row(b, slot, schema) };
        let mut row = Self {
            plan,
            elements,
            cells: HashMap::new(),
            known: HashMap::new(),
            numbers: HashMap::new(),
            factors: HashMap::new(),
        };
        for column in columns {
            if row.kind(column).is_number() {
                row.number(b, column);
            }
        }
        row
    }

    fn kind(&self, column: ColumnIndex) -> ColumnType {
        self.plan.schema().columns()[usize::from(column)].kind
    }

    fn element(&mut self, b: &mut dyn Arithmetic, i: usize) -> Base {
        let (word, limb) = self.elements[i];
        *self.cells.entry(i).or_insert_with(|| b.limb(word, limb))
    }

    /// The elements of a column.
    fn cell(&mut self, b: &mut dyn Arithmetic, column: ColumnIndex) -> Vec<Base> {
        let at = self.plan.offset(column);
        (at..at + self.kind(column).elements()).map(|i| self.element(b, i)).collect()
    }

    /// Whether the column is not null; `None` if it cannot be null.
    fn known(&mut self, b: &mut dyn Arithmetic, column: ColumnIndex) -> Option<Bool> {
        if let Some(known) = self.known.get(&column) {
            return *known;
        }
        let known = self.plan.schema().columns()[usize::from(column)].nullable.then(|| {
            let cell = self.cell(b, column);
            let mut null = vec![NULL];
            null.resize(cell.len(), ZERO);
            let null: Vec<Base> = null.into_iter().map(|x| b.constant(x)).collect();
            let is_null = all_equal(b, &cell, &null);
            b.not(is_null)
        });
        self.known.insert(column, known);
        known
    }

    /// The bit; 0 if the column is null.
    fn masked(&mut self, b: &mut dyn Arithmetic, bit: Bool, column: ColumnIndex) -> Bool {
        match self.known(b, column) {
            Some(known) => b.and(bit, known),
            None => bit,
        }
    }

    /// The encoded number of a column; 0 for null.
    fn number(&mut self, b: &mut dyn Arithmetic, column: ColumnIndex) -> Number {
        if let Some(number) = self.numbers.get(&column) {
            return *number;
        }
        let x = self.cell(b, column)[0];
        let x = match self.known(b, column) {
            Some(known) => b.mul(known.into(), x),
            None => x,
        };
        let number = Number::new(b, x);
        self.numbers.insert(column, number);
        number
    }

    /// The encoded number of a column in limbs of 24 bits; 0 for null.
    fn factor(&mut self, b: &mut dyn Arithmetic, column: ColumnIndex) -> [Base; FACTOR_LIMBS] {
        if let Some(limbs) = self.factors.get(&column) {
            return *limbs;
        }
        let x = self.number(b, column).x;
        let bits = PRODUCTS.limb_bits;
        let [low, rest] = split(b, x, bits as u32);
        let [middle, high] = split(b, rest, bits as u32);
        // Three limbs of 24 bits have more than 63 bits. The highest limb has 15 bits, so the limbs cannot encode the
        // number plus a multiple of p.
        for limb in [low, middle] {
            b.below(limb, bits);
        }
        let shifted = b.combine([ZERO, power(9), ZERO], high, high, high);
        b.below(shifted, bits);
        b.below(high, bits);
        let limbs = [low, middle, high];
        self.factors.insert(column, limbs);
        limbs
    }
}

/// The state of an accumulator after some rows.
pub(super) enum Sum {
    Count(Base),
    /// Limbs of 21 bits without carries.
    Numbers([Base; 3]),
    /// Limbs of products without carries.
    Products([Base; 2 * FACTOR_LIMBS - 1]),
    /// For each row a number, or the greatest number in its place; and the count of the rows with a number.
    Least(Vec<(Base, Base)>, Base),
}

impl Sum {
    fn new(b: &mut dyn Arithmetic, accumulator: &Accumulator) -> Self {
        let zero = b.zero();
        match accumulator {
            Accumulator::Count { .. } => Self::Count(zero),
            Accumulator::Sum { .. } => Self::Numbers([zero; 3]),
            Accumulator::Product { .. } => Self::Products([zero; 2 * FACTOR_LIMBS - 1]),
            Accumulator::Min { .. } | Accumulator::Max { .. } => Self::Least(Vec::new(), zero),
        }
    }

    /// Adds a row if the mask is 1.
    fn add(&mut self, b: &mut dyn Arithmetic, row: &mut Row<'_>, accumulator: &Accumulator, mask: Bool) {
        match (self, accumulator) {
            (Self::Count(sum), Accumulator::Count { .. }) => *sum = b.add(*sum, mask.into()),
            (Self::Numbers(sums), Accumulator::Sum { column, .. }) => {
                let limbs = row.number(b, *column).limbs;
                for (sum, limb) in sums.iter_mut().zip(limbs) {
                    *sum = b.mul_add(mask.into(), limb, *sum);
                }
            }
            (Self::Products(sums), Accumulator::Product { left, right }) => {
                let left = row.factor(b, *left).map(|limb| b.mul(mask.into(), limb));
                let right = row.factor(b, *right);
                for (i, l) in left.into_iter().enumerate() {
                    for (j, r) in right.into_iter().enumerate() {
                        sums[i + j] = b.mul_add(l, r, sums[i + j]);
                    }
                }
            }
            (Self::Least(rows, count), Accumulator::Min { column } | Accumulator::Max { column }) => {
                let number = row.number(b, *column);
                let turned = matches!(accumulator, Accumulator::Max { .. });
                // If the mask is 1: x for a minimum, and the greatest number minus x for a maximum. Otherwise the
                // greatest number.
                let mut chosen = |x: Base, greatest: u64| {
                    let greatest = b.constant(Goldilocks::new(greatest));
                    let x = if turned { x } else { b.sub(greatest, x) };
                    b.combine([-ONE, ZERO, ONE], mask.into(), x, greatest)
                };
                rows.push((chosen(number.x, GREATEST), chosen(number.top(), (1 << LIMB) - 1)));
                *count = b.add(*count, mask.into());
            }
            _ => unreachable!("a sum is of its accumulator"),
        }
    }

    pub(super) fn output(self, b: &mut dyn Arithmetic) -> Vec<Base> {
        match self {
            Self::Count(sum) => vec![sum],
            Self::Numbers([first, second, third]) => {
                // Each limb is below 2^33, for up to 2^12 rows.
                let zero = b.zero();
                let low = b.scale_add(power(LIMB), second, first);
                let [l0, carry] = halves(b, low);
                let high = b.scale_add(power(2 * LIMB - HALF as u32), third, carry);
                let [l1, l2] = halves(b, high);
                vec![l0, l1, l2, zero]
            }
            Self::Products(sums) => normalise(b, PRODUCTS, &sums),
            Self::Least(rows, count) => least(b, &rows, count),
        }
    }
}

/// The least of some numbers, as halves; 2^63 if `count` is 0. Each number comes with its highest limb, and `count`
/// counts the rows with a number.
///
/// The prover names the least number. No number is below it, and a product shows that one number is equal to it.
fn least(b: &mut dyn Arithmetic, rows: &[(Base, Base)], count: Base) -> Vec<Base> {
    let all: Vec<Base> = rows.iter().map(|row| row.0).collect();
    let named = b.any_of(&all, |x| x.iter().copied().min_by_key(|x| x.as_u64()).unwrap_or(ZERO));
    let named = Number::new(b, named);
    let zero = b.zero();
    let mut product = b.one();
    for &(x, top) in rows {
        // As in `at_least`, but without a bit.
        let difference = b.sub(x, named.x);
        let highest = Number::new(b, difference).top();
        let tops = b.sub(top, named.top());
        let borrow = b.sub(tops, highest);
        b.boolean(borrow);
        product = b.mul(product, difference);
    }
    b.equal(product, zero);
    let [low, high] = halves(b, named.x);
    let none = all_equal(b, &[count], &[zero]);
    let some = b.not(none);
    let end = b.constant(power(HALF as u32 - 1));
    vec![b.mul(some.into(), low), b.select(some, high, end)]
}

/// The smaller of two numbers of at most 2^63, as halves of 32 bits.
fn least_of(b: &mut dyn Arithmetic, left: [Base; 2], right: [Base; 2]) -> [Base; 2] {
    let of = [left, right].concat();
    // Whether left >= right: left - right for t = 1, or right - left - 1 for t = 0, is low + 2^32 high with both halves
    // below 2^32.
    let t = b.bit_of(&of, |x| {
        let [l, r] = [&x[..2], &x[2..]].map(|x| (x[1].as_u64(), x[0].as_u64()));
        Goldilocks::new((l >= r).into())
    });
    let borrows = b.bit_of(&of, |x| {
        let [l, r] = [&x[..2], &x[2..]].map(|x| (x[1].as_u64(), x[0].as_u64()));
        Goldilocks::new(if l >= r { l.1 < r.1 } else { r.1 <= l.1 }.into())
    });
    let not = b.not(t);
    let low = b.sub(left[0], right[0]);
    let low = b.combine([TWO, -ONE, -ONE], low, t.into(), not.into());
    let low = b.scale_add(power(HALF as u32), borrows.into(), low);
    let high = b.sub(left[1], right[1]);
    let high = b.combine([TWO, -ONE, -ONE], high, t.into(), borrows.into());
    b.below(low, HALF);
    b.below(high, HALF);
    [0, 1].map(|k| b.select(t, right[k], left[k]))
}

/// Bits of a carry in sums of products.
const CARRY: usize = 39;

/// The sum of two sums. Unsatisfiable if it has more bits than the width.
fn reduce_limbs(b: &mut dyn Arithmetic, width: Width, left: &[Base], right: &[Base]) -> Vec<Base> {
    let zero = b.zero();
    let mut carry = zero;
    let mut limbs = Vec::with_capacity(width.limbs);
    for (l, r) in left.iter().zip(right) {
        let sum = b.add(*l, *r);
        let sum = b.add(sum, carry);
        let [limb, next] = split(b, sum, width.limb_bits as u32);
        b.below(limb, width.limb_bits);
        carry = b.boolean(next).into();
        limbs.push(limb);
    }
    b.equal(carry, zero);
    limbs
}

/// The limbs, in range, of the integer whose limbs without carries are `columns`. Each of these is below 2^62.
fn normalise(b: &mut dyn Arithmetic, width: Width, columns: &[Base]) -> Vec<Base> {
    let zero = b.zero();
    let mut carry = zero;
    let mut limbs = Vec::with_capacity(width.limbs);
    for k in 0..width.limbs {
        let sum = columns.get(k).map_or(carry, |column| b.add(*column, carry));
        let [limb, next] = split(b, sum, width.limb_bits as u32);
        // limb + 2^24 next is below 2^24 + 2^24 2^39, so it is the sum itself, and not the sum plus a multiple of p.
        b.below(limb, width.limb_bits);
        b.below(next, CARRY);
        carry = next;
        limbs.push(limb);
    }
    b.equal(carry, zero);
    limbs
}
