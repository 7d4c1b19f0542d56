//! Filling the committed columns of a circuit, and checking them row by row.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::hash::poseidon::{WIDTH, permute};

use super::builder::HEIGHTS;
use super::fill;
use super::wires::Wire;
use super::{Choice, Circuit, Count, End, Half, Permutation, Sponge, Tuple, keccak, points, stream};
use crate::poseidon;
use evergrove_verifier::algebra::{Ground, combine};
use evergrove_verifier::poseidon::{OUTPUTS, SBOXES, chains, digest, join};
use evergrove_verifier::tables::permutation::{self, RATE};
use evergrove_verifier::tables::{Layout, Port, Row, TUPLE, Table, Tables, WORD, bits, sponge, tuple};

/// The committed columns of a circuit, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    columns: [Vec<Goldilocks>; Table::ALL.len()],
}

/// A condition that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A constraint of a row is not 0.
    #[error("constraint {constraint} of row {row} of the table {} is not 0", table.name())]
    Constraint {
        /// The table.
        table: Table,
        /// The row.
        row: usize,
        /// Which of the table's constraints.
        constraint: usize,
    },
    /// A tuple is used but not defined, or not equally often.
    #[error("the multiplicities of the tuple {tuple:?} sum to {count} and not to 0")]
    Tuple {
        /// The tuple.
        tuple: [Goldilocks; TUPLE],
        /// The sum of its multiplicities, which should be 0.
        count: Goldilocks,
    },
}

/// The prover's data ends too early or too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given} elements of free data: the circuit takes {taken}")]
pub struct InputError {
    /// Elements that were given.
    pub given: usize,
    /// Elements that rows took, or tried to take.
    pub taken: usize,
}

impl<K: Extension> Circuit<K> {
    /// Both sides of each check, in their order.
    pub fn checks(&self, witness: &Witness) -> Vec<(K, K)> {
        let (witness, chosen) = (witness.clone(), HashMap::new());
        let filling = Filling::new(self, witness, &[], &chosen);
        let checks = self.rows.operations.iter().enumerate().filter_map(|(i, row)| Some((i, row.check?)));
        checks
            .map(|(i, wire)| {
                let result = Wire { table: Table::Operation, port: 3, row: i as u32 };
                (filling.element(result), filling.element(wire))
            })
            .collect()
    }

    /// The committed columns for free data: in the order of rows, four elements for each free half. After the elements
    /// of a leaf come the siblings on its path, from below, up to the cap or to a node on an earlier path.
    ///
    /// Does not evaluate the checks: the columns of wrong data have a [`Fault`].
    pub fn witness(&self, free: &[Goldilocks]) -> Result<Witness, InputError> {
        self.witness_with(free, &HashMap::new())
    }
    /// The same for a prover that makes its own choices in rows of tuples, instead of those of honest provers or of the
    /// free data. Everything that follows from them is filled accordingly. For attacks.
    pub fn witness_with(&self, free: &[Goldilocks], chosen: &HashMap<u32, Goldilocks>) -> Result<Witness, InputError> {
        let columns = Table::ALL.map(|table| {
            let rows = self.layout.shape(table).map_or(0, |shape| shape.rows());
            vec![Goldilocks::ZERO; rows * self.tables.columns(table)]
        });
        let mut filling = Filling::new(self, Witness { columns }, free, chosen);
        for &(table, row) in &self.order {
            filling.row(table, row as usize);
        }
        filling.climb();
        filling.nodes();
        filling.lookups();
        let Filling { mut witness, taken, .. } = filling;
        for (table, outputs) in [(Table::Permutation, OUTPUTS), (Table::Sponge, WIDTH)] {
            poseidon::fill(&mut witness.columns[table as usize], self.tables.columns(table), outputs);
        }
        points::fill(&self.tables, &mut witness.columns);
        points::count(&self.tables, &mut witness.columns);
        self.count_reads(&mut witness);
        self.count_offers(&mut witness);
        if taken == free.len() { Ok(witness) } else { Err(InputError { given: free.len(), taken }) }
    }
}

