//! The prover of openings: commits to a stack of columns, and proves the sum of its columns' values at a point, times
//! powers of eta. [`argument`](evergrove_verifier::argument) checks it.
//!
//! **Weights.** The weight of a place of the stack is eq over the row within its block, times one factor for each
//! *chunk* of 512 places (a column of a block). So one pass over the stack computes the sum of each chunk, and the
//! rounds that bind the columns of the matrix work on chunks alone. A second pass folds the matrix, whose weights are
//! then again a product.
//!
//! **Queries** weigh c z^x at place x = hi 2^k + lo: for all of them together a product of two matrices, (c z^(hi 2^k)) and (z^lo).

mod kernels;

pub(crate) use kernels::{chunk_sums, sum_chunks};

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use evergrove_kernels::multilinear::mle::eq_table_vec;
pub use evergrove_kernels::oracle::Stage;
use evergrove_kernels::oracle::{Domain, Keep, Oracle, Workspace};
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::lanes::Isa;
use evergrove_primitives::{Digest, Goldilocks};

use crate::count::Count;
use crate::writer::Writer;
use evergrove_verifier::argument::transcript::Word;
use evergrove_verifier::argument::{Round, Schedule, tags};
use evergrove_verifier::key::chunk_weights;
use evergrove_verifier::tables::{BLOCK, BLOCK_LOG, Shape, Stack, Table, query};

/// A part of a commitment or of an opening that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A stage of an oracle. Oracle 0 is the commitment to the stack.
    Oracle(usize, Stage),
    /// A proof of work, and the numbers that had to be tried.
    Grinding(u64),
    /// All work between these.
    Products(Count),
}

/// The data that the openings of one schedule share: domains, and the memory of oracles, which is kept for the next
/// opening. New memory would be cleared page by page, which takes a tenth of a proof's time. There is as much memory as
/// the greatest number of simultaneous openings needs.
#[derive(Debug)]
pub struct Oracles {
    schedule: Schedule,
    domains: Vec<Arc<Domain>>,
    /// Of each oracle.
    kept: Vec<Mutex<Vec<Workspace>>>,
}

impl Oracles {
    /// For openings by this schedule.
    ///
    /// # Panics
    /// If a domain has more than 2^32 points.
    pub fn new(schedule: &Schedule) -> Self {
        let domain = |(i, round): (usize, &Round)| {
            let tag = if i == 0 { tags::BASE_ORACLE } else { tags::EXTENSION_ORACLE };
            let log = (schedule.depth(i) - round.rate) as u32;
            Arc::new(Domain::chained(log, round.rate as u32, tag).expect("a domain of at most 2^32 points"))
        };
        Self {
            schedule: schedule.clone(),
            domains: schedule.rounds.iter().enumerate().map(domain).collect(),
            kept: schedule.rounds.iter().map(|_| Mutex::default()).collect(),
        }
    }

    /// Oracle i, of columns of coefficients.
    fn oracle(&self, i: usize, columns: &[&[Goldilocks]], ended: &mut dyn FnMut(Step)) -> Oracle {
        let kept = self.kept[i].lock().unwrap_or_else(PoisonError::into_inner).pop();
        let cap = self.schedule.rounds[i].cap as u32;
        kept.map_or_else(|| Workspace::new(Arc::clone(&self.domains[i]), columns.len(), cap, Keep::Values), Ok)
            .and_then(|workspace| {
                workspace.commit_coefficients_observed(columns, &mut |stage| ended(Step::Oracle(i, stage)))
            })
            .expect("columns of the domain's size")
    }

    fn keep(&self, i: usize, oracle: Oracle) {
        self.kept[i].lock().unwrap_or_else(PoisonError::into_inner).push(oracle.into_workspace());
    }
}

/// A committed stack.
#[derive(Debug)]
pub struct Commitment<'a> {
    oracles: &'a Oracles,
    stack: &'a Stack,
    elements: &'a [Goldilocks],
    oracle: Oracle,
}

/// A commitment in a transcript, and the points outside the domain at which it was sampled.
#[derive(Debug)]
pub struct Sent<'a, K> {
    commitment: Commitment<'a>,
    /// For each sample the point, and the sums of chunks with its powers within a block.
    samples: Vec<(K, Vec<K>)>,
}

/// Commits to the elements of a stack, in the order of places. [`Commitment::send`] puts the cap into a transcript.
///
/// # Panics
/// Unless the number of elements is that of the stack, with at most [`Schedule::width`] columns.
pub fn commit<'a>(oracles: &'a Oracles, stack: &'a Stack, elements: &'a [Goldilocks]) -> Commitment<'a> {
    commit_observed(oracles, stack, elements, &mut |_| ())
}

