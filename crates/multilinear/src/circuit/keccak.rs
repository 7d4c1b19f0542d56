//! Keccak-256 as rows.

use std::collections::HashMap;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use super::Builder;
use super::fill;
use super::fixed::Fixed;
use super::wires::{Bool, Wire, Word};
use super::witness::Filling;
use evergrove_verifier::tables::keccak::{self, LANES, PARTS, ROWS};
use evergrove_verifier::tables::{
    Table, WORD, keccak_absorb as absorb, keccak_gate as gate, keccak_lookup as lookup, keccak_plane as plane,
};

/// Words of a block: 34 halves, and two zeros.
pub const BLOCK_WORDS: usize = 9;
/// Halves of a block.
pub const BLOCK_HALVES: usize = 34;
/// Lanes of a stream that words are added to, in a circle: 17 of a block, and one of the capacity, whose halves are
/// zeros.
const STREAM_LANES: usize = 18;
/// The last bit of the padding, in the last half of a block.
pub const PADDING_END: u64 = 1 << 31;

/// A lane of a state, by the row that defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    table: Table,
    row: u32,
    lane: u8,
}

impl Lane {
    fn key(self) -> Goldilocks {
        let (row, lane) = (self.row as usize, usize::from(self.lane));
        Goldilocks::new(match self.table {
            Table::KeccakAbsorb => absorb::key(row, lane),
            Table::KeccakPlane => plane::key(row, lane),
            Table::KeccakGate => gate::key(row, lane),
            _ => keccak::key(row, lane),
        })
    }
}

/// The rows of Keccak's tables.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    rounds: Vec<Rounds>,
    lookups: usize,
    absorbs: Vec<Absorb>,
    planes: Vec<Plane>,
    gates: Vec<Gate>,
    /// Rows of rounds and of planes that fill the last block.
    idle: [usize; 2],
    /// Rows that absorb a word into zeros.
    known: HashMap<Wire, u32>,
}

#[derive(Clone, Debug)]
struct Rounds {
    lanes: [Lane; LANES],
    /// Which row of the permutation.
    index: usize,
    /// All outgoing lanes are used.
    rest: bool,
}

#[derive(Clone, Debug)]
struct Absorb {
    word: Wire,
    state: Option<[Lane; 2]>,
    uses: [u64; 2],
}

#[derive(Clone, Debug)]
struct Plane {
    lanes: [Lane; 5],
    first: bool,
    /// The outgoing lanes are used.
    used: bool,
}

#[derive(Clone, Debug)]
struct Gate {
    /// The first of five lanes with consecutive keys; `None` in a row that fills the last block.
    first: Option<Lane>,
    bit: Wire,
}

impl Rows {
    pub(super) fn len(&self, table: Table) -> usize {
        match table {
            Table::Keccak => self.rounds.len() + self.idle[0],
            Table::KeccakLookup => self.lookups,
            Table::KeccakAbsorb => self.absorbs.len(),
            Table::KeccakPlane => self.planes.len() + self.idle[1],
            Table::KeccakGate => self.gates.len(),
            _ => 0,
        }
    }
}

