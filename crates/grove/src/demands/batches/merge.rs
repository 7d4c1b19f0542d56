//! Lies about merges: about the relation between the statements of the children and that of the merge. The circuits of
//! these tests publish all three, and verify no proofs.

use super::*;
use crate::circuit::Merge;
use evergrove_multilinear::circuit::Builder;
use evergrove_multilinear::recursion::Children;

/// What a prover chooses.
#[derive(Clone)]
struct Choice {
    root: Digest,
    /// Those of the node and of the parent.
    numbers: [Goldilocks; 2],
    flags: [Goldilocks; SIZE.height_max as usize],
    roots: [Digest; 2],
    below: [Goldilocks; SIZE.height_max as usize - 1],
    /// The parent, and the height of the node.
    parent: (u8, u64),
    top: u8,
    /// In complete batches the bits of the path, from the top, and the nodes beside it: height and number.
    turns: [Goldilocks; SIZE.height_max as usize - 1],
    beside: Vec<(u8, u64)>,
}

impl Choice {
    /// The children of the parent with this height and number, below the node of a height.
    fn of((parent, number): (u8, u64), top: u8) -> Self {
        let own = number >> (top - parent);
        let position = number << parent;
        Self {
            root: TREE.node(top, own),
            numbers: [own, number].map(Goldilocks::new),
            flags: flags(top.into()),
            roots: [2 * number, 2 * number + 1].map(|number| TREE.node(parent - 1, number)),
            below: flags(usize::from(parent) - 1),
            parent: (parent, number),
            top,
            turns: core::array::from_fn(|i| Goldilocks::new(position >> (7 - i) & 1)),
            beside: (parent..top).map(|level| (level, (position >> level) ^ 1)).collect(),
        }
    }
    fn data(&self, complete: bool, claim: &[Goldilocks]) -> Vec<Goldilocks> {
        let numbers = [self.numbers[0], self.numbers[1], ZERO, ZERO];
        let mut free = [self.root.0, [ONE; WORD], numbers, [ZERO; WORD]].concat();
        free.extend(self.flags);
        free.extend(self.roots.iter().flat_map(|digest| digest.0));
        if !complete {
            free.extend([1, 2].map(|x| [Goldilocks::new(x); WORD]).concat());
        }
        free.extend([ZERO; 2]);
        free.extend(self.below);
        let mut known = BTreeSet::new();
        climb(&mut free, &mut known, self.parent, self.top);
        if complete {
            free.extend(self.turns);
            self.beside.iter().for_each(|&node| climb(&mut free, &mut known, node, self.top));
        }
        free.extend(claim);
        free
    }
}

/// True if a merge relates statements that it must not relate.
fn is_false(subject: &Subject, columns: &Columns, complete: bool) -> bool {
    let words = published(subject, columns, 3 * WORDS);
    let [own, left, right] = [0, 1, 2].map(|i| statement(&words[WORDS * i..][..WORDS]));
    let (Some(own), Some(left), Some(right)) = (own, left, right) else { return true };
    if !complete && own.canonical != node_digest(&left.canonical, &right.canonical) {
        return true;
    }
    let size = 1 << left.height;
    let parent = left.base / (2 * size);
    if left.base != 2 * size * parent || right.base != left.base + size {
        return true;
    }
    let known = Known::new(subject, columns);
    let digest = node_digest(&left.root, &right.root);
    let beside = |level: u8| {
        let sibling = (parent >> (level - left.height - 1)) ^ 1;
        known.at(&own, level, sibling) != Some(null_digests(level)[usize::from(level)])
    };
    known.at(&own, left.height + 1, parent) != Some(digest) || complete && (left.height + 1..own.height).any(beside)
}

/// The circuit for an honest merge of the children of the node of height 3 with number 8, below that of height 5.
fn subject(report: &mut Report, complete: bool) -> (Subject, Vec<Goldilocks>) {
    let circuit_set = CircuitSet { complete, ..CircuitSet::of_batches(SIZE) };
    let parameters = parameters(&circuit_set);
    let mut builder = Builder::new(parameters.tables().clone());
    let Merge { key, children: [left, right], own, .. } = circuit_set.relation(&mut builder);
    Children::new(&mut builder, &parameters, key).publish([own, left, right].concat());
    let claim = claim(&parameters);
    let rule: fn(&Subject, &[Goldilocks], &Columns) -> bool = if complete {
        |subject, _, columns| is_false(subject, columns, true)
    } else {
        |subject, _, columns| is_false(subject, columns, false)
    };
    let subject = Subject::new(builder.finish(), Choice::of((3, 8), 5).data(complete, &claim), rule);
    assert!(!rule(&subject, &subject.free, &subject.sound));
    report.of(&subject);
    (subject, claim)
}

