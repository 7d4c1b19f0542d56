//! Tables 2 and 3 of the MTU paper: the first 28 cycles of the accumulator.

use crate::accumulator::{Accumulator, Place, Policy};
use crate::expander::Expander;

/// Cycles of each table.
pub const CYCLES: usize = 28;

/// A schedule: for each cycle, the pair or node that is issued and the one that leaves. The left node of a pair is
/// given by its number and its level, in the paper's count of levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Issued operands.
    pub inputs: Vec<Option<Place>>,
    /// Results that leave.
    pub outputs: Vec<Option<Place>>,
}

/// Table 2: node i of level 4 arrives in cycle i, and the PE takes one cycle.
pub fn inverted(policy: Policy) -> Schedule {
    // More levels than the accumulator reaches in these cycles.
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

/// Table 3: two nodes of level 8 are present at the start, the PE takes one cycle, and nodes of level 4 leave.
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

/// The published rows of table 2 or 3.
///
/// # Panics
/// Never: a test reads both tables.
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

/// The rows of a table under `policy`, in the order of [`published`].
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

/// How many cells of a table the model reproduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Cells equal to the published ones.
    pub equal: usize,
    /// All cells.
    pub all: usize,
}

/// Compares table 2 or 3 with the model under `policy`.
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
