//! One SumCheck over the rows of all tables: constraints are 0, and ports match the bus.
//!
//! Let n_T be the number of variables of table T's row number, rho the point of the leaves of the bus and E_T the
//! weight of a row. The claim is
//!
//! sum over T, x of E_T(x) (sum over ports of eq(rho from n_T on, place) (numerator(x) + lambda denominator(x)) + sum over i of
//! lambda^(2 + i) constraint_i(x)) = N + lambda (Q - padding),
//!
//! where constraints are numbered through all tables, and padding is the value of the places without an active row, 1
//! each: 1 - sum over T, ports of eq(rho from n_T on, place) activity_T(rho). E_T(x) = eq(rho, x) over the variables
//! within a block, times the sum over active blocks b of eq(rho, b) eq(x, b), times eq(rho, x) over the variables that
//! T does not have. There is one claim at the start and one at the end; tables with fewer rows do not add claims.

use alloc::vec;
use alloc::vec::Vec;

use evergrove_primitives::Goldilocks;

use super::bus::{Leaves, denominator, plain, within_eq};
use super::machine::At;
use super::points::{Coordinates, add, constant, horner, inner, mul, mul_add, sub, sub_mul, sum};
use super::{Machine, Parameters};
use crate::tables::congruence::EQUATIONS;
use crate::tables::{BLOCK, BLOCK_LOG, DEGREE, Port, Row, Shape, TUPLE, Table};

/// The values of all columns at the point.
#[derive(Clone, Debug)]
pub(super) struct Values<E> {
    /// The point.
    pub point: Coordinates<E>,
    /// For each table with rows: committed columns, fixed columns.
    pub tables: Vec<(Table, Vec<E>, Vec<E>)>,
}

impl<E> Values<E> {
    /// The values of a table's columns.
    pub(super) fn of(&self, table: Table, committed: bool) -> &[E] {
        let (_, columns, fixed) = self.tables.iter().find(|(other, ..)| *other == table).expect("a table with rows");
        if committed { columns } else { fixed }
    }
}

/// Checks the SumCheck over rows: the values of all columns at its point.
pub(super) fn verify<M: Machine>(
    m: &mut M,
    parameters: &Parameters<M::Field>,
    leaves: &Leaves<M::Element>,
    alpha: M::Element,
    beta: M::Element,
) -> Values<M::Element> {
    let layout = parameters.layout();
    let rho = Coordinates::new(m, leaves.point.clone());
    let heights: Vec<(Table, Shape)> = layout.heights().collect();

    // The eq weights of the places of each port, and of active rows.
    let place_weights = place_weights(m, parameters, &rho);
    let blocks: Vec<Blocks<M::Element>> = heights.iter().map(|&(_, shape)| Blocks::new(m, &rho, shape)).collect();
    let mut padding = constant(m, 1);
    for (weights, blocks) in place_weights.iter().zip(&blocks) {
        let weight = sum(m, weights);
        let active = mul(m, weight, blocks.activity);
        padding = sub(m, padding, active);
    }

    let lambda = m.challenge();
    let rest = sub(m, leaves.denominator, padding);
    let mut claim = mul_add(m, lambda, rest, leaves.numerator);

    // The rounds.
    let variables = layout.row_variables();
    let mut r = vec![claim; variables];
    for variable in (0..BLOCK_LOG).rev().chain(BLOCK_LOG..variables) {
        let within = variable < BLOCK_LOG;
        let message = m.receive(if within { DEGREE } else { DEGREE + 1 });
        let challenge = m.challenge();
        claim = if within {
            within_eq(m, claim, rho.r[variable], &message, challenge)
        } else {
            plain(m, claim, &message, challenge)
        };
        r[variable] = challenge;
    }
    let point = Coordinates::new(m, r);

    // The values of columns, and their sum.
    let widths: Vec<[usize; 2]> = heights
        .iter()
        .map(|&(table, _)| [parameters.tables().columns(table), parameters.tables().fixed(table)])
        .collect();
    let mut all = m.receive(widths.iter().flatten().sum()).into_iter();
    let tables: Vec<_> = heights
        .iter()
        .zip(&widths)
        .map(|(&(table, _), &[columns, fixed])| {
            (table, all.by_ref().take(columns).collect(), all.by_ref().take(fixed).collect())
        })
        .collect();
    let values = Values { point, tables };

    let bus = Bus { alpha, beta, lambda };
    let mut power = mul(m, lambda, lambda);
    let mut total = constant(m, 0);
    for (i, &(table, shape)) in heights.iter().enumerate() {
        let here = Blocks::new(m, &values.point, shape);
        let (_, columns, fixed) = &values.tables[i];
        let row = Row { columns, fixed, number: here.number, places: &layout.starts(table) };
        let sum = summand(m, parameters, table, &row, here.activity, &place_weights[i], &bus, &mut power);
        // The weight: blocks, and the variables that the table does not have.
        let blocks = inner(m, &blocks[i].table, &here.table);
        let n = shape.variables();
        let missing = rho.eq(m, n, &values.point.r[n..]);
        let weight = mul(m, blocks, missing);
        total = mul_add(m, weight, sum, total);
    }
    m.assert_equal(total, claim);
    values
}

