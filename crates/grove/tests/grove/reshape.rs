//! Slots of a contract as rows of a table: true statements, and attacks that set values directly.

use std::sync::LazyLock;

use evergrove_commit::schema::row_tag;
use evergrove_grove::reshape::{
    self, DECIMALS_MAX, Reshape, ReshapeError, ReshapeProver, ReshapeVerifier, SLOTS_MAX, Size, StorageTable,
    TableError,
};
use evergrove_multilinear::circuit::{Builder, Circuit, Fault};
use evergrove_primitives::Digest;
use evergrove_primitives::field::{Goldilocks, Quadratic};
use evergrove_primitives::hash::poseidon::{self, hash_tagged};
use evergrove_verifier::argument::UNIQUE_100;
use evergrove_verifier::batch_digest;
use evergrove_verifier::ethereum::{Account, Address, Claim, Word, canonical_digest};
use evergrove_verifier::tables::{Table, Tables, bits, query, tuple};
use evergrove_verifier::tree::{LEAF_TAG, node_digest};

use crate::common::{Judge, fill};

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;
/// A key; the circuit does not constrain it.
const KEY: [Goldilocks; 4] = [ONE; 4];
/// log2 of the slots of the circuits that are attacked.
const HEIGHT: u8 = 2;
const ROOM: usize = 1 << HEIGHT;

const CONTRACT: Address = [0xc0; 20];

fn number(x: u128) -> Word {
    let mut word = [0; 32];
    word[16..].copy_from_slice(&x.to_be_bytes());
    word
}

/// A slot whose number has 32 different bytes.
fn slot(i: u8, value: u128) -> Claim {
    let slot = core::array::from_fn(|j| ((37 * j % 251) as u8).rotate_left(3) ^ i);
    Claim::Slot { address: CONTRACT, slot, value: number(value) }
}

fn account() -> Claim {
    let account = Account { nonce: 1, balance: number(77), storage_root: [3; 32], code_hash: [4; 32] };
    Claim::Account { address: CONTRACT, account }
}

fn size(height: u8, decimals: u8) -> Size {
    Size::new(height, decimals).unwrap()
}

fn circuit(decimals: u8) -> Circuit<Quadratic> {
    let modes = reshape::modes();
    let tables =
        Tables::new(query::Parameters { bits: 6, variables: 3 }, bits::Parameters::new(modes.widths, modes.zeros));
    let mut b = Builder::new(tables);
    reshape::reshape(&mut b, size(HEIGHT, decimals));
    b.finish()
}

fn table(claims: &[Claim], decimals: u8) -> StorageTable {
    let table = StorageTable::new(claims, decimals).unwrap();
    assert_eq!(table.claims_digest(), canonical_digest(claims).unwrap());
    let schema = StorageTable::schema();
    let leaves: Vec<_> = (0..).zip(table.rows().map(|row| schema.value(&row).unwrap())).collect();
    assert_eq!(table.rows_digest(), batch_digest(40, &leaves).unwrap());
    table
}

fn holds(claims: &[Claim], decimals: u8) {
    let circuit = circuit(decimals);
    let columns = circuit.witness(&table(claims, decimals).data(size(HEIGHT, decimals), KEY)).unwrap();
    let faults = columns.faults(&circuit);
    assert!(faults.is_empty(), "{claims:?}: {:?}", &faults[..faults.len().min(8)]);
}

#[test]
fn tables_of_claims_hold() {
    for count in 1..=ROOM as u8 {
        let claims: Vec<Claim> = (0..count).map(|i| slot(i, u128::from(i))).collect();
        holds(&claims, 0);
        holds(&[claims, vec![account()]].concat(), 3);
    }
    // Only zero slots.
    holds(&[slot(1, 0), slot(2, 0)], 18);
}

/// Values at the ends of all ranges, and values whose sums have the largest carries.
#[test]
fn values_of_every_size_hold() {
    for decimals in 0..=DECIMALS_MAX {
        let unit = 10_u128.pow(decimals.into());
        let most = (unit << 63) - 1;
        holds(&[slot(1, most), slot(2, unit), slot(3, unit - 1), slot(4, most - unit + 1)], decimals);
        let holes = [0, 21, 32, 42, 53, 63, 64, 84, 96, 105, 122].map(|bit| (1_u128 << bit) - 1);
        for values in holes.map(|x| x & most).chunks(ROOM) {
            let claims: Vec<Claim> = (0..).zip(values).map(|(i, &value)| slot(i, value)).collect();
            holds(&claims, decimals);
        }
        let error = StorageTable::new(&[slot(1, most + 1)], decimals).unwrap_err();
        assert!(matches!(error, TableError::Value { .. }), "{error}");
    }
}

