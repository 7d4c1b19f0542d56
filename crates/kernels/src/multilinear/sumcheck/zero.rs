//! ZeroCheck: a polynomial is 0 on the whole cube.

use evergrove_primitives::field::Field;
use evergrove_primitives::lanes::Isa;

use super::prover::Claim;
use super::{
    Evaluations, Order, ProveError, ProverTranscript, Tables, Transcript, VerifierTranscript, VerifyError,
    VirtualPolynomial, announce, prove_on, verifier, workspace_of,
};

/// The statement that f(x) = 0 for every x of the cube.
///
/// It is proven by the sum of eq(w, x) f(x) at a random point w, which is 0 for every w only if f is 0 (HyperPlonk,
/// ePrint 2022/1355, section 3.2; Spartan, ePrint 2019/550). The first round's polynomial is 0 at 0 and at 1, so an
/// honest prover needs one sample less there.
#[derive(Clone, Debug)]
pub struct ZeroCheck<F> {
    polynomial: VirtualPolynomial<F>,
    order: Order,
}

impl<F: Field> ZeroCheck<F> {
    /// f(x) = 0.
    pub fn new(polynomial: VirtualPolynomial<F>, order: Order) -> Self {
        Self { polynomial, order }
    }

    /// f.
    pub fn polynomial(&self) -> &VirtualPolynomial<F> {
        &self.polynomial
    }
    /// Elements that [`Tables`] need as a workspace: half of those of the tables.
    pub fn workspace(&self) -> usize {
        workspace_of(&self.polynomial)
    }

    /// Absorbs the statement and draws w.
    fn point(&self, transcript: &mut impl Transcript<F>) -> Vec<F> {
        announce(transcript, b"zerocheck", &self.polynomial, self.order);
        (0..self.polynomial.variables()).map(|_| transcript.challenge()).collect()
    }

    /// Proves the statement; [`ProveError::Claim`] if it is wrong. Costs as much as
    /// [`SumCheck::prove`](super::SumCheck::prove).
    pub fn prove(
        &self,
        tables: Tables<'_, F>,
        transcript: &mut impl ProverTranscript<F>,
    ) -> Result<Evaluations<F>, ProveError> {
        self.prove_on(F::isa(), tables, transcript)
    }

    /// [`ZeroCheck::prove`] on a given instruction set, for tests and comparisons.
    ///
    /// # Panics
    /// If this CPU lacks the instruction set.
    pub fn prove_on(
        &self,
        isa: Isa,
        tables: Tables<'_, F>,
        transcript: &mut impl ProverTranscript<F>,
    ) -> Result<Evaluations<F>, ProveError> {
        tables.check(&self.polynomial)?;
        let w = self.point(transcript);
        let (_, evaluations) =
            prove_on(isa, &self.polynomial, Some(&w), self.order, tables, Claim::Vanishing, transcript, |_, _| {})?;
        Ok(evaluations)
    }

    /// Checks the rounds and the final evaluations; the caller checks the evaluations and the proof's end.
    pub fn verify(&self, transcript: &mut impl VerifierTranscript<F>) -> Result<Evaluations<F>, VerifyError> {
        let w = self.point(transcript);
        verifier::verify(&self.polynomial, Some(&w), self.order, F::ZERO, transcript)
    }
}
