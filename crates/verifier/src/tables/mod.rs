//! The tables of a circuit: their columns, constraints and ports.
//!
//! A circuit is a list of rows in eighteen tables ([`Table`]). A row has *committed* columns, which the prover fills,
//! and *fixed* columns, which are the circuit. The *bus* connects rows: each port ([`Port`]) of a row puts a tuple on
//! the bus with a multiplicity, and the multiplicities of equal tuples must sum to 0. There is no other connection
//! between rows. A table that needs values of the row before (such as byte machines and Keccak) hands them over by a
//! tuple whose key is the row's number, in a namespace of its own.
//!
//! **Wires.** A wire is a tuple ([`WIRE`], number, 0, word): its definition has the number of its uses as multiplicity,
//! and each use takes one. The number of a wire is the place of its definition on the bus, so no wire has two
//! definitions. A *word* is four elements of F: a digest, four values, or an element of K and zeros.
//!
//! **Constraints** are written once, here: [`Tables::constraints`] and [`Tables::ports`] are generic over [`Algebra`].
//! A constraint has degree at most [`DEGREE`] in the columns.

pub mod addition;
pub mod bits;
#[cfg_attr(not(feature = "mpt"), allow(dead_code, reason = "keys with these tables are refused"))]
pub mod bytes;
pub mod congruence;
pub mod constant;
pub mod dot;
pub mod keccak;
pub mod keccak_absorb;
#[cfg_attr(not(feature = "mpt"), allow(dead_code, reason = "keys with these tables are refused"))]
pub mod keccak_gate;
pub mod keccak_lookup;
pub mod keccak_plane;
mod layout;
pub mod operation;
pub mod permutation;
pub mod point;
pub mod query;
pub mod range;
#[cfg_attr(not(feature = "mpt"), allow(dead_code, reason = "keys with these tables are refused"))]
pub mod read;
mod shape;
pub mod sponge;
pub mod tuple;

use alloc::vec::Vec;
use core::marker::PhantomData;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use crate::algebra::Algebra;
use congruence::Congruence;

pub use layout::{Layout, Piece, Place, Stack};
pub use shape::{BLOCK, BLOCK_LOG, DEGREE, MAX_BLOCKS, Shape, ShapeError};

/// Elements of a word.
pub const WORD: usize = 4;
/// Elements of a tuple: namespace, key, level, word.
pub const TUPLE: usize = 3 + WORD;

/// Namespace of wires.
pub const WIRE: Goldilocks = Goldilocks::new(1);
/// Namespace of the nodes of Merkle trees: (index, level, digest).
pub const NODE: Goldilocks = Goldilocks::new(2);
/// Namespace of the digest of the public inputs.
pub const PUBLIC: Goldilocks = Goldilocks::new(3);
/// Namespace of the elements of multisets: (number of the set, 0, word).
pub const SET: Goldilocks = Goldilocks::new(4);
/// Namespace of the numbers below 2^16: (number).
pub const RANGE: Goldilocks = Goldilocks::new(5);
/// Namespace of lanes of Keccak states: (key, half, four values).
pub const LANE: Goldilocks = Goldilocks::new(6);
/// Namespace of the lookup table of Keccak's rounds: (key, turned, plain, 0, 0, 0).
pub const LOOKUP: Goldilocks = Goldilocks::new(7);
/// Namespace of bytes that are read: (address, kind, four halves).
pub const BYTES: Goldilocks = Goldilocks::new(8);

/// A kind of row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// A Poseidon permutation.
    Permutation,
    /// d = q0 a b + q1 a + q2 c in K.
    Operation,
    /// Four more terms of a sum of products of F and K.
    Dot,
    /// The weight of a query of an oracle.
    Query,
    /// The 64 bits of an element of F.
    Bits,
    /// A constant word.
    Constant,
    /// A tuple of wires.
    Tuple,
    /// A Poseidon permutation whose whole state is wires.
    Sponge,
    /// A number below 2^16.
    Range,
    /// A point of BLS12-381 G1.
    Point,
    /// A sum of two such points.
    Addition,
    /// Three rounds of Keccak.
    Keccak,
    /// The lookup table of Keccak's rounds.
    KeccakLookup,
    /// Two lanes that go into a Keccak state.
    KeccakAbsorb,
    /// The last step of a Keccak permutation, on a plane.
    KeccakPlane,
    /// Five lanes of a Keccak state, or zeros.
    KeccakGate,
    /// Sixteen bytes.
    Bytes,
    /// The bytes at an address.
    Read,
}

