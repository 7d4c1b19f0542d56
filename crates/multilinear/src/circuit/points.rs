//! Points of BLS12-381 G1 in circuits: [`point`] and [`addition`].

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use rayon::prelude::*;

use super::fill;
use super::fixed::Fixed;
use super::wires::{Base, Bool, Point, Wire, Word};
use super::witness::Filling;
use super::{Addition, Builder, PointNumbers, PointRow, Rows};
use evergrove_verifier::algebra::Ground;
use evergrove_verifier::tables::addition::{self, Chord, WORDS};
use evergrove_verifier::tables::point::{self, NUMBERS};
use evergrove_verifier::tables::{Table, Tables, WORD, range};

impl<K: Extension> Builder<K> {
    /// The point with these coordinates if the bit is 1, and a demand that there is such a point. There are seven
    /// numbers of 56 bits for each coordinate, x first, the least significant first, four in a word. The rest of the
    /// last word may be anything. If the bit is 0, it is the identity for all numbers: an honest prover has those of a
    /// point, or zeros.
    pub fn point(&mut self, numbers: [Word; 4], active: Bool) -> Point {
        self.point_row(PointNumbers::Words(numbers.map(|word| word.0)), active)
    }
    /// The same, for numbers that are separate wires.
    pub fn point_of(&mut self, numbers: [Base; NUMBERS], active: Bool) -> Point {
        self.point_row(PointNumbers::Apart(numbers.map(|number| number.0)), active)
    }
    /// The sum of two points. `chord` binds nothing.
    pub fn add_points(&mut self, p: Point, q: Point, chord: Chord) -> Point {
        self.rows.additions.push(Addition { operands: [p.0, q.0], chord });
        self.defined(Table::Addition, 2 * WORDS)
    }

    fn point_row(&mut self, numbers: PointNumbers, active: Bool) -> Point {
        self.rows.points.push(PointRow { numbers, active: active.0 });
        self.defined(Table::Point, point::POINT)
    }
    /// The point that the last row of a table defines from this port on.
    fn defined(&mut self, table: Table, port: usize) -> Point {
        let wire = self.done(table, port);
        Point(core::array::from_fn(|i| Wire { port: wire.port + i as u8, ..wire }))
    }

    /// A row that fills the last block.
    pub(super) fn no_point(&mut self) {
        let zero = self.zero();
        self.point([Word(zero.0); 4], Bool(zero.0));
    }
    /// A row that fills the last block.
    pub(super) fn no_addition(&mut self) {
        let identity = Point([self.zero().0; WORDS]);
        self.add_points(identity, identity, |_| None);
    }
}

impl Fixed {
    pub(super) fn points(&mut self, rows: &Rows) {
        for (i, row) in rows.points.iter().enumerate() {
            let numbers = match &row.numbers {
                PointNumbers::Words(words) => &words[..],
                PointNumbers::Apart(numbers) => {
                    self.set(Table::Point, i, point::APART, 1);
                    &numbers[..]
                }
            };
            for (j, wire) in numbers.iter().enumerate() {
                self.use_wire(Table::Point, i, point::WIRES + j, *wire);
            }
            self.use_wire(Table::Point, i, point::WIRES + NUMBERS, row.active);
        }
        for (i, row) in rows.additions.iter().enumerate() {
            for (j, wire) in row.operands.as_flattened().iter().enumerate() {
                self.use_wire(Table::Addition, i, j, *wire);
            }
        }
    }
}

impl<K: Extension> Filling<'_, K> {
    pub(super) fn point(&mut self, row: usize) {
        let PointRow { numbers, active } = &self.circuit.rows.points[row];
        let [active, ..] = self.word(*active);
        let (values, rest) = match numbers {
            PointNumbers::Words(words) => {
                let values = words.map(|wire| self.word(wire));
                let (numbers, rest) = values.as_flattened().split_at(NUMBERS);
                (numbers.try_into().expect("as many numbers"), [rest[0], rest[1]])
            }
            PointNumbers::Apart(wires) => (wires.map(|wire| self.word(wire)[0]), [Goldilocks::ZERO; 2]),
        };
        let columns = self.columns(Table::Point, row);
        fill::point::fill_numbers(columns, &values);
        columns[point::ACTIVE] = active;
        columns[point::REST..].copy_from_slice(&rest);
    }
    pub(super) fn addition(&mut self, row: usize) {
        let &Addition { operands, chord } = &self.circuit.rows.additions[row];
        let words = operands.map(|point| point.map(|wire| self.word(wire)));
        let columns = self.columns(Table::Addition, row);
        columns[..addition::SLOPE].copy_from_slice(words.as_flattened().as_flattened());
        fill::addition::fill_sum(columns, chord);
    }
}

/// The word that a row of a table of points defines.
pub(super) fn word(table: Table, columns: &[Goldilocks], port: u8) -> [Goldilocks; WORD] {
    let port = usize::from(port);
    match table {
        Table::Point => point::word(&mut Ground, columns, port - point::POINT),
        Table::Addition => addition::sum(&mut Ground, columns, port - 2 * WORDS),
        _ => unreachable!("a table of points"),
    }
}

/// Fills congruences, for all rows together.
pub(super) fn fill<K: Extension>(tables: &Tables<K>, columns: &mut [Vec<Goldilocks>; Table::ALL.len()]) {
    for (table, fill) in [
        (Table::Point, fill::point::fill_congruences as fn(&mut [Goldilocks])),
        (Table::Addition, fill::addition::fill_congruences),
    ] {
        columns[table as usize].par_chunks_exact_mut(tables.columns(table)).for_each(fill);
    }
}

/// Counts the uses of the numbers below 2^16.
pub(super) fn count<K: Extension>(tables: &Tables<K>, columns: &mut [Vec<Goldilocks>; Table::ALL.len()]) {
    let mut counts = vec![0_u64; range::ROWS];
    let mut any = false;
    for table in [Table::Point, Table::Addition] {
        let width = tables.columns(table);
        let mut numbers = Vec::new();
        for row in columns[table as usize].chunks_exact(width) {
            any = true;
            numbers.clear();
            match table {
                Table::Point => point::ranges(&mut Ground, row, &mut numbers),
                _ => addition::ranges(&mut Ground, row, &mut numbers),
            }
            for number in &numbers {
                // A number out of range is a fault.
                if let Some(count) = counts.get_mut(number.as_u64() as usize) {
                    *count += 1;
                }
            }
        }
    }
    if any {
        let counts = counts.into_iter().map(Goldilocks::new);
        columns[Table::Range as usize].iter_mut().zip(counts).for_each(|(count, uses)| *count = uses);
    }
}
