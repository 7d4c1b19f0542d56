//! SumCheck, ZeroCheck and ProductCheck over virtual polynomials.
//!
//! **What.** A [`VirtualPolynomial`] f is a sum of products of multilinear polynomials, which the prover has as tables
//! of 2^n values. [`SumCheck`] proves the sum of f, or of eq(w, x) f(x), over the cube; [`ZeroCheck`] proves that f is
//! 0 on the whole cube; [`ProductCheck`] proves a product of values, or a quotient of products. Each leaves a verifier
//! with values of the multilinear polynomials at one point, [`Evaluations`], which the caller checks against its
//! commitments.
//!
//! **Messages.** The polynomial of a round is sent as coefficients without the constant one, which follows from the
//! claim: degree d costs d elements. Under weights eq(w, x) the factor of the round's variable is not sent either
//! (Gruen), so eq adds nothing to the degree. The values of all tables at the final point end the proof. See
//! docs/math/sumcheck.md.
//!
//! **Provers** run eight lanes wide on the best instruction set of the CPU and on the threads of the current rayon
//! pool, and send the same bytes on all of them. They take [`Tables`] with a workspace of half their size. No table of
//! weights is built. [`Order`] says which variable is bound first.
//!
//! **Fields.** Everything here is generic over [`Field`], and challenges are its elements: over a field of 64 bits a
//! proof alone is not sound. [`SpongeProver`] is for prime fields of ark-ff, with the feature `ark`.
//!
//! **Verifiers** are scalar, use no threads and never panic: every defect of a proof is a [`VerifyError`].
//!
//! **Transcripts** implement two small traits; use [`SpongeProver`] and [`SpongeVerifier`].
//!
//! ```
//! use ark_bls12_381::Fr;
//! use evergrove_kernels::multilinear::sumcheck::{Order, SpongeProver, SpongeVerifier, SumCheck, Tables, VirtualPolynomial};
//!
//! // The sum of a(x) b(x) over the cube in three variables.
//! let (a, b): (Vec<Fr>, Vec<Fr>) = ((0..8).map(Fr::from).collect(), (0..8).map(|i| Fr::from(i * i)).collect());
//! let check = SumCheck::new(VirtualPolynomial::product(3, 2)?, Order::LowFirst);
//! let mut workspace = vec![Fr::from(0); check.workspace()];
//!
//! // The context holds what the statement depends on: commitments to a and b.
//! let mut transcript = SpongeProver::new(b"example", b"commitments");
//! let tables = Tables { tables: &[&a, &b], workspace: &mut workspace };
//! let (claim, _) = check.prove(tables, None, &mut transcript)?;
//! assert_eq!(claim, Fr::from(784));
//!
//! let proof = transcript.into_proof();
//! let mut transcript = SpongeVerifier::new(b"example", b"commitments", &proof);
//! let evaluations = check.verify(claim, &mut transcript)?;
//! transcript.finish()?;
//! // Still to check: a and b have the values `evaluations.values` at `evaluations.point`.
//! # assert_eq!(evaluations.point.len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod engine;
mod fraction;
mod pass;
mod polynomial;
mod product;
mod prover;
pub mod reference;
mod round;
#[cfg(feature = "ark")]
mod sponge;
mod tail;
mod transcript;
mod verifier;
mod weights;
mod zero;

use evergrove_primitives::field::Field;
use evergrove_primitives::lanes::Isa;

use engine::Engine;
use prover::Claim;

pub use polynomial::{MAX_DEGREE, MAX_TABLES, MAX_TERMS, MAX_VARIABLES, ShapeError, Term, VirtualPolynomial};
pub use product::{ProductCheck, ProductEvaluations, ProductWitness};
#[cfg(feature = "ark")]
pub use sponge::{PROTOCOL, SpongeProver, SpongeVerifier, element_bytes};
pub use transcript::{ProverTranscript, Transcript, TranscriptError, VerifierTranscript};
pub use verifier::{Evaluations, VerifyError};
pub use weights::eq;
pub use zero::ZeroCheck;

