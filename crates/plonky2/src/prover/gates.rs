//! The constraints of gates at eight points.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::{Canonical, GoldilocksLanes, Loose};
use evergrove_primitives::hash::poseidon::WIDTH;
use evergrove_primitives::lanes::{Body, LANES, Lanes};
use plonky2::field::types::{Field, PrimeField64};
use plonky2::gates::arithmetic_base::ArithmeticGate;
use plonky2::gates::arithmetic_extension::ArithmeticExtensionGate;
use plonky2::gates::base_sum::BaseSumGate;
use plonky2::gates::constant::ConstantGate;
use plonky2::gates::coset_interpolation::CosetInterpolationGate;
use plonky2::gates::exponentiation::ExponentiationGate;
use plonky2::gates::gate::GateRef;
use plonky2::gates::multiplication_extension::MulExtensionGate;
use plonky2::gates::noop::NoopGate;
use plonky2::gates::poseidon::PoseidonGate;
use plonky2::gates::poseidon_mds::PoseidonMdsGate;
use plonky2::gates::public_input::PublicInputGate;
use plonky2::gates::random_access::RandomAccessGate;
use plonky2::gates::reducing::ReducingGate;
use plonky2::gates::reducing_extension::ReducingExtensionGate;
use plonky2::hash::hash_types::HashOut;
use plonky2::plonk::vars::EvaluationVarsBaseBatch;

use super::EXTENSION_PRODUCTS;
use super::poseidon::{DELTA, OUTPUT, SBOXES, SWAP, Wires, mds, rounds};
use crate::circuit::from_plonky;
use crate::circuit::{D, F};

/// Products of a multiplication in the extension.
const EXTENSION: usize = EXTENSION_PRODUCTS as usize;

/// A kind of gate with the parameters of its constraints. The wires are plonky2's, whose numbers are not public: the
/// tests of equal proofs guard them.
pub(super) enum Gate {
    Noop,
    Constant {
        constants: usize,
    },
    PublicInput,
    BinarySum {
        limbs: usize,
    },
    Arithmetic {
        operations: usize,
    },
    ArithmeticExtension {
        operations: usize,
    },
    MulExtension {
        operations: usize,
    },
    Reducing {
        coefficients: usize,
    },
    ReducingExtension {
        coefficients: usize,
    },
    RandomAccess {
        bits: usize,
        copies: usize,
        constants: usize,
    },
    Exponentiation {
        bits: usize,
    },
    CosetInterpolation(Interpolation),
    Poseidon,
    PoseidonMds,
    /// By plonky2's code.
    Other(GateRef<F, D>),
}

/// The parameters of a `CosetInterpolationGate`.
pub(super) struct Interpolation {
    degree: usize,
    points: Vec<Goldilocks>,
    weights: Vec<Goldilocks>,
}

impl Gate {
    pub(super) fn of(gate: &GateRef<F, D>) -> Self {
        let any = gate.0.as_any();
        macro_rules! as_gate {
            ($($kind:ty, $g:ident => $out:expr;)*) => {
                $(if let Some($g) = any.downcast_ref::<$kind>() { return $out; })*
            };
        }
        as_gate! {
            NoopGate, _g => Self::Noop;
            ConstantGate, _g => Self::Constant { constants: gate.0.num_constants() };
            PublicInputGate, _g => Self::PublicInput;
            BaseSumGate<2>, g => Self::BinarySum { limbs: g.num_limbs };
            ArithmeticGate, g => Self::Arithmetic { operations: g.num_ops };
            ArithmeticExtensionGate<D>, g => Self::ArithmeticExtension { operations: g.num_ops };
            MulExtensionGate<D>, g => Self::MulExtension { operations: g.num_ops };
            ReducingGate<D>, g => Self::Reducing { coefficients: g.num_coeffs };
            ReducingExtensionGate<D>, g => Self::ReducingExtension { coefficients: g.num_coeffs };
            RandomAccessGate<F, D>, g =>
                Self::RandomAccess { bits: g.bits, copies: g.num_copies, constants: g.num_extra_constants };
            ExponentiationGate<F, D>, g => Self::Exponentiation { bits: g.num_power_bits };
            CosetInterpolationGate<F, D>, g => Self::CosetInterpolation(Interpolation {
                degree: g.degree,
                points: F::two_adic_subgroup(g.subgroup_bits).into_iter().map(from_plonky).collect(),
                weights: g.barycentric_weights.iter().copied().map(from_plonky).collect(),
            });
            PoseidonGate<F, D>, _g => Self::Poseidon;
            PoseidonMdsGate<F, D>, _g => Self::PoseidonMds;
        }
        Self::Other(gate.clone())
    }

