//! A prover without tricks, for any circuit: tests compare fast provers with it, element by element.
//!
//! Everything is a table of K: no lanes, no threads, no shortcuts. For circuits of a few blocks.

use std::collections::BTreeSet;

use evergrove_kernels::multilinear::sumcheck::reference::interpolate;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Field;
use evergrove_primitives::field::extension::Extension;

use crate::circuit::{Circuit, Witness};
use crate::writer::Writer;
use evergrove_verifier::algebra::Point;
use evergrove_verifier::argument::points::{Coordinates, horner};
use evergrove_verifier::argument::rows::{Bus, place_weights, summand};
use evergrove_verifier::argument::transcript::{Word, leaf};
use evergrove_verifier::argument::{FixedClaim, Parameters, Reader, Statement, tags};
use evergrove_verifier::poseidon::node;
use evergrove_verifier::tables::{BLOCK, BLOCK_LOG, DEGREE, PUBLIC, Row, Shape, Stack, TUPLE, Table, WORD, query};

/// A proof for [`verify`](evergrove_verifier::argument::verify). A proof from an invalid witness is refused.
///
/// # Panics
/// If circuit and parameters do not match.
pub fn prove<K: Extension>(
    circuit: &Circuit<K>,
    parameters: &Parameters<K>,
    statement: &Statement<Word, bool>,
    witness: &Witness,
) -> Vec<Goldilocks> {
    assert_eq!(circuit.layout(), parameters.layout(), "the parameters of the circuit");
    let mut t = Writer::<K>::new(tags::TRANSCRIPT);
    t.observe(&[statement.key, statement.public]);
    t.observe_elements(&[if statement.circuit { K::ONE } else { K::ZERO }]);

    let tables: Vec<Columns<K>> =
        parameters.layout().heights().map(|(table, shape)| Columns::new(circuit, witness, table, shape)).collect();
    let f = stack(&tables, parameters.layout().committed());
    let oracle = commit(parameters, &f);
    t.send_words(oracle.cap(parameters.schedule().rounds[0].cap));
    let whole: Vec<K> = f.iter().map(|&x| x.into()).collect();
    let samples = sample(&mut t, &whole, parameters.schedule().rounds[0].samples);

    let (alpha, beta) = (t.challenge(), t.challenge());
    let rho = bus(&mut t, circuit, parameters, &tables, statement, alpha, beta);
    let lambda = t.challenge();
    let (r, tables) = rows(&mut t, parameters, tables, &rho, Bus { alpha, beta, lambda });
    let values: Vec<K> = tables.iter().flat_map(|table| table.values.iter().map(|column| column[0])).collect();
    t.send(&values);

    let eta = t.challenge();
    open(&mut t, parameters, oracle, whole, samples, &r, eta);
    t.finish()
}

/// Commits to the elements of a stack and opens it, like [`whir`](crate::whir).
pub fn opening<K: Extension>(
    parameters: &Parameters<K>,
    elements: &[Goldilocks],
    point: &[K],
    eta: K,
    writer: &mut Writer<K>,
) {
    let oracle = commit(parameters, elements);
    writer.send_words(oracle.cap(parameters.schedule().rounds[0].cap));
    let f: Vec<K> = elements.iter().map(|&x| x.into()).collect();
    let samples = sample(writer, &f, parameters.schedule().rounds[0].samples);
    open(writer, parameters, oracle, f, samples, point, eta);
}

/// Points outside the domain, whose values are sent.
fn sample<K: Extension>(t: &mut Writer<K>, f: &[K], count: usize) -> Vec<K> {
    (0..count)
        .map(|_| {
            let z = t.challenge();
            t.send(&[f.iter().rev().fold(K::ZERO, |sum, &c| sum * z + c)]);
            z
        })
        .collect()
}

/// Adds `first` times powers of z to the weights.
fn add_powers<K: Extension>(weights: &mut [K], first: K, z: K) {
    let mut weight = first;
    for w in weights {
        *w += weight;
        weight *= z;
    }
}

fn commit<K: Extension>(parameters: &Parameters<K>, elements: &[Goldilocks]) -> Oracle {
    let schedule = parameters.schedule();
    let rows = 1 << (schedule.variables - schedule.rounds[0].fold);
    let mut f = elements.to_vec();
    f.resize(1 << schedule.variables, Goldilocks::ZERO);
    let columns: Vec<Vec<Goldilocks>> = f.chunks_exact(rows).take(schedule.width).map(<[Goldilocks]>::to_vec).collect();
    Oracle::new(&columns, schedule.rounds[0].rate, tags::BASE_ORACLE)
}

