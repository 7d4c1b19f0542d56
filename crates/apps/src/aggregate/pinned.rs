//! Queries by circuits of a small fixed family, whose keys the program pins.
//!
//! **What.** The circuits of a [`RowWidth`] answer every query with at most three conditions on numbers, two on contents, two sums, two extrema
//! and their counts ([`NotPinned`] says what does not fit), over rows of so many elements. Which columns it reads, the conditions and how they are joined are
//! *inputs*: one-hot vectors, constants and the coefficients of a polynomial, of which every statement has the digest. So a verifier needs one of twenty keys in a height
//! class, and [`RowWidth::key`] says their digests.
//!
//! **When.** Where verifiers should neither build circuits nor be told a digest for each shape of query. Other queries, and provers in a hurry, take circuits by
//! shape: they commit to about half as much for each row.
//!
//! **Neighbours.** A pinned plan is a [`Plan`] like others: accumulators of the family's list in its order ([`Query::pinned`] adds those that a query lacks). `tables` has the
//! circuits.

mod keys;
pub(super) mod tables;

pub use keys::PinnedKey;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::poseidon::{WIDTH, permute};
use evergrove_verifier::tables::permutation::RATE;

use super::answer::{Query, Reading};
use super::plan::{Kind, Plan};
use super::query::{Accumulator, ColumnIndex, NUMBER_END, Step, Test};

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;

/// Conditions on numbers.
const TESTS: usize = 3;
/// Conditions on contents.
const CONTENTS: usize = 2;
/// Counts of an output: of rows, of those with each of the sums' numbers, and of those with any one column.
const COUNTS: usize = SUMS + 2;
/// Sums of an output.
const SUMS: usize = 2;
/// Least and greatest numbers of an output.
const EXTREMA: usize = 2;
/// Columns of numbers that are read: one for each condition, sum and extremum, in this order.
const NUMBERS: usize = TESTS + SUMS + EXTREMA;
/// How much larger than their merges the circuits may be: a leaf takes three times as many operations as with circuits of a query's own, so that buckets would
/// be small.
pub(super) const LARGER: f64 = 1.4;
/// Elements of a content.
const CONTENT: usize = 4;
/// The greatest number.
const GREATEST: u64 = NUMBER_END - 1;

/// The greatest number of elements of rows that circuits are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowWidth {
    /// Rows of 1 to 4 elements, which are values.
    W4,
    /// 5 to 8.
    W8,
    /// 9 to 16.
    W16,
    /// 17 to 24.
    W24,
    /// 25 to 32.
    W32,
}

impl RowWidth {
    /// All of them, ascending.
    pub const ALL: [Self; 5] = [Self::W4, Self::W8, Self::W16, Self::W24, Self::W32];

    /// The greatest number of elements.
    pub const fn elements(self) -> usize {
        match self {
            Self::W4 => 4,
            Self::W8 => 8,
            Self::W16 => 16,
            Self::W24 => 24,
            Self::W32 => 32,
        }
    }
    /// The width of rows of so many elements, if there is one.
    pub fn of(elements: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|width| elements <= width.elements())
    }
    /// Steps of the sponge that hashes a row: none of rows that are values.
    const fn steps(self) -> usize {
        if self.elements() == 4 { 0 } else { self.elements() / RATE }
    }
    /// The fewest elements of a row.
    const fn fewest(self) -> usize {
        match self {
            Self::W4 => 1,
            Self::W8 => 5,
            _ => self.elements() - RATE + 1,
        }
    }
    /// Where a content may begin.
    const fn starts(self) -> usize {
        self.elements() - CONTENT + 1
    }
    /// What the circuits depend on.
    pub(super) fn shape(self) -> Vec<u8> {
        vec![super::plan::PINNED, self.elements() as u8]
    }
}

/// A query has no circuits with pinned keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPinned {
    /// The rows are too long.
    #[error("rows of {0} elements are longer than the {max} of circuits with pinned keys", max = RowWidth::W32.elements())]
    Width(usize),
    /// The table has no column of numbers.
    #[error("circuits with pinned keys are for tables with a column of numbers")]
    NoNumbers,
    /// Two columns are compared.
    #[error("circuits with pinned keys compare columns with constants alone, not with columns")]
    Columns,
    /// Products, variances, weighted averages, a histogram, an aggregate with a condition of its own, or groups are asked for.
    #[error(
        "circuits with pinned keys know COUNT, SUM, AVG, MIN and MAX of a column, without products, histograms, FILTER, CASE, GROUP BY, DISTINCT and LIKE"
    )]
    Products,
    /// The query counts more columns than the circuits have room for.
    #[error(
        "circuits with pinned keys count one more column than those that are added up, and have no room for the one of this query"
    )]
    Counted,
    /// More of something than there is room for.
    #[error("the query has {found} {what}, circuits with pinned keys have room for {room}")]
    Room {
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        room: usize,
    },
}

