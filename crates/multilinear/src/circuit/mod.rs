//! Circuits: rows of the [tables](evergrove_verifier::tables), connected by wires.
//!
//! **What.** [`Builder`] makes rows and returns typed wires ([`wires`]). [`Circuit`] is the result, with its fixed
//! columns and its [`Layout`]. [`Circuit::witness`] fills the committed columns, and [`Witness::check`] reports a
//! constraint or wire that does not hold.
//!
//! **Free data** enters by hashing: the prover chooses a half of a permutation's input, which is a wire, and may choose
//! a bit as the count of a tuple. A verifier puts all parts of a proof into a transcript, or checks that they hang on a
//! digest that is in the transcript.

mod arithmetic;
mod builder;
mod demands;
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

pub use arithmetic::{Arithmetic, Line};
pub use builder::{Builder, Half, Tree};
pub use demands::{Asked, Demand};
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
    /// Choices that follow from existing values, by rows of tuples.
    choices: HashMap<u32, Choice>,
    /// Rows of each table before padding.
    used: [usize; Table::ALL.len()],
    /// Whether it has public inputs.
    public: bool,
    /// The parameters of the proofs that it verifies, if any.
    verifies: Option<Parameters<K>>,
    /// The lines of code that make rows with demands. Not part of the key.
    demands: demands::Demands,
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
    /// Rows of a table, without the rows that fill its last block.
    pub fn rows(&self, table: Table) -> usize {
        self.used[table as usize]
    }
    /// The fixed columns of a row.
    pub fn fixed(&self, table: Table, row: usize) -> &[Goldilocks] {
        let width = self.tables.fixed(table);
        &self.fixed[table as usize][row * width..(row + 1) * width]
    }
    /// Rows of tuples with choices that honest provers derive from existing values: [`Builder::bit_of`],
    /// [`Builder::any_of`].
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
            // All numbers, if any is checked.
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

/// The role of the digest of a hash row besides a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Nothing,
    /// A leaf's digest before its last block: only the next row reads it.
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
    /// The wire that the result must equal.
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
    /// The count is subtracted (-1), added (1), or ignored (0).
    times: Goldilocks,
    /// The tree, for a node or a root.
    tree: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    /// An existing bit.
    Wire(Wire),
    /// A bit that the prover chooses.
    Bit,
    /// A number that the prover chooses.
    Any,
    /// How often a root is used.
    Root,
    /// How often the tuple is looked up.
    Uses,
}

/// The value that a prover fills in for its own choice.
#[derive(Clone, Debug)]
struct Choice {
    of: Vec<Wire>,
    hint: Hint,
}

/// The choice of an honest prover, from existing elements. It binds nothing; constraints do.
pub type Hint = fn(&[Goldilocks]) -> Goldilocks;

/// A point from its numbers.
#[derive(Clone, Debug)]
struct PointRow {
    numbers: PointNumbers,
    active: Wire,
}

/// The places of the numbers of a point.
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
    /// Elements that the step absorbs, which the prover chooses.
    absorbed: usize,
}
