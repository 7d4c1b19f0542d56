//! Rows of Poseidon gates, eight at a time.
//!
//! A row holds the inputs and outputs of a permutation, the input of each S-box except those of the first round, and a
//! swap of two digests. The permutation is that of the primitives, which asks for the input of each S-box. [`Trace`]
//! records the computed input, which makes a row of the witness. The quotient compares it with the row's wire and
//! continues with the wire.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::{Canonical, GoldilocksLanes, Loose};
use evergrove_primitives::hash::poseidon::lanes::{self, SboxInputs};
use evergrove_primitives::hash::poseidon::{HALF_FULL_ROUNDS, PARTIAL_ROUNDS, WIDTH};
use evergrove_primitives::lanes::{LANES, Lanes};

/// Wires of a row.
pub(super) const WIRES: usize = 135;
/// Inputs are the first wires, outputs the twelve wires after them.
pub(super) const OUTPUT: usize = WIDTH;
/// Whether the digests in inputs 0 to 3 and 4 to 7 change places.
pub(super) const SWAP: usize = 2 * WIDTH;
/// swap (input\[i + 4\] - input\[i\]), four wires.
pub(super) const DELTA: usize = SWAP + 1;
const FULL_0: usize = DELTA + 4;
const PARTIAL: usize = FULL_0 + WIDTH * (HALF_FULL_ROUNDS - 1);
const FULL_1: usize = PARTIAL + PARTIAL_ROUNDS;

/// S-boxes of a permutation.
pub(super) const SBOXES: usize = 2 * HALF_FULL_ROUNDS * WIDTH + PARTIAL_ROUNDS;

type State<V> = [Loose<V>; WIDTH];

/// The inputs of S-boxes that have a wire.
pub(super) trait Wires<L: Lanes> {
    /// The input of the S-box whose wire is `wire`, if the rounds before it make it `computed`.
    fn input(&mut self, f: GoldilocksLanes<L>, wire: usize, computed: Loose<L::V>) -> Loose<L::V>;
}

/// Rounds to wires.
struct Wired<S>(S);

impl<L: Lanes, S: Wires<L>> SboxInputs<L> for Wired<S> {
    #[inline(always)]
    fn full(&mut self, lanes: L, round: usize, word: usize, x: L::V) -> L::V {
        let wire = match round {
            // The first round reads the inputs and its constants.
            0 => return x,
            1..HALF_FULL_ROUNDS => FULL_0 + WIDTH * (round - 1) + word,
            _ => FULL_1 + WIDTH * (round - HALF_FULL_ROUNDS) + word,
        };
        let f = GoldilocksLanes::new(lanes);
        f.to_vector(self.0.input(f, wire, f.from_vector(x)))
    }

    #[inline(always)]
    fn partial(&mut self, lanes: L, round: usize, x: L::V) -> L::V {
        let f = GoldilocksLanes::new(lanes);
        f.to_vector(self.0.input(f, PARTIAL + round, f.from_vector(x)))
    }
}

#[inline(always)]
fn words<L: Lanes>(f: GoldilocksLanes<L>, state: State<L::V>) -> [L::V; WIDTH] {
    let mut out = [f.to_vector(state[0]); WIDTH];
    for (out, x) in out.iter_mut().zip(state) {
        *out = f.to_vector(x);
    }
    out
}

#[inline(always)]
fn elements<L: Lanes>(f: GoldilocksLanes<L>, words: [L::V; WIDTH]) -> State<L::V> {
    let mut out = [f.from_vector(words[0]); WIDTH];
    for (out, x) in out.iter_mut().zip(words) {
        *out = f.from_vector(x);
    }
    out
}

/// The product of the MDS matrix with a state.
#[inline(always)]
pub(super) fn mds<L: Lanes>(f: GoldilocksLanes<L>, state: State<L::V>) -> State<L::V> {
    elements(f, lanes::mds(f.lanes(), words(f, state)))
}

/// The permutation of inputs that have been swapped.
#[inline(always)]
pub(super) fn rounds<L: Lanes, S: Wires<L>>(f: GoldilocksLanes<L>, state: State<L::V>, wires: S) -> State<L::V> {
    elements(f, lanes::permute_with(f.lanes(), words(f, state), Wired(wires)))
}

/// The wires of eight rows from their inputs and swaps.
pub(super) struct Trace<'a> {
    /// Inputs and, as the last, the swap.
    pub(super) given: &'a [[Goldilocks; LANES]; WIDTH + 1],
    /// Every wire.
    pub(super) wires: &'a mut [[Goldilocks; LANES]; WIRES],
}

impl evergrove_primitives::lanes::Kernel for Trace<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let Self { given, wires } = self;
        let swap: Canonical<L::V> = f.load(&given[WIDTH]);
        wires[..WIDTH].copy_from_slice(&given[..WIDTH]);
        wires[SWAP] = given[WIDTH];
        let mut state = [Loose::from(swap); WIDTH];
        for (x, given) in state.iter_mut().zip(given) {
            *x = f.load(given).into();
        }
        for i in 0..4 {
            let (left, right) = (f.load(&given[i]), f.load(&given[i + 4]));
            let delta = f.reduce(f.mul(swap, f.sub(right, left)));
            f.store(delta, &mut wires[DELTA + i]);
            state[i] = f.add(left, delta);
            state[i + 4] = f.sub(right, delta);
        }
        let state = rounds(f, state, Record(wires));
        for (i, x) in state.into_iter().enumerate() {
            f.store(f.reduce(x), &mut wires[OUTPUT + i]);
        }
    }
}

/// Records the inputs of S-boxes.
struct Record<'a>(&'a mut [[Goldilocks; LANES]; WIRES]);

impl<L: Lanes> Wires<L> for Record<'_> {
    #[inline(always)]
    fn input(&mut self, f: GoldilocksLanes<L>, wire: usize, computed: Loose<L::V>) -> Loose<L::V> {
        f.store(f.reduce(computed), &mut self.0[wire]);
        computed
    }
}
