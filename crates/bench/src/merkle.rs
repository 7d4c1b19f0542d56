//! `merkle-poseidon`: a Poseidon Merkle tree over the rows of a matrix, all levels into one buffer, beside Plonky2's.

use std::time::Instant;

use evergrove_kernels::tree::merkle::{Poseidon, Shape, TreeHash, build};
use evergrove_primitives::hash::poseidon::lanes::{Matrix, Pairs, Sponge};
use evergrove_primitives::lanes::{Isa, available, dispatch_on};
use evergrove_primitives::{Digest, Goldilocks};
use plonky2::field::goldilocks_field::GoldilocksField;
use plonky2::field::types::{Field, PrimeField64};
use plonky2::hash::merkle_tree::MerkleTree;
use plonky2::hash::poseidon::PoseidonHash;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::turns::{Row, medians};

/// Runs of each implementation.
const RUNS: usize = 5;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Rows, as a power of two.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(0..=26))]
    log_size: u32,
    /// Field elements of a row.
    #[arg(long, default_value_t = 136, value_parser = clap::value_parser!(u32).range(1..=4096))]
    columns: u32,
    /// Threads.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// [`Poseidon`] on an instruction set that is not the best.
#[derive(Clone, Copy)]
struct PoseidonOn(Isa);

impl TreeHash for PoseidonOn {
    type Element = Goldilocks;
    type Digest = Digest;

    fn leaves(&self, rows: &[Goldilocks], width: usize, digests: &mut [Digest]) {
        if width <= 4 {
            return Poseidon.leaves(rows, width, digests);
        }
        dispatch_on(self.0, Sponge::new(Matrix::new(rows, width), Goldilocks::ZERO, digests));
    }
    fn nodes(&self, pairs: &[[Digest; 2]], digests: &mut [Digest]) {
        dispatch_on(self.0, Sponge::new(Pairs::new(pairs), Goldilocks::ZERO, digests));
    }
    fn leaf(&self, row: &[Goldilocks]) -> Digest {
        Poseidon.leaf(row)
    }
    fn node(&self, left: &Digest, right: &Digest) -> Digest {
        Poseidon.node(left, right)
    }
}

/// Makes the tree, and returns the seconds it took and the root.
type Run<'a> = Box<dyn FnMut() -> anyhow::Result<(f64, Digest)> + Send + 'a>;

fn ours<'a, H>(hash: H, shape: &'a Shape, rows: &'a [Goldilocks]) -> Run<'a>
where
    H: TreeHash<Element = Goldilocks, Digest = Digest> + Send + 'a,
{
    let mut nodes = vec![Digest::ZERO; shape.nodes()];
    Box::new(move || {
        let start = Instant::now();
        build(hash, shape, rows, &mut nodes)?;
        Ok((start.elapsed().as_secs_f64(), nodes[shape.nodes() - 1]))
    })
}

/// Plonky2 takes its leaves by value, as a vector of vectors: making them is not counted.
fn plonky2<'a>(shape: &'a Shape, rows: &'a [Goldilocks]) -> Run<'a> {
    Box::new(move || {
        let row = |row: &[Goldilocks]| row.iter().map(|x| GoldilocksField::from_canonical_u64(x.as_u64())).collect();
        let leaves: Vec<Vec<GoldilocksField>> = rows.chunks(shape.width()).map(row).collect();
        let start = Instant::now();
        let tree = MerkleTree::<GoldilocksField, PoseidonHash>::new(leaves, 0);
        let seconds = start.elapsed().as_secs_f64();
        Ok((seconds, Digest(tree.cap.0[0].elements.map(|x| Goldilocks::reduce(x.to_canonical_u64())))))
    })
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build_global()?;
    let shape = Shape::new(1 << args.log_size, args.columns as usize, 0)?;
    let mut rng = ChaCha8Rng::seed_from_u64(136);
    let elements = shape.rows() * shape.width();
    let rows: Vec<Goldilocks> = (0..elements).map(|_| Goldilocks::new(rng.gen_range(0..Goldilocks::ORDER))).collect();

    let mut runs =
        vec![("evergrove".to_owned(), ours(Poseidon, &shape, &rows)), ("plonky2".to_owned(), plonky2(&shape, &rows))];
    for isa in available().filter(|isa| [Isa::Portable, Isa::Avx2].contains(isa) && *isa != Isa::detect()) {
        runs.push((format!("evergrove-{isa}"), ours(PoseidonOn(isa), &shape, &rows)));
    }
    let medians = medians(runs.len(), RUNS, |k| rayon::scope(|_| runs[k].1()))?;

    let per_leaf = if shape.width() <= 4 { 0 } else { shape.width().div_ceil(8) };
    let permutations = (shape.rows() * (per_leaf + 1) - 1) as f64;
    for (k, ((name, _), seconds)) in runs.into_iter().zip(&medians).enumerate() {
        let mperm_per_second = permutations / seconds / 1e6;
        let row = Row {
            kernel: "merkle-poseidon",
            r#impl: name,
            size: shape.rows(),
            columns: Some(shape.width()),
            threads: args.threads,
            seconds: *seconds,
            ns_per_element: seconds * 1e9 / elements as f64,
            mperm_per_second: Some(mperm_per_second),
            ratio: (k > 0).then(|| seconds / medians[0]),
        };
        row.print(args.json, &format!("{mperm_per_second:.3} Mperm/s"))?;
    }
    Ok(())
}
