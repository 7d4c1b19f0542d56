//! The place of a node, in the circuits of batches.

use evergrove_primitives::Goldilocks;
use evergrove_testkit::gates::poly::Poly;
use evergrove_testkit::gates::rows::Marks;
use evergrove_testkit::gates::{Formula, Gate, binary};

use super::{HEIGHT, Marked, base, is, number, size};
use crate::circuit::Node;

pub(super) fn gates() -> Vec<Gate> {
    vec![node()]
}

/// Height and first position of node q of a height: q is below 2^(H - h).
fn node() -> Gate {
    let mut m = Marked::new();
    let index = m.input();
    let node = Node::new(&mut m.b, index, size());
    for &flag in &node.flags {
        m.received(base(flag.into()));
    }
    for out in [node.height, node.base] {
        m.output(base(out));
    }
    let (mut gate, Marks { received, sent, .. }) =
        m.gate("node", "height h and first position q 2^h of a node, with q below 2^(27 - h)");
    gate.steps = gate.columns();
    let mut inputs = received.iter().map(|word| word[0].clone());
    let index = inputs.next().expect("an index");
    let flags: Vec<Poly> = inputs.collect();
    let [height, first] = [0, 1].map(|i| sent[i][0].clone());
    let bits = |row: usize| -> Vec<Poly> {
        let own = format!("bits{row}.");
        let columns = (0..gate.names.len() as u32).filter(|&i| gate.names[i as usize].starts_with(&own));
        columns.take(HEIGHT).map(Poly::variable).collect()
    };
    let [below, left] = [bits(0), bits(1)];
    gate.spec.extend(flags.iter().chain(&below).chain(&left).map(Formula::bit));
    gate.spec.push(Formula::equal(&index, &binary(&below)));
    gate.spec.extend(flags.windows(2).map(|pair| is(&pair[1], 1).implies(is(&pair[0], 1))));
    for h in 0..=HEIGHT {
        let case = flags.iter().enumerate().map(|(i, flag)| is(flag, (i < h).into())).collect();
        let room = &(&index + &binary(&left)) - &number((1 << (HEIGHT - h)) - 1);
        let place = Formula::equal(&first, &index.scaled(Goldilocks::new(1 << h)));
        let all = vec![is(&height, h as u64), place, Formula::Zero(room)];
        gate.spec.push(Formula::All(case).implies(Formula::All(all)));
    }
    gate
}
