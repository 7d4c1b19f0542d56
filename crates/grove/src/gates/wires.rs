//! Small circuits of wires, for applications and for the circuits of batches.

use evergrove_multilinear::circuit::Arithmetic;
use evergrove_primitives::Goldilocks;
use evergrove_testkit::gates::poly::Poly;
use evergrove_testkit::gates::rows::Marks;
use evergrove_testkit::gates::{Formula, Gate, binary};

use super::{HEIGHT, Marked, base, is, number, size};
use crate::circuit::implies;

pub(super) fn gates() -> Vec<Gate> {
    vec![
        boolean(),
        logic(),
        select(),
        implication(),
        limbs_of_word(),
        no_limbs(),
        equal_limbs(),
        same_word(),
        ordering(),
    ]
}

fn boolean() -> Gate {
    let mut m = Marked::new();
    let x = m.input();
    m.b.boolean(x);
    let (mut gate, Marks { received, .. }) = m.gate("boolean", "an element is 0 or 1");
    gate.spec.push(Formula::Any(vec![is(&received[0][0], 0), is(&received[0][0], 1)]));
    gate
}

fn logic() -> Gate {
    let mut m = Marked::new();
    let [a, c] = [m.bit(), m.bit()];
    for bit in [m.b.and(a, c), m.b.or(a, c), m.b.not(a)] {
        m.output(base(bit.into()));
    }
    let (mut gate, Marks { received, sent, .. }) = m.gate("flags", "and, or, not of bits");
    let [a, c] = [0, 1].map(|i| received[i][0].clone());
    let [and, or, none] = [0, 1, 2].map(|i| sent[i][0].clone());
    for (x, y) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let case = Formula::All(vec![is(&a, x), is(&c, y)]);
        let results = [is(&and, x & y), is(&or, x | y), is(&none, 1 - x)].to_vec();
        gate.spec.push(case.implies(Formula::All(results)));
    }
    let bits = [&a, &c, &and, &or, &none].map(Formula::bit);
    gate.spec.extend(bits);
    gate
}

fn select() -> Gate {
    let mut m = Marked::new();
    let bit = m.bit();
    let [a, c] = [m.input(), m.input()];
    let out = m.b.select(bit, a, c);
    m.output(base(out));
    let (mut gate, Marks { received, sent, .. }) = m.gate("select", "a where a bit is 1, otherwise c");
    let [bit, a, c, out] = [&received[0][0], &received[1][0], &received[2][0], &sent[0][0]];
    gate.spec = vec![is(bit, 1).implies(Formula::equal(out, a)), is(bit, 0).implies(Formula::equal(out, c))];
    gate
}

fn implication() -> Gate {
    let mut m = Marked::new();
    let [a, c] = [m.bit(), m.bit()];
    implies(&mut m.b, a, c);
    let (mut gate, Marks { received, .. }) = m.gate("implies", "a = 1 implies c = 1");
    gate.spec.push(is(&received[0][0], 1).implies(is(&received[1][0], 1)));
    gate
}

fn limbs_of_word() -> Gate {
    let mut m = Marked::new();
    let word = m.word();
    for i in 0..4 {
        let limb = m.b.limb(word, i);
        m.output(base(limb));
    }
    let weighed = m.b.weighed(word, [1, 2, 3, 4].map(Goldilocks::new));
    m.output(base(weighed));
    let (mut gate, Marks { received, sent, .. }) = m.gate("limb", "the elements of a word, and a weighed sum of them");
    let word = &received[0];
    let sum = (0..4).fold(Poly::default(), |sum, i| &sum + &word[i].scaled(Goldilocks::new(i as u64 + 1)));
    for (out, expected) in sent.iter().zip(word.iter().chain([&sum])) {
        gate.spec.push(Formula::equal(&out[0], expected));
        // An element of F has zeros after it.
        gate.spec.push(is(&out[1], 0));
    }
    gate
}

fn no_limbs() -> Gate {
    let mut m = Marked::new();
    let word = m.word();
    m.b.no_limbs(word, 1..4);
    let (mut gate, Marks { received, .. }) = m.gate("no-limbs", "elements of a word are 0");
    gate.spec = received[0][1..].iter().map(|x| is(x, 0)).collect();
    gate
}

fn equal_limbs() -> Gate {
    let mut m = Marked::new();
    let bit = m.bit();
    let [left, right] = [m.word(), m.word()];
    m.b.equal_limbs(bit, &[(left, 0), (left, 1), (left, 2)], &[(right, 1), (right, 2), (right, 3)]);
    let (mut gate, Marks { received, .. }) = m.gate("equal-limbs", "elements of words are equal where a bit is 1");
    let equal = (0..3).map(|i| Formula::equal(&received[1][i], &received[2][1 + i])).collect();
    gate.spec.push(is(&received[0][0], 1).implies(Formula::All(equal)));
    gate
}

fn same_word() -> Gate {
    let mut m = Marked::new();
    let bit = m.bit();
    let [left, right] = [m.word(), m.word()];
    crate::mpt::same_word(&mut m.b, bit, left, right);
    let (mut gate, Marks { received, .. }) =
        m.gate("same-word", "two words are equal where a bit is 1: one is given to a set, the other is taken");
    let equal = (0..4).map(|i| Formula::equal(&received[1][i], &received[2][i])).collect();
    gate.spec.push(is(&received[0][0], 1).implies(Formula::All(equal)));
    gate
}

/// Rising indices, as a bucket demands them of its active slots.
fn ordering() -> Gate {
    let mut m = Marked::new();
    let active = m.bit();
    let [lower, index] = [m.input(), m.input()];
    crate::circuit::rises(&mut m.b, active, [lower, index], size());
    let (mut gate, Marks { received, .. }) = m.gate("ordering", "index - lower - 1 is below 2^27 where a bit is 1");
    let [active, lower, index] = [0, 1, 2].map(|i| received[i][0].clone());
    let bits: Vec<Poly> = (0..gate.names.len() as u32)
        .filter(|&i| gate.names[i as usize].starts_with("bits"))
        .take(HEIGHT)
        .map(Poly::variable)
        .collect();
    gate.spec.extend(bits.iter().map(Formula::bit));
    let gap = &(&index - &lower) - &number(1);
    gate.spec.push(is(&active, 1).implies(Formula::equal(&gap, &binary(&bits))));
    gate
}
