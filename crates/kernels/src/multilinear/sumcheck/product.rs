//! ProductCheck: a product of values, or a quotient of two.
//!
//! With v(x, 0) the values to be multiplied and v(x, 1) = v(0, x) v(1, x), the multilinear polynomial v in n + 1 variables holds
//! every level of the tree of products: the second half of its table is the product MLE of HyperPlonk, and the root is
//! v(0, 1, ..., 1) (Setty, Lee: Quarks, ePrint 2020/1275, section 5; HyperPlonk, ePrint 2022/1355, section 3.3).
//! v(1, ..., 1) is 0.

use evergrove_primitives::field::Field;
use evergrove_primitives::lanes::Isa;
use rayon::prelude::*;

use super::fraction::quotients;
use super::prover::Claim;
use super::{
    Order, ProveError, ProverTranscript, ShapeError, Tables, Term, Transcript, VerifierTranscript, VerifyError,
    VirtualPolynomial, announce, check_tables, prove_on, verifier, workspace_of,
};
use crate::multilinear::mle::product_table_on;

/// The statement that the product over the cube of f_1(x) ... f_k(x) is P times that of g_1(x) ... g_l(x).
///
/// The prover commits to v, built by [`ProductWitness`], before its transcript reaches this protocol: the commitment
/// must be in the context or among the public bytes. The halves of v are the fraction v(x, 0) = f_1 ... f_k / (g_1 ...
/// g_l), which is f_1 itself if there are no other factors, and the product MLE v(x, 1).
#[derive(Clone, Debug)]
pub struct ProductCheck<F> {
    variables: usize,
    numerators: usize,
    denominators: usize,
    order: Order,
    marker: std::marker::PhantomData<F>,
}

/// v: the fraction, or the only numerator, and the product MLE.
#[derive(Clone, Copy, Debug)]
pub struct ProductWitness<'a, F> {
    fraction: &'a [F],
    product: &'a [F],
}

/// The values of v and of the f and g that the verifier must check against their commitments.
///
/// The verifier must also check the root, v(0, 1, ..., 1) = P. A caller that commits to the halves of v opens each at
/// (0, r') and at (1, r'), where r' is the point r without its last coordinate: v(b, r) = (1 - r_(n-1)) v(b, r', 0) +
/// r_(n-1) v(b, r', 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductEvaluations<F> {
    /// r.
    pub point: Vec<F>,
    /// v(r, 1): the product MLE at r.
    pub product: F,
    /// v(0, r).
    pub left: F,
    /// v(1, r).
    pub right: F,
    /// v(r, 0), where the fraction is not the only numerator.
    pub fraction: Option<F>,
    /// f_i(r), in the same case.
    pub numerators: Vec<F>,
    /// g_i(r).
    pub denominators: Vec<F>,
}

impl<F: Field> ProductCheck<F> {
    /// For `numerators` and `denominators` multilinear polynomials in `variables` variables, at least one of each of the first
    /// two.
    ///
    /// Errors as [`VirtualPolynomial::new`].
    pub fn new(variables: usize, numerators: usize, denominators: usize, order: Order) -> Result<Self, ShapeError> {
        let this = Self { variables, numerators, denominators, order, marker: std::marker::PhantomData };
        if variables == 0 || numerators == 0 {
            return Err(ShapeError::Constant);
        }
        this.polynomial(F::ONE)?;
        Ok(this)
    }

    /// Whether v(x, 0) is a separate table.
    fn has_fraction(&self) -> bool {
        self.numerators > 1 || self.denominators > 0
    }

    /// v(x, 1) - v(0, x) v(1, x) + alpha (v(x, 0) g_1(x) ... g_l(x) - f_1(x) ... f_k(x)), over the tables v(x, 1), v(0, x),
    /// v(1, x), v(x, 0), the f, the g.
    fn polynomial(&self, alpha: F) -> Result<VirtualPolynomial<F>, ShapeError> {
        let mut terms = vec![Term::new(F::ONE, [0]), Term::new(-F::ONE, [1, 2])];
        let mut tables = 3;
        if self.has_fraction() {
            let numerators = 4..4 + self.numerators;
            let denominators = numerators.end..numerators.end + self.denominators;
            tables = denominators.end;
            terms.push(Term::new(alpha, [3].into_iter().chain(denominators).collect::<Vec<_>>()));
            terms.push(Term::new(-alpha, numerators.collect::<Vec<_>>()));
        }
        VirtualPolynomial::new(self.variables, tables, terms)
    }