impl Table {
    /// All of them, in the order of formats.
    pub const ALL: [Self; 18] = [
        Self::Permutation,
        Self::Operation,
        Self::Dot,
        Self::Query,
        Self::Bits,
        Self::Constant,
        Self::Tuple,
        Self::Sponge,
        Self::Range,
        Self::Point,
        Self::Addition,
        Self::Keccak,
        Self::KeccakLookup,
        Self::KeccakAbsorb,
        Self::KeccakPlane,
        Self::KeccakGate,
        Self::Bytes,
        Self::Read,
    ];

    /// Blocks of all tables; tables after the first `N` have no blocks.
    pub fn blocks<const N: usize>(first: [usize; N]) -> [usize; Self::ALL.len()] {
        core::array::from_fn(|table| first.get(table).copied().unwrap_or(0))
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Permutation => "permutation",
            Self::Operation => "operation",
            Self::Dot => "dot",
            Self::Query => "query",
            Self::Bits => "bits",
            Self::Constant => "constant",
            Self::Tuple => "tuple",
            Self::Sponge => "sponge",
            Self::Range => "range",
            Self::Point => "point",
            Self::Addition => "addition",
            Self::Keccak => "keccak",
            Self::KeccakLookup => "keccak-lookup",
            Self::KeccakAbsorb => "keccak-absorb",
            Self::KeccakPlane => "keccak-plane",
            Self::KeccakGate => "keccak-gate",
            Self::Bytes => "bytes",
            Self::Read => "read",
        }
    }
}

/// The tuple that a port of a row puts on the bus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Port<V> {
    /// Its multiplicity: -1 for a use, the number of uses for a definition.
    pub multiplicity: V,
    /// Namespace, key, level, word.
    pub tuple: [V; TUPLE],
    /// The number of elements that may be nonzero: a verifier need not process the others.
    pub len: usize,
}

/// The values of a row, or of all columns at a point.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a, V> {
    /// Committed columns.
    pub columns: &'a [V],
    /// Fixed columns.
    pub fixed: &'a [V],
    /// The number of the row: a wire that is defined at port j of the row has this number plus `places[j]`.
    pub number: V,
    /// The first place of each port of the table on the bus.
    pub places: &'a [Goldilocks],
}

/// The parameters of the tables over K.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables<K> {
    query: query::Parameters,
    bits: bits::Parameters,
    field: PhantomData<K>,
}

