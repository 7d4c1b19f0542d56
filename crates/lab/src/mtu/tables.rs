//! The paper's Tables 2 and 3: what the accumulator does in its first 28 cycles.

use crate::accumulator::{Accumulator, Place, Policy};
use crate::expander::Expander;

/// Cycles of the tables.
pub const CYCLES: usize = 28;

/// A schedule: in each cycle, the pair or node that is issued and the one that leaves, by the left one's level and number in
/// the paper's count of levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Operands.
    pub inputs: Vec<Option<Place>>,
    /// Results.
    pub outputs: Vec<Option<Place>>,
}

/// Table 2: node i of level 4 arrives in cycle i, the PE takes one cycle.
pub fn inverted(policy: Policy) -> Schedule {
    // More levels than the cycles can fill.
    let mut accumulator = Accumulator::<_>::new(policy, 12, 1, 1, 0);
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for cycle in 0..CYCLES as u64 {
        accumulator.arrive(());
        let step = accumulator.step(cycle, |_, [(), ()]| ());
        accumulator.commit();
        inputs.push(step.issued.map(|(level, i)| (level + 4, i)));
        outputs.push(step.output.map(|((level, i), ())| (level + 4, i)));
    }
    Schedule { inputs, outputs }
}

/// Table 3: two nodes of level 8 are there, the PE takes one cycle, level 4 leaves.
pub fn forward(policy: Policy) -> Schedule {
    let mut expander = Expander::new(policy, 3, vec![(); 2], 1, 8);
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for cycle in 0..CYCLES as u64 {
        // The front tree takes one node a cycle.
        expander.take();
        let step = expander.step(cycle, |_, ()| [(); 2]);
        expander.commit();
        inputs.push(step.issued.map(|(level, i)| (level + 5, i)));
        outputs.push(step.output.map(|(level, i)| (level + 4, i)));
    }
    Schedule { inputs, outputs }
}

/// A row of a table: its name and its cells.
pub type Row = (&'static str, Vec<Option<Place>>);

/// The published rows of a table, 2 or 3.
///
/// # Panics
/// Never: a test reads both.
pub fn published(table: u32) -> Vec<Row> {
    let text = if table == 2 { include_str!("../../data/table2.txt") } else { include_str!("../../data/table3.txt") };
    let cell = |text: &str| -> Option<Place> {
        let (level, index) = text.strip_prefix('L')?.split_once('_')?;
        Some((level.parse().ok()?, index.parse().ok()?))
    };
    text.lines()
        .map(|line| {
            let mut words = line.split_whitespace();
            (words.next().expect("a row has a name"), words.map(cell).collect())
        })
        .collect()
}

/// The rows of a table by a policy, in the order of [`published`].
pub fn modelled(table: u32, policy: Policy) -> Vec<Row> {
    let right = |cells: &[Option<Place>]| cells.iter().map(|c| c.map(|(level, i)| (level, i + 1))).collect();
    if table == 2 {
        let Schedule { inputs, outputs } = inverted(policy);
        let b = right(&inputs);
        vec![("Input_A", inputs), ("Input_B", b), ("Output", outputs)]
    } else {
        let Schedule { inputs, outputs } = forward(policy);
        let b = right(&outputs);
        vec![("Input", inputs), ("Output_A", outputs), ("Output_B", b)]
    }
}

/// Cells of a table that a run of the accumulator or the expander makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// As printed.
    pub equal: usize,
    /// Of all.
    pub all: usize,
}

/// The cells of a table, 2 or 3, that a policy makes.
pub fn agreement(table: u32, policy: Policy) -> Agreement {
    let (published, modelled) = (published(table), modelled(table, policy));
    let cells = published.iter().zip(&modelled).flat_map(|(p, m)| p.1.iter().zip(&m.1));
    let (equal, all) = cells.fold((0, 0), |(equal, all), (p, m)| (equal + usize::from(p == m), all + 1));
    Agreement { equal, all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ruler_is_in_every_cell_of_both_tables() {
        for table in [2, 3] {
            let (published, modelled) = (published(table), modelled(table, Policy::Ruler));
            assert_eq!(published.len(), 3);
            for (p, m) in published.iter().zip(&modelled) {
                assert_eq!(p.1.len(), CYCLES);
                assert_eq!(p, m, "table {table}");
            }
            assert_eq!(agreement(table, Policy::Ruler), Agreement { equal: 84, all: 84 });
        }
    }

    #[test]
    fn table_3_alone_tells_the_ruler_from_one_that_gives_idle_slots_away() {
        let equal = |table, policy| agreement(table, policy).equal;
        assert_eq!(equal(2, Policy::RulerSteal), 84);
        assert!(equal(3, Policy::RulerSteal) < 84);
        assert_eq!(equal(2, Policy::StreamFirst), 78);
        assert_eq!(equal(2, Policy::Deepest), 45);
        assert!(equal(3, Policy::Deepest) < 14);
    }
}