#[test]
fn other_claims_are_refused() {
    let text = |claims: &[Claim]| StorageTable::new(claims, 0).unwrap_err().to_string();
    assert_eq!(text(&[]), "a batch needs at least one claim");
    assert_eq!(text(&[account()]), "no claim is about a slot: a table has at least one row");
    assert!(text(&[slot(1, 2), slot(1, 3)]).starts_with("claims 0 and 1 are about the same thing; keep one"));
    let contract = format!("0x{}", "c0".repeat(20));
    let other = Claim::Slot { address: [1; 20], slot: number(1), value: number(1) };
    let start = format!("a table holds the slots of one contract: prove the slots of {contract} alone (");
    for claim in [other, Claim::AbsentAccount { address: CONTRACT }, Claim::AbsentAccount { address: [1; 20] }] {
        assert!(text(&[slot(1, 2), claim]).starts_with(&start));
    }
    let mut large = number(0);
    large[0] = 1;
    let large = Claim::Slot { address: CONTRACT, slot: number(5), value: large };
    assert!(text(&[large]).ends_with("units of 10^0 must be below 2^63; take more decimals, or leave the slot out"));
    assert_eq!(StorageTable::new(&[slot(1, 2)], 19).unwrap_err().to_string(), "a unit has 0 to 18 decimals, not 19");
    let many: Vec<Claim> =
        (0..=SLOTS_MAX as u128).map(|i| Claim::Slot { address: CONTRACT, slot: number(i), value: number(1) }).collect();
    assert_eq!(text(&many), "4097 slots are more than the 4096 that one proof relates to a table: list fewer");
    assert_eq!(StorageTable::new(&many[1..], 0).unwrap().size().height(), 12);
}

/// The offset of a slot's elements, and offsets in them.
mod at {
    use super::ROOM;

    pub(super) const OF_CLAIMS: usize = 0;
    pub(super) const OF_ROWS: usize = 4;
    pub(super) const ADDRESS: usize = 12;
    pub(super) const LAST: usize = 16;
    /// The first slot has no bit.
    pub(super) fn slot(i: usize) -> usize {
        17 + LEN * i
    }
    pub(super) const HALVES: usize = 0;
    pub(super) const UNITS: usize = 8;
    pub(super) const REST: usize = 9;
    pub(super) const INDEX: usize = 10;
    pub(super) const VALUE: usize = 11;
    pub(super) const BEHIND: usize = 15;
    pub(super) const IS_ZERO: usize = 18;
    pub(super) const CLAIM: usize = 19;
    pub(super) const WORDS: usize = 32;
    /// The bit of the next slot.
    pub(super) const ACTIVE: usize = 35;
    pub(super) const LEN: usize = 36;
    pub(super) fn own() -> usize {
        slot(ROOM) - 1
    }
    pub(super) fn merges() -> usize {
        own() + 1 + 32
    }
    pub(super) fn row_merges() -> usize {
        merges() + 9 * ROOM
    }
    pub(super) fn end() -> usize {
        row_merges() + 9 * (ROOM - 1)
    }
}

/// Three slots, the second of them in order a zero slot, and the account.
struct Attack {
    judge: Judge,
    free: Vec<Goldilocks>,
    claims: Vec<Claim>,
    unit: u64,
}