    /// Products of two elements in the constraints at one point; other gates count none.
    pub(super) fn multiplications(&self) -> u64 {
        let products = match self {
            Self::Noop | Self::Constant { .. } | Self::PublicInput | Self::PoseidonMds | Self::Other(_) => 0,
            Self::BinarySum { limbs } => *limbs,
            Self::Arithmetic { operations } => 3 * operations,
            Self::ArithmeticExtension { operations } => operations * (EXTENSION + 4),
            Self::MulExtension { operations } => operations * (EXTENSION + 2),
            Self::Reducing { coefficients } | Self::ReducingExtension { coefficients } => coefficients * EXTENSION,
            Self::RandomAccess { bits, copies, .. } => copies * (bits + (1 << bits) - 1),
            Self::Exponentiation { bits } => 3 * bits,
            Self::CosetInterpolation(gate) => 2 + gate.points.len() * (2 + 3 * EXTENSION),
            // Swap, and four products for each S-box.
            Self::Poseidon => 5 + 4 * SBOXES,
        };
        products as u64
    }
}

/// The places of the constraints of a gate, in plonky2's order.
pub(super) struct Constraints<V> {
    values: Vec<Loose<V>>,
    len: usize,
}

impl<V: Copy> Constraints<V> {
    /// Room for `max` constraints.
    #[inline(always)]
    pub(super) fn new<L: Lanes<V = V>>(f: GoldilocksLanes<L>, max: usize) -> Self {
        Self { values: vec![f.splat(Goldilocks::ZERO).into(); max], len: 0 }
    }

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    #[inline(always)]
    pub(super) fn values(&self) -> &[Loose<V>] {
        &self.values[..self.len]
    }

    #[inline(always)]
    pub(super) fn push(&mut self, x: Loose<V>) {
        self.values[self.len] = x;
        self.len += 1;
    }

    /// a - b.
    #[inline(always)]
    fn equal<L: Lanes<V = V>>(&mut self, f: GoldilocksLanes<L>, a: impl Into<Loose<V>>, b: impl Into<Loose<V>>) {
        self.push(f.sub(a, f.reduce(b)));
    }

    /// a - b in the extension.
    #[inline(always)]
    fn equal_extension<L: Lanes<V = V>>(&mut self, f: GoldilocksLanes<L>, a: Extension<V>, b: Extension<V>) {
        self.equal(f, a[0], b[0]);
        self.equal(f, a[1], b[1]);
    }
}

type Extension<V> = [Loose<V>; 2];

/// The unfiltered constraints of a gate at eight points.
pub(super) struct Evaluate<'a, V> {
    pub(super) gate: &'a Gate,
    /// Constants, except selectors.
    pub(super) constants: &'a [Canonical<V>],
    pub(super) wires: &'a [Canonical<V>],
    pub(super) public_inputs_hash: &'a HashOut<F>,
    pub(super) out: &'a mut Constraints<V>,
}

