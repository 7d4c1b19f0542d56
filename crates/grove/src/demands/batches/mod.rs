//! The demands of the circuits of batches, in trees of height 8 with buckets of 4 leaves.
//!
//! The strongest lies state something false: the test decides it from the digests that it knows. A digest says nothing
//! true unless it is known what it is a hash of.

mod argued;
mod block;
mod bucket;
mod merge;

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use evergrove_multilinear::circuit::{Circuit, Witness as Columns};
use evergrove_multilinear::poseidon;
use evergrove_multilinear::recursion::{self, claim_data};
use evergrove_primitives::field::{Field, Quadratic};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_testkit::demands::{Choices, Lie, Report, Subject};
use evergrove_verifier::argument::{Parameters, UNIQUE_100};
use evergrove_verifier::key::Public;
use evergrove_verifier::poseidon::{OUTPUTS, digest};
use evergrove_verifier::tables::{Table, WORD, permutation, tuple};
use evergrove_verifier::tree::{LEAF_TAG, Value, leaf_digest, node_digest, null_digests, root_of_path};
use evergrove_verifier::{HeightClass, Profile, Statement};

use crate::circuit::{CircuitSet, NODE_TAG, Size};
use crate::shape;

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;

const SIZE: Size = Size { height_max: 8, capacity: 4 };
/// The positions of the leaves. All other subtrees beside the paths to 69 and 100 are empty.
const FILLED: [u64; 3] = [69, 100, 102];
/// The level of the leaves of the only tree of a circuit.
const FIRST_LEVEL: u64 = 1 << 20;

pub(super) fn value(position: u64) -> Value {
    core::array::from_fn(|i| Goldilocks::new(1000 * position + i as u64))
}

/// The elements of a leaf: position, value, then three zeros.
fn leaf(position: u64) -> [Goldilocks; 8] {
    let [a, b, c, d] = value(position);
    [Goldilocks::new(position), a, b, c, d, ZERO, ZERO, ZERO]
}

/// The digest of a leaf, whatever its elements are.
pub(super) fn chained(leaf: &[Goldilocks; 8]) -> Digest {
    let mut state = [ZERO; 12];
    state[..8].copy_from_slice(leaf);
    state[8] = LEAF_TAG;
    Digest(digest(state))
}

/// The digests of a tree, from its leaves up.
struct Tree {
    levels: Vec<Vec<Digest>>,
}

/// The tree of all lies that do not make another one.
static TREE: LazyLock<Tree> = LazyLock::new(|| Tree::new(&FILLED));

impl Tree {
    /// The tree with leaves at these positions.
    fn new(filled: &[u64]) -> Self {
        let null = null_digests(0)[0];
        let digest = |i: u64| if filled.contains(&i) { leaf_digest(i, &value(i)) } else { null };
        let mut levels: Vec<Vec<Digest>> = vec![(0..1 << SIZE.height_max).map(digest).collect()];
        for height in 0..usize::from(SIZE.height_max) {
            levels.push(levels[height].chunks_exact(2).map(|pair| node_digest(&pair[0], &pair[1])).collect());
        }
        Self { levels }
    }
    fn node(&self, height: u8, number: u64) -> Digest {
        self.levels[usize::from(height)][number as usize]
    }
    /// The siblings on the path from a node up to this height.
    fn siblings(&self, height: u8, number: u64, top: u8) -> Vec<Digest> {
        (height..top).map(|level| self.node(level, (number >> (level - height)) ^ 1)).collect()
    }
}

/// What a digest is a hash of.
enum Preimage {
    Node([Digest; 2]),
    /// A position, and a value.
    Leaf(u64, Value),
}

/// Digests of which it is known what they are hashes of.
pub(super) struct Known(HashMap<[Goldilocks; WORD], Preimage>);

