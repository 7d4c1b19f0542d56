//! One formula for a gate's constraints, evaluated in three ways.
//!
//! plonky2 asks a gate for its constraints over the extension field (verifier), over many points of the base field
//! (prover) and as a circuit (recursive verifier). The gates of this module write them once, over an [`Algebra`].

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::{Canonical, GoldilocksLanes};
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use plonky2::field::extension::quadratic::QuadraticExtension;
use plonky2::field::types::{Field, PrimeField64};
use plonky2::iop::ext_target::ExtensionTarget;
use plonky2::plonk::plonk_common::reduce_with_powers_ext_circuit;
use plonky2::plonk::vars::{EvaluationTargets, EvaluationVars, EvaluationVarsBaseBatch};

use crate::circuit::{Builder, D, F};

/// Arithmetic on the values in constraints.
pub(super) trait Algebra {
    /// An element.
    type E: Copy;

    fn constant(&mut self, x: u64) -> Self::E;
    fn sub(&mut self, a: Self::E, b: Self::E) -> Self::E;
    fn mul(&mut self, a: Self::E, b: Self::E) -> Self::E;
    /// c x + a for a constant c.
    fn add_scaled(&mut self, a: Self::E, c: u64, x: Self::E) -> Self::E;
    /// sum_i a_i b_i.
    fn dot(&mut self, a: &[Self::E], b: &[Self::E]) -> Self::E;
    /// The number whose digits are `digits`, the least significant first.
    fn recompose(&mut self, digits: &[Self::E], base: u64) -> Self::E;
}

/// The constraints of a gate, in one order.
pub(super) trait Constraints {
    /// How many.
    const COUNT: usize;

    /// Appends the constraints at constants `c` and wires `w`.
    fn constraints<A: Algebra>(&self, a: &mut A, c: &[A::E], w: &[A::E], out: &mut Vec<A::E>);
}

/// The extension field.
struct Values;

type Extension = QuadraticExtension<F>;

impl Algebra for Values {
    type E = Extension;

    fn constant(&mut self, x: u64) -> Extension {
        Extension::from_canonical_u64(x)
    }
    fn sub(&mut self, a: Extension, b: Extension) -> Extension {
        a - b
    }
    fn mul(&mut self, a: Extension, b: Extension) -> Extension {
        a * b
    }
    fn add_scaled(&mut self, a: Extension, c: u64, x: Extension) -> Extension {
        a + self.constant(c) * x
    }
    fn dot(&mut self, a: &[Extension], b: &[Extension]) -> Extension {
        a.iter().zip(b).map(|(a, b)| *a * *b).sum()
    }
    fn recompose(&mut self, digits: &[Extension], base: u64) -> Extension {
        let base = self.constant(base);
        digits.iter().rev().fold(Extension::ZERO, |sum, d| sum * base + *d)
    }
}

/// A circuit.
struct Circuit<'a>(&'a mut Builder);

impl Algebra for Circuit<'_> {
    type E = ExtensionTarget<D>;

    fn constant(&mut self, x: u64) -> Self::E {
        self.0.constant_extension(Extension::from_canonical_u64(x))
    }
    fn sub(&mut self, a: Self::E, b: Self::E) -> Self::E {
        self.0.sub_extension(a, b)
    }
    fn mul(&mut self, a: Self::E, b: Self::E) -> Self::E {
        self.0.mul_extension(a, b)
    }
    fn add_scaled(&mut self, a: Self::E, c: u64, x: Self::E) -> Self::E {
        self.0.mul_const_add_extension(F::from_canonical_u64(c), x, a)
    }
    fn dot(&mut self, a: &[Self::E], b: &[Self::E]) -> Self::E {
        let zero = self.0.zero_extension();
        a.iter().zip(b).fold(zero, |sum, (a, b)| self.0.mul_add_extension(*a, *b, sum))
    }
    fn recompose(&mut self, digits: &[Self::E], base: u64) -> Self::E {
        let base = self.0.constant(F::from_canonical_u64(base));
        reduce_with_powers_ext_circuit(self.0, digits, base)
    }
}

