//! The places of tables: of their ports on the bus, and of their columns in the committed stacks.

use alloc::vec::Vec;
use core::ops::Range;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use super::{BLOCK, BLOCK_LOG, Shape, Table, Tables};

/// Widths of tables are rounded up to a multiple of this, and small ones to a power of two.
const ROUND: usize = 8;

/// Heights of tables, and their consequences.
///
/// **Bus.** An array of 2^[`Layout::bus_variables`] fractions. Port j of a table takes 2^n neighbouring places, where n
/// is the number of variables of the table's row number. They start at a multiple of 2^n, since tall tables come first.
/// Within a port, row i's fraction is at the i-th place, and the number of a wire is the place of its definition.
/// Places without an active row hold 0 / 1.
///
/// **Stacks.** The committed columns of all tables are one multilinear polynomial, and so are the fixed ones: see [`Stack`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    shapes: [Option<Shape>; Table::ALL.len()],
    places: Vec<Place>,
    bus_variables: usize,
    committed: Stack,
    fixed: Stack,
}

/// The places of a port on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The table.
    pub table: Table,
    /// The port of its rows.
    pub port: usize,
    /// The place of row 0.
    pub start: usize,
}

impl Layout {
    /// For tables with these numbers of blocks, in the order of [`Table::ALL`]; 0 for a table without rows.
    ///
    /// # Panics
    /// If a table has more than 2^20 blocks.
    pub fn new<K: Extension>(tables: &Tables<K>, blocks: [usize; Table::ALL.len()]) -> Self {
        let shapes =
            blocks.map(|blocks| (blocks > 0).then(|| Shape::new(blocks * BLOCK).expect("at most 2^20 blocks")));
        let heights = Table::ALL.into_iter().zip(shapes).filter_map(|(table, shape)| Some((table, shape?)));
        let mut by_height: Vec<(Table, Shape)> = heights.clone().collect();
        by_height.sort_by_key(|(_, shape)| core::cmp::Reverse(shape.variables()));
        let mut places = Vec::new();
        let mut start = 0;
        for &(table, shape) in &by_height {
            for port in 0..tables.ports_of(table) {
                places.push(Place { table, port, start });
                start += 1 << shape.variables();
            }
        }
        let stack = |width: &dyn Fn(Table) -> usize| {
            Stack::new(heights.clone().map(|(table, shape)| (table, shape.blocks(), width(table))))
        };
        Self {
            shapes,
            places,
            bus_variables: start.next_power_of_two().ilog2() as usize,
            committed: stack(&|table| tables.columns(table)),
            fixed: stack(&|table| tables.fixed(table)),
        }
    }
    /// The height of a table, `None` for a table without rows.
    pub fn shape(&self, table: Table) -> Option<Shape> {
        self.shapes[table as usize]
    }
    /// The blocks of each table.
    pub fn blocks(&self) -> [usize; Table::ALL.len()] {
        self.shapes.map(|shape| shape.map_or(0, Shape::blocks))
    }
    /// The tables with rows, and their heights.
    pub fn heights(&self) -> impl Iterator<Item = (Table, Shape)> {
        Table::ALL.into_iter().zip(self.shapes).filter_map(|(table, shape)| Some((table, shape?)))
    }
    /// Variables of the number of a row of the tallest table.
    pub fn row_variables(&self) -> usize {
        self.shapes.iter().flatten().map(|shape| shape.variables()).max().unwrap_or(0)
    }
    /// log2 of the places on the bus.
    pub fn bus_variables(&self) -> usize {
        self.bus_variables
    }
    /// The places of all ports, in their order.
    pub fn places(&self) -> &[Place] {
        &self.places
    }
    /// The first place of each port of a table on the bus.
    pub fn starts(&self, table: Table) -> Vec<Goldilocks> {
        self.places
            .iter()
            .filter(|place| place.table == table)
            .map(|place| Goldilocks::new(place.start as u64))
            .collect()
    }
    /// The stack of committed columns.
    pub fn committed(&self) -> &Stack {
        &self.committed
    }
    /// The stack of fixed columns.
    pub fn fixed(&self) -> &Stack {
        &self.fixed
    }
}

/// Columns of several tables as one table of 2^m elements.
///
/// A table's columns are cut into *pieces* of 2^w columns (its width, rounded up to a multiple of 8, in binary, large
/// pieces first). In a piece's block, the element of row l and column c, counted within the piece, is at place l + 2^9
/// c; blocks follow each other. Pieces with larger blocks come first, so each block starts at a multiple of its size.
/// Places of a piece that belong to no column are columns of zeros: they have weights, and count as 0. Places after the
/// last piece have no weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    pieces: Vec<Piece>,
    elements: usize,
}

/// Some columns of a table, in a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The table.
    pub table: Table,
    /// Its columns; the piece may have room for more.
    pub columns: Range<usize>,
    /// log2 of the columns that it has room for.
    pub width: usize,
    /// Blocks of rows.
    pub blocks: usize,
    /// Its first place.
    pub start: usize,
}

impl Piece {
    /// log2 of the elements of a block.
    pub fn block_log(&self) -> usize {
        BLOCK_LOG + self.width
    }
}

impl Stack {
    fn new(tables: impl Iterator<Item = (Table, usize, usize)>) -> Self {
        let mut pieces = Vec::new();
        for (table, blocks, width) in tables {
            let rounded = if width > ROUND { width.next_multiple_of(ROUND) } else { width.next_power_of_two() };
            let mut first = 0;
            while first < width {
                let log = (rounded - first).ilog2() as usize;
                let columns = first..width.min(first + (1 << log));
                first += 1 << log;
                pieces.push(Piece { table, columns, width: log, blocks, start: 0 });
            }
        }
        pieces.sort_by_key(|piece| core::cmp::Reverse(piece.width));
        let mut elements = 0;
        for piece in &mut pieces {
            piece.start = elements;
            elements += piece.blocks << piece.block_log();
        }
        Self { pieces, elements }
    }
    /// The pieces, in their order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }
    /// For each of a table's columns the place of its first block, and the distance from block to block.
    pub fn columns(&self, table: Table, width: usize) -> Vec<(usize, usize)> {
        let piece = |column: usize| {
            let mut pieces = self.pieces.iter().filter(|piece| piece.table == table);
            let piece = pieces.find(|piece| piece.columns.contains(&column)).expect("a column of the table");
            (piece.start + (column - piece.columns.start) * BLOCK, 1 << piece.block_log())
        };
        (0..width).map(piece).collect()
    }
    /// Elements that belong to pieces.
    pub fn elements(&self) -> usize {
        self.elements
    }
    /// log2 of the elements, rounded up.
    pub fn variables(&self) -> usize {
        self.elements.next_power_of_two().ilog2() as usize
    }
}
