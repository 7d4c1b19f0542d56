//! The demands of a circuit by the lines of code that make them, and the demands that alone refuse a witness.
//!
//! **What.** A [`Demand`] is one line of a circuit's code and what it asks for: a bit, an equation, a look-up, equal
//! multisets, a node, zero bits. A line may make many rows. Most other rows define wires that later rows use, so a
//! circuit without them does not compile.
//!
//! **When.** In tests: a demand is not redundant if it alone refuses some witness ([`Witness::refused_only_by`]), because
//! the circuit without the demand accepts this witness. Whether the witness then says something untrue is a question for
//! the test. Every circuit records its demands, 24 bytes for each of their rows; they are not part of a key.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::panic::Location;

use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_verifier::tables::{NODE, SET, TUPLE, Table, WIRE, WORD, operation, tuple};

use super::wires::Wire;
use super::{Circuit, Count, Fault, Operation, Tuple, Witness};

/// What a demand asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Asked {
    /// A choice of the prover is 0 or 1.
    Bit,
    /// Two elements are equal.
    Equation,
    /// A tuple is offered.
    LookUp,
    /// The words given to a set are the words taken from it.
    Set,
    /// A digest is a node of a tree.
    Node,
    /// Bits of an element are 0.
    Zeros,
}

/// A line of a circuit's code, and what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Demand {
    /// The line.
    pub line: &'static Location<'static>,
    /// What it asks for.
    pub asked: Asked,
}

/// The demands of rows.
pub(super) type Demands = Vec<(Table, u32, Demand)>;

impl Tuple {
    /// What a row of this tuple asks for.
    pub(super) fn asks(&self) -> [Option<Asked>; 2] {
        let bit = (self.count == Count::Bit).then_some(Asked::Bit);
        let tuple = match self.count {
            Count::Any | Count::Root | Count::Uses => None,
            Count::Wire(_) | Count::Bit if self.times == Goldilocks::ZERO => None,
            Count::Wire(_) | Count::Bit if self.space == SET => Some(Asked::Set),
            Count::Wire(_) | Count::Bit if self.space == NODE => Some(Asked::Node),
            Count::Wire(_) | Count::Bit => Some(Asked::LookUp),
        };
        [bit, tuple]
    }
}

/// The faults of a witness that remain when one demand is removed from the circuit.
#[derive(Default)]
struct Without {
    constraints: usize,
    sums: HashMap<[Goldilocks; TUPLE], Goldilocks>,
}

impl<K: Extension> Circuit<K> {
    /// The demands, with their rows: a demand for each row that a line made.
    pub fn demands(&self) -> &[(Table, u32, Demand)] {
        &self.demands
    }
    /// The demands of bits that another row demands too: a row that gives, takes or looks up a tuple as often as a bit
    /// says demands that this be a bit. These are the prover's bits and the elements given to [`Builder::boolean`].
    ///
    /// [`Builder::boolean`]: super::Builder::boolean
    pub fn bits_of_counts(&self) -> BTreeSet<Demand> {
        let counts: HashSet<Wire> = self
            .rows
            .tuples
            .iter()
            .filter_map(|row| match row.count {
                Count::Wire(wire) => Some(wire),
                _ => None,
            })
            .collect();
        let (mut counted, mut alone) = (BTreeSet::new(), BTreeSet::new());
        for (table, row, demand) in &self.demands {
            let bit = match demand.asked {
                Asked::Bit => Some(Wire { table: *table, port: (tuple::PORTS - 2) as u8, row: *row }),
                Asked::Equation => {
                    let Operation { q, operands: [x, y, _], .. } = &self.rows.operations[*row as usize];
                    let boolean = *q == [Goldilocks::ONE, -Goldilocks::ONE, Goldilocks::ZERO] && x == y;
                    boolean.then_some(*x)
                }
                _ => None,
            };
            let by_count = bit.is_some_and(|bit| counts.contains(&bit));
            if by_count { &mut counted } else { &mut alone }.insert(*demand);
        }
        &counted - &alone
    }
    /// The multiplicity and the tuple that a demand's row puts on the bus.
    fn contribution(
        &self,
        witness: &Witness,
        (table, row, demand): &(Table, u32, Demand),
    ) -> (Goldilocks, [Goldilocks; TUPLE]) {
        let row = *row as usize;
        let columns = witness.row(&self.tables, *table, row);
        let mut all = [Goldilocks::ZERO; TUPLE];
        if demand.asked == Asked::Equation {
            all[0] = WIRE;
            all[1] = self.fixed(*table, row)[operation::NUMBERS + 3];
            all[TUPLE - WORD..][..K::DEGREE].copy_from_slice(&columns[3 * K::DEGREE..]);
            return (-Goldilocks::ONE, all);
        }
        let Tuple { space, times, .. } = self.rows.tuples[row];
        all[0] = space;
        all[1..].copy_from_slice(&columns[..tuple::COUNT]);
        (times * columns[tuple::COUNT], all)
    }
}

