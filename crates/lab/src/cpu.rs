//! The tree unit's workloads on this CPU: our kernels, and the textbook algorithms that the MTU paper's baseline uses,
//! with SHA3 by the library `sha3`. Both run on all threads.
//!
//! This module does not read a clock: [`Baseline::measure`] takes the caller's.

use std::hint::black_box;

use ark_bls12_381::Fr;
use ark_ff::AdditiveGroup;
use evergrove_kernels::merkle::{Keccak, Shape, build};
use evergrove_kernels::multilinear::mle::{self, reference};
use evergrove_primitives::hash::keccak::Function;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha3::{Digest, Sha3_256};

use crate::mtu::Workload;

/// The code to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// `evergrove-kernels`.
    Kernels,
    /// A new vector for each level, one element at a time, as in HyperPlonk's library; SHA3 by the library `sha3`.
    Textbook,
}

impl Code {
    /// The name that reports print.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernels => "our kernels",
            Self::Textbook => "textbook",
        }
    }
}

/// Inputs and buffers for all workloads of one size.
#[derive(Debug)]
pub struct Workbench {
    values: Vec<Fr>,
    point: Vec<Fr>,
    out: Vec<Fr>,
    scratch: Vec<Fr>,
    rows: Vec<u8>,
    digests: Vec<[u8; 32]>,
    shape: Shape,
}

/// Bytes of a leaf's row: a pair of digests.
const ROW: usize = 64;

impl Workbench {
    /// Inputs for 2^`log_size` leaves, at most 2^26.
    ///
    /// # Panics
    /// If `log_size` is more than 26.
    pub fn new(log_size: u32) -> Self {
        assert!(log_size <= 26, "a tree of 2^{log_size} leaves");
        let n = 1_usize << log_size;
        let mut x = Fr::from(3_u64);
        let mut next = || {
            x = x * x + Fr::from(7_u64);
            x
        };
        let values: Vec<Fr> = (0..n).map(|_| next()).collect();
        let point: Vec<Fr> = (0..log_size).map(|_| next()).collect();
        let shape = Shape::new(n / 2, ROW, 0).unwrap_or_else(|e| unreachable!("half the leaves are rows: {e}"));
        Self {
            scratch: vec![Fr::ZERO; mle::evaluate_scratch(log_size as usize)],
            out: vec![Fr::ZERO; n],
            rows: (0..n * ROW / 2).map(|i| ((i * 31) >> 3) as u8).collect(),
            digests: vec![[0; 32]; shape.nodes()],
            values,
            point,
            shape,
        }
    }
    /// Computes a workload on the rayon pool of the caller. Returns one word of the result; both codes return the same
    /// word.
    pub fn run(&mut self, workload: Workload, code: Code) -> u64 {
        let word = |x: Fr| x.0.0[0];
        match (workload, code) {
            (Workload::BuildMle, Code::Kernels) => {
                mle::eq_table(&self.point, &mut self.out).unwrap_or_else(|e| unreachable!("lengths agree: {e}"));
                word(self.out[self.out.len() / 3])
            }
            (Workload::BuildMle, Code::Textbook) => {
                let table = reference::eq_table(&self.point);
                word(table[table.len() / 3])
            }
            (Workload::MleEvaluation, Code::Kernels) => {
                let value = mle::evaluate(&self.values, &self.point, &mut self.scratch);
                word(value.unwrap_or_else(|e| unreachable!("lengths agree: {e}")))
            }
            (Workload::MleEvaluation, Code::Textbook) => word(reference::evaluate(&self.values, &self.point)),
            (Workload::MultiplicationTree, Code::Kernels) => word(mle::product(&self.values)),
            (Workload::MultiplicationTree, Code::Textbook) => word(reference::product(&self.values)),
            (Workload::ProductMle, Code::Kernels) => {
                mle::product_table(&self.values, &mut self.out).unwrap_or_else(|e| unreachable!("lengths agree: {e}"));
                word(self.out[self.out.len() - 2])
            }
            (Workload::ProductMle, Code::Textbook) => {
                let table = product_table(&self.values);
                word(table[table.len() - 2])
            }
            (Workload::MerkleTree, Code::Kernels) => {
                let hash = Keccak(Function::Sha3_256);
                build(hash, &self.shape, &self.rows, &mut self.digests)
                    .unwrap_or_else(|e| unreachable!("sizes agree: {e}"));
                root(&self.digests)
            }
            (Workload::MerkleTree, Code::Textbook) => {
                let hash = |row: &[u8]| -> [u8; 32] { Sha3_256::digest(row).into() };
                let mut level: Vec<[u8; 32]> = self.rows.par_chunks(ROW).map(hash).collect();
                while level.len() > 1 {
                    level = level.par_chunks(2).map(|pair| hash(pair.as_flattened())).collect();
                }
                root(&level)
            }
        }
    }
}

/// [`reference::product_table`] level by level, since that of HyperPlonk's library uses one thread.
fn product_table(values: &[Fr]) -> Vec<Fr> {
    let mut table = Vec::with_capacity(values.len());
    let mut level: Vec<Fr> = values.to_vec();
    while level.len() > 1 {
        level = level.par_chunks(2).map(|pair| pair[0] * pair[1]).collect();
        table.extend_from_slice(&level);
    }
    table.push(Fr::ZERO);
    table
}

fn root(level: &[[u8; 32]]) -> u64 {
    let last = level.last().copied().unwrap_or_default();
    last.iter().take(8).fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Seconds of one workload by threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The workload.
    pub workload: Workload,
    /// The code.
    pub code: Code,
    /// Numbers of threads, from one up to all cores, and their seconds.
    pub seconds: Vec<(u32, f64)>,
}

