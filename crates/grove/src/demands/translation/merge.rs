//! Lies about the relation between the statements of two children and that of their merge.

use super::*;

/// The places of the free data: number, flags, C of both sides as used, K of both as used, C as stated, K as stated,
/// places, circuits, bits of empty sides.
const INDEX: usize = WORD;
const FLAGS: usize = 2 * WORD;
pub(super) const ROOTS: usize = FLAGS + SIZE.height_max as usize;

/// What a prover chooses.
#[derive(Clone)]
pub(super) struct Choice {
    pub(super) height: u8,
    /// The numbers that follow are those of the node of this height and position.
    pub(super) base: u64,
    pub(super) children: [(Statement, KeccakDigest); 2],
    pub(super) empty: [bool; 2],
}

impl Choice {
    /// The node of height 3 at 16, with both children.
    pub(super) fn honest() -> Self {
        let child = |x: u64, base: u64| {
            let root = Digest([x, 7, 7, 7].map(Goldilocks::new));
            (Statement { root, canonical: Digest::ZERO, height: 2, base }, [x as u8; 32])
        };
        Self { height: 3, base: 16, children: [child(1, 16), child(2, 20)], empty: [false; 2] }
    }
    /// The children have these heights and positions.
    pub(super) fn at(mut self, places: [(u8, u64); 2]) -> Self {
        for ((child, _), (height, base)) in self.children.iter_mut().zip(places) {
            (child.height, child.base) = (height, base);
        }
        self
    }
    pub(super) fn data(&self, of: &KeccakTree, claim: &[Goldilocks]) -> Vec<Goldilocks> {
        let outputs = self.children.map(|(_, digest)| to_elements(&digest));
        let side = |i: usize| Side { stated: (&self.children[i].0, &outputs[i]), merge: false, empty: self.empty[i] };
        let own = Statement { height: self.height, base: self.base, ..self.children[0].0 };
        let (free, _) = merge_data(SIZE, [ONE; WORD], &own, of, [side(0), side(1)]);
        [&free, claim].concat()
    }
}

/// Writes a number and flags into free data.
pub(super) fn with_flags(free: &mut [Goldilocks], number: i64, flags: [i64; SIZE.height_max as usize]) {
    free[INDEX] = integer(number);
    free[FLAGS..ROOTS].copy_from_slice(&flags.map(integer));
}

/// True if what a merge states does not follow from the statements of its children.
pub(super) fn is_false(subject: &Subject, columns: &Columns, values: bool) -> bool {
    let words = published(subject, columns, 3 * WORDS);
    let [own, left, right] = [0, 1, 2].map(|i| Stated::new(&words[WORDS * i..][..WORDS]));
    if own.height == 0 || !own.is_node() {
        return true;
    }
    let below = own.height - 1;
    // What the digests of a side may be: those of its proof, or those of an empty subtree.
    let options = |side: Stated, base: u64| {
        let null = null_digests(below as u8)[below as usize];
        let empty = values.then(|| keccak_tree::null_digests(below as u8).last().unwrap());
        let stated = side.keccak.filter(|_| (side.height, side.base) == (below, base));
        [Some((null, empty)), stated.map(|digest| (side.root, Some(digest)))].into_iter().flatten().collect::<Vec<_>>()
    };
    let (left, right) = (options(left, own.base), options(right, own.base + (1 << below)));
    let mut pairs = left.iter().flat_map(|left| right.iter().map(move |right| (left, right)));
    !pairs.any(|(left, right)| {
        let keccak = if values {
            left.1.zip(right.1).map(|(left, right)| keccak_tree::node_digest(&left, &right))
        } else {
            evergrove_verifier::openzeppelin::parent(left.1, right.1)
        };
        own.root == root_of([left.0, right.0]) && keccak.is_some() && own.keccak == keccak
    })
}

/// The circuit that publishes the statements of the merge and of its children.
pub(super) fn subject(
    report: &mut Report,
    of: &KeccakTree,
    rule: fn(&Subject, &[Goldilocks], &Columns) -> bool,
) -> (Subject, Vec<Goldilocks>) {
    let parameters = parameters(&circuit_set(of));
    let claim = batches::claim(&parameters);
    let mut builder = Builder::new(parameters.tables().clone());
    let Merge { key, children: [left, right], own, .. } = translation::relation(&mut builder, SIZE, of);
    Children::new(&mut builder, &parameters, key).publish([own, left, right].concat());
    let subject = Subject::new(builder.finish(), Choice::honest().data(of, &claim), rule);
    assert!(!rule(&subject, &subject.free, &subject.sound));
    report.of(&subject);
    (subject, claim)
}