impl<K: Extension> Builder<K> {
    /// Keccak-256 of a message of `halves` numbers of 32 bits, each four bytes with the least significant first. Demands that they are below 2^32.
    ///
    /// Each block of 34 halves is nine words: two elements of the ninth are demanded to be 0. Elements of the last word
    /// after the message are demanded to be the padding, (1, 0, ..); words after it are not given. The digest is two
    /// words of halves.
    ///
    /// # Panics
    /// Unless there are as many words as the halves take.
    pub fn keccak(&mut self, message: &[Word], halves: usize) -> [Word; 2] {
        let (full, rest) = (halves / BLOCK_HALVES, halves % BLOCK_HALVES);
        assert_eq!(message.len(), full * BLOCK_WORDS + rest.div_ceil(WORD), "words of {halves} halves");
        let mut words = message.to_vec();
        for half in full * BLOCK_WORDS * WORD + rest.next_multiple_of(WORD)..(full + 1) * BLOCK_WORDS * WORD {
            if half % WORD == 0 {
                words.push(self.padding(half - full * BLOCK_WORDS * WORD, rest));
            }
        }
        if !rest.is_multiple_of(WORD) {
            let first = rest / WORD * WORD;
            let (given, padding) = (message[message.len() - 1], self.padding(first, rest));
            self.same_limbs(given, padding, rest % WORD..WORD);
        }
        let blocks: Vec<[Word; BLOCK_WORDS]> = words.as_chunks().0.to_vec();
        self.keccak_blocks(&blocks)
    }
    /// Keccak-256 of blocks of 34 halves. The circuit must ensure that the last block ends with a padding. Demands that
    /// two elements after each block are 0, and all others below 2^32.
    ///
    /// # Panics
    /// If there are no blocks.
    pub fn keccak_blocks(&mut self, blocks: &[[Word; BLOCK_WORDS]]) -> [Word; 2] {
        let full = blocks.len().checked_sub(1).expect("a block");
        let mut state = None;
        for (i, block) in blocks.iter().enumerate() {
            self.ends(block[BLOCK_WORDS - 1]);
            let lanes = self.absorb(block, state);
            let first = self.permute_lanes(lanes, i < full);
            state = (i < full).then(|| state_of(Table::KeccakPlane, first));
        }
        digest(self.rows.keccak.planes.len() as u32 - 1)
    }

    /// Keccak-256 of a stream of messages: the digest after each block, and a bit for each block except the first. The
    /// prover chooses the bits. If a bit is 1, the block continues the message of the block before it; if it is 0, the
    /// block begins a message.
    ///
    /// A block is a list of words, each with the first of the two lanes that it is added to: see [`Builder::stream`].
    pub(super) fn keccak_stream(&mut self, blocks: &[Vec<(usize, Word)>]) -> (Vec<[Word; 2]>, Vec<Bool>) {
        let (mut digests, mut bits) = (Vec::with_capacity(blocks.len()), Vec::with_capacity(blocks.len() - 1));
        let zero = self.zero().0;
        let nothing = self.absorb_word(zero, None)[0];
        let mut state = None;
        for (i, block) in blocks.iter().enumerate() {
            let mut lanes = state.unwrap_or([nothing; LANES]);
            for &(first, word) in block {
                let pair = [first, (first + 1) % STREAM_LANES];
                let added = self.absorb_word(word.0, state.map(|_: [Lane; LANES]| pair.map(|lane| lanes[lane])));
                for (lane, added) in pair.into_iter().zip(added) {
                    lanes[lane] = added;
                }
            }
            let more = i + 1 < blocks.len();
            let plane = self.permute_lanes(lanes, more);
            digests.push(digest(plane));
            state = more.then(|| {
                let bit = self.bit();
                bits.push(bit);
                let gate = self.rows.keccak.gates.len() as u32;
                for y in 0..gate::LANES as u32 {
                    let first = Lane { table: Table::KeccakPlane, row: plane + y, lane: 0 };
                    self.rows.keccak.gates.push(Gate { first: Some(first), bit: bit.0 });
                    self.done(Table::KeccakGate, 0);
                }
                state_of(Table::KeccakGate, gate)
            });
        }
        (digests, bits)
    }

    /// Demands that the last word of a block has no more than the block: its other elements would go into the capacity.
    fn ends(&mut self, word: Word) {
        let known =
            word.0.table == Table::Constant && self.rows.constants[word.0.row as usize][2..] == [Goldilocks::ZERO; 2];
        if !known {
            self.no_limbs(word, 2..WORD);
        }
    }
    /// The word of the padding from this half of the last block on, if the message ends after `rest` halves.
    fn padding(&mut self, first: usize, rest: usize) -> Word {
        let half = |half: usize| {
            let begin = u64::from(half == rest);
            let end = if half == BLOCK_HALVES - 1 { PADDING_END } else { 0 };
            Goldilocks::new(begin + end)
        };
        self.word(core::array::from_fn(|i| half(first + i)))
    }

