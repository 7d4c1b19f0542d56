//! Messages in a stream: digests of the reference however the prover joins blocks, bytes at every address, and attacks
//! that set columns.

use evergrove_multilinear::circuit::{BLOCK_BYTES, Builder, Circuit, Fault, Stream, Witness};
use evergrove_multilinear::prover::Prover;
use evergrove_multilinear::reference::{holds, prove};
use evergrove_primitives::field::{Field, Goldilocks, Quadratic};
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_verifier::argument::read_up_to_fixed;
use evergrove_verifier::tables::{BYTES, LANE, Table, bytes, keccak_gate, read};

use crate::circuit::tables;
use crate::common::Elements;
use crate::keccak::{row_holds, words_of};
use crate::proof::Example;

const ROW: usize = bytes::ROW;

/// A message in whole blocks.
fn padded(message: &[u8]) -> Vec<u8> {
    let mut bytes = message.to_vec();
    bytes.push(1);
    bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
    *bytes.last_mut().unwrap() |= 0x80;
    bytes
}

/// Messages of these lengths, and the blocks and bits that they are in a stream.
fn messages(lengths: &[usize]) -> (Vec<Vec<u8>>, Vec<u8>, Vec<bool>) {
    let mut elements = Elements::new(3);
    let (mut messages, mut stream, mut bits) = (Vec::new(), Vec::new(), Vec::new());
    for &length in lengths {
        let message: Vec<u8> = (0..length).map(|_| elements.base().as_u64() as u8).collect();
        let blocks = padded(&message);
        bits.extend((0..blocks.len() / BLOCK_BYTES).map(|block| block > 0));
        stream.extend(blocks);
        messages.push(message);
    }
    (messages, stream, bits)
}

/// Free data of a stream.
fn data(stream: &[u8], bits: &[bool]) -> Vec<Goldilocks> {
    let mut bytes = stream.to_vec();
    bytes.resize(stream.len().next_multiple_of(ROW) + ROW, 0);
    let halves = bytes.as_chunks().0.iter().map(|half| Goldilocks::new(u32::from_le_bytes(*half).into()));
    halves.chain(bits[1..].iter().map(|&bit| Goldilocks::new(bit.into()))).collect()
}

/// A circuit that says that digests of blocks are these, and its builder.
fn says(stream: &Stream, b: &mut Builder<Quadratic>, block: usize, digest: [u8; 32]) {
    let one = b.one();
    let yes = b.boolean(one);
    for (word, expected) in stream.digests[block].into_iter().zip(words_of(digest)) {
        let expected = b.word(expected);
        let limbs = |word| [0, 1, 2, 3].map(|limb| (word, limb));
        b.equal_limbs(yes, &limbs(word), &limbs(expected));
    }
}

const LENGTHS: [usize; 11] = [0, 1, 135, 136, 137, 271, 272, 33, 407, 408, 532];

#[test]
fn digests_are_those_of_the_reference() {
    for lengths in [&LENGTHS[..], &[5], &[300], &[20, 20], &[271, 1, 140]] {
        let (messages, stream, bits) = messages(lengths);
        let blocks = bits.len();
        let mut b = Builder::<Quadratic>::new(tables());
        let made = b.stream(blocks);
        assert_eq!((made.digests.len(), made.goes_on.len()), (blocks, blocks - 1));
        let mut last = 0;
        for message in &messages {
            last += message.len() / BLOCK_BYTES + 1;
            says(&made, &mut b, last - 1, keccak_256(message));
        }
        assert_eq!(b.rows(Table::Bytes), (blocks * BLOCK_BYTES).div_ceil(ROW) + 1);
        assert_eq!(b.rows(Table::KeccakGate), 5 * (blocks - 1));
        assert_eq!(b.rows(Table::KeccakAbsorb), 9 * blocks + 1);
        let circuit = b.finish();
        let witness = circuit.witness(&data(&stream, &bits)).unwrap();
        assert_eq!(witness.faults(&circuit), []);
        // Where another bit is set, another digest comes out.
        for at in 1..blocks {
            let mut bits = bits.clone();
            bits[at] ^= true;
            let witness = circuit.witness(&data(&stream, &bits)).unwrap();
            assert!(!witness.faults(&circuit).is_empty(), "{at}");
        }
    }
}

/// A circuit that reads this many windows and bytes, at addresses that the prover chooses.
struct Reads {
    circuit: Circuit<Quadratic>,
    /// Free data of the stream.
    stream: Vec<Goldilocks>,
    bytes: Vec<u8>,
}