impl<L: Lanes> Body<L> for Evaluate<'_, L::V> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let Self { gate, constants: c, wires: w, public_inputs_hash, out } = self;
        match gate {
            Gate::Noop => {}
            Gate::Constant { constants } => {
                for i in 0..*constants {
                    out.equal(f, c[i], w[i]);
                }
            }
            Gate::PublicInput => {
                for (w, x) in w.iter().zip(public_inputs_hash.elements) {
                    out.equal(f, *w, f.splat(from_plonky(x)));
                }
            }
            Gate::BinarySum { limbs } => binary_sum(f, *limbs, w, out),
            Gate::Arithmetic { operations } => {
                for w in w.chunks_exact(4).take(*operations) {
                    let product = f.mul(w[0], w[1]);
                    out.equal(f, w[3], combine(f, c, product, w[2]));
                }
            }
            Gate::ArithmeticExtension { operations } => {
                for w in w.chunks_exact(8).take(*operations) {
                    let product = f.mul_extension(pair(w, 0), pair(w, 2));
                    out.equal(f, w[6], combine(f, c, product[0], w[4]));
                    out.equal(f, w[7], combine(f, c, product[1], w[5]));
                }
            }
            Gate::MulExtension { operations } => {
                for w in w.chunks_exact(6).take(*operations) {
                    let product = f.mul_extension(pair(w, 0), pair(w, 2));
                    out.equal(f, w[4], f.mul(product[0], c[0]));
                    out.equal(f, w[5], f.mul(product[1], c[0]));
                }
            }
            Gate::Reducing { coefficients } => reducing(f, *coefficients, 1, w, out),
            Gate::ReducingExtension { coefficients } => reducing(f, *coefficients, 2, w, out),
            Gate::RandomAccess { bits, copies, constants } => {
                random_access(f, [*bits, *copies, *constants], c, w, out);
            }
            Gate::Exponentiation { bits } => exponentiation(f, *bits, w, out),
            Gate::CosetInterpolation(gate) => gate.constraints(f, w, out),
            Gate::Poseidon => lanes.outline(Permutation { wires: w, out }),
            Gate::PoseidonMds => poseidon_mds(f, w, out),
            Gate::Other(gate) => other(f, gate, public_inputs_hash, c, w, out),
        }
    }
}

#[inline(always)]
fn pair<V: Copy>(w: &[Canonical<V>], at: usize) -> Extension<V> {
    [w[at].into(), w[at + 1].into()]
}

#[inline(always)]
fn add_extension<L: Lanes>(f: GoldilocksLanes<L>, a: Extension<L::V>, b: Extension<L::V>) -> Extension<L::V> {
    [f.add(a[0], f.reduce(b[0])), f.add(a[1], f.reduce(b[1]))]
}

/// c\[0\] a + c\[1\] b.
#[inline(always)]
fn combine<L: Lanes>(f: GoldilocksLanes<L>, c: &[Canonical<L::V>], a: Loose<L::V>, b: Canonical<L::V>) -> Loose<L::V> {
    let mut sum = f.product_sum();
    f.accumulate(&mut sum, f.factor(a), f.factor(c[0]));
    f.accumulate(&mut sum, f.factor(b), f.factor(c[1]));
    f.reduce_sum(sum)
}

/// x (x - 1).
#[inline(always)]
fn boolean<L: Lanes>(f: GoldilocksLanes<L>, x: Canonical<L::V>) -> Loose<L::V> {
    f.mul(x, f.sub(x, f.splat(Goldilocks::ONE)))
}

/// The number whose bits are `limbs`, the least significant first.
#[inline(always)]
fn recompose<L: Lanes>(f: GoldilocksLanes<L>, limbs: &[Canonical<L::V>]) -> Loose<L::V> {
    let mut sum = Loose::from(f.splat(Goldilocks::ZERO));
    for limb in limbs.iter().rev() {
        sum = f.add(f.double(f.reduce(sum)), *limb);
    }
    sum
}

#[inline(always)]
fn binary_sum<L: Lanes>(f: GoldilocksLanes<L>, limbs: usize, w: &[Canonical<L::V>], out: &mut Constraints<L::V>) {
    let limbs = &w[1..=limbs];
    out.equal(f, recompose(f, limbs), w[0]);
    for limb in limbs {
        out.push(boolean(f, *limb));
    }
}