    /// The lanes of a state (zeros if there is none) after a block is added.
    fn absorb(&mut self, block: &[Word], state: Option<[Lane; LANES]>) -> [Lane; LANES] {
        let zero = self.zero().0;
        let nothing = self.absorb_word(zero, None)[0];
        let mut lanes = state.unwrap_or([nothing; LANES]);
        for (word, pair) in block.iter().zip(lanes.as_chunks_mut::<2>().0) {
            if word.0 != zero {
                *pair = self.absorb_word(word.0, state.is_some().then_some(*pair));
            }
        }
        lanes
    }
    fn absorb_word(&mut self, word: Wire, state: Option<[Lane; 2]>) -> [Lane; 2] {
        let known = state.is_none().then(|| self.rows.keccak.known.get(&word).copied()).flatten();
        let row = known.unwrap_or_else(|| {
            self.rows.keccak.absorbs.push(Absorb { word, state, uses: [0; 2] });
            self.done(Table::KeccakAbsorb, 0).row
        });
        if state.is_none() {
            self.rows.keccak.known.insert(word, row);
        }
        [0, 1].map(|lane| Lane { table: Table::KeccakAbsorb, row, lane })
    }
    /// Permutes lanes, and returns the first row of the result: five rows with all planes if `rest`, otherwise one row
    /// with the first plane.
    fn permute_lanes(&mut self, mut lanes: [Lane; LANES], rest: bool) -> u32 {
        for lane in lanes {
            if lane.table == Table::KeccakAbsorb {
                self.rows.keccak.absorbs[lane.row as usize].uses[usize::from(lane.lane)] += 1;
            }
        }
        self.rows.keccak.lookups = lookup::ROWS;
        for index in 0..ROWS {
            self.rows.keccak.rounds.push(Rounds { lanes, index, rest: rest || index + 1 < ROWS });
            let row = self.done(Table::Keccak, 0).row;
            lanes = core::array::from_fn(|lane| Lane { table: Table::Keccak, row, lane: lane as u8 });
        }
        let (row, first) = (self.rows.keccak.rounds.len() as u32 - 1, self.rows.keccak.planes.len() as u32);
        for y in 0..if rest { 5 } else { 1 } {
            let lanes = core::array::from_fn(|x| Lane { table: Table::Keccak, row, lane: (x + 5 * y) as u8 });
            self.rows.keccak.planes.push(Plane { lanes, first: y == 0, used: rest });
            self.done(Table::KeccakPlane, 0);
        }
        first
    }
}

/// The lanes of a state whose planes are five rows of a table.
fn state_of(table: Table, first: u32) -> [Lane; LANES] {
    core::array::from_fn(|i| Lane { table, row: first + i as u32 / 5, lane: (i % 5) as u8 })
}

/// The digest whose plane is this row.
fn digest(row: u32) -> [Word; 2] {
    [0, 1].map(|port| Word(Wire { table: Table::KeccakPlane, port, row }))
}

/// Fills the last blocks with rows that use and offer nothing, and whose content is existing content.
pub(super) fn pad<K: Extension>(b: &mut Builder<K>, missing: impl Fn(Table) -> usize) {
    let word = b.zero().0;
    let rows = &mut b.rows.keccak;
    rows.lookups += missing(Table::KeccakLookup);
    let idle = Absorb { word, state: None, uses: [0; 2] };
    rows.absorbs.extend((0..missing(Table::KeccakAbsorb)).map(|_| idle.clone()));
    rows.gates.extend((0..missing(Table::KeccakGate)).map(|_| Gate { first: None, bit: word }));
    rows.idle = [missing(Table::Keccak), missing(Table::KeccakPlane)];
}

