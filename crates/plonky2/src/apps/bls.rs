//! Points of BLS12-381 G1 in circuits, and the sum of keys.

use ark_bls12_381::Fq;
use ark_ff::Field as _;
use evergrove_apps::MapReduce;
use evergrove_apps::bls::limbs::{LIMB_BITS, LIMBS, reduce_limbs, to_limbs};
use evergrove_apps::bls::table::{KEY_ELEMENTS, schema};
use evergrove_apps::bls::{BlsKeys, POINT_ELEMENTS, chord, slope};
use plonky2::field::types::{Field, PrimeField64};
use plonky2::hash::hashing::PlonkyPermutation;
use plonky2::iop::generator::{GeneratedValues, SimpleGenerator};
use plonky2::iop::target::{BoolTarget, Target};
use plonky2::iop::witness::{PartitionWitness, Witness, WitnessWrite};
use plonky2::plonk::circuit_data::CommonCircuitData;
use plonky2::plonk::config::AlgebraicHasher;
use plonky2::util::serialization::{Buffer, IoResult, Read, Write};

use crate::apps::nonnative::{Congruence, Element, Linear, add, assert_canonical, limb_check, sub, witness};
use crate::apps::{LeafTargets, Plonky2Circuits};
use crate::circuit::{Builder, D, F, Poseidon, to_plonky};

impl Plonky2Circuits for BlsKeys {
    fn map_circuit(&self, b: &mut Builder, leaf: &LeafTargets) -> Vec<Target> {
        let mut out = open(b, leaf).limbs().to_vec();
        out.push(b.one());
        out
    }

    fn reduce_circuit(&self, b: &mut Builder, left: &[Target], right: &[Target]) -> Vec<Target> {
        let [p, q] = [left, right].map(PointTargets::of_output);
        let sum = Addition::build(b, &p, &q).sum;
        sum.assert_canonical(b);
        let mut out = sum.limbs().to_vec();
        out.push(b.add(left[POINT_ELEMENTS], right[POINT_ELEMENTS]));
        out
    }

    /// Sums between the slots need not be below p: their last is.
    fn fold_circuit(&self, b: &mut Builder, slots: &[LeafTargets]) -> Vec<Target> {
        let points: Vec<PointTargets> = slots.iter().map(|slot| open(b, slot).only_if(b, slot.active)).collect();
        let sum = points.into_iter().reduce(|sum, p| Addition::build(b, &sum, &p).sum);
        let Some(sum) = sum else { return self.identity().into_iter().map(|x| b.constant(to_plonky(x))).collect() };
        sum.assert_canonical(b);
        let mut out = sum.limbs().to_vec();
        out.push(b.add_many(slots.iter().map(|slot| slot.active.target)));
        out
    }
}

/// A point of the curve; (0, 0), limb by limb, is the identity. Limbs are below 2^28.
#[derive(Clone, Copy, Debug)]
pub struct PointTargets {
    /// x.
    pub x: Element,
    /// y.
    pub y: Element,
}

impl PointTargets {
    /// The point of the first elements of an output.
    pub fn of_output(output: &[Target]) -> Self {
        let coordinate = |first: usize| core::array::from_fn(|i| output[first + i]);
        Self { x: coordinate(0), y: coordinate(LIMBS) }
    }

    /// The limbs of x, then of y.
    pub fn limbs(&self) -> [Target; POINT_ELEMENTS] {
        core::array::from_fn(|i| if i < LIMBS { self.x[i] } else { self.y[i - LIMBS] })
    }

    /// Constrains both coordinates to be below p.
    pub fn assert_canonical(&self, b: &mut Builder) {
        assert_canonical(b, &self.x);
        assert_canonical(b, &self.y);
    }

