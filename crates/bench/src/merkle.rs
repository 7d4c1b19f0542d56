//! `merkle-poseidon` builds a Poseidon Merkle tree over the rows of a matrix, compared with its peers, or from a
//! stream.

use std::sync::Mutex;
use std::time::Instant;

use anyhow::{anyhow, bail};
use clap::ValueEnum;
use evergrove_kernels::merkle::{Arity, On, Polygon, Poseidon, Shape, Stream, TreeHash, Workspace, build, update};
use evergrove_primitives::lanes::{Isa, available};
use evergrove_primitives::{Digest, Goldilocks};
use plonky2::field::goldilocks_field::GoldilocksField;
use plonky2::field::types::{Field, PrimeField64};
use plonky2::hash::merkle_tree::MerkleTree;
use plonky2::hash::poseidon::PoseidonHash;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::p3;
use crate::turns::{Row, medians};

/// Runs of each implementation.
const RUNS: usize = 5;
/// Rows per piece of a stream.
const PIECE: usize = 1 << 14;
/// The peer of the article on Poseidon hardware: log2 of the rows, columns (130, padded to 136), virtual CPUs, seconds.
const PUBLISHED: (u32, usize, u32, f64) = (24, 136, 128, 8.49);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Rows, as a power of two: 16, or 24 with --stream.
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=30))]
    log_size: Option<u32>,
    /// Field elements of a row.
    #[arg(long, default_value_t = 136, value_parser = clap::value_parser!(u32).range(1..=4096))]
    columns: u32,
    /// Which sponge hashes the rows.
    #[arg(long, default_value = "plonky2")]
    convention: Convention,
    /// The root alone, of rows that are never all there; ours alone, beside a published figure.
    #[arg(long)]
    stream: bool,
    /// Change this many rows of a finished tree, in even distances, beside a new tree; ours alone.
    #[arg(long, conflicts_with = "stream", value_parser = clap::value_parser!(u32).range(1..))]
    update: Option<u32>,
    /// Our instruction set: portable, avx2, avx512 or avx512ifma. The best by default.
    #[arg(long, value_parser = parse_isa)]
    isa: Option<Isa>,
    /// Ours alone on one instruction set, without peers: for sizes at which they take minutes.
    #[arg(long)]
    no_peers: bool,
    /// Threads.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Convention {
    /// Blocks overwrite the rate.
    Plonky2,
    /// Polygon zkEVM: a chained capacity, blocks filled up with zeros.
    Polygon,
}

/// An instruction set of this CPU, by its name.
pub(crate) fn parse_isa(name: &str) -> Result<Isa, String> {
    available().find(|isa| isa.to_string() == name).ok_or_else(|| {
        let names: Vec<String> = available().map(|isa| isa.to_string()).collect();
        format!("this CPU has {}", names.join(", "))
    })
}

impl TreeHash for Convention {
    type Element = Goldilocks;
    type Digest = Digest;

    fn leaf(&self, row: &[Goldilocks]) -> Digest {
        match self {
            Self::Plonky2 => Poseidon.leaf(row),
            Self::Polygon => Polygon.leaf(row),
        }
    }
    fn node(&self, children: &[Digest]) -> Digest {
        match self {
            Self::Plonky2 => Poseidon.node(children),
            Self::Polygon => Polygon.node(children),
        }
    }
    fn leaves_on(&self, isa: Isa, rows: &[Goldilocks], width: usize, digests: &mut [Digest]) {
        match self {
            Self::Plonky2 => Poseidon.leaves_on(isa, rows, width, digests),
            Self::Polygon => Polygon.leaves_on(isa, rows, width, digests),
        }
    }
    fn nodes_on(&self, isa: Isa, children: &[Digest], arity: usize, digests: &mut [Digest]) {
        match self {
            Self::Plonky2 => Poseidon.nodes_on(isa, children, arity, digests),
            Self::Polygon => Polygon.nodes_on(isa, children, arity, digests),
        }
    }
}

/// Builds the tree. Returns the seconds, and the root or `None` if another hash was used.
type Run<'a> = Box<dyn FnMut() -> anyhow::Result<(f64, Option<Digest>)> + Send + 'a>;