impl Known {
    /// Those of the tree, and those in rows of permutations.
    pub(super) fn new(subject: &Subject, columns: &Columns) -> Self {
        let mut all = HashMap::new();
        for (height, level) in TREE.levels.iter().enumerate().skip(1) {
            for (i, node) in level.iter().enumerate() {
                all.insert(node.0, Preimage::Node([2 * i, 2 * i + 1].map(|child| TREE.levels[height - 1][child])));
            }
        }
        all.extend(FILLED.map(|i| (leaf_digest(i, &value(i)).0, Preimage::Leaf(i, value(i)))));
        for row in 0..subject.circuit.rows(Table::Permutation) {
            let row = columns.row(subject.circuit.tables(), Table::Permutation, row);
            let state: [Goldilocks; 12] = row[..12].try_into().unwrap();
            let word = |from: usize| Digest(state[from..from + WORD].try_into().unwrap());
            if state[8..] == [NODE_TAG, ZERO, ZERO, ZERO] {
                all.insert(digest(state), Preimage::Node([word(0), word(WORD)]));
            } else if state[8..] == [LEAF_TAG, ZERO, ZERO, ZERO] && state[5..8] == [ZERO; 3] {
                all.insert(digest(state), Preimage::Leaf(state[0].as_u64(), state[1..5].try_into().unwrap()));
            }
        }
        Self(all)
    }
    fn children(&self, node: &Digest) -> Option<[Digest; 2]> {
        if let Some(Preimage::Node(children)) = self.0.get(&node.0) { Some(*children) } else { None }
    }
    /// The digest of a node below the one that a statement is about.
    fn at(&self, statement: &Statement, height: u8, number: u64) -> Option<Digest> {
        let levels = statement.height.checked_sub(height)?;
        if number >> levels != statement.base >> statement.height {
            return None;
        }
        (0..levels).rev().try_fold(statement.root, |node, level| {
            self.children(&node).map(|children| children[(number >> level & 1) as usize])
        })
    }
    /// The digests of the leaves from which the hashes of d are made, with their positions.
    fn leaves_of(&self, d: &Digest) -> Option<Vec<(u64, Digest)>> {
        match self.0.get(&d.0)? {
            Preimage::Leaf(position, _) => Some(vec![(*position, *d)]),
            Preimage::Node(children) => {
                let [left, right] = children.each_ref().map(|child| self.leaves_of(child));
                Some([left?, right?].concat())
            }
        }
    }
    /// All leaves below the node with this digest, height and number.
    pub(super) fn leaves_below(&self, node: &Digest, height: u8, number: u64) -> Option<Vec<(u64, Value)>> {
        if *node == null_digests(height)[usize::from(height)] {
            return Some(Vec::new());
        }
        match self.0.get(&node.0)? {
            Preimage::Leaf(position, value) => (height == 0 && *position == number).then(|| vec![(*position, *value)]),
            Preimage::Node(children) => {
                let below = height.checked_sub(1)?;
                let [left, right] = [0, 1].map(|i| self.leaves_below(&children[i], below, 2 * number + i as u64));
                Some([left?, right?].concat())
            }
        }
    }
}

/// The statement in these words, if there is such a node.
fn statement(words: &[[Goldilocks; WORD]]) -> Option<Statement> {
    let [height, base] = [2, 3].map(|i| words[i][0].as_u64());
    if height > SIZE.height_max.into() || base % (1 << height) != 0 || base >= 1 << SIZE.height_max {
        return None;
    }
    Some(Statement { root: Digest(words[0]), canonical: Digest(words[1]), height: height as u8, base })
}

/// Words of a statement.
const WORDS: usize = 4;

/// The words that a circuit publishes behind the digest of its key and two counts.
pub(super) fn published(subject: &Subject, columns: &Columns, words: usize) -> Vec<[Goldilocks; WORD]> {
    let end = subject.circuit.rows(Table::Permutation);
    let rows = end - (2 + words).div_ceil(2)..end;
    let halves = rows.flat_map(|row| {
        let row = columns.row(subject.circuit.tables(), Table::Permutation, row);
        [0, WORD].map(|at| row[at..at + WORD].try_into().unwrap())
    });
    halves.skip(2).take(words).collect()
}

/// Flags that are 1 below a height.
fn flags<const LEVELS: usize>(height: usize) -> [Goldilocks; LEVELS] {
    core::array::from_fn(|level| if level < height { ONE } else { ZERO })
}

pub(super) fn parameters(circuit_set: &CircuitSet<'_>) -> Parameters<Quadratic> {
    let shape = shape(Profile::Grove100, HeightClass::H27).unwrap();
    recursion::parameters(&UNIQUE_100, &circuit_set.modes(), shape.blocks, shape.variables)
}