    /// Absorbs the statement, and draws alpha and w.
    fn begin(&self, product: F, transcript: &mut impl Transcript<F>) -> (VirtualPolynomial<F>, Vec<F>) {
        let shape = self.polynomial(F::ONE).expect("a shape that was checked");
        announce(transcript, b"productcheck", &shape, self.order);
        transcript.public(&[product]);
        let alpha = if self.has_fraction() { transcript.challenge() } else { F::ZERO };
        let polynomial = self.polynomial(alpha).expect("a shape that was checked");
        (polynomial, (0..self.variables).map(|_| transcript.challenge()).collect())
    }

    /// Elements that [`ProductWitness::new`] fills: one table or two.
    pub fn witness_len(&self) -> usize {
        (1 + usize::from(self.has_fraction())) << self.variables
    }
    /// Elements that [`ProductCheck::prove`] needs as a workspace.
    pub fn workspace(&self) -> usize {
        workspace_of(&self.polynomial(F::ONE).expect("a shape that was checked")) + 2 * (1 << self.variables)
    }

    /// Proves the statement for the `witness` made of the same tables, and returns P, the root of v, with the final evaluations.
    ///
    /// 6 2^n multiplications for one numerator alone, counted as for [`SumCheck::prove`](super::SumCheck::prove).
    pub fn prove(
        &self,
        witness: &ProductWitness<'_, F>,
        numerators: &[&[F]],
        denominators: &[&[F]],
        workspace: &mut [F],
        transcript: &mut impl ProverTranscript<F>,
    ) -> Result<(F, ProductEvaluations<F>), ProveError> {
        self.prove_on(F::isa(), witness, numerators, denominators, workspace, transcript)
    }

    /// [`ProductCheck::prove`] on a given instruction set, for tests and comparisons.
    ///
    /// # Panics
    /// If this CPU lacks the instruction set.
    pub fn prove_on(
        &self,
        isa: Isa,
        witness: &ProductWitness<'_, F>,
        numerators: &[&[F]],
        denominators: &[&[F]],
        workspace: &mut [F],
        transcript: &mut impl ProverTranscript<F>,
    ) -> Result<(F, ProductEvaluations<F>), ProveError> {
        let n = 1 << self.variables;
        check_tables(self.numerators, numerators, n)?;
        check_tables(self.denominators, denominators, n)?;
        check_tables(1, &[witness.product], n)?;
        if workspace.len() < self.workspace() {
            return Err(ProveError::Workspace { found: workspace.len(), expected: self.workspace() });
        }
        let product = witness.product();
        let (polynomial, w) = self.begin(product, transcript);
        let (halves, workspace) = workspace.split_at_mut(2 * n);
        let (left, right) = halves.split_at_mut(n);
        split(witness.fraction, witness.product, left, right);
        let mut tables: Vec<&[F]> = vec![witness.product, left, right];
        if self.has_fraction() {
            tables.push(witness.fraction);
            tables.extend(numerators.iter().chain(denominators));
        }
        let tables = Tables { tables: &tables, workspace };
        let claim = Claim::Vanishing;
        let (_, end) = prove_on(isa, &polynomial, Some(&w), self.order, tables, claim, transcript, |_, _| {})?;
        Ok((product, self.evaluations(end)))
    }

    /// Checks the rounds and the final evaluations for a claimed P; the caller checks the evaluations, the root and the
    /// proof's end.
    pub fn verify(
        &self,
        product: F,
        transcript: &mut impl VerifierTranscript<F>,
    ) -> Result<ProductEvaluations<F>, VerifyError> {
        let (polynomial, w) = self.begin(product, transcript);
        let end = verifier::verify(&polynomial, Some(&w), self.order, F::ZERO, transcript)?;
        Ok(self.evaluations(end))
    }