impl Reads {
    fn new(lengths: &[usize], windows: usize, single: usize) -> Self {
        let (_, bytes, bits) = messages(lengths);
        let mut b = Builder::<Quadratic>::new(tables());
        b.stream(bits.len());
        for _ in 0..windows {
            let address = b.any();
            b.window(address);
        }
        for _ in 0..single {
            let address = b.any();
            b.byte(address);
        }
        Self { circuit: b.finish(), stream: data(&bytes, &bits), bytes }
    }
    fn witness(&self, addresses: impl IntoIterator<Item = u64>) -> Witness {
        let addresses = addresses.into_iter().map(Goldilocks::reduce);
        self.circuit.witness(&self.stream.iter().copied().chain(addresses).collect::<Vec<_>>()).unwrap()
    }
    fn row<'a>(&self, witness: &'a Witness, table: Table, row: usize) -> &'a [Goldilocks] {
        witness.row(self.circuit.tables(), table, row)
    }
    /// Only the read bytes are wrong.
    fn fails(&self, witness: &Witness) {
        let faults = witness.faults(&self.circuit);
        let read = |fault: &Fault| matches!(fault, Fault::Tuple { tuple, .. } if tuple[0] == BYTES);
        assert!(!faults.is_empty() && faults.iter().all(read), "{faults:?}");
    }
}

#[test]
fn every_address_is_read() {
    // An odd number of blocks: the stream ends in the middle of a row.
    for lengths in [&[140, 3][..], &[140]] {
        let end = messages(lengths).1.len();
        let reads = Reads::new(lengths, end, end);
        let witness = reads.witness((0..2 * end as u64).map(|i| i % end as u64));
        assert_eq!(witness.faults(&reads.circuit), []);
        let byte = |i: usize| u64::from(reads.bytes.get(i).copied().unwrap_or(0));
        for address in 0..end {
            let columns = reads.row(&witness, Table::Read, address);
            for half in 0..4 {
                let expected: u64 = (0..4).map(|i| byte(address + 4 * half + i) << (8 * i)).sum();
                let found = columns[read::LOW + half] + columns[read::HIGH + half];
                assert_eq!(found, Goldilocks::new(expected), "{address} {half}");
            }
            let columns = reads.row(&witness, Table::Read, end + address);
            assert_eq!(columns[read::LOW], Goldilocks::new(byte(address)), "{address}");
        }
    }
}

#[test]
fn where_nothing_is_nothing_is_read() {
    let reads = Reads::new(&[140], 1, 1);
    let end = (2 * BLOCK_BYTES + ROW) as u64;
    for address in [end, end + 1, end.next_multiple_of(512 * 16) - 20, end.next_multiple_of(512 * 16), u64::MAX >> 1] {
        reads.fails(&reads.witness([address, 0]));
        reads.fails(&reads.witness([0, address]));
    }
    for below in 1..20 {
        let negative = (-Goldilocks::new(below)).as_u64();
        reads.fails(&reads.witness([negative, 0]));
        reads.fails(&reads.witness([0, negative]));
    }
    // The last window ends within the zeros, a later one does not.
    assert_eq!(reads.witness([2 * BLOCK_BYTES as u64 - 1, end - 1]).faults(&reads.circuit), []);
    reads.fails(&reads.witness([end - ROW as u64, 0]));
}

/// The results of reads, changed: another part, another kind, the same sum; and rows that only fill a block.
#[test]
fn what_is_read_is_there() {
    let reads = Reads::new(&[140, 3], 2, 2);
    let right = reads.witness([7, 130, 7, 8]);
    assert_eq!(right.faults(&reads.circuit), []);
    let set = |row: usize, change: &dyn Fn(&mut [Goldilocks])| {
        let mut witness = right.clone();
        change(witness.row_mut(reads.circuit.tables(), Table::Read, row));
        reads.circuit.count_reads(&mut witness);
        witness.faults(&reads.circuit)
    };
    let one = Goldilocks::ONE;
    assert_eq!(set(0, &|_| ()), []);
    for half in 0..4 {
        assert!(!set(0, &|row| row[read::LOW + half] += one).is_empty());
        assert!(!set(1, &|row| row[read::HIGH + half] += one).is_empty());
        // The same word.
        assert!(
            !set(1, &|row| {
                row[read::LOW + half] += one;
                row[read::HIGH + half] -= one;
            })
            .is_empty()
        );
        // Behind a byte is nothing. A high part is not in its word.
        assert!(!set(2, &|row| row[read::LOW + half] += one).is_empty());
        assert_eq!(set(2, &|row| row[read::HIGH + half] += one), []);
    }
    // A window at the address of another one, whose words stay.
    assert!(!set(0, &|row| row[read::ADDRESS] = Goldilocks::new(130)).is_empty());
    // A byte instead of a window, a window instead of a byte.
    let window = reads.row(&right, Table::Read, 0).to_vec();
    let byte = reads.row(&right, Table::Read, 2).to_vec();
    assert!(!set(0, &|row| row.copy_from_slice(&byte)).is_empty());
    assert!(!set(2, &|row| row.copy_from_slice(&window)).is_empty());

    // A row of bytes that only fills the block offers nothing, however often.
    let tables = reads.circuit.tables();
    let idle = reads.circuit.rows(Table::Bytes) + 1;
    let mut witness = reads.witness([(idle * ROW) as u64, 0, 0, 0]);
    let (row, column) = bytes::place(bytes::LOW, (idle * ROW) as u64);
    witness.row_mut(tables, Table::Bytes, row as usize)[column] = one;
    witness.row_mut(tables, Table::Bytes, row as usize + 1)[bytes::COUNTS + bytes::HIGH * ROW] = one;
    reads.fails(&witness);
    // A count too many.
    for column in bytes::COUNTS..bytes::COLUMNS {
        let mut witness = right.clone();
        witness.row_mut(tables, Table::Bytes, 3)[column] += one;
        reads.fails(&witness);
    }
}

