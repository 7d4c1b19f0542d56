//! The fractions of the bus, added in a binary tree, and the SumChecks from its root to the leaves: in lanes.
//!
//! **Places.** Eight neighbours are a *group*: the first coefficients of the first value of all eight, then the second ones, and so on. The
//! children of node x of a layer are x and x + half, hence neighbours of neighbours, and the highest variable is bound first.
//!
//! **A layer's SumCheck** is over eq(point, x) (p0 q1 + p1 q0 + lambda q0 q1) = eq(point, x) (a q1 + p1 q0) with a = p0 + lambda q0: two products.
//! A pass binds the challenge of the round before and sums the coefficients of the next message.

use evergrove_kernels::multilinear::mle::eq_table_vec;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::FieldLanes;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::goldilocks::lanes::GoldilocksLanes;
use evergrove_primitives::lanes::{Isa, Kernel, LANES, Lanes, dispatch_on};
use rayon::prelude::*;

use super::columns::Columns;
use super::memory::Memory;
use super::polynomial::{Monomial, NONE, Polynomial, Symbolic};
use crate::writer::Writer;
use evergrove_verifier::tables::{BLOCK, Layout};

/// Groups that a task takes.
const TASK: usize = 128;
/// Layers with fewer nodes are summed one by one.
const SMALL: usize = 4 * LANES;

/// The numerators and denominators of all places, by group: one row of numerators, D of denominators.
pub(super) struct Leaves(Vec<Goldilocks>);

impl Leaves {
    pub(super) fn new<K: Extension>(
        isa: Isa,
        layout: &Layout,
        columns: &[Columns<'_>],
        symbols: &[Symbolic],
        alpha: K,
        beta: K,
        memory: &Memory,
    ) -> Self {
        let width = 1 + K::DEGREE;
        // 0 / 1.
        let empty: Vec<[Goldilocks; LANES]> =
            (0..width).map(|i| [if i == 1 { Goldilocks::ONE } else { Goldilocks::ZERO }; LANES]).collect();
        let mut leaves = memory.take(width << layout.bus_variables());
        let groups = groups_mut(&mut leaves);
        let ports: Vec<_> = layout
            .places()
            .iter()
            .map(|place| {
                let at = columns.iter().position(|columns| columns.table == place.table).expect("a table with rows");
                (place.start, &columns[at], symbols[at].fraction(place.port, alpha, beta))
            })
            .collect();
        groups.par_chunks_exact_mut(width * BLOCK / LANES).enumerate().for_each(|(i, groups)| {
            // Ports are in the order of their places.
            let port = ports.partition_point(|(start, ..)| *start <= i * BLOCK).checked_sub(1);
            if let Some((start, columns, (numerator, denominator))) = port.map(|port| &ports[port]) {
                let block = i - start / BLOCK;
                if block < columns.shape.blocks() {
                    dispatch_on(isa, Fractions { numerator, denominator, columns, block, groups });
                    return;
                }
            }
            groups.chunks_exact_mut(width).for_each(|group| group.copy_from_slice(&empty));
        });
        Self(leaves)
    }
}

/// The fractions of a port on a block.
struct Fractions<'a, K> {
    numerator: &'a Polynomial<Goldilocks>,
    denominator: &'a Polynomial<K>,
    columns: &'a Columns<'a>,
    block: usize,
    groups: &'a mut [[Goldilocks; LANES]],
}

/// The columns of a monomial on a block.
fn chunks<'a>(columns: &Columns<'a>, block: usize, monomial: &Monomial) -> Vec<&'a [[Goldilocks; LANES]]> {
    let variables = monomial.iter().filter(|&&variable| variable != NONE);
    variables.map(|&variable| columns.chunk(variable, block).as_chunks().0).collect()
}

