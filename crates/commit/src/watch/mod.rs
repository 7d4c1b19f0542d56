//! The steps of proofs, for observers of provers.
//!
//! A prover has no clock: it tells an [`Observer`] when a step has ended, and what work the step did. [`Trace`] keeps a
//! record.

mod trace;
mod work;

pub use trace::{Level, Running, TRACE_VERSION, Trace};
pub use work::Work;

/// A part of a proof. Plonky2's circuits have the parts from the trace to the queries. Grove's circuits have the
/// witness, and the parts from the claims on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Witness generation.
    Witness,
    /// The trace of wires, from the witness.
    Trace,
    /// From values to coefficients.
    Interpolation,
    /// From coefficients to the values on one coset.
    Extension,
    /// Leaves of a Merkle tree, or the levels above them.
    Hashing,
    /// Values of Z and partial products.
    Permutation,
    /// All constraints, and the quotient's coefficients.
    Constraints,
    /// Values of all polynomials at the two points.
    Openings,
    /// The combination of all polynomials.
    Combination,
    /// From one layer of FRI to the next.
    Folding,
    /// Proof of work.
    Grinding,
    /// Paths and rows of the queries.
    Queries,
    /// Children are verified, and their claims become one.
    Claims,
    /// The sum of the bus: fractions, and the proof of their sum.
    Bus,
    /// The SumCheck over rows, and the values of columns.
    Rows,
    /// The opening of the commitment.
    Opening,
    /// Verification of the new proof.
    Check,
}

/// The data that a step works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Matrix {
    /// The wires.
    Wires,
    /// Z and partial products.
    PartialProducts,
    /// The quotient's chunks.
    Quotient,
    /// A layer of FRI.
    Layer,
    /// The stack of all columns of a circuit of Grove.
    Stack,
    /// A folded stack, which the opening commits to.
    Fold,
}

/// The parts of a proof's time, as the phase profile groups them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// Witness and trace.
    Witness,
    /// Interpolation and extension of the three commitments.
    Lde,
    /// Merkle trees of the three commitments.
    Hashing,
    /// The permutation argument and the evaluation of constraints.
    Quotient,
    /// Openings and their combination.
    Openings,
    /// Layers of FRI, their trees included, and queries.
    Fri,
    /// Proof of work.
    Grinding,
    /// Claims of children, and the check of the new proof.
    Verification,
    /// The commitment to the stack of all columns: its extension and its tree.
    Commitment,
    /// The sum of the bus.
    Bus,
    /// The SumCheck over rows.
    Rows,
}

/// A step of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The part of the proof.
    pub phase: Phase,
    /// The matrix, for a step about a commitment.
    pub matrix: Option<Matrix>,
    /// The work of the step.
    pub work: Work,
}

/// Is notified of proofs.
pub trait Observer: Send + Sync {
    /// A proof of the circuit `name` with `rows` rows begins. The returned observer is told each step when it has
    /// ended, in order and without gaps, and is dropped when the proof is made or has failed. Called on any thread, for
    /// several proofs at once.
    fn proof(&self, name: &'static str, rows: usize) -> Box<dyn FnMut(Step)>;
}

impl Phase {
    /// The name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Witness => "witness",
            Self::Trace => "trace",
            Self::Interpolation => "interpolation",
            Self::Extension => "extension",
            Self::Hashing => "hashing",
            Self::Permutation => "permutation",
            Self::Constraints => "constraints",
            Self::Openings => "openings",
            Self::Combination => "combination",
            Self::Folding => "folding",
            Self::Grinding => "grinding",
            Self::Queries => "queries",
            Self::Claims => "claims",
            Self::Bus => "bus",
            Self::Rows => "rows",
            Self::Opening => "opening",
            Self::Check => "check",
        }
    }
}

impl Matrix {
    /// The name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wires => "wires",
            Self::PartialProducts => "z",
            Self::Quotient => "quotient",
            Self::Layer => "fri",
            Self::Stack => "stack",
            Self::Fold => "fold",
        }
    }
}

impl Category {
    /// All categories, in the order of a proof.
    pub const ALL: [Self; 11] = [
        Self::Verification,
        Self::Witness,
        Self::Lde,
        Self::Hashing,
        Self::Quotient,
        Self::Commitment,
        Self::Bus,
        Self::Rows,
        Self::Openings,
        Self::Fri,
        Self::Grinding,
    ];

    /// The name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Witness => "witness",
            Self::Lde => "lde",
            Self::Hashing => "hashing",
            Self::Quotient => "quotient",
            Self::Openings => "openings",
            Self::Fri => "fri",
            Self::Grinding => "grinding",
            Self::Verification => "verification",
            Self::Commitment => "commitment",
            Self::Bus => "bus",
            Self::Rows => "rows",
        }
    }
}

impl Step {
    /// A step about no commitment.
    pub fn new(phase: Phase, work: Work) -> Self {
        Self { phase, matrix: None, work }
    }

    /// A step about a commitment.
    pub fn of(matrix: Matrix, phase: Phase, work: Work) -> Self {
        Self { phase, matrix: Some(matrix), work }
    }

    /// The name in traces: the phase, after the matrix if there is one.
    pub fn name(&self) -> String {
        match self.matrix {
            Some(matrix) => format!("{}.{}", matrix.name(), self.phase.name()),
            None => self.phase.name().into(),
        }
    }

    /// The category of the step in the phase profile.
    pub fn category(&self) -> Category {
        match self.phase {
            _ if self.matrix == Some(Matrix::Layer) => Category::Fri,
            _ if self.matrix == Some(Matrix::Stack) => Category::Commitment,
            _ if self.matrix == Some(Matrix::Fold) => Category::Openings,
            Phase::Witness | Phase::Trace => Category::Witness,
            Phase::Interpolation | Phase::Extension => Category::Lde,
            Phase::Hashing => Category::Hashing,
            Phase::Permutation | Phase::Constraints => Category::Quotient,
            Phase::Openings | Phase::Combination | Phase::Opening => Category::Openings,
            Phase::Folding | Phase::Queries => Category::Fri,
            Phase::Grinding => Category::Grinding,
            Phase::Claims | Phase::Check => Category::Verification,
            Phase::Bus => Category::Bus,
            Phase::Rows => Category::Rows,
        }
    }
}
