//! Data that depends only on a circuit.

use std::ops::Range;
use std::sync::Arc;

use evergrove_kernels::ntt::columns::{self, Order};
use evergrove_kernels::ntt::{Forward, NttError, Row, ZERO_ROW, groups};
use evergrove_kernels::oracle::Keep;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::goldilocks::lanes::GoldilocksLanes;
use evergrove_primitives::lanes::{Isa, LANES, Portable};
use plonky2::field::types::Field;
use plonky2::fri::FriParams;
use plonky2::plonk::circuit_data::{CircuitData, CommonCircuitData};

use super::gates::Gate;
use super::workspace::{Shape, Shared};
use super::{EXTENSION_PRODUCTS, F, Unsupported, Work};
use crate::circuit::{C, D, from_plonky};

/// Rows below which a circuit is left to plonky2.
const MIN_LOG_SIZE: usize = 5;
/// plonky2's value of a selector at rows of another group's gates.
const UNUSED_SELECTOR: usize = u32::MAX as usize;

/// Everything that is computed once for a circuit.
pub(super) struct Tables {
    pub(super) isa: Isa,
    pub(super) shared: Arc<Shared>,
    /// Challenges of the permutation argument and of the combination of constraints.
    pub(super) challenges: usize,
    /// Routed wires that share a partial product; also the chunks of a quotient polynomial.
    pub(super) chunk: usize,
    /// Chunks of routed wires.
    pub(super) chunks: usize,
    pub(super) routed: usize,
    /// Selectors are the first constants.
    pub(super) selectors: usize,
    pub(super) constants: usize,
    pub(super) gate_constraints: usize,
    pub(super) k_is: Vec<Goldilocks>,
    pub(super) gates: Vec<SelectedGate>,
    /// The points of the trace domain, in bit-reversed order.
    pub(super) subgroup: Vec<Goldilocks>,
    pub(super) quotient: QuotientTables,
    /// Coefficients of constants and sigmas, in groups.
    pub(super) preprocessed: Vec<Row>,
    pub(super) layers: Vec<Layer>,
}

/// A gate with its selector.
pub(super) struct SelectedGate {
    pub(super) gate: Gate,
    pub(super) selector: Selector,
    constraints: usize,
}

/// The cosets on which the quotient is evaluated: the first of the extension.
pub(super) struct QuotientTables {
    /// The points, coset by coset and each in bit-reversed order.
    pub(super) points: Vec<Goldilocks>,
    /// L_0 at the points.
    pub(super) lagrange: Vec<Goldilocks>,
    /// 1 / Z_H on each coset.
    pub(super) vanishing_inverse: Vec<Goldilocks>,
    /// s_b^-i in lane b of row i, s_b being the shift of coset b.
    pub(super) unshift: Vec<Row>,
    /// From remainders modulo X^n - s_b^n to chunks of n coefficients: row c, column b.
    pub(super) matrix: [[Goldilocks; LANES]; LANES],
}

/// A layer of FRI.
pub(super) struct Layer {
    pub(super) arity_bits: usize,
    pub(super) forward: Forward,
    /// s_b^i in lane b mod 8 of row i, one group of eight cosets after the other.
    pub(super) shift: Vec<Row>,
}

impl Tables {
    pub(super) fn new(isa: Isa, keep: Keep, data: &CircuitData<F, C, D>) -> Result<Self, Unsupported> {
        let common = &data.common;
        let config = &common.config;
        let (log_size, rate_bits) = (common.degree_bits(), config.fri_config.rate_bits);
        let chunk = common.quotient_degree_factor;
        check(common)?;
        let challenges = config.num_challenges;
        let chunks = common.num_partial_products + 1;
        let shared = Shared::of(Shape {
            isa,
            log_size: log_size as u32,
            rate_bits: rate_bits as u32,
            cap_height: config.fri_config.cap_height as u32,
            keep,
            routed: config.num_routed_wires,
            columns: [config.num_wires, challenges * chunks, challenges * chunk],
        });
        let polynomials: Vec<Vec<Goldilocks>> = (data.prover_only.constants_sigmas_commitment.polynomials.iter())
            .map(|p| p.coeffs.iter().copied().map(from_plonky).collect())
            .collect();
        let mut preprocessed = vec![ZERO_ROW; groups(polynomials.len()) << log_size];
        columns::gather(&polynomials, Order::Natural, &mut preprocessed).map_err(ntt)?;
        let root = Goldilocks::root_of_unity(log_size as u32).expect("the domain exists");
        let subgroup = bit_reversed_powers(root, log_size);
        let quotient = QuotientTables::new(&subgroup, chunk);
        Ok(Self {
            isa,
            shared: shared.map_err(ntt)?,
            challenges,
            chunk,
            chunks,
            routed: config.num_routed_wires,
            selectors: common.selectors_info.num_selectors(),
            constants: common.num_constants,
            gate_constraints: common.num_gate_constraints,
            k_is: common.k_is.iter().copied().map(from_plonky).collect(),
            gates: select(common)?,
            subgroup,
            quotient,
            preprocessed,
            layers: layers(isa, &common.fri_params).map_err(ntt)?,
        })
    }

