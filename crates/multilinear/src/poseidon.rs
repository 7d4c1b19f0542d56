//! The table of Poseidon permutations: a row is one permutation, a column the input of one S-box.
//!
//! A row has [`SBOXES`] S-box inputs and the first [`OUTPUTS`] words of the result. The inputs of the first round are
//! stored without their constants, hence are the words of the state before the permutation. Every column except those
//! of the first round is a linear form in the results of earlier S-boxes.
//!
//! **The linear layers cost the prover nothing.** The constraints column = form, combined by weights, reduce to one
//! weight for each column, one for each S-box and a constant ([`Combined`]). All are found by going through the rounds
//! backwards once: with the transposed matrix for each round.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::goldilocks::lanes::GoldilocksLanes;
use evergrove_primitives::hash::poseidon::lanes::{SboxInputs, permute_many, permute_with};
use evergrove_primitives::hash::poseidon::{HALF_FULL_ROUNDS, PARTIAL_ROUNDS, WIDTH, is_full, matrix, round_constants};
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use evergrove_verifier::poseidon::{OUTPUTS, SBOXES};
use rayon::prelude::*;

/// Columns: S-box inputs in the order of rounds and words, then outputs.
pub const COLUMNS: usize = SBOXES + OUTPUTS;

/// All constraints combined: sum of `columns[j]` c_j + sum of `sboxes[j]` (c_j + `shifts[j]`)^7 + `constant`, which is zero on the row of
/// a permutation.
#[derive(Clone, Debug, PartialEq)]
pub struct Combined<K> {
    /// The weight of each column by itself.
    pub columns: Vec<K>,
    /// The weight of each S-box's result.
    pub sboxes: Vec<K>,
    /// The constant that an S-box adds to its column: the constants of the first round, and 0.
    pub shifts: Vec<Goldilocks>,
    /// The constant term.
    pub constant: K,
}

impl<K: Extension> Combined<K> {
    /// The constraints of columns 12, 13, ... combined by `weights`: of the S-boxes, then of as many words of the result as rows have.
    ///
    /// # Panics
    /// Unless the result has 1 to 12 words.
    pub fn new(weights: &[K]) -> Self {
        let columns = WIDTH + weights.len();
        assert!(
            (SBOXES + 1..=SBOXES + WIDTH).contains(&columns),
            "a weight for each column but those of the first round"
        );
        let mut this = Self {
            columns: vec![K::ZERO; columns],
            sboxes: vec![K::ZERO; SBOXES],
            shifts: vec![Goldilocks::ZERO; SBOXES],
            constant: K::ZERO,
        };
        this.columns[WIDTH..].copy_from_slice(weights);
        let matrix = matrix();
        // The weight of a word of the state in the sum, going backwards: minus the weight of the column that it is
        // compared with.
        let mut state = [K::ZERO; WIDTH];
        for (word, weight) in state.iter_mut().zip(&this.columns[SBOXES..]) {
            *word = -*weight;
        }
        let mut column = SBOXES;
        for (round, constants) in round_constants().iter().enumerate().rev() {
            let after = state;
            for (c, word) in state.iter_mut().enumerate() {
                *word = (0..WIDTH).map(|r| after[r] * Goldilocks::new(matrix[r][c])).sum();
            }
            let boxes = if is_full(round) { WIDTH } else { 1 };
            column -= boxes;
            for (i, word) in state[..boxes].iter_mut().enumerate() {
                this.sboxes[column + i] = *word;
                *word = if round == 0 { K::ZERO } else { -this.columns[column + i] };
            }
            for (i, (word, c)) in state.iter().zip(constants).enumerate() {
                let c = Goldilocks::new(*c);
                if round == 0 {
                    this.shifts[i] = c;
                }
                this.constant += *word * c;
            }
        }
        this
    }
}

/// Fills rows of `width` elements, each of which begins with the twelve words of a state: columns of S-boxes, then the
/// first `outputs` words of the result. Elements after these do not change.
///
/// # Panics
/// Unless there are whole rows with enough columns, and 1 to 12 outputs.
pub fn fill(rows: &mut [Goldilocks], width: usize, outputs: usize) {
    fill_on(Isa::detect(), rows, width, outputs);
}

/// [`fill`] on a given instruction set, for tests and comparisons.
///
/// # Panics
/// As for [`fill`], and if this CPU lacks the instruction set.
pub fn fill_on(isa: Isa, rows: &mut [Goldilocks], width: usize, outputs: usize) {
    let columns = SBOXES + outputs;
    assert!((1..=WIDTH).contains(&outputs), "{outputs} words of a result");
    assert!(width >= columns && rows.len().is_multiple_of(width), "whole rows of {columns} columns and more");
    const TASK: usize = 64;
    rows.par_chunks_mut(TASK * width).for_each(|rows| dispatch_on(isa, Fill { rows, width, columns }));
}

/// [`fill`] of some rows.
struct Fill<'a> {
    rows: &'a mut [Goldilocks],
    width: usize,
    columns: usize,
}

impl Kernel for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        for rows in self.rows.chunks_mut(LANES * self.width) {
            // The last group is filled up with its first state.
            let at = |i: usize| {
                let from = if i * self.width < rows.len() { i * self.width } else { 0 };
                rows[from..].first_chunk().expect("a state")
            };
            let states: [&[Goldilocks; WIDTH]; LANES] = core::array::from_fn(at);
            let words = f.load_rows(states).map(|x| f.to_vector(x));
            let mut values = [[Goldilocks::ZERO; LANES]; ALL];
            for (value, word) in values.iter_mut().zip(words) {
                f.store(f.reduce(f.from_vector(word)), value);
            }
            let out = permute_with(lanes, words, Record(&mut values));
            for (value, word) in values[SBOXES..].iter_mut().zip(out) {
                f.store(f.reduce(f.from_vector(word)), value);
            }
            for (i, row) in rows.chunks_exact_mut(self.width).enumerate() {
                for (x, value) in row.iter_mut().zip(&values[..self.columns]) {
                    *x = value[i];
                }
            }
        }
    }
}

/// Columns of S-boxes and of the whole result.
const ALL: usize = SBOXES + WIDTH;

/// Keeps the inputs of S-boxes, except those of the first round.
struct Record<'a>(&'a mut [[Goldilocks; LANES]; ALL]);

impl<L: Lanes> SboxInputs<L> for Record<'_> {
    #[inline(always)]
    fn full(&mut self, lanes: L, round: usize, word: usize, x: L::V) -> L::V {
        let before = if round < HALF_FULL_ROUNDS { 0 } else { PARTIAL_ROUNDS };
        if round > 0 {
            let f = GoldilocksLanes::new(lanes);
            f.store(f.reduce(f.from_vector(x)), &mut self.0[round * WIDTH + before + word]);
        }
        x
    }
    #[inline(always)]
    fn partial(&mut self, lanes: L, round: usize, x: L::V) -> L::V {
        let f = GoldilocksLanes::new(lanes);
        f.store(f.reduce(f.from_vector(x)), &mut self.0[HALF_FULL_ROUNDS * WIDTH + round]);
        x
    }
}

/// Permutes states in lanes and on all threads.
pub(crate) fn permute_all(states: &mut [[Goldilocks; WIDTH]]) {
    const TASK: usize = 128;
    states.par_chunks_mut(TASK).for_each(permute_many);
}
