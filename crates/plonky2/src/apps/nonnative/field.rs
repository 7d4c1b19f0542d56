//! Elements in a circuit.

use evergrove_primitives::Goldilocks;
use plonky2::field::types::{Field, PrimeField64};
use plonky2::iop::generator::{GeneratedValues, SimpleGenerator};
use plonky2::iop::target::{BoolTarget, Target};
use plonky2::iop::witness::{PartitionWitness, Witness, WitnessWrite};
use plonky2::plonk::circuit_data::CommonCircuitData;
use plonky2::util::serialization::{Buffer, IoResult, Read, Write};

use evergrove_apps::bls::limbs::{BASE, LIMB_BITS, LIMBS};

use crate::circuit::{Builder, D, F};
use crate::gates::product::{CARRY_OFFSET, Half, MODULUS, QUOTIENT_OFFSET, Row};
use crate::gates::{CARRY_BITS, ProductGate, RangeGate};

/// Limbs of an element in a circuit: each below 2^28 where it is a witness, of either sign in sums and differences.
pub type Element = [Target; LIMBS];

/// 1/p modulo 2^28.
const MODULUS_INVERSE: u64 = {
    // Newton's iteration doubles the number of right bits.
    let (mut x, mut i) = (1_u64, 0);
    while i < 5 {
        x = x.wrapping_mul(2_u64.wrapping_sub(MODULUS[0].wrapping_mul(x)));
        i += 1;
    }
    x & (BASE - 1)
};

const _: () = assert!(MODULUS[0].wrapping_mul(MODULUS_INVERSE) % BASE == 1);

/// Equations of a congruence with carries between them.
const CARRIES: usize = 2 * LIMBS - 2;

/// An element that the prover sets, or a generator. Constrains its limbs to be in range: 1.6 rows.
pub fn witness(b: &mut Builder) -> Element {
    let x = b.add_virtual_target_arr();
    limb_check(b, &x);
    x
}

/// Constrains numbers to be below 2^28.
pub fn limb_check(b: &mut Builder, x: &[Target]) {
    for limb in x {
        RangeGate::<LIMB_BITS>::check(b, *limb);
    }
}

/// x + y, limb by limb.
pub fn add(b: &mut Builder, x: &Element, y: &Element) -> Element {
    core::array::from_fn(|i| b.add(x[i], y[i]))
}

/// x - y, limb by limb.
pub fn sub(b: &mut Builder, x: &Element, y: &Element) -> Element {
    core::array::from_fn(|i| b.sub(x[i], y[i]))
}

/// The linear part of a congruence: 27 coefficients of powers of 2^28.
pub struct Linear {
    low: Element,
    /// Coefficients 26, 25, .., 13.
    high: Element,
}

impl Linear {
    /// The element `x`.
    pub fn of(b: &mut Builder, x: &Element) -> Self {
        let mut high = [b.zero(); LIMBS];
        high[LIMBS - 1] = x[LIMBS - 1];
        Self { low: *x, high }
    }

    /// The product of two elements plus that of two others: two rows.
    pub fn products(b: &mut Builder, factors: [&Element; 4]) -> Self {
        let reversed = factors.map(reverse);
        Self { low: ProductGate::accumulate(b, factors), high: ProductGate::accumulate(b, reversed.each_ref()) }
    }

    /// Adds a number.
    pub fn plus(mut self, b: &mut Builder, x: u64) -> Self {
        self.low[0] = b.add_const(self.low[0], F::from_canonical_u64(x));
        self
    }
}

fn reverse(x: &Element) -> Element {
    core::array::from_fn(|i| x[LIMBS - 1 - i])
}

/// `scale` `a` `b` + `on` `linear` = 0 modulo p.
///
/// **Bounds.** `a` and `b` are witnesses, sums or differences of at most two such; the coefficients of `scale a b + on linear` are
/// between -42 2^56 and 28 2^56; -1 <= `scale`, `on` <= 1.
pub struct Congruence<'a> {
    /// A factor.
    pub a: &'a Element,
    /// The other factor.
    pub b: &'a Element,
    /// The rest.
    pub linear: &'a Linear,
    /// -1, 0 or 1.
    pub scale: Target,
    /// -1, 0 or 1.
    pub on: Target,
}