/// acc_i = acc_{i-1} alpha + coefficient_i; the last acc is the output. Coefficients are of `degree` wires.
#[inline(always)]
fn reducing<L: Lanes>(
    f: GoldilocksLanes<L>,
    coefficients: usize,
    degree: usize,
    w: &[Canonical<L::V>],
    out: &mut Constraints<L::V>,
) {
    let (output, alpha, mut acc) = (pair(w, 0), pair(w, 2), pair(w, 4));
    let (first, accs) = (6, 6 + degree * coefficients);
    for i in 0..coefficients {
        let next = if i + 1 == coefficients { output } else { pair(w, accs + 2 * i) };
        let mut computed = f.mul_extension(acc, alpha);
        for e in 0..degree {
            computed[e] = f.add(computed[e], w[first + degree * i + e]);
        }
        out.equal_extension(f, computed, next);
        acc = next;
    }
}

#[inline(always)]
fn random_access<L: Lanes>(
    f: GoldilocksLanes<L>,
    [bits, copies, constants]: [usize; 3],
    c: &[Canonical<L::V>],
    w: &[Canonical<L::V>],
    out: &mut Constraints<L::V>,
) {
    let list = 1 << bits;
    let routed = (2 + list) * copies + constants;
    let mut items = vec![Loose::from(w[0]); list];
    for copy in 0..copies {
        let cells = &w[(2 + list) * copy..][..2 + list];
        let index = &w[routed + bits * copy..][..bits];
        for bit in index {
            out.push(boolean(f, *bit));
        }
        out.equal(f, recompose(f, index), cells[0]);
        for (item, cell) in items.iter_mut().zip(&cells[2..]) {
            *item = (*cell).into();
        }
        let mut left = list;
        for bit in index {
            left /= 2;
            for j in 0..left {
                let low = f.reduce(items[2 * j]);
                items[j] = f.add(f.mul(*bit, f.sub(items[2 * j + 1], low)), low);
            }
        }
        out.equal(f, items[0], cells[1]);
    }
    for i in 0..constants {
        out.equal(f, c[i], w[(2 + list) * copies + i]);
    }
}

#[inline(always)]
fn exponentiation<L: Lanes>(f: GoldilocksLanes<L>, bits: usize, w: &[Canonical<L::V>], out: &mut Constraints<L::V>) {
    let one = f.splat(Goldilocks::ONE);
    let (base, power, output, intermediate) = (w[0], &w[1..=bits], w[1 + bits], &w[2 + bits..][..bits]);
    for i in 0..bits {
        let previous = if i == 0 { one.into() } else { f.square(intermediate[i - 1]) };
        let bit = power[bits - 1 - i];
        let factor = f.add(f.mul(bit, f.sub(base, one)), one);
        out.equal(f, f.mul(previous, factor), intermediate[i]);
    }
    out.equal(f, output, intermediate[bits - 1]);
}

#[inline(always)]
fn poseidon_mds<L: Lanes>(f: GoldilocksLanes<L>, w: &[Canonical<L::V>], out: &mut Constraints<L::V>) {
    let mut products = [[Loose::from(w[0]); WIDTH]; 2];
    for (e, product) in products.iter_mut().enumerate() {
        let mut state = *product;
        for (i, x) in state.iter_mut().enumerate() {
            *x = w[2 * i + e].into();
        }
        *product = mds(f, state);
    }
    for i in 0..WIDTH {
        for (e, product) in products.iter().enumerate() {
            out.equal(f, w[2 * (WIDTH + i) + e], product[i]);
        }
    }
}

impl Interpolation {
    #[inline(always)]
    fn constraints<L: Lanes>(&self, f: GoldilocksLanes<L>, w: &[Canonical<L::V>], out: &mut Constraints<L::V>) {
        let (n, degree) = (self.points.len(), self.degree);
        let intermediates = (n - 2) / (degree - 1);
        let point = 1 + 2 * n;
        let (value, eval) = (point + 2, point + 4);
        let shifted = pair(w, eval + 4 * intermediates);
        let shift = f.factor(w[0]);
        let unshifted = [f.mul_by(shifted[0], shift), f.mul_by(shifted[1], shift)];
        out.equal_extension(f, pair(w, point), unshifted);
        let zero = Loose::from(f.splat(Goldilocks::ZERO));
        let one = Loose::from(f.splat(Goldilocks::ONE));
        let mut computed = self.partial(f, 0..degree, w, shifted, [[zero, zero], [one, zero]]);
        for i in 0..intermediates {
            let stored = [pair(w, eval + 2 * i), pair(w, eval + 2 * (intermediates + i))];
            out.equal_extension(f, stored[0], computed[0]);
            out.equal_extension(f, stored[1], computed[1]);
            let start = 1 + (degree - 1) * (i + 1);
            computed = self.partial(f, start..(start + degree - 1).min(n), w, shifted, stored);
        }
        out.equal_extension(f, pair(w, value), computed[0]);
    }