impl Attack {
    fn new(decimals: u8) -> Self {
        let unit = 10_u128.pow(decimals.into());
        let mut claims = vec![slot(1, 5_000_000_017), slot(2, 12), slot(3, (7 << 60) * unit + unit / 3)];
        claims.sort_by_key(Claim::key);
        let Claim::Slot { value, .. } = &mut claims[1] else { unreachable!() };
        *value = number(0);
        let all = [vec![account()], claims.clone()].concat();
        let free = table(&all, decimals).data(size(HEIGHT, decimals), KEY);
        assert_eq!(free.len(), at::end());
        Self { judge: Judge::new(circuit(decimals), &free), free, claims, unit: 10_u64.pow(decimals.into()) }
    }
    fn holds(&self, free: &[Goldilocks]) -> bool {
        self.judge.holds(free)
    }
    fn refused(&self, what: &str, change: impl FnOnce(&mut Vec<Goldilocks>)) -> usize {
        let mut free = self.free.clone();
        change(&mut free);
        assert_ne!(free, self.free, "{what}: no change");
        let faults = self.judge.faults(&free);
        let faults = faults.len();
        assert!(faults > 0, "{what}");
        faults
    }
    /// The same free data with both trees over these leaves of claims and rows, and with all hashes computed from them.
    fn trees(free: &mut [Goldilocks], leaves: [&[Digest]; 2]) {
        for (which, (leaves, room)) in leaves.into_iter().zip([ROOM, ROOM - 1]).enumerate() {
            let begin = [at::merges(), at::row_merges()][which];
            free[begin..begin + 9 * room].fill(ZERO);
            let mut sum = leaves[0];
            for (i, leaf) in leaves[1..].iter().enumerate() {
                let pair = begin + 9 * i;
                free[pair..pair + 4].copy_from_slice(&sum.0);
                free[pair + 4..pair + 8].copy_from_slice(&leaf.0);
                free[pair + 8] = ONE;
                sum = node_digest(&sum, leaf);
            }
            free[[at::OF_CLAIMS, at::OF_ROWS][which]..][..4].copy_from_slice(&sum.0);
        }
    }
    /// The leaves of the slots' claims and rows, computed from the free data.
    fn leaves(&self, free: &[Goldilocks], active: usize) -> [Vec<Digest>; 2] {
        let mut claims: Vec<Digest> =
            (0..active).map(|i| claim_leaf(&free[at::slot(i)..][..at::LEN], self.unit)).collect();
        if free[at::own()] == ONE {
            claims.insert(0, chain(b"ETHA", &free[at::own() + 1..][..32]));
        }
        let rows = (0..active).map(|i| {
            let own = &free[at::slot(i) + at::INDEX..][..8];
            let [left, right] = [0, 4].map(|at| Digest(own[at..at + 4].try_into().unwrap()));
            poseidon::compress(&left, &right, LEAF_TAG)
        });
        [claims, rows.collect()]
    }
    /// Changes a slot, recomputes all hashes that depend on it, and demands that the circuit still refuses it, with few
    /// faults.
    fn forged(&self, what: &str, most: usize, change: impl FnOnce(&mut [Goldilocks])) {
        let faults = self.refused(what, |free| {
            change(free);
            for i in 0..ROOM {
                let own = at::slot(i);
                if free[own..own + 10] != self.free[own..own + 10] {
                    let value = hash_tagged(&free[own..own + 10], row_tag(10));
                    free[own + at::VALUE..][..4].copy_from_slice(&value.0);
                }
            }
            let leaves = self.leaves(free, 3);
            Self::trees(free, [&leaves[0], &leaves[1]]);
        });
        assert!(faults <= most, "{what}: {faults} faults");
    }
}

fn chain(tag: &[u8; 4], elements: &[Goldilocks]) -> Digest {
    let mut state = [ZERO; 4];
    state[0] = Goldilocks::new(u32::from_be_bytes(*tag).into());
    for step in elements.chunks(8) {
        let mut full = [ZERO; poseidon::WIDTH];
        full[..step.len()].copy_from_slice(step);
        full[8..].copy_from_slice(&state);
        poseidon::permute(&mut full);
        state.copy_from_slice(&full[..4]);
    }
    Digest(state)
}

/// The leaf of a slot's claim. The fourth word of the value follows from the row.
fn claim_leaf(own: &[Goldilocks], unit: u64) -> Digest {
    if own[at::IS_ZERO] == ONE {
        return chain(b"ETHZ", &own[at::CLAIM..][..16]);
    }
    let mut elements = own[at::CLAIM..][..16].to_vec();
    elements.resize(24, ZERO);
    let [units, rest] = [at::UNITS, at::REST].map(|i| u128::from(own[i].as_u64()));
    elements[16] = Goldilocks::new(((units * u128::from(unit) + rest) >> 96) as u64);
    chain(b"ETHS", &elements)
}

static ATTACK: LazyLock<Attack> = LazyLock::new(|| Attack::new(0));
static UNITS: LazyLock<Attack> = LazyLock::new(|| Attack::new(6));
static TOKENS: LazyLock<Attack> = LazyLock::new(|| Attack::new(18));

/// The helpers agree with the circuit: trees of another shape hold.
#[test]
fn any_shape_of_the_trees_holds() {
    for attack in [&*ATTACK, &*UNITS, &*TOKENS] {
        let mut free = attack.free.clone();
        let leaves = attack.leaves(&free, 3);
        let expected: Vec<Digest> = [account()].iter().chain(&attack.claims).map(Claim::leaf_digest).collect();
        assert_eq!(leaves[0], expected);
        Attack::trees(&mut free, [&leaves[0], &leaves[1]]);
        assert_ne!(free[..4], attack.free[..4]);
        assert!(attack.holds(&free));
        // Without the account, and in another order.
        free[at::own()] = ZERO;
        let mut leaves = attack.leaves(&free, 3);
        leaves[1].reverse();
        Attack::trees(&mut free, [&leaves[0], &leaves[1]]);
        assert!(attack.holds(&free));
    }
}

