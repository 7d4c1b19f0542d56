//! Points of BLS12-381.

use std::array;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Quadratic;
use evergrove_testkit::gates::poly::Poly;
use evergrove_testkit::gates::rows::{self, Fixed, Symbolic};
use evergrove_testkit::gates::{Formula, Gate};
use evergrove_verifier::tables::congruence::{LIMBS, MODULUS};
use evergrove_verifier::tables::{Table, addition, point};

use super::{fixed, is, not, number, tables};

pub(super) fn gates() -> Vec<Gate> {
    let mut all = points();
    all.extend(additions());
    all
}

fn row(table: Table, columns: &[u64]) -> (Gate, Symbolic) {
    let columns = fixed(columns);
    rows::of_row("row", "", &tables::<Quadratic>(), Fixed { table, number: 7, columns: &columns, free: &[] })
}

fn points() -> Vec<Gate> {
    let mut columns = vec![1; point::FIXED];
    columns[point::APART] = 1;
    let (whole, symbolic) = row(Table::Point, &columns);
    let column = |i: usize| symbolic.columns[i].clone();
    let mut all = Vec::new();
    for (which, about) in
        [(0, "three limbs and a byte of a number of 56 bits"), (1, "a byte and three limbs of a number of 56 bits")]
    {
        let sum = symbolic.ports[4 + which].tuple[3].clone();
        let limbs: Vec<Poly> = sum.variables().into_iter().map(Poly::variable).collect();
        all.push(whole.part(&format!("point-number-{which}"), about, vec![sum], limbs, &[]));
    }
    let sum = symbolic.ports[4 + 6].tuple[3].clone();
    let limbs: Vec<Poly> = sum.variables().into_iter().map(Poly::variable).collect();
    all.push(whole.part("point-number-6", "three limbs of a number of 48 bits", vec![sum], limbs, &[]));

    // x + t = p - 1, three limbs at a time: t and the carry, from x and the carry before.
    let complement = &symbolic.columns[point::COMPLEMENTS..][..point::COMPLEMENT];
    let mut f = evergrove_testkit::gates::poly::Symbols::default();
    let values: Vec<usize> = symbolic.columns.iter().map(|column| f.value(column.clone())).collect();
    let x = point::coordinate(&mut f, &values, 0).map(|limb| f.poly(limb));
    for group in [0, 1, 7] {
        let limbs = point::GROUP * group..point::GROUP * (group + 1);
        let t = &complement[limbs.clone()];
        let mut outputs = t.to_vec();
        let mut known = Poly::default();
        for (i, limb) in limbs.enumerate() {
            let weight = Goldilocks::new(1 << (16 * i));
            let due = &number(MODULUS[limb] - u64::from(limb == 0)) - &x[limb];
            known = &known + &due.scaled(weight);
        }
        if group > 0 {
            known = &known - &complement[LIMBS + group - 1];
        }
        let mut sum =
            t.iter().enumerate().fold(Poly::default(), |sum, (i, t)| &sum + &t.scaled(Goldilocks::new(1 << (16 * i))));
        if group < 7 {
            let carry = &complement[LIMBS + group];
            outputs.push(carry.clone());
            sum = &sum - &carry.scaled(Goldilocks::new(1 << 48));
        }
        let mut columns: Vec<Poly> = known.variables().into_iter().map(Poly::variable).collect();
        columns.extend(outputs.clone());
        let about = "three limbs of p - 1 - x, and a carry";
        let name = format!("point-below-{group}");
        let mut gate = whole.part(&name, about, vec![sum.clone()], outputs.clone(), &columns);
        gate.spec.push(Formula::equal(&sum, &known));
        if group < 7 {
            gate.spec.push(Formula::bit(&outputs[3]));
        }
        all.push(gate);
    }

    let [active, curve] = [point::ACTIVE, point::CURVE].map(column);
    let mut gate = whole.part(
        "point-active",
        "the bit of a point, and c = 1 where it is 1",
        vec![active.clone()],
        vec![],
        std::slice::from_ref(&curve),
    );
    gate.spec = vec![Formula::bit(&active), Formula::bit(&curve), is(&active, 1).implies(is(&curve, 1))];
    all.push(gate);
    all
}

