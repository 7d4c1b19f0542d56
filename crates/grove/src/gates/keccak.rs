//! The tables of Keccak.

use std::array;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Quadratic;
use evergrove_testkit::gates::poly::Poly;
use evergrove_testkit::gates::rows::{self, Fixed};
use evergrove_testkit::gates::{Formula, Gate, binary, weighed};
use evergrove_verifier::tables::{Table, keccak, keccak_absorb, keccak_gate, keccak_lookup, keccak_plane};

use super::{fixed, is, not, number, tables};

pub(super) fn gates() -> Vec<Gate> {
    let mut all = vec![absorb("keccak-absorb", 1), absorb("keccak-absorb-first", 0), gate()];
    all.extend(plane());
    all.extend([column(0), column(7)]);
    all
}

/// A value of a lane on the bus: bits z = value + 8 i, where digits of 16 and the second half have their weights.
fn value(bits: &[Poly], which: usize) -> Poly {
    let own: Vec<Poly> = (0..8).map(|i| bits[which + 8 * i].clone()).collect();
    // Bits which, which + 16, .. are the first part; which + 8, which + 24, .. the second.
    weighed(&own, (0..8).map(|i| 1 << (4 * (i / 2) + 32 * (i % 2))))
}

fn absorb(name: &str, later: u64) -> Gate {
    let columns = fixed(&[1, later, 2, 3, 1, 1]);
    let about = if later == 1 { "two lanes of a state plus those of a word" } else { "two lanes of a word" };
    let tables = tables::<Quadratic>();
    let row = Fixed { table: Table::KeccakAbsorb, number: 7, columns: &columns, free: &[] };
    let (mut gate, symbolic) = rows::of_row(name, about, &tables, row);
    let (bits, state) = symbolic.columns.split_at(keccak_absorb::BITS);
    gate.spec.push(super::tables::all_bits(bits));
    // The outgoing lanes are sums of bits and incoming lanes, so it is enough that the bits are determined.
    gate.outputs = bits.to_vec();
    let word = &symbolic.ports[0].tuple[3..];
    gate.spec.extend((0..4).map(|half| Formula::equal(&word[half], &binary(&bits[32 * half..][..32]))));
    for lane in 0..2 {
        for which in 0..8 {
            let tuple = &symbolic.ports[5 + 2 * lane + which / 4].tuple;
            let own = value(&bits[64 * lane..], which);
            let before = &state[8 * lane + which];
            let sum = if later == 1 { &own + before } else { own };
            gate.spec.push(Formula::equal(&tuple[3 + which % 4], &sum));
        }
    }
    gate
}

fn gate() -> Gate {
    let columns = fixed(&[1, 2, 1]);
    let tables = tables::<Quadratic>();
    let row = Fixed { table: Table::KeccakGate, number: 7, columns: &columns, free: &[] };
    let (mut gate, symbolic) =
        rows::of_row("keccak-gate", "five lanes of a state where a bit is 1, otherwise zeros", &tables, row);
    let bit = &symbolic.columns[keccak_gate::BIT];
    let out = symbolic.ports[11..].iter().flat_map(|port| &port.tuple[3..]);
    for (x, column) in out.zip(&symbolic.columns) {
        gate.spec.push(is(bit, 1).implies(Formula::equal(x, column)));
        gate.spec.push(is(bit, 0).implies(is(x, 0)));
    }
    gate
}

/// The bits of a value of a lane; and the last chi on these bits.
fn plane() -> Vec<Gate> {
    let tables = tables::<Quadratic>();
    let mut all = Vec::new();
    for first in [0, 1] {
        let columns = fixed(&[1, 1, first, 1, 1, 1]);
        let row = Fixed { table: Table::KeccakPlane, number: 7, columns: &columns, free: &[] };
        let name = if first == 1 { "keccak-plane-first" } else { "keccak-plane" };
        let about = "the digest's words and the lanes after the last chi, from the bits of a plane";
        let (mut gate, symbolic) = rows::of_row(name, about, &tables, row);
        if first == 0 {
            // The tuples of the incoming lanes follow both words.
            for which in [0, 5] {
                let port = &symbolic.ports[2 + which / 4].tuple[3 + which % 4];
                let bits: Vec<Poly> = port.variables().into_iter().map(Poly::variable).collect();
                let about = "eight bits of a lane, from a value on the bus";
                let mut part = gate.part(&format!("keccak-lane-{which}"), about, vec![port.clone()], bits.clone(), &[]);
                part.spec = bits.iter().map(Formula::bit).collect();
                part.spec.push(Formula::equal(port, &value(&symbolic.columns, which)));
                all.push(part);
            }
        }
        let bits = &symbolic.columns[..keccak_plane::CONSTANT];
        gate.inputs = bits.to_vec();
        // a xor (not b and c), by the arithmetic of bits.
        let xor = |a: &Poly, b: &Poly| &(&(a * &not(b)) + &(b * &not(a))) + &Poly::default();
        let result = |i: usize| {
            let (lane, z) = (i / 64, i % 64);
            let [a, b, c] = [0, 1, 2].map(|by| &bits[(lane + by) % 5 * 64 + z]);
            let chi = xor(a, &(&not(b) * c));
            let constant = lane == 0 && first == 1 && keccak::ROUND_CONSTANTS[23] >> z & 1 == 1;
            if constant { not(&chi) } else { chi }
        };
        let results: Vec<Poly> = (0..320).map(result).collect();
        for word in 0..2 {
            for half in 0..4 {
                let expected = binary(&results[(4 * word + half) * 32..][..32]);
                gate.spec.push(Formula::equal(&symbolic.ports[word].tuple[3 + half], &expected));
            }
        }
        for lane in 0..5 {
            for which in 0..8 {
                let tuple = &symbolic.ports[12 + 2 * lane + which / 4].tuple;
                gate.spec.push(Formula::equal(&tuple[3 + which % 4], &value(&results[64 * lane..], which)));
            }
        }
        gate.spec.push(super::tables::all_bits(bits));
        all.push(gate);
    }
    all
}

