//! Attacks on the circuits of OpenZeppelin's tree that set values directly, in trees of height 8 with buckets of 8.

use std::sync::LazyLock;

use evergrove_commit::schema::row_tag;
use evergrove_commit::vc;
use evergrove_commit::{
    BackendError, BackendSpec, BucketWitness, LeafWitness, MemoryStore, NodeProof, RecursionBackend, Vector,
    Witness as Step,
};
use evergrove_grove::circuit::{CircuitSet, Size};
use evergrove_grove::openzeppelin::{self, Row, bucket_data};
use evergrove_grove::translation::{KeccakTree, merge_data};
use evergrove_grove::{AppCircuitSet, GroveBackend};
use evergrove_multilinear::circuit::{Circuit, Witness};
use evergrove_multilinear::recursion::claim_data;
use evergrove_primitives::Digest;
use evergrove_primitives::field::{Cubic, Field, Goldilocks, Quadratic};
use evergrove_primitives::hash::keccak::keccak_256;
use evergrove_primitives::hash::poseidon::hash_tagged;
use evergrove_verifier::abi::{AbiType, AbiWord};
use evergrove_verifier::argument::{JOHNSON_128, UNIQUE_100};
use evergrove_verifier::keccak_tree::{KeccakDigest, from_elements, to_elements};
use evergrove_verifier::key::Public;
use evergrove_verifier::openzeppelin::{first_duplicate, js_slot, leaf_digest, node_digest};
use evergrove_verifier::tree::{self, null_digests};
use evergrove_verifier::{AppSpec, HeightClass, Profile, Statement};
use serde_json::Value as Json;

use crate::common::{fill, parameters_of, refused, says_nothing_else};
use crate::translation::counts;
use crate::world::{Said, World, child, node, sides};

const ONE: Goldilocks = Goldilocks::ONE;
const ZERO: Goldilocks = Goldilocks::ZERO;
const SIZE: Size = Size { height_max: 8, capacity: 8 };
/// The bucket's first position.
const BASE: u64 = 24;
/// Elements before the slots: C, the key, bits of the number.
const SLOTS: usize = 8 + 5;
/// Elements per node: both operands, the node, the swap bit, flags.
const NODE: usize = 3 * 8 + 1 + 8;

fn types(texts: &[&str]) -> Vec<AbiType> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

static TREE: LazyLock<KeccakTree> =
    LazyLock::new(|| KeccakTree::OpenZeppelin(types(&["address", "bytes4", "int128", "bool"])));

fn row(x: u8) -> Vec<AbiWord> {
    let KeccakTree::OpenZeppelin(types) = &*TREE else { unreachable!("the tree above") };
    let texts = [
        format!("0x{}", format!("{x:02x}").repeat(20)),
        format!("0x{x:02x}059cbb"),
        format!("-{x}"),
        x.is_multiple_of(2).to_string(),
    ];
    types.iter().zip(texts).map(|(kind, text)| kind.parse(&text).unwrap()).collect()
}

/// Nodes with only a left child, with only a right one, with both and with no child; the same one level up.
fn rows() -> Vec<Option<Row>> {
    [Some(1), None, None, Some(2), Some(3), Some(4), None, None].map(|x| x.map(|x| Row::new(&row(x)))).to_vec()
}

fn poseidon_root(slots: &[Option<Row>]) -> Digest {
    let null = null_digests(0)[0];
    let leaf = |(i, row): (u64, &Option<Row>)| row.as_ref().map_or(null, |row| tree::leaf_digest(i, &row.value));
    let mut level: Vec<Digest> = (BASE..).zip(slots).map(leaf).collect();
    while level.len() > 1 {
        level = level.chunks_exact(2).map(|pair| tree::node_digest(&pair[0], &pair[1])).collect();
    }
    level[0]
}

/// A bucket's circuit, with a size and a number of columns.
struct Bucket {
    circuit: Circuit<Quadratic>,
    size: Size,
    columns: usize,
}