impl<K: Extension> Circuit<K> {
    /// Fills the columns that follow from coordinates, squares, slopes and flags in rows of points, as an honest prover
    /// does. For attacks that set those.
    pub fn fill_points(&self, witness: &mut Witness) {
        points::fill(&self.tables, &mut witness.columns);
        self.count_ranges(witness);
    }
    /// Counts the look-ups of offered tuples again; the first of equal offers has all of them. For attacks that set
    /// those.
    pub fn count_offers(&self, witness: &mut Witness) {
        let width = self.tables.columns(Table::Tuple);
        let rows = &mut witness.columns[Table::Tuple as usize];
        let mut uses: HashMap<[Goldilocks; TUPLE], Goldilocks> = HashMap::new();
        let offers = |tuple: &Tuple| tuple.count == Count::Uses;
        let spaces: HashSet<Goldilocks> =
            self.rows.tuples.iter().filter(|tuple| offers(tuple)).map(|tuple| tuple.space).collect();
        let key = |tuple: &Tuple, row: &[Goldilocks]| {
            let mut key = [tuple.space; TUPLE];
            key[1..].copy_from_slice(&row[..tuple::COUNT]);
            key
        };
        let own = |tuple: &&Tuple| spaces.contains(&tuple.space);
        for (tuple, row) in self.rows.tuples.iter().zip(rows.chunks_exact(width)) {
            if own(&tuple) && !offers(tuple) {
                *uses.entry(key(tuple, row)).or_default() += row[tuple::COUNT];
            }
        }
        for (tuple, row) in self.rows.tuples.iter().zip(rows.chunks_exact_mut(width)) {
            if offers(tuple) {
                row[tuple::COUNT] = uses.remove(&key(tuple, row)).unwrap_or_default();
            }
        }
    }
    /// Counts the uses of the numbers below 2^16 again. For attacks that set those.
    pub fn count_ranges(&self, witness: &mut Witness) {
        points::count(&self.tables, &mut witness.columns);
    }
}

impl Witness {
    /// The committed columns of a row.
    pub fn row<K: Extension>(&self, tables: &Tables<K>, table: Table, row: usize) -> &[Goldilocks] {
        let width = tables.columns(table);
        &self.columns[table as usize][row * width..(row + 1) * width]
    }
    /// Writes the stack of committed columns.
    pub(crate) fn write_stack<K: Extension>(&self, tables: &Tables<K>, layout: &Layout, elements: &mut [Goldilocks]) {
        let rows = |table| (&self.columns[table as usize][..], tables.columns(table));
        fill::stack::write_rows(layout.committed(), rows, elements);
    }
    /// The committed columns of a row, for changes.
    pub fn row_mut<K: Extension>(&mut self, tables: &Tables<K>, table: Table, row: usize) -> &mut [Goldilocks] {
        let width = tables.columns(table);
        &mut self.columns[table as usize][row * width..(row + 1) * width]
    }

    /// Checks the constraints of each row and the bus, exactly and one by one; a proof shows them all at once.
    pub fn check<K: Extension>(&self, circuit: &Circuit<K>) -> Result<(), Fault> {
        self.faults(circuit).into_iter().next().map_or(Ok(()), Err)
    }
    /// All faults, row by row, then tuple by tuple.
    pub fn faults<K: Extension>(&self, circuit: &Circuit<K>) -> Vec<Fault> {
        Judge { circuit, witness: self, sound: None }.all()
    }
    /// [`Self::faults`] of a witness that has most rows in common with `sound`, which has no faults: only the rows that
    /// differ are evaluated. For many attacks on one circuit.
    pub fn faults_beside<K: Extension>(&self, circuit: &Circuit<K>, sound: &Self) -> Vec<Fault> {
        Judge { circuit, witness: self, sound: Some(sound) }.all()
    }
}

