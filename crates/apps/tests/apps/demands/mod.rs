//! The demands of the circuits of applications: see [`evergrove_testkit::demands`].
//!
//! A circuit of these tests is the application's part alone: the fold of some slots, or the reduction of two outputs. A
//! lie is false if the application's code computes another output, or none, for the leaves that the slots commit to. A
//! value commits to the row that is known to hash to it.

mod argued;
mod bls;
mod queries;

use std::collections::HashMap;

use evergrove_apps::laws::Case;
use evergrove_apps::samples::Tally;
use evergrove_apps::tables::Slot;
use evergrove_apps::{MapReduce, MapReduceError};
use evergrove_multilinear::circuit::wires::Base;
use evergrove_multilinear::circuit::{Arithmetic, Builder, Circuit, Witness as Columns};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Quadratic;
use evergrove_testkit::demands::{Lie, Report, Subject, others};
use evergrove_verifier::tables::{Table, Tables, bits, query};
use evergrove_verifier::tree::Value;

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;

/// Elements of the free data for a slot: index, value, three zeros, and whether it is active.
const SLOT: usize = 9;

/// A part of an application as a circuit.
struct Part {
    subject: Subject,
    /// The rows of what an honest prover computes, without the output's.
    hints: Vec<u32>,
    /// Elements of the free data that a search changes.
    places: Vec<usize>,
}

/// The output of leaves, computed by the code.
fn output(app: &dyn MapReduce, leaves: &[Case]) -> Result<Vec<Goldilocks>, MapReduceError> {
    leaves.iter().try_fold(app.identity(), |before, case| app.reduce(&before, &app.map(&case.leaf())?))
}

/// A circuit, and the rows of tuples that hold a copy of its output.
fn circuit(
    app: &dyn MapReduce,
    rows: impl FnOnce(&mut Builder<Quadratic>) -> Vec<Base>,
) -> (Circuit<Quadratic>, Vec<u32>) {
    let limbs = bits::INDICES * bits::CHUNK..bits::COLUMNS;
    let bounds = app.on_tables().unwrap().bounds().into_iter().map(|end| end..bits::COLUMNS).collect();
    let modes = bits::Parameters::new(vec![bits::CHUNK], [vec![limbs], bounds].concat());
    let mut builder = Builder::new(Tables::new(query::Parameters { bits: 1, variables: 1 }, modes));
    let output = rows(&mut builder);
    let copies = output.into_iter().map(|x| {
        let copy = builder.any_of(&[x], |x| x[0]);
        builder.equal(copy, x);
        builder.rows(Table::Tuple) as u32 - 1
    });
    let copies = copies.collect();
    (builder.finish(), copies)
}

/// The rows of the fold of some slots.
fn fold_rows(app: &dyn MapReduce, slots: usize, b: &mut Builder<Quadratic>) -> (Vec<Slot>, Vec<Base>) {
    let tag = b.tag(ZERO);
    let slots = (0..slots).map(|_| {
        let (_, [first, second]) = b.hash_free(tag);
        let index = b.limb(first, 0);
        let value = [(first, 1), (first, 2), (first, 3), (second, 0)];
        Slot { active: b.bit(), index, value }
    });
    let slots = slots.collect();
    (slots, app.on_tables().unwrap().inputs().iter().map(|_| b.any()).collect())
}