impl Bucket {
    fn new(tree: &KeccakTree, size: Size) -> Self {
        let KeccakTree::OpenZeppelin(types) = tree else { unreachable!("a tree of rows") };
        let circuit_set = CircuitSet { translation: Some(tree), ..CircuitSet::of_batches(size) };
        let circuit = circuit_set.bucket(&parameters_of(&circuit_set)).finish();
        Self { circuit, size, columns: types.len() }
    }
    fn data(&self, slots: &[Option<Row>]) -> Vec<Goldilocks> {
        let height = self.size.capacity.ilog2() as u8;
        let statement = Statement { root: poseidon_root(slots), canonical: Digest::ZERO, height, base: BASE };
        bucket_data(self.size, self.columns, [ONE; 4], &statement, slots)
    }
    fn fill(&self, free: &[Goldilocks]) -> Witness {
        let claim = Public { information: vec![], point: vec![Quadratic::ONE; 21], value: Quadratic::ZERO };
        fill(&self.circuit, &[free, &claim_data(&claim)].concat())
    }
    /// The columns for free data with some elements changed.
    fn with(&self, mut free: Vec<Goldilocks>, changes: &[(usize, Goldilocks)]) -> Witness {
        changes.iter().for_each(|&(at, by)| free[at] += by);
        self.fill(&free)
    }
}

static BUCKET: LazyLock<Bucket> = LazyLock::new(|| Bucket::new(&TREE, SIZE));

/// The offset of a slot's data, for rows of four columns: the row, index and value, the bit, and the siblings that no
/// earlier slot had.
fn slot(i: usize) -> usize {
    SLOTS + (32 + 8 + 1) * i + 4 * [0, 3, 3, 4, 4, 6, 6, 7][i]
}

/// The offset of a slot's bit.
fn bit(i: usize) -> usize {
    slot(i) + 32 + 8
}

/// The offset of a node's data.
fn parent(i: usize) -> usize {
    SLOTS + (32 + 8 + 1) * 8 + 4 * 7 + NODE * i
}

/// The data of a node.
#[derive(Clone, Debug)]
struct Node {
    low: KeccakDigest,
    high: KeccakDigest,
    own: KeccakDigest,
    swap: bool,
    flag: Option<usize>,
}

impl Node {
    fn read(free: &[Goldilocks], i: usize) -> Self {
        let at = &free[parent(i)..][..NODE];
        let digest = |i: usize| from_elements(&at[8 * i..][..8]).unwrap();
        let flag = at[25..].iter().position(|&flag| flag == ONE);
        Self { low: digest(0), high: digest(1), own: digest(2), swap: at[24] == ONE, flag }
    }
    fn write(&self, free: &mut [Goldilocks], i: usize) {
        let mut data: Vec<Goldilocks> = [self.low, self.high, self.own].iter().flat_map(to_elements).collect();
        data.push(Goldilocks::new(self.swap.into()));
        data.extend((0..8).map(|i| Goldilocks::new((Some(i) == self.flag).into())));
        free[parent(i)..][..NODE].copy_from_slice(&data);
    }
    /// The node above these children.
    fn above(left: Option<KeccakDigest>, right: Option<KeccakDigest>) -> Self {
        let only = left.or(right).unwrap_or_default();
        let (left, right) = (left.unwrap_or(only), right.unwrap_or(only));
        let (low, high) = (left.min(right), left.max(right));
        let flag = (0..8).find(|i| low[4 * i..][..4] != high[4 * i..][..4]);
        let own = if left == right { only } else { node_digest(&low, &high) };
        Self { low, high, own, swap: left > right, flag }
    }
}

/// Free data with one node as the attacker changes it, and the nodes above computed from it.
fn lie(i: usize, change: impl FnOnce(&mut Node)) -> Vec<Goldilocks> {
    let mut free = BUCKET.data(&rows());
    let mut node = Node::read(&free, i);
    change(&mut node);
    node.write(&mut free, i);
    // On the second level, node 4 has both children and node 5 only the left one.
    let own = |free: &[Goldilocks], i: usize| Some(Node::read(free, i).own);
    if i < 2 {
        Node::above(own(&free, 0), own(&free, 1)).write(&mut free, 4);
    } else if i < 4 {
        Node::above(own(&free, 2), None).write(&mut free, 5);
    }
    if i < 6 {
        Node::above(own(&free, 4), own(&free, 5)).write(&mut free, 6);
    }
    free
}

#[test]
fn a_bucket_says_both_digests() {
    let free = BUCKET.data(&rows());
    assert_eq!(BUCKET.fill(&free).faults(&BUCKET.circuit), []);
    let leaf = |x: u8| leaf_digest(&row(x));
    let expected = node_digest(&node_digest(&leaf(1), &leaf(2)), &node_digest(&leaf(3), &leaf(4)));
    assert_eq!(openzeppelin::digest(&rows()), Some(expected));
    assert_eq!(Node::read(&free, 6).own, expected);
    // Without a change, recomputing the nodes above gives the same data.
    for i in 0..7 {
        assert_eq!(lie(i, |_| ()), free, "{i}");
    }
    assert_eq!(openzeppelin::digest(&[None, None]), None);
}