    /// Constrains y^2 = x^3 + 4 where `active`: 19 rows.
    pub fn assert_on_curve(&self, b: &mut Builder, active: BoolTarget) {
        let zero = [b.zero(); LIMBS];
        let (one, minus_one) = (b.one(), b.neg_one());
        let square = witness(b);
        b.add_simple_generator(SquareGenerator { element: self.x.to_vec(), square: square.to_vec() });
        let linear = Linear::of(b, &square);
        Congruence { a: &self.x, b: &self.x, linear: &linear, scale: one, on: minus_one }.assert(b);
        let cube = Linear::products(b, [&square, &self.x, &zero, &zero]).plus(b, 4);
        let minus_active = b.neg(active.target);
        Congruence { a: &self.y, b: &self.y, linear: &cube, scale: minus_active, on: active.target }.assert(b);
    }

    /// The point if `active`, otherwise the identity.
    fn only_if(&self, b: &mut Builder, active: BoolTarget) -> Self {
        let limbs = self.limbs().map(|limb| b.mul(active.target, limb));
        Self::of_output(&limbs)
    }

    /// `[the point is not the identity]`.
    fn is_finite(&self, b: &mut Builder) -> BoolTarget {
        // The curve has no point with y = 0, and limbs that sum to 0 are all 0.
        let (sum, zero) = (b.add_many(self.y), b.zero());
        let identity = b.is_equal(sum, zero);
        b.not(identity)
    }
}

/// An addition with the wires that a prover sets.
pub struct Addition {
    /// Slope of the line through both operands, or of the tangent; 1 if they are inverses of each other.
    pub slope: Element,
    /// The sum if neither operand nor the sum is the identity.
    pub chord: PointTargets,
    /// The operands are inverses of each other.
    pub inverse: BoolTarget,
    /// The sum.
    pub sum: PointTargets,
}

impl Addition {
    /// Adds two points of the curve, complete for equal and inverse points and for the identity.
    ///
    /// If both are finite, the slope m must satisfy m (x2 - x1) = g (y2 - y1) and m (y1 + y2) = g (x1^2 + x1 x2 +
    /// x2^2), where g is 0 if the prover claims inverse points and 1 otherwise. The two differ by the curve's equation,
    /// so every chord satisfies both; the first fixes m if x1 != x2, the second if the points are equal. With g = 0 and
    /// m = 1 they say that the points are inverses, and with g = 1 the first cannot hold for inverse points.
    pub fn build(b: &mut Builder, p: &PointTargets, q: &PointTargets) -> Self {
        let slope = witness(b);
        let chord = PointTargets { x: witness(b), y: witness(b) };
        let inverse = b.add_virtual_bool_target_safe();
        let [p_finite, q_finite] = [p, q].map(|x| x.is_finite(b));
        let both = b.and(p_finite, q_finite);
        let is_inverse = b.and(both, inverse);
        let generic = b.sub(both.target, is_inverse.target);
        let minus_generic = b.neg(generic);
        b.add_simple_generator(AdditionGenerator {
            operands: [p.limbs(), q.limbs()].concat(),
            results: [&slope[..], &chord.limbs()].concat(),
            inverse: vec![inverse.target],
        });
        // The slope is 1: its limbs sum to 1, and the first is 1.
        let others = b.add_many(&slope[1..]);
        let excess = b.add_const(slope[0], -F::ONE);
        for violation in [others, excess] {
            let violation = b.mul(inverse.target, violation);
            b.assert_zero(violation);
        }

        let (dx, dy) = (sub(b, &q.x, &p.x), sub(b, &p.y, &q.y));
        let linear = Linear::of(b, &dy);
        Congruence { a: &slope, b: &dx, linear: &linear, scale: both.target, on: generic }.assert(b);
        let (sx, sy) = (add(b, &p.x, &q.x), add(b, &p.y, &q.y));
        let squares = Linear::products(b, [&p.x, &sx, &q.x, &q.x]);
        Congruence { a: &slope, b: &sy, linear: &squares, scale: both.target, on: minus_generic }.assert(b);
        // m^2 = x1 + x2 + x3 and m (x1 - x3) = y1 + y3.
        let sum = add(b, &sx, &chord.x);
        let linear = Linear::of(b, &sum);
        Congruence { a: &slope, b: &slope, linear: &linear, scale: generic, on: minus_generic }.assert(b);
        let (fall, sum) = (sub(b, &p.x, &chord.x), add(b, &p.y, &chord.y));
        let linear = Linear::of(b, &sum);
        Congruence { a: &slope, b: &fall, linear: &linear, scale: generic, on: minus_generic }.assert(b);

        let [p_identity, q_identity] = [p_finite, q_finite].map(|finite| b.not(finite));
        let (chords, ps, qs) = (chord.limbs(), p.limbs(), q.limbs());
        let sum: [Target; POINT_ELEMENTS] = core::array::from_fn(|i| {
            let x = b.mul(generic, chords[i]);
            let x = b.mul_add(p_identity.target, qs[i], x);
            b.mul_add(q_identity.target, ps[i], x)
        });
        Self { slope, chord, inverse, sum: PointTargets::of_output(&sum) }
    }
}