#[test]
fn every_column_counts() {
    let reads = Reads::new(&[300, 3], 2, 1);
    let witness = reads.witness([7, 130, 7]);
    let mut elements = Elements::new(4);
    // The word of a byte has no high part.
    for (table, rows, width) in [
        (Table::Bytes, vec![0, 1, 8, 9, 33], bytes::COLUMNS),
        (Table::KeccakGate, vec![0, 1, 4, 10, 14], keccak_gate::COLUMNS),
        (Table::Read, vec![0, 1], read::COLUMNS),
        (Table::Read, vec![2], read::HIGH),
    ] {
        for row in rows {
            let right = reads.row(&witness, table, row).to_vec();
            for column in 0..width {
                for by in [1, 2, 0xffff, 1 << 32, elements.base().as_u64()] {
                    let mut columns = right.clone();
                    columns[column] += Goldilocks::reduce(by);
                    assert!(
                        !row_holds(&reads.circuit, &witness, table, row, &columns),
                        "{table:?} {row} {column} {by}"
                    );
                }
            }
        }
    }
    // Bits that are none, with the same halves and bytes.
    let mut columns = reads.row(&witness, Table::Bytes, 1).to_vec();
    columns[0] += Goldilocks::new(2);
    columns[1] -= Goldilocks::ONE;
    assert!(!row_holds(&reads.circuit, &witness, Table::Bytes, 1, &columns));
}

/// A gate hands on a state as a whole: with a separate bit, lanes of another state, zeros in one plane only, or half of
/// them, the bus does not close.
#[test]
fn gates_hand_on_all_or_nothing() {
    let reads = Reads::new(&[300, 300], 0, 0);
    let right = reads.witness([]);
    let tables = reads.circuit.tables();
    assert_eq!(reads.circuit.rows(Table::KeccakGate), 25);
    let row = |row: usize| right.row(tables, Table::KeccakGate, row).to_vec();
    let lanes = |witness: &Witness| {
        let faults = witness.faults(&reads.circuit);
        assert!(!faults.is_empty());
        faults.iter().any(|fault| matches!(fault, Fault::Tuple { tuple, .. } if tuple[0] == LANE))
    };
    let half = Goldilocks::half();
    for gate in 0..25 {
        // The bit of one plane alone.
        for bit in [Goldilocks::ZERO, Goldilocks::ONE, half, Goldilocks::new(2)] {
            let mut witness = right.clone();
            let column = &mut witness.row_mut(tables, Table::KeccakGate, gate)[keccak_gate::BIT];
            if *column != bit {
                *column = bit;
                assert!(lanes(&witness));
            }
        }
        // The same plane of another block's state.
        let mut witness = right.clone();
        witness.row_mut(tables, Table::KeccakGate, gate).copy_from_slice(&row((gate + 5) % 25));
        assert!(!witness.faults(&reads.circuit).is_empty());
    }
    // The outgoing value is the product: twice the values and half the bit.
    let mut witness = right.clone();
    let columns = witness.row_mut(tables, Table::KeccakGate, 0);
    for value in &mut columns[..keccak_gate::BIT] {
        *value *= Goldilocks::new(2);
    }
    columns[keccak_gate::BIT] = half;
    assert!(lanes(&witness));
}

/// A circuit of two messages; it reads bytes and windows of them.
fn example() -> Example<Quadratic> {
    let (found, stream, bits) = messages(&[140, 3]);
    let mut b = Builder::<Quadratic>::new(tables());
    let made = b.stream(3);
    says(&made, &mut b, 1, keccak_256(&found[0]));
    for address in [0, 7, 130] {
        let address = b.constant(Goldilocks::new(address));
        b.window(address);
        b.byte(address);
    }
    Example::made(b, &data(&stream, &bits), 0)
}

#[test]
fn a_proof_is_accepted_and_one_of_other_bytes_refused() {
    let Example { circuit, parameters, witness, statement } = example();
    let prover = Prover::new(&circuit, &parameters);
    let proof = prover.prove(&statement, &witness);
    let claim = read_up_to_fixed(&proof, &parameters, &statement).unwrap();
    assert!(holds([&circuit; 2], &claim));
    assert!(proof == prove(&circuit, &parameters, &statement, &witness));
    let changes =
        [(Table::Bytes, 3), (Table::Bytes, bytes::COUNTS + 7), (Table::Read, read::LOW), (Table::KeccakGate, 0)];
    for (table, column) in changes {
        let mut witness = witness.clone();
        witness.row_mut(circuit.tables(), table, 0)[column] += Goldilocks::ONE;
        let proof = prover.prove(&statement, &witness);
        assert!(read_up_to_fixed(&proof, &parameters, &statement).is_err(), "{table:?}");
    }
}