impl Congruence<'_> {
    /// Constrains the congruence to hold.
    pub fn assert(&self, b: &mut Builder) {
        let quotient = witness(b);
        let carries: [Target; CARRIES] = b.add_virtual_target_arr();
        for carry in carries {
            RangeGate::<CARRY_BITS>::check(b, carry);
        }
        let none = b.constant(F::from_canonical_u64(CARRY_OFFSET));
        // c_{-1}, .., c_13, and c_26, .., c_12.
        let low = core::array::from_fn(|i| if i == 0 { none } else { carries[i - 1] });
        let high = core::array::from_fn(|i| if i == 0 { none } else { carries[CARRIES - i] });
        let (scale, on) = (self.scale, self.on);
        let row = Row { a: self.a, b: self.b, linear: &self.linear.low, quotient: &quotient, carries: &low, scale, on };
        ProductGate::reduce(b, Half::Low, &row);
        let [first, second, quotient_high] = [self.a, self.b, &quotient].map(reverse);
        let row = Row {
            a: &first,
            b: &second,
            linear: &self.linear.high,
            quotient: &quotient_high,
            carries: &high,
            scale,
            on,
        };
        ProductGate::reduce(b, Half::High, &row);
        b.add_simple_generator(QuotientGenerator {
            inputs: [*self.a, *self.b, self.linear.low, self.linear.high].concat(),
            flags: vec![scale, on],
            quotient: quotient.to_vec(),
            carries: carries.to_vec(),
        });
    }
}

/// Quotient and carries of a congruence; if it does not hold, those of its low half.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuotientGenerator {
    /// Factors and the two halves of the linear part.
    inputs: Vec<Target>,
    flags: Vec<Target>,
    quotient: Vec<Target>,
    carries: Vec<Target>,
}

/// The representative of least absolute value.
fn signed(x: F) -> i128 {
    let x = x.to_canonical_u64();
    if x > Goldilocks::ORDER / 2 { x as i128 - Goldilocks::ORDER as i128 } else { x as i128 }
}

impl SimpleGenerator<F, D> for QuotientGenerator {
    fn id(&self) -> String {
        "QuotientGenerator<BLS12-381>".into()
    }
    fn dependencies(&self) -> Vec<Target> {
        [&self.inputs[..], &self.flags].concat()
    }
    fn run_once(&self, witness: &PartitionWitness<'_, F>, out: &mut GeneratedValues<F>) -> anyhow::Result<()> {
        let values =
            |targets: &[Target]| -> Vec<i128> { targets.iter().map(|t| signed(witness.get_target(*t))).collect() };
        let inputs = values(&self.inputs);
        let (a, rest) = inputs.split_at(LIMBS);
        let (b, rest) = rest.split_at(LIMBS);
        let (low, high) = rest.split_at(LIMBS);
        let [scale, on] = values(&self.flags)[..] else { unreachable!("two flags") };
        let set = |out: &mut GeneratedValues<F>, t: Target, x: i128, offset: u64| {
            let sum = (x + offset as i128).rem_euclid(Goldilocks::ORDER as i128);
            out.set_target(t, F::from_canonical_u64(sum as u64))
        };
        let mut quotient = [0_i128; LIMBS];
        let mut carry = 0_i128;
        for k in 0..=CARRIES {
            let pairs = (k + 1).saturating_sub(LIMBS)..LIMBS.min(k + 1);
            let linear = if k < LIMBS { low[k] } else { high[CARRIES - k] };
            let product: i128 = pairs.clone().map(|i| a[i] * b[k - i]).sum();
            let multiple: i128 = pairs.filter(|i| *i < k).map(|i| quotient[i] * MODULUS[k - i] as i128).sum();
            let mut total = scale * product + on * linear - multiple + carry;
            if k < LIMBS {
                // q_k, from 0 to 2^28 with its offset, cancels the lowest bits.
                let limb = (total * MODULUS_INVERSE as i128 + QUOTIENT_OFFSET as i128).rem_euclid(BASE as i128);
                quotient[k] = limb - QUOTIENT_OFFSET as i128;
                total -= quotient[k] * MODULUS[0] as i128;
            }
            carry = total >> LIMB_BITS;
            if k < CARRIES {
                set(out, self.carries[k], carry, CARRY_OFFSET)?;
            }
        }
        for (t, q) in self.quotient.iter().zip(quotient) {
            set(out, *t, q, QUOTIENT_OFFSET)?;
        }
        Ok(())
    }
    fn serialize(&self, dst: &mut Vec<u8>, _common: &CommonCircuitData<F, D>) -> IoResult<()> {
        for targets in [&self.inputs, &self.flags, &self.quotient, &self.carries] {
            dst.write_target_vec(targets)?;
        }
        Ok(())
    }
    fn deserialize(src: &mut Buffer<'_>, _common: &CommonCircuitData<F, D>) -> IoResult<Self> {
        let mut next = || src.read_target_vec();
        Ok(Self { inputs: next()?, flags: next()?, quotient: next()?, carries: next()? })
    }
}

