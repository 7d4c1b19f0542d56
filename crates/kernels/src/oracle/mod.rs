//! Commitments to polynomials by their low-degree extensions: the oracles of FRI.
//!
//! **What.** A batch of polynomials, given by values on the group H of order 2^log_size or by coefficients, is extended
//! to a coset 2^rate_bits times as large, and a Poseidon Merkle tree is built over the rows of the extension. The
//! tree's leaves, cap and paths are those of Plonky2's `PolynomialBatch` without blinding: leaf i is the row of the
//! point `GENERATOR` w^rev(i). A [`Domain::chained`] has no coset, and hashes rows in another way.
//!
//! **How.** A [`Domain`] has the tables for one size and rate, which commitments share. A [`Workspace`] has the buffers
//! for a number of columns. A commitment turns it into an [`Oracle`], which returns the buffers for the next proof.
//! Columns go through memory once in groups of eight ([`crate::ntt`]): nothing is transposed, and no leaf is a separate
//! vector.
//!
//! **Memory.** Coefficients are kept, in 8 bytes an element of the trace, and so are the digests of the tree.
//! [`Keep::Values`] also keeps the extension, which is 2^rate_bits times the trace. With [`Keep::Coefficients`] the
//! extension is computed and hashed one coset of H at a time, in as much memory as the trace, and a row that is opened
//! is evaluated again.

mod domain;
mod error;
pub mod reference;

use std::sync::Arc;

use evergrove_primitives::hash::poseidon::lanes::{Interleaved, Sponge};
use evergrove_primitives::lanes::{Isa, LANES, dispatch_on};
use evergrove_primitives::{Digest, Goldilocks};
use rayon::prelude::*;

use crate::merkle::{self, On, Poseidon, Shape};
use crate::ntt::columns::{Order, gather_on};
use crate::ntt::{Row, ZERO_ROW, groups};

pub use domain::Domain;
use domain::Leaves;
pub use error::OracleError;

/// Rows that one task hashes.
const TASK: usize = 1 << 8;

/// The contents of an oracle besides the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The coefficients.
    Coefficients,
    /// The coefficients and the extension.
    Values,
}

/// A stage of [`Workspace::commit_observed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// One block of the extension, of all columns.
    Extension,
    /// The leaves of one block.
    Leaves,
    /// All levels above the leaves.
    Levels,
}

/// Buffers for commitments to a number of polynomials.
#[derive(Clone, Debug)]
pub struct Workspace {
    domain: Arc<Domain>,
    columns: usize,
    shape: Shape,
    keep: Keep,
    coefficients: Vec<Row>,
    /// All blocks of every group, or one block.
    values: Vec<Row>,
    nodes: Vec<Digest>,
}

impl Workspace {
    /// Buffers for `columns` polynomials, whose tree ends at a cap of 2^`cap_height` digests.
    pub fn new(domain: Arc<Domain>, columns: usize, cap_height: u32, keep: Keep) -> Result<Self, OracleError> {
        let shape = Shape::new(domain.lde().extended_size(), columns, cap_height)?;
        let rows = groups(columns) * domain.lde().size();
        let values = if keep == Keep::Values { rows << domain.lde().rate_bits() } else { rows };
        Ok(Self {
            columns,
            shape,
            keep,
            coefficients: vec![ZERO_ROW; rows],
            values: vec![ZERO_ROW; values],
            nodes: vec![Digest::ZERO; shape.nodes()],
            domain,
        })
    }

    /// Polynomials.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Coefficients of a polynomial, rows of the extension, polynomials, digests of the cap.
    pub fn dimensions(&self) -> [usize; 4] {
        let lde = self.domain.lde();
        [lde.size(), lde.extended_size(), self.columns, self.shape.level(self.shape.levels() - 1).len()]
    }