/// Changes any half of a row, its value and index, and its bit.
#[test]
fn slots_are_rows_of_both_trees_or_of_none() {
    let circuit = &BUCKET.circuit;
    let free = BUCKET.data(&rows());
    let with = |changes: &[(usize, Goldilocks)]| BUCKET.with(free.clone(), changes);
    for (i, row) in rows().iter().enumerate().take(4) {
        assert_eq!(free[slot(i) + 32], Goldilocks::new(BASE + i as u64));
        assert_eq!(free[bit(i)], Goldilocks::new(row.is_some().into()));
        for half in (0..32).step_by(3).filter(|_| row.is_some()) {
            refused("a half", circuit, &with(&[(slot(i) + half, ONE)]), 24);
        }
        // Nothing reads the row of an empty slot, as long as it is a valid row.
        let own = with(&[(slot(i) + 3, ONE)]);
        assert_eq!(own.faults(circuit).is_empty(), row.is_none(), "{i}");
        // Another path has other siblings.
        refused("another index", circuit, &with(&[(slot(i) + 32, ONE)]), 600);
        for part in (1..8).filter(|part| row.is_some() || *part > 4) {
            refused("another value", circuit, &with(&[(slot(i) + 32 + part, ONE)]), 12);
        }
        let other = if row.is_some() { -ONE } else { ONE };
        // The free data behind the bit is shifted.
        refused("the other bit", circuit, &with(&[(bit(i), other)]), 600);
        refused("half a bit", circuit, &with(&[(bit(i), Goldilocks::half() - free[bit(i)])]), 600);
    }
    // The rows of two slots are swapped, and each has the value of the other.
    let mut swapped = free.clone();
    let (first, fourth) = (slot(0), slot(3));
    for i in 0..32 {
        swapped.swap(first + i, fourth + i);
    }
    refused("another slot's row", circuit, &BUCKET.fill(&swapped), 48);
    for (i, &bit) in free.iter().enumerate().take(SLOTS).skip(8) {
        refused("another number", circuit, &with(&[(i, ONE - bit - bit)]), 600);
        refused("no bit", circuit, &with(&[(i, Goldilocks::half())]), 600);
    }
    refused("another C", circuit, &with(&[(0, ONE)]), 8);
}

/// Everything else holds: the row hashes to the value, and the digests are those of its bytes.
#[test]
fn words_are_values_of_their_types() {
    let circuit = &BUCKET.circuit;
    let bad = |what: &str, change: &dyn Fn(&mut [AbiWord])| {
        let mut words = row(1);
        change(&mut words);
        let slots: Vec<Option<Row>> = [vec![Some(Row::new(&words))], rows()[1..].to_vec()].concat();
        // At most four halves, with two faults for each: both sides of a wire.
        refused(what, circuit, &BUCKET.fill(&BUCKET.data(&slots)), 8);
        // The witness is refused, too.
        let leaf = |index: u64, row: &Row| LeafWitness {
            index,
            value: row.value,
            siblings: Vec::new(),
            opening: row.halves.clone(),
        };
        let leaves = (BASE..).zip(&slots).filter_map(|(i, row)| Some(leaf(i, row.as_ref()?))).collect();
        let statement = Statement { root: Digest::ZERO, canonical: Digest::ZERO, height: 3, base: BASE };
        let KeccakTree::OpenZeppelin(types) = &*TREE else { unreachable!("the tree above") };
        let witness = BucketWitness { statement, leaves };
        let error = openzeppelin::slots(SIZE, types, &witness).unwrap_err().to_string();
        assert!(error.starts_with("row 24 has a word that is not a value of type"), "{what}: {error}");
        let mut good = witness;
        good.leaves[0] = leaf(BASE, &Row::new(&row(1)));
        assert_eq!(openzeppelin::slots(SIZE, types, &good), Ok(rows()));
        good.leaves[0].value[0] += ONE;
        let other = openzeppelin::slots(SIZE, types, &good).unwrap_err();
        assert_eq!(other.to_string(), "row 24 does not hash to the slot's value");
        good.leaves[0].opening.pop();
        let short = openzeppelin::slots(SIZE, types, &good).unwrap_err();
        assert_eq!(short.to_string(), "row 24 is not 4 words of the ABI");
    };
    bad("an address with a bit above it", &|words| words[0][11] = 1);
    bad("an address with the first bit", &|words| words[0][0] = 0x80);
    bad("bytes4 on the right", &|words| words[1].rotate_right(28));
    bad("bytes4 with one byte more", &|words| words[1][4] = 1);
    bad("a sign of one half", &|words| words[2][..4].fill(0));
    bad("no sign", &|words| words[2][..16].fill(0));
    bad("a positive number with a sign", &|words| words[2][16] = 0x7f);
    bad("a bool of 2", &|words| words[3][31] = 2);
    bad("a bool with another byte", &|words| words[3][0] = 1);
}