/// Lies about heights, numbers and places, and about C.
pub(super) fn places(report: &mut Report, subject: &Subject, of: &KeccakTree, claim: &[Goldilocks]) {
    let honest = Choice::honest();
    let lie = |free: Vec<Goldilocks>| Lie { free, ..Lie::new(subject) };
    // Flags 1, 1, 1 and -1 give the height 2 and the size 0: the same child twice.
    let mut twice = Choice { height: 2, base: 0, ..honest.clone() };
    twice.children[1] = twice.children[0];
    let mut free = twice.at([(1, 0); 2]).data(of, claim);
    with_flags(&mut free, 0, [1, 1, 1, -1, 0, 0, 0, 0]);
    lie(free).refused_by(report, "circuit.rs: Bit: let flags: Vec<Bool> = (0..most).map(|_| b.bit()).collect();");
    // Flags that skip a height: the second child is at 3.
    let mut free = Choice { height: 2, base: 0, ..honest.clone() }.at([(1, 0), (1, 3)]).data(of, claim);
    with_flags(&mut free, 0, [1, 0, 1, 0, 0, 0, 0, 0]);
    lie(free).refused_by(report, "circuit.rs: Equation: implies(b, pair[1], pair[0]);");
    // Nodes with numbers of no node.
    for (number, text) in [(128, "left"), (-1, "index")] {
        let own = Choice { height: 1, base: 0, ..honest.clone() };
        let mut own = own.at([(0, 0); 2]).data(of, claim);
        with_flags(&mut own, number, [1, 0, 0, 0, 0, 0, 0, 0]);
        let places = own.len() - claim.len() - PLACES_FROM_END - behind(of);
        own[places] = ZERO;
        own[places + 1] = integer(2 * number);
        own[places + WORD] = ZERO;
        own[places + WORD + 1] = integer(2 * number + 1);
        lie(own).refused_by(report, &format!("circuit.rs: Zeros: b.zeros({text}, size.zeros());"));
    }
    // A child elsewhere.
    let free = honest.at([(2, 24), (2, 20)]).data(of, claim);
    lie(free).refused_by(report, "translation.rs: Equation: equal(b, here.into(), zero.into());");
    // C of no proof.
    let mut free = subject.free.clone();
    free[ROOTS] += ONE;
    lie(free).refused_by(report, "translation.rs: Equation: choose(b, nothing, [found, null], used);");
}

/// The line that refuses children of a leaf.
pub(super) const LOWEST: &str = "translation.rs: Equation: equal(b, Base::from(node.flags[0]).into(), one.into());";

/// Elements from the places of both children to the end of the bits of empty sides.
pub(super) const PLACES_FROM_END: usize = 2 * WORD + 4;

/// Elements behind those bits: the node of OpenZeppelin's tree.
pub(super) fn behind(of: &KeccakTree) -> usize {
    if *of == KeccakTree::Values { 0 } else { openzeppelin::NODE }
}

/// Lies that are made one by one.
fn each(report: &mut Report) -> Subject {
    let of = KeccakTree::Values;
    let (subject, claim) = subject(report, &of, |subject, _, columns| is_false(subject, columns, true));
    places(report, &subject, &of, &claim);
    let lie = |free: Vec<Goldilocks>| Lie { free, ..Lie::new(&subject) };
    let sides = ROOTS + 2 * WORD;
    // Empty children of a leaf.
    let nothing = Choice { height: 1, base: 16, empty: [true; 2], ..Choice::honest() };
    let mut free = nothing.data(&of, &claim);
    with_flags(&mut free, 16, [0; 8]);
    free[ROOTS..sides + 4 * WORD].fill(ZERO);
    lie(free).refused_by(report, LOWEST);
    // A side that is empty twice: its digests are two times those of an empty subtree, less those that are stated.
    let mut double = Choice::honest();
    let null = keccak_tree::null_digests(2).last().unwrap();
    double.children[0].1 = null;
    let mut free = double.data(&of, &claim);
    let bits = free.len() - claim.len() - 2;
    free[bits] = Goldilocks::new(2);
    let (empty, stated) = (null_digests(2)[2], double.children[0].0.root);
    for i in 0..WORD {
        free[ROOTS + i] = empty.0[i] + empty.0[i] - stated.0[i];
    }
    lie(free).refused_by(report, "translation.rs: Bit: let empty: [Bool; 2] = core::array::from_fn(|_| b.bit());");
    subject
}

#[test]
fn the_line_of_each_lie_about_a_merge_alone_refuses_it() {
    let mut report = Report::new(&[]);
    let subject = each(&mut report);
    report.search(&subject);
    judge("merge", &report);
}
