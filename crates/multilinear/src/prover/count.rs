//! The work of the bus and of the SumCheck over rows, from the shapes of tables and their polynomials.

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::argument::rows::Bus;
use evergrove_verifier::tables::{BLOCK, BLOCK_LOG, DEGREE, Layout};

use super::polynomial::{Monomial, NONE, Polynomial, Sum, Symbolic};
use crate::count::{Count, ELEMENT};

/// Products of K for a pair of nodes: six in the two coefficients of a message, two by eq.
const MESSAGE: u64 = 8;
/// Values of a node of the bus in a SumCheck.
const VALUES: u64 = 4;

/// Fractions of all ports, the layers of their sums, and a SumCheck for each layer.
pub(super) fn bus<K: Extension>(layout: &Layout, symbols: &[Symbolic]) -> Count {
    let (degree, places) = (K::DEGREE as u64, 1_u64 << layout.bus_variables());
    let mut count = Count::default();
    for ((_, shape), symbols) in layout.heights().zip(symbols) {
        let rows = (shape.blocks() * BLOCK) as u64;
        for port in 0..symbols.ports() {
            let (numerator, denominator) = symbols.fraction(port, K::ONE, K::ONE);
            count.products += rows * (terms(&numerator, 1) + terms(&denominator, degree));
        }
    }
    let stacks = (layout.committed().elements() + layout.fixed().elements()) as u64;
    // The leaves are written, and read for the first sums: their numerators are in F.
    count.bytes += ELEMENT * (stacks + 2 * (1 + degree) * places);
    // Each layer is written, and read for the next one.
    count += Count::of::<K>(3 * (places - 2), 4 * (places - 2));
    let last = layout.bus_variables() - 1;
    let width = |variables| if variables == last { 1 + degree } else { 2 * degree };
    count + (1..=last).map(|variables| layer::<K>(variables, width(variables))).sum()
}

/// The SumCheck over the 2^`variables` lines between the nodes of a layer, each node of `width` elements of F.
fn layer<K: Extension>(variables: usize, width: u64) -> Count {
    let lines = 1_u64 << variables;
    // The weights, the message and the bound values of each pair, and lambda in the first two passes.
    let products = (1 + MESSAGE + VALUES) * (lines - 1) + 2 * lines;
    // The layer in two passes; then each round reads and writes what it has bound.
    let mut count = Count { rounds: variables as u64, ..Count::of::<K>(products, 2 * VALUES * (lines - 1)) };
    count.bytes += 2 * ELEMENT * width * 2 * lines;
    count
}

/// Products of F in a sum of terms, each with a coefficient of this degree.
fn terms<C>(polynomial: &Polynomial<C>, degree: u64) -> u64 {
    polynomial.keys().map(|monomial| factors(monomial) - 1 + degree).sum()
}

fn factors(monomial: &Monomial) -> u64 {
    monomial.iter().filter(|&&variable| variable != NONE).count() as u64
}

/// The rounds within blocks, and the values of columns. The few rounds over blocks are left out.
pub(super) fn rows<K: Extension>(layout: &Layout, symbols: &[Symbolic]) -> Count {
    let mut count = Count { rounds: layout.row_variables() as u64, ..Count::default() };
    let bus = Bus { alpha: K::ONE, beta: K::ONE, lambda: K::ONE };
    for ((_, shape), symbols) in layout.heights().zip(symbols) {
        let mut power = K::ONE;
        let sum = symbols.sum(&vec![K::ONE; symbols.ports()], &bus, &mut power);
        count += table(&sum, (shape.blocks() * BLOCK) as u64);
    }
    let stacks = [layout.committed(), layout.fixed()];
    count + stacks.map(|stack| Count::chunk_sums::<K>(1, stack.elements())).into_iter().sum()
}

/// The nine rounds within the blocks of a table.
fn table<K: Extension>(sum: &Sum<K>, rows: u64) -> Count {
    let degree = K::DEGREE as u64;
    let forms: u64 = sum.forms.iter().map(|form| form.len() as u64).sum();
    let raw = (sum.powers.len() + sum.factors.len() + sum.program.columns.len()) as u64;
    let width = raw + sum.forms.len() as u64;
    let mut count = Count { products: rows * forms * degree, ..Count::of::<K>(0, rows * sum.forms.len() as u64) };
    count.bytes += ELEMENT * rows * raw;
    for round in 0..BLOCK_LOG {
        let pairs = rows >> (round + 1);
        if round > 0 {
            // The line of each value: columns of F have become elements of K after the first one.
            let (scaled, bound) = if round == 1 { (raw, width - raw) } else { (0, width) };
            count.products += 2 * pairs * (scaled * degree + bound * degree * degree);
            let read = if round == 1 { 4 * pairs * (width - raw) } else { 4 * pairs * width };
            count += Count::of::<K>(0, read + 2 * pairs * width);
            count.bytes += if round == 1 { ELEMENT * 4 * pairs * raw } else { 0 };
        }
        let mut of_a_pair = weighed(sum) + products(sum);
        if round > 0 {
            of_a_pair += 17 * sum.powers.len() as u64;
        } else {
            count.products += pairs * sum.powers.len() as u64 * (15 + 7 * degree);
        }
        count += Count::of::<K>(pairs * of_a_pair, 0);
        count.products += pairs * program(sum);
    }
    count
}

/// Products of K by the weight of a pair of rows.
fn weighed<K>(sum: &Sum<K>) -> u64 {
    let powers = if sum.powers.is_empty() { 0 } else { DEGREE as u64 };
    let results = if sum.results.is_empty() { 0 } else { DEGREE as u64 + 1 };
    powers + 3 + results
}

/// Products of K in those of factors and forms, on a pair of rows.
fn products<K>(sum: &Sum<K>) -> u64 {
    1 + sum.products.iter().map(|product| if product.second.is_some() { 9 } else { 3 }).sum::<u64>()
}

/// Products of F in the eight runs of a program on a pair of rows.
fn program<K: Extension>(sum: &Sum<K>) -> u64 {
    let degree = K::DEGREE as u64;
    let (zero, one) = (Goldilocks::ZERO, Goldilocks::ONE);
    let step = |(q, _): &([Goldilocks; 3], [usize; 3])| {
        let scaled = q.iter().filter(|&&q| q != zero && q != one).count() as u64;
        scaled * degree + u64::from(q[0] != zero) * degree * degree
    };
    let products: u64 = sum.program.steps.iter().map(step).sum();
    let results = sum.results.len() as u64 * degree * degree;
    (DEGREE as u64 + 1) * (products + results)
}
