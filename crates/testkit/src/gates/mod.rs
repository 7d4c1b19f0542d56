//! Gates as formulas over the field, for a solver.
//!
//! A [`Gate`] is a row of a table or a small circuit: its constraints as the prover and the verifiers have them, the
//! elements that it receives (*inputs*) and those that it sends (*outputs*). Constraints are read by evaluating the code
//! of [`evergrove_verifier::tables`] on polynomials ([`poly::Symbols`]), so no constraint is written twice. [`rows`]
//! joins rows by their wires, [`smt`] writes SMT-LIB.
//!
//! A lookup is read as the membership that it means. That the bus enforces this is shown elsewhere
//! (docs/math/soundness.md).

pub mod poly;
pub mod rows;
pub mod smt;

use std::collections::BTreeSet;

use evergrove_primitives::Goldilocks;
use poly::Poly;

/// A statement about the variables of a gate.
#[derive(Clone, Debug)]
pub enum Formula {
    /// The polynomial is 0.
    Zero(Poly),
    /// All of them hold.
    All(Vec<Formula>),
    /// One of them holds.
    Any(Vec<Formula>),
    /// It does not hold.
    Not(Box<Formula>),
}

impl Formula {
    /// a = b.
    pub fn equal(a: &Poly, b: &Poly) -> Self {
        Self::Zero(a - b)
    }
    /// The polynomial is 0 or 1.
    pub fn bit(x: &Poly) -> Self {
        Self::Zero(&(x * x) - x)
    }
    /// If the first holds, so does the second.
    pub fn implies(self, then: Self) -> Self {
        Self::Any(vec![Self::Not(Box::new(self)), then])
    }
    /// Calls `f` with every polynomial in it.
    fn polys<'a>(&'a self, f: &mut impl FnMut(&'a Poly)) {
        match self {
            Self::Zero(poly) => f(poly),
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.polys(f)),
            Self::Not(part) => part.polys(f),
        }
    }
}

/// A gate and what is claimed about it.
///
/// *Determined*: with equal inputs, two assignments that satisfy the constraints have equal outputs. *Specified*: every
/// statement of `spec` follows from the constraints. Statements are proven in their order, and those before it help.
#[derive(Clone, Debug)]
pub struct Gate {
    /// The name, as in file names.
    pub name: String,
    /// One phrase: what the outputs are.
    pub about: String,
    /// The names of its variables, by their numbers.
    pub names: Vec<String>,
    /// What it receives.
    pub inputs: Vec<Poly>,
    /// What it sends.
    pub outputs: Vec<Poly>,
    /// Columns that are determined before the outputs are: each by the inputs and by those before it.
    pub steps: Vec<Poly>,
    /// Constraints and lookups; a mutant is the gate without one of them.
    pub constraints: Vec<(String, Formula)>,
    /// Sums of columns that equal wires, by the bus.
    pub wires: Vec<Formula>,
    /// What is assumed about inputs.
    pub given: Vec<Formula>,
    /// Functions of inputs and columns that `spec` mentions.
    pub definitions: Vec<Formula>,
    /// What is to follow.
    pub spec: Vec<Formula>,
}

impl Gate {
    /// A gate without variables.
    pub fn new(name: &str, about: &str) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            names: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            steps: Vec::new(),
            constraints: Vec::new(),
            wires: Vec::new(),
            given: Vec::new(),
            definitions: Vec::new(),
            spec: Vec::new(),
        }
    }
    /// A new variable.
    pub fn variable(&mut self, name: String) -> Poly {
        self.names.push(name);
        Poly::variable(self.names.len() as u32 - 1)
    }
    /// New variables that are 0 or 1, and the constraints that say so.
    pub fn bits(&mut self, name: &str, count: usize) -> (Vec<Poly>, Vec<Formula>) {
        let bits: Vec<Poly> = (0..count).map(|i| self.variable(format!("{name}{i}"))).collect();
        let booleans = bits.iter().map(Formula::bit).collect();
        (bits, booleans)
    }
    /// A new variable with the value of a polynomial, for `spec`.
    pub fn define(&mut self, name: &str, value: &Poly) -> Poly {
        let variable = self.variable(name.into());
        self.definitions.push(Formula::equal(value, &variable));
        variable
    }
    /// The part of the gate about some columns: the constraints that mention no other columns.
    pub fn part(&self, name: &str, about: &str, inputs: Vec<Poly>, outputs: Vec<Poly>, columns: &[Poly]) -> Self {
        let own: BTreeSet<u32> = columns.iter().chain(&inputs).chain(&outputs).flat_map(Poly::variables).collect();
        // Bits of lookups belong to the lookup.
        let within = |formula: &Formula| {
            let mut variables = BTreeSet::new();
            formula.polys(&mut |poly| variables.extend(poly.variables()));
            let known = |x: &u32| own.contains(x) || self.names[*x as usize].contains(".bit");
            variables.iter().all(known) && !variables.is_disjoint(&own)
        };
        let constraints = self.constraints.iter().filter(|(_, formula)| within(formula)).cloned().collect();
        Self { inputs, outputs, constraints, names: self.names.clone(), ..Self::new(name, about) }
    }
    /// The statement that x is below 2^n, by bits of its own.
    pub fn below(&mut self, name: &str, x: &Poly, n: usize) -> Formula {
        let (bits, mut all) = self.bits(&format!("{name}.bit"), n);
        all.push(Formula::equal(&binary(&bits), x));
        Formula::All(all)
    }
    /// The columns that are not inputs, in their order.
    pub fn columns(&self) -> Vec<Poly> {
        let inputs: BTreeSet<u32> = self.inputs.iter().filter_map(Poly::as_variable).collect();
        self.mentioned().difference(&inputs).map(|&column| Poly::variable(column)).collect()
    }
    /// The variables that constraints, wires, inputs and outputs mention.
    fn mentioned(&self) -> BTreeSet<u32> {
        let mut seen = BTreeSet::new();
        let mut see = |poly: &Poly| seen.extend(poly.variables());
        self.inputs.iter().chain(&self.outputs).for_each(&mut see);
        let constraints = self.constraints.iter().map(|(_, formula)| formula);
        for formula in constraints.chain(&self.wires).chain(&self.given).chain(&self.definitions).chain(&self.spec) {
            formula.polys(&mut see);
        }
        seen
    }
}

/// The number with these bits, lowest first.
pub fn binary(bits: &[Poly]) -> Poly {
    weighed(bits, (0..bits.len()).map(|i| 1 << i))
}

/// The sum of elements times numbers.
pub fn weighed(elements: &[Poly], weights: impl IntoIterator<Item = u64>) -> Poly {
    elements.iter().zip(weights).fold(Poly::default(), |sum, (x, weight)| &sum + &x.scaled(Goldilocks::reduce(weight)))
}