#[test]
fn halves_are_below_2_to_the_32() {
    let carry = Goldilocks::new(1 << 32);
    for half in [5, 31] {
        let mut words = Row::new(&row(1));
        words.halves[half] += carry;
        words.value = hash_tagged(&words.halves, row_tag(32)).0;
        let mut slots = rows();
        // Digests of the bytes without the carry.
        let honest = BUCKET.data(&slots);
        slots[0] = Some(words);
        let mut free = BUCKET.data(&slots);
        free[parent(0)..].copy_from_slice(&honest[parent(0)..]);
        refused("a carry", &BUCKET.circuit, &BUCKET.fill(&free), 6);
    }
    let free = BUCKET.data(&rows());
    for operand in [parent(2), parent(2) + 8, parent(2) + 16] {
        refused("a carry", &BUCKET.circuit, &BUCKET.with(free.clone(), &[(operand, carry), (operand + 1, -ONE)]), 32);
    }
}

/// The lower digest comes first, whatever the swap bit is.
#[test]
fn nodes_hash_the_lower_child_first() {
    let circuit = &BUCKET.circuit;
    let exchange = |node: &mut Node| {
        core::mem::swap(&mut node.low, &mut node.high);
        node.swap = !node.swap;
        node.own = keccak_256(&[node.low, node.high].concat());
    };
    for i in [2, 4, 6] {
        for flag in [None, Some(0), Some(1), Some(7)] {
            let free = lie(i, |node| {
                exchange(node);
                node.flag = flag;
            });
            // At the flag of the first half only the order is wrong. At other flags, halves that should be equal
            // differ, too.
            let most = if flag == Some(0) { 1 } else { 10 };
            refused("the higher one first", circuit, &BUCKET.fill(&free), most);
        }
        refused("the other bit alone", circuit, &BUCKET.fill(&lie(i, |node| node.swap = !node.swap)), 8);
        let free = lie(i, |node| core::mem::swap(&mut node.low, &mut node.high));
        refused("exchanged under the same bit", circuit, &BUCKET.fill(&free), 24);
        let flagless = BUCKET.fill(&lie(i, |node| node.flag = None));
        refused("called equal", circuit, &flagless, 10);
        let free = BUCKET.data(&rows());
        let half = BUCKET.with(free.clone(), &[(parent(i) + 24, Goldilocks::half() - free[parent(i) + 24])]);
        refused("half a bit", circuit, &half, 24);
    }
}

/// Two equal rows, which the circuits accept.
#[test]
fn equal_children_have_no_flag() {
    let mut slots = rows();
    slots[5] = slots[4].clone();
    let free = BUCKET.data(&slots);
    assert_eq!(BUCKET.fill(&free).faults(&BUCKET.circuit), []);
    let leaf = leaf_digest(&row(3));
    let node = Node::read(&free, 2);
    assert_eq!((node.low, node.high, node.own, node.flag), (leaf, leaf, node_digest(&leaf, &leaf), None));
    // Either swap bit is accepted.
    assert_eq!(BUCKET.with(free.clone(), &[(parent(2) + 24, ONE)]).faults(&BUCKET.circuit), []);
    for flag in 0..8 {
        refused("a flag", &BUCKET.circuit, &BUCKET.with(free.clone(), &[(parent(2) + 25 + flag, ONE)]), 5);
    }
    let leaves = (BASE..).zip(&slots).filter_map(|(i, row)| Some((i, row.as_ref()?)));
    let leaves = leaves.map(|(i, row)| (i, row.halves.chunks(8).flat_map(|x| from_elements(x).unwrap()).collect()));
    let leaves: Vec<(u64, Vec<u8>)> = leaves.collect();
    assert_eq!(first_duplicate(leaves.into_iter().map(|(i, bytes)| (i, keccak_256(&bytes)))), Some([28, 29]));
}

