//! Rounds of Keccak-f\[1600\]: a row is three of them, eight rows are a permutation up to its last chi.
//!
//! **Parts.** A lane of 64 bits is 16 *parts*: part k holds the bits k, k + 16, k + 32, k + 48 as digits of a number to
//! base 16. Digits of sums stay below 16, so sums of parts are digit-wise sums. A rotation of the lane moves whole
//! parts, and rotates the four digits of a part.
//!
//! **A round**, from state to state. Both states are between pi and chi. Let a, b, c be three neighbours of a plane.
//! The next state has the lane (a xor (not b and c)) xor theta xor constant, rotated. With E = C\[x-1\] +
//! rot(C\[x+1\], 1) for the column parities C, each digit of
//!
//! s = 9 - 2 (a + E + constant) + b - c
//!
//! is from 0 to 10, and determines the bit: it is 1 where s modulo 4 is 0 or 3. A use of the [lookup
//! table](super::keccak_lookup) maps s to the part with its digits turned (the next state) and to the part unturned.
//! The sum of the unturned parts over a column, together with E, has the parity C: the theta in the parts counts five
//! times and once more, hence not at all. So C is the parity of the columns before theta, although it is committed to
//! before them.
//!
//! | committed | |
//! |---|---|
//! | 0 to 399 | the incoming state: 16 parts of each of 25 lanes, lane x + 5 y |
//! | then for each round | the next state (400), parts that were turned as they were before ([`TURNED`]), C (80), part 15 of each C turned by one (5) |
//!
//! | fixed | |
//! |---|---|
//! | [`INNER`] | 0 in the first row of a permutation, whose first round is theta, rho and pi alone; otherwise 1 |
//! | [`ACTIVE`] | 1, or 0 in a row that only fills a block |
//! | [`REST`] | 1 if all outgoing lanes are used, 0 if only those of the first plane are |
//! | [`KEYS`] to + 24 | keys of the incoming lanes |
//! | [`CONSTANTS`] to + 14 | the parts of lane 0 that constants change, of each round |
//!
//! **Lanes on the bus.** A lane is two tuples ([`LANE`], key, 0 or 1, four values); value j of eight is part j + 2^32
//! part (j + 8). The outgoing lanes of row i have the keys 32 (i + 1) + lane, each once. The row before a row is the
//! one whose lanes it uses.
//!
//! **What a row shows.** Every column except the incoming ones is the result of a use, hence a part whose digits are
//! bits. The tuples determine the incoming columns. Keys of uses are below 2^19, so five neighbours a satisfy a system
//! of determinant -22 (or -2 each, in a first round) whose right side is below 2^20, and 22 a is an integer below 2^28
//! in absolute value. A known value is the sum of two such numbers, times 1 and 2^32, in only one way. Then all sums
//! are digit-wise, below 2^16, and each use has the kind of its port.

use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;

use super::{LANE, LOOKUP, Port, Row, TUPLE};
use crate::algebra::Algebra;

/// Parts of a lane.
pub const PARTS: usize = 16;
/// Digits of a part.
pub const DIGITS: usize = 4;
/// Lanes of a state.
pub const LANES: usize = 25;
/// Rounds of a row.
pub const STAGES: usize = 3;
/// Rows of a permutation.
pub const ROWS: usize = 8;
/// Parts of a state.
pub const STATE: usize = LANES * PARTS;
/// Tuples of a lane.
pub const TUPLES: usize = 2;
/// Values of the tuples of a lane.
pub const VALUES: usize = PARTS / 2;

/// The fixed column that is 0 in first rows.
pub const INNER: usize = 0;
/// The fixed column that is 0 in rows that fill a block.
pub const ACTIVE: usize = 1;
/// The fixed column that says whether lanes after the first plane are used.
pub const REST: usize = 2;
/// The first fixed column of keys.
pub const KEYS: usize = 3;
/// The first fixed column of constants.
pub const CONSTANTS: usize = KEYS + LANES;
/// Fixed columns.
pub const FIXED: usize = CONSTANTS + STAGES * CONSTANT_PARTS.len();

/// Parts of lane 0 that a constant of a round may change: its bits are 0, 1, 3, 7, 15, 31 and 63.
pub const CONSTANT_PARTS: [usize; 5] = [0, 1, 3, 7, 15];
/// Constants of the rounds.
pub const ROUND_CONSTANTS: [u64; 24] = [
    0x0000000000000001,
    0x0000000000008082,
    0x800000000000808a,
    0x8000000080008000,
    0x000000000000808b,
    0x0000000080000001,
    0x8000000080008081,
    0x8000000000008009,
    0x000000000000008a,
    0x0000000000000088,
    0x0000000080008009,
    0x000000008000000a,
    0x000000008000808b,
    0x800000000000008b,
    0x8000000000008089,
    0x8000000000008003,
    0x8000000000008002,
    0x8000000000000080,
    0x000000000000800a,
    0x800000008000000a,
    0x8000000080008081,
    0x8000000000008080,
    0x0000000080000001,
    0x8000000080008008,
];
/// The rotation of each lane x + 5 y.
pub const ROTATIONS: [u32; LANES] =
    [0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14];

