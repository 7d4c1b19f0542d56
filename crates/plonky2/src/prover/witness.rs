//! Witness generation: plonky2's generators, replayed.
//!
//! The order in which generators run depends on which targets are known, hardly ever on their values.
//! [`Schedule::record`] runs plonky2's scheduler once and records the order; [`Schedule::replay`] runs the generators
//! in that order, without queues and watch lists. Poseidon rows do not use their generators: rows that depend on no
//! other row of their level are computed eight at a time, and their 135 wires are written to the trace at once.
//!
//! If a replay meets a generator whose inputs are missing (the caller has set other targets than when the order was
//! recorded), it gives up, and plonky2's scheduler does the work.

use std::collections::HashMap;

use anyhow::{anyhow, ensure};
use evergrove_kernels::ntt::Row;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::hash::poseidon::WIDTH;
use evergrove_primitives::lanes::{Isa, LANES, dispatch_on};
use plonky2::iop::generator::GeneratedValues;
use plonky2::iop::target::Target;
use plonky2::iop::witness::{PartialWitness, PartitionWitness, WitnessWrite};
use plonky2::plonk::circuit_data::{CircuitData, ProverOnlyCircuitData};
use rayon::prelude::*;

use super::poseidon::{OUTPUT, SWAP, Trace, WIRES};
use crate::circuit::{C, D, F, from_plonky, to_plonky};

/// Rows of a level that are not worth a vector.
const FEW: usize = 3;
/// The wires that connect a Poseidon row: inputs, outputs, swap.
const CONNECTED: usize = SWAP + 1;
/// Rows of a level that are worth more than one thread.
const PARALLEL: usize = 8 * LANES;
/// Values that a task resets.
const RESET: usize = 1 << 16;
/// No Poseidon row.
const NONE: u32 = u32::MAX;

/// An order of generators.
pub(super) struct Schedule {
    levels: Vec<Level>,
    /// For each row, its number among the Poseidon rows that are computed in vectors, or [`NONE`].
    vectored: Vec<u32>,
}

/// Generators that depend on earlier levels or on those before them in `generators`.
#[derive(Default)]
struct Level {
    generators: Vec<usize>,
    poseidon: Vec<PoseidonRow>,
}

/// Values of a Poseidon row, by their numbers in the partition.
struct PoseidonRow {
    row: usize,
    generator: usize,
    cells: [usize; CONNECTED],
}

/// A witness, and the wires of the rows that were computed in vectors.
pub(super) struct Generated<'a> {
    pub(super) partition: PartitionWitness<'a, F>,
    /// The wires of eight rows.
    traces: Vec<[Row; WIRES]>,
    /// How many rows these are.
    permutations: usize,
}

/// An empty partition whose values lie in `buffer`.
fn start<'a>(data: &'a CircuitData<F, C, D>, buffer: Vec<Option<F>>) -> PartitionWitness<'a, F> {
    let mut values = buffer;
    let len = data.prover_only.representative_map.len();
    values.resize(len, None);
    values.par_chunks_mut(RESET).for_each(|v| v.fill(None));
    PartitionWitness {
        values,
        representative_map: &data.prover_only.representative_map,
        num_wires: data.common.config.num_wires,
        degree: data.common.degree(),
    }
}

fn set_inputs(partition: &mut PartitionWitness<'_, F>, inputs: &PartialWitness<F>) -> anyhow::Result<()> {
    inputs.target_values.iter().try_for_each(|(target, value)| partition.set_target(*target, *value))
}

impl<'a> Generated<'a> {
    /// A witness from elsewhere.
    pub(super) fn complete(partition: PartitionWitness<'a, F>) -> Self {
        Self { partition, traces: Vec::new(), permutations: 0 }
    }

    /// By plonky2's scheduler.
    pub(super) fn by_plonky2(data: &'a CircuitData<F, C, D>, inputs: PartialWitness<F>) -> anyhow::Result<Self> {
        let partition = plonky2::iop::generator::generate_partial_witness(inputs, &data.prover_only, &data.common)?;
        Ok(Self::complete(partition))
    }

    /// Permutations that were computed in vectors.
    pub(super) fn permutations(&self) -> u64 {
        self.permutations as u64
    }

