//! Gates from rows of tables.

use std::collections::HashMap;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::tables::{BYTES, Port, RANGE, Row, SET, TUPLE, Table, Tables, WIRE, WORD, read, tuple};

use super::poly::{Poly, Symbols};
use super::{Formula, Gate};

/// The namespace of tuples that mark inputs of a circuit: that of its first [`Offers`].
///
/// [`Offers`]: ../../../evergrove_multilinear/circuit/wires/struct.Offers.html
pub const INPUTS: u64 = (1 << 8) + 1;
/// The namespace of tuples that mark outputs: that of its second one.
pub const OUTPUTS: u64 = (1 << 8) + 2;
/// The namespace of the circuit's own tuples.
const OFFERS: u64 = 1 << 8;

/// A row of a circuit.
#[derive(Clone, Copy, Debug)]
pub struct Fixed<'a> {
    /// The table.
    pub table: Table,
    /// Its number.
    pub number: usize,
    /// Its fixed columns.
    pub columns: &'a [Goldilocks],
    /// Those whose value is any one: they are inputs.
    pub free: &'a [usize],
}

/// A row as polynomials in its committed columns.
#[derive(Clone, Debug)]
pub struct Symbolic {
    /// Committed columns: variables.
    pub columns: Vec<Poly>,
    /// Each is 0 on a valid row.
    pub equations: Vec<Poly>,
    /// What it puts on the bus.
    pub ports: Vec<Port<Poly>>,
}

/// Evaluates the constraints and ports of a row. Variables are appended to those of the gate.
pub fn symbolic<K: Extension>(
    gate: &mut Gate,
    prefix: &str,
    tables: &Tables<K>,
    row: Fixed<'_>,
    places: &[Goldilocks],
) -> Symbolic {
    let columns: Vec<Poly> = (0..tables.columns(row.table)).map(|i| gate.variable(format!("{prefix}{i}"))).collect();
    let mut f = Symbols::default();
    let values: Vec<usize> = columns.iter().map(|column| f.value(column.clone())).collect();
    let mut fixed: Vec<usize> = row.columns.iter().map(|&x| f.value(Poly::constant(x))).collect();
    for &i in row.free {
        let free = gate.variable(format!("{prefix}fixed{i}"));
        gate.inputs.push(free.clone());
        fixed[i] = f.value(free);
    }
    let number = f.value(Poly::number(row.number as u64));
    let at = Row { columns: &values, fixed: &fixed, number, places };
    let (mut equations, mut ports) = (Vec::new(), Vec::new());
    tables.equations(row.table, &mut f, &at, &mut equations);
    tables.ports(row.table, &mut f, &at, &mut ports);
    let ports = ports.into_iter().map(|port| Port {
        multiplicity: f.poly(port.multiplicity),
        tuple: port.tuple.map(|value| f.poly(value)),
        len: port.len,
    });
    Symbolic { columns, ports: ports.collect(), equations: equations.into_iter().map(|value| f.poly(value)).collect() }
}

/// Adds constraints of a row that are not trivial to a gate.
pub fn constrain(gate: &mut Gate, name: &str, equations: &[Poly]) {
    for (i, equation) in equations.iter().enumerate() {
        match equation.as_constant() {
            Some(Goldilocks::ZERO) => {}
            Some(x) => panic!("constraint {i} of {name} is {x}"),
            None => gate.constraints.push((format!("{name} {i}"), Formula::Zero(equation.clone()))),
        }
    }
}