/// Eight points of the base field.
struct Points<L>(GoldilocksLanes<L>);

impl<L: Lanes> Algebra for Points<L> {
    type E = Canonical<L::V>;

    #[inline(always)]
    fn constant(&mut self, x: u64) -> Self::E {
        self.0.splat(Goldilocks::reduce(x))
    }
    #[inline(always)]
    fn sub(&mut self, a: Self::E, b: Self::E) -> Self::E {
        self.0.reduce(self.0.sub(a, b))
    }
    #[inline(always)]
    fn mul(&mut self, a: Self::E, b: Self::E) -> Self::E {
        self.0.reduce(self.0.mul(a, b))
    }
    #[inline(always)]
    fn add_scaled(&mut self, a: Self::E, c: u64, x: Self::E) -> Self::E {
        let c = self.constant(c);
        self.0.reduce(self.0.add(self.0.mul(x, c), a))
    }
    #[inline(always)]
    fn dot(&mut self, a: &[Self::E], b: &[Self::E]) -> Self::E {
        let f = self.0;
        let mut sum = f.product_sum();
        for (a, b) in a.iter().zip(b) {
            f.accumulate(&mut sum, f.factor(*a), f.factor(*b));
        }
        f.reduce(f.reduce_sum(sum))
    }
    #[inline(always)]
    fn recompose(&mut self, digits: &[Self::E], base: u64) -> Self::E {
        let f = self.0;
        let base = f.factor(self.constant(base));
        let mut sum = f.splat(Goldilocks::ZERO);
        for d in digits.iter().rev() {
            sum = f.reduce(f.add(f.mul_by(sum, base), *d));
        }
        sum
    }
}

pub(super) fn at_extension<G: Constraints>(gate: &G, vars: EvaluationVars<'_, F, D>) -> Vec<Extension> {
    let mut out = Vec::with_capacity(G::COUNT);
    gate.constraints(&mut Values, vars.local_constants, vars.local_wires, &mut out);
    out
}

pub(super) fn in_circuit<G: Constraints>(
    gate: &G,
    b: &mut Builder,
    vars: EvaluationTargets<'_, D>,
) -> Vec<ExtensionTarget<D>> {
    let mut out = Vec::with_capacity(G::COUNT);
    gate.constraints(&mut Circuit(b), vars.local_constants, vars.local_wires, &mut out);
    out
}

/// Constraint j at point i is at `j * batch + i`.
pub(super) fn at_points<G: Constraints>(gate: &G, vars: EvaluationVarsBaseBatch<'_, F>) -> Vec<F> {
    at_points_on(Isa::detect(), gate, vars)
}

fn at_points_on<G: Constraints>(isa: Isa, gate: &G, vars: EvaluationVarsBaseBatch<'_, F>) -> Vec<F> {
    let mut out = vec![F::ZERO; G::COUNT * vars.len()];
    dispatch_on(isa, AtPoints { gate, vars, out: &mut out });
    out
}

struct AtPoints<'a, G> {
    gate: &'a G,
    vars: EvaluationVarsBaseBatch<'a, F>,
    out: &'a mut [F],
}

