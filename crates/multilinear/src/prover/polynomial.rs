//! Constraints and ports as polynomials in a table's columns, found by running the code that defines them on symbols.
//!
//! A prover does not run a table's constraints row by row. Once for each proof, it collects the terms of all
//! constraints and ports by their products of columns. The result is a sum of few products of one or two columns and a
//! linear form ([`Sum`]). Constraints of a degree above three are not collected: those of permutations are seventh
//! powers ([`Combined`]), and the few constraints of queries are a list of steps ([`Program`]).

use std::collections::BTreeMap;
use std::rc::Rc;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use crate::poseidon::Combined;
use evergrove_verifier::algebra::Algebra;
use evergrove_verifier::argument::rows::Bus;
use evergrove_verifier::tables::{Port, Row, TUPLE, Table, Tables};

/// A column of a table: committed ones, then fixed ones, then the row's number, then 1.
pub(super) type Variable = u16;

/// A product of at most three columns, in order, followed by [`NONE`].
pub(super) type Monomial = [Variable; 3];

/// No column.
pub(super) const NONE: Variable = Variable::MAX;

/// Coefficients of products of columns.
pub(super) type Polynomial<C> = BTreeMap<Monomial, C>;

/// The constraints and ports of a table.
#[derive(Clone, Debug)]
pub(super) struct Symbolic {
    pub(super) table: Table,
    /// `None` for a degree above three.
    constraints: Vec<Option<Polynomial<Goldilocks>>>,
    ports: Vec<Symbols>,
    /// The constraints of a higher degree, except those of permutations.
    program: Program,
    one: Variable,
}

/// Steps q0 a b + q1 a + q2 c on registers: some columns, then 0, then each step's result.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Program {
    pub(super) columns: Vec<Variable>,
    pub(super) steps: Vec<([Goldilocks; 3], [usize; 3])>,
    /// The registers of constraints.
    results: Vec<usize>,
}

/// A port's multiplicity and tuple.
#[derive(Clone, Debug)]
struct Symbols {
    multiplicity: Polynomial<Goldilocks>,
    tuple: [Polynomial<Goldilocks>; TUPLE],
}

impl Symbolic {
    /// For a table whose ports begin at these places.
    pub(super) fn new<K: Extension>(tables: &Tables<K>, table: Table, places: &[Goldilocks]) -> Self {
        let (width, fixed) = (tables.columns(table), tables.fixed(table));
        let mut f = Arena { values: Vec::new(), steps: Vec::new(), one: (width + fixed + 1) as Variable };
        let columns: Vec<usize> = (0..width).map(|i| f.column(i)).collect();
        let fixed: Vec<usize> = (width..width + fixed).map(|i| f.column(i)).collect();
        let number = f.column(width + fixed.len());
        let row = Row { columns: &columns, fixed: &fixed, number, places };
        let (mut constraints, mut ports) = (Vec::new(), Vec::new());
        tables.equations(table, &mut f, &row, &mut constraints);
        tables.ports(table, &mut f, &row, &mut ports);
        let high = constraints.iter().copied().filter(|&value| f.values[value].is_none());
        let program = if Tables::<K>::permutes(table) { Program::default() } else { f.program(high.collect()) };
        let low = |value: usize| Polynomial::clone(f.values[value].as_ref().expect("a port of degree three at most"));
        Self {
            table,
            constraints: constraints.into_iter().map(|value| f.values[value].as_deref().cloned()).collect(),
            ports: ports
                .into_iter()
                .map(|Port { multiplicity, tuple, .. }| Symbols {
                    multiplicity: low(multiplicity),
                    tuple: tuple.map(low),
                })
                .collect(),
            program,
            one: f.one,
        }
    }

    /// Ports of a row.
    pub(super) fn ports(&self) -> usize {
        self.ports.len()
    }

    /// The numerator and the denominator of a port.
    pub(super) fn fraction<K: Extension>(
        &self,
        port: usize,
        alpha: K,
        beta: K,
    ) -> (Polynomial<Goldilocks>, Polynomial<K>) {
        let Symbols { multiplicity, tuple } = &self.ports[port];
        let mut denominator = Polynomial::from([([self.one, NONE, NONE], alpha)]);
        let mut power = -K::ONE;
        for value in tuple {
            add(&mut denominator, value, power);
            power *= beta;
        }
        (multiplicity.clone(), denominator)
    }

