//! The columns of three rounds of Keccak.

use evergrove_primitives::Goldilocks;
use evergrove_verifier::tables::keccak::{
    BIAS, KINDS, MOVES, ONES, PARITIES, PARITY, PARTS, STAGE, STAGES, STATE, TURNED_PARITIES, part, turned,
};

/// The committed columns of a row, from the incoming parts: what each round of the row has for its first step, and
/// constants.
///
/// Incoming digits are 0 to 2 in a first row, which `first` says, otherwise bits. `each` receives the keys of uses of
/// the lookup table.
pub(crate) fn fill(columns: &mut [Goldilocks], first: bool, constants: [u64; STAGES], mut each: impl FnMut(u64)) {
    let mut state: Vec<u64> = columns[..STATE].iter().map(|x| x.as_u64()).collect();
    for stage in 0..STAGES {
        let own = &mut columns[STATE + stage * STAGE..][..STAGE];
        let neighbour = |lane: usize, by: usize| lane / 5 * 5 + (lane + by) % 5;
        let theta = !(first && stage == 0);
        // The values before theta: the bits of a part are the low bits of its digits.
        let before: Vec<u64> = (0..STATE)
            .map(|i| {
                let at = |by: usize| state[neighbour(i / PARTS, by) * PARTS + i % PARTS];
                let constant = if i < PARTS { part(constants[stage], i) } else { 0 };
                let chi = if theta { !at(1) & at(2) } else { 0 };
                (at(0) ^ chi ^ constant) & ONES
            })
            .collect();
        let parity = |x: usize, part: usize| (0..5).fold(0, |sum, y| sum ^ before[(x + 5 * y) * PARTS + part]) & ONES;
        let parities: Vec<u64> = (0..5 * PARTS).map(|i| parity(i / PARTS, i % PARTS)).collect();
        let rotated = |x: usize, part: usize| match part {
            0 => turned(parities[x * PARTS + PARTS - 1], 1),
            _ => parities[x * PARTS + part - 1],
        };
        let mut next = vec![0; STATE];
        let mut sums = vec![PARITY * KINDS; 5 * PARTS];
        for (i, before) in before.iter().enumerate() {
            let (lane, part) = (i / PARTS, i % PARTS);
            let x = lane % 5;
            let (left, right) = (parities[(x + 4) % 5 * PARTS + part], rotated((x + 1) % 5, part));
            let bits = before ^ left ^ right;
            let to = MOVES[lane][part];
            let at = |by: usize| state[neighbour(lane, by) * PARTS + part];
            let constant = if lane == 0 { evergrove_verifier::tables::keccak::part(constants[stage], part) } else { 0 };
            let chi = if theta { BIAS * ONES + at(1) - at(2) } else { BIAS * ONES };
            each(u64::from(to.turn) * KINDS + chi - 2 * (at(0) + left + right + constant));
            sums[x * PARTS + part] += bits + if lane < 5 { left + right } else { 0 };
            next[usize::from(to.after)] = turned(bits, to.turn);
            own[usize::from(to.before)] = Goldilocks::new(bits);
            own[usize::from(to.after)] = Goldilocks::new(turned(bits, to.turn));
        }
        for (i, &x) in parities.iter().enumerate() {
            own[PARITIES + i] = Goldilocks::new(x);
        }
        sums.into_iter().for_each(&mut each);
        for x in 0..5 {
            own[TURNED_PARITIES + x] = Goldilocks::new(rotated(x, 0));
            each(KINDS + BIAS * ONES - 2 * parities[x * PARTS + PARTS - 1]);
        }
        state = next;
    }
}
