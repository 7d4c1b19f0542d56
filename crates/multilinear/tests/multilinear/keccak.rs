//! Keccak's tables: answers of the reference, and attacks that set columns.

use std::collections::HashMap;

use evergrove_multilinear::circuit::wires::Word;
use evergrove_multilinear::circuit::{BLOCK_HALVES, BLOCK_WORDS, Builder, Circuit, Fault, Witness};
use evergrove_multilinear::prover::Prover;
use evergrove_multilinear::reference::{holds, prove};
use evergrove_primitives::field::{Field, Goldilocks, Quadratic};
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::algebra::Point;
use evergrove_verifier::argument::read_up_to_fixed;
use evergrove_verifier::tables::keccak::{
    self, CONSTANT_PARTS, DIGITS, KINDS, MOVES, PARITY, PARTS, ROTATIONS, ROUND_CONSTANTS, STAGE, STAGES, STATE, part,
};
use evergrove_verifier::tables::{LANE, LOOKUP, Row, TUPLE, Table, WORD, keccak_absorb, keccak_lookup, keccak_plane};

use crate::circuit::tables;
use crate::common::Elements;
use crate::proof::Example;

/// Free words, and their elements: those of a message of so many halves.
fn message(
    b: &mut Builder<Quadratic>,
    elements: &mut Elements,
    halves: usize,
) -> (Vec<Word>, Vec<Goldilocks>, Vec<u8>) {
    let (full, rest) = (halves / BLOCK_HALVES, halves % BLOCK_HALVES);
    let count = full * BLOCK_WORDS + rest.div_ceil(WORD);
    let (mut words, mut free, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..count {
        if i % 2 == 0 {
            let tag = b.tag(Goldilocks::new(5));
            words.extend(b.hash_free(tag).1);
        }
        for limb in 0..WORD {
            let place = WORD * (i % BLOCK_WORDS) + limb;
            let within = if i / BLOCK_WORDS < full { BLOCK_HALVES } else { rest };
            free.push(if place < within {
                let half = elements.base().as_u64() as u32;
                bytes.extend(half.to_le_bytes());
                Goldilocks::new(half.into())
            } else if i / BLOCK_WORDS < full {
                Goldilocks::ZERO
            } else {
                let end = if place == BLOCK_HALVES - 1 { 1 << 31 } else { 0 };
                Goldilocks::new(end + u64::from(place == rest))
            });
        }
    }
    words.truncate(count);
    free.resize(count.next_multiple_of(2) * WORD, Goldilocks::ZERO);
    (words, free, bytes)
}

pub(crate) fn words_of(digest: [u8; 32]) -> [[Goldilocks; WORD]; 2] {
    let half = |i: usize| u32::from_le_bytes(*digest[4 * i..].first_chunk().unwrap());
    core::array::from_fn(|word| core::array::from_fn(|i| Goldilocks::new(half(WORD * word + i).into())))
}

/// A circuit that states that messages of these many halves have their digests, and its free data.
fn hashes(lengths: &[usize]) -> (Builder<Quadratic>, Vec<Goldilocks>) {
    let mut b = Builder::<Quadratic>::new(tables());
    let mut elements = Elements::new(3);
    let one = b.one();
    let yes = b.boolean(one);
    let mut data = Vec::new();
    for &halves in lengths {
        let (words, free, bytes) = message(&mut b, &mut elements, halves);
        assert_eq!(bytes.len(), 4 * halves);
        data.extend(free);
        let digest = b.keccak(&words, halves);
        for (word, expected) in digest.into_iter().zip(words_of(keccak_256(&bytes))) {
            let expected = b.word(expected);
            let limbs = |word| [0, 1, 2, 3].map(|limb| (word, limb));
            b.equal_limbs(yes, &limbs(word), &limbs(expected));
        }
    }
    (b, data)
}

#[test]
fn digests_are_those_of_the_reference() {
    let (builder, free) = hashes(&[0, 1, 2, 3, 4, 10, 16, 31, 32, 33, 34, 35, 36, 67, 68, 69, 34 * 34 - 1]);
    assert_eq!(builder.rows(Table::Keccak), 8 * (10 + 2 * 3 + 2 + 3 * 2 + 34));
    let circuit = builder.finish();
    let witness = circuit.witness(&free).unwrap();
    assert_eq!(witness.faults(&circuit), []);
}

/// The cost of one permutation.
#[test]
fn rows_and_columns() {
    let (builder, _) = hashes(&[16]);
    let rows = [Table::Keccak, Table::KeccakLookup, Table::KeccakAbsorb, Table::KeccakPlane];
    // Four words, zeros, both ends of the padding.
    assert_eq!(rows.map(|table| builder.rows(table)), [8, 62_660, 7, 1]);
    assert_eq!(rows.map(|table| tables::<Quadratic>().columns(table)), [2_674, 1, 144, 324]);
    assert_eq!(rows.map(|table| tables::<Quadratic>().fixed(table)), [43, 3, 6, 6]);
    assert_eq!(rows.map(|table| tables::<Quadratic>().ports_of(table)), [1_555, 1, 9, 22]);
}

#[test]
fn the_lookup_table_is_its_definition() {
    let mut keys = HashMap::new();
    for row in 0..keccak_lookup::ROWS {
        let [key, turned, plain] = keccak_lookup::content(row);
        assert_eq!(keccak_lookup::row_of(key), Some(row));
        assert_eq!(keys.insert(key, (turned, plain)), None);
    }
    let digit = |x: u64, j: usize| x >> (4 * j) & 15;
    let mut seen = 0;
    for kind in 0..=PARITY {
        for number in 0..KINDS {
            let found = keys.get(&(kind * KINDS + number)).copied();
            let bits: Option<Vec<u64>> = (0..DIGITS)
                .map(|j| match (kind, digit(number, j)) {
                    (PARITY, sum @ 0..8) => Some(sum % 2),
                    // s = 9 - 2 e + d, for d = b - c: the bit is e + (c and not b).
                    (0..PARITY, s @ 0..11) => {
                        let bit = |e: u64, c: u64, b: u64| (9 + b == 2 * e + c + s).then_some((e + c * (1 - b)) % 2);
                        let all = (0..=5).flat_map(|e| [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(c, b)| (e, c, b)));
                        let mut all: Vec<u64> = all.filter_map(|(e, c, b)| bit(e, c, b)).collect();
                        all.dedup();
                        // Whichever way s arises, the bit is the same.
                        assert_eq!(all.len(), 1, "{s}");
                        all.pop()
                    }
                    _ => None,
                })
                .collect();
            let expected = bits.map(|bits| {
                let number = |at: &dyn Fn(usize) -> usize| (0..DIGITS).map(|j| bits[j] << (4 * at(j))).sum::<u64>();
                let by = if kind == PARITY { 0 } else { kind as usize };
                (number(&|j| (j + by) % DIGITS), number(&|j| j))
            });
            assert_eq!(found, expected, "{kind} {number:x}");
            seen += usize::from(found.is_some());
        }
    }
    assert_eq!(seen, keccak_lookup::ROWS);
    // The rows that fill the last block have content.
    let (builder, _) = hashes(&[0]);
    let circuit = builder.finish();
    let rows = circuit.layout().shape(Table::KeccakLookup).unwrap().rows();
    for row in 0..rows {
        let content = keccak_lookup::content(row.min(keccak_lookup::ROWS - 1)).map(Goldilocks::new);
        assert_eq!(circuit.fixed(Table::KeccakLookup, row), content);
    }
}

#[test]
fn parts_move_as_lanes_rotate() {
    for lane in 0..25 {
        let (x, y) = (lane % 5, lane / 5);
        let to = y + 5 * ((2 * x + 3 * y) % 5);
        for z in 0..64 {
            let bit = 1u64 << z;
            let rotated = bit.rotate_left(ROTATIONS[lane]);
            for (k, step) in MOVES[lane].iter().enumerate() {
                let turned = keccak::turned(part(bit, k), step.turn);
                let [lane, k] = [usize::from(step.after) / PARTS, usize::from(step.after) % PARTS];
                assert_eq!((lane, turned), (to, part(rotated, k)));
            }
        }
    }
    for constant in ROUND_CONSTANTS {
        let elsewhere = (0..PARTS).filter(|k| !CONSTANT_PARTS.contains(k));
        assert!(elsewhere.into_iter().all(|k| part(constant, k) == 0));
    }
    let last = keccak_plane::CONSTANT_BITS.into_iter().map(|z| 1u64 << z).sum::<u64>();
    assert_eq!(last, ROUND_CONSTANTS[23]);
}

/// The row of the lookup table that offers a tuple.
fn offered(tuple: &[Quadratic; TUPLE]) -> Option<usize> {
    let number = |x: &Quadratic| x.as_ref()[0].as_u64();
    let row = keccak_lookup::row_of(number(&tuple[1]))?;
    (keccak_lookup::content(row) == [1, 2, 3].map(|i| number(&tuple[i]))).then_some(row)
}

/// Counts the look-ups again.
fn count_lookups(circuit: &Circuit<Quadratic>, witness: &mut Witness) {
    let tables = circuit.tables().clone();
    let places = circuit.layout().starts(Table::Keccak);
    let mut counts = vec![0; circuit.layout().shape(Table::KeccakLookup).unwrap().rows()];
    for i in 0..circuit.layout().shape(Table::Keccak).unwrap().rows() {
        let columns: Vec<Quadratic> = witness.row(&tables, Table::Keccak, i).iter().map(|&x| x.into()).collect();
        let fixed: Vec<Quadratic> = circuit.fixed(Table::Keccak, i).iter().map(|&x| x.into()).collect();
        let number = Quadratic::from(Goldilocks::new(i as u64));
        let row = Row { columns: &columns, fixed: &fixed, number, places: &places };
        let mut ports = Vec::new();
        tables.ports(Table::Keccak, &mut Point { activity: Quadratic::from(Goldilocks::ONE) }, &row, &mut ports);
        let uses = ports.iter().filter(|port| port.tuple[0] == LOOKUP.into());
        uses.filter_map(|port| offered(&port.tuple)).for_each(|row| counts[row] += 1);
    }
    for (row, count) in counts.into_iter().enumerate() {
        witness.row_mut(&tables, Table::KeccakLookup, row)[0] = Goldilocks::new(count);
    }
}

/// Whether a row still holds when its columns are these, in a witness that holds: it has no faults, puts the same
/// tuples on the bus, and its look-ups are in the table.
pub(crate) fn row_holds(
    circuit: &Circuit<Quadratic>,
    witness: &Witness,
    table: Table,
    i: usize,
    columns: &[Goldilocks],
) -> bool {
    let places = circuit.layout().starts(table);
    let fixed: Vec<Quadratic> = circuit.fixed(table, i).iter().map(|&x| x.into()).collect();
    let look = |columns: &[Goldilocks]| {
        let columns: Vec<Quadratic> = columns.iter().map(|&x| x.into()).collect();
        let number = Quadratic::from(Goldilocks::new(i as u64));
        let row = Row { columns: &columns, fixed: &fixed, number, places: &places };
        let mut f = Point { activity: Quadratic::from(Goldilocks::ONE) };
        let (mut constraints, mut ports) = (Vec::new(), Vec::new());
        circuit.tables().constraints(table, &mut f, &row, &mut constraints);
        circuit.tables().ports(table, &mut f, &row, &mut ports);
        assert_eq!(ports.len(), circuit.tables().ports_of(table));
        let mut bus: HashMap<[[Goldilocks; 2]; TUPLE], Quadratic> = HashMap::new();
        let zero = Quadratic::from(Goldilocks::ZERO);
        let mut there = true;
        for port in ports {
            assert!(port.tuple[port.len..].iter().all(|x| *x == zero));
            let tuple = port.tuple.map(|x| <[Goldilocks; 2]>::try_from(x.as_ref()).unwrap());
            if tuple[0][0] == LOOKUP && table != Table::KeccakLookup {
                there &= offered(&port.tuple).is_some();
            } else {
                *bus.entry(tuple).or_insert(zero) += port.multiplicity;
            }
        }
        bus.retain(|_, count| *count != zero);
        (there && constraints.iter().all(|x| *x == zero), bus)
    };
    let (right, before) = look(witness.row(circuit.tables(), table, i));
    assert!(right);
    let (holds, after) = look(columns);
    holds && before == after
}

/// Any column of rows of each kind: first, inner and last ones, of first and of later blocks, and unused ones.
#[test]
fn every_column_counts() {
    let (builder, free) = hashes(&[16, 40]);
    let circuit = builder.finish();
    let witness = circuit.witness(&free).unwrap();
    let later = circuit.rows(Table::KeccakAbsorb) - 1;
    let planes = circuit.rows(Table::KeccakPlane);
    let cases: [(Table, Vec<usize>); 3] = [
        (Table::Keccak, vec![0, 1, 7, 8, 15, 16]),
        (Table::KeccakAbsorb, vec![0, 1, 2, later]),
        (Table::KeccakPlane, vec![0, 1, 2, planes - 1]),
    ];
    let mut elements = Elements::new(4);
    for (table, rows) in cases {
        for row in rows {
            let right = witness.row(circuit.tables(), table, row).to_vec();
            assert!(row_holds(&circuit, &witness, table, row, &right));
            let step = if table == Table::Keccak { 13 } else { 5 };
            for column in (row % step..right.len()).step_by(step) {
                // The other values of a digit, a carry, and anything.
                for by in [1, 16, 0x1000, 0xffff, 1 << 32, elements.base().as_u64()] {
                    let mut columns = right.clone();
                    columns[column] += Goldilocks::reduce(by);
                    // The lanes that a last row does not hand on may be anything for its bus, but results are looked up.
                    assert!(!row_holds(&circuit, &witness, table, row, &columns), "{table:?} {row} {column} {by}");
                }
            }
        }
    }
    // Rows that nothing uses look up as well.
    let idle = circuit.rows(Table::Keccak) + 3;
    let right = witness.row(circuit.tables(), Table::Keccak, idle).to_vec();
    for column in (STATE..right.len()).step_by(37) {
        let mut columns = right.clone();
        columns[column] += Goldilocks::ONE;
        assert!(!row_holds(&circuit, &witness, Table::Keccak, idle, &columns));
    }
    // Offers are counted.
    for row in [0, 5, 15_000, keccak_lookup::ROWS - 1, keccak_lookup::ROWS + 1] {
        let mut columns = witness.row(circuit.tables(), Table::KeccakLookup, row).to_vec();
        columns[0] += Goldilocks::ONE;
        assert!(!row_holds(&circuit, &witness, Table::KeccakLookup, row, &columns));
    }
}

/// Two parts of one value on the bus, changed so that the value is the same; and parts whose sum with a neighbour's is.
#[test]
fn parts_are_split_in_one_way() {
    let (builder, free) = hashes(&[16]);
    let circuit = builder.finish();
    let witness = circuit.witness(&free).unwrap();
    let carry = Goldilocks::new(1 << 32);
    for row in [0, 1, 7] {
        let right = witness.row(circuit.tables(), Table::Keccak, row).to_vec();
        let found = |columns: &[Goldilocks]| !row_holds(&circuit, &witness, Table::Keccak, row, columns);
        for lane in [0, 1, 7, 24] {
            for k in 0..PARTS / 2 {
                for by in [Goldilocks::ONE, -Goldilocks::ONE, carry, carry.inverse().unwrap(), Goldilocks::half()] {
                    // All five neighbours, so that differences of two stay.
                    for lanes in [vec![lane], (lane / 5 * 5..lane / 5 * 5 + 5).collect()] {
                        let mut columns = right.clone();
                        for lane in lanes {
                            columns[lane * PARTS + k + PARTS / 2] += by;
                            columns[lane * PARTS + k] -= by * carry;
                        }
                        assert!(found(&columns), "{row} {lane} {k}");
                    }
                }
            }
        }
        // Parity and sums: all parities of a row of columns changed together.
        for stage in 0..STAGES {
            let parities = STATE + stage * STAGE + keccak::PARITIES;
            for k in [0, 7, 15] {
                let mut columns = right.clone();
                for x in 0..5 {
                    let value = &mut columns[parities + x * PARTS + k];
                    *value = Goldilocks::new(value.as_u64() ^ 1);
                }
                assert!(found(&columns));
            }
        }
    }
}

/// Faults of a witness that was changed, whose lookups are counted again.
fn attack(circuit: &Circuit<Quadratic>, witness: &mut Witness) -> Vec<Fault> {
    count_lookups(circuit, witness);
    let faults = witness.faults(circuit);
    assert!(!faults.is_empty());
    faults
}

/// Rows in another order, rows of another permutation, the digest of a round in the middle.
#[test]
fn permutations_are_whole() {
    let (builder, free) = hashes(&[16, 10]);
    let circuit = builder.finish();
    let right = circuit.witness(&free).unwrap();
    let tables = circuit.tables();
    let lanes =
        |faults: &[Fault]| faults.iter().all(|fault| matches!(fault, Fault::Tuple { tuple, .. } if tuple[0] == LANE));
    let row = |row: usize| right.row(tables, Table::Keccak, row).to_vec();
    // The lookups of both rows are counted where they are: rows 2 to 6 have constants of their own, so their results differ.
    for (a, b) in [(1, 2), (3, 9), (0, 8), (7, 15), (7, 6)] {
        let mut witness = right.clone();
        witness.row_mut(tables, Table::Keccak, a).copy_from_slice(&row(b));
        witness.row_mut(tables, Table::Keccak, b).copy_from_slice(&row(a));
        let faults = attack(&circuit, &mut witness);
        if (a, b) == (0, 8) || (a, b) == (7, 15) {
            // Constants are the same: only the lanes are wrong.
            assert!(lanes(&faults));
        }
    }
    // Counted again, the right witness is right.
    let mut witness = right.clone();
    count_lookups(&circuit, &mut witness);
    assert_eq!(witness, right);
    // The other permutation's second half.
    let mut witness = right.clone();
    for i in 4..8 {
        witness.row_mut(tables, Table::Keccak, i).copy_from_slice(&row(8 + i));
    }
    attack(&circuit, &mut witness);
    // Planes that look at each other's permutation.
    let plane = |row: usize| right.row(tables, Table::KeccakPlane, row).to_vec();
    let mut witness = right.clone();
    witness.row_mut(tables, Table::KeccakPlane, 0).copy_from_slice(&plane(1));
    attack(&circuit, &mut witness);
    // The state of a round in the middle.
    let mut witness = right.clone();
    let middle = row(5);
    let last = &middle[STATE + (STAGES - 1) * STAGE..];
    for (i, column) in witness.row_mut(tables, Table::KeccakPlane, 0)[..320].iter_mut().enumerate() {
        let (lane, z) = (i / 64, i % 64);
        *column = Goldilocks::new(last[lane * PARTS + z % PARTS].as_u64() >> (4 * (z / PARTS)) & 1);
    }
    attack(&circuit, &mut witness);
}

/// Halves out of range, other padding, elements after a block.
#[test]
fn messages_are_halves_and_their_padding() {
    let (builder, free) = hashes(&[10, 35]);
    let circuit = builder.finish();
    let changed = |at: usize, value: Goldilocks| {
        let mut free = free.clone();
        free[at] = value;
        let witness = circuit.witness(&free).unwrap();
        witness.faults(&circuit)
    };
    let used = |faults: &[Fault], table: Table| {
        faults.iter().any(|fault| matches!(fault, Fault::Constraint { table: own, .. } if *own == table))
            || faults.iter().any(|fault| matches!(fault, Fault::Tuple { .. }))
    };
    let half = free[3];
    assert!(used(&changed(3, half + Goldilocks::new(1 << 32)), Table::KeccakAbsorb));
    assert!(used(&changed(3, -Goldilocks::ONE), Table::KeccakAbsorb));
    // The padding of ten halves, and the elements after the ninth word's second element.
    for at in [10, 11, 12 + 4 + 34, 12 + 4 + 35] {
        assert!(!changed(at, free[at] + Goldilocks::ONE).is_empty(), "{at}");
    }
    // A value that is not a bit: two halves of it.
    let right = circuit.witness(&free).unwrap();
    let mut columns = right.row(circuit.tables(), Table::KeccakAbsorb, 1).to_vec();
    columns[0] += Goldilocks::new(2);
    columns[1] -= Goldilocks::ONE;
    assert!(!row_holds(&circuit, &right, Table::KeccakAbsorb, 1, &columns));
    // The state that a first block is added to.
    let mut columns = right.row(circuit.tables(), Table::KeccakAbsorb, 1).to_vec();
    columns[keccak_absorb::STATE] += Goldilocks::ONE;
    columns[0] -= Goldilocks::ONE;
    assert!(!row_holds(&circuit, &right, Table::KeccakAbsorb, 1, &columns));
}

/// A circuit of a message of one block and one of two.
fn example() -> Example<Quadratic> {
    let (builder, free) = hashes(&[16, 40]);
    Example::made(builder, &free, 0)
}

#[test]
fn a_proof_is_accepted_and_one_of_another_round_refused() {
    let Example { circuit, parameters, mut witness, statement } = example();
    let prover = Prover::new(&circuit, &parameters);
    let proof = prover.prove(&statement, &witness);
    let claim = read_up_to_fixed(&proof, &parameters, &statement).unwrap();
    assert!(holds([&circuit; 2], &claim));
    // A part of a round that is another one.
    witness.row_mut(circuit.tables(), Table::Keccak, 9)[STATE + 700] += Goldilocks::ONE;
    let proof = prover.prove(&statement, &witness);
    assert!(read_up_to_fixed(&proof, &parameters, &statement).is_err());
}

/// A proof by the prover is that of the definition.
#[test]
fn a_proof_is_that_of_the_definition() {
    let Example { circuit, parameters, witness, statement } = example();
    let proof = Prover::new(&circuit, &parameters).prove(&statement, &witness);
    assert!(proof == prove(&circuit, &parameters, &statement, &witness));
}