/// A gate of one row with these fixed columns: it receives the tuples that the row uses, and sends the others. Uses of
/// numbers below 2^16 are constraints.
pub fn of_row<K: Extension>(name: &str, about: &str, tables: &Tables<K>, row: Fixed<'_>) -> (Gate, Symbolic) {
    let mut gate = Gate::new(name, about);
    // A wire's number is the place of its definition: any distinct numbers do.
    let places: Vec<Goldilocks> =
        (0..tables.ports_of(row.table)).map(|port| Goldilocks::new((port as u64 + 1) << 32)).collect();
    let symbolic = symbolic(&mut gate, "x", tables, row, &places);
    constrain(&mut gate, row.table.name(), &symbolic.equations);
    for (i, port) in symbolic.ports.iter().enumerate() {
        let multiplicity = port.multiplicity.as_constant();
        let space = port.tuple[0].as_constant();
        match multiplicity {
            Some(Goldilocks::ZERO) => {}
            Some(x) if x == -Goldilocks::ONE && space == Some(RANGE) => {
                let range = gate.below(&format!("port{i}"), &port.tuple[1], 16);
                gate.constraints.push((format!("range {i}"), range));
            }
            Some(x) if x == -Goldilocks::ONE => gate.inputs.extend(variable(&port.tuple)),
            _ => {
                gate.outputs.extend(variable(&port.tuple));
                gate.outputs.extend(variable(std::slice::from_ref(&port.multiplicity)));
            }
        }
    }
    (gate, symbolic)
}

/// Those that are not constants.
fn variable(polys: &[Poly]) -> impl Iterator<Item = Poly> {
    polys.iter().filter(|poly| poly.as_constant().is_none()).cloned()
}

/// A tuple that a row offers, or demands where `count` is 1.
struct Listed {
    name: String,
    space: Goldilocks,
    count: Poly,
    tuple: [Poly; TUPLE - 1],
}

/// The words that a circuit receives and sends, and the bytes that it reads, each in the order of its rows.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Marked as inputs.
    pub received: Vec<[Poly; WORD]>,
    /// Marked as outputs.
    pub sent: Vec<[Poly; WORD]>,
    /// Bytes.
    pub read: Vec<Poly>,
}

/// The circuit's tuples.
#[derive(Default)]
struct Bus {
    read: Vec<Poly>,
    offered: Vec<Listed>,
    demanded: Vec<Listed>,
}

/// A gate of the rows of a circuit, joined by its wires. Tuples in the namespaces [`INPUTS`] and [`OUTPUTS`] mark what
/// it receives and sends. Rows of Poseidon are left out: their words are inputs where they are free.
///
/// Bytes that are read are inputs, because the addresses are determined where the gate is.
pub fn of_circuit<'a, K: Extension>(
    name: &str,
    about: &str,
    tables: &Tables<K>,
    rows: impl Iterator<Item = Fixed<'a>>,
    places: impl Fn(Table) -> Vec<Goldilocks>,
) -> (Gate, Marks) {
    let mut gate = Gate::new(name, about);
    let (mut definitions, mut uses, mut bus) = (HashMap::new(), Vec::new(), Bus::default());
    let mut constraints = Vec::new();
    for row in rows {
        let prefix = format!("{}{}.", row.table.name(), row.number);
        let Symbolic { columns, equations, ports } = symbolic(&mut gate, &prefix, tables, row, &places(row.table));
        if !Tables::<K>::permutes(row.table) {
            constraints.extend(equations.into_iter().enumerate().map(|(i, x)| (format!("{prefix}{i}"), x)));
        }
        for Port { multiplicity, tuple, .. } in ports {
            let [space, key, rest @ ..] = tuple;
            let word: [Poly; WORD] = std::array::from_fn(|i| rest[1 + i].clone());
            let used = multiplicity.as_constant() == Some(-Goldilocks::ONE);
            match space.as_constant() {
                Some(WIRE) => {
                    let number = key.as_constant().expect("the number of a wire").as_u64();
                    if used {
                        uses.push((number, word));
                    } else {
                        definitions.insert(number, word);
                    }
                }
                Some(BYTES) if used => read_part(&mut gate, &mut bus, &prefix, row, word),
                Some(space) if row.table == Table::Tuple => {
                    let [level, ..] = rest;
                    let [a, b, c, d] = word;
                    let count = columns[tuple::COUNT].clone();
                    let listed = Listed { name: prefix.clone(), space, count, tuple: [key, level, a, b, c, d] };
                    match row.columns[tuple::TIMES] {
                        Goldilocks::ZERO => {}
                        Goldilocks::ONE => bus.offered.push(listed),
                        _ => bus.demanded.push(listed),
                    }
                }
                _ if multiplicity == Poly::default() => {}
                _ => panic!("a port of {prefix} that no gate has"),
            }
        }
    }
    let marks = join(&mut gate, constraints, &definitions, uses, bus);
    (gate, marks)
}