    /// Wire values, row by row in bit-reversed order, into groups. Unset wires are zero.
    pub(super) fn fill(&self, schedule: Option<&Schedule>, groups: &mut [Row]) {
        let (n, wires) = (self.partition.degree, self.partition.num_wires);
        let shift = usize::BITS - n.ilog2();
        let Self { partition, traces, .. } = self;
        let map = partition.representative_map;
        groups.par_chunks_mut(n).enumerate().for_each(|(g, group)| {
            let columns = LANES * g..(LANES * (g + 1)).min(wires);
            for i in 0..n {
                let out = &mut group[i.reverse_bits() >> shift];
                match schedule.filter(|_| !traces.is_empty()).map_or(NONE, |s| s.vectored[i]) {
                    NONE => {
                        *out = [Goldilocks::ZERO; LANES];
                        for (out, representative) in out.iter_mut().zip(&map[i * wires..][columns.clone()]) {
                            *out = partition.values[*representative].map_or(Goldilocks::ZERO, from_plonky);
                        }
                    }
                    k => {
                        let (trace, lane) = (&traces[k as usize / LANES], k as usize % LANES);
                        *out = [Goldilocks::ZERO; LANES];
                        for (out, c) in out.iter_mut().zip(columns.clone()) {
                            *out = trace.get(c).map_or(Goldilocks::ZERO, |column| column[lane]);
                        }
                    }
                }
            }
        });
    }
}

impl Schedule {
    /// Runs plonky2's scheduler and records the order.
    pub(super) fn record<'a>(
        data: &'a CircuitData<F, C, D>,
        inputs: &PartialWitness<F>,
    ) -> anyhow::Result<(Self, Generated<'a>)> {
        let ProverOnlyCircuitData { generators, generator_indices_by_watches, .. } = &data.prover_only;
        let mut partition = start(data, Vec::new());
        set_inputs(&mut partition, inputs)?;
        let mut buffer = GeneratedValues::empty();
        let mut order = Vec::with_capacity(generators.len());
        let mut done = vec![false; generators.len()];
        // Which generator has set a value.
        let mut producers: HashMap<usize, usize> = HashMap::new();
        let mut pending: Vec<usize> = (0..generators.len()).collect();
        while !pending.is_empty() {
            let mut next = Vec::new();
            for g in pending {
                if done[g] {
                    continue;
                }
                if generators[g].0.run(&partition, &mut buffer) {
                    done[g] = true;
                    order.push(g);
                }
                for (target, value) in buffer.target_values.drain(..) {
                    let Some(set) = partition.set_target_returning_rep(target, value)? else { continue };
                    producers.insert(set, g);
                    let watchers = generator_indices_by_watches.get(&set);
                    next.extend(watchers.into_iter().flatten().copied().filter(|w| !done[*w]));
                }
            }
            pending = next;
        }
        let left = generators.len() - order.len();
        ensure!(left == 0, "{left} generators weren't run");
        let schedule = Self::levels(data, &order, &producers);
        Ok((schedule, Generated::complete(partition)))
    }

    /// Sorts generators by the longest chain of others that they depend on.
    fn levels(data: &CircuitData<F, C, D>, order: &[usize], producers: &HashMap<usize, usize>) -> Self {
        let prover = &data.prover_only;
        let (wires, n) = (data.common.config.num_wires, data.common.degree());
        let number = |t: Target| prover.representative_map[t.index(wires, n)];
        let mut members = vec![0_u32; prover.representative_map.len()];
        for representative in &prover.representative_map {
            members[*representative] += 1;
        }
        let mut levels: Vec<Level> = Vec::new();
        let mut level_of = vec![0; prover.generators.len()];
        for &g in order {
            let generator = &prover.generators[g].0;
            let watched = generator.watch_list();
            let others = watched.iter().filter_map(|t| producers.get(&number(*t))).filter(|p| **p != g);
            let level = others.map(|p| level_of[*p] + 1).max().unwrap_or(0);
            level_of[g] = level;
            if levels.len() <= level {
                levels.resize_with(level + 1, Level::default);
            }
            let poseidon = match watched.first() {
                Some(Target::Wire(wire)) if generator.id() == "PoseidonGenerator" && wires >= WIRES => {
                    let cell = |column| number(Target::wire(wire.row, column));
                    // The internal wires of the row must not be connected to others.
                    let alone = (CONNECTED..wires).all(|c| members[cell(c)] == 1);
                    alone.then(|| PoseidonRow { row: wire.row, generator: g, cells: core::array::from_fn(cell) })
                }
                _ => None,
            };
            match poseidon {
                Some(row) => levels[level].poseidon.push(row),
                None => levels[level].generators.push(g),
            }
        }
        let mut vectored = vec![NONE; n];
        let mut batch = 0;
        for level in &mut levels {
            if level.poseidon.len() < FEW {
                level.generators.extend(level.poseidon.drain(..).map(|r| r.generator));
            }
            for rows in level.poseidon.chunks(LANES) {
                for (lane, row) in rows.iter().enumerate() {
                    vectored[row.row] = (LANES * batch + lane) as u32;
                }
                batch += 1;
            }
        }
        Self { levels, vectored }
    }

    /// The witness by this order, or `None` if the order does not apply. `buffer` is memory for its values.
    ///
    /// # Errors
    /// When two values are offered for one target: `inputs` contradict the circuit.
    pub(super) fn replay<'a>(
        &self,
        isa: Isa,
        data: &'a CircuitData<F, C, D>,
        inputs: &PartialWitness<F>,
        buffer: Vec<Option<F>>,
    ) -> anyhow::Result<Option<Generated<'a>>> {
        let generators = &data.prover_only.generators;
        let mut partition = start(data, buffer);
        set_inputs(&mut partition, inputs)?;
        let mut traces = Vec::new();
        let mut generated = GeneratedValues::empty();
        for level in &self.levels {
            for g in &level.generators {
                let finished = generators[*g].0.run(&partition, &mut generated);
                for (target, value) in generated.target_values.drain(..) {
                    partition.set_target(target, value)?;
                }
                if !finished {
                    return Ok(None);
                }
            }
            let values = &partition.values;
            let first = traces.len();
            let one = |rows| trace(isa, rows, values);
            let computed: Option<Vec<_>> = match level.poseidon.len() {
                0..PARALLEL => level.poseidon.chunks(LANES).map(one).collect(),
                _ => level.poseidon.par_chunks(LANES).map(one).collect(),
            };
            let Some(computed) = computed else {
                return Ok(None);
            };
            traces.extend(computed);
            for (rows, trace) in level.poseidon.chunks(LANES).zip(&traces[first..]) {
                for (lane, row) in rows.iter().enumerate() {
                    for (cell, column) in row.cells[OUTPUT..].iter().zip(&trace[OUTPUT..OUTPUT + WIDTH]) {
                        let value = to_plonky(column[lane]);
                        let old = partition.values[*cell].replace(value);
                        if let Some(old) = old.filter(|old| *old != value) {
                            let row = row.row;
                            return Err(anyhow!("an output of Poseidon row {row} was set to {old} and {value}"));
                        }
                    }
                }
            }
        }
        let permutations = self.levels.iter().map(|level| level.poseidon.len()).sum();
        Ok(Some(Generated { partition, traces, permutations }))
    }
}