impl NotPinned {
    /// What to do instead.
    pub fn remedy(&self) -> &'static str {
        "leave out --pinned: the circuits follow from the query's shape then"
    }
}

/// One condition with what it gives to the filter: 1 where it holds, where it does not, or where the column is null.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Atom {
    column: ColumnIndex,
    constants: Vec<u64>,
    holds: bool,
    fails: bool,
    null: bool,
}

impl Atom {
    fn new(test: &Test, negated: bool, content: bool) -> Result<Self, NotPinned> {
        let (column, constants) = match *test {
            Test::Within { column, low, high } => (column, vec![low, high]),
            Test::Content { column, digest } => (column, digest.to_vec()),
            Test::Null { column } => {
                let constants = vec![0; if content { CONTENT } else { 2 }];
                return Ok(Self { column, constants, holds: negated, fails: negated, null: !negated });
            }
            Test::Less { .. } | Test::Equal { .. } => return Err(NotPinned::Columns),
        };
        Ok(Self { column, constants, holds: !negated, fails: negated, null: false })
    }
}

/// What the circuits of a width read and compute for one plan: their inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    width: RowWidth,
    /// Elements of a row.
    elements: usize,
    /// The columns that are read as numbers.
    numbers: [Option<ColumnIndex>; NUMBERS],
    tests: Vec<Atom>,
    contents: Vec<Atom>,
    /// Whether a row passes, by the bits of the conditions: those on numbers first, the first one lowest.
    passes: [bool; 1 << (TESTS + CONTENTS)],
    /// The position, among numbers and contents, of the column that must not be null for the last count.
    count: Option<usize>,
}

impl Program {
    /// What a plan comes to, whose accumulators are the family's.
    fn new(plan: &Plan) -> Result<Self, NotPinned> {
        let elements = plan.schema().elements_per_row();
        let width = RowWidth::of(elements).ok_or(NotPinned::Width(elements))?;
        let is_content = |column: ColumnIndex| !plan.schema().columns()[usize::from(column)].kind.is_number();
        let (mut tests, mut contents) = (Vec::new(), Vec::new());
        // For each condition in its order the bit that it has.
        let mut bits = Vec::new();
        for step in &plan.filter().steps {
            let Step::Test { test, negated } = step else { continue };
            let content = test.columns().next().is_some_and(is_content);
            let atom = Atom::new(test, *negated, content)?;
            let list = if content { &mut contents } else { &mut tests };
            let place = list.iter().position(|other| *other == atom).unwrap_or_else(|| {
                list.push(atom);
                list.len() - 1
            });
            bits.push(if content { TESTS + place } else { place });
        }
        let room =
            |what, found: usize, room| if found > room { Err(NotPinned::Room { what, found, room }) } else { Ok(()) };
        room("conditions on numbers", tests.len(), TESTS)?;
        room("conditions on contents", contents.len(), CONTENTS)?;
        let passes = core::array::from_fn(|assignment: usize| {
            let mut next = bits.iter();
            plan.filter().run(
                &mut (),
                |(), _, _| next.next().is_some_and(|bit| assignment >> bit & 1 == 1),
                |(), truths, all| if all { truths.iter().all(|t| *t) } else { truths.iter().any(|t| *t) },
            )
        });
        let mut numbers = [None; NUMBERS];
        for (place, test) in tests.iter().enumerate() {
            numbers[place] = Some(test.column);
        }
        let (sums, extrema) = (COUNTS..COUNTS + SUMS, COUNTS + SUMS..COUNTS + SUMS + EXTREMA);
        for (place, at) in sums.chain(extrema).enumerate() {
            numbers[TESTS + place] = match plan.accumulators()[at] {
                Accumulator::Sum { column, .. } | Accumulator::Min { column } | Accumulator::Max { column } => {
                    Some(column)
                }
                Accumulator::Count { .. } | Accumulator::Product { .. } => None,
            };
        }
        let Accumulator::Count { known, .. } = &plan.accumulators()[COUNTS - 1] else {
            return Err(NotPinned::Products);
        };
        let count = known.first().map(|&column| {
            let at = numbers.iter().position(|read| *read == Some(column));
            let at = at.or_else(|| contents.iter().position(|atom| atom.column == column).map(|at| NUMBERS + at));
            // A column that is only counted takes the place of a condition that is free.
            let place = |room: usize, taken: usize| Some(taken).filter(|taken| *taken < room);
            at.or_else(|| {
                if is_content(column) {
                    let atom = Atom { column, constants: vec![0; CONTENT], holds: false, fails: false, null: false };
                    contents.push(atom);
                    place(CONTENTS, contents.len() - 1).map(|at| NUMBERS + at)
                } else {
                    place(TESTS, tests.len()).inspect(|at| numbers[*at] = Some(column))
                }
            })
            .ok_or(NotPinned::Counted)
        });
        let count = count.transpose()?;
        Ok(Self { width, elements, numbers, tests, contents, passes, count })
    }