/// Nodes 0, 1 and 5 have one child; node 3 has no child.
#[test]
fn only_children_are_promoted() {
    let circuit = &BUCKET.circuit;
    let zeros = KeccakDigest::default();
    for i in [0, 1, 5] {
        let hashes: [fn(&mut Node); 4] = [
            |node| node.own = node_digest(&node.low, &KeccakDigest::default()),
            |node| node.own = node_digest(&node.low, &node.low),
            |node| node.own = KeccakDigest::default(),
            |node| node.own[31] ^= 1,
        ];
        for hash in hashes {
            refused("another node", circuit, &BUCKET.fill(&lie(i, hash)), 4);
        }
        // A node with zeros as the other child, hashed with them.
        let free = lie(i, |node| {
            let swapped = Node::above(Some(node.low), Some(zeros));
            *node = Node { swap: i == 1, ..swapped };
        });
        refused("hashed with zeros", circuit, &BUCKET.fill(&free), 8);
        let free = lie(i, |node| {
            node.low[0] ^= 1;
            (node.high, node.own) = (node.low, node.low);
        });
        refused("another child", circuit, &BUCKET.fill(&free), 6);
        refused("the other place", circuit, &BUCKET.fill(&lie(i, |node| node.swap = !node.swap)), 6);
        // The prover may choose the second operand of an only child.
        let free = lie(i, |node| {
            node.high = [0xff; 32];
            node.flag = (0..8).find(|j| node.low[4 * j..][..4] != node.high[4 * j..][..4]);
        });
        assert_eq!(BUCKET.fill(&free).faults(circuit), [], "{i}");
    }
    // One of two children is promoted.
    for i in [2, 4, 6] {
        for child in [|node: &Node| node.low, |node: &Node| node.high] {
            refused("one of two", circuit, &BUCKET.fill(&lie(i, |node| node.own = child(node))), 4);
        }
    }
    // Nothing reads the digest of a node without children.
    let free = lie(3, |node| node.own = [1; 32]);
    assert_eq!(BUCKET.fill(&free).faults(circuit), []);
    // The prover's own digest as the missing sibling.
    let free = lie(5, |node| {
        let above = Node::above(Some(node.low), Some([1; 32]));
        *node = above;
    });
    refused("a sibling from nowhere", circuit, &BUCKET.fill(&free), 12);
}

#[test]
fn buckets_have_a_row() {
    let nothing = vec![None; 8];
    // One check fails: both sides of a wire.
    refused("nothing", &BUCKET.circuit, &BUCKET.fill(&BUCKET.data(&nothing)), 2);
}

/// The library's trees of up to 128 rows, at the slots of its layout, as one bucket.
#[test]
fn buckets_have_the_roots_of_the_library() {
    let all: Json = serde_json::from_str(include_str!("../../../../vectors/openzeppelin.json")).unwrap();
    let digest = |json: &Json| -> KeccakDigest { types(&["bytes32"])[0].parse(json.as_str().unwrap()).unwrap() };
    let mut buckets: Vec<((Vec<AbiType>, usize), Bucket)> = Vec::new();
    let mut sizes = Vec::new();
    for case in all["cases"].as_array().unwrap() {
        let Some(texts) = case["leafEncoding"].as_array() else { continue };
        let texts: Vec<&str> = texts.iter().map(|kind| kind.as_str().unwrap()).collect();
        if texts.contains(&"string") {
            continue;
        }
        let types = types(&texts);
        let rows = case["values"].as_array().unwrap().iter().map(|row| {
            let cells = types.iter().zip(row.as_array().unwrap());
            let text = |cell: &Json| cell.as_str().map_or_else(|| cell.to_string(), String::from);
            Row::new(&cells.map(|(kind, cell)| kind.parse(&text(cell)).unwrap()).collect::<Vec<_>>())
        });
        let rows: Vec<Row> = rows.collect();
        let (n, tree) = (rows.len(), case["tree"].as_array().unwrap());
        let leaf_of = |row: &Row| openzeppelin::digest(&[Some(row.clone())]).unwrap();
        let capacity = n.next_power_of_two().max(8);
        let mut slots = vec![None; capacity];
        for row in rows {
            let leaf = leaf_of(&row);
            let place = (0..n).find(|j| digest(&tree[2 * n - 2 - j]) == leaf).unwrap();
            slots[js_slot(n, place).unwrap()] = Some(row);
        }
        let root = digest(&case["root"]);
        assert_eq!(openzeppelin::digest(&slots), Some(root), "{}", case["name"]);
        let key = (types.clone(), capacity);
        if buckets.iter().all(|(known, _)| *known != key) {
            let size = Size { capacity, ..SIZE };
            buckets.push((key.clone(), Bucket::new(&KeccakTree::OpenZeppelin(types), size)));
        }
        let bucket = &buckets.iter().find(|(known, _)| *known == key).unwrap().1;
        // Position 0 is a multiple of 128; BASE is not.
        let base = if capacity > 8 { 0 } else { BASE };
        let leaf = |(i, row): (u64, &Option<Row>)| {
            row.as_ref().map_or(null_digests(0)[0], |row| tree::leaf_digest(i, &row.value))
        };
        let mut level: Vec<Digest> = (base..).zip(&slots).map(leaf).collect();
        while level.len() > 1 {
            level = level.chunks_exact(2).map(|pair| tree::node_digest(&pair[0], &pair[1])).collect();
        }
        let height = capacity.ilog2() as u8;
        let statement = Statement { root: level[0], canonical: Digest::ZERO, height, base };
        let free = bucket_data(bucket.size, bucket.columns, [ONE; 4], &statement, &slots);
        assert_eq!(bucket.fill(&free).faults(&bucket.circuit), [], "{}", case["name"]);
        assert_eq!(from_elements(&free[free.len() - NODE + 16..][..8]), Some(root), "{}", case["name"]);
        sizes.push(n);
    }
    assert_eq!(sizes, [1, 2, 3, 4, 5, 7, 8, 16, 128, 5, 8, 4]);
}