/// [`commit`] that reports the end of each stage.
///
/// # Panics
/// As [`commit`].
pub fn commit_observed<'a>(
    oracles: &'a Oracles,
    stack: &'a Stack,
    elements: &'a [Goldilocks],
    ended: &mut dyn FnMut(Step),
) -> Commitment<'a> {
    assert_eq!(elements.len(), stack.elements(), "the elements of the stack");
    let schedule = &oracles.schedule;
    let rows = 1 << (schedule.variables - schedule.rounds[0].fold);
    assert!(elements.len() <= rows * schedule.width, "{} columns of {rows} places", schedule.width);
    let zeros = vec![Goldilocks::ZERO; rows];
    let (whole, rest) = elements.split_at(elements.len() / rows * rows);
    let last: Vec<Goldilocks> = rest.iter().copied().chain(zeros.iter().copied()).take(rows).collect();
    let columns = whole.chunks_exact(rows).chain([&last[..]]).chain(core::iter::repeat(&zeros[..]));
    let columns: Vec<&[Goldilocks]> = columns.take(schedule.width).collect();
    Commitment { oracles, stack, elements, oracle: oracles.oracle(0, &columns, ended) }
}

fn words(digests: &[Digest]) -> Vec<Word> {
    digests.iter().map(|digest| digest.0).collect()
}

impl<'a> Commitment<'a> {
    /// Puts the cap into the transcript, and the values at points outside the domain.
    pub fn send<K: Extension>(self, writer: &mut Writer<K>) -> Sent<'a, K> {
        writer.send_words(&words(self.oracle.cap()));
        let samples = (0..self.oracles.schedule.rounds[0].samples)
            .map(|_| {
                let z = writer.challenge();
                let sums = chunk_sums(Isa::detect(), self.elements, &powers(K::ONE, z, BLOCK));
                writer.send(&[value(&sums, z.pow(BLOCK as u64))]);
                (z, sums)
            })
            .collect();
        Sent { commitment: self, samples }
    }
}

/// first, first z, first z^2, ...
fn powers<K: Extension>(first: K, z: K, count: usize) -> Vec<K> {
    core::iter::successors(Some(first), |&power| Some(power * z)).take(count).collect()
}

/// The value at z of the polynomial with these coefficients.
fn value<K: Extension>(coefficients: &[K], z: K) -> K {
    coefficients.iter().rev().fold(K::ZERO, |sum, &c| sum * z + c)
}

/// The columns of an oracle of extension elements: `count` for each coordinate.
fn columns_of(coordinates: &[Vec<Goldilocks>], count: usize) -> Vec<&[Goldilocks]> {
    let rows = coordinates[0].len() / count;
    (0..count).flat_map(|c| coordinates.iter().map(move |part| &part[c * rows..(c + 1) * rows])).collect()
}

/// The weights of rows: a sum of products of a chunk's weight and a weight within the block.
fn row_weights<'a, K: Extension>(rows: usize, factors: impl Iterator<Item = (&'a [K], &'a [K])>) -> Vec<K> {
    let mut weights = vec![K::ZERO; rows];
    for (chunks, block) in factors {
        for (weights, &chunk) in weights.chunks_exact_mut(BLOCK).zip(chunks) {
            for (weight, &row) in weights.iter_mut().zip(block) {
                *weight += chunk * row;
            }
        }
    }
    weights
}

