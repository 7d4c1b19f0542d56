//! Lies about the lists of joins. The circuits of these tests publish the lists of both proofs too, and verify none.

use std::collections::BTreeSet;

use evergrove_primitives::Digest;
use evergrove_verifier::poseidon::digest;

use super::super::gadgets::ZERO;
use super::super::list::{List, Sublist, list_of};
use super::super::{Joined, Lists, joined_joins, joined_pieces};
use super::*;

/// The free data begin with six words and three bits. Then come the steps: six words, two bits, and for each side a bit
/// and a number.
const STEPS: usize = 6 * WORD + 3;
const STEP: usize = 6 * WORD + 6;
/// The places of a step's part and of its bits.
const PART: usize = 4 * WORD;
const ONLY: usize = 6 * WORD;

/// A proof, or a join: the list of edges that it shows if those of a second list are true.
type Shown = [Digest; 2];

/// Elements behind the steps: the key with a word, and a bit for the circuit of each proof.
const END: usize = 2 * WORD + 2;

/// Free data of a join of joins: the lists of both proofs and of the join; the bits for below, alone and a part; the
/// steps.
fn data(proofs: [Shown; 2], own: Shown, bits: [i64; 3], part: &Sublist) -> Vec<Goldilocks> {
    let [[a, b], [c, d]] = proofs;
    let mut free: Vec<Goldilocks> = [a, c, b, d, own[0], own[1]].iter().flat_map(|word| word.0).collect();
    free.extend(bits.map(integer));
    free.extend(part.data());
    free.extend([ZERO; END]);
    free
}

/// A join's circuit, which publishes the lists of both proofs and of the join.
fn circuit(join: fn(&mut Builder<Quadratic>) -> Joined) -> Circuit<Quadratic> {
    let mut b = Builder::new(tables());
    let Joined { lists: Lists { proofs, own }, .. } = join(&mut b);
    let tag = b.tag(LIST_TAG);
    let hash = b.hash(tag, own);
    let hash = proofs.into_iter().fold(hash, |hash, proof| b.hash(hash, proof));
    b.publish(hash);
    b.finish()
}

/// The members of a list: nothing for 0, itself for a digest of which nothing is known.
fn members(known: &HashMap<Digest, [Digest; 2]>, list: Digest, all: &mut BTreeSet<[u64; WORD]>) {
    match known.get(&list) {
        Some(halves) => halves.iter().for_each(|half| members(known, *half, all)),
        None if list == Digest::ZERO => {}
        None => drop(all.insert(list.0.map(Goldilocks::as_u64))),
    }
}

/// True if what a join shows does not follow from its proofs and its second list.
fn is_false(subject: &Subject, free: &[Goldilocks], columns: &Columns) -> bool {
    let rows = (0..subject.circuit.rows(Table::Permutation))
        .map(|row| columns.row(subject.circuit.tables(), Table::Permutation, row));
    let word = |row: &[Goldilocks], at: usize| Digest(row[WORD * at..][..WORD].try_into().unwrap());
    let lists = rows.filter(|row| row[2 * WORD..3 * WORD] == [LIST_TAG, ZERO, ZERO, ZERO]);
    let known =
        lists.map(|row| (Digest(digest(row[..12].try_into().unwrap())), [word(row, 0), word(row, 1)])).collect();
    let of = |at: usize| {
        let mut all = BTreeSet::new();
        members(&known, word(free, at), &mut all);
        all
    };
    let mut shown = of(5);
    for _ in 0..2 {
        for proof in 0..2 {
            if of(2 + proof).is_subset(&shown) {
                shown.extend(of(proof));
            }
        }
    }
    !of(4).is_subset(&shown)
}

fn edges(count: u8) -> Vec<Edge> {
    let edge = |i| Edge { trie: super::super::Trie::State, prefix: vec![i], hash: [i; 32], digest: Digest::ZERO };
    (0..count).map(edge).collect()
}

fn digests<const N: usize>() -> [Digest; N] {
    core::array::from_fn(|i| Digest([3 * i as u64 + 1, 7, 5, 9].map(Goldilocks::new)))
}