/// The search for faults in a witness, among the rows that differ from one without faults if there is one.
struct Judge<'a, K> {
    circuit: &'a Circuit<K>,
    witness: &'a Witness,
    sound: Option<&'a Witness>,
}

impl<K: Extension> Judge<'_, K> {
    fn all(&self) -> Vec<Fault> {
        let mut faults = self.constraints();
        faults.extend(self.tuples());
        faults
    }
    /// Calls `f` with the rows to evaluate: table, number, the row, and the row of the witness without faults.
    fn rows<'r>(&'r self, mut f: impl FnMut(Table, usize, &Row<'_, Goldilocks>, Option<&Row<'_, Goldilocks>>)) {
        let circuit = self.circuit;
        for table in Table::ALL {
            let Some(shape) = circuit.layout.shape(table) else { continue };
            let (width, places) = (circuit.tables.columns(table), circuit.layout.starts(table));
            for i in 0..shape.rows() {
                let columns = |witness: &'r Witness| &witness.columns[table as usize][i * width..(i + 1) * width];
                let (own, before) = (columns(self.witness), self.sound.map(columns));
                if before == Some(own) {
                    continue;
                }
                let row = |columns| Row {
                    columns,
                    fixed: circuit.fixed(table, i),
                    number: Goldilocks::new(i as u64),
                    places: &places,
                };
                f(table, i, &row(own), before.map(row).as_ref());
            }
        }
    }
    fn constraints(&self) -> Vec<Fault> {
        let (mut faults, mut values) = (Vec::new(), Vec::new());
        self.rows(|table, i, row, _| {
            values.clear();
            self.circuit.tables.equations(table, &mut Ground, row, &mut values);
            let wrong = values.iter().enumerate().filter(|(_, x)| **x != Goldilocks::ZERO);
            faults.extend(wrong.map(|(constraint, _)| Fault::Constraint { table, row: i, constraint }));
        });
        faults
    }
    fn tuples(&self) -> Vec<Fault> {
        let (mut bus, mut ports) = (Bus::default(), Vec::new());
        self.rows(|table, _, row, before| {
            // The sums of the witness without faults are 0, so what its row added is taken away.
            for (row, sign) in [(Some(row), Goldilocks::ONE), (before, -Goldilocks::ONE)] {
                let Some(row) = row else { continue };
                ports.clear();
                self.circuit.tables.ports(table, &mut Ground, row, &mut ports);
                for Port { multiplicity, tuple, .. } in &ports {
                    if *multiplicity != Goldilocks::ZERO {
                        *bus.entry(tuple.map(|x| x.as_u64())).or_default() += sign * *multiplicity;
                    }
                }
            }
        });
        let public = |tuple: &[u64; TUPLE]| tuple[0] == evergrove_verifier::tables::PUBLIC.as_u64();
        let mut wrong: Vec<_> =
            bus.into_iter().filter(|(tuple, count)| !public(tuple) && *count != Goldilocks::ZERO).collect();
        wrong.sort_unstable();
        wrong.into_iter().map(|(tuple, count)| Fault::Tuple { tuple: tuple.map(Goldilocks::new), count }).collect()
    }
}

/// The sums of the multiplicities of tuples.
type Bus = HashMap<[u64; TUPLE], Goldilocks, BuildHasherDefault<TupleHasher>>;

/// A hash of tuples, a product for each word. For the search for faults alone: a prover, whose tuples others choose,
/// counts with a hash that has a secret key.
#[derive(Clone, Copy, Debug, Default)]
struct TupleHasher(u64);

impl Hasher for TupleHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        words.iter().for_each(|&word| self.write_u64(u64::from_le_bytes(word)));
        rest.iter().for_each(|&byte| self.write_u64(byte.into()));
    }
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product ^ (product >> 64)) as u64;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// A Merkle tree, a level within it and an index.
type Place = (usize, usize, u64);

/// A node row: the halves of its input, and how often they are used.
#[derive(Clone, Copy, Debug)]
struct Node {
    halves: [[Goldilocks; WORD]; 2],
    uses: [u64; 2],
}

