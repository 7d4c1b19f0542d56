//! A gate for one half of a product of two 14-limb numbers, modulo p or not.
//!
//! Let e_k be the coefficients, k = 0..27, of s A B + g L - (Q - Q_0) P as polynomials in 2^28, where P has the limbs
//! of the modulus and Q_0 the limb 2^27 fourteen times, so that the quotient may be negative. The number that they
//! represent is 0 exactly when there are carries c_k with e_k + c_{k-1} = 2^28 c_k for all k, where c_{-1} = c_26 = 0.
//! A row has half of these equations:
//!
//! | constants | equation of a row, k = 0..14 | limbs |
//! |---|---|---|
//! | (1, 0) | e_k + c_{k-1} = 2^28 c_k | in order |
//! | (0, 1) | e_{26-k} + c_{25-k} = 2^28 c_{26-k} | reversed |
//! | (0, 0) | t_{k+1} = s (A B)_k + (C D)_k, carried no further | either |
//!
//! Reversing the limbs of both factors turns the low half of a product into its high half. Carries are stored with 2^35
//! added, so they are not negative.

use evergrove_primitives::Goldilocks;
use plonky2::field::extension::quadratic::QuadraticExtension;
use plonky2::field::types::Field;
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

/// Limbs of an element.
pub const LIMBS: usize = 14;
/// Bits of a limb.
pub const LIMB_BITS: usize = 28;
/// 2^28.
const BASE: u64 = 1 << LIMB_BITS;
/// p = 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab, the modulus of the base
/// field of BLS12-381, in limbs.
pub const MODULUS: [u64; LIMBS] = [
    0xfffaaab, 0xfefffff, 0x3ffffb9, 0xfffeb15, 0x6241eab, 0xa0f6b0f, 0xf6730d2, 0xf38512b, 0x4774b84, 0x4bacd76,
    0xba7b643, 0xe69a4b1, 0x1ea397f, 0x1a011,
];
/// The offset of a carry.
pub const CARRY_OFFSET: u64 = 1 << 35;
/// The offset of each limb of a quotient.
pub const QUOTIENT_OFFSET: u64 = 1 << 27;

/// Number of wires that hold carries, or coefficients.
const CARRIES: usize = LIMBS + 1;
const A: usize = 0;
const B: usize = A + LIMBS;
/// L, or C.
const LINEAR: usize = B + LIMBS;
/// Q, or D.
const QUOTIENT: usize = LINEAR + LIMBS;
const CARRY: usize = QUOTIENT + LIMBS;
const SCALE: usize = CARRY + CARRIES;
const ON: usize = SCALE + 1;
const WIRES: usize = ON + 1;

/// Half of a product; see the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProductGate;

/// Which half, in a row modulo p.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Coefficients 0 to 13.
    Low,
    /// Coefficients 26 to 13.
    High,
}

/// The wires of a row, in the order of its equations.
pub struct Row<'a> {
    /// A.
    pub a: &'a [Target; LIMBS],
    /// B.
    pub b: &'a [Target; LIMBS],
    /// L.
    pub linear: &'a [Target; LIMBS],
    /// Q.
    pub quotient: &'a [Target; LIMBS],
    /// c_{-1} to c_13, or c_26 to c_12.
    pub carries: &'a [Target; LIMBS + 1],
    /// s.
    pub scale: Target,
    /// g.
    pub on: Target,
}

fn connect(b: &mut Builder, row: usize, first: usize, targets: &[Target]) {
    for (i, t) in targets.iter().enumerate() {
        b.connect(*t, Target::wire(row, first + i));
    }
}

impl ProductGate {
    /// A row modulo p.
    pub fn reduce(b: &mut Builder, half: Half, wires: &Row<'_>) {
        let constants = match half {
            Half::Low => vec![F::ONE, F::ZERO],
            Half::High => vec![F::ZERO, F::ONE],
        };
        let row = b.add_gate(Self, constants);
        connect(b, row, A, wires.a);
        connect(b, row, B, wires.b);
        connect(b, row, LINEAR, wires.linear);
        connect(b, row, QUOTIENT, wires.quotient);
        connect(b, row, CARRY, wires.carries);
        connect(b, row, SCALE, &[wires.scale]);
        connect(b, row, ON, &[wires.on]);
    }

    /// The low coefficients of `factors[0] factors[1] + factors[2] factors[3]`.
    pub fn accumulate(b: &mut Builder, factors: [&[Target; LIMBS]; 4]) -> [Target; LIMBS] {
        let row = b.add_gate(Self, vec![F::ZERO, F::ZERO]);
        for (first, limbs) in [A, B, LINEAR, QUOTIENT].into_iter().zip(factors) {
            connect(b, row, first, limbs);
        }
        let one = b.one();
        connect(b, row, SCALE, &[one]);
        core::array::from_fn(|k| Target::wire(row, CARRY + 1 + k))
    }
}

impl Constraints for ProductGate {
    const COUNT: usize = LIMBS;