/// Whether the values of fixed columns in a proof are those of its circuit, among the two of a key: evaluates each
/// column's polynomial at the point.
pub fn holds<K: Extension>(circuits: [&Circuit<K>; 2], claim: &FixedClaim<K>) -> bool {
    let circuit = circuits[usize::from(!claim.circuit.is_zero())];
    let mut total = K::ZERO;
    for piece in circuit.layout().fixed().pieces().iter().rev() {
        let shape = circuit.layout().shape(piece.table).expect("a table with rows");
        let eq: Vec<K> = (0..shape.rows()).map(|i| eq_index(&claim.point.r[..shape.variables()], i)).collect();
        let value = |c: usize| (0..shape.rows()).map(|i| eq[i] * circuit.fixed(piece.table, i)[c]).sum::<K>();
        let columns: Vec<K> = piece.columns.clone().map(value).collect();
        let own = horner(&mut Reader::new(&[]), &columns, claim.eta);
        total = total * claim.eta.pow(1 << piece.width) + own;
    }
    total == claim.value
}

/// Columns of a table: committed, fixed, the row's number, 1; each of them bound variable by variable.
struct Columns<K> {
    table: Table,
    shape: Shape,
    committed: Vec<Vec<Goldilocks>>,
    /// Committed and fixed columns, 0 after the last block.
    values: Vec<Vec<K>>,
    number: Vec<K>,
    one: Vec<K>,
    places: Vec<Goldilocks>,
    width: usize,
}

impl<K: Extension> Columns<K> {
    fn new(circuit: &Circuit<K>, witness: &Witness, table: Table, shape: Shape) -> Self {
        let (width, fixed) = (circuit.tables().columns(table), circuit.tables().fixed(table));
        let row = |i: usize| witness.row(circuit.tables(), table, i);
        let committed: Vec<Vec<Goldilocks>> =
            (0..width).map(|c| (0..shape.rows()).map(|i| row(i)[c]).collect()).collect();
        let fixed = (0..fixed).map(|c| (0..shape.rows()).map(|i| circuit.fixed(table, i)[c]).collect::<Vec<_>>());
        let whole = |column: &[Goldilocks]| {
            let mut column: Vec<K> = column.iter().map(|&x| x.into()).collect();
            column.resize(1 << shape.variables(), K::ZERO);
            column
        };
        let values = committed.iter().map(|column| whole(column)).chain(fixed.map(|column| whole(&column))).collect();
        let numbers: Vec<Goldilocks> = (0..shape.rows()).map(|i| Goldilocks::new(i as u64)).collect();
        Self {
            table,
            shape,
            values,
            number: whole(&numbers),
            one: whole(&vec![Goldilocks::ONE; shape.rows()]),
            places: circuit.layout().starts(table),
            committed,
            width,
        }
    }
    /// All columns at a row, or on the line through two of them.
    fn line(&self, zero: usize, one: usize, x: K) -> Vec<K> {
        let columns = self.values.iter().chain([&self.number, &self.one]);
        columns.map(|column| column[zero] + x * (column[one] - column[zero])).collect()
    }
    fn row<'a>(&'a self, values: &'a [K]) -> (Row<'a, K>, K) {
        let [columns @ .., number, one] = values else { unreachable!("number and one") };
        let (columns, fixed) = columns.split_at(self.width);
        (Row { columns, fixed, number: *number, places: &self.places }, *one)
    }
    fn bind(&mut self, bit: usize, r: K) {
        for column in self.values.iter_mut().chain([&mut self.number, &mut self.one]) {
            *column = bind(column, bit, r);
        }
    }
}

/// A table with the variable of index bit `bit` bound.
fn bind<K: Extension>(values: &[K], bit: usize, r: K) -> Vec<K> {
    (0..values.len() / 2)
        .map(|i| {
            let zero = spread(i, bit);
            values[zero] + r * (values[zero | 1 << bit] - values[zero])
        })
        .collect()
}

/// i with a bit of 0 inserted.
fn spread(i: usize, bit: usize) -> usize {
    (i >> bit) << (bit + 1) | (i & ((1 << bit) - 1))
}

fn eq<K: Field>(r: K, bit: bool) -> K {
    if bit { r } else { K::ONE - r }
}

/// eq(r, i) over all bits of i.
fn eq_index<K: Field>(r: &[K], i: usize) -> K {
    r.iter().enumerate().map(|(k, &r)| eq(r, i >> k & 1 == 1)).product()
}