/// The fixed columns.
pub(super) fn set(fixed: &mut Fixed, rows: &Rows) {
    let bit = |bit: bool| Goldilocks::new(bit.into());
    for (i, row) in rows.rounds.iter().enumerate() {
        let own = fixed.row(Table::Keccak, i);
        own[keccak::INNER] = bit(row.index > 0);
        own[keccak::ACTIVE] = Goldilocks::ONE;
        own[keccak::REST] = bit(row.rest);
        for (column, lane) in own[keccak::KEYS..].iter_mut().zip(row.lanes) {
            *column = lane.key();
        }
        keccak::set_constants(own, keccak::constants(row.index));
    }
    for i in 0..rows.lookups {
        fixed.row(Table::KeccakLookup, i).copy_from_slice(&lookup::content(i).map(Goldilocks::new));
    }
    for (i, row) in rows.absorbs.iter().enumerate() {
        fixed.use_wire(Table::KeccakAbsorb, i, absorb::NUMBER, row.word);
        let own = fixed.row(Table::KeccakAbsorb, i);
        own[absorb::LATER] = bit(row.state.is_some());
        for (j, uses) in row.uses.into_iter().enumerate() {
            own[absorb::KEYS + j] = row.state.map_or(Goldilocks::ZERO, |state| state[j].key());
            own[absorb::USES + j] = Goldilocks::new(uses);
        }
    }
    for (i, row) in rows.planes.iter().enumerate() {
        let own = fixed.row(Table::KeccakPlane, i);
        own[plane::KEY] = row.lanes[0].key();
        own[plane::ACTIVE] = Goldilocks::ONE;
        own[plane::FIRST] = bit(row.first);
        own[plane::LANE_USES] = bit(row.used);
    }
    for (i, row) in rows.gates.iter().enumerate() {
        fixed.use_wire(Table::KeccakGate, i, gate::NUMBER, row.bit);
        if let Some(first) = row.first {
            let own = fixed.row(Table::KeccakGate, i);
            own[gate::KEY] = first.key();
            own[gate::ACTIVE] = Goldilocks::ONE;
        }
    }
}

/// The values of a lane on the bus.
fn values_of(parts: [u64; PARTS]) -> [Goldilocks; keccak::VALUES] {
    core::array::from_fn(|i| Goldilocks::new(parts[i] + (parts[i + keccak::VALUES] << 32)))
}

/// How often each row of the lookup table is used.
#[derive(Debug, Default)]
pub(super) struct Counts(Vec<u64>);

impl Counts {
    fn add(&mut self, key: u64, times: u64) {
        self.0.resize(lookup::ROWS, 0);
        if let Some(row) = lookup::row_of(key) {
            self.0[row] += times;
        }
    }
}

