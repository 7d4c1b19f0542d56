//! Rows of the tables.

use std::array;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Quadratic};
use evergrove_testkit::gates::poly::Poly;
use evergrove_testkit::gates::rows::{self, Fixed};
use evergrove_testkit::gates::{Formula, Gate, binary};
use evergrove_verifier::tables::{NODE, Table, Tables, WORD, bits, bytes, operation, permutation, query, read, tuple};

use super::{fixed, is, not, number, tables};

pub(super) fn gates() -> Vec<Gate> {
    let mut all = Vec::new();
    for gates in [of_field::<Quadratic>("k2"), of_field::<Cubic>("k3")] {
        all.extend(gates);
    }
    for (name, range) in [("bits-8", 8..64), ("bits-27", 27..64), ("bits-56", 56..64), ("bits-63", 63..64)] {
        all.push(range_of_bits(name, range));
    }
    all.extend([sum_of_bits(), limbs(), indices(), work()]);
    all.extend([set_tuple(), node(), cubic_field(), byte_row(), window()]);
    all
}

fn row<'a>(table: Table, columns: &'a [Goldilocks]) -> Fixed<'a> {
    Fixed { table, number: 7, columns, free: &[] }
}

/// The product of elements of K, by the schoolbook and X^2 = 7 or X^3 = X + 1.
pub(super) fn product<K: Extension>(a: &[Poly], b: &[Poly]) -> Vec<Poly> {
    let mut all = vec![Poly::default(); 2 * K::DEGREE - 1];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            all[i + j] = &all[i + j] + &(a * b);
        }
    }
    while all.len() > K::DEGREE {
        let high = all.pop().expect("a coefficient");
        let low = all.len() - K::DEGREE;
        if K::DEGREE == 2 {
            all[low] = &all[low] + &high.scaled(Goldilocks::new(7));
        } else {
            all[low] = &all[low] + &high;
            all[low + 1] = &all[low + 1] + &high;
        }
    }
    all
}

fn of_field<K: Extension>(field: &str) -> Vec<Gate> {
    let tables = tables::<K>();
    let degree = K::DEGREE;
    let elements = |columns: &[Poly]| -> Vec<Vec<Poly>> { columns.chunks(degree).map(<[Poly]>::to_vec).collect() };
    let mut out = Vec::new();
    for check in [0, 1] {
        let columns = fixed(&[0, 0, 0, check, 1, 2, 3, 1]);
        let at = Fixed { free: &[0, 1, 2], ..row(Table::Operation, &columns) };
        let name = format!("{}-{field}", if check == 1 { "check" } else { "operation" });
        let (mut gate, symbolic) = rows::of_row(&name, "d = q0 a b + q1 a + q2 c in K", &tables, at);
        let q: Vec<Poly> = gate.inputs[..3].to_vec();
        let [a, b, c, d] = elements(&symbolic.columns).try_into().expect("four elements");
        let ab = product::<K>(&a, &b);
        gate.spec.extend((0..degree).map(|i| {
            let sum = &(&(&q[0] * &ab[i]) + &(&q[1] * &a[i])) + &(&q[2] * &c[i]);
            Formula::equal(&d[i], &sum)
        }));
        out.push(gate);
    }
    let columns = fixed(&[1, 2, 3, 4, 5, 6, 1]);
    let about = "sum = before + x_0 w_0 + .. + x_3 w_3 in K";
    let (mut gate, symbolic) = rows::of_row(&format!("dot-{field}"), about, &tables, row(Table::Dot, &columns));
    let (x, rest) = symbolic.columns.split_at(WORD);
    let [w0, w1, w2, w3, before, sum] = elements(rest).try_into().expect("six elements");
    let weights = [w0, w1, w2, w3];
    gate.spec.extend((0..degree).map(|i| {
        let terms = x.iter().zip(&weights).map(|(x, w)| x * &w[i]);
        Formula::equal(&sum[i], &terms.fold(before[i].clone(), |sum, term| &sum + &term))
    }));
    out.push(gate);
    out.push(weight::<K>(field, &tables));
    out
}