/// Builds our tree. All of our runs write to the same `nodes`.
fn ours<'a>(hash: On<Convention>, shape: &'a Shape, rows: &'a [Goldilocks], nodes: &'a Mutex<Vec<Digest>>) -> Run<'a> {
    Box::new(move || {
        let nodes = &mut *nodes.lock().map_err(|_| anyhow!("a run before this one has failed"))?;
        let start = Instant::now();
        build(hash, shape, rows, nodes)?;
        Ok((start.elapsed().as_secs_f64(), Some(nodes[shape.nodes() - 1])))
    })
}

/// Plonky2's tree. It takes its leaves by value, as a vector of vectors; making them is not counted.
fn plonky2<'a>(shape: &'a Shape, rows: &'a [Goldilocks]) -> Run<'a> {
    Box::new(move || {
        let row = |row: &[Goldilocks]| row.iter().map(|x| GoldilocksField::from_canonical_u64(x.as_u64())).collect();
        let leaves: Vec<Vec<GoldilocksField>> = rows.chunks(shape.width()).map(row).collect();
        let start = Instant::now();
        let tree = MerkleTree::<GoldilocksField, PoseidonHash>::new(leaves, 0);
        let seconds = start.elapsed().as_secs_f64();
        let root = tree.cap.0[0].elements.map(|x| Goldilocks::reduce(x.to_canonical_u64()));
        Ok((seconds, Some(Digest(root))))
    })
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build_global()?;
    let best = On(args.isa.unwrap_or_else(Isa::detect), args.convention);
    let name = match args.isa {
        None => "evergrove".to_owned(),
        Some(isa) => format!("evergrove-{isa}"),
    };
    if args.stream {
        return stream(args, best, name);
    }
    let log_size = args.log_size.unwrap_or(16);
    if log_size > 26 {
        bail!("2^{log_size} rows at once: the most is 2^26; use --stream");
    }
    let shape = Shape::new(1 << log_size, args.columns as usize, 0)?;
    let mut rng = ChaCha8Rng::seed_from_u64(136);
    let elements = shape.rows() * shape.width();
    let rows: Vec<Goldilocks> = (0..elements).map(|_| Goldilocks::new(rng.gen_range(0..Goldilocks::ORDER))).collect();

    if let Some(changed) = args.update {
        return updated(args, best, name, &shape, rows, changed as usize);
    }
    let nodes = Mutex::new(vec![Digest::ZERO; shape.nodes()]);
    let mut runs = vec![(name, ours(best, &shape, &rows, &nodes))];
    // The two conventions agree on rows of one block.
    if !args.no_peers && (args.convention == Convention::Plonky2 || shape.width() <= 8) {
        runs.push(("plonky2".to_owned(), plonky2(&shape, &rows)));
    }
    if !args.no_peers && args.isa.is_none() {
        for isa in available().filter(|isa| *isa != Isa::detect()) {
            runs.push((format!("evergrove-{isa}"), ours(On(isa, args.convention), &shape, &rows, &nodes)));
        }
    }
    if !args.no_peers {
        let p3: Run<'_> = Box::new(|| Ok((p3::poseidon_tree(&rows, shape.width())?, None)));
        runs.push(("p3-poseidon1".to_owned(), p3));
    }

    // A run without a comparable root counts as agreeing with the first.
    let mut root = None;
    let medians = medians(runs.len(), RUNS, |k| {
        let (seconds, found) = rayon::scope(|_| runs[k].1())?;
        root = root.or(found);
        Ok((seconds, found.or(root)))
    })?;
    for (k, ((name, _), seconds)) in runs.into_iter().zip(&medians).enumerate() {
        let ratio = (k > 0).then(|| seconds / medians[0]);
        print(args, name, log_size, shape.width(), args.threads, *seconds, ratio)?;
    }
    Ok(())
}