impl<K: Extension> Kernel for Fractions<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (f, g) = (K::on(lanes), GoldilocksLanes::new(lanes));
        let Self { numerator, denominator, columns, block, groups } = self;
        let numerator: Vec<_> = numerator.iter().map(|(m, c)| (chunks(columns, block, m), *c)).collect();
        let denominator: Vec<_> = denominator.iter().map(|(m, c)| (chunks(columns, block, m), *c)).collect();
        for (i, group) in groups.chunks_exact_mut(1 + K::DEGREE).enumerate() {
            let (p, q) = group.split_at_mut(1);
            let mut sum = FieldLanes::empty(g);
            for (factors, coefficient) in &numerator {
                let x = FieldLanes::term(g, product(lanes, factors, i).into());
                FieldLanes::accumulate_terms(
                    g,
                    &mut sum,
                    x,
                    FieldLanes::term(g, FieldLanes::splat(g, coefficient).into()),
                );
            }
            FieldLanes::store(g, FieldLanes::finish(g, sum), &mut p[0]);
            let mut sum = f.empty();
            for terms in denominator.chunks(64) {
                for (factors, coefficient) in terms {
                    let x = FieldLanes::term(g, product(lanes, factors, i).into());
                    f.accumulate_base(&mut sum, f.term(f.splat(coefficient).into()), x);
                }
                f.carry(&mut sum);
            }
            f.store_coefficients(f.finish(sum), q.as_flattened_mut(), LANES);
        }
    }
}

#[inline(always)]
fn product<L: Lanes>(lanes: L, factors: &[&[[Goldilocks; LANES]]], i: usize) -> <GoldilocksLanes<L> as FieldLanes>::V {
    let g = GoldilocksLanes::new(lanes);
    let mut product = FieldLanes::load(g, &factors[0][i]);
    for factor in &factors[1..] {
        product = FieldLanes::mul(g, product, FieldLanes::load(g, &factor[i]));
    }
    product
}

/// Computes the tree's layers from its leaves on, each of groups (p, q), and the SumChecks. Returns the point of the
/// leaves. `public` is the denominator of the tuple that nothing uses.
pub(super) fn prove<K: Extension>(isa: Isa, t: &mut Writer<K>, leaves: Leaves, public: K, memory: &Memory) -> Vec<K> {
    let width = 2 * K::DEGREE;
    let variables = (leaves.0.len() / (1 + K::DEGREE)).ilog2() as usize;
    // Layers of whole groups; those above are in `top`.
    let mut layers: Vec<Vec<Goldilocks>> = Vec::new();
    let mut size = 1 << (variables - 1);
    while size >= SMALL {
        let mut next = memory.take(size * width);
        let (from, stride) = match layers.last() {
            Some(layer) => (groups(layer), width),
            None => (groups(&leaves.0), 1 + K::DEGREE),
        };
        let half = size / LANES;
        groups_mut(&mut next).par_chunks_mut(TASK * width).enumerate().for_each(|(task, to)| {
            dispatch_on(isa, Add { from, stride, half, first: task * TASK, to, field: core::marker::PhantomData::<K> });
        });
        layers.push(next);
        size /= 2;
    }
    let mut top = vec![pairs(groups(layers.last().expect("a bus of many places")))];
    while top[top.len() - 1].len() > 2 {
        let below: &Vec<[K; 2]> = &top[top.len() - 1];
        let half = below.len() / 2;
        let add = |x: usize| {
            let ([p0, q0], [p1, q1]) = (below[x], below[x + half]);
            [p0 * q1 + p1 * q0, q0 * q1]
        };
        let next = (0..half).map(add).collect();
        top.push(next);
    }
    let [[p0, q0], [p1, q1]] = [top[top.len() - 1][0], top[top.len() - 1][1]];
    let inverse = (q0 * q1 * public).inverse().unwrap_or(K::ZERO);
    t.send(&[p0, p1, q0, q1, inverse]);
    let mut point = vec![t.challenge()];
    for layer in top.iter().rev().skip(1) {
        let half = layer.len() / 2;
        let lambda = t.challenge();
        let values = (0..half).map(|x| {
            let ([p0, q0], [p1, q1]) = (layer[x], layer[x + half]);
            [p0 + lambda * q0, q1, p1, q0]
        });
        let values: Vec<[K; 4]> = values.collect();
        point = small(t, values, lambda, &point, Vec::new());
    }
    // The last of the whole layers is the first of `top`.
    layers.pop().into_iter().for_each(|layer| memory.give(layer));
    for (layer, stride) in layers.into_iter().rev().map(|layer| (layer, width)).chain([(leaves.0, 1 + K::DEGREE)]) {
        let lambda = t.challenge();
        point = large(isa, t, groups(&layer), stride, lambda, &point, memory);
        memory.give(layer);
    }
    point
}