    /// Commits to the polynomials with these values on H, in natural order, column by column.
    ///
    /// An inverse transform, the transforms of all blocks, and a tree over 2^(log_size + rate_bits) rows.
    pub fn commit_values<C: AsRef<[Goldilocks]> + Sync>(mut self, columns: &[C]) -> Result<Oracle, OracleError> {
        self.gather(columns, Order::BitReversed)?;
        self.interpolate();
        Ok(self.commit())
    }

    /// Commits to the polynomials with these coefficients. Reports the end of each stage, as
    /// [`Workspace::commit_observed`] does.
    pub fn commit_coefficients_observed<C: AsRef<[Goldilocks]> + Sync>(
        mut self,
        columns: &[C],
        ended: &mut dyn FnMut(Stage),
    ) -> Result<Oracle, OracleError> {
        self.gather(columns, Order::Natural)?;
        Ok(self.commit_observed(ended))
    }

    /// The input of [`Workspace::commit`]: groups of eight interleaved columns, one after the other, of 2^log_size rows
    /// each. The contents of the columns that fill up the last group do not matter.
    pub fn coefficients_mut(&mut self) -> &mut [Row] {
        &mut self.coefficients
    }

    /// Interprets the coefficients as values on H in bit-reversed order, and replaces them by the coefficients.
    pub fn interpolate(&mut self) {
        let n = self.domain.lde().size();
        let inverse = self.domain.inverse();
        self.coefficients.par_chunks_mut(n).for_each(|rows| inverse.transform_in_place(rows).expect("n rows"));
    }

    /// Commits to the current coefficients.
    pub fn commit(self) -> Oracle {
        self.commit_observed(&mut |_| ())
    }

    /// [`Workspace::commit`] that reports the end of each stage: extension and leaves, in turn, once for each of the
    /// 2^rate_bits blocks, and the levels.
    pub fn commit_observed(mut self, ended: &mut dyn FnMut(Stage)) -> Oracle {
        let (isa, rule, n) = (self.domain.isa(), self.domain.leaves(), self.domain.lde().size());
        let stride = self.values.len() / groups(self.columns);
        for b in 0..self.domain.lde().blocks().len() {
            self.extend(b);
            let first = self.first(b);
            ended(Stage::Extension);
            let leaves = &mut self.nodes[b * n..][..n];
            leaves.par_chunks_mut(TASK).enumerate().for_each(|(t, digests)| {
                hash_rows(isa, rule, &self.values, stride, first + t * TASK, self.columns, digests);
            });
            ended(Stage::Leaves);
        }
        merkle::levels_above(On(isa, Poseidon), &self.shape, 0, &mut self.nodes);
        ended(Stage::Levels);
        Oracle(self)
    }

    /// The values on coset `b` of H.
    fn extend(&mut self, b: usize) {
        let (first, lde) = (self.first(b), self.domain.lde());
        let (n, block, stride) = (lde.size(), &lde.blocks()[b], self.values.len() / groups(self.columns));
        self.values.par_chunks_mut(stride).zip(self.coefficients.par_chunks(n)).for_each(|(values, coefficients)| {
            block.transform(coefficients, &mut values[first..][..n]).expect("n rows each");
        });
    }

    /// The start of a group's values on coset `b`.
    fn first(&self, b: usize) -> usize {
        if self.keep == Keep::Values { b * self.domain.lde().size() } else { 0 }
    }

    fn gather<C: AsRef<[Goldilocks]> + Sync>(&mut self, columns: &[C], order: Order) -> Result<(), OracleError> {
        if columns.len() != self.columns {
            return Err(OracleError::Columns { found: columns.len(), expected: self.columns });
        }
        let rows = self.domain.lde().size();
        if let Some((column, found)) = columns.iter().map(|c| c.as_ref().len()).enumerate().find(|(_, n)| *n != rows) {
            return Err(OracleError::Rows { column, found, expected: rows });
        }
        Ok(gather_on(self.domain.isa(), columns, order, &mut self.coefficients)?)
    }
}