    /// The summand of a row: its ports weighted by their places, its constraints times `power` and higher powers of
    /// lambda.
    /// `power` becomes that of the next table.
    pub(super) fn sum<K: Extension>(&self, places: &[K], bus: &Bus<K>, power: &mut K) -> Sum<K> {
        let mut terms = Polynomial::new();
        for (port, &weight) in places.iter().enumerate() {
            let (numerator, denominator) = self.fraction(port, bus.alpha, bus.beta);
            add(&mut terms, &numerator, weight);
            for (monomial, coefficient) in denominator {
                *terms.entry(monomial).or_insert(K::ZERO) += bus.lambda * weight * coefficient;
            }
        }
        let mut high = Vec::new();
        for constraint in &self.constraints {
            match constraint {
                Some(constraint) => add(&mut terms, constraint, *power),
                None => high.push(*power),
            }
            *power *= bus.lambda;
        }
        let mut sum = Sum {
            powers: Vec::new(),
            shifts: Vec::new(),
            factors: Vec::new(),
            forms: Vec::new(),
            products: Vec::new(),
            program: self.program.clone(),
            results: Vec::new(),
        };
        if Tables::<K>::permutes(self.table) {
            let combined = Combined::new(&high);
            for (column, &weight) in combined.columns.iter().enumerate() {
                *terms.entry([column as Variable, NONE, NONE]).or_insert(K::ZERO) += weight;
            }
            *terms.entry([self.one, NONE, NONE]).or_insert(K::ZERO) += combined.constant;
            (sum.powers, sum.shifts) = (combined.sboxes, combined.shifts);
        } else {
            sum.results = self.program.results.iter().copied().zip(high).collect();
        }
        let (linear, products): (Terms<K>, Terms<K>) = terms.into_iter().partition(|(m, _)| m[1] == NONE);
        sum.forms.push(form(linear));
        sum.collect(products, None);
        sum
    }
}

fn add<K: Extension>(to: &mut Polynomial<K>, from: &Polynomial<Goldilocks>, weight: K) {
    for (monomial, &coefficient) in from {
        *to.entry(*monomial).or_insert(K::ZERO) += weight * coefficient;
    }
}

/// A polynomial in the columns of a table: the first form, products of columns and a form, seventh powers, results of a program.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sum<K> {
    /// The weight of (column + shift)^7, for the first columns of the table.
    pub(super) powers: Vec<K>,
    pub(super) shifts: Vec<Goldilocks>,
    /// Columns that are factors of products.
    pub(super) factors: Vec<Variable>,
    /// Linear forms; the first one is a separate term.
    pub(super) forms: Vec<Vec<(Variable, K)>>,
    pub(super) products: Vec<Product>,
    pub(super) program: Program,
    /// Registers of the program and their weights.
    pub(super) results: Vec<(usize, K)>,
}

/// A product of one or two factors, by their number, and a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Product {
    pub(super) factor: usize,
    pub(super) second: Option<usize>,
    pub(super) form: usize,
}

impl<K: Extension> Sum<K> {
    /// Collects the terms, which are in order: the column that occurs in most products becomes a factor first.
    fn collect(&mut self, mut terms: Terms<K>, first: Option<usize>) {
        while let Some(variable) = most_frequent(&terms) {
            let factor = self.factors.iter().position(|&other| other == variable).unwrap_or_else(|| {
                self.factors.push(variable);
                self.factors.len() - 1
            });
            let (mut linear, mut rest, mut others) = (Terms::new(), Terms::new(), Terms::new());
            for (monomial, coefficient) in terms {
                match divide(monomial, variable) {
                    Some(quotient) if quotient[1] == NONE => linear.push((quotient, coefficient)),
                    Some(quotient) => rest.push((quotient, coefficient)),
                    None => others.push((monomial, coefficient)),
                };
            }
            if !linear.is_empty() {
                let (factor, second) = first.map_or((factor, None), |first| (first, Some(factor)));
                self.products.push(Product { factor, second, form: self.forms.len() });
                linear.sort_unstable_by_key(|(monomial, _)| *monomial);
                self.forms.push(form(linear));
            }
            self.collect(rest, Some(factor));
            terms = others;
        }
    }
}

/// Terms of a polynomial.
type Terms<K> = Vec<(Monomial, K)>;

fn form<K: Extension>(linear: Terms<K>) -> Vec<(Variable, K)> {
    linear.into_iter().map(|(monomial, coefficient)| (monomial[0], coefficient)).collect()
}

/// The column that occurs in most products, the first of them.
fn most_frequent<K>(terms: &Terms<K>) -> Option<Variable> {
    let mut counts: Vec<usize> = Vec::new();
    for (monomial, _) in terms {
        for (i, &variable) in monomial.iter().enumerate() {
            if variable != NONE && !monomial[..i].contains(&variable) {
                let variable = usize::from(variable);
                counts.resize(counts.len().max(variable + 1), 0);
                counts[variable] += 1;
            }
        }
    }
    let most = *counts.iter().max()?;
    counts.iter().position(|&count| count == most).map(|variable| variable as Variable)
}

fn divide(mut monomial: Monomial, variable: Variable) -> Option<Monomial> {
    let at = monomial.iter().position(|&other| other == variable)?;
    monomial[at..].rotate_left(1);
    monomial[2] = NONE;
    Some(monomial)
}

/// The product, `None` for a degree above three.
fn product(a: Monomial, b: Monomial) -> Option<Monomial> {
    let mut all: Vec<Variable> = a.into_iter().chain(b).filter(|&variable| variable != NONE).collect();
    if all.len() > 3 {
        return None;
    }
    all.sort_unstable();
    all.resize(3, NONE);
    all.try_into().ok()
}