/// The weight of a query.
fn weight<K: Extension>(field: &str, tables: &Tables<K>) -> Gate {
    let query::Parameters { bits, variables } = *tables.query();
    let columns = fixed(&vec![1; tables.query().fixed()]);
    let about = "y = product of 1 + r_v (z^(2^v) - 1), z the point at an index";
    let (mut gate, symbolic) = rows::of_row(&format!("query-{field}"), about, tables, row(Table::Query, &columns));
    let (index, rest) = symbolic.columns.split_at(bits);
    let (products, rest) = rest.split_at(tables.query().products());
    let (powers, rest) = rest.split_at(tables.query().pairs() - 1);
    let (r, results) = rest.split_at(variables * K::DEGREE);
    gate.steps = [index, products, powers, results].concat();
    gate.spec.extend(index.iter().map(Formula::bit));
    let mut z = number(1);
    for (step, column) in products.iter().enumerate() {
        for (j, bit) in index.iter().enumerate().skip(step * query::STEP).take(query::STEP) {
            let root = Poly::constant(query::root(j));
            z = &(bit * &(&root * &z)) + &(&not(bit) * &z);
        }
        z = gate.define(&format!("z{step}"), &z);
        gate.spec.push(Formula::equal(&z, column));
    }
    let mut y: Vec<Poly> = (0..K::DEGREE).map(|i| number((i == 0).into())).collect();
    for (pair, (r, columns)) in r.chunks(2 * K::DEGREE).zip(results.chunks(K::DEGREE)).enumerate() {
        let mut power = z.clone();
        for r in r.chunks(K::DEGREE) {
            let step = &power - &number(1);
            let mut factor: Vec<Poly> = r.iter().map(|r| r * &step).collect();
            factor[0] = &factor[0] + &number(1);
            y = product::<K>(&y, &factor);
            power = &power * &power;
        }
        y = y.iter().enumerate().map(|(i, y)| gate.define(&format!("y{pair}.{i}"), y)).collect();
        gate.spec.extend(y.iter().zip(columns).map(|(y, column)| Formula::equal(y, column)));
        if let Some(column) = powers.get(pair) {
            z = gate.define(&format!("power{pair}"), &power);
            gate.spec.push(Formula::equal(&z, column));
        }
    }
    gate
}

/// Each is 0 or 1.
pub(super) fn all_bits(columns: &[Poly]) -> Formula {
    Formula::All(columns.iter().map(Formula::bit).collect())
}

/// A row of bits in these modes, without uses of its indices.
fn bits_row(name: &str, about: &str, modes: &[usize], uses: u64) -> (Gate, Vec<Poly>) {
    let tables = tables::<Quadratic>();
    let mut columns = vec![0; tables.bits().fixed()];
    modes.iter().for_each(|&mode| columns[mode] = 1);
    let first = tables.bits().numbers();
    columns[first] = 1;
    columns[first + 1..].fill(uses);
    let (mut gate, symbolic) = rows::of_row(name, about, &tables, row(Table::Bits, &fixed(&columns)));
    // The element that the row takes.
    gate.spec.push(Formula::equal(&symbolic.ports[0].tuple[3], &binary(&symbolic.columns)));
    (gate, symbolic.columns)
}

fn range_of_bits(name: &str, range: core::ops::Range<usize>) -> Gate {
    let mode = tables::<Quadratic>().bits().zeros_mode(&range).expect("a range of the tables");
    let about = format!("the binary digits of a number below 2^{}", range.start);
    let (mut gate, columns) = bits_row(name, &about, &[mode], 0);
    gate.outputs = columns.clone();
    gate.spec.push(all_bits(&columns));
    gate.spec.push(Formula::All(columns[range].iter().map(|bit| is(bit, 0)).collect()));
    gate
}

/// As many bits as the widest range of a row of bits has: their sum is below p.
fn sum_of_bits() -> Gate {
    let mut gate = Gate::new("sum-of-bits", "a sum of 56 bits is 0 only if all of them are");
    let (bits, booleans) = gate.bits("bit", 56);
    let booleans = booleans.into_iter().enumerate().map(|(i, boolean)| (format!("bit {i}"), boolean));
    gate.constraints.extend(booleans);
    let sum = bits.iter().fold(Poly::default(), |sum, bit| &sum + bit);
    gate.constraints.push(("sum".into(), Formula::Zero(sum)));
    gate.spec.extend(bits.iter().map(|bit| is(bit, 0)));
    gate
}