/// A part with all digits 1.
pub const ONES: u64 = 0x1111;
/// The value of each digit of s where all other terms are 0.
pub const BIAS: u64 = 9;
/// The distance of keys from one kind of uses to the next.
pub const KINDS: u64 = 1 << 16;
/// The kind of uses that take parities; smaller kinds turn the result by that many digits.
pub const PARITY: u64 = DIGITS as u64;

/// The place to which a round moves a part of a state.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// The digits by which it is turned.
    pub turn: u8,
    /// Its column among those of the round before it is turned.
    pub before: u16,
    /// Its column afterwards: lane and part of the next state.
    pub after: u16,
}

/// Parts that are turned in a round.
pub const TURNED: usize = 273;
/// The first column of the parities of a round.
pub const PARITIES: usize = STATE + TURNED;
/// The first column of the turned parts of parities.
pub const TURNED_PARITIES: usize = PARITIES + 5 * PARTS;
/// Columns of a round.
pub const STAGE: usize = TURNED_PARITIES + 5;
/// Committed columns.
pub const COLUMNS: usize = STATE + STAGES * STAGE;
/// Uses of the lookup table in a round.
pub const USES: usize = STATE + 5 * PARTS + 5;
/// Ports: lanes in, rounds, lanes out.
pub const PORTS: usize = 2 * LANES * TUPLES + STAGES * USES;

/// The moves of all parts, by lane and part.
pub static MOVES: [[Move; PARTS]; LANES] = moves();

const fn moves() -> [[Move; PARTS]; LANES] {
    let mut moves = [[Move { turn: 0, before: 0, after: 0 }; PARTS]; LANES];
    let (mut lane, mut turned) = (0, 0);
    while lane < LANES {
        let (x, y) = (lane % 5, lane / 5);
        let to = y + 5 * ((2 * x + 3 * y) % 5);
        let mut part = 0;
        while part < PARTS {
            let moved = part + ROTATIONS[lane] as usize;
            let after = (to * PARTS + moved % PARTS) as u16;
            let turn = (moved / PARTS % DIGITS) as u8;
            let before = if turn == 0 { after } else { (STATE + turned) as u16 };
            turned += (turn != 0) as usize;
            moves[lane][part] = Move { turn, before, after };
            part += 1;
        }
        lane += 1;
    }
    assert!(turned == TURNED);
    moves
}

/// The part of a lane: its bits, four apart.
pub const fn part(lane: u64, part: usize) -> u64 {
    let mut value = 0;
    let mut j = 0;
    while j < DIGITS {
        value |= (lane >> (part + PARTS * j) & 1) << (4 * j);
        j += 1;
    }
    value
}
/// Turns the digits of a part: digit j becomes digit j + `by`.
pub const fn turned(part: u64, by: u8) -> u64 {
    (part << (4 * by as u32) | part >> (16 - 4 * by as u32)) & 0xffff
}
/// The values of a lane on the bus.
pub fn values(lane: u64) -> [Goldilocks; VALUES] {
    core::array::from_fn(|j| Goldilocks::new(part(lane, j) | part(lane, j + VALUES) << 32))
}
/// The key of an outgoing lane of a row.
pub fn key(row: usize, lane: usize) -> u64 {
    32 * (row as u64 + 1) + lane as u64
}