/// The challenges that combine tuples and constraints.
#[derive(Clone, Copy, Debug)]
pub struct Bus<E> {
    /// Denominators begin with alpha.
    pub alpha: E,
    /// The elements of a tuple are combined by powers of beta.
    pub beta: E,
    /// Ports and constraints are combined by powers of lambda.
    pub lambda: E,
}

/// The summand of a row of a table: its ports, weighted by their places, and its constraints times `power` and higher
/// powers of lambda. `power` becomes that of the next table.
#[expect(clippy::too_many_arguments, reason = "what a row is combined by")]
pub fn summand<M: Machine>(
    m: &mut M,
    parameters: &Parameters<M::Field>,
    table: Table,
    row: &Row<'_, M::Element>,
    activity: M::Element,
    places: &[M::Element],
    bus: &Bus<M::Element>,
    power: &mut M::Element,
) -> M::Element {
    let mut at = At { machine: m, activity };
    let (mut constraints, mut ports) = (Vec::new(), Vec::new());
    parameters.tables().constraints(table, &mut at, row, &mut constraints);
    parameters.tables().ports(table, &mut at, row, &mut ports);
    let congruences = parameters.tables().congruences(table, &mut at, row);
    let alpha = mul(m, bus.alpha, activity);
    // There are many similar uses of lookup tables: their sums are taken element by element.
    let mut uses = Uses::default();
    let (mut weights, mut numerators, mut denominators) = (Vec::new(), Vec::new(), Vec::new());
    for (port, &weight) in ports.iter().zip(places) {
        if port.len == TUPLE || matches!(table, Table::KeccakLookup | Table::Range) {
            weights.push(weight);
            numerators.push(port.multiplicity);
            denominators.push(denominator(m, alpha, bus.beta, &port.tuple[..port.len]));
        } else {
            uses.add(m, port, weight);
        }
    }
    let mut numerator = inner(m, &weights, &numerators);
    let mut denominators = inner(m, &weights, &denominators);
    if let Some((of_all, tuples)) = uses.sums(m, bus.beta) {
        // All have the multiplicity -1 and one namespace.
        numerator = sub_mul(m, numerator, of_all, activity);
        let rest = sub(m, alpha, uses.space.expect("a namespace"));
        denominators = mul_add(m, of_all, rest, denominators);
        denominators = sub(m, denominators, tuples);
    }
    let mut sum = mul_add(m, bus.lambda, denominators, numerator);
    for constraint in constraints {
        sum = mul_add(m, *power, constraint, sum);
        *power = mul(m, *power, bus.lambda);
    }
    for congruence in congruences {
        let equations = congruence.at(m, bus.lambda);
        sum = mul_add(m, *power, equations, sum);
        for _ in 0..EQUATIONS {
            *power = mul(m, *power, bus.lambda);
        }
    }
    sum
}

/// Sums over uses, each by the weight of its place.
struct Uses<E> {
    space: Option<E>,
    /// For the weights, then for each element of the tuples after the namespace.
    sums: Vec<Option<E>>,
}

impl<E> Default for Uses<E> {
    fn default() -> Self {
        Self { space: None, sums: Vec::new() }
    }
}

impl<E: Copy> Uses<E> {
    fn add<M: Machine<Element = E>>(&mut self, m: &mut M, port: &Port<E>, weight: E) {
        assert!(self.sums.is_empty() || self.sums.len() == port.len, "uses of one lookup table");
        self.space = Some(port.tuple[0]);
        self.sums.resize(port.len, None);
        for (i, sum) in self.sums.iter_mut().enumerate() {
            *sum = Some(match (i, *sum) {
                (0, None) => weight,
                (0, Some(sum)) => add(m, sum, weight),
                (_, None) => mul(m, port.tuple[i], weight),
                (_, Some(sum)) => mul_add(m, port.tuple[i], weight, sum),
            });
        }
    }
    /// The sum of all weights, and of the tuples without their namespace by the powers of beta.
    fn sums<M: Machine<Element = E>>(&self, m: &mut M, beta: E) -> Option<(E, E)> {
        let sums: Vec<E> = self.sums.iter().copied().collect::<Option<_>>()?;
        let (weights, tuples) = sums.split_first()?;
        let tuples = horner(m, tuples, beta);
        Some((*weights, mul(m, tuples, beta)))
    }
}