impl<K: Extension> Tables<K> {
    /// Tables whose queries and bits have these parameters.
    ///
    /// # Panics
    /// Unless queries have 1 to 32 bits, and a variable.
    pub fn new(query: query::Parameters, bits: bits::Parameters) -> Self {
        assert!((1..=32).contains(&query.bits) && query.variables > 0, "queries of {} bits", query.bits);
        Self { query, bits, field: PhantomData }
    }
    /// The parameters of queries.
    pub fn query(&self) -> &query::Parameters {
        &self.query
    }
    /// The parameters of bits.
    pub fn bits(&self) -> &bits::Parameters {
        &self.bits
    }
    /// Committed columns, fixed columns, ports of a row.
    fn widths(&self, table: Table) -> [usize; 3] {
        match table {
            Table::Permutation => [permutation::COLUMNS, permutation::FIXED, permutation::PORTS],
            Table::Operation => [operation::columns::<K>(), operation::FIXED, operation::PORTS],
            Table::Dot => [dot::columns::<K>(), dot::FIXED, dot::PORTS],
            Table::Query => [self.query.columns::<K>(), self.query.fixed(), self.query.ports()],
            Table::Bits => [bits::COLUMNS, self.bits.fixed(), bits::PORTS],
            Table::Constant => [0, constant::FIXED, 1],
            Table::Tuple => [tuple::COLUMNS, tuple::FIXED, tuple::PORTS],
            Table::Sponge => [sponge::COLUMNS, sponge::FIXED, sponge::PORTS],
            Table::Range => [range::COLUMNS, 0, 1],
            Table::Point => [point::COLUMNS, point::FIXED, point::PORTS],
            Table::Addition => [addition::COLUMNS, addition::FIXED, addition::PORTS],
            Table::Keccak => [keccak::COLUMNS, keccak::FIXED, keccak::PORTS],
            Table::KeccakLookup => [keccak_lookup::COLUMNS, keccak_lookup::FIXED, 1],
            Table::KeccakAbsorb => [keccak_absorb::COLUMNS, keccak_absorb::FIXED, keccak_absorb::PORTS],
            Table::KeccakPlane => [keccak_plane::COLUMNS, keccak_plane::FIXED, keccak_plane::PORTS],
            Table::KeccakGate => [keccak_gate::COLUMNS, keccak_gate::FIXED, keccak_gate::PORTS],
            Table::Bytes => [bytes::COLUMNS, bytes::FIXED, bytes::PORTS],
            Table::Read => [read::COLUMNS, read::FIXED, read::PORTS],
        }
    }
    /// Committed columns.
    pub fn columns(&self, table: Table) -> usize {
        self.widths(table)[0]
    }
    /// Fixed columns.
    pub fn fixed(&self, table: Table) -> usize {
        self.widths(table)[1]
    }
    /// Ports of a row.
    pub fn ports_of(&self, table: Table) -> usize {
        self.widths(table)[2]
    }
    /// True of a table whose rows are Poseidon permutations.
    pub fn permutes(table: Table) -> bool {
        matches!(table, Table::Permutation | Table::Sponge)
    }
    /// The constraints of a row, each 0 on a valid row, appended to `out`.
    ///
    /// # Panics
    /// Unless the row has as many values as the table has columns.
    pub fn constraints<A: Algebra>(&self, table: Table, f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<A::V>) {
        match table {
            Table::Permutation => permutation::constraints::<K, A>(f, row, out),
            Table::Operation => operation::constraints::<K, A>(f, row, out),
            Table::Dot => dot::constraints::<K, A>(f, row, out),
            Table::Query => self.query.constraints::<K, A>(f, row, out),
            Table::Bits => self.bits.constraints(f, row, out),
            Table::Constant | Table::Range | Table::Keccak | Table::KeccakLookup => {}
            Table::KeccakGate | Table::Read => {}
            Table::Tuple => tuple::constraints(f, row, out),
            Table::Sponge => sponge::constraints(f, row, out),
            Table::Point => point::constraints(f, row, out),
            Table::Addition => addition::constraints(f, row, out),
            Table::KeccakAbsorb => keccak_absorb::constraints(f, row, out),
            Table::KeccakPlane => keccak_plane::constraints(f, row, out),
            #[cfg(feature = "mpt")]
            Table::Bytes => bytes::constraints(f, row, out),
            #[cfg(not(feature = "mpt"))]
            Table::Bytes => {}
        }
    }
    /// The congruences of a row, whose equations are constraints that follow those of [`Tables::constraints`].
    pub fn congruences<A: Algebra>(&self, table: Table, f: &mut A, row: &Row<'_, A::V>) -> Vec<Congruence<A::V>> {
        let mut out = Vec::new();
        match table {
            Table::Point => point::congruences(f, row, &mut out),
            Table::Addition => addition::congruences(f, row, &mut out),
            _ => {}
        }
        out
    }
    /// All constraints of a row, one by one.
    pub fn equations<A: Algebra>(&self, table: Table, f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<A::V>) {
        self.constraints(table, f, row, out);
        for congruence in self.congruences(table, f, row) {
            congruence.expand(f, out);
        }
    }
    /// The ports of a row, appended to `out`.
    ///
    /// # Panics
    /// Unless the row has as many values as the table has columns and ports.
    pub fn ports<A: Algebra>(&self, table: Table, f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
        match table {
            Table::Permutation => permutation::ports::<K, A>(f, row, out),
            Table::Operation => operation::ports::<K, A>(f, row, out),
            Table::Dot => dot::ports::<K, A>(f, row, out),
            Table::Query => self.query.ports_on::<K, A>(f, row, out),
            Table::Bits => self.bits.ports_on(f, row, out),
            Table::Constant => constant::ports(f, row, out),
            Table::Tuple => tuple::ports(f, row, out),
            Table::Sponge => sponge::ports(f, row, out),
            Table::Range => range::ports(f, row, out),
            Table::Point => point::ports(f, row, out),
            Table::Addition => addition::ports(f, row, out),
            Table::Keccak => keccak::ports(f, row, out),
            Table::KeccakLookup => keccak_lookup::ports(f, row, out),
            Table::KeccakAbsorb => keccak_absorb::ports(f, row, out),
            Table::KeccakPlane => keccak_plane::ports(f, row, out),
            #[cfg(feature = "mpt")]
            Table::KeccakGate => keccak_gate::ports(f, row, out),
            #[cfg(feature = "mpt")]
            Table::Bytes => bytes::ports(f, row, out),
            #[cfg(feature = "mpt")]
            Table::Read => read::ports(f, row, out),
            #[cfg(not(feature = "mpt"))]
            Table::KeccakGate | Table::Bytes | Table::Read => {}
        }
    }
}

