//! The constraints against tables with wrong cells.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::lanes::LANES;

use super::{Air, Algebra, Block, C, DIGEST, EMIT, KeccakAir, MESSAGE, Permutations, ROUND, ROUNDS, T};
use crate::stark::TraceRows;

/// Counts constraints, and keeps the places of those that do not hold.
#[derive(Default)]
struct Count {
    all: usize,
    broken: Vec<usize>,
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
        if x != Goldilocks::ZERO {
            self.broken.push(self.all);
        }
        self.all += 1;
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
    broken_of(&table[row], &table[(row + 1) % table.len()]).len()
}

fn broken_of(local: &[Goldilocks], next: &[Goldilocks]) -> Vec<usize> {
    let mut count = Count::default();
    KeccakAir::constraints(&mut count, local, next, &[]);
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
            // Digest columns are free except in a last round; the flag of records is free there.
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

/// Only constraints on flags of rounds: they come first.
const OF_FLAGS: usize = (ROUNDS + 1) + (ROUNDS - 1);

#[test]
fn rounds_follow_each_other_and_no_others() {
    let row = |flags: &[(usize, u64)]| {
        let mut row = vec![Goldilocks::ZERO; KeccakAir::COLUMNS];
        flags.iter().for_each(|(round, x)| row[ROUND + round] = Goldilocks::reduce(*x));
        row
    };
    let broken = |local: &[Goldilocks], next: &[Goldilocks]| {
        broken_of(local, next).into_iter().filter(|place| *place < OF_FLAGS).count()
    };
    // An idle row, or one round.
    let rounds: Vec<Option<usize>> = core::iter::once(None).chain((0..ROUNDS).map(Some)).collect();
    for before in &rounds {
        for after in &rounds {
            let [local, next] = [before, after].map(|r| row(&r.map(|r| (r, 1)).into_iter().collect::<Vec<_>>()));
            let follows = match before {
                None | Some(23) => matches!(after, None | Some(0)),
                Some(r) => *after == Some(r + 1),
            };
            assert_eq!(broken(&local, &next) == 0, follows, "{before:?}, {after:?}");
        }
    }
    // Rows of two rounds, with flags that are not bits and sum to one or zero, for every next row, with all that
    // follows from them.
    let p = Goldilocks::ORDER;
    let forged: [&[(usize, u64)]; 6] = [
        &[(0, 1), (23, 1)],
        &[(4, 1), (5, 1)],
        &[(3, 2), (9, p - 1)],
        &[(22, p - 1)],
        &[(0, 2)],
        &[(7, 1), (8, p - 1)],
    ];
    for flags in forged {
        let moved: Vec<_> = flags.iter().filter(|(r, _)| r + 1 < ROUNDS).map(|(r, x)| (r + 1, *x)).collect();
        assert!(broken(&row(flags), &row(&moved)) > 0, "{flags:?}");
    }
}

#[test]
fn a_permutation_may_lie_across_the_end_and_any_other_turn_of_its_rows_shows() {
    // The last row is followed by the first: a table may be turned as a whole.
    let mut turned = table(vec![message(64)], 5);
    turned.rotate_left(11);
    assert!((0..turned.len()).all(|row| broken(&turned, row) == 0));
    // States of one permutation under the flags of another beginning: 24 rounds in the wrong order of their constants.
    let mut forged = table(vec![message(64)], 5);
    for (round, row) in forged.iter_mut().take(ROUNDS).enumerate() {
        row[ROUND + round] = Goldilocks::ZERO;
        row[ROUND + (round + 1) % ROUNDS] = Goldilocks::ONE;
        row[EMIT] = Goldilocks::reduce(u64::from(round + 2 == ROUNDS));
    }
    assert!((0..forged.len()).map(|row| broken(&forged, row)).sum::<usize>() > ROUNDS);
    // Two halves of different permutations, joined where a round ends.
    let [mut joined, other] = [64, 33].map(|n| table(vec![message(n)], 5));
    joined[12..ROUNDS].clone_from_slice(&other[12..ROUNDS]);
    let shows: Vec<usize> = (0..joined.len()).filter(|row| broken(&joined, *row) > 0).collect();
    assert_eq!(shows, [11], "where they are joined, and nowhere else");
}