/// Leaf digests of rows of groups.
fn hash_rows(
    isa: Isa,
    rule: Leaves,
    values: &[Row],
    stride: usize,
    first: usize,
    columns: usize,
    digests: &mut [Digest],
) {
    let rows = Interleaved::new(values, stride, first, digests.len(), columns);
    match rule {
        Leaves::Chain { tag } => dispatch_on(isa, Sponge::chained_from(rows, tag, digests)),
        Leaves::OrNoop if columns > 4 => dispatch_on(isa, Sponge::new(rows, Goldilocks::ZERO, digests)),
        Leaves::OrNoop => {
            for (row, digest) in values[first..].iter().zip(digests) {
                *digest = Digest::ZERO;
                digest.0[..columns].copy_from_slice(&row[..columns]);
            }
        }
    }
}

/// Polynomials that are committed to.
#[derive(Clone, Debug)]
pub struct Oracle(Workspace);

impl Oracle {
    /// The buffers, for the next commitment.
    pub fn into_workspace(self) -> Workspace {
        self.0
    }

    /// The tables.
    pub fn domain(&self) -> &Arc<Domain> {
        &self.0.domain
    }

    /// Polynomials.
    pub fn columns(&self) -> usize {
        self.0.columns
    }

    /// The commitment.
    pub fn cap(&self) -> &[Digest] {
        &self.0.nodes[self.0.shape.level(self.0.shape.levels() - 1)]
    }

    /// The shape of the tree.
    pub fn shape(&self) -> &Shape {
        &self.0.shape
    }

    /// All digests of the tree, as [`Shape::level`] lays them out.
    pub fn nodes(&self) -> &[Digest] {
        &self.0.nodes
    }

    /// The coefficients: groups of 2^log_size rows.
    pub fn coefficients(&self) -> &[Row] {
        &self.0.coefficients
    }

    /// The extension, if it is kept: groups of 2^(log_size + rate_bits) rows, where row i is leaf i. Block b of a
    /// group, the values on one coset of H, begins at row b 2^log_size.
    pub fn values(&self) -> Option<&[Row]> {
        (self.0.keep == Keep::Values).then_some(&self.0.values)
    }

    /// The values on coset `b` of H, group by group: block b of [`Oracle::values`]. Without the extension they are computed.
    ///
    /// # Panics
    /// If the coset does not exist.
    pub fn coset(&mut self, b: usize) -> impl ExactSizeIterator<Item = &[Row]> {
        if self.0.keep == Keep::Coefficients {
            self.0.extend(b);
        }
        let (first, n) = (self.0.first(b), self.0.domain.lde().size());
        let stride = self.0.values.len() / groups(self.0.columns);
        self.0.values.chunks_exact(stride).map(move |group| &group[first..][..n])
    }

    /// Writes leaf `leaf` of the tree into a buffer of [`Oracle::columns`] elements.
    ///
    /// Without the extension, one evaluation of every polynomial.
    pub fn row(&self, leaf: usize, row: &mut [Goldilocks]) -> Result<(), OracleError> {
        let lde = self.0.domain.lde();
        let rows = lde.extended_size();
        let point = lde.point(leaf).ok_or(OracleError::Leaf { leaf, rows })?;
        if row.len() != self.0.columns {
            return Err(OracleError::Columns { found: row.len(), expected: self.0.columns });
        }
        match self.values() {
            Some(values) => row.chunks_mut(LANES).zip(values.chunks(rows)).for_each(|(row, group)| {
                row.copy_from_slice(&group[leaf][..row.len()]);
            }),
            None => row.chunks_mut(LANES).zip(self.0.coefficients.chunks(lde.size())).for_each(|(row, group)| {
                row.copy_from_slice(&domain::evaluate(self.0.domain.isa(), group, point)[..row.len()]);
            }),
        }
        Ok(())
    }

    /// The siblings on the path from leaf `leaf` to the cap, starting with the leaf's sibling.
    pub fn path(&self, leaf: usize) -> Result<impl ExactSizeIterator<Item = Digest>, OracleError> {
        Ok(merkle::path(&self.0.shape, &self.0.nodes, leaf)?)
    }
}
