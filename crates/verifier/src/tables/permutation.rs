//! Poseidon permutations: a row hashes (m, h) to the first four elements of the permutation of (m_0..m_7, h_0..h_3).
//!
//! | committed | |
//! |---|---|
//! | 0 to 117 | the inputs of the S-boxes ([`poseidon`](crate::poseidon)); 0 to 7 are m, 8 to 11 are h |
//! | 118 to 121 | the digest |
//! | [`INDEX`], [`LEVEL`] | place of a node in its Merkle tree |
//! | [`ACTIVE`] | whether a node row counts, 0 or 1 |
//! | [`LEFT`], [`RIGHT`] | how often the two halves of m are offered as nodes |
//!
//! **Modes** are fixed. In a *hash* row, h is a wire. Each half of m is a wire that is used, or a wire that is defined
//! here (free data, like the words of a proof), or a node that is offered (the cap of a tree). With [`FIELD`], for K of
//! degree two, a half is two elements of K, each a separate wire. In a *node* row h is zero, and the row says: if the
//! digest is the node (index, level + 1), then the halves of m are the nodes (2 index, level) and (2 index + 1, level).
//!
//! **Nodes.** A node row offers a tuple ([`NODE`], index, level, digest) with a multiplicity that the prover chooses. A
//! node row below, or a [`LEAF`] row, uses it once. Only an active node row offers anything. Each use takes one, and
//! there are fewer than p uses, so every tuple that is used is offered, hence is either in the cap or half of an active
//! row one level above. So leaves hang on the cap; paths that meet share their rows. Levels of different trees lie 2^20
//! apart, more than there are rows.
//!
//! | port | hash row | node row |
//! |---|---|---|
//! | 0 | use of h | use of node (index, level + 1), digest |
//! | 1, 2 | halves of m: use, definition, or offer of cap node | offers of the two nodes below |
//! | 3, 4 | with `FIELD` the second element of each half | |
//! | 3, 4 | in a leaf row: use of the wire `index`; use of node (index, level) | |
//! | 4 | in the row of the public inputs: the tuple ([`PUBLIC`], 0, 0, digest), once | |
//! | 5 | definition of the digest as a word | |
//! | 6, 7 | definition of the digest's first element of K, and second one | |

use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::hash::poseidon::{ROUNDS, WIDTH, is_full, matrix, round_constants};

use super::{NODE, PUBLIC, Port, Row, TUPLE, WIRE, WORD, place};
use crate::algebra::Algebra;
use crate::poseidon::{OUTPUTS, SBOXES};

/// Elements of m.
pub const RATE: usize = 8;
/// The committed column of a node's number within its level.
pub const INDEX: usize = SBOXES + OUTPUTS;
/// The committed column of the level of the nodes that are offered.
pub const LEVEL: usize = INDEX + 1;
/// The committed column that says whether a node row counts.
pub const ACTIVE: usize = INDEX + 2;
/// The committed column of how often the first half is offered.
pub const LEFT: usize = INDEX + 3;
/// The committed column of how often the second half is offered.
pub const RIGHT: usize = INDEX + 4;
/// Committed columns.
pub const COLUMNS: usize = INDEX + 5;

/// The fixed column: the first half is a wire that is used.
pub const USE_LEFT: usize = 0;
/// The fixed column: the first half defines a wire.
pub const FREE_LEFT: usize = 1;
/// The fixed column: the second half is a wire that is used.
pub const USE_RIGHT: usize = 2;
/// The fixed column: the second half defines a wire.
pub const FREE_RIGHT: usize = 3;
/// The fixed column: each half is elements of K, two for K of degree two, otherwise one.
pub const FIELD: usize = 4;
/// The fixed column: a node row.
pub const INNER: usize = 5;
/// The fixed column: both halves are nodes of a cap.
pub const CAP: usize = 6;
/// The fixed column: the digest is a leaf.
pub const LEAF: usize = 7;
/// The fixed column: the digest is that of the public inputs.
pub const DIGEST: usize = 8;
/// The fixed column of the first port: number of the wire that is used, or uses of the wire that is defined. Those of
/// the other ports follow. In a cap row that of port 1 is the index of the first node, that of port 2 the level; in a
/// leaf row that of port 4 is the level.
pub const NUMBERS: usize = 9;
/// Ports.
pub const PORTS: usize = 8;
/// Fixed columns.
pub const FIXED: usize = NUMBERS + PORTS;

/// The MDS matrix, and its negative.
const MATRIX: [[[Goldilocks; WIDTH]; WIDTH]; 2] = {
    let matrix = matrix();
    let mut signed = [[[Goldilocks::ZERO; WIDTH]; WIDTH]; 2];
    let mut i = 0;
    while i < WIDTH * WIDTH {
        let entry = matrix[i / WIDTH][i % WIDTH];
        signed[0][i / WIDTH][i % WIDTH] = Goldilocks::new(entry);
        signed[1][i / WIDTH][i % WIDTH] = Goldilocks::new((Goldilocks::ORDER - entry) % Goldilocks::ORDER);
        i += 1;
    }
    signed
};