/// Rows of one column, and rows longer than a block of Keccak: with an odd and an even number of pairs behind the first
/// block, and with three blocks.
#[test]
fn rows_have_any_number_of_columns() {
    for columns in [1, 5, 6, 9] {
        let kinds: Vec<AbiType> = types(&["uint40", "int24", "bytes3", "uint256", "int256"]).repeat(2);
        let kinds = &kinds[..columns];
        let words = |x: u8| -> Vec<AbiWord> {
            let texts = [format!("{}", 77 * u64::from(x)), format!("-{x}"), format!("0x{x:02x}aabb")];
            let texts = texts.into_iter().chain([format!("{x}99"), format!("-{x}123456789")]).cycle();
            kinds.iter().zip(texts).map(|(kind, text)| kind.parse(&text).unwrap()).collect()
        };
        let bucket = Bucket::new(&KeccakTree::OpenZeppelin(kinds.to_vec()), Size { capacity: 2, ..SIZE });
        let slots: Vec<Option<Row>> = [1, 2].map(|x| Some(Row::new(&words(x)))).to_vec();
        let free = bucket.data(&slots);
        assert_eq!(bucket.fill(&free).faults(&bucket.circuit), [], "{columns}");
        let expected = node_digest(&leaf_digest(&words(1)), &leaf_digest(&words(2)));
        assert_eq!(openzeppelin::digest(&slots), Some(expected));
        // All elements of the first slot: row, leaf, bit, a sibling, and the words of the message that are not the
        // row's. Nothing reads the second word of each pair of those.
        let (start, leaf) = (8 + 7, 8 * columns);
        let message = start + leaf + 8 + 1 + 4;
        let second = free.len() - NODE - (leaf + 8 + 1) - (free.len() - NODE - start - 2 * (leaf + 9) - 4) / 2;
        let read = (start..start + leaf).chain((message..second).filter(|at| (at - message) % 8 < 4));
        for at in read.step_by(5) {
            refused("a half", &bucket.circuit, &bucket.with(free.clone(), &[(at, ONE)]), 24);
        }
        assert_eq!(second - message, 8 * [0, 0, 0, 0, 0, 3, 5, 0, 0, 10][columns], "{columns}");
    }
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let circuit_set = CircuitSet { translation: Some(&TREE), ..CircuitSet::of_batches(SIZE) };
    World::new(parameters_of(&circuit_set), &circuit_set)
});

/// The columns of a merge that makes this statement about proofs of `said`.
fn merged(statement: Statement, said: [&Said; 2], empty: [bool; 2], changes: &[(usize, Goldilocks)]) -> Witness {
    let (mut free, _) = merge_data(SIZE, WORLD.key.digest(), &statement, &TREE, sides(said, empty));
    changes.iter().for_each(|&(at, by)| free[at] += by);
    fill(&WORLD.merge, &[free, WORLD.children(said)].concat())
}

