//! Tests of the lists of joins alone: true parts are accepted, and anything else is refused, whatever values a prover
//! sets.

use evergrove_multilinear::circuit::Circuit;
use evergrove_primitives::field::Quadratic;
use evergrove_verifier::tables::{Tables, bits, query};

use super::super::{Lists, lists};
use super::*;

/// Free elements of one step.
const STEP: usize = 24 + 2 + 4;
/// Free elements before the steps: six words, three bits.
const STEPS: usize = 24 + 3;

fn join(parts: bool) -> Circuit<Quadratic> {
    let tables =
        Tables::new(query::Parameters { bits: 6, variables: 3 }, bits::Parameters::new(Vec::new(), Vec::new()));
    let mut b = Builder::new(tables);
    let Lists { proofs, own } = lists(&mut b, parts);
    let tag = b.tag(LIST_TAG);
    let hash = b.hash(tag, own);
    let hash = proofs.into_iter().fold(hash, |hash, proof| b.hash(hash, proof));
    b.publish(hash);
    b.finish()
}

fn edges(count: u8) -> Vec<Edge> {
    let edge =
        |i| Edge { trie: super::super::Trie::State, prefix: vec![i / 16, i % 16], hash: [i; 32], digest: Digest::ZERO };
    (0..count).map(edge).collect()
}

/// Free data: the lists of both proofs and of the join; the bits for below, alone and a part; the steps.
fn data(
    shown: [Digest; 2],
    open: [Digest; 2],
    own: [Digest; 2],
    bits: [bool; 3],
    part: Option<&Sublist>,
) -> Vec<Goldilocks> {
    let mut free: Vec<Goldilocks> = [shown, open, own].as_flattened().iter().flat_map(|word| word.0).collect();
    free.extend(bits[..if part.is_some() { 3 } else { 2 }].iter().map(|&bit| Goldilocks::new(bit.into())));
    free.extend(part.map(Sublist::data).unwrap_or_default());
    free
}

fn holds(circuit: &Circuit<Quadratic>, free: &[Goldilocks]) -> bool {
    circuit.witness(free).unwrap().faults(circuit).is_empty()
}

fn words(count: u64) -> Vec<Digest> {
    (0..count).map(|i| Digest([3 * i + 1, 7, i, 9].map(Goldilocks::new))).collect()
}

#[test]
fn joins_of_every_kind_hold_and_no_others() {
    let [a, b, c, d] = words(4).try_into().unwrap();
    let none = Digest::ZERO;
    for circuit in [join(false), join(true)] {
        let part = Sublist::default();
        let parts = circuit.witness(&data([a, b], [b, c], [a, c], [true, false, false], Some(&part)));
        let part = parts.is_ok().then_some(&part);
        let of = |shown, open, own, bits| holds(&circuit, &data(shown, open, own, bits, part));
        let (below, beside, alone) = ([true, false, false], [false; 3], [false, true, false]);
        assert!(of([a, b], [b, c], [a, c], below));
        assert!(of([a, b], [b, none], [a, none], below));
        assert!(of([a, b], [none; 2], [list_of(&a, &b), none], beside));
        assert!(of([a, b], [c, d], [a, c], alone));
        for (shown, open, own, bits) in [
            ([a, b], [c, d], [a, d], below),
            ([a, b], [b, c], [a, none], below),
            ([a, b], [b, c], [b, c], below),
            ([a, b], [none; 2], [list_of(&b, &a), none], beside),
            ([a, b], [b, none], [list_of(&a, &b), none], beside),
            ([a, b], [none, c], [list_of(&a, &b), none], beside),
            ([a, b], [none; 2], [list_of(&a, &b), c], beside),
            ([a, b], [c, d], [a, none], alone),
            ([a, b], [c, d], [b, d], alone),
            ([a, b], [c, d], [a, d], alone),
            // Both ways at once: only what both ways allow.
            ([a, b], [c, d], [a, c], [true, true, false]),
            ([a, b], [none; 2], [list_of(&a, &b), none], [true, true, false]),
        ] {
            assert!(!of(shown, open, own, bits), "{bits:?}");
        }
    }
}

