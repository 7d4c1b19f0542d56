//! The point adder over BLS12-377 in hardware, alone and in a processing element, against the primitives and arkworks.

use std::collections::BTreeMap;

use ark_bls12_377::{Fq, Fr, G1Affine, G1Projective, g1};
use ark_ec::twisted_edwards::TECurveConfig;
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{AdditiveGroup, Field};
use evergrove_lab::msm::{Params, padd_cycles, recode, scalars};
use evergrove_primitives::field::prime::PrimeElement;
use evergrove_primitives::field::prime::reference::{add, mul, sub};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::mont::random;
use super::msm::events;
use super::{IN, Module, OUT, cases, cycles, simulator};

/// Bits of a coordinate.
const BITS: usize = 377;
/// Words of a point in a port.
const WORDS: usize = 48;

/// X, Y, Z and T of a point of the twisted Edwards form.
type Extended = [Fq; 4];

/// A point as a port takes it.
fn port(point: &Extended) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    for (k, coordinate) in point.iter().enumerate() {
        for bit in 0..BITS {
            let set = coordinate.words()[bit / 64] >> (bit % 64) & 1;
            words[(BITS * k + bit) / 32] |= (set as u32) << ((BITS * k + bit) % 32);
        }
    }
    words
}

/// The point of a port.
fn point(words: &[u32]) -> Extended {
    std::array::from_fn(|k| {
        let mut coordinate = [0u64; 6];
        for bit in 0..BITS {
            let at = BITS * k + bit;
            coordinate[bit / 64] |= u64::from(words[at / 32] >> (at % 32) & 1) << (bit % 64);
        }
        Fq::from_words(coordinate)
    })
}

/// The map from y^2 = x^3 + 1 to -x^2 + y^2 = 1 + d x^2 y^2, for points of odd order: the Montgomery form with
/// B = 1 / sqrt(3) and A = -3 B, then the scale of x that makes the first coefficient -1.
struct Edwards {
    b: Fq,
    scale: Fq,
}

impl Edwards {
    fn new() -> Self {
        let b = Fq::from(3).sqrt().expect("3 is a square").inverse().expect("3 is not zero");
        let [plus, minus] = [Fq::from(2), -Fq::from(2)].map(|two| (two - Fq::from(3) * b) / b);
        assert_eq!(-minus / plus, <g1::Config as TECurveConfig>::COEFF_D);
        Self { b, scale: (-plus).sqrt().expect("the negative of the coefficient is a square") }
    }
    /// (x, y); the neutral point is (0, 1).
    fn affine(&self, point: &G1Affine) -> [Fq; 2] {
        let Some((x, y)) = point.xy() else { return [Fq::ZERO, Fq::ONE] };
        let u = self.b * (x + Fq::ONE);
        [self.scale * (x + Fq::ONE) / y, (u - Fq::ONE) / (u + Fq::ONE)]
    }
    /// The point with this Z.
    fn extended(&self, point: &G1Affine, z: Fq) -> Extended {
        let [x, y] = self.affine(point);
        [x * z, y * z, z, x * y * z]
    }
    /// Whether coordinates are those of a point.
    fn is(&self, [x, y, z, t]: &Extended, point: &G1Affine) -> bool {
        let [u, v] = self.affine(point);
        *z != Fq::ZERO && *x == u * z && *y == v * z && *x * y == *t * z
    }
}

/// The sum by the formula of `rtl/padd_377.sv`, with the textbooks' arithmetic.
fn sum(p: &Extended, q: &Extended, negative: bool) -> Extended {
    let d2 = add(<g1::Config as TECurveConfig>::COEFF_D, <g1::Config as TECurveConfig>::COEFF_D);
    let negated = |x| if negative { sub(Fq::ZERO, x) } else { x };
    let ([x1, y1, z1, t1], [x2, y2, z2, t2]) = (*p, [negated(q[0]), q[1], q[2], negated(q[3])]);
    let (a, b) = (mul(sub(y1, x1), sub(y2, x2)), mul(add(y1, x1), add(y2, x2)));
    let (c, d) = (mul(mul(t1, d2), t2), mul(add(z1, z1), z2));
    let (e, f, g, h) = (sub(b, a), sub(d, c), add(d, c), add(b, a));
    [mul(e, f), mul(g, h), mul(f, g), mul(e, h)]
}