impl<K: Extension> Sent<'_, K> {
    /// For each chunk of the stack its sum with eq of the row's variables, for the rows of a point: the columns' values
    /// at the point are sums of these.
    ///
    /// # Panics
    /// If the point has too few coordinates.
    pub fn sums(&self, point: &[K]) -> Vec<K> {
        let within = eq_table_vec(&point[..BLOCK_LOG]).expect("few coordinates");
        chunk_sums(Isa::detect(), self.commitment.elements, &within)
    }

    /// Proves the sum over columns c of eta^c times the column's value at `point`, where the numbers of columns count
    /// the room of all pieces. `sums` are those of the point, `shapes` the heights of the tables.
    ///
    /// The transcript must have absorbed the cap and everything that point, eta and the claim depend on.
    ///
    /// # Panics
    /// If a table of the stack has no height, or the point too few coordinates.
    pub fn open(
        self,
        shapes: impl Fn(Table) -> Option<Shape>,
        point: &[K],
        eta: K,
        sums: Vec<K>,
        writer: &mut Writer<K>,
    ) {
        self.open_observed(shapes, point, eta, sums, writer, &mut |_| ());
    }

    /// [`Sent::open`] that reports the end of each part; parts follow each other without a gap.
    ///
    /// # Panics
    /// As [`Sent::open`].
    pub fn open_observed(
        self,
        shapes: impl Fn(Table) -> Option<Shape>,
        point: &[K],
        eta: K,
        sums: Vec<K>,
        writer: &mut Writer<K>,
        ended: &mut dyn FnMut(Step),
    ) {
        let Commitment { oracles, stack, oracle, .. } = self.commitment;
        let schedule = &oracles.schedule;
        let tables = schedule.tables();
        let within = eq_table_vec(&point[..BLOCK_LOG]).expect("few coordinates");
        let chunks = chunk_weights(1 << (schedule.variables - BLOCK_LOG), stack, shapes, point, eta);

        // The rounds over columns, on sums of chunks.
        let isa = Isa::detect();
        let count = chunks.len();
        let mut sums = vec![(sums, chunks)];
        let mut blocks = vec![within];
        if !self.samples.is_empty() {
            let joining = writer.challenge();
            let mut power = joining;
            for (z, sum) in self.samples {
                sums.push((sum, powers(power, z.pow(BLOCK as u64), count)));
                blocks.push(powers(K::ONE, z, BLOCK));
                power *= joining;
            }
        }
        for (sum, _) in &mut sums {
            sum.resize(count, K::ZERO);
        }
        let mut challenges = Vec::with_capacity(schedule.rounds[0].fold);
        for _ in 0..schedule.rounds[0].fold {
            challenges.push(sum_round(writer, &mut sums));
        }
        challenges.reverse();
        let mut work = Count::sum_rounds::<K>(sums.len(), count, challenges.len())
            + Count::fold::<K>(1 << tables[1], schedule.width, sums.len());
        let columns = eq_table_vec(&challenges).expect("few coordinates");
        let f = kernels::fold(isa, &oracle, &columns[..schedule.width]);
        let weights =
            row_weights(f.len(), sums.iter().zip(&blocks).map(|((_, chunks), block)| (&chunks[..], &block[..])));
        let mut sum = [(f, weights)];
        let mut asked = oracle;

        for (i, round) in schedule.rounds.iter().enumerate() {
            let [(f, weights)] = &mut sum;
            let mut joined = Vec::new();
            let next = if let Some(next) = schedule.rounds.get(i + 1) {
                let coefficients: Vec<Vec<Goldilocks>> =
                    (0..K::DEGREE).map(|d| f.iter().map(|x| x.as_ref()[d]).collect()).collect();
                let columns = columns_of(&coefficients, 1 << next.fold);
                ended(Step::Products(core::mem::take(&mut work)));
                let oracle = oracles.oracle(i + 1, &columns, ended);
                writer.send_words(&words(oracle.cap()));
                for _ in 0..next.samples {
                    let z = writer.challenge();
                    writer.send(&[value(f, z)]);
                    joined.push(z);
                }
                Some(oracle)
            } else {
                writer.send(f);
                None
            };
            work += Count::samples::<K>(joined.len(), f.len());
            ended(Step::Products(core::mem::take(&mut work)));
            ended(Step::Grinding(writer.work(round.grinding)));
            let indices = writer.indices(round.queries, schedule.depth(i));
            let joining = writer.challenge();
            open_leaves(writer, &asked, &indices);
            let mut power = K::ONE;
            for z in joined {
                power *= joining;
                for (weight, x) in weights.iter_mut().zip(powers(power, z, 1 << tables[i + 1])) {
                    *weight += x;
                }
            }
            let queries: Vec<(K, Goldilocks)> = indices
                .iter()
                .map(|&index| {
                    power *= joining;
                    (power, query::point(index))
                })
                .collect();
            work += Count::queries::<K>(queries.len(), weights.len());
            kernels::add_queries(isa, &queries, weights);
            if let Some(next) = next {
                oracles.keep(i, core::mem::replace(&mut asked, next));
            }
            let rounds = schedule.rounds.get(i + 1).map_or(tables[i + 1], |next| next.fold);
            work += Count::sum_rounds::<K>(1, 1 << tables[i + 1], rounds);
            for _ in 0..rounds {
                sum_round(writer, &mut sum);
            }
        }
        oracles.keep(schedule.rounds.len() - 1, asked);
        ended(Step::Products(work));
    }
}

/// Leaves, with siblings up to the cap or to a node on an earlier path.
fn open_leaves<K: Extension>(writer: &mut Writer<K>, oracle: &Oracle, indices: &[u64]) {
    let mut row = vec![Goldilocks::ZERO; oracle.columns()];
    let mut seen = BTreeSet::new();
    for &index in indices {
        let mut at = index as usize;
        oracle.row(at, &mut row).expect("a leaf");
        writer.data(&row);
        for (level, sibling) in oracle.path(at).expect("a leaf").enumerate() {
            if !seen.insert((level, at / 2)) {
                break;
            }
            writer.data(&sibling.0);
            at /= 2;
        }
    }
}

/// Binds the highest variable of sums of products of two tables: the message is c_1, c_2 of their polynomial.
pub(crate) fn sum_round<K: Extension>(writer: &mut Writer<K>, tables: &mut [(Vec<K>, Vec<K>)]) -> K {
    let isa = Isa::detect();
    let [mut zero, mut one, mut square] = [K::ZERO; 3];
    for (f, weights) in &*tables {
        let [a, b, c] = kernels::products(isa, f, weights);
        zero += a;
        one += b;
        square += c;
    }
    writer.send(&[one - zero - square, square]);
    let r = writer.challenge();
    for table in tables.iter_mut().flat_map(|(f, weights)| [f, weights]) {
        kernels::bind(isa, table, r);
    }
    r
}
