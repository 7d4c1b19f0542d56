//! The constraints against tables with wrong cells.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::LANES;

use super::{Air, Algebra, Block, C, DIGEST, EMIT, KeccakAir, MESSAGE, Permutations, ROUND, ROUNDS, T};
use crate::stark::TraceRows;

/// Counts constraints, and those that do not hold.
#[derive(Default)]
struct Count {
    all: usize,
    broken: usize,
}

impl Algebra for Count {
    type T = Goldilocks;

    fn constant(&mut self, x: u64) -> Goldilocks {
        Goldilocks::reduce(x)
    }
    fn add(&mut self, a: Goldilocks, b: Goldilocks) -> Goldilocks {
        a + b
    }
    fn sub(&mut self, a: Goldilocks, b: Goldilocks) -> Goldilocks {
        a - b
    }
    fn mul(&mut self, a: Goldilocks, b: Goldilocks) -> Goldilocks {
        a * b
    }
    fn sum_of_powers(&mut self, terms: &[Goldilocks]) -> Goldilocks {
        terms.iter().rev().fold(Goldilocks::ZERO, |sum, x| sum + sum + *x)
    }
    fn constraint(&mut self, x: Goldilocks) {
        self.all += 1;
        self.broken += usize::from(x != Goldilocks::ZERO);
    }
    fn constraint_transition(&mut self, _: Goldilocks) {
        panic!("every constraint of the table holds for every row");
    }
    fn constraint_first_row(&mut self, _: Goldilocks) {
        panic!("every constraint of the table holds for every row");
    }
    fn constraint_last_row(&mut self, _: Goldilocks) {
        panic!("every constraint of the table holds for every row");
    }
}

type Table = Vec<Vec<Goldilocks>>;

fn table(blocks: Vec<Block>, log_rows: u32) -> Table {
    let table = Permutations::new(blocks, log_rows).unwrap();
    let row = |i| (0..KeccakAir::COLUMNS).map(|c| table.group(i, c / LANES)[c % LANES]).collect();
    (0..table.rows()).map(row).collect()
}

fn broken(table: &Table, row: usize) -> usize {
    let mut count = Count::default();
    KeccakAir::constraints(&mut count, &table[row], &table[(row + 1) % table.len()], &[]);
    assert_eq!(count.all, KeccakAir::CONSTRAINTS);
    count.broken
}

fn message(n: usize) -> Block {
    Block::of(&(0..n).map(|i| (i * 91 + 17) as u8).collect::<Vec<_>>()).unwrap()
}

#[test]
fn tables_of_messages_obey() {
    for blocks in [vec![], vec![message(64)], vec![message(40), message(0)]] {
        let table = table(blocks, 6);
        assert!((0..table.len()).all(|row| broken(&table, row) == 0));
    }
}

/// Rows around which a wrong cell shows.
fn shows(table: &mut Table, row: usize, column: usize, value: Goldilocks) -> bool {
    let honest = core::mem::replace(&mut table[row][column], value);
    let n = table.len();
    let shown = broken(table, row) + broken(table, (row + n - 1) % n) > 0;
    table[row][column] = honest;
    shown
}

#[test]
fn every_wrong_cell_of_a_permutation_shows() {
    let mut table = table(vec![message(64), message(33)], 6);
    let one = Goldilocks::ONE;
    for row in [0, 1, 11, 22, 23, 24, 47] {
        for column in (T..MESSAGE).step_by(7).chain(MESSAGE..KeccakAir::COLUMNS) {
            let honest = table[row][column];
            // Digest columns are free but in a last round; the flag of records is free there.
            let free = match column {
                DIGEST..EMIT => row % ROUNDS != ROUNDS - 1,
                EMIT => row % ROUNDS == ROUNDS - 1,
                _ => false,
            };
            for value in [one - honest, honest + Goldilocks::reduce(2), -honest - one] {
                if value == honest {
                    continue;
                }
                let may = free && (column != EMIT || value == Goldilocks::ZERO);
                assert_eq!(!shows(&mut table, row, column, value), may, "row {row}, column {column}, {value:?}");
            }
        }
    }
}

#[test]
fn a_record_has_a_whole_permutation_above_it() {
    let mut table = table(vec![message(64)], 5);
    // A row that claims a last round out of nothing.
    for row in [24, 30, 31] {
        for (column, value) in [(ROUND + ROUNDS - 1, 1), (EMIT, 1), (ROUND + 3, 1)] {
            assert!(shows(&mut table, row, column, Goldilocks::reduce(value)), "row {row}, column {column}");
        }
    }
    // A first round that cuts a permutation short.
    for (column, value) in [(ROUND, 1), (ROUND + 5, 0)] {
        assert!(shows(&mut table, 5, column, Goldilocks::reduce(value)));
    }
    table[5][ROUND] = Goldilocks::ONE;
    table[5][ROUND + 5] = Goldilocks::ZERO;
    assert!(broken(&table, 4) > 0);
}

#[test]
fn parities_are_those_of_the_state() {
    // T and C changed together so that A stays: A = T + D.
    let mut table = table(vec![message(64)], 5);
    let flip = |x: &mut Goldilocks| *x = Goldilocks::ONE - *x;
    flip(&mut table[7][C + 64 + 5]);
    for y in 0..5 {
        flip(&mut table[7][T + 64 * (2 + 5 * y) + 5]);
        flip(&mut table[7][T + 64 * (5 * y) + 6]);
    }
    assert!(broken(&table, 6) > 0);
}
