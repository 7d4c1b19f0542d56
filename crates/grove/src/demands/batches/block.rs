//! Lies about the blocks of complete batches. The circuit of these tests also publishes the leaves of its slots, as an
//! application may.

use super::*;
use crate::application::word as as_word;
use evergrove_multilinear::circuit::wires::Base;
use evergrove_multilinear::circuit::{Arithmetic, Builder};
use evergrove_multilinear::recursion::Children;

/// Levels above blocks.
const TURNS: usize = 6;

/// A circuit's slot for a position.
#[derive(Clone)]
struct Slot {
    leaf: [Goldilocks; 8],
    active: bool,
}

/// What a prover chooses.
#[derive(Clone)]
struct Choice {
    root: Digest,
    number: Goldilocks,
    flags: [Goldilocks; SIZE.height_max as usize],
    top: u8,
    /// The bits of the path from the top.
    turns: [Goldilocks; TURNS],
    slots: Vec<Slot>,
    /// The nodes beside the path: height and number.
    beside: Vec<(u8, u64)>,
}

impl Choice {
    /// The block with this number, below the node of a height.
    fn of(block: u64, top: u8) -> Self {
        let slot = |position: u64| {
            let active = FILLED.contains(&position);
            let empty = core::array::from_fn(|i| if i == 0 { Goldilocks::new(position) } else { ZERO });
            Slot { leaf: if active { leaf(position) } else { empty }, active }
        };
        let number = block >> (top - 2);
        Self {
            root: TREE.node(top, number),
            number: Goldilocks::new(number),
            flags: flags(top.into()),
            top,
            turns: core::array::from_fn(|i| Goldilocks::new(block >> (TURNS - 1 - i) & 1)),
            slots: (4 * block..4 * block + 4).map(slot).collect(),
            beside: (2..top).map(|level| (level, (block >> (level - 2)) ^ 1)).collect(),
        }
    }
    fn data(&self, claim: &[Goldilocks]) -> Vec<Goldilocks> {
        let mut free = [self.root.0, [ONE; WORD], [self.number, ZERO, ZERO, ZERO], [ZERO; WORD]].concat();
        free.extend(self.flags);
        free.extend(self.turns);
        let mut known = BTreeSet::new();
        for slot in &self.slots {
            free.extend(slot.leaf);
            free.push(Goldilocks::new(slot.active.into()));
            climb(&mut free, &mut known, (0, slot.leaf[0].as_u64()), self.top);
        }
        self.beside.iter().for_each(|&node| climb(&mut free, &mut known, node, self.top));
        free.extend(claim);
        free
    }
}

const LEAF: &str = "block.rs: Node: let active = b.node(tree, leaf.digest(), zero, index, None);";

/// Words of what the circuit says about a slot: if it is active, then its position and its value.
const SLOT: usize = 2 + WORD;

/// True if the active slots are not all leaves below the node.
fn is_false(subject: &Subject, _: &[Goldilocks], columns: &Columns) -> bool {
    let words = published(subject, columns, WORDS + SLOT * SIZE.capacity);
    let Some(statement) = statement(&words) else { return true };
    let slots = words[WORDS..].as_chunks::<SLOT>().0.iter().map(|slot| slot.map(|word| word[0]));
    let stated: Vec<(u64, Value)> =
        slots.filter(|[active, ..]| *active != ZERO).map(|[_, index, value @ ..]| (index.as_u64(), value)).collect();
    let number = statement.base >> statement.height;
    Known::new(subject, columns).leaves_below(&statement.root, statement.height, number) != Some(stated)
}

/// Lies that are made one by one.
fn each(report: &mut Report) -> Subject {
    let circuit_set = CircuitSet { complete: true, ..CircuitSet::of_batches(SIZE) };
    let parameters = parameters(&circuit_set);
    let mut builder = Builder::new(parameters.tables().clone());
    let b = &mut builder;
    let (key, mut statement, slots) = circuit_set.all_leaves(b);
    for slot in slots {
        let all = slot.value.map(|(word, limb)| b.limb(word, limb));
        let said = [[b.one(), slot.index], [all[0], all[1]], [all[2], all[3]]].concat();
        statement.extend(said.into_iter().map(|x: Base| as_word(Arithmetic::mul(b, slot.active.into(), x))));
    }
    Children::new(b, &parameters, key).publish(statement);
    let claim = claim(&parameters);
    // The block with the leaf at 69, below the node of height 5.
    let own = Choice::of(17, 5);
    let subject = Subject::new(builder.finish(), own.data(&claim), is_false);
    assert!(!is_false(&subject, &subject.free, &subject.sound));
    report.of(&subject);
    let circuit = &subject.circuit;
    let columns = |choice: &Choice| subject.columns(&choice.data(&claim), &Choices::new());
    let lie = |choice: &Choice| Lie { free: choice.data(&claim), ..Lie::new(&subject) };
    // A leaf where nothing is, and nothing where a leaf is: the paths are of the other positions.
    for (place, text) in [(0, LEAF), (1, "block.rs: Node: b.node(tree, empty, zero, index, Some(not));")] {
        let mut other = own.clone();
        other.slots[place].active = place == 0;
        lie(&other)
            .change(|columns| {
                with_paths_of(circuit, columns, &subject.sound);
                unused(circuit, columns, (1, 34), place == 1);
            })
            .refused_by(report, text);
    }
    // Nothing at 73 instead of 69.
    let mut moved = own.clone();
    moved.slots[1] = Slot { leaf: [ZERO; 8], active: false };
    moved.slots[1].leaf[0] = Goldilocks::new(73);
    lie(&moved).refused_by(
        report,
        "block.rs: Equation: b.check([ZERO, ONE, Goldilocks::new(place)], start.into(), zero.into(), one.into(), index.into());",
    );
    // The tree has a leaf with more behind its value.
    let mut behind = Choice::of(25, 5);
    behind.slots[0].leaf[5] = ONE;
    behind.root = root_of_path(chained(&behind.slots[0].leaf), 100, &TREE.siblings(0, 100, 5));
    lie(&behind).refused_by(report, "block.rs: Equation: b.no_limbs(second, 1..4);");
    // There are leaves beside the path, below the node of height 5 with number 3.
    let all = Choice::of(17, 8);
    let paths = columns(&all);
    lie(&all)
        .change(|columns| {
            with_paths_of(circuit, columns, &paths);
            unused(circuit, columns, (6, 1), true);
        })
        .refused_by(report, "block.rs: Node: b.node(tree, null, height, index, Some(active));");
    // Turns that are not bits lead to an empty block, beside the empty node of height 4 that contains it.
    let mut turned = Choice::of(22, 5);
    let sixteenth = Goldilocks::new(16).inverse().unwrap();
    turned.turns = [9, 0, 0, 8, 16, 0].map(|x| Goldilocks::new(x) * sixteenth);
    turned.beside = vec![(2, 23), (3, 10), (4, 5)];
    lie(&turned).refused_by(report, "block.rs: Bit: let bit: Base = b.bit().into();");
    subject
}

#[test]
fn the_line_of_each_lie_about_a_block_alone_refuses_it() {
    let mut report = Report::new(argued::BLOCK);
    let subject = each(&mut report);
    report.search(&subject);
    judge("block", &report);
}
