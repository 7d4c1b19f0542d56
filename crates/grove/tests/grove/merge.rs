//! Attacks on the merge that set values directly, in trees of height 8. A circuit that states anything proves the
//! children.

use std::sync::{LazyLock, Mutex, PoisonError};

use evergrove_commit::MergeWitness;
use evergrove_grove::circuit::{self, Size};
use evergrove_grove::witness;
use evergrove_multilinear::circuit::{Builder, Circuit, Fault, Witness};
use evergrove_multilinear::key::Key;
use evergrove_multilinear::prover::Prover;
use evergrove_multilinear::recursion::{Children, Proof, children_data, claim_data};
use evergrove_primitives::Digest;
use evergrove_primitives::field::{Field, Goldilocks, Quadratic};
use evergrove_verifier::Statement;
use evergrove_verifier::information;
use evergrove_verifier::key::Public;
use evergrove_verifier::tables::{Table, permutation};
use evergrove_verifier::tree::node_digest;

use crate::common::{fill, parameters, refused};

const ONE: Goldilocks = Goldilocks::ONE;
const ZERO: Goldilocks = Goldilocks::ZERO;
const SIZE: Size = Size { height_max: 8, capacity: 4 };

struct World {
    circuits: [Circuit<Quadratic>; 2],
    key: Key<Quadratic>,
}

/// The merge, and a circuit without child proofs that states any four words.
static WORLD: LazyLock<World> = LazyLock::new(|| {
    let parameters = parameters(SIZE);
    let blocks = parameters.layout().blocks();
    let mut b = Builder::new(parameters.tables().clone());
    let tag = b.tag(Goldilocks::new(5));
    let words: Vec<_> = (0..3).flat_map(|_| b.hash_free(tag).1).collect();
    Children::new(&mut b, &parameters, words[0]).publish(words[2..].to_vec());
    let circuits = [b.finish_in(blocks), circuit::merge(&parameters, SIZE).finish_in(blocks)];
    let key = Key::new(parameters, circuits.each_ref());
    World { circuits, key }
});

fn digest(x: u64) -> Digest {
    Digest(core::array::from_fn(|i| Goldilocks::new(100 * x + i as u64)))
}

fn statement(x: u64, height: u8, base: u64) -> Statement {
    Statement { root: digest(x), canonical: digest(x + 50), height, base }
}

/// The free data of proofs of these statements and of the claim that theirs reduce to. Each statement is proven once.
fn children(statements: &[Statement; 2]) -> Vec<Goldilocks> {
    static MADE: Mutex<Vec<(Statement, Proof<Quadratic>)>> = Mutex::new(Vec::new());
    let World { circuits, key } = &*WORLD;
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let proofs = statements.map(|statement| {
        if let Some((_, proof)) = made.iter().find(|(known, _)| *known == statement) {
            return proof.clone();
        }
        let (point, value) = key.at(vec![Quadratic::ONE; key.variables()]);
        let public = Public { information: information(&statement, None, &[]), point, value };
        let free = [&key.digest()[..], &[ZERO; 4], &public.information.concat(), &claim_data(&public)].concat();
        let columns = circuits[0].witness(&free).unwrap();
        let elements =
            Prover::new(&circuits[0], key.parameters()).prove(&public.statement(key.digest(), false), &columns);
        let proof = Proof { elements, circuit: false, public };
        made.push((statement, proof.clone()));
        proof
    });
    children_data(key, &proofs.each_ref()).unwrap().0
}

/// The values that a prover chooses. The children's proofs are about `statements`.
#[derive(Clone)]
struct Choice {
    root: Digest,
    key: [Goldilocks; 4],
    /// q of the node, and the number of the children's parent.
    numbers: [Goldilocks; 2],
    flags: Vec<Goldilocks>,
    statements: [Statement; 2],
    roots: [Digest; 2],
    canonicals: [Digest; 2],
    circuits: [Goldilocks; 2],
    below: Vec<Goldilocks>,
    siblings: Vec<Digest>,
}

impl Choice {
    /// Children of height 2 with numbers 4 and 5, below the node of height 5 at position 0.
    fn honest() -> Self {
        let siblings = vec![digest(7), digest(8)];
        Self::of([statement(1, 2, 16), statement(2, 2, 20)], [ZERO, Goldilocks::new(2)], 5, siblings)
    }
    fn of(statements: [Statement; 2], numbers: [Goldilocks; 2], height: u8, siblings: Vec<Digest>) -> Self {
        let [left, right] = statements;
        let mut root = node_digest(&left.root, &right.root);
        for (level, sibling) in siblings.iter().enumerate() {
            let right = numbers[1].as_u64() >> level & 1 == 1;
            root = if right { node_digest(sibling, &root) } else { node_digest(&root, sibling) };
        }
        let flags = |height: u8, levels: u8| (0..levels).map(|l| Goldilocks::new((l < height).into())).collect();
        Self {
            root,
            key: WORLD.key.digest(),
            numbers,
            flags: flags(height, SIZE.height_max),
            statements,
            roots: [left.root, right.root],
            canonicals: [left.canonical, right.canonical],
            circuits: [ZERO; 2],
            below: flags(left.height, SIZE.height_max - 1),
            siblings,
        }
    }
    fn columns(&self) -> Witness {
        let mut free = [self.root.0, self.key, [self.numbers[0], self.numbers[1], ZERO, ZERO], [ZERO; 4]].concat();
        free.extend(&self.flags);
        free.extend(self.roots.iter().chain(&self.canonicals).flat_map(|digest| digest.0));
        free.extend(self.circuits);
        free.extend(&self.below);
        free.extend(self.siblings.iter().flat_map(|digest| digest.0));
        free.extend(children(&self.statements));
        fill(&WORLD.circuits[1], &free)
    }
    fn faults(&self) -> Vec<Fault> {
        self.columns().faults(&WORLD.circuits[1])
    }
    fn refused(&self, what: &str, most: usize) -> Vec<Fault> {
        refused(what, &WORLD.circuits[1], &self.columns(), most)
    }
}