/// The hashes that open a node. No wire has these digests, so those of all paths are hashed side by side, when all rows
/// are filled.
#[derive(Debug)]
struct Path {
    /// The rows of a leaf's blocks; empty for a node given by wires.
    blocks: Vec<usize>,
    /// The leaf's tag, or that node.
    start: [Goldilocks; WORD],
    /// The nodes that are on no earlier path: their places, and the side from which this path comes.
    nodes: Vec<(Place, usize)>,
}

/// The root of a tree of wires.
#[derive(Clone, Copy, Debug)]
struct Root {
    /// Its row.
    row: usize,
    height: usize,
    index: u64,
    uses: u64,
}

pub(super) struct Filling<'a, K> {
    pub(super) circuit: &'a Circuit<K>,
    pub(super) witness: Witness,
    free: &'a [Goldilocks],
    chosen: &'a HashMap<u32, Goldilocks>,
    taken: usize,
    /// Node rows by tree, level within the tree and index; those of a cap's level are its nodes.
    nodes: HashMap<Place, Node>,
    /// Roots of trees of wires: row, height, index, uses.
    roots: HashMap<usize, Root>,
    /// The rows so far of the leaf that is being filled.
    parts: Vec<usize>,
    paths: Vec<Path>,
    /// Uses of the lookup table of Keccak's rounds.
    pub(super) lookups: keccak::Counts,
}

impl<'a, K: Extension> Filling<'a, K> {
    fn new(
        circuit: &'a Circuit<K>,
        witness: Witness,
        free: &'a [Goldilocks],
        chosen: &'a HashMap<u32, Goldilocks>,
    ) -> Self {
        Self {
            circuit,
            witness,
            free,
            chosen,
            taken: 0,
            nodes: HashMap::new(),
            roots: HashMap::new(),
            parts: Vec::new(),
            paths: Vec::new(),
            lookups: keccak::Counts::default(),
        }
    }

    /// The next elements of free data, followed by zeros.
    pub(super) fn take<const N: usize>(&mut self) -> [Goldilocks; N] {
        let from = self.free.get(self.taken..).unwrap_or_default();
        self.taken += N;
        core::array::from_fn(|i| from.get(i).copied().unwrap_or(Goldilocks::ZERO))
    }
    pub(super) fn columns(&mut self, table: Table, row: usize) -> &mut [Goldilocks] {
        self.witness.row_mut(&self.circuit.tables, table, row)
    }

    /// The value of a wire whose row is filled.
    pub(super) fn word(&self, wire: Wire) -> [Goldilocks; WORD] {
        let row = self.witness.row(&self.circuit.tables, wire.table, wire.row as usize);
        let element = |from: usize| {
            let mut word = [Goldilocks::ZERO; WORD];
            word[..K::DEGREE].copy_from_slice(&row[from..from + K::DEGREE]);
            word
        };
        match (wire.table, wire.port) {
            (Table::KeccakPlane, port) => self.halves(wire.row as usize, port.into()),
            (Table::Keccak | Table::KeccakLookup | Table::KeccakAbsorb | Table::KeccakGate, _) => {
                unreachable!("no wires")
            }
            (Table::Bytes | Table::Read, port) => stream::word(wire.table, row, port),
            (Table::Constant, _) => self.circuit.rows.constants[wire.row as usize],
            (Table::Operation | Table::Dot | Table::Query, _) => element(row.len() - K::DEGREE),
            (Table::Sponge, port) => {
                let first = sponge::column(port.into());
                core::array::from_fn(|i| row[first + i])
            }
            (Table::Point | Table::Addition | Table::Range, port) => points::word(wire.table, row, port),
            (Table::Tuple, _) => [row[tuple::COUNT], Goldilocks::ZERO, Goldilocks::ZERO, Goldilocks::ZERO],
            (Table::Bits, port) => {
                let width = self.circuit.tables.bits();
                let fixed = self.circuit.fixed(Table::Bits, wire.row as usize);
                let bits = &row[(usize::from(port) - 1) * bits::CHUNK..];
                let index = width.index(fixed, bits);
                [index, Goldilocks::ZERO, Goldilocks::ZERO, Goldilocks::ZERO]
            }
            (Table::Permutation, 5) => core::array::from_fn(|i| row[SBOXES + i]),
            (Table::Permutation, 6) => element(SBOXES),
            (Table::Permutation, 7) => element(SBOXES + K::DEGREE),
            (Table::Permutation, port) => {
                // 1 and 2 are halves, or first elements of halves with 3 and 4 the second ones.
                let field = self.circuit.fixed(Table::Permutation, wire.row as usize)[permutation::FIELD];
                let first = if port.is_multiple_of(2) { WORD } else { 0 };
                match (port, field == Goldilocks::ONE) {
                    (3.., _) => element(first + K::DEGREE),
                    (_, true) => element(first),
                    (_, false) => core::array::from_fn(|i| row[first + i]),
                }
            }
        }
    }
    fn element(&self, wire: Wire) -> K {
        K::from_coefficients(&self.word(wire)[..K::DEGREE]).expect("as many coefficients")
    }

