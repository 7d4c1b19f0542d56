//! The laws of an application, for its tests.
//!
//! [`check`] compares code and circuits on leaves that the caller gives. [`refuses_leaf`] and [`refuses_pair`] show
//! that both refuse.
//!
//! [`outputs`] and [`folds`] apply the same laws to circuits of another proof system, as
//! `evergrove_plonky2::apps::laws` does for Plonky2.

use evergrove_primitives::Goldilocks;
use evergrove_verifier::tree::Value;

use crate::{Leaf, MapReduce};

mod tables;

use tables::OnTables;

/// A leaf with its opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The position in the vector.
    pub index: u64,
    /// The slot's value.
    pub value: Value,
    /// The elements that open the value.
    pub opening: Vec<Goldilocks>,
}

impl Case {
    /// The leaf that an honest prover uses in a slot without a leaf.
    pub fn dummy(app: &dyn MapReduce) -> Self {
        Self { index: 0, value: Value::default(), opening: vec![Goldilocks::ZERO; app.opening_len()] }
    }

    /// The leaf.
    pub fn leaf(&self) -> Leaf<'_> {
        Leaf { index: self.index, value: self.value, opening: &self.opening }
    }
}

/// Two outputs and their reduction, computed by the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The output of the leaves at lower positions.
    pub left: Vec<Goldilocks>,
    /// The output of the leaves at higher positions.
    pub right: Vec<Goldilocks>,
    /// Their reduction.
    pub output: Vec<Goldilocks>,
}

/// Slots with leaves, active or not, and the output of the active ones, computed by the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold<'a> {
    /// The slots: whether each is active, and its leaf.
    pub slots: Vec<(bool, &'a Case)>,
    /// The output of the active slots.
    pub output: Vec<Goldilocks>,
    /// The application and the slots, for messages.
    pub what: String,
}

/// The outputs that the code computes for some leaves, to compare circuits with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outputs {
    /// The output of each leaf alone.
    pub mapped: Vec<Vec<Goldilocks>>,
    /// Reductions of pairs of outputs.
    pub reductions: Vec<Reduction>,
}

/// Checks all laws on these leaves. They must be in the order of their positions, and the application must map all of
/// them.
///
/// The circuits compute what the code computes, for every leaf, for every pair of neighbouring outputs and for the
/// reduction of growing prefixes. Slots without a leaf do not count. `identity` is neutral. The bracketing does not
/// matter, and neither does the order if the application says so. No circuit is satisfied if an element of an output is
/// changed: the output follows from the operands alone.
///
/// # Panics
/// If a law does not hold, if the application has no circuits, or if there are fewer than three leaves.
pub fn check(app: &dyn MapReduce, cases: &[Case]) {
    let Outputs { mapped, reductions } = outputs(app, cases);
    let circuits = app.on_tables().unwrap_or_else(|| panic!("{} has no circuits", app.name()));
    tables::check(app, circuits, cases, &mapped, &reductions);
}

/// Checks the laws of the code alone, and returns its outputs for these leaves. [`check`] includes this.
///
/// # Panics
/// If a law does not hold, or if there are fewer than three leaves.
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

/// The folds to compare circuits with. Some slots are active. The others have dummies, or leaves that a prover leaves
/// inactive. In the first fold all slots are active. `mapped` is the output of each leaf alone.
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

/// Checks that neither the code nor the circuits map the leaf.
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

/// Checks that neither the code nor the circuits reduce the two outputs.
///
/// # Panics
/// If one of them does.
pub fn refuses_pair(app: &dyn MapReduce, left: &[Goldilocks], right: &[Goldilocks]) {
    assert!(app.reduce(left, right).is_err(), "{}: {left:?} and {right:?} are reduced", app.name());
    if let Some(circuits) = app.on_tables() {
        OnTables::reduce(app, circuits).refuses(&[left, right].concat(), &format!("{left:?} and {right:?}"));
    }
}
