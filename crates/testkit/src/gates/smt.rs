//! Gates in SMT-LIB 2.6, in the theory of finite fields (QF_FF).
//!
//! A file begins with declarations and assertions, and has a goal between each `(push 1)` and `(pop 1)`: the claim is
//! that no goal is satisfiable. A goal is the negation of a statement, and the statements of earlier goals may be used.
//! The assertions of constraint i are named `c<i>` or, in two copies, `c<i>_1` and `c<i>_2`.

use std::collections::BTreeSet;
use std::fmt::Write;

use evergrove_primitives::Goldilocks;

use super::poly::Poly;
use super::{Formula, Gate};

/// A copy of the variables of a gate.
struct Copy<'a> {
    gate: &'a Gate,
    /// Variables that all copies share.
    shared: &'a BTreeSet<u32>,
    suffix: &'a str,
}

impl Copy<'_> {
    fn variable(&self, variable: u32) -> String {
        let suffix = if self.shared.contains(&variable) { "" } else { self.suffix };
        format!("|{}{suffix}|", self.gate.names[variable as usize])
    }
    /// The terms with small coefficients, and the negatives of the others.
    fn sides(&self, poly: &Poly) -> [Vec<(u64, String)>; 2] {
        let mut sides = [Vec::new(), Vec::new()];
        for (monomial, c) in poly.terms() {
            let (side, c) = if c.as_u64() <= Goldilocks::ORDER / 2 { (0, c) } else { (1, -c) };
            let factors: Vec<String> = monomial.iter().map(|&x| self.variable(x)).collect();
            sides[side].push((c.as_u64(), factors.join(" ")));
        }
        sides
    }
    fn poly(&self, poly: &Poly) -> String {
        let [mut plus, minus] = self.sides(poly);
        plus.extend(minus.into_iter().map(|(c, factors)| (Goldilocks::ORDER - c, factors)));
        sum(plus)
    }
    fn zero(&self, poly: &Poly) -> String {
        if let Some(x) = poly.as_boolean() {
            let x = self.variable(x);
            return format!("(= (ff.mul {x} {x}) {x})");
        }
        let [left, right] = self.sides(poly).map(sum);
        format!("(= {left} {right})")
    }
    fn formula(&self, formula: &Formula) -> String {
        let all = |word: &str, empty: &str, parts: &[Formula]| match parts {
            [] => empty.into(),
            [one] => self.formula(one),
            _ => format!("({word} {})", parts.iter().map(|part| self.formula(part)).collect::<Vec<_>>().join(" ")),
        };
        match formula {
            Formula::Zero(poly) => self.zero(poly),
            Formula::All(parts) => all("and", "true", parts),
            Formula::Any(parts) => all("or", "false", parts),
            Formula::Not(part) => format!("(not {})", self.formula(part)),
        }
    }
    fn assertions(&self, out: &mut String, mark: &str) {
        for (i, (_, formula)) in self.gate.constraints.iter().enumerate() {
            let _ = writeln!(out, "(assert (! {} :named c{i}{mark}))", self.formula(formula));
        }
        for formula in self.gate.wires.iter().chain(&self.gate.given) {
            let _ = writeln!(out, "(assert {})", self.formula(formula));
        }
    }
}

/// A sum of products, each a coefficient and its factors. Powers of two are in their order: a solver finds binary numbers
/// by them.
fn sum(mut terms: Vec<(u64, String)>) -> String {
    terms.sort();
    let term = |(c, factors): &(u64, String)| match (c, factors.contains(' ')) {
        _ if factors.is_empty() => format!("(as ff{c} F)"),
        (1, false) => factors.clone(),
        (1, true) => format!("(ff.mul {factors})"),
        _ => format!("(ff.mul (as ff{c} F) {factors})"),
    };
    match &terms[..] {
        [] => "(as ff0 F)".into(),
        [one] => term(one),
        _ => format!("(ff.add {})", terms.iter().map(term).collect::<Vec<_>>().join(" ")),
    }
}

fn header(gate: &Gate, claim: &str) -> String {
    let mut out = format!("; {}: {}\n; {claim}\n", gate.name, gate.about);
    for (i, (name, _)) in gate.constraints.iter().enumerate() {
        let _ = writeln!(out, "; c{i}: {name}");
    }
    let inputs: BTreeSet<String> =
        gate.inputs.iter().filter_map(Poly::as_variable).map(|x| format!(" |{}|", gate.names[x as usize])).collect();
    let _ = writeln!(out, "; inputs:{}", inputs.into_iter().collect::<String>());
    let _ = writeln!(out, "(set-logic QF_FF)\n(define-sort F () (_ FiniteField {}))", Goldilocks::ORDER);
    out
}

fn declare(out: &mut String, copy: &Copy<'_>, variables: impl Iterator<Item = u32>) {
    for variable in variables {
        let _ = writeln!(out, "(declare-const {} F)", copy.variable(variable));
    }
}

fn goal(out: &mut String, formula: &str) {
    let _ = writeln!(out, "(push 1)\n(assert {formula})\n(check-sat)\n(pop 1)");
}

/// Two copies with equal inputs; a goal for each step and output, that it differs. `None` without outputs.
pub fn determined(gate: &Gate) -> Option<String> {
    let mentioned = gate.mentioned();
    let shared: BTreeSet<u32> = gate.inputs.iter().filter_map(Poly::as_variable).collect();
    let [first, second] = ["_1", "_2"].map(|suffix| Copy { gate, shared: &shared, suffix });
    let outputs: Vec<&Poly> = gate.outputs.iter().filter(|x| !x.variables().is_subset(&shared)).collect();
    if outputs.is_empty() {
        return None;
    }
    let mut out = header(gate, "outputs are determined: each goal is unsatisfiable");
    declare(&mut out, &first, mentioned.iter().copied());
    declare(&mut out, &second, mentioned.difference(&shared).copied());
    for (copy, mark) in [(&first, "_1"), (&second, "_2")] {
        copy.assertions(&mut out, mark);
    }
    for input in gate.inputs.iter().filter(|input| input.as_variable().is_none()) {
        let ([mut left, minus], [mut right, other]) = (first.sides(input), second.sides(input));
        left.extend(other);
        right.extend(minus);
        let _ = writeln!(out, "(assert (= {} {}))", sum(left), sum(right));
    }
    let mut seen = BTreeSet::new();
    for output in gate.steps.iter().chain(outputs) {
        let [one, two] = [&first, &second].map(|copy| copy.poly(output));
        if seen.insert(one.clone()) {
            goal(&mut out, &format!("(not (= {one} {two}))"));
        }
    }
    Some(out)
}

/// One copy; a goal for each statement of the specification, that it does not hold. `None` without a specification.
pub fn specified(gate: &Gate) -> Option<String> {
    if gate.spec.is_empty() {
        return None;
    }
    let shared = BTreeSet::new();
    let copy = Copy { gate, shared: &shared, suffix: "" };
    let mut out = header(gate, "the specification follows: each goal is unsatisfiable");
    declare(&mut out, &copy, gate.mentioned().into_iter());
    copy.assertions(&mut out, "");
    for formula in &gate.definitions {
        let _ = writeln!(out, "(assert {})", copy.formula(formula));
    }
    for statement in &gate.spec {
        goal(&mut out, &format!("(not {})", copy.formula(statement)));
    }
    Some(out)
}