/// Groups as pairs of elements.
fn pairs<K: Extension>(groups: &[[Goldilocks; LANES]]) -> Vec<[K; 2]> {
    values::<K, 2>(groups)
}

/// Groups as values, N for each place.
fn values<K: Extension, const N: usize>(groups: &[[Goldilocks; LANES]]) -> Vec<[K; N]> {
    let element = |group: &[[Goldilocks; LANES]], i: usize, lane: usize| {
        let coefficients: Vec<Goldilocks> = (0..K::DEGREE).map(|d| group[i * K::DEGREE + d][lane]).collect();
        K::from_coefficients(&coefficients).expect("as many coefficients")
    };
    groups
        .chunks_exact(N * K::DEGREE)
        .flat_map(|group| (0..LANES).map(move |lane| core::array::from_fn(|i| element(group, i, lane))))
        .collect()
}

/// The values of p and q at a group. The leaves' numerators are in F.
#[inline(always)]
fn load<K: Extension, L: Lanes>(
    lanes: L,
    groups: &[[Goldilocks; LANES]],
    stride: usize,
    group: usize,
) -> [<K::On<L> as FieldLanes>::V; 2] {
    let (f, g) = (K::on(lanes), GoldilocksLanes::new(lanes));
    let group = &groups[group * stride..][..stride];
    if stride == 1 + K::DEGREE {
        [f.embed(FieldLanes::load(g, &group[0])), f.load_coefficients(group[1..].as_flattened(), LANES)]
    } else {
        [
            f.load_coefficients(group.as_flattened(), LANES),
            f.load_coefficients(group[K::DEGREE..].as_flattened(), LANES),
        ]
    }
}

/// Sums of fractions: the nodes of a layer from those below.
struct Add<'a, K> {
    from: &'a [[Goldilocks; LANES]],
    stride: usize,
    half: usize,
    first: usize,
    to: &'a mut [[Goldilocks; LANES]],
    field: core::marker::PhantomData<K>,
}

impl<K: Extension> Kernel for Add<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let f = K::on(lanes);
        for (i, to) in self.to.chunks_exact_mut(2 * K::DEGREE).enumerate() {
            let [p0, q0] = load::<K, L>(lanes, self.from, self.stride, self.first + i);
            let [p1, q1] = load::<K, L>(lanes, self.from, self.stride, self.first + i + self.half);
            let mut sum = f.empty();
            f.accumulate(&mut sum, p0.into(), q1.into());
            f.accumulate(&mut sum, p1.into(), q0.into());
            let (p, q) = to.split_at_mut(K::DEGREE);
            f.store_coefficients(f.finish(sum), p.as_flattened_mut(), LANES);
            f.store_coefficients(f.mul(q0, q1), q.as_flattened_mut(), LANES);
        }
    }
}

/// A vector of each value of eight neighbours.
fn groups(elements: &[Goldilocks]) -> &[[Goldilocks; LANES]] {
    elements.as_chunks().0
}
fn groups_mut(elements: &mut [Goldilocks]) -> &mut [[Goldilocks; LANES]] {
    elements.as_chunks_mut().0
}

