//! Messages in a stream of blocks of Keccak-256, whose bytes are read at addresses that are wires.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::tables::{Table, WORD, bytes, read};

use super::Builder;
use super::fixed::Fixed;
use super::wires::{Base, Bool, Wire, Word};
use super::witness::{Filling, Witness};

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 136;
/// Lanes of a block.
const BLOCK_LANES: usize = BLOCK_BYTES / 8;
/// Rows of bytes of two blocks.
const PAIR_ROWS: usize = 2 * BLOCK_BYTES / bytes::ROW;

/// Blocks of messages. Each block begins a message, or continues that of the block before it.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The digest of the message up to each block, as two words of halves.
    pub digests: Vec<[Word; 2]>,
    /// For each block except the first, whether it continues a message. The prover chooses the bits.
    pub goes_on: Vec<Bool>,
}

/// The rows of bytes and of reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    bytes: usize,
    /// Rows of bytes that fill the last block.
    idle: usize,
    reads: Vec<Read>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Byte,
    Window,
    /// Fills the last block.
    Nothing,
}

#[derive(Clone, Debug)]
struct Read {
    address: Wire,
    what: What,
}

impl Rows {
    pub(super) fn len(&self, table: Table) -> usize {
        if table == Table::Read { self.reads.len() } else { self.bytes + self.idle }
    }
}

impl<K: Extension> Builder<K> {
    /// Blocks of free bytes, 34 halves each: byte i of block b has the address 136 b + i, and sixteen zeros follow the last one.
    ///
    /// A message is whole blocks: other parts of the circuit must demand padding and length. A circuit has at most one
    /// stream.
    ///
    /// # Panics
    /// If there are no blocks, and for a second stream.
    pub fn stream(&mut self, blocks: usize) -> Stream {
        self.stream_bytes(blocks);
        let word = |row: u32, port: u8| Word(Wire { table: Table::Bytes, port, row });
        let lists: Vec<Vec<(usize, Word)>> = (0..blocks)
            .map(|block| {
                let first = (block / 2 * PAIR_ROWS) as u32;
                let (begins, middle) = ((block % 2) as u32, first + BLOCK_LANES as u32 / 2);
                let full = |i: u32| (2 * i as usize + block % 2, word(first + i + begins * (middle - first + 1), 0));
                let half =
                    if begins == 1 { (BLOCK_LANES, word(middle, 2)) } else { (BLOCK_LANES - 1, word(middle, 1)) };
                (0..BLOCK_LANES as u32 / 2).map(full).chain([half]).collect()
            })
            .collect();
        let (digests, goes_on) = self.keccak_stream(&lists);
        Stream { digests, goes_on }
    }

    /// The bytes of a [`Self::stream`] without their digests, for tests of what reads them.
    ///
    /// # Panics
    /// As [`Self::stream`].
    pub fn stream_bytes(&mut self, blocks: usize) {
        assert!(blocks > 0 && self.rows.stream.bytes == 0, "one stream of {blocks} blocks");
        for _ in 0..(blocks * BLOCK_BYTES).div_ceil(bytes::ROW) + 1 {
            self.rows.stream.bytes += 1;
            self.done(Table::Bytes, 0);
        }
        let word = |row: u32, port: u8| Word(Wire { table: Table::Bytes, port, row });
        let last = self.rows.stream.bytes as u32 - 1;
        self.no_limbs(word(last, 0), 0..WORD);
        if blocks % 2 == 1 {
            self.no_limbs(word(last - 1, 2), 2..WORD);
        }
    }

    /// The byte at an address of the stream.
    pub fn byte(&mut self, address: Base) -> Base {
        Base(self.read(address, What::Byte))
    }
    /// The sixteen bytes from an address of the stream on, as four halves, each four bytes with the least significant first.
    pub fn window(&mut self, address: Base) -> Word {
        Word(self.read(address, What::Window))
    }
    fn read(&mut self, address: Base, what: What) -> Wire {
        self.rows.stream.reads.push(Read { address: address.0, what });
        self.done(Table::Read, read::PORTS - 1)
    }
}

/// Fills the last blocks.
pub(super) fn pad<K: Extension>(b: &mut Builder<K>, missing: impl Fn(Table) -> usize) {
    let address = b.zero().0;
    let idle = Read { address, what: What::Nothing };
    b.rows.stream.reads.extend((0..missing(Table::Read)).map(|_| idle.clone()));
    b.rows.stream.idle = missing(Table::Bytes);
}