fn limbs() -> Gate {
    let table = tables::<Quadratic>();
    let modes = [table.bits().width_mode(bits::CHUNK), table.bits().zeros_mode(&(63..64))].map(Option::unwrap);
    let (mut gate, columns) = bits_row("bits-limbs", "the limbs of 21 bits of a number below 2^63", &modes, 1);
    gate.spec.push(all_bits(&columns));
    gate.spec.push(is(&columns[63], 0));
    let limbs: [Poly; 3] = array::from_fn(|i| binary(&columns[21 * i..][..21]));
    gate.spec.extend(limbs.iter().zip(&gate.outputs).map(|(limb, output)| Formula::equal(limb, output)));
    // The limbs are sums of bits, so it is enough that these are determined.
    gate.outputs = columns;
    gate
}

fn indices() -> Gate {
    let mode = tables::<Quadratic>().bits().width_mode(bits::CHUNK).expect("a width of the tables");
    let about = "three numbers of 21 bits from a challenge of 64 bits";
    bits_row("bits-indices", about, &[mode], 1).0
}

fn work() -> Gate {
    let mode = tables::<Quadratic>().bits().zeros_mode(&(0..16)).expect("a range of the tables");
    let (mut gate, columns) = bits_row("bits-work", "the lowest 16 bits of a split of a challenge are 0", &[mode], 0);
    gate.spec.push(all_bits(&columns));
    gate.spec.push(Formula::All(columns[..16].iter().map(|bit| is(bit, 0)).collect()));
    gate
}

/// A tuple whose count is the prover's bit.
fn set_tuple() -> Gate {
    let mut columns = [0; tuple::FIXED];
    (columns[tuple::SPACE], columns[tuple::TIMES]) = (4, 1);
    columns[tuple::NUMBERS..].copy_from_slice(&[1, 2, 3, 1]);
    let about = "a tuple of wires, as often as a bit of the prover's choice says";
    let (mut gate, symbolic) =
        rows::of_row("tuple", about, &tables::<Quadratic>(), row(Table::Tuple, &fixed(&columns)));
    let count = &symbolic.columns[tuple::COUNT];
    gate.inputs.push(count.clone());
    gate.spec.push(Formula::bit(count));
    let port = &symbolic.ports[tuple::PORTS - 1];
    gate.spec.push(Formula::equal(&port.multiplicity, count));
    gate.spec.extend(port.tuple[1..].iter().zip(&symbolic.columns).map(|(x, column)| Formula::equal(x, column)));
    gate
}

/// A node row of the table of permutations: a step of a climb. Its rounds are left out.
fn node() -> Gate {
    let tables = tables::<Quadratic>();
    let mut columns = [0; permutation::FIXED];
    columns[permutation::INNER] = 1;
    let mut gate =
        Gate::new("climb", "the places of the nodes below a node: (2 index, level) and (2 index + 1, level)");
    let places = vec![Goldilocks::ONE; permutation::PORTS];
    let symbolic = rows::symbolic(&mut gate, "x", &tables, row(Table::Permutation, &fixed(&columns)), &places);
    let rounds = evergrove_verifier::poseidon::SBOXES - permutation::RATE - WORD + WORD;
    rows::constrain(&mut gate, "permutation", &symbolic.equations[rounds..]);
    let column = |i: usize| symbolic.columns[i].clone();
    let [index, level, active] = [permutation::INDEX, permutation::LEVEL, permutation::ACTIVE].map(column);
    let digest: Vec<Poly> = (0..WORD).map(|i| column(evergrove_verifier::poseidon::SBOXES + i)).collect();
    gate.spec.push(Formula::bit(&active));
    gate.spec.extend((permutation::RATE..permutation::RATE + WORD).map(|i| is(&column(i), 0)));
    let mut port = |i: usize, multiplicity: &Poly, head: [Poly; 3], word: &[Poly]| {
        let port = &symbolic.ports[i];
        gate.spec.push(Formula::equal(&port.multiplicity, multiplicity));
        let expected = head.iter().chain(word);
        gate.spec.extend(port.tuple.iter().zip(expected).map(|(x, value)| Formula::equal(x, value)));
    };
    let space = Poly::constant(NODE);
    let one = number(1);
    port(0, &active.scaled(-Goldilocks::ONE), [space.clone(), index.clone(), &level + &one], &digest);
    let twice = &index + &index;
    for (side, offered) in [permutation::LEFT, permutation::RIGHT].into_iter().enumerate() {
        let key = &twice + &number(side as u64);
        port(1 + side, &column(offered), [space.clone(), key, level.clone()], &symbolic.columns[side * WORD..][..WORD]);
    }
    // Nothing else is on the bus, and an idle row offers nothing.
    gate.spec.extend(symbolic.ports[3..].iter().map(|port| Formula::Zero(port.multiplicity.clone())));
    for offered in [permutation::LEFT, permutation::RIGHT] {
        gate.spec.push(is(&active, 0).implies(is(&column(offered), 0)));
    }
    gate
}

