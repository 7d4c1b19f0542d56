//! Circuits: rows of the [tables](evergrove_verifier::tables), connected by wires.
//!
//! **What.** [`Builder`] makes rows and hands out typed wires ([`wires`]); [`Circuit`] is the result, with its fixed columns and its
//! [`Layout`]; [`Circuit::witness`] fills the committed columns, and [`Witness::check`] says which constraint or wire does not hold.
//!
//! **Free data** enters by hashing: a half of a permutation's input is a wire of the prover's choice, and a tuple's count may be a bit of its choice. A
//! verifier puts whatever a proof consists of into a transcript, or checks that it hangs on a digest that was.

mod arithmetic;
mod builder;
mod fill;
mod fixed;
mod keccak;
mod machine;
mod points;
mod stream;
pub mod wires;
mod witness;

use std::collections::HashMap;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use evergrove_verifier::argument::Parameters;
use evergrove_verifier::tables::{BLOCK, Layout, Table, Tables, WORD, addition, point, range};
use wires::Wire;

pub use arithmetic::Arithmetic;
pub use builder::{Builder, Half, Tree};
pub use keccak::{BLOCK_HALVES, BLOCK_WORDS, PADDING_END};
pub use machine::InCircuit;
pub use stream::{BLOCK_BYTES, Stream};
pub use witness::{Fault, Witness};

/// A circuit.
#[derive(Clone, Debug)]
pub struct Circuit<K> {
    tables: Tables<K>,
    layout: Layout,
    rows: Rows,
    /// Fixed columns of each table, row by row.
    fixed: [Vec<Goldilocks>; Table::ALL.len()],
    /// Rows in the order in which they can be filled.
    order: Vec<(Table, u32)>,
    trees: Vec<Tree>,
    /// Choices that follow from what is there, by rows of tuples.
    choices: HashMap<u32, Choice>,
    /// Rows of each table before padding.
    used: [usize; Table::ALL.len()],
    /// Whether it has public inputs.
    public: bool,
    /// The parameters of the proofs that it verifies, if any.
    verifies: Option<Parameters<K>>,
}

impl<K: Extension> Circuit<K> {
    /// The parameters of its tables.
    pub fn tables(&self) -> &Tables<K> {
        &self.tables
    }
    /// Heights and places.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
    /// Rows of a table, without those that fill its last block.
    pub fn rows(&self, table: Table) -> usize {
        self.used[table as usize]
    }
    /// The fixed columns of a row.
    pub fn fixed(&self, table: Table, row: usize) -> &[Goldilocks] {
        let width = self.tables.fixed(table);
        &self.fixed[table as usize][row * width..(row + 1) * width]
    }
    /// Rows of tuples with choices that honest provers take from what is there: [`Builder::bit_of`], [`Builder::any_of`].
    pub fn choices(&self) -> impl Iterator<Item = u32> {
        let mut rows: Vec<u32> = self.choices.keys().copied().collect();
        rows.sort_unstable();
        rows.into_iter()
    }
    pub(crate) fn publishes(&self) -> bool {
        self.public
    }
    pub(crate) fn verifies(&self) -> Option<&Parameters<K>> {
        self.verifies.as_ref()
    }
    /// The stack of fixed columns.
    pub fn fixed_stack(&self) -> Vec<Goldilocks> {
        let mut elements = vec![Goldilocks::ZERO; self.layout.fixed().elements()];
        let rows = |table| (&self.fixed[table as usize][..], self.tables.fixed(table));
        fill::stack::write_rows(self.layout.fixed(), rows, &mut elements);
        elements
    }
}

/// The rows of all tables.
#[derive(Clone, Debug, Default)]
struct Rows {
    permutations: Vec<Permutation>,
    operations: Vec<Operation>,
    dots: Vec<Dot>,
    queries: Vec<Query>,
    bits: Vec<BitsRow>,
    constants: Vec<[Goldilocks; WORD]>,
    tuples: Vec<Tuple>,
    sponges: Vec<Sponge>,
    points: Vec<PointRow>,
    additions: Vec<Addition>,
    keccak: keccak::Rows,
    stream: stream::Rows,
}