/// For each use of a round the key, and the result turned and unturned.
#[inline(never)]
fn stage_uses<A: Algebra>(f: &mut A, stage: usize, state: &[A::V], own: &[A::V], fixed: &[A::V]) -> Vec<[A::V; 3]> {
    let number = Goldilocks::new;
    let (unit, two) = (Goldilocks::ONE, number(2));
    let one = f.one();
    let bias = f.scale(number(BIAS * ONES), one);
    let kind: [A::V; DIGITS] = core::array::from_fn(|turn| f.add_scaled(bias, number(turn as u64 * KINDS), one));
    let parity = |x: usize, part: usize| own[PARITIES + x % 5 * PARTS + part];
    let rotated = |x: usize, part: usize| match part {
        0 => own[TURNED_PARITIES + x % 5],
        _ => parity(x, part - 1),
    };
    let mut uses = Vec::with_capacity(USES);
    let mut results = Vec::with_capacity(5 * PARTS);
    for x in 0..5 {
        for part in 0..PARTS {
            let theta = f.add(parity(x + 4, part), rotated(x + 1, part));
            let mut starts: [Option<A::V>; DIGITS] = [None; DIGITS];
            let mut terms = [one; 7];
            terms[5] = theta;
            for y in 0..5 {
                let lane = x + 5 * y;
                let Move { turn, before, after } = MOVES[lane][part];
                let turn = usize::from(turn);
                let start = match starts[turn] {
                    Some(start) => start,
                    None => *starts[turn].insert(f.add_scaled(kind[turn], -two, theta)),
                };
                let [a, b, c] = [0, 1, 2].map(|by| state[(5 * y + (x + by) % 5) * PARTS + part]);
                let mut key = if stage == 0 {
                    let difference = f.sub(b, c);
                    let difference = f.mul(fixed[INNER], difference);
                    f.dot(&[-two, unit, unit], &[a, difference, start])
                } else {
                    f.dot(&[-two, unit, -unit, unit], &[a, b, c, start])
                };
                if lane == 0
                    && let Some(i) = CONSTANT_PARTS.iter().position(|&own| own == part)
                {
                    let constant = fixed[CONSTANTS + stage * CONSTANT_PARTS.len() + i];
                    key = f.add_scaled(key, -two, constant);
                }
                let (before, after) = (own[usize::from(before)], own[usize::from(after)]);
                terms[y] = before;
                uses.push([key, after, before]);
            }
            let sum = f.dot(&[unit, unit, unit, unit, unit, unit, number(PARITY * KINDS)], &terms);
            let c = parity(x, part);
            results.push([sum, c, c]);
        }
    }
    uses.extend(results);
    for x in 0..5 {
        let last = parity(x, PARTS - 1);
        let key = f.combine([Goldilocks::ZERO, -two, Goldilocks::ONE], last, last, kind[1]);
        uses.push([key, own[TURNED_PARITIES + x], last]);
    }
    uses
}

#[inline(never)]
pub(super) fn ports<A: Algebra>(f: &mut A, row: &Row<'_, A::V>, out: &mut Vec<Port<A::V>>) {
    let number = Goldilocks::new;
    let one = f.one();
    let zero = f.zero();
    let minus = f.scale(-Goldilocks::ONE, one);
    let space = f.scale(LOOKUP, one);
    let active = row.fixed[ACTIVE];
    let taken = f.scale(-Goldilocks::ONE, active);
    for (lane, parts) in row.columns[..STATE].chunks_exact(PARTS).enumerate() {
        lane_ports(f, row.fixed[KEYS + lane], taken, parts, out);
    }
    let mut state = &row.columns[..STATE];
    for stage in 0..STAGES {
        let own = &row.columns[STATE + stage * STAGE..][..STAGE];
        for [key, turned, plain] in stage_uses(f, stage, state, own, row.fixed) {
            let tuple: [A::V; TUPLE] = [space, key, turned, plain, zero, zero, zero];
            out.push(Port { multiplicity: minus, tuple, len: 4 });
        }
        state = &own[..STATE];
    }
    let next = f.add(row.number, one);
    let next = f.scale(number(32), next);
    for (lane, parts) in state.chunks_exact(PARTS).enumerate() {
        let key = f.add_scaled(next, number(lane as u64), one);
        lane_ports(f, key, if lane < 5 { active } else { row.fixed[REST] }, parts, out);
    }
}

/// The two tuples of a lane, from its parts.
#[inline(never)]
pub(super) fn lane_ports<A: Algebra>(
    f: &mut A,
    key: A::V,
    multiplicity: A::V,
    parts: &[A::V],
    out: &mut Vec<Port<A::V>>,
) {
    let values: [A::V; VALUES] =
        core::array::from_fn(|j| f.add_scaled(parts[j], Goldilocks::new(1 << 32), parts[j + VALUES]));
    value_ports(f, key, multiplicity, values, out);
}

/// The two tuples of a lane, from its values.
#[inline(never)]
pub(super) fn value_ports<A: Algebra>(
    f: &mut A,
    key: A::V,
    multiplicity: A::V,
    values: [A::V; VALUES],
    out: &mut Vec<Port<A::V>>,
) {
    let one = f.one();
    let space = f.scale(LANE, one);
    let level = [f.zero(), one];
    for (level, values) in level.into_iter().zip(values.as_chunks().0) {
        let [a, b, c, d] = *values;
        out.push(Port { multiplicity, tuple: [space, key, level, a, b, c, d], len: TUPLE });
    }
}

/// The fixed column of a round's constants.
pub fn set_constants(fixed: &mut [Goldilocks], constants: [u64; STAGES]) {
    let all = constants.iter().flat_map(|&constant| CONSTANT_PARTS.map(|i| part(constant, i)));
    for (column, value) in fixed[CONSTANTS..].iter_mut().zip(all) {
        *column = Goldilocks::new(value);
    }
}

/// The constants of a row of a permutation: the first round is theta alone, and each later round begins with the
/// constant of the round before.
pub fn constants(row: usize) -> [u64; STAGES] {
    core::array::from_fn(|stage| (STAGES * row + stage).checked_sub(1).map_or(0, |round| ROUND_CONSTANTS[round]))
}