/// The sum of two points by arkworks.
fn ark(p: &G1Affine, q: &G1Affine, negative: bool) -> G1Affine {
    (*p + if negative { -*q } else { *q }).into()
}

/// Points of the group without a regular order.
fn points(count: usize, rng: &mut ChaCha8Rng) -> Vec<G1Affine> {
    let mut sums = vec![G1Affine::generator() * random::<4, Fr>(rng)];
    for i in 1..count {
        let other = sums[rng.gen_range(0..i)];
        sums.push(sums[i - 1] + other + G1Affine::generator());
    }
    G1Projective::normalize_batch(&sums)
}

/// Operands of the adder.
struct Case {
    points: [G1Affine; 2],
    operands: [Extended; 2],
    negative: bool,
}

/// All pairs of neutral, equal, opposite and other points with both signs, then random ones.
fn operands(edwards: &Edwards, rng: &mut ChaCha8Rng) -> Vec<Case> {
    let base = points(2, rng);
    let double: G1Affine = (base[0] + base[0]).into();
    let edges = [G1Affine::identity(), G1Affine::generator(), base[0], -base[0], double, -double, base[1]];
    let mut pairs: Vec<([G1Affine; 2], bool)> = Vec::new();
    for p in edges {
        pairs.extend(edges.iter().flat_map(|q| [false, true].map(|negative| ([p, *q], negative))));
    }
    let random_points = points(cases(), rng);
    for p in &random_points {
        pairs.push(([*p, random_points[rng.gen_range(0..random_points.len())]], rng.r#gen()));
    }
    pairs
        .into_iter()
        .enumerate()
        .map(|(i, (points, negative))| {
            // The first operand is a sum, whose Z is any number. A point that comes from memory often has Z = 1.
            let zs = [random(rng), if i % 2 == 0 { Fq::ONE } else { random(rng) }];
            Case { operands: [0, 1].map(|k| edwards.extended(&points[k], zs[k])), points, negative }
        })
        .collect()
}

#[test]
fn sums_of_points() {
    let edwards = Edwards::new();
    let mut rng = ChaCha8Rng::seed_from_u64(27);
    let all = operands(&edwards, &mut rng);
    let inputs: Vec<[[u32; WORDS]; 2]> = all.iter().map(|case| case.operands.each_ref().map(port)).collect();
    let Some(runtime) = simulator() else { return };
    let ports = [
        ("clk", 1, IN),
        ("rst", 1, IN),
        ("in_valid", 1, IN),
        ("in_tag", 11, IN),
        ("in_negative", 1, IN),
        ("in_sum", 4 * BITS, IN),
        ("in_point", 4 * BITS, IN),
        ("out_valid", 1, OUT),
        ("out_tag", 11, OUT),
        ("out_sum", 4 * BITS, OUT),
    ];
    let mut module = Module::new(&runtime, "padd_377", &ports);
    let [latency, interval] = cycles("padd_377");
    assert_eq!(interval, 1);
    module.set("in_valid", 0);
    module.set("rst", 1);
    module.settle();
    module.edge();
    module.set("rst", 0);
    // The case of each cycle. The first operands have gaps between them; random ones come in each cycle.
    let mut entered: Vec<Option<usize>> = Vec::new();
    for i in 0..all.len() {
        if i < 98 {
            entered.extend(std::iter::repeat_n(None, rng.gen_range(0..3)));
        }
        entered.push(Some(i));
    }
    for cycle in 0..entered.len() + latency {
        let case = entered.get(cycle).copied().flatten();
        module.set("in_valid", case.is_some().into());
        if let Some(i) = case {
            module.short("in_tag", (i % 2048) as u16);
            module.set("in_negative", all[i].negative.into());
            module.wide("in_sum", &inputs[i][0]);
            module.wide("in_point", &inputs[i][1]);
        }
        module.settle();
        let leaves = cycle.checked_sub(latency).and_then(|c| entered[c]);
        assert_eq!(module.get("out_valid") == 1, leaves.is_some(), "cycle {cycle}");
        if let Some(i) = leaves {
            let Case { points: [p, q], operands: [a, b], negative } = &all[i];
            let found = point(&module.get_wide("out_sum"));
            assert_eq!(module.get("out_tag"), i as u64 % 2048);
            assert_eq!(found, sum(a, b, *negative), "case {i}");
            assert!(edwards.is(&found, &ark(p, q, *negative)), "case {i}: {p} and {q}");
        }
        module.edge();
    }
}

/// Bits of the element's window.
const WINDOW: u32 = 12;

/// The sum of each bucket by arkworks.
fn buckets(points: &[G1Affine], digits: &[i32]) -> Vec<G1Affine> {
    let mut members: BTreeMap<u32, Vec<G1Affine>> = BTreeMap::new();
    for (point, digit) in points.iter().zip(digits) {
        members.entry(digit.unsigned_abs()).or_default().push(if *digit < 0 { -*point } else { *point });
    }
    let sum = |of: &Vec<G1Affine>| of.iter().sum::<G1Projective>().into();
    (1..=1 << (WINDOW - 1)).map(|bucket| members.get(&bucket).map_or_else(G1Affine::identity, sum)).collect()
}

#[test]
fn a_processing_element_with_its_adder_sums_points() {
    let edwards = Edwards::new();
    let mut rng = ChaCha8Rng::seed_from_u64(28);
    let params = Params {
        windows: vec![WINDOW; 2],
        scalar_bits: 2 * WINDOW - 1,
        parallel_windows: 1,
        chiplets: 1,
        log_points: cases().ilog2().min(16),
        padd_latency: padd_cycles(),
        ..Params::default()
    };
    let (entries, additions) = events(&params);
    let mut recoded = Vec::new();
    let digits: Vec<i32> = scalars(&params)
        .iter()
        .map(|scalar| {
            recode(scalar, &params.windows, &mut recoded);
            recoded[0]
        })
        .collect();
    let points = points(digits.len(), &mut rng);
    let inputs: Vec<[u32; WORDS]> = points.iter().map(|p| port(&edwards.extended(p, Fq::ONE))).collect();
    let Some(runtime) = simulator() else { return };
    let ports = [
        ("clk", 1, IN),
        ("rst", 1, IN),
        ("places", 8, IN),
        ("in_valid", 1, IN),
        ("in_ready", 1, OUT),
        ("in_negative", 1, IN),
        ("in_magnitude", 12, IN),
        ("in_point", 4 * BITS, IN),
        ("issue_valid", 1, OUT),
        ("issue_bucket", 11, OUT),
        ("busy", 1, OUT),
        ("read_bucket", 11, IN),
        ("read_sum", 4 * BITS, OUT),
    ];
    let mut module = Module::new(&runtime, "msm_pe_377", &ports);
    module.set("places", params.conflict_queue as u8);
    module.set("in_valid", 0);
    module.set("rst", 1);
    module.settle();
    module.edge();
    module.set("rst", 0);
    let (mut entries, mut additions) = (entries.into_iter().enumerate().peekable(), additions.into_iter().peekable());
    let mut cycle = 0;
    loop {
        let offered = entries.peek().map(|(index, _)| *index);
        module.set("in_valid", offered.is_some().into());
        if let Some(index) = offered {
            module.set("in_negative", (digits[index] < 0).into());
            module.short("in_magnitude", digits[index].unsigned_abs() as u16);
            module.wide("in_point", &inputs[index]);
        }
        module.settle();
        let taken = entries.next_if(|(_, start)| *start == cycle).is_some();
        assert!(offered.is_none() || (module.get("in_ready") == 1) == taken, "cycle {cycle}");
        let issued = (module.get("issue_valid") == 1).then(|| module.get("issue_bucket"));
        assert_eq!(issued, additions.next_if(|(start, _)| *start == cycle).map(|(_, bucket)| bucket), "cycle {cycle}");
        if issued.is_none() && entries.peek().is_none() && module.get("busy") == 0 {
            break;
        }
        module.edge();
        cycle += 1;
    }
    assert!(additions.next().is_none());
    for (bucket, expected) in buckets(&points, &digits).iter().enumerate() {
        module.short("read_bucket", bucket as u16);
        module.settle();
        module.edge();
        module.settle();
        assert!(edwards.is(&point(&module.get_wide("read_sum")), expected), "bucket {bucket}");
    }
}