impl<K: Extension> Filling<'_, K> {
    /// The parts of a lane, whose row is filled.
    fn parts(&self, Lane { table, row, lane }: Lane) -> [u64; PARTS] {
        let (columns, lane) = (self.witness.row(&self.circuit.tables, table, row as usize), usize::from(lane));
        let number = |i: usize| columns[i].as_u64();
        match table {
            Table::KeccakAbsorb => core::array::from_fn(|i| {
                let value = number(absorb::STATE + lane * keccak::VALUES + i % keccak::VALUES);
                let bits = (0..64).fold(0, |sum, z| sum | number(64 * lane + z) << z);
                (value >> (32 * (i / keccak::VALUES)) & 0xffff) + keccak::part(bits, i)
            }),
            Table::KeccakPlane => {
                let result = self.plane(row as usize)[lane];
                core::array::from_fn(|i| keccak::part(result, i))
            }
            Table::KeccakGate => core::array::from_fn(|i| {
                let value = number(lane * keccak::VALUES + i % keccak::VALUES) * number(gate::BIT);
                value >> (32 * (i / keccak::VALUES)) & 0xffff
            }),
            _ => {
                let last = keccak::STATE + (keccak::STAGES - 1) * keccak::STAGE;
                core::array::from_fn(|i| number(last + lane * PARTS + i))
            }
        }
    }
    /// The results of a plane.
    fn plane(&self, row: usize) -> [u64; 5] {
        let columns = self.witness.row(&self.circuit.tables, Table::KeccakPlane, row);
        let lanes = core::array::from_fn(|x| (0..64).fold(0, |sum, z| sum | columns[64 * x + z].as_u64() << z));
        plane::results(lanes, self.circuit.rows.keccak.planes[row].first)
    }
    /// The word of halves that a plane defines.
    pub(super) fn halves(&self, row: usize, port: usize) -> [Goldilocks; WORD] {
        let results = self.plane(row);
        core::array::from_fn(|i| Goldilocks::new(results[2 * port + i / 2] >> (32 * (i % 2)) & 0xffff_ffff))
    }

    pub(super) fn keccak(&mut self, table: Table, row: usize) {
        let circuit = self.circuit;
        let rows = &circuit.rows.keccak;
        match table {
            Table::Keccak => {
                let Rounds { lanes, index, .. } = &rows.rounds[row];
                let state: Vec<u64> = lanes.iter().flat_map(|lane| self.parts(*lane)).collect();
                let columns = self.witness.row_mut(&circuit.tables, table, row);
                for (column, x) in columns.iter_mut().zip(state) {
                    *column = Goldilocks::new(x);
                }
                let counts = &mut self.lookups;
                fill::keccak::fill(columns, *index == 0, keccak::constants(*index), |key| counts.add(key, 1));
            }
            Table::KeccakAbsorb => {
                let Absorb { word, state, .. } = &rows.absorbs[row];
                let word = self.word(*word);
                let lanes = state.map(|lanes| lanes.map(|lane| self.parts(lane)));
                let columns = self.witness.row_mut(&circuit.tables, table, row);
                for (i, column) in columns[..absorb::BITS].iter_mut().enumerate() {
                    *column = Goldilocks::new(word[i / 32].as_u64() >> (i % 32) & 1);
                }
                let values = columns[absorb::STATE..].as_chunks_mut::<{ keccak::VALUES }>().0;
                for (values, parts) in values.iter_mut().zip(lanes.into_iter().flatten()) {
                    *values = values_of(parts);
                }
            }
            Table::KeccakGate => {
                let Gate { first: Some(first), bit } = rows.gates[row] else { return };
                let bit = self.word(bit)[0];
                let lanes: [[u64; PARTS]; gate::LANES] =
                    core::array::from_fn(|lane| self.parts(Lane { lane: lane as u8, ..first }));
                let columns = self.witness.row_mut(&circuit.tables, table, row);
                for (values, parts) in columns.as_chunks_mut::<{ keccak::VALUES }>().0.iter_mut().zip(lanes) {
                    *values = values_of(parts);
                }
                columns[gate::BIT] = bit;
            }
            _ => {
                let lanes = rows.planes[row].lanes.map(|lane| {
                    let parts = self.parts(lane);
                    (0..64).fold(0, |sum, z| sum | (parts[z % PARTS] >> (4 * (z / PARTS)) & 1) << z)
                });
                fill::keccak_plane::fill(self.witness.row_mut(&circuit.tables, table, row), lanes);
            }
        }
    }
    /// How often each row of the lookup table is used.
    pub(super) fn lookups(&mut self) {
        let rows = &self.circuit.rows.keccak;
        let mut counts = core::mem::take(&mut self.lookups);
        let mut columns = vec![Goldilocks::ZERO; keccak::COLUMNS];
        let idle = rows.idle[0] as u64;
        fill::keccak::fill(&mut columns, true, [0; keccak::STAGES], |key| counts.add(key, idle));
        for (row, count) in counts.0.into_iter().enumerate().take(rows.lookups) {
            self.witness.row_mut(&self.circuit.tables, Table::KeccakLookup, row)[0] = Goldilocks::new(count);
        }
    }
}