#[test]
fn every_element_counts() {
    let attack = &*ATTACK;
    let unused = |at: usize| (at::slot(3)..at::own()).contains(&at);
    for at in 0..at::end() {
        // The key, unused slots and unused hashes may be anything.
        let hash = at.checked_sub(at::merges()).map(|i| i / 9);
        let of_rows = at.checked_sub(at::row_merges()).map(|i| i / 9);
        let idle = hash == Some(3) || of_rows == Some(2);
        if (8..12).contains(&at) || idle && (at - at::merges()) % 9 < 8 || unused(at) {
            continue;
        }
        attack.refused(&format!("element {at}"), |free| {
            free[at] = if free[at] == ONE { ZERO } else { free[at] + ONE };
        });
    }
}

#[test]
fn rows_are_those_of_their_claims() {
    for attack in [&*ATTACK, &*UNITS] {
        let own = at::slot(0);
        for half in 0..8 {
            attack.forged("a half of the slot", 3, |free| free[own + at::HALVES + half] += ONE);
            attack.forged("a half less", 3, |free| free[own + half] -= ONE);
        }
        for word in 5..16 {
            attack.forged("a word of the claim", 2, |free| free[own + at::CLAIM + word] += ONE);
        }
        attack.forged("more units", 3, |free| free[own + at::UNITS] += ONE);
        attack.forged("more rest", 3, |free| free[own + at::REST] += ONE);
        // One unit as 10^d of the rest, and the reverse.
        for sign in [ONE, -ONE] {
            let unit = Goldilocks::new(attack.unit);
            attack.forged("a unit as rest", 3, |free| {
                free[own + at::UNITS] += sign;
                free[own + at::REST] -= sign * unit;
            });
        }
        // A value plus p; words with a carry that is not added to the next word.
        let words = own + at::WORDS;
        attack.forged("a word of 2^32", 3, |free| {
            free[words] += Goldilocks::new(1 << 32);
            free[words + 1] -= ONE;
        });
        attack.forged("p more", 3, |free| {
            free[words] += ONE;
            free[words + 1] += Goldilocks::new((1 << 32) - 1);
        });
        attack.forged("the value of another row", 8, |free| {
            let (first, last) = (at::slot(0), at::slot(2));
            for i in [at::UNITS, at::REST] {
                free.swap(first + i, last + i);
            }
        });
        attack.forged("rows that change places", 40, |free| {
            for i in 0..10 {
                free.swap(at::slot(0) + i, at::slot(2) + i);
            }
        });
        // Rows at other positions.
        for position in [1, 3, 1 << 40] {
            attack.forged("another position", 3, |free| free[own + at::INDEX] = Goldilocks::new(position));
        }
        for i in 0..4 {
            attack.forged("a value that is not the row's", 2, |free| free[own + at::VALUE + i] += ONE);
        }
        for i in 0..3 {
            attack.forged("behind the value", 2, |free| free[own + at::BEHIND + i] = ONE);
        }
        // Another account.
        for i in 0..5 {
            attack.forged("another address in a claim", 3, |free| free[own + at::CLAIM + i] += ONE);
            attack.forged("another account's claim", 3, |free| free[at::own() + 1 + i] += ONE);
            attack.forged("another address that is said", 3, |free| free[at::ADDRESS + i] += ONE);
        }
        assert_eq!(at::LAST, at::ADDRESS + 4);
    }
}

#[test]
fn zero_slots_are_zero() {
    let attack = &*ATTACK;
    let [first, second] = [0, 1].map(at::slot);
    let chosen = |free: &mut [Goldilocks], i: usize, is_zero: bool| {
        free[at::slot(i) + at::IS_ZERO] = Goldilocks::new(is_zero.into());
    };
    attack.forged("a value as a zero slot", 3, |free| chosen(free, 0, true));
    // With the words of a zero slot, while the row keeps its value.
    attack.forged("a zero slot with a value in its row", 4, |free| {
        chosen(free, 0, true);
        free[first + at::WORDS..first + at::ACTIVE].fill(ZERO);
    });
    attack.forged("a value in the row of a zero slot", 4, |free| free[second + at::UNITS] = ONE);
    attack.forged("a value in the claim of a zero slot", 3, |free| free[second + at::WORDS] = ONE);
    // A row of 2^96: its only nonzero word is the fourth one, which is hashed only in claims with a value.
    let attack = &*TOKENS;
    let units = (1_u128 << 96) / 10_u128.pow(18);
    let rest = (1_u128 << 96) % 10_u128.pow(18);
    attack.forged("2^96 in the row of a zero slot", 2, |free| {
        free[second + at::UNITS] = Goldilocks::new(units as u64);
        free[second + at::REST] = Goldilocks::new(rest as u64);
    });
}