/// A part of the stream is an input: a byte and zeros, or four halves.
fn read_part(gate: &mut Gate, bus: &mut Bus, prefix: &str, row: Fixed<'_>, word: [Poly; WORD]) {
    let byte = row.columns[read::WINDOW] == Goldilocks::ZERO;
    assert!(byte, "{prefix} is a window: no gate has one");
    let [first, zeros @ ..] = word;
    let below = gate.below(prefix, &first, 8);
    gate.constraints.push((format!("{prefix}byte"), below));
    gate.constraints.extend(zeros.into_iter().map(|zero| (format!("{prefix}zero"), Formula::Zero(zero))));
    bus.read.push(first);
}

/// Replaces the columns of uses by the words of the wires, and lists what is left.
fn join(
    gate: &mut Gate,
    constraints: Vec<(String, Poly)>,
    definitions: &HashMap<u64, [Poly; WORD]>,
    uses: Vec<(u64, [Poly; WORD])>,
    bus: Bus,
) -> Marks {
    let mut values: HashMap<u32, Poly> = HashMap::new();
    let mut sums = Vec::new();
    for (number, word) in uses {
        let definition = definitions.get(&number).expect("a wire that is defined");
        for (own, value) in word.iter().zip(definition) {
            match own.as_variable() {
                Some(variable) if !values.contains_key(&variable) => {
                    values.insert(variable, value.clone());
                }
                _ => sums.push(own - value),
            }
        }
    }
    let resolve = |poly: &Poly| resolved(poly, &values);
    for (name, equation) in constraints {
        constrain(gate, &name, &[resolve(&equation)]);
    }
    gate.wires = sums.iter().map(resolve).filter(|sum| sum.as_constant().is_none()).map(Formula::Zero).collect();
    for (_, formula) in &mut gate.constraints {
        *formula = map(formula, &resolve);
    }
    let (mut offered, mut demanded) = (bus.offered, bus.demanded);
    for listed in offered.iter_mut().chain(&mut demanded) {
        listed.count = resolve(&listed.count);
        listed.tuple = listed.tuple.each_ref().map(resolve);
    }
    demands(gate, &offered, &demanded);
    let words = |space: u64| -> Vec<[Poly; WORD]> {
        let own = offered.iter().filter(|listed| listed.space.as_u64() == space);
        own.map(|listed| std::array::from_fn(|i| listed.tuple[2 + i].clone())).collect()
    };
    let marks = Marks { received: words(INPUTS), sent: words(OUTPUTS), read: bus.read.iter().map(resolve).collect() };
    gate.inputs = marks.read.iter().chain(marks.received.as_flattened()).cloned().collect();
    gate.outputs = marks.sent.as_flattened().to_vec();
    for list in [&mut gate.inputs, &mut gate.outputs] {
        list.retain(|x| x.as_constant().is_none());
    }
    marks
}

/// The polynomial without columns that are wires.
fn resolved(poly: &Poly, values: &HashMap<u32, Poly>) -> Poly {
    let mut poly = poly.clone();
    while poly.variables().iter().any(|variable| values.contains_key(variable)) {
        poly = poly.substituted(&|variable| values.get(&variable).cloned());
    }
    poly
}

