//! Constraints and ports on eight rows at a time are those of each row. (The constraints of permutations are combined by the zerocheck's
//! own kernel, which `circuit.rs` compares.)

use evergrove_multilinear::algebra::{Point, Rows};
use evergrove_multilinear::tables::{Row, TUPLE, Table, Tables, bits, query};
use evergrove_primitives::field::{Field, FieldLanes, Goldilocks, Quadratic};
use evergrove_primitives::lanes::{Kernel, LANES, Lanes, available, dispatch_on};

use crate::common::Elements;

/// Eight rows: value i of a column in all of them.
struct Eight<'a, V> {
    tables: &'a Tables<Quadratic>,
    table: Table,
    columns: &'a [[V; LANES]],
    fixed: &'a [[V; LANES]],
    places: &'a [Goldilocks],
}

impl<V: Field + From<Goldilocks>> Kernel for Eight<'_, V> {
    type Output = Vec<[V; LANES]>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Self::Output {
        let f = V::on(lanes);
        let columns: Vec<_> = self.columns.iter().map(|x| f.load(x)).collect();
        let fixed: Vec<_> = self.fixed.iter().map(|x| f.load(x)).collect();
        let row = Row { columns: &columns, fixed: &fixed, number: f.splat(&V::from_u64(5)), places: self.places };
        let (mut constraints, mut ports) = (Vec::new(), Vec::new());
        if self.table != Table::Permutation {
            self.tables.constraints(self.table, &mut Rows(f), &row, &mut constraints);
        }
        self.tables.ports(self.table, &mut Rows(f), &row, &mut ports);
        let ports = ports.iter().flat_map(|port| [&[port.multiplicity][..], &port.tuple].concat());
        constraints.into_iter().chain(ports).map(|x| f.to_array(x)).collect()
    }
}

fn check<V: Field + From<Goldilocks> + Into<Quadratic>>(element: impl Fn(&mut Elements) -> V) {
    let tables =
        Tables::new(query::Parameters { bits: 7, variables: 3 }, bits::Parameters::new(vec![3, 5], vec![0..4, 40..64]));
    let mut elements = Elements::new(5);
    let places: Vec<Goldilocks> = (0..8).map(|i| Goldilocks::new(1000 * i)).collect();
    for table in Table::ALL {
        let mut random = |n: usize| -> Vec<[V; LANES]> {
            (0..n).map(|_| core::array::from_fn(|_| element(&mut elements))).collect()
        };
        let columns = random(tables.columns(table));
        let fixed = random(tables.fixed(table));
        let rows: Vec<Vec<Quadratic>> = (0..LANES)
            .map(|lane| {
                let at = |values: &[[V; LANES]]| values.iter().map(|x| x[lane].into()).collect::<Vec<Quadratic>>();
                let (columns, fixed) = (at(&columns), at(&fixed));
                let row = Row { columns: &columns, fixed: &fixed, number: Quadratic::from_u64(5), places: &places };
                let (mut values, mut ports) = (Vec::new(), Vec::new());
                let mut point = Point { activity: Quadratic::ONE };
                if table != Table::Permutation {
                    tables.constraints(table, &mut point, &row, &mut values);
                }
                tables.ports(table, &mut point, &row, &mut ports);
                assert_eq!(ports.len(), tables.ports_of(table));
                for port in ports {
                    values.push(port.multiplicity);
                    assert_eq!(port.tuple.len(), TUPLE);
                    values.extend(port.tuple);
                }
                values
            })
            .collect();
        for isa in available() {
            let eight = Eight { tables: &tables, table, columns: &columns, fixed: &fixed, places: &places };
            let values = dispatch_on(isa, eight);
            assert_eq!(values.len(), rows[0].len());
            for (i, lanes) in values.into_iter().enumerate() {
                let expected: [Quadratic; LANES] = core::array::from_fn(|lane| rows[lane][i]);
                assert_eq!(lanes.map(Into::into), expected, "{} {i} on {isa}", table.name());
            }
        }
    }
}

#[test]
fn eight_rows_at_a_time() {
    check(Elements::base);
    check(Elements::element::<Quadratic>);
}
