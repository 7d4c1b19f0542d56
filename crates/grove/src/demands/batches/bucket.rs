//! Lies about buckets.

use super::*;

/// Elements of a hash of d: two operands and a bit.
const HASH: usize = 2 * WORD + 1;

/// A circuit's slot for a leaf.
#[derive(Clone)]
struct Slot {
    leaf: [Goldilocks; 8],
    active: bool,
    siblings: Vec<Digest>,
}

impl Slot {
    fn of(position: u64) -> Self {
        Self { leaf: leaf(position), active: true, siblings: TREE.siblings(0, position, SIZE.height_max) }
    }
    fn idle() -> Self {
        Self { leaf: [ZERO; 8], active: false, siblings: Vec::new() }
    }
}

/// What a prover chooses, for the node at the top of a class.
#[derive(Clone)]
struct Choice {
    root: Digest,
    number: Goldilocks,
    flags: [Goldilocks; SIZE.height_max as usize],
    slots: Vec<Slot>,
}

impl Choice {
    fn of(slots: &[Slot]) -> Self {
        let mut slots = slots.to_vec();
        slots.resize(SIZE.capacity, Slot::idle());
        Self { root: TREE.node(SIZE.height_max, 0), number: ZERO, flags: flags(SIZE.height_max.into()), slots }
    }
    /// The right leaf below a node of height 1, with a path in the free data of this length.
    fn low(number: Goldilocks, leaf: [Goldilocks; 8], halves: [Digest; 2], path: usize) -> Self {
        let slot = Slot { leaf, active: true, siblings: vec![halves[0]; path] };
        Self { root: node_digest(&halves[0], &halves[1]), number, flags: flags(1), ..Self::of(&[slot]) }
    }
    /// The free data. d is the chain of the active leaves: the shape of d is free.
    fn data(&self, claim: &[Goldilocks]) -> Vec<Goldilocks> {
        let digests: Vec<Digest> =
            self.slots.iter().filter(|slot| slot.active).map(|slot| chained(&slot.leaf)).collect();
        let mut hashes: Vec<Option<[Digest; 2]>> = Vec::new();
        let canonical = digests[1..].iter().fold(digests[0], |left, &right| {
            hashes.push(Some([left, right]));
            node_digest(&left, &right)
        });
        hashes.resize(SIZE.capacity - 1, None);
        let mut free = [self.root.0, canonical.0, [ONE; WORD], [self.number, ZERO, ZERO, ZERO]].concat();
        free.extend(self.flags);
        let mut known = BTreeSet::new();
        for (i, slot) in self.slots.iter().enumerate() {
            free.extend(slot.leaf);
            if i > 0 {
                free.push(Goldilocks::new(slot.active.into()));
            }
            if slot.active {
                crate::witness::path(&mut free, &mut known, slot.leaf[0].as_u64(), &slot.siblings);
            }
        }
        for hash in hashes {
            free.extend(hash.unwrap_or([Digest::ZERO; 2]).iter().flat_map(|digest| digest.0));
            free.push(Goldilocks::new(hash.is_some().into()));
        }
        free.extend(claim);
        free
    }
}

/// True if a statement is false.
fn is_false(subject: &Subject, _: &[Goldilocks], columns: &Columns) -> bool {
    let Some(statement) = statement(&published(subject, columns, WORDS)) else { return true };
    let known = Known::new(subject, columns);
    let Some(leaves) = known.leaves_of(&statement.canonical) else { return true };
    let positions: BTreeSet<u64> = leaves.iter().map(|(position, _)| *position).collect();
    positions.len() < leaves.len()
        || leaves.iter().any(|(position, leaf)| known.at(&statement, 0, *position) != Some(*leaf))
}

