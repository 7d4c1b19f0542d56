//! Attacks on the addition of points: wires set at will, constraints evaluated.

use ark_bls12_381::Fq;
use ark_ff::{AdditiveGroup, Field as _, PrimeField};
use blst::min_pk::SecretKey;
use evergrove_apps::bls::Point;
use evergrove_apps::bls::limbs::{LIMBS, to_limbs};
use evergrove_plonky2::apps::bls::{Addition, PointTargets};
use evergrove_plonky2::apps::nonnative::{Congruence, Element, Linear, limb_check};
use evergrove_plonky2::assignment::{Assignment, assert_refused};
use evergrove_plonky2::circuit::{Builder, C, D, F, to_plonky};
use plonky2::field::types::Field;
use plonky2::iop::target::Target;
use plonky2::iop::witness::{PartialWitness, WitnessWrite};
use plonky2::plonk::circuit_data::{CircuitConfig, CircuitData};

/// The greatest number of rows that an attack on one congruence breaks: its two rows, and those that check its carries.
const CONGRUENCE: usize = 4;

struct Adder {
    data: CircuitData<F, C, D>,
    operands: [PointTargets; 2],
    addition: Addition,
}

impl Adder {
    fn build() -> Self {
        let mut b = Builder::new(CircuitConfig::standard_recursion_config());
        let operands = [(); 2].map(|()| PointTargets::of_output(&b.add_virtual_targets(2 * LIMBS)));
        let addition = Addition::build(&mut b, &operands[0], &operands[1]);
        addition.sum.assert_canonical(&mut b);
        b.register_public_inputs(&addition.sum.limbs());
        Self { data: b.build(), operands, addition }
    }

    fn run(&self, points: [Point; 2], forced: &[(Target, F)]) -> Assignment<'_> {
        let mut inputs = PartialWitness::new();
        for (targets, point) in self.operands.iter().zip(points) {
            for (t, x) in targets.limbs().into_iter().zip(point.to_elements()) {
                inputs.set_target(t, to_plonky(x)).expect("each target once");
            }
        }
        Assignment::complete(&self.data, forced, inputs)
    }

    /// The wires of a slope and of the chord that follows from it.
    fn chord(&self, slope: Fq, p: Point, q: Point) -> Vec<(Target, F)> {
        let ((x1, y1), (x2, _)) = (p.coordinates().expect("finite"), q.coordinates().expect("finite"));
        let x3 = slope.square() - x1 - x2;
        let y3 = slope * (x1 - x3) - y1;
        let Addition { slope: s, chord, .. } = &self.addition;
        [(s, slope), (&chord.x, x3), (&chord.y, y3)].into_iter().flat_map(|(t, x)| element(t, &x)).collect()
    }

    fn claims_inverse(&self, inverse: bool) -> (Target, F) {
        (self.addition.inverse.target, F::from_bool(inverse))
    }
}

fn element(targets: &Element, x: &Fq) -> Vec<(Target, F)> {
    targets.iter().zip(to_limbs(x)).map(|(t, l)| (*t, F::from_canonical_u64(l))).collect()
}

fn point(seed: u8) -> Point {
    let secret = SecretKey::key_gen(&[seed; 32], b"evergrove tests").expect("32 bytes of entropy");
    Point::of_key(&secret.sk_to_pk())
}

#[test]
fn another_slope_is_refused() {
    let adder = Adder::build();
    let [p, q] = [point(1), point(2)];
    assert_eq!(adder.run([p, q], &[]).violations(), Default::default());
    // A chord through p alone; both congruences of the slope fail.
    assert_refused(&adder.run([p, q], &adder.chord(Fq::from(5_u64), p, q)), 2 * CONGRUENCE);
    // Equal points: the line through p and q is any line through p, but for the tangent's congruence.
    assert_refused(&adder.run([p, p], &adder.chord(Fq::from(5_u64), p, p)), CONGRUENCE);
    // The right slope with another sum.
    let mut forced = element(&adder.addition.chord.y, &Fq::from(7_u64));
    assert_refused(&adder.run([p, q], &forced), CONGRUENCE);
    forced = element(&adder.addition.chord.x, &Fq::from(7_u64));
    assert_refused(&adder.run([p, q], &forced), 2 * CONGRUENCE);
}