    fn row(&mut self, table: Table, row: usize) {
        let circuit = self.circuit;
        let mut columns = Vec::with_capacity(circuit.tables.columns(table));
        match table {
            Table::Constant | Table::Range => {}
            Table::Point => return self.point(row),
            Table::Addition => return self.addition(row),
            Table::Permutation => return self.permutation(row),
            Table::Tuple => return self.tuple(row),
            Table::Sponge => return self.sponge(row),
            Table::Keccak | Table::KeccakLookup | Table::KeccakAbsorb | Table::KeccakPlane | Table::KeccakGate => {
                return self.keccak(table, row);
            }
            Table::Bytes => return self.bytes(row),
            Table::Read => return self.read(row),
            Table::Operation => {
                let operation = &circuit.rows.operations[row];
                let [a, b, c] = operation.operands.map(|wire| self.element(wire));
                for x in [a, b, c, combine(operation.q, a, b, c)] {
                    columns.extend_from_slice(x.as_ref());
                }
            }
            Table::Dot => {
                let dot = &circuit.rows.dots[row];
                let x = self.word(dot.x);
                columns.extend_from_slice(&x);
                let before = self.element(dot.before);
                let mut sum = before;
                for (x, w) in x.iter().zip(dot.weights) {
                    let w = self.element(w);
                    sum += w * *x;
                    columns.extend_from_slice(w.as_ref());
                }
                columns.extend_from_slice(before.as_ref());
                columns.extend_from_slice(sum.as_ref());
            }
            Table::Query => {
                let query = &circuit.rows.queries[row];
                let index = self.word(query.index)[0].as_u64();
                let r: Vec<K> = query.r.iter().map(|wire| self.element(*wire)).collect();
                fill::query::query(circuit.tables.query(), index, &r, &mut columns);
            }
            Table::Bits => {
                let x = self.word(circuit.rows.bits[row].element)[0].as_u64();
                columns.extend((0..bits::COLUMNS).map(|j| Goldilocks::new(x >> j & 1)));
            }
        }
        self.columns(table, row).copy_from_slice(&columns);
    }