/// The committed columns as one table, up to the last piece.
fn stack<K>(tables: &[Columns<K>], stack: &Stack) -> Vec<Goldilocks> {
    let mut f = vec![Goldilocks::ZERO; stack.elements()];
    for piece in stack.pieces() {
        let table = tables.iter().find(|columns| columns.table == piece.table).expect("a table with rows");
        for (c, column) in table.committed[piece.columns.clone()].iter().enumerate() {
            for (block, values) in column.chunks_exact(BLOCK).enumerate() {
                let start = piece.start + (block << piece.block_log()) + c * BLOCK;
                f[start..start + BLOCK].copy_from_slice(values);
            }
        }
    }
    f
}

/// The fraction tree: the point of its leaves.
fn bus<K: Extension>(
    t: &mut Writer<K>,
    circuit: &Circuit<K>,
    parameters: &Parameters<K>,
    tables: &[Columns<K>],
    statement: &Statement<Word, bool>,
    alpha: K,
    beta: K,
) -> Vec<K> {
    let denominator = |tuple: &[K; TUPLE]| alpha - tuple.iter().rev().fold(K::ZERO, |sum, &x| sum * beta + x);
    let variables = parameters.layout().bus_variables();
    let mut layers = vec![(vec![K::ZERO; 1 << variables], vec![K::ONE; 1 << variables])];
    for columns in tables {
        let places: Vec<_> = parameters.layout().places().iter().filter(|place| place.table == columns.table).collect();
        for i in 0..columns.shape.rows() {
            let values = columns.line(i, i, K::ZERO);
            let (row, activity) = columns.row(&values);
            let mut ports = Vec::new();
            circuit.tables().ports(columns.table, &mut Point { activity }, &row, &mut ports);
            for (port, place) in ports.iter().zip(&places) {
                layers[0].0[place.start + i] = port.multiplicity;
                layers[0].1[place.start + i] = denominator(&port.tuple);
            }
        }
    }
    for _ in 1..variables {
        let (p, q) = &layers[layers.len() - 1];
        let (low, high) = (0..p.len() / 2, p.len() / 2);
        let sums = low.clone().map(|x| p[x] * q[x + high] + p[x + high] * q[x]).collect();
        let products = low.map(|x| q[x] * q[x + high]).collect();
        layers.push((sums, products));
    }
    let children = |(p, q): &(Vec<K>, Vec<K>)| [p[0], p[1], q[0], q[1]];
    let root = children(&layers[variables - 1]);
    let mut tuple = [K::ZERO; TUPLE];
    tuple[0] = PUBLIC.into();
    tuple[TUPLE - WORD..].copy_from_slice(&statement.public.map(K::from));
    let inverse = (root[2] * root[3] * denominator(&tuple)).inverse().unwrap_or(K::ZERO);
    t.send(&[&root[..], &[inverse]].concat());
    let mut point = vec![t.challenge()];
    for layer in (0..variables - 1).rev() {
        let (p, q) = &layers[layer];
        let lambda = t.challenge();
        // p0, p1, q0, q1.
        let half = p.len() / 2;
        let mut parts = [&p[..half], &p[half..], &q[..half], &q[half..]].map(<[K]>::to_vec);
        let mut next = point.clone();
        for variable in (0..point.len()).rev() {
            let within: Vec<K> = (0..1 << variable).map(|i| eq_index(&point[..variable], i)).collect();
            let at = |x: K| -> K {
                let value = |i: usize| {
                    let [p0, p1, q0, q1] =
                        parts.each_ref().map(|part| part[i] + x * (part[i | 1 << variable] - part[i]));
                    p0 * q1 + p1 * q0 + lambda * q0 * q1
                };
                within.iter().enumerate().map(|(i, &w)| w * value(i)).sum()
            };
            let message = interpolate(&[0, 1, 2].map(|x| at(K::from_u64(x))));
            t.send(&message[1..]);
            let r = t.challenge();
            parts = parts.map(|part| bind(&part, variable, r));
            next[variable] = r;
        }
        t.send(&parts.map(|part| part[0]));
        point = next;
        point.push(t.challenge());
    }
    point
}