impl Part {
    /// The fold of slots with these leaves, all of them active. Counts the lines of files with this in their paths.
    fn fold(report: &mut Report, files: &str, app: impl MapReduce + 'static, leaves: &[Case]) -> Self {
        let circuits = app.on_tables().unwrap();
        let (circuit, copies) = circuit(&app, |b| {
            let (slots, inputs) = fold_rows(&app, leaves.len(), b);
            circuits.fold(b, &inputs, &slots)
        });
        let mut free = Vec::new();
        for Case { index, value, .. } in leaves {
            free.extend([&[Goldilocks::new(*index)], &value[..], &[ZERO; 3], &[ONE]].concat());
        }
        free.extend(circuits.inputs());
        let openings = free.len();
        let mut each = 0;
        if app.opening_len() > 0 {
            leaves.iter().for_each(|case| free.extend(circuits.free(case.opening.clone())));
            each = (free.len() - openings) / leaves.len();
        }
        let values = (0..leaves.len()).flat_map(|slot| slot * SLOT + 1..slot * SLOT + 5);
        let places = values.chain(openings..free.len()).collect();
        let known: HashMap<Value, Vec<Goldilocks>> =
            leaves.iter().map(|case| (case.value, case.opening.clone())).collect();
        let (slots, rows) = (leaves.len(), copies.clone());
        let rule = move |subject: &Subject, free: &[Goldilocks], columns: &Columns| {
            let leaf = |slot: usize| {
                let value: Value = free[slot * SLOT + 1..][..4].try_into().unwrap();
                let opening = free[openings + slot * each..][..app.opening_len()].to_vec();
                Case { index: slot as u64, value, opening: known.get(&value).cloned().unwrap_or(opening) }
            };
            let leaves: Vec<Case> = (0..slots).filter(|slot| free[slot * SLOT + SLOT - 1] != ZERO).map(leaf).collect();
            let stated: Vec<Goldilocks> = rows.iter().map(|&row| subject.count(columns, row)).collect();
            output(&app, &leaves).ok() != Some(stated)
        };
        Self::new(report, files, Subject::new(circuit, free, rule), &copies, places)
    }
    /// The reduction of these outputs.
    fn reduce(
        report: &mut Report,
        files: &str,
        app: impl MapReduce + 'static,
        left: &[Goldilocks],
        right: &[Goldilocks],
    ) -> Self {
        let len = app.output_len();
        let (circuit, copies) = circuit(&app, |b| {
            let [left, right] = [(); 2].map(|()| (0..len).map(|_| b.any()).collect::<Vec<Base>>());
            app.on_tables().unwrap().reduce(b, &left, &right)
        });
        let rows = copies.clone();
        let rule = move |subject: &Subject, free: &[Goldilocks], columns: &Columns| {
            let stated: Vec<Goldilocks> = rows.iter().map(|&row| subject.count(columns, row)).collect();
            match app.reduce(&free[..len], &free[len..2 * len]) {
                // The proofs of the children state outputs.
                Err(MapReduceError::Operand(_)) => false,
                reduced => reduced.ok() != Some(stated),
            }
        };
        let free = [left, right].concat();
        let places = (0..free.len()).collect();
        Self::new(report, files, Subject::new(circuit, free, rule), &copies, places)
    }
    fn new(report: &mut Report, files: &str, subject: Subject, copies: &[u32], places: Vec<usize>) -> Self {
        report.of_file(&subject, files);
        assert!(!(subject.other)(&subject, &subject.free, &subject.sound), "an honest witness states what is true");
        let hints = subject.circuit.choices().filter(|row| !copies.contains(row)).collect();
        Self { subject, hints, places }
    }
    fn lie(&self) -> Lie<'_> {
        Lie::new(&self.subject)
    }
    /// A lie about what an honest prover computes: the hints with these numbers.
    fn choose(&self, hints: &[(usize, Goldilocks)]) -> Lie<'_> {
        hints.iter().fold(self.lie(), |lie, &(hint, x)| lie.choose(self.hints[hint], x))
    }
    /// Adds the demands that alone refuse one other element.
    fn search(&self, report: &mut Report) {
        for &row in &self.hints {
            for x in others(self.subject.count(&self.subject.sound, row)) {
                report.add(self.lie().choose(row, x).alone());
            }
        }
        for &at in &self.places {
            for x in others(self.subject.free[at]) {
                report.add(self.lie().set(at, &[x]).alone());
            }
        }
    }
}

/// Compares a report with its snapshot.
fn judge(name: &str, report: &Report) {
    insta::assert_snapshot!(name, report.text());
    report.check();
}

#[test]
fn the_line_of_each_lie_about_a_tally_alone_refuses_it() {
    let mut report = Report::new(&[]);
    let value = [5, 1, 2, 3].map(Goldilocks::new);
    let part =
        Part::fold(&mut report, "crates/apps/src/", Tally::new(20), &[Case { index: 3, value, opening: Vec::new() }]);
    let large = part.lie().set(1, &[Goldilocks::new(1 << 20)]);
    large.refused_by(&mut report, "samples.rs: Zeros: b.below(counted, self.bits.into());");
    part.search(&mut report);
    judge("tally", &report);
}