/// Lies that are made one by one.
fn each(report: &mut Report) -> Subject {
    let circuit_set = CircuitSet::of_batches(SIZE);
    let parameters = parameters(&circuit_set);
    let claim = claim(&parameters);
    let honest = Choice::of(&FILLED.map(Slot::of));
    let subject = Subject::new(circuit_set.bucket(&parameters).finish(), honest.data(&claim), is_false);
    assert!(!is_false(&subject, &subject.free, &subject.sound));
    report.of(&subject);
    let lie_of = |free: Vec<Goldilocks>| Lie { free, ..Lie::new(&subject) };
    let lie = |choice: &Choice| lie_of(choice.data(&claim));
    // A leaf twice.
    let twice = [Slot::of(69), Slot::of(69)];
    lie(&Choice::of(&twice)).refused_by(report, "circuit.rs: Zeros: b.zeros(gap, size.zeros());");
    let apart = [Slot::of(69), Slot::idle(), Slot::of(69)];
    lie(&Choice::of(&apart)).refused_by(report, "circuit.rs: Equation: implies(b, active, before);");
    // The tree has a leaf with more behind its value.
    let mut behind = Slot::of(69);
    behind.leaf[5] = ONE;
    let root = root_of_path(chained(&behind.leaf), 69, &behind.siblings);
    lie(&Choice { root, ..Choice::of(&[behind]) })
        .refused_by(report, "circuit.rs: Equation: b.no_limbs(second, 1..4);");
    // A leaf that is not in the tree, and no path of it: as the first one, and as the second one.
    let paths = |position: u64| subject.columns(&Choice::of(&[Slot::of(position)]).data(&claim), &Choices::new());
    let paths = paths(69);
    let paths = |columns: &mut Columns| with_paths_of(&subject.circuit, columns, &paths);
    lie(&Choice::of(&[Slot::of(7), Slot::of(69)]))
        .change(paths)
        .refused_by(report, "circuit.rs: Node: None => b.node(tree, leaf.digest(), zero, index, Some(yes)),");
    lie(&Choice::of(&[Slot::of(69), Slot::of(80)]))
        .change(paths)
        .refused_by(report, "circuit.rs: Node: let active = b.node(tree, leaf.digest(), zero, index, None);");
    // d is the hash of the leaf at 69 and of a digest that is not that of a leaf.
    for (side, text) in [(0, "let active = b.take(set, left, None);"), (1, "b.take(set, right, Some(active));")] {
        let mut halves = [chained(&leaf(69)); 2];
        halves[side] = Digest([Goldilocks::new(7); WORD]);
        let mut free = Choice::of(&[Slot::of(69)]).data(&claim);
        free[WORD..2 * WORD].copy_from_slice(&node_digest(&halves[0], &halves[1]).0);
        let hash = free.len() - claim.len() - HASH * (SIZE.capacity - 1);
        free[hash..hash + HASH].copy_from_slice(&[&halves[0].0[..], &halves[1].0, &[ONE]].concat());
        lie_of(free).refused_by(report, &format!("circuit.rs: Set: {text}"));
    }
    // The flags 1 and -1 give the height 0 and the size 0: the leaf at 69 below the node at 0.
    let mut lone = Choice { root: chained(&leaf(69)), number: Goldilocks::new(69), ..Choice::of(&[Slot::of(69)]) };
    lone.flags = flags(1);
    lone.flags[1] = -ONE;
    lone.slots[0].siblings.clear();
    lie(&lone).refused_by(report, "circuit.rs: Bit: let flags: Vec<Bool> = (0..most).map(|_| b.bit()).collect();");
    // The right leaf of a node with a number of no node: 128, and -1, whose path is made by hand.
    for (number, path, text) in [(Goldilocks::new(128), 1, "left"), (-ONE, 64, "index")] {
        let own = [&[Goldilocks::new(2) * number + ONE], &leaf(69)[1..]].concat().try_into().unwrap();
        let halves = [TREE.node(0, 3), chained(&own)];
        lie(&Choice::low(number, own, halves, path))
            .change(|columns| with_right_leaf(&subject.circuit, columns, number, halves))
            .refused_by(report, &format!("circuit.rs: Zeros: b.zeros({text}, size.zeros());"));
    }
    subject
}

#[test]
fn the_line_of_each_lie_about_a_bucket_alone_refuses_it() {
    let mut report = Report::new(argued::BUCKET);
    let subject = each(&mut report);
    report.search(&subject);
    judge("bucket", &report);
}