    pub(super) fn size(&self) -> usize {
        self.subgroup.len()
    }

    /// The row at a position of bit-reversed order, and vice versa.
    pub(super) fn reverse(&self, i: usize) -> usize {
        i.reverse_bits() >> (usize::BITS - self.size().ilog2())
    }

    /// Columns of all polynomials: constants and sigmas, wires, Z and partial products, quotient chunks.
    fn columns(&self) -> [usize; 4] {
        let [wires, zs, quotient] = self.shared.columns();
        [self.constants + self.routed, wires, zs, quotient]
    }

    /// The trace of wires, from values in the order of the circuit, and a copy of the routed ones.
    pub(super) fn trace_work(&self) -> Work {
        let [_, wires, ..] = self.columns();
        Work::products(self.size(), wires, 0, (self.size() * (wires + 2 * self.routed)) as u64)
    }

    /// Four products a routed wire for numerator and denominator, six a chunk: inversion, quotient, partial product.
    pub(super) fn permutation_work(&self) -> Work {
        let [_, _, zs, _] = self.columns();
        let products = self.size() * self.challenges * (4 * self.routed + 6 * self.chunks);
        Work::products(self.size(), 2 * self.routed, products as u64, (self.size() * zs) as u64)
    }

    /// Evaluation at every point of the cosets, then interpolation of the remainders and the small matrix of chunks. Without
    /// the products of gates that plonky2's code evaluates.
    pub(super) fn constraints_work(&self) -> Work {
        let [preprocessed, wires, zs, quotient] = self.columns();
        let (n, nc, cosets) = (self.size(), self.challenges, self.quotient.vanishing_inverse.len());
        let permutation = nc * (4 * self.routed + 1) + nc * nc * (self.chunks + 1);
        let gates: u64 = (self.gates.iter())
            .map(|g| g.gate.multiplications() + (g.selector.others.len() + nc * (g.constraints + 1)) as u64)
            .sum();
        let points = n * cosets;
        let evaluation = points as u64 * (gates + (permutation + nc) as u64);
        let interpolation = nc as u64 * Work::transform(n, cosets).multiplications;
        let chunks = (nc * points * (1 + self.chunk)) as u64;
        let columns = preprocessed + wires + zs;
        Work::products(points, columns, evaluation + interpolation + chunks, (2 * nc * points + n * quotient) as u64)
    }

    /// Two products an element, and the powers of the two points.
    pub(super) fn openings_work(&self) -> Work {
        let (n, all) = (self.size(), self.columns().iter().sum::<usize>());
        let products = n * (2 * (all + self.challenges)) + 2 * n * EXTENSION_PRODUCTS as usize;
        Work::products(n, all, products as u64, 0)
    }

    /// Two products an element, and two divisions.
    pub(super) fn combination_work(&self) -> Work {
        let (n, all) = (self.size(), self.columns().iter().sum::<usize>());
        let products = n * (2 * (all + self.challenges)) + 3 * n * EXTENSION_PRODUCTS as usize;
        Work::products(n, all, products as u64, 2 * n as u64)
    }

    /// Bytes of all tables, shared ones included.
    pub(super) fn bytes(&self) -> usize {
        let rows = self.preprocessed.len()
            + self.quotient.unshift.len()
            + self.layers.iter().map(|l| l.shift.len()).sum::<usize>();
        let words = self.subgroup.len() + self.quotient.points.len() + self.quotient.lagrange.len();
        rows * size_of::<Row>() + 8 * words + self.shared.bytes()[0]
    }
}