/// Halves that are elements of K of degree three.
fn cubic_field() -> Gate {
    let mut columns = [0; permutation::FIXED];
    for mode in [permutation::USE_LEFT, permutation::USE_RIGHT, permutation::FIELD] {
        columns[mode] = 1;
    }
    let mut gate = Gate::new("permutation-k3", "halves of a hash of elements of K3 have a zero after each");
    let places = vec![Goldilocks::ONE; permutation::PORTS];
    let tables = tables::<Cubic>();
    let symbolic = rows::symbolic(&mut gate, "x", &tables, row(Table::Permutation, &fixed(&columns)), &places);
    let rounds = evergrove_verifier::poseidon::SBOXES - permutation::RATE - WORD + WORD;
    rows::constrain(&mut gate, "permutation", &symbolic.equations[rounds..]);
    gate.spec.extend([WORD - 1, 2 * WORD - 1].map(|i| is(&symbolic.columns[i], 0)));
    gate
}

/// Sixteen bytes and their words and parts.
fn byte_row() -> Gate {
    let columns = [1; bytes::FIXED];
    let about = "the words and the parts at each address, of sixteen bytes";
    let tables = tables::<Quadratic>();
    let (mut gate, symbolic) = rows::of_row("bytes", about, &tables, row(Table::Bytes, &fixed(&columns)));
    gate.inputs = symbolic.columns.clone();
    gate.spec.push(all_bits(&symbolic.columns[..bytes::BITS]));
    let byte = |i: usize| binary(&symbolic.columns[8 * i..][..8]);
    let word = |bytes: &[Option<usize>]| -> Vec<Poly> {
        let half = |four: &[Option<usize>]| {
            let terms = four
                .iter()
                .enumerate()
                .filter_map(|(i, own)| Some(byte((*own)?).scaled(Goldilocks::new(1 << (8 * i)))));
            terms.fold(Poly::default(), |sum, term| &sum + &term)
        };
        bytes.chunks(4).map(half).collect()
    };
    let mut port = |i: usize, bytes: &[Option<usize>]| {
        let pairs = symbolic.ports[i].tuple[3..].iter().zip(word(bytes));
        gate.spec.extend(pairs.map(|(x, value)| Formula::equal(x, &value)));
    };
    let all: Vec<Option<usize>> = (0..bytes::ROW).map(Some).collect();
    let zeros = vec![None; bytes::ROW];
    port(0, &all);
    port(1, &[&all[..8], &zeros[8..]].concat());
    port(2, &[&zeros[..8], &all[8..]].concat());
    for offset in 0..bytes::ROW {
        port(3 + offset, &[&all[offset..], &zeros[..offset]].concat());
        port(3 + bytes::ROW + offset, &[&zeros[offset..], &all[..offset]].concat());
        port(3 + 2 * bytes::ROW + offset, &[&all[offset..=offset], &zeros[1..]].concat());
    }
    gate
}

/// The word of a read: a row without constraints.
fn window() -> Gate {
    let columns = [1; read::FIXED];
    let about = "the word of a window is the sum of its parts";
    let tables = tables::<Quadratic>();
    let (mut gate, symbolic) = rows::of_row("read", about, &tables, row(Table::Read, &fixed(&columns)));
    let [low, high] = [read::LOW, read::HIGH].map(|first| &symbolic.columns[first..first + WORD]);
    let word = &symbolic.ports[read::PORTS - 1].tuple[3..];
    gate.spec.extend((0..WORD).map(|i| Formula::equal(&word[i], &(&low[i] + &high[i]))));
    gate
}

const _: () = assert!(operation::FIXED == 8);