/// What is added to the result of each round's matrix: the constants of the next round, and those of earlier rounds for words
/// that no S-box has read since. The last line has no next round.
const ADDED: [[Goldilocks; WIDTH]; ROUNDS] = {
    const P: u128 = Goldilocks::ORDER as u128;
    let (matrix, rounds) = (matrix(), round_constants());
    let mut added = [[Goldilocks::ZERO; WIDTH]; ROUNDS];
    let mut constants = [0u128; WIDTH];
    let mut round = 0;
    while round < ROUNDS {
        let mut j = 0;
        while j < if is_full(round) { WIDTH } else { 1 } {
            constants[j] = 0;
            j += 1;
        }
        let mut sums = [0u128; WIDTH];
        let mut i = 0;
        while i < WIDTH {
            if round + 1 < ROUNDS {
                sums[i] = rounds[round + 1][i] as u128;
            }
            let mut j = 0;
            while j < WIDTH {
                sums[i] = (sums[i] + matrix[i][j] as u128 * constants[j]) % P;
                j += 1;
            }
            added[round][i] = Goldilocks::new((sums[i] % P) as u64);
            i += 1;
        }
        constants = sums;
        round += 1;
    }
    added
};

/// The rounds of a permutation: columns of S-boxes, then the first `outputs` words of the result.
pub(super) fn rounds<A: Algebra>(f: &mut A, columns: &[A::V], outputs: usize, out: &mut Vec<A::V>) {
    let one = f.one();
    // The state before the S-boxes. Words that no S-box reads are kept without their added constants.
    let mut state = [f.zero(); WIDTH];
    for (i, word) in state.iter_mut().enumerate() {
        *word = f.add_scaled(columns[i], Goldilocks::new(round_constants()[0][i]), one);
    }
    let [matrix, negative] = &MATRIX;
    let mut column = WIDTH;
    for (round, added) in ADDED.iter().enumerate() {
        for word in &mut state[..if is_full(round) { WIDTH } else { 1 }] {
            let square = f.mul(*word, *word);
            let cube = f.mul(square, *word);
            let sixth = f.mul(cube, cube);
            *word = f.mul(sixth, *word);
        }
        let last = round + 1 == ROUNDS;
        let read = match last {
            true => outputs,
            false if is_full(round + 1) => WIDTH,
            false => 1,
        };
        let before = state;
        for i in 0..WIDTH {
            if i < read {
                // The column minus the linear form: 0.
                let mut coefficients = [Goldilocks::ONE; WIDTH + 2];
                let mut values = [columns[column]; WIDTH + 2];
                coefficients[..WIDTH].copy_from_slice(&negative[i]);
                values[..WIDTH].copy_from_slice(&before);
                (coefficients[WIDTH], values[WIDTH]) = (-added[i], one);
                out.push(f.dot(&coefficients, &values));
                state[i] = columns[column];
                column += 1;
            } else if !last {
                state[i] = f.dot(&matrix[i], &before);
            }
        }
    }
    debug_assert_eq!(column, SBOXES + outputs);
}

pub(super) fn constraints<K: Extension, A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<A::V>) {
    rounds(f, row.columns, OUTPUTS, out);
    let one = f.one();
    // Node rows have h = 0.
    for i in RATE..WIDTH {
        out.push(f.mul(row.fixed[INNER], row.columns[i]));
    }
    // Halves that are elements of K of degree three have zeros after them.
    if K::DEGREE == 3 {
        out.push(f.mul(row.fixed[FIELD], row.columns[WORD - 1]));
        out.push(f.mul(row.fixed[FIELD], row.columns[RATE - 1]));
    }
    let active = row.columns[ACTIVE];
    out.push(f.boolean(active));
    // A node row that is not active offers nothing.
    let idle = f.sub(one, active);
    let idle = f.mul(idle, row.fixed[INNER]);
    out.push(f.mul(idle, row.columns[LEFT]));
    out.push(f.mul(idle, row.columns[RIGHT]));
}

