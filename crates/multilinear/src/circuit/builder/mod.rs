//! Making rows: arithmetic, tuples and bits, and the circuit of all rows. Rows of hashes are in [`hashing`].

mod hashing;

use core::ops::Range;
use std::collections::HashMap;
use std::panic::Location;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use super::arithmetic::Line;
use super::demands::{Asked, Demand, Demands};
use super::fixed::Fixed;
use super::wires::{Base, Bits, Bool, Element, Index, Offers, Set, Wire, Word};
use super::{
    BitsRow, Choice, Circuit, Count, Dot, Hint, Operation, Permutation, Query, Rows, Sponge, Tuple, keccak, stream,
};
use evergrove_verifier::argument::Parameters;
use evergrove_verifier::tables::{
    BLOCK, Layout, NODE, SET, Table, Tables, WORD, bits, dot, keccak_lookup, operation, query, range, tuple,
};

pub use hashing::Half;

/// A Merkle tree whose cap a circuit knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The level of its leaves: levels of different trees lie 2^20 apart.
    pub(super) level: u64,
    /// log2 of its leaves.
    pub(super) depth: usize,
    /// log2 of the nodes of its cap.
    pub(super) cap: usize,
}

/// Namespaces of tuples that are looked up come after this one.
const OFFERS: u64 = 1 << 8;
/// Levels of different trees are this far apart.
const LEVELS: u64 = 1 << 20;
/// The greatest height of a tree of wires.
pub(super) const HEIGHTS: usize = 64;

/// Makes the rows of a circuit. See [`circuit`](super).
#[derive(Clone, Debug)]
pub struct Builder<K> {
    tables: Tables<K>,
    pub(super) rows: Rows,
    order: Vec<(Table, u32)>,
    trees: Vec<Tree>,
    sets: u64,
    offers: u64,
    choices: HashMap<u32, Choice>,
    constants: HashMap<[Goldilocks; WORD], Wire>,
    public: bool,
    verifies: Option<Parameters<K>>,
    demands: Demands,
    /// The line of the demands, if it is not that of the caller.
    line: Option<Line>,
}

impl<K: Extension> Builder<K> {
    /// A builder with only the constants 0 and 1.
    pub fn new(tables: Tables<K>) -> Self {
        let mut this = Self {
            tables,
            rows: Rows::default(),
            order: Vec::new(),
            trees: Vec::new(),
            sets: 0,
            offers: 0,
            choices: HashMap::new(),
            constants: HashMap::new(),
            public: false,
            verifies: None,
            demands: Demands::new(),
            line: None,
        };
        let _ = (this.zero(), this.one());
        this
    }
    /// The parameters of the tables.
    pub fn tables(&self) -> &Tables<K> {
        &self.tables
    }
    /// Rows so far.
    pub fn rows(&self, table: Table) -> usize {
        self.rows.len(table)
    }

    /// Records that the circuit verifies proofs of these parameters.
    ///
    /// # Panics
    /// If it verifies proofs of others.
    pub(crate) fn verifies(&mut self, parameters: &Parameters<K>) {
        let known = self.verifies.get_or_insert_with(|| parameters.clone());
        assert!(known == parameters, "proofs of one key");
    }
    /// Blocks of each table so far.
    pub fn blocks(&self) -> [usize; Table::ALL.len()] {
        self.rows.blocks()
    }

    /// A constant word.
    pub fn word(&mut self, word: [Goldilocks; WORD]) -> Word {
        Word(self.constant_wire(word))
    }
    /// A constant element of K.
    pub fn element(&mut self, x: K) -> Element {
        let mut word = [Goldilocks::ZERO; WORD];
        word[..K::DEGREE].copy_from_slice(x.as_ref());
        Element(self.constant_wire(word))
    }
    /// 0.
    pub fn zero(&mut self) -> Base {
        Base(self.constant_wire([Goldilocks::ZERO; WORD]))
    }
    /// 1.
    pub fn one(&mut self) -> Base {
        self.constant(Goldilocks::ONE)
    }
    /// A constant of F.
    pub fn constant(&mut self, x: Goldilocks) -> Base {
        Base(self.constant_wire([x, Goldilocks::ZERO, Goldilocks::ZERO, Goldilocks::ZERO]))
    }