#[test]
fn each_slot_is_there_once() {
    let attack = &*ATTACK;
    let copy = |free: &mut [Goldilocks], from: usize, to: usize| {
        for i in (0..10).chain(at::IS_ZERO..at::ACTIVE) {
            free[at::slot(to) + i] = free[at::slot(from) + i];
        }
    };
    // One of the two digests is that of the forged slots; the other is that of the three claims.
    let [claims, rows] = attack.leaves(&attack.free, 3);
    let all = |what: &str, active: usize, leaves: [&[Digest]; 2], change: &dyn Fn(&mut [Goldilocks])| {
        let faults = attack.refused(what, |free| {
            change(free);
            for i in 0..ROOM {
                let own = at::slot(i);
                let value = hash_tagged(&free[own..own + 10], row_tag(10));
                free[own + at::VALUE..][..4].copy_from_slice(&value.0);
                if i > 0 {
                    free[own - 1] = Goldilocks::new((i < active).into());
                }
            }
            Attack::trees(free, leaves);
        });
        assert!(faults <= 3, "{what}: {faults} faults");
    };
    let of = |change: &dyn Fn(&mut [Goldilocks]), active: usize| {
        let mut free = attack.free.clone();
        change(&mut free);
        for i in 0..ROOM {
            let value = hash_tagged(&free[at::slot(i)..][..10], row_tag(10));
            free[at::slot(i) + at::VALUE..][..4].copy_from_slice(&value.0);
        }
        attack.leaves(&free, active)
    };
    let twice = |free: &mut [Goldilocks]| copy(free, 0, 3);
    let doubled = of(&twice, 4);
    all("a row twice", 4, [&claims, &doubled[1]], &twice);
    all("a row that no claim has", 4, [&claims, &doubled[1]], &|_| ());
    all("a claim twice", 4, [&doubled[0], &rows], &twice);
    let dropped = of(&|_| (), 2);
    all("a row less", 2, [&claims, &dropped[1]], &|_| ());
    all("a claim less", 2, [&dropped[0], &rows], &|_| ());
    let replaced = |free: &mut [Goldilocks]| copy(free, 0, 2);
    let of_replaced = of(&replaced, 3);
    all("a row for another", 3, [&claims, &of_replaced[1]], &replaced);
    all("a claim for another", 3, [&of_replaced[0], &rows], &replaced);
    // One leaf twice in a tree, with the other digest unchanged.
    all("a leaf of claims twice", 3, [&[&claims[..], &claims[1..2]].concat()[..4], &rows], &|free| {
        free[at::own()] = ZERO;
    });
    all("a leaf of rows twice", 3, [&claims, &[&rows[..], &rows[..1]].concat()], &|_| ());
    all("the account twice", 3, [&[&claims[..1], &claims[..3]].concat(), &rows], &|_| ());
    all("no account", 3, [&claims, &rows], &|free| free[at::own()] = ZERO);
    // Used slots must come first.
    attack.refused("a gap", |free| {
        free[at::slot(1) - 1] = ZERO;
        let mut leaves = attack.leaves(free, 3);
        leaves[0].remove(2);
        leaves[1].remove(1);
        Attack::trees(free, [&leaves[0], &leaves[1]]);
    });
    // Values that are not bits.
    for bit in [at::slot(1) - 1, at::slot(3) - 1, at::slot(0) + at::IS_ZERO, at::own(), at::merges() + 8] {
        attack.refused("no bit", |free| free[bit] = Goldilocks::new(2));
    }
}

