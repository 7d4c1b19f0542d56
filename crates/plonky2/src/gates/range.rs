//! A gate that checks the ranges of several numbers at once.

use plonky2::field::types::{Field, PrimeField64};
use plonky2::gates::gate::Gate;
use plonky2::iop::ext_target::ExtensionTarget;
use plonky2::iop::generator::{GeneratedValues, SimpleGenerator, WitnessGeneratorRef};
use plonky2::iop::target::Target;
use plonky2::iop::witness::{PartitionWitness, Witness, WitnessWrite};
use plonky2::plonk::circuit_data::CommonCircuitData;
use plonky2::plonk::vars::{EvaluationTargets, EvaluationVars, EvaluationVarsBaseBatch};
use plonky2::util::serialization::{Buffer, IoResult, Read, Write};

use super::algebra::{Algebra, Constraints, at_extension, at_points, in_circuit};
use crate::circuit::{Builder, D, F};

/// Bits of a digit. Its constraint has degree 4.
const DIGIT_BITS: usize = 2;
/// Wires of a row in plonky2's standard configuration.
const WIRES: usize = 135;

/// Shows that numbers are below 2^`BITS`: 9 of 28 bits in a row of 135 wires, or 7 of 36.
///
/// Wires: the numbers, then the digits of each in base 4, the least significant first.
#[derive(Clone, Copy, Debug, Default)]
pub struct RangeGate<const BITS: usize>;

impl<const BITS: usize> RangeGate<BITS> {
    const DIGITS: usize = {
        assert!(BITS.is_multiple_of(DIGIT_BITS) && BITS < 64, "whole digits, below the field's order");
        BITS / DIGIT_BITS
    };
    /// Numbers of a row.
    pub const NUMBERS: usize = WIRES / (1 + Self::DIGITS);

    const fn digits(number: usize) -> usize {
        Self::NUMBERS + number * Self::DIGITS
    }

    /// Constrains `x` to be below 2^`BITS`. Takes a part of a row.
    pub fn check(b: &mut Builder, x: Target) {
        let (row, number) = b.find_slot(Self, &[], &[]);
        b.connect(x, Target::wire(row, number));
    }
}

impl<const BITS: usize> Constraints for RangeGate<BITS> {
    const COUNT: usize = Self::NUMBERS * (1 + Self::DIGITS);

    #[inline(always)]
    fn constraints<A: Algebra>(&self, a: &mut A, _c: &[A::E], w: &[A::E], out: &mut Vec<A::E>) {
        let (two, three) = (a.constant(2), a.constant(3));
        for number in 0..Self::NUMBERS {
            let digits = &w[Self::digits(number)..Self::digits(number + 1)];
            let sum = a.recompose(digits, 1 << DIGIT_BITS);
            out.push(a.sub(sum, w[number]));
            for d in digits {
                // x (x - 1) (x - 2) (x - 3) = y (y + 2) for y = x (x - 3).
                let shifted = a.sub(*d, three);
                let y = a.mul(*d, shifted);
                let z = a.add_scaled(y, 1, two);
                out.push(a.mul(y, z));
            }
        }
    }
}

impl<const BITS: usize> Gate<F, D> for RangeGate<BITS> {
    fn id(&self) -> String {
        format!("RangeGate<{BITS}>")
    }
    fn serialize(&self, _dst: &mut Vec<u8>, _common: &CommonCircuitData<F, D>) -> IoResult<()> {
        Ok(())
    }
    fn deserialize(_src: &mut Buffer<'_>, _common: &CommonCircuitData<F, D>) -> IoResult<Self> {
        Ok(Self)
    }
    fn eval_unfiltered(
        &self,
        vars: EvaluationVars<'_, F, D>,
    ) -> Vec<plonky2::field::extension::quadratic::QuadraticExtension<F>> {
        at_extension(self, vars)
    }
    fn eval_unfiltered_base_batch(&self, vars: EvaluationVarsBaseBatch<'_, F>) -> Vec<F> {
        at_points(self, vars)
    }
    fn eval_unfiltered_circuit(&self, b: &mut Builder, vars: EvaluationTargets<'_, D>) -> Vec<ExtensionTarget<D>> {
        in_circuit(self, b, vars)
    }
    fn generators(&self, row: usize, _constants: &[F]) -> Vec<WitnessGeneratorRef<F, D>> {
        (0..Self::NUMBERS)
            .map(|number| WitnessGeneratorRef::new(DigitGenerator::<BITS> { row, number }.adapter()))
            .collect()
    }
    fn num_wires(&self) -> usize {
        Self::digits(Self::NUMBERS)
    }
    fn num_constants(&self) -> usize {
        0
    }
    fn degree(&self) -> usize {
        1 << DIGIT_BITS
    }
    fn num_constraints(&self) -> usize {
        Self::COUNT
    }
}

/// Digits of a number; of its low bits if it is out of range.
#[derive(Clone, Debug, Default)]
pub(super) struct DigitGenerator<const BITS: usize> {
    row: usize,
    number: usize,
}

impl<const BITS: usize> SimpleGenerator<F, D> for DigitGenerator<BITS> {
    fn id(&self) -> String {
        format!("DigitGenerator<{BITS}>")
    }
    fn dependencies(&self) -> Vec<Target> {
        vec![Target::wire(self.row, self.number)]
    }
    fn run_once(&self, witness: &PartitionWitness<'_, F>, out: &mut GeneratedValues<F>) -> anyhow::Result<()> {
        let mut x = witness.get_target(Target::wire(self.row, self.number)).to_canonical_u64();
        let first = RangeGate::<BITS>::digits(self.number);
        for i in first..first + RangeGate::<BITS>::DIGITS {
            out.set_target(Target::wire(self.row, i), F::from_canonical_u64(x % (1 << DIGIT_BITS)))?;
            x >>= DIGIT_BITS;
        }
        Ok(())
    }
    fn serialize(&self, dst: &mut Vec<u8>, _common: &CommonCircuitData<F, D>) -> IoResult<()> {
        dst.write_usize(self.row)?;
        dst.write_usize(self.number)
    }
    fn deserialize(src: &mut Buffer<'_>, _common: &CommonCircuitData<F, D>) -> IoResult<Self> {
        Ok(Self { row: src.read_usize()?, number: src.read_usize()? })
    }
}