fn additions() -> Vec<Gate> {
    let (whole, symbolic) = row(Table::Addition, &[1; addition::FIXED]);
    let columns: Vec<usize> = (0..addition::COLUMNS).collect();
    let column = |i: usize| symbolic.columns[i].clone();
    let [_, y1, _, y2] = addition::operands(&columns).map(|element| element.map(column));
    let [p, p_inverse, q, q_inverse, inverse, both, generic] = addition::flags(&columns).map(column);
    let mut inputs: Vec<Poly> = [&y1[..], &y2[..]].concat();
    inputs.push(inverse.clone());
    let outputs = vec![p.clone(), q.clone(), both.clone(), generic.clone()];
    let about = "whether the sum of an operand's limbs is not 0, and whether the generic formula applies";
    let mut gate = whole.part("addition-flags", about, inputs, outputs, &[p_inverse, q_inverse]);
    let [s1, s2] = [&y1, &y2].map(|y| y.iter().fold(Poly::default(), |sum, limb| &sum + limb));
    for (flag, sum) in [(&p, &s1), (&q, &s2)] {
        gate.spec.push(Formula::Zero(sum.clone()).implies(is(flag, 0)));
        gate.spec.push(Formula::Any(vec![Formula::Zero(sum.clone()), is(flag, 1)]));
    }
    gate.spec.push(Formula::bit(&inverse));
    gate.spec.push(Formula::equal(&both, &(&p * &q)));
    gate.spec.push(Formula::equal(&generic, &(&both * &not(&inverse))));
    let mut all = vec![gate];

    // Where operands are inverses, the slope is 1.
    let slope = &symbolic.columns[addition::SLOPE..][..LIMBS];
    let inputs = vec![both.clone(), generic.clone()];
    let mut gate = whole.part(
        "addition-slope",
        "limb 0 of the slope is 1, and the others have the sum 0, where operands are inverses",
        inputs,
        vec![],
        slope,
    );
    let rest = slope[1..].iter().fold(Poly::default(), |sum, limb| &sum + limb);
    let inverses = Formula::All(vec![is(&both, 1), is(&generic, 0)]);
    gate.spec.push(inverses.implies(Formula::All(vec![is(&slope[0], 1), Formula::Zero(rest)])));
    gate.constraints.retain(|(name, _)| !name.starts_with("range"));
    all.push(gate);

    // The sum is the third point, one of the operands, or zeros.
    let word: [Poly; 4] = array::from_fn(|i| symbolic.ports[2 * addition::WORDS].tuple[3 + i].clone());
    let inputs: Vec<Poly> = [&y1[..], &y2[..], std::slice::from_ref(&inverse)].concat();
    let [p_inverse, q_inverse] = [1, 3].map(|i| symbolic.columns[addition::FLAGS + i].clone());
    let mut columns = word.iter().flat_map(Poly::variables).map(Poly::variable).collect::<Vec<_>>();
    columns.extend([p_inverse, q_inverse]);
    let mut gate =
        whole.part("addition-sum", "a word of the sum, by the sums of the operands' limbs", inputs, vec![], &columns);
    gate.constraints.retain(|(name, _)| !name.starts_with("range"));
    let limb = |first: usize, i: usize| symbolic.columns[first + i].clone();
    for (i, out) in word.iter().enumerate() {
        let third = limb(addition::CHORD, i);
        let [left, right] = [0, 2 * LIMBS].map(|first| limb(addition::OPERANDS + first, i));
        let zero = |x: &Poly| Formula::Zero(x.clone());
        let some = |x: &Poly| Formula::Not(Box::new(Formula::Zero(x.clone())));
        let cases = [
            (vec![zero(&s1), zero(&s2)], number(0)),
            (vec![some(&s1), zero(&s2)], left),
            (vec![zero(&s1), some(&s2)], right),
            (vec![some(&s1), some(&s2), is(&inverse, 0)], third),
            (vec![some(&s1), some(&s2), is(&inverse, 1)], number(0)),
        ];
        gate.spec
            .extend(cases.into_iter().map(|(case, value)| Formula::All(case).implies(Formula::equal(out, &value))));
    }
    all.push(gate);
    all
}

/// The congruences: that limbs of a quotient and carries exist is a statement about integers.
pub(super) fn unstated() -> [(&'static str, &'static str, usize); 2] {
    let count = |table, columns: &[u64]| {
        let (gate, _) = row(table, columns);
        gate.constraints.iter().filter(|(name, _)| !name.starts_with("range")).count()
    };
    let (point, addition) = (count(Table::Point, &[1; point::FIXED]), count(Table::Addition, &[1; addition::FIXED]));
    let of = |count: usize, own: usize| count - own;
    [
        (
            "point-congruences",
            "two products are equal modulo the field of BLS12-381: the point is on the curve",
            of(point, 33),
        ),
        (
            "addition-congruences",
            "four products are equal modulo the field of BLS12-381: slope and third point",
            of(addition, 9),
        ),
    ]
}
