//! The laws of an application, for its tests.
//!
//! [`check`] holds code against circuits on leaves of the caller's; [`refuses_leaf`] and [`refuses_pair`] show that both
//! refuse.
//!
//! Circuits on another proof system are held to the same laws with [`outputs`] and [`folds`], as `evergrove_recursion::apps::laws` does for
//! those of Plonky2.

use evergrove_primitives::Goldilocks;
use evergrove_verifier::tree::Value;

use crate::{Leaf, MapReduce};

mod tables;

use tables::OnTables;

/// A leaf with what opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Position in the vector.
    pub index: u64,
    /// The slot's value.
    pub value: Value,
    /// What opens the value.
    pub opening: Vec<Goldilocks>,
}

impl Case {
    /// What an honest prover sets where a slot holds no leaf.
    pub fn dummy(app: &dyn MapReduce) -> Self {
        Self { index: 0, value: Value::default(), opening: vec![Goldilocks::ZERO; app.opening_len()] }
    }

    /// The leaf.
    pub fn leaf(&self) -> Leaf<'_> {
        Leaf { index: self.index, value: self.value, opening: &self.opening }
    }
}

/// Two outputs and what they are reduced to, by the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The operand of the leaves before.
    pub left: Vec<Goldilocks>,
    /// The operand of the leaves behind.
    pub right: Vec<Goldilocks>,
    /// What they are reduced to.
    pub output: Vec<Goldilocks>,
}

/// Slots with leaves, active or not, and the output of the active ones, by the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold<'a> {
    /// The slots: whether each is active, and its leaf.
    pub slots: Vec<(bool, &'a Case)>,
    /// The output of the active ones.
    pub output: Vec<Goldilocks>,
    /// Application and slots, for messages.
    pub what: String,
}

/// What the code gives for some leaves: what circuits are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outputs {
    /// Of each leaf alone.
    pub mapped: Vec<Vec<Goldilocks>>,
    /// Of pairs of outputs.
    pub reductions: Vec<Reduction>,
}

/// All laws on these leaves, which the application maps, in the order of their positions.
///
/// The circuits give what the code gives for every leaf, for every pair of neighbouring outputs and for the reduction of
/// growing prefixes; slots without a leaf do not count; `identity` is neutral; brackets do not matter,
/// nor does the order where the application says so. Elements of outputs that are changed one by one satisfy no circuit:
/// the output follows from the operands alone.
///
/// # Panics
/// If a law does not hold, if the application has no circuits, and for fewer than three leaves.
pub fn check(app: &dyn MapReduce, cases: &[Case]) {
    let Outputs { mapped, reductions } = outputs(app, cases);
    let circuits = app.on_tables().unwrap_or_else(|| panic!("{} has no circuits", app.name()));
    tables::check(app, circuits, cases, &mapped, &reductions);
}

/// The laws of the code alone, and its outputs for these leaves: part of [`check`].
///
/// # Panics
/// If a law does not hold, and for fewer than three leaves.
pub fn outputs(app: &dyn MapReduce, cases: &[Case]) -> Outputs {
    assert!(cases.len() >= 3, "three leaves at least, for the associative law");
    assert!(app.output_len() > 0, "an output has at least one element");
    let name = app.name();
    assert!(crate::catalog::is_name(name), "{name:?} is not a name: 1 to 32 of a-z, 0-9, - and _");
    let identity = app.identity();
    assert_eq!(identity.len(), app.output_len(), "elements of the identity");

    let mapped: Vec<Vec<Goldilocks>> =
        cases.iter().map(|case| app.map(&case.leaf()).unwrap_or_else(|e| panic!("{name}: {case:?}: {e}"))).collect();
    let mut reductions = Vec::new();
    let mut reduce = |l: &[Goldilocks], r: &[Goldilocks]| {
        let output = app.reduce(l, r).unwrap_or_else(|e| panic!("{name}: {l:?} and {r:?}: {e}"));
        reductions.push(Reduction { left: l.to_vec(), right: r.to_vec(), output: output.clone() });
        output
    };
    assert_eq!(reduce(&identity, &identity), identity, "{name}: identity with itself");
    let mut prefix = identity.clone();
    for (k, x) in mapped.iter().enumerate() {
        assert_eq!(&reduce(&identity, x), x, "{name}: identity on the left of output {k}");
        assert_eq!(&reduce(x, &identity), x, "{name}: identity on the right of output {k}");
        let next = &mapped[(k + 1) % mapped.len()];
        if app.is_commutative() {
            assert_eq!(reduce(x, next), reduce(next, x), "{name}: outputs {k} and {}, exchanged", k + 1);
        }
        if k + 1 < mapped.len() {
            let (front, back) = (reduce(&prefix, x), reduce(x, next));
            assert_eq!(reduce(&front, next), reduce(&prefix, &back), "{name}: brackets at output {k}");
        }
        prefix = reduce(&prefix, x);
    }
    Outputs { mapped, reductions }
}

/// The folds that circuits are compared with: some slots active, the others with dummies, or with leaves that a prover leaves inactive. All are
/// active in the first. `mapped` is the output of each leaf alone.
pub fn folds<'a>(app: &dyn MapReduce, cases: &'a [Case], dummy: &'a Case, mapped: &[Vec<Goldilocks>]) -> Vec<Fold<'a>> {
    let (name, n) = (app.name(), cases.len());
    let all = u64::MAX >> (64 - n.min(64));
    let mut folds = Vec::new();
    for active in [all, all & 0x5555_5555_5555_5555, 1, 0, all >> 1] {
        let is_active = |k: usize| active >> k.min(63) & 1 == 1;
        let output = (0..n).filter(|k| is_active(*k)).fold(app.identity(), |before, k| {
            app.reduce(&before, &mapped[k]).unwrap_or_else(|e| panic!("{name}: fold: {e}"))
        });
        for others_empty in [true, false] {
            let slot = |(k, case)| (is_active(k), if others_empty && !is_active(k) { dummy } else { case });
            let slots = cases.iter().enumerate().map(slot).collect();
            folds.push(Fold { slots, output: output.clone(), what: format!("{name}: fold of {active:b}") });
        }
    }
    folds
}

/// Neither code nor circuits map the leaf.
///
/// # Panics
/// If one of them does.
pub fn refuses_leaf(app: &dyn MapReduce, case: &Case) {
    assert!(app.map(&case.leaf()).is_err(), "{}: {case:?} is mapped", app.name());
    if let Some(circuits) = app.on_tables() {
        let circuit = OnTables::fold(app, circuits, 1);
        circuit.refuses(&OnTables::slots(app, circuits, &[(true, case)]), &format!("{case:?}"));
    }
}

/// Neither code nor circuits reduce the two.
///
/// # Panics
/// If one of them does.
pub fn refuses_pair(app: &dyn MapReduce, left: &[Goldilocks], right: &[Goldilocks]) {
    assert!(app.reduce(left, right).is_err(), "{}: {left:?} and {right:?} are reduced", app.name());
    if let Some(circuits) = app.on_tables() {
        OnTables::reduce(app, circuits).refuses(&[left, right].concat(), &format!("{left:?} and {right:?}"));
    }
}