/// Opens a leaf: its value is the hash of the 14 elements of `leaf.opening`, which are the coordinates of a point of the
/// curve in canonical form. 46 rows.
fn open(b: &mut Builder, leaf: &LeafTargets) -> PointTargets {
    let digest = sponge(b, &leaf.opening);
    for (found, due) in digest.into_iter().zip(leaf.value) {
        let difference = b.sub(found, due);
        let violation = b.mul(leaf.active.target, difference);
        b.assert_zero(violation);
    }
    let limbs: Vec<Target> = leaf.opening.iter().flat_map(|x| split(b, *x)).collect();
    let point = PointTargets::of_output(&limbs);
    point.assert_canonical(b);
    point.assert_on_curve(b, leaf.active);
    point
}

/// The digest of a row of [`KEY_ELEMENTS`] elements.
fn sponge(b: &mut Builder, elements: &[Target]) -> [Target; 4] {
    assert_eq!(elements.len(), KEY_ELEMENTS, "elements of a key");
    type Permutation = <Poseidon as AlgebraicHasher<F>>::AlgebraicPermutation;
    let zero = b.zero();
    let mut state = Permutation::new(core::iter::repeat(zero));
    state.set_elt(b.constant(to_plonky(schema().row_tag())), Permutation::RATE);
    for block in elements.chunks(Permutation::RATE) {
        state.set_from_slice(block, 0);
        state = b.permute::<Poseidon>(state);
    }
    core::array::from_fn(|i| state.squeeze()[i])
}

/// The two limbs of a number below 2^56.
fn split(b: &mut Builder, number: Target) -> [Target; 2] {
    let limbs @ [low, high] = b.add_virtual_target_arr();
    limb_check(b, &limbs);
    b.add_simple_generator(SplitGenerator { number, low, high });
    let sum = b.mul_const_add(F::from_canonical_u64(1 << LIMB_BITS), high, low);
    b.connect(sum, number);
    limbs
}

/// The limbs of a number; of its low bits where it has more than 56.
#[derive(Clone, Debug, Default)]
pub(crate) struct SplitGenerator {
    number: Target,
    low: Target,
    high: Target,
}

impl SimpleGenerator<F, D> for SplitGenerator {
    fn id(&self) -> String {
        "SplitGenerator<BLS12-381>".into()
    }
    fn dependencies(&self) -> Vec<Target> {
        vec![self.number]
    }
    fn run_once(&self, witness: &PartitionWitness<'_, F>, out: &mut GeneratedValues<F>) -> anyhow::Result<()> {
        let number = witness.get_target(self.number).to_canonical_u64();
        let limb = |shift: usize| F::from_canonical_u64(number >> shift & ((1 << LIMB_BITS) - 1));
        out.set_target(self.low, limb(0))?;
        out.set_target(self.high, limb(LIMB_BITS))
    }
    fn serialize(&self, dst: &mut Vec<u8>, _common: &CommonCircuitData<F, D>) -> IoResult<()> {
        [self.number, self.low, self.high].into_iter().try_for_each(|t| dst.write_target(t))
    }
    fn deserialize(src: &mut Buffer<'_>, _common: &CommonCircuitData<F, D>) -> IoResult<Self> {
        Ok(Self { number: src.read_target()?, low: src.read_target()?, high: src.read_target()? })
    }
}