/// The [`Algebra`] of polynomials of degree at most three: values are numbers of polynomials, `None` for a polynomial
/// of higher degree.
struct Arena {
    values: Vec<Option<Rc<Polynomial<Goldilocks>>>>,
    /// The steps that made each of them.
    steps: Vec<Step>,
    one: Variable,
}

#[derive(Clone, Copy)]
enum Step {
    Zero,
    Column(Variable),
    Combine([Goldilocks; 3], [usize; 3]),
    /// A sum of products, which programs do not have.
    Products,
}

impl Arena {
    fn push(&mut self, step: Step, value: Option<Polynomial<Goldilocks>>) -> usize {
        let nonzero = value.map(|mut value| {
            value.retain(|_, coefficient| *coefficient != Goldilocks::ZERO);
            Rc::new(value)
        });
        self.values.push(nonzero);
        self.steps.push(step);
        self.values.len() - 1
    }
    fn column(&mut self, i: usize) -> usize {
        let variable = i as Variable;
        self.push(Step::Column(variable), Some(Polynomial::from([([variable, NONE, NONE], Goldilocks::ONE)])))
    }

    /// The steps that lead to these values.
    fn program(&self, results: Vec<usize>) -> Program {
        let mut needed = vec![false; self.steps.len()];
        for &result in &results {
            needed[result] = true;
        }
        for (i, step) in self.steps.iter().enumerate().rev() {
            if let (true, Step::Combine(q, operands)) = (needed[i], step) {
                for value in operands_of(q, operands) {
                    needed[value] = true;
                }
            }
        }
        let mut columns: Vec<Variable> = Vec::new();
        for (step, needed) in self.steps.iter().zip(&needed) {
            if let (Step::Column(variable), true) = (step, needed)
                && !columns.contains(variable)
            {
                columns.push(*variable);
            }
        }
        let zero = columns.len();
        let mut steps: Vec<([Goldilocks; 3], [usize; 3])> = Vec::new();
        let mut registers = vec![zero; self.steps.len()];
        for (i, step) in self.steps.iter().enumerate().filter(|(i, _)| needed[*i]) {
            registers[i] = match *step {
                Step::Zero => zero,
                Step::Products => unreachable!("a program of sums of products"),
                Step::Column(variable) => columns.iter().position(|&other| other == variable).expect("a column"),
                Step::Combine(q, operands) => {
                    steps.push((q, operands.map(|value| registers[value])));
                    zero + steps.len()
                }
            };
        }
        Program { columns, steps, results: results.into_iter().map(|value| registers[value]).collect() }
    }
}

/// The operands whose coefficients are not 0.
fn operands_of([q0, q1, q2]: &[Goldilocks; 3], &[a, b, c]: &[usize; 3]) -> impl Iterator<Item = usize> {
    let zero = Goldilocks::ZERO;
    [(*q0 != zero || *q1 != zero, a), (*q0 != zero, b), (*q2 != zero, c)]
        .into_iter()
        .filter(|(used, _)| *used)
        .map(|(_, value)| value)
}

impl Algebra for Arena {
    type V = usize;

    fn zero(&mut self) -> usize {
        self.push(Step::Zero, Some(Polynomial::new()))
    }
    fn one(&mut self) -> usize {
        self.column(self.one.into())
    }
    fn combine(&mut self, q: [Goldilocks; 3], a: usize, b: usize, c: usize) -> usize {
        let [q0, q1, q2] = q;
        let value = (|| {
            let mut sum = Polynomial::new();
            if q0 != Goldilocks::ZERO {
                let (a, b) = (self.values[a].clone()?, self.values[b].clone()?);
                for (m, &x) in &*a {
                    for (n, &y) in &*b {
                        *sum.entry(product(*m, *n)?).or_default() += q0 * x * y;
                    }
                }
            }
            for (q, value) in [(q1, a), (q2, c)] {
                if q != Goldilocks::ZERO {
                    for (monomial, &coefficient) in self.values[value].as_deref()? {
                        *sum.entry(*monomial).or_default() += q * coefficient;
                    }
                }
            }
            Some(sum)
        })();
        self.push(Step::Combine(q, [a, b, c]), value)
    }
    fn dot(&mut self, coefficients: &[Goldilocks], values: &[usize]) -> usize {
        assert_eq!(coefficients.len(), values.len(), "a coefficient for each value");
        let zero = self.zero();
        coefficients.iter().zip(values).fold(zero, |sum, (&k, &value)| self.add_scaled(sum, k, value))
    }
    fn products(&mut self, a: &[usize], b: &[usize]) -> usize {
        // Many, of a low degree: one polynomial instead of one for each step.
        let mut sum = Polynomial::new();
        for (&a, &b) in a.iter().zip(b) {
            let [a, b] = [a, b].map(|value| self.values[value].clone().expect("a factor of degree one or two"));
            for (m, &x) in &*a {
                for (n, &y) in &*b {
                    *sum.entry(product(*m, *n).expect("a product of degree three")).or_default() += x * y;
                }
            }
        }
        self.push(Step::Products, Some(sum))
    }
}
