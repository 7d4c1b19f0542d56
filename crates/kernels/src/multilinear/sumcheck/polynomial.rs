//! Virtual polynomials: sums of products of multilinear polynomials, which are given by their values.

use evergrove_primitives::field::Field;
/// The greatest number of variables of a polynomial.
pub const MAX_VARIABLES: usize = 40;
/// The greatest number of multilinear polynomials in one virtual polynomial.
pub const MAX_TABLES: usize = 32;
/// The greatest number of products in one virtual polynomial.
pub const MAX_TERMS: usize = 64;
/// The greatest number of factors in one product.
pub const MAX_DEGREE: usize = 8;

/// A coefficient times a product of multilinear polynomials, which are named by their positions.
///
/// A position may occur more than once: [0, 0] is a square. Without factors the term is a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term<F> {
    /// The factor of the product.
    pub coefficient: F,
    /// Positions of the factors among the tables.
    pub factors: Vec<usize>,
}

impl<F> Term<F> {
    /// `coefficient` times the product of the tables at `factors`.
    pub fn new(coefficient: F, factors: impl Into<Vec<usize>>) -> Self {
        Self { coefficient, factors: factors.into() }
    }
}

/// The shape of f(x) = sum over k of c_k times the product over i in T_k of f_i(x).
///
/// The f_i are multilinear in n variables and shared between the terms. The values are not part of the shape: prover
/// and verifier agree on a shape, and only the prover holds tables of 2^n values, with f_i(x) at index x_0 + 2 x_1 + 4
/// x_2 + ... as in arkworks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualPolynomial<F> {
    variables: usize,
    tables: usize,
    terms: Vec<Term<F>>,
    degree: usize,
}

/// An invalid shape, or one beyond the bounds of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// More than [`MAX_VARIABLES`].
    #[error("a polynomial in {variables} variables: at most {MAX_VARIABLES} are supported")]
    Variables {
        /// Variables that were asked for.
        variables: usize,
    },
    /// More than [`MAX_TABLES`].
    #[error("a polynomial made of {tables} multilinear ones: at most {MAX_TABLES} are supported")]
    Tables {
        /// Multilinear polynomials that were asked for.
        tables: usize,
    },
    /// More than [`MAX_TERMS`].
    #[error("a polynomial of {terms} products: at most {MAX_TERMS} are supported")]
    Terms {
        /// Products that were asked for.
        terms: usize,
    },
    /// More than [`MAX_DEGREE`].
    #[error("product {term} has {degree} factors: at most {MAX_DEGREE} are supported")]
    Degree {
        /// Position of the product.
        term: usize,
        /// Its factors.
        degree: usize,
    },
    /// A constant has no round polynomials.
    #[error("a polynomial whose products have no factors is a constant: nothing is left to prove")]
    Constant,
    /// A factor names a missing table.
    #[error("product {term} names the multilinear polynomial {factor}, but there are {tables}")]
    Factor {
        /// Position of the product.
        term: usize,
        /// Position that it names.
        factor: usize,
        /// Multilinear polynomials that there are.
        tables: usize,
    },
}

impl<F: Field> VirtualPolynomial<F> {
    /// The sum of `terms` over `tables` multilinear polynomials in `variables` variables.
    ///
    /// Errors beyond the bounds of this module, if a term names a missing table, and if no term has a factor.
    pub fn new(variables: usize, tables: usize, terms: Vec<Term<F>>) -> Result<Self, ShapeError> {
        if variables > MAX_VARIABLES {
            return Err(ShapeError::Variables { variables });
        }
        if tables > MAX_TABLES {
            return Err(ShapeError::Tables { tables });
        }
        if terms.len() > MAX_TERMS {
            return Err(ShapeError::Terms { terms: terms.len() });
        }
        for (term, Term { factors, .. }) in terms.iter().enumerate() {
            if factors.len() > MAX_DEGREE {
                return Err(ShapeError::Degree { term, degree: factors.len() });
            }
            if let Some(&factor) = factors.iter().find(|&&factor| factor >= tables) {
                return Err(ShapeError::Factor { term, factor, tables });
            }
        }
        let degree = terms.iter().map(|term| term.factors.len()).max().unwrap_or(0);
        if degree == 0 {
            return Err(ShapeError::Constant);
        }
        Ok(Self { variables, tables, terms, degree })
    }

    /// The product of `tables` multilinear polynomials.
    pub fn product(variables: usize, tables: usize) -> Result<Self, ShapeError> {
        Self::new(variables, tables, vec![Term::new(F::ONE, (0..tables.min(MAX_TABLES)).collect::<Vec<_>>())])
    }

    /// n.
    pub fn variables(&self) -> usize {
        self.variables
    }
    /// Multilinear polynomials.
    pub fn tables(&self) -> usize {
        self.tables
    }
    /// Products.
    pub fn terms(&self) -> &[Term<F>] {
        &self.terms
    }
    /// Factors of the longest product: the degree in each variable, at least 1.
    pub fn degree(&self) -> usize {
        self.degree
    }
    /// Values of each multilinear polynomial: 2^n.
    pub fn len(&self) -> usize {
        1 << self.variables
    }
    /// Always false: 2^n is at least 1.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// f from the values of the multilinear polynomials at one point.
    ///
    /// # Panics
    /// If there are fewer values than tables.
    pub fn combine(&self, values: &[F]) -> F {
        self.terms
            .iter()
            .map(|term| term.factors.iter().fold(term.coefficient, |product, &i| product * values[i]))
            .sum()
    }

    /// The shape as bytes, for a transcript. Injective, and no encoding is the beginning of another.
    pub(super) fn description(&self) -> (Vec<u8>, Vec<F>) {
        let mut bytes = Vec::new();
        let mut push = |n: usize| bytes.extend_from_slice(&(n as u32).to_le_bytes());
        [self.variables, self.tables, self.terms.len()].into_iter().for_each(&mut push);
        for term in &self.terms {
            push(term.factors.len());
            term.factors.iter().copied().for_each(&mut push);
        }
        (bytes, self.terms.iter().map(|term| term.coefficient).collect())
    }
}