/// The five parts of a column and its parity in the second round of a row, digit by digit: the state between pi and chi is
/// given by bits, and each use of the lookup table by its digits.
fn column(part: usize) -> Gate {
    let mut columns = vec![0; keccak::FIXED];
    (columns[keccak::INNER], columns[keccak::ACTIVE]) = (1, 1);
    let columns = fixed(&columns);
    let about = format!("parts {part} of five lanes after chi, theta and rho, and their parity");
    let mut gate = Gate::new(&format!("keccak-column-{part}"), &about);
    let tables = tables::<Quadratic>();
    let row = Fixed { table: Table::Keccak, number: 0, columns: &columns, free: &[] };
    let places = vec![Goldilocks::ONE; keccak::PORTS];
    let symbolic = rows::symbolic(&mut gate, "x", &tables, row, &places);
    let stage = keccak::LANES * keccak::TUPLES + keccak::USES;
    // Uses of the lanes x = 0, five for each part; then the parities.
    let uses: [[Poly; 3]; 5] =
        array::from_fn(|y| array::from_fn(|i| symbolic.ports[stage + 5 * part + y].tuple[1 + i].clone()));
    let sum: [Poly; 3] = array::from_fn(|i| symbolic.ports[stage + keccak::STATE + part].tuple[1 + i].clone());
    let own = keccak::STATE + keccak::STAGE;
    let parity = |x: usize, part: usize| symbolic.columns[own + keccak::PARITIES + 16 * x + part].clone();
    let turned = |x: usize| symbolic.columns[own + keccak::TURNED_PARITIES + x].clone();
    let (left, right) = (parity(4, part), if part == 0 { turned(1) } else { parity(1, part - 1) });
    // Operands and the parities of neighbours, by bits.
    let state = |y: usize, by: usize| symbolic.columns[keccak::STATE + (5 * y + by) * 16 + part].clone();
    let mut known: Vec<(Poly, Vec<Poly>)> = Vec::new();
    let mut digits = |gate: &mut Gate, name: &str, x: &Poly| -> Vec<Poly> {
        let (bits, booleans) = gate.bits(name, 4);
        gate.given.extend(booleans);
        gate.given.push(Formula::equal(x, &weighed(&bits, (0..4).map(|i| 1 << (4 * i)))));
        gate.inputs.extend(bits.clone());
        gate.inputs.push(x.clone());
        known.push((x.clone(), bits.clone()));
        bits
    };
    let operands: Vec<[Vec<Poly>; 3]> =
        (0..5).map(|y| array::from_fn(|by| digits(&mut gate, &format!("state{y}.{by}."), &state(y, by)))).collect();
    let theta = [digits(&mut gate, "left", &left), digits(&mut gate, "right", &right)];
    let kinds: [u64; 5] = array::from_fn(|y| keccak::MOVES[5 * y][part].turn.into());
    let mut results = Vec::new();
    for (y, [key, after, before]) in uses.iter().enumerate() {
        let bits = looked_up(&mut gate, &format!("chi{y}"), key, kinds[y], [after, before], &known);
        known.push((before.clone(), bits.clone()));
        results.push(bits);
        gate.outputs.push(before.clone());
        if kinds[y] > 0 {
            gate.outputs.push(after.clone());
        }
    }
    let [key, after, before] = &sum;
    let parities = looked_up(&mut gate, "parity", key, keccak::PARITY, [after, before], &known);
    gate.outputs.push(before.clone());
    for digit in 0..4 {
        column_spec(&mut gate, digit, &operands, &theta, &results, &parities);
    }
    gate
}