    /// The tree below a node given by wires: its digest, its height above the leaves and its number among the nodes of
    /// that height.
    ///
    /// The height must be below 64, and at every height there must be fewer than p nodes below the root.
    pub fn tree(&mut self, root: Word, height: Base, index: Base) -> usize {
        let tree = self.new_tree(0, 0);
        self.tuple_of(tree, root, height, index, Goldilocks::ONE, Count::Root);
        tree
    }
    /// Demands, if `active`, that a digest is the node of this height and number in a tree of [`Builder::tree`].
    /// Without `active` the prover chooses this bit, which is returned. The height must be below 64 here, too.
    #[track_caller]
    pub fn node(&mut self, tree: usize, node: Word, height: Base, index: Base, active: Option<Bool>) -> Bool {
        self.tuple_of(tree, node, height, index, -Goldilocks::ONE, active.into())
    }
    /// Makes room for this many nodes on the paths of [`Builder::node`]: a node on several paths counts once.
    pub fn paths(&mut self, nodes: usize) {
        self.rows.permutations.extend((0..nodes).map(|_| Permutation::Node));
    }
    fn new_tree(&mut self, depth: usize, cap: usize) -> usize {
        let tree = self.trees.len();
        self.trees.push(Tree { level: (tree as u64 + 1) * LEVELS, depth, cap });
        tree
    }
    #[track_caller]
    fn tuple_of(
        &mut self,
        tree: usize,
        node: Word,
        height: Base,
        index: Base,
        times: Goldilocks,
        count: Count,
    ) -> Bool {
        let (one, first) = (self.one(), Goldilocks::new(self.trees[tree].level));
        let level = self.combine_base([Goldilocks::ZERO, Goldilocks::ONE, first], height, one, one);
        self.tuple(Tuple { space: NODE, values: [index.0, level.0, node.0], count, times, tree: Some(tree) })
    }

    /// A multiset of words, empty so far: each word that is given to it must be taken from it equally often.
    pub fn set(&mut self) -> Set {
        self.sets += 1;
        Set(self.constant(Goldilocks::new(self.sets)).0)
    }
    /// Gives a word to a set if the bit is 1. Without a bit the prover chooses one, which is returned.
    #[track_caller]
    pub fn give(&mut self, set: Set, word: Word, bit: Option<Bool>) -> Bool {
        let place = self.zero();
        self.element_of(set, place, word, Goldilocks::ONE, bit)
    }
    /// Takes a word from a set if the bit is 1, as [`Builder::give`].
    #[track_caller]
    pub fn take(&mut self, set: Set, word: Word, bit: Option<Bool>) -> Bool {
        let place = self.zero();
        self.element_of(set, place, word, -Goldilocks::ONE, bit)
    }
    /// Gives a word to a place of a set if the bit is 1. Each place is a separate multiset; the other functions use
    /// place 0.
    #[track_caller]
    pub fn give_at(&mut self, set: Set, place: Base, word: Word, bit: Bool) {
        self.element_of(set, place, word, Goldilocks::ONE, Some(bit));
    }
    /// Takes a word from a place of a set if the bit is 1.
    #[track_caller]
    pub fn take_at(&mut self, set: Set, place: Base, word: Word, bit: Bool) {
        self.element_of(set, place, word, -Goldilocks::ONE, Some(bit));
    }
    #[track_caller]
    fn element_of(&mut self, set: Set, place: Base, word: Word, times: Goldilocks, bit: Option<Bool>) -> Bool {
        self.tuple(Tuple { space: SET, values: [set.0, place.0, word.0], count: bit.into(), times, tree: None })
    }
    /// A namespace of tuples that are looked up.
    pub fn offers(&mut self) -> Offers {
        self.offers += 1;
        Offers(Goldilocks::new(OFFERS + self.offers))
    }
    /// Offers a tuple, as often as it is looked up.
    pub fn offer(&mut self, offers: Offers, key: Base, level: Base, word: Word) {
        let values = [key.0, level.0, word.0];
        self.tuple(Tuple { space: offers.0, values, count: Count::Uses, times: Goldilocks::ONE, tree: None });
    }
    /// Demands, if the bit is 1, that a tuple is offered.
    #[track_caller]
    pub fn look_up(&mut self, offers: Offers, key: Base, level: Base, word: Word, bit: Bool) {
        let (values, count) = ([key.0, level.0, word.0], Count::Wire(bit.0));
        self.tuple(Tuple { space: offers.0, values, count, times: -Goldilocks::ONE, tree: None });
    }