    fn evaluations(&self, end: super::Evaluations<F>) -> ProductEvaluations<F> {
        let mut values = end.values.into_iter();
        let mut next = || values.next().expect("a value per table");
        let (product, left, right) = (next(), next(), next());
        let fraction = self.has_fraction().then(&mut next);
        let mut rest: Vec<F> = values.collect();
        let denominators = if self.has_fraction() { rest.split_off(self.numerators) } else { Vec::new() };
        ProductEvaluations { point: end.point, product, left, right, fraction, numerators: rest, denominators }
    }
}

/// v(0, x) and v(1, x) from v(x, 0) and v(x, 1): the even and the odd places.
fn split<F: Field>(fraction: &[F], product: &[F], left: &mut [F], right: &mut [F]) {
    const PIECE: usize = 1 << 12;
    let half = fraction.len() / 2;
    let pieces = |from: &[F], left: &mut [F], right: &mut [F]| {
        let to = left.par_chunks_mut(PIECE).zip(right.par_chunks_mut(PIECE));
        to.zip(from.par_chunks(2 * PIECE)).for_each(|((left, right), from)| {
            for ((left, right), from) in left.iter_mut().zip(right).zip(from.as_chunks::<2>().0) {
                [*left, *right] = *from;
            }
        });
    };
    let ((left_low, left_high), (right_low, right_high)) = (left.split_at_mut(half), right.split_at_mut(half));
    pieces(fraction, left_low, right_low);
    pieces(product, left_high, right_high);
}

impl<'a, F: Field> ProductWitness<'a, F> {
    /// v for the tables of `check_of`, into a buffer of [`ProductCheck::witness_len`] elements.
    ///
    /// Errors if the numbers or lengths are not those of `check_of`, and if a denominator is 0 somewhere. 2^n multiplications for the
    /// product MLE; for a fraction k + 2 l + 1 more for each of its 2^n values, and one inversion for many.
    pub fn new(
        check_of: &ProductCheck<F>,
        numerators: &[&'a [F]],
        denominators: &[&[F]],
        buffer: &'a mut [F],
    ) -> Result<Self, ProveError> {
        Self::new_on(F::isa(), check_of, numerators, denominators, buffer)
    }

    /// [`ProductWitness::new`] on a given instruction set, for tests and comparisons.
    ///
    /// # Panics
    /// If this CPU lacks the instruction set.
    pub fn new_on(
        isa: Isa,
        check_of: &ProductCheck<F>,
        numerators: &[&'a [F]],
        denominators: &[&[F]],
        buffer: &'a mut [F],
    ) -> Result<Self, ProveError> {
        let n = 1 << check_of.variables;
        check_tables(check_of.numerators, numerators, n)?;
        check_tables(check_of.denominators, denominators, n)?;
        if buffer.len() != check_of.witness_len() {
            return Err(ProveError::Witness { found: buffer.len(), expected: check_of.witness_len() });
        }
        for (table, values) in denominators.iter().enumerate() {
            if let Some(index) = values.iter().position(|value| value.is_zero()) {
                return Err(ProveError::Denominator { table, index });
            }
        }
        let (product, rest) = buffer.split_at_mut(n);
        let fraction: &[F] = if check_of.has_fraction() {
            quotients(isa, numerators, denominators, rest);
            rest
        } else {
            numerators[0]
        };
        product_table_on(isa, fraction, product).expect("tables of 2^n values");
        Ok(Self { fraction, product })
    }

    /// v(x, 0): the only numerator, or the fraction.
    pub fn fraction(&self) -> &'a [F] {
        self.fraction
    }
    /// v(x, 1): the product MLE.
    pub fn product_mle(&self) -> &'a [F] {
        self.product
    }
    /// P, the root: v(0, 1, ..., 1).
    pub fn product(&self) -> F {
        self.product[self.product.len() - 2]
    }
}