/// Carries, bytes and tags are hints: a prover may choose other values.
#[test]
fn no_other_choice_holds() {
    let attack = &*UNITS;
    let honest = attack.judge.circuit.witness(&attack.free).unwrap();
    let mut tried = 0;
    // A tag; twelve rows of three bytes, every third of them with two bytes; three carries.
    let rows: Vec<u32> = attack.judge.circuit.choices().collect();
    assert_eq!(rows.len(), 16 * ROOM);
    // A slot with a value, a zero slot, an unused slot.
    for (i, &row) in rows.iter().enumerate().filter(|(i, _)| i / 16 != 2) {
        let used = match i % 16 {
            0 | 13.. => u64::MAX,
            3 | 6 | 9 | 12 => 0xff | 0xff << 21,
            _ => 0xff | 0xff << 21 | 0xff << 42,
        };
        let own = honest.row(attack.judge.circuit.tables(), Table::Tuple, row as usize)[tuple::COUNT].as_u64();
        for choice in [0, own + 1, 1 << 21, 0xff << 42, 1 << 32] {
            if (own ^ choice) & used != 0 {
                tried += 1;
                let chosen = [(row, Goldilocks::new(choice))].into();
                let columns = attack.judge.circuit.witness_with(&attack.free, &chosen).unwrap();
                assert!(!columns.faults_beside(&attack.judge.circuit, &honest).is_empty(), "row {row}: {choice}");
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

/// A claim of another value with carries for which all sums hold modulo p: only the range of the carries is wrong.
#[test]
fn carries_do_not_wrap() {
    let attack = &*UNITS;
    let rows: Vec<u32> = attack.judge.circuit.choices().collect();
    let honest = attack.judge.circuit.witness(&attack.free).unwrap();
    let [first, second, third] =
        [13, 14, 15].map(|i| honest.row(attack.judge.circuit.tables(), Table::Tuple, rows[i] as usize)[tuple::COUNT]);
    let mut free = attack.free.clone();
    let own = at::slot(0);
    free[own + at::WORDS] += ONE;
    let shift = Goldilocks::new(1 << 32).inverse().unwrap();
    let changes = [-shift, -shift * shift, -shift * shift * shift];
    let mut elements = free[own + at::CLAIM..][..16].to_vec();
    elements.resize(24, ZERO);
    let [units, rest] = [at::UNITS, at::REST].map(|i| u128::from(free[own + i].as_u64()));
    elements[16] = Goldilocks::new(((units * u128::from(attack.unit) + rest) >> 96) as u64) + changes[2];
    let mut leaves = attack.leaves(&free, 3);
    leaves[0][1] = chain(b"ETHS", &elements);
    Attack::trees(&mut free, [&leaves[0], &leaves[1]]);
    let chosen = [(rows[13], first + changes[0]), (rows[14], second + changes[1]), (rows[15], third + changes[2])];
    let faults = attack.judge.circuit.witness_with(&free, &chosen.into()).unwrap().faults(&attack.judge.circuit);
    assert!((1..=3).contains(&faults.len()), "{faults:?}");
    assert!(faults.iter().all(|fault| matches!(fault, Fault::Constraint { table: Table::Bits, .. })), "{faults:?}");
}

/// A byte that is 256 too large, and the next one 1 too small, with the row's half that follows from them: everything
/// else holds.
#[test]
fn bytes_have_eight_bits() {
    let attack = &*ATTACK;
    let rows: Vec<u32> = attack.judge.circuit.choices().collect();
    let own = at::slot(0);
    // The least significant word of the slot comes first in the twelve rows after the tag. Its bytes are those of the
    // last half.
    let word = attack.free[own + at::CLAIM + 5].as_u64();
    let bytes: [u64; 4] = core::array::from_fn(|i| word >> (8 * i) & 0xff);
    assert!(bytes[1] > 0);
    let half = attack.free[own + at::HALVES + 7];
    let sum = |bytes: [u64; 4]| bytes.iter().fold(0, |sum, byte| sum << 8 | byte);
    assert_eq!(half, Goldilocks::new(sum(bytes)));
    let mut free = attack.free.clone();
    free[own + at::HALVES + 7] = half + Goldilocks::new((256 << 24) - (1 << 16));
    let value = hash_tagged(&free[own..own + 10], row_tag(10));
    free[own + at::VALUE..][..4].copy_from_slice(&value.0);
    let leaves = attack.leaves(&free, 3);
    Attack::trees(&mut free, [&leaves[0], &leaves[1]]);
    let packed = (bytes[0] + 256) | ((bytes[1] - 1) << 21) | (bytes[2] << 42);
    let chosen = [(rows[1], Goldilocks::new(packed))].into();
    let faults = attack.judge.circuit.witness_with(&free, &chosen).unwrap().faults(&attack.judge.circuit);
    // The sum over the bytes also differs, because a row of bits sums eight bits of each byte.
    assert!((1..=2).contains(&faults.len()), "{faults:?}");
}

/// Units that are 2^63 too large, with the limbs of the value: only the highest bit is wrong.
#[test]
fn units_are_below_2_to_the_63() {
    for attack in [&*ATTACK, &*UNITS, &*TOKENS] {
        let mut free = attack.free.clone();
        let own = at::slot(0);
        let [claims, _] = attack.leaves(&free, 3);
        free[own + at::UNITS] += Goldilocks::new(1 << 63);
        let value = hash_tagged(&free[own..own + 10], row_tag(10));
        free[own + at::VALUE..][..4].copy_from_slice(&value.0);
        let [_, rows] = attack.leaves(&free, 3);
        Attack::trees(&mut free, [&claims, &rows]);
        let faults = attack.judge.faults(&free);
        assert!((1..=2).contains(&faults.len()), "{faults:?}");
        assert!(faults.iter().all(|fault| matches!(fault, Fault::Constraint { table: Table::Bits, .. })), "{faults:?}");
    }
}

/// A true claim has no words of more than 32 bits. Reshape alone does not refuse such words: the proof about the state
/// does.
#[test]
fn words_are_left_to_the_proof_about_the_state() {
    let attack = &*UNITS;
    let rows: Vec<u32> = attack.judge.circuit.choices().collect();
    let honest = attack.judge.circuit.witness(&attack.free).unwrap();
    let carry = |i: usize| honest.row(attack.judge.circuit.tables(), Table::Tuple, rows[i] as usize)[tuple::COUNT];
    let place = (0..3).find(|i| carry(16 * i + 13) != ZERO).unwrap();
    let mut free = attack.free.clone();
    let words = at::slot(place) + at::WORDS;
    free[words] += Goldilocks::new(1 << 32);
    free[words + 1] -= ONE;
    let leaves = attack.leaves(&free, 3);
    Attack::trees(&mut free, [&leaves[0], &leaves[1]]);
    assert!(!attack.holds(&free));
    let chosen = [(rows[16 * place + 13], carry(16 * place + 13) - ONE)].into();
    assert!(attack.judge.circuit.witness_with(&free, &chosen).unwrap().faults(&attack.judge.circuit).is_empty());
}

#[test]
fn free_data_of_another_length_is_filled() {
    let attack = &*ATTACK;
    assert!(fill(&attack.judge.circuit, &attack.free).faults(&attack.judge.circuit).is_empty());
    assert!(!fill(&attack.judge.circuit, &attack.free[..40]).faults(&attack.judge.circuit).is_empty());
}

#[test]
fn sizes_are_those_of_circuits() {
    assert_eq!(Size::new(12, DECIMALS_MAX).map(|size| (size.room(), size.height())), Some((SLOTS_MAX, 12)));
    for (height, decimals) in [(13, 0), (64, 0), (u8::MAX, 0), (8, DECIMALS_MAX + 1), (8, u8::MAX)] {
        assert_eq!(Size::new(height, decimals), None, "{height}, {decimals}");
    }
    assert_eq!([0, SLOTS_MAX + 1].map(|slots| Size::of(slots, 0)), [None; 2]);
    let of = [1, 257, SLOTS_MAX].map(|slots| Size::of(slots, 3));
    assert_eq!(of, [8, 10, 12].map(|height| Some(size(height, 3))));
}

fn verifier(size: Size) -> ReshapeVerifier<Quadratic> {
    ReshapeVerifier::new(&UNIQUE_100, size).unwrap()
}

/// Elements per slot and per circuit, and the digests of the keys.
#[test]
fn the_circuits_have_these_rows() {
    let mut lines = Vec::new();
    let mut b = [2, 3].map(|height| {
        let modes = reshape::modes();
        let tables =
            Tables::new(query::Parameters { bits: 6, variables: 3 }, bits::Parameters::new(modes.widths, modes.zeros));
        let mut b = Builder::<Quadratic>::new(tables);
        reshape::reshape(&mut b, size(height, 18));
        b
    });
    let [small, large] = &mut b;
    let rows = Table::ALL.map(|table| (large.rows(table) - small.rows(table)) / 4);
    let tables = large.tables();
    let elements: usize = Table::ALL.iter().map(|&table| rows[table as usize] * tables.columns(table)).sum();
    lines.push(format!("a slot: rows {rows:?}, {elements} elements"));
    for height in [8, 10] {
        for decimals in [0, 18] {
            let verifier = verifier(size(height, decimals));
            let (elements, variables) = verifier.elements();
            let bits = verifier.bits();
            assert!(bits.unique_decoding >= 100.0, "{bits:?}");
            lines.push(format!("2^{height}, {decimals}: {elements} of 2^{variables}, {}", verifier.key()));
        }
    }
    assert_eq!(lines.join("\n"), include_str!("reshape.txt").trim_end());
}

#[test]
fn proofs_hold_for_what_they_say_alone() {
    let claims = [account(), slot(1, 3), slot(2, 0), slot(3, 1 << 70), slot(4, 99)];
    let table = table(&claims, 6);
    let proof = Reshape::new(&table).unwrap();
    let [d_claims, d_rows] = [table.claims_digest(), table.rows_digest()];
    let verify = |proof: &Reshape, claims, rows| proof.verify(table.address(), 6, claims, rows);
    let bits = verify(&proof, d_claims, d_rows).unwrap();
    assert!(bits.unique_decoding >= 100.0);
    let bytes = proof.to_bytes();
    assert_eq!(Reshape::from_bytes(&bytes).unwrap(), proof);
    assert_eq!(verify(&proof, d_rows, d_rows), Err(ReshapeError::Claims { expected: d_rows, found: d_claims }));
    assert_eq!(verify(&proof, d_claims, d_claims), Err(ReshapeError::Rows { expected: d_claims, found: d_rows }));
    assert_eq!(proof.verify(&[0x77; 20], 6, d_claims, d_rows), Err(ReshapeError::Contract));
    let units = ReshapeError::Decimals { expected: 18, found: 6 };
    assert_eq!(proof.verify(table.address(), 18, d_claims, d_rows), Err(units));
    // Changes each field of the statement.
    let refused = |what: &str, change: &dyn Fn(&mut Reshape)| {
        let mut other = proof.clone();
        change(&mut other);
        let error = other.verify(&other.address, other.decimals, other.claims, other.rows).unwrap_err();
        assert!(matches!(error, ReshapeError::Refused(_) | ReshapeError::Format(_)), "{what}: {error}");
        let read = Reshape::from_bytes(&other.to_bytes());
        assert!(read.is_err() || read == Ok(other), "{what}");
    };
    refused("address", &|proof| proof.address[19] += 1);
    refused("first byte of the address", &|proof| proof.address[0] += 1);
    refused("decimals", &|proof| proof.decimals = 5);
    refused("too many decimals", &|proof| proof.decimals = 19);
    refused("a slot more", &|proof| proof.slots += 1);
    refused("a slot less", &|proof| proof.slots -= 1);
    refused("no slots", &|proof| proof.slots = 0);
    refused("slots of a larger circuit", &|proof| proof.slots = 1 << 9);
    refused("too many slots", &|proof| proof.slots = SLOTS_MAX + 1);
    refused("claims", &|proof| proof.claims.0[3] += ONE);
    refused("rows", &|proof| proof.rows.0[0] += ONE);
    refused("an empty proof", &|proof| proof.proof.clear());
    for at in (0..proof.proof.len()).step_by(proof.proof.len() / 40) {
        refused("a byte", &|proof| proof.proof[at] ^= 1);
    }
    // Damaged bytes.
    for length in (0..120).chain([bytes.len() - 8, bytes.len() - 1]) {
        let read = Reshape::from_bytes(&bytes[..length]);
        assert!(read.is_err() || verify(&read.unwrap(), d_claims, d_rows).is_err(), "{length} bytes");
    }
    let mut more = bytes.clone();
    more.extend([0; 8]);
    assert!(verify(&Reshape::from_bytes(&more).unwrap(), d_claims, d_rows).is_err());
    let mut other = bytes;
    other[4] = 2;
    assert_eq!(
        Reshape::from_bytes(&other).unwrap_err().to_string(),
        "not a proof about a contract's table: it does not begin with the magic bytes"
    );
    assert!(matches!(Reshape::from_bytes(b"EVGE\x04\0"), Err(ReshapeError::Format(_))));
}

/// One prover proves tables of different lengths.
#[test]
fn provers_of_one_size_prove_many_tables() {
    let prover = ReshapeProver::<Quadratic>::new(&UNIQUE_100, size(8, 0)).unwrap();
    let all: Vec<Claim> = (0..=255).map(|i| slot(i, u128::from(i) << 55)).collect();
    for count in [1, 200, 256] {
        let table = table(&all[..count], 0);
        let proof = prover.prove(&table).unwrap();
        assert_eq!(proof.slots, count);
        proof.verify(table.address(), proof.decimals, table.claims_digest(), table.rows_digest()).unwrap();
    }
}

/// 4,096 slots with values of 123 bits.
#[test]
#[ignore = "slow: a circuit of 2^24 elements"]
fn the_largest_table_is_proven() {
    let claims: Vec<Claim> = (0..SLOTS_MAX as u128)
        .map(|i| Claim::Slot { address: CONTRACT, slot: number(i), value: number((i << 110) + i) })
        .collect();
    let table = table(&claims, DECIMALS_MAX);
    let start = std::time::Instant::now();
    let prover = ReshapeProver::<Quadratic>::new(&UNIQUE_100, table.size()).unwrap();
    let built = start.elapsed();
    let proof = prover.prove(&table).unwrap();
    let proven = start.elapsed() - built;
    let bits = proof.verify(table.address(), proof.decimals, table.claims_digest(), table.rows_digest()).unwrap();
    assert!(bits.unique_decoding >= 100.0);
    let (elements, variables) = prover.verifier().elements();
    let bytes = proof.to_bytes().len();
    println!("built {built:?}, proven {proven:?}, {bytes} bytes, {elements} elements of 2^{variables}");
    assert_eq!((elements, variables), (14_532_608, 24));
}

mod mutation {
    use evergrove_grove::reshape::Reshape;
    use evergrove_primitives::Digest;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn files_are_read_strictly(
            damage in proptest::collection::vec((0..120_usize, any::<u8>()), 0..4),
            length in 0..140_usize,
        ) {
            let whole = Reshape {
                address: [7; 20], decimals: 18, slots: 4096, claims: Digest::ZERO, rows: Digest::ZERO, proof: vec![5; 40],
            };
            let mut bytes = whole.to_bytes();
            bytes.truncate(length);
            for (at, byte) in damage {
                if let Some(own) = bytes.get_mut(at) {
                    *own = byte;
                }
            }
            // What is decoded encodes to the same bytes.
            if let Ok(read) = Reshape::from_bytes(&bytes) {
                prop_assert_eq!(read.to_bytes(), bytes);
                prop_assert!(read.slots > 0 && read.decimals <= 18);
            }
        }
    }
}