    /// A bit that the prover chooses.
    #[track_caller]
    pub fn bit(&mut self) -> Bool {
        self.choice(Count::Bit)
    }
    /// The same, where an honest prover uses `hint` of these elements, and no free data.
    #[track_caller]
    pub fn bit_of(&mut self, of: &[Base], hint: Hint) -> Bool {
        let bit = self.bit();
        self.hinted(bit.0, of, hint);
        bit
    }
    /// An element of F that the prover chooses.
    pub fn any(&mut self) -> Base {
        Base(self.choice(Count::Any).0)
    }
    /// The same, where an honest prover uses `hint` of these elements, and no free data.
    pub fn any_of(&mut self, of: &[Base], hint: Hint) -> Base {
        let any = self.any();
        self.hinted(any.0, of, hint);
        any
    }
    #[track_caller]
    fn choice(&mut self, count: Count) -> Bool {
        let zero = self.zero().0;
        self.tuple(Tuple { space: SET, values: [zero; 3], count, times: Goldilocks::ZERO, tree: None })
    }
    fn hinted(&mut self, choice: Wire, of: &[Base], hint: Hint) {
        self.choices.insert(choice.row, Choice { of: of.iter().map(|x| x.0).collect(), hint });
    }

    /// q0 a b + q1 a + q2 c.
    pub fn combine(&mut self, q: [Goldilocks; 3], a: Element, b: Element, c: Element) -> Element {
        Element(self.operation(q, [a, b, c].map(|x| x.0), None))
    }
    /// q0 a b + q1 a + q2 c in F.
    pub fn combine_base(&mut self, q: [Goldilocks; 3], a: Base, b: Base, c: Base) -> Base {
        Base(self.operation(q, [a, b, c].map(|x| x.0), None))
    }
    /// Demands q0 a b + q1 a + q2 c = d.
    #[track_caller]
    pub fn check(&mut self, q: [Goldilocks; 3], a: Element, b: Element, c: Element, d: Element) {
        self.operation(q, [a, b, c].map(|x| x.0), Some(d.0));
    }
    /// Demands a = b.
    #[track_caller]
    pub fn equal(&mut self, a: Base, b: Base) {
        let a = a.into();
        self.check([Goldilocks::ZERO, Goldilocks::ONE, Goldilocks::ZERO], a, a, a, b.into());
    }
    /// The element as a bit: demands that it is 0 or 1.
    #[track_caller]
    pub fn boolean(&mut self, x: Base) -> Bool {
        let zero = self.zero().into();
        self.check([Goldilocks::ONE, -Goldilocks::ONE, Goldilocks::ZERO], x.into(), x.into(), zero, zero);
        Bool(x.0)
    }

    /// The sum of x_i w_i, for the elements x of words; `before` is added.
    ///
    /// # Panics
    /// Unless there are four weights for each word.
    pub fn dot(&mut self, before: Element, words: &[Word], weights: &[Element]) -> Element {
        assert_eq!(weights.len(), WORD * words.len(), "four weights for each word");
        let mut sum = before.0;
        for (word, weights) in words.iter().zip(weights.chunks_exact(WORD)) {
            let weights = core::array::from_fn(|i| weights[i].0);
            self.rows.dots.push(Dot { x: word.0, weights, before: sum });
            sum = self.done(Table::Dot, dot::PORTS - 1);
        }
        Element(sum)
    }
    /// The sum of a word's elements times constants.
    pub fn weighed(&mut self, word: Word, weights: [Goldilocks; WORD]) -> Base {
        let zero = self.zero().into();
        let weights = weights.map(|weight| self.constant(weight).into());
        Base(self.dot(zero, &[word], &weights).0)
    }
    /// The sum of x_i w_i, for the elements x of words and weights in F.
    ///
    /// # Panics
    /// Unless there are four weights for each word.
    pub fn dot_base(&mut self, words: &[Word], weights: &[Base]) -> Base {
        let zero = self.zero().into();
        let weights: Vec<Element> = weights.iter().map(|&weight| weight.into()).collect();
        Base(self.dot(zero, words, &weights).0)
    }
    /// Element `i` of a word.
    ///
    /// # Panics
    /// If the word has no such element.
    pub fn limb(&mut self, word: Word, i: usize) -> Base {
        assert!(i < WORD, "a word has {WORD} elements");
        let (zero, one) = (self.zero().into(), self.one().into());
        let mut weights = [zero; WORD];
        weights[i] = one;
        Base(self.dot(zero, &[word], &weights).0)
    }