/// All measurements of one machine, for one size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// log2 of the leaves.
    pub log_size: u32,
    /// The measured machine and method, in one sentence.
    pub conditions: String,
    /// The measurements.
    pub rows: Vec<Measured>,
}

/// Runs of each measurement. The least time counts, because other work on the machine can only add time.
const RUNS: u32 = 3;

impl Baseline {
    /// Times the workloads of the figures with one thread, each power of two below `cores`, and all of these. `clock`
    /// returns seconds.
    ///
    /// # Errors
    /// If a thread pool cannot start.
    pub fn measure(log_size: u32, cores: usize, clock: impl Fn() -> f64) -> Result<Self, rayon::ThreadPoolBuildError> {
        let powers = std::iter::successors(Some(1), |threads| Some(2 * threads));
        let counts: Vec<usize> = powers.take_while(|threads| *threads < cores).chain([cores.max(1)]).collect();
        let pool = |threads: &usize| rayon::ThreadPoolBuilder::new().num_threads(*threads).build();
        let pools: Vec<rayon::ThreadPool> = counts.iter().map(pool).collect::<Result<_, _>>()?;
        let mut bench = Workbench::new(log_size);
        let mut rows = Vec::new();
        for workload in Workload::FIGURES {
            for code in [Code::Kernels, Code::Textbook] {
                let mut best = vec![f64::INFINITY; pools.len()];
                for _ in 0..RUNS {
                    for (best, pool) in best.iter_mut().zip(&pools) {
                        let start = clock();
                        black_box(pool.install(|| bench.run(workload, code)));
                        *best = best.min(clock() - start);
                    }
                }
                let seconds = counts.iter().map(|threads| *threads as u32).zip(best).collect();
                rows.push(Measured { workload, code, seconds });
            }
        }
        let conditions = format!(
            "CPU: 2^{log_size} leaves on this machine, least of {RUNS} runs on 1 to {cores} threads, all cores; more threads by Amdahl's law. Other work on the machine makes it slower."
        );
        Ok(Self { log_size, conditions, rows })
    }
    fn row(&self, workload: Workload, code: Code) -> Option<&Measured> {
        self.rows.iter().find(|row| row.workload == workload && row.code == code)
    }
    /// All cores of the machine; 1 without measurements.
    pub fn cores(&self) -> u32 {
        self.rows.first().and_then(|row| row.seconds.last()).map_or(1, |(threads, _)| *threads)
    }
    /// Whether the time with `threads` threads was measured.
    pub fn is_measured(&self, threads: u32) -> bool {
        self.rows.iter().any(|row| row.seconds.iter().any(|(measured, _)| *measured == threads))
    }
    /// Seconds with `threads` threads: measured, or by Amdahl's law from one thread and all cores.
    pub fn seconds(&self, workload: Workload, code: Code, threads: u32) -> Option<f64> {
        let times = &self.row(workload, code)?.seconds;
        if let Some((_, seconds)) = times.iter().find(|(measured, _)| *measured == threads) {
            return Some(*seconds);
        }
        let ((_, one), (cores, all)) = (*times.first()?, *times.last()?);
        // one = serial + parallel, all = serial + parallel / cores.
        let share = 1.0 - f64::from(cores.max(2)).recip();
        let parallel = ((one - all) / share).clamp(0.0, one);
        Some(one - parallel + parallel / f64::from(threads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_codes_compute_the_same() {
        let mut bench = Workbench::new(10);
        for workload in Workload::ALL {
            assert_eq!(bench.run(workload, Code::Kernels), bench.run(workload, Code::Textbook), "{}", workload.name());
        }
    }

    #[test]
    fn a_baseline_has_the_clocks_times() {
        // Each call advances the clock by one second, so every run takes one second.
        let ticks = std::cell::Cell::new(0.0);
        let clock = || ticks.replace(ticks.get() + 1.0);
        let baseline = Baseline::measure(6, 3, clock).expect("threads");
        let times = [(1, 1.0), (2, 1.0), (3, 1.0)];
        assert!(baseline.rows.len() == 8 && baseline.rows.iter().all(|row| row.seconds == times));
        assert!(baseline.cores() == 3 && baseline.is_measured(2) && !baseline.is_measured(4));
        let one = Baseline::measure(6, 1, || ticks.replace(ticks.get() + 1.0)).expect("threads");
        assert!(one.cores() == 1 && one.seconds(Workload::BuildMle, Code::Kernels, 8) == Some(1.0));
    }

    #[test]
    fn threads_beyond_the_cores_follow_amdahl() {
        let seconds = vec![(1, 1.0), (2, 0.6)];
        let row = Measured { workload: Workload::BuildMle, code: Code::Kernels, seconds };
        let baseline = Baseline { log_size: 20, conditions: String::new(), rows: vec![row] };
        let at = |threads| baseline.seconds(Workload::BuildMle, Code::Kernels, threads).expect("measured");
        assert!((at(4) - 0.4).abs() < 1e-12 && (at(1) - 1.0).abs() < 1e-12 && (at(32) - 0.225).abs() < 1e-12);
        assert_eq!(baseline.seconds(Workload::ProductMle, Code::Kernels, 1), None);
    }

    #[test]
    fn product_tables_are_those_of_the_textbook() {
        let bench = Workbench::new(6);
        assert_eq!(product_table(&bench.values), reference::product_table(&bench.values));
    }
}