/// The eq weights of the places of the ports, for each table with rows.
pub fn place_weights<M: Machine>(
    m: &mut M,
    parameters: &Parameters<M::Field>,
    rho: &Coordinates<M::Element>,
) -> Vec<Vec<M::Element>> {
    let layout = parameters.layout();
    layout
        .heights()
        .map(|(table, shape)| {
            let n = shape.variables();
            let first = layout.places().iter().find(|place| place.table == table).expect("a port").start >> n;
            rho.table(m, n, layout.bus_variables() - n, first, parameters.tables().ports_of(table))
        })
        .collect()
}

/// The blocks of a table at a point.
struct Blocks<E> {
    /// eq(point, block) for each active block.
    table: Vec<E>,
    activity: E,
    /// The value of the polynomial that equals the number of each active row.
    number: E,
}

impl<E: Copy> Blocks<E> {
    fn new<M: Machine<Element = E>>(m: &mut M, point: &Coordinates<E>, shape: Shape) -> Self {
        let table = point.table(m, BLOCK_LOG, shape.block_variables(), 0, shape.blocks());
        let coefficient = |x: usize| Goldilocks::new(x as u64);
        let ones: Vec<_> = table.iter().map(|_| coefficient(1)).collect();
        let activity = m.dot(&ones, &table);
        let blocks: Vec<_> = (0..table.len()).map(|block| coefficient(block * BLOCK)).collect();
        let number = m.dot(&blocks, &table);
        let powers: Vec<_> = (0..BLOCK_LOG).map(|i| coefficient(1 << i)).collect();
        let row = m.dot(&powers, &point.r[..BLOCK_LOG]);
        let number = mul_add(m, row, activity, number);
        Self { table, activity, number }
    }
}

/// The sum of all columns' values times powers of eta, with the weights of [`weight`].
pub(super) fn combined<M: Machine>(
    m: &mut M,
    parameters: &Parameters<M::Field>,
    values: &Values<M::Element>,
    committed: bool,
    eta: M::Element,
) -> M::Element {
    let stack = parameters.stack(committed);
    let powers = squares(m, eta, stack.pieces().iter().map(|piece| piece.width).max().unwrap_or(0) + 1);
    // From the last piece: each is followed by the next one, after the columns that it has room for.
    let mut total = constant(m, 0);
    for piece in stack.pieces().iter().rev() {
        let columns = &values.of(piece.table, committed)[piece.columns.clone()];
        let own = horner(m, columns, eta);
        total = mul_add(m, total, powers[piece.width], own);
    }
    total
}

/// The value at `s` of the weights that make [`combined`] a sum over the stack.
pub(super) fn weight<M: Machine>(
    m: &mut M,
    parameters: &Parameters<M::Field>,
    point: &Coordinates<M::Element>,
    committed: bool,
    eta: M::Element,
    s: &Coordinates<M::Element>,
) -> M::Element {
    let stack = parameters.stack(committed);
    let widest = stack.pieces().iter().map(|piece| piece.width).max().unwrap_or(0);
    let powers = squares(m, eta, widest + 1);
    // eq over the row within its block, which all pieces share.
    let rows = point.eq(m, 0, &s.r[..BLOCK_LOG]);
    // The product over the column's bits of (1 - s) + s eta^(2^i), for each width.
    let mut columns = vec![constant(m, 1)];
    for i in 0..widest {
        let variable = BLOCK_LOG + i;
        let one = constant(m, 1);
        let step = sub(m, powers[i], one);
        let factor = mul_add(m, step, s.r[variable], one);
        let last = columns[i];
        columns.push(if i == 0 { factor } else { mul(m, last, factor) });
    }
    let mut total = constant(m, 0);
    for piece in stack.pieces().iter().rev() {
        let shape = parameters.layout().shape(piece.table).expect("a table with rows");
        let own = point.table(m, BLOCK_LOG, shape.block_variables(), 0, piece.blocks);
        let log = piece.block_log();
        let there = s.table(m, log, s.r.len() - log, piece.start >> log, piece.blocks);
        let blocks = inner(m, &own, &there);
        let shifted = mul(m, total, powers[piece.width]);
        total = mul_add(m, blocks, columns[piece.width], shifted);
    }
    mul(m, rows, total)
}

/// x, x^2, x^4, ...
fn squares<M: Machine>(m: &mut M, x: M::Element, count: usize) -> Vec<M::Element> {
    let mut powers = vec![x];
    while powers.len() < count {
        let last = powers[powers.len() - 1];
        powers.push(mul(m, last, last));
    }
    powers
}