/// The fixed columns.
pub(super) fn set(fixed: &mut Fixed, rows: &Rows) {
    for i in 0..rows.bytes {
        fixed.set(Table::Bytes, i, bytes::ACTIVE, 1);
    }
    for (i, row) in rows.reads.iter().enumerate() {
        fixed.use_wire(Table::Read, i, read::NUMBER, row.address);
        fixed.set(Table::Read, i, read::ACTIVE, (row.what != What::Nothing).into());
        fixed.set(Table::Read, i, read::WINDOW, (row.what == What::Window).into());
    }
}

/// The word that a row of one of these tables defines.
pub(super) fn word(table: Table, columns: &[Goldilocks], port: u8) -> [Goldilocks; WORD] {
    if table == Table::Read {
        return core::array::from_fn(|i| columns[read::LOW + i] + columns[read::HIGH + i]);
    }
    let all = bytes::part(&bytes_of(columns), bytes::LOW, 0);
    let within = [0..WORD, 0..WORD / 2, WORD / 2..WORD][usize::from(port)].clone();
    core::array::from_fn(|i| if within.contains(&i) { all[i] } else { Goldilocks::ZERO })
}

/// The bytes of a row of bits.
fn bytes_of(columns: &[Goldilocks]) -> [u8; bytes::ROW] {
    let byte = |i: usize| (0..8).fold(0, |sum, j| sum | (columns[8 * i + j].as_u64() as u8 & 1) << j);
    core::array::from_fn(byte)
}

impl<K: Extension> Filling<'_, K> {
    /// The bits of the next four halves of free data.
    pub(super) fn bytes(&mut self, row: usize) {
        let halves = self.take::<WORD>();
        let bits = &mut self.columns(Table::Bytes, row)[..bytes::BITS];
        for (i, bit) in bits.iter_mut().enumerate() {
            *bit = Goldilocks::new(halves[i / 32].as_u64() >> (i % 32) & 1);
        }
    }
    /// The bytes at the address, and zeros if there are none.
    pub(super) fn read(&mut self, row: usize) {
        let Read { address, what } = self.circuit.rows.stream.reads[row];
        let address = self.word(address)[0];
        let part = |kind: usize| {
            let (row, count) = bytes::place(kind, address.as_u64());
            let row = usize::try_from(row).ok().filter(|row| *row < self.circuit.rows.stream.bytes);
            row.map_or([Goldilocks::ZERO; WORD], |row| {
                let columns = self.witness.row(&self.circuit.tables, Table::Bytes, row);
                bytes::part(&bytes_of(columns), kind, (count - bytes::COUNTS) % bytes::ROW)
            })
        };
        let nothing = [Goldilocks::ZERO; WORD];
        let (low, high) = match what {
            What::Window => (part(bytes::LOW), part(bytes::HIGH)),
            What::Byte => (part(bytes::BYTE), nothing),
            What::Nothing => (nothing, nothing),
        };
        let columns = self.columns(Table::Read, row);
        columns[read::ADDRESS] = address;
        columns[read::LOW..][..WORD].copy_from_slice(&low);
        columns[read::HIGH..][..WORD].copy_from_slice(&high);
    }
}

impl<K: Extension> super::Circuit<K> {
    /// Counts the reads again. For attacks that set addresses.
    pub fn count_reads(&self, witness: &mut Witness) {
        let rows = &self.rows.stream;
        for row in 0..rows.bytes {
            witness.row_mut(&self.tables, Table::Bytes, row)[bytes::COUNTS..].fill(Goldilocks::ZERO);
        }
        for (i, row) in rows.reads.iter().enumerate() {
            let address = witness.row(&self.tables, Table::Read, i)[read::ADDRESS].as_u64();
            let kinds: &[usize] = match row.what {
                What::Window => &[bytes::LOW, bytes::HIGH],
                What::Byte => &[bytes::BYTE],
                What::Nothing => &[],
            };
            for &kind in kinds {
                let (row, column) = bytes::place(kind, address);
                // A byte that exists nowhere is a fault.
                if row < rows.bytes as u64 {
                    witness.row_mut(&self.tables, Table::Bytes, row as usize)[column] += Goldilocks::ONE;
                }
            }
        }
    }
}