#[test]
fn an_honest_merge_is_accepted() {
    let choice = Choice::honest();
    assert_eq!(choice.faults(), []);
    // The free data that `witness` computes from a witness.
    let canonical = node_digest(&choice.canonicals[0], &choice.canonicals[1]);
    let statement = Statement { root: choice.root, canonical, height: 5, base: 0 };
    let witness = MergeWitness { statement, siblings: choice.siblings.clone() };
    let [left, right] = &choice.statements;
    let mut free =
        witness::merge(SIZE, false, choice.key, [(left, false), (right, false)], &witness, ([ZERO; 4], [&[]; 2]));
    free.extend(children(&choice.statements));
    assert!(WORLD.circuits[1].witness(&free).unwrap() == choice.columns());
}

#[test]
fn children_are_siblings() {
    let [left, right] = Choice::honest().statements;
    let swapped = Choice { statements: [right, left], ..Choice::honest() };
    assert!(!swapped.faults().is_empty(), "the proofs are swapped");
    let swapped = Choice::of([right, left], [ZERO, Goldilocks::new(2)], 5, vec![digest(7), digest(8)]);
    assert!(!swapped.faults().is_empty(), "children are swapped");
    // Children 5 and 6, whose parent would have the number 5/2. Everything else holds.
    let number = Goldilocks::new(5) * Goldilocks::half();
    let cousins = Choice::of([statement(1, 2, 20), statement(2, 2, 24)], [number; 2], 3, vec![]);
    let faults = cousins.refused("children that are no siblings", 2);
    assert!(faults.iter().all(|fault| matches!(fault, Fault::Constraint { table: Table::Bits, .. })), "{faults:?}");
    // Beyond the class: children 64 and 65 of height 2 start at 256.
    let number = Goldilocks::new(32);
    let beyond = Choice::of([statement(1, 2, 256), statement(2, 2, 260)], [number; 2], 3, vec![]);
    let faults = beyond.refused("children beyond the class", 1);
    assert!(matches!(faults[..], [Fault::Constraint { table: Table::Bits, .. }]));
}

#[test]
fn heights_are_those_of_nodes() {
    let unequal = Choice { statements: [statement(1, 2, 16), statement(2, 1, 20)], ..Choice::honest() };
    assert!(!unequal.faults().is_empty(), "children of other heights");
    // A merge that does not rise: the parent is the root, and the node has the height of the children, 2. No path would
    // make this hold.
    let level = Choice::of([statement(1, 2, 16), statement(2, 2, 20)], [Goldilocks::new(2); 2], 2, vec![]);
    let circuit = &WORLD.circuits[1];
    let mut columns = Choice { siblings: vec![Digest::ZERO; 61], ..level }.columns();
    for row in 0..circuit.rows(Table::Permutation) {
        if circuit.fixed(Table::Permutation, row)[permutation::INNER] == ONE {
            let row = columns.row_mut(circuit.tables(), Table::Permutation, row);
            // Keep the paths of the children's trees.
            if row[permutation::LEVEL].as_u64() < 2 << 20 {
                row[permutation::INDEX..].fill(ZERO);
            }
        }
    }
    let faults = refused("a merge that does not rise", circuit, &columns, 1);
    assert!(matches!(faults[..], [Fault::Tuple { .. }]));
    // Children of height 0, whose parent is the root.
    let lowest = Choice::of([statement(1, 0, 4), statement(2, 0, 5)], [Goldilocks::new(2); 2], 1, vec![]);
    assert_eq!(lowest.faults(), []);
    // A merge that states a lower or a higher node.
    for height in [4, 6] {
        let mut choice = Choice::honest();
        for (level, flag) in choice.flags.iter_mut().enumerate() {
            *flag = Goldilocks::new((level < height).into());
        }
        assert!(!choice.faults().is_empty(), "height {height}");
    }
    let mut rising = Choice::honest();
    (rising.flags[3], rising.flags[6]) = (ZERO, ONE);
    assert!(!rising.faults().is_empty(), "flags that rise again");
    let mut two = Choice::honest();
    two.flags[4] = Goldilocks::new(2);
    two.flags[3] = ZERO;
    assert!(!two.faults().is_empty(), "a flag that is no bit");
    let mut below = Choice::honest();
    (below.below[1], below.below[4]) = (ZERO, ONE);
    assert!(!below.faults().is_empty(), "flags of the children that rise again");
}

#[test]
fn roots_digests_and_keys_are_those_of_the_children() {
    let mut other = Choice::honest();
    other.siblings[1] = digest(9);
    other.refused("another root", 2);
    for side in 0..2 {
        let mut other = Choice::honest();
        other.canonicals[side].0[3] += ONE;
        assert!(!other.faults().is_empty(), "another d of child {side}");
        let mut other = Choice::honest();
        other.roots[side].0[0] += ONE;
        assert!(!other.faults().is_empty(), "another C of child {side}");
        let mut other = Choice::honest();
        other.circuits[side] = ONE;
        assert!(!other.faults().is_empty(), "a child of the other circuit");
        other.circuits[side] = Goldilocks::half();
        assert!(!other.faults().is_empty(), "a child of half a circuit");
    }
    let mut other = Choice::honest();
    other.key[0] += ONE;
    assert!(!other.faults().is_empty(), "children of another key");
}
