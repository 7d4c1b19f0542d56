//! A Plonky2 proof as plain data.

use alloc::vec::Vec;

use evergrove_primitives::{Digest, Goldilocks};

use super::SnarkShape;
use crate::Profile;

/// An element a + b X of the quadratic extension, as [a, b].
pub type Ext = [Goldilocks; Profile::EXTENSION_DEGREE];

/// A proof with its public inputs, uncompressed: the fields of Plonky2's `ProofWithPublicInputs`, plus the query indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snark {
    /// Public inputs.
    pub public_inputs: Vec<Goldilocks>,
    /// Cap of the wires' tree.
    pub wires_cap: Vec<Digest>,
    /// Cap of the tree of Zs and partial products.
    pub zs_cap: Vec<Digest>,
    /// Cap of the quotient's tree.
    pub quotient_cap: Vec<Digest>,
    /// Opened values.
    pub openings: Openings,
    /// Caps of the FRI steps' trees.
    pub commit_caps: Vec<Vec<Digest>>,
    /// The queries, in the verifier's order, repetitions included.
    pub queries: Vec<Query>,
    /// Coefficients of the final polynomial, lowest first.
    pub final_poly: Vec<Ext>,
    /// The grinding witness.
    pub pow_witness: Goldilocks,
}

/// A proof whose opened leaves lie under the caps, each at the place of its query's index: by [`open`](super::open).
///
/// The indices themselves are the proof's: a verifier compares them with those of its transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedSnark(pub(super) Snark);

impl OpenedSnark {
    /// The proof.
    pub fn snark(&self) -> &Snark {
        &self.0
    }
}

/// Opened values at zeta, and of the Zs at g zeta.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Openings {
    /// Constants.
    pub constants: Vec<Ext>,
    /// Sigmas.
    pub sigmas: Vec<Ext>,
    /// Wires.
    pub wires: Vec<Ext>,
    /// Zs at zeta.
    pub zs: Vec<Ext>,
    /// Zs at g zeta.
    pub zs_next: Vec<Ext>,
    /// Partial products.
    pub partial_products: Vec<Ext>,
    /// Quotient chunks.
    pub quotient_polys: Vec<Ext>,
}

impl Openings {
    /// The values in the order of [`SnarkShape::opening_counts`].
    pub fn groups(&self) -> [&Vec<Ext>; 7] {
        [
            &self.constants,
            &self.sigmas,
            &self.wires,
            &self.zs,
            &self.zs_next,
            &self.partial_products,
            &self.quotient_polys,
        ]
    }

    pub(super) fn from_groups(
        [constants, sigmas, wires, zs, zs_next, partial_products, quotient_polys]: [Vec<Ext>; 7],
    ) -> Self {
        Self { constants, sigmas, wires, zs, zs_next, partial_products, quotient_polys }
    }
}

/// The answer to one FRI query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Position in the evaluation domain (bit-reversed order), below 2^lde_bits. The verifier derives its own.
    pub index: u32,
    /// Leaves of the four initial oracles: constants and sigmas; wires; Zs and partial products; quotient chunks.
    pub initial: [OpenedLeaf; 4],
    /// One leaf per FRI step: the 2^arity_bits evaluations of the coset, each as two elements in a row.
    pub steps: Vec<OpenedLeaf>,
}

/// A leaf of a Merkle tree with its path up to the cap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedLeaf {
    /// The elements of the leaf.
    pub leaf: Vec<Goldilocks>,
    /// Siblings, bottom up.
    pub siblings: Vec<Digest>,
}

impl OpenedLeaf {
    /// The leaf as extension elements, two elements each: the evaluations of a FRI step.
    pub fn evals(&self) -> impl ExactSizeIterator<Item = Ext> + '_ {
        self.leaf.chunks_exact(2).map(|x| [x[0], x[1]])
    }

    fn has_shape(&self, width: usize, path_len: usize) -> bool {
        self.leaf.len() == width && self.siblings.len() == path_len
    }
}

impl Snark {
    /// True when every length and every query index matches `shape`.
    pub fn has_shape(&self, shape: &SnarkShape) -> bool {
        let p = shape.params();
        let cap = shape.cap_len();
        self.public_inputs.len() == p.num_public_inputs
            && [&self.wires_cap, &self.zs_cap, &self.quotient_cap].iter().all(|c| c.len() == cap)
            && self.openings.groups().iter().zip(shape.opening_counts()).all(|(g, n)| g.len() == n)
            && self.commit_caps.len() == p.arity_bits.len()
            && self.commit_caps.iter().all(|c| c.len() == cap)
            && self.queries.len() == p.num_queries
            && self.queries.iter().all(|q| q.has_shape(shape))
            && self.final_poly.len() == shape.final_poly_len()
    }
}

impl Query {
    fn has_shape(&self, shape: &SnarkShape) -> bool {
        let path_len = shape.initial_path_len();
        u64::from(self.index) >> shape.lde_bits() == 0
            && self.initial.iter().zip(shape.oracle_widths()).all(|(o, width)| o.has_shape(width, path_len))
            && self.steps.len() == shape.params().arity_bits.len()
            && self.steps.iter().zip(shape.steps()).all(|(o, s)| o.has_shape(2 << s.arity_bits, s.path_len))
    }
}