/// The variable that a prover binds first. Another order gives other messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// x_0 first: neighbours in a table. The order of arkworks and HyperPlonk.
    LowFirst,
    /// x_(n-1) first: the halves of a table.
    HighFirst,
}

impl Order {
    /// The variables in this order.
    fn variables(self, variables: usize) -> impl Iterator<Item = usize> {
        (0..variables).map(move |i| match self {
            Self::LowFirst => i,
            Self::HighFirst => variables - 1 - i,
        })
    }
}

/// The values of the multilinear polynomials: 2^n canonical values for each.
///
/// If an element of arkworks is not canonical (its checked constructors return no such element), no verifier accepts
/// the proof, or the prover reports [`ProveError::Claim`].
#[derive(Debug)]
pub struct Tables<'a, F> {
    /// One slice per table.
    pub tables: &'a [&'a [F]],
    /// Scratch memory: `workspace()` elements of any value.
    pub workspace: &'a mut [F],
}

impl<F> Tables<'_, F> {
    /// Checks the numbers of tables, values and elements of the workspace against the polynomial.
    fn check<G: Field>(&self, polynomial: &VirtualPolynomial<G>) -> Result<(), ProveError> {
        check_tables(polynomial.tables(), self.tables, polynomial.len())?;
        let (found, expected) = (self.workspace.len(), workspace_of(polynomial));
        if found < expected { Err(ProveError::Workspace { found, expected }) } else { Ok(()) }
    }
}

/// Checks the numbers of tables and of the values of each.
fn check_tables<F>(expected: usize, tables: &[&[F]], values: usize) -> Result<(), ProveError> {
    if tables.len() != expected {
        return Err(ProveError::Tables { found: tables.len(), expected });
    }
    match tables.iter().enumerate().find(|(_, table)| table.len() != values) {
        Some((table, found)) => Err(ProveError::Values { table, found: found.len(), expected: values }),
        None => Ok(()),
    }
}

/// Elements of a workspace.
fn workspace_of<F: Field>(polynomial: &VirtualPolynomial<F>) -> usize {
    polynomial.tables() * (polynomial.len() / 2)
}

/// Why a prover refuses its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProveError {
    /// The number of tables differs from the polynomial's.
    #[error("{found} tables were given for a polynomial made of {expected}")]
    Tables {
        /// Tables that were given.
        found: usize,
        /// Tables of the polynomial.
        expected: usize,
    },
    /// A table does not have 2^n values.
    #[error("table {table} has {found} values: {expected} are needed")]
    Values {
        /// Position of the table.
        table: usize,
        /// Its values.
        found: usize,
        /// 2^n.
        expected: usize,
    },
    /// The workspace is too small.
    #[error("a workspace of {found} elements was given: {expected} are needed")]
    Workspace {
        /// Elements that were given.
        found: usize,
        /// Elements that are needed.
        expected: usize,
    },
    /// The buffer for a product's witness has another length.
    #[error("a buffer of {found} elements was given for the witness: {expected} are needed")]
    Witness {
        /// Elements that were given.
        found: usize,
        /// Elements that are needed.
        expected: usize,
    },
    /// The given claim is not the sum, or the polynomial is not 0 on the cube: the proof is worthless.
    #[error("the claim is wrong: after {rounds} rounds it is not the value of the polynomial")]
    Claim {
        /// Rounds.
        rounds: usize,
    },
    /// A denominator is 0.
    #[error("denominator {table} is 0 at index {index}")]
    Denominator {
        /// Position among the denominators.
        table: usize,
        /// Index of the value.
        index: usize,
    },
}

/// The statement that the sum over the cube of f(x), or of eq(w, x) f(x), is a claimed value.
#[derive(Clone, Debug)]
pub struct SumCheck<F> {
    polynomial: VirtualPolynomial<F>,
    point: Option<Vec<F>>,
    order: Order,
}

impl<F: Field> SumCheck<F> {
    /// The sum of f(x).
    pub fn new(polynomial: VirtualPolynomial<F>, order: Order) -> Self {
        Self { polynomial, point: None, order }
    }