/// The bit of a digit of the lookup table, if the digit is possible.
fn result(parity: bool, digit: u64) -> Option<u64> {
    match (parity, digit) {
        (true, 0..8) => Some(digit % 2),
        (false, 0..11) => Some(u64::from(matches!(digit % 4, 0 | 3))),
        _ => None,
    }
}

/// The digits by which a kind of the lookup table turns its results.
fn turn(kind: u64) -> usize {
    if kind == keccak::PARITY { 0 } else { kind as usize }
}

/// The digits' results above are the table of the tables' code.
#[test]
fn the_written_lookup_is_the_table() {
    for kind in 0..=keccak::PARITY {
        for digits in 0..1_u64 << 16 {
            let bits: Option<Vec<u64>> =
                (0..4).map(|i| result(kind == keccak::PARITY, digits >> (4 * i) & 15)).collect();
            let key = kind << 16 | digits;
            let value = |bits: &[u64], turn: usize| (0..4).map(|i| bits[i] << (4 * ((i + turn) % 4))).sum::<u64>();
            let expected = bits.map(|bits| [key, value(&bits, turn(kind)), value(&bits, 0)]);
            assert_eq!(keccak_lookup::row_of(key).map(keccak_lookup::content), expected, "key {key:#x}");
        }
    }
    assert_eq!(keccak_lookup::row_of((keccak::PARITY + 1) << 16), None);
}

/// A use of the lookup table, by the digits of its key: returns the bits of the result. Each digit of the key is the sum of
/// the digits of what is known.
fn looked_up(
    gate: &mut Gate,
    name: &str,
    key: &Poly,
    kind: u64,
    [after, before]: [&Poly; 2],
    known: &[(Poly, Vec<Poly>)],
) -> Vec<Poly> {
    let parity = kind == keccak::PARITY;
    let turn = turn(kind);
    let (digits, mut all) = gate.bits(&format!("{name}.bit.digit"), 16);
    let (bits, booleans) = gate.bits(&format!("{name}.bit.result"), 4);
    all.extend(booleans);
    all.push(Formula::equal(key, &(&binary(&digits) + &number(kind << 16))));
    for (digit, bit) in digits.chunks(4).zip(&bits) {
        let row = |(s, result): (u64, u64)| {
            let mut all: Vec<Formula> = digit.iter().enumerate().map(|(i, bit)| is(bit, s >> i & 1)).collect();
            all.push(is(bit, result));
            Formula::All(all)
        };
        let rows = (0..16).filter_map(|s| Some((s, result(parity, s)?)));
        all.push(Formula::Any(rows.map(row).collect()));
    }
    all.push(Formula::equal(before, &weighed(&bits, (0..4).map(|i| 1 << (4 * i)))));
    all.push(Formula::equal(after, &weighed(&bits, (0..4).map(|i| 1 << (4 * ((i + turn) % 4))))));
    gate.constraints.push((format!("{name} lookup"), Formula::All(all)));
    let constant = key.terms().find(|(monomial, _)| monomial.is_empty()).map_or(0, |(_, c)| c.as_u64());
    for (i, own) in digits.chunks(4).enumerate() {
        let at = |x: u32| Some(known.iter().find(|(column, _)| *column == Poly::variable(x))?.1[i].clone());
        let sum = &key.substituted(&at) - &number(constant);
        gate.spec.push(Formula::equal(&binary(own), &(&sum + &number(constant >> (4 * i) & 15))));
    }
    gate.steps.extend([digits, bits.clone(), vec![before.clone(), after.clone()]].concat());
    bits
}

/// A digit of the results is chi of the operands plus theta, and the parity is that of the five chi.
fn column_spec(
    gate: &mut Gate,
    digit: usize,
    operands: &[[Vec<Poly>; 3]],
    theta: &[Vec<Poly>; 2],
    results: &[Vec<Poly>],
    parities: &[Poly],
) {
    let xor = |a: &Poly, b: &Poly| &(a * &not(b)) + &(b * &not(a));
    let mut sum = Poly::default();
    for (y, [a, b, c]) in operands.iter().enumerate() {
        let chi = xor(&a[digit], &(&not(&b[digit]) * &c[digit]));
        let chi = gate.define(&format!("spec.chi{y}.{digit}"), &chi);
        let theta = gate.define(&format!("spec.theta{y}.{digit}"), &xor(&theta[0][digit], &theta[1][digit]));
        let next = gate.define(&format!("spec.next{y}.{digit}"), &xor(&chi, &theta));
        gate.spec.push(Formula::equal(&results[y][digit], &next));
        sum = gate.define(&format!("spec.sum{y}.{digit}"), &xor(&sum, &chi));
    }
    gate.spec.push(Formula::equal(&parities[digit], &sum));
}