impl Rows {
    fn len(&self, table: Table) -> usize {
        match table {
            Table::Permutation => self.permutations.len(),
            Table::Operation => self.operations.len(),
            Table::Dot => self.dots.len(),
            Table::Query => self.queries.len(),
            Table::Bits => self.bits.len(),
            Table::Constant => self.constants.len(),
            Table::Tuple => self.tuples.len(),
            Table::Sponge => self.sponges.len(),
            // All numbers, where any is checked.
            Table::Range if self.points.is_empty() && self.additions.is_empty() => 0,
            Table::Range => range::ROWS,
            Table::Point => self.points.len(),
            Table::Addition => self.additions.len(),
            Table::Keccak | Table::KeccakLookup | Table::KeccakAbsorb | Table::KeccakPlane | Table::KeccakGate => {
                self.keccak.len(table)
            }
            Table::Bytes | Table::Read => self.stream.len(table),
        }
    }
    fn blocks(&self) -> [usize; Table::ALL.len()] {
        Table::ALL.map(|table| self.len(table).div_ceil(BLOCK))
    }
}

#[derive(Clone, Debug)]
enum Permutation {
    Hash {
        h: Wire,
        halves: [Half; 2],
        /// Halves are two elements of K.
        field: bool,
        end: End,
    },
    Node,
    /// Fills the last block.
    Idle,
}

/// What the digest of a hash row is besides a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Nothing,
    /// A leaf's before its last block: the next row alone reads it.
    Part,
    /// The leaf at this index, on this level; an opening of this tree.
    Leaf {
        index: Wire,
        tree: usize,
    },
    /// The digest of the public inputs.
    Public,
}

#[derive(Clone, Debug)]
struct Operation {
    q: [Goldilocks; 3],
    operands: [Wire; 3],
    /// The wire that the result must be.
    check: Option<Wire>,
}

#[derive(Clone, Debug)]
struct Dot {
    x: Wire,
    weights: [Wire; WORD],
    before: Wire,
}

#[derive(Clone, Debug)]
struct Query {
    index: Wire,
    r: Vec<Wire>,
}

#[derive(Clone, Debug)]
struct BitsRow {
    /// The fixed columns that are 1.
    modes: Vec<usize>,
    element: Wire,
}

#[derive(Clone, Debug)]
struct Tuple {
    space: Goldilocks,
    /// Key, level, word.
    values: [Wire; 3],
    count: Count,
    /// The count is used up (-1) or added (1), or stands for nothing (0).
    times: Goldilocks,
    /// Of a node or a root, its tree.
    tree: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    /// A bit that is there.
    Wire(Wire),
    /// A bit of the prover's choice.
    Bit,
    /// A number of the prover's choice.
    Any,
    /// How often a root is used.
    Root,
    /// How often the tuple is looked up.
    Uses,
}

/// What a prover fills in for a choice of its own.
#[derive(Clone, Debug)]
struct Choice {
    of: Vec<Wire>,
    hint: Hint,
}

/// What an honest prover chooses, from elements that are there. It binds nothing: constraints do.
pub type Hint = fn(&[Goldilocks]) -> Goldilocks;

/// A point from its numbers.
#[derive(Clone, Debug)]
struct PointRow {
    numbers: PointNumbers,
    active: Wire,
}

/// Where the numbers of a point are.
#[derive(Clone, Debug)]
enum PointNumbers {
    Words([Wire; point::NUMBERS.div_ceil(WORD)]),
    Apart([Wire; point::NUMBERS]),
}

/// A sum of two points.
#[derive(Clone, Debug)]
struct Addition {
    operands: [[Wire; addition::WORDS]; 2],
    chord: addition::Chord,
}

/// A step of a sponge.
#[derive(Clone, Debug)]
struct Sponge {
    capacity: Wire,
    /// The step before.
    previous: Option<u32>,
    /// Elements that the step absorbs, of the prover's choice.
    absorbed: usize,
}