/// The wires of at most eight Poseidon rows, `None` if an input is missing. Lanes after the last row repeat it.
fn trace(isa: Isa, rows: &[PoseidonRow], values: &[Option<F>]) -> Option<[Row; WIRES]> {
    let mut given = [[Goldilocks::ZERO; LANES]; WIDTH + 1];
    for lane in 0..LANES {
        let row = &rows[lane.min(rows.len() - 1)];
        for (i, column) in given.iter_mut().enumerate() {
            let cell = if i < WIDTH { i } else { SWAP };
            column[lane] = from_plonky(values[row.cells[cell]]?);
        }
    }
    let mut wires = [[Goldilocks::ZERO; LANES]; WIRES];
    dispatch_on(isa, Trace { given: &given, wires: &mut wires });
    Some(wires)
}

/// The public inputs of a witness.
pub(super) fn public_inputs(
    data: &CircuitData<F, C, D>,
    partition: &PartitionWitness<'_, F>,
) -> anyhow::Result<Vec<F>> {
    let (wires, n) = (partition.num_wires, partition.degree);
    let value = |t: &Target| partition.values[partition.representative_map[t.index(wires, n)]];
    let all = data.prover_only.public_inputs.iter().enumerate();
    all.map(|(i, t)| value(t).ok_or_else(|| anyhow!("public input {i} is not set"))).collect()
}