#[test]
fn points_are_inverses_only_if_they_are() {
    let adder = Adder::build();
    let [p, q] = [point(1), point(2)];
    let one = element(&adder.addition.slope, &Fq::from(1_u64));
    let zero = |x: &Element| element(x, &Fq::from(0_u64));
    let chord = [zero(&adder.addition.chord.x), zero(&adder.addition.chord.y)].concat();
    // Neither other points nor equal ones sum to the identity.
    for other in [q, p] {
        let forced = [vec![adder.claims_inverse(true)], one.clone(), chord.clone()].concat();
        assert_refused(&adder.run([p, other], &forced), 2 * CONGRUENCE);
    }
    // A slope of 0 would satisfy both congruences.
    let forced = [vec![adder.claims_inverse(true)], zero(&adder.addition.slope), chord].concat();
    assert_refused(&adder.run([p, q], &forced), 1);
    // Inverse points have a sum that is on no chord.
    let forced = [vec![adder.claims_inverse(false)], adder.chord(Fq::from(3_u64), p, p.neg())].concat();
    assert_refused(&adder.run([p, p.neg()], &forced), 2 * CONGRUENCE);
    // With the identity as the other operand, the claim changes nothing.
    let forced = [vec![adder.claims_inverse(true)], one].concat();
    let assignment = adder.run([p, Point::IDENTITY], &forced);
    assert_eq!(assignment.violations(), Default::default());
    assert_eq!(assignment.public_inputs(), p.to_elements().map(to_plonky));
}

#[test]
fn the_identity_is_not_another_point() {
    let adder = Adder::build();
    let p = point(1);
    // The sum with the identity is p, whatever the chord's wires hold.
    let assignment = adder.run([p, Point::IDENTITY], &adder.chord(Fq::from(3_u64), p, point(2)));
    assert_eq!(assignment.violations(), Default::default());
    assert_eq!(assignment.public_inputs(), p.to_elements().map(to_plonky));
    // A sum that is set to the identity's.
    let sum: Vec<_> = adder.addition.sum.limbs().iter().map(|t| (*t, F::ZERO)).collect();
    assert_refused(&adder.run([p, point(2)], &sum), 8);
}

#[test]
fn representations_that_are_not_canonical_are_refused() {
    let adder = Adder::build();
    let [p, q] = [point(1), point(2)];
    let (x, _) = p.add(&q).coordinates().expect("finite");
    // x + p: the congruences hold.
    let mut limbs = to_limbs(&x);
    let mut carry = 1;
    for (limb, m) in limbs.iter_mut().zip(to_limbs(&-Fq::from(1_u64))) {
        let sum = *limb + m + carry;
        (*limb, carry) = (sum % (1 << 28), sum >> 28);
    }
    assert_eq!(carry, 0);
    let chord = &adder.addition.chord.x;
    let forced: Vec<_> = chord.iter().zip(limbs).map(|(t, l)| (*t, F::from_canonical_u64(l))).collect();
    assert_refused(&adder.run([p, q], &forced), 4);
    // A limb of 29 bits, which the next one makes up for.
    let mut limbs = to_limbs(&x).map(F::from_canonical_u64);
    limbs[0] += F::from_canonical_u64(1 << 28);
    limbs[1] -= F::ONE;
    let forced: Vec<_> = chord.iter().copied().zip(limbs).collect();
    assert_refused(&adder.run([p, q], &forced), 4);
}

#[test]
fn congruences_hold_for_products_alone() {
    let mut b = Builder::new(CircuitConfig::standard_recursion_config());
    let [x, y, z]: [Element; 3] = [(); 3].map(|()| b.add_virtual_target_arr());
    for element in [&x, &y, &z] {
        limb_check(&mut b, element);
    }
    let (one, minus_one) = (b.one(), b.neg_one());
    let linear = Linear::of(&mut b, &z);
    Congruence { a: &x, b: &y, linear: &linear, scale: one, on: minus_one }.assert(&mut b);
    let data = b.build::<C>();
    let run = |values: [Fq; 3]| {
        let mut inputs = PartialWitness::new();
        for (t, v) in [&x, &y, &z].into_iter().zip(values).flat_map(|(t, v)| element(t, &v)) {
            inputs.set_target(t, v).expect("each target once");
        }
        Assignment::complete(&data, &[], inputs)
    };
    let two = Fq::from(2_u64);
    let half = Fq::from_bigint(Fq::MODULUS_MINUS_ONE_DIV_TWO).expect("below p");
    let edges =
        [Fq::from(0_u64), Fq::from(1_u64), -Fq::from(1_u64), half, two.pow([28]), two.pow([380]), -two.pow([364])];
    for a in edges {
        for b in edges {
            assert_eq!(run([a, b, a * b]).violations(), Default::default(), "{a} {b}");
            for wrong in [a * b + Fq::from(1_u64), a * b - two.pow([200]), (a * b).double() + Fq::from(1_u64)] {
                if wrong != a * b {
                    assert_refused(&run([a, b, wrong]), CONGRUENCE);
                }
            }
        }
    }
}