/// Offsets in a merge's free data: key and number, flags, C of both sides as used and as stated, K as stated, places,
/// circuits, empty bits, the node.
const USED: usize = 8 + 8;
const STATED: usize = USED + 8;
const PLACES: usize = STATED + 8 + 16;
const EMPTY: usize = PLACES + 8 + 2;
const OWN: usize = EMPTY + 2;

#[test]
fn a_merge_says_the_node_above_its_children() {
    let merge = &WORLD.merge;
    let (left, right) = (child(1, 3, 16), child(2, 3, 24));
    let digest = |said: &Said| from_elements(&said.1).unwrap();
    for (said, empty, expected) in [
        ([&left, &right], [false, false], node_digest(&digest(&left), &digest(&right))),
        ([&left, &left], [false, true], digest(&left)),
        ([&right, &right], [true, false], digest(&right)),
    ] {
        let (free, output) = merge_data(SIZE, WORLD.key.digest(), &node(4, 16), &TREE, sides(said, empty));
        assert_eq!(output, to_elements(&expected));
        assert_eq!(free[OWN + 16..][..8], output);
        assert_eq!(free.len(), OWN + NODE);
        assert_eq!(merged(node(4, 16), said, empty, &[]).faults(merge), [], "{empty:?}");
    }
    // An empty subtree has no root.
    let nothing = merged(node(4, 16), [&left, &right], [true; 2], &[]);
    refused("two empty children", merge, &nothing, 2);
}

#[test]
fn children_are_the_two_halves() {
    let merge = &WORLD.merge;
    let (left, right) = (child(1, 3, 16), child(2, 3, 24));
    let refused = |what: &str, statement, said, empty, changes: &[(usize, Goldilocks)]| {
        refused(what, merge, &merged(statement, said, empty, changes), 24);
    };
    let there = [false; 2];
    refused("exchanged", node(4, 16), [&right, &left], there, &[]);
    refused("doubled", node(4, 16), [&left, &left], there, &[]);
    refused("another parent", node(4, 32), [&left, &right], there, &[]);
    refused("another height", node(5, 0), [&left, &right], there, &[]);
    refused("no height", node(0, 16), [&left, &right], there, &[]);
    let (low, moved) = (child(3, 2, 16), child(2, 3, 32));
    refused("a lower child", node(4, 16), [&low, &right], there, &[]);
    refused("a child elsewhere", node(4, 16), [&left, &moved], there, &[]);
    for at in USED..STATED {
        refused("another C", node(4, 16), [&left, &right], there, &[(at, ONE)]);
    }
    for at in (STATED..PLACES).step_by(3).chain([PLACES, PLACES + 1, PLACES + 4, PLACES + 5]) {
        // The child's proof does not hold, which gives many faults.
        assert!(!merged(node(4, 16), [&left, &right], there, &[(at, ONE)]).faults(merge).is_empty(), "{at}");
    }
    for at in OWN..OWN + 25 {
        refused("another node", node(4, 16), [&left, &right], there, &[(at, ONE)]);
    }
    for side in 0..2 {
        let mut one = there;
        one[side] = true;
        refused("called empty", node(4, 16), [&left, &right], there, &[(EMPTY + side, ONE)]);
        refused("called there", node(4, 16), [&left, &right], one, &[(EMPTY + side, -ONE)]);
        refused("half empty", node(4, 16), [&left, &right], there, &[(EMPTY + side, Goldilocks::half())]);
        // One of two children treated as the only one: left out of K, or out of C.
        let (free, _) = merge_data(SIZE, WORLD.key.digest(), &node(4, 16), &TREE, sides([&left, &right], there));
        let (only, _) = merge_data(SIZE, WORLD.key.digest(), &node(4, 16), &TREE, sides([&left, &right], one));
        let difference = |range: core::ops::Range<usize>| -> Vec<(usize, Goldilocks)> {
            range.map(|at| (at, only[at] - free[at])).collect()
        };
        refused("left out of K", node(4, 16), [&left, &right], there, &difference(OWN..OWN + NODE));
        refused("left out of C", node(4, 16), [&left, &right], there, &difference(USED..STATED));
        // An empty side that is hashed.
        let back: Vec<_> = difference(OWN..OWN + NODE).into_iter().map(|(at, by)| (at, -by)).collect();
        refused("not promoted", node(4, 16), [&left, &right], one, &back);
        let zeros = Node::above(from_elements(&[&left, &right][1 - side].1), Some([0; 32]));
        let (free, own) = (only, node_digest(&zeros.low, &zeros.high));
        let hashed: Vec<_> =
            to_elements(&own).into_iter().enumerate().map(|(i, x)| (OWN + 16 + i, x - free[OWN + 16 + i])).collect();
        refused("hashed with zeros", node(4, 16), [&left, &right], one, &hashed);
    }
}