/// The element that some wires represent.
fn element(witness: &PartitionWitness<'_, F>, limbs: &[Target]) -> Fq {
    reduce_limbs(&core::array::from_fn(|i| witness.get_target(limbs[i]).to_canonical_u64()))
}

fn set_element(out: &mut GeneratedValues<F>, limbs: &[Target], x: &Fq) -> anyhow::Result<()> {
    limbs.iter().zip(to_limbs(x)).try_for_each(|(t, l)| out.set_target(*t, F::from_canonical_u64(l)))
}

/// x^2.
#[derive(Clone, Debug, Default)]
pub(crate) struct SquareGenerator {
    element: Vec<Target>,
    square: Vec<Target>,
}

impl SimpleGenerator<F, D> for SquareGenerator {
    fn id(&self) -> String {
        "SquareGenerator<BLS12-381>".into()
    }
    fn dependencies(&self) -> Vec<Target> {
        self.element.clone()
    }
    fn run_once(&self, witness: &PartitionWitness<'_, F>, out: &mut GeneratedValues<F>) -> anyhow::Result<()> {
        set_element(out, &self.square, &element(witness, &self.element).square())
    }
    fn serialize(&self, dst: &mut Vec<u8>, _common: &CommonCircuitData<F, D>) -> IoResult<()> {
        dst.write_target_vec(&self.element)?;
        dst.write_target_vec(&self.square)
    }
    fn deserialize(src: &mut Buffer<'_>, _common: &CommonCircuitData<F, D>) -> IoResult<Self> {
        Ok(Self { element: src.read_target_vec()?, square: src.read_target_vec()? })
    }
}

/// The witnesses of an [`Addition`].
#[derive(Clone, Debug, Default)]
pub(crate) struct AdditionGenerator {
    operands: Vec<Target>,
    /// Slope, x and y.
    results: Vec<Target>,
    inverse: Vec<Target>,
}

impl SimpleGenerator<F, D> for AdditionGenerator {
    fn id(&self) -> String {
        "AdditionGenerator<BLS12-381>".into()
    }
    fn dependencies(&self) -> Vec<Target> {
        self.operands.clone()
    }
    fn run_once(&self, witness: &PartitionWitness<'_, F>, out: &mut GeneratedValues<F>) -> anyhow::Result<()> {
        let zero = Fq::from(0_u64);
        let [x1, y1, x2, y2] = core::array::from_fn(|i| element(witness, &self.operands[i * LIMBS..][..LIMBS]));
        let both = [y1, y2].iter().all(|y| *y != zero);
        let (inverse, values) = match slope((x1, y1), (x2, y2)) {
            Some(slope) if both => {
                let (x3, y3) = chord(slope, (x1, y1), x2);
                (false, [slope, x3, y3])
            }
            None if both => (true, [Fq::from(1_u64), zero, zero]),
            _ => (false, [zero; 3]),
        };
        for (limbs, x) in self.results.chunks(LIMBS).zip(&values) {
            set_element(out, limbs, x)?;
        }
        out.set_target(self.inverse[0], F::from_bool(inverse))
    }
    fn serialize(&self, dst: &mut Vec<u8>, _common: &CommonCircuitData<F, D>) -> IoResult<()> {
        [&self.operands, &self.results, &self.inverse].into_iter().try_for_each(|t| dst.write_target_vec(t))
    }
    fn deserialize(src: &mut Buffer<'_>, _common: &CommonCircuitData<F, D>) -> IoResult<Self> {
        let mut next = || src.read_target_vec();
        Ok(Self { operands: next()?, results: next()?, inverse: next()? })
    }
}