    /// (eval, product) with the terms of some points: eval (x - p) + value weight product, product (x - p).
    #[inline(always)]
    fn partial<L: Lanes>(
        &self,
        f: GoldilocksLanes<L>,
        range: core::ops::Range<usize>,
        w: &[Canonical<L::V>],
        x: Extension<L::V>,
        [mut eval, mut product]: [Extension<L::V>; 2],
    ) -> [Extension<L::V>; 2] {
        for i in range {
            let term = [f.sub(x[0], f.splat(self.points[i])), x[1]];
            let weight = f.factor(f.splat(self.weights[i]));
            let value = [f.mul_by(w[1 + 2 * i], weight), f.mul_by(w[2 + 2 * i], weight)];
            eval = add_extension(f, f.mul_extension(eval, term), f.mul_extension(value, product));
            product = f.mul_extension(product, term);
        }
        [eval, product]
    }
}

/// The constraints of a Poseidon gate.
struct Permutation<'a, V> {
    wires: &'a [Canonical<V>],
    out: &'a mut Constraints<V>,
}

impl<L: Lanes> Body<L> for Permutation<'_, L::V> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let f = GoldilocksLanes::new(lanes);
        let Self { wires: w, out } = self;
        out.push(boolean(f, w[SWAP]));
        let mut state = [Loose::from(w[0]); WIDTH];
        for (x, w) in state.iter_mut().zip(w) {
            *x = (*w).into();
        }
        for i in 0..4 {
            let delta = w[DELTA + i];
            out.equal(f, f.mul(w[SWAP], f.sub(w[i + 4], w[i])), delta);
            state[i] = f.add(w[i], delta);
            state[i + 4] = f.sub(w[i + 4], delta);
        }
        let state = rounds(f, state, Compare { wires: w, out: &mut *out });
        for (i, x) in state.into_iter().enumerate() {
            out.equal(f, x, w[OUTPUT + i]);
        }
    }
}

/// The inputs of S-boxes must equal their wires.
struct Compare<'a, V> {
    wires: &'a [Canonical<V>],
    out: &'a mut Constraints<V>,
}

impl<L: Lanes> Wires<L> for Compare<'_, L::V> {
    #[inline(always)]
    fn input(&mut self, f: GoldilocksLanes<L>, wire: usize, computed: Loose<L::V>) -> Loose<L::V> {
        self.out.push(f.sub(computed, self.wires[wire]));
        self.wires[wire].into()
    }
}

/// A gate by plonky2's code.
#[inline(always)]
fn other<L: Lanes>(
    f: GoldilocksLanes<L>,
    gate: &GateRef<F, D>,
    public_inputs_hash: &HashOut<F>,
    c: &[Canonical<L::V>],
    w: &[Canonical<L::V>],
    out: &mut Constraints<L::V>,
) {
    let mut words = [0; LANES];
    let mut unpack = |columns: &[Canonical<L::V>]| -> Vec<F> {
        let mut all = Vec::with_capacity(columns.len() * LANES);
        for column in columns {
            f.store_words(*column, &mut words);
            all.extend(words.map(F::from_canonical_u64));
        }
        all
    };
    let (constants, wires) = (unpack(c), unpack(w));
    let vars = EvaluationVarsBaseBatch::new(LANES, &constants, &wires, public_inputs_hash);
    for constraint in gate.0.eval_unfiltered_base_batch(vars).as_chunks::<LANES>().0 {
        out.push(f.load_words(&constraint.map(|x| x.to_noncanonical_u64())));
    }
}
