//! Queries with circuits of a small fixed set, whose keys are pinned in the program.
//!
//! **What.** The circuits of a [`RowWidth`] answer every query with at most three conditions on numbers, two on
//! contents, two sums, two extrema and their counts, over rows of up to that many elements ([`NotPinned`] says what
//! does not fit). The columns of a query, its conditions and their connectives are *inputs*: one-hot vectors, constants
//! and the coefficients of a polynomial. Every statement has the digest of the inputs. A verifier therefore needs one
//! of twenty keys in a height class; [`RowWidth::key`] returns their digests.
//!
//! **When.** For verifiers that should neither build circuits nor be told a digest for each shape of query. Other
//! queries, and provers that need speed, use circuits by shape, which commit to about half as much for each row.
//!
//! **Neighbours.** A pinned plan is a [`Plan`] whose accumulators are those of the fixed set, in its order
//! ([`Query::pinned`] adds the missing ones). The circuits are in `tables`.

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

/// The most conditions on numbers.
const TESTS: usize = 3;
/// The most conditions on contents.
const CONTENTS: usize = 2;
/// Counts of an output: of rows, of rows with a number in the column of each sum, and of rows with a known value in one
/// more column.
const COUNTS: usize = SUMS + 2;
/// The number of sums of an output.
const SUMS: usize = 2;
/// The number of extrema of an output.
const EXTREMA: usize = 2;
/// The number of columns that are read as numbers: one for each condition, sum and extremum, in this order.
const NUMBERS: usize = TESTS + SUMS + EXTREMA;
/// How many times larger than their merges the circuits may be. A leaf takes three times as many operations as with
/// circuits of the query's own, so buckets would be small otherwise.
pub(super) const LARGER: f64 = 1.4;
/// Elements of a content, which is a hash, a UUID or a number of 128 bits.
const CONTENT: usize = 4;
/// The greatest encoded number.
const GREATEST: u64 = NUMBER_END - 1;

/// The greatest number of elements of a row that the circuits read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowWidth {
    /// Rows of 1 to 4 elements, which are the slots' values.
    W4,
    /// Rows of 5 to 8 elements.
    W8,
    /// Rows of 9 to 16 elements.
    W16,
    /// Rows of 17 to 24 elements.
    W24,
    /// Rows of 25 to 32 elements.
    W32,
}

impl RowWidth {
    /// All widths, in ascending order.
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
    /// The width for rows of this many elements; `None` if rows are too long.
    pub fn of(elements: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|width| elements <= width.elements())
    }
    /// Steps of the sponge that hashes a row; 0 if rows are values.
    const fn steps(self) -> usize {
        if self.elements() == 4 { 0 } else { self.elements() / RATE }
    }
    /// The least number of elements of a row.
    const fn fewest(self) -> usize {
        match self {
            Self::W4 => 1,
            Self::W8 => 5,
            _ => self.elements() - RATE + 1,
        }
    }
    /// The number of places at which a content may begin.
    const fn starts(self) -> usize {
        self.elements() - CONTENT + 1
    }
    /// The parameters of the circuits.
    pub(super) fn shape(self) -> Vec<u8> {
        vec![super::plan::PINNED, self.elements() as u8]
    }
}

/// Reasons why a query has no circuits with pinned keys.
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
    /// The query asks for products, variances, weighted averages, a histogram, an aggregate with a condition of its
    /// own, or groups.
    #[error(
        "circuits with pinned keys know COUNT, SUM, AVG, MIN and MAX of a column, without products, histograms, FILTER, CASE, GROUP BY, DISTINCT and LIKE"
    )]
    Products,
    /// The query counts more columns than the circuits have room for.
    #[error(
        "circuits with pinned keys count one more column than those that are added up, and have no room for the one of this query"
    )]
    Counted,
    /// The query has more items of one kind than the circuits have room for.
    #[error("the query has {found} {what}, circuits with pinned keys have room for {room}")]
    Room {
        /// The kind of item.
        what: &'static str,
        /// The number of items.
        found: usize,
        /// The number of items that fit.
        room: usize,
    },
}