/// The free data of the claim that a circuit without children passes on.
pub(super) fn claim(parameters: &Parameters<Quadratic>) -> Vec<Goldilocks> {
    let point = vec![Quadratic::ONE; parameters.layout().fixed().variables() + 1];
    claim_data(&Public { information: Vec::new(), point, value: Quadratic::ZERO })
}

/// Appends to free data the siblings on the path from a node of the tree up to this height, as far as no earlier path
/// has them.
fn climb(free: &mut Vec<Goldilocks>, known: &mut BTreeSet<(u8, u64)>, (height, mut number): (u8, u64), top: u8) {
    for level in height..top {
        let sibling = TREE.node(level, number ^ 1);
        number /= 2;
        if !known.insert((level, number)) {
            return;
        }
        free.extend(sibling.0);
    }
}

/// The rows of nodes on paths.
fn nodes(circuit: &Circuit<Quadratic>) -> Vec<usize> {
    let rows = 0..circuit.rows(Table::Permutation);
    rows.filter(|&row| circuit.fixed(Table::Permutation, row)[permutation::INNER] == ONE).collect()
}

/// The row of the root of the tree.
fn root(circuit: &Circuit<Quadratic>) -> usize {
    let root = (0..circuit.rows(Table::Tuple)).find(|&row| {
        let fixed = circuit.fixed(Table::Tuple, row);
        fixed[tuple::FREE] == ONE && fixed[tuple::TIMES] == ONE
    });
    root.expect("a root")
}

/// Sets how often the root of the tree is used.
fn use_root(circuit: &Circuit<Quadratic>, columns: &mut Columns, count: Goldilocks) {
    columns.row_mut(circuit.tables(), Table::Tuple, root(circuit))[tuple::COUNT] = count;
}

/// Removes all nodes from the paths.
fn without_paths(circuit: &Circuit<Quadratic>, columns: &mut Columns) {
    for row in nodes(circuit) {
        columns.row_mut(circuit.tables(), Table::Permutation, row)[permutation::INDEX..].fill(ZERO);
    }
    use_root(circuit, columns, ZERO);
}

/// Replaces all paths by those of other columns.
pub(super) fn with_paths_of(circuit: &Circuit<Quadratic>, columns: &mut Columns, other: &Columns) {
    for row in nodes(circuit) {
        let from = other.row(circuit.tables(), Table::Permutation, row);
        columns.row_mut(circuit.tables(), Table::Permutation, row).copy_from_slice(from);
    }
    let row = root(circuit);
    use_root(circuit, columns, other.row(circuit.tables(), Table::Tuple, row)[tuple::COUNT]);
}

/// Removes one use of a child of the node with this height and number.
pub(super) fn unused(circuit: &Circuit<Quadratic>, columns: &mut Columns, (height, number): (u64, u64), right: bool) {
    let (level, number) = (Goldilocks::new(FIRST_LEVEL + height - 1), Goldilocks::new(number));
    let row = nodes(circuit).into_iter().find(|&row| {
        let row = columns.row(circuit.tables(), Table::Permutation, row);
        row[permutation::ACTIVE] == ONE && (row[permutation::LEVEL], row[permutation::INDEX]) == (level, number)
    });
    let row = columns.row_mut(circuit.tables(), Table::Permutation, row.expect("a node on a path"));
    row[if right { permutation::RIGHT } else { permutation::LEFT }] -= ONE;
}

/// The only path is that of the right leaf below the root, which has this number and these halves.
fn with_right_leaf(circuit: &Circuit<Quadratic>, columns: &mut Columns, number: Goldilocks, halves: [Digest; 2]) {
    let first = nodes(circuit)[0];
    without_paths(circuit, columns);
    let row = columns.row_mut(circuit.tables(), Table::Permutation, first);
    let width = row.len();
    row[..8].copy_from_slice(&[halves[0].0, halves[1].0].concat());
    row[8..12].fill(ZERO);
    poseidon::fill(row, width, OUTPUTS);
    row[permutation::INDEX] = number;
    row[permutation::LEVEL] = Goldilocks::new(FIRST_LEVEL);
    row[permutation::ACTIVE] = ONE;
    row[permutation::RIGHT] = ONE;
    use_root(circuit, columns, ONE);
}

/// Compares the report of a circuit with its snapshot.
fn judge(name: &str, report: &Report) {
    insta::assert_snapshot!(name, report.text());
    report.check();
}