    /// The sum of eq(w, x) f(x), for a point w that prover and verifier know.
    ///
    /// Errors unless w has n coordinates.
    pub fn weighted(polynomial: VirtualPolynomial<F>, w: Vec<F>, order: Order) -> Result<Self, VerifyError> {
        if w.len() != polynomial.variables() {
            return Err(VerifyError::Point { found: w.len(), expected: polynomial.variables() });
        }
        Ok(Self { polynomial, point: Some(w), order })
    }

    /// f.
    pub fn polynomial(&self) -> &VirtualPolynomial<F> {
        &self.polynomial
    }
    /// Elements that [`Tables`] need as a workspace: half of those of the tables.
    pub fn workspace(&self) -> usize {
        workspace_of(&self.polynomial)
    }

    fn announce(&self, transcript: &mut impl Transcript<F>, claim: F) {
        announce(transcript, b"sumcheck", &self.polynomial, self.order);
        transcript.public_bytes(&[u8::from(self.point.is_some())]);
        transcript.public(self.point.as_deref().unwrap_or_default());
        transcript.public(&[claim]);
    }

    /// Proves the sum, and returns it. A known `claim` saves a part of the first round; a wrong one is an error.
    ///
    /// For one product of d tables under weights this takes d (d - 1) 2^n multiplications, d 2^n without reduction, and
    /// d 2^n for binding. The tables are read twice.
    pub fn prove(
        &self,
        tables: Tables<'_, F>,
        claim: Option<F>,
        transcript: &mut impl ProverTranscript<F>,
    ) -> Result<(F, Evaluations<F>), ProveError> {
        self.prove_on(F::isa(), tables, claim, transcript)
    }

    /// [`SumCheck::prove`] on a given instruction set, for tests and comparisons.
    ///
    /// # Panics
    /// If this CPU lacks the instruction set.
    pub fn prove_on(
        &self,
        isa: Isa,
        tables: Tables<'_, F>,
        claim: Option<F>,
        transcript: &mut impl ProverTranscript<F>,
    ) -> Result<(F, Evaluations<F>), ProveError> {
        let claim = claim.map_or(Claim::Unknown, Claim::Known);
        let announce = |transcript: &mut _, claim| self.announce(transcript, claim);
        prove_on(isa, &self.polynomial, self.point.as_deref(), self.order, tables, claim, transcript, announce)
    }

    /// Checks the rounds and the final evaluations: about n d multiplications.
    ///
    /// The caller checks the evaluations against its commitments, and that the proof has ended.
    pub fn verify(&self, claim: F, transcript: &mut impl VerifierTranscript<F>) -> Result<Evaluations<F>, VerifyError> {
        self.announce(transcript, claim);
        verifier::verify(&self.polynomial, self.point.as_deref(), self.order, claim, transcript)
    }
}

/// The statement's kind and shape, for the transcript.
fn announce<F: Field>(
    transcript: &mut impl Transcript<F>,
    kind: &[u8],
    polynomial: &VirtualPolynomial<F>,
    order: Order,
) {
    let (bytes, coefficients) = polynomial.description();
    transcript.public_bytes(kind);
    transcript.public_bytes(&[order as u8]);
    transcript.public_bytes(&bytes);
    transcript.public(&coefficients);
}

#[expect(clippy::too_many_arguments, reason = "the statement, the witness and the transcript of three protocols")]
fn prove_on<F: Field, T: ProverTranscript<F>>(
    isa: Isa,
    polynomial: &VirtualPolynomial<F>,
    point: Option<&[F]>,
    order: Order,
    tables: Tables<'_, F>,
    claim: Claim<F>,
    transcript: &mut T,
    announce: impl FnOnce(&mut T, F),
) -> Result<(F, Evaluations<F>), ProveError> {
    tables.check(polynomial)?;
    let mut engine = Engine::new(isa, polynomial, order, point, tables);
    prover::prove(polynomial, point, order, claim, &mut engine, transcript, announce)
}