    /// Demands that elements of a word are 0.
    ///
    /// # Panics
    /// If the word has fewer.
    #[track_caller]
    pub fn no_limbs(&mut self, word: Word, limbs: Range<usize>) {
        let (zero, limbs): (Element, Vec<_>) = (self.zero().into(), limbs.map(|limb| (word, limb)).collect());
        for part in limbs.chunks(K::DEGREE) {
            let sum = self.packed(part);
            self.check([Goldilocks::ZERO, Goldilocks::ONE, Goldilocks::ZERO], sum, zero, zero, zero);
        }
    }
    /// Demands that two words have the same limbs here.
    #[track_caller]
    pub(super) fn same_limbs(&mut self, word: Word, other: Word, limbs: Range<usize>) {
        let [left, right] = [word, other].map(|word| limbs.clone().map(|limb| (word, limb)).collect::<Vec<_>>());
        let zero = self.zero().into();
        for (left, right) in left.chunks(K::DEGREE).zip(right.chunks(K::DEGREE)) {
            let [left, right] = [left, right].map(|limbs| self.packed(limbs));
            self.check([Goldilocks::ZERO, Goldilocks::ONE, Goldilocks::ZERO], left, zero, zero, right);
        }
    }
    /// Demands, if the bit is 1, that limbs of words equal others.
    ///
    /// # Panics
    /// Unless both have equally many limbs, at most four in a word.
    #[track_caller]
    pub fn equal_limbs(&mut self, bit: Bool, left: &[(Word, usize)], right: &[(Word, usize)]) {
        assert_eq!(left.len(), right.len(), "as many limbs");
        let zero = self.zero().into();
        for (left, right) in left.chunks(K::DEGREE).zip(right.chunks(K::DEGREE)) {
            let [left, right] = [left, right].map(|limbs| self.packed(limbs));
            let difference = self.combine([Goldilocks::ZERO, Goldilocks::ONE, -Goldilocks::ONE], left, zero, right);
            let bit = Base::from(bit).into();
            self.check([Goldilocks::ONE, Goldilocks::ZERO, Goldilocks::ZERO], difference, bit, zero, zero);
        }
    }
    /// At most as many limbs as K has coefficients, as an element of K: since limbs are elements of F, it determines
    /// each of them.
    fn packed(&mut self, limbs: &[(Word, usize)]) -> Element {
        let zero: Element = self.zero().into();
        let mut sum = zero;
        let mut rest = limbs.iter().enumerate().peekable();
        while let Some((i, &(word, limb))) = rest.next() {
            let mut weights = [zero; WORD];
            weights[limb] = self.unit(i);
            let mut taken = vec![limb];
            // A repeated limb has two weights, hence two rows.
            while let Some((i, &(_, limb))) = rest.next_if(|(_, (other, limb))| *other == word && !taken.contains(limb))
            {
                weights[limb] = self.unit(i);
                taken.push(limb);
            }
            sum = self.dot(sum, &[word], &weights);
        }
        sum
    }
    /// X^i.
    fn unit(&mut self, i: usize) -> Element {
        let mut unit = vec![Goldilocks::ZERO; K::DEGREE];
        unit[i] = Goldilocks::ONE;
        self.element(K::from_coefficients(&unit).expect("as many coefficients"))
    }