fn map(formula: &Formula, f: &impl Fn(&Poly) -> Poly) -> Formula {
    match formula {
        Formula::Zero(poly) => Formula::Zero(f(poly)),
        Formula::All(parts) => Formula::All(parts.iter().map(|part| map(part, f)).collect()),
        Formula::Any(parts) => Formula::Any(parts.iter().map(|part| map(part, f)).collect()),
        Formula::Not(part) => Formula::Not(Box::new(map(part, f))),
    }
}

/// A tuple that is demanded where its count is 1 is one of those that the circuit offers; in a set, it is the one that
/// is given with the same count.
fn demands(gate: &mut Gate, offered: &[Listed], demanded: &[Listed]) {
    for demand in demanded {
        let own: Vec<&Listed> = offered.iter().filter(|offer| offer.space == demand.space).collect();
        let same = |offer: &Listed| {
            let pairs = offer.tuple.iter().zip(&demand.tuple);
            Formula::All(pairs.map(|(a, b)| a - b).filter(|x| *x != Poly::default()).map(Formula::Zero).collect())
        };
        let (mut all, holds) = if demand.space == SET {
            let set: Vec<_> = own.into_iter().filter(|offer| offer.tuple[0] == demand.tuple[0]).collect();
            let [given] = set[..] else { panic!("a set with {} words", set.len()) };
            assert!(given.count == demand.count, "a word given and taken by one bit");
            (Vec::new(), same(given))
        } else {
            assert!(demand.space.as_u64() > OFFERS && !own.is_empty(), "{} demands what nothing offers", demand.name);
            let content: Option<Vec<[u64; TUPLE - 1]>> = own.iter().map(|offer| constants(&offer.tuple)).collect();
            let content = content.expect("a table of constants");
            member(gate, &demand.name, &demand.tuple, &content)
        };
        let holds = match demand.count.as_constant() {
            Some(Goldilocks::ONE) => holds,
            _ => Formula::Any(vec![Formula::Zero(demand.count.clone()), holds]),
        };
        all.push(holds);
        gate.constraints.push((format!("{}lookup", demand.name), Formula::All(all)));
    }
}

fn constants(tuple: &[Poly; TUPLE - 1]) -> Option<[u64; TUPLE - 1]> {
    let values: Option<Vec<u64>> = tuple.iter().map(|x| Some(x.as_constant()?.as_u64())).collect();
    values?.try_into().ok()
}

/// The statement that a tuple is one of these. A table of bytes and their nibbles is stated by bits, any other one as a
/// list. Also returns that these bits are 0 or 1, which holds for any tuple: nothing else mentions them.
fn member(
    gate: &mut Gate,
    name: &str,
    tuple: &[Poly; TUPLE - 1],
    content: &[[u64; TUPLE - 1]],
) -> (Vec<Formula>, Formula) {
    let nibbles = content.len() == 256
        && content.iter().enumerate().all(|(i, row)| *row == [i as u64, i as u64 >> 4, i as u64 & 15, 0, 0, 0]);
    if nibbles {
        let (bits, booleans) = gate.bits(&format!("{name}bit"), 8);
        let values = [super::binary(&bits), super::binary(&bits[4..]), super::binary(&bits[..4])];
        let mut all: Vec<Formula> = values.iter().zip(tuple).map(|(value, x)| Formula::equal(value, x)).collect();
        all.extend(tuple[3..].iter().filter(|x| **x != Poly::default()).map(|x| Formula::Zero(x.clone())));
        return (booleans, Formula::All(all));
    }
    let row = |values: &[u64; TUPLE - 1]| {
        let pairs = tuple.iter().zip(values).map(|(x, &value)| x - &Poly::number(value));
        let left: Vec<Poly> = pairs.filter(|x| *x != Poly::default()).collect();
        let possible = left.iter().all(|x| x.as_constant().is_none());
        possible.then(|| Formula::All(left.into_iter().map(Formula::Zero).collect()))
    };
    (Vec::new(), Formula::Any(content.iter().filter_map(row).collect()))
}