/// A tree some of whose rows change, beside the tree of the new rows.
fn updated(
    args: &Args,
    hash: On<Convention>,
    name: String,
    shape: &Shape,
    mut rows: Vec<Goldilocks>,
    changed: usize,
) -> anyhow::Result<()> {
    let width = shape.width();
    if changed > shape.rows() {
        bail!("{changed} changed rows: there are {}", shape.rows());
    }
    let indices: Vec<usize> = (0..changed).map(|i| i * shape.rows() / changed).collect();
    let mut work = Workspace::default();
    let (mut nodes, mut built) = (vec![Digest::ZERO; shape.nodes()], vec![Digest::ZERO; shape.nodes()]);
    build(hash, shape, &rows, &mut nodes)?;
    // Each turn changes the rows again. Both ways must end in the same root.
    let medians = medians(2, RUNS, |k| {
        if k == 0 {
            indices.iter().for_each(|index| rows[index * width] += Goldilocks::ONE);
        }
        let new: Vec<_> = indices.iter().flat_map(|index| &rows[index * width..][..width]).copied().collect();
        let (tree, start) = (if k == 0 { &mut nodes } else { &mut built }, Instant::now());
        rayon::scope(|_| match k {
            0 => update(hash, shape, tree, &indices, &new, &mut work).map(drop),
            _ => build(hash, shape, &rows, tree),
        })?;
        Ok((start.elapsed().as_secs_f64(), tree[shape.nodes() - 1]))
    })?;
    let names = [(format!("{name}-update"), changed), (name, shape.rows())];
    for (k, ((name, size), seconds)) in names.into_iter().zip(&medians).enumerate() {
        let seconds = *seconds;
        let row = Row {
            kernel: "merkle-update",
            r#impl: name,
            size,
            columns: Some(width),
            threads: args.threads,
            seconds,
            ns_per_element: seconds * 1e9 / (size * width) as f64,
            mperm_per_second: None,
            ratio: (k > 0).then(|| seconds / medians[0]),
        };
        row.print(args.json, &format!("{size} of {} rows", shape.rows()))?;
    }
    Ok(())
}

/// The root of rows that are made one piece at a time; making them is not counted.
fn stream(args: &Args, hash: On<Convention>, name: String) -> anyhow::Result<()> {
    let log_size = args.log_size.unwrap_or(24);
    let shape = Shape::padded(1 << log_size, args.columns as usize, Arity::Two, 0)?;
    let mut rng = ChaCha8Rng::seed_from_u64(130);
    let width = shape.width();
    let mut piece: Vec<Goldilocks> =
        (0..PIECE.min(shape.rows()) * width).map(|_| Goldilocks::new(rng.gen_range(0..Goldilocks::ORDER))).collect();
    let mut stream = Stream::new(hash, &shape);
    let mut seconds = 0.0;
    while stream.rows() < shape.rows() {
        // Every row differs from all earlier rows in its first column.
        for (row, elements) in (stream.rows() as u64..).zip(piece.chunks_mut(width)) {
            elements[0] = Goldilocks::new(row);
        }
        let start = Instant::now();
        rayon::scope(|_| stream.push(&piece))?;
        seconds += start.elapsed().as_secs_f64();
    }
    let start = Instant::now();
    let root = stream.finish()?[0];
    seconds += start.elapsed().as_secs_f64();
    if !args.json {
        println!("root {root}");
    }
    print(args, name, log_size, width, args.threads, seconds, None)?;
    // The ratio is of times per permutation and thread, since the sizes differ.
    let (published_log, published_width, cpus, published) = PUBLISHED;
    let of =
        |log: u32, width: usize, threads: u32, seconds: f64| seconds * f64::from(threads) / permutations(log, width);
    let ratio = of(published_log, published_width, cpus, published) / of(log_size, width, args.threads, seconds);
    print(args, "published-128-vcpu".to_owned(), published_log, published_width, cpus, published, Some(ratio))
}

/// Permutations in a binary tree.
fn permutations(log_size: u32, width: usize) -> f64 {
    let per_leaf = if width <= 4 { 0 } else { width.div_ceil(8) };
    ((per_leaf + 1) as f64) * f64::from(log_size).exp2() - 1.0
}

fn print(
    args: &Args,
    name: String,
    log_size: u32,
    width: usize,
    threads: u32,
    seconds: f64,
    ratio: Option<f64>,
) -> anyhow::Result<()> {
    let mperm_per_second = permutations(log_size, width) / seconds / 1e6;
    let size = 1_usize << log_size;
    let row = Row {
        kernel: match (args.convention, args.stream) {
            (Convention::Plonky2, false) => "merkle-poseidon",
            (Convention::Plonky2, true) => "merkle-poseidon-stream",
            (Convention::Polygon, false) => "merkle-polygon",
            (Convention::Polygon, true) => "merkle-polygon-stream",
        },
        r#impl: name,
        size,
        columns: Some(width),
        threads,
        seconds,
        ns_per_element: seconds * 1e9 / (size * width) as f64,
        mperm_per_second: Some(mperm_per_second),
        ratio,
    };
    let per_thread = mperm_per_second / f64::from(threads);
    row.print(args.json, &format!("{mperm_per_second:.3} Mperm/s, {per_thread:.3} a thread"))
}