/// Lists of up to 40 edges, and their parts.
#[test]
fn parts_of_lists_hold() {
    let circuit = join(true);
    let [top, behind] = words(2).try_into().unwrap();
    let mut seed = 7_u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    let mut steps = 0;
    for count in (1..=40).step_by(3) {
        let edges = edges(count);
        let pieces: Vec<List> = edges.chunks(1 + next() as usize % 7).map(List::of_edges).collect();
        let list = List::of_lists(&pieces);
        assert_eq!(list.edges(), edges.iter().collect::<Vec<_>>());
        let dropped: Vec<bool> = edges.iter().map(|_| next() % 4 == 0).collect();
        let kept = |edge: &Edge| !dropped[edges.iter().position(|own| own == edge).unwrap()];
        let Some((part, how)) = list.part(&kept) else { continue };
        assert_eq!(part.edges(), edges.iter().filter(|edge| kept(edge)).collect::<Vec<_>>());
        assert!(how.fits() && how.is_all() == (part == list));
        steps += how.steps.len();
        let some = !how.is_all();
        let free = data([top, list.digest], [part.digest, behind], [top, behind], [true, false, some], Some(&how));
        assert!(holds(&circuit, &free), "{count}");
        // The part is refused without its bit, and for another list.
        if some {
            let free = data([top, list.digest], [part.digest, behind], [top, behind], [true, false, false], Some(&how));
            assert!(!holds(&circuit, &free));
            let free = data([top, behind], [part.digest, behind], [top, behind], [true, false, true], Some(&how));
            assert!(!holds(&circuit, &free));
        }
    }
    assert!(steps > 50, "{steps}");
    assert!(List::of_edges(&edges(5)).part(&|_| false).is_none());
}

/// Changing any element of a part's steps is detected, except numbers and words that nothing uses.
#[test]
fn elements_of_steps_count() {
    let circuit = join(true);
    let [top, behind] = words(2).try_into().unwrap();
    let edges = edges(8);
    let list = List::of_edges(&edges);
    let (part, how) = list.part(&|edge| ![2, 5].contains(&edge.hash[0])).unwrap();
    let free = data([top, list.digest], [part.digest, behind], [top, behind], [true, false, true], Some(&how));
    assert!(holds(&circuit, &free));
    let last = free.len() - 1;
    for step in 0..=how.steps.len() {
        let unused = how.steps.get(step);
        for at in 0..STEP {
            // Unused: the word next to the part, and the number of a step that is not looked up.
            let side = (at >= 26).then(|| (at - 26) / 2);
            let free_number = side
                .is_some_and(|side| (at - 26) % 2 == 1 && unused.is_none_or(|step| step.sides[side].step.is_none()));
            if (20..24).contains(&at) || free_number {
                continue;
            }
            let mut changed = free.clone();
            let at = STEPS + STEP * step + at;
            changed[at] += Goldilocks::ONE;
            assert!(!holds(&circuit, &changed), "element {at} of step {step}");
        }
    }
    let mut changed = free.clone();
    changed[last] += Goldilocks::ONE;
    assert!(!holds(&circuit, &changed));
}

/// Steps that refer to each other in any way do not show an edge that the list does not contain.
#[test]
fn no_step_makes_an_edge() {
    let circuit = join(true);
    let [top, behind, other] = words(3).try_into().unwrap();
    let list = List::of_edges(&edges(2));
    let [first, second] = list.pairs()[0];
    let word = |word: Digest| word.0;
    let tries = |steps: &[([Digest; 5], [u64; 6])], number: u64| {
        let part = Sublist::default();
        let mut free = data([top, list.digest], [other, behind], [top, behind], [true, false, true], Some(&part));
        for (i, (words, rest)) in steps.iter().enumerate() {
            let to = &mut free[STEPS + STEP * i..][..STEP];
            to[..20].copy_from_slice(words.map(word).as_flattened());
            to[24..].copy_from_slice(&rest.map(Goldilocks::new));
        }
        *free.last_mut().unwrap() = Goldilocks::new(number);
        holds(&circuit, &free)
    };
    let both = list_of(&first, &other);
    // One side is another list, shown by no step, by the step itself, or by a step about that side.
    for rest in [[1, 0, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], [1, 0, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]] {
        for kept in [[other, second], [other, other], [first, other]] {
            let steps = [
                ([first, second, kept[0], kept[1], other], rest),
                ([first, first, other, other, other], [1, 0, 1, 0, 1, 0]),
                ([second, other, second, other, both], [0; 6]),
            ];
            for number in 0..3 {
                assert!(!tries(&steps, number), "{rest:?} {number}");
            }
        }
    }
    assert!(!tries(&[], 0) && !tries(&[], 255) && !tries(&[], 256));
}