    /// Three numbers of `width` bits each from an element. **For challenges only**: an element below 2^32 - 1 has a
    /// second split.
    ///
    /// # Panics
    /// Unless the tables have rows for this width.
    pub fn indices(&mut self, element: Base, width: usize) -> [Index; bits::INDICES] {
        let mode = self.tables.bits().width_mode(width);
        let wire = self.bits(vec![mode.expect("a width of the tables")], element);
        [1, 2, 3].map(|port| Index { wire: Wire { port, ..wire }, width })
    }
    /// Three numbers below 2^`width` that the prover chooses. An honest prover uses the bits of `hint` from 0, 21 and
    /// 42 on, and no free data. An element may have a second split; this does not matter, since any three numbers are
    /// allowed.
    ///
    /// # Panics
    /// Unless the tables have rows for this width.
    pub fn numbers_of(&mut self, width: usize, of: &[Base], hint: Hint) -> [Base; bits::INDICES] {
        let all = self.any_of(of, hint);
        self.indices(all, width).map(|index| Base(index.wire))
    }
    /// Demands that bits of the element are 0. Exact for bits from N to 64, N at most 63, since the split is then
    /// unique; other bits are **for challenges only**, as for [`Builder::indices`].
    ///
    /// # Panics
    /// Unless the tables have rows for these bits.
    #[track_caller]
    pub fn zeros(&mut self, element: Base, bits: Range<usize>) {
        let mode = self.tables.bits().zeros_mode(&bits);
        let own = self.bits(vec![mode.expect("a range of the tables")], element);
        self.demand(own, Asked::Zeros);
    }
    /// The element as a number below 2^N, which it demands.
    ///
    /// # Panics
    /// Unless N is at most 63 and the tables have rows for zeros from N to 64.
    #[track_caller]
    pub fn range<const N: usize>(&mut self, element: Base) -> Bits<N> {
        const { assert!(N < bits::COLUMNS, "a split into 64 bits is not unique") };
        self.zeros(element, N..bits::COLUMNS);
        Bits(element.0)
    }
    /// Demands an element below 2^63, and returns its limbs of 21 bits, lowest first.
    ///
    /// # Panics
    /// Unless the tables have rows for indices of 21 bits and for zeros from 63 to 64.
    #[track_caller]
    pub fn limbs(&mut self, element: Base) -> [Base; bits::INDICES] {
        let modes = self.tables.bits();
        let top = bits::INDICES * bits::CHUNK..bits::COLUMNS;
        let [indices, zeros] = [modes.width_mode(bits::CHUNK), modes.zeros_mode(&top)];
        // With its highest bit zero the split is unique.
        let modes = vec![indices.expect("a width of the tables"), zeros.expect("a range of the tables")];
        let wire = self.bits(modes, element);
        self.demand(wire, Asked::Zeros);
        [1, 2, 3].map(|port| Base(Wire { port, ..wire }))
    }

    /// The weight of a query at point r: see [`query`](evergrove_verifier::tables::query).
    ///
    /// # Panics
    /// If r has more coordinates than the table, or the index more bits.
    pub fn query(&mut self, index: Index, r: &[Element]) -> Element {
        let query::Parameters { bits, variables } = *self.tables.query();
        assert!(index.width <= bits, "an index of {} bits: the table has {bits}", index.width);
        assert!(r.len() <= variables, "{} coordinates: the table has {variables}", r.len());
        let zero = self.zero().0;
        let mut r: Vec<Wire> = r.iter().map(|x| x.0).collect();
        r.resize(variables, zero);
        self.rows.queries.push(Query { index: index.wire, r });
        Element(self.done(Table::Query, variables + 1))
    }

    pub(super) fn constant_wire(&mut self, word: [Goldilocks; WORD]) -> Wire {
        if let Some(wire) = self.constants.get(&word) {
            return *wire;
        }
        self.rows.constants.push(word);
        let wire = Wire { table: Table::Constant, port: 0, row: self.rows.constants.len() as u32 - 1 };
        self.constants.insert(word, wire);
        wire
    }
    /// The wire of a port of the last row of a table.
    pub(super) fn done(&mut self, table: Table, port: usize) -> Wire {
        let row = self.rows.len(table) as u32 - 1;
        self.order.push((table, row));
        Wire { table, port: port as u8, row }
    }
    #[track_caller]
    fn operation(&mut self, q: [Goldilocks; 3], operands: [Wire; 3], check: Option<Wire>) -> Wire {
        self.rows.operations.push(Operation { q, operands, check });
        let own = self.done(Table::Operation, operation::PORTS - 1);
        if check.is_some() {
            self.demand(own, Asked::Equation);
        }
        own
    }
    #[track_caller]
    fn tuple(&mut self, row: Tuple) -> Bool {
        let bit = match row.count {
            Count::Wire(wire) => Some(wire),
            Count::Bit | Count::Any | Count::Root | Count::Uses => None,
        };
        let asks = row.asks();
        self.rows.tuples.push(row);
        let own = self.done(Table::Tuple, tuple::PORTS - 2);
        for asked in asks.into_iter().flatten() {
            self.demand(own, asked);
        }
        Bool(bit.unwrap_or(own))
    }
    /// Records that the row of a wire is a demand of the line that called.
    #[track_caller]
    fn demand(&mut self, own: Wire, asked: Asked) {
        let line = self.line.unwrap_or(Location::caller());
        self.demands.push((own.table, own.row, Demand { line, asked }));
    }
    /// Makes rows whose demands are those of this line.
    pub(super) fn at<T>(&mut self, line: Line, rows: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.line.replace(line);
        let made = rows(self);
        self.line = before;
        made
    }
    fn bits(&mut self, modes: Vec<usize>, element: Base) -> Wire {
        self.rows.bits.push(BitsRow { modes, element: element.0 });
        self.done(Table::Bits, 0)
    }