/// Constrains an element, whose limbs are in range, to be below p: 4.3 rows.
///
/// x + t = p - 1 for a t of 14 limbs, with carries of one bit.
pub fn assert_canonical(b: &mut Builder, x: &Element) {
    let complement = witness(b);
    let carries: [BoolTarget; LIMBS - 1] = core::array::from_fn(|_| b.add_virtual_bool_target_safe());
    let carries: [Target; LIMBS - 1] = carries.map(|c| c.target);
    for i in 0..LIMBS {
        let mut sum = b.add(x[i], complement[i]);
        if i > 0 {
            sum = b.add(sum, carries[i - 1]);
        }
        let due = b.constant(F::from_canonical_u64(greatest(i)));
        let due = match carries.get(i) {
            Some(carry) => {
                let one = b.one();
                b.arithmetic(F::from_canonical_u64(BASE), F::ONE, *carry, one, due)
            }
            None => due,
        };
        b.connect(sum, due);
    }
    b.add_simple_generator(ComplementGenerator {
        element: x.to_vec(),
        complement: complement.to_vec(),
        carries: carries.to_vec(),
    });
}

/// Limb i of p - 1; p is odd.
fn greatest(i: usize) -> u64 {
    MODULUS[i] - u64::from(i == 0)
}

/// p - 1 - x with the carries of the sum; modulo 2^392 if x is not canonical.
#[derive(Clone, Debug, Default)]
pub(crate) struct ComplementGenerator {
    element: Vec<Target>,
    complement: Vec<Target>,
    carries: Vec<Target>,
}

impl SimpleGenerator<F, D> for ComplementGenerator {
    fn id(&self) -> String {
        "ComplementGenerator<BLS12-381>".into()
    }
    fn dependencies(&self) -> Vec<Target> {
        self.element.clone()
    }
    fn run_once(&self, witness: &PartitionWitness<'_, F>, out: &mut GeneratedValues<F>) -> anyhow::Result<()> {
        let mut carry = 0;
        for i in 0..LIMBS {
            let x = witness.get_target(self.element[i]).to_canonical_u64() % BASE;
            let due = greatest(i) as i64 - x as i64 - carry;
            let complement = due.rem_euclid(BASE as i64);
            carry = (complement - due) >> LIMB_BITS;
            out.set_target(self.complement[i], F::from_canonical_u64(complement as u64))?;
            if let Some(t) = self.carries.get(i) {
                out.set_target(*t, F::from_canonical_u64(carry as u64))?;
            }
        }
        Ok(())
    }
    fn serialize(&self, dst: &mut Vec<u8>, _common: &CommonCircuitData<F, D>) -> IoResult<()> {
        for targets in [&self.element, &self.complement, &self.carries] {
            dst.write_target_vec(targets)?;
        }
        Ok(())
    }
    fn deserialize(src: &mut Buffer<'_>, _common: &CommonCircuitData<F, D>) -> IoResult<Self> {
        let mut next = || src.read_target_vec();
        Ok(Self { element: next()?, complement: next()?, carries: next()? })
    }
}
