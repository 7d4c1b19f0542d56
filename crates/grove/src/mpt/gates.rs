//! The gadgets of slots as formulas: see docs/math/gates.md.

use evergrove_multilinear::circuit::wires::{Base, Bool, Element};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Quadratic;
use evergrove_testkit::gates::poly::Poly;
use evergrove_testkit::gates::rows::Marks;
use evergrove_testkit::gates::{Formula, Gate};
use evergrove_verifier::tables::WORD;

use super::gadgets::{Gadgets, LANES};
use super::header::STRING_MAX;
use super::node::Header;
use crate::gates::{Marked, is, number};

pub(crate) fn gates() -> Vec<Gate> {
    vec![demands(), nibbles(), string(), list(), header(), weight(), append()]
}

/// A circuit of gadgets where a bit is 1: receives elements, and sends those that `f` returns. Returns the gate, and what
/// it receives, sends and reads.
fn circuit<T: Into<Element>>(
    name: &str,
    about: &str,
    count: usize,
    f: impl FnOnce(&mut Gadgets<'_, Quadratic>, Bool, &[Base]) -> Vec<T>,
) -> (Gate, [Vec<Poly>; 3], Vec<[Poly; WORD]>) {
    let mut m = Marked::new();
    let bit = m.bit();
    let inputs: Vec<Base> = (0..count).map(|_| m.input()).collect();
    let outputs = f(&mut Gadgets::new(&mut m.b), bit, &inputs);
    outputs.into_iter().for_each(|out| m.output(out.into()));
    let (mut gate, Marks { received, sent, read }) = m.gate(name, about);
    let mut received = received.into_iter().map(|[first, ..]| first);
    gate.given.push(is(&received.next().expect("a bit"), 1));
    let first = sent.iter().map(|[first, ..]| first.clone()).collect();
    (gate, [received.collect(), first, read], sent)
}

/// Demands under a bit.
fn demands() -> Gate {
    let (mut gate, [x, ..], _) = circuit("demands", "x = 0, y = z where a bit is 1", 3, |g, bit, x| {
        g.vanishes(bit, x[0]);
        g.same(bit, x[1], x[2]);
        Vec::<Base>::new()
    });
    gate.spec = vec![is(&x[0], 0), Formula::equal(&x[1], &x[2])];
    gate
}

fn nibbles() -> Gate {
    let (mut gate, [x, out, _], _) =
        circuit("nibbles", "the nibbles of a byte", 1, |g, bit, x| g.nibbles(x[0], bit).to_vec());
    let [high, low] = [0, 1].map(|i| out[i].clone());
    gate.spec.push(Formula::equal(&x[0], &(&high.scaled(Goldilocks::new(16)) + &low)));
    gate.spec.extend([high, low].map(|x| Formula::Any((0..16).map(|i| is(&x, i)).collect())));
    gate
}

/// The form of a short string, with what the slot for headers of blocks demands of it.
fn string() -> Gate {
    let (mut gate, [x, out, read], _) =
        circuit("rlp-string", "form and length of a short string, from its first byte", 1, |g, bit, x| {
            let first = g.byte_at(x[0], bit);
            let text = g.string(first, bit);
            g.short(first, &text, bit);
            vec![text.single.into(), text.bytes, text.further]
        });
    gate.inputs.retain(|input| *input != x[0]);
    let (first, [single, bytes, further]) = (&read[0], [0, 1, 2].map(|i| out[i].clone()));
    let case = |from: std::ops::RangeInclusive<u64>, alone: u64, length: Poly| {
        let from = from.map(|byte| is(first, byte)).collect();
        Formula::All(vec![Formula::Any(from), is(&single, alone), Formula::equal(&bytes, &length)])
    };
    let longer = case(0x80..=0x80 + STRING_MAX, 0, first - &number(0x80));
    gate.spec = vec![
        Formula::Any(vec![case(0..=0x7f, 1, number(1)), longer]),
        Formula::equal(&further, &(&bytes - &number(1))),
    ];
    gate
}

fn list() -> Gate {
    let (mut gate, [x, out, bytes], _) =
        circuit("rlp-list", "address and length of a list's content, from its header", 1, |g, bit, x| {
            g.list(x[0], bit).to_vec()
        });
    let address = x[0].clone();
    let [first, high, low]: [Poly; 3] = bytes.try_into().expect("three bytes");
    let [content, length]: [Poly; 2] = out.try_into().expect("two outputs");
    let case = |from: Vec<u64>, more: u64, value: &Poly, least: Option<u64>| {
        let bytes = from.into_iter().map(|byte| is(&first, byte)).collect();
        let mut all = vec![Formula::Any(bytes), Formula::equal(&content, &(&address + &number(1 + more)))];
        all.push(Formula::equal(&length, value));
        all.extend(least.map(|least| Formula::Any((least..256).map(|x| is(&high, x)).collect())));
        Formula::All(all)
    };
    let two = &high.scaled(Goldilocks::new(256)) + &low;
    gate.spec.push(Formula::Any(vec![
        case((0xc0..=0xf7).collect(), 0, &(&first - &number(0xc0)), None),
        case(vec![0xf8], 1, &high, Some(56)),
        case(vec![0xf9], 2, &two, Some(1)),
    ]));
    gate
}

fn header() -> Gate {
    let (mut gate, [x, out, bytes], _) =
        circuit("rlp-header", "the bytes of a value and its header, from its first bytes", 2, |g, bit, x| {
            let Header { size, more, .. } = g.header(x[0], x[1], bit);
            vec![size, more]
        });
    let first = x[1].clone();
    let [high, low]: [Poly; 2] = bytes.try_into().expect("two bytes");
    let [size, more]: [Poly; 2] = out.try_into().expect("two outputs");
    let case = |from: Vec<u64>, bytes: Poly, further: Poly| {
        let from = from.into_iter().map(|byte| is(&first, byte)).collect();
        Formula::All(vec![Formula::Any(from), Formula::equal(&size, &bytes), Formula::equal(&more, &further)])
    };
    let two = &high.scaled(Goldilocks::new(256)) + &low;
    gate.spec.push(Formula::Any(vec![
        case((0..0x80).collect(), number(1), number(0)),
        case((0x81..=0xb7).collect(), &first - &number(0x7f), number(0)),
        case(vec![0xb8], number(2), high.clone()),
        case(vec![0xb9], number(3), two),
    ]));
    gate
}

/// The lane of the nibble at a depth, and its weight there: 15 nibbles for each lane, the first one the highest.
fn lane(depth: u64) -> (usize, u64) {
    ((depth / 15) as usize, 16_u64.pow(14 - (depth % 15) as u32))
}

fn weight() -> Gate {
    let (mut gate, [x, out, _], _) =
        circuit("nibble-weight", "the weight of the nibble at a depth, in five lanes", 1, |g, bit, x| {
            g.weight(x[0], bit).to_vec()
        });
    let (depth, lanes) = (&x[0], out);
    let at = |place: u64| {
        let (own, weight) = lane(place);
        let values = (0..LANES).map(|i| is(&lanes[i], if i == own && place < 64 { weight } else { 0 }));
        Formula::All([is(depth, place)].into_iter().chain(values).collect())
    };
    let mut cases: Vec<Formula> = (0..=64).map(at).collect();
    let nothing = (0..LANES).map(|i| is(&lanes[i], 0));
    let before = Formula::equal(depth, &Poly::constant(-Goldilocks::ONE));
    cases.push(Formula::All([before].into_iter().chain(nothing).collect()));
    gate.spec.push(Formula::Any(cases));
    gate
}

/// The place below a node: a nibble behind the nibbles of its place.
fn append() -> Gate {
    let (mut gate, [x, ..], sent) =
        circuit("path-step", "the place of a child: depth and lanes with a nibble behind them", 8, |g, bit, x| {
            let lanes = g.packed([x[3], x[4], x[5], x[6], x[7]]);
            let place = super::gadgets::Place { depth: x[0], trie: x[1], root: x[1], lanes };
            let there = g.b.boolean(x[2]);
            let next = g.append(place, x[1], there, bit);
            [next.depth.into()].into_iter().chain(next.lanes).collect::<Vec<Element>>()
        });
    gate.steps = gate.columns();
    let [depth, nibble, there, lanes @ ..] = &x[..] else { unreachable!("eight inputs") };
    // Two lanes are an element of K.
    let outputs: Vec<Poly> = sent.iter().skip(1).flat_map(|word| word[..2].to_vec()).collect();
    let at = |place: u64| {
        let (own, weight) = lane(place);
        let next = (0..LANES).map(|i| {
            let step = &(nibble * there).scaled(Goldilocks::new(if i == own && place < 64 { weight } else { 0 }));
            Formula::equal(&outputs[i], &(&lanes[i] + step))
        });
        is(depth, place).implies(Formula::All(next.collect()))
    };
    gate.spec.extend([0, 1, 7, 14, 15, 22, 29, 30, 37, 44, 45, 52, 59, 60, 63, 64].map(at));
    gate.spec.push(Formula::equal(&sent[0][0], &(depth + there)));
    gate
}