impl<G: Constraints> Kernel for AtPoints<'_, G> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let batch = self.vars.len();
        let (mut constants, mut wires, mut constraints) = (Vec::new(), Vec::new(), Vec::new());
        for first in (0..batch).step_by(LANES) {
            let points = LANES.min(batch - first);
            for (columns, loaded) in [(self.vars.local_constants, &mut constants), (self.vars.local_wires, &mut wires)]
            {
                loaded.clear();
                for column in columns.chunks_exact(batch) {
                    let mut words = [0; LANES];
                    for (word, x) in words.iter_mut().zip(&column[first..first + points]) {
                        *word = x.to_noncanonical_u64();
                    }
                    loaded.push(f.reduce(f.load_words(&words)));
                }
            }
            constraints.clear();
            self.gate.constraints(&mut Points(f), &constants, &wires, &mut constraints);
            for (row, x) in self.out.chunks_exact_mut(batch).zip(&constraints) {
                let mut words = [0; LANES];
                f.store_words(*x, &mut words);
                for (out, word) in row[first..first + points].iter_mut().zip(words) {
                    *out = F::from_canonical_u64(word);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use evergrove_primitives::lanes::available;
    use plonky2::field::extension::FieldExtension;
    use plonky2::gates::gate::Gate;
    use plonky2::hash::hash_types::{HashOut, HashOutTarget};
    use plonky2::iop::witness::{PartialWitness, WitnessWrite};
    use plonky2::plonk::circuit_data::CircuitConfig;

    use super::*;
    use crate::circuit::C;
    use crate::gates::{ProductGate, RangeGate};

    fn lift(x: F) -> Extension {
        <Extension as FieldExtension<D>>::from_basefield(x)
    }

    /// Elements without a pattern.
    fn words(n: usize, seed: u64) -> Vec<F> {
        let mut x = seed;
        let mut next = || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            F::from_noncanonical_u64(x ^ x >> 29)
        };
        (0..n).map(|_| next()).collect()
    }

    /// The three ways of evaluation agree, on every instruction set and for batches that fill no vector.
    fn agree<G: Constraints + Gate<F, D>>(gate: &G) {
        let hash = HashOut { elements: [F::ZERO; 4] };
        for batch in [1, 8, 19] {
            let [c, w] = [gate.num_constants(), gate.num_wires()].map(|n| words(n * batch, (n * batch) as u64));
            let values: Vec<Vec<Extension>> = (0..batch)
                .map(|i| {
                    let at = |columns: &[F]| -> Vec<Extension> {
                        columns.iter().skip(i).step_by(batch).map(|x| lift(*x)).collect()
                    };
                    let (c, w) = (at(&c), at(&w));
                    let vars = EvaluationVars { local_constants: &c, local_wires: &w, public_inputs_hash: &hash };
                    gate.eval_unfiltered(vars)
                })
                .collect();
            assert_eq!(values[0].len(), gate.num_constraints());
            for isa in available() {
                let vars = EvaluationVarsBaseBatch::new(batch, &c, &w, &hash);
                let found = at_points_on(isa, gate, vars);
                for (j, row) in found.chunks_exact(batch).enumerate() {
                    for (i, x) in row.iter().enumerate() {
                        assert_eq!(lift(*x), values[i][j], "constraint {j} at {i}, {isa:?}");
                    }
                }
            }
        }
        let extensions = |n: usize| -> Vec<Extension> {
            words(2 * n, 7).chunks(2).map(|x| QuadraticExtension([x[0], x[1]])).collect()
        };
        let (c, w) = (extensions(gate.num_constants()), extensions(gate.num_wires()));
        let vars = EvaluationVars { local_constants: &c, local_wires: &w, public_inputs_hash: &hash };
        let due = gate.eval_unfiltered(vars);
        let mut b = Builder::new(CircuitConfig::standard_recursion_config());
        let constants: Vec<_> = c.iter().map(|x| b.constant_extension(*x)).collect();
        let wires: Vec<_> = w.iter().map(|x| b.constant_extension(*x)).collect();
        let hash = HashOutTarget { elements: [b.zero(); 4] };
        let vars = EvaluationTargets { local_constants: &constants, local_wires: &wires, public_inputs_hash: &hash };
        let found = gate.eval_unfiltered_circuit(&mut b, vars);
        assert_eq!(found.len(), due.len());
        for (found, due) in found.into_iter().zip(due) {
            let due = b.constant_extension(due);
            b.connect_extension(found, due);
        }
        // The first wire again, so that the witness has an input.
        let input = b.add_virtual_target();
        b.connect(input, wires[0].0[0]);
        let mut inputs = PartialWitness::new();
        inputs.set_target(input, w[0].0[0]).expect("one target");
        let data = b.build::<C>();
        data.verify(data.prove(inputs).expect("a proof")).expect("equal constraints");
    }

    #[test]
    fn evaluations_agree() {
        agree(&ProductGate);
        agree(&RangeGate::<28>);
        agree(&RangeGate::<36>);
    }
}
