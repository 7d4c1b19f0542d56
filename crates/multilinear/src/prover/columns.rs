//! The places of the columns of a block.

use evergrove_primitives::Goldilocks;

use super::polynomial::Variable;
use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::tables::{BLOCK, Layout, Shape, Table, Tables};

/// The columns of a table: committed and fixed ones in their stacks, the row's number, 1.
#[derive(Clone, Debug)]
pub(super) struct Columns<'a> {
    pub(super) table: Table,
    pub(super) shape: Shape,
    committed: &'a [Goldilocks],
    fixed: &'a [Goldilocks],
    /// 0, 1, 2, ...
    numbers: &'a [Goldilocks],
    ones: &'a [Goldilocks; BLOCK],
    /// For each column the place of its first block, and the distance from block to block.
    places: [Vec<(usize, usize)>; 2],
}

impl<'a> Columns<'a> {
    pub(super) fn new<K: Extension>(
        tables: &Tables<K>,
        layout: &Layout,
        table: Table,
        [committed, fixed]: [&'a [Goldilocks]; 2],
        numbers: &'a [Goldilocks],
        ones: &'a [Goldilocks; BLOCK],
    ) -> Self {
        let shape = layout.shape(table).expect("a table with rows");
        let places = [
            layout.committed().columns(table, tables.columns(table)),
            layout.fixed().columns(table, tables.fixed(table)),
        ];
        Self { table, shape, committed, fixed, numbers, ones, places }
    }
    /// The variable that is 1 on all rows.
    pub(super) fn one(&self) -> Variable {
        (self.places[0].len() + self.places[1].len() + 1) as Variable
    }
    /// The values of a column on a block.
    pub(super) fn chunk(&self, variable: Variable, block: usize) -> &'a [Goldilocks; BLOCK] {
        let column = usize::from(variable);
        let [committed, fixed] = &self.places;
        let from = if let Some((start, step)) = committed.get(column) {
            &self.committed[start + block * step..]
        } else if let Some((start, step)) = fixed.get(column - committed.len()) {
            &self.fixed[start + block * step..]
        } else if variable == self.one() {
            return self.ones;
        } else {
            &self.numbers[block * BLOCK..]
        };
        from.first_chunk().expect("a chunk of a block")
    }
    /// The value of each column, from the sums of all chunks of a stack, for the weights of blocks.
    pub(super) fn values<K: Extension>(&self, committed: bool, sums: &[K], blocks: &[K]) -> Vec<K> {
        let places = &self.places[usize::from(!committed)];
        let value = |&(start, step): &(usize, usize)| -> K {
            blocks
                .iter()
                .take(self.shape.blocks())
                .enumerate()
                .map(|(b, &w)| w * sums[(start + b * step) / BLOCK])
                .sum()
        };
        places.iter().map(value).collect()
    }
}
