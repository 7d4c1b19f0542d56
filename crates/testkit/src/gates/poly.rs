//! Polynomials in the variables of a gate.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Add, Mul, Sub};

use evergrove_primitives::Goldilocks;
use evergrove_verifier::algebra::Algebra;

/// A polynomial over F: for each monomial, the sorted list of its variables, a nonzero coefficient.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Poly(BTreeMap<Vec<u32>, Goldilocks>);

impl Poly {
    /// A constant.
    pub fn constant(x: Goldilocks) -> Self {
        let mut this = Self::default();
        this.add_term(Vec::new(), x);
        this
    }
    /// A small constant.
    pub fn number(x: u64) -> Self {
        Self::constant(Goldilocks::reduce(x))
    }
    /// A variable.
    pub fn variable(number: u32) -> Self {
        Self(BTreeMap::from([(vec![number], Goldilocks::ONE)]))
    }
    fn add_term(&mut self, monomial: Vec<u32>, coefficient: Goldilocks) {
        let sum = self.0.remove(&monomial).unwrap_or(Goldilocks::ZERO) + coefficient;
        if sum != Goldilocks::ZERO {
            self.0.insert(monomial, sum);
        }
    }
    /// k times it.
    pub fn scaled(&self, k: Goldilocks) -> Self {
        let mut out = Self::default();
        self.0.iter().for_each(|(monomial, &c)| out.add_term(monomial.clone(), c * k));
        out
    }
    /// Its value, if it is a constant.
    pub fn as_constant(&self) -> Option<Goldilocks> {
        match self.0.iter().next() {
            None => Some(Goldilocks::ZERO),
            Some((monomial, &c)) if monomial.is_empty() && self.0.len() == 1 => Some(c),
            Some(_) => None,
        }
    }
    /// Its number, if it is a variable.
    pub fn as_variable(&self) -> Option<u32> {
        match self.0.iter().next() {
            Some((monomial, &Goldilocks::ONE)) if monomial.len() == 1 && self.0.len() == 1 => Some(monomial[0]),
            _ => None,
        }
    }
    /// The variable x, if it is x^2 - x or x - x^2.
    pub fn as_boolean(&self) -> Option<u32> {
        let terms: Vec<_> = self.0.iter().collect();
        match terms[..] {
            [(one, &a), (two, &b)] if one.len() == 1 && **two == [one[0]; 2] && a == -b => {
                (a * a == Goldilocks::ONE).then_some(one[0])
            }
            _ => None,
        }
    }
    /// Its variables.
    pub fn variables(&self) -> BTreeSet<u32> {
        self.0.keys().flatten().copied().collect()
    }
    /// Monomials and coefficients.
    pub fn terms(&self) -> impl Iterator<Item = (&[u32], Goldilocks)> {
        self.0.iter().map(|(monomial, &c)| (&monomial[..], c))
    }
    /// The polynomial with other polynomials for some variables.
    pub fn substituted(&self, value: &impl Fn(u32) -> Option<Poly>) -> Self {
        let mut out = Self::default();
        for (monomial, &c) in &self.0 {
            let product = monomial.iter().fold(Self::constant(c), |product, &variable| {
                &product * &value(variable).unwrap_or_else(|| Self::variable(variable))
            });
            out = &out + &product;
        }
        out
    }
}

impl Add for &Poly {
    type Output = Poly;
    fn add(self, other: Self) -> Poly {
        let mut out = self.clone();
        other.0.iter().for_each(|(monomial, &c)| out.add_term(monomial.clone(), c));
        out
    }
}

impl Sub for &Poly {
    type Output = Poly;
    fn sub(self, other: Self) -> Poly {
        self + &other.scaled(-Goldilocks::ONE)
    }
}

impl Mul for &Poly {
    type Output = Poly;
    fn mul(self, other: Self) -> Poly {
        let mut out = Poly::default();
        for (left, &a) in &self.0 {
            for (right, &b) in &other.0 {
                let mut monomial = [&left[..], right].concat();
                monomial.sort_unstable();
                out.add_term(monomial, a * b);
            }
        }
        out
    }
}

/// Constraints evaluated on polynomials: a value is the place of a polynomial in the list.
#[derive(Debug, Default)]
pub struct Symbols(Vec<Poly>);

impl Symbols {
    /// A polynomial as a value.
    pub fn value(&mut self, poly: Poly) -> usize {
        self.0.push(poly);
        self.0.len() - 1
    }
    /// The polynomial of a value.
    pub fn poly(&self, value: usize) -> Poly {
        self.0[value].clone()
    }
}

impl Algebra for Symbols {
    type V = usize;

    fn zero(&mut self) -> usize {
        self.value(Poly::default())
    }
    fn one(&mut self) -> usize {
        self.value(Poly::number(1))
    }
    fn combine(&mut self, [q0, q1, q2]: [Goldilocks; 3], a: usize, b: usize, c: usize) -> usize {
        let [a, b, c] = [a, b, c].map(|value| &self.0[value]);
        let mut sum = &a.scaled(q1) + &c.scaled(q2);
        if q0 != Goldilocks::ZERO {
            sum = &sum + &(a * b).scaled(q0);
        }
        self.value(sum)
    }
    fn dot(&mut self, coefficients: &[Goldilocks], values: &[usize]) -> usize {
        assert_eq!(coefficients.len(), values.len(), "a coefficient for each value");
        let terms = coefficients.iter().zip(values);
        let sum = terms.fold(Poly::default(), |sum, (&c, &value)| &sum + &self.0[value].scaled(c));
        self.value(sum)
    }
}