impl Witness {
    /// The demands each of which refuses this witness alone: the circuit without such a demand accepts it. Nothing for
    /// a witness that the circuit accepts. `sound` is as in [`Witness::faults_beside`].
    ///
    /// A demand of multisets refuses alone only if the sets are equal without it: a circuit without one side of a set
    /// refuses honest witnesses ([`Self::sets_without`]).
    pub fn refused_only_by<K: Extension>(&self, circuit: &Circuit<K>, sound: &Self) -> Vec<Demand> {
        let (mut rows, mut tuples) = (HashMap::<(Table, usize), usize>::new(), HashMap::new());
        for fault in self.faults_beside(circuit, sound) {
            match fault {
                Fault::Constraint { table, row, .. } => *rows.entry((table, row)).or_default() += 1,
                Fault::Tuple { tuple, count } => drop(tuples.insert(tuple, count)),
            }
        }
        if rows.is_empty() && tuples.is_empty() {
            return Vec::new();
        }
        // The words of wires that lack uses, by the number of the wire.
        let lacks = |(tuple, count): &(&[Goldilocks; TUPLE], &Goldilocks)| {
            tuple[0] == WIRE && count.as_u64() < Goldilocks::ORDER / 2
        };
        let defined: HashMap<Goldilocks, [Goldilocks; TUPLE]> =
            tuples.iter().filter(lacks).map(|(tuple, _)| (tuple[1], *tuple)).collect();
        let mut without: HashMap<Demand, Without> = HashMap::new();
        for at in &circuit.demands {
            let (table, row, demand) = *at;
            // A row of tuples also demands that the count be a bit; for a chosen bit, this is a demand of its own.
            let bit = matches!(demand.asked, Asked::Bit | Asked::Zeros);
            let bounds = bit || table == Table::Tuple && circuit.rows.tuples[row as usize].count != Count::Bit;
            if bounds && let Some(count) = rows.get(&(table, row as usize)) {
                without.entry(demand).or_default().constraints += count;
            }
            if bit {
                continue;
            }
            let (count, tuple) = circuit.contribution(self, at);
            let known = tuples.get(&tuple);
            if count == Goldilocks::ZERO || demand.asked != Asked::Set && known.is_none() {
                continue;
            }
            let sums = &mut without.entry(demand).or_default().sums;
            *sums.entry(tuple).or_default() += count;
            // The result of an equation uses a wire with another word, and its word lacks this use.
            if demand.asked == Asked::Equation
                && let Some(word) = defined.get(&tuple[1])
            {
                *sums.entry(*word).or_default() -= count;
            }
        }
        let constraints: usize = rows.values().sum();
        let alone = without.into_iter().filter(|(_, left)| {
            let all = tuples.iter().all(|(tuple, count)| left.sums.get(tuple) == Some(count));
            // Sets that are equal stay equal.
            let others = left.sums.iter().all(|(tuple, sum)| tuples.get(tuple).copied().unwrap_or_default() == *sum);
            left.constraints == constraints && all && others
        });
        let mut alone: Vec<Demand> = alone.map(|(demand, _)| demand).collect();
        alone.sort_unstable();
        alone
    }
    /// The demands of multisets without which the circuit refuses this witness, which it accepts.
    pub fn sets_without<K: Extension>(&self, circuit: &Circuit<K>) -> BTreeSet<Demand> {
        let mut sums: HashMap<(Demand, [Goldilocks; TUPLE]), Goldilocks> = HashMap::new();
        for at in circuit.demands.iter().filter(|(.., demand)| demand.asked == Asked::Set) {
            let (count, tuple) = circuit.contribution(self, at);
            *sums.entry((at.2, tuple)).or_default() += count;
        }
        let needed = sums.into_iter().filter(|(_, sum)| *sum != Goldilocks::ZERO);
        needed.map(|((demand, _), _)| demand).collect::<HashSet<_>>().into_iter().collect()
    }
}