const FLAG: &str = "circuit.rs: Bit: let flags: Vec<Bool> = (0..most).map(|_| b.bit()).collect();";
const PARENT: &str = "circuit.rs: Node: b.node(tree, parent.digest(), parent_height, parent_index, Some(yes));";

/// Lies about merges of batches that are made one by one.
fn each(report: &mut Report) -> Subject {
    let (subject, claim) = subject(report, false);
    let lie = |choice: &Choice| Lie { free: choice.data(false, &claim), ..Lie::new(&subject) };
    // Children that the root does not contain.
    let stray = Choice { roots: [TREE.node(2, 16); 2], ..Choice::of((3, 8), 5) };
    lie(&stray).change(|columns| without_paths(&subject.circuit, columns)).refused_by(report, PARENT);
    // The flags 1 and -1 of the children give the height 0 and the size 0: the leaves at 68 and 69, both at 0.
    let mut lone = Choice::of((1, 34), 1);
    lone.below[..2].copy_from_slice(&[ONE, -ONE]);
    lie(&lone).refused_by(report, FLAG);
    // Children below nodes with numbers of no node: -1, and 128.
    for (number, text) in [(-ONE, "index"), (Goldilocks::new(128), "left")] {
        let beyond = Choice { numbers: [number; 2], ..Choice::of((1, 34), 1) };
        lie(&beyond).refused_by(report, &format!("circuit.rs: Zeros: b.zeros({text}, size.zeros());"));
    }
    subject
}

/// Lies about merges of complete batches that are made one by one.
fn each_complete(report: &mut Report) -> Subject {
    let (subject, claim) = subject(report, true);
    let circuit = &subject.circuit;
    let lie = |choice: &Choice| Lie { free: choice.data(true, &claim), ..Lie::new(&subject) };
    let own = Choice::of((3, 8), 5);
    // Children that the root does not contain: the paths are of what is beside them.
    let stray = Choice { roots: [TREE.node(2, 16); 2], ..own.clone() };
    lie(&stray)
        .change(|columns| {
            with_paths_of(circuit, columns, &subject.sound);
            unused(circuit, columns, (4, 4), false);
        })
        .refused_by(report, PARENT);
    // Flags of 1, 1 and -1 give the height 1 and the size 0, those of the children the height 0 and the size 0: the
    // leaves at 68 and 69, both at 0.
    let mut lone = Choice { turns: [ZERO; 7], ..Choice::of((1, 34), 1) };
    lone.flags[..3].copy_from_slice(&[ONE, ONE, -ONE]);
    lone.below[..2].copy_from_slice(&[ONE, -ONE]);
    lie(&lone).refused_by(report, FLAG);
    // The children of the empty node beside the one that has the leaf.
    let beside = Choice { turns: own.turns, ..Choice::of((3, 9), 5) };
    lie(&beside).refused_by(
        report,
        "block.rs: Equation: b.check([ONE, ZERO, ZERO], parent.into(), size.into(), zero.into(), path.index.into());",
    );
    // There are leaves beside the path, below the node of height 5 with number 3.
    let all = Choice::of((3, 8), 8);
    lie(&all)
        .change(|columns| {
            with_paths_of(circuit, columns, &subject.columns(&all.data(true, &claim), &Choices::new()));
            unused(circuit, columns, (6, 1), true);
        })
        .refused_by(report, "block.rs: Node: b.node(tree, null, height, index, Some(active));");
    // Flags of the children that skip this height, and the lowest one.
    let mut skipped = all.clone();
    skipped.below = [ZERO, ONE, ZERO, ZERO, ONE, ZERO, ZERO];
    skipped.beside = vec![(1, 33), (3, 9), (4, 5), (6, 0), (7, 1)];
    lie(&skipped).refused_by(report, "circuit.rs: Equation: implies(b, pair[1], pair[0]);");
    // Turns that are not bits lead to an empty parent, beside the empty node of height 4 that contains it.
    let mut turned = Choice::of((3, 10), 5);
    let sixteenth = Goldilocks::new(16).inverse().unwrap();
    turned.turns = [9, 0, 0, 8, 0, 0, 0].map(|x| Goldilocks::new(x) * sixteenth);
    turned.beside = vec![(3, 11), (4, 5)];
    lie(&turned).refused_by(report, "block.rs: Bit: let bit: Base = b.bit().into();");
    subject
}

#[test]
fn the_line_of_each_lie_about_a_merge_alone_refuses_it() {
    let mut report = Report::new(argued::MERGE);
    let subject = each(&mut report);
    report.search(&subject);
    judge("merge", &report);
}

#[test]
fn the_line_of_each_lie_about_a_merge_of_complete_batches_alone_refuses_it() {
    let mut report = Report::new(argued::COMPLETE_MERGE);
    let subject = each_complete(&mut report);
    report.search(&subject);
    judge("complete_merge", &report);
}
