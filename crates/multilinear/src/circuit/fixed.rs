//! Fixed columns: the meaning of rows, and the number of uses of each wire.

use std::collections::HashMap;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use super::builder::{Half, Tree};
use super::wires::Wire;
use super::{Count, End, Permutation, Rows, keccak, stream};
use evergrove_verifier::tables::{
    Layout, Table, Tables, WORD, bytes, constant, dot, keccak_plane, operation, permutation, point, read, sponge, tuple,
};

/// Fills fixed columns.
pub(super) struct Fixed {
    pub(super) columns: [Vec<Goldilocks>; Table::ALL.len()],
    widths: [usize; Table::ALL.len()],
    starts: [Vec<Goldilocks>; Table::ALL.len()],
    /// Uses of the wires of each port, by row.
    uses: HashMap<Wire, u64>,
}

impl Fixed {
    pub(super) fn new<K: Extension>(tables: &Tables<K>, layout: &Layout, rows: &Rows, trees: &[Tree]) -> Self {
        let widths = Table::ALL.map(|table| tables.fixed(table));
        let mut this = Self {
            columns: Table::ALL.map(|table| vec![Goldilocks::ZERO; rows.len(table) * widths[table as usize]]),
            widths,
            starts: Table::ALL.map(|table| layout.starts(table)),
            uses: HashMap::new(),
        };
        for (i, row) in rows.permutations.iter().enumerate() {
            this.permutation(i, row, trees);
        }
        for (i, row) in rows.operations.iter().enumerate() {
            operation::set(this.row(Table::Operation, i), row.q);
            for (j, operand) in row.operands.into_iter().enumerate() {
                this.use_wire(Table::Operation, i, operation::NUMBERS + j, operand);
            }
            if let Some(wire) = row.check {
                this.set(Table::Operation, i, operation::CHECK, 1);
                this.use_wire(Table::Operation, i, operation::NUMBERS + 3, wire);
            }
        }
        for (i, row) in rows.dots.iter().enumerate() {
            this.use_wire(Table::Dot, i, 0, row.x);
            for (j, weight) in row.weights.into_iter().enumerate() {
                this.use_wire(Table::Dot, i, 1 + j, weight);
            }
            this.use_wire(Table::Dot, i, 1 + WORD, row.before);
        }
        for (i, row) in rows.queries.iter().enumerate() {
            this.use_wire(Table::Query, i, 0, row.index);
            for (j, r) in row.r.iter().enumerate() {
                this.use_wire(Table::Query, i, 1 + j, *r);
            }
        }
        let numbers = tables.bits().numbers();
        for (i, row) in rows.bits.iter().enumerate() {
            for &mode in &row.modes {
                this.set(Table::Bits, i, mode, 1);
            }
            this.use_wire(Table::Bits, i, numbers, row.element);
        }
        for (i, row) in rows.tuples.iter().enumerate() {
            tuple::set(
                this.row(Table::Tuple, i),
                row.space,
                row.times,
                matches!(row.count, Count::Root | Count::Any | Count::Uses),
            );
            for (j, value) in row.values.into_iter().enumerate() {
                this.use_wire(Table::Tuple, i, tuple::NUMBERS + j, value);
            }
            if let Count::Wire(wire) = row.count {
                this.set(Table::Tuple, i, tuple::USED, 1);
                this.use_wire(Table::Tuple, i, tuple::NUMBERS + 3, wire);
            }
        }
        for (i, row) in rows.sponges.iter().enumerate() {
            this.use_wire(Table::Sponge, i, sponge::CAPACITY, row.capacity);
        }
        this.points(rows);
        keccak::set(&mut this, &rows.keccak);
        stream::set(&mut this, &rows.stream);
        for (i, word) in rows.constants.iter().enumerate() {
            this.row(Table::Constant, i)[..WORD].copy_from_slice(word);
        }
        // The number of uses of each wire.
        for (wire, uses) in core::mem::take(&mut this.uses) {
            let column = uses_column(tables, wire);
            this.set(wire.table, wire.row as usize, column, uses);
        }
        this
    }

    fn permutation(&mut self, i: usize, row: &Permutation, trees: &[Tree]) {
        let table = Table::Permutation;
        let &Permutation::Hash { h, halves, field, end } = row else {
            if matches!(row, Permutation::Node) {
                self.set(table, i, permutation::INNER, 1);
            }
            return;
        };
        self.use_wire(table, i, permutation::NUMBERS, h);
        self.set(table, i, permutation::FIELD, field.into());
        for (side, half) in halves.into_iter().enumerate() {
            match half {
                Half::Use(first, second) => {
                    self.set(table, i, permutation::USE_LEFT + 2 * side, 1);
                    self.use_wire(table, i, permutation::NUMBERS + 1 + side, first);
                    if let Some(second) = second {
                        self.use_wire(table, i, permutation::NUMBERS + 3 + side, second);
                    }
                }
                Half::Free => self.set(table, i, permutation::FREE_LEFT + 2 * side, 1),
                Half::Node { tree, index } => {
                    let Tree { level, depth, cap } = trees[tree];
                    self.set(table, i, permutation::CAP, 1);
                    if side == 0 {
                        self.set(table, i, permutation::NUMBERS + 1, index as u64);
                        self.set(table, i, permutation::NUMBERS + 2, level + (depth - cap) as u64);
                    }
                }
            }
        }
        match end {
            End::Nothing | End::Part => {}
            End::Leaf { index, tree } => {
                self.set(table, i, permutation::LEAF, 1);
                self.use_wire(table, i, permutation::NUMBERS + 3, index);
                self.set(table, i, permutation::NUMBERS + 4, trees[tree].level);
            }
            End::Public => self.set(table, i, permutation::DIGEST, 1),
        }
    }

    pub(super) fn row(&mut self, table: Table, row: usize) -> &mut [Goldilocks] {
        let width = self.widths[table as usize];
        &mut self.columns[table as usize][row * width..(row + 1) * width]
    }
    pub(super) fn set(&mut self, table: Table, row: usize, column: usize, value: u64) {
        self.row(table, row)[column] = Goldilocks::new(value);
    }
    pub(super) fn use_wire(&mut self, table: Table, row: usize, column: usize, wire: Wire) {
        let number = self.starts[wire.table as usize][usize::from(wire.port)] + Goldilocks::new(wire.row.into());
        self.row(table, row)[column] = number;
        *self.uses.entry(wire).or_default() += 1;
    }
}

/// The fixed column with the number of uses of a wire.
fn uses_column<K: Extension>(tables: &Tables<K>, wire: Wire) -> usize {
    match wire.table {
        Table::Permutation => permutation::NUMBERS + usize::from(wire.port),
        Table::Operation => operation::NUMBERS + 3,
        Table::Dot => dot::FIXED - 1,
        Table::Query => tables.query().fixed() - 1,
        Table::Bits => tables.bits().numbers() + usize::from(wire.port),
        Table::Constant => constant::USES,
        Table::Tuple => tuple::NUMBERS + 3,
        Table::Sponge => usize::from(wire.port),
        Table::Point => point::USES + usize::from(wire.port) - point::POINT,
        Table::Addition => usize::from(wire.port),
        Table::Range => unreachable!("a number defines no wire"),
        Table::KeccakPlane => keccak_plane::USES + usize::from(wire.port),
        Table::Bytes => bytes::USES + usize::from(wire.port),
        Table::Read => read::USES,
        Table::Keccak | Table::KeccakLookup | Table::KeccakAbsorb | Table::KeccakGate => {
            unreachable!("no wires of {:?}", wire.table)
        }
    }
}