    /// The inputs of the circuits, in their order.
    fn inputs(&self, plan: &Plan) -> Vec<Goldilocks> {
        let bit = |x: bool| Goldilocks::new(x.into());
        let nullable = |column: ColumnIndex| plan.schema().columns()[usize::from(column)].nullable;
        let mut inputs = Vec::new();
        if self.width != RowWidth::W4 {
            inputs.push(plan.schema().row_tag());
        }
        inputs.extend((self.width.fewest()..self.width.elements()).map(|i| bit(i < self.elements)));
        for column in self.numbers {
            let at = column.map(|column| plan.offset(column));
            inputs.extend((0..self.width.elements()).map(|i| bit(at == Some(i))));
            inputs.push(bit(column.is_some_and(nullable)));
        }
        for place in 0..CONTENTS {
            let column = self.contents.get(place).map(|atom| atom.column);
            let at = column.map(|column| plan.offset(column));
            inputs.extend((0..self.width.starts()).map(|i| bit(at == Some(i))));
            inputs.push(bit(column.is_some_and(nullable)));
        }
        for (atoms, room, constants) in [(&self.tests, TESTS, 2), (&self.contents, CONTENTS, CONTENT)] {
            for place in 0..room {
                let atom = atoms.get(place);
                inputs.extend((0..constants).map(|i| Goldilocks::new(atom.map_or(0, |atom| atom.constants[i]))));
                let [holds, fails, null] = atom.map_or([ZERO; 3], |a| [a.holds, a.fails, a.null].map(bit));
                inputs.extend([holds - fails, fails - null, null]);
            }
        }
        inputs.extend(coefficients(&self.passes));
        inputs.push(bit(self.count.is_none()));
        inputs.extend((0..NUMBERS + CONTENTS).map(|at| bit(self.count == Some(at))));
        for accumulator in &plan.accumulators()[COUNTS + SUMS..] {
            let least = matches!(accumulator, Accumulator::Min { .. });
            inputs.extend([if least { -ONE } else { ONE }, bit(least)]);
        }
        inputs
    }
}

/// The coefficients of the polynomial, of degree at most one in each variable, with these values on bits: that of no variable first, then x_0, x_1, x_0 x_1, ..
fn coefficients(values: &[bool]) -> Vec<Goldilocks> {
    let mut f: Vec<Goldilocks> = values.iter().map(|x| Goldilocks::new((*x).into())).collect();
    let mut half = 1;
    while half < f.len() {
        for pair in f.chunks_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            high.iter_mut().zip(low).for_each(|(high, low)| *high -= *low);
        }
        half *= 2;
    }
    f
}

/// Whether accumulators are the family's, in its order.
fn in_order(accumulators: &[Accumulator]) -> bool {
    let kinds = [(Kind::Count, COUNTS), (Kind::Limbs(super::SUM), SUMS), (Kind::Least, EXTREMA)];
    let kinds = kinds.into_iter().flat_map(|(kind, n)| core::iter::repeat_n(kind, n));
    let all = Accumulator::Count { known: vec![], at_least: None };
    accumulators.iter().map(Accumulator::kind).eq(kinds)
        && accumulators.iter().all(fits)
        && accumulators[0] == all
        && accumulators[1..=SUMS].iter().eq(accumulators[COUNTS..]
            .iter()
            .take(SUMS)
            .map(counted)
            .collect::<Vec<_>>()
            .iter())
}

/// The count of the rows that a sum adds up.
fn counted(sum: &Accumulator) -> Accumulator {
    let known = match sum {
        Accumulator::Sum { known, .. } => known.clone(),
        _ => vec![],
    };
    Accumulator::Count { known, at_least: None }
}

/// Whether an accumulator reads no columns but one.
fn fits(accumulator: &Accumulator) -> bool {
    match accumulator {
        Accumulator::Count { known, at_least } => known.len() <= 1 && at_least.is_none(),
        Accumulator::Sum { column, known } => known.iter().all(|known| known == column),
        Accumulator::Product { .. } => false,
        Accumulator::Min { .. } | Accumulator::Max { .. } => true,
    }
}