/// The SumCheck over rows: its point, and the columns bound at it.
fn rows<K: Extension>(
    t: &mut Writer<K>,
    parameters: &Parameters<K>,
    mut tables: Vec<Columns<K>>,
    rho: &[K],
    bus: Bus<K>,
) -> (Vec<K>, Vec<Columns<K>>) {
    let mut machine = Reader::<K>::new(&[]);
    let coordinates = Coordinates::new(&mut machine, rho.to_vec());
    let places = place_weights(&mut machine, parameters, &coordinates);
    // The power of lambda that each table begins with.
    let mut power = bus.lambda * bus.lambda;
    let powers: Vec<K> = tables
        .iter()
        .zip(&places)
        .map(|(columns, places)| {
            let first = power;
            let values = columns.line(0, 0, K::ZERO);
            let (row, one) = columns.row(&values);
            summand(&mut machine, parameters, columns.table, &row, one, places, &bus, &mut power);
            first
        })
        .collect();
    let mut weight: Vec<Vec<K>> = tables
        .iter()
        .map(|columns| {
            let n = columns.shape.variables();
            (0..1 << (n - BLOCK_LOG))
                .map(|b| if b < columns.shape.blocks() { eq_index(&rho[BLOCK_LOG..n], b) } else { K::ZERO })
                .collect()
        })
        .collect();
    let variables = parameters.layout().row_variables();
    let mut r = vec![K::ZERO; variables];
    for variable in (0..BLOCK_LOG).rev().chain(BLOCK_LOG..variables) {
        let within = variable < BLOCK_LOG;
        let degree = if within { DEGREE } else { DEGREE + 1 };
        let at = |x: K, machine: &mut Reader<'_, K>| -> K {
            let mut total = K::ZERO;
            for (j, columns) in tables.iter().enumerate() {
                let mut sum = |zero: usize, one: usize| {
                    let values = columns.line(zero, one, x);
                    let (row, activity) = columns.row(&values);
                    summand(machine, parameters, columns.table, &row, activity, &places[j], &bus, &mut { powers[j] })
                };
                if within {
                    for i in 0..columns.one.len() / 2 {
                        let (low, block) = (i & ((1 << variable) - 1), i >> variable);
                        let w = eq_index(&rho[..variable], low) * weight[j][block];
                        if !w.is_zero() {
                            let zero = spread(i, variable);
                            total += w * sum(zero, zero | 1 << variable);
                        }
                    }
                } else if variable < columns.shape.variables() {
                    for i in 0..columns.one.len() / 2 {
                        let w = weight[j][2 * i] + x * (weight[j][2 * i + 1] - weight[j][2 * i]);
                        total += w * sum(2 * i, 2 * i + 1);
                    }
                } else {
                    let both = rho[variable] * x + (K::ONE - rho[variable]) * (K::ONE - x);
                    total += weight[j][0] * both * sum(0, 0);
                }
            }
            total
        };
        let values: Vec<K> = (0..=degree as u64).map(|x| at(K::from_u64(x), &mut machine)).collect();
        let message = interpolate(&values);
        t.send(&message[1..]);
        let challenge = t.challenge();
        r[variable] = challenge;
        for (columns, weight) in tables.iter_mut().zip(&mut weight) {
            if within {
                columns.bind(variable, challenge);
            } else if variable < columns.shape.variables() {
                columns.bind(0, challenge);
                *weight = bind(weight, 0, challenge);
            } else {
                let rho = rho[variable];
                weight[0] *= rho * challenge + (K::ONE - rho) * (K::ONE - challenge);
            }
        }
    }
    (r, tables)
}

/// The weights that make the sum of all columns' values times powers of eta a sum over the stack.
fn weights<K: Extension>(parameters: &Parameters<K>, r: &[K], eta: K) -> Vec<K> {
    let mut weights = vec![K::ZERO; 1 << parameters.schedule().variables];
    let mut power = K::ONE;
    let within: Vec<K> = (0..BLOCK).map(|i| eq_index(&r[..BLOCK_LOG], i)).collect();
    for piece in parameters.layout().committed().pieces() {
        let n = parameters.layout().shape(piece.table).expect("a table with rows").variables();
        for column in 0..1 << piece.width {
            for block in 0..piece.blocks {
                let w = power * eq_index(&r[BLOCK_LOG..n], block);
                let start = piece.start + (block << piece.block_log()) + column * BLOCK;
                for (to, &row) in weights[start..start + BLOCK].iter_mut().zip(&within) {
                    *to = w * row;
                }
            }
            power *= eta;
        }
    }
    weights
}

