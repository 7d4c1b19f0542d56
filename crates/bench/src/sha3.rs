//! `merkle-sha3` builds a SHA3-256 Merkle tree over leaves of 64 bytes, with all levels in one buffer, with our code
//! and with other libraries.

use std::time::Instant;

use evergrove_kernels::merkle::{Keccak, On, Shape, build};
use evergrove_primitives::hash::keccak::{Function, NODE_BYTES};
use evergrove_primitives::lanes::{Isa, available};
use rayon::prelude::*;

use crate::merkle::parse_isa;
use crate::p3;
use crate::turns::{Row, medians};

type Node = [u8; 32];
type Leaf = [u8; NODE_BYTES];

/// Nodes that a thread of a peer's tree hashes at a time.
const CHUNK: usize = 1024;
/// Runs of each implementation.
const RUNS: usize = 7;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leaves, as a power of two.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=26))]
    log_size: u32,
    /// Our instruction set: portable, avx2, avx512 or avx512ifma. The best by default.
    #[arg(long, value_parser = parse_isa)]
    isa: Option<Isa>,
    /// Threads.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// Hashes messages of [`NODE_BYTES`], one digest each.
type HashNodes = Box<dyn Fn(&[u8], &mut [Node]) + Sync>;

fn one_by_one(hash: impl Fn(&[u8]) -> Node + Sync + 'static) -> HashNodes {
    Box::new(move |messages, digests| {
        for (message, digest) in messages.chunks_exact(NODE_BYTES).zip(digests) {
            *digest = hash(message);
        }
    })
}

/// The other libraries' functions.
fn peers() -> Vec<(String, HashNodes)> {
    use sha3::Digest;

    vec![
        ("sha3".to_owned(), one_by_one(|message| sha3::Sha3_256::digest(message).into())),
        ("keccak-asm".to_owned(), one_by_one(|message| keccak_asm::Sha3_256::digest(message).into())),
    ]
}

/// Builds a tree with a library that hashes nodes, level by level, in the layout of [`build`].
fn peer_tree(hash: &HashNodes, leaves: &[Leaf], nodes: &mut [Node]) {
    let level = |messages: &[u8], digests: &mut [Node]| {
        digests
            .par_chunks_mut(CHUNK)
            .zip(messages.par_chunks(CHUNK * NODE_BYTES))
            .for_each(|(digests, messages)| hash(messages, digests));
    };
    let (mut below, mut rest) = nodes.split_at_mut(leaves.len());
    level(leaves.as_flattened(), below);
    while !rest.is_empty() {
        let (digests, above) = rest.split_at_mut(below.len() / 2);
        level(below.as_flattened(), digests);
        (below, rest) = (digests, above);
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(args.threads as usize).build_global()?;
    let size = 1_usize << args.log_size;
    let leaves: Vec<Leaf> =
        (0..size).map(|i| core::array::from_fn(|j| (i.wrapping_mul(0x9e37_79b9) >> (j % 24)) as u8)).collect();
    let shape = Shape::new(size, NODE_BYTES, 0)?;
    let mut nodes: Vec<Node> = vec![[0; 32]; shape.nodes()];

    let best = args.isa.unwrap_or_else(Isa::detect);
    let mut isas = vec![best];
    isas.extend(
        available().filter(|isa| args.isa.is_none() && [Isa::Portable, Isa::Avx2].contains(isa) && *isa != best),
    );
    let (peers, ours) = (peers(), isas.len());
    // Plonky3's root is of another function and counts as agreeing with the first.
    let mut root = [0; 32];
    let medians = medians(ours + peers.len() + 1, RUNS, |k| {
        let start = Instant::now();
        if k < ours {
            build(On(isas[k], Keccak(Function::Sha3_256)), &shape, leaves.as_flattened(), &mut nodes)?;
        } else if k < ours + peers.len() {
            rayon::scope(|_| peer_tree(&peers[k - ours].1, &leaves, &mut nodes));
        } else {
            return Ok((rayon::scope(|_| p3::keccak_tree(leaves.as_flattened()))?, root));
        }
        root = nodes[nodes.len() - 1];
        Ok((start.elapsed().as_secs_f64(), root))
    })?;

    let our_name = |(k, isa): (usize, &Isa)| match (k, args.isa) {
        (0, None) => "evergrove".to_owned(),
        _ => format!("evergrove-{isa}"),
    };
    let names: Vec<String> = isas
        .iter()
        .enumerate()
        .map(our_name)
        .chain(peers.iter().map(|(name, _)| name.clone()))
        .chain(["p3-keccak".to_owned()])
        .collect();
    for (k, (name, seconds)) in names.into_iter().zip(&medians).enumerate() {
        let row = Row {
            kernel: "merkle-sha3",
            r#impl: name,
            size,
            columns: None,
            threads: args.threads,
            seconds: *seconds,
            ns_per_element: seconds * 1e9 / size as f64,
            mperm_per_second: None,
            ratio: (k > 0).then(|| seconds / medians[0]),
        };
        row.print(args.json, &format!("{:.2} MH/s", (2 * size - 1) as f64 / seconds / 1e6))?;
    }
    Ok(())
}
