//! The table of Poseidon permutations: a row is one permutation, a column what one S-box reads.
//!
//! A row has [`SBOXES`] S-box inputs and the first [`OUTPUTS`] words of the result. The inputs of the first round are stored without
//! their constants, hence are the words of the state before the permutation. Every column but those of the first round is a linear
//! form in the results of S-boxes before it.
//!
//! **The linear layers cost the prover nothing.** With the constraints column = form combined by weights, what is left is one weight
//! for each column, one for each S-box and a constant ([`Combined`]), all found by going through the rounds backwards once: the
//! transposed matrix for each round.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::goldilocks::lanes::GoldilocksLanes;
use evergrove_primitives::hash::Digest;
use evergrove_primitives::hash::poseidon::lanes::{SboxInputs, permute_with};
use evergrove_primitives::hash::poseidon::{
    HALF_FULL_ROUNDS, PARTIAL_ROUNDS, WIDTH, is_full, matrix, round_constants, two_to_one,
};
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

/// S-boxes of a permutation.
pub const SBOXES: usize = 2 * HALF_FULL_ROUNDS * WIDTH + PARTIAL_ROUNDS;
/// Words of the result that a row has.
pub const OUTPUTS: usize = 4;
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
    /// What an S-box adds to its column: the constants of the first round, and 0.
    pub shifts: Vec<Goldilocks>,
    /// What is left.
    pub constant: K,
}

impl<K: Extension> Combined<K> {
    /// The constraints of columns 12, 13, ... combined by `weights`.
    ///
    /// # Panics
    /// Unless there is a weight for each of them: [`COLUMNS`] - 12.
    pub fn new(weights: &[K]) -> Self {
        assert_eq!(weights.len(), COLUMNS - WIDTH, "a weight for each column but those of the first round");
        let zero = vec![K::ZERO; COLUMNS];
        let mut this = Self {
            columns: zero,
            sboxes: vec![K::ZERO; SBOXES],
            shifts: vec![Goldilocks::ZERO; SBOXES],
            constant: K::ZERO,
        };
        this.columns[WIDTH..].copy_from_slice(weights);
        let matrix = matrix();
        // What a word of the state weighs in the sum, going backwards: minus the weight of the column that it is compared with.
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

    /// The sum on a row.
    ///
    /// # Panics
    /// Unless the row has [`COLUMNS`] values.
    pub fn on_row<V: Copy + Into<K>>(&self, row: &[V]) -> K {
        self.at_point(row, K::ONE)
    }

    /// The sum at a point, where a constant is worth `activity`.
    ///
    /// # Panics
    /// Unless there are [`COLUMNS`] values.
    pub fn at_point<V: Copy + Into<K>>(&self, values: &[V], activity: K) -> K {
        assert_eq!(values.len(), COLUMNS, "a value of each column");
        let linear = self.columns.iter().zip(values).map(|(&weight, &x)| weight * x.into());
        let powers = self
            .sboxes
            .iter()
            .zip(&self.shifts)
            .zip(values)
            .map(|((&weight, &shift), &x)| weight * (x.into() + activity * shift).pow(7));
        linear.sum::<K>() + powers.sum() + self.constant * activity
    }
}

/// The columns of permutations: column j of permutation i at `columns[j][i]`.
///
/// # Panics
/// Unless there are [`COLUMNS`] columns, each as long as `states`.
pub fn trace(states: &[[Goldilocks; WIDTH]], columns: &mut [&mut [Goldilocks]]) {
    trace_on(Isa::detect(), states, columns);
}

/// [`trace`] on a given instruction set, for tests and comparisons.
///
/// # Panics
/// As [`trace`], and if this CPU lacks the instruction set.
pub fn trace_on(isa: Isa, states: &[[Goldilocks; WIDTH]], columns: &mut [&mut [Goldilocks]]) {
    assert_eq!(columns.len(), COLUMNS, "columns of the table");
    assert!(
        columns.iter().all(|column| column.len() == states.len()),
        "a value of each column for each of {} states",
        states.len()
    );
    const TASK: usize = 512;
    let mut tasks: Vec<Vec<&mut [Goldilocks]>> =
        (0..states.len().div_ceil(TASK)).map(|_| Vec::with_capacity(COLUMNS)).collect();
    for column in columns {
        for (task, part) in tasks.iter_mut().zip(column.chunks_mut(TASK)) {
            task.push(part);
        }
    }
    states.par_chunks(TASK).zip(tasks).for_each(|(states, mut columns)| {
        dispatch_on(isa, Trace { states, columns: &mut columns });
    });
}

/// [`trace`] of some permutations.
struct Trace<'a, 'b> {
    states: &'a [[Goldilocks; WIDTH]],
    columns: &'a mut [&'b mut [Goldilocks]],
}

impl Kernel for Trace<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        for (group, states) in self.states.chunks(LANES).enumerate() {
            // The last group is filled up with its first state.
            let at = |i: usize| &states[if i < states.len() { i } else { 0 }];
            let rows: [&[Goldilocks; WIDTH]; LANES] = core::array::from_fn(at);
            let words = f.load_rows(rows).map(|x| f.to_vector(x));
            let mut values = [[Goldilocks::ZERO; LANES]; COLUMNS];
            for (value, word) in values.iter_mut().zip(words) {
                f.store(f.reduce(f.from_vector(word)), value);
            }
            let out = permute_with(lanes, words, Record(&mut values));
            for (value, word) in values[SBOXES..].iter_mut().zip(out) {
                f.store(f.reduce(f.from_vector(word)), value);
            }
            for (column, value) in self.columns.iter_mut().zip(&values) {
                column[LANES * group..][..states.len()].copy_from_slice(&value[..states.len()]);
            }
        }
    }
}

/// Keeps what S-boxes read, the first round apart.
struct Record<'a>(&'a mut [[Goldilocks; LANES]; COLUMNS]);

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

/// The columns of one permutation.
pub fn row(state: [Goldilocks; WIDTH]) -> [Goldilocks; COLUMNS] {
    let mut values = [Goldilocks::ZERO; COLUMNS];
    let mut columns: Vec<&mut [Goldilocks]> = values.chunks_exact_mut(1).collect();
    trace(&[state], &mut columns);
    values
}

/// The digest of an inner node of a Merkle tree.
pub fn node([left, right]: [[Goldilocks; OUTPUTS]; 2]) -> [Goldilocks; OUTPUTS] {
    two_to_one(&Digest(left), &Digest(right)).0
}