/// Opens the stack.
fn open<K: Extension>(
    t: &mut Writer<K>,
    parameters: &Parameters<K>,
    mut oracle: Oracle,
    mut f: Vec<K>,
    samples: Vec<K>,
    point: &[K],
    eta: K,
) {
    let schedule = parameters.schedule();
    let mut weights = weights(parameters, point, eta);
    f.resize(1 << schedule.variables, K::ZERO);
    if !samples.is_empty() {
        let joining = t.challenge();
        let mut power = joining;
        for z in samples {
            add_powers(&mut weights, power, z);
            power *= joining;
        }
    }
    let tables = schedule.tables();
    for (i, round) in schedule.rounds.iter().enumerate() {
        for _ in tables[i + 1]..tables[i] {
            sum_round(t, &mut f, &mut weights);
        }
        let asked = oracle;
        let mut samples = Vec::new();
        if let Some(next) = schedule.rounds.get(i + 1) {
            let rows = 1 << (tables[i + 1] - next.fold);
            // The coefficients of elements of K, those of one element beside each other.
            let columns: Vec<Vec<Goldilocks>> = f
                .chunks_exact(rows)
                .flat_map(|column| (0..K::DEGREE).map(move |d| column.iter().map(|x| x.as_ref()[d]).collect()))
                .collect();
            oracle = Oracle::new(&columns, next.rate, tags::EXTENSION_ORACLE);
            t.send_words(oracle.cap(next.cap));
            samples = sample(t, &f, next.samples);
        } else {
            t.send(&f);
            oracle = Oracle { leaves: Vec::new(), levels: Vec::new() };
        }
        t.work(round.grinding);
        let depth = schedule.depth(i);
        let indices = t.indices(round.queries, depth);
        let joining = t.challenge();
        let mut power = joining;
        for z in samples {
            add_powers(&mut weights, power, z);
            power *= joining;
        }
        let mut seen = BTreeSet::new();
        for index in indices {
            let mut at = index as usize;
            t.data(asked.leaves[at].as_flattened());
            for level in 0..depth - round.cap {
                if !seen.insert((level, at / 2)) {
                    break;
                }
                t.data(&asked.levels[level][at ^ 1]);
                at /= 2;
            }
            add_powers(&mut weights, power, query::point(index).into());
            power *= joining;
        }
    }
    for _ in 0..tables[schedule.rounds.len()] {
        sum_round(t, &mut f, &mut weights);
    }
}

/// Binds the highest variable of a sum of products of two tables.
fn sum_round<K: Extension>(t: &mut Writer<K>, f: &mut Vec<K>, weights: &mut Vec<K>) {
    let half = f.len() / 2;
    let at = |x: K| -> K {
        (0..half).map(|i| (f[i] + x * (f[i + half] - f[i])) * (weights[i] + x * (weights[i + half] - weights[i]))).sum()
    };
    let message = interpolate(&[0, 1, 2].map(|x| at(K::from_u64(x))));
    t.send(&message[1..]);
    let r = t.challenge();
    let bit = half.ilog2() as usize;
    *f = bind(f, bit, r);
    *weights = bind(weights, bit, r);
}

/// An oracle: its leaves, and the levels of its tree from below.
struct Oracle {
    leaves: Vec<Vec<Word>>,
    levels: Vec<Vec<Word>>,
}

impl Oracle {
    fn cap(&self, cap: usize) -> &[Word] {
        &self.levels[self.levels.len() - 1 - cap]
    }
    /// Of columns of coefficients.
    fn new(columns: &[Vec<Goldilocks>], rate: usize, tag: Goldilocks) -> Self {
        let depth = columns[0].len().ilog2() as usize + rate;
        let values: Vec<Vec<Goldilocks>> = columns.iter().map(|column| evaluate(column, depth)).collect();
        let leaves: Vec<Vec<Word>> = (0..1 << depth)
            .map(|i| {
                let row: Vec<Goldilocks> = values.iter().map(|column| column[i]).collect();
                row.as_chunks::<WORD>().0.to_vec()
            })
            .collect();
        let mut levels = vec![leaves.iter().map(|words| leaf(tag, words)).collect::<Vec<_>>()];
        while levels[levels.len() - 1].len() > 1 {
            let below = &levels[levels.len() - 1];
            levels.push(below.as_chunks::<2>().0.iter().map(|pair| node(*pair)).collect());
        }
        Self { leaves, levels }
    }
}

/// The values of a polynomial on the domain of 2^depth points, in the order of leaves: c(z) = even(z^2) + z odd(z^2), and leaf i + 2^(depth - 1) is at -z
/// of leaf i.
fn evaluate(coefficients: &[Goldilocks], depth: usize) -> Vec<Goldilocks> {
    if depth == 0 {
        return vec![coefficients.iter().copied().sum()];
    }
    let part = |first: usize| coefficients.iter().skip(first).step_by(2).copied().collect::<Vec<_>>();
    let (even, odd) = (evaluate(&part(0), depth - 1), evaluate(&part(1), depth - 1));
    let mut values = vec![Goldilocks::ZERO; 1 << depth];
    for (i, value) in values.iter_mut().enumerate() {
        // z^2 is the point of leaf i without its lowest bit, one level up.
        let square = i >> 1;
        *value = even[square] + query::point(i as u64) * odd[square];
    }
    values
}