/// The SumCheck of a layer of whole groups.
fn large<K: Extension>(
    isa: Isa,
    t: &mut Writer<K>,
    layer: &[[Goldilocks; LANES]],
    stride: usize,
    lambda: K,
    point: &[K],
    memory: &Memory,
) -> Vec<K> {
    let width = 4 * K::DEGREE;
    let half = layer.len() / stride / 2;
    let mut bound = Vec::with_capacity(point.len());
    // a, q1, p1, q0 of the nodes, once a variable is bound.
    let mut state: Vec<Goldilocks> = Vec::new();
    let mut count = half;
    while count >= 2 {
        let variable = point.len() - 1 - bound.len();
        let within = eq_table_vec(&point[..variable]).expect("few coordinates");
        let add = |a: [K; 2], b: [K; 2]| [a[0] + b[0], a[1] + b[1]];
        let tasks = within.par_chunks(TASK * LANES).enumerate();
        let from = match bound.len() {
            0 | 1 => Values::Layer { layer, stride, half, lambda },
            _ => Values::Bound(groups(&state)),
        };
        let message = if let Some(&challenge) = bound.last() {
            let mut next = memory.take(count * width * LANES);
            // The two halves of the bound values are the two halves of the next variable's lines.
            let (low, high) = groups_mut(&mut next).split_at_mut(count / 2 * width);
            let parts = low.par_chunks_mut(TASK * width).zip(high.par_chunks_mut(TASK * width));
            let message = tasks
                .zip(parts)
                .map(|((task, within), (low, high))| {
                    let lines = Bound { from, groups: count, challenge, to: [low, high] };
                    dispatch_on(isa, Sum { within, first: task * TASK, lines })
                })
                .reduce(|| [K::ZERO; 2], add);
            memory.give(core::mem::replace(&mut state, next));
            message
        } else {
            tasks
                .map(|(task, within)| {
                    dispatch_on(isa, Sum { within, first: task * TASK, lines: Unbound { from, groups: count } })
                })
                .reduce(|| [K::ZERO; 2], add)
        };
        t.send(&message);
        bound.push(t.challenge());
        count /= 2;
    }
    // One group of lines is left, whose last challenge is not bound yet.
    let challenge = bound[bound.len() - 1];
    let places: Vec<[K; 4]> = values(groups(&state));
    memory.give(state);
    let (low, high) = places.split_at(places.len() / 2);
    let line = |(zero, one): (&[K; 4], &[K; 4])| core::array::from_fn(|i| zero[i] + challenge * (one[i] - zero[i]));
    small(t, low.iter().zip(high).map(line).collect(), lambda, point, bound)
}

/// The places of a, q1, p1, q0 of the nodes.
enum Values<'a, K> {
    /// In a layer, with this many groups in each half.
    Layer { layer: &'a [[Goldilocks; LANES]], stride: usize, half: usize, lambda: K },
    /// One after the other.
    Bound(&'a [[Goldilocks; LANES]]),
}

impl<K> Clone for Values<'_, K>
where
    K: Copy,
{
    fn clone(&self) -> Self {
        *self
    }
}
impl<K: Copy> Copy for Values<'_, K> {}

impl<K: Extension> Values<'_, K> {
    #[inline(always)]
    fn get<L: Lanes>(&self, lanes: L, group: usize) -> [<K::On<L> as FieldLanes>::V; 4] {
        let f = K::on(lanes);
        match self {
            Self::Layer { layer, stride, half, lambda } => {
                let [p0, q0] = load::<K, L>(lanes, layer, *stride, group);
                let [p1, q1] = load::<K, L>(lanes, layer, *stride, group + half);
                [f.add(p0, f.scale(q0.into(), f.factor(lambda))), q1, p1, q0]
            }
            Self::Bound(state) => {
                let group = state[group * 4 * K::DEGREE..][..4 * K::DEGREE].as_flattened();
                let d = K::DEGREE * LANES;
                [
                    f.load_coefficients(group, LANES),
                    f.load_coefficients(&group[d..], LANES),
                    f.load_coefficients(&group[2 * d..], LANES),
                    f.load_coefficients(&group[3 * d..], LANES),
                ]
            }
        }
    }
}

/// Lines of a, q1, p1, q0.
trait Lines<K: Extension> {
    /// The values at 0 and at 1 of groups whose number is `i` in this task and `group` in all.
    fn get<L: Lanes>(&mut self, lanes: L, i: usize, group: usize) -> [[<K::On<L> as FieldLanes>::V; 4]; 2];
}

/// Between the halves of values of this many groups.
struct Unbound<'a, K> {
    from: Values<'a, K>,
    groups: usize,
}

impl<K: Extension> Lines<K> for Unbound<'_, K> {
    #[inline(always)]
    fn get<L: Lanes>(&mut self, lanes: L, _i: usize, group: usize) -> [[<K::On<L> as FieldLanes>::V; 4]; 2] {
        [self.from.get(lanes, group), self.from.get(lanes, group + self.groups / 2)]
    }
}

/// The same, for values that are bound here, and kept.
struct Bound<'a, K> {
    from: Values<'a, K>,
    /// Groups after binding.
    groups: usize,
    challenge: K,
    /// This task's part of either half.
    to: [&'a mut [[Goldilocks; LANES]]; 2],
}