impl Plan {
    /// The plan with circuits of a width, whose accumulators are the family's.
    pub(super) fn with_pinned_key(self) -> Result<Self, NotPinned> {
        if !in_order(&self.accumulators) || !self.conditions.is_empty() {
            return Err(NotPinned::Products);
        }
        let program = Program::new(&self)?;
        Ok(Self { width: Some(program.width), ..self })
    }

    /// The inputs of the circuits with pinned keys.
    pub(super) fn pinned_inputs(&self) -> Vec<Goldilocks> {
        // `with_pinned_key` has made it before.
        Program::new(self).map_or(Vec::new(), |program| program.inputs(self))
    }

    /// The free data that open a row: an opening with what the sponge has where the row has ended.
    pub(super) fn free(&self, mut opening: Vec<Goldilocks>) -> Vec<Goldilocks> {
        let whole = opening.len() / RATE * RATE;
        if self.width.is_some() && whole > 0 && whole < opening.len() {
            let mut state = [ZERO; WIDTH];
            state[RATE] = self.schema().row_tag();
            for block in opening[..whole].chunks(RATE) {
                state[..RATE].copy_from_slice(block);
                permute(&mut state);
            }
            opening.extend_from_slice(&state[opening.len() - whole..RATE]);
        }
        opening.resize(self.width.map_or(0, RowWidth::elements).max(opening.len()).max(RATE), ZERO);
        opening
    }
}

impl Query {
    /// The same query by circuits with pinned keys: its plan has the accumulators of all of the family's.
    ///
    /// # Errors
    /// [`NotPinned`] where it does not fit.
    pub fn pinned(&self) -> Result<Self, NotPinned> {
        let (plan, schema) = (&self.plan, self.plan.schema());
        if !plan.accumulators().iter().all(fits)
            || !plan.conditions().is_empty()
            || self.groups.is_some()
            || !self.complete.is_empty()
        {
            return Err(NotPinned::Products);
        }
        let of = |kind: Kind| plan.accumulators().iter().filter(move |a| a.kind() == kind).cloned().collect::<Vec<_>>();
        let [counts, mut sums, mut extrema] = [Kind::Count, Kind::Limbs(super::SUM), Kind::Least].map(of);
        let room =
            |what, found: usize, room| if found > room { Err(NotPinned::Room { what, found, room }) } else { Ok(()) };
        room("sums", sums.len(), SUMS)?;
        room("least and greatest numbers", extrema.len(), EXTREMA)?;
        let is_number = |column: &ColumnIndex| super::query::number(schema, *column).is_ok();
        let sum = |column: ColumnIndex| {
            let known = if schema.columns()[usize::from(column)].nullable { vec![column] } else { vec![] };
            Accumulator::Sum { column, known }
        };
        // A column that is counted is added up, if it can be.
        let is_there = |sums: &[Accumulator], count: &Accumulator| {
            *count == Accumulator::Count { known: vec![], at_least: None }
                || sums.iter().any(|sum| counted(sum) == *count)
        };
        for count in &counts {
            if let Accumulator::Count { known, .. } = count
                && let Some(&column) = known.first().filter(|column| is_number(column))
                && sums.len() < SUMS
                && !is_there(&sums, count)
            {
                sums.push(sum(column));
            }
        }
        // What a query lacks is of a column that is read anyway, if there is one.
        let all = 0..schema.columns().len() as ColumnIndex;
        let column = plan.columns().into_iter().chain(all).find(is_number).ok_or(NotPinned::NoNumbers)?;
        sums.resize(SUMS, sum(column));
        extrema.resize(EXTREMA, Accumulator::Min { column });
        let mut others = counts.iter().filter(|count| !is_there(&sums, count));
        let last = others.next().cloned().unwrap_or(Accumulator::Count { known: vec![], at_least: None });
        if others.next().is_some() {
            return Err(NotPinned::Counted);
        }
        let mut accumulators = vec![Accumulator::Count { known: vec![], at_least: None }];
        accumulators.extend(sums.iter().map(counted));
        accumulators.push(last);
        accumulators.extend(sums.into_iter().chain(extrema));
        // The same schema and filter, and accumulators of its columns.
        let plan = Plan { accumulators, ..plan.clone() }.with_pinned_key()?;
        let at = |old: usize| {
            plan.accumulators.iter().position(|a| *a == self.plan.accumulators[old]).expect("a place for each")
        };
        let moved = |(name, reading): &(String, Reading)| Some((name.clone(), reading.moved(&at)?));
        let readings = self.readings.iter().map(moved).collect::<Option<_>>().ok_or(NotPinned::Products)?;
        Ok(Self { plan, readings, groups: None, complete: vec![] })
    }
}