    fn permutation(&mut self, row: usize) {
        let mut state = [Goldilocks::ZERO; WIDTH];
        let &Permutation::Hash { h, halves, field, end } = &self.circuit.rows.permutations[row] else { return };
        for (side, half) in halves.into_iter().enumerate() {
            let word = match half {
                Half::Use(first, second) => {
                    let mut word = self.word(first);
                    if let Some(second) = second.filter(|_| field) {
                        let second = self.word(second);
                        word[K::DEGREE..].copy_from_slice(&second[..K::DEGREE]);
                    }
                    word
                }
                Half::Free => self.take(),
                Half::Node { tree, index } => {
                    let word = self.take();
                    let info = self.circuit.trees[tree];
                    // The row of the cap, as if it were one above the cap.
                    let node = self.nodes.entry((tree, info.depth - info.cap + 1, index as u64 / 2));
                    node.or_insert(Node { halves: [word; 2], uses: [0; 2] }).halves[side] = word;
                    word
                }
            };
            state[side * WORD..][..WORD].copy_from_slice(&word);
        }
        match end {
            // The state and the digest; the columns between them are filled for all rows together.
            End::Nothing | End::Public => {
                state[RATE..].copy_from_slice(&self.word(h));
                let columns = self.columns(Table::Permutation, row);
                columns[..WIDTH].copy_from_slice(&state);
                columns[SBOXES..SBOXES + WORD].copy_from_slice(&digest(state));
            }
            End::Part | End::Leaf { .. } => {
                if self.parts.is_empty() {
                    state[RATE..].copy_from_slice(&self.word(h));
                }
                self.parts.push(row);
                self.columns(Table::Permutation, row)[..WIDTH].copy_from_slice(&state);
            }
        }
        if let End::Leaf { index, tree } = end {
            let index = self.word(index)[0];
            self.columns(Table::Permutation, row)[permutation::INDEX] = index;
            let blocks = core::mem::take(&mut self.parts);
            let start = self.columns(Table::Permutation, blocks[0])[RATE..WIDTH].try_into().expect("a word");
            let nodes = self.open(tree, 0, index.as_u64());
            self.paths.push(Path { blocks, start, nodes });
        }
    }

    /// A choice of the prover: from existing values, or from the free data.
    fn choose(&mut self, row: usize) -> Goldilocks {
        let honest = match self.circuit.choices.get(&(row as u32)) {
            None => self.take::<1>()[0],
            Some(Choice { of, hint }) => {
                let values: Vec<Goldilocks> = of.iter().map(|wire| self.word(*wire)[0]).collect();
                hint(&values)
            }
        };
        self.chosen.get(&(row as u32)).copied().unwrap_or(honest)
    }

    /// The state and the next one; the columns between them are filled for all rows together.
    fn sponge(&mut self, row: usize) {
        let &Sponge { capacity, previous, absorbed } = &self.circuit.rows.sponges[row];
        let mut state = [Goldilocks::ZERO; WIDTH];
        if let Some(previous) = previous {
            state.copy_from_slice(&self.columns(Table::Sponge, previous as usize)[SBOXES..SBOXES + WIDTH]);
        }
        state[permutation::RATE..].copy_from_slice(&self.word(capacity));
        for x in &mut state[..absorbed] {
            [*x] = self.take();
        }
        let columns = self.columns(Table::Sponge, row);
        columns[..WIDTH].copy_from_slice(&state);
        permute(&mut state);
        columns[SBOXES..SBOXES + WIDTH].copy_from_slice(&state);
    }

    fn tuple(&mut self, row: usize) {
        let Tuple { values, count, times, tree, .. } = &self.circuit.rows.tuples[row];
        let [key, level, word] = values.map(|wire| self.word(wire));
        let count = match *count {
            Count::Wire(wire) => self.word(wire)[0],
            Count::Bit | Count::Any => self.choose(row),
            Count::Root | Count::Uses => Goldilocks::ZERO,
        };
        let columns = self.columns(Table::Tuple, row);
        columns[tuple::KEY] = key[0];
        columns[tuple::LEVEL] = level[0];
        columns[tuple::VALUE..][..WORD].copy_from_slice(&word);
        columns[tuple::COUNT] = count;
        let Some(tree) = *tree else { return };
        let height = (level[0] - Goldilocks::new(self.circuit.trees[tree].level)).as_u64() as usize;
        if *times == Goldilocks::ONE {
            self.roots.insert(tree, Root { row, height, index: key[0].as_u64(), uses: 0 });
        } else if count == Goldilocks::ONE {
            let nodes = self.open(tree, height, key[0].as_u64());
            self.paths.push(Path { blocks: Vec::new(), start: word, nodes });
        }
    }