impl<K: Extension> Lines<K> for Bound<'_, K> {
    #[inline(always)]
    fn get<L: Lanes>(&mut self, lanes: L, i: usize, group: usize) -> [[<K::On<L> as FieldLanes>::V; 4]; 2] {
        let f = K::on(lanes);
        let width = 4 * K::DEGREE;
        let challenge = f.factor(&self.challenge);
        let mut lines = [[f.zero(); 4]; 2];
        for (side, line) in lines.iter_mut().enumerate() {
            let group = group + side * self.groups / 2;
            let [zero, one] = [self.from.get(lanes, group), self.from.get(lanes, group + self.groups)];
            let to = self.to[side][i * width..][..width].as_flattened_mut();
            for (j, value) in line.iter_mut().enumerate() {
                *value = f.line(zero[j], one[j], challenge);
                f.store_coefficients(*value, &mut to[j * K::DEGREE * LANES..], LANES);
            }
        }
        lines
    }
}

/// The coefficients c_1, c_2 of a message.
struct Sum<'a, K, S> {
    within: &'a [K],
    first: usize,
    lines: S,
}

impl<K: Extension, S: Lines<K>> Kernel for Sum<'_, K, S> {
    type Output = [K; 2];

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) -> [K; 2] {
        let f = K::on(lanes);
        let mut totals = [f.empty(); 2];
        for (i, weight) in self.within.as_chunks::<LANES>().0.iter().enumerate() {
            let weight = f.term(f.load(weight).into());
            let [zero, one] = self.lines.get(lanes, i, self.first + i);
            let [a0, b0, c0, d0] = zero;
            let [a, b, c, d] = [f.sub(one[0], a0), f.sub(one[1], b0), f.sub(one[2], c0), f.sub(one[3], d0)];
            let [a, b, c, d] = [f.term(a.into()), f.term(b.into()), f.term(c.into()), f.term(d.into())];
            let mut sums = [f.empty(); 2];
            f.accumulate_terms(&mut sums[0], f.term(a0.into()), b);
            f.accumulate_terms(&mut sums[0], a, f.term(b0.into()));
            f.accumulate_terms(&mut sums[0], f.term(c0.into()), d);
            f.accumulate_terms(&mut sums[0], c, f.term(d0.into()));
            f.accumulate_terms(&mut sums[1], a, b);
            f.accumulate_terms(&mut sums[1], c, d);
            let [one, two] = sums;
            f.accumulate_terms(&mut totals[0], f.term(f.finish(one).into()), weight);
            f.accumulate_terms(&mut totals[1], f.term(f.finish(two).into()), weight);
        }
        let [one, two] = totals;
        [f.sum_lanes(f.finish(one)), f.sum_lanes(f.finish(two))]
    }
}

/// The remaining rounds of a SumCheck, one value at a time: the point of the layer below. `bound` are the challenges so
/// far.
fn small<K: Extension>(
    t: &mut Writer<K>,
    mut values: Vec<[K; 4]>,
    lambda: K,
    point: &[K],
    mut bound: Vec<K>,
) -> Vec<K> {
    while values.len() > 1 {
        let within = eq_table_vec(&point[..point.len() - 1 - bound.len()]).expect("few coordinates");
        let (low, high) = values.split_at(values.len() / 2);
        let mut message = [K::ZERO; 2];
        for (([a0, b0, c0, d0], [a1, b1, c1, d1]), &weight) in low.iter().zip(high).zip(&within) {
            let [a, b, c, d] = [*a1 - *a0, *b1 - *b0, *c1 - *c0, *d1 - *d0];
            message[0] += weight * (*a0 * b + a * *b0 + *c0 * d + c * *d0);
            message[1] += weight * (a * b + c * d);
        }
        t.send(&message);
        let r = t.challenge();
        bound.push(r);
        values = low
            .iter()
            .zip(high)
            .map(|(zero, one)| core::array::from_fn(|i| zero[i] + r * (one[i] - zero[i])))
            .collect();
    }
    let [a, q1, p1, q0] = values[0];
    t.send(&[a - lambda * q0, p1, q0, q1]);
    bound.reverse();
    bound.push(t.challenge());
    bound
}