impl NotPinned {
    /// The remedy.
    pub fn remedy(&self) -> &'static str {
        "leave out --pinned: the circuits follow from the query's shape then"
    }
}

/// One condition, and the bit that it gives to the filter if it holds, if it fails, and if the column is null.
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

/// The inputs of a width's circuits for one plan: what they read and compute.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    width: RowWidth,
    /// Elements per row.
    elements: usize,
    /// The columns that the circuits read as numbers.
    numbers: [Option<ColumnIndex>; NUMBERS],
    tests: Vec<Atom>,
    contents: Vec<Atom>,
    /// Whether a row passes, indexed by the bits of the conditions: first those on numbers, the first of them in the
    /// lowest bit.
    passes: [bool; 1 << (TESTS + CONTENTS)],
    /// The position, among numbers and contents, of the column that the last count requires to be known.
    count: Option<usize>,
}

impl Program {
    /// The program of a plan, whose accumulators must be those of the fixed set.
    fn new(plan: &Plan) -> Result<Self, NotPinned> {
        let elements = plan.schema().elements_per_row();
        let width = RowWidth::of(elements).ok_or(NotPinned::Width(elements))?;
        let is_content = |column: ColumnIndex| !plan.schema().columns()[usize::from(column)].kind.is_number();
        let (mut tests, mut contents) = (Vec::new(), Vec::new());
        // The bit of each condition, in the order of the conditions.
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
            // A column that is only counted takes an unused place of a condition.
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

    /// The inputs of the circuits, in order.
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

/// The coefficients of the multilinear polynomial with these values on bits, in the order 1, x_0, x_1, x_0 x_1, ..
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

/// True if the accumulators are those of the fixed set, in its order.
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

/// The count of the rows that go into a sum.
fn counted(sum: &Accumulator) -> Accumulator {
    let known = match sum {
        Accumulator::Sum { known, .. } => known.clone(),
        _ => vec![],
    };
    Accumulator::Count { known, at_least: None }
}

/// True if an accumulator reads at most one column.
fn fits(accumulator: &Accumulator) -> bool {
    match accumulator {
        Accumulator::Count { known, at_least } => known.len() <= 1 && at_least.is_none(),
        Accumulator::Sum { column, known } => known.iter().all(|known| known == column),
        Accumulator::Product { .. } => false,
        Accumulator::Min { .. } | Accumulator::Max { .. } => true,
    }
}

impl Plan {
    /// The plan with circuits of a width. Its accumulators must be those of the fixed set.
    pub(super) fn with_pinned_key(self) -> Result<Self, NotPinned> {
        if !in_order(&self.accumulators) || !self.conditions.is_empty() {
            return Err(NotPinned::Products);
        }
        let program = Program::new(&self)?;
        Ok(Self { width: Some(program.width), ..self })
    }

    /// The inputs of the circuits with pinned keys.
    pub(super) fn pinned_inputs(&self) -> Vec<Goldilocks> {
        // `with_pinned_key` has already built this program without an error.
        Program::new(self).map_or(Vec::new(), |program| program.inputs(self))
    }

    /// The free data that opens a row: the opening, then the sponge's state where a row ends within a block.
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
    /// The same query with circuits with pinned keys. Its plan has all accumulators of the fixed set.
    ///
    /// # Errors
    /// [`NotPinned`] if the query does not fit.
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
        // A column that is counted is also summed, if it is a column of numbers.
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
        // Missing accumulators use a column that the query reads, if there is a column of numbers among these.
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
        // The schema and the filter are unchanged, and the accumulators use their columns.
        let plan = Plan { accumulators, ..plan.clone() }.with_pinned_key()?;
        let at = |old: usize| {
            plan.accumulators.iter().position(|a| *a == self.plan.accumulators[old]).expect("a place for each")
        };
        let moved = |(name, reading): &(String, Reading)| Some((name.clone(), reading.moved(&at)?));
        let readings = self.readings.iter().map(moved).collect::<Option<_>>().ok_or(NotPinned::Products)?;
        Ok(Self { plan, readings, groups: None, complete: vec![] })
    }
}