fn ntt(e: NttError) -> Unsupported {
    Unsupported(e.to_string())
}

/// Unsupported features of this prover.
fn check(common: &CommonCircuitData<F, D>) -> Result<(), Unsupported> {
    let config = &common.config;
    let refuse = |what: String| Err(Unsupported(what));
    let max_terms = GoldilocksLanes::<Portable>::MAX_TERMS;
    if config.zero_knowledge || common.fri_params.hiding {
        return refuse("zero knowledge".into());
    }
    if !common.luts.is_empty() || common.num_lookup_polys > 0 {
        return refuse("lookups".into());
    }
    if common.degree_bits() < MIN_LOG_SIZE {
        return refuse(format!("2^{} rows, below 2^{MIN_LOG_SIZE}", common.degree_bits()));
    }
    if !(2..=LANES).contains(&common.quotient_degree_factor) {
        return refuse(format!("a quotient of degree {}", common.quotient_degree_factor));
    }
    if common.quotient_degree_factor.next_power_of_two() > 1 << config.fri_config.rate_bits {
        return refuse(format!("a rate of 2^-{}", config.fri_config.rate_bits));
    }
    if config.num_challenges > LANES {
        return refuse(format!("{} challenges", config.num_challenges));
    }
    let permutation = config.num_challenges * (common.num_partial_products + 2);
    if common.num_gate_constraints.max(permutation) > max_terms {
        return refuse(format!("more than {max_terms} constraints"));
    }
    Ok(())
}

/// How the constants of a row select a gate.
pub(crate) struct Selector {
    /// Which constant selects it.
    pub(crate) constant: usize,
    /// The other values of this constant.
    pub(crate) others: Vec<Goldilocks>,
}

/// The selectors of all gates: plonky2's grouping, whose result is not public.
pub(crate) fn selectors(common: &CommonCircuitData<F, D>) -> Result<Vec<Selector>, Unsupported> {
    let max_degree = common.quotient_degree_factor + 1;
    let degrees: Vec<usize> = common.gates.iter().map(|g| g.0.degree()).collect();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    if degrees.last().copied().unwrap_or(0) + degrees.len() <= max_degree + 1 {
        ranges.push(0..degrees.len());
    } else {
        let mut start = 0;
        while start < degrees.len() {
            let fits = (start..degrees.len()).take_while(|g| g - start + degrees[*g] < max_degree).count();
            if fits == 0 {
                return Err(Unsupported(format!("a gate of degree {}", degrees[start])));
            }
            ranges.push(start..start + fits);
            start += fits;
        }
    }
    let group = |g: usize| ranges.iter().position(|r| r.contains(&g)).expect("ranges cover the gates");
    let indices: Vec<usize> = (0..degrees.len()).map(group).collect();
    let expected = format!("SelectorsInfo {{ selector_indices: {indices:?}, groups: {ranges:?} }}");
    if format!("{:?}", common.selectors_info) != expected {
        return Err(Unsupported("selectors that are grouped otherwise".into()));
    }
    let number = |x: usize| Goldilocks::reduce(x as u64);
    let selectors = indices.into_iter().enumerate().map(|(g, constant)| {
        let mut others: Vec<Goldilocks> = ranges[constant].clone().filter(|i| *i != g).map(number).collect();
        if ranges.len() > 1 {
            others.push(number(UNUSED_SELECTOR));
        }
        Selector { constant, others }
    });
    Ok(selectors.collect())
}

/// The gates with their selectors.
fn select(common: &CommonCircuitData<F, D>) -> Result<Vec<SelectedGate>, Unsupported> {
    let gates = common.gates.iter().zip(selectors(common)?);
    let selected = gates.map(|(gate, selector)| {
        let constraints = gate.0.num_constraints();
        SelectedGate { gate: Gate::of(gate), selector, constraints }
    });
    Ok(selected.collect())
}

/// w^0, w^1, .. in bit-reversed order.
pub(super) fn bit_reversed_powers(root: Goldilocks, log_size: usize) -> Vec<Goldilocks> {
    // Entry 2^k + i is entry i times w^(n / 2^(k + 1)).
    let mut out = vec![Goldilocks::ONE];
    for k in 0..log_size {
        let factor = root.pow(1 << (log_size - 1 - k));
        out.extend_from_within(..);
        let half = out.len() / 2;
        out[half..].iter_mut().for_each(|x| *x *= factor);
    }
    out
}

