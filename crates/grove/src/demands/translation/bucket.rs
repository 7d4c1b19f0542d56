//! Lies about the slots of a bucket.

use super::*;

/// Elements of a message, and of a slot's leaf with its bit.
const MESSAGE: usize = 12;
const LEAF: usize = 9;

/// The place of a slot's message, and of its leaf.
fn message(slot: usize) -> usize {
    SLOTS + MESSAGE * slot
}
fn leaf(slot: usize) -> usize {
    // The sibling of the first leaf is in front of the second leaf.
    message(SIZE.capacity) + (LEAF + WORD) * slot
}

/// True if C and K are not those of the same slots.
fn is_false(subject: &Subject, _: &[Goldilocks], columns: &Columns) -> bool {
    let own = Stated::new(&published(subject, columns, WORDS));
    let slots = own.slots(&Known::new(subject, columns));
    slots.is_none_or(|slots| own.keccak != Some(translation::digest(own.base, &slots)))
}

/// C of slots from a position on.
fn root(base: u64, slots: [Option<Value>; 2]) -> Digest {
    root_of([0, 1].map(|i| slots[i].map_or(null_digest(0), |value| leaf_digest(base + i as u64, &value))))
}

/// Lies that are made one by one.
fn each(report: &mut Report) -> Subject {
    let circuit_set = circuit_set(&KeccakTree::Values);
    let parameters = parameters(&circuit_set);
    let claim = batches::claim(&parameters);
    let data = |base: u64, slots: [Option<Value>; 2]| {
        [bucket_data(SIZE, [ONE; 4], &statement(root(base, slots), base), &slots), claim.clone()].concat()
    };
    let one = [Some(value(BASE)), None];
    let subject = Subject::new(circuit_set.bucket(&parameters).finish(), data(BASE, one), is_false);
    assert!(!is_false(&subject, &subject.free, &subject.sound));
    report.of(&subject);
    let circuit = &subject.circuit;
    let lie = |free: Vec<Goldilocks>| Lie { free, ..Lie::new(&subject) };
    // Empty slots at 256 and 257.
    let mut beyond = data(0, [None; 2]);
    beyond[SLOTS - 1] = Goldilocks::new(2);
    for slot in 0..2 {
        beyond[leaf(slot)] = Goldilocks::new(256 + slot as u64);
    }
    lie(beyond).refused_by(report, "translation.rs: Bit: let bit: Base = b.bit().into();");
    // A leaf where nothing is, and nothing where a leaf is: C is that of the honest bucket.
    let node = u64::from(HEIGHT);
    for (slots, right, text) in [
        (
            [one[0], Some(value(BASE + 1))],
            true,
            "translation.rs: Node: let active: Base = b.node(tree, leaf.digest(), zero, index, None).into();",
        ),
        ([None; 2], false, "translation.rs: Node: b.node(tree, empty, zero, index, Some(not));"),
    ] {
        let mut free = data(BASE, slots);
        free[..WORD].copy_from_slice(&root(BASE, one).0);
        lie(free)
            .change(|columns| {
                with_paths_of(circuit, columns, &subject.sound);
                unused(circuit, columns, (node, BASE >> HEIGHT), right);
            })
            .refused_by(report, text);
    }
    // The tree has a leaf with more behind its value.
    let mut behind = data(BASE, one);
    behind[leaf(0) + 6] = ONE;
    let digest = chained(behind[leaf(0)..].first_chunk().unwrap());
    behind[..WORD].copy_from_slice(&root_of([digest, null_digest(0)]).0);
    lie(behind).refused_by(report, "translation.rs: Equation: b.no_limbs(second, 1..WORD);");
    // K of another value, of another position, of a message with another padding, and of a value plus p.
    let low = message(0) + 4;
    let half = subject.free[low];
    for (changes, text) in [
        (vec![(low, half + ONE)], "equal(b, value, from_halves);"),
        (vec![(message(0), ONE)], "choose(b, active, [null_halves, own], given);"),
        (vec![(message(0) + MESSAGE - 2, ZERO)], "equal(b, padding, active.into());"),
        (
            vec![(low, half + ONE), (low + 1, translation::MAX_HALF)],
            "b.check([ONE, ZERO, ZERO], low.into(), is_max.into(), zero.into(), zero.into());",
        ),
        // An empty slot with a value.
        (vec![(message(1) + 4, ONE), (leaf(1) + 2, ONE)], "only_if(b, active, value);"),
    ] {
        let mut free = subject.free.clone();
        changes.into_iter().for_each(|(at, x)| free[at] = x);
        lie(free).refused_by(report, &format!("translation.rs: Equation: {text}"));
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