/// Rows of bucket and merge per table; committed and fixed elements; log2 of the places on the bus and of the stack;
/// columns of the first oracle. For buckets of 128 rows (address, uint256).
#[test]
fn the_circuits_have_these_rows() {
    let tree = KeccakTree::OpenZeppelin(types(&["address", "uint256"]));
    let circuit_set =
        CircuitSet { translation: Some(&tree), ..CircuitSet::of_batches(Size { height_max: 27, capacity: 128 }) };
    let all = [counts::<Quadratic>(&UNIQUE_100, &circuit_set), counts::<Cubic>(&JOHNSON_128, &circuit_set)];
    let text = format!("{all:?}").replace("]], [[", "]],\n[[");
    assert_eq!(text, include_str!("openzeppelin.txt").trim_end());
}

/// A backend that opens the leaves of buckets with rows, as a store does.
struct Opened {
    backend: GroveBackend,
    rows: Vec<Row>,
}

impl RecursionBackend for Opened {
    fn spec(&self) -> &BackendSpec {
        self.backend.spec()
    }
    fn key_digest(&self) -> Digest {
        self.backend.key_digest()
    }
    fn prove(&self, witness: &Step, children: &[&NodeProof]) -> Result<NodeProof, BackendError> {
        let mut witness = witness.clone();
        if let Step::Bucket(bucket) = &mut witness {
            for leaf in &mut bucket.leaves {
                let row = self.rows.iter().find(|row| row.value == leaf.value).expect("a row of the table");
                leaf.opening = row.halves.clone();
            }
        }
        self.backend.prove(&witness, children)
    }
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        self.backend.verify(proof)
    }
}

/// Real proofs: a bucket, the merges above an only child, two buckets, and a changed row.
#[test]
fn a_small_tree_is_proven_and_updated() {
    let kinds = types(&["address", "uint256"]);
    let words = |x: u64| -> Vec<AbiWord> {
        let texts = [format!("0x{x:040x}"), format!("{x}000000000000000000")];
        kinds.iter().zip(texts).map(|(kind, text)| kind.parse(&text).unwrap()).collect()
    };
    let tree = KeccakTree::OpenZeppelin(kinds.clone());
    let app = AppSpec { name: "digest-translation".into(), parameters: b"\x01openzeppelin(address,uint256)".to_vec() };
    let circuit_set = AppCircuitSet::translation(Profile::Grove100, HeightClass::H27, 1, tree).unwrap();
    let backend =
        Opened { backend: circuit_set.backend(app).unwrap(), rows: (0..10).map(|x| Row::new(&words(x))).collect() };
    let verifier = circuit_set.verifier().unwrap();
    assert_eq!(backend.key_digest(), verifier.key_digest());
    let value = |x: u64| Row::new(&words(x)).value;
    let mut vector = Vector::new(3, MemoryStore::new()).unwrap();
    vector.apply(&[(4, Some(value(7))), (5, Some(value(9)))]).unwrap();
    let parameters = vc::setup(3, &backend).unwrap();
    let (proof, data) = vc::agg(&parameters, &[], &vector).unwrap();
    let leaf = |x: u64| leaf_digest(&words(x));
    let holds = |proof: &NodeProof| backend.verify(proof).and(verifier.verify(proof)).is_ok();
    let said = |proof: &NodeProof, expected: KeccakDigest| {
        assert!(holds(proof));
        assert_eq!(proof.output, to_elements(&expected));
    };
    said(&proof, node_digest(&leaf(7), &leaf(9)));
    assert_eq!(proof.statement.root, vector.root().unwrap());
    // One row changes, and one is added in another subtree.
    vector.apply(&[(4, Some(value(8))), (1, Some(value(5)))]).unwrap();
    let (proof, _) = vc::upd_batch_proof(&parameters, &data, &vector, &[1, 4], &[], &[]).unwrap();
    said(&proof, node_digest(&leaf(5), &node_digest(&leaf(8), &leaf(9))));
    assert_eq!(proof.statement.root, vector.root().unwrap());
    says_nothing_else(&proof, holds);
    let mut other = (*proof).clone();
    other.output = vec![ZERO; 8];
    assert!(!holds(&other));
}