/// Lies that are made one by one.
fn each(report: &mut Report) -> Subject {
    let [a, c, d, e] = digests();
    let none = Digest::ZERO;
    // The first proof leaves two of four edges open.
    let edges = edges(4);
    let list = List::of_edges(&edges);
    let (part, steps) = list.part(&|edge| edge.prefix[0] != 1 && edge.prefix[0] != 2).unwrap();
    let in_part = [[a, part.digest], [list.digest, c]];
    let honest = data(in_part, [a, c], [1, 0, 1], &steps);
    let subject = Subject::new(circuit(joined_joins), honest, is_false);
    // The join of two proofs of pieces has the same lines, except those of parts and of the circuits of its proofs.
    let words = [a, c, none, none, list_of(&a, &c), none].into_iter().flat_map(|word| word.0);
    let pieces: Vec<Goldilocks> = words.chain([ZERO; 2 + 2 * WORD]).collect();
    let pieces = Subject::new(circuit(joined_pieces), pieces, is_false);
    for subject in [&subject, &pieces] {
        assert!(!is_false(subject, &subject.free, &subject.sound));
        report.of(subject);
    }
    let idle = Sublist::default();
    let (below, beside, alone) = ([1, 0, 0], [0; 3], [0, 1, 0]);
    let both = list_of(&a, &c);
    for (text, proofs, own, bits) in [
        ("alone, own[0], shown[0]", [[a, c], [d, e]], [e, c], alone),
        ("alone, own[1], open[0]", [[a, c], [d, e]], [a, none], alone),
        ("below, own[0], shown[0]", [[a, c], [c, d]], [e, d], below),
        ("below, own[1], open[1]", [[a, c], [c, d]], [a, none], below),
        ("all, open[0], shown[1]", [[a, c], [d, e]], [a, e], below),
        ("beside, own[0], both.digest()", [[a, none], [c, none]], [d, none], beside),
        ("beside, word, none", [[a, d], [c, none]], [both, none], beside),
    ] {
        Lie { free: data(proofs, own, bits, &idle), ..Lie::new(&subject) }
            .refused_by(report, &format!("mpt.rs: Set: same_word(b, {text});"));
    }
    // A part of another list, and another part.
    for (proofs, text) in [
        ([[a, part.digest], [d, c]], "lists, number, one, list"),
        ([[a, d], [list.digest, c]], "parts, number, one, part"),
    ] {
        Lie { free: data(proofs, [a, c], [1, 0, 1], &steps), ..Lie::new(&subject) }
            .refused_by(report, &format!("list.rs: LookUp: b.look_up({text}, bit);"));
    }
    // A step about the list of two edges takes the first one, or both: but its part is something else.
    let pair = List::of_edges(&edges[..2]);
    let (first, step) = pair.part(&|edge| edge.prefix[0] == 0).unwrap();
    let lie = |part: Digest| {
        let free = data([[a, part], [pair.digest, c]], [a, c], [1, 0, 1], &step);
        Lie { free, ..Lie::new(&subject) }
    };
    assert_ne!(first.digest, d);
    lie(d).set(STEPS + PART, &d.0).refused_by(report, "list.rs: Set: same_word(b, bit, part, kept);");
    lie(d)
        .set(STEPS + PART, &d.0)
        .set(STEPS + ONLY, &[ZERO; 2])
        .refused_by(report, "list.rs: Set: same_word(b, two, part, both.digest());");
    // Something else is kept of the first side.
    lie(d)
        .set(STEPS + PART, &d.0)
        .set(STEPS + 2 * WORD, &d.0)
        .refused_by(report, "list.rs: Set: same_word(b, all, side, kept);");
    subject
}

#[test]
fn the_line_of_each_lie_about_a_join_alone_refuses_it() {
    let mut report = Report::new(argued::JOINS);
    let subject = each(&mut report);
    // Most steps are the same.
    let end = subject.free.len() - END;
    for at in (0..STEPS + 3 * STEP).chain(end..subject.free.len()) {
        for x in others(subject.free[at]) {
            report.add(Lie::new(&subject).set(at, &[x]).alone());
        }
    }
    insta::assert_snapshot!("joins", report.text());
    report.check();
}