/// Rows of powers: lane b of row i is shifts\[b\]^i.
fn powers(shifts: &[Goldilocks], n: usize) -> Vec<Row> {
    let mut row = [Goldilocks::ONE; LANES];
    let next = |row: &mut Row| {
        let this = *row;
        for (x, shift) in row.iter_mut().zip(shifts) {
            *x *= *shift;
        }
        this
    };
    (0..n).map(|_| next(&mut row)).collect()
}

fn inverse(x: Goldilocks) -> Goldilocks {
    x.inverse().expect("not zero")
}

/// Shifts of the cosets of `shift` H' for H' of 2^`bits` cosets of the group of 2^`log_size` elements, as in an extension.
fn coset_shifts(shift: Goldilocks, log_size: usize, bits: usize) -> Vec<Goldilocks> {
    let root = Goldilocks::root_of_unity((log_size + bits) as u32).expect("the extension exists");
    bit_reversed_powers(root.pow(1), log_size + bits).into_iter().step_by(1 << log_size).map(|x| shift * x).collect()
}

impl QuotientTables {
    pub(super) fn new(subgroup: &[Goldilocks], chunk: usize) -> Self {
        let (n, log_size) = (subgroup.len(), subgroup.len().ilog2() as usize);
        let bits = chunk.next_power_of_two().ilog2() as usize;
        let shifts = coset_shifts(Goldilocks::GENERATOR, log_size, bits);
        let points: Vec<Goldilocks> = shifts.iter().flat_map(|s| subgroup.iter().map(|x| *s * *x)).collect();
        let vanishing: Vec<Goldilocks> = shifts.iter().map(|s| s.pow(n as u64) - Goldilocks::ONE).collect();
        let size = Goldilocks::reduce(n as u64);
        let denominators: Vec<F> =
            points.iter().map(|x| crate::circuit::to_plonky(size * (*x - Goldilocks::ONE))).collect();
        let inverses = F::batch_multiplicative_inverse(&denominators);
        let lagrange = inverses.into_iter().enumerate().map(|(i, x)| vanishing[i / n] * from_plonky(x)).collect();
        let cosets = 1 << bits;
        // Chunk c is sum_b w^(-c rev b) s^(-n c) r_b / cosets for the remainders r_b.
        let root = inverse(Goldilocks::root_of_unity(bits as u32).expect("a small group"));
        let scale = inverse(Goldilocks::reduce(cosets as u64));
        let unit = inverse(Goldilocks::GENERATOR.pow(n as u64));
        let reverse = |b: usize| if bits == 0 { 0 } else { b.reverse_bits() >> (usize::BITS as usize - bits) };
        let matrix = core::array::from_fn(|c| {
            core::array::from_fn(|b| match c.max(b) < cosets {
                true => scale * unit.pow(c as u64) * root.pow((c * reverse(b)) as u64),
                false => Goldilocks::ZERO,
            })
        });
        let unshift: Vec<Goldilocks> = shifts.iter().copied().map(inverse).collect();
        Self {
            points,
            lagrange,
            vanishing_inverse: vanishing.into_iter().map(inverse).collect(),
            unshift: powers(&unshift, n),
            matrix,
        }
    }
}

/// The layers of FRI.
pub(super) fn layers(isa: Isa, params: &FriParams) -> Result<Vec<Layer>, NttError> {
    let rate_bits = params.config.rate_bits;
    let (mut log_size, mut shift) = (params.degree_bits, Goldilocks::GENERATOR);
    let mut out = Vec::new();
    for &arity_bits in &params.reduction_arity_bits {
        let shifts = coset_shifts(shift, log_size, rate_bits);
        let shift_rows = shifts.chunks(LANES).flat_map(|s| powers(s, 1 << log_size)).collect();
        let forward = Forward::on(isa, log_size as u32, Goldilocks::ONE)?;
        out.push(Layer { arity_bits, forward, shift: shift_rows });
        log_size -= arity_bits;
        shift = shift.pow(1 << arity_bits);
    }
    Ok(out)
}