/// Puts a tuple of namespace, key, level and word on the bus.
#[cfg_attr(not(feature = "mpt"), allow(dead_code, reason = "keys with these tables are refused"))]
#[inline(never)]
fn put<V>(out: &mut Vec<Port<V>>, multiplicity: V, [space, key, level]: [V; 3], word: [V; WORD]) {
    let [a, b, c, d] = word;
    out.push(Port { multiplicity, tuple: [space, key, level, a, b, c, d], len: TUPLE });
}

/// The tuple of a wire.
fn wire<A: Algebra>(f: &mut A, number: A::V, word: [A::V; WORD]) -> [A::V; TUPLE] {
    let (zero, one) = (f.zero(), f.one());
    let space = f.scale(WIRE, one);
    let [a, b, c, d] = word;
    [space, number, zero, a, b, c, d]
}

/// A use of the wire whose number is in a fixed column.
fn used<A: Algebra>(f: &mut A, number: A::V, word: [A::V; WORD]) -> Port<A::V> {
    let one = f.one();
    let multiplicity = f.scale(-Goldilocks::ONE, one);
    Port { multiplicity, tuple: wire(f, number, word), len: TUPLE }
}

/// The definition of the wire of a port, used as often as a fixed column says.
fn defined<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, port: usize, uses: A::V, word: [A::V; WORD]) -> Port<A::V> {
    let number = place(f, row, port);
    Port { multiplicity: uses, tuple: wire(f, number, word), len: TUPLE }
}

/// If `check` is 1, a use of the wire with the number `last`; if it is 0, the definition of the port's wire, used
/// `last` times.
fn used_or_defined<A: Algebra>(
    f: &mut A,
    row: &Row<'_, A::V>,
    port: usize,
    check: A::V,
    last: A::V,
    word: [A::V; WORD],
) -> Port<A::V> {
    let one = f.one();
    let not = f.sub(one, check);
    let uses = f.mul(not, last);
    let multiplicity = f.sub(uses, check);
    let number = f.mul(check, last);
    let place = place(f, row, port);
    let number = f.mul_add(not, place, number);
    Port { multiplicity, tuple: wire(f, number, word), len: TUPLE }
}

/// The number of the wire that a port defines.
fn place<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, port: usize) -> A::V {
    let one = f.one();
    f.add_scaled(row.number, row.places[port], one)
}

/// An element of K as a word.
fn padded<A: Algebra>(f: &mut A, coefficients: &[A::V]) -> [A::V; WORD] {
    let mut word = [f.zero(); WORD];
    word[..coefficients.len()].copy_from_slice(coefficients);
    word
}