    /// The circuit: blocks are filled up, and wires get their numbers.
    ///
    /// # Panics
    /// If there are 2^20 - 64 permutations or more.
    pub fn finish(self) -> Circuit<K> {
        let blocks = self.rows.blocks();
        self.finish_in(blocks)
    }
    /// The circuit with these numbers of blocks for the tables, so that circuits have one layout.
    ///
    /// # Panics
    /// If there are more rows, or 2^20 - 64 permutations or more.
    pub fn finish_in(mut self, blocks: [usize; Table::ALL.len()]) -> Circuit<K> {
        let fits = self.rows.blocks().iter().zip(blocks).all(|(&needed, blocks)| needed <= blocks);
        assert!(fits, "blocks {:?}: {:?} are needed", blocks, self.rows.blocks());
        let used = Table::ALL.map(|table| self.rows.len(table));
        // A chain of nodes starts at a level below HEIGHTS and rises one level with each permutation, so it stays below the next tree's levels.
        let highest = (used[0] + HEIGHTS) as u64;
        assert!(highest < LEVELS, "{} permutations: levels of different trees lie {LEVELS} apart", used[0]);
        let zero = self.zero();
        let demands = self.demands.len();
        let missing = |table: Table| blocks[table as usize] * BLOCK - used[table as usize];
        self.rows.permutations.extend((0..missing(Table::Permutation)).map(|_| Permutation::Idle));
        for _ in 0..missing(Table::Operation) {
            self.operation([Goldilocks::ZERO; 3], [zero.0; 3], None);
        }
        for _ in 0..missing(Table::Dot) {
            self.limb(Word(zero.0), 0);
        }
        for _ in 0..missing(Table::Query) {
            self.query(Index { wire: zero.0, width: 0 }, &[]);
        }
        for _ in 0..missing(Table::Bits) {
            self.bits(Vec::new(), zero);
        }
        for _ in 0..missing(Table::Tuple) {
            self.give(Set(zero.0), Word(zero.0), Some(Bool(zero.0)));
        }
        for _ in 0..missing(Table::Sponge) {
            self.rows.sponges.push(Sponge { capacity: zero.0, previous: None, absorbed: 0 });
            self.done(Table::Sponge, 0);
        }
        let points = blocks[Table::Point as usize] + blocks[Table::Addition as usize] > 0;
        let numbers = if points { range::ROWS / BLOCK } else { 0 };
        assert_eq!(blocks[Table::Range as usize], numbers, "blocks of the numbers below 2^16");
        for _ in 0..missing(Table::Point) {
            self.no_point();
        }
        for _ in 0..missing(Table::Addition) {
            self.no_addition();
        }
        let content = if blocks[Table::Keccak as usize] > 0 { keccak_lookup::ROWS.div_ceil(BLOCK) } else { 0 };
        assert_eq!(blocks[Table::KeccakLookup as usize], content, "blocks of what Keccak looks up");
        keccak::pad(&mut self, missing);
        stream::pad(&mut self, missing);
        for _ in 0..missing(Table::Constant) {
            self.rows.constants.push([Goldilocks::ZERO; WORD]);
        }
        // Rows that fill blocks demand nothing.
        self.demands.truncate(demands);
        let layout = Layout::new(&self.tables, self.rows.blocks());
        let fixed = Fixed::new(&self.tables, &layout, &self.rows, &self.trees).columns;
        Circuit {
            tables: self.tables,
            layout,
            rows: self.rows,
            fixed,
            order: self.order,
            trees: self.trees,
            choices: self.choices,
            used,
            public: self.public,
            verifies: self.verifies,
            demands: self.demands,
        }
    }
}

impl From<Option<Bool>> for Count {
    fn from(bit: Option<Bool>) -> Self {
        bit.map_or(Self::Bit, |bit| Self::Wire(bit.0))
    }
}