    #[inline(always)]
    fn constraints<X: Algebra>(&self, x: &mut X, c: &[X::E], w: &[X::E], out: &mut Vec<X::E>) {
        let (low, high) = (c[0], c[1]);
        let (one, zero) = (x.constant(1), x.constant(0));
        let reduces = x.add_scaled(low, 1, high);
        let accumulates = x.sub(one, reduces);
        let minus_base = x.constant(Goldilocks::ORDER - BASE);
        // Weights of the carries c_{k-1} and c_k of an equation.
        let mut scaled = x.mul(high, minus_base);
        let before = x.add_scaled(scaled, 1, low);
        scaled = x.mul(low, minus_base);
        let after = x.add_scaled(scaled, 1, high);
        let gated = x.mul(reduces, w[ON]);
        let stored = x.sub(zero, accumulates);

        let quotient_offset = x.constant(QUOTIENT_OFFSET);
        let carry_offset = x.constant(CARRY_OFFSET);
        let mut modulus = [zero; LIMBS];
        let (mut b, mut d, mut quotient) = ([zero; LIMBS], [zero; LIMBS], [zero; LIMBS]);
        for j in 0..LIMBS {
            let limb = x.constant(MODULUS[j]);
            let limb = x.mul(low, limb);
            modulus[j] = x.add_scaled(limb, MODULUS[LIMBS - 1 - j], high);
            // Reversed, for the sums over pairs of indices.
            b[LIMBS - 1 - j] = w[B + j];
            d[LIMBS - 1 - j] = w[QUOTIENT + j];
            quotient[LIMBS - 1 - j] = x.sub(w[QUOTIENT + j], quotient_offset);
        }
        let mut carries = [zero; CARRIES];
        for (carry, wire) in carries.iter_mut().zip(&w[CARRY..]) {
            *carry = x.sub(*wire, carry_offset);
        }
        let weights = [w[SCALE], accumulates, gated, before, after, stored];
        for k in 0..LIMBS {
            let from = LIMBS - 1 - k;
            let ab = x.dot(&w[A..=A + k], &b[from..]);
            let cd = x.dot(&w[LINEAR..=LINEAR + k], &d[from..]);
            let terms = [ab, cd, w[LINEAR + k], carries[k], carries[k + 1], w[CARRY + k + 1]];
            let sum = x.dot(&weights, &terms);
            let multiple = x.dot(&modulus[..=k], &quotient[from..]);
            out.push(x.sub(sum, multiple));
        }
    }
}

impl Gate<F, D> for ProductGate {
    fn id(&self) -> String {
        "ProductGate<BLS12-381>".into()
    }
    fn serialize(&self, _dst: &mut Vec<u8>, _common: &CommonCircuitData<F, D>) -> IoResult<()> {
        Ok(())
    }
    fn deserialize(_src: &mut Buffer<'_>, _common: &CommonCircuitData<F, D>) -> IoResult<Self> {
        Ok(Self)
    }
    fn eval_unfiltered(&self, vars: EvaluationVars<'_, F, D>) -> Vec<QuadraticExtension<F>> {
        at_extension(self, vars)
    }
    fn eval_unfiltered_base_batch(&self, vars: EvaluationVarsBaseBatch<'_, F>) -> Vec<F> {
        at_points(self, vars)
    }
    fn eval_unfiltered_circuit(&self, b: &mut Builder, vars: EvaluationTargets<'_, D>) -> Vec<ExtensionTarget<D>> {
        in_circuit(self, b, vars)
    }
    fn generators(&self, row: usize, constants: &[F]) -> Vec<WitnessGeneratorRef<F, D>> {
        // Rows modulo p are filled by the generator of their product, which knows both halves.
        if constants.iter().any(|c| c.is_nonzero()) {
            return Vec::new();
        }
        vec![WitnessGeneratorRef::new(CoefficientGenerator { row }.adapter())]
    }
    fn num_wires(&self) -> usize {
        WIRES
    }
    fn num_constants(&self) -> usize {
        2
    }
    fn degree(&self) -> usize {
        3
    }
    fn num_constraints(&self) -> usize {
        Self::COUNT
    }
}

/// The coefficients of a row that reduces nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct CoefficientGenerator {
    row: usize,
}

impl SimpleGenerator<F, D> for CoefficientGenerator {
    fn id(&self) -> String {
        "CoefficientGenerator<BLS12-381>".into()
    }
    fn dependencies(&self) -> Vec<Target> {
        (A..CARRY).chain([SCALE]).map(|i| Target::wire(self.row, i)).collect()
    }
    fn run_once(&self, witness: &PartitionWitness<'_, F>, out: &mut GeneratedValues<F>) -> anyhow::Result<()> {
        let wire = |i| witness.get_target(Target::wire(self.row, i));
        let sum = |a: usize, b: usize, k: usize| (0..=k).map(|i| wire(a + i) * wire(b + k - i)).sum::<F>();
        for k in 0..LIMBS {
            let value = wire(SCALE) * sum(A, B, k) + sum(LINEAR, QUOTIENT, k);
            out.set_target(Target::wire(self.row, CARRY + 1 + k), value)?;
        }
        Ok(())
    }
    fn serialize(&self, dst: &mut Vec<u8>, _common: &CommonCircuitData<F, D>) -> IoResult<()> {
        dst.write_usize(self.row)
    }
    fn deserialize(src: &mut Buffer<'_>, _common: &CommonCircuitData<F, D>) -> IoResult<Self> {
        Ok(Self { row: src.read_usize()? })
    }
}