    /// Climbs from a node to the first existing one, or to the cap or the root, and returns the nodes that it has
    /// passed. Their siblings are next in the free data.
    fn open(&mut self, tree: usize, height: usize, mut index: u64) -> Vec<(Place, usize)> {
        let mut nodes = Vec::new();
        // Bounded, in case the node is not below the root.
        for level in (height..HEIGHTS).map(|height| height + 1) {
            if let Some(root) = self.roots.get_mut(&tree)
                && (root.height, root.index) == (level - 1, index)
            {
                root.uses += 1;
                return nodes;
            }
            let side = (index % 2) as usize;
            index /= 2;
            if let Some(node) = self.nodes.get_mut(&(tree, level, index)) {
                node.uses[side] += 1;
                return nodes;
            }
            let mut node = Node { halves: [self.take(); 2], uses: [0; 2] };
            node.uses[side] = 1;
            self.nodes.insert((tree, level, index), node);
            nodes.push(((tree, level, index), side));
        }
        nodes
    }

    /// Hashes leaves and paths.
    fn climb(&mut self) {
        let paths = core::mem::take(&mut self.paths);
        let starts = paths.iter().map(|path| path.start).collect();
        let next = |path: usize, step: usize, head: &[Goldilocks; WORD]| {
            let Path { blocks, nodes, .. } = &paths[path];
            if let Some(&row) = blocks.get(step) {
                let state = &mut self.columns(Table::Permutation, row)[..WIDTH];
                state[RATE..].copy_from_slice(head);
                return Some((*state).try_into().expect("a state"));
            }
            let (place, side) = nodes.get(step - blocks.len())?;
            let node = self.nodes.get_mut(place).expect("a node on a path");
            node.halves[*side] = *head;
            Some(join(node.halves, [Goldilocks::ZERO; WORD]))
        };
        chains(starts, next, poseidon::permute_all);
    }

    /// Fills node rows and the multiplicities of caps.
    fn nodes(&mut self) {
        let circuit = self.circuit;
        let rows = circuit.rows.permutations.iter().enumerate();
        let mut idle = rows.filter(|(_, row)| !matches!(row, Permutation::Hash { .. })).map(|(i, _)| i);
        let mut nodes: Vec<(Place, Node)> = core::mem::take(&mut self.nodes).into_iter().collect();
        nodes.sort_unstable_by_key(|(place, _)| *place);
        let mut caps = HashMap::new();
        for ((tree, level, index), node) in nodes {
            let info = circuit.trees[tree];
            if level > info.depth - info.cap && !self.roots.contains_key(&tree) {
                caps.insert((tree, index), node.uses);
                continue;
            }
            // A tree of wires may have more nodes than there is room for: the missing ones are a fault.
            let Some(row) = idle.next() else { break };
            let columns = self.columns(Table::Permutation, row);
            columns[..WIDTH].copy_from_slice(&join(node.halves, [Goldilocks::ZERO; WORD]));
            columns[permutation::INDEX] = Goldilocks::new(index);
            columns[permutation::LEVEL] = Goldilocks::new(info.level + level as u64 - 1);
            columns[permutation::ACTIVE] = Goldilocks::ONE;
            columns[permutation::LEFT] = Goldilocks::new(node.uses[0]);
            columns[permutation::RIGHT] = Goldilocks::new(node.uses[1]);
        }
        for Root { row, uses, .. } in core::mem::take(&mut self.roots).into_values() {
            self.columns(Table::Tuple, row)[tuple::COUNT] = Goldilocks::new(uses);
        }
        for (row, permutation) in circuit.rows.permutations.iter().enumerate() {
            if let &Permutation::Hash { halves: [Half::Node { tree, index }, _], .. } = permutation {
                let uses = caps.get(&(tree, index as u64 / 2)).copied().unwrap_or_default();
                let columns = self.columns(Table::Permutation, row);
                columns[permutation::LEFT] = Goldilocks::new(uses[0]);
                columns[permutation::RIGHT] = Goldilocks::new(uses[1]);
            }
        }
    }
}