pub(super) fn ports<K: Extension, A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    let (zero, one) = (f.zero(), f.one());
    let minus = -Goldilocks::ONE;
    let fixed = |i: usize| row.fixed[i];
    let (inner, cap, leaf) = (fixed(INNER), fixed(CAP), fixed(LEAF));
    let (index, level) = (row.columns[INDEX], row.columns[LEVEL]);
    let word = |i: usize| -> [A::V; WORD] { core::array::from_fn(|j| row.columns[i + j]) };
    let digest = word(SBOXES);

    // h of a hash row, the digest of a node row.
    let hash = f.add(fixed(USE_LEFT), fixed(FREE_LEFT));
    let hash = f.add(hash, cap);
    let spaces = f.scale(WIRE, hash);
    let space = f.add_scaled(spaces, NODE, inner);
    let key = f.mul_add(inner, index, fixed(NUMBERS));
    let above = f.add(level, one);
    let above = f.mul(inner, above);
    let mut tuple = [space, key, above, zero, zero, zero, zero];
    for j in 0..WORD {
        let chained = f.mul(hash, row.columns[RATE + j]);
        tuple[3 + j] = f.mul_add(inner, digest[j], chained);
    }
    let uses = f.mul_add(inner, row.columns[ACTIVE], hash);
    out.push(Port { multiplicity: f.scale(minus, uses), tuple, len: TUPLE });

    // The halves of m.
    let nodes = f.add(inner, cap);
    let space = f.scale(WIRE, one);
    let space = f.add_scaled(space, NODE - WIRE, nodes);
    let below = f.mul(inner, level);
    let below = f.mul_add(cap, fixed(NUMBERS + 2), below);
    let pair = field_or_zero::<K, A>(row, zero);
    let single = f.sub(one, pair);
    for (side, first) in [0, WORD].into_iter().enumerate() {
        let (using, free) = (fixed(USE_LEFT + 2 * side), fixed(FREE_LEFT + 2 * side));
        let number = fixed(NUMBERS + 1 + side);
        let place = place(f, row, 1 + side);
        // A use has the number; a definition the place; a node of the cap the index of the first node, a node below 2
        // index, plus the side.
        let key = f.mul(using, number);
        let key = f.mul_add(free, place, key);
        let key = f.mul_add(cap, fixed(NUMBERS + 1), key);
        let twice = f.mul(inner, index);
        let key = f.add_scaled(key, Goldilocks::new(2), twice);
        let key = if side == 0 { key } else { f.add(key, nodes) };
        let half = word(first);
        let third = f.mul(single, half[2]);
        let fourth = f.mul(single, half[3]);
        let defined = f.mul(free, number);
        let uses = f.sub(defined, using);
        let offered = f.mul(nodes, row.columns[LEFT + side]);
        out.push(Port {
            multiplicity: f.add(uses, offered),
            tuple: [space, key, below, half[0], half[1], third, fourth],
            len: TUPLE,
        });
    }

    // The second element of each half; the wire of a leaf's index and the leaf; the public inputs.
    for (side, first) in [2, WORD + 2].into_iter().enumerate() {
        let (using, free) = (fixed(USE_LEFT + 2 * side), fixed(FREE_LEFT + 2 * side));
        let number = fixed(NUMBERS + 3 + side);
        let place = place(f, row, 3 + side);
        let key = f.mul(using, number);
        let key = f.mul_add(free, place, key);
        let key = f.mul(pair, key);
        let defined = f.mul(free, number);
        let uses = f.sub(defined, using);
        let multiplicity = f.mul(pair, uses);
        let multiplicity = f.sub(multiplicity, leaf);
        let mut values = [zero; WORD];
        values[0] = f.mul(pair, row.columns[first]);
        values[1] = f.mul(pair, row.columns[first + 1]);
        let port = if side == 0 {
            let key = f.mul_add(leaf, number, key);
            values[0] = f.mul_add(leaf, index, values[0]);
            let [a, b, c, d] = values;
            let space = f.scale(WIRE, one);
            Port { multiplicity, tuple: [space, key, zero, a, b, c, d], len: TUPLE }
        } else {
            let public = fixed(DIGEST);
            let space = f.scale(WIRE, pair);
            let space = f.add_scaled(space, NODE, leaf);
            let space = f.add_scaled(space, PUBLIC, public);
            let key = f.mul_add(leaf, index, key);
            let level = f.mul(leaf, number);
            let either = f.add(leaf, public);
            let mut tuple: [A::V; TUPLE] = [space, key, level, zero, zero, zero, zero];
            for j in 0..WORD {
                tuple[3 + j] = f.mul_add(either, digest[j], values[j]);
            }
            Port { multiplicity: f.add(multiplicity, public), tuple, len: TUPLE }
        };
        out.push(port);
    }

    // The digest: as a word, and as elements of K.
    let elements = [digest, split::<K, A::V>(digest, 0, zero), split::<K, A::V>(digest, 1, zero)];
    for (i, values) in elements.into_iter().enumerate() {
        let number = place(f, row, 5 + i);
        let space = f.scale(WIRE, one);
        let [a, b, c, d] = values;
        let tuple = [space, number, zero, a, b, c, d];
        out.push(Port { multiplicity: fixed(NUMBERS + 5 + i), tuple, len: TUPLE });
    }
}

/// Whether halves are two elements: never where K has degree three.
fn field_or_zero<K: Extension, A: Algebra>(row: &Row<'_, A::V>, zero: A::V) -> A::V {
    if K::DEGREE == 2 { row.fixed[FIELD] } else { zero }
}

/// Element `i` of K in a word, as a word; zero where it does not fit.
fn split<K: Extension, V: Copy>(digest: [V; WORD], i: usize, zero: V) -> [V; WORD] {
    core::array::from_fn(|j| {
        let from = i * K::DEGREE + j;
        if j < K::DEGREE && (i + 1) * K::DEGREE <= WORD { digest[from] } else { zero }
    })
}
